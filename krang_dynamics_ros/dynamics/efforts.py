"""Meaning of `effort`: readings of drives and sensors as joint torques, for observer, commands and `process`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.base_motion import BaseMotion
from ..core.errors import ArgumentError
from ..core.spatial import Array
from .dynamics import Dynamics
from .state import State

EffortSource = Literal['joint', 'motor', 'external']
EFFORT_SOURCES: tuple[str, ...] = get_args(EffortSource)
OMITTABLE_TERMS = ('gravity', 'coriolis', 'friction')  # terms that some drivers leave out of their efforts


class Efforts:
    """Meaning of the efforts (n) of a robot.

    torque = scale * reading - offset + the model terms in `without`, N m (N). The offset is `Dynamics.effort_offset`.

    Attributes:
        source: `joint`: the torque behind the gear; `motor`: the motor torque times the gear ratio, before friction and
            rotor inertia; `external`: the external torque itself.
        scale: N m (N) per unit of the reading (n).
        without: terms that the readings do not contain, some of OMITTABLE_TERMS.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics = dynamics
        self.source: EffortSource = 'motor'
        self.scale: Array = np.ones(dynamics.n)  # N m (N) per unit of the reading
        self.without: tuple[str, ...] = ()  # some of OMITTABLE_TERMS

    @property
    def as_read(self) -> bool:
        """Whether readings are torques without any conversion."""
        return not (self.without or (self.scale != 1).any() or self._dynamics.effort_offset.any())

    def scaled(self, state: State) -> Array:
        """Return the readings of a state (n) in N m (N); NaN where missing."""
        return np.full(self._dynamics.n, np.nan) if state.effort is None else state.effort * self.scale

    def torque(self, state: State) -> Array | None:
        """Return the driving torques (n), NaN where unknown; None if readings are external torques."""
        if self.source == 'external':
            return None
        if not self.without:
            return np.asarray(self.scaled(state) - self._dynamics.effort_offset)
        dq = np.full(self._dynamics.n, np.nan) if state.dq is None else state.dq
        effort = np.full(self._dynamics.n, np.nan) if state.effort is None else state.effort
        return np.asarray(self.torques(state.q[None], dq[None], effort[None])[0])

    def torques(self, q: Array, dq: Array, effort: Array, base: Sequence[BaseMotion] | None = None) -> Array:
        """Return the torques (m, n) of many states from their readings (m, n); external readings are only scaled.

        A torque is NaN where a velocity that it needs is NaN. `base` has the motion of the base at each state (m).
        """
        scaled = np.asarray(effort * self.scale)
        if self.source == 'external':
            return scaled
        return scaled - self._dynamics.effort_offset + self.missing(q, dq, base)

    def missing(self, q: Array, dq: Array, base: Sequence[BaseMotion] | None = None) -> Array:
        """Return the sum (m, n) of the terms in `without`, for many states."""
        missing = np.zeros_like(q)
        for name in self.without:
            missing = missing + self._term(name, q, dq, base)
        return missing

    def _term(self, name: str, q: Array, dq: Array, base: Sequence[BaseMotion] | None) -> Array:
        if name == 'gravity':
            return self._dynamics.batch('Q', q, base=base)
        if name == 'coriolis':
            return self._dynamics.batch('coriolis_torque', q, dq, base=base)
        return self._dynamics.friction.torque(dq)


def check_without(without: Sequence[str], source: str) -> None:
    """Raise `ArgumentError` if `without` contradicts the effort source."""
    if source == 'external' and without:
        raise ArgumentError(f'effort_without: {", ".join(without)}, must be empty with effort_source external')
    if source == 'joint' and 'friction' in without:
        raise ArgumentError(
            'effort_without: friction, must not be named with effort_source joint, which is without friction already'
        )


BRAKED_SPEED = 0.01  # rad/s (m/s): an arm whose joints are all slower stands still
BRAKED_EFFORT = 0.02  # of the effort limits: the largest effort of an arm that brakes hold is smaller
BRAKED_LOAD = 0.01  # of the effort limits: the largest load of an arm is greater, else efforts are small without brakes
BRAKED_SHARE = 0.2  # of that load: the largest effort is smaller


def braked_rows(dq: Array, effort: Array, residual: Array, limits: Array) -> NDArray[np.bool_]:
    """Return for each state (m, n) whether brakes hold the arm: at rest, without efforts, though the model loads it.

    `limits` (n) are those of the efforts, N m (N); `residual` is the effort less the model.
    """
    still = (np.abs(dq) < BRAKED_SPEED).all(axis=1)
    limited = limits > 0
    shares = (np.abs(x[:, limited]) / limits[limited] for x in (effort, effort - residual))
    largest, load = (np.nan_to_num(share).max(axis=1, initial=0.0) for share in shares)
    return np.asarray(still & (load > BRAKED_LOAD) & (largest < np.minimum(BRAKED_EFFORT, BRAKED_SHARE * load)))
