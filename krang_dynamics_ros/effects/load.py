"""Effects of the load that a gear carries: its share in the effort, and friction that grows with it.

Both describe what some drives report as effort. They belong to predicted efforts, never to a commanded torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..core.spatial import Array
from .effect import JointMotion

CROSSING = 1.4  # times |load| / F_v: the velocity above which a drive pushes although the load helps
TRANSITION = 0.1  # rad/s (m/s), width of the transition from pushing to braking
MIN_VISCOUS = 1e-6  # N m s/rad (N s/m)


def crossing_of(viscous: Array) -> Array:
    """Return the crossing (joints), rad/s per N m (m/s per N), of joints with viscous friction F_v."""
    return CROSSING / np.maximum(viscous, MIN_VISCOUS)


def braking(dq: ArrayLike, load: ArrayLike, crossing: ArrayLike, over: ArrayLike) -> Array:
    """Return 0 for a drive that pushes, 1 for a drive that brakes, 1/2 at standstill, and values between.

    A drive pushes while its velocity dq and its torque have the same sign. The torque is proportional to dq +
    crossing load: friction grows with the velocity, so above `crossing` times a load that helps the motion the drive
    pushes anyway. `over`, rad/s (m/s), is the width of the transition, whose shape is empirical.
    """
    velocity, width = np.asarray(dq, dtype=float), np.asarray(over, dtype=float)
    pushing = np.tanh(velocity / width) * np.tanh((velocity + crossing * np.asarray(load, dtype=float)) / width)
    return np.asarray(0.5 * (1.0 - pushing))


@dataclass(frozen=True)
class LoadShare:
    """Shares of the load (gravity and Coriolis torque) that an effort contains while pushing and while braking.

    `crossing`, rad/s per N m (m/s per N), times the load is the velocity at which the drive changes between pushing and
    braking; `velocity`, rad/s (m/s), is the width of this change. A fit finds (share - 1), with the crossing of the
    joint.
    """

    pushing: float = 1.0
    braking: float = 1.0
    crossing: float = 0.0
    velocity: float = TRANSITION

    names = ('pushing', 'braking')
    not_negative = False
    prior = 1.0
    part = 'load effects'

    def columns(self, x: JointMotion) -> Array:
        """Return load (1 - b) and load b; b is 0 if the drive pushes and 1 if it brakes."""
        b = braking(x.dq, x.load, x.crossing, self.velocity)
        return np.stack([x.load * (1 - b), x.load * b], axis=-1)

    def fitted(self, factors: Sequence[float], crossing: float) -> LoadShare:
        """Return these shares; share = 1 + factor."""
        return replace(self, pushing=1 + factors[0], braking=1 + factors[1], crossing=crossing)

    def __str__(self) -> str:
        return 'load share'


@dataclass(frozen=True)
class LoadFriction:
    """Friction in proportion to the load: factor |load| tanh(dq / velocity). Only for predictions of efforts."""

    factor: float = 0.0
    velocity: float = 0.05  # rad/s (m/s)

    names = ('load friction',)
    not_negative = False
    prior = 1.0
    part = 'load effects'

    def columns(self, x: JointMotion) -> Array:
        """Return |load| tanh(dq / velocity)."""
        return (np.abs(x.load) * np.tanh(x.dq / self.velocity))[..., None]

    def fitted(self, factors: Sequence[float], crossing: float) -> LoadFriction:
        """Return this friction with a factor."""
        return replace(self, factor=factors[0])

    def __str__(self) -> str:
        return self.names[0]
