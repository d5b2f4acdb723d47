"""Springs and coupled friction as terms: always published; commanded only where `total_terms` names them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Robot, Wrench, dynamics_of, krang
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.factory import Model
from krang_dynamics_ros.dynamics.terms import NEVER_SUMMED, SUMMED
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.robot.motor_and_friction import Friction

from .guided import Guided, arm
from .test_command_supervisor import ORDER, Arm
from .test_guiding import newest

WRIST = ('q_6l', 'q_7l')


def sprung(robot: Robot) -> Robot:
    """Return Krang with a spring at the left elbow and coupled friction in the left wrist."""
    joints = tuple(replace(j, other_effects=(Spring(8.0, -3.0),)) if j.name == 'q_4l' else j for j in robot.joints)
    return replace(robot, joints=joints, couplings=(Coupling(WRIST, 1, 0.5, 2.0, 0.05),))


@pytest.fixture
def model() -> Model:
    robot = sprung(krang())
    return Model(robot, dynamics_of(robot), '')


def turned(model: Model, **given: Any) -> Arm:
    """Return an arm whose commands are on, and whose joints have velocities."""
    robot = Arm(model, **given).on()
    robot.dq = np.linspace(0.05, 0.15, 17)  # slow enough for positions that stay
    return robot.run(0.3)


def effects(robot: Arm) -> tuple[np.ndarray, np.ndarray]:
    both = robot.engine.dynamics.springs_and_couplings
    return both.spring_torque(robot.q)[ORDER], both.coupled_friction(robot.dq)[ORDER]


def test_they_are_published_and_not_commanded_unless_named(model: Model) -> None:
    robot = turned(model)
    spring, coupling = effects(robot)
    assert np.flatnonzero(spring).tolist() == [3]
    assert np.flatnonzero(coupling).tolist() == [5, 6]
    torques = newest(robot)
    np.testing.assert_allclose(torques.term('spring')[ORDER], spring)
    np.testing.assert_allclose(torques.term('coupling')[ORDER], coupling)
    np.testing.assert_allclose(torques.total(['gravity'])[ORDER], robot.gravity)
    np.testing.assert_allclose(robot.last, robot.gravity)


@pytest.mark.parametrize('named', [['spring'], ['coupling'], ['spring', 'coupling']])
def test_the_total_and_commands_have_those_that_are_named(model: Model, named: list[str]) -> None:
    robot = turned(model, total_terms=['gravity', *named])
    values = dict(zip(('spring', 'coupling'), effects(robot), strict=True))
    expected = robot.gravity + sum(values[name] for name in named)
    np.testing.assert_allclose(newest(robot).total(['gravity', *named])[ORDER], expected)
    np.testing.assert_allclose(robot.last, expected)
    robot.set(total_terms=['gravity'])
    np.testing.assert_allclose(robot.run(1.5).last, robot.gravity)


def test_without_velocities_there_is_no_coupling_and_the_spring_stays(model: Model) -> None:
    robot = Arm(model)
    spring, _ = effects(robot)
    robot.dq = np.empty(0)
    torques = newest(robot)
    assert torques.term('coupling') is None
    assert torques.total(['gravity', 'coupling']) is None
    np.testing.assert_allclose(torques.total(['spring'])[ORDER], spring)


@pytest.mark.parametrize('name', NEVER_SUMMED)
def test_what_describes_readings_is_refused_with_the_reason(model: Model, name: str) -> None:
    assert name not in SUMMED
    robot = Arm(model)
    for values in (['gravity', name], [name]):
        with pytest.raises(ArgumentError, match=rf"total_terms: '{name}', .*; must be one of gravity, coriolis"):
            robot.set(total_terms=values)
    with pytest.raises(ArgumentError, match='total_terms'):
        Arm(model, total_terms=[name])


def test_the_offset_of_an_effort_changes_no_command(model: Model) -> None:
    robot = turned(model, total_terms=['gravity', 'spring', 'coupling'])
    before = robot.last
    robot.set(joints__q_1l__effort_offset=3.0)
    np.testing.assert_allclose(robot.run(0.3).last, before, rtol=1e-12)


# Coupling compensated ------------------------------------------------------------------------------------------------


def test_coupling_is_given_back_by_the_smaller_gain_of_both_joints(model: Model) -> None:
    robot = turned(model, total_terms=['gravity', 'coupling'])
    _, full = effects(robot)
    robot.set(joints__q_7l__friction_gain=0.6)
    np.testing.assert_allclose(newest(robot).total(['coupling'])[ORDER], 0.6 * full)
    np.testing.assert_allclose(newest(robot).term('coupling')[ORDER], full)
    np.testing.assert_allclose(robot.run(0.3).last - robot.gravity, 0.6 * full)
    robot.set(total_terms=['gravity', 'coupling', 'damping'], joints__q_7l__friction_gain=1.0)
    np.testing.assert_allclose(newest(robot).total(['coupling'])[ORDER], 0.9 * full)


def test_what_is_given_back_takes_no_more_than_the_coupled_friction(rng: np.random.Generator) -> None:
    """At every velocity the friction that is left dissipates, though it may change its sign over a tiny velocity."""
    robot = replace(krang(), couplings=(Coupling(WRIST, -1, 0.5, 2.0, 1e-3), Coupling(('q_5l', 'q_6l'), 1, 0, 3, 0.2)))
    coupled = dynamics_of(robot).springs_and_couplings.coupled
    for dq in rng.normal(size=(300, 17)) * 10.0 ** rng.uniform(-5, 1, size=(300, 1)):
        share = rng.uniform(0, 1, size=17)
        given = coupled.shared(dq, share, 0.02)
        assert 0 <= given @ dq <= coupled.torque(dq) @ dq + 1e-15
    np.testing.assert_array_equal(coupled.shared(dq, np.ones(17), 0.02), coupled.torque(dq))
    slow = np.zeros(17)
    slow[robot.joint_names.index('q_7l')] = (
        0.01  # noise at standstill: ten times what the pair's friction takes to turn
    )
    given = coupled.shared(slow, np.full(17, 0.8), 0.02)
    assert np.abs(given).max() == pytest.approx(0.8 * (0.5 * 0.01 + 2.0 * np.tanh(0.5)))


def test_a_sampled_loop_gives_back_no_more_than_coupled_friction_takes(rng: np.random.Generator) -> None:
    """An arm with coupled friction alone, pushed at random, late by a period."""
    plain = arm(0.0)
    joints = tuple(replace(joint, friction=Friction()) for joint in plain.joints)
    known = replace(plain, joints=joints, couplings=(Coupling(('shoulder', 'elbow'), 1, 1.0, 8.0, 0.05),))
    guided = Guided(known, known, [0.0, -0.5, 0.9], 500, (0, 1), total_terms=['gravity', 'coupling'],
                    joints__elbow__friction_gain=0.8).begin()  # fmt: skip
    lost, given = guided.sim.lost, guided.energy
    for _ in range(5):
        push = rng.normal(size=3) * 30
        guided.run(0.4, lambda t, push=push: [Wrench('hand', tuple(push), axes='base')])
        assert guided.energy - given <= guided.sim.lost - lost
    assert guided.energy - given > 0.3 * (guided.sim.lost - lost) > 0


def test_a_spring_at_rest_is_no_push(model: Model) -> None:
    """Efforts behind the gear hold weight and springs; what is left over is the push of a person."""
    robot = Arm(model, effort_source='joint', total_terms=['gravity', 'friction'])
    dynamics = robot.engine.dynamics
    robot.dq = np.zeros(17)
    push = np.linspace(-1.0, 1.0, 17)
    robot.effort = dynamics.Q(robot.q) + dynamics.springs_and_couplings.spring_torque(robot.q) - push
    state = newest(robot).state
    np.testing.assert_allclose(robot.engine.guiding._push_torque(state), push, atol=1e-9)
