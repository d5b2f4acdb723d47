"""Commands of the running node, over DDS: nothing before it is asked for, limits, blends, and zero at the end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from std_msgs.msg import Empty, Float64MultiArray
from std_srvs.srv import SetBool

from krang_dynamics_ros import Lagrangian, Robot

from .ros import Client, Process, domain

JOINTS = ('q_4l', 'q_1l')
Q = np.linspace(-0.8, 0.8, 17)
RAMP = 0.5


@pytest.fixture
def process_and_client(robot: Robot) -> Iterator[tuple[Process, Client]]:
    words = [f'command_joints:=[{", ".join(JOINTS)}]', f'command_ramp:={RAMP}', 'state_timeout:=5.0']
    yield from started(*words)


def started(*words: str) -> Iterator[tuple[Process, Client]]:
    with domain() as number:
        process = Process(number, '--ros-args', *(word for given in words for word in ('-p', given)))
        client = Client(number)
        client.listen('effort_commands', 'torque/gravity')
        client.ready()
        yield process, client
        client.close()
        if process.process.poll() is None:
            assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


def commands(client: Client) -> np.ndarray:
    return np.array([message.data for message in client.received['effort_commands']])


def sender(client: Client, robot: Robot, **more: Any) -> Callable[[], Any]:
    return lambda: client.send_state(robot.joint_names, Q, np.zeros(17), **more)


def enable(client: Client, value: bool, doing: Callable[[], Any] | None = None) -> Any:
    if doing:
        client.until(lambda: client.received['torque/gravity'], doing)
    return client.call('/effort_commands/enable', SetBool, SetBool.Request(data=value), doing)


def driving(client: Client, robot: Robot) -> Callable[[], Any]:
    """Enable commands, wait until all of the torque goes out, and return what says the robot's state."""
    say = sender(client, robot)
    assert enable(client, True, say).success
    client.until(reaches(client, gravity(robot)), say)
    return say


def said(client: Client) -> str:
    status = client.diagnostics.get('effort commands')
    return status.message if status else ''


def gravity(robot: Robot) -> np.ndarray:
    index = [robot.joint_names.index(name) for name in JOINTS]
    return Lagrangian(robot).Q(Q)[index]


def reaches(client: Client, target: np.ndarray) -> Callable[[], bool]:
    return lambda: len(commands(client)) > 0 and bool(np.allclose(commands(client)[-1], target, atol=1e-9))


def test_commands_come_in_from_the_measured_efforts_and_go_back_to_zero(
    process_and_client: tuple[Process, Client], robot: Robot
) -> None:
    _, client = process_and_client
    measured = np.full(17, 7.0)
    say = sender(client, robot, effort=measured)
    client.until(lambda: len(client.received['torque/gravity']) > 5, say)
    assert not client.received['effort_commands']
    answer = enable(client, True, say)
    assert (answer.success, answer.message) == (True, 'enabled')
    assert client.get('command_enabled') is True
    target = gravity(robot)
    client.until(reaches(client, target), say)
    came = commands(client)
    between = (came - 7.0) / (target - 7.0)
    assert ((between > -1e-9) & (between < 1 + 1e-9)).all()
    assert (np.diff(between[:, 0]) >= -1e-12).all()
    assert between[0, 0] < 0.9  # it did not begin at the end
    client.received['effort_commands'].clear()
    assert enable(client, False).success
    client.until(reaches(client, np.zeros(2)), say)
    went = commands(client) / target
    assert (np.diff(went[:, 0]) <= 1e-12).all()
    assert client.silent('effort_commands')
    assert client.get('command_enabled') is False


def test_disabled_during_the_ramp_it_never_gets_there(process_and_client: tuple[Process, Client], robot: Robot) -> None:
    _, client = process_and_client
    say = sender(client, robot)
    client.set(command_ramp=10.0)
    assert enable(client, True, say).success
    client.until(lambda: len(commands(client)) > 3 and commands(client)[-1].any(), say)
    client.set(command_ramp=RAMP)
    assert client.set(command_enabled=False)[0].successful
    client.until(reaches(client, np.zeros(2)), say)
    assert (np.abs(commands(client)) < np.abs(gravity(robot))).all()
    assert client.silent('effort_commands')


