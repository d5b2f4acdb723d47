"""Payloads of the running node, over DDS, on both hands: against the Lagrangian of a robot whose links have them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from geometry_msgs.msg import InertiaStamped

from krang_dynamics_ros import Lagrangian, Robot, dynamics_of, krang, urdf_text
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import upper_triangle

from ..robots import random_body
from ..ros import Client, Process, domain, effort

TERMS = ('torque/gravity', 'torque/coriolis', 'torque/total')


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    words = ['payload_ramp:=0.0', 'state_timeout:=5.0']
    with domain() as number:
        process = Process(number, '--ros-args', *(word for given in words for word in ('-p', given)))
        client = Client(number)
        client.listen(*TERMS, 'dynamics/inertia')
        client.ready()
        yield client
        client.close()
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


def laden(robot: Robot, **bodies: Inertia) -> Robot:
    """The robot with bodies as part of its hands: the ten parameters add."""
    by_link = {robot.end_effectors[side]: body for side, body in bodies.items()}
    links = [
        replace(link, inertia=Inertia.from_parameters(link.inertia.parameters + by_link[link.name].parameters))
        if link.name in by_link
        else link
        for link in robot.links
    ]
    return replace(robot, links=tuple(links))


def values(body: Inertia) -> dict[str, Any]:
    xx, xy, xz, yy, yz, zz = upper_triangle(body.I_G).tolist()
    return {'mass': body.m, 'com': body.com.tolist(), 'inertia': [xx, xy, xz, yy, yz, zz]}


def carry(client: Client, **bodies: Inertia) -> None:
    for side, body in bodies.items():
        changes = {f'{side}__payload__{key}': value for key, value in values(body).items()}
        assert client.set_together(**changes).successful


def message(body: Inertia, frame: str = '') -> InertiaStamped:
    told = InertiaStamped()
    told.header.frame_id, i = frame, told.inertia
    i.m, (i.com.x, i.com.y, i.com.z) = body.m, body.com.tolist()
    i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz = upper_triangle(body.I_G).tolist()
    return told


def tell(client: Client, side: str, told: InertiaStamped) -> None:
    client.publisher(InertiaStamped, f'payload/{side}').publish(told)


def moves_as(client: Client, robot: Robot, expected: Robot, count: int = 2) -> bool:
    """Return whether the node's torques are those of another robot, at random states."""
    lagrangian, (q, dq, _) = Lagrangian(expected), random_states(robot, count, 41)
    for position, velocity in zip(q, dq, strict=True):
        answers = client.ask(robot.joint_names, position, velocity, *TERMS)
        torques = lagrangian.Q(position), lagrangian.coriolis_torque(position, velocity), lagrangian.Q(position)
        if not all(np.allclose(effort(a), t, rtol=1e-9, atol=1e-9) for a, t in zip(answers, torques, strict=True)):
            return False
    return True


def test_payloads_on_both_hands_are_in_every_term(client: Client, robot: Robot, rng: np.random.Generator) -> None:
    left, right = random_body(rng), random_body(rng)
    carry(client, left=left, right=right)
    client.until(lambda: moves_as(client, robot, laden(robot, left=left, right=right)))
    q = random_states(robot, 1, 3).q[0]
    A = Lagrangian(laden(robot, left=left, right=right)).A(q)

    def there() -> bool:
        client.ask(robot.joint_names, q, (), 'torque/gravity')
        return any(np.allclose(m.data, A.ravel(), rtol=1e-9) for m in client.received['dynamics/inertia'][-2:])

    client.until(there)
    carry(client, left=Inertia(), right=Inertia())
    client.until(lambda: moves_as(client, robot, robot))
    assert client.description() == urdf_text(robot)


def test_of_messages_that_come_together_the_last_one_counts(client: Client, rng: np.random.Generator) -> None:
    """What a hand takes up and puts down at once, it does not hold: the second message says what is so already."""
    carry(client, left=Inertia(), right=Inertia())
    body = random_body(rng)
    for _ in range(10):
        tell(client, 'left', message(body))
        tell(client, 'left', message(Inertia()))
    tell(client, 'right', message(body))
    client.until(lambda: client.get('right.payload.mass') == body.m, why='the last message')
    assert client.get('left.payload.mass') == 0
    carry(client, right=Inertia())


