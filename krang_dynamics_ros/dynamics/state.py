"""What is known of a robot at one instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..core.wrench import Wrench


@dataclass(frozen=True, eq=False)
class State:
    """What is known of a robot at one instant, joint vectors (n) in the order of the dynamics' joints."""

    q: Array
    dq: Array | None = None  # None where one velocity or more is not known
    wrenches: Sequence[Wrench] = ()  # what the robot applies
    effort: Array | None = None  # as measured, NaN where it is not known; None: nothing is measured
    stamp: int = 0  # ns
    jumps: int = 0  # how often time went back so far: where this differs, the states before say nothing of this one

    @property
    def velocity(self) -> Array:
        """The velocities (n), for those who have made sure that they are known."""
        if self.dq is None:
            raise ArgumentError('a state has no velocities, must have them for this term')
        return self.dq
