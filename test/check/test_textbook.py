"""The seeds' other systems, against their closed forms as the seeds print them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Lagrangian, Robot, Wrench, dynamics_of, load_robot
from krang_dynamics_ros.core.spatial import adjoint, inertia_in_parent
from krang_dynamics_ros.dynamics.task_space import task_space
from krang_dynamics_ros.robot.motor_and_friction import joint_positions, motor_inertia, motor_torque

from ..robots import FILES

STATES = np.random.default_rng(7).normal(size=(50, 6))
G = 9.81


def loaded(name: str) -> tuple[Robot, Dynamics]:
    robot = load_robot(FILES[name])
    return robot, dynamics_of(robot)


class TestPendulum:
    """Seed 001: I ddtheta + m g0 d sin(theta) = n_r tau_m - (b_l + b_m n_r^2) dtheta + l cos(theta) F_x."""

    m, d, length, I_l = 2.5, 0.4, 0.7, 0.11
    n_r, I_m, b_l, b_m = 50.0, 2e-4, 0.3, 1e-4
    inertia = I_l + m * d**2 + I_m * n_r**2  # I

    @pytest.mark.parametrize('state', STATES)
    def test_every_term_on_the_link_side(self, state: np.ndarray) -> None:
        _, dynamics = loaded('pendulum')
        theta, dtheta, F_x = state[0], state[1], state[3]
        assert dynamics.A([theta])[0, 0] == pytest.approx(self.inertia)
        assert dynamics.Q([theta])[0] == pytest.approx(self.m * G * self.d * np.sin(theta))
        assert dynamics.coriolis_torque([theta], [dtheta])[0] == pytest.approx(0, abs=1e-12)
        assert dynamics.friction_torque([dtheta])[0] == pytest.approx((self.b_l + self.b_m * self.n_r**2) * dtheta)
        assert dynamics.E([theta], [dtheta]) == pytest.approx(0.5 * self.inertia * dtheta**2)
        assert dynamics.U([theta]) == pytest.approx(-self.m * G * self.d * np.cos(theta))
        # F_x acts ON the tip in the world's x; what the robot applies is the opposite.
        push = Wrench('tip', (-F_x, 0, 0), axes='wall')
        assert -dynamics.wrench_torque([theta], [push])[0] == pytest.approx(self.length * np.cos(theta) * F_x)

    @pytest.mark.parametrize('state', STATES)
    def test_every_term_on_the_motor_side(self, state: np.ndarray) -> None:
        robot, dynamics = loaded('pendulum')
        theta_m, dtheta_m, ddtheta_m, F_x = state[0] * self.n_r, state[1] * self.n_r, state[2] * self.n_r, state[3]
        N = robot.gear_ratio
        theta, dtheta = joint_positions(np.array([theta_m]), N), joint_positions(np.array([dtheta_m]), N)
        inertial = motor_inertia(dynamics.A(theta), N)[0] * ddtheta_m
        gravity = motor_torque(dynamics.Q(theta), N)
        friction = motor_torque(dynamics.friction_torque(dtheta), N)
        push = motor_torque(dynamics.wrench_torque(theta, [Wrench('tip', (F_x, 0, 0), axes='wall')]), N)
        assert inertial == pytest.approx(self.inertia / self.n_r**2 * ddtheta_m)
        assert gravity == pytest.approx(self.m / self.n_r * G * self.d * np.sin(theta_m / self.n_r))
        assert friction == pytest.approx((self.b_l / self.n_r**2 + self.b_m) * dtheta_m)
        assert push == pytest.approx(self.length / self.n_r * np.cos(theta_m / self.n_r) * F_x)


class TestPRRobot:
    """Seed 001: M and c of the slide with a turning link, in the horizontal plane."""

    m1, m2, d_c2, I_zz = 4.0, 1.5, 0.35, 0.045

    @pytest.mark.parametrize('state', STATES)
    def test_inertia_coriolis_and_no_gravity(self, state: np.ndarray) -> None:
        _, dynamics = loaded('pr_robot')
        q, dq = state[:2], state[2:4]
        off = -self.m2 * self.d_c2 * np.sin(q[1])
        M = [[self.m1 + self.m2, off], [off, self.I_zz + self.m2 * self.d_c2**2]]
        np.testing.assert_allclose(dynamics.A(q), M, atol=1e-12)
        c = [-self.m2 * self.d_c2 * np.cos(q[1]) * dq[1] ** 2, 0]
        np.testing.assert_allclose(dynamics.coriolis_torque(q, dq), c, atol=1e-12)
        np.testing.assert_allclose(dynamics.Q(q), 0, atol=1e-12)

    def test_the_matrices_of_the_coriolis_vector_are_the_printed_ones(self) -> None:
        robot, dynamics = loaded('pr_robot')
        for q in STATES[:, :2]:
            C_1 = [[0, 0], [0, -self.m2 * self.d_c2 * np.cos(q[1])]]
            for mine in (dynamics.christoffel(q), Lagrangian(robot).christoffel(q)):
                np.testing.assert_allclose(mine, [C_1, np.zeros((2, 2))], atol=1e-12)


class TestRotatingMass:
    """Seed 002: (1/2) m L^2 dtheta^2, in the frame of the mass and in the pivot's."""

    m, L = 3.0, 0.8

    def test_kinetic_energy(self) -> None:
        _, dynamics = loaded('rotating_mass')
        for theta, dtheta in STATES[:, :2]:
            assert dynamics.E([theta], [dtheta]) == pytest.approx(0.5 * self.m * self.L**2 * dtheta**2)

    def test_inertia_moves_by_the_adjoint(self) -> None:
        robot, dynamics = loaded('rotating_mass')
        I_C = robot.link_of['C'].inertia.matrix
        rod = robot.joint_above['C']
        m, L = self.m, self.L
        printed = np.array([
            [m, 0, 0, 0, 0, 0],
            [0, m, 0, 0, 0, L * m],
            [0, 0, m, 0, -L * m, 0],
            [0, 0, 0, 0, 0, 0],
            [0, 0, -L * m, 0, L**2 * m, 0],
            [0, L * m, 0, 0, 0, L**2 * m],
        ])  # fmt: skip
        I_B = inertia_in_parent(I_C, rod.rotation, rod.position)
        np.testing.assert_allclose(I_C, np.diag([m, m, m, 0, 0, 0]), atol=1e-15)
        np.testing.assert_allclose(I_B, printed, atol=1e-12)
        for theta, dtheta in STATES[:, :2]:
            V_B, V_C = (dynamics.jacobian([theta], link, 'link')[:, 0] * dtheta for link in 'BC')
            np.testing.assert_allclose(adjoint(rod.rotation, rod.position) @ V_B, V_C, atol=1e-12)
            energy = 0.5 * m * L**2 * dtheta**2
            assert 0.5 * V_B @ I_B @ V_B == pytest.approx(energy)
            assert 0.5 * V_C @ I_C @ V_C == pytest.approx(energy)


