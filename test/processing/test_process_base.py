"""A recording with an IMU of a moving base: the node's own torques, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import BaseMotion, dynamics_of, load_robot
from krang_dynamics_ros.core.spatial import rotation_from_rpy
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.messages import JointStateMessage
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.processing.replay import deliver

from ..bags import BEGIN, TYPES, header, joint_state, write_bag
from ..imu import reading
from .test_process import ARM, MS, column

pytest.importorskip('pyarrow', reason='pyarrow, for recordings, is not installed')
TERMS = ('gravity', 'coriolis', 'external')
NAMES = ('theta1', 'theta2')
BASE = load_robot(ARM).base


def rotation(t: float) -> np.ndarray:
    return rotation_from_rpy((0.3 * np.sin(2 * t), 0.4 * np.sin(3 * t), 0.1))


def imu(time: int, t: float, kind: Any) -> Any:
    """Return one reading, as a message of the engine and as one of a bag."""
    w, f = np.array([np.cos(t), 0.3, -0.2]), rotation(t).T @ (0, 0, 9.81) + (np.sin(t), 0, 1.0)
    ours = reading(BASE, rotation(t), w, f, time)
    if kind is not None:
        return ours
    made, vector = TYPES.types, TYPES.types['geometry_msgs/msg/Vector3']
    (qw, *xyz), unknown, head = ours.quaternion, np.zeros(9), header(time)
    head.frame_id = BASE
    orientation = made['geometry_msgs/msg/Quaternion'](*xyz, qw)
    values = orientation, unknown, vector(*ours.angular_velocity), unknown, vector(*ours.linear_acceleration), unknown
    return made['sensor_msgs/msg/Imu'](head, *values)


def motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([np.sin(3 * t), np.cos(2 * t)]), np.array([3 * np.cos(3 * t), -2 * np.sin(2 * t)])


def recorded(count: int) -> Iterator[tuple[str, int, object]]:
    for k in range(count):
        stamp, t = BEGIN + 2 * MS * k, 0.002 * k
        yield '/imu', stamp, imu(stamp, t, None)
        yield '/joint_states', stamp + MS, joint_state(stamp + MS, NAMES, *motion(t), [1.0, 2.0])


@pytest.mark.parametrize('mode', ['orientation', 'full'])
def test_a_recording_on_a_moving_base_gives_the_nodes_torques(tmp_path: Path, mode: str) -> None:
    given = {'robot_file': ARM, 'base_motion': mode, 'backend': 'pinocchio'}
    summary = process(Job(write_bag(tmp_path / 'bag', recorded(300)), tmp_path / 'out', given, terms=TERMS))
    engine, rows = engine_of(given), []
    for k in range(300):
        stamp = BEGIN + 2 * MS * k
        deliver(engine, imu(stamp, 0.002 * k, 'ours'))
        q, dq = motion(0.002 * k)
        state = JointStateMessage(NAMES, q, dq, np.array([1.0, 2.0]), stamp + MS, stamp + MS)
        if (torques := deliver(engine, state)) is not None:
            rows.append((torques.term('gravity'), torques.term('coriolis'), torques.term('external')))
    assert summary.states == len(rows) == {'orientation': 300, 'full': 280}[mode]
    for k, term in enumerate(TERMS):
        for joint, name in enumerate(NAMES):
            found = column(tmp_path / 'out', f'{name}.{term}')
            theirs = [np.nan if row[k] is None else row[k][joint] for row in rows]
            np.testing.assert_allclose(found, theirs, atol=1e-9)


def test_gravity_and_model_of_each_row_are_those_of_its_orientation(tmp_path: Path) -> None:
    given = {'robot_file': ARM, 'base_motion': 'orientation', 'backend': 'pinocchio', 'effort_without': ['gravity']}
    process(Job(write_bag(tmp_path / 'bag', recorded(300)), tmp_path / 'out', given, terms=TERMS))
    dynamics = dynamics_of(load_robot(ARM))
    size = float(np.linalg.norm(dynamics.gravity))
    found = {name: np.column_stack([column(tmp_path / 'out', f'{joint}.{name}') for joint in NAMES]) for name in (
        'gravity', 'effort', 'model', 'residual', 'smooth_position', 'smooth_velocity', 'acceleration',
    )}  # fmt: skip
    for k in range(300):
        dynamics.base_motion = BaseMotion.tilted(rotation(0.002 * k), size)
        gravity = dynamics.Q(motion(0.002 * k)[0])
        np.testing.assert_allclose(found['gravity'][k], gravity, atol=1e-9)
        smooth = [found[name][k] for name in ('smooth_position', 'smooth_velocity', 'acceleration')]
        if np.isfinite(smooth).all():
            model = dynamics.inverse_dynamics(*smooth) + dynamics.friction_torque(smooth[1])
            np.testing.assert_allclose(found['model'][k], model, atol=1e-9)
            np.testing.assert_allclose(found['residual'][k], found['effort'][k] + gravity - model, atol=1e-9)
    assert np.isfinite(found['residual']).any()


def test_readings_that_are_refused_are_counted(tmp_path: Path) -> None:
    given = {'robot_file': ARM, 'base_motion': 'orientation', 'imu.link': ''}
    messages = [*recorded(100)]
    for _, _, message in messages[40:80:2]:
        message.orientation.w = 3.0
    summary = process(Job(write_bag(tmp_path / 'bag', messages), tmp_path / 'out', given))
    assert summary.refused['imu'][0] == 20
    assert 'must be a unit quaternion' in summary.refused['imu'][1]
    assert summary.states == 100  # the last good reading is never too old
