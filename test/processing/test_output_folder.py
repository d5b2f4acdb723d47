"""Results are of one run: two at once are told apart; a killed process takes only its own recording with it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from krang_dynamics_ros.core.errors import TakenError
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.output_folder import remove_leftovers, results_in
from krang_dynamics_ros.processing.process import Result, attempt, on_this_machine, process

from ..bags import write_bag
from ..marks import slow_but
from ..robots import ROOT
from .test_process import arm_states

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
ARM = {'backend': 'pinocchio', 'robot_file': str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')}
PATIENCE = 60  # s
WRITER = (  # begins when it is told to, so that two begin at once
    'import sys\nfrom pathlib import Path\nfrom krang_dynamics_ros.processing.output_folder import results_in\n'
    'from krang_dynamics_ros.core.errors import TakenError\n'
    'print("ready", flush=True)\nsys.stdin.readline()\n'
    'for k in range(40):\n'
    '    try:\n'
    '        with results_in(Path(sys.argv[1])) as folder:\n'
    '            for name in ("torques.a", "torques.b", "summary.json"):\n'
    '                (folder / name).write_text(sys.argv[2] if name != "summary.json" else \'{"digest": ""}\')\n'
    '            print("won", flush=True)\n'
    '    except TakenError as error:\n'
    '        assert "another process writes results there" in str(error)\n'
)


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_of_many_runs_at_once_each_wins_whole_or_is_refused(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    writers = [start('-c', WRITER, str(out), str(k)) for k in range(3)]
    for writer in writers:
        assert writer.stdout
        assert writer.stdin
        assert writer.stdout.readline() == 'ready\n'
    for writer in writers:
        writer.stdin.write('go\n')  # type: ignore[union-attr]
        writer.stdin.flush()  # type: ignore[union-attr]
    while any(writer.poll() is None for writer in writers):
        try:
            there = {name: (out / name).read_text() for name in ('torques.a', 'torques.b')}
        except FileNotFoundError:
            continue  # the old one has gone, or it changed between the two
        assert there['torques.a'] in '012'
    told = [writer.communicate(timeout=PATIENCE) for writer in writers]
    assert not [errors for _, errors in told if errors]
    assert sum(said.count('won') for said, _ in told) > 0
    assert (out / 'torques.a').read_text() == (out / 'torques.b').read_text()
    assert [path.name for path in tmp_path.iterdir()] == ['out']


@pytest.mark.parametrize('kind', slow_but(['parquet'], ['parquet', 'csv']))
def test_two_commands_into_one_folder_do_not_mix(tmp_path: Path, kind: str) -> None:
    """Of two that differ in what they write, each says 0 with its own tables there, or is refused in words."""
    bag = write_bag(tmp_path / 'drive', arm_states(2000))
    words = [
        '-m',
        'krang_dynamics_ros',
        'process',
        str(bag),
        '-o',
        str(tmp_path / 'out'),
        '--workers',
        '1',
        '--to',
        kind,
    ]
    words += ['--robot', ARM['robot_file']]
    both = [start(*words, '--terms', term) for term in ('gravity', 'coriolis')]
    told = [(run.communicate(timeout=PATIENCE), run.returncode) for run in both]
    assert 0 in [code for _, code in told]
    for (_, errors), code in told:
        assert code in (0, 1)
        refusals = ('must be a single one', 'has results of other settings')
        assert (code == 0) != any(words in errors for words in refusals), errors
    folder = tmp_path / 'out' / 'drive'
    head = (
        (folder / 'torques.csv').open().readline()
        if kind == 'csv'
        else str(parquet.read_schema(folder / 'torques.parquet'))
    )
    assert ('theta1.gravity' in head) != ('theta1.coriolis' in head)
    assert [path.name for path in (tmp_path / 'out').iterdir()] == ['drive']


def test_while_another_process_writes_there_a_run_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / 'drive', arm_states(50))
    job = Job(bag, tmp_path / 'out', ARM)
    with results_in(job.out) as folder:
        (folder / 'torques.half').write_text('of the other one')
        with pytest.raises(TakenError, match='another process writes results there, must be a single one'):
            process(job)
        remove_leftovers(job.out)
        assert attempt(job).fault.startswith(f'{job.out}: another process')
        assert (folder / 'torques.half').exists()
        (folder / 'summary.json').write_text('{"digest": ""}')
    assert (job.out / 'torques.half').exists()
    assert process(job).states == 50
    assert not (job.out / 'torques.half').exists()


def test_after_a_kill_the_lock_is_free_and_what_was_left_goes(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    code = WRITER.replace('print("won", flush=True)', 'print("won", flush=True); sys.stdin.readline()')
    writer = start('-c', code, str(out), '7')
    assert writer.stdin
    assert writer.stdout
    writer.stdin.write('go\n')
    writer.stdin.flush()
    assert [writer.stdout.readline() for _ in range(2)] == ['ready\n', 'won\n']
    writer.kill()
    writer.communicate(timeout=PATIENCE)
    assert len([*tmp_path.iterdir()]) == 2  # the lock, and half of the results
    (tmp_path / '.out.other.abcdef01.part').mkdir()  # of another folder, out.other
    with results_in(out) as folder:
        (folder / 'summary.json').write_text('{}')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['.out.other.abcdef01.part', 'out']


def test_an_error_leaves_earlier_results_as_they_were(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / 'drive', arm_states(50))
    process(Job(bag, tmp_path / 'out', ARM))
    before = {path: path.read_bytes() for path in (tmp_path / 'out').iterdir()}
    with pytest.raises(ZeroDivisionError), results_in(tmp_path / 'out') as folder:
        (folder / 'torques.half').write_text('')
        raise ZeroDivisionError
    assert {path: path.read_bytes() for path in (tmp_path / 'out').iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ['drive', 'out']


def kill_its_process(job: Job) -> Result:
    """Stand for a recording that takes all memory: its process is killed, a while after the others have begun."""
    if job.recording.name == 'deadly':
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    with (job.out.parent / 'began').open('a') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f'{job.recording.name}\n')
    time.sleep(0.5)
    return attempt(job)


@pytest.mark.parametrize('workers', slow_but([2], [1, 2, 4]))
def test_a_killed_process_is_the_failure_of_its_own_recording(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ['first', 'deadly', 'second', 'third']
    jobs = [Job(write_bag(tmp_path / name, arm_states(20)), tmp_path / 'out' / name, ARM) for name in names]
    (tmp_path / 'out').mkdir()
    monkeypatch.setattr('krang_dynamics_ros.processing.process.attempt', kill_its_process)
    results = {result.job.recording.name: result for result in on_this_machine(jobs, workers)}
    assert {name: bool(result.summary) for name, result in results.items()} == {
        name: name != 'deadly' for name in names
    }
    assert 'its process was killed in 2 of 2 attempts; is there enough memory?' in results['deadly'].fault
    assert sorted((tmp_path / 'out' / 'began').read_text().split()) == ['first', 'second', 'third']  # each once
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == ['began', 'first', 'second', 'third']
