"""Times, counts and topics of a bag come from its messages: what else says otherwise is named and does not count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from krang_dynamics_ros.cli import calibrate
from krang_dynamics_ros.processing import portions
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.recordings.bag import Bag
from krang_dynamics_ros.recordings.joint_recording import read_joints
from krang_dynamics_ros.recordings.recording import RecordingError

from ..bags import BEGIN, TYPES, header, joint_state, wrench, write_bag
from ..processing.test_process import arm_states
from ..robots import ROOT

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
ARM = {'backend': 'pinocchio', 'robot_file': str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')}
STATES, MS = 1200, 1_000_000
Change = Callable[[dict[str, Any]], object]


def lie(bag: Path, change: Change) -> None:
    """Change what metadata.yaml of a bag says."""
    path = bag / 'metadata.yaml'
    data = yaml.safe_load(path.read_text())
    change(data['rosbag2_bagfile_information'])
    path.write_text(yaml.safe_dump(data))


def rows(out: Path) -> dict[str, np.ndarray]:
    table = parquet.read_table(out / 'torques.parquet')
    return {name: table[name].to_numpy() for name in table.column_names}


LIES: dict[str, Change] = {
    'messages says': lambda told: told.update(message_count=10**13),
    'topic count': lambda told: told['topics_with_message_count'][0].update(message_count=10**13),
    'it ends': lambda told: told['duration'].update(nanoseconds=told['duration']['nanoseconds'] // 3),
    'it begins late': lambda told: told['starting_time'].update(nanoseconds_since_epoch=BEGIN + 4000 * MS),
    'it begins early': lambda told: told['starting_time'].update(nanoseconds_since_epoch=0),
    'it lasts': lambda told: told['duration'].update(nanoseconds=10**18),
}


@pytest.mark.parametrize('storage', ['MCAP', 'SQLITE3'])
@pytest.mark.parametrize('what', LIES)
def test_metadata_that_lies_changes_no_row(
    tmp_path: Path, what: str, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portions, 'PORTION_SIZE', 400)
    bag = write_bag(tmp_path / 'bag', arm_states(STATES), storage)
    for path, out in (('true', (0.0, float('inf'))), ('part', (2.0, 3.0))):
        process(Job(bag, tmp_path / path, ARM, start=out[0], end=out[1]))
    lie(bag, LIES[what])
    summary = process(Job(bag, tmp_path / 'out', ARM))
    assert summary.states == summary.joint_state_count == STATES
    if what != 'topic count':  # which nothing goes by
        assert any(line.endswith(': the files are used') for line in summary.notes)
    for name, values in rows(tmp_path / 'true').items():
        np.testing.assert_array_equal(rows(tmp_path / 'out')[name], values, name)
    process(Job(bag, tmp_path / 'cut', ARM, start=2.0, end=3.0))
    for name, values in rows(tmp_path / 'part').items():
        np.testing.assert_array_equal(rows(tmp_path / 'cut')[name], values, name)


def test_an_honest_bag_gets_no_note(tmp_path: Path) -> None:
    for storage in ('MCAP', 'SQLITE3'):
        summary = process(Job(write_bag(tmp_path / storage, arm_states(50), storage), tmp_path / 'out', ARM))
        assert summary.notes == []


def test_a_file_that_metadata_does_not_list_is_named(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / 'bag', arm_states(50))
    (bag / 'bag_1.mcap').write_bytes((bag / 'bag.mcap').read_bytes())
    with Bag(bag) as opened:
        assert opened.notes == ['bag_1.mcap is in the folder and not in metadata.yaml: it is left out']


def test_an_index_that_lies_is_named_and_few_portions_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an mcap file the counts stand in a record of their own: that is a claim as well."""
    bag = write_bag(tmp_path / 'bag', arm_states(200))
    (path,) = bag.glob('*.mcap')
    content, true = path.read_bytes(), (200).to_bytes(8, 'little')
    at = content.rindex((1).to_bytes(2, 'little') + true) + 2  # of the only channel
    path.write_bytes(content[:at] + (10**13).to_bytes(8, 'little') + content[at + 8 :])
    monkeypatch.setattr(portions, 'MAX_PORTIONS', 4)
    summary = process(Job(bag, tmp_path / 'out', ARM))
    assert summary.states == 200
    assert f'its index has {10**13} joint states, but 200 were read' in summary.notes


BAD = [(-1, 0), (-5, 999_999_999), (5, 10**9), (2**31 - 1, 2**32 - 1)]


