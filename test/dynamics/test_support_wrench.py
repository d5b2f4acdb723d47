"""What a robot applies to its support: its weight at rest, hands included, and where no moment is left on the floor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import BaseMotion, Dynamics, Robot, Wrench, dynamics_of
from krang_dynamics_ros.core.spatial import rotation_from_rpy
from krang_dynamics_ros.dynamics.support_wrench import wrench_on_support, zero_moment_point

from .test_base_motion import random_world, with_heavy_base

STILL = np.zeros(17)


@pytest.fixture
def heavy(robot: Robot) -> Dynamics:
    return dynamics_of(with_heavy_base(robot))


def test_upright_at_rest_it_is_the_weight_of_all_with_the_base(heavy: Dynamics, rng: np.random.Generator) -> None:
    q = rng.normal(size=17)
    wrench, com = wrench_on_support(heavy, q, STILL, STILL), heavy.center_of_mass(q)
    weight = np.array([0, 0, -9.81 * heavy.mass])
    assert heavy.mass > 170  # kg: Krang, and 20 kg of the base
    np.testing.assert_allclose(wrench, [*weight, *np.cross(com, weight)], atol=1e-9)


def test_wrenches_of_the_hands_go_through_the_support(heavy: Dynamics, rng: np.random.Generator) -> None:
    q, bare = rng.normal(size=17), np.zeros(6)
    heavy.base_motion = random_world(rng).motion
    bare = wrench_on_support(heavy, q, *rng.normal(size=(2, 17)))
    rng = np.random.default_rng(1)
    dq, ddq = rng.normal(size=(2, 17))
    bare = wrench_on_support(heavy, q, dq, ddq)
    for axes, about in (('', ''), ('R0', ''), ('R4l', 'R6r')):
        f, m = rng.normal(size=(2, 3)) * 10
        given = Wrench('R10l', f, m, axes, about)
        R, _ = heavy.pose(q, axes or 'R10l')
        _, p = heavy.pose(q, about or 'R10l')
        reaction = np.r_[R @ f, R @ m + np.cross(p, R @ f)]
        np.testing.assert_allclose(wrench_on_support(heavy, q, dq, ddq, [given]), bare - reaction, atol=1e-9)


@pytest.mark.parametrize('floor', [-0.7, 0.0, 0.4])
def test_at_rest_the_zero_moment_point_is_below_the_centre_of_mass(
    heavy: Dynamics, rng: np.random.Generator, floor: float
) -> None:
    for rpy in ((0, 0, 0), (0.3, -0.2, 1.0)):
        heavy.base_motion = BaseMotion.tilted(rotation_from_rpy(rpy))
        q = rng.normal(size=17)
        point, com, down = (
            zero_moment_point(wrench_on_support(heavy, q, STILL, STILL), floor),
            heavy.center_of_mass(q),
            heavy.gravity,
        )
        assert point is not None
        np.testing.assert_allclose(point, com + down * (floor - com[2]) / down[2], atol=1e-9)


def test_about_the_zero_moment_point_no_moment_lies_along_the_floor(heavy: Dynamics, rng: np.random.Generator) -> None:
    heavy.base_motion = BaseMotion((2.0, -3.0, -11.0), (0.3, 0.2, -0.5), (1.0, -2.0, 0.5))
    wrench = wrench_on_support(heavy, *rng.normal(size=(3, 17)))
    point = zero_moment_point(wrench, 0.25)
    assert point is not None
    assert point[2] == 0.25
    np.testing.assert_allclose((wrench[3:] - np.cross(point, wrench[:3]))[:2], 0, atol=1e-9)


@pytest.mark.parametrize(
    'wrong', [(0, 0, 5, 1, 1, 1), (0, 0, 0, 1, 1, 1), (0, 0, np.nan, 0, 0, 0), (0, 0, -1, np.nan, 0, 0)]
)
def test_a_robot_that_does_not_press_on_the_floor_has_no_such_point(wrong: Any) -> None:
    assert zero_moment_point(wrong, 0.0) is None
