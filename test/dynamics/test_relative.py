"""Any link as seen from any other one, and C_k(q): Pinocchio, the report's chain of transforms, differences, laws."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import settings as with_settings

from krang_dynamics_ros import Dynamics, Lagrangian, Robot, dynamics_of, urdf_text
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.core.errors import ArgumentError

from ..robots import WITH_FOLLOWERS, robot_with_followers, trees, trees_with_followers

PAIRS = [
    ('R10l', 'R0'), ('R0', 'R10l'),  # from below, and from above
    ('R9l', 'R3'), ('R3', 'R9l'), ('R10l', 'R9l'), ('R9l', 'R10l'),
    ('R10l', 'R10r'), ('R5r', 'R8l'),  # across
    ('R4l', 'R4l'),
]  # fmt: skip


@pytest.mark.parametrize(('link', 'seen_from'), PAIRS)
def test_a_relative_pose_is_pinocchios_and_that_of_the_chain(
    link: str, seen_from: str, robot: Robot, dynamics: Dynamics
) -> None:
    model = pin.buildModelFromXML(urdf_text(robot))
    data, place = model.createData(), [model.joints[model.getJointId(name)].idx_q for name in robot.joint_names]
    assert all(model.joints[model.getJointId(name)].nq == 1 for name in robot.joint_names)
    for q in random_states(robot, 5, 3).q:
        full = pin.neutral(model)
        full[place] = q
        pin.framesForwardKinematics(model, data, full)
        one, other = (data.oMf[model.getFrameId(name)] for name in (link, seen_from))
        relative = other.actInv(one)
        for R, p in (dynamics.relative_pose(q, link, seen_from), Lagrangian(robot).relative_pose(q, link, seen_from)):
            np.testing.assert_allclose(R, relative.rotation, atol=1e-12)
            np.testing.assert_allclose(p, relative.translation, atol=1e-12)


def assert_between(robot: Robot, dynamics: Dynamics, link: str, seen_from: str, q: np.ndarray, dq: np.ndarray) -> None:
    """The Jacobian by Pinocchio's two, by the joints between, and by differences of the relative pose."""
    J, step = dynamics.relative_jacobian(q, link, seen_from), 1e-6
    np.testing.assert_allclose(J, Lagrangian(robot).relative_jacobian(q, link, seen_from), atol=1e-11)
    (R0, p0), (R1, p1) = (dynamics.relative_pose(q + k * step * dq, link, seen_from) for k in (-1, 1))
    R, _ = dynamics.relative_pose(q, link, seen_from)
    W = (R1 - R0) / (2 * step) @ R.T
    found = np.concatenate([(p1 - p0) / (2 * step), [W[2, 1], W[0, 2], W[1, 0]]])
    np.testing.assert_allclose(J @ dq, found, atol=1e-6 * max(1.0, np.abs(found).max()))


@pytest.mark.parametrize(('link', 'seen_from'), PAIRS)
def test_a_relative_jacobian_is_how_the_relative_pose_changes(
    link: str, seen_from: str, robot: Robot, dynamics: Dynamics
) -> None:
    for q, dq, _ in zip(*random_states(robot, 3, 4), strict=True):
        assert_between(robot, dynamics, link, seen_from, q, dq)


@with_settings(max_examples=25)
@given(trees_with_followers(), trees(8))
def test_so_it_is_on_random_trees(following: Robot, free: Robot) -> None:
    for robot in (following, free):
        dynamics = dynamics_of(robot)
        q, dq, _ = (x[0] for x in random_states(robot, 1, 5))
        links = [link.name for link in robot.links]
        for link, seen_from in zip(links, reversed(links), strict=True):
            assert_between(robot, dynamics, link, seen_from, q, dq)


def test_relative_poses_are_a_group_and_what_two_links_share_does_not_show(robot: Robot, dynamics: Dynamics) -> None:
    q = random_states(robot, 1, 6).q[0]
    for d in (dynamics, Lagrangian(robot)):
        (R_ab, p_ab), (R_bc, p_bc), (R_ac, p_ac) = (
            d.relative_pose(q, one, other) for one, other in (('R7r', 'R2'), ('R2', 'R9l'), ('R7r', 'R9l'))
        )
        np.testing.assert_allclose(R_bc @ R_ab, R_ac, atol=1e-12)
        np.testing.assert_allclose(R_bc @ p_ab + p_bc, p_ac, atol=1e-12)
        np.testing.assert_allclose(d.relative_jacobian(q, 'R10l', 'R10r')[:, :3], 0, atol=1e-12)
        np.testing.assert_allclose(d.relative_jacobian(q, 'R10l', 'R10l'), 0, atol=1e-12)
        with pytest.raises(ArgumentError, match="link 'R10' is unknown; did you mean"):
            d.relative_pose(q, 'R10', 'R0')
        with pytest.raises(ArgumentError, match="link 'R10' is unknown; did you mean"):
            d.relative_jacobian(q, 'R0', 'R10')


@pytest.mark.parametrize('name', ['krang', *WITH_FOLLOWERS])
def test_c_k_is_symmetric_and_gives_the_coriolis_torque_and_matrix(name: str, robot: Robot) -> None:
    """Pinocchio's by polarization, the Lagrangian's from dA/dq; C dq is a quadratic form of dq, and C its half."""
    robot = robot if name == 'krang' else robot_with_followers(name)
    dynamics = dynamics_of(robot)
    for q, dq, _ in zip(*random_states(robot, 3, 8), strict=True):
        C_k = dynamics.christoffel(q)
        scale = np.abs(C_k).max()
        np.testing.assert_allclose(C_k, Lagrangian(robot).christoffel(q), atol=1e-11 * scale)
        np.testing.assert_array_equal(C_k, np.swapaxes(C_k, 1, 2))
        np.testing.assert_allclose(
            np.einsum('i,kij,j->k', dq, C_k, dq), dynamics.coriolis_torque(q, dq), atol=1e-10 * scale
        )
        np.testing.assert_allclose(C_k @ dq, dynamics.C(q, dq), atol=1e-10 * scale)
        if not robot.mimics:  # a joint alone sees one inertia: c_iii = 0; with followers it changes as they move
            np.testing.assert_allclose(np.einsum('iii->i', C_k), 0, atol=1e-11 * scale)
        step = 1e-6
        dA = np.array(
            [(dynamics.A(q + step * one) - dynamics.A(q - step * one)) / (2 * step) for one in np.eye(robot.n)]
        )
        np.testing.assert_allclose(C_k + np.swapaxes(C_k, 0, 1), np.moveaxis(dA, 0, 2), atol=1e-7 * scale)
