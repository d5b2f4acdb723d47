"""Topics `wrench/base` and `zero_moment_point`, and their diagnostics."""

from __future__ import annotations

from rclpy.node import Node

from ...dynamics.terms import Torques
from ...live.base_wrench import TOPIC, BaseWrench
from ..diagnostics import OK, WARN, Status
from ..topics import PointTopic, WrenchTopic


class BaseWrenchTopics:
    """Publishes what the robot applies to its support. Without a subscriber it computes nothing."""

    def __init__(self, node: Node, base_wrench: BaseWrench, base: str) -> None:
        """`base` is the base link, in whose frame wrench and point are given."""
        self._base_wrench, self._base = base_wrench, base
        self.has_subscriber = False  # whether a topic has a subscriber
        self._wrench = WrenchTopic(node, TOPIC, self._on_subscribers)
        self._point = PointTopic(node, 'zero_moment_point', base, self._on_subscribers)
        self._pressed = True  # whether the latest wrench has a zero moment point

    def _on_subscribers(self) -> None:
        self.has_subscriber = self._wrench.has_subscriber or self._point.has_subscriber

    def publish(self, torques: Torques, stamp: int) -> None:
        """Publish both for a state, with the stamp (ns) of its joint state."""
        floor = self._point.has_subscriber and self._base_wrench.has_floor
        if not (self._wrench.has_subscriber or floor):
            return
        wrench = self._base_wrench.wrench(torques)
        if wrench is None:
            return
        if self._wrench.has_subscriber:
            self._wrench.send(wrench, self._base, stamp)
        if floor:
            point = self._base_wrench.zero_moment_point(wrench)
            self._pressed = point is not None
            if point is not None:
                self._point.send(point, stamp)

    def status(self) -> Status:
        """Return the present status."""
        if not self.has_subscriber:
            return Status('support', OK, 'no subscribers')
        if not self._base_wrench.has_floor and self._point.has_subscriber:
            return Status('support', WARN, 'no zero_moment_point: base.floor is not set')
        if not self._pressed and self._point.has_subscriber:
            return Status('support', WARN, 'no zero_moment_point: the robot does not press on the floor')
        if self._base_wrench.is_static:
            return Status('support', WARN, 'static, without accelerations: no velocities')
        return Status('support', OK, 'accelerations from the observer, behind its low pass')
