"""Broken recordings: each command says in a sentence what is wrong, or works with what is left; never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros.cli import calibrate, identify, predict, process
from krang_dynamics_ros.recordings.joint_recording import read_recording

from ..bags import BEGIN, wrench, write_bag
from ..processing.test_process import ARM, arm_states

pyarrow = pytest.importorskip('pyarrow', reason='pyarrow, for recordings, is not installed')
parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
Break = Callable[[bytes], bytes]
WAYS: dict[str, Break] = {
    'empty': lambda content: b'',
    'cut short': lambda content: content[: len(content) // 2],
    'begins late': lambda content: content[len(content) // 2 :],
    'holes': lambda content: content[: len(content) // 3] + bytes(len(content) // 3) + content[2 * len(content) // 3 :],
    'a few bytes at the end': lambda content: content[:-3],
    'text': lambda content: b'no recording at all\n' * 30,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    hand = 'end_effectors: [hand], hand.link: link2, backend: pinocchio'
    Path('node.yaml').write_text(f'/**: {{ros__parameters: {{robot_file: {ARM}, {hand}}}}}')
    return tmp_path


def recording(kind: str) -> Path:
    """Write a recording; return the file of it that is to be broken."""
    if kind in ('mcap', 'db3', 'metadata'):
        messages = [*arm_states(300), ('/wrench/hand', BEGIN + 10**9, wrench(BEGIN, '', (1, 2, 3), (0, 0, 0)))]
        write_bag(Path('drive'), messages, 'SQLITE3' if kind == 'db3' else 'MCAP')
        return Path('drive/metadata.yaml') if kind == 'metadata' else next(Path('drive').glob(f'*.{kind}'))
    time = np.arange(700) * 0.01
    columns = {'time': time, 'theta1.position': np.sin(3 * time), 'theta2.position': np.cos(time)}
    columns |= {'theta1.effort': 1 + time, 'theta2.effort': np.sin(time)}
    path = Path(f'drive.{kind}')
    if kind == 'parquet':
        parquet.write_table(pyarrow.table(columns), path)
    else:
        np.savetxt(path, np.column_stack([*columns.values()]), delimiter=',', header=','.join(columns), comments='')
    return path


@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('kind', ['mcap', 'db3', 'metadata', 'csv', 'parquet'])
@pytest.mark.usefixtures('folder')
def test_a_broken_recording_is_refused_in_a_sentence(kind: str, way: str, capfd: pytest.CaptureFixture[str]) -> None:
    file = recording(kind)
    file.write_bytes(WAYS[way](file.read_bytes()))
    named = 'drive' if file.parent.name else file.name
    commands = {
        process: [named, '--params', 'node.yaml', '--workers', '1'],
        identify: [named, '--robot', 'arm_2r'],
        predict: [named, '--robot', 'arm_2r'],
        calibrate: ['hand', '--bag', named, '--params', 'node.yaml'],
    }
    for command, words in commands.items():
        code, said = command.main(words), capfd.readouterr()
        assert code in (0, 1, 2)
        assert 'Traceback' not in said.out + said.err
        assert 'Warning' not in said.err
        if code:
            assert len(said.err.strip().splitlines()) >= 1, command
            assert len(said.err) < 1500


@pytest.mark.parametrize(
    ('columns', 'said'),
    [
        ({'time': [0.0, 1.0], 'a.position': ['x', 'y'], 'a.effort': [1.0, 2.0]}, 'could not convert string to float'),
        ({'time': [0.0, 1.0], 'a.position': [[1.0], [2.0, 3.0]]}, 'table.parquet: '),
        ({'time': [None, 1.0], 'a.position': [1.0, 2.0]}, 'time in row 0 (from 0) is nan, must be a time'),
        ({'clock': [0, 1], 'a.position': [1.0, 2.0]}, 'its head has no column `time` (s) or `stamp` (ns)'),
        ({'time': [0.0, 1.0]}, 'its head has no column `<joint>.position`'),
    ],
)
@pytest.mark.usefixtures('folder')
def test_a_parquet_file_of_another_kind_is_refused_by_identify(
    columns: dict[str, list], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet.write_table(pyarrow.table(columns), 'table.parquet')
    for command in (identify, predict):
        assert command.main(['table.parquet', '--robot', 'arm_2r']) == 2
        errors = capsys.readouterr().err
        assert said in errors
        assert 'table.parquet: ' in errors


@pytest.mark.usefixtures('folder')
def test_columns_that_say_nothing_of_joints_may_be_anything() -> None:
    table = pyarrow.table(
        {'time': np.arange(200) * 0.01, 'theta1.position': np.sin(np.arange(200)), 'note': ['x'] * 200}
    )
    parquet.write_table(table, 'table.parquet')
    assert len(read_recording('table.parquet')) == 200


@pytest.mark.usefixtures('folder')
def test_a_column_that_stands_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    rows = '\n'.join(f'{k / 100},{k},{-k}' for k in range(300))
    Path('table.csv').write_text(f'time,theta1.position,theta1.position\n{rows}\n')
    for command, code in ((process, 1), (identify, 2), (predict, 2)):
        assert command.main(['table.csv', '--robot', ARM]) == code
        assert 'its head has theta1.position more than once, must have each once' in capsys.readouterr().err