def test_when_joint_states_stop_it_ends_at_zero_says_so_and_must_be_enabled_again(
    process_and_client: tuple[Process, Client], robot: Robot
) -> None:
    process, client = process_and_client
    say = driving(client, robot)
    client.set(state_timeout=0.2)
    client.until(reaches(client, np.zeros(2)))  # the robot says nothing any more
    assert client.silent('effort_commands')
    client.until(lambda: 'disabled itself: no torques' in said(client))
    assert client.get('command_enabled') is False
    assert 'effort_commands disabled: no torques' in process.output
    client.set(state_timeout=5.0)
    client.received['effort_commands'].clear()
    client.received['torque/gravity'].clear()
    client.until(lambda: len(client.received['torque/gravity']) > 3, say)
    assert not client.received['effort_commands']
    assert enable(client, True, say).success
    client.until(reaches(client, gravity(robot)), say)


def test_limits_hold_and_the_joint_that_is_cut_is_named(
    process_and_client: tuple[Process, Client], robot: Robot
) -> None:
    _, client = process_and_client
    assert client.get('command_limits') == [60.0, 120.0]  # the URDF's
    wanted, say = gravity(robot), sender(client, robot)
    limits = [abs(wanted[0]) / 2, 120.0]
    assert client.set(command_limits=limits)[0].successful
    assert enable(client, True, say).success
    client.until(reaches(client, np.clip(wanted, -np.array(limits), limits)), say)
    assert (np.abs(commands(client)) <= limits).all()
    client.until(lambda: 'cut to the limit: q_4l' in said(client), say)
    for bad in ([1.0], [-1.0, 1.0], [float('nan'), 1.0], [float('inf'), 1.0]):
        assert not client.set(command_limits=bad)[0].successful


def test_what_cannot_be_enabled_is_refused_with_the_reason(
    process_and_client: tuple[Process, Client], robot: Robot
) -> None:
    _, client = process_and_client
    answer = enable(client, True)
    assert (answer.success, client.get('command_enabled')) == (False, False)
    assert 'joint states must come first' in answer.message
    client.set(total_terms=['gravity', 'friction'])

    def blind() -> None:
        client.send_state(robot.joint_names, Q)

    answer = enable(client, True, blind)
    assert not answer.success
    assert 'velocities' in answer.message
    client.set(total_terms=['gravity'], command_limits=[0.0, 10.0])
    answer = enable(client, True, blind)
    assert not answer.success
    assert 'no effort limit is known of q_4l' in answer.message
    assert not client.received['effort_commands']


def test_a_node_that_ends_takes_its_commands_back(process_and_client: tuple[Process, Client], robot: Robot) -> None:
    process, client = process_and_client
    driving(client, robot)
    process.process.send_signal(signal.SIGINT)
    client.until(reaches(client, np.zeros(2)))
    assert process.wait() == 0


@pytest.mark.parametrize('falling', [False, True])
def test_a_node_that_ends_takes_them_back_before_it_is_killed_however_long_the_ramp(
    process_and_client: tuple[Process, Client], robot: Robot, falling: bool
) -> None:
    process, client = process_and_client
    target, say = gravity(robot), sender(client, robot)
    assert enable(client, True, say).success
    client.until(reaches(client, target), say)
    client.set(command_ramp=10.0)
    if falling:
        assert enable(client, False, say).success
    process.process.send_signal(signal.SIGINT)
    client.until(reaches(client, np.zeros(2)))
    assert process.wait() == 0
    assert 'still waiting' not in process.output
    shares = commands(client)[:, 0] / target[0]
    down = shares[int(np.argmax(shares)) :]
    assert (np.diff(down) <= 1e-12).all()
    assert ((down > 0.1) & (down < 0.9)).any()  # not at once


BROKEN = """
import sys
from std_msgs.msg import Empty
from krang_dynamics_ros.nodes.dynamics_node import DynamicsNode
from krang_dynamics_ros.nodes.run import run

class Broken(DynamicsNode):
    def __init__(self):
        super().__init__()
        self.create_subscription(Empty, 'break', lambda _: 1 / 0, 1)

sys.exit(run(Broken))
"""


def test_a_node_that_fails_takes_its_commands_back(robot: Robot) -> None:
    with domain() as number:
        words = ('-p', f'command_joints:=[{", ".join(JOINTS)}]', '-p', f'command_ramp:={RAMP}')
        process, client = Process(number, '--ros-args', *words, code=BROKEN), Client(number)
        client.set(state_timeout=5.0)
        client.listen('effort_commands', 'torque/gravity')
        client.ready()
        driving(client, robot)
        client.publisher(Empty, 'break').publish(Empty())
        client.until(reaches(client, np.zeros(2)))
        client.close()
        assert process.wait() == 1
        assert 'ZeroDivisionError' in process.output


