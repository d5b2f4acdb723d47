"""Rotations and their angles, above all where the angles are not determined."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Wrench
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia, InertiaRamp
from krang_dynamics_ros.core.spatial import is_rotation, rotation_from_rpy, rpy_from_rotation

QUARTER = np.pi / 2
PITCHES = [QUARTER + sign * off for off in (0.0, 1e-16, 1e-13, 1e-10, 1e-8, 1e-4, 0.1, QUARTER) for sign in (1, -1)]


def test_rpy_is_roll_first_then_pitch_then_yaw_about_fixed_axes() -> None:
    """URDF's convention, by what it does to the axes: a quarter turn about each."""
    for rpy, x, y in (
        ([QUARTER, 0, 0], [1, 0, 0], [0, 0, 1]),
        ([0, QUARTER, 0], [0, 0, -1], [0, 1, 0]),
        ([0, 0, QUARTER], [0, 1, 0], [-1, 0, 0]),
        ([QUARTER, 0, QUARTER], [0, 1, 0], [0, 0, 1]),
    ):
        turn = rotation_from_rpy(rpy)
        np.testing.assert_allclose(turn[:, :2].T, [x, y], atol=1e-15)


@pytest.mark.parametrize('pitch', [*PITCHES, *(-pitch for pitch in PITCHES)])
def test_angles_give_the_rotation_back_at_any_pitch(pitch: float, rng: np.random.Generator) -> None:
    for roll, yaw in [(0.0, 0.0), (0.7, 0.0), (0.0, 0.7), *rng.uniform(-np.pi, np.pi, (10, 2))]:
        turn = rotation_from_rpy([roll, pitch, yaw])
        assert is_rotation(turn)
        np.testing.assert_allclose(rotation_from_rpy(rpy_from_rotation(turn)), turn, rtol=0, atol=3e-12)


@pytest.mark.parametrize('sign', [1, -1])
def test_at_90_degrees_the_yaw_is_zero(sign: int) -> None:
    turn = np.array([[0, sign * 0.6, sign * 0.8], [0, 0.8, -0.6], [-sign, 0, 0]])
    np.testing.assert_allclose(rpy_from_rotation(turn), [np.arctan2(0.6, 0.8), sign * QUARTER, 0], atol=1e-15)


def test_bodies_and_wrenches_of_other_shapes_are_refused() -> None:
    for com, inertia in ((np.zeros(3), 0.1), (np.zeros(3), [0.1, 0.2, 0.25]), (0.0, np.eye(3))):
        with pytest.raises(ArgumentError, match=r'must have shapes \(3,\) and \(3, 3\)'):
            Inertia.about_com(1.0, com, inertia)
    with pytest.raises(ArgumentError, match='must be 3 numbers each'):
        _ = Wrench('R1', (1, 2, 3, 4), (5, 6)).vector
    ramp = InertiaRamp(Inertia(), Inertia(1.0), start=5.0, duration=0.0)
    assert [ramp.at(t).m for t in (4.0, 5.0, 6.0)] == [0.0, 1.0, 1.0]
