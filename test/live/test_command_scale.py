"""Commands in a controller's own units: the same torques, times a factor that comes last."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.fall import Fall
from krang_dynamics_ros.simulation.simulated_robot import SimulatedRobot
from krang_dynamics_ros.simulation.simulation import Simulation

from .test_command_supervisor import JOINTS, Arm

SCALES = np.array([1.0, -1.0, 0.5, 300.0, -0.02, 1.0, 2.5])  # units per N m
SCALED = {f'joints__{name}__command_scale': float(x) for name, x in zip(JOINTS, SCALES, strict=True)}


@pytest.fixture(scope='module')
def model() -> Model:
    return load_model()


def test_every_command_of_a_life_is_the_torque_times_the_scale(model: Model) -> None:
    """Rates, limits that cut, a change of the total, the fall: all are as without a scale."""
    lives = []
    for given in ({}, SCALED):
        arm = Arm(model, command_limits=[10.0] * 7, command_rate_limits=[8.0] * 7, **given).on()
        arm.set(total_terms=[''])
        arm.run(0.3)
        arm.set(total_terms=['gravity'])
        arm.run(0.5)
        arm.supervisor.fail('a test')
        arm.run(3.5)
        lives.append(arm)
    plain, scaled = lives
    assert len(plain.sent) == len(scaled.sent)
    for mine, theirs in zip(plain.sent, scaled.sent, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_allclose(theirs, SCALES * mine, rtol=1e-12)
    largest = np.max([np.abs(x) for x in plain.sent if x is not None], axis=0)
    assert largest.max() == pytest.approx(10.0)  # N m: limits are not scaled
    assert plain.commands.idle


def test_a_process_that_fell_by_itself_reports_in_its_own_units(model: Model) -> None:
    arm = Arm(model, **SCALED).on()
    torque = arm.commands.sent.copy()
    fall = Fall(arm.last, 1.0, 0.1, 0.0)
    fall.at(0.0)
    for k in range(1, 51):
        report = fall.at(0.01 * k)
    arm.supervisor.on_sender_fell('silent', report)
    assert arm.commands.stage is Stage.FAULT
    np.testing.assert_allclose(arm.commands.sent, torque / 2, rtol=1e-9)


def test_what_a_sender_needs_for_its_own_fall_is_in_its_units(model: Model) -> None:
    plain, scaled = (Arm(model, **given).on().supervisor.unguided_and_rates for given in ({}, SCALED))
    np.testing.assert_allclose(scaled[0], SCALES * plain[0], rtol=1e-12)
    np.testing.assert_allclose(scaled[1], np.abs(SCALES) * plain[1], rtol=1e-12)
    assert (plain[1] > 0).all()


def test_a_simulated_arm_of_the_same_units_holds_its_pose(model: Model) -> None:
    arm = Arm(model, **SCALED).on()
    robot = SimulatedRobot(
        Simulation(model.robot), timeout=0.1, brakes=True, command_joints=JOINTS, command_scale=SCALES
    )
    robot.on_command(arm.last)
    np.testing.assert_allclose(robot.command, arm.gravity, rtol=1e-9)


@pytest.mark.parametrize('scale', [0.0, -0.0, 1e-9])
def test_a_scale_of_zero_is_refused(model: Model, scale: float) -> None:
    arm = Arm(model)
    with pytest.raises(ArgumentError, match=r'joints\.q_4l\.command_scale: .*must be at least'):
        arm.set(joints__q_4l__command_scale=scale)
    with pytest.raises(ArgumentError, match='command_scale'):
        Arm(model, joints__q_4l__command_scale=scale)


def test_a_scale_cannot_change_while_commands_go_out(model: Model) -> None:
    arm = Arm(model).on()
    with pytest.raises(ArgumentError, match='cannot change while commands are sent'):
        arm.set(joints__q_4l__command_scale=-1.0)
    arm.supervisor.disable()
    arm.run(2.0)
    arm.set(joints__q_4l__command_scale=-1.0)
    arm.on()
    assert arm.last[3] == pytest.approx(-arm.gravity[3])
