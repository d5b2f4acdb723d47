"""What `dynamics_node` hears, handed on to the library."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import Imu, JointState

from ..dynamics.terms import Torques
from ..pipeline.pipeline import Pipeline
from .payload_input import PayloadInput
from .topics import INPUT, imu_of, nanoseconds, wrench_of
from .wrist_topics import WristTopics


class DynamicsInputs:
    """Subscriptions. `on_torques` is called with the torques of each joint state that makes all joints known."""

    def __init__(self, node: Node, pipeline: Pipeline, on_torques: Callable[[Torques, Time], None]) -> None:
        self._pipeline, self._on_torques = pipeline, on_torques
        subscribe = partial(
            node.create_subscription,
            qos_profile=INPUT,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self.topic: str = subscribe(JointState, 'joint_states', self._on_joint_state).topic_name
        for hand in pipeline.inputs.hands:
            wrist = WristTopics(node, pipeline.inputs, hand, self.now)
            subscribe(WrenchStamped, f'wrench/{hand}', partial(self._on_wrench, hand, wrist))
        PayloadInput(node, pipeline.payloads, pipeline.inputs)
        if pipeline.inputs.imu_joints:
            subscribe(Imu, 'imu', self._on_imu)
        self._clock = cast(ROSClock, node.get_clock())
        self._simulated = self._clock.ros_time_is_active
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = self._clock.create_jump_callback(back, post_callback=self._on_jump)

    def now(self) -> int:
        """The node's clock, ns. That of the system is read without rclpy, in a tenth of the time."""
        return int(self._clock.now().nanoseconds) if self._simulated else time.time_ns()

    def _on_jump(self, _: TimeJump) -> None:
        self._simulated = self._clock.ros_time_is_active
        self._pipeline.inputs.forget()

    def _on_joint_state(self, message: JointState) -> None:
        columns = (np.asarray(message.position), np.asarray(message.velocity), np.asarray(message.effort))
        stamp = message.header.stamp
        torques = self._pipeline.take_joint_state(message.name, *columns, nanoseconds(stamp), self.now())
        if torques is not None:
            self._on_torques(torques, stamp)

    def _on_wrench(self, hand: str, wrist: WristTopics, message: WrenchStamped) -> None:
        stamp = nanoseconds(message.header.stamp)
        if self._pipeline.inputs.take_wrench(hand, *wrench_of(message), stamp, self.now()):
            wrist.publish(message)

    def _on_imu(self, message: Imu) -> None:
        self._pipeline.inputs.take_imu(*imu_of(message), nanoseconds(message.header.stamp), self.now())
