"""Wrenches at the hands from the external torques of the joints: one problem for all hands, since they share a trunk.

Least are |J^T f - tau_ext|^2 + damping^2 |f|^2, f being all hands' forces and moments, a moment counting as much as a
force at `LEVER`. Whether a hand's wrench can be told at all, says its smallest singular value: the torque that a wrench
of one newton on it leaves in the joints at least, beyond what wrenches on the other hands could explain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from ..core.spatial import Array
from .dynamics import Dynamics

ROUNDING = 1e-12  # of J J^T, of its size
DIRECTIONS = ('x', 'y', 'z', 'about x', 'about y', 'about z')


class _Shown:
    """What wrenches on all hands show in the joints of known torque at a pose."""

    def __init__(self, dynamics: Dynamics, links: Sequence[str], q: Array, torque: Array) -> None:
        self._dynamics, self._links, self._q, self._torque = dynamics, links, q.copy(), torque.copy()

    @cached_property
    def squared(self) -> Array:
        """J J^T (m^2)."""
        J = self._dynamics.jacobians(self._q, self._links)[:, np.isfinite(self._torque)]
        return J @ J.T

    @property
    def rounding(self) -> float:
        """What is added to its diagonal, m^2, lest it be singular."""
        return ROUNDING * (1 + float(np.trace(self.squared)))

    @cached_property
    def inverse(self) -> Array:
        """The inverse: of a hand's block, that of its J J^T less what other hands explain."""
        return np.asarray(np.linalg.inv(self.squared + self.rounding * np.eye(len(self.squared))))


class HandWrenchEstimate:
    """What is told of one hand's wrench."""

    def __init__(self, wrench: Array, shown: _Shown, place: slice) -> None:
        """Take what the hand's rows of the whole problem, at `place`, say."""
        self._shown, self._place = shown, place
        self.wrench: Array | None = wrench
        """[force; moment] (6) of the WORLD on the hand, N and N m, in its axes, about its origin; None: not told."""

    @cached_property
    def _worst(self) -> tuple[float, Array]:
        values, vectors = np.linalg.eigh(self._shown.inverse[self._place, self._place])
        return float(values[-1]), vectors[:, -1]

    @property
    def smallest(self) -> float:
        """The smallest singular value, m."""
        largest = self._worst[0]
        return math.sqrt(max(0.0, 1 / largest - self._shown.rounding)) if largest > 0 else 0.0

    def require(self, least: float) -> None:
        """Tell no wrench where the smallest singular value is less than this, m, or the wrench is not finite."""
        if self.wrench is not None and not (np.isfinite(self.wrench).all() and self.smallest >= least):
            self.wrench = None

    @property
    def weakest(self) -> Array:
        """The unit wrench (6) that shows least, moments over LEVER."""
        return self._worst[1]

    @property
    def weakest_direction(self) -> str:
        """The weakest direction, in words."""
        parts = zip(DIRECTIONS, self.weakest, strict=True)
        return ', '.join(f'{part:+.2f} {name}' for name, part in parts if abs(part) > 0.3)


class HandWrenches:
    """Wrenches of the WORLD on the hands of one robot."""

    def __init__(self, dynamics: Dynamics, hands: Mapping[str, str]) -> None:
        """`hands` are links by name."""
        self.damping = 0.02  # m: what shows in the joints by less than this is damped away
        self.least = 0.05  # m: a hand whose smallest singular value is less is not told
        self._dynamics, self._links = dynamics, tuple(hands.values())
        self._places = {name: slice(6 * k, 6 * k + 6) for k, name in enumerate(hands)}

    def estimate(self, q: Array, torque: Array) -> dict[str, HandWrenchEstimate]:
        """Return what is told of each hand from external torques (n), NaN where a joint's is not known."""
        if not self._places:
            return {}
        f, bound = self._dynamics.hand_wrenches(q, torque, self._links, self.damping)
        shown = _Shown(self._dynamics, self._links, q, torque)
        told = {name: HandWrenchEstimate(f[place], shown, place) for name, place in self._places.items()}
        if not (bound >= self.least**2 and math.isfinite(f @ f)):  # all at once, which is cheap; or each by itself
            for estimate in told.values():
                estimate.require(self.least)
        return told
