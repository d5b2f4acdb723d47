"""Presliding friction: like a spring first, constant after a few distances of motion (P. Dahl, 1968).

A motor must give the sum of kappa_k z_k against it, with z_k from `presliding`. The states z_k remember the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..core.spatial import Array
from .effect import JointMotion

NEGLIGIBLE = 1e-6  # N m (N): a smaller factor of a fit is zero


def presliding(z: ArrayLike, moved: ArrayLike, distance: ArrayLike) -> Array:
    """Return z, from -1 to 1, after the joint has moved by `moved`, rad (m): P. Dahl's model (1968).

    z <- s + (z - s) exp(-|moved| / distance), s = sign(moved): like a spring first, constant after a few distances.
    It depends on the position alone, so it keeps its value at standstill, where the velocity is noise. The step is
    exact for a movement in one direction, whatever its size.
    """
    before, step = np.asarray(z, dtype=float), np.asarray(moved, dtype=float)
    s = np.sign(step)
    return np.asarray(s + (before - s) * np.exp(-np.abs(step) / distance))


def presliding_history(position: Array, distances: Sequence[float]) -> Array:
    """Return z (rows, joints, distances) along an encoder's positions (rows, joints), from z = 0 in the first row."""
    z = np.zeros((*position.shape, len(distances)))
    steps = np.diff(position, axis=0)[..., None]
    for k, step in enumerate(steps):
        z[k + 1] = presliding(z[k], step, np.asarray(distances))
    return z


@dataclass(frozen=True)
class Presliding:
    """Friction that acts as a spring near standstill: torque kappa, N m (N), that rises over `distance`, rad (m).

    The state z follows the raw encoder position.
    """

    torque: float
    distance: float

    not_negative = True
    prior = 1.0
    part = 'presliding friction'

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name, with the distance in mrad (mm)."""
        return (f'presliding {1e3 * self.distance:g} mrad (mm)',)

    def columns(self, x: JointMotion) -> Array:
        """Return z."""
        return x.z[self.distance][..., None]

    def fitted(self, factors: Sequence[float], crossing: float) -> Presliding:
        """Return presliding friction with this torque."""
        return replace(self, torque=factors[0] if factors[0] > NEGLIGIBLE else 0.0)

    def __str__(self) -> str:
        return self.names[0]
