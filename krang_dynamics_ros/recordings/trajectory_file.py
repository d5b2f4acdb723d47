"""Files of trajectory_msgs/JointTrajectory in YAML, as of `ros2 topic pub` and `ros2 topic echo --once`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ArgumentError, Fault, FaultsError, fault
from ..core.files import whole_file
from ..core.spatial import Array
from ..dynamics.trajectory import Trajectory, given
from ..robot.yaml_reading import UNREADABLE, Section, parse

SECOND = 1_000_000_000  # ns
DIGITS = 12  # decimals of a written number: far below what a motor resolves
MAX_CHARS, MAX_ENTRIES = 200_000_000, 5_000_000  # of a file: 60 000 points of 17 joints with all that they can have
FIELDS = {'positions': 'position', 'velocities': 'velocity', 'accelerations': 'acceleration', 'effort': 'effort'}


class TrajectoryFileError(FaultsError):
    """A file that is not a joint trajectory."""


def write_trajectory(path: Path, trajectory: Trajectory, remarks: Sequence[str] = ()) -> None:
    """Write a trajectory atomically, with remarks at its head."""
    with whole_file(path) as stream:
        for line in _lines(trajectory, remarks):
            stream.write(f'{line}\n')


def trajectory_text(trajectory: Trajectory, remarks: Sequence[str] = ()) -> str:
    """Return a trajectory as YAML, with a line for each point, without missing fields."""
    return '\n'.join([*_lines(trajectory, remarks), ''])


def _lines(trajectory: Trajectory, remarks: Sequence[str]) -> Iterator[str]:
    yield from (f'# {line}' for remark in remarks for line in remark.splitlines())
    yield 'header: {stamp: {sec: 0, nanosec: 0}, frame_id: ""}'
    yield f'joint_names: [{", ".join(map(json.dumps, trajectory.joint_names))}]'
    yield 'points:'
    arrays = {field: getattr(trajectory, name) for field, name in FIELDS.items()}
    known = {field: given(array) for field, array in arrays.items()}
    for k, time in enumerate(trajectory.time):
        sec, nanosec = divmod(round(time * SECOND), SECOND)
        fields = ''.join(f'{field}: {_floats(array[k])}, ' for field, array in arrays.items() if known[field][k])
        yield f'- {{{fields}time_from_start: {{sec: {sec}, nanosec: {nanosec}}}}}'


def _floats(row: Array) -> str:
    """Return a YAML list of floats: a Python message that checks its types refuses the integer 0."""
    return f'[{", ".join(map(_float, np.round(row, DIGITS).tolist()))}]'


def _float(value: float) -> str:
    text = repr(value)
    return text if 'e' not in text else np.format_float_positional(value, trim='0')


def read_trajectory(path: Path) -> Trajectory:
    """Read a trajectory file, or raise `TrajectoryFileError` with all faults."""
    data, faults = _parsed(path)
    if data is UNREADABLE:
        raise TrajectoryFileError(str(path), faults)
    section = Section(_without_empty_lists(data), '', faults)
    section.section('header')
    names = section.texts('joint_names')
    points = [_Point(point, len(names)) for point in section.items('points')] if names else []
    section.close()
    if names and not points and not faults:
        section.refuse('points', [], 'must have one point at least')
    if faults:
        raise TrajectoryFileError(str(path), faults)
    columns = {name: [point.rows[field] for point in points] for field, name in FIELDS.items()}
    try:
        return Trajectory.of(names, [point.time for point in points], **columns)
    except ArgumentError as error:
        raise TrajectoryFileError(str(path), [Fault('points', str(error), 'see there')]) from None


def _parsed(path: Path) -> tuple[Any, list[Fault]]:
    """Return a file's data, without the line of dashes with which `ros2 topic echo` ends."""
    try:
        with path.open(encoding='utf-8') as stream:
            text = stream.read(MAX_CHARS + 1)
    except UnicodeDecodeError as error:
        return UNREADABLE, [fault('file', str(error), 'must be text in UTF-8')]
    return parse(text.rstrip().removesuffix('\n---'), max_chars=MAX_CHARS, max_entries=MAX_ENTRIES)


def _without_empty_lists(data: Any) -> Any:
    """Return the data without empty fields, which `ros2 topic echo` writes as []."""
    if not isinstance(data, dict) or not isinstance(data.get('points'), list):
        return data
    points = [
        {key: value for key, value in point.items() if value != []} if isinstance(point, dict) else point
        for point in data['points']
    ]
    return data | {'points': points}


class _Point:
    """A point of a file: time (s) and fields (n); NaN for missing fields."""

    def __init__(self, section: Section, n: int) -> None:
        none = [float('nan')] * n
        self.rows = {field: self._row(section, field, n, none) for field in FIELDS}
        if not section.has('positions'):
            section.vector('positions', count=n)  # adds the fault
        time = section.section('time_from_start')
        self.time = time.number('sec', least=0.0) + 1e-9 * time.number('nanosec', 0.0, least=0.0)
        time.close()
        section.close()

    @staticmethod
    def _row(section: Section, field: str, n: int, none: list[float]) -> list[float]:
        row: list[float] = section.vector(field, none, count=n).tolist()
        return row
