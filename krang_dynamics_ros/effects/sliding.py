"""Friction of a joint while it moves, eq. (17): viscous, and Coulomb friction, which may be smooth at standstill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.algebra import sign, tanh
from .effect import JointEffect, constant, factor


@dataclass(frozen=True)
class Viscous(JointEffect):
    """F_v dq."""

    viscous: float = factor('viscous friction', 'N m s/rad', symbol='Fv', letter='F_v')

    term = 'friction'
    linear = True

    def torque(self, x: Any) -> Any:
        """Return F_v dq."""
        return self.viscous * x

    def slope(self, x: Any) -> Any:
        """Return F_v."""
        return self.viscous + 0.0 * x  # 0 * x: the result has the shape of x

    def integral(self, x: Any) -> Any:
        """Return F_v dq^2 / 2."""
        return self.viscous * x**2 / 2


@dataclass(frozen=True)
class Coulomb(JointEffect):
    """F_c sign(dq), or F_c tanh(dq / v) where a velocity v is given."""

    coulomb: float = factor('Coulomb friction', 'N m', symbol='Fc', letter='F_c')
    coulomb_velocity: float = constant(
        0.0, 'v of Coulomb friction F_c tanh(dq / v), or 0 for F_c sign(dq), eq. (17)',
        'rad/s', least=0.0,
    )  # fmt: skip

    term = 'friction'

    def torque(self, x: Any) -> Any:
        """Return F_c sign(dq) or F_c tanh(dq / v)."""
        return self.coulomb * coulomb_share(x, self.coulomb_velocity)

    def slope(self, x: Any) -> Any:
        """Return F_c / v (1 - tanh(dq / v)^2), of the smooth part."""
        return self.coulomb / self.coulomb_velocity * (1 - tanh(x / self.coulomb_velocity) ** 2)

    def integral(self, x: Any) -> Any:
        """Return F_c v log cosh(dq / v), of the smooth part."""
        return self.coulomb * self.coulomb_velocity * log_cosh(x / self.coulomb_velocity)

    @property
    def smooth(self) -> JointEffect:
        """This friction where a velocity v is given, zero elsewhere; the fields may be arrays, a number per joint."""
        is_smooth = np.asarray(self.coulomb_velocity) > 0
        coulomb: Any = np.where(is_smooth, self.coulomb, 0.0)
        width: Any = np.where(is_smooth, self.coulomb_velocity, 1.0)
        return Coulomb(coulomb, width)

    @property
    def dry(self) -> Any:
        """F_c of joints without a velocity v."""
        return np.where(np.asarray(self.coulomb_velocity) > 0, 0.0, self.coulomb)

    @classmethod
    def tried(cls) -> tuple[JointEffect, ...]:
        """Return the effects that a fit tries: Coulomb friction smoothed over these velocities, rad/s (m/s)."""
        return tuple(cls(coulomb_velocity=velocity) for velocity in (0.005, 0.02, 0.05, 0.1))

    def __str__(self) -> str:
        return f'Coulomb over {self.coulomb_velocity:g} rad/s (m/s)'


def coulomb_share(dq: Any, over: Any = 0.0) -> Any:
    """Return the share of F_c that acts: sign(dq) (report, eq. 17), or tanh(dq / over) where `over` > 0.

    The sign jumps at standstill, where a measured velocity is noise; tanh passes through zero.
    """
    width = np.asarray(over, dtype=float)
    if not np.count_nonzero(width):
        return sign(dq)
    smooth = width > 0
    return np.where(smooth, np.tanh(dq / np.where(smooth, width, 1.0)), np.sign(dq))


def log_cosh(x: Any) -> Any:
    """Return log cosh x without overflow: the integral of tanh."""
    ratio = np.abs(x)
    return ratio + np.log1p(np.exp(-2 * ratio)) - np.log(2)
