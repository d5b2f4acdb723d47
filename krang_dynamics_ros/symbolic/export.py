"""A robot's symbols saved for other work, as the report saves its own in Lagrange.mat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..core.errors import unknown_name
from ..core.whole_file import write_whole
from ..robot.robot import Robot
from .export_c import c_files, compile_line
from .export_casadi import casadi_files
from .export_matlab import matlab_files
from .export_python import python_files
from .expressions import QUANTITIES, Symbols, identifier

Files = Iterator[tuple[str, str]]  # names and texts


def export(
    robot: Robot,
    to: str,
    folder: str | Path,
    leave_open: str = 'settings',
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write all `QUANTITIES` of a robot into a folder, in one of `FORMATS`.

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
        write_whole(written[-1], text)
    return written


FORMATS: dict[str, Callable[[Symbols, str], Files]] = {
    'c': c_files,
    'matlab': matlab_files,
    'python': python_files,
    'casadi': casadi_files,
}


def usage(to: str, name: str) -> str:
    """Return what one does with the files of a format, in the folder where they are."""
    return {
        'casadi': f"A = casadi.Function.load('{name}_A.casadi'); A(q, p)",
        'c': compile_line(name),
        'matlab': f'p = {name}_parameters(); A = {name}_A(q, p)',
        'python': f'import {name}; {name}.A(q, {name}.parameters())',
    }[to]
