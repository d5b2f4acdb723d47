"""Publishes grip and target of the pulls on the page; the simulator computes the forces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point32, PolygonStamped
from rclpy.node import Node

from ...simulation.pulls import Pull


class PullTopic:
    """Topic `pull`: a message for each pulled link."""

    def __init__(self, node: Node) -> None:
        self._node, self._publisher = node, node.create_publisher(PolygonStamped, 'pull', 10)
        self._links: set[str] = set()  # of the last messages

    def publish(self, pulls: Mapping[str, Sequence[Pull]]) -> None:
        """Publish the pulls by link; for a link that is let go, a message without points."""
        stamp = self._node.get_clock().now().to_msg()
        for link in pulls.keys() | self._links:
            self._publisher.publish(pull_message(link, stamp, pulls.get(link, ())))
        self._links = set(pulls)


def pull_message(link: str, stamp: Time, pulls: Iterable[Pull]) -> PolygonStamped:
    """Return a message of the pulls on a link: points in pairs, the grip (its axes) and the target (the base's), m."""
    message = PolygonStamped()
    message.header.stamp, message.header.frame_id = stamp, link
    pairs = (point.tolist() for pull in pulls for point in (pull.grip, pull.target))
    message.polygon.points = [Point32(x=x, y=y, z=z) for x, y, z in pairs]
    return message
