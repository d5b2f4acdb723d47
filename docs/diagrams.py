"""Draws the walks of docs/architecture.md from its tables: a column for each folder. python -m docs.diagrams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
DOCUMENT = FOLDER / 'architecture.md'
WIDTH, HEIGHT, GAP, HEAD, MARGIN = 212, 40, 18, 34, 12  # pixels
FONT = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12"'
MARKER = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#475569"/></marker></defs>'
)


class Step(NamedTuple):
    """A row of a walk: a file of the package, and the name that is called there."""

    file: str
    call: str

    @property
    def folder(self) -> str:
        """The folder, which is the column of the diagram."""
        return self.file.partition('/')[0]


def walks(text: str) -> dict[str, list[Step]]:
    """Return the steps of each walk of the document, by the name of its diagram."""
    found: dict[str, list[Step]] = {}
    for part in text.split('\n## ')[1:]:
        (name,) = re.findall(r'\((\w+)\.svg\)', part)
        found[name] = [Step(*row) for row in re.findall(r'^\| \d+ \| `([\w/.]+)` \| `([\w.]+)` \|', part, re.MULTILINE)]
    return found


def drawn(steps: Sequence[Step]) -> str:
    """Return a walk as SVG: boxes in the order of the steps, from top to bottom."""
    columns = list(dict.fromkeys(step.folder for step in steps))
    width, height = 2 * MARGIN + len(columns) * WIDTH, HEAD + len(steps) * (HEIGHT + GAP) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        MARKER,
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for k, folder in enumerate(columns):
        parts.append(_column(folder, MARGIN + k * WIDTH, height))
    corners = [_corner(columns.index(step.folder), row) for row, step in enumerate(steps)]
    parts += [_arrow(*pair) for pair in pairwise(corners)]
    parts += [_box(step, row + 1, *corner) for row, (step, corner) in enumerate(zip(steps, corners, strict=True))]
    return '\n'.join([*parts, '</svg>\n'])


def _corner(column: int, row: int) -> tuple[int, int]:
    return MARGIN + column * WIDTH + 6, HEAD + row * (HEIGHT + GAP)


def _column(folder: str, x: int, height: int) -> str:
    middle = x + WIDTH // 2
    label = f'<text x="{middle}" y="20" text-anchor="middle" font-weight="bold" fill="#334155" {FONT}>'
    lane = f'<rect x="{x + 1}" y="4" width="{WIDTH - 2}" height="{height - 8}" rx="6" fill="#f1f5f9"/>'
    return f'{lane}{label}{escape(folder)}/</text>'


def _box(step: Step, number: int, x: int, y: int) -> str:
    owner, _, name = step.call.rpartition('.')
    lines = [f'{number:<2} {owner or step.file.rpartition("/")[2]}', f'   {"." if owner else ""}{name}()']
    if not owner and name[0].isupper():
        lines = [f'{number:<2} {name}', f'   {step.file.rpartition("/")[2]}']
    text = ''.join(
        f'<text x="{x + 8}" y="{y + 16 + 16 * k}" xml:space="preserve" fill="#0f172a" {FONT}>{escape(line)}</text>'
        for k, line in enumerate(lines)
    )
    box = f'<rect x="{x}" y="{y}" width="{WIDTH - 12}" height="{HEIGHT}" rx="5" fill="#ffffff" stroke="#2563eb"/>'
    return box + text


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return an arrow from below a box to the top of the next one, one row lower."""
    half = (WIDTH - 12) // 2
    (x0, y0), (x1, y1) = start, end
    bend = y0 + HEIGHT + GAP // 2
    line = f'M{x0 + half} {y0 + HEIGHT}V{bend}H{x1 + half}V{y1 - 1}'
    return f'<path d="{line}" fill="none" stroke="#475569" stroke-width="1.5" marker-end="url(#tip)"/>'


def main() -> None:
    """Write the diagrams."""
    for name, steps in walks(DOCUMENT.read_text(encoding='utf-8')).items():
        (FOLDER / f'{name}.svg').write_text(drawn(steps), encoding='utf-8')


if __name__ == '__main__':
    main()
