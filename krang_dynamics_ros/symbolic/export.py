"""Export of a robot's functions as files: CasADi, Python, MATLAB and C."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..core.errors import unknown_name
from ..core.files import write_whole
from ..core.optional import optional
from ..robot.robot import Robot
from .export_c import c_files, compile_line
from .expressions import QUANTITIES, Symbols, identifier
from .languages import MATLAB, PYTHON, head

casadi = optional('casadi', 'symbols')


def casadi_files(symbols: Symbols, name: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the files that `casadi.Function.load` reads."""
    for quantity in QUANTITIES:
        yield f'{name}_{quantity}.casadi', _packed(symbols.function(quantity))
    p = casadi.Function(f'{name}_parameters', [], [casadi.DM(symbols.values)], [], ['p'])
    yield f'{name}_parameters.casadi', _packed(p)


def _packed(function: Any) -> str:
    packer = casadi.StringSerializer()  # as Function.save does; Function.serialize lacks the header that load needs
    packer.pack(function)
    return str(packer.encode())


def python_files(symbols: Symbols, name: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of the module."""
    comment = '\n'.join(head(symbols, first=0, parameters='parameters'))
    functions = []
    for quantity, what in QUANTITIES.items():
        lines, rows = PYTHON.steps(symbols.function(quantity))
        by_row = [f'[{", ".join(row)}]' for row in rows] if quantity in ('A', 'C') else [row[0] for row in rows]
        value = by_row[0] if quantity in ('E', 'U') else f'[{", ".join(by_row)}]'
        arguments = ', '.join(what.inputs)
        body = '\n'.join([*lines, f'    return {value}'])
        functions.append(f'def {quantity}({arguments}):\n    """{what.description}"""\n{body}\n')
    numbers = ', '.join(map(repr, symbols.values.tolist()))
    functions.append(f'def parameters():\n    """the robot file\'s parameters"""\n    return [{numbers}]\n')
    quoted = comment.replace('\\', r'\\').replace('"', r'\"')
    yield f'{name}.py', '\n\n'.join([f'"""{quoted}\n"""\n\nfrom math import {", ".join(symbols.calls)}\n', *functions])


def matlab_files(symbols: Symbols, name: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts, a file for every function (AA, CC and QQ of the report's Lagrange.mat)."""
    comment = '\n'.join(f'% {line}'.rstrip() for line in head(symbols, first=1, parameters=f'{name}_parameters'))
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
            f'function {quantity} = {name}_{quantity}({arguments})\n% {what.description}\n%\n{comment}\n{body}\nend\n',
        )
    numbers = '; '.join(map(repr, symbols.values.tolist()))
    yield (
        f'{name}_parameters.m',
        f"function p = {name}_parameters()\n% the robot file's parameters\n%\n{comment}\n  p = [{numbers}];\nend\n",
    )


Files = Iterator[tuple[str, str]]  # names and texts


def export(
    robot: Robot,
    to: str,
    folder: str | Path,
    leave_open: str = 'settings',
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write all `QUANTITIES` of a robot into a folder, in one of `FORMATS`.

    `leave_open` selects what stays a parameter p: `settings` (gravity, rotor inertia, friction, payloads, springs,
    couplings) or `all`. `progress` gets each quantity before it is derived.
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
        write_whole(written[-1], text)
    return written


FORMATS: dict[str, Callable[[Symbols, str], Files]] = {
    'c': c_files,
    'matlab': matlab_files,
    'python': python_files,
    'casadi': casadi_files,
}


def usage(to: str, name: str) -> str:
    """Return an example of use of the files of a format, to be run in their folder."""
    return {
        'casadi': f"A = casadi.Function.load('{name}_A.casadi'); A(q, p)",
        'c': compile_line(name),
        'matlab': f'p = {name}_parameters(); A = {name}_A(q, p)',
        'python': f'import {name}; {name}.A(q, {name}.parameters())',
    }[to]
