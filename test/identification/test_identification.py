"""Parameters out of recordings: what was put into made ones comes out, with honest errors; real arms are predicted."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import NewtonEuler, Robot, dynamics_of, krang, load_robot, urdf_text
from krang_dynamics_ros.check.agreement import prove
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.dynamics.drives import FrictionModel
from krang_dynamics_ros.effects.load import LoadShare
from krang_dynamics_ros.effects.presliding import Presliding, presliding_history
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification.bodies_prior import pseudo_inertia
from krang_dynamics_ros.identification.identified_file import robot_file_text
from krang_dynamics_ros.identification.identify import Identified, identify
from krang_dynamics_ros.identification.predict import predict
from krang_dynamics_ros.identification.report import identification_report
from krang_dynamics_ros.identification.samples import period
from krang_dynamics_ros.recordings.joint_recording import read_recording
from krang_dynamics_ros.recordings.recording import Recording, RecordingError
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot import Limits
from krang_dynamics_ros.robot.robot_file import read_robot

from ..real_recordings import shared, waves
from ..robots import FILES, IDENTIFIED

TIME = np.arange(0, 30, 0.01)
ARM = ('q_5l', 'q_6l', 'q_7l')  # small, and with a load


def with_friction(robot: Robot, rotor: float, friction: Friction) -> Robot:
    joints = [
        replace(j, motor=replace(j.motor, rotor_inertia=rotor / j.motor.gear_ratio**2), friction=friction)
        if j.name in ARM
        else j
        for j in robot.joints
    ]
    return replace(robot, joints=tuple(joints))


def made(robot: Robot, seed: int, noise: float = 0.02) -> Recording:
    """Record an arm whose motors give exactly what its equations say, but for noise of 2 % of the spread."""
    arm = with_fixed_joints(robot, {}, ARM)
    q, dq, ddq = waves(len(ARM), TIME, seed)
    friction = FrictionModel(arm.viscous, arm.coulomb)
    friction.set_coefficients(arm.moving_joints)
    z = np.stack([presliding_history(q[:, [j]], d.tolist())[:, 0] for j, d in enumerate(friction.delta)], axis=1)
    effort = NewtonEuler(arm).inverse_dynamics(q, dq, ddq) + friction.torque(dq, z)
    rng = np.random.default_rng([seed, 1])
    effort += noise * effort.std(axis=0) * rng.normal(size=effort.shape)
    return Recording('made here', ARM, TIME, q, None, effort)


TRUTH = with_friction(krang(), 0.4, Friction(viscous=3.0, coulomb=1.5, coulomb_velocity=0.02))


@cache
def found_in_made() -> Identified:
    """Identify with bodies that are known ten per cent wrong."""
    factor = {'R8l': 1.1, 'R9l': 0.9, 'R10l': 1.1}
    wrong = [
        replace(link, inertia=Inertia.from_parameters(factor.get(link.name, 1.0) * link.inertia.parameters))
        for link in krang().links
    ]
    return identify(replace(krang(), links=tuple(wrong)), [made(TRUTH, 3)])


def test_friction_and_rotors_come_out_as_they_were_put_in() -> None:
    found = found_in_made()
    for name in ARM:
        joint = next(joint for joint in found.robot.joints if joint.name == name)
        assert joint.motor.reflected_inertia == pytest.approx(0.4, rel=0.03)
        assert joint.friction.viscous == pytest.approx(3.0, rel=0.03)
        assert joint.friction.coulomb == pytest.approx(1.5, rel=0.03)
    assert all(LoadShare() not in effects for effects in found.structure.joints)
    assert found.errors.max() < 0.025


def test_another_motion_is_predicted_nearly_as_well_as_noise_allows() -> None:
    other = predict(found_in_made().robot, made(TRUTH, 4))
    assert other.errors.max() < 1.3 * 0.02


def test_errors_are_as_large_as_they_say() -> None:
    found = found_in_made()
    truth = np.array([0.4, 3.0, 1.5])
    scores = [
        [(value - true) / deviation for (_, value, deviation), true in zip(found.factors(j)[:3], truth, strict=True)]
        for j in range(len(ARM))
    ]
    assert np.abs(scores).max() < 4.5


def test_presliding_is_found_where_it_is() -> None:
    truth = with_friction(krang(), 0.4, Friction(3.0, 1.0, 0.02, (Presliding(2.0, 1e-4),)))
    found = identify(krang(), [made(truth, 5)])
    assert any(Presliding(0.0, 1e-4) in effects for effects in found.structure.joints)
    for name in ARM:
        friction = next(joint for joint in found.robot.joints if joint.name == name).friction
        assert friction.coulomb + sum(part.torque for part in friction.presliding) == pytest.approx(3.0, rel=0.05)


def test_no_friction_comes_out_negative() -> None:
    found = identify(krang(), [made(with_friction(krang(), 0.4, Friction()), 6, noise=0.05)])
    factors = np.array([[value for _, value, _ in found.factors(j)[:3]] for j in range(len(ARM))])
    assert (factors >= 0).all()
    assert factors[:, 1:].max() < 0.05


def test_every_body_is_possible() -> None:
    found = found_in_made()
    for link in found.links:
        body = found.robot.link_of[link].inertia
        assert np.linalg.eigvalsh(pseudo_inertia(body.parameters)).min() > 0
        assert not body.impossibility()


def test_the_file_keeps_its_text_and_reads_as_what_was_found() -> None:
    found = found_in_made()
    old = FILES['krang'].read_text()
    text = robot_file_text(found, old, {'q_7r': 'q_7l'})
    robot = read_robot(text)
    mine = {joint.name: joint for joint in robot.joints}
    for name in ARM:
        joint = next(joint for joint in found.robot.joints if joint.name == name)
        assert mine[name].friction.viscous == pytest.approx(joint.friction.viscous, rel=1e-5)
        assert mine[name].motor.reflected_inertia == pytest.approx(joint.motor.reflected_inertia, rel=1e-5)
    assert mine['q_7r'].friction == mine['q_7l'].friction
    assert mine['q_6r'].friction == Friction()
    assert mine['q_6r'].motor.gear_ratio == 552  # its anchor stood in a line that was rewritten
    assert robot.cutoff == pytest.approx(found.structure.cutoff, rel=1e-3)
    kept = [line for line in old.splitlines() if line.strip().startswith('#')]
    assert all(line in text for line in kept)
    assert text.count('identified: mass') == 3
    again = robot_file_text(found, text)
    assert again.count('identified: {cutoff') == 1


def test_a_limit_that_the_recording_goes_beyond_is_named() -> None:
    found, limits = found_in_made(), {'q_5l': 1e4, 'q_6l': 0.5, 'q_7l': None}
    joints = [
        replace(joint, limits=Limits(limits[joint.name], 1.0)) if joint.name in limits else joint
        for joint in found.robot.joints
    ]
    limited = replace(found, robot=replace(found.robot, joints=tuple(joints)))
    assert [*limited.beyond_limits] == ['q_6l']
    peak = float(np.abs(found.samples.effort[:, 1]).max())
    assert f'# efforts of up to {peak:.4g} were recorded, above limits.effort 0.5' in robot_file_text(limited)


def test_a_robot_without_a_file_gets_one() -> None:
    robot = read_robot(robot_file_text(found_in_made()))
    assert robot.joint_names == krang().joint_names
    assert robot.link_of['R1'].inertia.m == pytest.approx(75.767)


def test_the_report_holds_itself_and_needs_no_network() -> None:
    page = identification_report(found_in_made())
    for words in ('predicted on held-out data', 'R9l com x', 'explained worst', 'time, s', 'held-out data</td>'):
        assert words in page
    assert 'src=' not in page
    own = page.replace('http://www.w3.org/2000/svg', '').replace('https://github.com/leeoniya/uPlot', '')  # its licence
    assert 'http' not in own


def test_recordings_that_determine_nothing_are_refused() -> None:
    recording = made(TRUTH, 3)
    with pytest.raises(RecordingError, match='stands still, which determines nothing'):
        identify(krang(), [replace(recording, position=0 * recording.position)])
    held_still = recording.position.copy()
    held_still[:, 1] = 0.3
    with pytest.raises(RecordingError, match='q_6l: stands still or its effort never changes'):
        identify(krang(), [replace(recording, position=held_still)])
    with pytest.raises(RecordingError, match='no effort was recorded'):
        identify(krang(), [replace(recording, effort=None)])


def test_the_period_of_an_excitation_is_found() -> None:
    recording = made(TRUTH, 3)
    assert period(recording) == pytest.approx(10.0, abs=0.1)
    once = recording.rows(slice(0, 1200))
    assert period(once) == pytest.approx(once.duration, rel=1e-3)


def command(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, '-m', 'krang_dynamics_ros', *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd, timeout=900, check=False)


def test_krangs_identified_file_predicts_its_recording() -> None:
    recording = read_recording(shared('krang_left_arm'))
    found = predict(load_robot('krang_identified'), recording.rows(slice(6, 4586)))
    assert found.errors.mean() < 0.08
    assert found.errors.max() < 0.12
    published = predict(krang(), recording.rows(slice(6, 4586)))
    assert published.errors.mean() > 0.9  # friction is nearly all


def test_krangs_identified_file_is_a_krang_that_agrees_and_is_possible() -> None:
    robot = load_robot(IDENTIFIED)
    findings = prove(robot, dynamics_of(robot), states=5)
    assert all(finding.agrees for finding in findings.values())
    mujoco = pytest.importorskip('mujoco', reason='MuJoCo is not installed')
    model = mujoco.MjModel.from_xml_string(urdf_text(robot))
    assert model.nv == robot.n
    for link in robot.links:
        assert not link.inertia.m or np.linalg.eigvalsh(pseudo_inertia(link.inertia.parameters)).min() > 0
    left, right = ([j for j in robot.joints if j.name.endswith(side)] for side in 'lr')
    for one, other in zip(left, right, strict=True):
        assert (one.motor, one.friction) == (other.motor, other.friction)
    assert 100 < left[0].friction.viscous < 200


@pytest.mark.slow
@pytest.mark.parametrize(('name', 'most'), [('krang_left_arm', 0.085), ('ur10e', 0.085)])
def test_a_real_arm_is_identified_and_what_was_left_out_predicted(name: str, most: float, tmp_path: Path) -> None:
    folder = shared(name)
    done = command('identify', folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mean = float(next(line for line in done.stdout.splitlines() if line.startswith('mean')).split()[1])
    assert mean < most
    told = command('predict', folder, cwd=tmp_path)
    assert '_identified.yaml' in told.stdout
    assert float(next(line for line in told.stdout.splitlines() if line.startswith('mean')).split()[1]) < most
    assert command('check', next(tmp_path.glob('*.yaml')), '--states', 5, cwd=tmp_path).returncode == 0


def test_a_recording_that_stands_still_has_absolute_errors_only(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    q = np.array([0.3, 0.5]) + 1e-4 * rng.normal(size=(len(TIME), 2))
    rows = np.column_stack([TIME, q, 40 + 0.1 * rng.normal(size=(len(TIME), 2))])
    head = 'time,theta1.position,theta2.position,theta1.effort,theta2.effort'
    np.savetxt(tmp_path / 'rest.csv', rows, delimiter=',', header=head, comments='')
    done = command('predict', 'rest.csv', '--robot', 'arm_2r', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'the robot is at rest' in done.stdout
    assert 'raw' not in done.stdout  # no relative error, of no joint
    assert any(line.startswith('theta1') and line.endswith('N m') for line in done.stdout.splitlines())
    refused = command('identify', 'rest.csv', '--robot', 'arm_2r', cwd=tmp_path)
    assert refused.returncode == 2
    assert 'stands still, which determines nothing' in refused.stderr


REAL = {
    'rokae_xmate7p': ('traj1_60s_50Hz.csv', 'xmate7p.urdf', 0.170),
    'kuka_lwr4': ('measurements_1.csv', 'kuka_lwr4.urdf', 0.260),
    'franka_panda': ('train_first_14000_rows.csv', 'panda.urdf', 0.099),
    'staubli_tx40': ('train_0-5.5s_1kHz.csv', 'tx40.urdf', 0.152),
    'rokae_ar5_wall': ('train_0-42s.csv', 'ar5_wall.urdf', 0.166),
}


@pytest.mark.slow
@pytest.mark.parametrize('name', REAL)
def test_arms_that_nothing_was_tuned_on_are_identified(name: str, tmp_path: Path) -> None:
    table, urdf, most = REAL[name]
    folder = shared(name)
    done = command('identify', folder / table, '--robot', folder / urdf, '-o', 'out.yaml', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mean = float(next(line for line in done.stdout.splitlines() if line.startswith('mean')).split()[1])
    assert mean < most
    again = command('predict', folder / table, '--robot', 'out.yaml', cwd=tmp_path)
    assert float(next(line for line in again.stdout.splitlines() if line.startswith('mean')).split()[1]) < most


@pytest.mark.slow
def test_another_motion_of_an_arm_is_predicted(tmp_path: Path) -> None:
    folder = shared('rokae_xmate7p')
    robot = ('--robot', folder / 'xmate7p.urdf', '-o', 'out.yaml')
    assert command('identify', folder / 'traj1_60s_50Hz.csv', *robot, cwd=tmp_path).returncode == 0
    done = command('predict', folder / 'traj2_60s_50Hz.csv', '--robot', 'out.yaml', cwd=tmp_path)
    assert float(next(line for line in done.stdout.splitlines() if line.startswith('mean')).split()[1]) < 0.146


def test_a_recording_of_another_robot_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / 'table.csv').write_text('time,elbow.position,elbow.effort\n0,1,1\n1,2,2\n')
    done = command('predict', 'table.csv', cwd=tmp_path)
    assert done.returncode == 2
    assert 'has joints elbow, must have q_imu' in done.stderr
    assert 'is it of another robot?' in done.stderr
    (tmp_path / 'empty.csv').write_text('time,elbow.position,elbow.effort\n0,nan,1\n1,nan,2\n')
    assert 'has no joint with a finite position' in command('predict', 'empty.csv', cwd=tmp_path).stderr


def test_predict_compares_with_efforts_that_were_measured(tmp_path: Path) -> None:
    q, _, _ = waves(2, TIME, 3)
    rows = np.column_stack([TIME, q, q[:, 0], 0 * TIME])
    head = 'time,theta1.position,theta2.position,theta1.effort,theta2.effort'
    np.savetxt(tmp_path / 'dead.csv', rows, delimiter=',', header=head, comments='')
    done = command('predict', 'dead.csv', '--robot', 'arm_2r', cwd=tmp_path)
    assert done.returncode == 2
    assert 'the effort of theta2 never changes, must be measured; exclude it with --joints theta1' in done.stderr
    alone = ('--joints', 'theta1', '--fixed', 'theta2=0')
    assert command('predict', 'dead.csv', '--robot', 'arm_2r', *alone, cwd=tmp_path).returncode == 0
    twice = command('predict', 'dead.csv', 'dead.csv', '--robot', 'arm_2r', '-o', 'out.csv', cwd=tmp_path)
    assert twice.returncode == 2
    assert 'out.csv: a single file, must be for a single recording' in twice.stderr


def test_an_offset_of_a_motor_is_in_its_predicted_effort() -> None:
    offsets, recording = np.linspace(-2.0, 3.0, len(ARM)), made(TRUTH, 4)
    of = dict(zip(ARM, offsets.tolist(), strict=True))
    joints = [replace(j, motor=replace(j.motor, effort_offset=of.get(j.name, 0.0))) for j in TRUTH.joints]
    more = predict(replace(TRUTH, joints=tuple(joints)), recording).predicted - predict(TRUTH, recording).predicted
    np.testing.assert_allclose(more, np.broadcast_to(offsets, more.shape), atol=1e-9)


def test_rows_that_were_asked_for_all_count(tmp_path: Path) -> None:
    """Those too in which the robot stands still, which are left out where no rows are named."""
    still, count = 200, len(TIME)
    q = np.concatenate([np.zeros((still, 2)), waves(2, TIME, 3)[0]])
    table = np.column_stack([np.arange(still + count) * (TIME[1] - TIME[0]), q, q + np.sin(np.arange(len(q)))[:, None]])
    head = 'time,theta1.position,theta2.position,theta1.effort,theta2.effort'
    np.savetxt(tmp_path / 'made.csv', table, delimiter=',', header=head, comments='')
    done = command('predict', 'made.csv', '--robot', 'arm_2r', '--rows', '50:900', '-o', 'out.csv', cwd=tmp_path)
    assert '850 rows, as requested' in done.stdout, done.stderr
    time = np.loadtxt(tmp_path / 'out.csv', delimiter=',', skiprows=1)[:, 0]
    np.testing.assert_allclose(time, table[50:900, 0], atol=1e-6)


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('--fixed', 'theta1=nan'), 'theta1=nan, must be JOINT=RAD'),
        (('--rows', 'a:b'), 'a:b, must be A:B'),
        (('--like', 'theta1=theta2'), '--like theta1=theta2: must be OTHER=RECORDED'),
        (('-o', 'nowhere/x.yaml'), 'nowhere: no such folder'),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    q, _, _ = waves(2, TIME, 3)
    head = 'time,theta1.position,theta2.position,theta1.effort,theta2.effort'
    np.savetxt(tmp_path / 'made.csv', np.column_stack([TIME, q, q]), delimiter=',', header=head, comments='')
    done = command('identify', 'made.csv', '--robot', 'arm_2r', *words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / 'arm_2r_identified.yaml').exists()
    assert 'Traceback' not in done.stderr
