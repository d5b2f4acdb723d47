"""A robot as somebody described it."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import Fault
from .robot import Robot


@dataclass(frozen=True, eq=False)
class Description:
    """A robot, the URDF to hand on to others, and what is odd in it though it is taken as it stands."""

    robot: Robot
    urdf: str
    warnings: tuple[Fault, ...] = ()