@pytest.mark.parametrize('frame', ['', 'R10l', 'R7l', 'R0'])
def test_a_message_in_any_frame_sets_the_parameters(
    client: Client, robot: Robot, rng: np.random.Generator, frame: str
) -> None:
    body, q = random_body(rng), random_states(robot, 1, 42).q[0]
    lagrangian = Lagrangian(robot)
    (R, p), (R_frame, p_frame) = lagrangian.pose(q, 'R10l'), lagrangian.pose(q, frame or 'R10l')
    com, turn = R.T @ (p_frame + R_frame @ body.com - p), R.T @ R_frame
    expected = Inertia.about_com(body.m, com, turn @ body.I_G @ turn.T)
    client.ask(robot.joint_names, q, (), 'torque/gravity')
    tell(client, 'left', message(body, frame))
    client.until(lambda: client.get('left.payload.mass') == pytest.approx(body.m))
    np.testing.assert_allclose(client.get('left.payload.com'), com, atol=1e-9)
    np.testing.assert_allclose(client.get('left.payload.inertia'), values(expected)['inertia'], atol=1e-9)
    client.until(lambda: moves_as(client, robot, laden(robot, left=expected)))
    tell(client, 'left', message(Inertia(), frame))
    client.until(lambda: client.get('left.payload.mass') == 0.0)


def bad_messages() -> dict[str, tuple[InertiaStamped, str]]:
    good = Inertia.about_com(2.0, np.array([0.0, 0.0, 0.1]), np.diag([0.01, 0.01, 0.01]))
    told = {name: message(good) for name in ('nan', 'negative mass', 'impossible inertia', 'unknown frame', 'no mass')}
    told['nan'].inertia.com.x = float('nan')
    told['negative mass'].inertia.m = -2.0
    told['impossible inertia'].inertia.izz = 0.5
    told['unknown frame'].header.frame_id = 'R10'
    told['no mass'].inertia.m = float('inf')
    reasons = ('must be finite', 'negative mass', 'triangle inequality', "did you mean 'R10", 'must be finite')
    return dict(zip(told, zip(told.values(), reasons, strict=True), strict=True))


@pytest.mark.parametrize('name', ['nan', 'negative mass', 'impossible inertia', 'unknown frame', 'no mass'])
def test_a_payload_that_cannot_be_is_refused_and_the_old_one_stays(
    client: Client, robot: Robot, rng: np.random.Generator, name: str
) -> None:
    body = random_body(rng)
    carry(client, right=body)
    told, reason = bad_messages()[name]

    def refused() -> bool:
        status = client.diagnostics.get('payload right')
        return bool(status) and reason in {pair.key: pair.value for pair in status.values}['last refusal']

    client.until(refused, lambda: tell(client, 'right', told))
    assert client.get('right.payload.mass') == body.m
    client.until(lambda: moves_as(client, robot, laden(robot, right=body), 1))
    assert not client.set_together(right__payload__inertia=[1.0, 0.0, 0.0, 0.1, 0.0, 0.1]).successful
    assert not client.set(right__payload__mass=-1.0)[0].successful
    carry(client, right=Inertia())


@pytest.mark.parametrize('raw', [b'garbage', b'\0\1\0\0' + b'\xff' * 80, b'\0\1\0\0' + b'\0' * 8])
def test_bytes_that_are_no_message_are_counted(client: Client, raw: bytes) -> None:
    def refused() -> int:
        status = client.until(lambda: client.diagnostics.get('payload left'))
        told = {pair.key: pair.value for pair in status.values}
        return int(told['refused']) if 'not a message' in told['last refusal'] else 0

    before = refused()
    client.until(lambda: refused() > before, lambda: client.publisher(InertiaStamped, 'payload/left').publish(raw))
    assert client.get('left.payload.mass') == 0.0


