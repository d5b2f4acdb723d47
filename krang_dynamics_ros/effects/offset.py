"""Offset of an effort: its reading at zero torque. It is a sensor error and is never commanded."""

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
        """Return the joint with this offset of its effort."""
        return replace(joint, motor=replace(joint.motor, effort_offset=factors[0]))
