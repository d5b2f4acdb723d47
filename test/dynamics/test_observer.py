"""The momentum observer follows what the world does to the joints, as its law says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Robot, dynamics_of
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.dynamics.observer import SETTLED, MomentumObserver
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.effects.presliding import Presliding
from krang_dynamics_ros.robot.motor_and_friction import Friction, Motor

Q = np.array([0.1, 0.6, 0.1, *[0.3, -0.5, 0.2, -0.9, 0.1, -0.4, 0.0] * 2])
PUSH = np.linspace(-5, 5, 17)
Torque = Callable[[np.ndarray, np.ndarray], np.ndarray]


def swing(dynamics: Dynamics, torque: Torque, steps: Sequence[float], parts: int = 4) -> Iterator[tuple[float, State]]:
    """Yield a robot's states from rest: the truth, by small steps of Runge-Kutta, under a torque of q and dq."""

    def rate(y: np.ndarray) -> np.ndarray:
        q, dq = y[:17], y[17:]
        return np.r_[dq, dynamics.forward_dynamics(q, dq, torque(q, dq))]

    y, t = np.r_[Q, np.zeros(17)], 0.0
    yield t, State(y[:17], y[17:], effort=np.zeros(17), stamp=1)
    for step in np.round(steps, 9):
        h = step / parts
        for _ in range(parts):
            k1 = rate(y)
            k2 = rate(y + h / 2 * k1)
            k3 = rate(y + h / 2 * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))
        t += step
        yield t, State(y[:17], y[17:], effort=np.zeros(17), stamp=1 + round(t * 1e9))


@pytest.mark.parametrize('gain', [1.0, 10.0, 300.0, 5000.0])
def test_a_step_shows_as_a_first_order_low_pass(dynamics: Dynamics, rng: np.random.Generator, gain: float) -> None:
    """K dt from 0.001 to 5 and beyond, with stamps that jitter by half a step."""
    observer = MomentumObserver(dynamics)
    observer.gain = gain
    for t, state in swing(dynamics, lambda q, dq: dynamics.Q(q) + PUSH, rng.uniform(0.5e-3, 1.5e-3, 200)):
        observer(replace(state, effort=dynamics.Q(state.q)))
        np.testing.assert_allclose(observer.torque, PUSH * (1 - np.exp(-gain * t)), atol=5e-3)


def test_a_free_swing_shows_nothing(dynamics: Dynamics) -> None:
    """Some joints turn by three degrees between two states, and turn round within ten of them."""
    observer, fastest = MomentumObserver(dynamics), 0.0
    for _, state in swing(dynamics, lambda q, dq: np.zeros(17), [2e-3] * 330, parts=20):
        observer(state)
        fastest = max(fastest, float(np.abs(state.velocity).max()))
        assert np.abs(observer.torque).max() < 1e-6
    assert fastest > 25


@pytest.fixture(scope='module')
def geared(robot: Robot) -> Dynamics:
    friction = Friction(0.3, 1.0, 0.1)
    joints = [replace(j, motor=Motor(50, 1e-4), friction=friction) for j in robot.joints]
    return dynamics_of(replace(robot, joints=tuple(joints)))


