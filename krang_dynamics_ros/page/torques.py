"""The numbers on the page: a table of every joint and term with signed bars, and curves of chosen joints."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import viser
from viser import uplot

from ..core.spatial import Array
from ..core.text import to_html
from ..dynamics.dynamics import Dynamics
from ..dynamics.terms import SUMMED, TERMS
from ..robot.robot import Limits
from . import snapshot as texts
from .snapshot import LatestMessages

COLUMNS = ('total', *TERMS)
USUAL = ('total', 'gravity', 'coriolis', 'friction', 'wrench')
SUBSCRIBED = ('total', *SUMMED)  # always received, shown or not
OBSERVED = 'external'  # shown on request: the node computes it only for subscribers
TERM_COLORS = {'total': '#475569'} | {term.name: term.color for term in TERMS.values()}
HINTS = {'total': 'the sum of the ticked terms; the upper bar has the share of each, in the colour of its column'} | {
    term.name: f'{term.meaning}: {term.formula}' for term in TERMS.values()
}
BEYOND = '#dc2626'  # above the limit of the motor


def table(
    joint_names: Sequence[str],
    limits: Mapping[str, Limits],
    latest: LatestMessages,
    plotted: Mapping[str, str],
    marked: str = '',
    hand_of: Mapping[str, str] = MappingProxyType({}),
    terms: Collection[str] = SUMMED,
) -> str:
    """Return the HTML table. The middle of a torque cell is zero, its edges are the limits of the motor.

    `plotted` are the joints in the plot, with the colour of their curve; `marked` is the one whose row is marked. The
    rows of fingers, which have the link of their hand in `hand_of`, are folded into one. A term that is not in `USUAL`
    has a column only if it is one of `terms`, or external and received.
    """
    shown = {*USUAL, *terms, *(latest.torques.keys() - SUBSCRIBED)}
    columns = [term for term in COLUMNS if term in shown]
    rows, counts = '', Counter(hand_of.values())
    for k, name in enumerate(joint_names):
        hand = hand_of.get(name, '')
        if count := counts.pop(hand, 0):
            rows += _fold(hand, count, 4 + len(columns))
        torques = {term: _entry(latest.torques.get(term), k) for term in columns}
        row = _Row(name, limits[name], torques, _shares(torques, terms), _entry(latest.q, k), _entry(latest.dq, k))
        rows += _row_html(row, plotted.get(name, ''), _attributes(name, hand, name == marked))
    many = ' many' if len(columns) > len(USUAL) else ''
    return f'<table class="torques{many}">{_head(joint_names, columns)}{rows}</table>'


def _fold(hand: str, count: int, columns: int) -> str:
    words = f'{to_html(hand)}: {count} finger joint{"s" if count > 1 else ""}'
    return f'<tr class="fold" data-fold="{to_html(hand)}"><td colspan="{columns}">{words}</td></tr>'


def _attributes(name: str, hand: str, marked: bool) -> str:
    of_hand = f' data-hand="{to_html(hand)}"' if hand else ''
    return f'data-joint="{to_html(name)}"{of_hand}' + (' class="marked"' if marked else '')


def _head(joint_names: Sequence[str], columns: Sequence[str]) -> str:
    width = min(max(4.4, 0.62 * max(map(len, joint_names), default=0) + 1.4), 11.0)
    slides = 'of a joint that slides'
    state = (
        ('joint', width, 'click on a row to see its curve'),
        ('q', 3.6, f'position, rad, or m {slides}; the mark is where it is between its stops'),
        ('dq', 3.4, f'velocity, rad/s, or m/s {slides}'),
        ('limit', 3.6, f'what the motor can give, N m, or N {slides}'),
    )
    cells = [f'<th class="grey" style="width:{size:.1f}em" title="{hint}">{name}</th>' for name, size, hint in state]
    cells += [f'<th style="color:{TERM_COLORS[term]}" title="{to_html(HINTS[term])}">{term}</th>' for term in columns]
    return f'<tr>{"".join(cells)}</tr>'


def _entry(vector: Array | None, k: int) -> float | None:
    return None if vector is None or vector[k] != vector[k] else float(vector[k])


class _Row(NamedTuple):
    """Numbers of a joint: torques by column, shares of the total by term, position and velocity."""

    name: str
    limits: Limits
    torques: Mapping[str, float | None]
    shares: Mapping[str, float]
    q: float | None
    dq: float | None


def _shares(torques: Mapping[str, float | None], terms: Collection[str]) -> dict[str, float]:
    """Return the share of each term in the total; nothing if a torque is unknown.

    The share of friction, or else of coupling, is what remains of the total: it may contain only a part of these.
    """
    known = {term: value for term in ('total', *terms) if (value := torques.get(term)) is not None}
    if len(known) <= len(terms):
        return {}
    total = known.pop('total')
    if partly := next((name for name, term in TERMS.items() if term.is_friction and name in known), ''):
        known[partly] += total - sum(known.values())
    return known


def _row_html(row: _Row, curve: str, attributes: str) -> str:
    limit, known = row.limits.effort, [abs(torque) for torque in row.torques.values() if torque is not None]
    full = limit or max([1.0, *known])
    cells = ''.join(
        _cell(term, torque, full, limit, _stack(row.shares, full) if term == 'total' else '')
        for term, torque in row.torques.items()
    )
    shown = '' if limit is None else _limit(limit)
    mark = f'<span style="color:{curve}">&#9632;</span> ' if curve else ''
    return (
        f'<tr {attributes}><td title="{to_html(row.name)}">{mark}{to_html(row.name)}</td>'
        f'{_position(row.q, row.limits)}{_velocity(row.dq, row.limits)}<td class="grey">{shown}</td>{cells}</tr>'
    )


def _limit(effort: float) -> str:
    """Return a limit in at most six characters, so that it fits into its column."""
    words = f'{effort:.4g}'
    return f'±{words if len(words) < 6 and effort < 1e4 else f"{effort:.0e}".replace("e+0", "e").replace("e+", "e")}'


def _position(q: float | None, limits: Limits) -> str:
    if q is None:
        return '<td class="grey" data-term="position">&ndash;</td>'
    if limits.lower is None or limits.upper is None:
        return f'<td class="grey" data-term="position">{_number(q, 2)}</td>'
    share = 100 * min(max((q - limits.lower) / (limits.upper - limits.lower), 0.0), 1.0)
    left, right = f'{share - 2:.0f}%', f'{share + 2:.0f}%'
    mark = f'linear-gradient(90deg,#0000 {left},#64748b {left} {right},#0000 {right})'
    title = f'{limits.lower:.3g} to {limits.upper:.3g}'
    style = f'background:{mark} bottom/100% 3px no-repeat'
    return f'<td class="grey" data-term="position" title="{title}" style="{style}">{_number(q, 2)}</td>'


def _velocity(dq: float | None, limits: Limits) -> str:
    beyond = dq is not None and limits.velocity is not None and abs(dq) > limits.velocity
    title = '' if limits.velocity is None else f' title="at most {limits.velocity:.3g}"'
    words = '&ndash;' if dq is None else _number(dq, 2)
    return f'<td class="{"beyond" if beyond else "grey"}" data-term="velocity"{title}>{words}</td>'


def _cell(term: str, value: float | None, full: float, limit: float | None, stack: str) -> str:
    if value is None:
        return f'<td data-term="{term}">&ndash;</td>'
    beyond = limit is not None and abs(value) > limit
    tip = _place(value, full)
    left, right = min(50.0, tip), max(50.0, tip)
    color = BEYOND if beyond else TERM_COLORS[term]
    bar = f'linear-gradient(90deg,#0000 {left:.1f}%,{color} {left:.1f}% {right:.1f}%,#0000 {right:.1f}%)'
    mark = ' class="beyond"' if beyond else ''
    layers = f'{bar} bottom/100% 4px no-repeat'
    if stack:
        layers = f'{bar} bottom/100% 2px no-repeat,{stack} bottom 2px left 0/100% 4px no-repeat'
    return f'<td data-term="{term}"{mark} style="background:{layers}">{_number(value, 1)}</td>'


def _place(value: float, full: float) -> float:
    """Return where a torque is in its cell, %; its edges are -full and full."""
    return 50 + 50 * max(-1.0, min(1.0, value / full))


def _stack(shares: Mapping[str, float], full: float) -> str:
    """Return the stacked bar of shares in their colours, negative ones to the left of zero; '' if there is only one."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    sums = {True: 0.0, False: 0.0}  # by whether a share is positive
    for name, value in shares.items():
        ends = _place(sums[value > 0], full), _place(sums[value > 0] + value, full)
        sums[value > 0] += value
        if value:
            parts[value > 0].append(f'{TERM_COLORS[name]} {min(ends):.1f}% {max(ends):.1f}%')
    if len(parts[True]) + len(parts[False]) < 2:
        return ''
    left, right = f'#0000 {_place(sums[False], full):.1f}%', f'#0000 {_place(sums[True], full):.1f}%'
    return f'linear-gradient(90deg,{",".join([left, *reversed(parts[False]), *parts[True], right])})'


