"""Samples on disk, a line each, so that nothing that was sampled is lost: CSV, to go on with or to look at."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..core.errors import FaultsError, fault
from ..core.whole_file import whole_file
from ..inputs.end_effector import Reading
from ..inputs.standstill import Average

NUMBERS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')
COLUMNS = ('axes', 'about', 'readings', *NUMBERS, *(f'deviation_{name}' for name in NUMBERS))


class SamplesError(FaultsError):
    """A file of samples that cannot be used."""


def write_samples(path: Path, averages: Sequence[Average], joint_names: Sequence[str]) -> None:
    """Write samples: where readings are given, how many, their mean and deviation (N, N m), joint positions (rad, m).

    The file is there whole at any moment.
    """
    with whole_file(path) as stream:
        writer = csv.writer(stream)
        writer.writerow([*COLUMNS, *joint_names])
        for one in averages:
            numbers = [*one.reading.numbers.tolist(), *one.deviation.tolist(), *one.q.tolist()]
            writer.writerow([one.reading.axes, one.reading.about, one.readings, *map(repr, numbers)])


def read_samples(path: Path, joint_names: Sequence[str], links: Sequence[str]) -> list[Average]:
    """Read samples of a robot with these joints and links, or raise `SamplesError`."""
    try:
        with path.open(newline='', encoding='utf-8') as stream:
            rows = list(csv.reader(stream))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SamplesError(str(path), [fault('file', str(error), 'must be CSV text')]) from None
    header = [*COLUMNS, *joint_names]
    if not rows or rows[0] != header:
        found = rows[0] if rows else []
        raise SamplesError(str(path), [fault('first line', found, f'must be {",".join(header)}')])
    return [_average(path, number, row, links) for number, row in enumerate(rows[1:], 2)]


def _average(path: Path, number: int, row: Sequence[str], links: Sequence[str]) -> Average:
    try:
        numbers = np.array(row[2:], dtype=float)
    except ValueError:
        numbers = np.array([np.nan])
    known = all(name in ('', *links) for name in row[:2])
    if not known or len(numbers) < 1 + 2 * len(NUMBERS) or not np.isfinite(numbers).all() or numbers[0] < 1:
        must = 'must be two links of the robot or nothing, and finite numbers'
        raise SamplesError(str(path), [fault(f'line {number}', row, must)])
    return Average(Reading(numbers[1:7], row[0], row[1]), numbers[7:13], int(numbers[0]), numbers[13:])
