"""Reading of recordings from folders and tables, by layouts: YAML files that say which file or column is what.

Known layouts are in `config/recordings/`; a folder may have its own, `recording.yaml`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TextIO

import numpy as np

from ..core.errors import FaultsError, listed
from ..core.files import robot_named, share
from ..core.optional import optional
from ..core.spatial import Array
from ..robot.yaml_reading import UNREADABLE, Section, parse_file
from .bag import is_bag
from .recording import Recording, RecordingError, reading

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
        """Return whether a folder or file has this layout."""
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
            root.refuse('columns', first, f'must be apart: {name} and {other} have columns of each other')
    return first


def layouts() -> list[Layout]:
    """Return the layouts of the package."""
    return [load_layout(path) for path in sorted(share('config', 'recordings').glob('*.yaml'))]


TABLES = ('.csv', '.parquet')
WANTED = ('.position', '.velocity', '.effort')  # how the names of columns end
parquet = optional('pyarrow.parquet', 'reading Parquet')


def find_layout(path: Path, layout: Path | None = None) -> Layout | None:
    """Return the layout of a recording: the given layout, its own, or a known layout.

    None for bags, and for tables whose head has `time` and `<joint>.position`, `.velocity` and `.effort`.
    """
    if not path.exists():
        raise RecordingError(f'{path}: no such file or folder; must be a recording')
    if layout is not None:
        return load_layout(layout)
    if (path / OWN).is_file():
        return load_layout(path / OWN)
    if is_bag(path):
        return None
    fitting = [known for known in layouts() if known.fits(path)]
    if fitting:
        return fitting[0]
    if path.suffix in TABLES:
        return None
    _refuse_incomplete(path)
    known = ', '.join(known.name for known in layouts())
    raise RecordingError(
        f'{path}: is laid out like none of {known}, and is no bag or table ({", ".join(TABLES)}); put {OWN} into it, '
        'which says which file or column is which (docs/identification.md)'
    )


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


def _refuse_incomplete(path: Path) -> None:
    """Refuse a folder that has some files of a known layout, and name the missing files."""
    for known in layouts():
        missing = [file for name, file in known.files.items() if name != 'velocity' and not (path / file).is_file()]
        if any((path / file).is_file() for file in known.files.values()):
            raise RecordingError(f'{path}: is laid out like {known.name}, but has no {", ".join(missing)}')


def robot_beside(path: Path, layout: Layout | None) -> Path | None:
    """Return the robot file that a recording's layout names: of the package, or beside the recording."""
    if layout is None:
        return None
    folder = path if path.is_dir() else path.parent
    if shipped := robot_named(layout.robot):
        return shipped
    _refuse_outside(folder, layout.robot)
    return folder / layout.robot


def read_recording(path: str | Path, layout: Path | None = None) -> Recording:
    """Read a recording, or raise `RecordingError` with the file and the reason."""
    path = Path(path)
    known = find_layout(path, layout)
    try:
        return _read_table(path) if known is None else _read_layout(path, known)
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f'{path}: {error}') from None


def _read_layout(path: Path, layout: Layout) -> Recording:
    n = len(layout.joints)
    if layout.files:
        _refuse_missing(path, layout)
        columns = {name: _numbers(path / file) for name, file in layout.files.items() if (path / file).is_file()}
    else:
        tables = layout.table_in(path)
        if len(tables) != 1:
            raise RecordingError(
                f'{path}: {len(tables)} tables {layout.table} of layout {layout.name}, must be one; links that lead '
                'out of the folder do not count'
            )
        table = _numbers(tables[0], ',')
        widths = {name: 1 if name == 'time' else n for name in layout.columns}
        columns = {name: table[:, first : first + widths[name]] for name, first in layout.columns.items()}
    rows = {name: len(values) for name, values in columns.items()}
    if len(set(rows.values())) > 1:
        raise RecordingError(f'{path}: {rows} rows, must be as many in each')
    for name, values in columns.items():
        if values.shape[1] != (1 if name == 'time' else n):
            raise RecordingError(
                f'{path}: {name} has {values.shape[1]} columns, must be {1 if name == "time" else n} ({layout.name})'
            )
    effort = columns.get('effort')
    scaled = None if effort is None else effort * layout.effort_scale
    return Recording(
        str(path), layout.joints, columns['time'][:, 0], columns['position'], columns.get('velocity'), scaled
    )


def _numbers(path: Path, delimiter: str | None = None, head: int = 0) -> Array:
    """Read a file of numbers (rows, columns) after `head` lines."""
    with warnings.catch_warnings(), reading(path):
        warnings.simplefilter('ignore')  # of an empty file, which is refused below
        table = np.loadtxt(path, delimiter=delimiter, ndmin=2, skiprows=head)
    if not table.size:
        raise RecordingError(f'{path}: holds no numbers')
    return np.asarray(table, dtype=float)


def _read_table(path: Path) -> Recording:
    head, table = _parquet_table(path) if path.suffix == '.parquet' else _csv_table(path)
    joints = _joints_of(path, head)

    def columns(quantity: str) -> Array:
        return np.asarray(table[:, [head.index(f'{joint}.{quantity}') for joint in joints]])

    velocity, effort = (
        columns(quantity) if all(f'{joint}.{quantity}' in head for joint in joints) else None
        for quantity in ('velocity', 'effort')
    )
    return Recording(str(path), joints, table[:, head.index('time')], columns('position'), velocity, effort)


def _joints_of(path: Path, head: Sequence[str]) -> tuple[str, ...]:
    """Return the joints of a table from the names of its columns, or raise `RecordingError`."""
    if 'time' not in head:
        raise RecordingError(f'{path}: its head has no column `time` but {", ".join(head[:4])[:300]} ...')
    joints = tuple(name.removesuffix('.position') for name in head if name.endswith('.position'))
    if not joints:
        raise RecordingError(f'{path}: its head has no column `<joint>.position`')
    if twice := [name for name, count in Counter(head).items() if count > 1]:
        raise RecordingError(f'{path}: its head has {listed(twice)} more than once, must have each once')
    return joints


def _csv_table(path: Path) -> tuple[list[str], Array]:
    with path.open(encoding='utf-8') as file:
        head = [name.strip() for name in file.readline(HEAD).split(',')]
    table = _numbers(path, ',', head=1)
    if table.shape[1] != len(head):
        raise RecordingError(f'{path}: {table.shape[1]} columns, the head has {len(head)} names')
    return head, table


def _parquet_table(path: Path) -> tuple[list[str], Array]:
    """Read the columns of a recording; other columns are ignored."""
    with reading(path):
        head = [name for name in parquet.read_schema(path).names if name == 'time' or name.endswith(WANTED)]
        _joints_of(path, head)
        table = parquet.read_table(path, columns=head)
        columns = [np.asarray(table[name], dtype=float) for name in head]
        return head, np.stack(columns, axis=-1)


def write_csv(recording: Recording, path: str | Path | TextIO) -> None:
    """Write a recording as a table with a head, which `read_recording` reads."""
    head, columns = ['time'], [recording.time[:, None]]
    for quantity in ('position', 'velocity', 'effort'):
        values = getattr(recording, quantity)
        if values is not None:
            head += [f'{joint}.{quantity}' for joint in recording.joint_names]
            columns.append(values)
    np.savetxt(path, np.concatenate(columns, axis=1), '%.9g', ',', header=','.join(head), comments='')
