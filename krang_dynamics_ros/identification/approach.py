"""Collision-free path between two poses: straight, or around obstacles by RRT-Connect (Kuffner and LaValle, 2000).

The path is a chain of straight lines in joint space. The motion rests at the end of each line, so that a controller
follows exactly the lines that were checked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from ..dynamics.trajectory import Spline, Trajectory
from ..robot.robot import Robot
from .clearance import Clearance

STEP = 0.02  # rad or m, of the fastest joint between two checked states
EXTEND = 0.5  # rad or m, length of a new branch
BRANCHES, SHORTCUTS = 2000, 60
SPEED, SHARE = 0.5, 0.25  # rad/s or m/s, and of a joint's velocity limit: at most the smaller
ACCELERATION = 1.0  # rad/s^2 or m/s^2
EVERY = 0.02  # s, between points
SPREAD = np.pi  # rad or m: range about both ends, for a joint without limits
PLAN_ANOTHER = 'plan another motion (--seed)'


class Approach:
    """The search for a path, for a robot whose other joints are fixed."""

    def __init__(self, robot: Robot, clearance: Clearance, seed: int = 0) -> None:
        """Use the limits of the robot; `seed` is of the random poses."""
        self._robot, self._clearance, self._rng = robot, clearance, np.random.default_rng(seed)

    def path(self, start: Array, goal: Array, progress: Callable[[str], None] | None = None) -> Array:
        """Return poses (m, n) from start to goal (n); the straight lines between them are clear.

        Raises:
            KrangDynamicsError: start or goal is too near an obstacle, or no path was found.
        """
        by_hand = 'move the arm by hand or pendant (simulator_node: by start.names and start.positions)'
        for name, pose, remedy in (('present pose', start, by_hand), ('start of the motion', goal, PLAN_ANOTHER)):
            if near := self._clearance.blocked(pose[None]):
                raise KrangDynamicsError(
                    f'{name}: {" and ".join(near.names)} are {100 * near.distance:.1f} cm apart, too near; {remedy}, '
                    'or ask for less clearance (--clearance)'
                )
        if self._is_free(start, goal):
            return np.stack([start, goal])
        return self._shortened(self._around(start, goal, progress))

    def _is_free(self, first: Array, last: Array) -> bool:
        states = 2 + int(np.abs(last - first).max() / STEP)
        return not self._clearance.blocked(np.linspace(first, last, states))

    def _around(self, start: Array, goal: Array, progress: Callable[[str], None] | None) -> Array:
        lower, upper = self._robot.position_limits
        lower = np.where(np.isinf(lower), np.minimum(start, goal) - SPREAD, np.minimum(lower, start))
        upper = np.where(np.isinf(upper), np.maximum(start, goal) + SPREAD, np.maximum(upper, start))
        trees = [_Tree(start), _Tree(goal)]
        for k in range(BRANCHES):
            if progress and k % 20 == 0:
                progress(f'searching for a path to the start: {k} branches')
            grown, other = trees[k % 2], trees[1 - k % 2]
            new = self._grow(grown, self._rng.uniform(lower, upper))
            if new is not None and self._connects(other, grown.poses[new]):
                near_end, far_end = grown.back(new), other.back(len(other.poses) - 1)[1:]
                return np.array([*near_end[::-1], *far_end] if k % 2 == 0 else [*far_end[::-1], *near_end])
        raise KrangDynamicsError(
            f'{self._robot.name}: no path to the start of the motion was found in {BRANCHES} trials; move the arm '
            f'nearer to it by hand or pendant, or {PLAN_ANOTHER}'
        )

    def _grow(self, tree: _Tree, towards: Array) -> int | None:
        """Add a branch towards a pose; return its number, or None if it is blocked."""
        k = tree.nearest(towards)
        step = towards - tree.poses[k]
        end = tree.poses[k] + step * min(1.0, EXTEND / max(float(np.abs(step).max()), 1e-12))
        return tree.add(end, k) if self._is_free(tree.poses[k], end) else None

    def _connects(self, tree: _Tree, pose: Array) -> bool:
        """Grow a tree towards a pose while that is free; return whether it reaches the pose."""
        while (k := self._grow(tree, pose)) is not None:
            if np.abs(tree.poses[k] - pose).max() < 1e-9:
                return True
        return False

    def _shortened(self, path: Array) -> Array:
        for _ in range(SHORTCUTS):
            if len(path) < 3:
                break
            a, b = sorted(self._rng.choice(len(path), 2, replace=False))
            if b - a > 1 and self._is_free(path[a], path[b]):
                path = np.concatenate([path[: a + 1], path[b:]])
        return path


class _Tree:
    """Poses, each with the index of the pose before it."""

    def __init__(self, root: Array) -> None:
        self.poses, self._from = [root], [0]

    def nearest(self, pose: Array) -> int:
        return int(np.abs(np.array(self.poses) - pose).max(axis=1).argmin())

    def add(self, pose: Array, k: int) -> int:
        self.poses.append(pose)
        self._from.append(k)
        return len(self.poses) - 1

    def back(self, k: int) -> list[Array]:
        """Return the poses from pose k back to the root."""
        path = [self.poses[k]]
        while k:
            k = self._from[k]
            path.append(self.poses[k])
        return path


def slow_motion(robot: Robot, path: Array) -> Trajectory:
    """Return a motion along straight lines between poses (m, n) that rests at each of them."""
    limits = [joint.limits.velocity if joint.limits else None for joint in robot.moving_joints]
    speed = np.array([SPEED if limit is None else min(SPEED, SHARE * limit) for limit in limits])
    moves = np.abs(np.diff(path, axis=0))
    # 1.875 / s and 5.7735 / s^2: the largest velocity and acceleration from rest to rest over a length of 1 in 1 s
    seconds = np.maximum(1.875 * moves / speed, np.sqrt(5.7735 * moves / ACCELERATION)).max(axis=1)
    time = np.concatenate([[0.0], np.cumsum(np.maximum(seconds, 0.1))])
    still = np.zeros_like(path)
    return Spline(Trajectory.of(robot.joint_names, time, path, still, still)).sampled(EVERY)
