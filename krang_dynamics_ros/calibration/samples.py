"""Samples of a wrist sensor, one for each standstill in a new orientation, and their file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ..core.errors import FaultsError, fault
from ..core.files import whole_file
from ..core.inertia import UNIT_LOADS
from ..core.spatial import Array
from ..core.wrench import Load
from ..live.engine import Engine
from ..live.standstill import Average, Standstill
from ..live.wrenches import Reading, WrenchInput
from .fit import Sample, is_new

NUMBERS = ('fx', 'fy', 'fz', 'mx', 'my', 'mz')
COLUMNS = ('axes', 'about', 'readings', *NUMBERS, *(f'deviation_{name}' for name in NUMBERS))
TIME = 'time'  # first column, s; it may be absent, or empty in some rows


class SamplesError(FaultsError):
    """A file of samples that cannot be used."""


def write_samples(path: Path, averages: Sequence[Average], joint_names: Sequence[str]) -> None:
    """Write samples: time (s), frames of the readings, how many, mean and deviation (N, N m), joint positions (rad, m).

    The file is written atomically.
    """
    with whole_file(path) as stream:
        writer = csv.writer(stream)
        writer.writerow([TIME, *COLUMNS, *joint_names])
        for average in averages:
            time = '' if average.time is None else f'{average.time:.3f}'
            numbers = [*average.reading.numbers.tolist(), *average.deviation.tolist(), *average.q.tolist()]
            reading = average.reading
            writer.writerow([time, reading.axes, reading.about, average.readings, *map(repr, numbers)])


def read_samples(path: Path, joint_names: Sequence[str], links: Sequence[str]) -> list[Average]:
    """Read samples of a robot with these joints and links, or raise `SamplesError`."""
    try:
        with path.open(newline='', encoding='utf-8') as stream:
            rows = list(csv.reader(stream))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SamplesError(str(path), [fault('file', str(error), 'must be CSV text')]) from None
    header = [*COLUMNS, *joint_names]
    found = rows[0] if rows else []
    if sorted(found) not in (sorted(header), sorted([TIME, *header])):
        must = f'must be {",".join(header)}, and {TIME} where times are known'
        raise SamplesError(str(path), [fault('first line', found, must)])
    order = [found.index(name) for name in header]
    at = found.index(TIME) if TIME in found else None
    averages = []
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(found):
            raise SamplesError(str(path), [fault(f'line {number}', row, f'must have {len(found)} values')])
        time = row[at] if at is not None else ''
        averages.append(_average(path, number, [row[k] for k in order], time, links))
    return averages


def _average(path: Path, number: int, row: Sequence[str], time: str, links: Sequence[str]) -> Average:
    try:
        numbers, seconds = np.array(row[2:], dtype=float), float(time or 0)
    except ValueError:
        numbers, seconds = np.array([np.nan]), 0.0
    known = all(name in ('', *links) for name in row[:2])
    if not known or not np.isfinite([*numbers, seconds]).all() or numbers[0] < 1:
        must = 'must be two links of the robot or nothing, and finite numbers'
        raise SamplesError(str(path), [fault(f'line {number}', row, must)])
    reading = Reading(numbers[1:7], row[0], row[1])
    return Average(reading, numbers[7:13], int(numbers[0]), numbers[13:], seconds if time else None)


SECONDS = 1.0  # s of standstill
LOOK = 0.1  # s between two evaluations of the readings


class Sampler:
    """Samples of a hand, and the state of the sampling."""

    def __init__(self, engine: Engine, hand: str) -> None:
        """Create a sampler; `engine` gets each message first. The bias of the hand is ignored."""
        self._inputs, self._dynamics = engine.inputs, engine.dynamics
        self.hand: WrenchInput = engine.inputs.hands[hand]
        self._still = Standstill(engine.dynamics.joint_names, SECONDS)
        self._looked = 0
        self.samples: list[Sample] = []
        self.averages: list[Average] = []  # of the samples
        self.status = 'waiting for joint states and readings'
        self.direction: Array | None = None  # of gravity in the hand's frame now

    def look(self, now: int) -> Sample | None:
        """Evaluate the latest reading, which arrived now (ns); return a new sample, if any."""
        states, reading = self._inputs.states, self.hand.reading
        if reading is None or self.hand.arrival != now:  # the latest reading was refused
            return None
        if not states.complete(now):
            self.status = f'not all joints are known: {", ".join(states.missing(now)[:5])}'
            return None
        self._still.add(now, reading, states.position, states.velocity if states.velocities_known else None)
        if now - self._looked < LOOK * 1e9 and now >= self._looked:
            return None
        self._looked = now
        return self._consider(now)

    def _consider(self, now: int) -> Sample | None:
        self.direction = self._gravity(self._inputs.states.position)
        if why := self._still.fault(now):
            self.status = why
            return None
        average = self._still.average()
        sample = self._sample(average)
        if not is_new(sample.direction, [known.direction for known in self.samples]):
            self.status = 'standing still where a sample was taken; turn the hand'
            return None
        self.samples.append(sample)
        self.averages.append(average)
        self.status = f'sample {len(self.samples)} taken; turn the hand'
        return sample

    def _sample(self, average: Average) -> Sample:
        """Return the sample of averaged readings."""
        weigh = partial(self._dynamics.weights, average.q)
        reading = average.reading
        columns = weigh([Load(self.hand.link, body, reading.axes, reading.about) for body in UNIT_LOADS])
        basis = -self.hand.sign * np.column_stack(columns)
        gravity = weigh([Load(self.hand.link, UNIT_LOADS[0])])[0][:3]
        removed = self.hand.removed_loads(reading)
        numbers = reading.numbers + (self.hand.sign * weigh(removed)[0] if removed else 0.0)
        return Sample(numbers, average.deviation, average.readings, gravity, basis, average.time)

    def _gravity(self, q: Array) -> Array:
        weight = self._dynamics.weights(q, [Load(self.hand.link, UNIT_LOADS[0])])[0][:3]
        return np.asarray(weight / np.linalg.norm(weight))

    def resume_with(self, averages: Sequence[Average]) -> None:
        """Continue with earlier samples."""
        self.averages += averages
        self.samples += [self._sample(average) for average in averages]
