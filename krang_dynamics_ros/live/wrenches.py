"""Contact wrenches of the hands: sensor readings without bias, tool and payload, of one state or of many."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ArgumentError, did_you_mean
from ..core.inertia import Inertia
from ..core.limits import MAX_QUANTITY
from ..core.spatial import Array, frozen
from ..core.text import shown
from ..core.wrench import Load, Wrench, WrenchFrame
from .messages import Refusals
from .timeline import NEVER

_NONE = frozen(np.zeros(6))


@dataclass(frozen=True, eq=False)
class WristSensor:
    """One sensor's bias, tool and dead band. A reading is [force; moment] (N, N m), as the sensor gives it.

        reading = bias + weight of tool and payload + contact

    all in the reading's own axes, about its own point, in its own sense (a weight is what the world applies). `tool` is
    what of the hand's link hangs beyond the sensor: the model has it already, so it corrects readings only. A payload
    is not in the model: it corrects readings too, and is the dynamics' to add. Where the robot's firmware has taken a
    weight out of the reading, that is put back first: `WrenchInput.removed`.
    """

    bias: Array = field(default_factory=lambda: _NONE)  # (6), as the sensor gives it
    tool: Inertia = field(default_factory=Inertia)  # in the hand's frame; of use are mass and centre of mass
    deadband: tuple[float, float] = (0.0, 0.0)  # N, N m

    @classmethod
    def of(
        cls,
        bias: Sequence[float] | Array = _NONE,
        tool_mass: float = 0.0,
        tool_com: Sequence[float] | Array = (0.0, 0.0, 0.0),
        deadband: Sequence[float] = (0.0, 0.0),
    ) -> WristSensor:
        """Check the numbers: bias (6), kg, m (3) in the hand's frame, N and N m; or raise `ArgumentError`."""
        for name, numbers, count in (('bias', bias, 6), ('tool com', tool_com, 3), ('dead band', deadband, 2)):
            if len(numbers) != count or not np.isfinite(numbers).all():
                raise ArgumentError(f'{name}: {list(numbers)}, must be {count} finite numbers')
        if not (np.isfinite(tool_mass) and tool_mass >= 0):
            raise ArgumentError(f'tool mass: {tool_mass}, must be finite, not negative (kg)')
        if min(deadband) < 0:
            raise ArgumentError(f'dead band: {list(deadband)}, must not be negative (N, N m)')
        tool = Inertia(float(tool_mass), frozen(tool_mass * np.asarray(tool_com, dtype=float)))
        return cls(frozen(bias), tool, (float(deadband[0]), float(deadband[1])))

    @cached_property
    def _band(self) -> Array | None:
        return np.repeat(self.deadband, 3) if any(self.deadband) else None

    def contact(self, reading: Array, sign: float, weight: Array | None) -> Array:
        """Return what the robot applies by contact (6): a reading without bias and weight, then shrunk.

        `sign` turns a reading into what the robot applies; `weight` (6) is what gravity, the world, does beyond the
        sensor. The dead band is each axis' own, for it stands for the noise and the hysteresis of each channel:
        |x| - d, the sign kept, zero within. It shrinks and does not clip, so that what is felt has no jump.
        """
        left = reading - self.bias if sign > 0 else self.bias - reading
        if weight is not None:
            left += weight
        band = self._band
        return left if band is None else left - np.maximum(np.minimum(left, band), -band)


Sense = Literal['applied_by_robot', 'applied_on_robot']
MomentAbout = Literal['frame', 'hand']
SENSES: tuple[str, ...] = get_args(Sense)
MOMENTS_ABOUT: tuple[str, ...] = get_args(MomentAbout)
_NOTHING = Inertia()

Weigh = Callable[[Sequence[Load]], Sequence[Array]]
"""What gravity does to bodies that links carry: `Dynamics.weights` at a pose."""


WeighAt = Callable[[Array, Sequence[Load]], Sequence[Array]]
"""The same at any pose: `Dynamics.weights`."""


