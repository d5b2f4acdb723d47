"""The same motion as a bag, as CSV and as Parquet: `identify` and `predict` say the same of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import NewtonEuler, load_robot
from krang_dynamics_ros.cli import predict as predict_command
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification.predict import Prediction
from krang_dynamics_ros.recordings.joint_recording import read_joints
from krang_dynamics_ros.recordings.recording import Recording, RecordingError, motion_only, resting_positions
from krang_dynamics_ros.recordings.table import write_csv

from ..bags import BEGIN, joint_state, write_bag
from ..commands import run as command
from ..real_recordings import waves

TIME = np.arange(0, 12, 0.01)
NAMES = ('theta1', 'theta2')


@cache
def made() -> Recording:
    arm = load_robot('arm_2r')
    q, dq, ddq = waves(2, TIME, 3)
    rng = np.random.default_rng(4)
    effort = NewtonEuler(arm).inverse_dynamics(q, dq, ddq) + 2.0 * dq + 1.5 * np.sign(dq)
    return Recording('made here', NAMES, TIME, q, None, effort + 0.02 * effort.std(axis=0) * rng.normal(size=q.shape))


def bag(path: Path, *, still: float = 0.3) -> Path:
    """Write the motion with a joint more that stands still and joints that no robot knows, in another order."""
    names, record = ('wheel', 'theta2', 'theta1'), made()
    rows = zip([BEGIN + round(t * 1e9) for t in TIME], record.position, record.measured_effort, strict=True)
    messages = [
        ('/joint_states', at, joint_state(at, names, [still, *q[::-1]], (), [0.0, *f[::-1]])) for at, q, f in rows
    ]
    return write_bag(path, messages)


def test_bag_csv_and_parquet_say_the_same(tmp_path: Path) -> None:
    pandas = pytest.importorskip('pyarrow.csv', reason='pyarrow, for Parquet, is not installed')
    parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for Parquet, is not installed')
    write_csv(made(), tmp_path / 'motion.csv')
    parquet.write_table(pandas.read_csv(tmp_path / 'motion.csv'), tmp_path / 'motion.parquet')
    bag(tmp_path / 'motion')
    said = []
    for k, source in enumerate(('motion.csv', 'motion.parquet', 'motion')):
        done = command('identify', source, '--robot', 'arm_2r', '-o', f'{k}.yaml', cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        joint = next(j for j in load_robot(tmp_path / f'{k}.yaml').joints if j.name == 'theta1')
        assert joint.friction.viscous == pytest.approx(2.0, rel=0.03)
        told = command('predict', source, '--robot', f'{k}.yaml', cwd=tmp_path)
        said.append([line.split()[1] for line in told.stdout.splitlines() if line.startswith(('theta', 'mean'))])
    assert said[0] == said[1] == said[2]
    assert float(said[0][-1]) < 0.03


def test_joints_of_a_bag_that_stand_still_are_held_where_they_stand(tmp_path: Path) -> None:
    path = bag(tmp_path / 'motion')
    recording, others, left_out = read_joints(path, ('theta1', 'theta2', 'wheel'))
    assert (recording.joint_names, left_out) == (NAMES, 0)
    assert resting_positions(recording, others) == {'wheel': 0.3}
    np.testing.assert_allclose(recording.position, made().position)
    np.testing.assert_allclose(recording.time, TIME, atol=1e-9)
    chosen = read_joints(path, ('theta2',), chosen=True)
    assert chosen.recording.joint_names == ('theta2',)
    assert set(chosen.others) == {'theta1', 'wheel'}


def parts_of(lists: list[tuple[str, ...]], late: list[int], every: list[int]) -> list[tuple[str, int, object]]:
    """Return the motion as messages of several publishers: their joints, ns by which they come later, and rows."""
    record, messages = made(), []
    for k, (t, q, f) in enumerate(zip(TIME, record.position, record.measured_effort, strict=True)):
        at = BEGIN + round(t * 1e9)
        for names, delay, step in zip(lists, late, every, strict=True):
            if k % step == 0:
                columns = [NAMES.index(name) for name in names]
                messages.append(
                    ('/joint_states', at + delay, joint_state(at + delay, names, q[columns], (), f[columns]))
                )
    return sorted(messages, key=lambda message: message[1])


def test_joints_that_come_in_parts_of_equal_stamps_are_as_in_one_message(tmp_path: Path) -> None:
    found = read_joints(write_bag(tmp_path / 'parts', parts_of([('theta1',), ('theta2',)], [0, 0], [1, 1])), NAMES)
    assert found.recording.joint_names == NAMES
    np.testing.assert_array_equal(found.recording.position, made().position)
    np.testing.assert_array_equal(found.recording.effort, made().effort)
    np.testing.assert_allclose(found.recording.time, TIME, atol=1e-9)
    assert 'joint states are split' in found.recording.notes[0]


def test_parts_of_other_instants_and_rates_are_brought_to_common_ones(tmp_path: Path) -> None:
    parts = write_bag(tmp_path / 'parts', parts_of([('theta1',), ('theta2',)], [0, 3 * 10**6], [1, 2]))
    found = read_joints(parts, NAMES).recording
    for j, late in enumerate((0.003, 0.0)):  # the first instant is that of the part that comes later
        expected = np.interp(found.time + late, TIME, made().position[:, j])
        np.testing.assert_allclose(found.position[:, j], expected, atol=2e-4)
    done = command('identify', 'parts', '--robot', 'arm_2r', '-o', 'out.yaml', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert mean_error(done.stdout) < 0.1


def test_parts_that_are_never_known_together_are_refused(tmp_path: Path) -> None:
    parts = parts_of([('theta1',), ('theta2',)], [0, 13 * 10**9], [1, 1])
    with pytest.raises(RecordingError, match=r'never within 0\.1 s'):
        read_joints(write_bag(tmp_path / 'apart', parts), NAMES)
    back = [parts[0], *[m for m in parts[2:60] if m[1] > BEGIN + 10**7], parts[1]]
    states = [(topic, BEGIN + k * 10**7, message) for k, (topic, _, message) in enumerate(back)]
    with pytest.raises(RecordingError, match='must never decrease'):
        read_joints(write_bag(tmp_path / 'back', states), NAMES)


def test_a_part_with_a_number_that_is_not_finite_is_left_out(tmp_path: Path) -> None:
    parts = parts_of([('theta1',), ('theta2',)], [0, 0], [1, 1])
    topic, at, _ = parts[400]
    parts[400] = (topic, at, joint_state(at, ('theta1',), [np.nan], (), [0.0]))
    found = read_joints(write_bag(tmp_path / 'parts', parts), NAMES)
    assert found.left_out == 1
    assert np.isfinite(found.recording.position).all()


def test_time_in_a_bag_is_that_of_the_stamps_and_of_arrival_where_there_are_none(tmp_path: Path) -> None:
    """Messages come late and unevenly; the drives were read when the stamps say."""
    stamps = BEGIN + 10**7 * np.arange(20)
    late = stamps + 10**6 * np.random.default_rng(0).integers(0, 9, 20) + 5 * 10**9
    for name, told, expected in (('stamped', stamps, stamps), ('unstamped', 0 * stamps, late)):
        states = [
            ('/joint_states', at, joint_state(stamp, NAMES, [0.01 * k] * 2, (), [1.0, 1.0]))
            for k, (at, stamp) in enumerate(zip(late.tolist(), told.tolist(), strict=True))
        ]
        time = read_joints(write_bag(tmp_path / name, states), NAMES).recording.time
        np.testing.assert_allclose(time, (expected - expected[0]) * 1e-9, atol=1e-9)


def test_a_bag_that_determines_nothing_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = bag(tmp_path / 'motion')
    with pytest.raises(RecordingError, match='stands still, which determines nothing'):
        motion_only(read_joints(path, ('wheel',)).recording)
    with pytest.raises(RecordingError, match='has joints wheel, theta2, theta1, must have elbow'):
        read_joints(path, ('elbow',))
    mute = [('/joint_states', BEGIN + k, joint_state(BEGIN + k, NAMES, [0.01 * k, 0.01 * k])) for k in range(20)]
    assert read_joints(write_bag(tmp_path / 'mute', mute), NAMES).recording.effort is None
    still = replace(made(), position=0 * made().position)
    write_csv(still, tmp_path / 'still.csv')
    done = command('identify', 'still.csv', '--robot', 'arm_2r', cwd=tmp_path)
    assert done.returncode == 2
    assert 'stands still, which determines nothing' in done.stderr


def swinging(where: Path, theta1: np.ndarray | float) -> Path:
    """Write a recording in which theta2 swings and theta1 is where it is said to be, its weight on theta2 as it is."""
    q = np.column_stack([np.broadcast_to(theta1, TIME.shape), waves(1, TIME, 5)[0]])
    dq, ddq = (np.gradient(x, TIME, axis=0) for x in (q, np.gradient(q, TIME, axis=0)))
    effort = NewtonEuler(load_robot('arm_2r')).inverse_dynamics(q, dq, ddq) + 2.0 * dq + 1.5 * np.sign(dq)
    write_csv(Recording('made here', NAMES, TIME, q, None, effort), where)
    return where


def test_each_recording_has_its_own_pose(tmp_path: Path) -> None:
    low, level = swinging(tmp_path / 'low.csv', -1.5), swinging(tmp_path / 'level.csv', 0.0)
    options = ('--robot', 'arm_2r', '--joints', 'theta2')
    done = command('identify', low, level, *options, '-o', 'both.yaml', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    mass = load_robot('arm_2r').link_of['link2'].inertia.m
    assert load_robot(tmp_path / 'both.yaml').link_of['link2'].inertia.m == pytest.approx(mass, rel=0.02)
    for order in ((low, level), (level, low)):
        told = command('predict', *order, '--robot', 'both.yaml', '--joints', 'theta2', cwd=tmp_path)
        means = [float(line.split()[1]) for line in told.stdout.splitlines() if line.startswith('mean')]
        assert len(means) == 2
        assert max(means) < 0.05


def mean_error(text: str) -> float:
    return float(next(line for line in text.splitlines() if line.startswith('mean')).split()[1])


def test_a_joint_that_moves_and_does_not_count_is_followed(tmp_path: Path) -> None:
    slow = 0.5 * np.sin(TIME)
    swinging(tmp_path / 'both.csv', slow)
    count = ('--joints', 'theta2')
    done = command('identify', 'both.csv', '--robot', 'arm_2r', *count, '-o', 'out.yaml', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'theta1' not in done.stdout
    assert mean_error(done.stdout) < 0.05
    options = ('predict', 'both.csv', '--robot', 'out.yaml', *count)
    followed = mean_error(command(*options, cwd=tmp_path).stdout)
    standing = mean_error(command(*options, '--fixed', 'theta1=0', cwd=tmp_path).stdout)
    assert followed < 0.05
    assert standing > 2 * followed
    before = np.where(TIME < 0.5, TIME - 0.5, 0.0)  # it moves to its place before the rows that count
    swinging(tmp_path / 'both.csv', before)
    assert command(*options, '--rows', '100:1000', cwd=tmp_path).returncode == 0


def bag_with(path: Path, at: int, field: str, value: float) -> Path:
    """Write the motion with another number in one of theta2's messages, and a second topic of joint states."""
    record, messages = made(), []
    for k, (t, q, f) in enumerate(zip(TIME, record.position, record.measured_effort, strict=True)):
        numbers = {'position': q.copy(), 'effort': f.copy()}
        if k == at:
            numbers[field][1] = value
        stamp = BEGIN + round(t * 1e9)
        state = joint_state(stamp, NAMES, numbers['position'], [np.nan, 0.0], numbers['effort'])
        messages.append(('/joint_states', stamp, state))
        messages.append(('/gripper', stamp, joint_state(stamp, ('finger',), [0.0])))
    return write_bag(path, messages)


