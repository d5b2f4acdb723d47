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


def coupling_torque(couplings: Sequence[Coupling], names: Sequence[str], dq: Array) -> Array:
    """Return what motors must give (..., n) against coupled friction, for velocities (..., n) of named joints.

    A joint of a pair that is not named stands still.
    """
    torque = np.zeros_like(dq)
    for coupling in couplings:
        signs = dict(zip(coupling.joints, (1, coupling.sign), strict=True))
        parts = [(names.index(name), sign) for name, sign in signs.items() if name in names]
        together = sum((sign * dq[..., j] for j, sign in parts), np.zeros(dq.shape[:-1]))
        size = coupling.viscous * together + coupling.coulomb * np.tanh(together / coupling.velocity)
        for j, sign in parts:
            torque[..., j] += sign * size
    return torque
