"""Joints that come in parts, brought to one instant: by the samples around it, never beyond the newest one.

The instants are those of the slowest part, so its samples count as they are; faster parts are interpolated over their
short steps. An instant is known once every joint has a sample of it or of after. Parts of equal stamps are therefore
known when the last of them has come, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .timeline import NEVER

DEPTH = 128  # samples of a joint that are kept: a part may be so many samples of another part behind it
POINTS = 4  # samples that an interpolation goes through, one of them after the instant: cubic
LARGEST_WEIGHTS = 3.0  # of the samples, in all: times so uneven that a cubic would swing are bridged by a straight line
SLOWER = 1.5  # times the common step: so much slower is another part than the one whose instants count now
LONG_AGO = 1e12  # s
STEPS = 4  # samples, over which a part's step is a mean
MOST_STEPS = 16  # on the way from one instant to the next
Times = NDArray[np.int64]


class Aligned(NamedTuple):
    """Positions, velocities and efforts (3, n) of one instant (ns)."""

    instant: int
    numbers: Array


class Alignment:
    """The latest samples of n joints, and the newest instant at which all of them are known."""

    def __init__(self, n: int) -> None:
        self._columns = np.arange(n)
        self.forget()

    def forget(self) -> None:
        """Know of no sample. Nothing is kept before the first part comes: it costs time."""
        self.active = False
        self.instant = NEVER  # ns, by stamps; by arrivals while a joint's newest sample has no stamp
        self._by_arrival = False
        self._reference = 0  # the joint whose instants count

    def _begin(self) -> None:
        n = len(self._columns)
        self._times: Times = np.full((2, DEPTH, n), NEVER, dtype=np.int64)  # stamps and arrivals
        self._numbers: Array = np.zeros((3, DEPTH, n))
        self._next = np.zeros(n, dtype=np.intp)  # where each joint's next sample goes
        self.active = True

    def add(self, joints: NDArray[np.intp], columns: Sequence[Array], stamp: int, now: int) -> None:
        """Take in samples of joints: positions, velocities, efforts (k)."""
        if not self.active:
            self._begin()
        at, before = self._next[joints], self._next[joints] - 1
        self._times[0, at, joints] = stamp
        self._times[1, at, joints] = np.maximum(now, self._times[1, before, joints] + 1)  # of two that came at once
        for mine, values in zip(self._numbers, columns, strict=True):
            mine[at, joints] = values
        self._next[joints] = (at + 1) % DEPTH

    def next(self, longest: float) -> list[Aligned]:
        """Go on to the newest instant at which all joints are known; return it, after instants on the way to it.

        Those on the way are as far apart as the samples of the fastest part, whose efforts may change in between.
        Nothing: there is no newer instant, or a joint has no sample within `longest` (s) before and after it.
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
        instants = self._on_the_way(instant, float(step.min()), longest)
        if len(instants) == 1 and (latest == instant).all():
            found = [Aligned(instant, self._numbers[:, newest, self._columns])]
        else:
            found = [one for t in instants if (one := self._interpolated(times, t, newest, longest)) is not None]
        if found:
            self.instant = found[-1].instant
        return found

    def _step(self, times: Times) -> Array:
        """Return how far apart (ns) the latest samples of each joint (n) are; infinite while it has one only."""
        latest, before, early = (times[(self._next - 1 - k) % DEPTH, self._columns] for k in (0, 1, STEPS))
        return np.where(early > 0, (latest - early) / STEPS, np.where(before > 0, latest - before, np.inf))

    def _candidate(self, times: Times, latest: Times, step: Array) -> int:
        """Return the newest instant of the slowest joint that no joint has still to reach."""
        slowest = int(np.argmax(step))
        if step[slowest] > SLOWER * step[self._reference]:
            self._reference = slowest
        instants, reached = times[:, self._reference], latest.min()
        return int(np.where(instants <= reached, instants, NEVER).max())

    def _on_the_way(self, instant: int, step: float, longest: float) -> list[int]:
        way = instant - self.instant
        if self.instant == NEVER or way > longest * 1e9:
            return [instant]
        count = min(max(round(way / step), 1), MOST_STEPS)
        return [self.instant + way * k // count for k in range(1, count + 1)]

    def _interpolated(self, times: Times, instant: int, newest: NDArray[np.intp], longest: float) -> Aligned | None:
        order = (newest - np.arange(DEPTH)[:, None]) % DEPTH  # newest first
        after = (times[order, self._columns] >= instant).sum(axis=0) - 1
        which = after + np.arange(POINTS)[:, None]
        if which.max() >= DEPTH:
            return None
        rows = order[which, self._columns]
        points = times[rows, self._columns]
        gap = points[0] - points[1]
        if ((gap > longest * 1e9) & (points[0] != instant)).any():
            return None
        weights = _weights(points, instant)
        numbers = self._numbers[:, rows, self._columns]
        return Aligned(instant, np.where(weights == 0, 0.0, weights * numbers).sum(axis=1))

    @property
    def lag(self) -> float:
        """How far the instant is behind the newest sample of any joint, s; infinite if there is none."""
        latest = self._times[int(self._by_arrival), (self._next - 1) % DEPTH, self._columns].max()
        return float(latest - self.instant) * 1e-9 if self.instant != NEVER else float('inf')

    def behind(self) -> NDArray[np.bool_]:
        """Tell which joints (n) the others wait for: those behind by more than half of what the last one is."""
        latest = self._times[int(self._by_arrival), (self._next - 1) % DEPTH, self._columns]
        return np.asarray(2 * (latest.max() - latest) > max(latest.max() - latest.min(), 1))


def _weights(points: Times, instant: int) -> Array:
    """Return the weights (4, n) of samples at these times (4, n; newest first) in a value at an instant.

    A sample that is not there is as good as infinitely long ago: then what is left is of a lower order.
    """
    ahead = np.where(points > 0, (points - instant) * 1e-9, -LONG_AGO * np.arange(1, POINTS + 1)[:, None])
    weights = np.ones(ahead.shape)
    for k in range(POINTS):
        for m in range(POINTS):
            if m != k:
                weights[k] *= ahead[m] / (ahead[m] - ahead[k])
    straight = np.zeros(ahead.shape)
    straight[0] = ahead[1] / (ahead[1] - ahead[0])
    straight[1] = 1.0 - straight[0]
    return np.where(np.abs(weights).sum(axis=0) > LARGEST_WEIGHTS, straight, weights)