def test_rotors_and_friction_count_where_they_are_between(geared: Dynamics) -> None:
    """A motor drives rotors and friction too; a sensor behind the gear sees neither."""
    motor, joint, wrong = (MomentumObserver(geared) for _ in range(3))
    motor.efforts.source, joint.efforts.source, wrong.efforts.source = 'motor', 'joint', 'joint'

    def moved(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        return geared.Q(q) + 3.0 + PUSH - geared.friction_torque(dq)

    for _, state in swing(geared, moved, [1e-3] * 400):
        q, dq = state.q, state.velocity
        effort = geared.Q(q) + 3.0
        lost = geared.friction_torque(dq) + geared.rotor_inertia * geared.forward_dynamics(q, dq, moved(q, dq))
        motor(replace(state, effort=effort))
        joint(replace(state, effort=effort - lost))
        wrong(replace(state, effort=effort))
    expected = PUSH * (1 - np.exp(-4))
    np.testing.assert_allclose(motor.torque, expected, atol=2e-3)
    np.testing.assert_allclose(joint.torque, expected, atol=2e-3)
    assert np.abs(wrong.torque - expected).max() > 0.5


def test_presliding_friction_at_standstill_is_no_contact(dynamics: Dynamics) -> None:
    dynamics.friction.set_presliding([(Presliding(2.0, 1e-3),)] * 17)
    observer, q = MomentumObserver(dynamics), Q.copy()
    for k in range(1000):
        q = q + (1e-5 if k < 400 else 0.0)
        effort = dynamics.Q(q) + 2.0 * (1 - np.exp(-min(k, 399) * 1e-5 / 1e-3))
        observer(State(q, np.zeros(17), effort=effort, stamp=1 + k * 2_000_000))
    np.testing.assert_allclose(observer.torque, 0, atol=1e-2)


def test_presliding_friction_of_before_a_gap_is_forgotten(dynamics: Dynamics) -> None:
    """After it the drives may hold the arm by nothing: the friction that was there would show as a push."""
    dynamics.friction.set_presliding([(Presliding(2.0, 1e-3),)] * 17)
    observer, q = MomentumObserver(dynamics), Q.copy()
    for k in range(400):
        q = q + 1e-4
        observer(State(q, np.zeros(17), effort=dynamics.Q(q) + 2.0, stamp=1 + k * 2_000_000))
    for k in range(400):
        observer(State(q, np.zeros(17), effort=dynamics.Q(q), stamp=10**10 + k * 2_000_000))
    np.testing.assert_allclose(observer.torque, 0, atol=1e-6)


def test_accelerations_show_through_the_same_low_pass(dynamics: Dynamics) -> None:
    """So that a contact's threshold is the one for what the observer shows then."""
    observer, ddq = MomentumObserver(dynamics), np.linspace(-2, 2, 17)
    for k in range(200):
        t = 0.002 * k
        q, dq = Q + ddq * t**2 / 2, ddq * t
        observer(State(q, dq, effort=np.zeros(17), stamp=1 + k * 2_000_000))
        np.testing.assert_allclose(observer.acceleration, ddq * (1 - np.exp(-observer.gain * t)), atol=1e-9)


def still(dynamics: Dynamics, k: int, effort: np.ndarray | None = None, step: float = 0.002) -> State:
    return State(
        Q, np.zeros(17), effort=dynamics.Q(Q) - PUSH if effort is None else effort, stamp=1 + int(k * step * 1e9)
    )


def test_no_number_comes_before_it_has_settled_nor_after_a_gap(dynamics: Dynamics) -> None:
    observer = MomentumObserver(dynamics)
    answers = [observer(still(dynamics, k)) for k in range(300)]
    first = next(k for k, answer in enumerate(answers) if answer is not None)
    assert first * 0.002 == pytest.approx(SETTLED / observer.gain, abs=0.005)
    np.testing.assert_allclose(answers[-1], PUSH, atol=0.02)
    assert observer(still(dynamics, 301)) is not None
    assert observer(still(dynamics, 301)) is not None  # the same stamp again
    assert observer(still(dynamics, 300)) is not None  # a part that came late
    assert observer.gap == 0
    assert observer(still(dynamics, 360)) is None  # a gap
    assert observer.gap == pytest.approx(0.118)
    assert observer.seconds_to_settle(still(dynamics, 360)) == pytest.approx(0.5)
    for k in range(361, 700):
        observer(still(dynamics, k))
    assert observer(still(dynamics, 10)) is None  # time went back
    for k in range(11, 300):
        observer(still(dynamics, k))
    assert observer(still(dynamics, 300)) is not None
    assert observer(replace(still(dynamics, 301), dq=None)) is None  # no velocities
    assert observer(still(dynamics, 302)) is None


def test_a_joint_without_effort_is_left_out_and_no_other(dynamics: Dynamics) -> None:
    observer = MomentumObserver(dynamics)
    effort = dynamics.Q(Q) - PUSH
    effort[4] = np.nan
    for k in range(400):
        answer = observer(still(dynamics, k, effort))
    assert np.isnan(answer[4])
    np.testing.assert_allclose(np.delete(answer, 4), np.delete(PUSH, 4), atol=0.01)
    effort = dynamics.Q(Q) - PUSH
    answer = observer(still(dynamics, 401, effort))
    assert np.isnan(answer[4])  # it is known now, and not yet settled
    for k in range(402, 800):
        answer = observer(still(dynamics, k, effort))
    np.testing.assert_allclose(answer, PUSH, atol=0.01)
    assert observer(State(Q, np.zeros(17), stamp=2_000_000_000)) is None


def test_external_efforts_go_through_and_amperes_are_scaled(dynamics: Dynamics) -> None:
    observer = MomentumObserver(dynamics)
    observer.efforts.source, observer.efforts.scale = 'external', np.full(17, -2.0)
    np.testing.assert_array_equal(observer(State(Q, None, effort=PUSH)), -2 * PUSH)
    amperes = MomentumObserver(dynamics)
    amperes.efforts.scale = np.full(17, 4.0)
    for k in range(400):
        answer = amperes(still(dynamics, k, (dynamics.Q(Q) - PUSH) / 4))
    np.testing.assert_allclose(answer, PUSH, atol=0.01)


@pytest.mark.parametrize('change', ['payload', 'rotor_inertia'])
def test_a_model_that_changes_while_the_robot_moves_makes_no_jump(dynamics: Dynamics, change: str) -> None:
    """A changed model changes the momentum at once; the world has done nothing."""
    load = {'R10l': Inertia.about_com(1.0, [0.1, 0.0, 0.1], np.eye(3))}
    dynamics.gravity = np.zeros(3)  # the instant of the weight within a step is unknown
    observer = MomentumObserver(dynamics)
    for k in range(100):
        if k == 50:
            setattr(dynamics, change, load if change == 'payload' else np.full(17, 3.0))
        q, dq = Q + k * 0.002 * np.full(17, 0.5), np.full(17, 0.5)
        observer(State(q, dq, effort=dynamics.Q(q) + dynamics.coriolis_torque(q, dq), stamp=1 + k * 2_000_000))
    assert np.abs(observer.torque).max() < 1e-2


def moving(dynamics: Dynamics, coarse: np.ndarray) -> Iterator[State]:
    """Yield states of a smooth movement whose positions are read in coarse steps, rad, always in the same arrays."""
    q, dq, phase = np.zeros(17), np.zeros(17), np.arange(17)
    for k in range(400):
        turn = 3e-3 * k + phase
        q[:], dq[:] = Q + 0.2 * np.sin(turn), 0.6 * np.cos(turn)
        effort = dynamics.inverse_dynamics(q, dq, -1.8 * np.sin(turn))
        q[:] = np.round(q / coarse) * coarse
        yield State(q, dq, effort=effort, stamp=1 + k * 1_000_000)


@pytest.mark.parametrize(
    ('hands', 'others', 'shows'), [(1e-9, 1e-9, 1e-3), (1e-3, 1e-3, 0.5), (5e-3, 5e-3, 2.0), (5e-3, 1e-9, 0.02)]
)
def test_coarse_positions_are_no_bends(dynamics: Dynamics, hands: float, others: float, shows: float) -> None:
    """Taken for a bend, a step of 5 mrad would show as 60 N m. What is read well stays as it is read."""
    coarse = np.full(17, others)
    coarse[[9, 16]] = hands  # the last joints, which move little
    observer = MomentumObserver(dynamics)
    observer.gain = 100.0
    for state in moving(dynamics, coarse):
        observer(state)
        assert np.abs(observer.torque).max() < shows
