"""Recordings: what is read is what was written, the node's own torques come out, and broken ones are told apart."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krang_dynamics_ros import Robot, dynamics_of, load_robot
from krang_dynamics_ros.live.messages import JointStateReader
from krang_dynamics_ros.processing import portions
from krang_dynamics_ros.processing import process as many
from krang_dynamics_ros.processing.columns import segments
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import attempt, on_this_machine, process
from krang_dynamics_ros.processing.replay import States
from krang_dynamics_ros.processing.summary import Downsampled, ErrorSums
from krang_dynamics_ros.recordings.bag import Bag
from krang_dynamics_ros.recordings.source import Topics
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.simulation.simulation import Simulation

from ..bags import BEGIN, TYPES, joint_state, wrench, write_bag
from ..robots import ROOT

pyarrow = pytest.importorskip('pyarrow', reason='pyarrow, for recordings, is not installed')
parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
ARM = str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')
PINOCCHIO = {'backend': 'pinocchio'}
MS = 1_000_000


def column(out: Path, name: str) -> np.ndarray:
    return parquet.read_table(out / 'torques.parquet', columns=[name])[name].to_numpy()


def arm_states(count: int = 200, names: tuple[str, ...] = ('theta1', 'theta2')) -> Iterator[tuple[str, int, object]]:
    for k in range(count):
        stamp, t = BEGIN + 2 * MS * k, 0.002 * k
        q, dq = [np.sin(3 * t), np.cos(2 * t)], [3 * np.cos(3 * t), -2 * np.sin(2 * t)]
        yield '/joint_states', stamp, joint_state(stamp, names, q, dq, [1.0 + t, 2.0])


numbers = st.lists(st.floats(allow_nan=True), max_size=4)
words = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']), max_size=9)
states = st.tuples(words, st.lists(words, max_size=4), numbers, numbers, numbers)


@settings(max_examples=60, deadline=None)
@given(st.lists(states, min_size=1, max_size=6))
def test_bytes_are_read_as_the_library_of_bags_reads_them(told: list[tuple[str, list[str], list, list, list]]) -> None:
    kind = 'sensor_msgs/msg/JointState'
    read = partial(TYPES.deserialize_cdr, typename=kind)
    reader = JointStateReader(read)
    for k, (frame, names, *columns) in enumerate(told * 2):  # the second time by what was learnt
        message = joint_state(BEGIN + k, names, *columns)
        message.header.frame_id = frame
        got = reader.read(bytes(TYPES.serialize_cdr(message, kind)), 7)
        assert (got.names, got.stamp, got.arrival) == (tuple(names), BEGIN + k, 7)
        for mine, theirs in zip(got[1:4], columns, strict=True):
            np.testing.assert_array_equal(mine, np.array(theirs, dtype=float))


def test_messages_of_one_length_are_learnt_once_each() -> None:
    """As of both arms' drivers, in turns; one without velocities, one without efforts."""
    kind, x, asked = 'sensor_msgs/msg/JointState', [0.1, 0.2], []
    told = [(['l1', 'l2'], x, x, x), (['r1', 'r2'], x, x, x), (['l1', 'l2'], x, x, []), (['l1', 'l2'], x, [], x)]
    raws = [bytes(TYPES.serialize_cdr(joint_state(BEGIN, *one), kind)) for one in told]
    reader = JointStateReader(lambda raw: asked.append(raw) or TYPES.deserialize_cdr(raw, kind))
    for raw, (names, *columns) in [*zip(raws, told, strict=True)] * 5:
        got = reader.read(raw, 0)
        assert got.names == tuple(names)
        assert [part.tolist() for part in got[1:4]] == columns
    assert asked == raws


