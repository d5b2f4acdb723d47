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
    crossing: Array  # (joints), rad/s per N m: times a helping load, the velocity above which the drive pushes anyway
    z: Mapping[float, Array]  # presliding states by distance (rad), from raw encoder positions


class Effect(Protocol):
    """One effect on a single joint: torque = columns times factors. Effects are equal if kind and shape are equal."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the name of each factor."""

    @property
    def term(self) -> str:
        """Return the name, in reports, of the part of the effort that the effect belongs to."""

    @property
    def not_negative(self) -> bool:
        """Return whether a negative factor is impossible."""

    @property
    def prior(self) -> float:
        """Return the prior standard deviation of a factor, in units of effort spread / RMS of its column."""

    def columns(self, x: JointMotion) -> Array:
        """Return the columns (rows, joints, factors)."""

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this effect, from the factors of a fit and the joint's crossing."""
