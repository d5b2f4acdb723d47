"""A report as one HTML file that needs no network: headings, tables, and charts that zoom.

The page contains the numbers as JSON (integer steps of each line's own range), uPlot, and `page.js`, which draws the
charts. `HELP` explains the charts to a reader.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..core.spatial import Array
from ..core.text import shown, to_html

HELP = (
    'Drag over a part of a chart to zoom in, double-click to show all. The numbers below a chart are those at the '
    'pointer. Click a name to hide or show its line.'
)
COLORS = ('#1f6fb2', '#d1631c', '#2f8f4e', '#8a4fae', '#b03a48', '#6b6f76')
MAX_TITLE = 200  # characters of a chart's title
STEPS = 1_000_000  # in the range of a line: finer than a screen shows, even zoomed ten times


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart, with ascending x. It is broken where x increases by more than `gap`."""

    name: str
    x: Array
    y: Array
    color: str = ''
    hidden: bool = False  # until its name in the legend is clicked
    width: float = 1.3  # pixels
    gap: float = math.inf


@dataclass
class HtmlReport:
    """A report that grows from top to bottom."""

    title: str
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f'<h2>{to_html(text)}</h2>')

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._parts.append(f'<p>{to_html(text)}</p>')

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], marked: Sequence[bool] = ()) -> None:
        """Add a table; marked rows are emphasised. Numbers are aligned right, words left."""
        kinds = ['' if all(map(_is_number, column)) else ' class="words"' for column in zip(*rows, strict=True)]
        kinds = kinds or [''] * len(head)

        def line(tag: str, row: Sequence[str], mark: str = '') -> str:
            cells = zip(kinds or [''] * len(row), row, strict=True)
            return f'<tr{mark}>' + ''.join(f'<{tag}{kind}>{to_html(cell)}</{tag}>' for kind, cell in cells) + '</tr>'

        marks = [' class="marked"' if mark else '' for mark in marked] + [''] * (len(rows) - len(marked))
        lines = [line('th', head), *(line('td', row, mark) for row, mark in zip(rows, marks, strict=True))]
        self._parts.append(f'<table>{"".join(lines)}</table>')

    def chart(self, title: str, x_label: str, y_label: str, lines: Sequence[ChartLine]) -> None:
        """Add a chart of the lines that have points; without such lines add nothing."""
        if not (lines := [line for line in lines if len(line.x)]):
            return
        data = {
            'title': shown(title, MAX_TITLE), 'x': x_label, 'y': y_label,
            'lines': [
                {'name': shown(line.name), 'color': line.color or COLORS[k % len(COLORS)],
                 'hidden': line.hidden, 'width': line.width, 'gap': line.gap if math.isfinite(line.gap) else None,
                 'x': _short(line.x), 'y': _short(line.y)}
                for k, line in enumerate(lines)
            ],
        }  # fmt: skip
        text = json.dumps(data, separators=(',', ':'), allow_nan=False).replace('<', '\\u003c')
        head = f'<figcaption>{to_html(title, MAX_TITLE)} <button>save as SVG</button></figcaption>'
        self._parts.append(f'<figure class="chart">{head}<script type="application/json">{text}</script></figure>')

    def text(self) -> str:
        """Return the page as HTML."""
        title = to_html(self.title)
        style, script = _asset('uPlot.min.css', 'page.css'), _asset('uPlot.iife.min.js', 'page.js')
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{style}</style></head>\n'
            f'<body><h1>{title}</h1>\n' + '\n'.join(self._parts) + f'\n<script>/*\n{_asset("uPlot.LICENSE")}*/\n'
            f'{script}</script></body></html>\n'
        )


def _asset(*names: str) -> str:
    """Return the texts of files of this folder, joined."""
    return '\n'.join(Path(__file__).with_name(name).read_text(encoding='utf-8') for name in names)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _short(values: Array) -> dict[str, float | list[int]]:
    """Return numbers as integer steps from the smallest; refuse NaN and infinity, which no chart can show."""
    array = np.asarray(values, dtype=float)
    if not np.isfinite(array).all():
        raise ValueError('a chart has a number that is not finite')
    smallest, step = float(array.min()), float(np.ptp(array)) / STEPS
    whole = np.rint((array - smallest) / (step or 1.0)).astype(int)
    return {'from': smallest, 'step': step, 'steps': whole.tolist()}
