"""Damping, stops and friction compensation: what a motor has left, and what stays passive though it is late."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Robot, dynamics_of
from krang_dynamics_ros.dynamics.dynamics import Dynamics
from krang_dynamics_ros.dynamics.guiding import ControlLoop, Damping, FrictionCompensation, Stops, inertias, overshoot
from krang_dynamics_ros.dynamics.state import State

N = 17
MS = 1_000_000  # ns


def state(q: np.ndarray, dq: np.ndarray, stamp: int = MS) -> State:
    return State(q, dq, stamp=stamp)


def at_rate(loop: ControlLoop, period: float, count: int = 3000, start: int = 10**12) -> ControlLoop:
    """Let states come at a rate."""
    for k in range(count):
        loop.observe(state(np.zeros(N), np.zeros(N), start + round(k * period * 1e9)))
    return loop


@pytest.fixture
def dynamics(robot: Robot) -> Dynamics:
    return dynamics_of(robot)


@pytest.fixture
def stops(dynamics: Dynamics) -> Stops:
    """Return the stops of joints between -1 and 1, with motors of 100 N m and inertias that nothing reduces."""
    dynamics.rotor_inertia = np.full(N, 1000.0)
    dynamics.gravity = np.zeros(3)
    stops = Stops(dynamics)
    stops.lower, stops.upper, stops.effort, stops.margin = -np.ones(N), np.ones(N), np.full(N, 100.0), np.full(N, 0.2)
    at_rate(stops.loop, 0.001)
    return stops


def torque(stops: Stops, q: float, dq: float = 0.0, joint: int = 4) -> float:
    """Return the torque of a stop of one joint; all others are in the middle."""
    position, velocity = np.zeros(N), np.zeros(N)
    position[joint], velocity[joint] = q, dq
    found = stops(state(position, velocity))
    assert not np.delete(found, joint).any()
    return float(found[joint])


# The loop -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('period', [0.001, 0.002, 0.01, 0.02])
def test_the_period_is_that_of_the_stamps_and_a_delay_of_two_periods_is_assumed(
    dynamics: Dynamics, period: float
) -> None:
    loop = at_rate(ControlLoop(dynamics), period)
    assert loop.period == pytest.approx(period, rel=0.03)
    assert loop.tau == pytest.approx(2.5 * period, rel=0.03)


def test_a_delay_that_is_seen_counts_and_one_period_to_the_motors(dynamics: Dynamics) -> None:
    loop = ControlLoop(dynamics)
    loop.age_of = lambda _: 0.004
    assert at_rate(loop, 0.002).tau == pytest.approx(0.004 + 0.002 + 0.001, rel=0.01)


def test_a_gap_counts_at_once_and_is_forgotten_slowly(dynamics: Dynamics) -> None:
    loop = at_rate(ControlLoop(dynamics), 0.001)
    last = 10**12 + 2999 * MS
    loop.observe(state(np.zeros(N), np.zeros(N), last + 30 * MS))
    assert loop.period == pytest.approx(0.03)
    loop.observe(state(np.zeros(N), np.zeros(N), last + 31 * MS))
    assert loop.period > 0.029
    loop.observe(state(np.zeros(N), np.zeros(N), last + 500 * MS))  # no period: states were not computed meanwhile
    assert loop.period == 0.01


def test_inertias_are_those_of_a_joint_whose_neighbours_stand_or_are_free(dynamics: Dynamics) -> None:
    A = dynamics.A(np.full(N, 0.3))
    found = inertias(A)
    for k in range(N):
        push = np.zeros(N)
        push[k] = 1.0
        assert found.effective[k] == pytest.approx(1 / np.linalg.solve(A, push)[k])
    np.testing.assert_array_equal(found.own, np.diag(A))


def test_a_joint_that_moves_no_mass_gets_no_damping() -> None:
    np.testing.assert_array_equal(inertias(np.zeros((2, 2))).effective, 0)
    assert inertias(np.diag([1.0, 0.0])).effective[1] == 0


# Stops ----------------------------------------------------------------------------------------------------------------


def test_a_stop_gives_nothing_before_its_margin_and_the_effort_limit_at_the_position_limit(stops: Stops) -> None:
    assert torque(stops, 0.79) == torque(stops, -0.79) == 0
    assert torque(stops, 0.9) == pytest.approx(-50)
    assert torque(stops, -0.9) == pytest.approx(50)
    assert torque(stops, 1.0) == pytest.approx(-100)
    assert torque(stops, 1.3) == pytest.approx(-100)


def test_a_stop_never_pulls(stops: Stops) -> None:
    for dq in (-5.0, -0.5, 0.5, 5.0):
        for q in np.linspace(-1.2, 1.2, 49):
            given = torque(stops, float(q), dq)
            assert given * q <= 0
            assert abs(given) <= 100 + 1e-9
    assert torque(stops, 0.85, -3.0) == 0


def test_a_stop_gives_what_the_motor_has_left_beside_gravity(dynamics: Dynamics, stops: Stops, robot: Robot) -> None:
    dynamics.gravity = robot.gravity
    q = np.zeros(N)
    q[[1, 4]] = 0.6, -1.1
    stops.effort[4] = 30 + abs(dynamics.Q(q)[4])
    stops.loop.observe(state(q, np.zeros(N)))
    assert stops(state(q, np.zeros(N)))[4] == pytest.approx(30)
    stops.effort[4] = 0.5 * abs(dynamics.Q(q)[4])
    assert stops(state(q, np.zeros(N)))[4] == 0


def test_a_narrow_range_has_narrow_margins_and_no_limit_no_stop(stops: Stops) -> None:
    stops.lower[4], stops.upper[4], stops.upper[5], stops.lower[5] = -0.2, 0.2, np.inf, -np.inf
    assert torque(stops, 0.09) == 0
    assert torque(stops, 0.15) == pytest.approx(-50)
    assert torque(stops, 50.0, 1.0, joint=5) == 0
    stops.effort[6] = 0.0  # not known
    assert torque(stops, 1.0, 1.0, joint=6) == 0


@pytest.mark.parametrize('period', [0.001, 0.01])
def test_gains_take_energy_though_late(dynamics: Dynamics, period: float, robot: Robot) -> None:
    stops, damping = Stops(dynamics), Damping(dynamics)
    stops.loop = damping.loop = at_rate(ControlLoop(dynamics), period)
    limits = [joint.limits for joint in robot.moving_joints]
    stops.lower, stops.upper, stops.effort = (
        np.array([getattr(x, key) for x in limits], dtype=float) for key in ('lower', 'upper', 'effort')
    )
    damping.coefficient, damping.stops = np.full(N, 1e3), stops
    q = np.where(np.arange(N) % 2, stops.upper, stops.lower) * 0.99
    here = state(q, np.full(N, 0.1))
    total = (stops.slope(here) + np.abs(damping(here)) / 0.1) * stops.loop.tau
    effective = inertias(dynamics.A(q)).effective
    assert (total <= 0.3 * effective * (1 + 1e-9)).all()
    K, B = stops.gains
    assert (K * stops.loop.tau <= B / 2 * (1 + 1e-9)).all()
    assert (K < stops.nominal_gains[0]).any()
    assert damping.reduced.all()


def test_a_joint_that_comes_too_fast_is_noted_with_the_margin_that_it_takes(stops: Stops) -> None:
    own = float(stops.loop.inertias.own[4])
    fastest = float(np.sqrt(100 * 0.2 / own))
    torque(stops, 0.85, 0.99 * fastest)
    assert not stops.too_fast
    torque(stops, 0.85, 2 * fastest)
    assert stops.too_fast == {4: (pytest.approx(2 * fastest), pytest.approx(0.8))}


@pytest.mark.parametrize('ratio', [0.01, 0.3, 0.9, 2.0])
def test_an_overshoot_is_that_of_the_differential_equation(ratio: float) -> None:
    inertia, K, speed, h = 2.0, 50.0, 1.5, 1e-5
    B = 2 * ratio * np.sqrt(K * inertia)
    x, v = 0.0, speed
    while v > 0:
        v -= h * (K * x + B * v) / inertia
        x += h * v
    allowed = 1e-3 if ratio < 1 else 1.0  # a stronger damper is counted as one that is just not too strong
    assert x <= overshoot(inertia, K, B, speed) * (1 + 1e-3)
    assert ratio > 1 or overshoot(inertia, K, B, speed) == pytest.approx(x, rel=allowed)


# Damping --------------------------------------------------------------------------------------------------------------


def test_damping_is_against_the_velocity_and_five_times_as_steep_above_a_speed(dynamics: Dynamics) -> None:
    dynamics.rotor_inertia = np.full(N, 1000.0)
    damping = Damping(dynamics)
    damping.coefficient, damping.above = np.full(N, 2.0), np.full(N, 0.5)
    dq = np.linspace(-1, 1, N)
    expected = -2 * np.clip(dq, -0.5, 0.5) - 10 * (dq - np.clip(dq, -0.5, 0.5))
    np.testing.assert_allclose(damping(state(np.zeros(N), dq)), expected)


# Friction compensation ------------------------------------------------------------------------------------------------


def test_all_of_the_friction_is_the_friction_and_a_share_is_smooth_at_standstill(dynamics: Dynamics) -> None:
    dynamics.friction.viscous, dynamics.friction.coulomb = np.full(N, 2.0), np.full(N, 5.0)
    compensation, dq = FrictionCompensation(dynamics), np.linspace(-1, 1, N)
    friction = dynamics.friction_torque(dq)
    here = state(np.zeros(N), dq)
    np.testing.assert_array_equal(compensation.of(friction, here), friction)
    compensation.set_gain(np.where(np.arange(N) % 2, 1.0, 0.8))
    assert compensation.partly
    found = compensation.of(friction, here)
    np.testing.assert_array_equal(found[1::2], friction[1::2])
    np.testing.assert_allclose(found[0::2], 0.8 * friction[0::2], rtol=1e-2)
    assert (found * dq <= friction * dq).all()
    compensation.push = lambda _: np.full(N, np.nan)
    for speed in (1e-6, -1e-6):
        slow = np.full(N, speed)
        assert np.abs(compensation.of(dynamics.friction_torque(slow), state(np.zeros(N), slow))[0::2]).max() < 1e-3


@pytest.mark.parametrize(
    ('push', 'share'), [(0.0, 0.0), (0.49, 0.0), (0.75, 0.5), (1.0, 1.0), (9.0, 1.0), (np.nan, 0.0)]
)
@pytest.mark.parametrize('sign', [1, -1])
def test_a_push_at_standstill_is_helped_from_half_of_the_friction_left(
    dynamics: Dynamics, push: float, share: float, sign: int
) -> None:
    dynamics.friction.coulomb = np.full(N, 5.0)
    compensation, rest = FrictionCompensation(dynamics), state(np.zeros(N), np.zeros(N))
    compensation.set_gain(np.full(N, 0.8))  # of 5 N m, 1 is left
    compensation.push = lambda _: np.full(N, sign * push)
    helped = compensation.of(dynamics.friction_torque(np.zeros(N)), rest)
    np.testing.assert_allclose(helped, sign * share * 4.0, atol=1e-9)
