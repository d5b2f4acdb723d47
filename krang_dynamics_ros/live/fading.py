"""What fades in commands over the ramp: jumps of the total, and guiding torques. Times in s, by a steady clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ..core.spatial import Array


class Remainder:
    """Remainder r: the sum of past jumps of the total (k). Each fades to zero over the ramp."""

    def __init__(self, count: int, ramp: float) -> None:
        self._ramp = ramp
        self._added, self._since = np.empty((0, count)), np.empty(0)

    def add(self, jump: Array, now: float) -> None:
        """Add a jump (k): the total before minus the total after."""
        if jump.any():
            self._added, self._since = np.vstack([self._added, jump]), np.append(self._since, now)

    def at(self, now: float) -> Array:
        """Return the sum of what is left of the jumps (k)."""
        if not len(self._since):
            return np.zeros(self._added.shape[1])
        left = 1 - (now - self._since) / self._ramp if self._ramp > 0 else np.zeros(len(self._since))
        if not (left > 0).all():
            keep = left > 0
            self._added, self._since, left = self._added[keep], self._since[keep], left[keep]
        return np.asarray(left @ self._added)


class WeightedGuiding:
    """Guiding torques (k) by name, each times a weight w from 0 to 1.

    It rises over the ramp, and falls for a torque that left `total_terms`, or while commands fall.
    """

    def __init__(self) -> None:
        self.max_age = np.inf  # s, of the state whose guiding torques are sent
        self.weights: dict[str, float] = {}  # w of each
        self._torques: Mapping[str, Array] = {}
        self._fading: frozenset[str] = frozenset()  # names that left `total_terms`
        self._state_at = -np.inf

    def clear(self) -> None:
        """Forget all guiding torques; the next ones rise from 0."""
        self.weights, self._torques = {}, {}

    def at_new_state(self, torques: Mapping[str, Array], fading: Collection[str], now: float) -> None:
        """Store the guiding torques (k) at a new state; those that `fading` names fall."""
        self._state_at = now
        self.at_same_state(torques, fading)

    def at_same_state(self, torques: Mapping[str, Array], fading: Collection[str]) -> None:
        """Store the guiding torques (k) at the same state, after a parameter change."""
        self._torques, self._fading = dict(torques), frozenset(fading)
        self.weights = {name: self.weights.get(name, 0.0) for name in torques}

    def move(self, step: float) -> None:
        """Change each weight by a step of the ramp fraction; those that fade fall."""
        for name, weight in self.weights.items():
            change = -abs(step) if name in self._fading else step
            self.weights[name] = min(max(weight + change, 0.0), 1.0)

    @property
    def names(self) -> list[str]:
        """Names of those that commands contain: their weight is not zero."""
        return [name for name, weight in self.weights.items() if weight > 0]

    def at(self, now: float) -> Array | None:
        """Return the weighted sum (k); None if there are none, or their state is too old."""
        if not self._torques or now - self._state_at > self.max_age:
            return None
        return np.asarray(np.sum([self.weights[name] * torque for name, torque in self._torques.items()], axis=0))