def _number(value: float, digits: int) -> str:
    words = f'{value:+.{digits}f}' if abs(value) < 1000 else f'{value:+.0f}' if abs(value) < 1e6 else f'{value:+.0e}'
    return words[1:] if float(words) == 0 else words.replace('-', '\N{MINUS SIGN}')


def search_field(names: Collection[str]) -> str:
    """Return the HTML of a search field for joints, if there are many."""
    return '<input class="find" placeholder="find a joint">' if len(names) > 20 else ''


SECONDS, PERIOD = 20.0, 0.1  # s: duration and period of the history
LENGTH = int(SECONDS / PERIOD)
PLOTTED = (*COLUMNS, 'position', 'velocity')
UNITS = dict.fromkeys(COLUMNS, 'N m (N)') | {'position': 'rad (m)', 'velocity': 'rad/s (m/s)'}
CURVE_COLORS = ('#2563eb', '#ea580c', '#16a34a', '#9333ea', '#0891b2', '#be123c', '#65a30d', '#78716c')


class History:
    """Every quantity of every joint, ten times a second; unknown values are gaps."""

    def __init__(self, n: int) -> None:
        self._values = np.full((LENGTH, len(PLOTTED), n), np.nan)
        self._times = np.full(LENGTH, np.nan)

    def add(self, values: Mapping[str, Array | None]) -> None:
        """Store vectors (n) by quantity, at most once per `PERIOD`."""
        now = time.monotonic()
        if now - self._times[-1] < PERIOD:
            return
        self._values = np.roll(self._values, -1, axis=0)
        self._times = np.roll(self._times, -1)
        self._times[-1] = now
        for k, quantity in enumerate(PLOTTED):
            vector = values.get(quantity)
            self._values[-1, k] = np.nan if vector is None else vector

    def curves(self, quantity: str, joints: Sequence[int]) -> tuple[Array, ...]:
        """Return times (rows; s, zero at the latest row), and a curve (rows) for each joint."""
        there = np.isfinite(self._times)
        when = self._times[there] - (self._times[-1] if there.any() else 0.0)
        values = self._values[there, PLOTTED.index(quantity)]
        return (when, *(values[:, k] for k in joints))