class RemovedWeight(NamedTuple):
    """A body whose weight the robot's firmware has taken out of the readings, and the gravity that it believes in."""

    link: str
    body: Inertia  # in the link's frame
    gravity: Array  # (3,), m/s^2, in base axes


class Reading(NamedTuple):
    """What a sensor said: [force; moment] (6; N, N m), in its own sense, in whose axes and about whose origin."""

    numbers: Array
    axes: str  # a link, or empty for the hand's
    about: str


@dataclass
class WrenchInput:
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
    sensor_frame: str = ''  # link in whose frame readings are, whatever their headers say; empty: the header's
    removed: RemovedWeight | None = None  # None: readings are as the sensor gives them
    refusals: Refusals = field(default_factory=Refusals)
    frame: str = ''  # of the latest reading
    stamp: int = 0
    arrival: int = NEVER
    reading: Reading | None = None  # the latest, however old
    _beyond: tuple[Inertia, Inertia, Inertia] = (_NOTHING,) * 3  # tool, payload, and both as one

    def forget(self) -> None:
        """Know of no reading."""
        self.reading, self.arrival = None, NEVER

    def update(self, frame: str, force: Sequence[float], moment: Sequence[float], stamp: int, now: int) -> bool:
        """Take in a reading (N, N m) in the axes of a link, `frame`, or of the hand if it is empty; or refuse it.

        Where `sensor_frame` names a link, it replaces `frame`. A reading whose stamp does not advance is not new: the
        one before ages. A reading from further back than the timeout is of a time that began anew.
        """
        frame = self.sensor_frame or frame
        if frame and frame not in self.links:
            return self.refusals.note(
                f"frame '{shown(frame)}' is unknown; {did_you_mean(frame, self.links)}must be a link"
            )
        if not all(abs(x) <= MAX_QUANTITY for x in (*force, *moment)):  # NaN is not
            return self.refusals.note(f'force {force}, moment {moment}, must be finite, at most {MAX_QUANTITY:g}')
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
        if max(self.lead_time(stamp), self.arrival - now) > self.timeout * 1e9:
            self.forget()

    @property
    def known(self) -> bool:
        """Whether there is a reading at all, however old."""
        return self.reading is not None

    def lead_time(self, state_stamp: int) -> int:
        """Return by how much the latest reading is stamped after a joint state, ns; zero if one has no stamp."""
        return self.stamp - state_stamp if self.stamp and state_stamp else 0

    def is_stale(self, state_stamp: int, now: int) -> bool:
        """Tell whether the latest reading is of another time than a joint state of this stamp, or came at another time.

        Of another time is one from after as well: what the hand bears then is not what it bears at that state. One that
        came after `now` came before the clock was set back.
        """
        limit = self.timeout * 1e9
        return abs(self.lead_time(state_stamp)) > limit or abs(now - self.arrival) > limit

    @property
    def sign(self) -> float:
        """What turns a reading into what the robot applies."""
        return 1.0 if self.sense == 'applied_by_robot' else -1.0

    def loads(self, reading: Reading) -> list[Load]:
        """Return what a reading holds the weight of; with negative mass what the firmware has taken out of it."""
        tool, payload, body = self._beyond
        if tool is not self.sensor.tool or payload is not self.payload:
            body = self.sensor.tool + self.payload
            self._beyond = self.sensor.tool, self.payload, body
        return [*([Load(self.link, body, reading.axes, reading.about)] if body.m else []), *self.removed_loads(reading)]

    def removed_loads(self, reading: Reading) -> list[Load]:
        """Return what the firmware has taken out of a reading, as a body of negative mass; empty: nothing."""
        if self.removed is None:
            return []
        link, body, gravity = self.removed
        negative = Inertia(-body.m, frozen(-body.MS))
        return [Load(link, negative, reading.axes or self.link, reading.about or self.link, gravity)]

    def contact(self, reading: Reading, weight: Array | None) -> Wrench:
        """Return what the robot applies by contact: a reading without bias and without the weight (6) of its load."""
        numbers = self.sensor.contact(reading.numbers, self.sign, weight)
        return Wrench.of(self.link, numbers, reading.axes, reading.about)

    def wrench(self, state_stamp: int, now: int) -> Wrench | None:
        """Return what the robot applies (the report's sign) by all that the latest reading holds, if it is not late."""
        reading = self.reading
        if reading is None or self.is_stale(state_stamp, now):
            return None
        return Wrench.of(self.link, self.sign * reading.numbers, reading.axes, reading.about)


