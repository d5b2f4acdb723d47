"""Springs, coupled friction and offsets of efforts: simulated, observed, predicted, and never commanded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Robot, dynamics_of, load_robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.observer import MomentumObserver
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.simulation.simulation import Simulation

OFFSET = [0.7, -0.4]


def strange(couplings: bool = True) -> Robot:
    """Return a robot of two joints with springs, offsets and, if asked for, coupled friction."""
    robot = load_robot('arm_2r')
    joints = []
    for joint in robot.joints:
        if joint.moves:
            k = robot.joint_names.index(joint.name)
            motor = replace(joint.motor, effort_offset=OFFSET[k])
            joint = replace(joint, other_effects=(Spring(3.0, -2.0 * k),), friction=Friction(0.1), motor=motor)  # noqa: PLW2901
        joints.append(joint)
    pairs = (Coupling(robot.joint_names, 1, 0.5, 2.0, 0.05),) if couplings else ()  # type: ignore[arg-type]
    return replace(robot, joints=tuple(joints), couplings=pairs)


def test_energy_is_kept_but_for_what_friction_takes() -> None:
    simulation = Simulation(strange(), [0.3, 0.4])
    before = simulation.energy
    for _ in range(1000):
        simulation.step(np.zeros(2))
    assert simulation.lost > 0
    assert simulation.energy + simulation.lost == pytest.approx(before, rel=1e-3)


def test_springs_alone_lose_nothing() -> None:
    robot = strange(couplings=False)
    free = replace(robot, joints=tuple(replace(joint, friction=Friction()) for joint in robot.joints))
    simulation = Simulation(free, [0.3, 0.4])
    before, stored = simulation.energy, simulation.dynamics.springs_and_couplings.spring_energy(simulation.q)
    for _ in range(1000):
        simulation.step(np.zeros(2))
    assert simulation.energy == pytest.approx(before, rel=1e-4)
    assert simulation.dynamics.springs_and_couplings.spring_energy(simulation.q) != pytest.approx(stored, rel=1e-2)


@pytest.mark.parametrize('source', ['motor', 'joint'])
def test_the_observer_takes_them_for_no_contact(source: str) -> None:
    """A motor at rest holds weight and springs, and its effort has an offset: there is nothing outside."""
    dynamics, q = dynamics_of(strange()), np.array([0.3, 0.4])
    observer = MomentumObserver(dynamics)
    observer.efforts.source = source  # type: ignore[assignment]
    effort = dynamics.Q(q) + dynamics.springs_and_couplings.spring_torque(q) + OFFSET
    found = None
    for k in range(200):
        found = observer(State(q, np.zeros(2), effort=effort, stamp=k * 10_000_000))
    assert found is not None
    np.testing.assert_allclose(found, 0, atol=1e-9)


def test_a_moving_robot_with_coupled_friction_meets_no_contact() -> None:
    simulation = Simulation(strange(), [0.3, 0.4])
    observer = MomentumObserver(simulation.dynamics)
    torque, largest = np.array([6.0, 2.0]), 0.0
    for k in range(1500):
        given = torque * np.sin(0.005 * k)
        simulation.step(given)
        found = observer(State(simulation.q, simulation.dq, effort=given + OFFSET, stamp=k * 1_000_000))
        largest = max(largest, 0.0 if found is None else float(np.abs(found).max()))
    assert largest < 0.3


def test_effects_of_efforts_are_never_commanded() -> None:
    robot, q, dq = strange(), np.array([0.3, 0.4]), np.array([0.5, -0.2])
    plain = replace(robot, joints=tuple(replace(joint, other_effects=()) for joint in robot.joints), couplings=())
    one, other = dynamics_of(robot), dynamics_of(plain)
    np.testing.assert_array_equal(one.friction_torque(dq), other.friction_torque(dq))
    np.testing.assert_array_equal(one.inverse_dynamics(q, dq, q), other.inverse_dynamics(q, dq, q))


def test_an_offset_is_a_finite_number_for_each_joint() -> None:
    dynamics = dynamics_of(strange())
    assert dynamics.effort_offset.tolist() == OFFSET
    for wrong in ([1.0], [np.nan, 0.0]):
        with pytest.raises(ArgumentError, match='must be 2 finite numbers'):
            dynamics.effort_offset = wrong  # type: ignore[assignment]
