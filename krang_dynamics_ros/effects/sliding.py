"""Friction of a sliding joint, and the normalised curves (-1 to 1) of all friction. Elementwise, over any arrays.

A motor must give F_v dq + F_c coulomb(dq) + sum of kappa_k z_k against friction, with z_k from `presliding`.
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
    """Return the share of F_c that acts: sign(dq) (report, eq. 17), or tanh(dq / over) where `over` (rad/s) is given.

    The sign jumps at standstill, where a measured velocity is noise; tanh passes through zero.
    """
    velocity, width = np.asarray(dq, dtype=float), np.asarray(over, dtype=float)
    if not np.count_nonzero(width):
        return np.asarray(np.sign(velocity))
    smooth = width > 0
    return np.where(smooth, np.tanh(velocity / np.where(smooth, width, 1.0)), np.sign(velocity))


def presliding(z: ArrayLike, moved: ArrayLike, distance: ArrayLike) -> Array:
    """Return z, from -1 to 1, after the joint has moved by `moved` (rad, m): P. Dahl's model (1968).

    z <- s + (z - s) exp(-|moved| / distance), s = sign(moved): like a spring first, constant after a few distances.
    It depends on the position alone, so it keeps its value at standstill, where the velocity is noise. The step is
    exact for a movement in one direction, whatever its size.
    """
    before, step = np.asarray(z, dtype=float), np.asarray(moved, dtype=float)
    s = np.sign(step)
    return np.asarray(s + (before - s) * np.exp(-np.abs(step) / distance))


def braking(dq: ArrayLike, load: ArrayLike, crossing: ArrayLike, over: ArrayLike) -> Array:
    """Return 0 for a drive that pushes, 1 for a drive that brakes, 1/2 at standstill, and values between.

    A drive pushes while its velocity dq and its torque have the same sign. The torque is proportional to dq +
    crossing load: friction grows with the velocity, so above `crossing` times a load that helps the motion the drive
    pushes anyway. `over` (rad/s) is the width of the transition, whose shape is empirical.
    """
    velocity, width = np.asarray(dq, dtype=float), np.asarray(over, dtype=float)
    pushing = np.tanh(velocity / width) * np.tanh((velocity + crossing * np.asarray(load, dtype=float)) / width)
    return np.asarray(0.5 * (1.0 - pushing))


@dataclass(frozen=True)
class ViscousEffect:
    """F_v dq, with the viscous friction of the motor."""

    names = ('viscous',)
    not_negative = True
    prior = 1.0
    term = 'sliding friction'

    def columns(self, x: JointMotion) -> Array:
        """Return dq."""
        return x.dq[..., None]

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this viscous friction; that of its motor becomes zero."""
        motor = replace(joint.motor, viscous=0.0)
        return replace(joint, motor=motor, friction=replace(joint.friction, viscous=factors[0]))


@dataclass(frozen=True)
class CoulombEffect:
    """F_c tanh(dq / velocity)."""

    velocity: float = 0.02  # rad/s, over which it changes its sign

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
