"""Torques as a table of signed bars: a row for each joint, a column for each term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from ..core.spatial import Array
from ..dynamics.terms import TERMS
from .shapes import Bounds

COLUMNS = ('total', *TERMS)
COLORS = {'total': '#475569'} | {term.name: term.color for term in TERMS.values()}
BEYOND = '#dc2626'  # more than the motor can give

STYLE = """<style>
.torques {border-collapse: collapse; table-layout: fixed; width: calc(100% - 10px); font: 12px/1.5 system-ui,sans-serif}
.torques th {font-weight: 600; text-align: right; padding: 0 4px}
.torques td {text-align: right; padding: 0 4px; font-variant-numeric: tabular-nums; border-bottom: 1px solid #8882}
.torques td:first-child, .torques th:first-child {text-align: left; width: 4.4em}
.torques .limit {color: #888; width: 3.4em}
.torques .beyond {color: #dc2626; font-weight: 700}
</style>"""


def table(joint_names: Sequence[str], bounds: Mapping[str, Bounds], torques: Mapping[str, Array | None]) -> str:
    """Return HTML. `torques` has vectors (n) by column, None where nothing is known.

    The middle of a cell is zero, its edges are what the joint's motor can give.
    """
    heads = ''.join(f'<th style="color:{COLORS[term]}">{term}</th>' for term in COLUMNS)
    rows = ''.join(_row(k, name, bounds[name].effort, torques) for k, name in enumerate(joint_names))
    return f'{STYLE}<table class="torques"><tr><th>joint</th><th class="limit">limit</th>{heads}</tr>{rows}</table>'


def _row(k: int, name: str, limit: float | None, torques: Mapping[str, Array | None]) -> str:
    full = limit or max([1.0, *(abs(float(torque[k])) for torque in torques.values() if torque is not None)])
    cells = ''.join(_cell(term, torques.get(term), k, full, limit) for term in COLUMNS)
    shown = '' if limit is None else f'±{limit:g}'
    return f'<tr data-joint="{escape(name)}"><td>{escape(name)}</td><td class="limit">{shown}</td>{cells}</tr>'


def _cell(term: str, torque: Array | None, k: int, full: float, limit: float | None) -> str:
    if torque is None:
        return f'<td data-term="{term}">&ndash;</td>'
    value = float(torque[k])
    beyond = limit is not None and abs(value) > limit
    tip = 50 + 50 * max(-1.0, min(1.0, value / full))
    left, right = min(50.0, tip), max(50.0, tip)
    color = (BEYOND if beyond else COLORS[term]) + '66'
    bar = f'linear-gradient(90deg,#0000 {left:.1f}%,{color} {left:.1f}% {right:.1f}%,#0000 {right:.1f}%)'
    mark = ' class="beyond"' if beyond else ''
    return f'<td data-term="{term}"{mark} style="background:{bar}">{_words(value)}</td>'


def _words(value: float) -> str:
    return '0.0' if abs(value) < 0.05 else f'{value:+.1f}'.replace('-', '\N{MINUS SIGN}')
