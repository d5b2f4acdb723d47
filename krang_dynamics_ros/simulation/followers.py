"""Joints that mimic another one, in what a robot says of its joints."""

from __future__ import annotations

import numpy as np

from ..core.spatial import Array
from ..robot.robot import Robot


class Followers:
    """Completes joint vectors (n): behind the joints with a coordinate come the k that follow one of them."""

    def __init__(self, robot: Robot) -> None:
        mimics = robot.mimics
        self.names = (*robot.joint_names, *mimics)
        self._followed = np.array([robot.joint_names.index(mimic.joint) for mimic in mimics.values()], dtype=np.intp)
        self._multiplier = np.array([mimic.multiplier for mimic in mimics.values()])
        self._offset = np.array([mimic.offset for mimic in mimics.values()])

    def position(self, q: Array) -> Array:
        """Return the positions (n + k), rad or m."""
        return np.concatenate([q, self._multiplier * q[self._followed] + self._offset])

    def velocity(self, dq: Array) -> Array:
        """Return the velocities (n + k), rad/s or m/s."""
        return np.concatenate([dq, self._multiplier * dq[self._followed]])

    def effort(self, effort: Array) -> Array:
        """Return the efforts (n + k): none for a follower, for what it takes is in that of the joint it follows."""
        return np.concatenate([effort, np.zeros(len(self._followed))])
