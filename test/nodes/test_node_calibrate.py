"""`calibrate` against a turning arm, over DDS: it finds the sensor's parameters and sets them in the node."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import String

from krang_dynamics_ros import Dynamics, Robot, dynamics_of
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.wrench import Load
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.nodes.topics import LATCHED

from ..robots import ROOT
from ..ros import PATIENCE, Client, Process, domain, environment

BIAS = np.array([4.0, -3.0, 2.0, 0.3, -0.2, 0.1])
MASS, COM = 1.6, np.array([0.01, -0.02, 0.09])
POSES = [  # of the arm stretched out sideways: turned about its length, and the wrist bent
    {}, {'q_5l': 1.5}, {'q_5l': -1.5}, {'q_5l': 1.5, 'q_6l': 1.5}, {'q_5l': 1.5, 'q_6l': -1.5}, {'q_5l': 3.0}
]  # fmt: skip


class Arm:
    """A robot that says where it is and what its left wrist reads, with noise."""

    def __init__(self, client: Client, robot: Robot, dynamics: Dynamics) -> None:
        self.client, self.robot, self.dynamics = client, robot, dynamics
        self.rng, self.tool = np.random.default_rng(6), Inertia.about_com(MASS, COM, np.zeros((3, 3)))
        self.q = np.zeros(robot.n)

    def turn(self, **joints: float) -> None:
        self.q = np.array([joints.get(name, 0.0) for name in self.robot.joint_names])

    def say(self) -> None:
        self.client.send_state(self.robot.joint_names, self.q, np.zeros(self.robot.n))
        (weight,) = self.dynamics.weights(self.q, [Load('R10l', self.tool)])
        noise = self.rng.normal(size=6) * np.repeat([0.2, 0.02], 3)
        self.client.send_wrench('left', BIAS + weight + noise)
        self.client.spin(0.005)


class Command:
    """The command in a process of its own, on no terminal."""

    def __init__(self, number: int, folder: Path, *words: str) -> None:
        command = [sys.executable, '-m', 'krang_dynamics_ros', 'calibrate', *words]
        path = {'PYTHONPATH': str(ROOT)}
        self._log = (folder / 'calibrate.log').open('w+')
        self.process = subprocess.Popen(
            command, env=environment(number) | path, cwd=folder, stdout=self._log, stderr=subprocess.STDOUT
        )
        Process.started.setdefault(number, []).append(self.process)

    @property
    def output(self) -> str:
        return Path(self._log.name).read_text()

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE)
        self._log.close()
        return code


@pytest.fixture
def arm(robot: Robot, dynamics: Dynamics) -> Iterator[tuple[int, Arm]]:
    with domain() as number:
        process = Process(number, '--ros-args', '-p', 'left.sense:=applied_on_robot', '-p', 'state_timeout:=2.0')
        client = Client(number)
        client.listen('torque/gravity')
        client.ready()
        yield number, Arm(client, robot, dynamics)
        client.close()
        assert process.end() == 0, process.output


def sampled(arm: Arm, command: Command, count: int) -> None:
    def there() -> bool:
        arm.say()
        return f'sample {count} taken' in command.output or command.process.poll() is not None

    arm.client.until(there, why=f'sample {count}; {command.output}')
    assert command.process.poll() is None, command.output


@pytest.mark.slow
def test_a_turned_arm_is_calibrated_and_the_result_is_set_in_the_node(arm: tuple[int, Arm], tmp_path: Path) -> None:
    number, one = arm
    command = Command(number, tmp_path, 'left', '-o', 'found.yaml', '--apply', '--samples', 'left.csv')
    for count, pose in enumerate(POSES[:3], 1):
        one.turn(**pose)
        sampled(one, command, count)
    assert command.end() == 1
    assert 'Not concluded: 3 orientations, must be at least 4' in command.output
    assert not (tmp_path / 'found.yaml').exists()
    assert one.client.get('left.tool.mass') == 0.0
    command = Command(number, tmp_path, 'left', '-o', 'found.yaml', '--apply', '--samples', 'left.csv')
    for count, pose in enumerate(POSES[3:], 4):
        one.turn(**pose)
        sampled(one, command, count)
    assert command.end() == 0, command.output
    assert 'left (R10l), tool: 6 poses' in command.output
    (node,) = yaml.safe_load((tmp_path / 'found.yaml').read_text()).values()
    found = node['ros__parameters']['left']
    assert found['tool']['mass'] == pytest.approx(MASS, rel=0.02)
    np.testing.assert_allclose(found['tool']['com'], COM, atol=0.003)
    np.testing.assert_allclose(found['sensor']['bias'], BIAS, atol=0.15)
    assert one.client.get('left.tool.mass') == found['tool']['mass']
    assert one.client.get('left.sensor.bias') == found['sensor']['bias']


@pytest.mark.slow
def test_calibrate_gives_the_reason_of_a_refusal(arm: tuple[int, Arm], tmp_path: Path) -> None:
    number, _ = arm
    cases = (
        (['middle'], "hand 'middle' is unknown"),
        (['left', '--apply', '--node', 'missing'], 'there is no node missing'),
        (['left', '--samples', 'bad.csv'], 'bad.csv'),
    )
    folders = [tmp_path / str(k) for k in range(len(cases))]
    for folder in folders:
        folder.mkdir()
        (folder / 'bad.csv').write_text('nonsense\n1,2\n')
    commands = [Command(number, folder, *words) for folder, (words, _) in zip(folders, cases, strict=True)]
    for command, (_, message) in zip(commands, cases, strict=True):
        assert command.process.wait(PATIENCE) == 2
        assert message in command.output
        assert 'Traceback' not in command.output


def test_a_recording_is_calibrated_with_the_gravity_of_the_node(robot: Robot, tmp_path: Path) -> None:
    """Weights are computed with the gravity of the node, as on a slope or on the moon."""
    from ..bags import write_bag  # noqa: PLC0415 (it needs rosbags)
    from ..calibration.test_calibrate_bag import BIAS as BIAS_OF_BAG  # noqa: PLC0415
    from ..calibration.test_calibrate_bag import POSES as POSES_OF_BAG  # noqa: PLC0415
    from ..calibration.test_calibrate_bag import TOOL, turned  # noqa: PLC0415

    slope = dynamics_of(robot)
    slope.gravity = np.array([2.0, 0.0, -4.0])
    write_bag(tmp_path / 'bag', turned(robot, slope, TOOL, POSES_OF_BAG))
    with domain() as number:
        parameters = ('left.sense:=applied_on_robot', 'gravity:=[2.0, 0.0, -4.0]')
        process = Process(number, '--ros-args', *(word for text in parameters for word in ('-p', text)))
        client = Client(number)
        client.listen('torque/gravity')
        client.ready()
        command = Command(number, tmp_path, 'left', '--bag', 'bag', '--apply')
        client.until(lambda: command.process.poll() is not None, why='the command ends')
        assert command.process.poll() == 0, command.output
        assert client.get('left.tool.mass') == pytest.approx(TOOL.m, rel=0.02)
        np.testing.assert_allclose(client.get('left.tool.com'), TOOL.com, atol=0.004)
        np.testing.assert_allclose(client.get('left.sensor.bias'), BIAS_OF_BAG, atol=0.15)
        client.close()
        assert process.end() == 0, process.output


def test_the_robot_and_the_topics_are_those_of_the_running_node(tmp_path: Path) -> None:
    """The robot comes by topic, in a namespace, and the sensor's topic is remapped."""
    model = load_model('arm_2r')
    given = ('robot_description_topic:=urdf', 'end_effectors:=[tip]', 'tip.link:=link2', 'state_timeout:=2.0')
    names = ('__ns:=/site', 'wrench/tip:=/ft')
    with domain() as number:
        words = [word for text in given for word in ('-p', text)] + [word for text in names for word in ('-r', text)]
        process = Process(number, '--ros-args', *words)
        client = Client(number, namespace='/site')
        client.listen('torque/gravity')
        publisher = client.node.create_publisher(String, 'urdf', LATCHED)
        publisher.publish(String(data=model.urdf))
        sensor, reading = client.publisher(WrenchStamped, '/ft'), WrenchStamped()
        command = Command(number, tmp_path, 'tip', '--node', '/site/krang_dynamics', '--samples', 'tip.csv')

        def say() -> None:
            client.send_state(model.dynamics.joint_names, [0.3, -0.2], [0.0, 0.0])
            reading.header.stamp = client.stamp()
            sensor.publish(reading)
            client.spin(0.005)

        def sampled() -> bool:
            return 'sample 1 taken' in command.output or command.process.poll() is not None

        client.until(sampled, say, 'a sample')
        assert command.process.poll() is None, command.output
        assert command.end() == 1
        assert '1 samples are in tip.csv' in command.output
        client.close()
        assert process.end() == 0, process.output
