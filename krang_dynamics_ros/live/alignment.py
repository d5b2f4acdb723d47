"""Alignment of joint states that are split over several messages: all joints are interpolated to a common instant.

A part is the joints of one message. Nothing is extrapolated. The newest instant is a stamp of the slowest part: its
sample is used unchanged there, and faster parts are interpolated over their short steps. Between two such instants
there are others, spaced like the samples of the fastest part; there the slower parts are interpolated too, over their
long steps. An instant is complete when every joint has a sample at it or after it. Parts with equal stamps are
therefore complete, without interpolation, when the last of them has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .timeline import NEVER

DEPTH = 128  # samples kept per joint: one part may lag another by this many samples of the latter
POINTS = 4  # samples of an interpolation (cubic), one of them at or after the instant
MAX_WEIGHT_SUM = 3.0  # sum of the absolute weights: beyond it the times are too uneven for a cubic, and a line is used
SLOWER = 1.5  # times the present step: a part that is slower than this becomes the reference
INFINITE_AGE = 1e12  # s, of a missing sample
STEPS = 4  # samples over which the step of a part is averaged
MOST_STEPS = 16  # instants that `next` returns at once, at most
Times = NDArray[np.int64]


class Aligned(NamedTuple):
    """Positions, velocities and efforts (3, n) at an instant (ns)."""

    instant: int
    numbers: Array


class Alignment:
    """The latest samples of n joints, and the newest instant at which all of them are known."""

    def __init__(self, n: int) -> None:
        self._columns = np.arange(n)
        self.forget()

    def forget(self) -> None:
        """Forget all samples. From the next message with a part of the joints on, samples are kept: that costs time."""
        self.active = False
        self.instant = NEVER  # ns, by stamps; by arrivals while the newest sample of a joint has no stamp
        self._by_arrival = False
        self._reference = 0  # index of the joint whose sample times are the instants

    def _begin(self) -> None:
        n = len(self._columns)
        self._times: Times = np.full((2, DEPTH, n), NEVER, dtype=np.int64)  # stamps and arrivals
        self._numbers: Array = np.zeros((3, DEPTH, n))
        self._next = np.zeros(n, dtype=np.intp)  # index of the next sample of each joint
        self.active = True

    def add(self, joints: NDArray[np.intp], columns: Sequence[Array], stamp: int, now: int) -> None:
        """Store samples of joints: positions, velocities, efforts (k)."""
        if not self.active:
            self._begin()
        at, before = self._next[joints], self._next[joints] - 1
        self._times[0, at, joints] = stamp
        self._times[1, at, joints] = np.maximum(now, self._times[1, before, joints] + 1)  # strictly increasing
        for column, values in zip(self._numbers, columns, strict=True):
            column[at, joints] = values
        self._next[joints] = (at + 1) % DEPTH

    def next(self, max_gap: float) -> list[Aligned]:
        """Advance to the newest instant at which all joints are known; return instants up to this one.

        They are spaced like the samples of the fastest part, whose efforts may change in between. The list is empty if
        there is no newer instant, or if a joint has a gap longer than `max_gap` (s) around it.
        """
        newest = (self._next - 1) % DEPTH
        by_arrival = bool((self._times[0, newest, self._columns] == 0).any())
        if by_arrival != self._by_arrival:
            self._by_arrival, self.instant = by_arrival, NEVER
        times = self._times[int(by_arrival)]
        latest, step = times[newest, self._columns], self._step(times)
        instant = self._candidate(times, latest, step)
        if instant <= self.instant:
            return []
        instants = self._instants_until(instant, float(step.min()), max_gap)
        if len(instants) == 1 and (latest == instant).all():
            found = [Aligned(instant, self._numbers[:, newest, self._columns])]
        else:
            candidates = (self._interpolated(times, t, newest, max_gap) for t in instants)
            found = [aligned for aligned in candidates if aligned is not None]
        if found:
            self.instant = found[-1].instant
        return found

    def _step(self, times: Times) -> Array:
        """Return the mean time (ns) between the latest samples of each joint (n); infinite if it has only one."""
        latest, before, early = (times[(self._next - 1 - k) % DEPTH, self._columns] for k in (0, 1, STEPS))
        return np.where(early > 0, (latest - early) / STEPS, np.where(before > 0, latest - before, np.inf))

    def _candidate(self, times: Times, latest: Times, step: Array) -> int:
        """Return the newest sample time (ns) of the slowest joint that all joints have reached."""
        slowest = int(np.argmax(step))
        if step[slowest] > SLOWER * step[self._reference]:
            self._reference = slowest
        instants, reached = times[:, self._reference], latest.min()
        return int(np.where(instants <= reached, instants, NEVER).max())

    def _instants_until(self, instant: int, step: float, max_gap: float) -> list[int]:
        way = instant - self.instant
        if self.instant == NEVER or way > max_gap * 1e9:
            return [instant]
        count = min(max(round(way / step), 1), MOST_STEPS)
        return [self.instant + way * k // count for k in range(1, count + 1)]

    def _interpolated(self, times: Times, instant: int, newest: NDArray[np.intp], max_gap: float) -> Aligned | None:
        order = (newest - np.arange(DEPTH)[:, None]) % DEPTH  # newest first
        after = (times[order, self._columns] >= instant).sum(axis=0) - 1
        which = after + np.arange(POINTS)[:, None]
        if which.max() >= DEPTH:
            return None
        rows = order[which, self._columns]
        points = times[rows, self._columns]
        gap = points[0] - points[1]
        if ((gap > max_gap * 1e9) & (points[0] != instant)).any():
            return None
        weights = _weights(points, instant)
        numbers = self._numbers[:, rows, self._columns]
        return Aligned(instant, np.where(weights == 0, 0.0, weights * numbers).sum(axis=1))

    @property
    def lag(self) -> float:
        """Time from the instant to the newest sample of any joint, s; infinite if there is no instant."""
        latest = self._times[int(self._by_arrival), (self._next - 1) % DEPTH, self._columns].max()
        return float(latest - self.instant) * 1e-9 if self.instant != NEVER else float('inf')

    def behind(self) -> NDArray[np.bool_]:
        """Return for each joint (n) whether its data is late, by more than half of the largest lag."""
        latest = self._times[int(self._by_arrival), (self._next - 1) % DEPTH, self._columns]
        return np.asarray(2 * (latest.max() - latest) > max(latest.max() - latest.min(), 1))


def _weights(points: Times, instant: int) -> Array:
    """Return the weights (4, n) of samples at these times (4, n; newest first) for the value at an instant.

    A missing sample gets a time infinitely long ago, which lowers the order of the interpolation.
    """
    ahead = np.where(points > 0, (points - instant) * 1e-9, -INFINITE_AGE * np.arange(1, POINTS + 1)[:, None])
    weights = np.ones(ahead.shape)
    for k in range(POINTS):
        for m in range(POINTS):
            if m != k:
                weights[k] *= ahead[m] / (ahead[m] - ahead[k])
    straight = np.zeros(ahead.shape)
    straight[0] = ahead[1] / (ahead[1] - ahead[0])
    straight[1] = 1.0 - straight[0]
    return np.where(np.abs(weights).sum(axis=0) > MAX_WEIGHT_SUM, straight, weights)
