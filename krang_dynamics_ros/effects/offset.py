"""Offset of an effort: what it reads where there is no torque. It is a fault of the sensor, and never commanded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.spatial import Array
from ..robot.robot import Joint
from .effect import JointMotion


@dataclass(frozen=True)
class OffsetEffect:
    """A constant effort."""

    names = ('offset',)
    not_negative = False
    prior = 0.3
    term = 'offset'

    def columns(self, x: JointMotion) -> Array:
        """Return ones."""
        return np.ones((*x.q.shape, 1))

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint whose effort has this offset."""
        return replace(joint, motor=replace(joint.motor, effort_offset=factors[0]))
