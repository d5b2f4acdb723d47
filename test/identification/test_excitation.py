"""The motion for identification: within limits, clear of floor and base, better than chance; and it does determine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Robot, dynamics_of, krang, load_robot
from krang_dynamics_ros.cli.excite import trajectory_of
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.effects.presliding import Presliding
from krang_dynamics_ros.equations.newton_euler import NewtonEuler
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification.clearance import Clearance
from krang_dynamics_ros.identification.collision_shapes import Box, Shapes
from krang_dynamics_ros.identification.excitation import Excitation, Search, run
from krang_dynamics_ros.identification.identify import identify
from krang_dynamics_ros.recordings.trajectory_file import trajectory_text
from krang_dynamics_ros.robot.mesh_files import MeshFiles
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot import Limits

from ..commands import run as command
from ..marks import slow_but

WRIST = ('q_5l', 'q_6l', 'q_7l')


@cache
def wrist() -> Robot:
    return with_fixed_joints(krang(), {}, WRIST)


@cache
def found() -> Excitation:
    return Search(wrist(), 10.0, seed=0).best()


def test_it_stays_within_limits_and_begins_and_ends_at_rest() -> None:
    time = np.linspace(0, 12, 2401)
    q, dq, ddq = found().from_rest_to_rest(time, 12.0)
    torque = NewtonEuler(wrist()).inverse_dynamics(q, dq, ddq)
    for j, joint in enumerate(wrist().moving_joints):
        assert joint.limits is not None
        assert joint.limits.lower < q[:, j].min()
        assert q[:, j].max() < joint.limits.upper
        assert np.abs(dq[:, j]).max() < joint.limits.velocity
        assert np.abs(torque[:, j]).max() < joint.limits.effort
    np.testing.assert_allclose([dq[0], ddq[0], dq[-1], ddq[-1]], 0, atol=1e-9)
    np.testing.assert_allclose(np.gradient(q, time, axis=0)[1:-1], dq[1:-1], atol=1e-3)
    np.testing.assert_allclose(np.gradient(dq, time, axis=0)[1:-1], ddq[1:-1], atol=2e-2)
    speed = np.abs(dq[(time > 1) & (time < 11)]).max(axis=1)
    assert speed.min() > 0.05  # in between, the joints never rest together


@pytest.mark.slow
def test_friction_takes_its_part_of_the_effort() -> None:
    stiff = Friction(viscous=3.0, coulomb=2.0, presliding=(Presliding(2.0, 1e-4),))
    joints = [replace(j, friction=stiff) if j.moves else j for j in wrist().joints]
    robot = replace(wrist(), joints=tuple(joints))
    _, dq, _ = Search(robot, 10.0, seed=0).best().at(np.linspace(0, 10, 500))
    limits = [joint.limits.effort for joint in robot.moving_joints if joint.limits]
    assert (3.0 * np.abs(dq).max(axis=0) + 4.0 < limits).all()


def test_it_is_better_than_a_motion_by_chance() -> None:
    search = Search(wrist(), 10.0, seed=1)
    drawn = [trial.condition for trial in (search._tried(None, 0.3) for _ in range(30)) if trial]
    assert found().condition < 0.7 * np.median(drawn)


@pytest.mark.slow
def test_it_keeps_clear_of_a_box_that_a_search_without_it_enters() -> None:
    """Checked at 1 kHz in the box's neighbourhood, with the hand's position by Pinocchio."""
    arm = with_fixed_joints(krang(), {}, [f'q_{k}l' for k in range(1, 5)])
    dynamics = dynamics_of(arm)
    free = Search(arm, 10.0, seed=0).best().path(10_001)
    hand = np.array([dynamics.pose(q, 'R10l')[1] for q in free[::10]])
    box = Box('box', hand[np.linalg.norm(hand - hand[0], axis=1).argmax()], np.full(3, 0.1))
    clearance = Clearance(arm, Shapes(arm, MeshFiles(), [box]))
    assert clearance.blocked(free)
    kept = Search(arm, 10.0, 0, clearance).best().path(10_001)
    assert not clearance.blocked(kept)
    away = np.array([np.abs(dynamics.pose(q, 'R10l')[1] - box.centre).max() for q in kept])
    assert away.min() > 0.05 + 0.03


@pytest.mark.slow
def test_a_robot_that_cannot_move_is_refused_with_what_to_do() -> None:
    lower, upper = -1e-3, 1e-3
    joints = [
        replace(j, limits=replace(j.limits, effort=1e-3, lower=lower, upper=upper)) if j.name in WRIST else j
        for j in krang().joints
    ]
    with pytest.raises(KrangDynamicsError, match='fix other joints elsewhere'):
        Search(with_fixed_joints(replace(krang(), joints=tuple(joints)), {}, WRIST), 10.0, seed=0).best()


def test_a_joint_that_its_friction_holds_is_named() -> None:
    joints = [replace(j, friction=Friction(coulomb=9.5)) if j.name == 'q_7l' else j for j in wrist().joints]
    with pytest.raises(KrangDynamicsError, match=r'holds q_7l \(friction 9\.5 N m, effort limit 10 N m\)'):
        Search(replace(wrist(), joints=tuple(joints)), 10.0, seed=0).best()


def test_the_trajectory_is_what_controllers_take() -> None:
    message = yaml.safe_load(trajectory_text(trajectory_of(found(), 10.0, 20.0)))
    assert message['joint_names'] == list(WRIST)
    assert len(message['points']) == 201
    last = message['points'][-1]
    assert last['time_from_start'] == {'sec': 10, 'nanosec': 0}
    assert set(last) == {'positions', 'velocities', 'accelerations', 'time_from_start'}
    for point in message['points']:
        numbers = [*point['positions'], *point['velocities'], *point['accelerations']]
        assert all(isinstance(x, float) for x in numbers)  # a message that checks its fields refuses 0
    position, _, _ = found().from_rest_to_rest(np.array([0.35]), 10.0)
    np.testing.assert_allclose(message['points'][7]['positions'], position[0], atol=1e-8)


@pytest.mark.slow
def test_the_parameters_of_a_simulated_robot_are_identified_from_the_motion() -> None:
    truth = {'rotor_inertia': 0.4, 'viscous': 3.0, 'coulomb': 1.5}
    joints = [
        replace(j, motor=replace(j.motor, rotor_inertia=0.4 / 552**2), friction=Friction(3.0, 1.5, 0.02))
        if j.moves
        else j
        for j in wrist().joints
    ]
    recording = run(replace(wrist(), joints=tuple(joints)), found(), 20.0, 100.0, noise=0.02)
    result = identify(krang(), [recording])
    for j in range(len(WRIST)):
        for name, found_value, _ in result.factors(j)[:3]:
            assert found_value == pytest.approx(truth[name], rel=0.03), name
    assert result.errors.max() < 0.03


def test_the_command_writes_a_trajectory(tmp_path: Path) -> None:
    done = command('excite', 'arm_2r', '--duration', 5, '--rate', 10, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'arm_2r: 2 joints, condition number' in done.stdout
    assert 'clearance: no pairs to check' in done.stdout
    assert 'not checked: the floor, because its height is unknown (--floor)' in done.stdout
    assert len(yaml.safe_load((tmp_path / 'excitation.yaml').read_text())['points']) == 51
    refused = command('excite', '--joints', 'q_9l', '--overwrite', cwd=tmp_path)
    assert refused.returncode == 2
    assert "joint 'q_9l' is unknown" in refused.stderr


@pytest.mark.parametrize('limits', [Limits(None, 0.5, -1.0, 1.0), Limits(200.0, None)])
def test_a_limit_that_is_not_known_bounds_nothing(limits: Limits) -> None:
    arm = load_robot('arm_2r')
    robot = replace(arm, joints=tuple(replace(joint, limits=limits) if joint.moves else joint for joint in arm.joints))
    q, dq, _ = Search(robot, 10.0, seed=0).best().at(np.linspace(0, 10, 500))
    assert np.abs(dq).max() < (limits.velocity or 1.0)
    assert np.abs(q).max() < 1.5


@pytest.mark.parametrize('rate', [30.0, 300.0, 3000.0])
def test_a_run_records_at_any_rate(rate: float) -> None:
    recording = run(load_robot('arm_2r'), of_two_joints(), 4.0, rate, noise=0.0)
    np.testing.assert_allclose(np.diff(recording.time), 1 / rate, rtol=1e-6)
    assert recording.duration == pytest.approx(4.0, abs=1.5 / rate)
    meant = of_two_joints().from_rest_to_rest(recording.time + 0.5, 5.0)[0]
    np.testing.assert_allclose(recording.position, meant, atol=0.02)


@cache
def of_two_joints() -> Excitation:
    return Search(load_robot('arm_2r'), 10.0, seed=0).best()


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('--duration', '0.001'), '0.001, must be a finite number, 4 or more'),
        (('--rate', '0.01'), '0.01, must be a finite number, 10 or more'),
        (('--noise', 'nan'), 'nan, must be a finite number, 0 or more'),
        (('--noise', '-1'), '-1, must be a finite number, 0 or more'),
        (('-o', 'nowhere/x.yaml'), 'nowhere: no such folder'),
        (('--run', 'nowhere/x.csv'), 'nowhere: no such folder'),
        (('--keep-out', 'table=1,2,3'), 'table=1,2,3, must be NAME=X,Y,Z,DX,DY,DZ: centre and positive size, m'),
        (('--keep-out', 'table=1,2,3,1,0,1'), 'must be NAME=X,Y,Z,DX,DY,DZ: centre and positive size, m'),
        (('--tool', 'hand=0,0,0,1,1,1'), "link 'hand' is unknown; known: base, link1, link2, tip"),
        (('--floor', 'low'), 'low, must be a height in m, lowest or none'),
        (('--touching', 'link1'), 'link1, must be LINK,LINK'),
        (('--touching', 'link1,link3'), "link 'link3' is unknown; did you mean 'link"),
        (('--clearance', '-1'), '-1, must be a number from 0 to 1'),
    ],
)
def test_what_cannot_be_is_refused_before_the_search(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = command('excite', 'arm_2r', *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not [*tmp_path.iterdir()]


def test_the_first_point_is_printed_and_written_to_the_file(tmp_path: Path) -> None:
    done = command('excite', 'arm_2r', '--duration', 4, '--rate', 10, cwd=tmp_path)
    text = (tmp_path / 'excitation.yaml').read_text()
    first = yaml.safe_load(text)['points'][0]['positions']
    words = f'Move the joints to the first point beforehand (theta1 {first[0]:.4f}, theta2 {first[1]:.4f})'
    assert words in done.stdout
    assert text.startswith(f'# {words}: the clearance of the way there was not checked')


def limited(name: str, friction: Friction, **limits: float) -> Robot:
    """A robot whose moving joints have this friction, and these limits."""
    robot = load_robot(name)
    joints = [
        replace(joint, friction=friction, limits=Limits(**limits)) if joint.moves else joint for joint in robot.joints
    ]
    return replace(robot, joints=tuple(joints))


FRICTION = Friction(viscous=6.0, coulomb=8.0, presliding=(Presliding(4.0, 1e-3),))
LIMITED = {
    'position': {'lower': -0.2, 'upper': 0.5, 'velocity': 20.0, 'effort': 2000.0},
    'velocity': {'lower': -3.0, 'upper': 3.0, 'velocity': 0.7, 'effort': 2000.0},
    'effort': {'lower': -3.0, 'upper': 3.0, 'velocity': 20.0, 'effort': 90.0},
}


@pytest.mark.parametrize('seed', slow_but([0], range(3)))
@pytest.mark.parametrize('tight', LIMITED)
def test_a_plan_comes_near_its_tightest_limit_and_passes_none(tight: str, seed: int) -> None:
    """Looked at 20 times as densely as the search does, with torques by Pinocchio and friction written down here."""
    robot, limits = limited('arm_2r', FRICTION, **LIMITED[tight]), LIMITED[tight]
    robot = replace(robot, gravity=robot.gravity * 0.2)
    plan = Search(robot, 10.0, seed).best()
    q, dq, ddq = plan.from_rest_to_rest(np.linspace(0, 20, 6400), 20.0)
    friction = np.abs(dq) * 6.0 + 8.0 + 4.0
    dynamics = dynamics_of(robot)
    torque = np.abs([dynamics.inverse_dynamics(*state) for state in zip(q, dq, ddq, strict=True)]) + friction
    middle, half = (limits['upper'] + limits['lower']) / 2, (limits['upper'] - limits['lower']) / 2
    share = {
        'position': np.abs(q - middle).max() / half,
        'velocity': np.abs(dq).max() / limits['velocity'],
        'effort': torque.max() / limits['effort'],
    }
    assert max(share.values()) < 0.95  # the search keeps a tenth, between its states a little of it may go
    assert share[tight] > 0.6
