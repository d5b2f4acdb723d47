"""`krang trajectory`: efforts filled in, what it says, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Dynamics, Inertia, Robot
from krang_dynamics_ros.cli import trajectory as command
from krang_dynamics_ros.dynamics.trajectory import Trajectory
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.recordings.trajectory_file import read_trajectory, write_trajectory
from krang_dynamics_ros.robot.robot_writer import robot_text

ARM = [f'q_{k}l' for k in range(1, 8)]


def motion(faster: float = 1.0) -> Trajectory:
    """A motion of the left arm from rest to rest."""
    q, dq = np.zeros((2, 3, 7))
    q[1:], dq[1] = [[0.5] * 7, [0.9] * 7], 0.3 * faster
    return Trajectory.of(ARM, np.array([0.0, 1.5, 3.0]) / faster, q, dq)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_trajectory(tmp_path / 'motion.yaml', motion())
    write_trajectory(tmp_path / 'fast.yaml', motion(8.0))
    return tmp_path


def test_efforts_are_filled_in(folder: Path, dynamics: Dynamics, capsys: pytest.CaptureFixture[str]) -> None:
    parameters = {'gravity': [0.0, 0.0, -1.6], 'left': {'payload': {'mass': 2.0, 'com': [0.0, 0.0, 0.1]}}}
    (folder / 'node.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
    words = ['motion.yaml', '--params', 'node.yaml', '--fixed', 'q_w=0.2', '--every', '0.5', '-o', 'out.yaml']
    assert command.main(words) == 0
    out, err = capsys.readouterr()
    assert 'largest velocity: ' in out
    assert 'wrote out.yaml: 7 points' in out
    assert 'note: feed-forward ends at the last point' in err
    result = read_trajectory(folder / 'out.yaml')
    np.testing.assert_allclose(result.time, np.arange(7) / 2)
    assert np.isnan(result.acceleration).all()  # the controller's spline stays of degree 3
    dynamics.gravity, gravity = np.array([0.0, 0.0, -1.6]), dynamics.gravity
    dynamics.payload = {'R10l': Inertia.about_com(2.0, [0.0, 0.0, 0.1], np.zeros((3, 3)))}
    at = [dynamics.joint_names.index(name) for name in ARM]
    states = np.zeros((3, dynamics.n))
    states[0] = dynamics.vector({'q_w': 0.2})
    states[:, at] = np.reshape([0.5, 0.3, (3 * 0.4 / 1.5 - 2 * 0.3) * 2 / 1.5], (3, 1))  # point 2, as it leaves it
    wanted = dynamics.inverse_dynamics(*states)[at]
    dynamics.gravity, dynamics.payload = gravity, {}
    np.testing.assert_allclose(result.effort[3], wanted, atol=1e-9)


def test_torques_that_the_firmware_adds_are_left_out(folder: Path, dynamics: Dynamics) -> None:
    """Its gravity is half of ours, and it was told no payload; of friction it gives the viscous part."""
    joint = {'q_1l': {'viscous': 2.0, 'coulomb': 1.0}}
    parameters = {'left': {'payload': {'mass': 2.0, 'com': [0.0, 0.0, 0.1]}}, 'joints': joint}
    adds = {'adds': ['gravity', 'coriolis', 'friction'], 'gravity': [0.0, 0.0, -4.905], 'friction_share': [1.0, 0.0]}
    for name, more in (('whole', {}), ('less', {'robot': adds})):
        (folder / 'node.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters | more}}))
        assert command.main(['motion.yaml', '--params', 'node.yaml', '-o', f'{name}.yaml']) == 0
    whole, less = (read_trajectory(folder / f'{name}.yaml') for name in ('whole', 'less'))
    at = [dynamics.joint_names.index(name) for name in ARM]
    q, dq = np.zeros((2, len(whole.time), dynamics.n))
    q[:, at], dq[:, at] = whole.position, whole.velocity
    added = np.array([dynamics.Q(x) / 2 + dynamics.coriolis_torque(x, v) for x, v in zip(q, dq, strict=True)])[:, at]
    added[:, 0] += 2.0 * whole.velocity[:, 0]
    np.testing.assert_allclose(whole.effort - less.effort, added, atol=1e-9)


def test_a_spring_is_added_if_total_terms_names_it(folder: Path, robot: Robot) -> None:
    joints = tuple(
        replace(joint, other_effects=(Spring(5.0, 2.0),)) if joint.name == 'q_4l' else joint for joint in robot.joints
    )
    (folder / 'sprung.yaml').write_text(robot_text(replace(robot, joints=joints)))
    for name, terms in (('without', ['gravity']), ('with', ['gravity', 'spring'])):
        parameters = {'robot_file': str(folder / 'sprung.yaml'), 'total_terms': terms}
        (folder / 'node.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': parameters}}))
        assert command.main(['motion.yaml', '--params', 'node.yaml', '-o', f'{name}.yaml']) == 0
    without, sprung = (read_trajectory(folder / f'{name}.yaml') for name in ('without', 'with'))
    added = np.zeros_like(without.effort)
    added[:, 3] = 5 * np.cos(without.position[:, 3]) + 2 * np.sin(without.position[:, 3])
    np.testing.assert_allclose(sprung.effort - without.effort, added, atol=1e-9)


def test_a_limit_is_named_and_retimed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(['fast.yaml']) == 1
    assert 'retime slows the motion down' in capsys.readouterr().err
    assert not (folder / 'with_effort.yaml').exists()
    assert command.main(['fast.yaml', '--retime']) == 0
    assert 'slowed down by a factor of' in capsys.readouterr().out
    assert command.main(['with_effort.yaml', '-o', 'again.yaml']) == 0  # what was written is within all limits


def test_the_largest_payload_of_the_moving_hand_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    masses = []
    for words in ([], ['left'], ['R10l'], ['left', '--com', '0', '0', '0.3']):
        assert command.main(['motion.yaml', '--overwrite', '--largest-payload', *words]) == 0
        (line,) = (line for line in capsys.readouterr().out.splitlines() if 'largest payload' in line)
        masses.append(float(line.split(': ')[1].split(' kg')[0]))
    assert masses[0] == masses[1] == masses[2] > masses[3] > 0


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (['nowhere.yaml'], 'nowhere.yaml: No such file or directory'),
        (['motion.yaml', '-o', 'motion.yaml'], 'motion.yaml: is an input, must be another file'),
        (['motion.yaml', '-o', 'no/where.yaml'], 'no: no such folder'),
        (['motion.yaml', '--com', '0', '0', '1'], '--com: must be with --largest-payload'),
        (['motion.yaml', '--largest-payload', 'middle'], "hand 'middle' is unknown"),
        (['motion.yaml', '--largest-payload', '--com', '0', '0', 'nan'], 'must be finite'),
        (['motion.yaml', '--fixed', 'q_1l=1'], '--fixed: q_1l, must not be joints of the trajectory'),
        (['motion.yaml', '--fixed', 'q_9l=1'], "joint 'q_9l' is unknown"),
        (['motion.yaml', '--robot', 'arm_2r'], "joint 'q_1l' is unknown"),
        (['motion.yaml', '--robot', 'nothing.urdf'], 'nothing.urdf'),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(words) == 2
    assert reason in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ['fast.yaml', 'motion.yaml']


def test_a_base_that_an_imu_tells_of_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / 'node.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': {'base_motion': 'orientation'}}}))
    assert command.main(['motion.yaml', '--params', 'node.yaml', '-o', 'out.yaml']) == 2
    assert 'base_motion: orientation, must be fixed: no IMU is read here' in capsys.readouterr().err
    assert not (folder / 'out.yaml').exists()
