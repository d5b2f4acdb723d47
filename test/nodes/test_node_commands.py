"""Commands of the running node, over DDS: nothing before they are enabled, limits, and zero however the node ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty, Float64MultiArray, String
from std_srvs.srv import SetBool

from krang_dynamics_ros import Lagrangian, Robot, urdf_text
from krang_dynamics_ros.nodes.dynamics.real_time import NODE_PRIORITY, SENDER_PRIORITY
from krang_dynamics_ros.nodes.topics import LATCHED

from ..marks import slow_but
from ..ros import Client, Process, domain

JOINTS = ('q_4l', 'q_1l')
Q = np.linspace(-0.8, 0.8, 17)
Q[1] = 0.5  # within its limits
RAMP = 0.5
WORDS = (f'command_joints:=[{", ".join(JOINTS)}]', f'command_ramp:={RAMP}', 'state_timeout:=5.0')


def given(*words: str) -> list[str]:
    return ['--ros-args', *(part for word in words for part in ('-p', word))]


class Driven:
    """A node, and a client that is its robot and its controller."""

    def __init__(self, number: int, robot: Robot, *words: str, code: str = '') -> None:
        self.number, self.robot = number, robot
        self.process, self.client = Process(number, *given(*(words or WORDS)), code=code), Client(number)
        self.client.listen('effort_commands', 'torque/gravity')
        self.client.ready()
        index = [robot.joint_names.index(name) for name in JOINTS]
        self.gravity = Lagrangian(robot).Q(Q)[index]

    def say(self, **more: Any) -> None:
        self.client.send_state(self.robot.joint_names, Q, np.zeros(17), **more)

    @property
    def commands(self) -> np.ndarray:
        return np.array([message.data for message in self.client.received['effort_commands']])

    @property
    def status(self) -> str:
        status = self.client.diagnostics.get('effort commands')
        return status.message if status else ''

    def ask(self, value: bool = True, doing: Callable[[], Any] | None = None) -> Any:
        request = SetBool.Request(data=value)
        return self.client.call('/effort_commands/enable', SetBool, request, doing or self.say)

    def enable(self) -> str:
        """Enable, again while the sender or a name is still on its way; return the answer."""
        answers = [self.ask()]
        self.client.until(lambda: answers[-1].success or answers.append(self.ask()), self.say)
        return str(answers[-1].message)

    def refused(self, words: str) -> None:
        """Wait until enabling is refused for this reason."""
        self.client.until(lambda: words in self.ask().message, self.say, words)

    def reaches(self, target: Any) -> Callable[[], bool]:
        return lambda: len(self.commands) > 0 and bool(np.allclose(self.commands[-1], target, atol=1e-9))

    def on(self, target: Any = None) -> Driven:
        """Enable commands and wait for all of the torque; again where a busy machine has ended them by a fault."""
        self.enable()
        self.client.until(
            self.reaches(self.gravity if target is None else target),
            self._go_on,
            f'not all of the torque: {self.process.output}',
        )
        return self

    def _go_on(self) -> None:
        self.say()
        if 'ended by a fault' in self.status:
            self.ask()

    def falls(self) -> np.ndarray:
        """Wait for zero; return the shares of the torque that went out on the way."""
        self.client.until(self.reaches(np.zeros(2)))
        shares = self.commands[:, 1] / self.gravity[1]
        return shares[int(np.flatnonzero(shares > 1 - 1e-9)[-1]) :]


@pytest.fixture
def driven(robot: Robot) -> Iterator[Driven]:
    with domain() as number:
        started = Driven(number, robot)
        yield started
        started.client.close()
        if started.process.process.poll() is None:
            assert started.process.end() == 0, started.process.output
        assert 'Traceback' not in started.process.output.replace('ZeroDivisionError', '')


def gradual(shares: np.ndarray) -> bool:
    """Return whether a fall never rose and came by way of what lies between."""
    return bool((np.diff(shares) <= 1e-9).all() and ((shares > 0.2) & (shares < 0.8)).any())


# Enabling -------------------------------------------------------------------------------------------------------------


def test_commands_come_in_from_the_measured_efforts_and_go_back_to_zero(driven: Driven) -> None:
    client = driven.client
    effort = 0.8 * Lagrangian(driven.robot).Q(Q)
    say = lambda: driven.say(effort=effort)  # noqa: E731
    client.until(lambda: len(client.received['torque/gravity']) > 5, say)
    assert not len(driven.commands)
    answers: list[Any] = []
    client.until(lambda: answers.append(driven.ask(doing=say)) or answers[-1].success, say, str(answers))
    assert answers[-1].message.startswith('enabled for /client; from the measured efforts; the order of its joints')
    assert client.get('command_enabled') is True
    client.until(driven.reaches(driven.gravity), say)
    shares = driven.commands / driven.gravity
    assert ((shares > 0.8 - 1e-9) & (shares < 1 + 1e-9)).all()
    assert (np.diff(shares[:, 1]) >= -1e-12).all()
    assert shares[0, 1] < 0.95
    client.received['effort_commands'].clear()
    assert driven.ask(False, say).success
    client.until(driven.reaches(np.zeros(2)), say)
    client.until(lambda: driven.status == 'off', say)
    assert client.silent('effort_commands')
    assert client.get('command_enabled') is False


def test_a_parameter_ends_commands_and_never_begins_them(driven: Driven) -> None:
    client = driven.client
    result = client.set(command_enabled=True)[0]
    assert not result.successful
    assert 'the service effort_commands/enable enables' in result.reason
    driven.on()
    assert client.set(command_enabled=False)[0].successful
    client.until(driven.reaches(np.zeros(2)), driven.say)
    client.until(lambda: driven.status == 'off', driven.say)


def test_a_parameter_file_cannot_enable(robot: Robot) -> None:
    with domain() as number:
        driven = Driven(number, robot, *WORDS, 'command_enabled:=true')
        driven.client.until(lambda: len(driven.client.received['torque/gravity']) > 200, driven.say, pause=0.004)
        assert not len(driven.commands)
        assert driven.client.get('command_enabled') is False
        assert 'is ignored; only effort_commands/enable enables' in driven.process.output
        driven.client.close()
        assert driven.process.end() == 0


def test_without_joints_to_command_there_is_nothing_to_enable() -> None:
    with domain() as number:
        process, client = Process(number), Client(number)
        answer = client.call('/effort_commands/enable', SetBool, SetBool.Request(data=True))
        assert (answer.success, answer.message) == (False, 'no joints to command: set command_joints, and start again')
        client.close()
        assert process.end() == 0, process.output


def test_limits_that_cannot_be_keep_the_node_from_starting() -> None:
    with domain() as number:
        process = Process(number, *given('command_joints:=[q_1l]', 'command_limits:=[1.0, 2.0]'))
        assert process.wait() == 1
        assert 'command_limits: [1.0, 2.0], must be 1 finite' in process.output
        assert 'Traceback' not in process.output


def test_limits_hold_and_the_joint_that_is_cut_is_named(driven: Driven) -> None:
    client = driven.client
    assert client.get('command_limits') == [60.0, 120.0]  # the URDF's
    limits = [abs(driven.gravity[0]) / 2, 120.0]
    assert client.set(command_limits=limits)[0].successful
    driven.on(np.clip(driven.gravity, -np.array(limits), limits))
    assert (np.abs(driven.commands) <= limits).all()
    client.until(lambda: 'q_4l is cut to its limit' in driven.status, driven.say)
    assert 'disable first' in client.set(command_limits=[60.0, 120.0])[0].reason


# Whom for -------------------------------------------------------------------------------------------------------------

CONTROLLER = """
import sys, rclpy
from std_msgs.msg import Float64MultiArray
rclpy.init()
node = rclpy.create_node('arm_effort_controller')
if len(sys.argv) > 1:
    node.declare_parameter('joints', sys.argv[1].split(','))
