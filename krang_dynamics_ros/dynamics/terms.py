"""The torque terms of one state, each by its name, computed when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from ..core.spatial import Array
from ..core.wrench import Wrench
from .dynamics import Dynamics

TERMS = ('gravity', 'coriolis', 'friction', 'wrench')
WITH_VELOCITY = ('coriolis', 'friction')


class Terms:
    """Torques (n) of one state, in the order of the dynamics' joints: N m, or N for a prismatic joint."""

    def __init__(self, dynamics: Dynamics, q: Array, dq: Array | None, wrenches: Sequence[Wrench]) -> None:
        """`dq` is None where velocities are not known; `wrenches` are what the robot applies."""
        self.dynamics, self.q, self.dq, self.wrenches = dynamics, q, dq, wrenches
        self._known: dict[str, Array | None] = {}

    def torque(self, term: str) -> Array | None:
        """Return one term, or None if it cannot be known: no velocities, or a number that is not finite."""
        if term not in self._known:
            self._known[term] = _finite(self._compute(term))
        return self._known[term]

    def total(self, terms: Collection[str]) -> Array | None:
        """Return the sum of terms (zero for none), or None if one of them cannot be known."""
        total = np.zeros(self.dynamics.n)
        for term in terms:
            torque = self.torque(term)
            if torque is None:
                return None
            total += torque
        return total

    def _compute(self, term: str) -> Array | None:
        if term == 'gravity':
            return self.dynamics.Q(self.q)
        if term == 'wrench':
            return self.dynamics.wrench_torque(self.q, self.wrenches)
        if self.dq is None:
            return None
        return (
            self.dynamics.coriolis_torque(self.q, self.dq)
            if term == 'coriolis'
            else self.dynamics.friction_torque(self.dq)
        )


def _finite(torque: Array | None) -> Array | None:
    return torque if torque is not None and math.isfinite(torque @ torque) else None
