"""Coupled friction: a motor that also turns with the neighbouring joint rubs with the sum of both velocities.

    torque of both joints = W^T (v W dq + c tanh(W dq / velocity)),   W = e_j + sign e_k,   v, c >= 0

It dissipates: its power is W dq times the bracket, which has the sign of W dq.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.spatial import Array
from ..robot.drive import Coupling

VELOCITY = 0.05  # rad/s, over which the dry part turns its sign


@dataclass(frozen=True)
class CouplingEffect:
    """Coupled friction of two joints, by their places, with common factors v and c."""

    first: int
    second: int
    sign: int  # +1 or -1
    velocity: float = VELOCITY

    names = ('coupled viscous', 'coupled coulomb')
    not_negative = True
    prior = 1.0

    def columns(self, dq: Array) -> tuple[Array, Array]:
        """Return the columns (rows, 2) of the first joint and of the second, for velocities (rows, joints)."""
        together = dq[:, self.first] + self.sign * dq[:, self.second]
        of_first = np.stack([together, np.tanh(together / self.velocity)], axis=-1)
        return of_first, self.sign * of_first

    def value(self, names: Sequence[str], factors: Sequence[float]) -> Coupling:
        """Return the coupling of joints with these names."""
        return Coupling((names[self.first], names[self.second]), self.sign, factors[0], factors[1], self.velocity)


class CoupledFriction:
    """The friction of all pairs of a robot. A joint of a pair that is not among `names` stands still."""

    def __init__(self, couplings: Sequence[Coupling], names: Sequence[str]) -> None:
        """Take the robot's couplings and the joints in order."""
        self.W = np.zeros((len(couplings), len(names)))
        for row, pair in zip(self.W, couplings, strict=True):
            for name, sign in zip(pair.joints, (1, pair.sign), strict=True):
                if name in names:
                    row[names.index(name)] = sign
        numbers = [(pair.viscous, pair.coulomb, pair.velocity) for pair in couplings]
        self._viscous, self._coulomb, self._over = np.array(numbers, dtype=float).reshape(-1, 3).T

    def torque(self, dq: Array) -> Array:
        """Return what motors must give (..., n) at velocities (..., n)."""
        together = dq @ self.W.T
        return np.asarray((self._viscous * together + self._coulomb * np.tanh(together / self._over)) @ self.W)

    def slope(self, dq: Array) -> Array:
        """Return d torque / d dq (n, n) at velocities (n), which is symmetric and never negative."""
        dry = self._coulomb / self._over * (1 - np.tanh(self.W @ dq / self._over) ** 2)
        return np.asarray(self.W.T * (self._viscous + dry) @ self.W)

    def potential(self, dq: Array) -> float:
        """Return the integral of the torque over velocities (n)."""
        together = self.W @ dq
        ratio = np.abs(together / self._over)
        log_cosh = ratio + np.log1p(np.exp(-2 * ratio)) - np.log(2)
        return float(self._viscous @ together**2 / 2 + self._coulomb * self._over @ log_cosh)
