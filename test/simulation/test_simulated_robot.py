"""What a simulated robot's motors get, by tables of times: no clock and no ROS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from krang_dynamics_ros import load_robot
from krang_dynamics_ros.simulation import simulated_robot
from krang_dynamics_ros.simulation.simulated_robot import MAX_BACKLOG, SimulatedRobot
from krang_dynamics_ros.simulation.simulation import STEP, Simulation

from ..robots import FILES

NAMES = ['theta1', 'theta2']


def arm(*, brakes: bool = True, own_time: bool = False) -> SimulatedRobot:
    simulation = Simulation(load_robot(FILES['arm_2r']), [0.3, 0.4])
    return SimulatedRobot(simulation, timeout=0.1, brakes=brakes, own_time=own_time)


def gravity(robot: SimulatedRobot) -> np.ndarray:
    return robot.simulation.dynamics.Q(robot.simulation.q)


def go_on(robot: SimulatedRobot, seconds: float) -> None:
    """Let simulated time pass; on a busy machine a call may do less than it was asked for."""
    end = robot.simulation.time + seconds - STEP / 2
    for _ in range(round(seconds / STEP) + 100):
        if robot.simulation.time < end:
            robot.advance(STEP * 1.001, ())


@pytest.mark.parametrize('brakes', [True, False])
def test_without_fresh_torques_for_every_joint_the_brakes_close_or_it_falls(brakes: bool) -> None:
    robot = arm(brakes=brakes)
    halted = 'braked' if brakes else 'slack'
    assert robot.mode == halted
    robot.on_torque(['theta1'], gravity(robot)[:1], 0)
    assert robot.mode == halted
    robot.on_torque(['theta2'], gravity(robot)[1:], 0)
    assert robot.mode == 'driven'
    go_on(robot, 0.09)
    assert robot.mode == 'driven'
    np.testing.assert_allclose(robot.simulation.q, [0.3, 0.4], atol=1e-9)
    go_on(robot, 0.03)
    assert robot.mode == halted
    go_on(robot, 0.5)
    moved = np.abs(robot.simulation.q - [0.3, 0.4]).max()
    assert moved < 1e-9 if brakes else moved > 0.1
    assert robot.simulation.time == pytest.approx(0.62)  # time goes on behind brakes


def test_brakes_stop_what_falls() -> None:
    robot = arm()
    robot.on_torque(NAMES, np.zeros(2), 0)
    go_on(robot, 0.1)
    assert np.abs(robot.simulation.dq).max() > 0.5
    go_on(robot, 0.05)
    np.testing.assert_array_equal(robot.simulation.dq, 0)


@pytest.mark.parametrize('own_time', [True, False])
def test_a_torque_counts_for_the_place_it_was_computed_for(own_time: bool) -> None:
    robot = arm(own_time=own_time)
    clock = (lambda: robot.now) if own_time else (lambda: 10**18 + robot.now)
    robot.on_torque(NAMES, gravity(robot), robot.stamp(clock()))
    go_on(robot, 0.02)
    before = robot.stamp(clock())
    for put in (lambda: robot.set_positions(['theta1'], [0.5]), robot.reset):
        put()
        robot.on_torque(NAMES, np.full(2, 99.0), before)
        assert robot.mode == 'braked'
        now = robot.stamp(clock())
        assert now != before
        robot.on_torque(NAMES, np.full(2, 99.0), before)
        assert robot.mode == 'braked'
        robot.on_torque(NAMES, gravity(robot), now)
        assert robot.mode == 'driven'
        go_on(robot, 0.02)
        before = robot.stamp(clock())
    assert robot.dropped == 4
    np.testing.assert_allclose(robot.simulation.q, [0.3, 0.4], atol=1e-9)


def test_while_it_is_paused_a_pose_still_has_a_stamp_of_its_own() -> None:
    robot = arm(own_time=True)
    robot.paused = True
    before = robot.stamp(robot.now)
    robot.set_positions(['theta1'], [0.5])
    robot.on_torque(NAMES, np.zeros(2), before)
    assert robot.dropped == 1
    assert robot.stamp(robot.now) > before


def test_torques_do_not_age_while_it_is_paused() -> None:
    robot = arm()
    robot.on_torque(NAMES, gravity(robot), 0)
    robot.paused = True
    go_on(robot, 5.0)
    assert (robot.mode, robot.simulation.time) == ('paused', 0.0)
    robot.paused = False
    assert robot.mode == 'driven'


def test_a_step_that_takes_too_long_is_skipped() -> None:
    robot = arm()
    robot.advance(10.0, ())
    assert robot.simulation.time <= MAX_BACKLOG + STEP


def test_torques_that_break_it_stop_it_until_it_is_put_somewhere() -> None:
    robot = arm()
    robot.on_torque(NAMES, np.full(2, 9e5), 0)
    go_on(robot, 0.02)
    assert robot.mode == 'broken'
    assert 'theta' in robot.fault
    time, q = robot.simulation.time, robot.simulation.q
    go_on(robot, 0.1)
    assert robot.simulation.time == time
    np.testing.assert_array_equal(robot.simulation.q, q)
    robot.reset()
    assert (robot.mode, robot.simulation.time) == ('braked', 0.0)


def test_a_reset_sets_the_robots_own_time_back() -> None:
    robot = arm(own_time=True)
    go_on(robot, 0.05)
    before = robot.stamp(robot.now)
    robot.reset()
    assert robot.stamp(robot.now) < before


def test_a_machine_that_takes_too_long_makes_time_go_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_robot, 'MAX_COMPUTATION', 0.0)  # any machine takes longer
    robot = arm(brakes=False)
    for _ in range(3):
        robot.advance(MAX_BACKLOG, ())
    assert robot.simulation.time == pytest.approx(3 * STEP)


def commanded(*joints: str, brakes: bool = True, q: Sequence[float] = (0.3, 0.4)) -> SimulatedRobot:
    simulation = Simulation(load_robot(FILES['arm_2r']), q)
    return SimulatedRobot(simulation, timeout=0.1, brakes=brakes, command_joints=joints)


def test_commands_are_in_the_order_of_their_joints_and_are_held_for_ever() -> None:
    robot = commanded('theta2', 'theta1')
    assert robot.mode == 'braked'
    robot.on_command(gravity(robot)[::-1])
    go_on(robot, 1.0)
    assert robot.mode == 'driven'
    np.testing.assert_allclose(robot.simulation.q, [0.3, 0.4], atol=1e-6)


def test_a_commanded_joint_takes_no_torque_but_its_commands() -> None:
    robot = commanded('theta2')
    start = gravity(robot)
    robot.on_torque(NAMES, start, 0)
    robot.advance(STEP * 1.001, ())
    np.testing.assert_array_equal(robot.motor_torque, start)  # no command came yet
    robot.on_torque(NAMES, start, 0)
    robot.on_command([3.0])
    robot.advance(STEP * 1.001, ())
    np.testing.assert_array_equal(robot.motor_torque, [start[0], 3.0])


@pytest.mark.parametrize('torques', [True, False])
def test_while_all_commands_are_zero_torques_drive_the_joints_and_without_them_they_fall(torques: bool) -> None:
    robot = commanded('theta2', 'theta1', brakes=torques)

    def go(seconds: float) -> None:
        for _ in range(round(seconds / 0.01)):
            if torques:
                robot.on_torque(NAMES, gravity(robot), 0)
            go_on(robot, 0.01)

    robot.on_command([1e-9, 0.0])
    go(0.5)
    assert robot.mode == 'driven', 'any other command is held for ever'
    np.testing.assert_array_equal(robot.motor_torque, [0.0, 1e-9])
    robot.on_command([0.0, 0.0])
    go(0.1)
    assert robot.mode == 'driven'
    assert robot.motor_torque.any() == torques
    assert not robot.simulation.braked.any()
    robot.on_command([3.0, 0.0])
    go(0.01)
    np.testing.assert_array_equal(robot.motor_torque, [0.0, 3.0])


RAMP = 1.0  # s


def send(robot: SimulatedRobot, factor: Callable[[float], float], seconds: float) -> None:
    """Send commands: a factor, by the time since the first, times what holds the arm in its first pose."""
    first = gravity(robot)[::-1]
    for k in range(round(seconds / 0.01)):
        robot.on_command(factor(0.01 * k) * first)
        go_on(robot, 0.01)


@pytest.mark.parametrize('q', [(0.3, 0.4), (2.8, -0.4)])
@pytest.mark.parametrize('known', [1.0, 1.5])
def test_brakes_hold_the_arm_until_commands_that_rise_from_zero_carry_it(known: float, q: Sequence[float]) -> None:
    robot = commanded('theta2', 'theta1', q=q)
    start = robot.simulation.q
    send(robot, lambda t: known * 0.95 * t / RAMP, 1 / known)
    assert robot.mode == 'braked'
    np.testing.assert_array_equal(robot.simulation.q, start)
    np.testing.assert_allclose(robot.motor_torque, 0.95 * gravity(robot), rtol=0.02)
    send(robot, lambda t: known, 0.3)
    assert robot.mode == 'driven'
    moved = np.abs(robot.simulation.q - start).max()
    assert moved < 1e-3 if known == 1 else moved > 0.05


@pytest.mark.parametrize('factor', [0.0, 0.5, -1.0])
def test_brakes_open_for_commands_that_stay_and_do_not_carry_the_arm(factor: float) -> None:
    """So a person finds out by commands of zero whether firmware holds the arm, as on a robot."""
    robot = commanded('theta2', 'theta1')
    send(robot, lambda t: factor * min(t / RAMP, 1.0), 1.9)
    assert robot.mode == 'braked'
    send(robot, lambda t: factor, 1.5)
    assert robot.mode == 'driven'
    assert np.abs(robot.simulation.dq).max() > 0.05


def test_brakes_close_when_it_is_put_somewhere_and_stay_closed_without_further_commands() -> None:
    robot = commanded('theta2', 'theta1')
    send(robot, lambda t: 1.0, 0.1)
    assert robot.mode == 'driven'
    robot.reset()
    go_on(robot, 3.0)
    assert robot.mode == 'braked'
    robot.on_command(gravity(robot)[::-1])
    assert robot.mode == 'driven'


def test_firmware_that_holds_the_arm_opens_the_brakes_and_drives_the_motors() -> None:
    robot = commanded('theta2', 'theta1')
    robot.firmware = SimpleNamespace(torque=lambda q, dq: robot.simulation.dynamics.Q(q))
    start = robot.simulation.q
    robot.on_command([0.0, 0.0])
    go_on(robot, 0.5)
    assert robot.mode == 'driven'
    np.testing.assert_allclose(robot.simulation.q, start, atol=1e-6)
    np.testing.assert_allclose(robot.motor_torque, gravity(robot), rtol=1e-6)


def test_torques_that_drive_the_arm_open_its_brakes_for_commands() -> None:
    robot = commanded('theta2', 'theta1')
    robot.on_torque(NAMES, gravity(robot), 0)
    go_on(robot, 0.01)
    robot.on_command([1e-9, 0.0])
    go_on(robot, 0.05)
    assert robot.mode == 'driven'
    np.testing.assert_array_equal(robot.motor_torque, [0.0, 1e-9])


@pytest.mark.parametrize('command', [[], [1.0], [1.0, 2.0, 3.0], [1.0, np.nan], [np.inf, 0.0], [1e300, 0.0]])
def test_a_command_that_cannot_be_leaves_the_one_before(command: list[float]) -> None:
    robot = commanded(*NAMES)
    robot.on_command([1.0, 2.0])
    robot.on_command(command)
    assert robot.command is not None
    np.testing.assert_array_equal(robot.command, [1.0, 2.0])
    assert robot.command_refusals.count == 1
