"""`first_run` in conversation with a person, against arms with faults, over DDS."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from krang_dynamics_ros import Dynamics, Robot
from krang_dynamics_ros.nodes.first_run_client import FirstRunClient
from krang_dynamics_ros.nodes.remote import RemoteError

from ..robots import ROOT
from ..ros import PATIENCE, Client, Process, domain, environment

POSES = [{'q_1l': 0.8, 'q_1r': -0.9, 'q_2l': 0.4}, {'q_1l': -0.6, 'q_2r': 0.9, 'q_4r': 0.8}, {'q_4l': 1.2, 'q_w': 0.6}]


class Conversation:
    """The command in a process of its own, and a person who answers its questions; not on a terminal."""

    def __init__(self, number: int, folder: Path, *words: str) -> None:
        command = [sys.executable, '-m', 'krang_dynamics_ros', 'first_run', *words]
        self._log = (folder / 'first_run.log').open('w+')
        self.process = subprocess.Popen(
            command, env=environment(number) | {'PYTHONPATH': str(ROOT)}, cwd=folder, stdin=subprocess.PIPE,
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        Process.started.setdefault(number, []).append(self.process)
        self._read = 0

    @property
    def output(self) -> str:
        return Path(self._log.name).read_text()

    def answer(self, client: Client, question: str, text: str, doing: Callable[[], Any] | None = None) -> None:
        """Wait for a question, and answer it."""
        self.wait(client, question, doing)
        self.type(text + '\n')

    def wait(self, client: Client, words: str, doing: Callable[[], Any] | None = None) -> None:
        """Wait for words that come after those that were waited for before."""

        def there() -> bool:
            return words in self.output[self._read :] or self.process.poll() is not None

        client.until(there, doing, f'{words!r} in {self.output}')
        assert words in self.output[self._read :], self.output
        self._read = self.output.index(words, self._read) + len(words)

    def type(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def end(self, client: Client, doing: Callable[[], Any] | None = None) -> int:
        client.until(lambda: self.process.poll() is not None, doing, self.output)
        self._log.close()
        assert 'Traceback' not in self.output
        return int(self.process.wait(PATIENCE))


class Arm:
    """An arm whose driver has turned the sign of efforts; its wrist sensor says what the world does."""

    def __init__(self, client: Client, robot: Robot, dynamics: Dynamics) -> None:
        self.client, self.robot, self.dynamics = client, robot, dynamics
        self.q, self.dq, self.push, self.friction = np.zeros(robot.n), np.zeros(robot.n), 0.0, 1.5
        self.sign, self.k = -1.0, 0

    def pose(self, joints: dict[str, float]) -> None:
        self.q = np.array([joints.get(name, 0.0) for name in self.robot.joint_names])

    def say(self) -> None:
        effort = self.sign * (self.dynamics.Q(self.q) + self.friction * np.sign(self.dq))
        self.client.send_state(self.robot.joint_names, self.q, self.dq, effort=effort)
        self.client.spin(0.005)

    def say_push(self) -> None:
        """Be pushed along x of the base, harder and harder."""
        self.push = min(self.push + 0.1, 20.0)
        force = np.array([self.push, 0.0, 0.0])
        rotation, _ = self.dynamics.pose(self.q, 'R10l')
        self.client.send_wrench('left', [*(rotation.T @ force), 0.0, 0.0, 0.0])
        effort = self.sign * (self.dynamics.Q(self.q) - self.dynamics.jacobian(self.q, 'R10l')[:3].T @ force)
        self.client.send_state(self.robot.joint_names, self.q, 0 * self.q, effort=effort)
        self.client.spin(0.005)

    def sway(self) -> None:
        """Move a joint slowly to and fro."""
        self.k += 1
        k = self.robot.joint_names.index('q_4l')
        self.dq[k] = 0.1 if self.k % 120 < 60 else -0.1
        self.q[k] += 0.005 * self.dq[k]
        self.say()


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


@pytest.mark.slow
def test_an_arm_with_faults_is_checked_and_its_file_corrected(
    number: int, robot: Robot, dynamics: Dynamics, tmp_path: Path
) -> None:
    file = tmp_path / 'my_arm.yaml'
    file.write_text('/**/krang_dynamics:  # mine\n  ros__parameters:\n    effort_source: joint  # GUESS: Franka\n')
    process = Process(number, '--ros-args', '--params-file', str(file), '-p', 'state_timeout:=2.0')
    client = Client(number)
    client.listen('torque/gravity')
    client.ready()
    arm = Arm(client, robot, dynamics)
    talk = Conversation(number, tmp_path, '--arm', 'my_arm.yaml', '--steps', 'rest,friction,push', '--hand', 'left')
    talk.answer(client, 'Check rest', 'y', arm.say)
    talk.answer(client, 'Which axis of', 'down', arm.say)
    talk.answer(client, 'Which axis of', '', arm.say)
    for k, pose in enumerate(POSES, 1):
        talk.wait(client, f'Pose {k} of 3', arm.say)
        arm.pose(pose)
        talk.type('\n')
    talk.wait(client, 'effort at rest: CHANGE: effort has the opposite sign in all joints', arm.say)
    talk.answer(client, 'Set on krang_dynamics, and write them to my_arm.yaml?', 'y', arm.say)
    talk.answer(client, 'Check friction', 'y', arm.say)
    talk.answer(client, 'when they begin to move', '', arm.say)
    for _ in range(600):
        arm.sway()
    talk.type('\n')
    arm.dq *= 0
    talk.wait(client, 'friction: CHANGE: effort contains friction', arm.say)
    talk.answer(client, 'Set on', 'y', arm.say)
    talk.answer(client, 'Check push', 'y', arm.say)
    talk.answer(client, 'along +x', '', arm.say)
    talk.wait(client, 'push: wrench of left: CHANGE', arm.say_push)
    talk.answer(client, 'Set on', 'y', arm.say)
    talk.wait(client, 'push: external torques: RIGHT', arm.say)
    assert talk.end(client, arm.say) == 0
    text = file.read_text()
    assert '# mine' in text
    found = yaml.safe_load(text)['/**/krang_dynamics']['ros__parameters']
    assert found['effort_source'] == 'motor'
    assert found['joints.q_1l.effort_scale'] == client.get('joints.q_1l.effort_scale') == -1.0
    assert found['left.sense'] == client.get('left.sense') == 'applied_on_robot'
    assert process.end() == 0, process.output
    again = Process(number, '--ros-args', '--params-file', str(file))  # ROS reads what was written
    client.until(lambda: client.get('left.sense') == 'applied_on_robot', why=again.output)
    assert client.get('joints.q_7r.effort_scale') == -1.0
    client.close()
    assert again.end() == 0, again.output


def test_the_joint_of_an_imu_is_known(number: int, robot: Robot, dynamics: Dynamics, tmp_path: Path) -> None:
    process = Process(number, '--ros-args', '-p', 'imu_joint:=q_imu', '-p', 'state_timeout:=2.0')
    client = Client(number)
    client.listen('torque/gravity')
    client.ready()
    q, others = np.zeros(robot.n), [k for k, name in enumerate(robot.joint_names) if name != 'q_imu']
    names = [robot.joint_names[k] for k in others]

    def say() -> None:
        client.send_imu((1.0, 0.0, 0.0, 0.0))
        client.send_state(names, q[others], 0 * q[others], effort=dynamics.Q(q)[others])
        client.spin(0.005)

    talk = Conversation(number, tmp_path, '-o', 'found.yaml', '--steps', 'rest')
    talk.answer(client, 'Check rest', 'y', say)
    talk.answer(client, 'Which axis of', 'down', say)
    talk.answer(client, 'Which axis of', '', say)
    talk.answer(client, 'Pose 1 of 3', '', say)
    talk.wait(client, 'Pose 2 of 3', say)
    talk.process.send_signal(signal.SIGINT)
    talk.end(client, say)
    client.close()
    assert process.end() == 0, process.output


def test_a_base_that_moves_is_refused(number: int, tmp_path: Path) -> None:
    process = Process(number, '--ros-args', '-p', 'base_motion:=orientation', '-p', 'imu.link:=R0')
    client = Client(number)
    talk = Conversation(number, tmp_path, '-o', 'found.yaml', '--steps', 'rest')
    talk.wait(client, 'base_motion: orientation, must be fixed for a first run')
    assert talk.end(client) == 2
    client.close()
    assert process.end() == 0, process.output


JOINTS = ('q_4l', 'q_7l')


def commanded(number: int, *firmware: str) -> tuple[Process, Process, Client]:
    given = ('-p', f'command_joints:=[{", ".join(JOINTS)}]')
    start = ('-p', 'start.names:=[q_1l, q_4l]', '-p', 'start.positions:=[0.5, 1.2]', '-p', 'viscous:=0.8')
    remapped = ('--ros-args', '-r', 'effort_commands:=arm_controller/commands')
    simulator = Process(
        number, *remapped, *given, *start, '-p', 'brakes:=true', '-p', 'rate:=200.0', *firmware,
        module='simulator_node',
    )  # fmt: skip
    patient = ('-p', 'state_timeout:=2.0', '-p', 'effort_source:=joint')
    node = Process(number, *remapped, *given, *patient)
    return simulator, node, Client(number)


@pytest.mark.slow
def test_commands_of_zero_a_test_torque_and_a_killed_node_are_judged(number: int, tmp_path: Path) -> None:
    simulator, node, client = commanded(number)
    talk = Conversation(number, tmp_path, '-o', 'found.yaml', '--steps', 'zero,test,kill')
    talk.answer(client, 'Check zero', 'y')
    talk.answer(client, 'Is the arm supported', 'y')
    talk.wait(client, 'enabled for')
    talk.wait(client, 'commands are off')
    talk.wait(client, 'the arm sinks; its firmware adds no gravity torque')
    assert client.get('total_terms') == ['gravity']
    assert client.get('command_start') == 'measured'
    assert client.get('command_enabled') is False
    talk.answer(client, 'Check test', 'y')
    talk.answer(client, 'Any key stops it', 'y')
    talk.wait(client, 'commands are off')
    talk.wait(client, 'test torque: RIGHT: q_7l moves along with its command')
    talk.answer(client, 'Check kill', 'y')
    talk.answer(client, 'Any key stops it', 'y')
    talk.wait(client, 'Now: kill -9')
    node.process.send_signal(signal.SIGKILL)
    node.process.wait(PATIENCE)
    talk.wait(client, 'killed node: RIGHT: the last command is [0, 0]')
    assert talk.end(client) == 0
    client.close()
    assert simulator.end() == 0


@pytest.mark.parametrize(
    ('status', 'words'),
    [
        ({}, 'no diagnostics of /arm/node on /diagnostics'),
        ({'waits for acknowledgement': 'yes'}, 'a subscriber of the commands has not acknowledged them'),
        ({'waits for acknowledgement': 'no', 'ended by a fault': 'why'}, 'commands have ended: why'),
    ],
)
def test_no_torque_is_judged_before_the_ramp_begins(status: dict[str, str], words: str) -> None:
    client = object.__new__(FirstRunClient)
    client._status, client._remote = status, SimpleNamespace(full_name='/arm/node')  # type: ignore[assignment]
    client.run = lambda *_: []  # type: ignore[method-assign]
    with pytest.raises(RemoteError, match=words):
        client.rise(1.0)


@pytest.mark.slow
def test_a_firmware_that_adds_gravity_is_found_and_a_key_ends_commands(number: int, tmp_path: Path) -> None:
    simulator, node, client = commanded(number, '-p', 'robot.adds:=[gravity]')
    talk = Conversation(number, tmp_path, '-o', 'found.yaml', '--steps', 'zero,test')
    talk.answer(client, 'Check zero', 'y')
    talk.answer(client, 'Is the arm supported', 'y')
    talk.wait(client, 'zero command: CHANGE')
    talk.wait(client, 'robot.adds: ["gravity"]')
    talk.answer(client, 'Set on', 'y')
    talk.wait(client, 'restart the node with found.yaml: the node reads them at its start')
    talk.answer(client, 'Check test', 'n')
    assert talk.end(client) == 0
    written = yaml.safe_load((tmp_path / 'found.yaml').read_text())
    assert written['/**/krang_dynamics']['ros__parameters'] == {'robot.adds': ['gravity']}
    talk = Conversation(number, tmp_path, '--steps', 'zero')
    talk.answer(client, 'Check zero', 'y')
    talk.answer(client, 'Is the arm supported', 'y')
    talk.wait(client, 'enabled for')
    talk.type('q')
    talk.wait(client, 'stopped by a key')
    talk.wait(client, 'commands are off')
    assert client.get('command_enabled') is False
    assert client.get('total_terms') == ['gravity']
    talk.answer(client, 'again?', 'n')
    assert talk.end(client) == 1
    talk = Conversation(number, tmp_path, '--steps', 'zero')
    talk.answer(client, 'Check zero', 'y')
    talk.answer(client, 'Is the arm supported', 'y')
    talk.wait(client, 'enabled for')
    talk.process.send_signal(signal.SIGTERM)
    talk.wait(client, 'commands are off')
    assert talk.end(client) == 130
    assert client.get('command_enabled') is False
    assert client.get('total_terms') == ['gravity']
    client.close()
    assert simulator.end() == 0
    assert node.end() == 0, node.output
