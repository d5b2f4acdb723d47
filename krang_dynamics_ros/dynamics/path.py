"""How a robot went from one measured state to the next: a polynomial, looked at where a mean over the step asks for it.

t goes from 0 to 1 over a step:

    q(t) = q0 + v t + change t^2 / 2 + bend t^2 (3 - 2 t) + (a + b t) t^2 (1 - t)^2

It goes through both states, positions and velocities; a and b make it go through the state before as well.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from ..core.spatial import Array

POINTS = 0.5 + 0.15**0.5 * np.array([-1.0, 0.0, 1.0])  # Gauss's three: a mean by them is of order 6
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18
_SHAPES = [
    Polynomial(coefficients)
    for coefficients in ([0, 1], [0, 0, 0.5], [0, 0, 3, -2], [0, 0, 1, -2, 1], [0, 0, 0, 1, -2, 1])
]  # of v, change, bend, a, b
_POSITION, _VELOCITY, _ACCELERATION = (
    np.array([shape.deriv(order)(POINTS) for shape in _SHAPES]).T for order in range(3)
)


class Path:
    """The path of n joints, step by step."""

    def __init__(self, n: int) -> None:
        self._terms = np.zeros((5, n))  # v, change, bend, a, b
        self._smooth, self._bent = self._terms[:2], self._terms[2:]
        self._before: tuple[Array, Array, float] | None = None  # q0, dq0, dt of the step before

    def forget(self) -> None:
        """Know of no state before."""
        self._before = None

    def step(self, q0: Array, dq0: Array, q1: Array, dq1: Array, dt: float) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations (3, n) at `POINTS` of a step that takes dt (s)."""
        v, change, bend, a, b = self._terms
        v[:], change[:] = dt * dq0, dt * (dq1 - dq0)
        bend[:] = q1 - q0 - v - change / 2  # what even acceleration does not explain
        a[:] = b[:] = 0.0
        if self._before is not None:
            q, dq, dt_before = self._before
            rho = dt_before / dt
            w = (rho + rho * rho) ** 2
            a[:] = (q - q0 + rho * v - rho**2 / 2 * change - rho**2 * (3 + 2 * rho) * bend) / w
            b[:] = (dt * dq - v + rho * change + 6 * rho * (1 + rho) * bend) / w + (2 / rho + 2 / (1 + rho)) * a
            a += rho * b
        self._before = q0, dq0, dt
        self._straighten()
        return q0 + _POSITION @ self._terms, _VELOCITY @ self._terms / dt, _ACCELERATION @ self._terms / dt**2

    def _straighten(self) -> None:
        """Keep what bends the path within what a smooth movement has.

        Stamps that jitter, and positions in coarse steps, look like bends of any size.
        """
        v, change = self._smooth
        most = np.abs(change) + 0.1 * np.abs(v + change / 2)
        largest = np.abs(_VELOCITY[:, 2:] @ self._bent).max(axis=0)
        beyond = largest > most
        if beyond.any():
            self._bent[:, beyond] *= most[beyond] / largest[beyond]
