"""Rotor inertia as the joint feels it: I_a ddq. In the equations of motion it is part of A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.spatial import Array
from .effect import JointMotion


@dataclass(frozen=True)
class Rotor:
    """The rotor's reflected inertia I_a = N^2 J_m, kg m^2 (report, eq. 18)."""

    inertia: float = 0.0

    names = ('rotor_inertia',)
    not_negative = True
    prior = 1.0
    part = 'inertia'

    def columns(self, x: JointMotion) -> Array:
        """Return ddq."""
        return x.ddq[..., None]

    def fitted(self, factors: Sequence[float], crossing: float) -> Rotor:
        """Return this rotor inertia."""
        return Rotor(factors[0])

    def __str__(self) -> str:
        return self.names[0]
