"""State of a robot at an instant: positions, velocities, efforts, wrenches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from ..core.base_motion import BaseMotion
from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..core.wrench import Wrench


class LazyWrenches(Sequence[Wrench]):
    """Wrenches that the hands apply at a state, computed on first access.

    They are never computed while nothing needs `torque/wrench`.
    """

    def __init__(self, compute: Callable[[], Mapping[str, Wrench]]) -> None:
        """Create the sequence; `compute` returns the wrenches by name of the hand."""
        self.compute = compute

    @cached_property
    def by_hand(self) -> Mapping[str, Wrench]:
        """Wrenches by name of the hand; a hand without a fresh reading is missing."""
        return self.compute()

    def __len__(self) -> int:
        return len(self.by_hand)

    def __iter__(self) -> Iterator[Wrench]:
        return iter(self.by_hand.values())

    def __getitem__(self, index: Any) -> Any:
        return [*self.by_hand.values()][index]


class Parts(Protocol):
    """Common instants of joints that come in several messages. Valid until the next message."""

    def instants(self) -> Sequence[State]:
        """Return the states at common instants since the last call, the newest last; empty if there are none."""

    @property
    def is_too_old(self) -> bool:
        """Whether the newest common instant is too old: the joints of a message are too far behind the others."""


@dataclass(frozen=True, eq=False)
class State:
    """State of a robot at an instant; joint vectors (n) are in the order of the dynamics' joints."""

    q: Array
    dq: Array | None = None  # None if a velocity is unknown
    wrenches: Sequence[Wrench] = ()  # applied by the robot
    effort: Array | None = None  # as measured, NaN where unknown; None: no efforts
    stamp: int = 0  # ns
    measured_dq: Array | None = None  # NaN where unknown; None: all unknown
    parts: Parts | None = None  # None: all joints have the same instant
    base: BaseMotion | None = None  # motion of the base; None: that of the dynamics

    def wrenches_by_hand(self) -> Mapping[str, Wrench]:
        """Return the wrenches that the robot applies, by hand; by number if they have no names."""
        if isinstance(self.wrenches, LazyWrenches):
            return self.wrenches.by_hand
        return {str(k): wrench for k, wrench in enumerate(self.wrenches)}

    def with_new_wrenches(self) -> State:
        """Return the same state with wrenches that are computed again, after a change of a sensor's parameters."""
        if not isinstance(self.wrenches, LazyWrenches):
            return self
        return replace(self, wrenches=LazyWrenches(self.wrenches.compute))

    @property
    def velocity(self) -> Array:
        """Velocities (n); raises `ArgumentError` if they are unknown."""
        if self.dq is None:
            raise ArgumentError('a state has no velocities, must have them for this term')
        return self.dq

    @cached_property
    def instants(self) -> Sequence[State]:
        """States in which all joints have the same instant; this state, unless joints come in several messages.

        Then they are a little older, interpolated, and end with the newest; empty if none is new.
        """
        return (self,) if self.parts is None else self.parts.instants()