def curve_color(k: int) -> str:
    """Return the colour of the k-th curve."""
    return CURVE_COLORS[k % len(CURVE_COLORS)]


class Plot:
    """Curves of chosen joints, for a quantity that can be chosen."""

    def __init__(self, gui: viser.GuiApi, joint_names: Sequence[str], chosen: Sequence[str]) -> None:
        self._gui = gui
        self._names = joint_names
        self.history = History(len(joint_names))
        self._quantity = gui.add_dropdown('plot', PLOTTED, initial_value='total')
        self._place = gui.add_folder(None)
        self._chosen, self._by_user = list(chosen), False
        self._chart: viser.GuiUplotHandle | None = None
        self._shown: tuple[str, list[str]] = ('', [])

    @property
    def colors(self) -> dict[str, str]:
        """The colour of the curve of each joint in the plot."""
        return {name: curve_color(k) for k, name in enumerate(self._chosen)}

    def toggle(self, joint: str) -> None:
        """Add a joint to the plot or remove it, on request of a visitor."""
        if joint in self._names:
            self._by_user = True
            self._chosen = [name for name in self._chosen if name != joint] + [joint] * (joint not in self._chosen)

    def suggest(self, joints: Sequence[str]) -> None:
        """Plot these joints, unless a visitor has chosen others."""
        if not self._by_user and joints:
            self._chosen = list(joints)

    def draw(self) -> None:
        """Update the curves."""
        wanted = (self._quantity.value, list(self._chosen))
        data = self.history.curves(wanted[0], [self._names.index(name) for name in wanted[1]])
        if len(data) < 2 or not len(data[0]):
            data = (np.zeros(1), np.full(1, np.nan))
        if self._chart is not None and wanted == self._shown:
            self._chart.data = data
            if (scales := _scales(data)) != self._chart.scales:
                self._chart.scales = scales
            return
        self._shown = wanted
        if self._chart is not None:
            self._chart.remove()
        with self._place:
            self._chart = self._new_chart(*wanted, data)

    def _new_chart(self, quantity: str, joints: list[str], data: tuple[Array, ...]) -> viser.GuiUplotHandle:
        curves = [uplot.Series(label=name, stroke=curve_color(k), width=2) for k, name in enumerate(joints)]
        seconds, values = uplot.Axis(label='s'), uplot.Axis(label=UNITS[quantity])
        return self._gui.add_uplot(
            data, (uplot.Series(label='s'), *(curves or [uplot.Series(label='no joint chosen')])),
            scales=_scales(data), axes=(seconds, values), legend=uplot.Legend(show=True, live=False), height=220,
        )  # fmt: skip


