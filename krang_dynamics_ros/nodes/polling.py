"""Subscriptions that nobody is woken for. At 500 messages a second and 30 pictures, most are never looked at."""

from __future__ import annotations

from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy


class PolledTopics:
    """A node of its own that no executor knows: what comes waits in the middleware until it is taken."""

    def __init__(self, node: Node) -> None:
        """Listen in the namespace of a node. The name's underscore keeps it out of `ros2 node list`."""
        self._node = rclpy.create_node(
            f'_{node.get_name()}_polled', namespace=node.get_namespace(), enable_rosout=False,
            start_parameter_services=False,
        )  # fmt: skip

    def subscribe(self, kind: type, topic: str, depth: int = 1) -> PolledTopic:
        """Return a topic of which the newest `depth` messages wait to be taken."""
        return PolledTopic(self._node, kind, topic, depth)

    def end(self, topic: PolledTopic) -> None:
        """Listen to a topic no longer."""
        self._node.destroy_subscription(topic.subscription)

    def forget(self) -> None:
        """Listen to nothing."""
        for subscription in list(self._node.subscriptions):
            self._node.destroy_subscription(subscription)

    def close(self) -> None:
        """Hear no more."""
        self._node.destroy_node()


class PolledTopic:
    """One topic."""

    def __init__(self, node: Node, kind: type, topic: str, depth: int) -> None:
        qos = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.subscription: Any = node.create_subscription(kind, topic, lambda _: None, qos)
        self._kind = kind

    def take(self) -> list[Any]:
        """Return the messages that have come since the last time, oldest first."""
        messages = []
        handle = self.subscription.handle
        with handle:
            while (taken := handle.take_message(self._kind, False)) is not None:
                messages.append(taken[0])
        return messages
