"""The latest messages of a robot as one state: joints, hand wrenches, IMU."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ArgumentError, unknown_name
from ..core.parameters import Settings, named
from ..core.spatial import Array
from ..core.wrench import WrenchFrame, WrenchRows
from ..dynamics.factory import Model
from ..dynamics.state import LazyWrenches, Parts, State
from ..robot.robot import Limits, Robot
from . import parameters
from .imu import pitch
from .joints import JointTracker
from .standstill import Standstill
from .state_checks import JointBounds
from .wrenches import RowTimes, Weigh, WrenchInput, WristSensor, contact_rows, contact_wrenches, latest

ZERO_SECONDS = 0.5  # s of readings that a zero is the mean of


class InputTopics(NamedTuple):
    """Names of the topics that a robot's messages come on, as the parameters have them."""

    joint_states: str = 'joint_states'
    imu: str = 'imu'
    wrenches: Mapping[str, str] = MappingProxyType({})  # by hand


class RobotInputs:
    """Messages, put together. Times are whole ns: a stamp is the sender's, `now` is when a message came."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings, self._model = settings, model
        self.heard = 0  # joint states, good or not
        imu_joint = settings['imu_joint']
        self.imu_joints = [known_joint(model, 'imu_joint', imu_joint)] if imu_joint else []
        joints, timeout = model.dynamics.joint_names, settings['state_timeout']
        self.states = JointTracker(joints, joint_bounds(model.robot), timeout, self.imu_joints)
        self.checks = self.states.checks  # for commands
        self.hands = {name: self._hand(name) for name in named(settings['end_effectors'])}
        self._standstill = {name: Standstill(joints, ZERO_SECONDS) for name in self.hands}
        settings.require(self._check)
        settings.on_change(self._apply)

    def _hand(self, name: str) -> WrenchInput:
        links = self._model.dynamics.link_names
        link = self._model.end_effectors.get(name, '')
        values = self._settings.declare(parameters.of_end_effector(name, link, self._settings['sense']))
        link = values[f'{name}.link']
        if link not in links:
            raise unknown_name(f'{name}.link: link', link, links)
        return WrenchInput(name, link, links=frozenset(links))

    @property
    def topics(self) -> InputTopics:
        """The topics that messages come on."""
        wrenches = {name: self._settings[f'{name}.wrench_topic'] for name in self.hands}
        return InputTopics(self._settings['joint_states_topic'], self._settings['imu_topic'], wrenches)

    def _check(self, values: Mapping[str, Any]) -> None:
        for name in self.hands:
            _sensor(values, name)
            links, frame = self._model.dynamics.link_names, values[f'{name}.sensor.frame']
            if frame and frame not in links:
                raise unknown_name(f'{name}.sensor.frame: link', frame, links)

    def _apply(self) -> None:
        self.states.timeout = self.checks.timeout = self._settings['state_timeout']
        derives = self._settings['velocity_source'] == 'position'
        self.states.velocity_cutoff = self._settings['velocity_cutoff'] if derives else 0.0
        for name, hand in self.hands.items():
            meaning = tuple(self._settings[f'{name}.{key}'] for key in ('sense', 'moment_about', 'sensor.frame'))
            if meaning != (hand.sense, hand.moment_about, hand.sensor_frame):
                hand.forget()  # what came under the other meaning
            hand.sense, hand.moment_about, hand.sensor_frame = meaning
            hand.timeout = self._settings['wrench_timeout']
            force, moment = self._settings[f'{name}.max_wrench']
            hand.max_wrench = force, moment
            hand.sensor = _sensor(self._settings, name)

    def on_joint_state(
        self, names: Sequence[str], position: Array, velocity: Array, effort: Array, stamp: int, now: int
    ) -> State | None:
        """Take in a joint state; return what is known of the robot if all of its joints now are."""
        self.heard += 1
        resets = self.states.timeline.time_resets
        taken = self.states.update(names, position, velocity, effort, stamp, now)
        if self.states.timeline.time_resets != resets:
            self._forget_readings(stamp, now)
        if not taken or not self.states.complete(now):
            return None
        states = self.states
        parts = _Parts(states, partial(self._state, stamp, now)) if states.in_parts else None
        return self._state(stamp, now, states.numbers.copy(), stamp or states.newest or now, parts)

    def _state(self, stamp: int, now: int, numbers: Array, time: int, parts: Parts | None = None) -> State:
        """Return the state of numbers (3, n) at a time, with the wrenches at a joint state's stamp."""
        q, velocities, effort = numbers
        wrenches = LazyWrenches(lambda: contact_wrenches(self.hands.values(), self._weigh(q), stamp, now))
        dq = velocities if math.isfinite(velocities @ velocities) else None
        return State(q, dq, wrenches, effort, time, velocities, parts)

    def _forget_readings(self, stamp: int, now: int) -> None:
        """Forget readings of a time yet to come, for time went back."""
        for hand in self.hands.values():
            hand.time_went_back(stamp, now)

    def on_rows(
        self, names: Sequence[str], columns: Sequence[Array], times: RowTimes, wrenches: Sequence[tuple[int, Any]]
    ) -> tuple[Array, WrenchRows] | None:
        """Take in joint states (m, k) without any fault, many at once, and the wrenches between them.

        `wrenches` are what `on_wrench` gets, each with the number of joint states before it. Return what is known
        after each of the first joint states, (3, rows, n), and what the robot then applies by contact; None: the first
        is for `on_joint_state` to look at. Wrenches that came after those rows are not taken.
        """
        known = self.states.on_rows(names, columns, times.stamp, times.arrival)
        if known is None:
            return None
        rows = known.shape[1]
        self.heard += rows
        return known, self._contacts(known[0], RowTimes(times.stamp[:rows], times.arrival[:rows]), wrenches)

    def _contacts(self, q: Array, times: RowTimes, wrenches: Sequence[tuple[int, Any]]) -> WrenchRows:
        """Return what the hands apply at states q (m, n), and take in the wrenches that came before the last one."""
        told = {name: [*latest(hand, 0)] for name, hand in self.hands.items()}
        for row, (hand, *wrench) in wrenches:
            if row < len(q) and self.hands[hand].update(*wrench):
                told[hand] += latest(self.hands[hand], row)
        contacts: dict[WrenchFrame, Array] = {}
        for name, readings in told.items():
            found = contact_rows(self.hands[name], readings, q, times, self._model.dynamics.weights) if readings else {}
            contacts |= {place: vectors + contacts.get(place, 0.0) for place, vectors in found.items()}
        return contacts

    def on_wrench(
        self, hand: str, frame: str, force: Sequence[float], moment: Sequence[float], stamp: int, now: int
    ) -> bool:
        """Take in a reading (N, N m) in the axes of a link, or of the hand where `frame` is empty; or refuse it."""
        one, states = self.hands[hand], self.states
        if not one.update(frame, force, moment, stamp, now) or one.reading is None:
            return False
        if states.complete(now):
            dq = states.velocity if states.moving else None
            self._standstill[hand].add(now, one.reading, states.position, dq)
        return True

    def compensated(self, hand: str, now: int) -> Array | None:
        """Return a hand's latest reading (6) without bias, tool and payload, in its own frame and sense.

        There is none while a joint is not known, for then the weight's direction is not; nor one that is not finite.
        """
        one = self.hands[hand]
        if one.reading is None or not self.states.complete(now):
            return None
        wrench = contact_wrenches([one], self._weigh(self.states.position), 0, one.arrival)[hand]
        vector = wrench.vector
        return one.sign * vector if math.isfinite(vector @ vector) else None

    def zero(self, hand: str, now: int) -> Array:
        """Return the bias (6) by which the readings of the last half second are of nothing but tool and payload.

        `ArgumentError` says why it cannot be known: a joint moves, or the readings do.
        """
        if trouble := self._standstill[hand].trouble(now):
            raise ArgumentError(f'{hand}: {trouble}')
        average, one = self._standstill[hand].average(), self.hands[hand]
        loads = one.loads(average.reading)
        weight = np.sum(self._weigh(average.q)(loads), axis=0) if loads else 0.0
        return average.reading.numbers + one.sign * weight

    @property
    def longest_memory(self) -> float:
        """How long anything that came is of use, s."""
        return max([self.states.timeout, *(hand.timeout for hand in self.hands.values())])

    def _weigh(self, q: Array) -> Weigh:
        return partial(self._model.dynamics.weights, q)

    def on_imu(
        self, quaternion: Sequence[float], rate: float, covariances: tuple[float, float], stamp: int, now: int
    ) -> None:
        """Take in the base's orientation (w, x, y, z) and its pitch rate (rad/s).

        The covariances are the first entries of those of orientation and rate; -1 means that it is not given.
        """
        try:
            angle = pitch(quaternion, covariances[0])
        except ArgumentError as error:
            self.states.refusals.note(str(error))
            return
        velocity = rate if covariances[1] != -1 else math.nan
        resets = self.states.timeline.time_resets
        self.states.on_joint(self.imu_joints[0], angle, velocity, stamp, now)
        if self.states.timeline.time_resets != resets:
            self._forget_readings(stamp, now)

    def forget(self, now: int) -> None:
        """Know nothing: the clock has jumped."""
        self.states.on_clock_jump(now)
        for name, hand in self.hands.items():
            hand.forget()
            self._standstill[name].forget()


