"""External torques and contact: what sensors explain, which threshold counts, and what a free run learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Wrench
from krang_dynamics_ros.dynamics.contact import MIN_STATES, ContactDetector
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.dynamics.observer import LowPass

from .test_engine import MS, Played, S, thresholds

Q = np.linspace(-0.8, 0.8, 17)
EXPLAINED = {'left.sensor.subtract_from_external': True, 'left.sense': 'applied_on_robot'}


@pytest.fixture
def model() -> Model:
    return load_model()


def test_contact_does_not_depend_on_the_signs_of_torque_and_acceleration(rng: np.random.Generator) -> None:
    """A robot that brakes accelerates; a pull is a contact as a push is."""
    detector = ContactDetector([f'q{k}' for k in range(5)], {'left': ['q0', 'q1'], 'right': ['q4']})
    detector.steady, detector.accelerating = np.full(5, 1.0), np.full(5, 3.0)
    seen = set()
    for _ in range(1000):
        torque, acceleration = rng.normal(scale=1.2, size=5), rng.normal(scale=0.6, size=5)
        contact = detector.detect(torque, acceleration)
        signs = rng.choice([-1.0, 1.0], (2, 5))
        assert detector.detect(signs[0] * torque, signs[1] * acceleration) == contact
        assert detector.accelerates(signs[1] * acceleration) == (np.abs(acceleration).max() > detector.min_acceleration)
        seen.add((detector.accelerates(acceleration), contact.anywhere))
    assert len(seen) == 4  # with contact and without, accelerating and not


def test_a_low_pass_begins_anew_after_a_gap_in_either_direction_and_within_goes_on() -> None:
    longest, gain = 0.1, 10.0
    for jump in (0.5, 0.11, -0.11, -100.0):
        low_pass = LowPass()
        low_pass.update(np.zeros(2), gain, 10**12, longest)
        stamp = 10**12 + round(jump * 1e9)
        np.testing.assert_array_equal(low_pass.update(np.ones(2), gain, stamp, longest), np.ones(2))
        assert low_pass.start == stamp
    for jump, shows in ((0.05, 1 - np.exp(-0.5)), (0.0, 0.0), (-0.05, 0.0)):
        low_pass = LowPass()
        low_pass.update(np.zeros(2), gain, 10**12, longest)
        stamp = 10**12 + round(jump * 1e9)
        np.testing.assert_allclose(low_pass.update(np.ones(2), gain, stamp, longest), np.full(2, shows))
        assert low_pass.start == 10**12


def accelerating(robot: Played, between: float, states: int = 400) -> Any:
    """Let joint states come of a robot that accelerates, under a torque of the world; return the last contact."""
    dynamics, contact = robot.engine.dynamics, None
    for k in range(states):
        t = k * 2e-3
        robot.q, dq = 1.5 * t**2 + Q, np.full(17, 3 * t)
        effort = dynamics.inverse_dynamics(robot.q, dq, np.full(17, 3.0)) - between
        torques = robot.receive(S + 2 * k * MS, dq, effort)
        robot.engine.external.learn(torques)
        contact = robot.engine.external.contact(torques)
    return contact


def test_with_one_threshold_it_counts_while_the_robot_accelerates_too(model: Model) -> None:
    robot = Played(model, **thresholds(model, contact_threshold=1.0))
    contact = accelerating(robot, 2.0)
    assert robot.engine.external.detector.accelerates(robot.engine.external.observer.acceleration)
    assert contact is not None
    assert contact.anywhere
    np.testing.assert_array_equal(robot.engine.external.detector.accelerating, 1.0)
    assert not accelerating(Played(model, **thresholds(model, contact_threshold=1.0)), 0.3).anywhere


def test_a_free_run_learns_what_acceleration_shows_apart(model: Model) -> None:
    """The model errs by 2 N m while the robot accelerates, and by nothing while it stands."""
    robot = Played(model)
    external, effort = robot.engine.external, model.dynamics.Q(Q)
    robot.q = Q
    for k in range(300):
        external.unexplained_torque(robot.receive(S + 2 * (k - 1000) * MS, np.zeros(17), effort))
    external.begin_learning()
    for k in range(300, 300 + MIN_STATES):
        external.learn(robot.receive(S + 2 * (k - 1000) * MS, np.zeros(17), effort))
    accelerating(robot, 2.0)
    learnt = external.end_learning()
    even, fast = (
        np.array([learnt[f'joints.{name}.{key}'] for name in model.dynamics.joint_names])
        for key in ('contact_threshold', 'contact_threshold_accelerating')
    )
    floor, margin = robot.settings['contact.margin'], robot.settings['contact.factor']
    assert even.max() < floor + margin * 0.5
    assert fast.min() > 2 * floor + margin * 1.5


@pytest.mark.parametrize(
    ('change', 'restarts'),
    [
        ({'effort_source': 'joint'}, True), ({'effort_without': ['gravity']}, True),
        ({'joints.q_1l.effort_scale': 2.0}, True), ({'external.gain': 20.0}, False), ({'wrench_timeout': 1.0}, False),
    ],
)  # fmt: skip
def test_the_observer_restarts_when_efforts_mean_something_else(
    model: Model, change: dict[str, Any], restarts: bool
) -> None:
    robot = Played(model)
    robot.q, observer = Q, robot.engine.external.observer
    for k in range(600):
        torques = robot.receive(S + 2 * k * MS, np.zeros(17), model.dynamics.Q(Q))
        robot.engine.external.unexplained_torque(torques)
    assert observer.seconds_to_settle(torques.state) == 0
    robot.settings.check(change)
    robot.settings.update(change)
    torques = robot.receive(S + 1200 * MS, np.zeros(17), model.dynamics.Q(Q))
    robot.engine.external.unexplained_torque(torques)
    assert (observer.seconds_to_settle(torques.state) > 0) == restarts


def test_with_external_efforts_a_sensor_explains_at_once(model: Model) -> None:
    """Such efforts are no observer's: nothing delays them, so nothing may delay what is taken off."""
    robot = Played(model, effort_source='external', **EXPLAINED)
    robot.q, rng = Q, np.random.default_rng(3)
    for k in range(50):
        now, force = S + 2 * k * MS, rng.normal(scale=30, size=3)
        robot.engine.inputs.on_wrench('left', '', force, np.zeros(3), now, now)
        pushed = model.dynamics.wrench_torque(Q, [Wrench('R10l', force)])
        rest = robot.engine.external.unexplained_torque(robot.receive(now, np.zeros(17), pushed))
        np.testing.assert_allclose(rest, np.zeros(17), atol=1e-9)


@pytest.mark.parametrize('silence', [60, 70, 90, 300])
def test_after_any_silence_a_sensor_explains_nothing_before_the_low_pass_has_settled(
    model: Model, silence: int
) -> None:
    """Also after a silence that is no gap for the observer: what it bore meanwhile, another load, was not heard."""
    robot = Played(model, **EXPLAINED)
    robot.q, external, told_at, begin = Q, robot.engine.external, [], 600
    for k in range(begin + silence + 400):
        now, force = S + 2 * k * MS, np.array([0, 0, 30.0 if k < begin else -60.0])
        if not begin <= k < begin + silence:
            robot.engine.inputs.on_wrench('left', '', force, np.zeros(3), now, now)
        effort = model.dynamics.Q(Q) - model.dynamics.wrench_torque(Q, [Wrench('R10l', force)])
        torques = robot.receive(now, np.zeros(17), effort)
        if external.unexplained_torque(torques) is not None:
            told_at.append(k)
    back = begin + silence
    assert back + 249 < min(k for k in told_at if k >= back) <= back + 251
