"""A robot's functions for MATLAB and Octave, one to a file."""

from __future__ import annotations

from collections.abc import Iterator

from .export_tables import head
from .expressions import QUANTITIES, Symbols
from .languages import MATLAB


def matlab_files(symbols: Symbols, name: str) -> Iterator[tuple[str, str]]:
    """Yield a file for every function: what the report's Lagrange.mat had in AA, CC and QQ."""
    comment = '\n'.join(f'% {line}'.rstrip() for line in head(symbols, first=1))
    for quantity, what in QUANTITIES.items():
        lines, rows = MATLAB.steps(symbols.function(quantity))
        stored = [
            f'  {quantity}({i}, {j}) = {entry};'
            for i, row in enumerate(rows, 1)
            for j, entry in enumerate(row, 1)
            if entry != '0.0'
        ]
        body = '\n'.join([*lines, f'  {quantity} = zeros({len(rows)}, {len(rows[0])});', *stored])
        arguments = ', '.join(what.inputs)
        yield (
            f'{name}_{quantity}.m',
            f'function {quantity} = {name}_{quantity}({arguments})\n'
            f'% {what.meaning}, eq. {what.equation}\n%\n{comment}\n{body}\nend\n',
        )
    numbers = '; '.join(map(repr, symbols.values.tolist()))
    yield (
        f'{name}_parameters.m',
        f"function p = {name}_parameters()\n% the robot file's parameters\n%\n{comment}\n  p = [{numbers}];\nend\n",
    )
