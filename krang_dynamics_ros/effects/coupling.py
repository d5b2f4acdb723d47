"""Coupled friction: a motor that turns with its own and the neighbouring joint has friction of both velocities.

    torque of both joints = W^T (v W dq + c tanh(W dq / velocity)),   W = e_j + sign e_k,   v, c >= 0

It dissipates: its power is W dq times the bracket, which has the sign of W dq.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.algebra import tanh
from ..core.spatial import Array

VELOCITY = 0.05  # rad/s (m/s), over which the Coulomb part changes its sign


def along(combined: Any, viscous: Any, coulomb: Any, velocity: Any) -> Any:
    """Return v W dq + c tanh(W dq / velocity) for `combined` = W dq, of numbers, arrays or symbols."""
    return viscous * combined + coulomb * tanh(combined / velocity)


@dataclass(frozen=True)
class Coupling:
    """Friction of two joints whose motors turn together, as in a differential.

    It acts along W dq, the first joint's velocity plus `sign` (1 or -1) times the second's.
    """

    joints: tuple[str, str]
    sign: int
    viscous: float  # N m s/rad (N s/m)
    coulomb: float  # N m (N)
    velocity: float  # rad/s (m/s), over which Coulomb friction changes its sign


@dataclass(frozen=True)
class CouplingEffect:
    """Coupled friction of two joints in a fit, given by their indices, with common factors v and c."""

    first: int
    second: int
    sign: int  # +1 or -1
    velocity: float = VELOCITY

    names = ('coupled viscous', 'coupled coulomb')
    not_negative = True
    prior = 1.0

    def columns(self, dq: Array) -> tuple[Array, Array]:
        """Return the columns (rows, 2) of the first and of the second joint, for velocities (rows, joints)."""
        combined = dq[:, self.first] + self.sign * dq[:, self.second]
        first_columns = np.stack([combined, np.tanh(combined / self.velocity)], axis=-1)
        return first_columns, self.sign * first_columns

    def value(self, names: Sequence[str], factors: Sequence[float]) -> Coupling:
        """Return the coupling with its factors; `names` are those of all joints, in order."""
        return Coupling((names[self.first], names[self.second]), self.sign, factors[0], factors[1], self.velocity)


class CoupledFriction:
    """The coupled friction of all pairs of a robot. A joint that is not among `names` counts as standing still."""

    def __init__(self, couplings: Sequence[Coupling], names: Sequence[str]) -> None:
        """`names` are those of the joints, in order."""
        self.W = np.zeros((len(couplings), len(names)))
        for row, pair in zip(self.W, couplings, strict=True):
            for name, sign in zip(pair.joints, (1, pair.sign), strict=True):
                if name in names:
                    row[names.index(name)] = sign
        numbers = [(pair.viscous, pair.coulomb, pair.velocity) for pair in couplings]
        self._viscous, self._coulomb, self._over = np.array(numbers, dtype=float).reshape(-1, 3).T

    def torque(self, dq: Array) -> Array:
        """Return the torque that the motors must give against it (..., n) at velocities (..., n)."""
        return np.asarray(along(dq @ self.W.T, self._viscous, self._coulomb, self._over) @ self.W)

    def shared(self, dq: Array, share: Array, width: float) -> Array:
        """Return a share of the torque (n): of each pair, the smaller of its joints' shares (n, 0 to 1).

        Where that share is below 1, the Coulomb part changes its sign over at least `width`, rad/s (m/s): the torque is
        at most that share.
        """
        of_pair = np.where(self.W != 0, share, 1.0).min(axis=1)
        over = np.where(of_pair < 1, np.maximum(self._over, width), self._over)
        return np.asarray((of_pair * along(dq @ self.W.T, self._viscous, self._coulomb, over)) @ self.W)

    def slope(self, dq: Array) -> Array:
        """Return d torque / d dq (n, n) at velocities (n), which is symmetric and positive semidefinite."""
        coulomb_slope = self._coulomb / self._over * (1 - np.tanh(self.W @ dq / self._over) ** 2)
        return np.asarray(self.W.T * (self._viscous + coulomb_slope) @ self.W)

    def potential(self, dq: Array) -> float:
        """Return the integral of the torque over velocities (n)."""
        combined = self.W @ dq
        ratio = np.abs(combined / self._over)
        log_cosh = ratio + np.log1p(np.exp(-2 * ratio)) - np.log(2)
        return float(self._viscous @ combined**2 / 2 + self._coulomb * self._over @ log_cosh)
