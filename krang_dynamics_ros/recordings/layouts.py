"""How the files of a recording are laid out: which file or column is which, by a short YAML file.

The layouts that are known stand in `config/recordings/`; a folder may have its own, `recording.yaml`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..core.errors import FaultsError
from ..core.share import share
from ..core.spatial import Array
from ..robot.yaml_parsing import UNREADABLE, parse_file
from ..robot.yaml_reading import Section

OWN = 'recording.yaml'
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
        found = sorted(folder.glob(self.table)) if folder.is_dir() else [folder] if folder.match(self.table) else []
        return [path for path in found if self._wide_enough(path)]

    def _wide_enough(self, path: Path) -> bool:
        """Tell whether the first line is numbers, as many as the layout needs or more."""
        try:
            with path.open(encoding='utf-8') as file:
                words = file.readline().split(',')
            [float(word) for word in words]
        except (OSError, ValueError):
            return False
        return len(words) >= max(self.columns.values()) + len(self.joints)

    def fits(self, path: Path) -> bool:
        """Tell whether a folder, or a file, is laid out like this."""
        if self.files:
            return path.is_dir() and all((path / self.files[name]).is_file() for name in ('time', 'position', 'effort'))
        return len(self.table_in(path)) == 1


def load_layout(path: Path) -> Layout:
    """Read a layout, or raise `FaultsError` with every fault of it."""
    data, faults = parse_file(path)
    if data is UNREADABLE:
        raise FaultsError(str(path), faults)
    root = Section(data, '', faults)
    robot = root.text('robot')
    names = root.texts('joints')
    files = root.section('files')
    by_quantity = {name: files.text(name) for name in QUANTITIES if files.has(name)}
    files.close()
    table = root.text('table') if root.has('table') else ''
    columns = root.section('columns')
    first = {name: int(columns.number(name, least=1)) - 1 for name in QUANTITIES if columns.has(name)}
    columns.close()
    scale = root.vector('effort_scale', [1.0] * len(names), count=len(names))
    root.close()
    if bool(by_quantity) == bool(table):
        root.refuse(None, path.name, 'must have either files or table with columns')
    given = by_quantity or first
    if missing := [name for name in NEEDED if name not in given]:
        root.refuse('files' if by_quantity else 'columns', [*given], f'must have {", ".join(missing)}')
    if faults:
        raise FaultsError(str(path), faults)
    return Layout(path.stem, robot, names, by_quantity, table, first, scale)


def layouts() -> list[Layout]:
    """Return the layouts that come with the package."""
    return [load_layout(path) for path in sorted(share('config', 'recordings').glob('*.yaml'))]
