"""Subscriptions of the page. Joint states, torques and wrenches are polled: only the newest are read for a picture."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ...core.spatial import Array
from ...core.text import shown, shown_lines
from ...core.wrench import Wrench
from ...dynamics.dynamics import Dynamics
from ...live.joints import JointStates, JointTorques
from ...live.messages import wrench_of
from ...live.wrenches import Sense, WrenchInput
from ...page.snapshot import LEVELS, LatestMessages, Line
from ...page.torques import OBSERVED, SUBSCRIBED
from ..endpoints import publishers
from ..topics import LATCHED
from .clients import HandSensor


class PolledTopics:
    """A separate node without an executor: messages wait in the middleware until they are read."""

    def __init__(self, node: Node) -> None:
        """Use the namespace of `node`. The leading underscore hides the node from `ros2 node list`."""
        self._node = rclpy.create_node(
            f'_{node.get_name()}_polled', namespace=node.get_namespace(), enable_rosout=False,
            start_parameter_services=False,
        )  # fmt: skip

    def subscribe(self, kind: type, topic: str, depth: int = 1) -> PolledTopic:
        """Subscribe to a topic; its newest `depth` messages are kept."""
        return PolledTopic(self._node, kind, topic, depth)

    def end(self, topic: PolledTopic) -> None:
        """Unsubscribe from a topic."""
        self._node.destroy_subscription(topic.subscription)

    def forget(self) -> None:
        """Unsubscribe from all topics."""
        for subscription in list(self._node.subscriptions):
            self._node.destroy_subscription(subscription)

    def close(self) -> None:
        """Destroy the node."""
        self._node.destroy_node()


class PolledTopic:
    """A subscription that is polled."""

    def __init__(self, node: Node, kind: type, topic: str, depth: int) -> None:
        qos = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.subscription: Any = node.create_subscription(kind, topic, lambda _: None, qos)
        self._kind = kind

    def pop_all(self) -> list[Any]:
        """Return the messages since the last call, oldest first."""
        messages = []
        handle = self.subscription.handle
        with handle:
            while (received := handle.take_message(self._kind, False)) is not None:
                messages.append(received[0])
        return messages


MAX_STATUSES = 200  # of a message: a node of ours has twenty
MAX_CHARS = 2000  # characters of a status
KEPT = (('simulation', 'mode'), ('effort commands', 'stage'), ('torques', 'terms'))  # values that the page uses
SILENT = 3.0  # s without diagnostics (period: 1 s)


class HealthListener:
    """The latest diagnostics of every node."""

    def __init__(self, node: Node) -> None:
        self._lines: dict[str, tuple[float, list[Line]]] = {}
        self._values: dict[str, dict[tuple[str, str], str]] = {}  # of `KEPT`, by node
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        now = time.monotonic()
        by_node: dict[str, list[Line]] = {}
        values: dict[str, dict[tuple[str, str], str]] = {}
        for status in message.status[:MAX_STATUSES]:
            node, _, about = status.name.partition(': ')
            level = LEVELS[min(status.level[0], len(LEVELS) - 1)]
            by_node.setdefault(node, []).append(Line(level, shown(about), shown_lines(status.message, MAX_CHARS)))
            kept = {(about, pair.key): shown(pair.value) for pair in status.values if (about, pair.key) in KEPT}
            values.setdefault(node, {}).update(kept)
        self._lines = {node: (at, lines) for node, (at, lines) in self._lines.items() if now - at < SILENT}
        self._lines |= {node: (now, lines) for node, lines in by_node.items()}
        self._values = {node: found for node, found in (self._values | values).items() if node in self._lines}

    def value(self, node: str, about: str, key: str) -> str:
        """Return a value of `KEPT` of a node (full name) from its diagnostics; empty: not known."""
        at, _ = self._lines.get(node.lstrip('/'), (0.0, []))
        known = self._values.get(node.lstrip('/'), {}) if time.monotonic() - at < SILENT else {}
        return known.get((about, key), '')

    def lines(self, node: str, name: str) -> list[Line]:
        """Return the diagnostics of a node (full name); without any, a line that `name` is silent."""
        at, lines = self._lines.get(node.lstrip('/'), (0.0, []))
        return [*lines] if time.monotonic() - at < SILENT else [Line('silent', name, 'no diagnostics')]


TOPIC = 'robot_description'


class DescriptionListener:
    """The robot description (URDF), and the time since which it is in use.

    While several nodes publish descriptions, a robot with fresh joint states is kept. When a single publisher is left,
    its description is requested again.
    """

    def __init__(self, node: Node, in_use: Callable[[], bool]) -> None:
        """`in_use` returns whether joint states of the present robot are fresh."""
        self._node, self._in_use = node, in_use
        self.text, self.since = '', 0.0
        self.sources: list[str] = []  # nodes that publish one
        self._subscription: Any = None
        self._subscribe()

    def _subscribe(self) -> None:
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription = self._node.create_subscription(String, TOPIC, self._on_description, LATCHED)

    def _on_description(self, message: String) -> None:
        alone = len(publishers(self._node, TOPIC)) <= 1
        if message.data != self.text and (alone or not self.text or not self._in_use()):
            self.text, self.since = message.data, time.monotonic()

    def check_publishers(self) -> None:
        """Update the publishers; call it about once a second."""
        before, self.sources = self.sources, publishers(self._node, TOPIC)
        if len(self.sources) == 1 and len(before) > 1:
            self._subscribe()  # its description was ignored, or is the present one

    @property
    def several(self) -> bool:
        """Whether several nodes publish descriptions."""
        return len(self.sources) > 1


FRESH = 0.5  # s: older data is not shown
OPPOSITE: dict[Sense, Sense] = {'applied_by_robot': 'applied_on_robot', 'applied_on_robot': 'applied_by_robot'}
PARTS = 10  # messages: a state may come in parts from several publishers
NOTHING = np.empty(0)


class RobotListener:
    """Joint states, torques and wrenches of a robot, read on request."""

    def __init__(
        self, topics: PolledTopics, dynamics: Dynamics, hands: Mapping[str, HandSensor], joint_states: str
    ) -> None:
        names = dynamics.joint_names
        self._states, self._state_topic = JointStates(names, FRESH), topics.subscribe(JointState, joint_states, PARTS)
        self._drawn = np.zeros(len(names))  # an unknown joint is drawn at its last position
        self._torques = {term: JointTorques(names, FRESH) for term in SUBSCRIBED}
        self._torque_topics = {term: topics.subscribe(JointState, f'torque/{term}') for term in self._torques}
        self._links, self._of_hands = frozenset(dynamics.link_names), hands
        self._hands = self._sensors()
        self._wrench_topics = [topics.subscribe(WrenchStamped, hand.topic) for hand in hands.values()]
        self._topics, self._names = topics, names
        self._estimates: list[WrenchInput] = []  # estimated wrenches, handled like readings
        self._estimate_topics: list[PolledTopic] = []

    def _sensors(self) -> list[WrenchInput]:
        """Return inputs whose wrenches are those of the world: `WrenchInput` gives those of the robot."""
        return [
            WrenchInput(name, hand.link, OPPOSITE[hand.sense], timeout=FRESH, links=self._links)
            for name, hand in self._of_hands.items()
        ]

    def observe(self, enabled: bool) -> None:
        """Subscribe to external torques and estimated wrenches, or unsubscribe: they are computed for subscribers."""
        if enabled == (OBSERVED in self._torques):
            return
        if enabled:
            self._torques[OBSERVED] = JointTorques(self._names, FRESH)
            self._torque_topics[OBSERVED] = self._topics.subscribe(JointState, f'torque/{OBSERVED}')
            self._estimates = self._sensors()
            self._estimate_topics = [
                self._topics.subscribe(WrenchStamped, f'wrench/{name}/estimated') for name in self._of_hands
            ]
            return
        for topic in (self._torque_topics.pop(OBSERVED), *self._estimate_topics):
            self._topics.end(topic)
        del self._torques[OBSERVED]
        self._estimates, self._estimate_topics = [], []

    def update(self) -> None:
        """Read all received messages."""
        now = time.monotonic_ns()  # only arrivals count here; the dynamics node checks stamps
        for message in self._state_topic.pop_all():
            position, velocity = np.asarray(message.position), np.asarray(message.velocity)
            self._states.update(message.name, position, velocity, NOTHING, 0, now)
        for term, torques in self._torques.items():
            for message in self._torque_topics[term].pop_all():
                torques.update(message.name, np.asarray(message.effort), 0, now)
        sensors = (*self._hands, *self._estimates)
        for hand, topic in zip(sensors, (*self._wrench_topics, *self._estimate_topics), strict=True):
            for message in topic.pop_all():
                hand.update(*wrench_of(message), 0, now)

    @property
    def alive(self) -> bool:
        """Whether any joint has fresh data."""
        return len(self._states.missing(time.monotonic_ns())) < len(self._states.joint_names)

    def latest(self) -> LatestMessages:
        """Return the fresh data."""
        now = time.monotonic_ns()
        known = self.alive
        unknown = np.isnan(self._states.position)
        self._drawn = np.where(unknown, self._drawn, self._states.position)
        return LatestMessages(
            q=self._drawn if known else None,
            dq=self._states.velocity if known else None,
            torques={term: _fresh(torques, now, partial=term == OBSERVED) for term, torques in self._torques.items()},
            readings=_wrenches(self._hands, now),
            estimates=_wrenches(self._estimates, now),
        )


def _wrenches(hands: Sequence[WrenchInput], now: int) -> dict[str, Wrench]:
    return {hand.name: wrench for hand in hands if (wrench := hand.wrench(0, now))}


def _fresh(torques: JointTorques, now: int, *, partial: bool) -> Array | None:
    """Return torques (n); None if a joint is missing. If `partial`, missing joints are NaN."""
    missing, torque = torques.missing(now), np.asarray(torques.torque, dtype=float)
    if not missing:
        return torque
    if not partial or len(missing) == len(torques.joint_names):
        return None
    return np.asarray(np.where(np.isin(torques.joint_names, missing), np.nan, torque), dtype=float)
