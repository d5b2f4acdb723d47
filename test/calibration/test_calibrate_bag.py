"""`calibrate` on recordings, without ROS: the same samples as of a robot, kept, gone on with, or refused."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Dynamics, Robot
from krang_dynamics_ros.cli import calibrate
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.core.files import krang_file
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.wrench import Load

from ..bags import BEGIN, joint_state, wrench, write_bag

BIAS = np.array([4.0, -3.0, 2.0, 0.3, -0.2, 0.1])
TOOL = Inertia.about_com(1.6, np.array([0.01, -0.02, 0.09]), np.zeros((3, 3)))
PAYLOAD = Inertia.about_com(2.0, np.array([0.0, 0.05, 0.2]), np.zeros((3, 3)))
POSES = [{}, {'q_5l': 1.5}, {'q_5l': -1.5}, {'q_5l': 1.5, 'q_6l': 1.5}, {'q_5l': 1.5, 'q_6l': -1.5}, {'q_5l': 3.0}]
PARAMETERS = {'left': {'sense': 'applied_on_robot'}}
RATE, HOLD, MOVE = 100, 1.3, 0.4  # Hz, s, s


def turned(robot: Robot, dynamics: Dynamics, body: Inertia, poses: list[dict[str, float]]) -> Iterator[tuple]:
    """The arm goes from pose to pose, stands still in each, and its wrist reads bias, weight and noise."""
    rng, k, before = np.random.default_rng(9), 0, np.zeros(robot.n)
    for pose in poses:
        q = np.array([pose.get(name, 0.0) for name in robot.joint_names])
        for step in range(int((HOLD + MOVE) * RATE)):
            share = min(step / (MOVE * RATE), 1.0)
            here, speed = before + share * (q - before), (q - before) / MOVE if share < 1 else np.zeros(robot.n)
            stamp, k = BEGIN + k * 10**9 // RATE, k + 1
            (weight,) = dynamics.weights(here, [Load('R10l', body)])
            reading = BIAS + weight + rng.normal(size=6) * np.repeat([0.2, 0.02], 3)
            yield '/joint_states', stamp, joint_state(stamp, robot.joint_names, here, speed)
            yield '/wrench/left', stamp + 1000, wrench(stamp, 'R10l', reading[:3], reading[3:])
        before = q


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'node.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': PARAMETERS}}))
    return tmp_path


def found_in(path: Path) -> dict:
    (node,) = yaml.safe_load(path.read_text()).values()
    return node['ros__parameters']['left']


@pytest.mark.parametrize('storage', ['MCAP', 'SQLITE3'])
def test_a_recording_is_calibrated(
    folder: Path, robot: Robot, dynamics: Dynamics, storage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bag(folder / 'bag', turned(robot, dynamics, TOOL, POSES), storage)
    assert calibrate.main(['left', '--bag', 'bag', '--params', 'node.yaml', '-o', 'found.yaml']) == 0
    assert 'left (R10l), tool: 6 poses' in capsys.readouterr().out
    found = found_in(folder / 'found.yaml')
    assert found['tool']['mass'] == pytest.approx(TOOL.m, rel=0.01)
    np.testing.assert_allclose(found['tool']['com'], TOOL.com, atol=0.002)
    np.testing.assert_allclose(found['sensor']['bias'], BIAS, atol=0.1)
    payload = write_bag(folder / 'payload', turned(robot, dynamics, TOOL + PAYLOAD, POSES))
    given = PARAMETERS['left'] | {'tool': found['tool']}
    (folder / 'tool.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': {'left': given}}}))
    words = ['left', '--bag', str(payload), '--params', 'tool.yaml', '--payload', '-o', 'held.yaml']
    assert calibrate.main(words) == 0
    held = found_in(folder / 'held.yaml')['payload']
    assert held['mass'] == pytest.approx(PAYLOAD.m, rel=0.02)
    np.testing.assert_allclose(held['com'], PAYLOAD.com, atol=0.004)


def test_samples_are_kept_and_gone_on_with(
    folder: Path, robot: Robot, dynamics: Dynamics, capsys: pytest.CaptureFixture[str]
) -> None:
    for k, poses in enumerate((POSES[:2], POSES[2:])):
        write_bag(folder / str(k), turned(robot, dynamics, TOOL, [*poses]))
    words = ['left', '--params', 'node.yaml', '--samples', 'kept.csv', '-o', 'found.yaml']
    assert calibrate.main([*words, '--bag', '0']) == 1
    assert 'Not concluded: 2 orientations' in capsys.readouterr().err
    assert not (folder / 'found.yaml').exists()
    assert calibrate.main([*words, '--bag', '1']) == 0
    assert found_in(folder / 'found.yaml')['tool']['mass'] == pytest.approx(TOOL.m, rel=0.01)


def test_an_output_in_a_missing_folder_is_refused_before_sampling(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrate.main(['left', '--bag', 'none', '-o', 'nowhere/found.yaml']) == 2
    assert 'nowhere: no such folder, must exist' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('poses', 'parameters', 'reason'),
    [
        ([{'q_5l': x} for x in (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, -0.5, -1.0)], PARAMETERS, 'about one axis only'),
        (POSES, {'left': {'sense': 'applied_by_robot'}}, 'the sensor reads the other way round'),
    ],
)
def test_numbers_that_the_poses_do_not_determine_are_not_written(
    folder: Path, robot: Robot, dynamics: Dynamics, poses: list, parameters: dict,
    reason: str, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    write_bag(folder / 'bag', turned(robot, dynamics, TOOL, poses))
    (folder / 'node.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    assert calibrate.main(['left', '--bag', 'bag', '--params', 'node.yaml', '-o', 'found.yaml']) == 1
    assert reason in capsys.readouterr().err
    assert not (folder / 'found.yaml').exists()


def test_a_recording_without_the_sensor_is_refused(
    folder: Path, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bag(folder / 'bag', [('/joint_states', BEGIN, joint_state(BEGIN, robot.joint_names, np.zeros(robot.n)))])
    assert calibrate.main(['left', '--bag', 'bag']) == 2
    assert 'no topic wrench/left' in capsys.readouterr().err
    assert calibrate.main(['left', '--bag', 'nowhere']) == 2


def test_a_recording_with_its_arm_file_needs_no_parameters(
    folder: Path, robot: Robot, dynamics: Dynamics, capsys: pytest.CaptureFixture[str]
) -> None:
    """The arm's driver has topics of its own; the arm file beside the bag names them."""
    names = {'/joint_states': '/driver/joint_states', '/wrench/left': '/driver/ft_data'}
    messages = ((names[topic], *rest) for topic, *rest in turned(robot, dynamics, TOOL, POSES))
    bag = write_bag(folder / 'bag', messages)
    topics = {'joint_states_topic': 'driver/joint_states', 'left.wrench_topic': 'driver/ft_data'}
    values = PARAMETERS | topics | {'robot_file': 'robot.yaml'}
    (bag / 'robot.yaml').write_text(krang_file().read_text())
    (bag / 'arm.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': values}}))
    assert calibrate.main(['left', '--bag', 'bag', '-o', 'found.yaml']) == 0
    assert 'hand left: link R10l, wrench driver/ft_data, applied on robot' in capsys.readouterr().err
    assert found_in(folder / 'found.yaml')['tool']['mass'] == pytest.approx(TOOL.m, rel=0.01)
    other = values | {'robot_file': str(krang_file())}
    (folder / 'my_arm.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': other}}))
    (bag / 'arm.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': other}}))  # refused: not in this folder
    assert calibrate.main(['left', '--bag', 'bag', '--arm', 'my_arm.yaml']) == 0


class Unreachable:
    """A calibrator whose dynamics node does not run."""

    def parameters(self) -> dict:
        raise KrangDynamicsError('there is no node krang_dynamics')


@pytest.mark.parametrize(
    ('arm', 'params', 'used'),
    [
        (None, None, 'default parameters'),
        ('arm.yaml', None, 'arm.yaml'),
        (None, 'node.yaml', 'node.yaml'),
        ('arm.yaml', 'node.yaml', 'arm.yaml and node.yaml'),
    ],
)
def test_without_a_node_the_files_that_are_used_are_named(
    arm: str | None, params: str | None, used: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = calibrate._SensorCalibration(Namespace(apply=False, arm=arm, params=params), [])
    assert command._of_running(Unreachable()) == {}
    assert capsys.readouterr().out == f'there is no node krang_dynamics; using {used}\n'