class _Parts:
    """Joints that come in parts, as they are known after a message."""

    def __init__(self, states: JointTracker, state: Callable[[Array, int], State]) -> None:
        """`state` makes a state of numbers (3, n) at an instant (ns)."""
        self._states, self._state = states, state

    def instants(self) -> list[State]:
        """Return the newest state of one instant, after those on the way to it; nothing if there is no newer one."""
        return [self._state(numbers, instant) for instant, numbers in self._states.aligned()]

    @property
    def is_too_old(self) -> bool:
        """Whether that state is too old to say anything of now: a part is too far behind the others."""
        return self._states.is_too_old


def _sensor(values: Mapping[str, Any] | Settings, hand: str) -> WristSensor:
    """Return a hand's sensor by the values of its parameters, or raise `ArgumentError`."""
    keys = ('sensor.bias', 'tool.mass', 'tool.com', 'sensor.deadband')
    try:
        return WristSensor.of(*(values[f'{hand}.{key}'] for key in keys))
    except ArgumentError as error:
        raise ArgumentError(f'{hand}: {error}') from None


def joint_bounds(robot: Robot) -> JointBounds:
    """Return how far the joints of a robot can move."""
    joints = robot.moving_joints
    limits = [joint.limits or Limits(None, None) for joint in joints]
    return JointBounds.of(
        [limit.velocity for limit in limits],
        [joint.kind == 'prismatic' for joint in joints],
        [limit.lower is None or limit.upper is None for limit in limits],
    )


def known_joint(model: Model, parameter: str, name: str) -> str:
    """Return a joint's name that a parameter gave, if the robot has it."""
    if name not in model.dynamics.joint_names:
        raise unknown_name(f'{parameter}: joint', name, model.dynamics.joint_names)
    return name
