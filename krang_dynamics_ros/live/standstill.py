"""Standstill of a robot: joints do not move, and the readings of a hand's sensor are steady."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from .wrenches import Reading

SLOW = 0.05  # rad/s, m/s: above the noise of a differentiated velocity
STEADY = 0.005  # rad, m: far above the noise of an encoder
NOISE = (2.0, 0.2)  # N, N m, standard deviation: above the noise of a cheap sensor
DRIFT = (0.3, 0.03)  # N, N m, between the means of both halves, beyond the effect of noise
MIN_READINGS = 10  # readings
MIN_COVERAGE = 0.8  # of the time


class Moment(NamedTuple):
    """A reading, with the joints at its time."""

    arrival: int  # ns
    reading: Reading
    q: Array
    dq: Array | None


class Average(NamedTuple):
    """The mean of the readings of a hand at standstill."""

    reading: Reading  # mean
    deviation: Array  # (6) standard deviation of a single reading
    readings: int  # in the mean
    q: Array  # (n) mean
    time: float | None = None  # s, of the last reading; None: unknown


class Standstill:
    """The readings of the last seconds."""

    def __init__(self, joint_names: Sequence[str], seconds: float) -> None:
        """`seconds` is the required duration of the standstill."""
        self.joint_names = tuple(joint_names)
        self.seconds = seconds
        self._moments: deque[Moment] = deque()

    def forget(self) -> None:
        """Forget all readings."""
        self._moments.clear()

    def add(self, arrival: int, reading: Reading, q: Array, dq: Array | None) -> None:
        """Store a reading with its arrival (ns) and the joints (n) at that time; dq is None if unknown."""
        moments = self._moments
        if moments and arrival < moments[-1].arrival:
            moments.clear()  # time went back
        moments.append(Moment(arrival, reading, q.copy(), None if dq is None else dq.copy()))
        while moments[0].arrival < arrival - self.seconds * 1e9:
            moments.popleft()

    def fault(self, now: int) -> str:
        """Return why there is no standstill until now (ns), or ''."""
        moments = self._moments
        if not moments or now - moments[-1].arrival > (1 - MIN_COVERAGE) * self.seconds * 1e9:
            return 'no readings while all joints are known'
        covered = (moments[-1].arrival - moments[0].arrival) / 1e9
        if covered < MIN_COVERAGE * self.seconds or len(moments) < MIN_READINGS:
            return f'{covered:.1f} s of readings, must be {self.seconds:g} s with at least {MIN_READINGS} readings'
        if len(frames := {moment.reading[1:] for moment in moments}) > 1:
            return f'readings come in several frames: {sorted(axes or "the hand" for axes, _ in frames)}, must be one'
        return self._motion() or self._noise()

    def _motion(self) -> str:
        speeds = [np.abs(moment.dq) for moment in self._moments if moment.dq is not None]
        if speeds and (fastest := np.max(speeds, axis=0)).max() > SLOW:
            k = int(fastest.argmax())
            return f'{self.joint_names[k]} moves, at up to {fastest[k]:.3g} rad/s, must be below {SLOW:g}'
        travel = np.ptp([moment.q for moment in self._moments], axis=0)
        if travel.max() > STEADY:
            k = int(travel.argmax())
            return f'{self.joint_names[k]} has moved by {travel[k]:.3g} rad, must be below {STEADY:g}'
        return ''

    def _noise(self) -> str:
        numbers = self._numbers()
        deviation, half = numbers.std(axis=0), len(numbers) // 2
        drift = np.abs(numbers[:half].mean(axis=0) - numbers[half:].mean(axis=0))
        noise = np.diff(numbers, axis=0).std(axis=0) / np.sqrt(2)  # without slow changes
        drift -= 10 * noise / np.sqrt(len(numbers))  # five standard deviations of the drift that noise alone causes
        for values, limits, kind in ((deviation, NOISE, 'noise'), (drift, DRIFT, 'drift')):
            force, moment = values[:3].max(), values[3:].max()
            if force > limits[0] or moment > limits[1]:
                return (
                    f'the readings have a {kind} of {max(force, 0):.2g} N and {max(moment, 0):.2g} N m, '
                    f'must be below {limits[0]:g} and {limits[1]:g}'
                )
        return ''

    def _numbers(self) -> Array:
        return np.array([moment.reading.numbers for moment in self._moments])

    def average(self) -> Average:
        """Return the mean of all readings; check `fault` first."""
        numbers, reading = self._numbers(), self._moments[-1].reading
        q = np.mean([moment.q for moment in self._moments], axis=0)
        mean = reading._replace(numbers=numbers.mean(axis=0))
        return Average(mean, numbers.std(axis=0, ddof=1), len(numbers), q, self._moments[-1].arrival * 1e-9)
