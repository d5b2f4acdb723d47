"""Standstill of a robot: joints do not move, and readings (of a hand's sensor, or efforts) are steady."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from .wrenches import Reading

SLOW = 0.05  # rad/s, m/s: above the noise of a differentiated velocity
STEADY = 0.005  # rad, m: far above the noise of an encoder
NOISE = (2.0, 0.2)  # N, N m, standard deviation: above the noise of a cheap sensor
DRIFT = (0.3, 0.03)  # N, N m, between the means of both halves, beyond the effect of noise
EFFORT_DRIFT = (0.05, 0.02)  # N m (N), and share of the effort: a controller that has settled drifts by less
MIN_READINGS = 10  # readings
MIN_COVERAGE = 0.8  # of the time


class ReadingAtPose(NamedTuple):
    """A reading, with the joints at its time."""

    arrival: int  # ns
    reading: Reading
    q: Array
    dq: Array | None


class Average(NamedTuple):
    """The mean of the readings of a hand at standstill."""

    reading: Reading  # mean
    deviation: Array  # (6, or n of efforts) standard deviation of a single reading
    readings: int  # in the mean
    q: Array  # (n) mean
    time: float | None = None  # s, of the last reading; None: unknown


def wrench_fault(numbers: Array) -> str:
    """Return why readings (m, 6) of a sensor are not steady, or ''."""
    for values, limits, kind in ((numbers.std(axis=0), NOISE, 'noise'), (drift(numbers), DRIFT, 'drift')):
        force, moment = values[:3].max(), values[3:].max()
        if force > limits[0] or moment > limits[1]:
            return (
                f'the readings have a {kind} of {max(force, 0):.2g} N and {max(moment, 0):.2g} N m, '
                f'must be below {limits[0]:g} and {limits[1]:g}'
            )
    return ''


def effort_fault(numbers: Array) -> str:
    """Return why efforts (m, n; N m, N) are not steady, or ''; efforts that are NaN are left out."""
    limits = EFFORT_DRIFT[0] + EFFORT_DRIFT[1] * np.abs(numbers.mean(axis=0))
    excess = np.nan_to_num(drift(numbers) - limits, nan=-np.inf, neginf=-np.inf)
    k = int(excess.argmax())
    if excess[k] <= 0:
        return ''
    which = f'the effort of joint {k + 1} of {numbers.shape[1]}'
    return f'{which} still drifts by {drift(numbers)[k]:.2g} N m (N), must be below {limits[k]:.2g}'


def drift(numbers: Array) -> Array:
    """Return the drift of each column between the means of both halves, less what noise alone explains."""
    half = len(numbers) // 2
    difference = np.abs(numbers[:half].mean(axis=0) - numbers[half:].mean(axis=0))
    noise = np.diff(numbers, axis=0).std(axis=0) / np.sqrt(2)  # without slow changes
    # Five standard deviations of the difference of two means, if there is only noise.
    return np.asarray(difference - 10 * noise / np.sqrt(len(numbers)))


class Standstill:
    """The readings of the last seconds."""

    def __init__(
        self, joint_names: Sequence[str], seconds: float, unsteady: Callable[[Array], str] = wrench_fault
    ) -> None:
        """`seconds` of rest are required; `unsteady` returns why readings (m, k) are not steady, or ''."""
        self.joint_names = tuple(joint_names)
        self.seconds, self._unsteady = seconds, unsteady
        self._readings: deque[ReadingAtPose] = deque()

    def forget(self) -> None:
        """Forget all readings."""
        self._readings.clear()

    def add(self, arrival: int, reading: Reading, q: Array, dq: Array | None) -> None:
        """Store a reading with its arrival (ns) and the joints (n) at that time; dq is None if unknown."""
        readings = self._readings
        if readings and arrival < readings[-1].arrival:
            readings.clear()  # time went back
        readings.append(ReadingAtPose(arrival, reading, q.copy(), None if dq is None else dq.copy()))
        while readings[0].arrival < arrival - self.seconds * 1e9:
            readings.popleft()

    def fault(self, now: int) -> str:
        """Return why the seconds before `now` (ns) were no standstill, or ''."""
        readings = self._readings
        if not readings or now - readings[-1].arrival > (1 - MIN_COVERAGE) * self.seconds * 1e9:
            return 'no readings while all joints are known'
        covered, least = (readings[-1].arrival - readings[0].arrival) / 1e9, MIN_COVERAGE * self.seconds
        if covered < least or len(readings) < MIN_READINGS:
            return f'{covered:.1f} s of readings, must be {least:g} s with at least {MIN_READINGS} readings'
        if len(frames := {sample.reading[1:] for sample in readings}) > 1:
            return f'readings come in several frames: {sorted(axes or "the hand" for axes, _ in frames)}, must be one'
        return self._motion() or self._unsteady(self._numbers())

    def _motion(self) -> str:
        speeds = [np.abs(sample.dq) for sample in self._readings if sample.dq is not None]
        if speeds and (fastest := np.max(speeds, axis=0)).max() > SLOW:
            k = int(fastest.argmax())
            return f'{self.joint_names[k]} moves, at up to {fastest[k]:.3g} rad/s (m/s), must be below {SLOW:g}'
        travel = np.ptp([sample.q for sample in self._readings], axis=0)
        if travel.max() > STEADY:
            k = int(travel.argmax())
            return f'{self.joint_names[k]} has moved by {travel[k]:.3g} rad (m), must be below {STEADY:g}'
        return ''

    def _numbers(self) -> Array:
        return np.array([sample.reading.numbers for sample in self._readings])

    def average(self) -> Average:
        """Return the mean of all readings; check `fault` first."""
        numbers, reading = self._numbers(), self._readings[-1].reading
        q = np.mean([sample.q for sample in self._readings], axis=0)
        mean = reading._replace(numbers=numbers.mean(axis=0))
        return Average(mean, numbers.std(axis=0, ddof=1), len(numbers), q, self._readings[-1].arrival * 1e-9)
