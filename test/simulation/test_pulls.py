"""A person who pulls the simulated robot: the law of the spring, and that its force follows the robot at each step."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Robot, Wrench, dynamics_of, load_robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.simulation.pulls import (
    DAMPING,
    MAX_FORCE,
    MAX_PULLS,
    STIFFNESS,
    Pull,
    pull_wrench,
    pulls_of,
)
from krang_dynamics_ros.simulation.simulated_robot import SimulatedRobot
from krang_dynamics_ros.simulation.simulation import STEP, Simulation

from ..robots import FILES


def test_a_pull_points_to_its_target_is_damped_and_bounded(robot: Robot, rng: np.random.Generator) -> None:
    dynamics, q, dq = dynamics_of(robot), rng.uniform(-1, 1, robot.n), rng.uniform(-0.1, 0.1, robot.n)
    rotation, origin = dynamics.pose(q, 'R10l')
    still, unknown, away = np.zeros(robot.n), np.full(robot.n, np.nan), np.array([0.1, -0.2, 0.3])
    grip = np.array([0.03, -0.05, 0.1])
    at = origin + rotation @ grip
    for at_rest in (still, unknown):
        wrench = pull_wrench(dynamics, Pull('R10l', grip, at + away), q, at_rest)
        np.testing.assert_allclose(rotation @ wrench.force, STIFFNESS * away)
        np.testing.assert_allclose(wrench.moment, np.cross(grip, wrench.force))
    slower = rotation @ pull_wrench(dynamics, Pull('R10l', grip, at), q, dq).force
    turned, moved = dynamics.pose(q + 1e-6 * dq, 'R10l')
    np.testing.assert_allclose(slower, -DAMPING * (moved + turned @ grip - at) / 1e-6, rtol=1e-4, atol=1e-6)
    far = rotation @ pull_wrench(dynamics, Pull('R10l', grip, at + 100 * away), q, still).force
    np.testing.assert_allclose(far, MAX_FORCE * away / np.linalg.norm(away))


def test_the_force_of_a_pull_follows_the_robot_at_each_step() -> None:
    """The same motion comes of a push that is computed anew here, from the position of the tip, every millisecond."""
    start, grip, target = [0.3, 0.4], np.array([0.1, 0.0, 0.0]), np.array([0.5, 1.0, 0.0])
    robot = SimulatedRobot(Simulation(load_robot(FILES['arm_2r']), start), timeout=1.0, brakes=False)
    link = robot.simulation.robot.links[-1].name
    own, dynamics = Simulation(robot.simulation.robot, start), robot.simulation.dynamics

    def tip(q: np.ndarray) -> np.ndarray:
        rotation, origin = dynamics.pose(q, link)
        return np.asarray(origin + rotation @ grip)

    for _ in range(20):
        robot.advance(5 * STEP + 1e-9, (), [Pull(link, grip, target)])
    while own.time < robot.simulation.time - STEP / 2:
        velocity = (tip(own.q + 1e-7 * own.dq) - tip(own.q - 1e-7 * own.dq)) / 2e-7
        force = STIFFNESS * (target - tip(own.q)) - DAMPING * velocity
        force *= min(1.0, MAX_FORCE / np.linalg.norm(force))
        rotation, _ = dynamics.pose(own.q, link)
        own.step(np.zeros(2), [Wrench(link, rotation.T @ force, np.cross(grip, rotation.T @ force))])
    assert np.abs(own.q - start).max() > 0.01
    np.testing.assert_allclose(robot.simulation.q, own.q, atol=1e-6)


def test_points_are_pairs_of_grip_and_target() -> None:
    first, second = pulls_of('tip', [(1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12)])
    assert (first.link, first.grip.tolist(), first.target.tolist()) == ('tip', [1, 2, 3], [4, 5, 6])
    assert second.grip.tolist() == [7, 8, 9]
    assert pulls_of('tip', []) == []


@pytest.mark.parametrize(
    'points',
    [
        [(0, 0, 0)],
        [(0, 0, 0), (0, np.nan, 0)],
        [(0, 0, 0)] * (2 * MAX_PULLS + 2),
        [(0, 0)],
        [(0, 0), (1, 2), (1, 2)],
    ],
)
def test_other_points_are_refused(points: list[tuple[float, ...]]) -> None:
    with pytest.raises(ArgumentError, match='must be'):
        pulls_of('tip', points)
