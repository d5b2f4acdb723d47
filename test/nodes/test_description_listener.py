"""Of several robots that are described the one that is in use stays; who is left is heard in the end."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from krang_dynamics_ros.nodes.page.listener import DescriptionListener

from ..ros import Client, domain

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.mark.parametrize('in_use', [True, False])
def test_a_second_robot_does_not_take_the_place_of_one_in_use(in_use: bool) -> None:
    with domain() as number:
        page, first, second = Client(number), Client(number), Client(number)
        listener = DescriptionListener(page.node, lambda: in_use)
        ours = first.node.create_publisher(String, 'robot_description', LATCHED)
        ours.publish(String(data='one'))
        page.until(lambda: listener.text == 'one', listener.check_publishers, 'the first')
        theirs = second.node.create_publisher(String, 'robot_description', LATCHED)
        theirs.publish(String(data='two'))
        page.until(lambda: listener.several, listener.check_publishers, 'two of them')
        if in_use:
            for _ in range(50):
                theirs.publish(String(data='two'))
                page.spin(0.01)
            assert listener.text == 'one'
            first.node.destroy_publisher(ours)
        page.until(lambda: listener.text == 'two', listener.check_publishers, 'the second')
        for client in (first, second, page):
            client.close()


def test_the_new_description_of_a_restarted_node_is_received() -> None:
    with domain() as number:
        page = Client(number)
        listener = DescriptionListener(page.node, lambda: True)
        for text in ('one', 'two'):
            node = Client(number)
            publisher = node.node.create_publisher(String, 'robot_description', LATCHED)
            publisher.publish(String(data=text))
            page.until(lambda text=text: listener.text == text, listener.check_publishers, text)
            node.close()
            page.until(lambda: not listener.sources, listener.check_publishers, 'no source')
        page.close()
