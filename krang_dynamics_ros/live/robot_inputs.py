"""The latest messages of a robot, combined to a state: joints, hand wrenches, IMU."""

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
from ..robot.hands import check_hands, link_of_hand
from ..robot.robot import Limits, Robot
from . import firmware, parameters
from .base import base_input, pitch
from .joint_tracker import JointTracker
from .messages import ImuMessage
from .standstill import Standstill
from .state_checks import JointBounds
from .wrenches import RowTimes, Weigh, WrenchInput, WristSensor, contact_rows, contact_wrenches, latest

ZEROING_SECONDS = 0.5  # s of readings whose mean gives the bias when a sensor is zeroed


class InputTopics(NamedTuple):
    """Names of the input topics of a robot, by the parameters."""

    joint_states: str = 'joint_states'
    imu: str = 'imu'
    wrenches: Mapping[str, str] = MappingProxyType({})  # by hand


class RobotInputs:
    """The latest messages of a robot. Times in ns: `stamp` by the sender's clock, `now` is the arrival."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings, self._model = settings, model
        self.joint_state_count = 0  # of received joint states, refused ones included
        imu_joint = settings['imu_joint']
        self.imu_joints = [known_joint(model, 'imu_joint', imu_joint)] if imu_joint else []
        joints, timeout = model.dynamics.joint_names, settings['state_timeout']
        self.states = JointTracker(joints, joint_bounds(model.robot), timeout, self.imu_joints)
        self.checks = self.states.checks  # for commands
        self.base = base_input(settings, model.dynamics)  # None: it is fixed
        if self.base is not None:
            joint_delays, base = self.checks.delays, self.base
            self.checks.delays = lambda: (*joint_delays(), base.delay)
        self.hands = {name: self._hand(name) for name in named(settings['end_effectors'])}
        self._standstill = {name: Standstill(joints, ZEROING_SECONDS) for name in self.hands}
        settings.require(self._check)
        settings.on_change(self._apply)

    def _hand(self, name: str) -> WrenchInput:
        links = self._model.dynamics.link_names
        link = self._model.end_effectors.get(name) or link_of_hand(name, links)
        specs = parameters.of_hand(name, link, self._settings['sense'])
        values = self._settings.declare([*specs, *firmware.of_hand(name)])
        link = values[f'{name}.link']
        if link not in links:
            raise unknown_name(f'{name}.link: link', link, links)
        return WrenchInput(name, link, links=frozenset(links))

    @property
    def topics(self) -> InputTopics:
        """The input topics."""
        wrenches = {name: self._settings[f'{name}.wrench_topic'] for name in self.hands}
        return InputTopics(self._settings['joint_states_topic'], self._settings['imu_topic'], wrenches)

    def _check(self, values: Mapping[str, Any]) -> None:
        links = self._model.dynamics.link_names
        check_hands(named(values['end_effectors']), {name: hand.link for name, hand in self.hands.items()}, links)
        for name in self.hands:
            _sensor(values, name)
            frame = values[f'{name}.sensor.frame']
            if frame and frame not in links:
                raise unknown_name(f'{name}.sensor.frame: link', frame, links)

    def _apply(self) -> None:
        self.states.timeout = self.checks.timeout = self._settings['state_timeout']
        derives = self._settings['velocity_source'] == 'position'
        self.states.velocity_cutoff = self._settings['velocity_cutoff'] if derives else 0.0
        for name, hand in self.hands.items():
            meaning = tuple(self._settings[f'{name}.{key}'] for key in ('sense', 'moment_about', 'sensor.frame'))
            if meaning != (hand.sense, hand.moment_about, hand.sensor_frame):
                hand.forget()  # readings with the other meaning
            hand.sense, hand.moment_about, hand.sensor_frame = meaning
            hand.timeout = self._settings['wrench_timeout']
            force, moment = self._settings[f'{name}.max_wrench']
            hand.max_wrench = force, moment
            hand.sensor = _sensor(self._settings, name)

    def on_joint_state(
        self, names: Sequence[str], position: Array, velocity: Array, effort: Array, stamp: int, now: int
    ) -> State | None:
        """Store a joint state; return the state of the robot if all joints are known."""
        self.joint_state_count += 1
        resets = self.states.timeline.time_resets
        used = self.states.update(names, position, velocity, effort, stamp, now)
        if self.states.timeline.time_resets != resets:
            self._forget_readings(stamp, now)
        if not used or not self.states.complete(now) or (self.base is not None and self.base.fault(stamp, now)):
            return None
        states = self.states
        parts = _Parts(states, partial(self._state, stamp, now)) if states.alignment.active else None
        return self._state(stamp, now, states.numbers.copy(), stamp or states.newest_joint_stamp or now, parts)

    def _state(self, stamp: int, now: int, numbers: Array, time: int, parts: Parts | None = None) -> State:
        """Return the state with numbers (3, n) at a time (ns), with the wrenches for the stamp of a joint state."""
        q, velocities, effort = numbers
        wrenches = LazyWrenches(lambda: contact_wrenches(self.hands.values(), self._weigh(q), stamp, now))
        dq = velocities if math.isfinite(velocities.dot(velocities)) else None
        base = None if self.base is None else self.base.at(time if stamp else 0)  # 0: no stamp, the newest motion
        return State(q, dq, wrenches, effort, time, velocities, parts, base)

    def _forget_readings(self, stamp: int, now: int) -> None:
        """Forget readings from the future, after time went back."""
        for hand in self.hands.values():
            hand.on_time_reset(stamp, now)
        if self.base is not None:
            self.base.on_time_reset(stamp, now)

    def on_rows(
        self, names: Sequence[str], columns: Sequence[Array], times: RowTimes, wrenches: Sequence[tuple[int, Any]]
    ) -> tuple[Array, WrenchRows] | None:
        """Store many joint states (m, k) without a fault at once, and the wrenches between them.

        `wrenches` are arguments of `on_wrench`, each with the number of joint states before it. Return the numbers
        (3, rows, n) after each of the first `rows` joint states, and the contact wrenches there, applied by the robot;
        None if the first joint state must be passed to `on_joint_state`. Wrenches after those rows are not stored.
        """
        known = self.states.on_rows(names, columns, times.stamp, times.arrival)
        if known is None:
            return None
        rows = known.shape[1]
        self.joint_state_count += rows
        return known, self._contacts(known[0], RowTimes(times.stamp[:rows], times.arrival[:rows]), wrenches)

    def _contacts(self, q: Array, times: RowTimes, wrenches: Sequence[tuple[int, Any]]) -> WrenchRows:
        """Return the contact wrenches of the hands at states q (m, n); store the wrenches before the last state."""
        readings = {name: [*latest(hand, 0)] for name, hand in self.hands.items()}
        for row, (hand, *wrench) in wrenches:
            if row < len(q) and self.hands[hand].update(*wrench):
                readings[hand] += latest(self.hands[hand], row)
        contacts: dict[WrenchFrame, Array] = {}
        for name, of_hand in readings.items():
            found = contact_rows(self.hands[name], of_hand, q, times, self._model.dynamics.weights) if of_hand else {}
            contacts |= {frame: vectors + contacts.get(frame, 0.0) for frame, vectors in found.items()}
        return contacts

    def on_wrench(
        self, hand: str, frame: str, force: Sequence[float], moment: Sequence[float], stamp: int, now: int
    ) -> bool:
        """Store a reading (N, N m) in the axes of a link, or of the hand if `frame` is ''; return whether it is new."""
        wrench_input, states = self.hands[hand], self.states
        if not wrench_input.update(frame, force, moment, stamp, now) or wrench_input.reading is None:
            return False
        if states.complete(now) and (self.base is None or not self.base_fault(now)):
            dq = states.velocity if states.velocities_known else None
            self._standstill[hand].add(now, wrench_input.reading, states.position, dq)
        return True

    def compensated(self, hand: str, now: int) -> Array | None:
        """Return a hand's latest reading (6) without bias, tool, payload and dead band, in its own frame and sense.

        None while a joint or the motion of the base is unknown, because the direction of the weight is unknown then;
        None if it is not finite.
        """
        wrench_input = self.hands[hand]
        if wrench_input.reading is None or not self.states.complete(now) or self.base_fault(now):
            return None
        wrench = contact_wrenches([wrench_input], self._weigh(self.states.position), 0, wrench_input.arrival)[hand]
        vector = wrench.vector
        return wrench_input.sign * vector if math.isfinite(vector @ vector) else None

    def zero(self, hand: str, now: int) -> Array:
        """Return the bias (6; N, N m) for which the mean contact wrench of the last half second is zero.

        Raise `ArgumentError` if a joint moves or the readings are not steady.
        """
        if fault := self._standstill[hand].fault(now):
            raise ArgumentError(f'{hand}: {fault}')
        average, wrench_input = self._standstill[hand].average(), self.hands[hand]
        loads = wrench_input.loads(average.reading)
        weight = np.sum(self._weigh(average.q)(loads), axis=0) if loads else 0.0
        return average.reading.numbers + wrench_input.sign * weight

    @property
    def max_age(self) -> float:
        """Maximum age of a message that still influences a state, s."""
        of_base = 0.0 if self.base is None else self.base.max_age
        return max([self.states.timeout, of_base, *(hand.timeout for hand in self.hands.values())])

    def _weigh(self, q: Array) -> Weigh:
        return partial(self._model.dynamics.weights, q)

    @property
    def uses_imu(self) -> bool:
        """Whether messages of the IMU are used."""
        return bool(self.imu_joints) or self.base is not None

    def base_fault(self, now: int) -> str:
        """Return why the motion of the base is unknown now; '' if it is known, or the base is fixed."""
        return '' if self.base is None else self.base.fault(self.states.newest_joint_stamp, now)

    def on_imu(self, message: ImuMessage) -> None:
        """Store the motion of the base, or the angle of `imu_joint`, the joint that turns the link with the IMU."""
        if self.base is not None:
            self.base.update(message)
            return
        covariances, stamp, now = message.covariances, message.stamp, message.arrival
        try:
            angle = pitch(message.quaternion, covariances[0])
        except ArgumentError as error:
            self.states.refusals.note(str(error))
            return
        velocity = message.angular_velocity[1] if covariances[1] != -1 else math.nan
        resets = self.states.timeline.time_resets
        self.states.on_joint(self.imu_joints[0], angle, velocity, stamp, now)
        if self.states.timeline.time_resets != resets:
            self._forget_readings(stamp, now)

    def forget(self, now: int) -> None:
        """Forget all messages: the clock has jumped."""
        self.states.on_clock_jump(now)
        if self.base is not None:
            self.base.forget()
        for name, hand in self.hands.items():
            hand.forget()
            self._standstill[name].forget()


class _Parts:
    """Joints that come in parts, at common instants."""

    def __init__(self, states: JointTracker, state: Callable[[Array, int], State]) -> None:
        """`state` returns the state with numbers (3, n) at an instant (ns)."""
        self._states, self._state = states, state

    def instants(self) -> list[State]:
        """Return the states at the instants since the last call, the newest last."""
        return [self._state(numbers, instant) for instant, numbers in self._states.aligned()]

    @property
    def is_too_old(self) -> bool:
        """Whether the newest state is too old, because a part lags too far behind the others."""
        return self._states.is_too_old


def _sensor(values: Mapping[str, Any] | Settings, hand: str) -> WristSensor:
    """Return the sensor of a hand from its parameter values, or raise `ArgumentError`."""
    keys = ('sensor.bias', 'tool.mass', 'tool.com', 'sensor.deadband')
    try:
        return WristSensor.of(*(values[f'{hand}.{key}'] for key in keys))
    except ArgumentError as error:
        raise ArgumentError(f'{hand}: {error}') from None


def joint_bounds(robot: Robot) -> JointBounds:
    """Return how far the joints of a robot can move between two samples, by their velocity limits."""
    joints = robot.moving_joints
    limits = [joint.limits or Limits(None, None) for joint in joints]
    return JointBounds.of(
        [limit.velocity for limit in limits],
        [joint.kind == 'prismatic' for joint in joints],
        [bool(np.isinf(limits).any()) for limits in robot.position_limits.T],
    )


def known_joint(model: Model, parameter: str, name: str) -> str:
    """Return the name of a joint from a parameter; raise `ArgumentError` if the robot does not have it."""
    if name not in model.dynamics.joint_names:
        raise unknown_name(f'{parameter}: joint', name, model.dynamics.joint_names)
    return name
