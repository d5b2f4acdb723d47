"""A robot's description by topic: before the robot or after it, changed, refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import SetBool

from krang_dynamics_ros import Dynamics

from ..robot.test_description import GOOD
from ..robot.test_urdf_reader import HAND
from ..ros import Client, Process, domain, effort

GRAVITY = 'torque/gravity'
TOPIC = 'arm/description'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


@pytest.fixture
def client(number: int) -> Iterator[Client]:
    client = Client(number)
    client.listen(GRAVITY)
    yield client
    client.close()


def node(number: int, *arguments: str) -> Process:
    return Process(number, '--ros-args', '-p', f'robot_description_topic:={TOPIC}', *arguments)


def test_the_robot_may_come_after_the_node_and_another_one_after_it(number: int, client: Client) -> None:
    process = node(number)
    client.until(lambda: 'robot description' in client.diagnostics, why='a node that waits')
    assert client.diagnostics['robot description'].message == f'no torque: /{TOPIC}: none received yet'
    assert not client.node.count_publishers('robot_description')
    publisher = client.node.create_publisher(String, TOPIC, LATCHED)
    client.until(lambda: publisher.get_subscription_count() > 0)
    publisher.publish(String(data=''))
    client.until(lambda: 'xml: ' in client.diagnostics['robot description'].message)

    publisher.publish(String(data=GOOD))
    gravity = client.ask(['turn'], [0.3], (), GRAVITY)
    np.testing.assert_allclose(effort(gravity), Dynamics(GOOD).Q([0.3]))
    assert not client.node.count_publishers('robot_description')

    publisher.publish(String(data=GOOD.replace('value="2"', 'value="-2"')))
    said = 'the present robot is kept'
    client.until(lambda: said in getattr(client.diagnostics.get('robot description'), 'message', ''))
    assert 'must not be negative' in client.diagnostics['robot description'].message
    np.testing.assert_allclose(effort(client.ask(['turn'], [0.4], (), GRAVITY)), Dynamics(GOOD).Q([0.4]))

    client.received[GRAVITY].clear()
    publisher.publish(String(data=HAND))
    names = ['shoulder', 'left_joint']
    gravity = client.ask(names, [0.3, 0.02], (), GRAVITY)
    np.testing.assert_allclose(effort(gravity), Dynamics(HAND).Q([0.3, 0.02]))
    assert {tuple(message.name) for message in client.received[GRAVITY]} <= {('turn',), tuple(names)}
    assert process.end() == 0, process.output
    assert 'Traceback' not in process.output


def test_the_robot_may_come_before_the_node(number: int, client: Client) -> None:
    publisher = client.node.create_publisher(String, TOPIC, LATCHED)
    tool = (
        '<inertial><mass value="1"/><origin xyz="0.2 0 0"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    )
    text = GOOD.replace('"continuous"', '"floating"').replace('type="fixed"', 'type="revolute"')
    publisher.publish(String(data=text.replace('<link name="tool"/>', f'<link name="tool">{tool}</inertial></link>')))
    process = node(number, '-p', 'base_link:=upper', '-p', 'gravity:=[0.0, -9.81, 0.0]')
    gravity = client.ask(['hold'], [0.3], (), GRAVITY)
    assert gravity.name == ['hold']
    assert abs(effort(gravity)[0]) < 1e-9  # it turns about x, and its mass is on x
    assert process.end() == 0, process.output


def test_the_hand_that_is_offered_is_the_end_that_most_joints_move(number: int, client: Client, tmp_path: Path) -> None:
    file = tmp_path / 'hand.urdf'
    file.write_text(HAND)
    process = Process(number, '--ros-args', '-p', f'robot_file:={file}')
    client.ready()
    assert process.end() == 0, process.output
    (line,) = [line for line in process.output.splitlines() if 'no end effectors' in line]
    assert line.endswith('hand.link:=tip')  # three joints move it, two the other one


def test_two_sources_of_a_robot_are_refused(number: int) -> None:
    process = node(number, '-p', 'robot_file:=config/krang.yaml')
    assert process.wait() == 1
    assert 'robot_file and robot_description_topic are both given' in process.output


def test_commands_fall_for_another_robot_which_must_go_with_the_parameters(number: int, client: Client) -> None:
    words = ('command_joints:=[turn]', 'command_limits:=[50.0]', 'command_ramp:=0.2', 'state_timeout:=5.0')
    process = node(number, *(word for given in words for word in ('-p', given)))
    publisher = client.node.create_publisher(String, TOPIC, LATCHED)
    publisher.publish(String(data=GOOD))
    client.listen('effort_commands')

    def hear() -> None:
        client.send_state(['turn'], [0.3], [0.0])

    def said(name: str) -> str:
        return getattr(client.diagnostics.get(name), 'message', '')

    def sent() -> float | None:
        received = client.received['effort_commands']
        return received[-1].data[0] if received else None

    whole, request = Dynamics(GOOD).Q([0.3])[0], SetBool.Request(data=True)
    for text, told in ((HAND, "command_joints: joint 'turn' is unknown"), (GOOD.replace('"2"', '"3"', 1), '')):
        client.until(lambda: client.call('/effort_commands/enable', SetBool, request, hear).success, hear)
        client.until(lambda: sent() == pytest.approx(whole), hear)
        publisher.publish(String(data=text))
        client.until(lambda: sent() == 0.0, why='commands to be taken back')
        if told:
            client.until(lambda told=told: told in said('robot description'))
            assert 'the present robot is kept' in said('robot description')
    client.until(lambda: effort(client.received[GRAVITY][-1])[0] != pytest.approx(whole), hear, 'the other robot')
    assert sent() == 0.0
    assert process.end() == 0, process.output
    assert 'Traceback' not in process.output