node.create_subscription(Float64MultiArray, 'effort_commands', lambda m: print(*m.data, flush=True), 10)
print('up', flush=True)
rclpy.spin(node)
"""


def controller(number: int, *words: str) -> Process:
    return Process(number, *words, code=CONTROLLER)


def received(process: Process) -> list[list[float]]:
    lines = [line for line in process.output.splitlines() if line[:1] in '-0123456789']
    return [[float(word) for word in line.split()] for line in lines[:-1]]


@pytest.fixture
def unheard(robot: Robot) -> Iterator[Driven]:
    """A node whose commands nothing receives yet."""
    with domain() as number:
        started = object.__new__(Driven)
        started.number, started.robot = number, robot
        started.process, started.client = Process(number, *given(*WORDS)), Client(number)
        started.client.listen('torque/gravity')
        started.client.ready()
        started.gravity = Lagrangian(robot).Q(Q)[[robot.joint_names.index(name) for name in JOINTS]]
        yield started
        started.client.close()
        assert started.process.end() == 0, started.process.output


@pytest.mark.parametrize(
    ('kind', 'qos', 'words'),
    [
        (Float64MultiArray, LATCHED, 'Volatile publisher and transient local subscription; change'),
        pytest.param(
            JointState,
            QoSProfile(depth=1),
            'it subscribes to sensor_msgs/msg/JointState, must be std_msgs/msg/Float6',
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_controller_that_cannot_receive_commands_is_refused(
    unheard: Driven, kind: type, qos: QoSProfile, words: str
) -> None:
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=unheard.number)
    node = rclpy.create_node('arm_effort_controller', context=context, use_global_arguments=False)
    node.create_subscription(kind, 'effort_commands', lambda _: None, qos)
    unheard.refused(f'/arm_effort_controller cannot receive effort_commands: {words}')
    node.destroy_node()
    context.shutdown()


@pytest.mark.slow
def test_a_recorder_is_no_controller_and_a_controller_killed_and_back_begins_with_a_ramp(unheard: Driven) -> None:
    client = unheard.client
    recorder = rclpy.create_node('rosbag2_recorder', context=client.context, use_global_arguments=False)
    recorder.create_subscription(Float64MultiArray, 'effort_commands', lambda _: None, 10)
    unheard.refused('no controller subscribes')
    first = controller(unheard.number)
    assert unheard.enable().startswith('enabled for /arm_effort_controller')
    full = lambda got: len(got) > 3 and np.allclose(got[-1], unheard.gravity)  # noqa: E731
    client.until(lambda: full(received(first)), unheard.say)
    assert np.abs(received(first)[0]).max() < 0.1 * np.abs(unheard.gravity).max()
    first.process.kill()
    second = controller(unheard.number)
    client.until(lambda: 'ended by a fault' in unheard.status, unheard.say)
    unheard.client.until(lambda: unheard.ask().success, unheard.say)
    client.until(lambda: full(received(second)), unheard.say)
    largest = np.abs(received(second)).max(axis=1)
    risen = largest[np.max(np.flatnonzero(largest == 0), initial=-1) + 1 :]  # since the last zero: after the fault
    assert risen[0] < 0.1 * np.abs(unheard.gravity).max()
    recorder.destroy_node()


PATIENT = """
import sys
from krang_dynamics_ros.live import command_checks
from krang_dynamics_ros.nodes.dynamics_node import main
command_checks.ACKNOWLEDGE_TIMEOUT = 1e6
sys.exit(main())
"""
WAITS = 'zeros are sent until all subscribers have acknowledged one'


class Stopped:
    """A node that is enabled for a stopped controller; a recorder in this process keeps what is sent."""

    def __init__(self, number: int, robot: Robot, code: str = '') -> None:
        self.driven = driven = object.__new__(Driven)
        driven.number, driven.robot = number, robot
        driven.process, driven.client = Process(number, *given(*WORDS), code=code), Client(number)
        driven.client.listen('torque/gravity')
        driven.client.ready()
        driven.gravity = Lagrangian(robot).Q(Q)[[robot.joint_names.index(name) for name in JOINTS]]
        self.sent: list[np.ndarray] = []
        context = driven.client.context
        self.recorder = rclpy.create_node('rosbag2_recorder', context=context, use_global_arguments=False)
        keep = lambda message: self.sent.append(np.array(message.data))  # noqa: E731
        self.recorder.create_subscription(Float64MultiArray, 'effort_commands', keep, 100)
        driven.client.executor.add_node(self.recorder)
        self.controller = controller(number)
        words = 'publish joint states first'  # said when the controller is known
        driven.client.until(lambda: words in driven.ask(doing=lambda: None).message, why=words)
        self.controller.process.send_signal(signal.SIGSTOP)
        assert WAITS in driven.enable()

    def close(self) -> None:
        self.controller.process.kill()
        self.recorder.destroy_node()
        self.driven.client.close()
        assert self.driven.process.end() == 0, self.driven.process.output


def test_commands_stay_zero_for_a_stopped_controller_and_rise_when_it_continues(robot: Robot) -> None:
    with domain() as number:
        stopped = Stopped(number, robot, PATIENT)
        driven, client, sent = stopped.driven, stopped.driven.client, stopped.sent
        client.until(lambda: len(sent) > 10 and WAITS in driven.status, driven.say)
        assert not np.any(sent)
        stopped.controller.process.send_signal(signal.SIGCONT)
        client.until(lambda: np.allclose(sent[-1], driven.gravity), driven.say)
        shares = np.array(sent)[:, 1] / driven.gravity[1]
        assert (np.diff(shares) >= -1e-9).all()
        assert shares[shares > 0][0] < 0.1
        got = lambda: received(stopped.controller)  # noqa: E731
        client.until(lambda: got() and np.allclose(got()[-1], driven.gravity), driven.say)
        assert np.abs(got()[0]).max() < 0.1 * np.abs(driven.gravity).max()
        stopped.close()


@pytest.mark.slow
def test_a_controller_that_never_acknowledges_a_zero_gets_nothing_else_and_the_fault_names_it(robot: Robot) -> None:
    with domain() as number:
        stopped = Stopped(number, robot)
        client, driven = stopped.driven.client, stopped.driven
        client.until(lambda: 'ended by a fault' in driven.status, driven.say)
        assert 'ended by a fault: not all subscribers of effort_commands (/' in driven.status
        assert '/arm_effort_controller' in driven.status
        assert 'must be within 5 s; stop a subscriber that hangs' in driven.status
        assert not np.any(stopped.sent)
        stopped.close()


def test_a_controller_with_other_joints_is_refused(unheard: Driven) -> None:
    controller(unheard.number, 'q_1l,q_4l')
    unheard.refused('/arm_effort_controller has joints [q_1l, q_4l], command_joints is [q_4l, q_1l]')


def test_another_node_that_gives_commands_is_named_and_both_do_not_drive(driven: Driven) -> None:
    driven.on()
    other = driven.client.node.create_publisher(Float64MultiArray, 'effort_commands', 1)
    driven.client.until(driven.reaches(np.zeros(2)), driven.say)
    driven.client.until(lambda: 'effort_commands are published by /client too' in driven.status, driven.say)
    driven.refused('are published by /client too; stop all publishers but one')
    driven.client.node.destroy_publisher(other)
    driven.on()


LOOKS_WHEN_ASKED = """
import sys
from krang_dynamics_ros.nodes.dynamics import command_output
from krang_dynamics_ros.nodes.dynamics_node import main
command_output.PUBLISHERS_PERIOD = 1e6
sys.exit(main())
"""


@pytest.mark.slow
def test_enabling_looks_for_other_publishers_at_that_moment(robot: Robot) -> None:
    with domain() as number:
        driven = Driven(number, robot, *WORDS, code=LOOKS_WHEN_ASKED)
        other = driven.client.node.create_publisher(Float64MultiArray, 'effort_commands', 1)
        driven.client.until(lambda: other.get_subscription_count() > 0)
        driven.refused('are published by /client too; stop all publishers but one')
        driven.client.close()
        assert driven.process.end() == 0


def test_when_joint_states_stop_commands_end_and_must_be_enabled_again(driven: Driven) -> None:
    client = driven.client
    driven.on()
    client.set(state_timeout=0.2)
    assert gradual(driven.falls())
    client.until(lambda: 'ended by a fault: no complete joint state' in driven.status)
    assert client.get('command_enabled') is False
    assert 'effort_commands ended by a fault: no complete joint state' in driven.process.output
    client.until(lambda: driven.status and client.silent('effort_commands'))
    client.set(state_timeout=5.0)
    client.received['torque/gravity'].clear()
    client.until(lambda: len(client.received['torque/gravity']) > 3, driven.say)
    assert not len(driven.commands)
    driven.on()


# However it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'number', slow_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
)
def test_every_signal_takes_the_commands_to_zero(driven: Driven, number: signal.Signals) -> None:
    driven.on()
    driven.process.process.send_signal(number)
    assert gradual(driven.falls())
    assert driven.process.wait() == 0, driven.process.output
    assert 'still waiting' not in driven.process.output


@pytest.mark.slow
def test_while_it_ends_the_pose_is_followed(driven: Driven) -> None:
    driven.on()
    driven.process.process.send_signal(signal.SIGINT)
    away, place, client = np.zeros(17), Q.copy(), driven.client
    away[1] = 0.5
    moved = [time.monotonic()]

    def move() -> None:
        moved.append(time.monotonic())
        way = 2.0 * (moved[-1] - moved[-2])  # at 2 rad/s: no joint jumps
        place[:] += np.clip(away - place, -way, way)
        client.send_state(driven.robot.joint_names, place, np.zeros(17))

    client.until(driven.reaches(np.zeros(2)), move)
    shares = driven.commands / driven.gravity
    assert (np.abs(shares[:, 0] - shares[:, 1]) > 0.05).any()  # no longer in proportion
    assert driven.process.wait() == 0


@pytest.mark.slow
def test_however_long_the_ramp_it_ends_before_it_is_killed(robot: Robot) -> None:
    with domain() as number:
        driven = Driven(number, robot, *WORDS[::2], 'command_ramp:=10.0', 'command_start:=measured')
        effort = Lagrangian(robot).Q(Q)
        say = lambda: driven.say(effort=effort)  # noqa: E731
        driven.client.until(lambda: driven.ask(doing=say).success, say)
        driven.client.until(driven.reaches(driven.gravity), say)
        driven.process.process.send_signal(signal.SIGINT)
        assert gradual(driven.falls())
        assert driven.process.wait() == 0
        assert 'still waiting' not in driven.process.output
        driven.client.close()


def test_a_node_that_is_killed_leaves_zero_behind(driven: Driven) -> None:
    driven.on()
    driven.process.process.kill()
    assert gradual(driven.falls())
    driven.process.process.wait()


@pytest.mark.slow
def test_commands_in_other_units_fall_in_proportion_when_the_node_is_killed(robot: Robot) -> None:
    scales = np.array([-0.5, 20.0])
    words = [f'joints.{name}.command_scale:={scale}' for name, scale in zip(JOINTS, scales, strict=True)]
    with domain() as number:
        driven = Driven(number, robot, *WORDS, *words)
        driven.on(scales * driven.gravity)
        driven.process.process.kill()
        driven.client.until(driven.reaches(np.zeros(2)))
        shares = driven.commands[-len(driven.commands) // 2 :] / (scales * driven.gravity)
        np.testing.assert_allclose(shares[:, 0], shares[:, 1], atol=1e-9)
        assert gradual(shares[int(np.flatnonzero(shares[:, 1] > 1 - 1e-9)[-1]) :, 1])
        driven.process.process.wait()
        driven.client.close()


@pytest.mark.parametrize('what', ['break', 'hang'])
def test_a_node_that_fails_or_hangs_leaves_zero_behind(robot: Robot, what: str) -> None:
    with domain() as number:
        driven = Driven(number, robot, code=BROKEN)
        driven.on()
        driven.client.publisher(Empty, what).publish(Empty())
        assert gradual(driven.falls())
        if what == 'hang':
            reason = 'reduces commands on its own: the node sent nothing for'
            driven.client.until(lambda: reason in driven.status, driven.say)
            driven.on()
            driven.process.process.kill()
            driven.process.process.wait()
        else:
            assert driven.process.wait() == 1
            assert 'ZeroDivisionError' in driven.process.output
        driven.client.close()


BROKEN = """
import sys, time
from sensor_msgs.msg import JointState
from std_msgs.msg import Empty
from krang_dynamics_ros.nodes.dynamics_node import DynamicsNode
from krang_dynamics_ros.nodes.run import run

