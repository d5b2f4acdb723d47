"""Path between two measured states as a polynomial, evaluated at the points of a Gauss quadrature.

t goes from 0 to 1 over a step:

    q(t) = q0 + v t + change t^2 / 2 + bend t^2 (3 - 2 t) + (a + b t) t^2 (1 - t)^2

It passes through positions and velocities of both states; with a and b also through the previous state. All five are
linear in five measured velocities: dq_before, the mean velocity from there to q0, dq0, the mean velocity to q1, dq1. So
positions, velocities and accelerations come from one product of matrices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from .spatial import Array

POINTS = 0.5 + 0.15**0.5 * np.array([-1.0, 0.0, 1.0])  # Gauss quadrature with three points: order 6
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18
_SHAPES = [
    Polynomial(coefficients)
    for coefficients in ([0, 1], [0, 0, 0.5], [0, 0, 3, -2], [0, 0, 1, -2, 1], [0, 0, 0, 1, -2, 1])
]  # of v, change, bend, a, b
_POSITION, _VELOCITY, _ACCELERATION = (
    np.array([shape.deriv(order)(POINTS) for shape in _SHAPES]).T for order in range(3)
)
_BENT = _VELOCITY * [0, 0, 1, 1, 1]  # part of the velocities by bend, a and b
_MAX_BENT = np.array([[0, 1, 0, 0, 0], [0.1, 0.05, 0, 0, 0]])  # change, and a tenth of the mean velocity without bends
_ALL = np.vstack([_POSITION, _VELOCITY, _ACCELERATION, _BENT, _MAX_BENT])  # rows 0-2, 3-5, 6-8, 9-11, 12-13
_OF_STEP = np.array([[0, 0, 1, 0, 0], [0, 0, -1, 0, 1], [0, 0, -0.5, 1, -0.5]])  # v, change, bend over dt
_WITHOUT_BEFORE, _BY_BEFORE = _ALL[:, :3] @ _OF_STEP, _ALL[:, 3:].copy()
_STRAIGHT = _ALL[:9, :2] @ _OF_STEP[:2]
_TINY = 1e-30  # avoids a division by zero


class Step(NamedTuple):
    """Measurements of n joints over a step between two states."""

    q: Array  # (n) at the start
    measured: tuple[Array, Array, Array, Array, Array]  # the five velocities, (n) each
    dt: float  # s
    rho: float | None  # duration of the previous step over dt; None: no previous step

    @property
    def acceleration(self) -> Array:
        """Mean acceleration (n), independent of the path."""
        return (self.measured[4] - self.measured[2]) / self.dt

    def points(self) -> tuple[Array, Array, Array]:
        """Return positions, velocities, accelerations (3, n) at `POINTS`."""
        measured = np.array(self.measured)
        path = linear(measured, self.rho)
        size = np.abs(path[9:])
        if np.count_nonzero(size[:3] > size[3] + size[4]):  # most paths need no straightening
            path = straightened(path, measured)
        return self.q + self.dt * path[:3], path[3:6], path[6:9] / self.dt


class Path:
    """The path of n joints, step by step."""

    def begin(self, q: Array, dq: Array) -> None:
        """Start at positions and velocities (n each), without a previous state."""
        self._q, self._dq = q.copy(), dq.copy()
        self._before: tuple[Array, Array, float] | None = None  # dq_before, mean velocity since then, duration

    def step(self, q: Array, dq: Array, dt: float) -> Step:
        """Advance to a state after dt (s) and return the step."""
        q0, mean = self._q, (q - self._q) / dt
        rho = self._before[2] / dt if self._before else None
        dq_before, mean_before, _ = self._before or (dq, dq, 0.0)
        measured = (dq_before, mean_before, self._dq, mean, dq.copy())
        self._before, self._q, self._dq = (self._dq, mean, dt), q.copy(), measured[4]
        return Step(q0, measured, dt, rho)


def linear(measured: Any, rho: Any, rows: Any = np.array) -> Any:
    """Return the path (14, n), linear in the five velocities (5, n), numbers or symbols.

    Three rows each: (positions - q0) / dt, velocities, accelerations times dt, bent part of the velocities. The last
    two rows limit the bent part. `rows` creates a matrix.
    """
    if rho is None:
        return _WITHOUT_BEFORE @ measured
    return (_WITHOUT_BEFORE + _BY_BEFORE @ rows(_through_before(rho))) @ measured


def _through_before(rho: Any) -> list[list[Any]]:
    """Return the matrix (2, 5) from measured velocities to a and b over dt; `rho` is as in `Step`."""
    s = 1 + rho
    a = [1 / rho / s**2, -(3 + 5 * rho) / rho / s**3, 2 / rho, -(3 + 9 * rho + 4 * rho**2) / s**3, (1 + 2 * rho) / s**2]
    b = [1 / (rho * s) ** 2, -2 * (1 + 2 * rho) / rho**2 / s**3, 1 / rho**2, -2 * (2 + rho) / s**3, 1 / s**2]
    return [a, b]


def straightened(path: Any, measured: Any) -> Any:
    """Return the first nine rows of a path, with its bent part limited to that of a smooth motion.

    Jitter of stamps and coarse encoder steps cause large bends. With symbols, n is 1.
    """
    limit, part = abs(path[12, :]) + abs(path[13, :]), 1.0
    for k in (9, 10, 11):
        share = limit / (abs(path[k, :]) + _TINY)
        part = part + (share < part) * (share - part)  # the minimum
    straight = _STRAIGHT @ measured
    return straight + part * (path[:9, :] - straight)
