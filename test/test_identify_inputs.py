"""The same motion as a bag, as CSV and as Parquet: `identify` and `predict` say the same of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import NewtonEuler, load_robot
from krang_dynamics_ros.recordings.joint_bag import read_bag
from krang_dynamics_ros.recordings.readers import write_csv
from krang_dynamics_ros.recordings.recording import Recording, RecordingError

from .bags import BEGIN, joint_state, write_bag
from .recordings import waves
from .test_commands import run as command

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
    recording, stood = read_bag(path, ('theta1', 'theta2', 'wheel'))
    assert recording.joint_names == NAMES
    assert stood == {'wheel': 0.3}
    np.testing.assert_allclose(recording.position, made().position)
    np.testing.assert_allclose(recording.time, TIME, atol=1e-9)
    chosen, stood = read_bag(path, ('theta2',), chosen=True)
    assert chosen.joint_names == ('theta2',)
    assert set(stood) == {'theta1', 'wheel'}


def test_a_bag_that_determines_nothing_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = bag(tmp_path / 'motion')
    with pytest.raises(RecordingError, match='stands still, which determines nothing'):
        read_bag(path, ('wheel',))
    with pytest.raises(RecordingError, match='has joints wheel, theta2, theta1, must have elbow'):
        read_bag(path, ('elbow',))
    parts = [
        ('/joint_states', BEGIN + k, joint_state(BEGIN + k, (NAMES[k % 2],), [0.01 * k], (), [1.0])) for k in range(20)
    ]
    with pytest.raises(RecordingError, match='joints come in parts'):
        read_bag(write_bag(tmp_path / 'parts', parts), NAMES)
    mute = [('/joint_states', BEGIN + k, joint_state(BEGIN + k, NAMES, [0.01 * k, 0.01 * k])) for k in range(20)]
    assert read_bag(write_bag(tmp_path / 'mute', mute), NAMES)[0].effort is None
    still = replace(made(), position=0 * made().position)
    write_csv(still, tmp_path / 'still.csv')
    done = command('identify', 'still.csv', '--robot', 'arm_2r', cwd=tmp_path)
    assert done.returncode == 2
    assert 'stands still, which determines nothing' in done.stderr
