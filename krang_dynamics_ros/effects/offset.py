"""Offset of an effort: its reading at zero torque. It is a sensor error and is never commanded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.spatial import Array
from .effect import JointMotion


@dataclass(frozen=True)
class Offset:
    """A constant effort, N m (N)."""

    effort: float = 0.0

    names = ('offset',)
    not_negative = False
    prior = 0.3
    part = 'offset'

    def columns(self, x: JointMotion) -> Array:
        """Return ones."""
        return np.ones((*x.q.shape, 1))

    def fitted(self, factors: Sequence[float], crossing: float) -> Offset:
        """Return this offset of the effort."""
        return Offset(factors[0])

    def __str__(self) -> str:
        return self.names[0]
