"""A hand with a force sensor: from what the sensor says to what the robot applies, and whether that is still true."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..core.errors import did_you_mean
from ..core.inertia import Inertia
from ..core.limits import LARGEST
from ..core.spatial import Array
from ..core.text import shown
from ..core.wrench import Load, Wrench
from .refusals import Refusals
from .timeline import NEVER
from .wrist_sensor import WristSensor

Sense = Literal['applied_by_robot', 'applied_on_robot']
MomentAbout = Literal['frame', 'hand']
SENSES: tuple[str, ...] = get_args(Sense)
MOMENTS_ABOUT: tuple[str, ...] = get_args(MomentAbout)
_NOTHING = Inertia()

Weigh = Callable[[Sequence[Load]], Sequence[Array]]
"""What gravity does to bodies that links carry: `Dynamics.weights` at a pose."""


WeighAt = Callable[[Array, Sequence[Load]], Sequence[Array]]
"""The same at any pose: `Dynamics.weights`."""


class Reading(NamedTuple):
    """What a sensor said: [force; moment] (6; N, N m), in its own sense, in whose axes and about whose origin."""

    numbers: Array
    axes: str  # a link, or empty for the hand's
    about: str


@dataclass
class EndEffector:
    """One end effector, and the latest reading of its sensor.

    `sense` says who applies what is read: the robot (the report's sign) or the world (a sensor's usual sign).
    `moment_about` says about which origin the moment is given: that of the frame it is given in (ROS's convention),
    or the hand's own (the report's 0f_e@10).
    """

    name: str
    link: str
    sense: Sense = 'applied_by_robot'
    moment_about: MomentAbout = 'frame'
    timeout: float = 0.1  # s
    max_wrench: tuple[float, float] = (0.0, 0.0)  # N, N m: the sensor's range; 0: not known
    links: Collection[str] = ()  # in whose frames a wrench may be given
    sensor: WristSensor = field(default_factory=WristSensor)
    payload: Inertia = field(default_factory=Inertia)  # what the hand holds, in its frame; the dynamics have it too
    refusals: Refusals = field(default_factory=Refusals)
    frame: str = ''  # of the latest reading
    stamp: int = 0
    arrival: int = NEVER
    reading: Reading | None = None  # the latest, however old
    _beyond: tuple[Inertia, Inertia, Inertia] = (_NOTHING,) * 3  # tool, payload, and both as one

    def forget(self) -> None:
        """Know of no reading."""
        self.reading, self.arrival = None, NEVER

    def take(self, frame: str, force: Sequence[float], moment: Sequence[float], stamp: int, now: int) -> bool:
        """Take in a reading (N, N m) in the axes of a link, `frame`, or of the hand if it is empty; or refuse it.

        One whose stamp does not advance is no new reading: the one before ages. One from further back than the timeout
        is of a time that began anew.
        """
        if frame and frame not in self.links:
            return self.refusals.note(
                f"frame '{shown(frame)}' is unknown; {did_you_mean(frame, self.links)}must be a link"
            )
        if not all(abs(x) <= LARGEST for x in (*force, *moment)):  # NaN is not
            return self.refusals.note(f'force {force}, moment {moment}, must be finite, at most {LARGEST:g}')
        if beyond := self._beyond_range(force, moment):
            return self.refusals.note(beyond)
        if self.reading is not None and stamp and self.stamp - self.timeout * 1e9 <= stamp <= self.stamp:
            return False
        self.reading = Reading(np.array((*force, *moment)), frame, frame if self.moment_about == 'frame' else '')
        self.frame, self.stamp, self.arrival = frame, stamp, now
        return True

    def _beyond_range(self, force: Sequence[float], moment: Sequence[float]) -> str:
        """Say which part of a reading is beyond the range of the sensor."""
        for what, unit, values, most in zip(
            ('force', 'moment'), ('N', 'N m'), (force, moment), self.max_wrench, strict=True
        ):
            if most and (size := math.hypot(*values)) > most:
                return f'{what} of {size:.4g} {unit}, must be at most {most:g} ({self.name}.max_wrench)'
        return ''

    def time_went_back(self, stamp: int, now: int) -> None:
        """Forget a reading that, after time went back to a joint state's, is of a time yet to come."""
        if max(self.ahead(stamp), self.arrival - now) > self.timeout * 1e9:
            self.forget()

    @property
    def known(self) -> bool:
        """Whether there is a reading at all, however old."""
        return self.reading is not None

    def ahead(self, state_stamp: int) -> int:
        """Return by how much the latest reading is stamped after a joint state, ns; zero if one has no stamp."""
        return self.stamp - state_stamp if self.stamp and state_stamp else 0

    def late(self, state_stamp: int, now: int) -> bool:
        """Tell whether the latest reading is of another time than a joint state of this stamp, or came at another time.

        Of another time is one from after as well: what the hand bears then is not what it bears at that state. One that
        came after `now` came before the clock was set back.
        """
        limit = self.timeout * 1e9
        return abs(self.ahead(state_stamp)) > limit or abs(now - self.arrival) > limit

    @property
    def sign(self) -> float:
        """What turns a reading into what the robot applies."""
        return 1.0 if self.sense == 'applied_by_robot' else -1.0

    def load(self, reading: Reading) -> Load | None:
        """Return what a reading holds the weight of, or nothing."""
        tool, payload, body = self._beyond
        if tool is not self.sensor.tool or payload is not self.payload:
            body = self.sensor.tool + self.payload
            self._beyond = self.sensor.tool, self.payload, body
        return Load(self.link, body, reading.axes, reading.about) if body.m else None

    def contact(self, reading: Reading, weight: Array | None) -> Wrench:
        """Return what the robot applies by contact: a reading without bias and without the weight (6) of its load."""
        numbers = self.sensor.contact(reading.numbers, self.sign, weight)
        return Wrench.of(self.link, numbers, reading.axes, reading.about)

    def wrench(self, state_stamp: int, now: int) -> Wrench | None:
        """Return what the robot applies (the report's sign) by all that the latest reading holds, if it is not late."""
        reading = self.reading
        if reading is None or self.late(state_stamp, now):
            return None
        return Wrench.of(self.link, self.sign * reading.numbers, reading.axes, reading.about)


def contact_wrenches(hands: Iterable[EndEffector], weigh: Weigh, state_stamp: int, now: int) -> dict[str, Wrench]:
    """Return what the robot applies by contact, by hand: readings that are not late, without bias and weights.

    `weigh` is for the pose of the joint state of that stamp.
    """
    read = [(hand, hand.reading) for hand in hands if hand.reading and not hand.late(state_stamp, now)]
    loads = [hand.load(reading) for hand, reading in read]
    loaded = [load for load in loads if load is not None]
    weights = iter(weigh(loaded)) if loaded else iter(())
    return {
        hand.name: hand.contact(reading, None if load is None else next(weights))
        for (hand, reading), load in zip(read, loads, strict=True)
    }
