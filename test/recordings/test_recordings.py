"""Recordings: read whole or refused by name, rows that count, and derivatives that neither lag nor ring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.recordings.derivatives import Smoothed
from krang_dynamics_ros.recordings.formats import open_source
from krang_dynamics_ros.recordings.joint_recording import read_recording
from krang_dynamics_ros.recordings.recording import Recording, RecordingError, motion_only
from krang_dynamics_ros.recordings.table import stamps_of, write_csv

from ..real_recordings import recording_of, shared, waves

TIME = np.arange(0, 20, 0.01)


def test_krangs_recording_is_read_as_its_readme_says() -> None:
    recording = read_recording(shared('krang_left_arm'))
    assert recording.joint_names == tuple(f'q_{k}l' for k in range(1, 8))
    assert len(recording) == 4618
    assert recording.rate == pytest.approx(100, rel=0.01)
    assert recording.measured_effort[1, 0] == pytest.approx(8.36595 * 31.4e-3 * 596)
    assert recording.is_new.sum() == 3562  # the logger repeats the others
    assert len(motion_only(recording)) < len(recording)  # the first row is from before


@pytest.mark.parametrize('what', ['time', 'position', 'effort'])
def test_rows_from_before_the_motion_are_left_out_whatever_jumps(what: str) -> None:
    q, _, _ = waves(2, TIME)
    columns = {'time': TIME.copy(), 'position': q, 'effort': 5 * np.cos(q)}
    columns[what][:2] -= 10.0
    recording = recording_of(columns['time'], columns['position'], columns['effort'])
    motion = motion_only(recording)
    assert motion.time[0] == TIME[2]
    assert len(motion) == len(TIME) - 2


def test_the_ur10es_motion_is_found_between_standstill() -> None:
    recording = read_recording(shared('ur10e'))
    assert len(recording) == 3691
    motion = motion_only(recording)
    first, last = np.searchsorted(recording.time, motion.time[[0, -1]])
    assert 600 < first < 700
    assert 3400 < last < 3520


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    q, dq, ddq = waves(3, TIME)
    made = Recording('made', ('a', 'b', 'c'), TIME, q, dq, ddq)
    write_csv(made, tmp_path / 'table.csv')
    back = read_recording(tmp_path / 'table.csv')
    assert back.joint_names == made.joint_names
    for name in ('time', 'position', 'velocity', 'effort'):
        np.testing.assert_allclose(getattr(back, name), getattr(made, name), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ('start', 'written'),
    [
        (0.3, ['0.300000000', '0.302000000', '0.304000001']),
        (1700000000.123, ['1700000000.123000', '1700000000.125000', '1700000000.127000']),
    ],
)
def test_a_table_keeps_times_of_any_clock(start: float, written: list[str], tmp_path: Path) -> None:
    """Through reading, too, which takes a time in s to whole ns and back."""
    time = start + np.array([0.0, 0.002, 0.004000001])
    write_csv(Recording('made', ('a',), time, np.zeros((3, 1))), tmp_path / 'first.csv')
    back = read_recording(tmp_path / 'first.csv')
    np.testing.assert_allclose(back.time, time, rtol=0, atol=1e-9 if start < 1 else 2e-6)
    write_csv(back, tmp_path / 'second.csv')
    for name in ('first.csv', 'second.csv'):
        lines = (tmp_path / name).read_text().splitlines()
        assert lines[0] == 'time,a.position'
        assert [line.split(',')[0] for line in lines[1:]] == written


def test_messages_name_times_of_any_clock() -> None:
    time = 1700000000 + np.array([0.0, 0.25, 0.125])
    with pytest.raises(RecordingError) as refusal:
        Recording('made', ('a',), time, np.zeros((3, 1)))
    assert 'time goes from 1700000000.25 s in row 1 (from 0) back to 1700000000.125 s' in str(refusal.value)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'Empty CSV file'),
        ('time,a.position\n', 'has no rows'),
        ('x,a.position\n0,1\n0.1,1\n', 'no column `time` (s) or `stamp` (ns)'),
        ('time,a.position\n0\n1\n', 'Expected 2 columns, got 1'),
        ('time,a.position\n0,1\n0.1,x\n', 'x'),
        ('time,a.position\n0,1\n0.1,nan\n', '1 rows with finite numbers, 1 without, must be two or more'),
        ('time,a.position\n0.2,1\n0.1,1\n', 'never decrease'),
        ('time,a\n0,1\n0.1,1\n', 'no column `<joint>.position`'),
        ('time,a.position\n0.2,1\n0.2,1\n', 'all rows have the same time'),
        ('time,a.position\n0,1\n0.1,1e30\n', 'position of a in row 1 (from 0) is 1e+30, must be finite, at most 1e+06'),
    ],
)
def test_a_table_with_a_fault_is_refused_by_name(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / 'bad.csv').write_text(text)
    with pytest.raises(RecordingError, match=r'bad\.csv') as refusal:
        read_recording(tmp_path / 'bad.csv')
    assert message in str(refusal.value)


def test_a_row_of_a_message_is_that_of_rows() -> None:
    """Counted from 0, in a later batch of the file too."""
    position = np.zeros((20, 2))
    position[7, 1] = np.inf
    with pytest.raises(RecordingError, match=r'position of b in row 7 \(from 0\) is inf'):
        Recording('made', ('a', 'b'), np.arange(20.0), position)
    position[7, 1] = 0.0
    intact = Recording('made', ('a', 'b'), np.arange(20.0), position)
    assert intact.rows(slice(7, 9)).time.tolist() == [7.0, 8.0]
    with pytest.raises(RecordingError, match=r'time in row 12 \(from 0\) is nan'):
        stamps_of(Path('made.csv'), 'time', np.array([0.1, 0.2, np.nan]), 10)


def test_a_folder_of_no_known_layout_is_refused_and_its_own_layout_taken(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r'put recording\.yaml into it'):
        read_recording(tmp_path)
    np.savetxt(tmp_path / 't.txt', [0, 1, 2])
    for name in ('p', 'i'):
        np.savetxt(tmp_path / f'{name}.txt', np.ones((3, 2)))
    layout = tmp_path / 'recording.yaml'
    layout.write_text(
        'robot: arm_2r\njoints: [theta1, theta2]\nfiles: {time: t.txt, position: p.txt, effort: i.txt}\n'
        'effort_scale: [2, 3]\n'
    )
    np.testing.assert_allclose(read_recording(tmp_path).measured_effort, [[2, 3]] * 3)
    np.savetxt(tmp_path / 'i.txt', np.ones((3, 4)))
    with pytest.raises(RecordingError, match='effort has 4 columns, must be 2'):
        read_recording(tmp_path)
    layout.write_text('robot: arm_2r\njoints: theta1\ntable: x.csv\nfile: {}\n')
    with pytest.raises(KrangDynamicsError, match=r'3 faults|2 faults') as refusal:
        read_recording(tmp_path)
    assert 'joints' in str(refusal.value)


@pytest.mark.parametrize('irregular', [False, True])
def test_derivatives_neither_lag_nor_ring(irregular: bool, rng: np.random.Generator) -> None:
    time = np.sort(TIME + irregular * rng.uniform(-0.004, 0.004, len(TIME)))
    q, dq, ddq = waves(4, time)
    noisy = q + rng.normal(size=q.shape) * 1e-5
    motion = Smoothed(recording_of(time, noisy), cutoff=6.0, shift=False).motion
    inside = slice(50, -50)
    assert np.abs(motion.q - q)[inside].max() < 2e-5
    assert np.abs(motion.dq - dq)[inside].max() < 1e-3 * np.abs(dq).max()
    assert np.abs(motion.ddq - ddq)[inside].max() < 1e-2 * np.abs(ddq).max()


def test_the_instants_at_which_rows_were_read_are_found(rng: np.random.Generator) -> None:
    """A logger that stamps up to 8 ms off: found shifts halve the error of accelerations."""
    read = np.sort(TIME + rng.uniform(-0.008, 0.0, len(TIME)))
    q, _, ddq = waves(5, read)
    stamped = recording_of(TIME, q)
    errors = []
    for shift in (False, True):
        smoothed = Smoothed(stamped, cutoff=5.0, shift=shift)
        late = float(np.median(smoothed.instant - read))
        truth = waves(5, smoothed.instant - late)[2]
        errors.append(np.abs(smoothed.motion.ddq - truth)[100:-100].std() / ddq.std())
    assert errors[1] < 0.5 * errors[0]


def test_rows_that_a_logger_repeats_count_once() -> None:
    q, _, _ = waves(3, TIME)
    stalled = q.copy()
    stalled[501:509] = stalled[500]
    smoothed = Smoothed(recording_of(TIME, stalled), cutoff=5.0)
    assert smoothed.new.sum() == len(TIME) - 8
    assert np.abs(smoothed.at(TIME[500:510]).q - q[500:510]).max() < 2e-3


def test_a_robot_that_stands_still_is_refused() -> None:
    q = np.ones((len(TIME), 3))
    with pytest.raises(RecordingError, match='stands still, which determines nothing'):
        motion_only(recording_of(TIME, q))


def test_a_folder_that_lacks_a_file_is_refused_by_that_file(tmp_path: Path) -> None:
    for name in ('dataQ', 'dataCur'):
        np.savetxt(tmp_path / f'{name}.txt', np.ones((3, 7)))
    with pytest.raises(RecordingError, match=r'like krang_left_arm, but has no dataTimeStamp\.txt'):
        read_recording(tmp_path)


def test_rests_in_between_stay_and_rests_around_the_motion_go() -> None:
    q, _, _ = waves(3, TIME)
    stalled = q.copy()
    stalled[801:1000] = stalled[800]
    assert len(motion_only(recording_of(TIME, stalled))) == len(TIME)
    rests = np.concatenate([q[:800], q[799:800].repeat(200, axis=0), q[800:]])
    assert len(motion_only(recording_of(np.arange(len(rests)) * 0.01, rests))) == len(rests)
    around = np.concatenate([q[:1].repeat(300, axis=0), q, q[-1:].repeat(300, axis=0)])
    motion = motion_only(recording_of(np.arange(len(around)) * 0.01, around))
    assert len(motion) == pytest.approx(len(TIME), abs=60)


@pytest.mark.parametrize('cutoff', [2.0, 12.0])
def test_a_long_gap_leaves_the_motion_beside_it(cutoff: float) -> None:
    time = np.concatenate([TIME, TIME + 60.0])
    q, dq, _ = waves(3, time)
    motion = Smoothed(recording_of(time, q), cutoff, shift=False).motion
    beside = np.r_[100 : len(TIME) - 100, len(TIME) + 100 : len(time) - 100]
    assert np.abs(motion.q - q)[beside].max() < 1e-3
    assert np.abs(motion.dq - dq)[beside].max() < 0.01 * np.abs(dq).max()


def test_a_first_row_from_long_before_is_left_out() -> None:
    q, _, _ = waves(3, TIME)
    early = np.concatenate([[0.0], TIME[1:] + 30.0])
    assert motion_only(recording_of(early, q)).time[0] == early[1]


def test_rows_that_share_a_stamp_are_rows_all_the_same() -> None:
    q, dq, _ = waves(3, TIME)
    shared_stamps = np.repeat(TIME[::2], 2)
    recording = recording_of(shared_stamps, q)
    assert recording.rate == pytest.approx(100, rel=0.01)
    assert len(motion_only(recording)) == len(TIME)
    late = Smoothed(recording, cutoff=5.0).motion.dq - dq
    assert np.abs(late)[100:-100].max() < 0.05 * np.abs(dq).max()


def test_a_recording_too_slow_or_short_to_show_a_motion_is_refused() -> None:
    q, _, _ = waves(3, TIME)
    milliseconds = recording_of(1e3 * TIME, q)
    with pytest.raises(RecordingError, match=r'0\.1 rows per second, must be 10 at least; time is in s'):
        Smoothed(milliseconds, cutoff=5.0)
    with pytest.raises(RecordingError, match=r'0\.01 s long, must be 1 s at least'):
        motion_only(recording_of(TIME[:2], q[:2]))
    repeated = recording_of(np.concatenate([np.zeros(50), [1.0]]), q[[*range(50), 49]])
    with pytest.raises(RecordingError, match='all different rows have the same time'):
        Smoothed(repeated, cutoff=5.0)


@pytest.mark.parametrize(
    ('layout', 'message'),
    [
        ('files: {position: p.txt, effort: p.txt}', "files: ['position', 'effort'], must have time"),
        ('files: {time: t.txt, effort: p.txt}', "files: ['time', 'effort'], must have position"),
        ("table: '*.csv'\ncolumns: {time: 1}", "columns: ['time'], must have position"),
        ('files: {time: nowhere.txt, position: p.txt}', 'has no nowhere.txt, must have them by layout other'),
        ('\xff', 'other.yaml: 1 fault\n  file: '),
    ],
)
def test_a_layout_that_lacks_what_a_recording_is_made_of_is_refused(layout: str, message: str, tmp_path: Path) -> None:
    for name, columns in (('t', 1), ('p', 2)):
        np.savetxt(tmp_path / f'{name}.txt', np.ones((3, columns)))
    text = f'robot: arm_2r\njoints: [theta1, theta2]\n{layout}\n'
    (tmp_path / 'other.yaml').write_bytes(text.encode('latin-1'))
    with pytest.raises(KrangDynamicsError) as refusal:
        read_recording(tmp_path, tmp_path / 'other.yaml')
    assert message in str(refusal.value)


def test_a_stamp_from_another_clock_is_refused_before_it_takes_all_memory() -> None:
    q, _, _ = waves(3, TIME)
    late = np.concatenate([TIME[:-1], [1.7e9]])
    with pytest.raises(
        RecordingError, match=r'time goes from 19\.98 s to 1700000000 s in one row, must be 3600 s at most'
    ):
        Smoothed(recording_of(late, q), cutoff=5.0)


def test_time_of_a_table_is_that_of_the_file_and_stamps_count_from_the_first(tmp_path: Path) -> None:
    (tmp_path / 'time.csv').write_text('time,a.position\n5,1\n5.5,2\n')
    (tmp_path / 'stamp.csv').write_text('stamp,a.position\n5000000000,1\n5500000000,2\n')
    assert read_recording(tmp_path / 'time.csv').time.tolist() == [5.0, 5.5]
    assert read_recording(tmp_path / 'stamp.csv').time.tolist() == [0.0, 0.5]


def test_runs_end_before_the_end_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / 'table.csv').write_text('time,a.position\n' + ''.join(f'{k},{k}\n' for k in range(5)))
    with open_source(tmp_path / 'table.csv') as source:
        runs = list(source.runs(source.topics(()), 10**9, 3 * 10**9))
    assert [q for run in runs for q in run.position[:, 0]] == [1.0, 2.0]
