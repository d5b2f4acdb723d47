"""Subscriptions of `dynamics_node`, and `wrench/<hand>/compensated` and `wrench/<hand>/zero`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.clock import Clock, ClockType, JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from ...core.errors import ArgumentError
from ...core.limits import MAX_BYTES
from ...core.spatial import Array
from ...dynamics.terms import Torques
from ...live.engine import Engine
from ...live.guiding import HOLD_TOPIC
from ...live.messages import (
    ImuMessage,
    JointStateReader,
    WrenchMessage,
    check_size,
    imu_of,
    payload_of,
    read_wrench,
    stamp_of,
)
from ...live.payloads import Payloads, PayloadSpec
from ...live.robot_inputs import RobotInputs
from ...live.timeline import Clocks
from ..endpoints import publishers
from ..topics import INPUT, WrenchTopic, why_refused


class WristTopics:
    """Compensated readings of a hand's sensor, and the service that zeroes the sensor."""

    def __init__(self, node: Node, engine: Engine, hand: str, now: Callable[[], int]) -> None:
        """`now` is the clock of arrivals, ns."""
        self._node, self._engine, self._hand, self._now = node, engine, hand, now
        self._compensated = WrenchTopic(node, f'wrench/{hand}/compensated')
        node.create_service(Trigger, f'wrench/{hand}/zero', self._on_zero)

    def publish(self, reading: WrenchMessage) -> None:
        """Publish the contact wrench of the latest reading, if it is known."""
        if not self._compensated.has_subscriber:
            return
        contact = self._engine.inputs.compensated(self._hand, self._now())
        if contact is not None:
            self._compensated.send(contact, self._engine.inputs.hands[self._hand].frame, reading.stamp)

    def _on_zero(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        name = f'{self._hand}.sensor.bias'
        try:
            bias = self._engine.zero(self._hand, self._now())
        except ArgumentError as error:
            response.success, response.message = False, str(error)
            return response
        (result,) = self._node.set_parameters([Parameter(name, value=bias.tolist())])
        numbers = ', '.join(f'{x:.4g}' for x in bias)
        response.success = result.successful
        response.message = f'{name} is [{numbers}]' if result.successful else result.reason
        return response


ONCE = QoSProfile(depth=10)  # reliable: a payload is published once
PERIOD = 0.05  # s: limits the rate of parameter changes; the last valid message is used


class PayloadInput:
    """Subscriptions to the payloads of the hands."""

    def __init__(self, node: Node, payloads: Payloads, inputs: RobotInputs, now: Callable[[], int]) -> None:
        """`now` is the clock of arrivals, ns."""
        self._node, self._payloads, self._inputs, self._now = node, payloads, inputs, now
        self._waiting: dict[str, dict[str, Any]] = {}
        for hand in payloads.refusals:
            node.create_subscription(
                InertiaStamped, f'payload/{hand}', partial(self._on_payload, hand), ONCE, raw=True,
                qos_overriding_options=QoSOverridingOptions.with_default_policies(),
            )  # fmt: skip
        if payloads.refusals:
            node.create_timer(PERIOD, self._set, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_payload(self, hand: str, raw: bytes) -> None:
        refusals = self._payloads.refusals[hand]
        refused = refusals.count
        try:
            check_size(raw, MAX_BYTES)
            frame, mass, com, inertia = payload_of(deserialize_message(raw, InertiaStamped))
        except (RuntimeError, ArgumentError) as error:
            refusals.note(why_refused(error))
            return
        values = self._payloads.parameter_values(hand, frame, PayloadSpec(mass, com, inertia), self._positions())
        if values is not None:
            self._waiting[hand] = values
        elif refusals.count == refused:  # equal to the parameters, or it waits for joint positions
            self._waiting.pop(hand, None)

    def _positions(self) -> Array | None:
        states = self._inputs.states
        return states.position if states.complete(self._now()) else None

    def _set(self) -> None:
        """Set the parameters of received payloads, atomically for each hand."""
        if (q := self._positions()) is not None:
            self._waiting |= self._payloads.waiting_values(q)
        waiting, self._waiting = self._waiting, {}
        for hand, values in waiting.items():
            parameters = [Parameter(name, value=value) for name, value in values.items()]
            result = self._node.set_parameters_atomically(parameters)
            if not result.successful:
                self._payloads.refusals[hand].note(result.reason)


_wrench = partial(deserialize_message, message_type=WrenchStamped)


class NodeClocks:
    """The clocks of a node: simulated time where `use_sim_time` is set, else those of the machine."""

    def __init__(self, node: Node) -> None:
        self._clock = cast(ROSClock, node.get_clock())
        self._simulated = self._clock.ros_time_is_active
        self._uses: list[Callable[[int], None]] = []
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jump_handle = self._clock.create_jump_callback(back, post_callback=self._on_jump)

    def arrival(self) -> int:
        """Return the clock of arrivals, ns: simulated time, or the steady clock, which cannot be set back."""
        return int(self._clock.now().nanoseconds) if self._simulated else time.monotonic_ns()

    def stamp(self) -> int:
        """Return the clock of stamps, ns; the system clock is read without rclpy, in a tenth of the time."""
        return int(self._clock.now().nanoseconds) if self._simulated else time.time_ns()

    def in_seconds(self) -> Clocks:
        """Return the clocks of an engine."""
        return Clocks(time.monotonic, lambda: self.arrival() / 1e9, lambda: self.stamp() / 1e9)

    def on_jump(self, use: Callable[[int], None]) -> None:
        """Call a function with the time of arrivals (ns) after each jump back, and each change of the clock."""
        self._uses.append(use)

    def _on_jump(self, _: TimeJump) -> None:
        self._simulated = self._clock.ros_time_is_active
        for use in self._uses:
            use(self.arrival())


class DynamicsInputs:
    """Subscriptions. `on_torques` is called with the torques of each joint state after which all joints are known.

    Joint states and wrenches are received as bytes and read like those of a bag: rclpy needs ten times as long.
    """

    def __init__(
        self,
        node: Node,
        engine: Engine,
        clocks: NodeClocks,
        on_torques: Callable[[Torques, int], None],
        wrists: bool = True,
    ) -> None:
        """With `wrists`, subscribe to wrist sensors and offer `wrench/<hand>/zero`."""
        self._engine, self._clocks, self._on_torques = engine, clocks, on_torques
        subscribe = partial(
            node.create_subscription,
            qos_profile=INPUT,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self._joint_states = JointStateReader(partial(deserialize_message, message_type=JointState))
        names = engine.inputs.topics
        self.topic: str = subscribe(JointState, names.joint_states, self._on_joint_state, raw=True).topic_name
        engine.inputs.checks.publishers = partial(publishers, node, self.topic)
        for hand in engine.inputs.hands if wrists else ():
            wrist = WristTopics(node, engine, hand, clocks.arrival)
            subscribe(WrenchStamped, names.wrenches[hand], partial(self._on_wrench, hand, wrist), raw=True)
        PayloadInput(node, engine.payloads, engine.inputs, clocks.arrival)  # its callbacks keep it
        if engine.supervisor.hold.required:
            subscribe(Bool, HOLD_TOPIC, self._on_hold)
        if engine.inputs.uses_imu:
            subscribe(Imu, names.imu, self._on_imu, raw=True)
        clocks.on_jump(engine.inputs.forget)

    def _on_joint_state(self, raw: bytes) -> None:
        try:
            message = self._joint_states.read(raw, self._clocks.arrival())
        except (RuntimeError, ArgumentError) as error:
            self._engine.count_refused('joint_states', '', why_refused(error))
            return
        torques = self._engine.on_joint_state(*message)
        if torques is not None:
            self._on_torques(torques, message.stamp)

    def _on_wrench(self, hand: str, wrist: WristTopics, raw: bytes) -> None:
        try:
            check_size(raw, MAX_BYTES)
            message = read_wrench(_wrench, hand, raw, self._clocks.arrival())
        except (RuntimeError, ArgumentError) as error:
            self._engine.count_refused('wrench', hand, why_refused(error))
            return
        if self._engine.inputs.on_wrench(*message):
            wrist.publish(message)

    def _on_hold(self, message: Bool) -> None:
        self._engine.supervisor.on_hold(message.data)

    def _on_imu(self, raw: bytes) -> None:
        try:
            check_size(raw, MAX_BYTES)
            message = deserialize_message(raw, Imu)
            stamp = stamp_of(message)
        except (RuntimeError, ArgumentError) as error:
            self._engine.count_refused('imu', '', why_refused(error))
            return
        self._engine.inputs.on_imu(ImuMessage(*imu_of(message), stamp, self._clocks.arrival()))
