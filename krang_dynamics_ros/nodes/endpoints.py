"""Nodes that publish or subscribe to a topic. Two robots on one ROS domain would drive each other."""

from __future__ import annotations

import os
import time

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ..core.errors import TakenError
from ..live.controller_watch import NAMELESS
from .run import stop_requested

DISCOVERY_TIMEOUT = 4.0  # s: nodes announce themselves every 3 s, and the first announcement may be lost


def named_publishers(node: Node, topic: str) -> list[tuple[str, str]]:
    """Return the GID and the full node name of every publisher of a topic."""
    return [
        (bytes(info.endpoint_gid).hex(), _full_name(info))
        for info in node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    ]


def _full_name(info: TopicEndpointInfo) -> str:
    return NAMELESS if 'UNKNOWN' in info.node_name else f'{info.node_namespace.rstrip("/")}/{info.node_name}'


def publishers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic; a node with two publishers appears twice."""
    return sorted(name for _, name in named_publishers(node, topic))


def subscribers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that subscribe to a topic."""
    return sorted(map(_full_name, node.get_subscriptions_info_by_topic(node.resolve_topic_name(topic))))


def other_publishers(node: Node, topic: str) -> list[str]:
    """Return the other nodes that publish a topic which this node publishes once."""
    names = publishers(node, topic)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return names


def ensure_only_publisher(node: Node, topic: str) -> None:
    """Wait for discovery or a stop signal; raise `TakenError` if another node publishes the topic."""
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    node.get_logger().info(f'checking for {DISCOVERY_TIMEOUT:g} s whether another robot is on ROS domain {domain}')
    end = time.monotonic() + DISCOVERY_TIMEOUT
    names: list[str] = []
    while time.monotonic() < end and (not names or NAMELESS in names) and not stop_requested():
        time.sleep(0.05)
        names = other_publishers(node, topic)
    if names:
        raise TakenError(
            f'{topic} is published by {", ".join(names)} already; two robots on a ROS domain would drive each other. '
            f'Stop that node, or set another ROS_DOMAIN_ID (now {domain})'
        )
