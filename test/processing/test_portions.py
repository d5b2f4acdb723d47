"""A long bag in portions gives the same as the whole bag, in any number of processes; Ctrl-C leaves no process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import Fault, KrangDynamicsError, RobotError
from krang_dynamics_ros.processing import portions
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.portions import Portion
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.recordings.recording import RecordingError

from ..bags import BEGIN, joint_state, write_bag
from ..robots import ROOT

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
ARM = {'backend': 'pinocchio', 'robot_file': str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')}
MS = 1_000_000
STATES = 6000


def messages(count: int = STATES) -> Iterator[tuple[str, int, object]]:
    """Return joint states 2 ms apart: some of one joint only, some refused; time goes back once."""
    for k in range(count):
        arrival, t = BEGIN + 2 * MS * k, 0.002 * k
        stamp = arrival - (60_000 * MS if k > 0.7 * count else 0)
        q, dq = [np.sin(3 * t), np.cos(2 * t)], [3 * np.cos(3 * t), -2 * np.sin(2 * t)]
        names = ('theta1', 'theta2')[: 1 if k % 37 == 0 else 2]
        if k % 50 == 0:
            q[0] = np.nan
        yield '/joint_states', arrival, joint_state(stamp, names, *(x[: len(names)] for x in (q, dq, [1 + t, 2.0])))


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bag(tmp_path_factory.mktemp('long') / 'bag', messages())


def test_portions_are_the_whole(bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = process(Job(bag, tmp_path / 'whole', ARM))
    monkeypatch.setattr(portions, 'PORTION_SIZE', 1000)
    shares: list[float] = []
    split = process(Job(bag, tmp_path / 'split', ARM), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1, abs=0.01)
    process(Job(bag, tmp_path / 'two', ARM), workers=2)
    parts = sorted((tmp_path / 'split' / 'torques.parquet').iterdir())
    assert len(parts) == 6
    for part in parts:
        assert part.read_bytes() == (tmp_path / 'two' / 'torques.parquet' / part.name).read_bytes()
    one, other = (parquet.read_table(tmp_path / out / 'torques.parquet') for out in ('whole', 'split'))
    assert one.column_names == other.column_names
    for name in one.column_names:
        smooth = name.split('.')[-1].startswith(('smooth', 'acceleration', 'inertia', 'model', 'residual'))
        same = 1e-3 if smooth else 1e-12  # near the ends of a movement it matters where the knots of a spline lie
        scale = np.nanmax(np.abs(one[name].to_numpy()))
        np.testing.assert_allclose(
            other[name].to_numpy(), one[name].to_numpy(), rtol=0, atol=same * scale, err_msg=name
        )
    for name in ('states', 'joint_state_count', 'refused', 'time_resets', 'seconds', 'used'):
        assert getattr(whole, name) == getattr(split, name), name
    for mine, theirs in zip(whole.errors, split.errors, strict=True):
        assert mine.joint == theirs.joint
        assert mine.samples == theirs.samples
        assert mine.rms == pytest.approx(theirs.rms)
        assert mine.spread == pytest.approx(theirs.spread)
    assert (tmp_path / 'split' / 'report.html').read_text().count('<figure') == 2


def test_terms_with_a_state_need_a_single_portion(bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions, 'PORTION_SIZE', 1000)
    job = Job(bag, tmp_path / 'out', ARM)
    for one in (
        replace(job, terms=('external',)),
        replace(job, parameters=ARM | {'joints.theta1.presliding': [0.1, 0.01]}),
        replace(job, end=3.0),
    ):
        process(one)
        assert (tmp_path / 'out' / 'torques.parquet').is_file()


def test_a_fault_in_one_portion_is_the_bags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = write_bag(tmp_path / 'bag', messages())
    (file,) = broken.glob('*.mcap')
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 64] = bytes(64)
    file.write_bytes(content)
    monkeypatch.setattr(portions, 'PORTION_SIZE', 1000)
    with pytest.raises(KrangDynamicsError, match='reading stopped'):
        process(Job(broken, tmp_path / 'out', ARM), workers=2)
    assert not [*tmp_path.glob('*out*')]


def end_its_process(job: Job, portion: Portion, folder: Path) -> None:
    """Stand for the second of many portions that takes all memory, a while after the first has begun."""
    folder.joinpath(f'began_{portion.number}').touch()
    if portion.number == 1:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.4)


def refuse(job: Job, portion: Portion, folder: Path) -> None:
    """Stand for portions that are refused."""
    folder.joinpath(f'began_{portion.number}').touch()
    raise RobotError('arm', [Fault('mass', '0', 'must be positive')])


@pytest.mark.parametrize(
    ('end', 'error', 'message'),
    [
        (end_its_process, RecordingError, 'a process was killed; is there enough memory'),
        (refuse, RobotError, 'must be positive'),
    ],
)
def test_after_a_fault_in_one_process_the_others_begin_no_more_portions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: Callable[..., None], error: type[Exception], message: str
) -> None:
    monkeypatch.setattr(portions, 'work', end)
    many = [Portion(k, k + 1, number=k) for k in range(200)]
    with pytest.raises(error, match=message):
        portions.process_portions(Job(tmp_path, tmp_path, ARM), many, tmp_path, lambda _: None, 2)
    assert len([*tmp_path.iterdir()]) < 100


WAITING = """
import sys, time
from krang_dynamics_ros.processing import portions, process
from krang_dynamics_ros.__main__ import main

whole, portions.PORTION_SIZE = portions.work, 100

def work(*words):
    result = whole(*words)
    time.sleep(60)  # Ctrl-C comes before this ends
    return result

portions.work = process.work = work
if __name__ == '__main__':
    sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize('count', [1, 2])
def test_ctrl_c_ends_all_of_it_and_the_next_run_is_whole(bag: Path, tmp_path: Path, count: int) -> None:
    """One bag in portions, or two at once."""
    bags = [shutil.copytree(bag, tmp_path / f'bag_{k}') for k in range(count)]
    script = tmp_path / 'run.py'
    script.write_text(WAITING)
    words = [*map(str, bags), '-o', str(tmp_path / 'out'), '--workers', '2', '--robot', ARM['robot_file']]
    running = subprocess.Popen(
        [sys.executable, str(script), 'process', *words],
        cwd=ROOT, env=os.environ | {'PYTHONPATH': str(ROOT)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    deadline, begun = time.monotonic() + 60, 'out/.*/torques.parquet/*' if count == 1 else 'out/.*'
    while not [*tmp_path.glob(begun)] and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(30) == 130
    assert running.stdout is not None
    assert b'Traceback' not in running.stdout.read()
    assert not [*(tmp_path / 'out').iterdir()]
    assert process(Job(bags[0], tmp_path / 'out' / 'bag', ARM)).states > 0.9 * STATES
