"""Publishers that know whether they have a subscriber, each with a message that is reused."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PointStamped, WrenchStamped
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..live.messages import SECOND

# Best effort matches any publisher; depth ten, so that parts of a state do not replace each other.
INPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # the last message, for late subscribers
OUTPUT = QoSProfile(depth=1)  # reliable: required by RViz's Effort display and most tools
NO_MESSAGE = "bytes that are not a message of the topic's type"
STAMP = Struct('=iI')  # serialized builtin_interfaces/Time: s, ns


def why_refused(error: Exception) -> str:
    """Return the reason of a refusal: our error, or that rclpy could not read the bytes."""
    return str(error) if isinstance(error, ArgumentError) else NO_MESSAGE


def wrench_message(frame_id: str, stamp: Time, numbers: Sequence[float]) -> WrenchStamped:
    """Return a message of [force; moment] (N, N m) in the axes of a frame."""
    message = WrenchStamped()
    message.header.stamp, message.header.frame_id = stamp, frame_id
    _set_wrench(message, np.asarray(numbers, dtype=float))
    return message


class Topic:
    """An output topic. `has_subscriber` is updated by events, at no cost per message."""

    def __init__(self, node: Node, kind: type, name: str, on_change: Callable[[], None] | None = None) -> None:
        """`on_change` is called after each change of `has_subscriber`."""
        events = PublisherEventCallbacks(matched=self._matched)
        options = QoSOverridingOptions.with_default_policies()
        self.has_subscriber, self._on_change = False, on_change
        self.message: Any = kind()
        self._publisher = node.create_publisher(
            kind, name, OUTPUT, event_callbacks=events, qos_overriding_options=options
        )

    def _matched(self, info: Any) -> None:
        self.has_subscriber = info.current_count > 0
        if self._on_change is not None:
            self._on_change()

    def publish(self) -> None:
        """Publish the message."""
        self._publisher.publish(self.message)

    def wait_until_received(self, timeout: Duration) -> None:
        """Wait until all subscribers have acknowledged all messages, or for the timeout."""
        self._publisher.wait_for_all_acked(timeout)


class Template:
    """A stamped message that is serialized once; each use writes its stamp and numbers into the bytes.

    Serializing each message takes longer than computing most torques.
    """

    def __init__(self, message: Any, count: int, fill: Callable[[Any, Array], None]) -> None:
        """`fill` writes an array of `count` numbers into a field of the message."""
        stamp, numbers = Time(sec=0x1234567, nanosec=0x2345678), np.full(count, 1.2345678e-300)  # unique bytes
        message.header.stamp = stamp
        fill(message, numbers)
        self._bytes = bytearray(serialize_message(message))
        self._stamp = self._slice_of(STAMP.pack(stamp.sec, stamp.nanosec))
        self._numbers = self._slice_of(numbers.tobytes())

    def _slice_of(self, part: bytes) -> slice:
        start = self._bytes.index(part)
        return slice(start, start + len(part))

    def filled(self, numbers: Array, stamp: int) -> bytes:
        """Return the serialized message with these numbers and this stamp, ns."""
        self._bytes[self._stamp], self._bytes[self._numbers] = STAMP.pack(*divmod(stamp, SECOND)), numbers.tobytes()
        return bytes(self._bytes)


class TorqueTopic(Topic):
    """Torques by joint name: a JointState with `name` and `effort`."""

    def __init__(self, node: Node, name: str, joint_names: Sequence[str], frame_id: str) -> None:
        super().__init__(node, JointState, name)
        self._names, self.message.header.frame_id = list(joint_names), frame_id
        self._all_joints = self._template(self._names)

    def _template(self, names: list[str]) -> Template:
        self.message.name = names
        return Template(self.message, len(names), _set_effort)

    def send(self, torque: Array, stamp: int) -> None:
        """Publish torques (n), with the stamp (ns) of their joint state; joints with NaN are omitted."""
        template = self._all_joints
        if math.isnan(torque.dot(torque)):
            known = np.flatnonzero(~np.isnan(torque))
            template, torque = self._template([self._names[k] for k in known]), torque[known]
        self._publisher.publish(template.filled(torque, stamp))


def _set_effort(message: JointState, numbers: Array) -> None:
    message.effort = array('d', numbers.tobytes())


class NumbersTopic(Topic):
    """Numbers: a vector without layout, or a matrix with rows and columns."""

    def __init__(self, node: Node, name: str, matrix_size: int = 0) -> None:
        super().__init__(node, Float64MultiArray, name)
        n = matrix_size
        if n:
            rows, columns = (
                MultiArrayDimension(label='row', size=n, stride=n * n),
                MultiArrayDimension(label='column', size=n, stride=n),
            )
            self.message.layout.dim = [rows, columns]

    def send(self, numbers: Array) -> None:
        """Publish numbers, a matrix row by row."""
        self.message.data = array('d', np.ascontiguousarray(numbers).tobytes())
        self.publish()


class WrenchTopic(Topic):
    """A wrench in a frame."""

    def __init__(self, node: Node, name: str, on_change: Callable[[], None] | None = None) -> None:
        super().__init__(node, WrenchStamped, name, on_change)
        self._template = Template(self.message, 6, _set_wrench)

    def send(self, numbers: Array, frame_id: str, stamp: int) -> None:
        """Publish [force; moment] (6; N, N m) in a frame, with the stamp (ns) of its source."""
        if frame_id != self.message.header.frame_id:
            self.message.header.frame_id = frame_id
            self._template = Template(self.message, 6, _set_wrench)
        self._publisher.publish(self._template.filled(numbers, stamp))


def _set_wrench(message: WrenchStamped, numbers: Array) -> None:
    f, m = message.wrench.force, message.wrench.torque
    f.x, f.y, f.z, m.x, m.y, m.z = numbers.tolist()


class PointTopic(Topic):
    """A point in a frame."""

    def __init__(self, node: Node, name: str, frame_id: str, on_change: Callable[[], None] | None = None) -> None:
        super().__init__(node, PointStamped, name, on_change)
        self.message.header.frame_id = frame_id

    def send(self, point: Array, stamp: int) -> None:
        """Publish a point (3), with the stamp (ns) of its joint state."""
        self.message.header.stamp.sec, self.message.header.stamp.nanosec = divmod(stamp, SECOND)
        self.message.point.x, self.message.point.y, self.message.point.z = point.tolist()
        self.publish()