class Broken(DynamicsNode):
    def __init__(self):
        super().__init__()
        self.create_subscription(Empty, 'break', lambda _: 1 / 0, 1)
        self.create_subscription(Empty, 'hang', lambda _: time.sleep(2), 1)

sys.exit(run(Broken))
"""


def sender_of(driven: Driven) -> int:
    """Return the sender process of a node."""
    parent = driven.process.process.pid
    (child,) = map(int, Path(f'/proc/{parent}/task/{parent}/children').read_text().split())
    return child


def priorities(pid: int) -> set[int]:
    """Return the real-time priorities of the threads of a process; 0: none."""
    return {os.sched_getparam(int(thread.name)).sched_priority for thread in Path(f'/proc/{pid}/task').iterdir()}


def test_while_commands_are_sent_both_processes_have_a_real_time_priority(driven: Driven) -> None:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        pytest.skip('real-time priorities are not allowed here')
    node, values = driven.process.process.pid, driven.client.diagnostics
    assert priorities(node) == {0}
    driven.on()
    assert priorities(node) == {NODE_PRIORITY}
    assert priorities(sender_of(driven)) == {SENDER_PRIORITY}

    def said() -> str:
        pairs = values['effort commands'].values if 'effort commands' in values else []
        return {pair.key: pair.value for pair in pairs}.get('real-time priority', '')

    driven.client.until(lambda: said() == 'on', driven.say)
    driven.ask(False)
    driven.falls()
    driven.client.until(lambda: priorities(node) == {0}, driven.say, 'the node to give its priority back')


@pytest.mark.slow
def test_without_the_right_to_a_real_time_priority_commands_are_sent_and_the_log_says_so(robot: Robot) -> None:
    code = (
        'import sys; from krang_dynamics_ros.nodes.dynamics import command_output\n'
        'command_output.set_real_time = lambda priority: "Operation not permitted"\n'
        'from krang_dynamics_ros.nodes.dynamics_node import main; sys.exit(main())'
    )
    with domain() as number:
        driven = Driven(number, robot, code=code).on()
        assert driven.process.output.count('no real-time priority: Operation not permitted') == 1
        driven.client.close()
        assert driven.process.end() == 0, driven.process.output


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGSTOP])
def test_when_the_sender_dies_or_hangs_another_takes_the_commands_to_zero(driven: Driven, number: int) -> None:
    driven.on()
    os.kill(sender_of(driven), number)
    driven.client.until(driven.reaches(np.zeros(2)), driven.say)
    assert gradual(driven.commands[int(np.argmax(driven.commands[:, 1] / driven.gravity[1])) :, 1] / driven.gravity[1])
    words = 'has died' if number == signal.SIGKILL else 'sent no report for'
    driven.client.until(lambda: f'the sender process {words}' in driven.status, driven.say)


def test_signals_to_the_sender_alone_change_nothing_while_it_is_needed(driven: Driven) -> None:
    driven.on()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        os.kill(sender_of(driven), number)
    driven.client.received['effort_commands'].clear()
    driven.client.until(lambda: len(driven.commands) > 50, driven.say)
    np.testing.assert_allclose(driven.commands[-1], driven.gravity, err_msg=driven.process.output)


NOHUP = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from krang_dynamics_ros.nodes.dynamics_node import main
sys.exit(main())
"""


