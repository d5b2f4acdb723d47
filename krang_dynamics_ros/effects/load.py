"""Effects of the load that a gear carries: its share in the effort, and friction that grows with it.

Both describe what some drives report as effort. They belong to predicted efforts, never to a commanded torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.spatial import Array
from ..robot.drive import LoadFriction, LoadShare
from ..robot.robot import Joint
from .effect import JointMotion
from .sliding import braking

CROSSING = 1.4  # times |load| / F_v: the velocity above which a drive pushes although the load helps
TRANSITION = 0.1  # rad/s, width of the transition from pushing to braking
MIN_VISCOUS = 1e-6  # N m s/rad


def crossing_of(viscous: Array) -> Array:
    """Return the crossing (joints), rad/s per N m, of joints with viscous friction F_v."""
    return CROSSING / np.maximum(viscous, MIN_VISCOUS)


@dataclass(frozen=True)
class LoadShareEffect:
    """(share - 1) load, with a share for a drive that pushes and another for a drive that brakes."""

    names = ('pushing', 'braking')
    not_negative = False
    prior = 1.0
    term = 'load effects'

    def columns(self, x: JointMotion) -> Array:
        """Return load (1 - b) and load b; b is 0 if the drive pushes and 1 if it brakes."""
        b = braking(x.dq, x.load, x.crossing, TRANSITION)
        return np.stack([x.load * (1 - b), x.load * b], axis=-1)

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with these shares; share = 1 + factor."""
        share = LoadShare(1 + factors[0], 1 + factors[1], crossing, TRANSITION)
        return replace(joint, friction=replace(joint.friction, load=share))


@dataclass(frozen=True)
class LoadFrictionEffect:
    """c |load| tanh(dq / velocity)."""

    velocity: float = 0.05  # rad/s

    names = ('load friction',)
    not_negative = False
    prior = 1.0
    term = 'load effects'

    def columns(self, x: JointMotion) -> Array:
        """Return |load| tanh(dq / velocity)."""
        return (np.abs(x.load) * np.tanh(x.dq / self.velocity))[..., None]

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this friction."""
        return replace(joint, friction=replace(joint.friction, load_friction=LoadFriction(factors[0], self.velocity)))
