"""The node on a base that moves: torques follow the IMU, stop without it, and diagnostics say why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from sensor_msgs.msg import Imu

from krang_dynamics_ros import BaseMotion, Robot, dynamics_of
from krang_dynamics_ros.core.spatial import rotation_from_rpy

from ..imu import quaternion
from ..ros import Client, Process, domain, effort

Q = np.linspace(-0.4, 0.5, 17)
DQ = np.linspace(1, -1, 17)
GRAVITY, CORIOLIS = 'torque/gravity', 'torque/coriolis'


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


def status(client: Client) -> str:
    """Return what diagnostics say of the base."""
    found = client.diagnostics.get('base motion')
    return found.message if found else ''


def send_imu(client: Client, R: np.ndarray, w: Any = (0, 0, 0), f: Any = None, frame: str = 'R0') -> None:
    message = Imu()
    message.header.stamp, message.header.frame_id = client.stamp(), frame
    o, turning, force = message.orientation, message.angular_velocity, message.linear_acceleration
    o.w, o.x, o.y, o.z = quaternion(R)
    turning.x, turning.y, turning.z = (float(x) for x in w)
    force.x, force.y, force.z = (float(x) for x in (R.T @ (0, 0, 9.81) if f is None else f))
    client.publisher(Imu, 'imu').publish(message)


def test_torques_follow_the_orientation_and_stop_without_it(number: int, robot: Robot) -> None:
    process, client = Process(number, '--ros-args', '-p', 'base_motion:=orientation'), Client(number)
    client.listen(GRAVITY)
    client.ready()
    client.publisher(Imu, 'imu')
    dynamics = dynamics_of(robot)
    for rpy in ((0.4, 0, 0), (0, -0.8, 2.0)):
        R = rotation_from_rpy(rpy)
        dynamics.base_motion = BaseMotion.tilted(R)

        def tilt(R: np.ndarray = R) -> None:
            send_imu(client, R)
            client.spin(0.01)

        def follows(tilt: Any = tilt) -> bool:
            return np.allclose(effort(client.ask(robot.joint_names, Q, (), GRAVITY, before=tilt)), dynamics.Q(Q))

        client.until(follows)
    said = 'no torque: the last IMU reading came'
    client.until(
        lambda: said in status(client),
        lambda: client.send_state(robot.joint_names, Q),
        why='diagnostics to say so',
    )
    for _ in range(5):
        send_imu(client, R, frame='R10l')
        client.send_state(robot.joint_names, Q)
    assert client.silent(GRAVITY)
    client.until(
        lambda: "'R10l' moves against the base 'R0'" in status(client),
        lambda: send_imu(client, R, frame='R10l'),
    )
    client.close()
    assert process.end() == 0, process.output


def test_a_base_that_turns_and_accelerates_is_in_gravity_and_coriolis(number: int, robot: Robot) -> None:
    process, client = Process(number, '--ros-args', '-p', 'base_motion:=full'), Client(number)
    client.listen(GRAVITY, CORIOLIS)
    client.ready()
    client.publisher(Imu, 'imu')
    dynamics, w, f = dynamics_of(robot), np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, 11.0])
    dynamics.base_motion = BaseMotion(-f, w)

    def move() -> None:
        for _ in range(3):
            send_imu(client, np.eye(3), w, f)
            client.spin(0.01)

    def follows() -> bool:
        gravity, coriolis = client.ask(robot.joint_names, Q, DQ, GRAVITY, CORIOLIS, before=move)
        return np.allclose(effort(gravity), dynamics.Q(Q)) and np.allclose(
            effort(coriolis), dynamics.coriolis_torque(Q, DQ)
        )

    client.until(follows)
    client.close()
    assert process.end() == 0, process.output


def test_one_imu_cannot_be_two_things(number: int) -> None:
    process = Process(number, '--ros-args', '-p', 'base_motion:=full', '-p', 'imu_joint:=q_imu')
    assert process.wait() == 1
    assert "base_motion: full, must be fixed with imu_joint 'q_imu'" in process.output


def statuses(client: Client, name: str) -> str:
    found = client.diagnostics.get(name)
    return found.message if found else ''


def test_the_support_bears_the_weight_and_what_the_hands_push(number: int, robot: Robot) -> None:
    process, client = Process(number), Client(number)
    client.listen(GRAVITY, 'wrench/base', 'zero_moment_point')
    client.ready()
    dynamics, still = dynamics_of(robot), np.zeros(17)
    com = dynamics.center_of_mass(Q)
    weight = np.array([0.0, 0.0, -9.81 * dynamics.mass])

    def answered(client: Client = client) -> tuple[np.ndarray, str]:
        answer = client.ask(robot.joint_names, Q, still, 'wrench/base')
        f, m = answer.wrench.force, answer.wrench.torque
        return np.array([f.x, f.y, f.z, m.x, m.y, m.z]), answer.header.frame_id

    client.until(lambda: np.allclose(answered()[0], [*weight, *np.cross(com, weight)]))
    assert answered()[1] == 'R0'
    client.until(
        lambda: statuses(client, 'support').startswith('no zero_moment_point: base.floor is not set'), answered
    )
    assert client.silent('zero_moment_point')
    client.set(base__floor=-0.3)

    def point() -> bool:
        answer = client.ask(robot.joint_names, Q, still, 'zero_moment_point')
        assert answer.header.frame_id == 'R0'
        return np.allclose([answer.point.x, answer.point.y, answer.point.z], [*com[:2], -0.3])

    client.until(point)
    client.until(lambda: statuses(client, 'support').startswith('accelerations from the observer'), point)
    push = np.array([0.0, 0.0, -50.0])  # in the axes of the base, about its origin

    def pushes() -> bool:
        client.send_wrench('left', [*push, 0, 0, 0], 'R0')
        return bool(np.allclose(answered()[0][:3], weight - push))

    client.until(pushes)
    client.until(
        lambda: statuses(client, 'support').startswith('static, without accelerations: no velocities'),
        lambda: client.ask(robot.joint_names, Q, (), 'wrench/base'),
    )
    assert not client.set(base__floor=float('inf'))[0].successful
    client.close()
    assert process.end() == 0, process.output


def test_a_hand_cannot_have_the_topic_of_the_base(number: int) -> None:
    hand = ('-p', 'end_effectors:=[base]', '-p', 'base.link:=R10l')
    process = Process(number, '--ros-args', *hand)
    assert process.wait() == 1
    assert 'base.wrench_topic: wrench/base, which is what the robot applies to its support' in process.output