@pytest.mark.slow
def test_nohup_stays_nohup(robot: Robot) -> None:
    with domain() as number:
        driven = Driven(number, robot, *WORDS, code=NOHUP)
        driven.on()
        driven.process.process.send_signal(signal.SIGHUP)
        driven.client.received['effort_commands'].clear()
        driven.client.until(lambda: len(driven.commands) > 50, driven.say)
        np.testing.assert_allclose(driven.commands[-1], driven.gravity)
        driven.client.close()
        assert driven.process.end(signal.SIGTERM) == 0


@pytest.mark.slow
def test_limits_that_were_set_since_the_start_hold_for_what_outlives_the_node(driven: Driven) -> None:
    """The slowest rates that there may be: a fall without them would take half a second."""
    limits = np.abs(driven.gravity) * 1.01
    limits[0] = max(limits[0], 1.0)
    changes = {'command_limits': limits.tolist(), 'command_rate_limits': (0.5 * limits).tolist()}
    for result in (driven.client.set(**{name: value})[0] for name, value in changes.items()):
        assert result.successful, result.reason
    driven.on()
    driven.client.received['effort_commands'].clear()
    driven.client.until(lambda: len(driven.commands) > 3, driven.say)
    driven.process.process.kill()
    driven.client.until(driven.reaches(np.zeros(2)))
    assert len(driven.commands) > 120  # 100 a second, for two seconds and the half one of zero
    driven.process.process.wait()


