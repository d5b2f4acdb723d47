"""Contact wrenches of the hands: sensor readings without bias, tool and payload, at a single state or at many."""

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
    """Bias, tool and dead band of a wrist sensor.

        reading = bias + weight of tool and payload + contact

    All terms of this equation are [force; moment] (6; N, N m) in the axes, about the point and in the sense of the
    reading. `contact` returns the contact wrench in the robot's sense. Its argument `weight` has the world's sense: a
    robot applies the opposite to the bodies that it carries, so `contact` adds it. `tool` is the part of the hand's
    link beyond the sensor. The model contains its mass already, so it only corrects readings. A payload is not in the
    link: it corrects readings, and the dynamics add it. A weight that the robot's firmware subtracts from readings is
    added back first: `WrenchInput.removed`.
    """

    bias: Array = field(default_factory=lambda: _NONE)  # (6), in the axes and sense of the reading
    tool: Inertia = field(default_factory=Inertia)  # in the hand's frame; only mass and centre of mass are used
    deadband: tuple[float, float] = (0.0, 0.0)  # N, N m

    @classmethod
    def of(
        cls,
        bias: Sequence[float] | Array = _NONE,
        tool_mass: float = 0.0,
        tool_com: Sequence[float] | Array = (0.0, 0.0, 0.0),
        deadband: Sequence[float] = (0.0, 0.0),
    ) -> WristSensor:
        """Return a sensor: bias (6), tool mass kg, tool com (3) m in the hand's frame, dead band N and N m."""
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
        """Return the contact wrench (6) that the robot applies: a reading without bias and weight, after the dead band.

        `sign` makes a reading a wrench applied by the robot. `weight` (6) is the weight of the bodies beyond the
        sensor, as the world applies it. The dead band acts on each axis, because each channel has its own noise and
        hysteresis: it gives sgn(x) max(|x| - d, 0), which has no jump.
        """
        contact = reading - self.bias if sign > 0 else self.bias - reading
        if weight is not None:
            contact += weight
        band = self._band
        return contact if band is None else contact - np.maximum(np.minimum(contact, band), -band)


Sense = Literal['applied_by_robot', 'applied_on_robot']
MomentAbout = Literal['frame', 'hand']
SENSES: tuple[str, ...] = get_args(Sense)
MOMENTS_ABOUT: tuple[str, ...] = get_args(MomentAbout)
_NOTHING = Inertia()

Weigh = Callable[[Sequence[Load]], Sequence[Array]]
"""Function from loads on links to their weights (6), at a pose that it knows: `Dynamics.weights` with q given."""


WeighAt = Callable[[Array, Sequence[Load]], Sequence[Array]]
"""Function from a pose q (n) and loads on links to their weights (6): `Dynamics.weights`."""


class RemovedWeight(NamedTuple):
    """A body whose weight the robot's firmware subtracts from the readings, and the gravity that it assumes."""

    link: str
    body: Inertia  # in the link's frame
    gravity: Array  # (3,), m/s^2, in base axes


class Reading(NamedTuple):
    """Reading of a sensor: [force; moment] (6; N, N m) in its own sense, with its axes and the point of the moment."""

    numbers: Array
    axes: str  # a link; '' for the hand
    about: str


