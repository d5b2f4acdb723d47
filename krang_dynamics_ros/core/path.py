"""How a robot went from one measured state to the next: a polynomial, looked at where a mean over the step asks for it.

t goes from 0 to 1 over a step:

    q(t) = q0 + v t + change t^2 / 2 + bend t^2 (3 - 2 t) + (a + b t) t^2 (1 - t)^2

It goes through both states, positions and velocities; a and b make it go through the state before as well. All five are
linear in five measured velocities: dq_before, the mean velocity from there to q0, dq0, the mean velocity to q1, dq1. So
positions, velocities and accelerations come from one product of matrices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from .spatial import Array

POINTS = 0.5 + 0.15**0.5 * np.array([-1.0, 0.0, 1.0])  # Gauss's three: a mean by them is of order 6
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18
_SHAPES = [
    Polynomial(coefficients)
    for coefficients in ([0, 1], [0, 0, 0.5], [0, 0, 3, -2], [0, 0, 1, -2, 1], [0, 0, 0, 1, -2, 1])
]  # of v, change, bend, a, b
_POSITION, _VELOCITY, _ACCELERATION = (
    np.array([shape.deriv(order)(POINTS) for shape in _SHAPES]).T for order in range(3)
)
_BENT = _VELOCITY * [0, 0, 1, 1, 1]  # what bend, a and b make of the velocities
_MOST = np.array([[0, 1, 0, 0, 0], [0.1, 0.05, 0, 0, 0]])  # change, and a tenth of the mean velocity without bends
_ALL = np.vstack([_POSITION, _VELOCITY, _ACCELERATION, _BENT, _MOST])  # rows 0-2, 3-5, 6-8, 9-11, 12-13
_OF_STEP = np.array([[0, 0, 1, 0, 0], [0, 0, -1, 0, 1], [0, 0, -0.5, 1, -0.5]])  # v, change, bend over dt, of measured
_WITHOUT_BEFORE, _BY_BEFORE = _ALL[:, :3] @ _OF_STEP, _ALL[:, 3:].copy()
_STRAIGHT = _ALL[:9, :2] @ _OF_STEP[:2]
_TINY = 1e-30  # no bend at all: keeps zero out of a division


class Step(NamedTuple):
    """What is measured of n joints that went from one state to the next."""

    q: Array  # (n) where it begins
    measured: tuple[Array, Array, Array, Array, Array]  # the five velocities, (n) each
    dt: float  # s
    rho: float | None  # how long the step before took, over dt; None: there was none

    @property
    def acceleration(self) -> Array:
        """The mean acceleration (n), whatever the path."""
        return (self.measured[4] - self.measured[2]) / self.dt

    def points(self) -> tuple[Array, Array, Array]:
        """Return positions, velocities, accelerations (3, n) at `POINTS`."""
        measured = np.array(self.measured)
        path = linear(measured, self.rho)
        size = np.abs(path[9:])
        if np.count_nonzero(size[:3] > size[3] + size[4]):  # to save time: what is not bent too much stays as it is
            path = straightened(path, measured)
        return self.q + self.dt * path[:3], path[3:6], path[6:9] / self.dt


class Path:
    """The path of n joints, step by step."""

    def begin(self, q: Array, dq: Array) -> None:
        """Begin at a state (n, n); know of none before."""
        self._q, self._dq = q.copy(), dq.copy()
        self._before: tuple[Array, Array, float] | None = None  # dq_before, mean velocity since, and for how long

    def step(self, q: Array, dq: Array, dt: float) -> Step:
        """Go on to a state after dt (s)."""
        q0, mean = self._q, (q - self._q) / dt
        rho = self._before[2] / dt if self._before else None
        dq_before, mean_before, _ = self._before or (dq, dq, 0.0)
        measured = (dq_before, mean_before, self._dq, mean, dq.copy())
        self._before, self._q, self._dq = (self._dq, mean, dt), q.copy(), measured[4]
        return Step(q0, measured, dt, rho)


def linear(measured: Any, rho: Any, rows: Any = np.array) -> Any:
    """Return the path (14, n), linear in the five velocities (5, n), numbers or symbols.

    Three rows each: positions less q0 over dt, velocities, accelerations times dt, and what bends the velocities. The
    last two are what may bend them. `rows` makes a matrix.
    """
    if rho is None:
        return _WITHOUT_BEFORE @ measured
    return (_WITHOUT_BEFORE + _BY_BEFORE @ rows(_through_before(rho))) @ measured


def _through_before(rho: Any) -> list[list[Any]]:
    """Return what a and b over dt are (2, 5) of what is measured; the step before took `rho` times as long."""
    s = 1 + rho
    a = [1 / rho / s**2, -(3 + 5 * rho) / rho / s**3, 2 / rho, -(3 + 9 * rho + 4 * rho**2) / s**3, (1 + 2 * rho) / s**2]
    b = [1 / (rho * s) ** 2, -2 * (1 + 2 * rho) / rho**2 / s**3, 1 / rho**2, -2 * (2 + rho) / s**3, 1 / s**2]
    return [a, b]


def straightened(path: Any, measured: Any) -> Any:
    """Keep what bends a path within what a smooth movement has; return its first nine rows.

    Stamps that jitter, and positions in coarse steps, look like bends of any size. Symbols are of one joint.
    """
    most, part = abs(path[12, :]) + abs(path[13, :]), 1.0
    for k in (9, 10, 11):
        share = most / (abs(path[k, :]) + _TINY)
        part = part + (share < part) * (share - part)  # the lesser one
    straight = _STRAIGHT @ measured
    return straight + part * (path[:9, :] - straight)