def test_one_that_comes_before_the_joints_is_kept_until_they_are_known(robot: Robot, rng: np.random.Generator) -> None:
    body, q = random_body(rng), random_states(robot, 1, 45).q[0]
    expected = dynamics_of(robot).inertia_at_link(body, 'R10l', 'R5r', q)
    with domain() as number:
        process, client = Process(number, '--ros-args', '-p', 'payload_ramp:=0.0'), Client(number)
        client.listen(*TERMS)
        client.ready()

        def waits() -> bool:
            status = client.diagnostics.get('payload left')
            return bool(status) and 'waits for all joints, given in the frame of R5r' in status.message

        client.until(waits, lambda: tell(client, 'left', message(body, 'R5r')), why='diagnostics')
        client.ask(robot.joint_names, q, 0 * q, 'torque/gravity')
        client.until(
            lambda: client.get('left.payload.mass') == pytest.approx(body.m),
            lambda: client.send_state(robot.joint_names, q, 0 * q),
            why='the payload',
        )
        np.testing.assert_allclose(client.get('left.payload.com'), expected.com, atol=1e-9)
        client.until(lambda: moves_as(client, robot, laden(robot, left=expected)))
        client.close()
        assert process.end() == 0, process.output


def test_a_change_is_ramped_in_the_ten_parameters(client: Client, robot: Robot, rng: np.random.Generator) -> None:
    body, q = random_body(rng), random_states(robot, 1, 43).q[0]
    empty, full = Lagrangian(robot).Q(q), Lagrangian(laden(robot, left=body)).Q(q)
    client.until(lambda: moves_as(client, robot, robot, 1))
    client.set(payload_ramp=0.4)
    client.received['torque/gravity'].clear()
    carry(client, left=body)

    def arrived() -> bool:
        return np.allclose(effort(client.ask(robot.joint_names, q, (), 'torque/gravity')), full, rtol=1e-9)

    client.until(arrived)
    seen = np.array([effort(one) for one in client.received['torque/gravity']])
    shares = (seen - empty) @ (full - empty) / ((full - empty) @ (full - empty))
    assert (np.diff(shares) >= -1e-12).all()
    assert ((shares > 0.01) & (shares < 0.99)).any()
    np.testing.assert_allclose(seen, empty + np.outer(shares, full - empty), rtol=1e-9, atol=1e-9)
    client.set(payload_ramp=0.0)
    carry(client, left=Inertia())
    client.until(lambda: moves_as(client, robot, robot, 1))


def test_a_thousand_messages_a_second_do_not_hurt(client: Client, robot: Robot, rng: np.random.Generator) -> None:
    bodies = itertools.cycle([random_body(rng) for _ in range(7)])
    last = random_body(rng)
    client.received['torque/gravity'].clear()

    def storm() -> None:
        for _ in range(100):
            tell(client, 'left', message(next(bodies)))
        client.send_state(robot.joint_names, np.zeros(17), np.zeros(17))

    client.until(lambda: len(client.received['torque/gravity']) > 15, storm)

    def settles() -> bool:
        tell(client, 'left', message(last))
        return client.get('left.payload.mass') == pytest.approx(last.m)

    client.until(settles)
    client.until(lambda: moves_as(client, robot, laden(robot, left=last), 1))
    carry(client, left=Inertia())


def test_a_payload_of_a_parameter_file_is_there_from_the_first_state(tmp_path: Path) -> None:
    robot, body = krang(), random_body(np.random.default_rng(8))
    given = {'left': {'payload': values(body)}}
    path = tmp_path / 'payload.yaml'
    path.write_text(yaml.safe_dump({'/**': {'ros__parameters': given}}))
    with domain() as number:
        process, client = Process(number, '--ros-args', '--params-file', str(path)), Client(number)
        client.listen(*TERMS)
        client.ready()
        q, dq, _ = random_states(robot, 1, 44)
        first = client.ask(robot.joint_names, q[0], dq[0], 'torque/gravity')
        np.testing.assert_allclose(effort(first), Lagrangian(laden(robot, left=body)).Q(q[0]), rtol=1e-9, atol=1e-9)
        client.close()
        assert process.end() == 0, process.output


def test_a_payload_file_that_cannot_be_ends_the_node_with_a_word() -> None:
    with domain() as number:
        words = ['-p', 'left.payload.mass:=1.0', '-p', 'left.payload.inertia:=[1.0, 0.0, 0.0, 0.1, 0.0, 0.1]']
        process = Process(number, '--ros-args', *words)
        assert process.wait() == 1
        assert 'left.payload' in process.output
        assert 'Traceback' not in process.output
