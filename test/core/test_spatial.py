"""Rotations and their angles, above all where the angles are not determined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm, logm

from krang_dynamics_ros import Dynamics, Wrench, dynamics_of
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia, InertiaRamp
from krang_dynamics_ros.core.spatial import (
    adjoint,
    centrifugal_force,
    coriolis_force,
    euler_force,
    hat,
    is_rotation,
    rotation_from_rpy,
    rpy_from_rotation,
    unhat,
)
from krang_dynamics_ros.robot.robot_file import read_robot

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


def transform(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


@pytest.mark.parametrize('size', [3, 6])
def test_unhat_undoes_hat_which_is_linear(size: int, rng: np.random.Generator) -> None:
    for one, other in rng.normal(size=(20, 2, size)):
        np.testing.assert_array_equal(unhat(hat(one)), one)
        np.testing.assert_allclose(hat(2 * one - 3 * other), 2 * hat(one) - 3 * hat(other), atol=1e-15)
    np.testing.assert_array_equal(unhat(hat(np.zeros(size))), np.zeros(size))


def test_a_twists_hat_generates_displacements_which_are_a_group(rng: np.random.Generator) -> None:
    """exp(hat(V) t) is a rigid displacement; those of one twist add in t, and a screw's axis stays where it is."""
    for V in rng.normal(size=(10, 6)):
        one, other = expm(0.7 * hat(V)), expm(-1.9 * hat(V))
        assert is_rotation(one[:3, :3])
        np.testing.assert_array_equal(one[3], [0, 0, 0, 1])
        np.testing.assert_allclose(one @ other, expm(-1.2 * hat(V)), atol=1e-12)
        np.testing.assert_allclose(unhat(logm(expm(0.1 * hat(V))).real) * 10, V, atol=1e-9)
        v, omega = V[:3], V[3:]
        axis = np.cross(omega, v - omega * (omega @ v) / (omega @ omega)) / (omega @ omega)
        moved = (one @ np.append(axis, 1.0))[:3] - axis
        np.testing.assert_allclose(moved, 0.7 * omega * (omega @ v) / (omega @ omega), atol=1e-12)


def test_the_adjoint_is_what_hats_transform_by_and_follows_the_groups_product(rng: np.random.Generator) -> None:
    """V_C^ = g^-1 V_B^ g (Body Velocities), and Ad of a product is the product of the two, in turn."""
    for V, angles, positions in zip(rng.normal(size=(10, 6)), rng.normal(size=(10, 2, 3)), rng.normal(size=(10, 2, 3)),
                                    strict=True):  # fmt: skip
        (R1, R2), (p1, p2) = map(rotation_from_rpy, angles), positions
        g1, g2 = transform(R1, p1), transform(R2, p2)
        np.testing.assert_allclose(unhat(np.linalg.inv(g1) @ hat(V) @ g1), adjoint(R1, p1) @ V, atol=1e-12)
        both = g1 @ g2
        np.testing.assert_allclose(adjoint(both[:3, :3], both[:3, 3]), adjoint(R2, p2) @ adjoint(R1, p1), atol=1e-12)


def test_the_body_velocity_is_the_unhat_of_how_a_pose_changes(dynamics: Dynamics, rng: np.random.Generator) -> None:
    """By differences of Pinocchio's poses: g^-1 dg/dt is the hat of what the Jacobian says, in the link's axes."""
    step = 1e-6
    for q, dq in rng.normal(size=(5, 2, 17)):
        before, now, after = (transform(*dynamics.pose(q + k * step * dq, 'R10l')) for k in (-1, 0, 1))
        found = unhat(np.linalg.inv(now) @ (after - before) / (2 * step), tolerance=1e-6)
        np.testing.assert_allclose(found, dynamics.jacobian(q, 'R10l', 'link') @ dq, atol=1e-7)


