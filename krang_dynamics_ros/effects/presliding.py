"""Presliding friction: like a spring first, constant after a few `distance` of motion (P. Dahl, 1968)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.spatial import Array
from ..robot.drive import Presliding
from ..robot.robot import Joint
from .effect import JointMotion
from .sliding import presliding

NEGLIGIBLE = 1e-6  # N m: a smaller factor of a fit is zero


def presliding_history(position: Array, distances: Sequence[float]) -> Array:
    """Return z (rows, joints, distances) along an encoder's positions (rows, joints), from z = 0 in the first row."""
    z = np.zeros((*position.shape, len(distances)))
    steps = np.diff(position, axis=0)[..., None]
    for k, step in enumerate(steps):
        z[k + 1] = presliding(z[k], step, np.asarray(distances))
    return z


@dataclass(frozen=True)
class PreslidingEffect:
    """kappa z; the state z follows the raw encoder position over a distance (rad)."""

    distance: float

    not_negative = True
    prior = 1.0
    term = 'presliding friction'

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name, with the distance in mrad."""
        return (f'presliding {1e3 * self.distance:g} mrad',)

    def columns(self, x: JointMotion) -> Array:
        """Return z."""
        return x.z[self.distance][..., None]

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with one more presliding friction."""
        if factors[0] <= NEGLIGIBLE:
            return joint
        parts = (*joint.friction.presliding, Presliding(factors[0], self.distance))
        return replace(joint, friction=replace(joint.friction, presliding=parts))