@dataclass
class WrenchInput:
    """A hand, and the latest reading of its sensor.

    `sense` is the side that applies the wrench: the robot (sign of the report) or the world (usual sign of a sensor).
    `moment_about` is the point of the moment: the origin of the frame of the reading (ROS convention), or of the hand
    (0f_e@10 in the report).
    """

    name: str
    link: str
    sense: Sense = 'applied_by_robot'
    moment_about: MomentAbout = 'frame'
    timeout: float = 0.1  # s
    max_wrench: tuple[float, float] = (0.0, 0.0)  # N, N m: the sensor's range; 0: not known
    links: Collection[str] = ()  # frames that a reading may be given in
    sensor: WristSensor = field(default_factory=WristSensor)
    payload: Inertia = field(default_factory=Inertia)  # in the hand's frame; also in the dynamics
    sensor_frame: str = ''  # link that replaces the frame in the headers; '': headers are right
    removed: RemovedWeight | None = None  # by the firmware; None: raw readings
    refusals: Refusals = field(default_factory=Refusals)
    frame: str = ''  # of the latest reading
    stamp: int = 0
    arrival: int = NEVER
    reading: Reading | None = None  # the latest, however old
    _bodies: tuple[Inertia, Inertia, Inertia] = (_NOTHING,) * 3  # cache: tool, payload, and their sum

    def forget(self) -> None:
        """Forget the reading."""
        self.reading, self.arrival = None, NEVER

    def update(self, frame: str, force: Sequence[float], moment: Sequence[float], stamp: int, now: int) -> bool:
        """Store a reading (N, N m) in the axes of the link `frame`, or of the hand if ''; return whether it is new.

        `sensor_frame`, if set, replaces `frame`. A reading whose stamp does not advance is ignored: the previous one
        stays, and gets older. A stamp older by more than the timeout is accepted: time was reset.
        """
        frame = self.sensor_frame or frame
        if frame and frame not in self.links:
            return self.refusals.note(
                f"frame '{shown(frame)}' is unknown; {did_you_mean(frame, self.links)}must be a link"
            )
        if not all(abs(x) <= MAX_QUANTITY for x in (*force, *moment)):  # false for NaN
            return self.refusals.note(f'force {force}, moment {moment}, must be finite, at most {MAX_QUANTITY:g}')
        if fault := self._range_fault(force, moment):
            return self.refusals.note(fault)
        if self.reading is not None and stamp and self.stamp - self.timeout * 1e9 <= stamp <= self.stamp:
            return False
        self.reading = Reading(np.array((*force, *moment)), frame, frame if self.moment_about == 'frame' else '')
        self.frame, self.stamp, self.arrival = frame, stamp, now
        return True

    def _range_fault(self, force: Sequence[float], moment: Sequence[float]) -> str:
        """Return a message if a reading exceeds the range of the sensor, or ''."""
        for name, unit, values, limit in zip(
            ('force', 'moment'), ('N', 'N m'), (force, moment), self.max_wrench, strict=True
        ):
            if limit and (size := math.hypot(*values)) > limit:
                return f'{name} of {size:.4g} {unit}, must be at most {limit:g} ({self.name}.max_wrench)'
        return ''

    def on_time_reset(self, stamp: int, now: int) -> None:
        """Forget a reading from the future, after time went back to the stamp and arrival of a joint state (ns)."""
        if max(self.lead_time(stamp), self.arrival - now) > self.timeout * 1e9:
            self.forget()

    @property
    def known(self) -> bool:
        """Whether there is a reading, of any age."""
        return self.reading is not None

    def lead_time(self, state_stamp: int) -> int:
        """Return the stamp of the latest reading minus that of a joint state, ns; zero if a stamp is missing."""
        return self.stamp - state_stamp if self.stamp and state_stamp else 0

    def is_stale(self, state_stamp: int, now: int) -> bool:
        """Return whether stamp or arrival of the latest reading differ by more than the timeout from a joint state's.

        A reading whose stamp is later than the joint state's by more than the timeout is stale too. An arrival after
        `now` means that the clock was set back.
        """
        limit = self.timeout * 1e9
        return abs(self.lead_time(state_stamp)) > limit or abs(now - self.arrival) > limit

    @property
    def sign(self) -> float:
        """Factor from a reading to the wrench that the robot applies."""
        return 1.0 if self.sense == 'applied_by_robot' else -1.0

    def loads(self, reading: Reading) -> list[Load]:
        """Return the loads in a reading: tool and payload, minus the body that the firmware subtracts."""
        tool, payload, body = self._bodies
        if tool is not self.sensor.tool or payload is not self.payload:
            body = self.sensor.tool + self.payload
            self._bodies = self.sensor.tool, self.payload, body
        return [*([Load(self.link, body, reading.axes, reading.about)] if body.m else []), *self.removed_loads(reading)]

    def removed_loads(self, reading: Reading) -> list[Load]:
        """Return the body that the firmware subtracts from a reading, with negative mass; empty if none."""
        if self.removed is None:
            return []
        link, body, gravity = self.removed
        negative = Inertia(-body.m, frozen(-body.MS))
        return [Load(link, negative, reading.axes or self.link, reading.about or self.link, gravity)]

    def contact(self, reading: Reading, weight: Array | None) -> Wrench:
        """Return the contact wrench that the robot applies: a reading without bias and without the weight (6)."""
        numbers = self.sensor.contact(reading.numbers, self.sign, weight)
        return Wrench.of(self.link, numbers, reading.axes, reading.about)

    def wrench(self, state_stamp: int, now: int) -> Wrench | None:
        """Return the wrench of the latest reading, uncompensated, applied by the robot; None if it is stale."""
        reading = self.reading
        if reading is None or self.is_stale(state_stamp, now):
            return None
        return Wrench.of(self.link, self.sign * reading.numbers, reading.axes, reading.about)


