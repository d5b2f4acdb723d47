"""What is known of a robot at one instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..core.wrench import Wrench


class LazyWrenches(Sequence[Wrench]):
    """What the hands apply at one state, computed on first access: never while nothing needs `torque/wrench`."""

    def __init__(self, compute: Callable[[], Mapping[str, Wrench]]) -> None:
        """`compute` returns the wrenches by hand."""
        self.compute = compute

    @cached_property
    def by_hand(self) -> Mapping[str, Wrench]:
        """The wrenches by the hands' names; a hand without a fresh reading has none."""
        return self.compute()

    def __len__(self) -> int:
        return len(self.by_hand)

    def __iter__(self) -> Iterator[Wrench]:
        return iter(self.by_hand.values())

    def __getitem__(self, which: Any) -> Any:
        return [*self.by_hand.values()][which]


class Parts(Protocol):
    """What brings joints that come in parts to one instant. It may be asked until the next message comes."""

    def instants(self) -> Sequence[State]:
        """Return the newest state of one instant, after those on the way to it; nothing if there is no newer one."""

    @property
    def is_too_old(self) -> bool:
        """Whether that state is too old to say anything of now: a part is too far behind the others."""


@dataclass(frozen=True, eq=False)
class State:
    """What is known of a robot at one instant, joint vectors (n) in the order of the dynamics' joints."""

    q: Array
    dq: Array | None = None  # None where one velocity or more is not known
    wrenches: Sequence[Wrench] = ()  # what the robot applies
    effort: Array | None = None  # as measured, NaN where it is not known; None: nothing is measured
    stamp: int = 0  # ns
    velocities: Array | None = None  # as measured, NaN where one is not known; None: as `dq`
    parts: Parts | None = None  # None: all joints are of one instant

    def wrenches_by_hand(self) -> Mapping[str, Wrench]:
        """Return what the robot applies, by hand; by number where the wrenches came without names."""
        if isinstance(self.wrenches, LazyWrenches):
            return self.wrenches.by_hand
        return {str(k): wrench for k, wrench in enumerate(self.wrenches)}

    def reread(self) -> State:
        """Return the same state with the wrenches computed anew: a sensor's parameters have changed."""
        if not isinstance(self.wrenches, LazyWrenches):
            return self
        return replace(self, wrenches=LazyWrenches(self.wrenches.compute))

    @property
    def velocity(self) -> Array:
        """The velocities (n), for those who have made sure that they are known."""
        if self.dq is None:
            raise ArgumentError('a state has no velocities, must have them for this term')
        return self.dq

    @cached_property
    def instants(self) -> Sequence[State]:
        """States in which all joints are of one instant, up to the newest: this one, unless they come in parts.

        Then it is a little older, with interpolated ones before it, and there is none where none is newer than before.
        """
        return (self,) if self.parts is None else self.parts.instants()
