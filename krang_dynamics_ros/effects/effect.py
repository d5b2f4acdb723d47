"""The interface of an effect: torque that is linear in its factors, with columns for a fit and values for a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..core.spatial import Array
from ..robot.robot import Joint


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Motion of joints and the load that they carry: arrays (rows, joints) in rad, rad/s, rad/s^2 and N m."""

    q: Array
    dq: Array
    ddq: Array
    load: Array  # gravity and Coriolis torque
    crossing: Array  # (joints), rad/s per N m: times a load, the velocity above which a drive pushes all the same
    z: Mapping[float, Array]  # presliding states by distance (rad), from raw encoder positions


class Effect(Protocol):
    """One effect on each joint by itself: torque = columns times factors. Effects compare by kind and shape."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name of each factor."""

    @property
    def term(self) -> str:
        """Return the part of the effort that it belongs to, as reports name it."""

    @property
    def not_negative(self) -> bool:
        """Return whether a negative factor is impossible."""

    @property
    def prior(self) -> float:
        """Return the standard deviation of a factor beforehand, in parts of effort spread / rms of its column."""

    def columns(self, x: JointMotion) -> Array:
        """Return the columns (rows, joints, factors)."""

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this effect: factors from a fit, and the joint's crossing."""