@pytest.mark.parametrize(
    ('matrix', 'message'),
    [
        (np.eye(3), 'must be skew-symmetric'),
        (np.eye(4), 'last row of a 4x4 matrix zero'),
        (np.full((3, 3), np.nan), 'must be skew'),
        (np.zeros((2, 3)), r'shape \(2, 3\), must be \(3, 3\) or \(4, 4\)'),
    ],
)
def test_a_matrix_that_is_not_skew_symmetric_is_refused(matrix: np.ndarray, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        unhat(matrix)


def test_forces_in_a_turning_frame_explain_what_is_seen_there(rng: np.random.Generator) -> None:
    """A body on a curve without any turning frame, then seen from one: m a' is the physical force and the three.

    Derivatives by differences: of the curve in the inertial frame for F, of what is seen for v' and a'.
    """
    m, h = 2.5, 1e-4
    axis = rng.normal(size=3)

    def turned(t: float) -> np.ndarray:
        return np.asarray(expm(hat(axis * np.sin(t))))

    def curve(t: float) -> np.ndarray:
        return np.array([np.sin(2 * t), t**2 - 1, np.cos(t) * t])

    def seen(t: float) -> np.ndarray:
        return np.asarray(turned(t).T @ curve(t))

    for t in rng.uniform(-1, 1, 10):
        F = m * (turned(t).T @ (curve(t + h) - 2 * curve(t) + curve(t - h))) / h**2
        v, a = (seen(t + h) - seen(t - h)) / (2 * h), (seen(t + h) - 2 * seen(t) + seen(t - h)) / h**2
        omega, alpha = axis * np.cos(t), -axis * np.sin(t)  # one axis: the same in both frames
        felt = euler_force(m, alpha, seen(t)) + coriolis_force(m, omega, v) + centrifugal_force(m, omega, seen(t))
        np.testing.assert_allclose(F + felt, m * a, atol=1e-5)


def test_a_bead_on_a_turning_rod_takes_the_torques_that_these_forces_say() -> None:
    """By the dynamics: along the rod the motor holds the centrifugal force, about its axis the other two."""
    body = '{mass: 2.0, com: [0, 0, 0], inertia: [1e-9, 0, 0, 1e-9, 0, 1e-9]}'
    rod = read_robot(f"""
name: bead
gravity: [0, 0, 0]
links: {{base: {{}}, rod: {{}}, bead: {body}}}
joints:
  turn: {{type: revolute, parent: base, child: rod, axis: [0, 0, 1]}}
  slide: {{type: prismatic, parent: rod, child: bead, axis: [1, 0, 0],
           limits: {{lower: -1, upper: 1, effort: 1, velocity: 1}}}}
""")
    r, speed, rate, turning = 0.7, 0.4, 1.3, -0.9
    about, along = dynamics_of(rod).inverse_dynamics([0.2, r], [rate, speed], [turning, 0.0])
    at, v, omega, alpha = [r, 0, 0], [speed, 0, 0], [0, 0, rate], [0, 0, turning]
    assert along == pytest.approx(-centrifugal_force(2.0, omega, at)[0])
    sideways = coriolis_force(2.0, omega, v) + euler_force(2.0, alpha, at)
    assert about == pytest.approx(-np.cross(at, sideways)[2])


def test_bodies_and_wrenches_of_other_shapes_are_refused() -> None:
    for com, inertia in ((np.zeros(3), 0.1), (np.zeros(3), [0.1, 0.2, 0.25]), (0.0, np.eye(3))):
        with pytest.raises(ArgumentError, match=r'must have shapes \(3,\) and \(3, 3\)'):
            Inertia.about_com(1.0, com, inertia)
    zero = (0.0, 0.0, 0.0)
    wrong: list[Any] = [((1, 2, 3, 4), (5, 6)), (20.0, zero), (None, zero), (('1', '2', '3'), zero), ([zero], [zero])]
    for force, moment in wrong:
        with pytest.raises(ArgumentError, match='must be 3 numbers each'):
            _ = Wrench('R1', force, moment).vector
    ramp = InertiaRamp(Inertia(), Inertia(1.0), start=5.0, duration=0.0)
    assert [ramp.at(t).m for t in (4.0, 5.0, 6.0)] == [0.0, 1.0, 1.0]


def frozen_values(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the arrays of values that others keep without a copy."""
    made, given = Wrench('R1', (1, 2, 3), (4, 5, 6)), Wrench.of('R1', rng.normal(size=6))
    body = Inertia.about_com(2.0, rng.normal(size=3), np.eye(3))
    return {
        'wrench': made.vector,
        'wrench as it is': given.vector,
        'its force': given.force,
        'its moment': given.moment,
        'first moment': body.MS,
        'inertia': body.J,
        'of two bodies': (body + body).MS,
        'of another frame': body.in_parent(np.eye(3), np.ones(3)).MS,
        'what weighs': body.weighing,
    }


@pytest.mark.parametrize('name', frozen_values(np.random.default_rng(0)))
def test_an_array_kept_without_a_copy_is_read_only(name: str, rng: np.random.Generator) -> None:
    array = frozen_values(rng)[name]
    with pytest.raises(ValueError, match='read-only'):
        array[0] = 1.0
    assert not array.flags.writeable
