"""A recording from elsewhere brings its own `recording.yaml`: it says what is in its folder, and nothing beyond."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros.cli import identify, predict, process
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.recordings.formats import robot_of
from krang_dynamics_ros.recordings.joint_recording import read_recording
from krang_dynamics_ros.recordings.recording import Recording
from krang_dynamics_ros.recordings.table import write_csv

from ..bags import joint_state, write_bag
from ..robots import ROOT

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')

FILES = 'files: {time: t.txt, position: p.txt, effort: p.txt}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table and two files; beside it lies what is none of its business."""
    inside = tmp_path / 'drive'
    for place in (inside, tmp_path):
        place.mkdir(exist_ok=True)
        time = np.arange(50) * 0.01
        np.savetxt(place / 't.txt', time)
        np.savetxt(place / 'p.txt', np.outer(time, [1, 2]))
        np.savetxt(place / 'table.csv', np.column_stack([time, np.outer(time, [1, 2, 3, 4])]), delimiter=',')
        (place / 'robot.urdf').write_text('<robot/>')
    return inside


def layout(folder: Path, *lines: str, robot: str = 'arm_2r') -> None:
    text = '\n'.join((f'robot: {robot}', 'joints: [theta1, theta2]', *lines))
    (folder / 'recording.yaml').write_text(text + '\n')


def refusal(folder: Path) -> str:
    with pytest.raises(KrangDynamicsError) as error:
        read_recording(folder)
    return str(error.value)


COLUMNS = 'columns: {time: 1, position: 2, effort: 4}'


def test_files_in_the_folder_are_read(folder: Path) -> None:
    layout(folder, FILES)
    assert len(read_recording(folder)) == 50
    layout(folder, "table: 'tab*.csv'", COLUMNS)
    assert len(read_recording(folder)) == 50
    (folder / 'table.csv').rename(folder / 'other.csv')
    (folder / 'table.csv').symlink_to('other.csv')
    assert len(read_recording(folder)) == 50


@pytest.mark.parametrize('name', ['/etc/*', '../table.csv', '../../*.csv', 'x/../../table.csv', '**/*.csv', '.', '/'])
def test_a_table_elsewhere_is_refused(folder: Path, name: str) -> None:
    layout(folder, f'table: "{name}"', COLUMNS)
    assert f"table: '{name}', must be " in refusal(folder)


@pytest.mark.parametrize('name', ['/etc/passwd', '../t.txt', 'x/../../t.txt'])
def test_a_file_elsewhere_is_refused(folder: Path, name: str) -> None:
    layout(folder, f'files: {{time: {name}, position: p.txt, effort: p.txt}}')
    assert f"files.time: '{name}', must be in the recording's folder" in refusal(folder)


def test_a_link_that_leads_out_is_refused(folder: Path) -> None:
    layout(folder, FILES)
    (folder / 't.txt').unlink()
    (folder / 't.txt').symlink_to('../t.txt')
    assert 't.txt leads out of it, to ' in refusal(folder)
    layout(folder, "table: 'tab*.csv'", COLUMNS)
    (folder / 'table.csv').unlink()
    (folder / 'table.csv').symlink_to('../table.csv')
    assert '0 tables tab*.csv of layout recording, must be one; links that lead out' in refusal(folder)
    (folder / 'sub').symlink_to('..')
    layout(folder, "table: 'sub/*.csv'", COLUMNS)
    assert '0 tables sub/*.csv' in refusal(folder)


