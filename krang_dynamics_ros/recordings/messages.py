"""What a recording holds, whatever kind of file it is: the messages that a node would have got."""

from __future__ import annotations

from typing import NamedTuple

from ..core.spatial import Array

Three = tuple[float, float, float]


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


Message = JointStateMessage | WrenchMessage | ImuMessage
