"""Which samples of a joint cannot follow the one before: no joint moves that fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array

TURNING_SPEED, SLIDING_SPEED = 10.0, 2.0  # rad/s, m/s: where no velocity limit is known
TURNING_MARGIN, SLIDING_MARGIN = 0.05, 0.01  # rad, m
SPEED_FACTOR = 2.0  # times the velocity limit
NEW_TRUTH = 3  # consecutive refused samples that agree with each other
Joints = NDArray[np.intp]
Times = NDArray[np.int64]


class JointBounds(NamedTuple):
    """How far n joints can move."""

    speed: Array  # rad/s, m/s
    margin: Array  # rad, m: besides
    endless: NDArray[np.bool_]  # whether it turns without end: positions count modulo 2 pi
    sliding: NDArray[np.bool_]

    @classmethod
    def of(
        cls, velocity_limits: Sequence[float | None], sliding: Sequence[bool], endless: Sequence[bool]
    ) -> JointBounds:
        """Return the bounds of joints with these velocity limits, None or zero where it is not known."""
        slides = np.array(sliding, dtype=bool)
        known = np.array([limit or 0.0 for limit in velocity_limits])
        speed = np.where(known > 0, known, np.where(slides, SLIDING_SPEED, TURNING_SPEED))
        margin = np.where(slides, SLIDING_MARGIN, TURNING_MARGIN)
        return cls(SPEED_FACTOR * speed, margin, np.array(endless, dtype=bool) & ~slides, slides)

    def moved(self, joints: Joints | slice, before: Array, after: Array) -> Array:
        """Return by how much joints moved, modulo 2 pi where they turn without end."""
        moved = after - before
        turned = np.remainder(moved + np.pi, 2 * np.pi) - np.pi
        return np.where(self.endless[joints] & (np.abs(moved) > np.pi), turned, moved)

    def reach(self, joints: Joints | slice, seconds: Array) -> Array:
        """Return how far joints can move within a time."""
        return np.asarray(self.speed[joints] * seconds + self.margin[joints])


def seconds_between(before: tuple[Times, Times], stamp: Times | int, arrival: Times | int) -> Array:
    """Return the time (s) between samples, by stamps, or by arrivals where one has no stamp. `before`: both of them."""
    stamped = (before[0] != 0) & (np.asarray(stamp) != 0)
    return np.asarray(np.maximum(np.where(stamped, stamp - before[0], arrival - before[1]) * 1e-9, 0.0))


class RefusedSamples:
    """The latest refused sample of each joint (n), and how many in a row agreed with each other."""

    def __init__(self, bounds: JointBounds) -> None:
        self._bounds = bounds
        self.forget()

    def forget(self) -> None:
        """Know of none."""
        n = len(self._bounds.speed)
        self.any = False  # whether there is one: false tells at a glance that there is nothing to forget
        self._count, self._sample = np.zeros(n, dtype=int), np.full(n, np.nan)
        self._stamp, self._arrival = np.zeros((2, n), dtype=np.int64)

    def has(self, joints: Joints, stamp: int) -> bool:
        """Tell whether refused samples of joints, of this stamp or a later one, are known already."""
        return bool(stamp and (self._stamp[joints] >= stamp).all())

    def add(self, joints: Joints, samples: Array, stamp: int, now: int) -> bool:
        """Take in refused samples of joints; return whether they are the new truth."""
        self.any = True
        seconds = seconds_between((self._stamp[joints], self._arrival[joints]), stamp, now)
        moved = self._bounds.moved(joints, self._sample[joints], samples)
        agree = np.abs(moved) <= self._bounds.reach(joints, seconds)  # NaN: there is none before
        self._count[joints] = np.where(agree, self._count[joints] + 1, 1)
        self._sample[joints], self._stamp[joints], self._arrival[joints] = samples, stamp, now
        return bool((self._count[joints] >= NEW_TRUTH).all())

    def end(self, joints: Joints) -> None:
        """Forget those of joints that had a good sample."""
        self._count[joints], self._sample[joints], self._stamp[joints] = 0, np.nan, 0
        self.any = bool(self._count.any())
