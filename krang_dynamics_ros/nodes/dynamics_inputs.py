"""What `dynamics_node` hears, handed on to the library."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import cast

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState

from ..core.errors import ArgumentError
from ..core.limits import MAX_BYTES, MAX_NAMED_BYTES
from ..dynamics.terms import Torques
from ..messages.fields import check_size, imu_of, stamp_of
from ..messages.joint_state_cdr import JointStateReader
from ..messages.message_cdr import read_wrench
from ..pipeline.pipeline import Pipeline
from .other_publishers import publishers
from .payload_input import PayloadInput
from .topics import INPUT, why_refused
from .wrist_topics import WristTopics

_wrench = partial(deserialize_message, message_type=WrenchStamped)


class DynamicsInputs:
    """Subscriptions. `on_torques` is called with the torques of each joint state that makes all joints known.

    Joint states and wrenches come as bytes, and are read as those of a bag are: rclpy takes ten times as long.
    """

    def __init__(self, node: Node, pipeline: Pipeline, on_torques: Callable[[Torques, int], None]) -> None:
        self._pipeline, self._on_torques = pipeline, on_torques
        subscribe = partial(
            node.create_subscription,
            qos_profile=INPUT,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self._joint_states = JointStateReader(partial(deserialize_message, message_type=JointState))
        self.topic: str = subscribe(JointState, 'joint_states', self._on_joint_state, raw=True).topic_name
        pipeline.inputs.checks.publishers = partial(publishers, node, self.topic)
        for hand in pipeline.inputs.hands:
            wrist = WristTopics(node, pipeline, hand, self.now)
            subscribe(WrenchStamped, f'wrench/{hand}', partial(self._on_wrench, hand, wrist), raw=True)
        PayloadInput(node, pipeline.payloads, pipeline.inputs, self.now)
        if pipeline.inputs.imu_joints:
            subscribe(Imu, 'imu', self._on_imu, raw=True)
        self._clock = cast(ROSClock, node.get_clock())
        self._simulated = self._clock.ros_time_is_active
        supervisor = pipeline.supervisor
        supervisor.arrivals, supervisor.stamps = lambda: self.now() / 1e9, lambda: self.clock() / 1e9
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = self._clock.create_jump_callback(back, post_callback=self._on_jump)

    def now(self) -> int:
        """The clock that arrivals go by, ns: simulated time, or else the steady clock, which nobody can set back."""
        return int(self._clock.now().nanoseconds) if self._simulated else time.monotonic_ns()

    def clock(self) -> int:
        """The clock that stamps go by, ns. That of the system is read without rclpy, in a tenth of the time."""
        return int(self._clock.now().nanoseconds) if self._simulated else time.time_ns()

    def _on_jump(self, _: TimeJump) -> None:
        self._simulated = self._clock.ros_time_is_active
        self._pipeline.inputs.forget(self.now())

    def _on_joint_state(self, raw: bytes) -> None:
        try:
            check_size(raw, MAX_NAMED_BYTES)
            message = self._joint_states.read(raw, self.now())
        except (RuntimeError, ArgumentError) as error:
            self._pipeline.inputs.states.refusals.note(why_refused(error))
            return
        torques = self._pipeline.take_joint_state(*message)
        if torques is not None:
            self._on_torques(torques, message.stamp)

    def _on_wrench(self, hand: str, wrist: WristTopics, raw: bytes) -> None:
        try:
            check_size(raw, MAX_BYTES)
            message = read_wrench(_wrench, hand, raw, self.now())
        except (RuntimeError, ArgumentError) as error:
            self._pipeline.inputs.hands[hand].refusals.note(why_refused(error))
            return
        if self._pipeline.inputs.take_wrench(*message):
            wrist.publish(message)

    def _on_imu(self, raw: bytes) -> None:
        try:
            check_size(raw, MAX_BYTES)
            message = deserialize_message(raw, Imu)
            stamp = stamp_of(message)
        except (RuntimeError, ArgumentError) as error:
            self._pipeline.inputs.states.refusals.note(f'imu: {why_refused(error)}')
            return
        self._pipeline.inputs.take_imu(*imu_of(message), stamp, self.now())
