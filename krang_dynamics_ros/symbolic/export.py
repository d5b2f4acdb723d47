"""A robot's symbols saved for other work, as the report saves its own in Lagrange.mat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..core.errors import unknown_name
from ..core.optional import optional
from ..robot.robot import Robot
from .export_c import c_files, compile_line
from .export_tables import harmless, tables
from .expressions import QUANTITIES, Symbols, identifier
from .languages import MATLAB, PYTHON

casadi = optional('casadi', 'symbols')
Files = Iterator[tuple[str, str]]


def export(
    robot: Robot,
    to: str,
    folder: str | Path,
    leave_open: str = 'settings',
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write A, C, C dq, Q, J^T f, friction, E and U of a robot into a folder, in one of `FORMATS`.

    `leave_open` says what stays a parameter p: `settings` (gravity, rotor inertia, friction) or `all`. `progress` is
    told each quantity before it is derived.
    """
    if to not in FORMATS:
        raise unknown_name('format', to, FORMATS)
    Path(folder).mkdir(parents=True, exist_ok=True)
    symbols, written = Symbols(robot, leave_open), []
    for quantity in QUANTITIES:
        if progress:
            progress(quantity)
        symbols.function(quantity)
    for name, text in FORMATS[to](symbols, identifier(robot.name)):
        written.append(Path(folder) / name)
        written[-1].write_text(text, encoding='utf-8')
    return written


def _casadi(symbols: Symbols, name: str) -> Files:
    """Yield what `casadi.Function.load` reads."""
    for quantity in QUANTITIES:
        yield f'{name}_{quantity}.casadi', _packed(symbols.function(quantity))
    p = casadi.Function(f'{name}_parameters', [], [casadi.DM(symbols.values)], [], ['p'])
    yield f'{name}_parameters.casadi', _packed(p)


def _packed(function: Any) -> str:
    packer = casadi.StringSerializer()  # what Function.save writes; Function.serialize lacks the head that load wants
    packer.pack(function)
    return str(packer.encode())


def _matlab(symbols: Symbols, name: str) -> Files:
    """Yield a file for every function: what the report's Lagrange.mat had in AA, CC and QQ."""
    head = '\n'.join(f'% {line}'.rstrip() for line in _head(symbols, first=1))
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
            f'% {what.meaning}, eq. {what.equation}\n%\n{head}\n{body}\nend\n',
        )
    numbers = '; '.join(map(repr, symbols.values.tolist()))
    yield (
        f'{name}_parameters.m',
        f"function p = {name}_parameters()\n% the robot file's parameters\n%\n{head}\n  p = [{numbers}];\nend\n",
    )


def _python(symbols: Symbols, name: str) -> Files:
    """Yield one module, which needs `math` alone."""
    head = '\n'.join(_head(symbols, first=0))
    functions = []
    for quantity, what in QUANTITIES.items():
        lines, rows = PYTHON.steps(symbols.function(quantity))
        by_row = [f'[{", ".join(row)}]' for row in rows] if len(rows[0]) > 1 else [row[0] for row in rows]
        value = by_row[0] if quantity in ('E', 'U') else f'[{", ".join(by_row)}]'
        arguments = ', '.join(what.inputs)
        body = '\n'.join([*lines, f'    return {value}'])
        functions.append(f'def {quantity}({arguments}):\n    """{what.meaning}, eq. {what.equation}"""\n{body}\n')
    numbers = ', '.join(map(repr, symbols.values.tolist()))
    functions.append(f'def parameters():\n    """the robot file\'s parameters"""\n    return [{numbers}]\n')
    quoted = head.replace('\\', r'\\').replace('"', r'\"')
    yield f'{name}.py', '\n\n'.join([f'"""{quoted}\n"""\n\nfrom math import cos, sin\n', *functions])


def _head(symbols: Symbols, first: int) -> Iterator[str]:
    """Yield what every file says of itself."""
    yield f'The equations of motion of {harmless(symbols.robot.name)}. Written by krang_dynamics_ros: do not edit.'
    yield ''
    yield '    Gamma = A(q) ddq + C(q, dq) dq + Q(q) + friction + J^T f'
    yield ''
    yield 'Letters and equation numbers: M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015).'
    yield 'Units: m, kg, s, rad, N, N m.'
    meanings = {
        'joints': 'q, dq',
        'hands': "f, what the robot applies with its hands: [force; moment], in the hand's own axes, about its origin",
        'parameters': "p; parameters() has the robot file's",
    }
    for what, rows in tables(symbols, first).items():
        yield from ['', f'{meanings[what]}:', *(f'    {row}' for row in rows)]


FORMATS: dict[str, Callable[[Symbols, str], Files]] = {
    'c': c_files,
    'matlab': _matlab,
    'python': _python,
    'casadi': _casadi,
}


def usage(to: str, name: str) -> str:
    """Return what one does with the files of a format, in the folder where they are."""
    return {
        'casadi': f"A = casadi.Function.load('{name}_A.casadi'); A(q, p)",
        'c': compile_line(name),
        'matlab': f'p = {name}_parameters(); A = {name}_A(q, p)',
        'python': f'import {name}; {name}.A(q, {name}.parameters())',
    }[to]
