"""Gamma = Y phi: the regressor against Newton-Euler, Pinocchio's own, and links that do not move."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krang_dynamics_ros import NewtonEuler, Robot, dynamics_of, krang, urdf_text
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.equations.regressor import (
    moved_links,
    parameters_of,
    regressor,
    with_fixed_joints,
    with_parameters,
)

from ..robots import trees

ARM = [f'q_{k}l' for k in range(1, 8)]


@given(robot=trees(largest=8), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_the_parameters_times_the_regressor_are_the_torque(robot: Robot, seed: int) -> None:
    q, dq, ddq = np.random.default_rng(seed).normal(size=(3, 4, robot.n))
    links = moved_links(robot)
    torque = regressor(robot, links, q, dq, ddq) @ parameters_of(robot, links) + robot.rotor_inertia * ddq
    expected = NewtonEuler(robot).inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(torque, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_it_is_pinocchios_regressor(rng: np.random.Generator) -> None:
    robot = krang()
    links = moved_links(robot)
    q, dq, ddq = rng.normal(size=(3, 1, robot.n))
    model = pin.buildModelFromXML(urdf_text(robot))
    order = [robot.joint_names.index(name) for name in model.names[1:]]
    theirs = pin.computeJointTorqueRegressor(model, model.createData(), q[0, order], dq[0, order], ddq[0, order])
    mine = regressor(robot, links, q, dq, ddq)[0][order].reshape(robot.n, len(links), 10)
    place = [model.getJointId(robot.joint_above[link].name) - 1 for link in links]
    theirs = theirs.reshape(robot.n, robot.n, 10)[:, place]
    to_ours = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # Pinocchio's order is xx xy yy xz yz zz
    np.testing.assert_allclose(mine, theirs[..., to_ours], rtol=0, atol=1e-9)


def test_joints_that_are_held_move_no_more(rng: np.random.Generator) -> None:
    robot = krang()
    arm = with_fixed_joints(robot, {'q_w': 0.7}, ARM)
    assert arm.joint_names == tuple(ARM)
    q = rng.normal(size=7)
    whole = np.zeros(robot.n)
    whole[[robot.joint_names.index(name) for name in ARM]] = q
    whole[robot.joint_names.index('q_w')] = 0.7
    expected = dynamics_of(robot).Q(whole)[[robot.joint_names.index(name) for name in ARM]]
    np.testing.assert_allclose(NewtonEuler(arm).Q(q), expected, atol=1e-9)
    assert moved_links(arm) == tuple(f'R{k}l' for k in range(4, 11))
    with pytest.raises(ArgumentError, match="did you mean 'q_w'"):
        with_fixed_joints(robot, {'q_v': 1.0}, ARM)


def test_parameters_are_put_back_where_they_came_from() -> None:
    robot = krang()
    links = moved_links(robot)
    phi = parameters_of(robot, links)
    again = with_parameters(robot, links, 2 * phi)
    assert again.mass == pytest.approx(2 * robot.mass)
    np.testing.assert_allclose(parameters_of(again, links), 2 * phi)
