"""Sliding friction: viscous and Coulomb (report, eq. 17), the latter smoothed over a velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.friction_shapes import coulomb
from ..core.spatial import Array
from ..robot.robot import Joint
from .effect import JointMotion


@dataclass(frozen=True)
class ViscousEffect:
    """F_v dq. The viscous friction of the motor is part of it."""

    names = ('viscous',)
    not_negative = True
    prior = 1.0
    term = 'sliding friction'

    def columns(self, x: JointMotion) -> Array:
        """Return dq."""
        return x.dq[..., None]

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this viscous friction, and none in its motor."""
        motor = replace(joint.motor, viscous=0.0)
        return replace(joint, motor=motor, friction=replace(joint.friction, viscous=factors[0]))


@dataclass(frozen=True)
class CoulombEffect:
    """F_c tanh(dq / velocity)."""

    velocity: float = 0.02  # rad/s, over which it turns its sign

    names = ('coulomb',)
    not_negative = True
    prior = 1.0
    term = 'sliding friction'

    def columns(self, x: JointMotion) -> Array:
        """Return tanh(dq / velocity)."""
        return coulomb(x.dq, self.velocity)[..., None]

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this Coulomb friction."""
        friction = replace(joint.friction, coulomb=factors[0], coulomb_velocity=self.velocity)
        return replace(joint, friction=friction)
