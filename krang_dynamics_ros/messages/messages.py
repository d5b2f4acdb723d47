"""What messages say, wherever they come from: a topic, a bag, a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array

Three = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]


class JointStateMessage(NamedTuple):
    """Positions (rad, m), velocities and efforts by joint; the last two may be empty. Times in ns."""

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    stamp: int
    arrival: int


class WrenchMessage(NamedTuple):
    """A wrench (N, N m) on a hand, in the axes of a link, or of the hand where `frame` is empty."""

    hand: str
    frame: str
    force: Three
    moment: Three
    stamp: int
    arrival: int


class ImuMessage(NamedTuple):
    """Orientation (w, x, y, z) and pitch rate (rad/s) of the base, and the first entry of the covariance of each."""

    quaternion: tuple[float, float, float, float]
    rate: float
    covariances: tuple[float, float]
    stamp: int
    arrival: int


class PayloadMessage(NamedTuple):
    """What a hand holds: kg, m, kg m^2 about its centre of mass (xx xy xz yy yz zz), in the axes of a link."""

    hand: str
    frame: str
    mass: float
    com: Three
    inertia: Six
    arrival: int


class RefusedMessage(NamedTuple):
    """A message of a recording that does not count, and why: `what` was expected on its topic."""

    what: str  # joint_states, wrench, imu or payload
    hand: str  # of a wrench or payload
    reason: str
    arrival: int


Message = JointStateMessage | WrenchMessage | ImuMessage | PayloadMessage | RefusedMessage


@dataclass(frozen=True, eq=False)
class JointStateRun:
    """Joint states (m) of the same names, one after the other, and the wrenches that came between them."""

    names: tuple[str, ...]
    position: Array  # (m, k)
    velocity: Array  # (m, k), or (m, 0) where there are none
    effort: Array  # (m, k), or (m, 0)
    stamp: NDArray[np.int64]  # (m), ns
    arrival: NDArray[np.int64]  # (m), ns
    wrenches: Sequence[tuple[int, WrenchMessage]] = ()  # each with the number of joint states before it

    def __len__(self) -> int:
        return len(self.stamp)

    def before(self, row: int) -> JointStateRun:
        """Return the joint states before a row, and the wrenches that came before the last of them."""
        return self._rows(slice(None, row), [(k, message) for k, message in self.wrenches if k < row])

    def after(self, row: int) -> JointStateRun:
        """Return the joint states from a row on, and the wrenches that came after the one before it."""
        return self._rows(slice(row, None), [(k - row, message) for k, message in self.wrenches if k >= row])

    def _rows(self, rows: slice, wrenches: Sequence[tuple[int, WrenchMessage]]) -> JointStateRun:
        position, velocity, effort = self.position[rows], self.velocity[rows], self.effort[rows]
        return JointStateRun(self.names, position, velocity, effort, self.stamp[rows], self.arrival[rows], wrenches)

    def messages(self) -> Iterator[JointStateMessage | WrenchMessage]:
        """Return all messages, one by one, in their order."""
        wrenches = iter(self.wrenches)
        between = next(wrenches, None)
        for k in range(len(self) + 1):
            while between is not None and between[0] == k:
                yield between[1]
                between = next(wrenches, None)
            if k < len(self):
                yield JointStateMessage(
                    self.names, self.position[k], self.velocity[k], self.effort[k],
                    int(self.stamp[k]), int(self.arrival[k]),
                )  # fmt: skip
