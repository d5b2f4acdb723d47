"""The joint's angle out of an IMU's orientation: exact where one joint turned the base, refused where none could."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.spatial import rotation_from_rpy
from krang_dynamics_ros.live.base import pitch
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.processing.replay import deliver

from ..imu import pitching, quaternion

S = 10**9  # ns


def leaning(roll: float, angle: float, heading: float) -> tuple[float, float, float, float]:
    """Return the orientation of a base that is rolled and then pitched about the axle's heading (degrees)."""
    degree = np.pi / 180
    turned = rotation_from_rpy([0, 0, heading * degree])
    axle = rotation_from_rpy([roll * degree, 0, 0])
    return quaternion(turned @ axle @ rotation_from_rpy([0, angle * degree, 0]))


@pytest.mark.parametrize('angle', [-179.0, -90.0, -30.0, 0.0, 45.0, 90.0, 135.0, 179.0])
@pytest.mark.parametrize('roll', [-4.9, 0.0, 4.9])
def test_the_pitch_is_the_turn_about_the_axle_whatever_the_heading(roll: float, angle: float) -> None:
    for heading in (0.0, 77.0, 200.0):
        assert np.degrees(pitch(leaning(roll, angle, heading))) == pytest.approx(angle, abs=1e-9)


@pytest.mark.parametrize('angle', [-179.0, -90.0, -30.0, 0.0, 45.0, 90.0, 135.0, 179.0])
@pytest.mark.parametrize('roll', [-90.0, -60.0, -5.1, 5.1, 60.0])
def test_an_axle_that_is_not_level_is_refused_with_its_angle(roll: float, angle: float) -> None:
    for heading in (0.0, 77.0, 200.0):
        with pytest.raises(ArgumentError, match=f'roll {roll:.1f} degrees, must be within 5') as caught:
            pitch(leaning(roll, angle, heading))
        assert 'how the sensor is mounted' in str(caught.value)


@pytest.mark.parametrize(
    'wrong', [(0.5, 0, 0, 0), (0, 0, 0, 0), (np.nan, 0, 0, 1), (np.inf, 0, 0, 0), (1e200, 0, 0, 0)]
)
def test_an_invalid_orientation_is_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(ArgumentError, match='must be a unit quaternion, covariance not -1'):
        pitch(wrong)
    with pytest.raises(ArgumentError, match='covariance not -1'):
        pitch((1, 0, 0, 0), -1)


def known(engine: Engine, now: int) -> Any:
    names = engine.dynamics.joint_names
    return engine.on_joint_state(names, np.zeros(17), np.zeros(17), np.empty(0), now, now)


def test_a_roll_is_counted_and_gives_no_torque_live_as_in_a_recording() -> None:
    engine = engine_of({'imu_joint': 'q_imu'})
    refusals = engine.inputs.states.refusals
    assert deliver(engine, pitching(leaning(60, 0, 0), 0.0, (0.0, 0.0), S, S)) is None
    assert known(engine, S) is None
    assert refusals.count == 1
    assert refusals.reason.startswith('imu: roll 60.0 degrees')
    deliver(engine, pitching(leaning(2, 20, 0), 0.0, (0.0, 0.0), S, S))
    assert known(engine, S + 1).state.q[0] == pytest.approx(np.radians(20))
    assert refusals.count == 1
