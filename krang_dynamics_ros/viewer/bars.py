"""The state and the torques of the joints as a table: a row for each joint, signed bars for each torque term."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..core.spatial import Array
from ..core.text import to_html
from ..dynamics.terms import SUMMED, TERMS
from ..robot.robot import Limits
from .snapshot import Heard

COLUMNS = ('total', *TERMS)
ALWAYS = ('total', *SUMMED)
OBSERVED = 'external'  # shown when asked for: the node computes it only for who listens
TERM_COLORS = {'total': '#475569'} | {term.name: term.color for term in TERMS.values()}
HINTS = {'total': 'the sum of the ticked terms'} | {
    term.name: f'{term.meaning}: {term.formula}' for term in TERMS.values()
}
BEYOND = '#dc2626'  # more than the motor can give


def table(
    joint_names: Sequence[str],
    limits: Mapping[str, Limits],
    heard: Heard,
    plotted: Mapping[str, str],
    marked: str = '',
) -> str:
    """Return HTML. The middle of a torque's cell is zero, its edges are what the joint's motor can give.

    `plotted` are the joints in the plot, with the colour of their curve; `marked` is the one whose row is marked.
    """
    columns = [term for term in COLUMNS if term in ALWAYS or term in heard.torques]
    rows = ''.join(
        _row(name, limits[name], {term: _entry(heard.torques.get(term), k) for term in columns},
             _entry(heard.q, k), _entry(heard.dq, k), plotted.get(name, ''), name == marked)
        for k, name in enumerate(joint_names)
    )  # fmt: skip
    return f'<table class="torques">{_head(joint_names, columns)}{rows}</table>'


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


def _row(
    name: str, limits: Limits, torques: Mapping[str, float | None], q: float | None, dq: float | None, curve: str,
    marked: bool,
) -> str:  # fmt: skip
    limit = limits.effort
    full = limit or max([1.0, *(abs(torque) for torque in torques.values() if torque is not None)])
    cells = ''.join(_cell(term, torque, full, limit) for term, torque in torques.items())
    shown = '' if limit is None else _limit(limit)
    row = f'<tr data-joint="{to_html(name)}"' + (' class="marked">' if marked else '>')
    mark = f'<span style="color:{curve}">&#9632;</span> ' if curve else ''
    return (
        f'{row}<td title="{to_html(name)}">{mark}{to_html(name)}</td>'
        f'{_position(q, limits)}{_velocity(dq, limits)}<td class="grey">{shown}</td>{cells}</tr>'
    )


def _limit(effort: float) -> str:
    """Return a limit in at most six letters, for it must not run into the next column."""
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


def _cell(term: str, value: float | None, full: float, limit: float | None) -> str:
    if value is None:
        return f'<td data-term="{term}">&ndash;</td>'
    beyond = limit is not None and abs(value) > limit
    tip = 50 + 50 * max(-1.0, min(1.0, value / full))
    left, right = min(50.0, tip), max(50.0, tip)
    color = (BEYOND if beyond else TERM_COLORS[term]) + '66'
    bar = f'linear-gradient(90deg,#0000 {left:.1f}%,{color} {left:.1f}% {right:.1f}%,#0000 {right:.1f}%)'
    mark = ' class="beyond"' if beyond else ''
    return f'<td data-term="{term}"{mark} style="background:{bar}">{_number(value, 1)}</td>'


def _number(value: float, digits: int) -> str:
    words = f'{value:+.{digits}f}' if abs(value) < 1000 else f'{value:+.0f}' if abs(value) < 1e6 else f'{value:+.0e}'
    return words[1:] if float(words) == 0 else words.replace('-', '\N{MINUS SIGN}')


def search_field(names: Collection[str]) -> str:
    """Return HTML of a field to search joints in, if there are many."""
    return '<input class="find" placeholder="find a joint">' if len(names) > 20 else ''