def contact_wrenches(hands: Iterable[WrenchInput], weigh: Weigh, state_stamp: int, now: int) -> dict[str, Wrench]:
    """Return what the robot applies by contact, by hand: readings that are not late, without bias and weights.

    `weigh` is for the pose of the joint state of that stamp.
    """
    read = [(hand, hand.reading) for hand in hands if hand.reading and not hand.is_stale(state_stamp, now)]
    loads = [hand.loads(reading) for hand, reading in read]
    loaded = [load for of_hand in loads for load in of_hand]
    weights = iter(weigh(loaded)) if loaded else iter(())
    return {
        hand.name: hand.contact(reading, _sum(islice(weights, len(of_hand))))
        for (hand, reading), of_hand in zip(read, loads, strict=True)
    }


def _sum(weights: Iterable[Array]) -> Array | None:
    """Return the sum of weights (6), or None if there are none."""
    found = [*weights]
    return np.sum(found, axis=0) if found else None


Times = NDArray[np.int64]


class TimedReading(NamedTuple):
    """A reading as it came: before which of the joint states, when it was stamped and when it came (ns)."""

    row: int
    reading: Reading
    stamp: int
    arrival: int


def latest(hand: WrenchInput, row: int) -> list[TimedReading]:
    """Return a hand's latest reading, as it came before a row; nothing if there is none."""
    return [] if hand.reading is None else [TimedReading(row, hand.reading, hand.stamp, hand.arrival)]


class RowTimes(NamedTuple):
    """Stamps and times of arrival (m; ns) of joint states."""

    stamp: Times
    arrival: Times


def contact_rows(
    hand: WrenchInput, told: Sequence[TimedReading], q: Array, times: RowTimes, weigh: WeighAt
) -> dict[WrenchFrame, Array]:
    """Return what the robot applies with a hand at joint states q (m, n), from its readings, the earliest first.

    A state has the last reading that came before it, if that is not late then, as `WrenchInput.is_stale` says.
    """
    which = np.searchsorted([one.row for one in told], np.arange(len(q)), side='right') - 1
    rows = np.flatnonzero((which >= 0) & ~_late(hand, told, which, times))
    found: dict[WrenchFrame, Array] = {}
    contacts: dict[int, Array] = {}  # of readings that no weight is in: the same at every pose
    for k, one in zip(rows.tolist(), which[rows].tolist(), strict=True):
        reading = told[one].reading
        loads = hand.loads(reading)
        if one not in contacts or loads:
            contacts[one] = hand.contact(reading, _sum(weigh(q[k], loads)) if loads else None).vector
        place = WrenchFrame(hand.link, reading.axes, reading.about)
        if place not in found:
            found[place] = np.zeros((len(q), 6))
        found[place][k] = contacts[one]
    return found


def _late(
    hand: WrenchInput, told: Sequence[TimedReading], which: NDArray[np.intp], times: RowTimes
) -> NDArray[np.bool_]:
    limit = hand.timeout * 1e9
    stamp, arrival = (np.array([one[at] for one in told], dtype=np.int64)[which] for at in (2, 3))
    ahead = np.where((stamp != 0) & (times.stamp != 0), stamp - times.stamp, 0)
    return np.asarray((np.abs(ahead) > limit) | (np.abs(times.arrival - arrival) > limit))
