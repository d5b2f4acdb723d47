"""Joint states in parts from three publishers, over DDS: external torques are those of one publisher."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from krang_dynamics_ros import Robot, dynamics_of

from ..ros import Client, Process, domain, effort

PARTS = (range(3), range(3, 10), range(10, 17))
PERIOD, STATES, SETTLED = 0.01, 250, 150


def motion(robot: Robot) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return positions, velocities and the efforts that move the robot so, with nothing touching it."""
    dynamics, rows = dynamics_of(robot), []
    phase = np.linspace(0, 3, robot.n)
    for t in PERIOD * np.arange(STATES):
        q, dq, ddq = 0.3 * np.sin(t + phase), 0.3 * np.cos(t + phase), -0.3 * np.sin(t + phase)
        rows.append((q, dq, dynamics.inverse_dynamics(q, dq, ddq)))
    return rows


def largest_external(number: int, robot: Robot, parts: Any) -> float:
    """Return the largest external torque that the node tells while nothing touches the robot."""
    process = Process(number, '--ros-args', '-p', 'effort_source:=joint', '-p', 'state_timeout:=10.0')
    client = Client(number)
    client.listen('torque/external', 'torque/gravity')
    publishers = [client.node.create_publisher(JointState, 'joint_states', 100) for _ in parts]
    client.ready()
    for publisher in publishers:
        client.until(lambda publisher=publisher: publisher.get_subscription_count() > 0, why='nothing subscribes')
    gravity, external = client.received['torque/gravity'], client.received['torque/external']
    rows = motion(robot)
    client.until(lambda: gravity, lambda: client.send_state(robot.joint_names, rows[0][0], np.zeros(17)))
    start = client.stamp()
    first = start.sec * 10**9 + start.nanosec
    for k, columns in enumerate(rows):
        ns = first + round(k * PERIOD * 1e9)
        stamp = Time(sec=ns // 10**9, nanosec=ns % 10**9)
        for publisher, part in zip(publishers, parts, strict=True):
            message = JointState(name=[robot.joint_names[j] for j in part])
            message.header.stamp = stamp
            message.position, message.velocity, message.effort = (array('d', x[list(part)]) for x in columns)
            publisher.publish(message)  # then wait: inputs are best effort, and drop what is too much at once
        client.until(
            lambda stamp=stamp: sum(m.header.stamp == stamp for m in gravity[-3:]) == len(parts), why='gravity'
        )
        if k == SETTLED:
            external.clear()
    client.close()
    assert process.end() == 0, process.output
    return max(np.abs(effort(message)).max() for message in external)


def test_three_publishers_tell_what_one_tells(robot: Robot) -> None:
    with domain() as number:
        whole = largest_external(number, robot, (range(17),))
        parts = largest_external(number, robot, PARTS)
    assert whole < 0.01
    assert parts == pytest.approx(whole, rel=0.5, abs=1e-4)