@pytest.mark.parametrize('storage', ['MCAP', 'SQLITE3'])
def test_gravity_of_every_state_is_the_librarys(tmp_path: Path, storage: str) -> None:
    bag = write_bag(tmp_path / 'bag', arm_states(), storage)
    summary = process(Job(bag, tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    dynamics = dynamics_of(load_robot(ARM))
    names = dynamics.joint_names
    q = np.stack([column(tmp_path / 'out', f'{name}.position') for name in names], axis=1)
    assert summary.states == len(q) == 200
    for k, name in enumerate(names):
        expected = [dynamics.Q(x)[k] for x in q]
        np.testing.assert_allclose(column(tmp_path / 'out', f'{name}.gravity'), expected, atol=1e-12)


def test_units_and_meanings_are_in_the_table(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / 'bag', arm_states())
    process(Job(bag, tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    schema = parquet.read_schema(tmp_path / 'out' / 'torques.parquet')
    assert schema.field('theta1.velocity').metadata[b'unit'] == b'rad/s'
    assert schema.field('theta2.gravity').metadata[b'meaning'].startswith(b'Q(q)')
    assert all(b'unit' in field.metadata for field in schema)


def test_the_model_explains_what_a_simulation_applied(robot: Robot, tmp_path: Path) -> None:
    """Gamma against the applied efforts, at 500 Hz: within 0.5 % of their spread, the worst joint."""
    known = replace(robot, joints=tuple(replace(joint, friction=Friction(2.0)) for joint in robot.joints))
    bag = write_bag(tmp_path / 'bag', simulated(known, 1000))
    viscous = {f'joints.{name}.viscous': 2.0 for name in robot.joint_names}
    summary = process(Job(bag, tmp_path / 'out', PINOCCHIO | viscous))
    assert len(summary.errors) == robot.n
    assert summary.errors[0].relative < 0.005
    wrong = process(Job(bag, tmp_path / 'wrong', PINOCCHIO))  # who does not know the friction sees it
    assert wrong.errors[0].relative > 0.1


def simulated(robot: Robot, count: int) -> Iterator[tuple[str, int, object]]:
    """Follow sines by computed torque, 1 kHz; every second state is recorded, with the torque that acts then."""
    simulation, dynamics, rng = Simulation(robot), dynamics_of(robot), np.random.default_rng(0)
    start = simulation.q.copy()
    start[1] = 0.8  # away from the spine's stop
    simulation.set_positions(start)
    size, speed = rng.uniform(0.1, 0.4, robot.n), rng.uniform(1, 4, robot.n)
    for k in range(2 * count):
        t = 1e-3 * k
        growing = 1 - np.exp(-t * t)
        q, dq = start + growing * size * np.sin(speed * t), growing * size * speed * np.cos(speed * t)
        ddq = -growing * size * speed**2 * np.sin(speed * t) + 20 * (dq - simulation.dq) + 100 * (q - simulation.q)
        torque = dynamics.inverse_dynamics(simulation.q, simulation.dq, ddq) + 2.0 * simulation.dq
        if k % 2 == 0:
            stamp = BEGIN + k * MS
            message = joint_state(stamp, robot.joint_names, simulation.q, simulation.dq, torque)
            yield '/joint_states', stamp, message
        simulation.step(torque)


def test_only_configured_wrench_topics_are_read(tmp_path: Path) -> None:
    messages = list(arm_states(20, ('a', 'b')))
    messages.insert(0, ('/wrench/left', BEGIN, wrench(BEGIN, '', (1, 2, 3), (0, 0, 0))))
    bag = write_bag(tmp_path / 'bag', messages)
    with Bag(bag) as opened:
        assert [type(x).__name__ for x in opened.messages(Topics())] == ['JointStateMessage'] * 20
        heard = list(opened.messages(Topics(wrenches={'left': '/wrench/left'})))
    assert heard[0].force == (1, 2, 3)


class TestStretches:
    """Every state is in one core, and no segment looks across a gap."""

    def states(self, stamps: np.ndarray) -> States:
        none = np.zeros((len(stamps), 1))
        return States(stamps, stamps, none, none, none, {}, [{}] * len(stamps), np.zeros(len(stamps), dtype=int))

    def blocks(self, stamps: np.ndarray, size: int) -> Iterator[States]:
        whole = self.states(stamps)
        for start in range(0, len(stamps), size):
            yield whole[start : start + size]

    @pytest.mark.parametrize('size', [1000, 4096, 7000])
    def test_cores_are_the_states(self, size: int) -> None:
        stamps = BEGIN + MS * np.arange(30_000)
        stamps[12_345:] += 10**9
        found = list(segments(self.blocks(stamps, size), 0.5))
        np.testing.assert_array_equal(np.concatenate([x.states.stamp[x.core] for x in found]), stamps)
        assert all((np.diff(x.states.stamp) == MS).all() for x in found)

    def test_inside_a_movement_there_is_a_margin_on_both_sides(self) -> None:
        found = list(segments(self.blocks(BEGIN + MS * np.arange(20_000), 4096), 0.5))
        for x in found[1:-1]:
            assert x.core.start >= 500
            assert len(x.states) - x.core.stop >= 500


def test_errors_in_parts_are_errors_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    effort, residual = 5 + rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2))
    effort[::7, 1] = np.nan
    sums = ErrorSums(('a', 'b'))
    for start in range(0, 1000, 300):
        sums.add(effort[start : start + 300], residual[start : start + 300])
    found = {error.joint: error for error in sums.errors()}
    known = np.isfinite(effort[:, 1])
    assert found['b'].samples == known.sum()
    assert found['b'].spread == pytest.approx(effort[known, 1].std())
    assert found['b'].rms == pytest.approx(np.sqrt(np.mean(residual[known, 1] ** 2)))
    assert found['a'].mean_absolute == pytest.approx(np.abs(residual[:, 0]).mean())


def test_the_slope_on_the_model_says_sign_and_unit() -> None:
    rng = np.random.default_rng(0)
    model = np.sin(0.01 * np.arange(1000))[:, None] * np.ones(3)
    effort = 5 + model * [1.0, -1.1, 1000.0] + 0.1 * rng.normal(size=(1000, 3))
    sums = ErrorSums(('right', 'turned', 'milli'))
    for start in range(0, 1000, 300):
        sums.add(effort[start : start + 300], (effort - model)[start : start + 300])
    found = {error.joint: error for error in sums.errors()}
    assert found['turned'].slope == pytest.approx(-1.1, rel=0.01)
    assert found['turned'].explained > 0.95
    assert not found['right'].suspicion
    assert 'its sign is reversed' in found['turned'].suspicion
    assert 'another unit' in found['milli'].suspicion


@pytest.mark.parametrize(('portion', 'parts'), [(10**6, 0), (60, 5)])
def test_a_summary_says_what_is_assumed_and_what_contradicts(
    portion: int, parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, 'PORTION_SIZE', portion)

    def states() -> Iterator[tuple[str, int, object]]:
        for k in range(400):
            if not 200 <= k < 250:
                stamp, t = BEGIN + 2 * MS * k, 0.002 * k
                q, dq = [np.sin(3 * t), np.cos(2 * t)], [3 * np.cos(3 * t), -4 * np.sin(2 * t)]
                yield '/joint_states', stamp, joint_state(stamp, ('theta1', 'theta2'), q, dq, [1.0 + t, 2.0])

    job = Job(write_bag(tmp_path / 'bag', states()), tmp_path / 'out', PINOCCHIO | {'robot_file': ARM})
    summary = process(job)
    assert summary.assumed == 'effort_source motor; 0.8 s at 500 rows per second, a gap of 0.102 s'
    assert summary.velocity_ratios == {'theta2': pytest.approx(2, rel=0.01)}
    fault = 'The velocity of theta2 is 2 times the rate of change of its position, must be 1.'
    assert fault in [*summary.suspected_faults]
    assert 'Assumed: effort_source motor' in (tmp_path / 'out' / 'report.html').read_text()
    assert len([*(tmp_path / 'out').rglob('part-*.parquet')]) == parts


class TestBroken:
    """A recording that cannot be is named, with the reason; it does not end the others."""

    def fault(self, bag: Path, tmp_path: Path, **more: object) -> str:
        result = attempt(Job(bag, tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}, **more))
        assert result.summary is None
        assert str(bag) in result.fault
        assert not (tmp_path / 'out').exists()
        assert not list(tmp_path.glob('.out*'))
        return result.fault

    def test_truncated(self, tmp_path: Path) -> None:
        bag = write_bag(tmp_path / 'bag', arm_states())
        (file,) = bag.glob('*.mcap')
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        self.fault(bag, tmp_path)
        self.fault(file, tmp_path)

    @pytest.mark.parametrize('content', [b'', b'\0' * 100, b'hello'])
    def test_no_bag(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / 'bag.mcap'
        file.write_bytes(content)
        self.fault(file, tmp_path)

    def test_not_there(self, tmp_path: Path) -> None:
        assert 'nothing: no such file or folder; must be a recording' in self.fault(tmp_path / 'nothing', tmp_path)

    def test_another_type(self, tmp_path: Path) -> None:
        bag = write_bag(tmp_path / 'bag', [('/joint_states', BEGIN, wrench(BEGIN, '', (0, 0, 0), (0, 0, 0)))])
        assert 'must be sensor_msgs/msg/JointState' in self.fault(bag, tmp_path)

    def test_no_joint_states(self, tmp_path: Path) -> None:
        bag = write_bag(tmp_path / 'bag', [('/other', BEGIN, wrench(BEGIN, '', (0, 0, 0), (0, 0, 0)))])
        assert 'must have joint states' in self.fault(bag, tmp_path)

    def test_joints_of_another_robot(self, tmp_path: Path) -> None:
        bag = write_bag(tmp_path / 'bag', arm_states(20, ('one', 'other')))
        assert 'missing: theta1, theta2' in self.fault(bag, tmp_path)

    def test_all_refused(self, tmp_path: Path) -> None:
        message = joint_state(BEGIN, ('theta1', 'theta2'), [np.nan, 0])
        bag = write_bag(tmp_path / 'bag', [('/joint_states', BEGIN, message)])
        assert 'position of theta1: nan' in self.fault(bag, tmp_path)

    def test_mostly_refused(self, tmp_path: Path) -> None:
        """Positions in degrees move further than joints can."""
        degrees = [
            ('/joint_states', at, joint_state(at, ('theta1', 'theta2'), [600.0 * np.sin(0.1 * k), 5.0 * k]))
            for k, at in enumerate(range(BEGIN, BEGIN + 10**9, 10**7))
        ]
        fault = self.fault(write_bag(tmp_path / 'bag', degrees), tmp_path)
        assert 'of 100 joint states were refused, must be less than half: `krang doctor` finds wrong units' in fault
        assert 'or another unit, such as degrees?' in fault

    @pytest.mark.skipif(os.geteuid() == 0, reason='root may read everything')
    def test_no_permission(self, tmp_path: Path) -> None:
        bag = write_bag(tmp_path / 'bag', arm_states())
        (file,) = bag.glob('*.mcap')
        file.chmod(0)
        self.fault(bag, tmp_path)

    def test_others_go_on(self, tmp_path: Path) -> None:
        good = write_bag(tmp_path / 'good', arm_states())
        bad = tmp_path / 'bad.mcap'
        bad.write_bytes(b'')
        jobs = [Job(bag, tmp_path / f'out_{bag.stem}', PINOCCHIO | {'robot_file': ARM}) for bag in (bad, good)]
        results = {result.job.recording: result for result in on_this_machine(jobs, 2)}
        assert results[bad].summary is None
        assert results[good].summary.states == 200


def test_finished_work_is_skipped_unless_an_input_changed(tmp_path: Path) -> None:
    bag, out = write_bag(tmp_path / 'bag', arm_states()), tmp_path / 'out'
    job = Job(bag, out, PINOCCHIO | {'robot_file': ARM})
    process(job)
    mark = (out / 'torques.parquet').stat().st_mtime_ns
    assert process(job).states == 200
    assert (out / 'torques.parquet').stat().st_mtime_ns == mark
    process(replace(job, cutoff=5.0))
    assert (out / 'torques.parquet').stat().st_mtime_ns != mark
    shutil.rmtree(out)
    assert process(job).states == 200
    assert json.loads((out / 'summary.json').read_text())['states'] == 200


@pytest.mark.parametrize('kind', ['csv', 'parquet'])
def test_written_tables_can_be_read_again(tmp_path: Path, kind: str) -> None:
    bag, settings = write_bag(tmp_path / 'bag', arm_states()), PINOCCHIO | {'robot_file': ARM}
    first = process(Job(bag, tmp_path / 'out', settings, formats=(kind, 'parquet')))
    again = process(Job(tmp_path / 'out' / f'torques.{kind}', tmp_path / 'again', settings))
    assert again.states == first.states == 200
    for name in ('stamp', 'theta1.gravity', 'theta2.coriolis', 'theta1.model', 'theta2.residual'):
        one, other = (column(tmp_path / out, name) for out in ('out', 'again'))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_a_table_by_hand_needs_no_more_than_times_and_positions(tmp_path: Path) -> None:
    rows = [f'{0.01 * k},{0.1 * k},{-0.1 * k if k != 7 else ""}' for k in range(40)]
    (tmp_path / 'x.csv').write_text('\n'.join(['time, theta2.position,theta1.position', *rows]))
    summary = process(Job(tmp_path / 'x.csv', tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    assert summary.states == 39
    assert summary.refused['joint states'] == (1, 'position of theta1: nan, must be finite, at most 1e+06')
    assert np.isnan(column(tmp_path / 'out', 'theta1.coriolis')).all()
    assert column(tmp_path / 'out', 'theta2.position')[3] == pytest.approx(0.3)


def test_a_table_that_begins_at_zero_is_as_long_as_it_is(tmp_path: Path) -> None:
    rows = [f'{0.001 * k:.3f},{np.sin(0.001 * k)},0' for k in range(10_001)]
    (tmp_path / 'x.csv').write_text('\n'.join(['time,theta1.position,theta2.position', *rows]))
    summary = process(Job(tmp_path / 'x.csv', tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    assert (summary.states, summary.seconds) == (10_001, pytest.approx(10.0))


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'Empty CSV file'),
        ('time\n1\n', 'has no column `<joint>.position`'),
        ('t,theta1.position\n1,2\n', 'has no column `time`'),
        ('time,theta1.position,theta2.position\n', 'has no rows'),
        ('time,theta1.position,theta2.position\n0,1\n', 'Expected 3 columns'),
        ('time,theta1.position,theta2.position\n0,1,x\n', 'x'),
        ('time,theta1.position,theta2.position\nnan,1,2\n', 'time in row 0 (from 0) is nan, must be a time'),
        ('time,theta1.position\n0,1\n', 'all joints were never known at the same time; missing: theta2'),
    ],
)
def test_a_table_with_a_fault_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / 'bad.csv').write_text(text)
    result = attempt(Job(tmp_path / 'bad.csv', tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    assert 'bad.csv' in result.fault
    assert message in result.fault


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / 'bad.parquet').write_bytes(b'PAR1' * 20)
    result = attempt(Job(tmp_path / 'bad.parquet', tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    assert 'bad.parquet' in result.fault


def full(tmp_path: Path) -> Iterator[Path]:
    """A disk with hardly any room, for those who may mount one."""
    disk, mount, umount = tmp_path / 'disk', shutil.which('mount'), shutil.which('umount')
    disk.mkdir()
    words = [str(mount), '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', str(disk)]
    if not mount or not umount or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip('a small disk cannot be mounted here')
    yield disk
    subprocess.run([umount, '-l', str(disk)], check=True)


full_disk = pytest.fixture(full)


@pytest.mark.parametrize('kind', ['csv', 'parquet', 'bag'])
def test_a_full_disk_is_named_and_leaves_nothing_behind(full_disk: Path, tmp_path: Path, kind: str) -> None:
    bag = write_bag(tmp_path / 'bag', arm_states(2000))
    result = attempt(Job(bag, full_disk / 'out', PINOCCHIO | {'robot_file': ARM}, formats=(kind,)))
    assert result.summary is None
    assert 'No space left on device' in result.fault
    assert str(full_disk) in result.fault
    assert not [*full_disk.iterdir()]


def test_the_bag_of_torques_is_a_bag(tmp_path: Path) -> None:
    late = [(topic, arrival + 3 * 10**9 + k % 7, message) for k, (topic, arrival, message) in enumerate(arm_states(50))]
    bag = write_bag(tmp_path / 'bag', late)
    process(Job(bag, tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}, formats=('bag', 'parquet')))
    with Bag(tmp_path / 'out' / 'torques') as told:
        messages = list(told.messages(Topics('/torque/gravity')))
    assert [message.arrival for message in messages] == [arrival for _, arrival, _ in late]  # when the state came
    assert [message.stamp for message in messages] == [BEGIN + 2 * MS * k for k in range(50)]
    gravity = np.array([message.effort for message in messages])
    np.testing.assert_array_equal(gravity[:, 0], column(tmp_path / 'out', 'theta1.gravity'))


def test_the_report_says_what_was_in_the_bag_what_was_refused_and_what_is_worst(tmp_path: Path) -> None:
    messages = list(arm_states(300))
    messages.insert(5, ('/joint_states', BEGIN + 9 * MS, joint_state(BEGIN + 9 * MS, ('theta1',), [np.nan])))
    messages.insert(0, ('/<b>other', BEGIN, wrench(BEGIN, '', (0, 0, 0), (0, 0, 0))))
    summary = process(Job(write_bag(tmp_path / 'bag', messages), tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    text = (tmp_path / 'out' / 'report.html').read_text()
    plain = text.replace(' class="words"', '')
    assert '<tr class="marked"><td>/joint_states</td><td>sensor_msgs/msg/JointState</td><td>301</td>' in plain
    assert '/&lt;b&gt;other' in text
    assert 'position of theta1: nan' in text
    assert f'<tr class="marked"><td>{summary.errors[0].joint}</td>' in plain
    assert text.count('<figure class="chart">') == 2
    assert 'http' not in re.sub(r'http://www.w3.org/\S+|https://github.com/leeoniya/uPlot', '', text)  # names only
    assert 'Permission is hereby granted' in text  # with uPlot goes its licence


@pytest.mark.parametrize('count', [10, 2000, 2001, 50_000])
def test_charts_are_downsampled_evenly(count: int) -> None:
    stamp, value = BEGIN + MS * np.arange(count), np.arange(count, dtype=float)[:, None]
    whole = States(stamp, stamp, value, value, value, {}, [{}] * count, np.zeros(count, dtype=int))
    downsampled = Downsampled(('q',))
    for start in range(0, count, 777):
        part = whole[start : start + 777]
        downsampled.add(part, {'q': part.q})
    seconds, values = downsampled.line('q', 0)
    assert min(count, 1000) <= len(values) <= 2000
    assert len(set(np.diff(values))) == 1
    np.testing.assert_allclose(seconds, values * 1e-3, atol=1e-9)


@pytest.mark.parametrize(
    ('columns', 'message'),
    [
        ({'time': np.array(['2024-05-01T10:00', '2024-05-01T10:01'], 'datetime64[ms]')}, 'time in row 0 (from 0) is '),
        ({'time': ['begin', 'end']}, "time in row 0 (from 0) is 'begin', must be a number"),
        ({'stamp': np.array(['2024-05-01T10:00', '2024-05-01T10:01'], 'datetime64[ns]')}, 'stamp in row 0 (from 0)'),
        ({'time': [0.0, 1.0], 'theta1.position': ['here', 'there']}, 'theta1.position: could not convert'),
        ({'time': [0.0, 1.0], 'theta1.position': [[1.0], [1.0, 2.0]]}, 'theta1.position: '),
    ],
)
def test_a_parquet_file_of_other_than_numbers_is_named_and_the_others_go_on(
    columns: dict[str, object], message: str, tmp_path: Path
) -> None:
    table = {'theta1.position': [1.0, 2.0], 'theta2.position': [1.0, 2.0]} | columns
    parquet.write_table(pyarrow.table(table), tmp_path / 'bad.parquet')
    good = write_bag(tmp_path / 'good', arm_states(20))
    settings = PINOCCHIO | {'robot_file': ARM}
    jobs = [Job(path, tmp_path / f'out_{path.stem}', settings) for path in (tmp_path / 'bad.parquet', good)]
    bad, fine = sorted(on_this_machine(jobs, 2), key=lambda result: result.job.recording.name)
    assert bad.fault.startswith(f'{tmp_path / "bad.parquet"}: {message}')
    assert fine.summary.states == 20


def test_stamps_without_a_sign_are_stamps(tmp_path: Path) -> None:
    stamps = np.array([BEGIN + 1, BEGIN + 2 * MS], dtype=np.uint64)
    position = {f'theta{k}.position': [1.0, 1.01] for k in (1, 2)}
    parquet.write_table(pyarrow.table({'stamp': stamps, **position}), tmp_path / 'x.parquet')
    process(Job(tmp_path / 'x.parquet', tmp_path / 'out', PINOCCHIO | {'robot_file': ARM}))
    assert column(tmp_path / 'out', 'stamp').tolist() == stamps.tolist()


def test_a_fault_of_ours_does_not_lose_the_other_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def surprise(*_: object) -> None:
        raise ZeroDivisionError('unexpected')

    monkeypatch.setattr(many, 'reprocess', surprise)
    result = attempt(Job(tmp_path / 'x.csv', tmp_path / 'out'))
    assert result.fault == f'{tmp_path / "x.csv"}: ZeroDivisionError: unexpected'
