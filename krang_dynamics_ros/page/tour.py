"""The tour of the page: a card that shows a single step, with an action and its effect; finished steps are ticked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..core.text import to_html
from .panel import BAG, Controls
from .snapshot import Load, Snapshot

PULLED = 5.0  # N: a weaker pull may be a click

Bags = Literal['any', 'none', 'known', 'hung']  # as they are, none, all known to the node, at least one


class Moment(NamedTuple):
    """What a step may look at: the robot, the forces of pulls (N) by link, and the switches of the page."""

    now: Snapshot
    pulls: Mapping[str, float] = MappingProxyType({})
    observing: bool = False  # whether overlay *what pushes it* is enabled
    posed: bool = False  # whether a slider was moved

    @property
    def pulled(self) -> bool:
        """Whether a link is pulled hard enough for a visible effect."""
        return max(self.pulls.values(), default=0.0) > PULLED


@dataclass(frozen=True)
class Step:
    """A step: HTML of the action and of its effect, and the preconditions."""

    title: str
    do: str
    see: str
    done: Callable[[Moment], bool]
    with_terms: frozenset[str] = frozenset({'gravity'})  # in the total
    without_terms: frozenset[str] = frozenset()
    bags: Bags = 'none'


class Need(NamedTuple):
    """A precondition of a step: as text, and as a request that establishes it."""

    words: str
    act: Callable[[Controls], None]


WRENCH = frozenset({'wrench'})
ABOVE = '<span class="narrow"> of <i>joints</i>, above</span>'  # on a phone the table is folded into a row

PULL_HAND = Step(
    'Pull a hand',
    'Drag an <b>orange ball</b> a little, and let go. <span class="ctrl">(With Ctrl, drag any link.)</span>',
    'The hand follows as if it weighed nothing, and stays where you leave it: its motors give just what gravity takes. '
    'The rings and the bars of its joints follow.',
    lambda moment: moment.pulled,
    without_terms=WRENCH,
)  # fmt: skip
RESIST = Step(
    'Let the hand resist',
    'Tick <b>wrench</b> below, then drag the same ball.',
    'The hand stays nearly where it is. The sensor in the wrist reads your force (the arrow, in N), and the motors '
    f'hold against it (the column <i>wrench</i>{ABOVE}).',
    lambda moment: moment.pulled and 'wrench' in (moment.now.terms or ()),
)
HANG = Step(
    'Hang a bag on it',
    'Open the folder <b>bag, sensor</b> of a hand below, and press <b>Hang it on</b>.',
    'The hand sinks, and the arm hangs down: the dynamics node does not know of the bag.',
    lambda moment: _untold(moment.now) and 'wrench' not in (moment.now.terms or ()),
    without_terms=WRENCH,
)
TELL = Step(
    'Tell the node of the bag',
    'Press <b>Tell the node</b> in the same folder. Then drag the ball up, and let go.',
    'The hand stays where you leave it, bag and all. The arrow is the weight of the bag, which the sensor reads.',
    lambda moment: moment.pulled and any(load.hung and load.hung == load.known_mass for load in _loads(moment.now)),
    without_terms=WRENCH,
    bags='hung',
)
OBSERVE = Step(
    'See what pushes it',
    'Open <b>show</b> below, and tick <b>what pushes it</b>. Then <span class="ctrl">drag an elbow with Ctrl.</span>'
    '<span class="touch"><b>make a link a hand</b>, an elbow, and drag its ball.</span>',
    f'The column <i>external</i>{ABOVE}, computed from the efforts of the motors: joints beyond the link that you pull '
    'have none. The sensor in the wrist reads nothing of it.',
    lambda moment: moment.observing and moment.pulled,
    bags='known',
)
FALL = Step(
    'Switch gravity off',
    'Press <b>Reset</b>, then untick <b>gravity</b>. To go on, tick it again, and press <b>Reset</b> once more.',
    'The robot falls, also through the floor: these equations know of none.',
    lambda moment: moment.now.terms is not None and 'gravity' not in moment.now.terms,
    with_terms=frozenset(),
    bags='any',
)
POSE = Step(
    'Move a joint',
    'Open <b>pose</b> below, and move a slider.',
    'The robot stays where you put it. Rings and bars change: another pose takes other torques.',
    lambda moment: moment.posed,
)
PULL_LINK = Step(
    'Pull a link',
    'Drag an <b>orange ball</b><span class="ctrl">, or any link with Ctrl</span>, and let go.',
    'It follows, and stays where you leave it. The number is your force.',
    lambda moment: moment.pulled,
    without_terms=WRENCH,
)

WITH_HANDS = (PULL_HAND, RESIST, HANG, TELL, OBSERVE, FALL)
WITHOUT_HANDS = (POSE, PULL_LINK, FALL)


def _loads(now: Snapshot) -> Iterator[Load]:
    yield from now.loads.values()


def _untold(now: Snapshot) -> bool:
    return any(load.hung and load.hung != load.known_mass for load in _loads(now))


def needs(step: Step, now: Snapshot) -> list[Need]:
    """Return the unmet preconditions of a step."""
    found = []
    if now.mode == 'paused':
        found.append(Need('press <b>Resume</b>', lambda controls: controls.call_simulator('resume')))
    if now.mode == 'broken':
        found.append(Need('press <b>Reset</b>', lambda controls: controls.call_simulator('reset')))
    return [*found, *_terms_needed(step, now), *_bags_needed(step.bags, now.loads)]


def _terms_needed(step: Step, now: Snapshot) -> Iterator[Need]:
    present = now.terms or ()
    missing, extra = step.with_terms.difference(present), step.without_terms.intersection(present)
    words = [f'tick <b>{term}</b>' for term in sorted(missing)] + [f'untick <b>{term}</b>' for term in sorted(extra)]
    if words and now.terms is not None:
        wanted = [term for term in present if term not in extra] + sorted(missing)
        yield Need(', '.join(words), lambda controls: controls.choose_terms(wanted))


def _bags_needed(bags: Bags, loads: Mapping[str, Load]) -> Iterator[Need]:
    for hand, load in loads.items():
        name = to_html(hand)
        if bags == 'none' and load.hung:
            yield Need(f'take the bag off <i>{name}</i> (0 kg)', partial(_hang, hand, 0.0))
        if load.hung is None or load.known_mass is None:
            continue
        mass = 0.0 if bags == 'none' else load.hung
        if (bags == 'none' and load.known_mass) or (bags == 'known' and load.known_mass != load.hung):
            yield Need(
                f'tell the node what <i>{name}</i> holds ({mass:g} kg)',
                partial(_tell, hand, mass),
            )
    if bags == 'hung' and loads and not any(load.hung for load in loads.values()):
        first = next(iter(loads))
        yield Need(f'hang a bag on <i>{to_html(first)}</i>', partial(_hang, first, BAG))


def _hang(hand: str, mass: float, controls: Controls) -> None:
    controls.hang(hand, mass)


def _tell(hand: str, mass: float, controls: Controls) -> None:
    controls.set_payload(hand, mass)


@dataclass
class Tour:
    """The steps of a robot, and which were done. Every browser shows the step that its person has come to."""

    steps: Sequence[Step] = ()
    done: set[str] = field(default_factory=set)  # titles

    def update(self, moment: Moment) -> None:
        """Tick the steps that are done at this moment."""
        self.done |= {step.title for step in self.steps if moment.now.simulated and step.done(moment)}

    def prepare(self, number: int, now: Snapshot, controls: Controls) -> None:
        """Request the unmet preconditions of a step, counted from 1."""
        if 0 < number <= len(self.steps):
            for need in needs(self.steps[number - 1], now):
                need.act(controls)

    def html(self, moment: Moment) -> str:
        """Return the card; nothing where nothing can be tried."""
        if not moment.now.simulated or not moment.now.obeyed or not self.steps:
            return ''
        sections = ''.join(self._section(k, step, moment) for k, step in enumerate(self.steps, 1))
        first = to_html(self.steps[0].title)
        again = '<button class="tour-open" data-tour="open">Show the tour</button>'
        return f'<div class="tour" data-first="{first}">{sections}</div>{again}'

    def _section(self, number: int, step: Step, moment: Moment) -> str:
        done, last = step.title in self.done, len(self.steps)
        first = '' if step.done(moment) else _first(needs(step, moment.now), number)
        dots = ''.join(
            f'<i class="{"done" if other.title in self.done else ""}{" here" if other is step else ""}"></i>'
            for other in self.steps
        )
        back = '<button data-tour="back">Back</button>' if number > 1 else '<span></span>'
        onward = '<button data-tour="next">Next</button>' if number < last else '<button data-tour="close">End</button>'
        return (
            f'<section data-step="{number}"{" data-done" if done else ""}><header><b>{number}. {step.title}</b>'
            f'<span class="tick">{"&#10003; done" if done else ""}</span>'
            f'<button data-tour="close" title="close the tour">&#215;</button></header>'
            f'<p>{step.do}</p><p class="see"><b>You should see:</b> {step.see}</p>{first}'
            f'<footer>{back}<span class="dots">{dots}</span>{onward}</footer></section>'
        )


def _first(found: Sequence[Need], number: int) -> str:
    if not found:
        return ''
    words = ', '.join(need.words for need in found)
    return f'<p class="first"><b>First</b> {words}. <button data-prepare="{number}">Do it for me</button></p>'