@pytest.mark.slow
def test_a_node_that_ends_cannot_be_enabled_by_a_description_that_comes_again(robot: Robot) -> None:
    text = urdf_text(robot)
    words = (*WORDS[::2], 'command_ramp:=10.0', 'robot_description_topic:=description')
    with domain() as number:
        driven = object.__new__(Driven)
        driven.number, driven.robot = number, robot
        driven.process, driven.client = Process(number, *given(*words)), Client(number)
        client = driven.client
        description = client.node.create_publisher(String, 'description', LATCHED)
        description.publish(String(data=text))
        client.listen('effort_commands', 'torque/gravity')
        client.ready()
        driven.gravity = Lagrangian(robot).Q(Q)[[robot.joint_names.index(name) for name in JOINTS]]
        effort = Lagrangian(robot).Q(Q)
        client.until(lambda: driven.ask(doing=lambda: driven.say(effort=effort)).success)
        client.until(driven.reaches(driven.gravity), lambda: driven.say(effort=effort))
        enable = client.node.create_client(SetBool, '/effort_commands/enable')
        client.until(enable.service_is_ready)
        driven.process.process.send_signal(signal.SIGINT)
        client.until(lambda: abs(driven.commands[-1, 1]) < 0.95 * abs(driven.gravity[1]))
        description.publish(String(data=text))
        answers = [enable.call_async(SetBool.Request(data=True)) for _ in range(3)]
        client.until(lambda: driven.process.process.poll() is not None)
        assert not any(answer.done() and answer.result().success for answer in answers)
        assert driven.process.wait() == 0, driven.process.output
        client.close()


