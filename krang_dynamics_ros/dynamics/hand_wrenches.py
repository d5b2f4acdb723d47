"""Wrenches at the hands, estimated from the external torques of the joints.

f minimizes |J^T f - tau_ext|^2 + damping^2 |f|^2. It contains the wrenches of all hands, since hands can share joints;
a moment counts as a force at `LEVER`. The smallest singular value of a hand tells whether its wrench can be
estimated: it is the smallest joint torque that a unit wrench on the hand causes, and that no wrench on another hand
explains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from ..core.spatial import Array
from ..core.wrench import DIRECTIONS
from .dynamics import Dynamics

ROUNDING = 1e-12  # relative to the size of J J^T


class _HandJacobian:
    """J of all hands at a pose, with the columns of the joints whose external torque is known."""

    def __init__(self, dynamics: Dynamics, links: Sequence[str], q: Array, torque: Array) -> None:
        self._dynamics, self._links, self._q, self._torque = dynamics, links, q.copy(), torque.copy()

    @cached_property
    def squared(self) -> Array:
        """J J^T (m^2)."""
        J = self._dynamics.scaled_jacobians(self._q, self._links)[:, np.isfinite(self._torque)]
        return J @ J.T

    @property
    def rounding(self) -> float:
        """Number that is added to the diagonal of J J^T against singularity, m^2."""
        return ROUNDING * (1 + float(np.trace(self.squared)))

    @cached_property
    def inverse(self) -> Array:
        """Inverse of J J^T. A hand's block of it, inverted, is the part of J J^T that other hands do not explain."""
        return np.asarray(np.linalg.inv(self.squared + self.rounding * np.eye(len(self.squared))))


class HandWrenchEstimate:
    """Estimated wrench on a hand.

    Attributes:
        wrench: [force; moment] (6) of the WORLD on the hand, N and N m, in its axes, about its origin; None: not
            published.
    """

    def __init__(self, wrench: Array, jacobian: _HandJacobian, rows: slice) -> None:
        """Create an estimate; `rows` are the hand's rows of the Jacobian of all hands."""
        self._jacobian, self._rows = jacobian, rows
        self.wrench: Array | None = wrench

    @cached_property
    def _worst(self) -> tuple[float, Array]:
        values, vectors = np.linalg.eigh(self._jacobian.inverse[self._rows, self._rows])
        return float(values[-1]), vectors[:, -1]

    @property
    def smallest_singular_value(self) -> float:
        """The smallest singular value of the part of the hand's Jacobian that other hands do not explain, m."""
        largest = self._worst[0]
        return math.sqrt(max(0.0, 1 / largest - self._jacobian.rounding)) if largest > 0 else 0.0

    def require(self, limit: float) -> None:
        """Set the wrench to None if it is not finite or the smallest singular value is below `limit`, m."""
        if self.wrench is not None and not (np.isfinite(self.wrench).all() and self.smallest_singular_value >= limit):
            self.wrench = None

    @property
    def weakest(self) -> Array:
        """Unit wrench (6) that causes the smallest joint torque, moments over LEVER."""
        return self._worst[1]

    @property
    def weakest_direction(self) -> str:
        """Direction of `weakest`, as text."""
        parts = zip(DIRECTIONS, self.weakest, strict=True)
        return ', '.join(f'{part:+.2f} {name}' for name, part in parts if abs(part) > 0.3)


class HandWrenches:
    """Estimator of the wrenches of the WORLD on the hands of a robot."""

    def __init__(self, dynamics: Dynamics, hands: Mapping[str, str]) -> None:
        """Create an estimator; `hands` are links by name of the hand."""
        self.damping = 0.02  # m: directions with a smaller singular value are damped
        self.min_singular_value = 0.05  # m: below it, the wrench of a hand is not published
        self._dynamics, self._links = dynamics, tuple(hands.values())
        self._rows = {name: slice(6 * k, 6 * k + 6) for k, name in enumerate(hands)}

    def estimate(self, q: Array, torque: Array) -> dict[str, HandWrenchEstimate]:
        """Return an estimate for each hand from external torques (n), NaN where unknown."""
        if not self._rows:
            return {}
        f, bound = self._dynamics.hand_wrenches(q, torque, self._links, self.damping)
        jacobian = _HandJacobian(self._dynamics, self._links, q, torque)
        estimates = {name: HandWrenchEstimate(f[rows], jacobian, rows) for name, rows in self._rows.items()}
        if not (bound >= self.min_singular_value**2 and math.isfinite(f @ f)):  # cheap test of all hands, then of each
            for estimate in estimates.values():
                estimate.require(self.min_singular_value)
        return estimates