def contact_wrenches(hands: Iterable[WrenchInput], weigh: Weigh, state_stamp: int, now: int) -> dict[str, Wrench]:
    """Return the contact wrenches that the robot applies, by hand, from readings that are not stale.

    `weigh` is for the pose of the joint state with this stamp.
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
    """A reading with its stamp and arrival (ns), and the row of the joint state that follows it."""

    row: int
    reading: Reading
    stamp: int
    arrival: int


def latest(hand: WrenchInput, row: int) -> list[TimedReading]:
    """Return the latest reading of a hand, for a row; an empty list if there is none."""
    return [] if hand.reading is None else [TimedReading(row, hand.reading, hand.stamp, hand.arrival)]


class RowTimes(NamedTuple):
    """Stamps and times of arrival (m; ns) of joint states."""

    stamp: Times
    arrival: Times


def contact_rows(
    hand: WrenchInput, readings: Sequence[TimedReading], q: Array, times: RowTimes, weigh: WeighAt
) -> dict[WrenchFrame, Array]:
    """Return the contact wrenches (m, 6) that the robot applies with a hand at joint states q (m, n), by frame.

    `readings` are in order of arrival. Each state uses the last reading before it, if `WrenchInput.is_stale` is false.
    """
    which = np.searchsorted([timed.row for timed in readings], np.arange(len(q)), side='right') - 1
    rows = np.flatnonzero((which >= 0) & ~_stale(hand, readings, which, times))
    found: dict[WrenchFrame, Array] = {}
    contacts: dict[int, Array] = {}  # by reading; without a load it is the same at every pose
    for k, index in zip(rows.tolist(), which[rows].tolist(), strict=True):
        reading = readings[index].reading
        loads = hand.loads(reading)
        if index not in contacts or loads:
            contacts[index] = hand.contact(reading, _sum(weigh(q[k], loads)) if loads else None).vector
        frame = WrenchFrame(hand.link, reading.axes, reading.about)
        if frame not in found:
            found[frame] = np.zeros((len(q), 6))
        found[frame][k] = contacts[index]
    return found


def _stale(
    hand: WrenchInput, readings: Sequence[TimedReading], which: NDArray[np.intp], times: RowTimes
) -> NDArray[np.bool_]:
    limit = hand.timeout * 1e9
    stamp, arrival = (np.array([timed[column] for timed in readings], dtype=np.int64)[which] for column in (2, 3))
    ahead = np.where((stamp != 0) & (times.stamp != 0), stamp - times.stamp, 0)
    return np.asarray((np.abs(ahead) > limit) | (np.abs(times.arrival - arrival) > limit))
