"""What must hold of any robot's dynamics, whatever its numbers: no witness needed."""

from __future__ import annotations

import random
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from krang_dynamics_ros import Dynamics, Robot, Wrench, dynamics_of, krang, urdf_text
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.core.spatial import rotation_from_rpy

from ..robots import trees, trees_with_followers

STEP = 1e-6


@with_settings(max_examples=50)
@given(trees())
def test_inertia_matrix_is_symmetric_and_positive_definite(tree: Robot) -> None:
    d, states = dynamics_of(tree), random_states(tree, 5, 1)
    for q, dq in zip(states.q, states.dq, strict=True):
        A = d.A(q)
        np.testing.assert_array_equal(A, A.T)
        assert np.linalg.eigvalsh(A)[0] > 0
        assert d.E(q, dq) == pytest.approx(0.5 * dq @ A @ dq, rel=1e-10)


@with_settings(max_examples=50)
@given(trees())
def test_power_goes_into_energy(tree: Robot) -> None:
    """d(E + U)/dt = torque . dq: along a free fall, without torque, nothing is gained or lost."""
    d, states = dynamics_of(tree), random_states(tree, 2, 2)
    for q, dq in zip(states.q, states.dq, strict=True):
        ddq = d.forward_dynamics(q, dq, np.zeros(d.n))
        energies = [d.E(q + s * dq, dq + s * ddq) + d.U(q + s * dq) for s in (-STEP, STEP)]
        scale = 1 + abs(d.E(q, dq)) + np.abs(d.Q(q)) @ np.abs(dq)
        assert (energies[1] - energies[0]) / (2 * STEP) == pytest.approx(0, abs=1e-6 * scale)


def test_krang_falls_freely_without_losing_energy(dynamics: Dynamics) -> None:
    q, dq, h = np.full(17, 0.3), np.zeros(17), 1e-3
    start = dynamics.E(q, dq) + dynamics.U(q)
    swung = 0.0
    for _ in range(1000):
        q, dq = runge_kutta(dynamics, q, dq, h)
        swung = max(swung, dynamics.E(q, dq))
    assert swung > 50  # J: it did fall
    assert dynamics.E(q, dq) + dynamics.U(q) == pytest.approx(start, abs=1e-4 * swung)


def runge_kutta(d: Dynamics, q: np.ndarray, dq: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    zero = np.zeros(d.n)
    a1 = d.forward_dynamics(q, dq, zero)
    v2 = dq + h / 2 * a1
    a2 = d.forward_dynamics(q + h / 2 * dq, v2, zero)
    v3 = dq + h / 2 * a2
    a3 = d.forward_dynamics(q + h / 2 * v2, v3, zero)
    v4 = dq + h * a3
    a4 = d.forward_dynamics(q + h * v3, v4, zero)
    return q + h / 6 * (dq + 2 * v2 + 2 * v3 + v4), dq + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


@with_settings(max_examples=50)
@given(trees(), st.randoms(use_true_random=False))
def test_virtual_work(tree: Robot, pick: random.Random) -> None:
    """(J^T f) . dq = f . V, with V from the poses alone: by differences, not by any Jacobian."""
    d, states = dynamics_of(tree), random_states(tree, 1, 3)
    q, dq = states.q[0], states.dq[0]
    names = [link.name for link in tree.links]
    on, axes, about = (pick.choice(names) for _ in range(3))
    force, moment = np.random.default_rng(5).normal(size=(2, 3))
    (R0, p0), (R1, p1) = (d.pose(q + s * dq, on) for s in (-STEP, STEP))
    spin = (R1 - R0) @ d.pose(q, on)[0].T / (2 * STEP)
    omega, v = np.array([spin[2, 1], spin[0, 2], spin[1, 0]]), (p1 - p0) / (2 * STEP)
    turn = d.pose(q, axes)[0]
    v_about = v + np.cross(omega, d.pose(q, about)[1] - d.pose(q, on)[1])  # of the link's point at that origin
    power = (turn @ force) @ v_about + (turn @ moment) @ omega
    torque = d.wrench_torque(q, [Wrench(on, force, moment, axes, about)])
    assert torque @ dq == pytest.approx(power, abs=1e-6 * (1 + np.abs(torque) @ np.abs(dq)))


def test_gravity_torque_is_the_slope_of_potential_energy(dynamics: Dynamics, rng: np.random.Generator) -> None:
    q = rng.normal(size=17)
    slope = [(dynamics.U(q + e) - dynamics.U(q - e)) / (2 * STEP) for e in STEP * np.eye(17)]
    np.testing.assert_allclose(dynamics.Q(q), slope, atol=1e-5)


def test_gravity_on_a_tilted_base_is_gravity_turned_the_other_way(robot: Robot, rng: np.random.Generator) -> None:
    """A base pitched by the wheel axle feels what q_imu, turned as far, would feel on a level base."""
    d, q, pitch = dynamics_of(robot), rng.normal(size=17), 0.4
    level = d.Q(q + pitch * np.eye(17)[0])
    d.gravity = rotation_from_rpy([0, pitch, 0]).T @ robot.gravity
    np.testing.assert_allclose(d.Q(q), level, atol=1e-9)


@with_settings(max_examples=20)
@given(st.permutations(range(17)))
def test_results_belong_to_names_not_to_places(order: list[int]) -> None:
    """A URDF with its joints shuffled gives every joint the same numbers."""
    robot = krang()
    d = dynamics_of(robot)
    root = ET.fromstring(urdf_text(robot))
    joints = root.findall('joint')
    for joint in joints:
        root.remove(joint)
    root.extend([joints[k] for k in order])
    shuffled = Dynamics(ET.tostring(root, encoding='unicode'))
    assert shuffled.joint_names == tuple(robot.joint_names[k] for k in order)
    q, dq, ddq = random_states(robot, 1, 6)
    q, dq, ddq = q[0], dq[0], ddq[0]
    hands = [Wrench('R10l', (1, 2, 3), (4, 5, 6)), Wrench('R10r', (3, 2, 1), axes='R3')]
    same = np.ix_(order, order)
    for theirs, ours in [
        (shuffled.A(q[order]), d.A(q)[same]),
        (shuffled.C(q[order], dq[order]), d.C(q, dq)[same]),
        (shuffled.Q(q[order]), d.Q(q)[order]),
        (shuffled.coriolis_torque(q[order], dq[order]), d.coriolis_torque(q, dq)[order]),
        (shuffled.inverse_dynamics(q[order], dq[order], ddq[order]), d.inverse_dynamics(q, dq, ddq)[order]),
        (shuffled.forward_dynamics(q[order], dq[order], ddq[order]), d.forward_dynamics(q, dq, ddq)[order]),
        (shuffled.jacobian(q[order], 'R10l'), d.jacobian(q, 'R10l')[:, order]),
        (shuffled.wrench_torque(q[order], hands), d.wrench_torque(q, hands)[order]),
    ]:
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9)


