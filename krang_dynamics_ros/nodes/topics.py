"""Publishers that know whether anybody listens, each with one message that is filled anew every time."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PointStamped, WrenchStamped
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension

from ..core.spatial import Array

# Best effort takes what any sender offers; ten deep, so that parts of a state do not push each other out.
INPUT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
OUTPUT = QoSProfile(depth=1)  # reliable: RViz's Effort display and most tools ask for it
STAMP = Struct('=iI')  # builtin_interfaces/Time as it is serialized: s, ns

Numbers = tuple[float, float, float]


def nanoseconds(stamp: Time) -> int:
    """Return a stamp as whole nanoseconds."""
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def wrench_of(message: WrenchStamped) -> tuple[str, Numbers, Numbers]:
    """Return the frame, the force (N) and the moment (N m) of a message."""
    f, m = message.wrench.force, message.wrench.torque
    return message.header.frame_id, (f.x, f.y, f.z), (m.x, m.y, m.z)


def imu_of(message: Imu) -> tuple[tuple[float, float, float, float], float, tuple[float, float]]:
    """Return the orientation (w, x, y, z), the pitch rate (rad/s), and the first entry of the covariance of each."""
    o, covariances = message.orientation, (message.orientation_covariance, message.angular_velocity_covariance)
    return (o.w, o.x, o.y, o.z), message.angular_velocity.y, (covariances[0][0], covariances[1][0])


def wrench_message(frame_id: str, stamp: Time, numbers: Sequence[float]) -> WrenchStamped:
    """Return a message of [force; moment] (N, N m) in the axes of a frame."""
    message = WrenchStamped()
    message.header.stamp, message.header.frame_id = stamp, frame_id
    f, m = message.wrench.force, message.wrench.torque
    f.x, f.y, f.z, m.x, m.y, m.z = numbers
    return message


class Topic:
    """One output. `wanted` follows the subscribers, at no cost per message."""

    def __init__(self, node: Node, kind: type, name: str) -> None:
        events = PublisherEventCallbacks(matched=self._matched)
        options = QoSOverridingOptions.with_default_policies()
        self.wanted = False
        self.message: Any = kind()
        self._publisher = node.create_publisher(
            kind, name, OUTPUT, event_callbacks=events, qos_overriding_options=options
        )

    def _matched(self, info: Any) -> None:
        self.wanted = info.current_count > 0

    def publish(self) -> None:
        """Send the message as it stands."""
        self._publisher.publish(self.message)

    def wait_until_taken(self, patience: Duration) -> None:
        """Wait until all that was sent has arrived where it should, or for so long."""
        self._publisher.wait_for_all_acked(patience)


class TorqueTopic(Topic):
    """Torques by joint name: a JointState with `name` and `effort`.

    Its bytes are made once, and only the stamp and the torques in them are written anew: to make them from the message
    every time would cost as much as the torques themselves.
    """

    def __init__(self, node: Node, name: str, joint_names: Sequence[str], frame_id: str) -> None:
        super().__init__(node, JointState, name)
        self._names = list(joint_names)
        self.message.header.frame_id = frame_id
        stamp, torque = Time(sec=0x1234567, nanosec=0x2345678), np.full(len(self._names), 1.2345678e-300)  # to be found
        self._bytes = bytearray(serialize_message(self._filled(self._names, torque, stamp)))
        self._stamp = _place(self._bytes, STAMP.pack(stamp.sec, stamp.nanosec))
        self._torque = _place(self._bytes, torque.tobytes())

    def _filled(self, names: list[str], torque: Array, stamp: Time) -> JointState:
        self.message.header.stamp, self.message.name = stamp, names
        self.message.effort = array('d', torque.tobytes())
        return self.message

    def send(self, torque: Array, stamp: Time) -> None:
        """Publish torques (n), with the stamp of the joint state they come from; a joint with NaN is left out."""
        if np.isnan(torque @ torque):
            known = np.flatnonzero(~np.isnan(torque))
            self._publisher.publish(self._filled([self._names[k] for k in known], torque[known], stamp))
            return
        self._bytes[self._stamp], self._bytes[self._torque] = STAMP.pack(stamp.sec, stamp.nanosec), torque.tobytes()
        self._publisher.publish(bytes(self._bytes))


def _place(message: bytearray, part: bytes) -> slice:
    """Return where a part of a serialized message stands."""
    start = message.index(part)
    return slice(start, start + len(part))


class NumbersTopic(Topic):
    """Bare numbers: a vector without layout, or a matrix with rows and columns."""

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

    def __init__(self, node: Node, name: str) -> None:
        super().__init__(node, WrenchStamped, name)

    def send(self, numbers: Array, header: Header) -> None:
        """Publish [force; moment] (6; N, N m) with the header of the reading it comes from."""
        self.message.header = header
        f, m = self.message.wrench.force, self.message.wrench.torque
        f.x, f.y, f.z, m.x, m.y, m.z = numbers.tolist()
        self.publish()


class PointTopic(Topic):
    """A point in a frame."""

    def __init__(self, node: Node, name: str, frame_id: str) -> None:
        super().__init__(node, PointStamped, name)
        self.message.header.frame_id = frame_id

    def send(self, point: Array, stamp: Time) -> None:
        """Publish a point (3), with the stamp of the joint state it comes from."""
        self.message.header.stamp = stamp
        self.message.point.x, self.message.point.y, self.message.point.z = point.tolist()
        self.publish()
