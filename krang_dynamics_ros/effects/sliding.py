"""The shapes of friction, each of size one: friction is their sum, each times its torque. Elementwise, over any arrays.

What a motor must give against friction is F_v dq + F_c coulomb(dq) + sum of kappa_k z_k, with z_k from `presliding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..core.spatial import Array
from ..robot.robot import Joint
from .effect import JointMotion


def coulomb(dq: ArrayLike, over: ArrayLike = 0.0) -> Array:
    """Return how much of F_c acts: sign(dq) (report, eq. 17), or tanh(dq / over) where a velocity `over` is given.

    Sign jumps at standstill, where a measured velocity is noise; tanh passes through zero instead.
    """
    velocity, width = np.asarray(dq, dtype=float), np.asarray(over, dtype=float)
    if not np.count_nonzero(width):
        return np.asarray(np.sign(velocity))
    smooth = width > 0
    return np.where(smooth, np.tanh(velocity / np.where(smooth, width, 1.0)), np.sign(velocity))


def presliding(z: ArrayLike, moved: ArrayLike, distance: ArrayLike) -> Array:
    """Return z, from -1 to 1, after the joint has moved by `moved` (rad, m): P. Dahl's model (1968).

    z <- s + (z - s) exp(-|moved| / distance), s = sign(moved): a spring at first, dry friction after a few distances.
    It asks for the position alone, so it holds its value at standstill, where a velocity says nothing. The step is
    exact for a movement that goes one way, whatever its size.
    """
    before, step = np.asarray(z, dtype=float), np.asarray(moved, dtype=float)
    s = np.sign(step)
    return np.asarray(s + (before - s) * np.exp(-np.abs(step) / distance))


def braking(dq: ArrayLike, load: ArrayLike, crossing: ArrayLike, over: ArrayLike) -> Array:
    """Return how far a drive brakes, from 0 (it pushes) to 1: 1/2 at standstill.

    It pushes while velocity dq and what it must give have one sign. The latter is, but for a factor, dq + crossing
    load: friction grows with the velocity, and above `crossing` times a load that moves the joint along, the drive
    pushes all the same. `over` is the velocity within which one turns into the other (an empirical shape).
    """
    velocity, width = np.asarray(dq, dtype=float), np.asarray(over, dtype=float)
    pushing = np.tanh(velocity / width) * np.tanh((velocity + crossing * np.asarray(load, dtype=float)) / width)
    return np.asarray(0.5 * (1.0 - pushing))


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
