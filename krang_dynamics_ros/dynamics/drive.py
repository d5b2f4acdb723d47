"""What drives and their sensors add beyond the friction of each joint: springs, coupled friction, offsets of efforts.

A torque that is commanded has none of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..effects.coupling import CoupledFriction
from ..effects.spring import spring_energy, spring_torque
from ..robot.drive import Spring
from ..robot.robot import Robot


class Drive:
    """Springs, coupled friction and effort offsets of n joints; none until a robot is taken."""

    def __init__(self, n: int) -> None:
        """Begin without any."""
        self.n = n
        self._springs: Sequence[Spring | None] = [None] * n
        self.coupled = CoupledFriction((), [''] * n)
        self.has_springs = self.has_couplings = False
        self.effort_offset = np.zeros(n)

    def take(self, robot: Robot) -> None:
        """Take what the robot file says; joints are in the robot's order."""
        self._springs = [joint.spring for joint in robot.moving_joints]
        self.has_springs = any(spring is not None for spring in self._springs)
        self.coupled = CoupledFriction(robot.couplings, robot.joint_names)
        self.has_couplings = bool(robot.couplings)
        self.effort_offset = np.array([joint.motor.effort_offset for joint in robot.moving_joints])

    @property
    def effort_offset(self) -> Array:
        """What efforts (n) read where there is no torque, N m (N)."""
        return self._offset.copy()

    @effort_offset.setter
    def effort_offset(self, value: ArrayLike) -> None:
        offset = np.array(value, dtype=float)
        if offset.shape != (self.n,) or not np.isfinite(offset).all():
            raise ArgumentError(f'effort_offset: {offset.tolist()}, must be {self.n} finite numbers')
        self._offset = offset

    def without_offset(self, effort: Array) -> Array:
        """Return the torque (n) that an effort stands for."""
        return np.asarray(effort - self._offset)

    def spring_torque(self, q: Array) -> Array:
        """Return what must be given (n) against springs."""
        return spring_torque(self._springs, q) if self.has_springs else np.zeros(self.n)

    def spring_energy(self, q: Array) -> float:
        """Return what springs hold, J."""
        return spring_energy(self._springs, q) if self.has_springs else 0.0

    def coupled_friction(self, dq: Array) -> Array:
        """Return what motors must give (n) against friction of joints together."""
        return self.coupled.torque(dq) if self.has_couplings else np.zeros(self.n)
