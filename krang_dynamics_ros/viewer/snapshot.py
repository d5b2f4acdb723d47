"""What the page is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.spatial import Array
from ..core.wrench import Wrench

LEVELS = ('ok', 'warn', 'error', 'silent')


class Line(NamedTuple):
    """One line of the robot's health: a level of `LEVELS`, what it is about, and words."""

    level: str
    about: str
    words: str


class Load(NamedTuple):
    """What hangs on a hand, and what the dynamics node knows of, kg; None where nobody can say."""

    hung: float | None = None
    told: float | None = None


@dataclass(frozen=True)
class Heard:
    """What a robot's topics say at this moment. Vectors (n) are in the order of its joints; None is not known."""

    q: Array | None = None
    dq: Array | None = None
    torques: Mapping[str, Array | None] = field(default_factory=dict)  # by column of the bars
    readings: Mapping[str, Wrench] = field(default_factory=dict)  # of the wrist sensors, as they give them, by hand
    estimates: Mapping[str, Wrench] = field(default_factory=dict)  # of the same, told from the joints, in one sense


@dataclass(frozen=True)
class Snapshot:
    """What is known at this moment."""

    heard: Heard = Heard()
    terms: Sequence[str] | None = None  # of torque/total; None: no dynamics node
    health: Sequence[Line] = ()
    simulated: bool = False
    obeyed: bool = False  # whether a simulator's motors give torque/total
    loads: Mapping[str, Load] = field(default_factory=dict)  # by hand
    friction: str = ''  # what the simulator adds to that of the robot, in words