@pytest.mark.parametrize('bad', BAD)
def test_a_stamp_that_is_no_time_is_refused_as_in_the_node(tmp_path: Path, bad: tuple[int, int]) -> None:
    messages = [*arm_states(100)]
    for k in (0, 7, 8, 99):
        messages[k][2].header.stamp = TYPES.types['builtin_interfaces/msg/Time'](*bad)
    bag = write_bag(tmp_path / 'bag', messages)
    summary = process(Job(bag, tmp_path / 'out', ARM))
    assert (summary.states, summary.joint_state_count) == (96, 100)
    count, reason = summary.refused['joint states']
    assert count == 4
    assert reason.startswith(f'stamp: {bad[0]} s and {bad[1]} ns, must be 0 s or more')
    recording = read_joints(bag, ('theta1', 'theta2')).recording
    assert len(recording) == 96
    assert recording.notes == (f'4 joint states refused, the last because {reason}',)


def test_a_reading_with_a_stamp_that_is_no_time_is_refused(tmp_path: Path) -> None:
    reading = wrench(BEGIN, '', (1, 2, 3), (0, 0, 0))
    reading.header.stamp = TYPES.types['builtin_interfaces/msg/Time'](-1, 5)
    messages = [*arm_states(20)]
    messages.insert(5, ('/wrench/hand', BEGIN + 9 * MS, reading))
    hand = {'end_effectors': ['hand'], 'hand.link': 'link2'}
    summary = process(Job(write_bag(tmp_path / 'bag', messages), tmp_path / 'out', ARM | hand))
    assert summary.refused['wrench hand'][0] == 1
    assert summary.states == 20


def imu(stamp: int, angle: float) -> object:
    kinds = TYPES.types
    unknown = np.zeros(9)
    zero = kinds['geometry_msgs/msg/Vector3'](0.0, 0.0, 0.0)
    orientation = kinds['geometry_msgs/msg/Quaternion'](0.0, float(np.sin(angle / 2)), 0.0, float(np.cos(angle / 2)))
    return kinds['sensor_msgs/msg/Imu'](header(stamp), orientation, unknown, zero, unknown, zero, unknown)


@pytest.mark.parametrize('space', ['', '/robot', '/site/robot'])
def test_an_imu_is_of_the_robot_with_the_joint_states(tmp_path: Path, space: str) -> None:
    messages = []
    for k in range(50):
        stamp = BEGIN + 10 * MS * k
        messages.append((f'{space}/imu', stamp, imu(stamp, 0.25)))
        messages.append((f'{space}/joint_states', stamp + MS, joint_state(stamp, ('theta2',), [0.1], [0.0])))
    messages.insert(0, ('/other/imu', BEGIN, imu(BEGIN, -1.0)))
    messages.insert(0, ('/other/joint_states', BEGIN, joint_state(BEGIN, ('theta2',), [0.1])))
    bag = write_bag(tmp_path / 'bag', messages)
    job = Job(bag, tmp_path / 'out', ARM | {'imu_joint': 'theta1'}, joint_states=f'{space}/joint_states')
    summary = process(job)
    assert summary.states == 50
    assert f'{space}/imu' in summary.used
    np.testing.assert_allclose(rows(tmp_path / 'out')['theta1.position'], 0.25)


@pytest.mark.parametrize('asked', [{}, {'imu_joint': 'theta1'}])
def test_an_imu_of_another_type_is_left_out_and_said(tmp_path: Path, asked: dict[str, str]) -> None:
    messages = [*arm_states(20, ('', 'theta2') if asked else ('theta1', 'theta2'))]
    messages.insert(0, ('/imu', BEGIN, wrench(BEGIN, '', (1, 2, 3), (0, 0, 0))))
    job = Job(write_bag(tmp_path / 'bag', messages), tmp_path / 'out', ARM | asked)
    if asked:
        with pytest.raises(RecordingError, match=r'missing: theta1.*; topic /imu is geometry_msgs/msg/WrenchStamped'):
            process(job)
        return
    summary = process(job)
    assert (summary.states, summary.notes) == (20, [])


def test_a_wrench_of_another_type_is_left_out_and_said(tmp_path: Path) -> None:
    messages = [*arm_states(20)]
    messages.insert(0, ('/wrench/hand', BEGIN, imu(BEGIN, 0.0)))
    hand = {'end_effectors': ['hand'], 'hand.link': 'link2'}
    summary = process(Job(write_bag(tmp_path / 'bag', messages), tmp_path / 'out', ARM | hand))
    expected = 'topic /wrench/hand is sensor_msgs/msg/Imu, must be geometry_msgs/msg/WrenchStamped: left out'
    assert (summary.states, summary.notes) == (20, [expected])


def test_calibrate_says_what_is_odd_in_a_bag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    state = joint_state(BEGIN, ('q_1l',), [0.0])
    bag = write_bag(
        tmp_path / 'bag',
        [('/joint_states', BEGIN, state), ('/wrench/left', BEGIN, wrench(BEGIN, '', (0,) * 3, (0,) * 3))],
    )
    lie(bag, lambda told: told.update(message_count=7))
    assert calibrate.main(['left', '--bag', 'bag']) == 1
    assert 'note: bag: metadata.yaml lists 7 messages, the files have 2: the files are used' in capsys.readouterr().err