@pytest.mark.parametrize('name', ['../robot.urdf', '/etc/passwd', 'arm.xacro'])
def test_a_robot_elsewhere_or_one_that_is_a_program_is_refused(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    layout(folder, FILES, robot=name)
    assert f"robot: '{name}', must be " in refusal(folder)
    for command in (identify, predict):
        assert command.main([str(folder)]) == 2
        assert f"robot: '{name}', must be " in capsys.readouterr().err


def test_a_robot_behind_a_link_is_refused(folder: Path) -> None:
    layout(folder, FILES, robot='robot.urdf')
    assert robot_of(folder) == folder / 'robot.urdf'
    (folder / 'robot.urdf').unlink()
    (folder / 'robot.urdf').symlink_to('../robot.urdf')
    with pytest.raises(KrangDynamicsError, match=r'robot\.urdf leads out of it'):
        robot_of(folder)


@pytest.mark.parametrize(
    ('columns', 'said'),
    [
        ('{time: 1, position: 1.5}', 'columns.position: 1.5, must be the number of a column: whole, from 1 to'),
        ('{time: 0, position: 2}', 'columns.time: 0, must'),
        ('{time: -1, position: 2}', 'columns.time: -1, must'),
        ('{time: one, position: 2}', "columns.time: 'one', must be a finite number"),
        ('{time: .nan, position: 2}', 'columns.time: nan, must be a finite number'),
        ('{time: 1e9, position: 2}', 'columns.time: 1000000000.0, must be the number of a column'),
        ('{time: 1, position: 2, effort: 3}', 'must be apart: position and effort share columns'),
        ('{time: 3, position: 2}', 'must be apart: time and position share columns'),
        ('[1, 2]', 'columns: [1, 2], must be a mapping'),
        ('{time: 1, position: 2, torque: 4}', 'columns.torque: 4, is not a known key'),
        ('{time: 1, position: 90}', '0 tables table.csv of layout recording, must be one'),
    ],
)
def test_columns_that_cannot_be_are_refused_in_words(folder: Path, columns: str, said: str) -> None:
    layout(folder, 'table: table.csv', f'columns: {columns}')
    assert said in refusal(folder)


def test_columns_of_files_and_joints_named_twice_are_refused(folder: Path) -> None:
    layout(folder, FILES, 'columns: {time: 1}')
    assert 'must have either files or table with columns' in refusal(folder)
    (folder / 'recording.yaml').write_text(f'robot: arm_2r\njoints: [theta1, theta1]\n{FILES}\n')
    assert 'must name each joint once' in refusal(folder)


def test_a_folder_a_table_and_a_bag_of_the_same_motion_are_processed_alike(tmp_path: Path) -> None:
    pytest.importorskip('rosbags', reason='rosbags, for bags, is not installed')
    time = np.arange(300) * 0.01
    q = np.stack([np.sin(3 * time), np.cos(2 * time)], axis=1).round(6)  # fewer digits than any file keeps
    dq, effort = np.gradient(q, time, axis=0).round(6), q + 1.0
    inside, names = tmp_path / 'logged', ('theta1', 'theta2')
    inside.mkdir()
    for name, numbers in (('t', time), ('p', q), ('v', dq), ('i', effort / 2)):
        np.savetxt(inside / f'{name}.txt', numbers)
    files = 'files: {time: t.txt, position: p.txt, velocity: v.txt, effort: i.txt}'
    layout(inside, files, 'effort_scale: [2, 2]')
    write_csv(Recording('made', names, time, q, dq, effort), tmp_path / 'table.csv')
    stamps = [round(t * 1e9) for t in time]
    rows = zip(stamps, q, dq, effort, strict=True)
    write_bag(tmp_path / 'bag', [('/joint_states', at, joint_state(at, names, *row)) for at, *row in rows])
    robot = ['--robot', str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')]
    assert process.main([str(inside), '-o', str(tmp_path / 'out')]) == 0  # the layout names the robot
    assert process.main([str(tmp_path / 'table.csv'), str(tmp_path / 'bag'), *robot, '-o', str(tmp_path / 'out')]) == 0
    tables = [parquet.read_table(path).to_pydict() for path in sorted((tmp_path / 'out').rglob('torques.parquet'))]
    assert len(tables) == 3
    for name, column in tables[0].items():
        for other in tables[1:]:
            np.testing.assert_allclose(np.array(column, float), np.array(other[name], float), 1e-7, 1e-7, err_msg=name)


def test_a_layout_file_elsewhere_counts_before_that_in_the_folder(folder: Path) -> None:
    layout(folder, FILES)
    other = folder.parent / 'other.yaml'
    other.write_text("robot: arm_2r\njoints: [theta1, theta2]\ntable: 'tab*.csv'\ncolumns: {time: 1, position: 3}\n")
    np.testing.assert_allclose(read_recording(folder).position[-1], [0.49, 0.98])
    np.testing.assert_allclose(read_recording(folder, other).position[-1], [0.98, 1.47])
    assert robot_of(folder, other) == robot_of(folder)
