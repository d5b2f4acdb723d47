"""Subscriptions that nobody is woken for. At 500 messages a second and 30 pictures, most are never looked at."""

from __future__ import annotations

from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy


class Ears:
    """A node of its own that no executor knows: what comes waits in the middleware until it is taken."""

    def __init__(self, node: Node) -> None:
        """Listen in the namespace of a node. The name's underscore keeps it out of `ros2 node list`."""
        self._node = rclpy.create_node(
            f'_{node.get_name()}_ears', namespace=node.get_namespace(), enable_rosout=False,
            start_parameter_services=False,
        )  # fmt: skip

    def listen(self, kind: type, topic: str, depth: int = 1) -> Ear:
        """Return what hears a topic; the newest `depth` messages wait."""
        return Ear(self._node, kind, topic, depth)

    def forget(self) -> None:
        """Listen to nothing."""
        for subscription in list(self._node.subscriptions):
            self._node.destroy_subscription(subscription)

    def close(self) -> None:
        """Hear no more."""
        self._node.destroy_node()


class Ear:
    """One topic."""

    def __init__(self, node: Node, kind: type, topic: str, depth: int) -> None:
        qos = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription: Any = node.create_subscription(kind, topic, lambda _: None, qos)
        self._kind = kind

    def take(self) -> list[Any]:
        """Return the messages that have come since the last time, oldest first."""
        messages = []
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(self._kind, False)) is not None:
                messages.append(taken[0])
        return messages
