"""Wrist sensors of the running node, over DDS: bias, tool, dead band and zero, against the report's frames by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from std_srvs.srv import Trigger

from krang_dynamics_ros import Lagrangian, Robot
from krang_dynamics_ros.check.witnesses import random_states

from ..ros import Client, Process, answer, domain, effort

BIAS = [4.0, -3.0, 2.0, 0.3, -0.2, 0.1]
MASS, COM = 1.6, np.array([0.01, -0.02, 0.09])
TOUCH = np.array([20.0, -10.0, 5.0, 1.0, -2.0, 3.0])  # what contact alone would read
Q = np.linspace(-0.8, 0.8, 17)


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    words = ['left.sense:=applied_on_robot', 'wrench_timeout:=0.5', 'state_timeout:=5.0', 'total_terms:=[wrench]']
    with domain() as number:
        process = Process(number, '--ros-args', *(word for given in words for word in ('-p', given)))
        client = Client(number)
        client.listen('torque/wrench', 'torque/total', 'wrench/left/compensated', 'wrench/right/compensated')
        client.ready()
        yield client
        client.close()
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


def set_sensor(client: Client, side: str, bias: Any = BIAS, mass: float = MASS, band: Any = (0.0, 0.0)) -> None:
    values = {'sensor__bias': list(bias), 'tool__mass': mass, 'tool__com': COM.tolist(), 'sensor__deadband': list(band)}
    assert client.set_together(**{f'{side}__{key}': value for key, value in values.items()}).successful


def weight(robot: Robot, q: np.ndarray, side: str, frame: str) -> np.ndarray:
    """What gravity, the world, does to the tool: by the report's frames, about the frame's origin."""
    lagrangian = Lagrangian(robot)
    R, origin = lagrangian.pose(q, f'R10{side[0]}')
    axes, about = lagrangian.pose(q, frame or f'R10{side[0]}')
    force = MASS * np.asarray(robot.gravity)
    return np.concatenate([axes.T @ force, axes.T @ np.cross(origin + R @ COM - about, force)])


@pytest.mark.parametrize(('side', 'frame'), [('left', ''), ('right', 'R10r'), ('left', 'R0'), ('right', 'R7l')])
def test_a_reading_means_contact_only(client: Client, robot: Robot, side: str, frame: str) -> None:
    set_sensor(client, side)
    sign = -1 if side == 'left' else 1  # the world's, the robot's
    lagrangian = Lagrangian(robot)
    for q in random_states(robot, 2, 5).q:
        reading = TOUCH + BIAS - sign * weight(robot, q, side, frame)
        R, origin = lagrangian.pose(q, frame or f'R10{side[0]}')
        force = R @ TOUCH[:3]
        moment = R @ TOUCH[3:] + np.cross(origin - lagrangian.pose(q, f'R10{side[0]}')[1], force)
        expected = sign * lagrangian.jacobian(q, f'R10{side[0]}').T @ np.concatenate([force, moment])

        def say(side: str = side, reading: np.ndarray = reading) -> None:
            client.send_wrench(side, reading, frame)

        def right(q: np.ndarray = q, expected: np.ndarray = expected, say: Callable[[], None] = say) -> bool:
            messages = client.ask(robot.joint_names, q, (), 'torque/wrench', 'torque/total', before=say)
            return all(np.allclose(effort(message), expected, rtol=1e-9, atol=1e-9) for message in messages)

        client.until(right)
        assert contact(client, robot, q, side, reading, frame) == pytest.approx(TOUCH, abs=1e-9)


def contact(client: Client, robot: Robot, q: Any, side: str, reading: Any, frame: str = '') -> list[float]:
    """Return what is published of a reading at a pose."""
    topic, sent = f'wrench/{side}/compensated', []

    def say() -> None:
        client.ask(robot.joint_names, q, np.zeros(17), 'torque/wrench')
        stamp = client.stamp()
        client.send_wrench(side, reading, frame, stamp)
        sent.append(stamp)

    def heard() -> Any:
        return next((found for stamp in sent if (found := answer(client.received[topic], stamp))), None)

    message = client.until(heard, say, topic)
    assert message.header.frame_id == frame
    f, m = message.wrench.force, message.wrench.torque
    return [f.x, f.y, f.z, m.x, m.y, m.z]


def zero(client: Client, side: str, doing: Callable[[], Any] | None = None) -> Any:
    return client.call(f'/wrench/{side}/zero', Trigger, Trigger.Request(), doing)


def stand(
    client: Client, robot: Robot, reading: Callable[[], Any], dq: Any, seconds: float = 0.0, enough: Any = None
) -> Any:
    """Let the left hand be so for a while, or ask for zero until the answer is what is waited for."""
    begin = client.node.get_clock().now().nanoseconds
    answers: list[Any] = []

    def say() -> None:
        client.send_state(robot.joint_names, Q, dq)
        client.send_wrench('left', reading())
        client.spin(0.01)

    def done() -> Any:
        if client.node.get_clock().now().nanoseconds - begin < seconds * 1e9:
            return None
        if enough is None:
            return True
        answers.append(zero(client, 'left', say))
        return answers[-1] if enough(answers[-1]) else None

    return client.until(done, say, 'the answer to zero')


def test_zero_takes_the_bias_and_leaves_the_weight(client: Client, robot: Robot) -> None:
    set_sensor(client, 'left', bias=[0.0] * 6)
    reading = np.array(BIAS) + weight(robot, Q, 'left', '')
    done = stand(client, robot, lambda: reading, np.zeros(17), 0.6, lambda answer: answer.success)
    assert 'left.sensor.bias is' in done.message
    np.testing.assert_allclose(client.get('left.sensor.bias'), BIAS, atol=1e-9)
    assert client.get('left.tool.mass') == MASS
    assert contact(client, robot, Q, 'left', reading) == pytest.approx(np.zeros(6), abs=1e-9)
    turned = np.roll(Q, 5)
    there = np.array(BIAS) + weight(robot, turned, 'left', '')
    assert contact(client, robot, turned, 'left', there) == pytest.approx(np.zeros(6), abs=1e-9)


def test_zero_is_refused_while_joints_move_or_readings_spread_or_stop(
    client: Client, robot: Robot, rng: np.random.Generator
) -> None:
    set_sensor(client, 'left')
    moving = np.zeros(17)
    moving[5] = 0.4
    still, calm, restless = np.zeros(17), (lambda: np.zeros(6)), (lambda: rng.normal(size=6) * 20)
    stand(client, robot, calm, moving, 0.6, lambda no: f'{robot.joint_names[5]} moves' in no.message and not no.success)
    stand(client, robot, restless, still, 0.6, lambda no: 'readings have a noise' in no.message and not no.success)
    stand(client, robot, calm, still, 0.6)
    client.silent('torque/wrench', seconds=0.4)  # the sensor stops
    assert 'no readings' in zero(client, 'left').message
    assert 'no readings' in zero(client, 'right').message
    assert client.get('left.sensor.bias') == pytest.approx(BIAS)


def test_a_dead_band_shrinks_each_axis(client: Client, robot: Robot) -> None:
    set_sensor(client, 'right', bias=[0.0] * 6, mass=0.0, band=[6.0, 1.5])
    np.testing.assert_allclose(contact(client, robot, Q, 'right', TOUCH), [14, -4, 0, 0, -0.5, 1.5], atol=1e-12)


def test_impossible_sensor_parameters_are_refused(client: Client) -> None:
    set_sensor(client, 'left')
    nan = float('nan')
    for bad in (
        {'left__sensor__bias': [0.0] * 5}, {'left__sensor__bias': [nan] * 6}, {'left__tool__mass': -1.0},
        {'left__tool__mass': nan}, {'left__tool__com': [0.0, 0.0]}, {'left__sensor__deadband': [-1.0, 0.0]},
    ):  # fmt: skip
        result = client.set(**bad)[0]
        assert not result.successful
        assert result.reason
    assert client.get('left.sensor.bias') == BIAS


def test_without_the_joints_there_is_no_compensated_reading(client: Client) -> None:
    client.set(state_timeout=0.05)
    client.silent('wrench/left/compensated', seconds=0.2)
    for _ in range(10):
        client.send_wrench('left', TOUCH)
        client.spin(0.02)
    assert client.silent('wrench/left/compensated')
    client.set(state_timeout=5.0)
