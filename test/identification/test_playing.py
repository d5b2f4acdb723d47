"""The way to the start of a motion is clear and slow; a robot that does not follow is found, one that does is not."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Robot, dynamics_of, krang
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.dynamics.trajectory import Spline, Trajectory
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification.approach import ACCELERATION, SPEED, Approach, slow_motion
from krang_dynamics_ros.identification.clearance import Clearance, Near
from krang_dynamics_ros.identification.collision_shapes import Box, Shapes
from krang_dynamics_ros.identification.playing import TOLERANCE, Following, at_speed
from krang_dynamics_ros.robot.mesh_files import MeshFiles

ARM = tuple(f'q_{k}l' for k in range(1, 5))


def arm() -> Robot:
    return with_fixed_joints(krang(), {}, ARM)


def clearance_of(*boxes: Box) -> Clearance:
    return Clearance(arm(), Shapes(arm(), MeshFiles(), boxes))


def test_a_free_way_is_straight() -> None:
    start, goal = np.zeros(4), np.array([0.2, 0.4, 0.0, 0.3])
    np.testing.assert_array_equal(Approach(arm(), clearance_of()).path(start, goal), [start, goal])


@pytest.mark.parametrize('seed', range(3))
def test_a_way_leads_around_what_stands_in_between(seed: int) -> None:
    hand = dynamics_of(arm()).pose(np.zeros(4), 'R10l')[1]
    clearance = clearance_of(Box('post', hand, np.full(3, 0.2)))
    start, goal = np.array([0.0, 0.6, 0.0, 0.0]), np.array([0.0, -0.6, 0.0, 0.0])
    assert clearance.blocked(np.linspace(start, goal, 200))
    way = Approach(arm(), clearance, seed).path(start, goal)
    np.testing.assert_array_equal(way[[0, -1]], [start, goal])
    motion = Spline(slow_motion(arm(), way)).at(np.arange(0, slow_motion(arm(), way).time[-1], 1e-3))
    assert not clearance.blocked(motion.q)
    assert np.abs(motion.dq).max() < SPEED + 1e-9
    assert np.abs(motion.ddq).max() < ACCELERATION + 1e-6


def test_an_end_that_is_not_clear_is_named() -> None:
    hand = dynamics_of(arm()).pose(np.zeros(4), 'R10l')[1]
    clearance = clearance_of(Box('post', hand, np.full(3, 0.2)))
    with pytest.raises(
        KrangDynamicsError, match=r'present pose: post and R\w+ are -?\d+\.\d cm apart, too near.*start\.positions'
    ):
        Approach(arm(), clearance).path(np.zeros(4), np.array([0.0, -0.6, 0.0, 0.0]))
    with pytest.raises(KrangDynamicsError, match=r'start of the motion: post and.*; plan another motion \(--seed\)'):
        Approach(arm(), clearance).path(np.array([0.0, -0.6, 0.0, 0.0]), np.zeros(4))


def test_a_goal_that_is_walled_in_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('krang_dynamics_ros.identification.approach.BRANCHES', 20)
    clearance = clearance_of()
    monkeypatch.setattr(clearance, 'blocked', lambda q: None if len(q) == 1 else Near(('wall', 'R10l'), 0.0))
    with pytest.raises(KrangDynamicsError, match='no path to the start of the motion was found in 20 trials'):
        Approach(arm(), clearance).path(np.zeros(4), np.ones(4))


def swing() -> Trajectory:
    time = np.arange(0, 10.01, 0.05)
    q = np.stack([0.5 * np.sin(time) ** 2, 0.3 * np.sin(2 * time) ** 2], axis=1)
    dq = np.gradient(q, time, axis=0)
    return Trajectory.of(['a', 'b'], time, q, dq)


def states(late: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    time = np.arange(0, 11, 0.02)
    return time, Spline(swing()).at(np.clip(time - late, 0, swing().time[-1])).q


def first_fault(time: np.ndarray, q: np.ndarray) -> tuple[float, str]:
    following = Following(swing())
    return next(((t, fault) for t, x in zip(time, q, strict=True) if (fault := following.fault(t, x))), (np.inf, ''))


@pytest.mark.parametrize('late', [0.0, 0.1, 0.4])
def test_a_robot_that_follows_late_and_with_noise_is_no_fault(late: float) -> None:
    time, q = states(late)
    assert first_fault(time, q + 0.02 * np.random.default_rng(0).normal(size=q.shape))[1] == ''


@pytest.mark.parametrize('side', [-1, 1])
def test_a_joint_that_is_off_or_unknown_is_named_at_once(side: int) -> None:
    time, q = states()
    q[200, 1] += side * 2.5 * TOLERANCE
    when, fault = first_fault(time, q)
    assert when == pytest.approx(time[200])
    assert 'joint b is at' in fault
    q[100, 0] = np.nan
    assert first_fault(time, q)[1].startswith('joint a is at nan')


def test_a_joint_that_stands_is_named_before_it_is_far_off() -> None:
    slow = at_speed(swing(), 0.1)
    following, time = Following(slow), np.arange(0, 40, 0.02)
    q = Spline(slow).at(time).q
    q[:, 0] = q[0, 0]
    when, fault = next((t, fault) for t, x in zip(time, q, strict=True) if (fault := following.fault(t, x)))
    assert 'joint a moved by 0.000' in fault
    assert abs(following.reference(np.array([when]))[0, 0] - q[0, 0]) < TOLERANCE


def test_a_slower_motion_takes_the_same_path() -> None:
    slow = at_speed(swing(), 0.2)
    assert slow.duration == pytest.approx(5 * swing().duration)
    np.testing.assert_array_equal(slow.position, swing().position)
    np.testing.assert_allclose(slow.velocity, swing().velocity / 5)
