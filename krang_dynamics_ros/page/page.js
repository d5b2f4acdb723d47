// What viser's own page cannot do; `server.py` puts it into the head of the page, before viser's scripts.
(() => {
  // Dark mode is the browser's.
  const dark = matchMedia('(prefers-color-scheme: dark)');
  window.__VISER_EMBED_CONFIG__ = {darkMode: dark.matches};
  dark.addEventListener('change', () => location.reload());

  const say = words => fetch('/said?' + encodeURIComponent(JSON.stringify(words)), {headers: {'X-Page': 'krang'}})
      .catch(() => {});

  // A server that says nothing for a while is said to be gone: what stands on the page is old then.
  const PATIENCE = 5;  // s
  let beat = null, since = Date.now();
  document.addEventListener('visibilitychange', () => { since = Date.now(); });
  setInterval(() => {
    const now = document.querySelector('.beat')?.dataset.beat ?? null;
    if (now !== beat || document.hidden) [beat, since] = [now, Date.now()];
    const seconds = Math.round((Date.now() - since) / 1000);
    const old = document.querySelector('.gone');
    if (seconds < PATIENCE) return old?.remove();
    const note = old ?? document.body.appendChild(Object.assign(document.createElement('div'), {className: 'gone'}));
    note.textContent = `No news from viewer_node for ${seconds} s: it has ended, or it hangs. `
        + 'All numbers and pictures here are old.';
  }, 1000);

  // A number counts when it is complete: viser would take "-0" on the way to "-0.4" for 0, and lose the sign.
  const typed = new Map();  // what stands in a field, though the page may write there what it hears meanwhile
  const setValue = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  let handing = false;
  const handOn = input => {
    const text = typed.get(input);
    if (!typed.delete(input)) return;
    handing = true;
    for (const value of ['', text]) {
      setValue.call(input, value);
      input.dispatchEvent(new Event('input', {bubbles: true}));
    }
    handing = false;
  };
  window.addEventListener('input', event => {
    if (handing || !event.target.closest?.('.mantine-NumberInput-root')) return;
    typed.set(event.target, event.target.value);
    event.stopImmediatePropagation();
  }, true);
  window.addEventListener('keydown', event => { if (event.key === 'Enter') handOn(event.target); }, true);
  window.addEventListener('focusout', event => handOn(event.target), true);
  setInterval(() => typed.forEach((text, input) => { if (input.value !== text) setValue.call(input, text); }), 50);

  // The tour: which step this window shows, and that it was closed. A rule shows it, for the card itself is written anew.
  const rule = document.head.appendChild(document.createElement('style'));
  const stored = (store, key, value) => {
    try { return value === undefined ? store.getItem(key) : store.setItem(key, value); } catch { return null; }
  };
  let step = Number(stored(sessionStorage, 'krang-tour-step')) || 1, closed = !!stored(localStorage, 'krang-tour-closed');
  const showStep = () => {
    rule.textContent = closed ? '.tour { display: none } .tour-open { display: block !important }'
        : `.tour section[data-step="${step}"] { display: block }`;
  };
  const turnTo = number => { stored(sessionStorage, 'krang-tour-step', step = number); showStep(); };
  const close = value => { closed = value; stored(localStorage, 'krang-tour-closed', value ? 'yes' : ''); showStep(); };
  const onTour = {
    back: () => turnTo(step - 1), next: () => turnTo(step + 1), close: () => close(true), open: () => close(false),
  };
  showStep();
  document.addEventListener('click', event => {
    const {tour, prepare} = event.target.closest?.('button')?.dataset ?? {};
    if (tour) onTour[tour]();
    if (prepare) say({prepare});
  });
  let first = stored(sessionStorage, 'krang-tour-first');
  setInterval(() => {  // a robot with hands has another tour than one without
    const now = document.querySelector('.tour')?.dataset.first ?? first;
    if (now === first) return;
    if (first) turnTo(1);
    stored(sessionStorage, 'krang-tour-first', first = now);
  }, 500);

  // The robot's name is the title of the page; the legend of the rings stands at the lower edge of the picture.
  setInterval(() => {
    const {robot, rings} = document.querySelector('.beat')?.dataset ?? {}, canvas = document.querySelector('canvas');
    if (robot && document.title !== robot) document.title = robot;
    const old = document.querySelector('.legend');
    if (rings === undefined || !canvas) return old?.remove();
    const legend = old ?? document.body.appendChild(Object.assign(document.createElement('div'),
        {className: 'legend', innerHTML: 'idle <i></i> limit', title: 'torque rings'}));
    legend.style.left = `${canvas.getBoundingClientRect().left + 8}px`;
  }, 500);

  // Rows of the table: the one under the pointer lights up its link, a click puts it into the plot.
  let over = '';
  document.addEventListener('mouseover', event => {
    const joint = event.target.closest?.('tr[data-joint]')?.dataset.joint ?? '';
    if (joint !== over) say({over: over = joint});
  });
  document.addEventListener('click', event => {
    const joint = event.target.closest?.('tr[data-joint]')?.dataset.joint;
    if (joint) say({plot: joint});
  });

  // Rows of fingers are folded into one, until that is clicked.
  const fingers = document.head.appendChild(document.createElement('style')), unfolded = new Set();
  document.addEventListener('click', event => {
    const hand = event.target.closest?.('tr[data-fold]')?.dataset.fold;
    if (hand === undefined) return;
    if (!unfolded.delete(hand)) unfolded.add(hand);
    fingers.textContent = [...unfolded].map(
        name => `tr[data-hand="${CSS.escape(name)}"] { display: table-row !important }`).join('\n');
  });

  // A row that is newly marked, because its link was clicked on, comes into sight.
  let marked = null;
  setInterval(() => {
    const row = document.querySelector('tr.marked');
    if (marked !== (marked = row?.dataset.joint ?? null) && row) row.scrollIntoView({block: 'nearest'});
  }, 200);

  // Search: rows whose joint does not have these letters are hidden, by a rule that outlives them.
  const hidden = document.head.appendChild(document.createElement('style'));
  document.addEventListener('input', event => {
    if (!event.target.matches?.('input.find')) return;
    const letters = event.target.value.trim();
    hidden.textContent = letters && `tr[data-joint]:not([data-joint*="${CSS.escape(letters)}" i]) {display: none}`;
  });
})();