UNSTARTABLE = """
import sys
from krang_dynamics_ros.nodes.dynamics import command_output
from krang_dynamics_ros.nodes.dynamics_node import main
command_output.START_TIMEOUT = 5.0  # less than the delay of another try
sys.executable = PROGRAM
sys.exit(main())
"""


STARTS = [
    ('/bin/false', 'it has died; see its output'),
    ('/nowhere/python', 'No such file'),
    ('hangs', 'it sent no report for 5'),
]


@pytest.mark.parametrize(('program', 'why'), slow_but(STARTS[:1], STARTS))
def test_a_sender_that_cannot_start_is_reported_and_the_node_continues(
    robot: Robot, program: str, why: str, tmp_path: Path
) -> None:
    if program == 'hangs':
        (tmp_path / program).write_text('#!/bin/sh\nexec sleep 100\n')
        (tmp_path / program).chmod(0o755)
        program = str(tmp_path / program)
    with domain() as number:
        code = UNSTARTABLE.replace('PROGRAM', repr(program))
        process, client = Process(number, *given(*WORDS), code=code), Client(number)
        client.listen('torque/gravity')
        client.ready()
        say = lambda: client.send_state(robot.joint_names, Q, np.zeros(17))  # noqa: E731
        request = SetBool.Request(data=True)
        words = 'the sender process cannot be started'
        client.until(lambda: words in client.call('/effort_commands/enable', SetBool, request, say).message, say)
        client.until(lambda: words in getattr(client.diagnostics.get('effort commands'), 'message', ''), say)
        assert why in client.diagnostics['effort commands'].message
        client.until(lambda: len(client.received['torque/gravity']) > 3, say)
        assert process.output.count(words + ':') <= 2, process.output  # the log, and what diagnostics log
        client.close()
        assert process.end() == 0, process.output


