"""Rotor inertia behind the gear: I_a ddq. In the equations of motion it is part of A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.spatial import Array
from ..robot.robot import Joint
from .effect import JointMotion


@dataclass(frozen=True)
class RotorEffect:
    """The rotor's reflected inertia I_a = N^2 J_m, kg m^2 (report, eq. 18)."""

    names = ('rotor_inertia',)
    not_negative = True
    prior = 1.0
    term = 'inertia'

    def columns(self, x: JointMotion) -> Array:
        """Return ddq."""
        return x.ddq[..., None]

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this rotor inertia."""
        return replace(joint, motor=replace(joint.motor, rotor_inertia=factors[0] / joint.motor.gear_ratio**2))
