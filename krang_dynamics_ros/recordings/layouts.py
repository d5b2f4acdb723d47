"""How the files of a recording are laid out: which file or column is which, by a short YAML file.

The layouts that are known stand in `config/recordings/`; a folder may have its own, `recording.yaml`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np

from ..core.errors import FaultsError
from ..core.share import share
from ..core.spatial import Array
from ..robot.yaml_parsing import UNREADABLE, parse_file
from ..robot.yaml_reading import Section

OWN = 'recording.yaml'
HEAD = 1 << 20  # characters of a first line that are looked at
COLUMNS = 100_000  # of a table, at most
NEEDED = ('time', 'position')
QUANTITIES = ('time', 'position', 'velocity', 'effort')


@dataclass(frozen=True, eq=False)
class Layout:
    """One way to lay out a recording: a file for each quantity, or one table without a head."""

    name: str
    robot: str  # a robot of the package by name, or a file beside the recording
    joints: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)  # by quantity
    table: str = ''  # a pattern
    columns: dict[str, int] = field(default_factory=dict)  # by quantity, the first of them, counted from 0
    effort_scale: Array = field(default_factory=lambda: np.ones(1))  # (joints): from what is recorded to N m

    def table_in(self, folder: Path) -> list[Path]:
        """Return the tables of this layout in a folder, or the file itself if it is one."""
        if not self.table:
            return []
        if not folder.is_dir():
            return [folder] if folder.match(self.table) and self._wide_enough(folder) else []
        found = sorted(path for path in folder.glob(self.table) if path.is_file() and is_inside(folder, path))
        return [path for path in found if self._wide_enough(path)]

    def _wide_enough(self, path: Path) -> bool:
        """Tell whether the first line is numbers, as many as the layout needs or more."""
        try:
            with path.open(encoding='utf-8') as file:
                words = file.readline(HEAD).split(',')
            [float(word) for word in words]
        except (OSError, ValueError):
            return False
        return len(words) >= max(self.columns.values()) + len(self.joints)

    def fits(self, path: Path) -> bool:
        """Tell whether a folder, or a file, is laid out like this."""
        if self.files:
            return path.is_dir() and all((path / self.files[name]).is_file() for name in ('time', 'position', 'effort'))
        return len(self.table_in(path)) == 1


def is_inside(folder: Path, path: Path) -> bool:
    """Tell whether a path stays in a folder, links followed: a recording from elsewhere must not name other files."""
    return path.resolve().is_relative_to(folder.resolve())


def load_layout(path: Path) -> Layout:
    """Read a layout, or raise `FaultsError` with every fault of it."""
    data, faults = parse_file(path)
    if data is UNREADABLE:
        raise FaultsError(str(path), faults)
    root = Section(data, '', faults)
    robot = _name_inside(root, 'robot')
    if robot.endswith('.xacro'):
        root.refuse('robot', robot, 'must be no xacro, which is a program; expand it, or name it by --robot')
    names = root.texts('joints')
    if len(set(names)) != len(names):
        root.refuse('joints', [*names], 'must name each joint once')
    files = root.section('files')
    by_quantity = {name: _name_inside(files, name) for name in QUANTITIES if files.has(name)}
    files.close()
    table = _name_inside(root, 'table') if root.has('table') else ''
    if '**' in table:
        root.refuse('table', table, 'must be a pattern of one folder, without **')
    first = _columns(root, len(names))
    scale = root.vector('effort_scale', [1.0] * len(names), count=len(names))
    root.close()
    if bool(by_quantity) == bool(table) or (by_quantity and root.has('columns')):
        root.refuse(None, path.name, 'must have either files or table with columns')
    given = by_quantity or first
    if missing := [name for name in NEEDED if name not in given]:
        root.refuse('files' if by_quantity else 'columns', [*given], f'must have {", ".join(missing)}')
    if faults:
        raise FaultsError(str(path), faults)
    return Layout(path.stem, robot, names, by_quantity, table, first, scale)


def _name_inside(section: Section, key: str) -> str:
    """Return the name of a file, or a pattern, that cannot lead out of the recording's folder by itself."""
    name = section.text(key)
    if name and (Path(name).is_absolute() or '..' in Path(name).parts or not Path(name).parts):
        section.refuse(key, name, "must be in the recording's folder: without .. and without / in front")
        return ''
    return name


def _columns(root: Section, joints: int) -> dict[str, int]:
    """Return by quantity its first column, counted from 0; those of two quantities must not overlap."""
    columns = root.section('columns')
    numbers = {name: columns.number(name, least=1) for name in QUANTITIES if columns.has(name)}
    columns.close()
    for name, number in numbers.items():
        if not (number.is_integer() and number <= COLUMNS):
            columns.refuse(name, number, f'must be the number of a column: whole, from 1 to {COLUMNS}')
            return {}
    first = {name: int(number) - 1 for name, number in numbers.items()}
    taken = {name: range(start, start + (1 if name == 'time' else joints)) for name, start in first.items()}
    for name, other in combinations(taken, 2):
        if {*taken[name]} & {*taken[other]}:
            root.refuse('columns', first, f'must be apart: {name} and {other} have columns of each other')
    return first


def layouts() -> list[Layout]:
    """Return the layouts that come with the package."""
    return [load_layout(path) for path in sorted(share('config', 'recordings').glob('*.yaml'))]