@pytest.mark.parametrize(('field', 'value'), [('position', np.nan), ('position', np.inf), ('effort', np.nan)])
def test_a_message_with_a_number_that_is_not_finite_is_left_out_and_counted(
    field: str, value: float, tmp_path: Path
) -> None:
    bag_with(tmp_path / 'motion', 600, field, value)
    done = command('predict', 'motion', '--robot', 'arm_2r', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'motion: 1 rows left out, because a number is missing or not finite' in done.stderr
    assert 'theta2' in done.stdout
    assert 'nan' not in done.stdout


def test_one_message_without_efforts_takes_none_from_the_others(tmp_path: Path) -> None:
    states = [
        ('/joint_states', at, joint_state(at, NAMES, [1e-2 * k] * 2, (), [1.0 * k] * 2 if k else ()))
        for k, at in enumerate(range(BEGIN, BEGIN + 10**9, 10**7))
    ]
    found = read_joints(write_bag(tmp_path / 'late', states), NAMES)
    assert (len(found.recording), found.left_out) == (99, 1)
    assert found.recording.measured_effort[0].tolist() == [1.0, 1.0]


def test_a_joint_without_a_finite_number_and_a_fixed_angle_that_is_none_are_refused(tmp_path: Path) -> None:
    states = [
        ('/joint_states', BEGIN + k * 10**7, joint_state(BEGIN + k * 10**7, NAMES, [0.01 * k] * 2, (), [1.0, np.nan]))
        for k in range(20)
    ]
    with pytest.raises(RecordingError, match='effort of theta2 is finite in no row'):
        read_joints(write_bag(tmp_path / 'dead', states), NAMES)
    with pytest.raises(ArgumentError, match='theta1: fixed at nan, must be a finite number'):
        with_fixed_joints(load_robot('arm_2r'), {'theta1': np.nan}, ('theta2',))


def test_the_topic_of_joint_states_can_be_chosen(tmp_path: Path) -> None:
    bag_with(tmp_path / 'motion', 0, 'position', 0.0)
    options = ('predict', 'motion', '--robot', 'arm_2r')
    wrong = command(*options, '--joint-states', '/gripper', cwd=tmp_path)
    assert wrong.returncode == 2
    assert 'motion, /gripper (--joint-states names another: /joint_states): has joints finger' in wrong.stderr
    assert command(*options, '--joint-states', '/joint_states', cwd=tmp_path).returncode == 0


def test_a_topic_of_torques_is_no_topic_of_joint_states(tmp_path: Path) -> None:
    messages = [
        (topic, at, joint_state(at, ('other',), [0.1 * k], (), [0.0]))
        for k, at in enumerate(range(BEGIN, BEGIN + 2 * 10**9, 10**7))
        for topic in ('/joint_states', '/torque', '/torque/total', '/arm/joint_states')
    ]
    with pytest.raises(RecordingError) as refused:
        read_joints(write_bag(tmp_path / 'motion', messages), NAMES, joint_states='/joint_states')
    assert 'motion, /joint_states (--joint-states names another: /arm/joint_states): has joints other' in str(
        refused.value
    )


@pytest.mark.parametrize(('rows', 'count'), [('10:5', 0), ('5000:', 0), ('3:4', 1)])
def test_rows_that_are_none_are_refused(rows: str, count: int, tmp_path: Path) -> None:
    write_csv(made(), tmp_path / 'motion.csv')
    done = command('predict', 'motion.csv', '--robot', 'arm_2r', '--rows', rows, cwd=tmp_path)
    assert done.returncode == 2
    assert f'motion.csv: --rows {rows} takes {count} of 1200 rows, must take 2 or more' in done.stderr


def test_a_joint_that_slides_has_its_own_units(tmp_path: Path) -> None:
    q, dq, ddq = waves(2, TIME, 3)
    effort = NewtonEuler(load_robot('pr_robot')).inverse_dynamics(q, dq, ddq) + 2.0 * dq
    write_csv(Recording('made here', ('q1', 'q2'), TIME, q, None, effort), tmp_path / 'motion.csv')
    done = command('identify', 'motion.csv', '--robot', 'pr_robot', '-o', 'out.yaml', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    slides, turns = (next(line for line in done.stdout.splitlines() if line.startswith(name)) for name in ('q1', 'q2'))
    assert slides.endswith(' N')
    assert turns.endswith(' N m')
    notes = {}
    lines = (tmp_path / 'out.yaml').read_text().splitlines()
    for note, line in pairwise(lines):
        if line.startswith(('  q1:', '  q2:')):
            notes[line.strip()[:2]] = f'{note},'
    assert all(f' {unit},' in notes['q1'] for unit in ('kg', 'N s/m', 'N'))
    assert all(f' {unit},' in notes['q2'] for unit in ('kg m^2', 'N m s/rad', 'N m'))
    page = (tmp_path / 'out.html').read_text()
    assert all(f'"y":"{unit}"' in page for unit in ('N', 'N m'))


def test_rows_that_were_asked_for_are_not_called_the_motion(tmp_path: Path) -> None:
    write_csv(made(), tmp_path / 'motion.csv')
    told = command('predict', 'motion.csv', '--robot', 'arm_2r', '--rows', '200:900', cwd=tmp_path).stdout
    assert 'motion.csv: 700 rows, as requested\n' in told


def test_rows_on_brakes_are_left_out_of_the_errors_of_a_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    robot, time = load_robot(), 0.01 * np.arange(300)
    (joint,) = [joint for joint in robot.moving_joints if joint.name == 'q_4l']
    load = 0.3 * joint.limits.effort if joint.limits else None
    q = np.where(time < 1.0, 0.0, np.sin(time - 1.0))[:, None]
    dq = np.where(time < 1.0, 0.0, np.cos(time - 1.0))[:, None]
    predicted = np.full((300, 1), load) + dq
    effort = np.where(time < 1.0, 0.0, predicted[:, 0])[:, None]
    found = Prediction(Recording('made here', ('q_4l',), time, q, dq, effort), predicted, dq, 5.0)
    assert found.errors.max() > 0.5
    rest = predict_command._without_braked(robot, found)
    assert rest.errors.max() < 1e-9
    assert len(rest.recording) == 200
    assert 'brakes or friction hold the arm in 100 of these rows' in capsys.readouterr().out
    assert predict_command._without_braked(robot, rest) is rest
