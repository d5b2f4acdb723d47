"""Which robot is meant: of several descriptions the one that is in use, and not the last that came."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from .other_publishers import publishers

TOPIC = 'robot_description'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class DescriptionListener:
    """A URDF, and since when it is the one.

    While several nodes publish one, a robot whose joints are heard stays. The node that is left is asked again.
    """

    def __init__(self, node: Node, in_use: Callable[[], bool]) -> None:
        """`in_use` tells whether anything is heard of the joints of the robot that `text` describes."""
        self._node, self._in_use = node, in_use
        self.text, self.since = '', 0.0
        self.sources: list[str] = []  # who publishes one
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

    def look_round(self) -> None:
        """See who is there; call it about once a second."""
        before, self.sources = self.sources, publishers(self._node, TOPIC)
        if len(self.sources) == 1 and len(before) > 1:
            self._subscribe()  # what it says was passed over, or is what we have

    @property
    def several(self) -> bool:
        """Whether it is not clear who speaks for the robot."""
        return len(self.sources) > 1
