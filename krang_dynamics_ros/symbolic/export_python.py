"""A robot's functions as a Python module, which needs `math` alone."""

from __future__ import annotations

from collections.abc import Iterator

from .export_tables import head
from .expressions import QUANTITIES, Symbols
from .languages import PYTHON


def python_files(symbols: Symbols, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and text of the module."""
    comment = '\n'.join(head(symbols, first=0))
    functions = []
    for quantity, what in QUANTITIES.items():
        lines, rows = PYTHON.steps(symbols.function(quantity))
        by_row = [f'[{", ".join(row)}]' for row in rows] if quantity in ('A', 'C') else [row[0] for row in rows]
        value = by_row[0] if quantity in ('E', 'U') else f'[{", ".join(by_row)}]'
        arguments = ', '.join(what.inputs)
        body = '\n'.join([*lines, f'    return {value}'])
        functions.append(f'def {quantity}({arguments}):\n    """{what.meaning}, eq. {what.equation}"""\n{body}\n')
    numbers = ', '.join(map(repr, symbols.values.tolist()))
    functions.append(f'def parameters():\n    """the robot file\'s parameters"""\n    return [{numbers}]\n')
    quoted = comment.replace('\\', r'\\').replace('"', r'\"')
    yield f'{name}.py', '\n\n'.join([f'"""{quoted}\n"""\n\nfrom math import cos, sin\n', *functions])
