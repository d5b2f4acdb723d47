"""Recordings whose joint states come in parts, with stamps and velocities that are not perfect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, dynamics_of, load_robot
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.messages import JointStateMessage
from krang_dynamics_ros.processing import portions
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.processing.summary import Summary

from ..bags import BEGIN, joint_state, write_bag
from ..parts import BODY, LEFT, RIGHT, Publisher, motion, published
from ..robots import ROOT

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
ALL = slice(0, 17)
PINOCCHIO = {'backend': 'pinocchio'}
MS = 1_000_000


@pytest.fixture(scope='module')
def krang() -> Dynamics:
    return dynamics_of(load_robot())


class Table:
    """What `process` made of messages."""

    def __init__(self, folder: Path, messages: Iterable[JointStateMessage], **parameters: object) -> None:
        told = [('/joint_states', BEGIN + m.arrival, joint_state(m.stamp, *m[:4])) for m in messages]
        job = Job(write_bag(folder / 'bag', told), folder / 'out', PINOCCHIO | parameters, cutoff=20.0)
        self.summary: Summary = process(job)
        self._table = parquet.read_table(folder / 'out' / 'torques.parquet')
        self.stamp = self._table['stamp'].to_numpy()

    def columns(self, what: str) -> np.ndarray:
        """Return a column of every joint (rows, n)."""
        names = [name for name in self._table.column_names if name.endswith(f'.{what}')]
        return np.stack([self._table[name].to_numpy() for name in names], axis=1)


def test_parts_of_equal_stamps_make_the_table_of_one_publisher(krang: Dynamics, tmp_path: Path) -> None:
    parts = [Publisher(BODY, 200), Publisher(LEFT, 200, 1e-4), Publisher(RIGHT, 200, 2e-4)]
    one = Table(tmp_path / 'one', published(krang, [Publisher(ALL, 200)], 1.5))
    many = Table(tmp_path / 'many', published(krang, parts, 1.5))
    np.testing.assert_array_equal(many.stamp, one.stamp)
    for what in ('position', 'velocity', 'effort', 'gravity', 'coriolis', 'acceleration', 'residual'):
        np.testing.assert_array_equal(many.columns(what), one.columns(what), what)


def test_rows_of_parts_are_what_the_node_has_once_a_stamp_is_complete(krang: Dynamics, tmp_path: Path) -> None:
    parts = [Publisher(BODY, 200), Publisher(LEFT, 200, 1e-4), Publisher(RIGHT, 200, 2e-4)]
    messages = [*published(krang, parts, 0.5)]
    live = engine_of(PINOCCHIO)
    last = {}
    for message in messages:
        torques = live.on_joint_state(*message)
        if torques is not None:
            last[message.stamp] = torques.term('gravity')
    table = Table(tmp_path, messages)
    assert [*last] == table.stamp.tolist()
    np.testing.assert_array_equal(table.columns('gravity'), [*last.values()])


@pytest.mark.parametrize(
    'parts',
    [
        [Publisher(ALL, 500)],
        [Publisher(BODY, 100), Publisher(LEFT, 500), Publisher(RIGHT, 500)],
        [Publisher(BODY, 50), Publisher(LEFT, 500), Publisher(RIGHT, 500)],
        [Publisher(BODY, 200), Publisher(LEFT, 250), Publisher(RIGHT, 333)],
        [Publisher(BODY, 200, 1e-3, 3.7e-3), Publisher(LEFT, 250, 0, 1.1e-3), Publisher(RIGHT, 333)],
    ],
    ids=['one', '100/500/500', '50/500/500', '200/250/333', 'phases'],
)
def test_the_model_explains_the_efforts_however_the_joints_come(
    krang: Dynamics, parts: Sequence[Publisher], tmp_path: Path
) -> None:
    """A row is an instant, at the rate of the slowest part; one publisher of all joints shows 0.003 N m."""
    table = Table(tmp_path, published(krang, parts, 4.0))
    error = table.columns('residual')
    known = np.isfinite(error).all(axis=1)
    assert known.mean() > 0.95
    assert np.sqrt(np.mean(error[known] ** 2, axis=0)).max() < 0.004
    assert len(table.stamp) == pytest.approx(4.0 * min(part.rate for part in parts), rel=0.02)
    assert (np.diff(table.stamp) > 0).all()


def stepping_back(messages: Iterable[JointStateMessage], by: int) -> Iterator[JointStateMessage]:
    """Let every 97th message have a stamp that lies before that of the one before, by so many ns."""
    before = 0
    for k, message in enumerate(messages):
        yield message._replace(stamp=before - by) if k % 97 == 96 else message
        before = message.stamp


@pytest.mark.parametrize('parts', [[ALL], [BODY, LEFT, RIGHT]], ids=['one', 'parts'])
def test_a_stamp_that_steps_back_a_little_ends_no_movement(
    krang: Dynamics, parts: Sequence[slice], tmp_path: Path
) -> None:
    messages = published(krang, [Publisher(joints, 200) for joints in parts], 3.0)
    table = Table(tmp_path, stepping_back(messages, 8_000))
    known = np.isfinite(table.columns('acceleration')).all(axis=1)
    assert known.mean() > 0.95
    assert (np.diff(table.stamp) > 0).all()
    assert table.summary.time_resets == 0
    assert table.summary.repeated >= 6
    (said,) = table.summary.suspected_faults
    assert said.startswith(f'{table.summary.repeated} messages of joint states had stamps that did not advance')


def test_a_movement_ends_where_everything_begins_anew(krang: Dynamics, tmp_path: Path) -> None:
    """The robot is elsewhere from one state to the next: no spline goes across."""
    messages = [*published(krang, [Publisher(ALL, 200)], 2.0)]
    moved = [m._replace(position=m.position + 1.0) if k >= 200 else m for k, m in enumerate(messages)]
    table = Table(tmp_path, moved)
    assert len(table.stamp) == 398  # the first two of them were refused
    ddq, time = table.columns('acceleration'), table.columns('position')[:, 0]
    assert len(time) == len(ddq)
    known = np.isfinite(ddq).all(axis=1)
    assert known[20:180].all()
    assert not known[195:205].any()
    assert known[220:380].all()
    assert np.abs(ddq[known]).max() < 3.0


def test_accelerations_are_left_out_for_a_period_of_the_cutoff_at_both_ends(krang: Dynamics, tmp_path: Path) -> None:
    """There a spline has points on one side only."""
    table = Table(tmp_path, published(krang, [Publisher(ALL, 200)], 1.0))
    time = (table.stamp - table.stamp[0]) * 1e-9
    inside = (time >= 0.05 - 1e-9) & (time <= time[-1] - 0.05 + 1e-9)
    known = np.isfinite(table.columns('acceleration'))
    assert known.all(axis=1).tolist() == known.any(axis=1).tolist()
    edge = np.isclose(time, 0.05) | np.isclose(time, time[-1] - 0.05)
    np.testing.assert_array_equal(known.all(axis=1)[~edge], inside[~edge])


@pytest.mark.parametrize('parts', [[ALL], [BODY, LEFT, RIGHT]], ids=['one', 'parts'])
@pytest.mark.parametrize('presliding', [False, True])
def test_one_velocity_that_is_not_known_empties_no_other(
    krang: Dynamics, parts: Sequence[slice], presliding: bool, tmp_path: Path
) -> None:
    """The terms of that state are not known, as in the node."""

    def blind() -> Iterator[JointStateMessage]:
        for message in published(krang, [Publisher(joints, 200) for joints in parts], 0.5):
            velocity = message.velocity.copy()
            if 'q_3l' in message.names and message.stamp == BEGIN + 250 * MS:
                velocity[message.names.index('q_3l')] = np.nan
            yield message._replace(velocity=velocity)

    k = krang.joint_names.index('q_3l')
    parameters = {'joints.q_w.presliding': [1.0, 0.001]} if presliding else {}
    table = Table(tmp_path, blind(), **parameters)
    (row,) = np.flatnonzero(table.stamp == BEGIN + 250 * MS)
    dq = table.columns('velocity')
    expected = np.stack([motion(krang, t * 1e-9)[1] for t in (table.stamp - BEGIN).tolist()])
    assert np.isnan(dq[row, k])
    dq[row, k] = expected[row, k]
    np.testing.assert_allclose(dq, expected, atol=1e-12)
    for term in ('coriolis', 'friction'):
        known = np.isfinite(table.columns(term))
        assert not known[row].any()
        assert np.delete(known, row, axis=0).all()
    assert np.isfinite(table.columns('gravity')).all()


def test_too_few_accelerations_are_reported_with_the_reason(tmp_path: Path) -> None:
    arm = str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')
    times = [k * 5 * MS + (k // 10) * 500 * MS for k in range(100)]  # gaps after every tenth
    messages = [
        JointStateMessage(('theta1', 'theta2'), np.full(2, 1e-10 * t), np.empty(0), np.ones(2), BEGIN + t, t)
        for t in times
    ]
    table = Table(tmp_path, messages, robot_file=arm)
    (said,) = table.summary.suspected_faults
    assert said.startswith('Accelerations are known in 0 of 100 states: a gap of more than 10 median')


def test_parts_in_portions_are_those_of_the_whole(
    krang: Dynamics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [Publisher(BODY, 100, 1e-3, 3.7e-3), Publisher(LEFT, 500, 0, 1.1e-3), Publisher(RIGHT, 500)]
    messages = [*published(krang, parts, 6.0)]
    whole = Table(tmp_path / 'whole', messages)
    monkeypatch.setattr(portions, 'PORTION_SIZE', 3000)
    split = Table(tmp_path / 'split', messages)
    assert len([*(tmp_path / 'split' / 'out' / 'torques.parquet').iterdir()]) > 1
    np.testing.assert_array_equal(split.stamp, whole.stamp)
    for what in ('position', 'velocity', 'effort', 'gravity', 'coriolis'):
        np.testing.assert_allclose(split.columns(what), whole.columns(what), rtol=0, atol=1e-9, err_msg=what)