def by_joints(d: Dynamics, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, links: list[str]) -> dict[str, np.ndarray]:
    """Return what has joints along its axes: every axis, but the first of a Jacobian."""
    return {
        'viscous': d.viscous,
        'coulomb': d.coulomb,
        'rotors': d.rotor_inertia,
        'friction': d.friction_torque(dq),
        'Q': d.Q(q),
        'C dq': d.coriolis_torque(q, dq),
        'Gamma': d.inverse_dynamics(q, dq, ddq),
        'J^T f': d.wrench_torque(q, [Wrench(links[-1], (1, 2, 3), (4, 5, 6), axes=links[0])]),
        'A': d.A(q),
        'C': d.C(q, dq),
        'C_k': d.christoffel(q),
        'J': d.jacobian(q, links[-1]),
        'relative J': d.relative_jacobian(q, links[-1], links[0]),
    }


@with_settings(max_examples=25)
@given(st.one_of(trees(8), trees_with_followers(8)), st.randoms())
def test_the_order_that_is_asked_for_is_that_of_every_number(tree: Robot, pick: random.Random) -> None:
    """Whatever has an index of joints: in, out and in what can be set. Every joint has another friction and rotor."""
    order = pick.sample(range(tree.n), tree.n)
    names = tuple(tree.joint_names[k] for k in order)
    rotors = dict(zip(tree.joint_names, tree.rotor_inertia.tolist(), strict=True))
    mine, theirs = Dynamics(tree, rotor_inertia=rotors), Dynamics(tree, joint_names=names, rotor_inertia=rotors)
    assert theirs.joint_names == names
    q, dq, ddq = (x[0] for x in random_states(tree, 1, 6))
    links = [link.name for link in tree.links]
    there, here = by_joints(mine, q, dq, ddq, links), by_joints(theirs, *(x[order] for x in (q, dq, ddq)), links)
    for one, (name, other) in zip(here.values(), there.items(), strict=True):
        along = [order] * other.ndim if 'J' not in name or other.ndim == 1 else [range(6), order]
        expected = other[np.ix_(*along)]
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(other).max()), err_msg=name)
    numbers = dict(zip(tree.joint_names, range(tree.n), strict=True))
    np.testing.assert_array_equal(theirs.vector(numbers), order)