def test_nothing_rises_for_nobody_and_nobody_begins_in_the_middle(robot: Robot) -> None:
    with domain() as number:
        words = ('-p', f'command_joints:=[{", ".join(JOINTS)}]', '-p', 'state_timeout:=5.0', '-p', 'command_ramp:=2.0')
        process, client = Process(number, '--ros-args', *words), Client(number)
        client.listen('torque/gravity')
        client.ready()
        target, say = gravity(robot), sender(client, robot)
        answer = enable(client, True, say)
        assert (answer.success, answer.message) == (
            False, 'command_enabled: nobody listens to effort_commands; start the controller first',
        )  # fmt: skip
        for times in (1, 2):
            came: list[Float64MultiArray] = []
            controller = client.node.create_subscription(Float64MultiArray, 'effort_commands', came.append, 100)
            client.until(
                lambda: client.call('/effort_commands/enable', SetBool, SetBool.Request(data=True)).success, say
            )
            client.until(lambda came=came: came and np.allclose(came[-1].data, target), say)
            assert (np.abs(came[0].data) < np.abs(target) / 2).all()
            client.node.destroy_subscription(controller)
            gone = 'disabled: nobody listens to effort_commands any more'
            client.until(lambda gone=gone, times=times: process.output.count(gone) == times, say)
            assert client.get('command_enabled') is False
        late: list[Float64MultiArray] = []
        client.node.create_subscription(Float64MultiArray, 'effort_commands', late.append, 100)
        client.until(lambda: client.node.count_publishers('effort_commands'), say)
        client.received['torque/gravity'].clear()
        client.until(lambda: len(client.received['torque/gravity']) > 50, say)
        assert not late
        client.close()
        assert process.end() == 0, process.output


def test_another_node_that_gives_commands_is_named_and_both_do_not_drive(
    process_and_client: tuple[Process, Client], robot: Robot
) -> None:
    process, client = process_and_client
    say = driving(client, robot)
    other = client.node.create_publisher(Float64MultiArray, 'effort_commands', 1)
    client.until(reaches(client, np.zeros(2)), say)
    client.until(lambda: 'disabled itself: effort_commands come from /client too' in said(client), say)
    assert 'effort_commands disabled: effort_commands come from /client' in process.output
    answer = enable(client, True, say)
    assert not answer.success
    assert 'come from /client too; end all but one' in answer.message
    client.node.destroy_publisher(other)
    client.until(lambda: enable(client, True, say).success)
    client.until(reaches(client, gravity(robot)), say)


def test_without_joints_to_command_there_is_nothing_to_enable() -> None:
    with domain() as number:
        process, client = Process(number), Client(number)
        answer = client.call('/effort_commands/enable', SetBool, SetBool.Request(data=True))
        assert not answer.success
        assert 'command_joints' in answer.message
        client.close()
        assert process.end() == 0, process.output


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['command_enabled:=true'], 'command_enabled: no joints to command'),
        (['command_joints:=[q_1l]', 'command_limits:=[0.0]', 'command_enabled:=true'], 'no effort limit is known'),
        (['command_joints:=[q_1l]', 'command_limits:=[1.0, 2.0]'], 'command_limits: [1.0, 2.0], must be 1 finite'),
    ],
)
def test_a_node_that_could_never_enable_does_not_start(words: list[str], message: str) -> None:
    with domain() as number:
        process = Process(number, '--ros-args', *(word for given in words for word in ('-p', given)))
        assert process.wait() == 1
        assert message in process.output
        assert 'Traceback' not in process.output


def test_enabled_by_a_parameter_file_it_rises_with_the_first_state(robot: Robot) -> None:
    words = ['command_joints:=[q_4l, q_1l]', 'command_enabled:=true', 'command_ramp:=0.2', 'state_timeout:=5.0']
    for _, client in started(*words):
        client.until(reaches(client, gravity(robot)), sender(client, robot))


def test_enabled_by_a_parameter_file_it_waits_for_who_listens(robot: Robot) -> None:
    with domain() as number:
        words = ('-p', f'command_joints:=[{", ".join(JOINTS)}]', '-p', 'state_timeout:=5.0', '-p', 'command_ramp:=2.0')
        process, client = Process(number, '--ros-args', *words, '-p', 'command_enabled:=true'), Client(number)
        say = sender(client, robot)
        client.until(lambda: 'enabled, and waiting: nobody listens' in said(client), say)
        client.listen('effort_commands')
        client.until(reaches(client, gravity(robot)), say)
        assert (np.abs(commands(client)[0]) < np.abs(gravity(robot)) / 2).all()
        client.close()
        assert process.end() == 0, process.output
