"""Every topic of the running node against the Lagrangian, at random states, over DDS."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from rclpy.duration import Duration

from krang_dynamics_ros import Lagrangian, Robot, urdf_text
from krang_dynamics_ros.check.witnesses import random_states

from ..ros import TYPES, Client, Process, domain, effort

RTOL = 1e-9
FRICTION = {'joints.q_3l.viscous': 2.0, 'joints.q_3l.coulomb': 1.5, 'joints.q_w.viscous': 4.0}


@pytest.fixture(scope='module')
def client(robot: Robot) -> Iterator[Client]:
    with domain() as number:
        given = [f'{name}:={value}' for name, value in FRICTION.items()]
        words = [*given, 'state_timeout:=10.0', 'total_terms:=[gravity, coriolis, friction]']
        process = Process(number, '--ros-args', *(word for given in words for word in ('-p', given)))
        client = Client(number)
        client.listen(*(topic for topic in TYPES if topic != 'effort_commands'))
        client.ready()
        yield client
        client.close()
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


def states(robot: Robot, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    q, dq, _ = random_states(robot, count, 21)
    yield from zip(q, dq, strict=True)


def friction(robot: Robot, dq: np.ndarray) -> np.ndarray:
    viscous, coulomb = np.zeros(robot.n), np.zeros(robot.n)
    viscous[robot.joint_names.index('q_3l')], coulomb[robot.joint_names.index('q_3l')] = 2.0, 1.5
    viscous[robot.joint_names.index('q_w')] = 4.0
    return viscous * dq + coulomb * np.sign(dq)


def test_torques_by_name_whatever_order_came_in(client: Client, robot: Robot, rng: np.random.Generator) -> None:
    lagrangian = Lagrangian(robot)
    for q, dq in states(robot, 20):
        order = rng.permutation(robot.n)
        names = [robot.joint_names[k] for k in order] + ['wheel_left', 'wheel_right']
        answers = client.ask(
            names, [*q[order], 9.0, 9.0], [*dq[order], 8.0, 8.0],
            'torque/gravity', 'torque/coriolis', 'torque/friction', 'torque/wrench', 'torque/total',
        )  # fmt: skip
        gravity, coriolis, rubbing = lagrangian.Q(q), lagrangian.coriolis_torque(q, dq), friction(robot, dq)
        expected = (gravity, coriolis, rubbing, np.zeros(robot.n), gravity + coriolis + rubbing)
        for message, torque in zip(answers, expected, strict=True):
            assert tuple(message.name) == robot.joint_names
            assert message.header.frame_id == 'R10r'
            assert not len(message.position) and not len(message.velocity)
            np.testing.assert_allclose(effort(message), torque, rtol=RTOL, atol=1e-9)


def latest_after_a_state(client: Client, topic: str, numbers: np.ndarray, robot: Robot, state: Any) -> Any:
    """Return the message that carries the numbers, or after a while the latest.

    These topics have no stamp: an answer to the state before may still be on its way when this one is asked.
    """

    def there() -> bool:
        last = client.received[topic][-1:]
        return bool(last) and np.allclose(np.ravel(last[0].data), numbers.ravel(), rtol=RTOL, atol=1e-9)

    with contextlib.suppress(AssertionError):
        client.until(there, lambda: client.send_state(robot.joint_names, *state))
    return client.received[topic][-1]


def test_matrices_and_centre_of_mass(client: Client, robot: Robot) -> None:
    lagrangian, n = Lagrangian(robot), robot.n
    for q, dq in states(robot, 5):
        com = client.ask(robot.joint_names, q, dq, 'center_of_mass')
        expected = {
            'dynamics/inertia': lagrangian.A(q),
            'dynamics/coriolis': lagrangian.C(q, dq),
        }
        for topic, numbers in expected.items():
            message = latest_after_a_state(client, topic, numbers, robot, (q, dq))
            np.testing.assert_allclose(np.reshape(message.data, numbers.shape), numbers, rtol=RTOL, atol=1e-9)
            if numbers.ndim == 2:
                rows, columns = message.layout.dim
                assert (rows.label, rows.size, rows.stride) == ('row', n, n * n)
                assert (columns.label, columns.size, columns.stride) == ('column', n, n)
        weighted = np.zeros(3)
        for link in robot.links:
            R, p = lagrangian.pose(q, link.name)
            weighted += link.inertia.m * p + R @ link.inertia.MS
        assert com.header.frame_id == 'R0'
        np.testing.assert_allclose([com.point.x, com.point.y, com.point.z], weighted / robot.mass, rtol=RTOL, atol=1e-9)


def test_a_late_subscriber_gets_the_description(client: Client, robot: Robot) -> None:
    assert client.description() == urdf_text(robot)


def test_diagnostics_say_that_all_is_well(client: Client, robot: Robot) -> None:
    def say() -> None:
        client.send_state(robot.joint_names, np.zeros(robot.n), np.zeros(robot.n))

    client.diagnostics.clear()
    client.until(
        lambda: client.diagnostics.get('joint states') and client.diagnostics['joint states'].level == b'\0', say
    )
    values = {pair.key: pair.value for pair in client.diagnostics['joint states'].values}
    assert float(values['rate (Hz)']) > 0
    assert values['missing or stale'] == ''
    assert client.diagnostics['wrench left'].level == b'\0'
    assert 'states per second' in client.diagnostics['computation'].message
    assert client.diagnostics['computation'].hardware_id == 'krang'


def test_torques_that_go_out_late_are_a_warning(client: Client, robot: Robot) -> None:
    def say_late() -> None:
        now = client.node.get_clock().now() - Duration(seconds=1)
        client.send_state(robot.joint_names, np.zeros(robot.n), np.zeros(robot.n), now.to_msg())

    def warned() -> bool:
        said = client.diagnostics.get('computation')
        return said is not None and said.level == b'\1' and 'after their stamps' in said.message

    client.until(warned, say_late)
