"""A spring or counterbalance at a revolute joint: torque cosine cos q + sine sin q."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.algebra import cos, sin
from .effect import JointEffect, factor


@dataclass(frozen=True)
class Spring(JointEffect):
    """A spring or counterbalance; the motor torque against it is cosine cos q + sine sin q."""

    cosine: float = factor('spring, times cos q', 'N m', least=None, label='spring cos', symbol='Sc', letter='a')
    sine: float = factor('spring, times sin q', 'N m', least=None, label='spring sin', symbol='Ss', letter='b')

    term = 'spring'

    def torque(self, x: Any) -> Any:
        """Return cosine cos q + sine sin q."""
        return self.cosine * cos(x) + self.sine * sin(x)

    def slope(self, x: Any) -> Any:
        """Return the stiffness, N m/rad (N/m)."""
        return self.sine * cos(x) - self.cosine * sin(x)

    def integral(self, x: Any) -> Any:
        """Return the energy, J, up to a constant."""
        return self.cosine * sin(x) - self.sine * cos(x)

    def __str__(self) -> str:
        return 'spring'