def _scales(data: Sequence[Array]) -> dict[str, uplot.Scale]:
    """Return the ranges of both axes, rounded to steps, so that they do not change with every number."""
    curves = np.concatenate(data[1:])
    known = curves[np.isfinite(curves)] if np.isfinite(curves).any() else np.zeros(1)
    step = 10.0 ** np.floor(np.log10(max(1.0, np.ptp(known))))
    low, high = np.floor(known.min() / step) * step, np.ceil(known.max() / step) * step
    high = high if high > low else low + step
    span = (float(low), float(high + (high - low) / 12))  # space for the upper label
    return {'x': uplot.Scale(time=False, auto=False, range=(-SECONDS, 0.0)), 'y': uplot.Scale(auto=False, range=span)}


PANEL_WIDTH = 540  # pixels
ARM_JOINTS = 7  # at most: joints further from the hand count as the trunk's


class TorqueView:
    """The table and the curves of torques."""

    def __init__(
        self, gui: viser.GuiApi, dynamics: Dynamics, limits: Mapping[str, Limits], hand: str,
        fingers: Mapping[str, Sequence[str]],
    ) -> None:  # fmt: skip
        """`hand` is the link whose arm the curves begin with; `fingers` are joints by the link of their hand."""
        self._dynamics, self._limits, self._names = dynamics, limits, dynamics.joint_names
        self._hand_of = {joint: link for link, joints in fingers.items() for joint in joints}
        self._total: Array | None = None  # the latest
        self._first = hand  # until the total is known
        self.marked = ''  # the joint whose link was clicked
        self.side = gui.add_panel()
        with self.side.add_tab('joints'):
            gui.add_html(search_field(self._names))
            self._bars = gui.add_html('')
            gui.add_html(texts.BARS)
            self.plot = Plot(gui, self._names, self._most_loaded(hand))
        self.side.dock_left()
        self.side.set_width(PANEL_WIDTH)

    def remember(self, latest: LatestMessages) -> None:
        """Store values for the curves."""
        self.plot.history.add({**latest.torques, 'position': latest.q, 'velocity': latest.dq})
        self._total = latest.torques.get('total')
        if self._first and self._total is not None:
            self.suggest(self._first)
            self._first = ''

    def draw(self, latest: LatestMessages, terms: Collection[str]) -> None:
        """Bring table and curves up to date; `terms` are those of the total."""
        content = table(self._names, self._limits, latest, self.plot.colors, self.marked, self._hand_of, terms)
        if self._bars.content != content:
            self._bars.content = content
        self.plot.draw()

    def suggest(self, link: str) -> None:
        """Show the most loaded joints of the arm that ends in a link, unless a person has chosen joints."""
        self.plot.suggest(self._most_loaded(link))

    def _most_loaded(self, link: str) -> list[str]:
        """Return the two joints of an arm, or of all, with the largest share of their limit, in the robot's order."""
        moved = np.ones(len(self._names), dtype=bool)
        if link:
            moved = np.abs(self._dynamics.jacobian(np.zeros(len(self._names)), link)).max(axis=0) > 0
        arm = [k for k in np.flatnonzero(moved).tolist() if self._names[k] not in self._hand_of][-ARM_JOINTS:]
        total = np.zeros(len(self._names)) if self._total is None else np.abs(self._total)
        limits = [self._limits[name].effort or max(1.0, float(total.max())) for name in self._names]
        most = sorted(arm, key=lambda k: -float(total[k]) / limits[k])[:2]
        return [self._names[k] for k in sorted(most)]