# A robot that takes commands as a controller does ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_simulator_holds_up_by_commands_and_sinks_when_they_end(robot: Robot) -> None:
    joints = [name for name in robot.joint_names if name.endswith('l')]
    listed = f'command_joints:=[{", ".join(joints)}]'
    with domain() as number:
        simulator = Process(
            number, *given(listed, 'brakes:=true', 'viscous:=1.0', 'coulomb:=1.0'), module='simulator_node'
        )
        process, client = Process(number, *given(listed, 'command_ramp:=0.3', 'state_timeout:=2.0')), Client(number)
        got: list[Any] = []
        client.node.create_subscription(JointState, 'joint_states', got.append, 10)
        client.until(lambda: got, why='the simulator says nothing')
        request = SetBool.Request(data=True)
        answers: list[Any] = []
        client.until(
            lambda: answers.append(client.call('/effort_commands/enable', SetBool, request)) or answers[-1].success
        )
        assert answers[-1].message.startswith('enabled for /krang_simulator')
        start = np.array(got[-1].position)
        mode = lambda: client.diagnostics['simulation'].message if 'simulation' in client.diagnostics else ''  # noqa: E731
        stamp = got[-1].header.stamp.sec
        client.until(lambda: mode() == 'runs' and got[-1].header.stamp.sec > stamp + 3)
        assert np.abs(np.array(got[-1].position) - start).max() < 0.02, process.output
        process.process.kill()
        client.until(lambda: np.abs(np.array(got[-1].position) - start).max() > 0.1, why='the arm does not sink')
        client.close()
        assert simulator.end() == 0