def eq_6_58(m: Any, l: Any, g: Any, cosines: Any, d: Any, dd: Any) -> list[Any]:  # noqa: E741 (the book's letter)
    """Return the two torques as printed, of numbers or symbols; `cosines` are c1, c2, s2 and c12."""
    (m1, m2), (l1, l2), (c1, c2, s2, c12), (d1, d2), (dd1, dd2) = m, l, cosines, d, dd
    tau1 = (
        m2 * l2**2 * (dd1 + dd2) + m2 * l1 * l2 * c2 * (2 * dd1 + dd2) + (m1 + m2) * l1**2 * dd1
        - m2 * l1 * l2 * s2 * d2**2 - 2 * m2 * l1 * l2 * s2 * d1 * d2
        + m2 * l2 * g * c12 + (m1 + m2) * l1 * g * c1
    )  # fmt: skip
    tau2 = m2 * l1 * l2 * c2 * dd1 + m2 * l1 * l2 * s2 * d1**2 + m2 * l2 * g * c12 + m2 * l2**2 * (dd1 + dd2)
    return [tau1, tau2]


class TestArm2R:
    """Seed 004: the two torques of eq. (6.58) and the Cartesian terms of eq. (6.99)."""

    m1, m2, l1, l2 = 2.0, 1.2, 0.6, 0.4

    @pytest.mark.parametrize('state', STATES)
    def test_both_torques(self, state: np.ndarray) -> None:
        _, dynamics = loaded('arm_2r')
        m1, m2, l1, l2 = self.m1, self.m2, self.l1, self.l2
        (t1, t2), (d1, d2), (dd1, dd2) = state[:2], state[2:4], state[4:6]
        cosines = np.cos(t1), np.cos(t2), np.sin(t2), np.cos(t1 + t2)
        torques = eq_6_58((m1, m2), (l1, l2), G, cosines, (d1, d2), (dd1, dd2))
        np.testing.assert_allclose(dynamics.inverse_dynamics([t1, t2], [d1, d2], [dd1, dd2]), torques, rtol=1e-12)

    @pytest.mark.parametrize('state', STATES)
    def test_cartesian_terms(self, state: np.ndarray) -> None:
        _, dynamics = loaded('arm_2r')
        l1, l2 = self.l1, self.l2
        q, dq = np.array([state[0], 0.3 + abs(state[1]) % 2.5]), state[2:4]
        (s1, s12), (c1, c12) = np.sin([q[0], q.sum()]), np.cos([q[0], q.sum()])
        J = np.array([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])
        w = dq.sum()
        dJ = np.array(
            [[-l1 * c1 * dq[0] - l2 * c12 * w, -l2 * c12 * w], [-l1 * s1 * dq[0] - l2 * s12 * w, -l2 * s12 * w]]
        )
        inverse = np.linalg.inv(J)
        M, V, Q = dynamics.A(q), dynamics.coriolis_torque(q, dq), dynamics.Q(q)
        ours = task_space(dynamics, q, dq, 'tip', directions=(0, 1))
        np.testing.assert_allclose(ours.J, J, atol=1e-12)
        np.testing.assert_allclose(ours.M_x, inverse.T @ M @ inverse, rtol=1e-9)
        np.testing.assert_allclose(ours.V_x, inverse.T @ (V - M @ inverse @ dJ @ dq), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(ours.G_x, inverse.T @ Q, rtol=1e-9, atol=1e-9)
