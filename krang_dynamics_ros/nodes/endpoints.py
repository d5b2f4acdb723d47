"""Nodes that publish or subscribe to a topic. Two robots on one ROS domain would drive each other."""

from __future__ import annotations

import os
import time

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ..core.errors import TakenError
from ..live.controller_watch import NAMELESS
from .run import stop_requested

LOOKING = 4.0  # s: a node announces itself every 3 s, and its first announcements may be lost


def named_publishers(node: Node, topic: str) -> list[tuple[str, str]]:
    """Return identity and full name of every publisher of a topic."""
    return [
        (bytes(info.endpoint_gid).hex(), _full_name(info))
        for info in node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    ]


def _full_name(info: TopicEndpointInfo) -> str:
    return NAMELESS if 'UNKNOWN' in info.node_name else f'{info.node_namespace.rstrip("/")}/{info.node_name}'


def publishers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that publish a topic; one that publishes it twice stands there twice."""
    return sorted(name for _, name in named_publishers(node, topic))


def subscribers(node: Node, topic: str) -> list[str]:
    """Return the full names of the nodes that subscribe to a topic."""
    return sorted(map(_full_name, node.get_subscriptions_info_by_topic(node.resolve_topic_name(topic))))


def others(node: Node, topic: str) -> list[str]:
    """Return who publishes a topic besides this node, which does so once."""
    names = publishers(node, topic)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return names


def ensure_only_publisher(node: Node, topic: str) -> None:
    """Wait for discovery, unless told to end; raise `TakenError` if somebody else publishes the topic."""
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    node.get_logger().info(f'looking for {LOOKING:g} s whether another robot is on ROS domain {domain}')
    end = time.monotonic() + LOOKING
    names: list[str] = []
    while time.monotonic() < end and (not names or NAMELESS in names) and not stop_requested():
        time.sleep(0.05)
        names = others(node, topic)
    if names:
        raise TakenError(
            f'{topic} comes from {", ".join(names)} already; two robots on one ROS domain would drive each other. '
            f'End that one, or set another ROS_DOMAIN_ID (now {domain})'
        )
