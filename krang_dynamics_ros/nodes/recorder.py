"""Recording: subscribes to the topics of a robot as they appear, and passes the bytes of each message to a writer."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import rclpy
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.experimental import EventsExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64MultiArray, String

from ..core.errors import ArgumentError, KrangDynamicsError
from ..live.messages import JointStateReader

KINDS: dict[str, type] = {
    'sensor_msgs/msg/JointState': JointState,
    'geometry_msgs/msg/WrenchStamped': WrenchStamped,
    'sensor_msgs/msg/Imu': Imu,
    'geometry_msgs/msg/InertiaStamped': InertiaStamped,
    'std_msgs/msg/Float64MultiArray': Float64MultiArray,
    'std_msgs/msg/String': String,
}
DESCRIPTION = 'robot_description'  # latched
ONLY = {'std_msgs/msg/Float64MultiArray': 'effort_commands', 'std_msgs/msg/String': DESCRIPTION}
DERIVED = ('/compensated', '/estimated')  # computed from the others, only for subscribers
SIMULATED = {'pose', 'push'}  # inputs of a simulated robot
DEPTH = 1000  # messages that wait while the disk is slow
TOPICS_PERIOD = 0.2  # s between two checks for new topics
SPIN_TIMEOUT = 0.05  # s
RATE_SPAN = 2.0  # s, time of averaging of a rate
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # that end a recording


class Writer(Protocol):
    """Writer of messages."""

    def write(self, topic: str, kind: str, arrival: int, raw: bytes, latched: bool = False) -> None:
        """Add a serialized message."""


class RecordedTopic:
    """Counter of the messages of a topic."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind, self.count = name, kind, 0
        self._arrivals: deque[float] = deque()
        self._first = 0.0

    def add(self, now: float) -> None:
        """Count a message that came now (s, steady clock)."""
        self.count += 1
        self._first = now if self.count == 1 else self._first
        self._arrivals.append(now)
        self._forget(now)

    def _forget(self, now: float) -> None:
        while len(self._arrivals) > 1 and now - self._arrivals[0] > RATE_SPAN:
            self._arrivals.popleft()

    @property
    def mean_rate(self) -> float:
        """Messages per second, from the first to the last."""
        if self.count < 2:
            return 0.0
        return (self.count - 1) / max(self._arrivals[-1] - self._first, 1e-9)

    def rate(self, now: float) -> float:
        """Return messages per second, a mean over the last seconds."""
        self._forget(now)
        if len(self._arrivals) < 2:
            return 0.0
        return (len(self._arrivals) - 1) / max(now - self._arrivals[0], 1e-9)


class SeenJoints:
    """Joints seen in the joint states, and those with velocities and efforts."""

    def __init__(self) -> None:
        self._reader = JointStateReader(partial(deserialize_message, message_type=JointState))
        self.position, self.velocity, self.effort = set[str](), set[str](), set[str]()
        self.refused = ''

    def read(self, raw: bytes) -> None:
        """Add the joints of a message."""
        try:
            message = self._reader.read(raw, 0)
        except (RuntimeError, ArgumentError) as error:
            self.refused = str(error)
            return
        for column in ('position', 'velocity', 'effort'):
            values = getattr(message, column)
            if len(values) == len(message.names):
                known = (name for name, value in zip(message.names, values, strict=True) if np.isfinite(value))
                getattr(self, column).update(known)


class Recorder:
    """A node that records. Use it in a `with`."""

    def __init__(
        self, writer: Writer, joint_states: str, also: Sequence[str] = (), ros_arguments: Sequence[str] = ()
    ) -> None:
        """Joints of topic `joint_states` are noted in `joints`; topics in `also` are recorded whatever their name."""
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
        self._writer, self._node = writer, rclpy.create_node('krang_record', start_parameter_services=False)
        self.joint_states: str = self._node.resolve_topic_name(joint_states)
        self._also = {self._node.resolve_topic_name(topic) for topic in also}
        self.topics: dict[str, RecordedTopic] = {}
        self.joints = SeenJoints()
        self.began: float | None = None  # arrival of the first joint state, s, steady clock
        self.fault: Exception | None = None
        self._checked = 0.0

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._node.destroy_node()
        rclpy.shutdown()

    def resolved(self, topic: str) -> str:
        """Return the full name of a topic."""
        return str(self._node.resolve_topic_name(topic))

    @property
    def seconds(self) -> float:
        """Seconds since the first joint state."""
        return 0.0 if self.began is None else time.monotonic() - self.began

    def run(self, done: Callable[[], bool]) -> None:
        """Record until `done` returns true; the caller catches `SIGNALS`."""
        executor = EventsExecutor()
        executor.add_node(self._node)
        try:
            while not (self.fault or done()):
                self._subscribe_new()
                executor.spin_once(timeout_sec=SPIN_TIMEOUT)
        finally:
            executor.remove_node(self._node)
        if self.fault:
            raise self.fault

    def of_type(self, type_name: str) -> list[str]:
        """Return the topics of a message type that exist now."""
        return sorted(name for name, types in self._node.get_topic_names_and_types() if type_name in types)

    def _subscribe_new(self) -> None:
        """Subscribe to new topics."""
        if time.monotonic() - self._checked < TOPICS_PERIOD:
            return
        self._checked = time.monotonic()
        for name, kind in self._published():
            if name not in self.topics and self._is_recorded(name, kind):
                self._subscribe(name, kind)

    def _published(self) -> Iterator[tuple[str, str]]:
        for name, kinds in self._node.get_topic_names_and_types():
            if len(kinds) == 1 and kinds[0] in KINDS and self._node.count_publishers(name):
                yield name, kinds[0]

    def _is_recorded(self, name: str, kind: str) -> bool:
        if name == self.joint_states or name in self._also:
            return True
        inside = name.startswith(self._node.get_namespace().rstrip('/') + '/')
        if not inside or name.endswith(DERIVED) or SIMULATED & set(name.split('/')):
            return False
        return kind not in ONLY or name.rpartition('/')[2] == ONLY[kind]

    def _subscribe(self, name: str, kind: str) -> None:
        latched = name.endswith(DESCRIPTION)
        self.topics[name] = RecordedTopic(name, kind)
        offered = [info.qos_profile.reliability for info in self._node.get_publishers_info_by_topic(name)]
        reliable = latched or (offered and all(policy == ReliabilityPolicy.RELIABLE for policy in offered))
        qos = QoSProfile(
            depth=1 if latched else DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        callback = partial(self._on_message, self.topics[name], latched)
        self._node.create_subscription(KINDS[kind], name, callback, qos, raw=True)

    def _on_message(self, topic: RecordedTopic, latched: bool, raw: Any) -> None:
        arrival, now = time.time_ns(), time.monotonic()
        if topic.name == self.joint_states:
            self.joints.read(raw)
            self.began = now if self.began is None else self.began
        try:
            self._writer.write(topic.name, topic.kind, arrival, raw, latched)
        except (OSError, KrangDynamicsError) as error:  # a full disk: stop, and keep the written part
            self.fault = error
        topic.add(now)
