"""`process` as a user runs it: where results go, what is said, and that nothing of the user's is lost."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from krang_dynamics_ros.cli import process
from krang_dynamics_ros.cli.common import guarded
from krang_dynamics_ros.processing import job
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import done
from krang_dynamics_ros.processing.process import process as process_recording

from ..bags import write_bag
from ..processing.test_process import arm_states
from ..robots import ROOT

pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
ARM = ROOT / 'config' / 'textbook' / 'arm_2r.yaml'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run: it holds the bag `drive`, and a parameter file for its robot."""
    monkeypatch.chdir(tmp_path)
    write_bag(tmp_path / 'drive', arm_states())
    parameters('backend: pinocchio')
    return tmp_path


def parameters(*lines: str) -> None:
    head = ('/**:', '  ros__parameters:', f'    robot_file: {ARM}')
    Path('node.yaml').write_text('\n'.join((*head, *(f'    {line}' for line in lines))))


def run(*words: str) -> int:
    return process.main([*words, '--params', 'node.yaml', '--workers', '2'])


class TestPlaces:
    """Results take the place of results, and of nothing else."""

    @pytest.mark.parametrize('out', ['.', 'drive', '..'])
    def test_the_recording_stays(self, folder: Path, out: str, capsys: pytest.CaptureFixture[str]) -> None:
        before = {path: path.read_bytes() for path in folder.rglob('*') if path.is_file()}
        words = (str(folder), '-o', out) if out == '..' else ('drive', '-o', out)
        assert run(*words) == 2
        assert 'set another --out' in capsys.readouterr().err
        assert {path: path.read_bytes() for path in folder.rglob('*') if path.is_file()} == before

    def test_a_folder_of_something_else_stays(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        mine = folder / 'torques' / 'drive' / 'thesis.tex'
        mine.parent.mkdir(parents=True)
        mine.write_text('all of it')
        assert run('drive') == 1
        assert 'torques/drive: exists and has no results (summary.json)' in capsys.readouterr().err
        mine.unlink()
        assert run('drive') == 0  # an empty one is as good as none
        assert run('drive', '--cutoff', '5', '--overwrite') == 0  # and results are done anew

    def test_names_with_dots_are_two(self, folder: Path) -> None:
        for name in ('run_0.1', 'run_0.2'):
            write_bag(folder / name, arm_states(20))
        assert run('run_0.1', 'run_0.2') == 0
        assert sorted(path.name for path in (folder / 'torques').iterdir()) == ['run_0.1', 'run_0.2']

    def test_one_name_twice_is_refused(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for day in ('mon', 'tue'):
            (folder / day).mkdir()
            write_bag(folder / day / 'drive', arm_states(20))
        assert run('mon/drive', 'tue/drive') == 2
        said = capsys.readouterr().err
        assert 'mon/drive and ' in said
        assert 'tue/drive: both have output folder ' in said
        assert not (folder / 'torques').exists()


def test_results_are_of_the_robot_as_its_file_is_now(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ARM.read_text()
    Path('arm.yaml').write_text(text)
    words = ('drive', '--robot', 'arm.yaml')
    assert (run(*words), 'as done before' in capsys.readouterr().out) == (0, False)
    assert (run(*words), 'as done before' in capsys.readouterr().out) == (0, True)
    mass = re.search(r'mass: \S+', text)
    assert mass
    Path('arm.yaml').write_text(text.replace(mass.group(), 'mass: 7.5'))
    assert (run(*words, '--overwrite'), 'as done before' in capsys.readouterr().out) == (0, False)


@pytest.mark.parametrize('changed', ['layout.yaml', 'log/data/q.txt'])
def test_results_are_of_the_layout_and_of_files_in_subfolders_as_they_are_now(folder: Path, changed: str) -> None:
    Path('log/data').mkdir(parents=True)
    rows = range(300)
    Path('log/t.txt').write_text('\n'.join(f'{0.01 * k}' for k in rows))
    Path('log/data/q.txt').write_text('\n'.join(f'{0.1 * k} 0.2' for k in rows))
    files = 'files: {time: t.txt, position: data/q.txt}'
    Path('layout.yaml').write_text(f'robot: arm_2r\njoints: [theta1, theta2]\n{files}\n')
    job = Job(folder / 'log', folder / 'out', {'robot_file': str(ARM)}, layout=folder / 'layout.yaml')
    process_recording(job)
    assert done(job)
    Path(changed).write_text(Path(changed).read_text().replace('[theta1, theta2]', '[theta2, theta1]') + '\n')
    assert done(job) is None


def test_another_version_does_it_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Job(folder / 'drive', folder / 'out', {'robot_file': str(ARM)})
    before = one.digest
    assert one.digest == before
    (folder / 'package.xml').write_text('<version>99.0.0</version>')
    monkeypatch.setattr(job, 'share', folder.joinpath)
    assert one.digest != before


def test_a_parameter_that_nothing_takes_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parameters('joints.theta1.viscos: 2.0')
    assert run('drive') == 0
    expected = 'note: node.yaml: joints.theta1.viscos is not a parameter of this arm. did you mean'
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ('--cutoff 0', '0, must be a number from 0.001 to 1e+06'),
        ('--cutoff nan', 'nan, must be a number'),
        ('--cutoff=-1', '-1, must be a number'),
        ('--start nan', 'nan, must be a number from 0 to 1e+09'),
        ('--start inf', 'inf, must be a number'),
        ('--end nan', 'nan, must be a number'),
        ('--end soon', 'soon, must be a number'),
        ('--workers 0', '0, must be a whole number, 1 or more'),
    ],
)
def test_numbers_that_cannot_be_are_refused(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        process.main(['drive', *words.split()])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_a_fault_without_a_file_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert guarded(full) == 2
    assert capsys.readouterr().err == '[Errno 28] No space left on device\n'
