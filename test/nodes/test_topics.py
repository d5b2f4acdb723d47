"""Topics and clocks of a node, over real DDS, in a single process: subscribers and the present time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: there are no topics')

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.live import parameters
from krang_dynamics_ros.nodes.dynamics.inputs import NodeClocks
from krang_dynamics_ros.nodes.settings import NodeSettings
from krang_dynamics_ros.nodes.topics import Topic

from ..ros import PATIENCE, domain


def test_parameters_that_a_node_was_started_with_reach_its_settings() -> None:
    with domain() as number:
        context = Context()
        rclpy.init(context=context, domain_id=number)
        given = [Parameter('gravity', value=[0.0, 0.0, -1.6])]
        node = rclpy.create_node('moon', context=context, parameter_overrides=given)
        settings = NodeSettings(node)
        settings.declare(parameters.node_specs(load_model('arm_2r')))
        settings.follow()
        assert settings['gravity'] == [0.0, 0.0, -1.6]
        node.set_parameters([Parameter('gravity', value=[0.0, 0.0, -3.7])])
        assert settings['gravity'] == [0.0, 0.0, -3.7]
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.fixture
def node() -> Iterator[Node]:
    with domain() as number:
        context = Context()
        rclpy.init(context=context, domain_id=number)
        node = rclpy.create_node('topics', context=context)
        yield node
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_has_subscriber_follows_the_subscribers(node: Node) -> None:
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)

    def until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline
            executor.spin_once(timeout_sec=0.05)

    topic = Topic(node, JointState, 'torque/gravity')
    assert not topic.has_subscriber
    first, second = (node.create_subscription(JointState, 'torque/gravity', lambda _: None, 1) for _ in range(2))
    until(lambda: topic.has_subscriber)
    node.destroy_subscription(first)
    node.destroy_subscription(second)
    until(lambda: not topic.has_subscriber)
    third = node.create_subscription(JointState, 'torque/gravity', lambda _: None, 1)
    until(lambda: topic.has_subscriber)
    node.destroy_subscription(third)


def test_ages_use_a_monotonic_clock_or_simulated_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = NodeClocks(node)
    before = clocks.arrival()
    monkeypatch.setattr(time, 'time_ns', lambda: 5)
    assert clocks.arrival() >= before > 5
    assert clocks.stamp() == 5
    node.set_parameters([Parameter('use_sim_time', value=True)])
    assert clocks.arrival() == clocks.stamp() == 0  # no clock message yet
