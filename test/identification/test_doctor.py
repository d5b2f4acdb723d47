"""Doctor on a simulated arm: each mistake is found and repaired, and the command says so."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import NewtonEuler, Robot, krang
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification.doctor import Finding, examine
from krang_dynamics_ros.recordings.recording import Recording, RecordingError
from krang_dynamics_ros.recordings.table import write_csv
from krang_dynamics_ros.recordings.timing import Timing, VelocityRatio

from ..commands import run as command
from ..marks import slow_but
from ..real_recordings import waves

TIME = np.arange(0, 12, 0.02)
NAMES = tuple(f'q_{k}l' for k in range(1, 8))
HAND = 'R10l'
NOISE = 0.02


def recorded(robot: Robot | None = None) -> Recording:
    """Return a motion of Krang's left arm, whose robot is another than the file's if one is given."""
    arm = with_fixed_joints(robot or krang(), {}, NAMES)
    q, dq, ddq = waves(7, TIME, 3)
    effort = NewtonEuler(arm).inverse_dynamics(q, dq, ddq) + 1.5 * dq + 0.8 * np.tanh(dq / 0.02)
    rng = np.random.default_rng(4)
    effort += NOISE * effort.std(axis=0) * rng.normal(size=q.shape)
    return Recording('made here', NAMES, TIME, q, dq, effort)


@cache
def intact() -> Recording:
    return recorded()


def first(recording: Recording, robot: Robot | None = None) -> Finding:
    return examine(robot or krang(), recording).findings[0]


def times(values: np.ndarray | None, factor: float, joint: int) -> np.ndarray:
    assert values is not None
    return values * np.where(np.arange(7) == joint, factor, 1.0)


def test_a_recording_of_the_robot_has_no_findings() -> None:
    found = examine(krang(), intact())
    assert not found.findings
    assert found.errors.max() < 0.1
    assert not examine(krang(), replace(intact(), velocity=None)).findings


@pytest.mark.parametrize('factor', slow_but([0.05, 1.1], [20.0, 0.05, 1.1, 1000.0, 1e-3]))
def test_a_wrong_time_is_found_by_the_velocities(factor: float) -> None:
    found = first(replace(intact(), time=TIME * factor))
    assert found.kind == 'time'
    assert found.value == pytest.approx(factor, rel=0.01)
    assert f'{50 / factor:.3g} rows per second become 50' in found.change


@pytest.mark.parametrize('factor', slow_but([0.05], [20.0, 0.05]))
def test_a_wrong_time_is_found_without_velocities_by_the_inertia(factor: float) -> None:
    found = first(replace(intact(), time=TIME * factor, velocity=None))
    assert found.kind == 'time'
    assert found.value == pytest.approx(factor, rel=0.5)


def test_later_mistakes_are_found_once_earlier_ones_are_repaired() -> None:
    recording = replace(intact(), time=TIME * 20, effort=times(intact().effort, -1.0, 1))
    time, sign = examine(krang(), recording).findings
    assert (time.kind, sign.kind, sign.names) == ('time', 'sign', ('q_2l',))


@pytest.mark.slow
def test_units_of_efforts_and_positions_are_found() -> None:
    assert first(replace(intact(), effort=intact().measured_effort * 1e3)).text.endswith('repaired)')
    assert first(replace(intact(), effort=intact().measured_effort * 1e3)).value == pytest.approx(1e3, rel=0.1)
    amperes = first(replace(intact(), effort=intact().measured_effort / 12))
    assert (amperes.kind, amperes.value) == ('units', pytest.approx(1 / 12, rel=0.1))
    assert 'amperes' in amperes.text
    assert 'effort_scale' in amperes.change
    alone = first(replace(intact(), effort=times(intact().effort, 1e3, 3)))
    assert (alone.kind, alone.names) == ('units', ('q_4l',))
    degrees = replace(intact(), position=intact().position * 180 / np.pi)
    assert 'degrees' in first(degrees).text
    fast = first(replace(intact(), velocity=np.degrees(intact().velocity)))
    assert (fast.kind, 'degrees per second' in fast.text) == ('units', True)


def test_a_joint_whose_velocity_alone_is_turned_is_named() -> None:
    found = first(replace(intact(), velocity=times(intact().velocity, -1.0, 2)))
    assert (found.kind, found.names) == ('sign', ('q_3l',))
    assert 'velocity' in found.text


def test_velocities_with_the_other_sign_in_another_unit_get_the_factor_that_repairs_them() -> None:
    velocity = columns()[1]
    found = first(replace(intact(), velocity=-np.degrees(velocity)))
    assert (found.kind, found.value) == ('sign', pytest.approx(-180 / np.pi, rel=0.01))
    assert found.change == 'Multiply all velocities by -0.0175'


def test_efforts_beyond_a_limit_are_found_where_the_model_explains_nothing() -> None:
    found = first(replace(intact(), effort=times(intact().effort, 1e3, 6)))
    assert (found.kind, found.names) == ('units', ('q_7l',))
    assert 'times its limit' in found.text
    assert "the model's torque" not in found.text


def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    velocity = intact().velocity
    assert velocity is not None
    return intact().position, velocity, intact().measured_effort


def test_joints_that_are_exchanged_are_named() -> None:
    order = [0, 3, 2, 1, 4, 5, 6]
    position, velocity, effort = (values[:, order] for values in columns())
    swapped = first(replace(intact(), position=position, velocity=velocity, effort=effort))
    assert (swapped.kind, set(swapped.names)) == ('order', {'q_2l', 'q_4l'})


@pytest.mark.slow
def test_joints_whose_efforts_are_exchanged_are_named() -> None:
    alone = first(replace(intact(), effort=intact().measured_effort[:, [0, 3, 2, 1, 4, 5, 6]]))
    assert (alone.kind, set(alone.names)) == ('order', {'q_2l', 'q_4l'})
    assert 'in effort' in alone.text


@pytest.mark.slow
def test_a_joint_that_is_turned_is_named() -> None:
    turned = [times(values, -1.0, 3) for values in columns()]
    found = first(replace(intact(), position=turned[0], velocity=turned[1], effort=turned[2]))
    assert (found.kind, found.names) == ('turned', ('q_4l',))


def test_gravity_of_another_direction_is_found() -> None:
    wall = recorded(replace(krang(), gravity=np.array([9.81, 0.0, 0.0])))
    found = first(wall)
    assert (found.kind, found.value) == ('gravity', pytest.approx(90, abs=5))
    assert '(9.8' in found.text


@pytest.mark.slow
def test_gravity_upside_down_and_none_at_all_are_found() -> None:
    upside_down = first(recorded(replace(krang(), gravity=np.array([0.0, 0.0, 9.81]))))
    assert (upside_down.kind, upside_down.value) == ('gravity', pytest.approx(180, abs=5))
    none = first(recorded(replace(krang(), gravity=np.zeros(3))))
    assert (none.kind, none.value) == ('gravity', pytest.approx(0, abs=0.5))
    missing = first(intact(), replace(krang(), gravity=np.zeros(3)))
    assert (missing.kind, missing.value) == ('gravity', pytest.approx(9.81, rel=0.05))
    assert 'and the robot file has none' in missing.text
    assert 'effort_without' in none.change


def test_a_load_is_weighed_and_a_missing_one_too() -> None:
    body = Inertia.about_com(4.0, [0, 0, 0.1], np.zeros((3, 3)))
    loaded = krang().carrying({HAND: body})
    more, less = first(recorded(loaded)), first(intact(), loaded)
    assert (more.kind, more.value) == ('load', pytest.approx(4.0, rel=0.05))
    assert (less.kind, less.value) == ('load', pytest.approx(-4.0, rel=0.05))


def test_efforts_that_a_model_computed_are_no_recording() -> None:
    q, dq, ddq = waves(7, TIME, 3)
    effort = NewtonEuler(with_fixed_joints(krang(), {}, NAMES)).inverse_dynamics(q, dq, ddq)
    assert first(replace(intact(), effort=effort)).kind == 'model'


def test_efforts_of_nothing_the_robot_does_are_said_to_be_unexplained() -> None:
    noise = np.random.default_rng(0).normal(size=intact().position.shape)
    assert first(replace(intact(), effort=noise)).kind == 'unexplained'


def test_efforts_that_never_change_and_a_robot_that_stands_are_refused() -> None:
    with pytest.raises(RecordingError, match='the effort of q_1l never changes'):
        examine(krang(), replace(intact(), effort=times(intact().effort, 0.0, 0)))
    with pytest.raises(RecordingError, match='stands still'):
        examine(krang(), replace(intact(), position=0 * intact().position, velocity=None))


def test_gaps_and_repeated_rows_are_counted() -> None:
    rows = np.r_[0:200, 199, 230:600]
    recording = replace(intact().rows(rows), time=np.r_[TIME[:200], TIME[200], TIME[230:]])
    timing = Timing.of(recording)
    assert (timing.gaps, timing.repeated) == (1, 1)
    assert timing.longest == pytest.approx(0.6)
    assert timing.rate == pytest.approx(50)


def test_an_arm_that_stands_perfectly_still_makes_no_gap() -> None:
    rows = np.r_[0:200, [199] * 100, 200:600]
    timing = Timing.of(replace(intact().rows(rows), time=0.02 * np.arange(700)))
    assert (timing.gaps, timing.repeated) == (0, 100)


def test_velocities_in_blocks_say_what_they_say_at_once() -> None:
    recording = replace(intact(), velocity=intact().velocity * 2 if intact().velocity is not None else None)
    blocks, velocity = VelocityRatio(7), recording.velocity
    assert velocity is not None
    for rows in (slice(0, 200), slice(200, 600)):
        part = VelocityRatio(7)
        part.add(TIME[rows], recording.position[rows], velocity[rows])
        blocks.join(part)
    whole = VelocityRatio.of(recording)
    assert whole is not None
    assert whole.common == pytest.approx(2, rel=1e-3)
    assert blocks.common == pytest.approx(2, rel=1e-2)


@pytest.mark.slow
def test_the_command_numbers_findings_and_ends_with_1(tmp_path: Path) -> None:
    write_csv(intact(), tmp_path / 'good.csv')
    write_csv(replace(intact(), time=TIME * 20, effort=times(intact().effort, -1, 1)), tmp_path / 'bad.csv')
    good = command('doctor', 'good.csv', '--robot', 'krang', cwd=tmp_path)
    assert (good.returncode, good.stderr) == (0, '')
    assert 'no findings' in good.stdout
    assert '12.0 s at 50 rows per second, no gaps' in good.stdout
    bad = command('doctor', 'bad.csv', '--robot', 'krang', cwd=tmp_path)
    assert bad.returncode == 1
    numbered = [line for line in bad.stdout.splitlines() if line[:2] in {'1.', '2.', '3.'}]
    assert [line.split(':')[0] for line in numbered] == ['1. time', '2. sign']


@pytest.mark.slow
def test_the_command_lists_findings_as_json(tmp_path: Path) -> None:
    write_csv(replace(intact(), time=TIME * 20, effort=times(intact().effort, -1, 1)), tmp_path / 'bad.csv')
    told = command('doctor', 'bad.csv', '--robot', 'krang', '--json', cwd=tmp_path)
    assert told.returncode == 1
    data = json.loads(told.stdout)
    assert [finding['kind'] for finding in data['findings']] == ['time', 'sign']
    assert data['findings'][1]['names'] == ['q_2l']


@pytest.mark.slow
def test_the_command_says_what_it_cannot_examine(tmp_path: Path) -> None:
    write_csv(replace(intact(), effort=None), tmp_path / 'mute.csv')
    mute = command('doctor', 'mute.csv', '--robot', 'krang', cwd=tmp_path)
    assert mute.returncode == 2
    assert 'no effort was recorded' in mute.stderr
    write_csv(intact(), tmp_path / 'good.csv')
    other = command('doctor', 'good.csv', '--robot', 'arm_2r', cwd=tmp_path)
    assert other.returncode == 2
    assert 'q_7l, must have theta1, theta2; is it of another robot?' in other.stderr
    assert command('doctor', 'good.csv', 'good.csv', cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_identify_says_what_it_assumes_and_finds_a_turned_sign(tmp_path: Path) -> None:
    write_csv(replace(intact(), effort=times(intact().effort, -1, 1)), tmp_path / 'bad.csv')
    done = command('identify', 'bad.csv', '--robot', 'krang', '-o', 'out.yaml', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'assumed: rad, rad/s, N m' in done.stdout
    assert '12.0 s at 50 rows per second, no gaps' in done.stdout
    assert 'sign: the effort of q_2l has the other sign' in done.stderr
