"""Wrenches at the hands, told from the joints: in closed loop, both at once, and not where they cannot be told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Robot, Wrench, dynamics_of, load_robot
from krang_dynamics_ros.dynamics.observer import MomentumObserver
from krang_dynamics_ros.dynamics.simulation import Simulation
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.estimation.contact import FEWEST, ContactDetector, ThresholdLearner, own_joints
from krang_dynamics_ros.estimation.hand_wrenches import HandWrenches
from krang_dynamics_ros.core.errors import ArgumentError

from .robots import FILES

HANDS = {'left': 'R10l', 'right': 'R10r'}
STRAIGHT = np.zeros(17)


def random_pose(simulation: Simulation, rng: np.random.Generator) -> np.ndarray:
    low, high = np.maximum(simulation.lower, -np.pi), np.minimum(simulation.upper, np.pi)
    return rng.uniform(0.9 * low, 0.9 * high)


def test_wrenches_on_both_hands_come_back(dynamics: Dynamics, rng: np.random.Generator) -> None:
    """Virtual work: what J^T f puts into the joints is what the estimate takes out of them."""
    estimator, told = HandWrenches(dynamics, HANDS), 0
    estimator.damping = 1e-4
    for _ in range(20):
        q, f = rng.uniform(-2, 2, 17), rng.normal(size=(2, 6)) * [20, 20, 20, 3, 3, 3]
        world = [Wrench(link, *np.split(-part, 2)) for link, part in zip(HANDS.values(), f, strict=True)]
        torque = -dynamics.wrench_torque(q, world) * -1  # the robot applies the opposite of what the world does
        torque = -torque * -1
        estimate = estimator.estimate(q, -dynamics.wrench_torque(q, world))
        for part, one in zip(f, estimate.values(), strict=True):
            if one.wrench is not None:
                told += 1
                np.testing.assert_allclose(one.wrench, part, atol=0.02)
    assert told > 30
