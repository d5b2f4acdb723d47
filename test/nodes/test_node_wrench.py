"""Wrenches in every kind of frame and both signs, on the running node, against the Lagrangian."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from krang_dynamics_ros import Lagrangian, Robot
from krang_dynamics_ros.check.witnesses import random_states

from ..ros import Client, Process, domain, effort

FRAMES = ['', 'R10l', 'R10r', 'R0', 'R1', 'R3', 'R7l', 'R6r']


@pytest.fixture(scope='module', params=[('applied_by_robot', 'frame'), ('applied_on_robot', 'hand')], ids='-'.join)
def meaning(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture(scope='module')
def client(meaning: tuple[str, str]) -> Iterator[Client]:
    sense, about = meaning
    words = [
        f'{side}.{key}:={value}'
        for side in ('left', 'right')
        for key, value in (('sense', sense), ('moment_about', about))
    ]
    with domain() as number:
        process = Process(
            number, '--ros-args', *(word for given in words for word in ('-p', given)), '-p', 'wrench_timeout:=5.0'
        )
        client = Client(number)
        client.listen('torque/wrench', 'torque/total')
        client.ready()
        yield client
        client.close()
        assert process.end() == 0, process.output


def reference(
    robot: Robot, q: np.ndarray, meaning: tuple[str, str], wrenches: dict[str, tuple[np.ndarray, str]]
) -> np.ndarray:
    """J^T f by the report's Jacobian, each wrench moved by hand: f into base axes, r x F added where it is due."""
    lagrangian, torque = Lagrangian(robot), np.zeros(robot.n)
    sense, about = meaning
    for side, (numbers, frame) in wrenches.items():
        hand = f'R10{side[0]}'
        R, origin = lagrangian.pose(q, frame or hand)
        force, moment = R @ numbers[:3], R @ numbers[3:]
        if about == 'frame':
            moment = moment + np.cross(origin - lagrangian.pose(q, hand)[1], force)
        sign = 1 if sense == 'applied_by_robot' else -1
        torque += sign * lagrangian.jacobian(q, hand).T @ np.concatenate([force, moment])
    return torque


@pytest.mark.parametrize('frame', FRAMES, ids=lambda f: f or 'empty')
def test_one_hand(client: Client, robot: Robot, meaning: tuple[str, str], frame: str, rng: np.random.Generator) -> None:
    for side in ('left', 'right'):
        q, numbers = random_states(robot, 1, 31).q[0], rng.normal(size=6) * 20
        other = 'right' if side == 'left' else 'left'
        expected = reference(robot, q, meaning, {side: (numbers, frame)})

        def push(side: str = side, other: str = other, numbers: np.ndarray = numbers) -> None:
            client.send_wrench(side, numbers, frame)
            client.send_wrench(other, np.zeros(6))
            client.spin(0.01)

        client.until(lambda q=q, push=push, e=expected: close(client, robot, q, push, e))
        assert np.abs(expected).max() > 1


def test_both_hands_add_up_and_stay_out_of_the_total(client: Client, robot: Robot, meaning: tuple[str, str]) -> None:
    q = random_states(robot, 1, 32).q[0]
    both = {'left': (np.arange(1.0, 7), 'R0'), 'right': (np.arange(6.0, 0, -1), 'R10r')}

    def push() -> None:
        for side, (numbers, frame) in both.items():
            client.send_wrench(side, numbers, frame)
        client.spin(0.01)

    client.until(lambda: close(client, robot, q, push, reference(robot, q, meaning, both)))
    total = client.ask(robot.joint_names, q, (), 'torque/total', before=push)
    np.testing.assert_allclose(effort(total), Lagrangian(robot).Q(q), atol=1e-9)


def close(client: Client, robot: Robot, q: np.ndarray, push: object, expected: np.ndarray) -> bool:
    message = client.ask(robot.joint_names, q, (), 'torque/wrench', before=push)
    return bool(np.allclose(effort(message), expected, rtol=1e-9, atol=1e-9))
