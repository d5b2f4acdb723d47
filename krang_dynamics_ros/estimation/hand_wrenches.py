"""Wrenches at the hands from the external torques of the joints: one problem for all hands, since they share a trunk.

Least are |J^T f - tau_ext|^2 + damping^2 |f|^2, f being all hands' forces and moments, a moment counting as much as a
force at `LEVER`. Whether a hand's wrench can be told at all, says its smallest singular value: the torque that a wrench
of one newton on it leaves in the joints at least, beyond what wrenches on the other hands could explain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics

LEVER = 0.3  # m; a forearm's
ROUNDING = 1e-12  # of J J^T, m^2
DIRECTIONS = ('x', 'y', 'z', 'about x', 'about y', 'about z')


@dataclass(frozen=True, eq=False)
class Estimate:
    """What is told of one hand's wrench."""

    wrench: Array | None  # [force; moment] (6) of the WORLD on the hand, N and N m, in its axes, about its origin
    smallest: float  # singular value, m
    weakest: Array  # (6), the unit wrench that shows least, moments over LEVER

    @property
    def weakest_words(self) -> str:
        """The weakest direction, in words."""
        parts = zip(DIRECTIONS, self.weakest, strict=True)
        return ', '.join(f'{part:+.2f} {name}' for name, part in parts if abs(part) > 0.3)


class HandWrenches:
    """Wrenches of the WORLD on the hands of one robot."""

    def __init__(self, dynamics: Dynamics, hands: Mapping[str, str]) -> None:
        """`hands` are links by name."""
        self.damping = 0.02  # m: what shows in the joints by less than this is damped away
        self.least = 0.05  # m: a hand whose smallest singular value is less is not told
        self._dynamics, self._hands = dynamics, dict(hands)
        self._scale = np.tile([1.0, 1.0, 1.0, 1 / LEVER, 1 / LEVER, 1 / LEVER], len(hands))

    def estimate(self, q: Array, torque: Array) -> dict[str, Estimate]:
        """Return what is told of each hand from external torques (n), NaN where a joint's is not known."""
        if not self._hands:
            return {}
        known = np.isfinite(torque)
        rows = [self._dynamics.jacobian(q, link, 'link') for link in self._hands.values()]
        J = (np.concatenate(rows) * self._scale[:, None])[:, known]
        JJ, unit = J @ J.T, np.eye(len(self._scale))
        f = np.linalg.solve(JJ + self.damping**2 * unit, J @ torque[known]) * self._scale
        alone = np.linalg.inv(JJ + ROUNDING * unit)  # a hand's block: the inverse of its J J^T less what others explain
        return {
            name: self._told(f[6 * k : 6 * k + 6], alone[6 * k : 6 * k + 6, 6 * k : 6 * k + 6])
            for k, name in enumerate(self._hands)
        }

    def _told(self, wrench: Array, block: Array) -> Estimate:
        values, vectors = np.linalg.eigh(block)
        smallest = math.sqrt(max(0.0, 1 / values[-1] - ROUNDING)) if values[-1] > 0 else 0.0
        told = wrench if smallest >= self.least and np.isfinite(wrench).all() else None
        return Estimate(told, smallest, vectors[:, -1])
