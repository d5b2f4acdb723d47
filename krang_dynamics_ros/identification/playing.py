"""Checks while a robot follows a trajectory: each joint is near its reference, and moves when that moves."""

from __future__ import annotations

from collections import deque

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..dynamics.trajectory import Spline, Trajectory

SPEEDS = (0.1, 0.2, 0.5, 1.0)  # of the planned motion, in this order
TOLERANCE = 0.15  # rad or m, of a joint from its reference
MAX_DELAY = 0.5  # s, of a robot behind its trajectory
WINDOW = 2.0  # s, over which a joint must follow
MOVES, FOLLOWS = 0.05, 0.2  # rad or m of the reference in the window, and the part that a joint must follow


def at_speed(trajectory: Trajectory, speed: float) -> Trajectory:
    """Return the same path at a part of its speed."""
    if not 0 < speed <= 1:
        raise ArgumentError(f'speed {speed:g}, must be more than 0 and at most 1')
    return trajectory.stretched(1 / speed)


class Following:
    """Compares joint positions with a trajectory that began at time 0."""

    def __init__(self, trajectory: Trajectory, tolerance: float = TOLERANCE) -> None:
        """`tolerance` in rad or m."""
        self._names, self._tolerance, self._spline = trajectory.joint_names, tolerance, Spline(trajectory)
        self._first, self._end = float(trajectory.time[0]), float(trajectory.time[-1])
        self._seen: deque[tuple[float, Array]] = deque()

    def reference(self, time: Array) -> Array:
        """Return positions (m, n) at times, s; before the start and after the end those of start and end."""
        return self._spline.at(np.clip(time, self._first, self._end)).q

    def fault(self, elapsed: float, q: Array) -> str:
        """Check positions (n) at a time since the start, s; return the fault, or an empty text."""
        self._seen.append((elapsed, q))
        while elapsed - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        return self._off(elapsed, q) or self._standing(elapsed)

    def _off(self, elapsed: float, q: Array) -> str:
        recent = self.reference(np.linspace(elapsed - MAX_DELAY, elapsed, 11))
        error = np.maximum(q - recent.max(axis=0), recent.min(axis=0) - q)
        if not np.isfinite(q).all() or error.max() > self._tolerance:
            j = int(np.argmax(np.where(np.isfinite(error), error, np.inf)))
            return (
                f'joint {self._names[j]} is at {q[j]:.3f}, {error[j]:.3f} from its reference; must be within '
                f'{self._tolerance:g} (--tolerance)'
            )
        return ''

    def _standing(self, elapsed: float) -> str:
        """Return the fault of a joint that does not move with its reference."""
        begun = self._seen[0][0]
        if elapsed - begun < 0.9 * WINDOW:
            return ''
        asked = np.ptp(self.reference(np.linspace(begun, elapsed - MAX_DELAY, 11)), axis=0)
        moved = np.ptp([q for _, q in self._seen], axis=0)
        stuck = (asked > MOVES) & (moved < FOLLOWS * asked)
        if stuck.any():
            j = int(np.argmax(stuck))
            return (
                f'joint {self._names[j]} moved by {moved[j]:.3f} in {WINDOW:g} s, must follow a reference that moved '
                f'by {asked[j]:.3f}; look for brakes, a stop, or a controller that is not active'
            )
        return ''
