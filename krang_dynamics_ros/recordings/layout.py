"""Folders of number files and tables without a head, by layouts: YAML files that say which file or column is what.

Known layouts are in `config/recordings/`; a folder may have its own, `recording.yaml`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np

from ..core.errors import FaultsError
from ..core.files import robot_named, share
from ..core.spatial import Array
from ..live.messages import JointStateRun
from ..robot.yaml_reading import UNREADABLE, Section, parse_file
from .recording import RecordingError, reading
from .source import EARLIEST, LATEST, Contents, Source, Topics
from .table import runs_within, stamps_of

OWN = 'recording.yaml'
HEAD = 1 << 20  # characters that are read of a first line
COLUMNS = 100_000  # of a table, at most
NEEDED = ('time', 'position')
QUANTITIES = ('time', 'position', 'velocity', 'effort')


@dataclass(frozen=True, eq=False)
class Layout:
    """Layout of a recording: a file for each quantity, or a table without a head."""

    name: str
    robot: str  # a robot of the package by name, or a file beside the recording
    joints: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)  # by quantity
    table: str = ''  # a pattern
    columns: dict[str, int] = field(default_factory=dict)  # first column by quantity, counted from 0
    effort_scale: Array = field(default_factory=lambda: np.ones(1))  # (joints): N m per recorded unit

    def table_in(self, folder: Path) -> list[Path]:
        """Return the tables of this layout in a folder, or the file itself."""
        if not self.table:
            return []
        if not folder.is_dir():
            return [folder] if folder.match(self.table) and self._wide_enough(folder) else []
        found = sorted(path for path in folder.glob(self.table) if path.is_file() and is_inside(folder, path))
        return [path for path in found if self._wide_enough(path)]

    def _wide_enough(self, path: Path) -> bool:
        """Return whether the first line has at least the numbers that the layout needs."""
        try:
            with path.open(encoding='utf-8') as file:
                words = file.readline(HEAD).split(',')
            [float(word) for word in words]
        except (OSError, ValueError):
            return False
        return len(words) >= max(self.columns.values()) + len(self.joints)

    def fits(self, path: Path) -> bool:
        """Return whether a folder or file has this layout, with efforts; they may be missing only if it is given."""
        if self.files:
            return path.is_dir() and all((path / self.files[name]).is_file() for name in ('time', 'position', 'effort'))
        return len(self.table_in(path)) == 1


def is_inside(folder: Path, path: Path) -> bool:
    """Return whether a path is inside a folder, with links resolved: a foreign recording must not name other files."""
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
    """Return the name of a file, or a pattern, without `..` and absolute paths."""
    name = section.text(key)
    if name and (Path(name).is_absolute() or '..' in Path(name).parts or not Path(name).parts):
        section.refuse(key, name, "must be in the recording's folder: without .. and without / in front")
        return ''
    return name


def _columns(root: Section, joints: int) -> dict[str, int]:
    """Return the first column of each quantity, counted from 0; columns must not overlap."""
    columns = root.section('columns')
    numbers = {name: columns.number(name, least=1) for name in QUANTITIES if columns.has(name)}
    columns.close()
    for name, number in numbers.items():
        if not (number.is_integer() and number <= COLUMNS):
            columns.refuse(name, number, f'must be the number of a column: whole, from 1 to {COLUMNS}')
            return {}
    first = {name: int(number) - 1 for name, number in numbers.items()}
    used = {name: range(start, start + (1 if name == 'time' else joints)) for name, start in first.items()}
    for name, other in combinations(used, 2):
        if {*used[name]} & {*used[other]}:
            root.refuse('columns', first, f'must be apart: {name} and {other} share columns')
    return first


def layouts() -> list[Layout]:
    """Return the layouts of the package."""
    return [load_layout(path) for path in sorted(share('config', 'recordings').glob('*.yaml'))]


class LaidOut(Source):
    """A folder or table with a layout, read whole."""

    origin = 0

    def __init__(self, path: Path, layout: Layout) -> None:
        super().__init__(path)
        self.layout = layout

    def __enter__(self) -> LaidOut:
        with reading(self.path):
            columns = self._columns()
        n = len(self.layout.joints)
        for name, values in columns.items():
            if values.shape[1] != (1 if name == 'time' else n):
                width = 1 if name == 'time' else n
                raise RecordingError(
                    f'{self.path}: {name} has {values.shape[1]} columns, must be {width} ({self.layout.name})'
                )
        rows = {name: len(values) for name, values in columns.items()}
        if len(set(rows.values())) > 1:
            raise RecordingError(f'{self.path}: rows are {rows}, must be the same number for each')
        stamp = stamps_of(self.path, 'time', columns['time'][:, 0])
        unknown = np.zeros((len(stamp), 0))
        velocity, effort = columns.get('velocity', unknown), columns.get('effort', unknown)
        scaled = effort * self.layout.effort_scale if effort.size else effort
        self._run = JointStateRun(self.layout.joints, columns['position'], velocity, scaled, stamp, stamp)
        return self

    def _columns(self) -> dict[str, Array]:
        """Return the numbers (rows, columns) by quantity."""
        layout = self.layout
        if layout.files:
            _refuse_missing(self.path, layout)
            files = {name: self.path / file for name, file in layout.files.items()}
            return {name: _numbers(file) for name, file in files.items() if file.is_file()}
        tables = layout.table_in(self.path)
        if len(tables) != 1:
            raise RecordingError(
                f'{self.path}: {len(tables)} tables {layout.table} of layout {layout.name}, must be one; links that '
                'lead out of the folder are ignored'
            )
        table = _numbers(tables[0], ',')
        widths = {name: 1 if name == 'time' else len(layout.joints) for name in layout.columns}
        return {name: table[:, first : first + widths[name]] for name, first in layout.columns.items()}

    @property
    def contents(self) -> Contents:
        """Number of rows, start and end."""
        stamp = self._run.stamp
        return Contents({self.path.name: ('table', len(stamp))}, int(stamp.min()), int(stamp.max()) + 1)

    def runs(self, topics: Topics, start: int = EARLIEST, end: int = LATEST) -> Iterator[JointStateRun]:
        """Yield the rows from `start` to before `end` (ns)."""
        yield from runs_within(self._run, start, end)

    @property
    def robot(self) -> Path:
        """The robot file of the layout: of the package, or beside the recording."""
        folder = self.path if self.path.is_dir() else self.path.parent
        if shipped := robot_named(self.layout.robot):
            return shipped
        _refuse_outside(folder, self.layout.robot)
        return folder / self.layout.robot


def _refuse_missing(path: Path, layout: Layout) -> None:
    """Refuse a folder without the needed files of a layout; other files are optional."""
    missing = [layout.files[name] for name in NEEDED if not (path / layout.files[name]).is_file()]
    if missing:
        raise RecordingError(f'{path}: has no {", ".join(missing)}, must have them by layout {layout.name}')
    for file in layout.files.values():
        _refuse_outside(path, file)


def _refuse_outside(folder: Path, file: str) -> None:
    if not is_inside(folder, folder / file):
        raise RecordingError(
            f'{folder}: {file} leads out of it, to {(folder / file).resolve()}; must be in this folder: copy it there'
        )


def _numbers(path: Path, delimiter: str | None = None) -> Array:
    """Read a file of numbers (rows, columns)."""
    with warnings.catch_warnings(), reading(path):
        warnings.simplefilter('ignore')  # of an empty file, which is refused below
        table = np.loadtxt(path, delimiter=delimiter, ndmin=2)
    if not table.size:
        raise RecordingError(f'{path}: holds no numbers')
    return np.asarray(table, dtype=float)


def refuse_incomplete(path: Path) -> None:
    """Refuse a folder that has some files of a known layout, and name the missing files."""
    for known in layouts():
        missing = [file for name, file in known.files.items() if name != 'velocity' and not (path / file).is_file()]
        if any((path / file).is_file() for file in known.files.values()):
            raise RecordingError(f'{path}: is laid out like {known.name}, but has no {", ".join(missing)}')
