"""Guiding through engine and supervisor: what is refused, what ends commands, and what damping never leaves behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.dynamics.guiding import Stops
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.guiding import HOLD_TIMEOUT, HoldSwitch, joint_defaults

from ..robots import ROOT
from .test_command_supervisor import JOINTS, ORDER, Arm, refused

TERMS = ['gravity', 'damping', 'stops']


@pytest.fixture(scope='module')
def model() -> Model:
    return load_model()


def guided(model: Model, **given: Any) -> Arm:
    """Return an arm whose commands are on, with damping."""
    return Arm(model, **({'total_terms': TERMS} | given)).on()


def moved(arm: Arm, dq: float, seconds: float = 0.02) -> Arm:
    """Let the joints move at a velocity."""
    arm.dq = np.full(17, dq)
    for _ in range(round(seconds / arm.period)):
        arm.q = arm.q + arm.period * arm.dq
        arm.run(arm.period)
    return arm


def newest(arm: Arm) -> Any:
    """Return the torques of one more state."""
    arm.time += arm.period
    return arm.state()


def excess(arm: Arm) -> np.ndarray:
    """Return what guiding adds to what is sent (k)."""
    return np.asarray(arm.commands.sent - arm.commands.unguided)


# What goes out --------------------------------------------------------------------------------------------------------


def test_damping_brakes_and_leaves_gravity_as_it_is(model: Model) -> None:
    arm = moved(guided(model), 0.4)
    wanted = arm.supervisor._terms.damping(arm.supervisor._latest.state)[ORDER]
    np.testing.assert_allclose(excess(arm), wanted)
    np.testing.assert_allclose(arm.commands.unguided, arm.gravity)
    assert (excess(arm) < 0).all()
    assert not moved(arm, 0.0).commands.remainder(arm.time).any()


def test_damping_never_enters_the_remainder(model: Model) -> None:
    arm = moved(guided(model), 0.4)
    arm.set(joints__q_2l__damping=0.5)
    full = arm.supervisor._terms.damping(arm.supervisor._latest.state)[ORDER]
    for terms, weight in ((['gravity', 'stops'], 0.5), (TERMS, 0.75)):  # it fades over the ramp, and comes back
        arm.set(total_terms=terms)
        assert not arm.commands.remainder(arm.time).any()
        moved(arm, 0.4, abs(weight - arm.commands.guiding.weights['damping']))
        full = arm.supervisor._terms.damping(arm.supervisor._latest.state)[ORDER]
        np.testing.assert_allclose(excess(arm), weight * full, rtol=0.03)


def test_commands_that_begin_at_efforts_begin_without_damping(model: Model) -> None:
    arm = Arm(model, total_terms=TERMS)
    arm.effort = arm.engine.dynamics.Q(arm.q)
    arm.run(0.1)
    assert 'from the measured efforts' in arm.supervisor.enable()
    arm.dq = np.full(17, 0.1)
    arm.run(0.1)
    assert arm.commands.ramp_fraction == 1
    full = arm.supervisor._terms.damping(arm.supervisor._latest.state)[ORDER]
    np.testing.assert_allclose(excess(arm), 0.1 * full, rtol=1e-6)


def test_velocities_that_stop_end_damping_at_once(model: Model) -> None:
    arm = moved(guided(model), 0.4)
    arm.dq = np.empty(0)
    arm.run(0.03)
    assert not excess(arm).any()
    arm.run(0.2)
    assert 'no velocities for damping, stops' in arm.commands.fault


def test_a_state_that_is_late_ends_damping_at_once(model: Model) -> None:
    arm = moved(guided(model, state_timeout=1.0), 0.4)
    arm.run(0.05, states=False)
    assert not excess(arm).any()
    assert arm.commands.enabled
    np.testing.assert_allclose(arm.last, arm.gravity)


def test_a_fault_ends_damping_within_the_rates(model: Model) -> None:
    arm = moved(guided(model), 0.4)
    arm.supervisor.fail('a test')
    arm.run(0.02)
    assert not excess(arm).any()
    np.testing.assert_allclose(arm.last, arm.gravity * (arm.last[3] / arm.gravity[3]), atol=1e-9)


def test_friction_is_given_back_by_its_gain(model: Model) -> None:
    arm = Arm(model, total_terms=['gravity', 'friction'], **{f'joints__{name}__coulomb': 5.0 for name in JOINTS})
    arm.on()
    arm.dq = np.full(17, 0.3)
    full = newest(arm).total(['friction'])[ORDER]
    np.testing.assert_allclose(full, 5.0)
    arm.set(joints__q_1l__friction_gain=0.6, joints__q_2l__friction_gain=0.0)
    np.testing.assert_allclose(newest(arm).total(['friction'])[ORDER], [3, 0, *[5] * 5])
    np.testing.assert_allclose(newest(arm).term('friction')[ORDER], 5.0)
    np.testing.assert_allclose(moved(arm, 0.3, 0.2).last - arm.gravity, [3, 0, *[5] * 5])
    arm.set(total_terms=['gravity', 'friction', 'damping'])
    np.testing.assert_allclose(newest(arm).total(['friction'])[ORDER], [3, 0, *[4.5] * 5])


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('terms', [['damping'], ['stops'], ['stops', 'damping']])
def test_a_wrench_that_would_cancel_the_push_is_refused(model: Model, terms: list[str]) -> None:
    refused(Arm(model, total_terms=['gravity', 'wrench', *terms]).run(0.1), 'would cancel the push that guides')
    arm = Arm(model, total_terms=['gravity', *terms]).on()
    with pytest.raises(ArgumentError, match='would cancel the push'):
        arm.set(total_terms=['gravity', 'wrench', *terms])
    assert arm.commands.enabled


# The speed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('case', range(20))
def test_a_joint_that_is_too_fast_is_a_fault_that_names_it(model: Model, case: int) -> None:
    rng = np.random.default_rng(case)
    joint, limit, sign = int(rng.integers(7)), float(rng.uniform(0.2, 2.0)), float(rng.choice([-1, 1]))
    limits = [0.0] * 7
    limits[joint] = limit
    arm = Arm(model, command_velocity_limits=limits, total_terms=TERMS if case % 2 else ['gravity']).on()
    arm.dq = np.full(17, 3.0)
    arm.dq[ORDER[joint]] = sign * 0.99 * limit
    arm.run(0.02)
    assert arm.commands.enabled, arm.commands.fault
    arm.dq[ORDER[joint]] = sign * 1.01 * limit
    arm.run(0.01)
    assert arm.commands.stage is Stage.FAULT
    assert arm.commands.fault.startswith(f'{JOINTS[joint]} moves at ')
    arm.run(3.0)
    refused(arm, f'{JOINTS[joint]} moves at ')


def test_a_speed_limit_needs_velocities_and_stays_while_commands_go_out(model: Model) -> None:
    arm = Arm(model, command_velocity_limits=[1.0] * 7)
    arm.dq = np.empty(0)
    refused(arm.run(0.1), 'q_1l has no velocity')
    arm.dq = np.zeros(17)
    arm.on()
    with pytest.raises(ArgumentError, match='command_velocity_limits cannot change'):
        arm.set(command_velocity_limits=[2.0] * 7)
    with pytest.raises(ArgumentError, match='command_velocity_limits'):
        Arm(model, command_velocity_limits=[-1.0] * 7)


# The switch -----------------------------------------------------------------------------------------------------------


def held(model: Model, **given: Any) -> Arm:
    """Return an arm whose commands are on while a switch is held."""
    arm = Arm(model, guiding__hold_required=True, total_terms=TERMS, **given).run(0.1)
    arm.supervisor.on_hold(True)
    arm.supervisor.enable()
    for _ in range(15):
        arm.supervisor.on_hold(True)
        arm.run(0.1)
    assert arm.commands.stage is Stage.ON
    return arm


def test_enabling_wants_the_switch_pressed(model: Model) -> None:
    arm = Arm(model, guiding__hold_required=True).run(0.1)
    refused(arm, 'guiding/hold has no message yet')
    arm.supervisor.on_hold(False)
    refused(arm, 'guiding/hold is released')
    arm.supervisor.on_hold(True)
    arm.run(HOLD_TIMEOUT + 0.02)
    refused(arm, 'guiding/hold is silent')
    arm.supervisor.on_hold(True)
    assert 'enabled for' in arm.supervisor.enable()


@pytest.mark.parametrize('case', range(20))
def test_letting_go_disables_and_pressing_enables_nothing(model: Model, case: int) -> None:
    """By false or by silence, with states or without, also where it is pressed again at once."""
    rng = np.random.default_rng(case)
    arm = held(model, state_timeout=2.0).run(float(rng.uniform(0, HOLD_TIMEOUT - 0.02)))
    if case % 2:
        arm.supervisor.on_hold(False)
    else:
        arm.run(HOLD_TIMEOUT + 0.02, states=bool(rng.integers(2)))
    assert arm.commands.stage is Stage.FALLING
    assert not arm.commands.fault
    shares = []
    for _ in range(30):
        arm.supervisor.on_hold(True)
        arm.run(0.1)
        shares.append(arm.commands.ramp_fraction)
    assert (np.diff(shares) <= 0).all()
    assert arm.commands.idle
    assert 'guiding/hold' in arm.supervisor.status().values['disabled by the switch']


def test_a_switch_that_loses_a_message_stays_quiet(model: Model) -> None:
    arm = held(model)
    for k in range(600):
        arm.run(0.01)  # the switch comes every 0.08 s
        if k % 8 == 0 and k % 56:
            arm.supervisor.on_hold(True)
    assert arm.commands.stage is Stage.ON


def test_a_switch_that_is_not_required_gives_no_fault() -> None:
    switch = HoldSwitch(False)
    switch.on_message(False, 1.0)
    assert not switch.fault(100.0)


# Files and defaults ---------------------------------------------------------------------------------------------------


def test_the_shipped_file_is_a_guiding_mode(model: Model) -> None:
    given = yaml.safe_load(Path(ROOT / 'config' / 'guiding.yaml').read_text())['/**']['ros__parameters']
    assert given.pop('guiding') == {'hold_required': False}
    arm = moved(guided(model, **given), 0.2)
    assert set(arm.commands.guiding.weights) == {'damping', 'stops'}
    assert arm.engine.guiding.status()[0] == 'ok'


def test_defaults_come_from_the_limits(model: Model) -> None:
    for joint, found in zip(model.robot.moving_joints, joint_defaults(model), strict=True):
        assert found.damping == pytest.approx(0.02 * joint.limits.effort)
        assert found.damping_above == pytest.approx(joint.limits.velocity / 2)


def test_diagnostics_say_what_is_reduced_and_for_which_speed_a_stop_is_made(model: Model) -> None:
    arm = moved(guided(model), 0.0, 1.0)
    level, words, values = arm.engine.guiding.status()
    assert level == 'ok'
    assert 'reduced, because commands come late' in words
    assert 'made for' in values['reduced to stay passive']
    assert values['period (s)'] == '0.0100'


@pytest.mark.parametrize(
    ('speed', 'words'), [(3.0, 'stops.margin is 0.15, must be 0.42 for that'), (6.0, 'too fast for')]
)
def test_diagnostics_name_the_margin_that_a_fast_joint_takes(model: Model, speed: float, words: str) -> None:
    arm = guided(model)
    arm.q[4] = 2.0  # q_2l: its limit is 2.094
    arm.run(0.3)
    arm.dq[4] = speed
    arm.run(0.01)
    level, message, _ = arm.engine.guiding.status()
    assert level == 'warning'
    assert message.startswith(f'q_2l came to its stop at {speed:g}, {words}')
    assert arm.engine.guiding.status()[0] == 'ok'


def sliding(model: Model, reach: float) -> tuple[Any, Stops]:
    """Return the guiding of Krang with a q_2l that slides by `reach` (m), and its stops."""
    arm = guided(model)
    stops = arm.engine.guiding.terms.stops
    stops.lower[4], stops.upper[4] = 0.0, reach
    arm.engine.guiding._prismatic[4] = True
    arm.set(stops__margin=0.2)
    return arm.engine.guiding, stops


def test_the_margin_of_a_sliding_joint_is_named_as_the_parameter(model: Model) -> None:
    guiding, stops = sliding(model, 1.0)
    assert stops.margins[4] == pytest.approx(0.02)
    stops.too_fast[4] = 0.5, 0.05  # m/s, m
    words = guiding.status()[1]
    assert words.startswith('q_2l came to its stop at 0.5, stops.margin is 0.2, must be 0.5 for that speed')


@pytest.mark.parametrize(('reach', 'needed'), [(0.08, 0.021), (9.0, 0.31), (9.0, np.inf)])
def test_where_no_margin_is_enough_diagnostics_ask_for_a_lower_speed_alone(
    model: Model, reach: float, needed: float
) -> None:
    guiding, stops = sliding(model, reach)
    stops.too_fast[4] = 0.5, needed
    words = guiding.status()[1]
    assert words.startswith('q_2l came to its stop at 0.5, too fast for the largest stops.margin: move more slowly')


@pytest.mark.parametrize('case', range(20))
def test_diagnostics_name_the_rate_limit_that_a_stop_takes(model: Model, case: int) -> None:
    rng = np.random.default_rng(case)
    joint, share = int(rng.integers(7)), float(rng.uniform(0.4, 0.95))
    limits = model.robot.moving_joints[ORDER[joint]].limits
    assert limits
    speed = float(rng.uniform(0.2, 1.0))  # slower than the stop of any joint is made for
    needed = limits.effort * speed / 0.15  # within the margin at that speed
    speeds, slow, enough = [0.0] * 7, [0.0] * 7, [0.0] * 7
    speeds[joint], slow[joint], enough[joint] = speed, share * needed, 1.01 * needed
    arm = moved(guided(model, command_velocity_limits=speeds, command_rate_limits=slow), 0.0)
    level, words, _ = arm.engine.guiding.status()
    assert level == 'warning'
    assert words.startswith(f'{JOINTS[joint]} has command_rate_limits {slow[joint]:.4g}, too slow for its stop')
    assert f'must be at least {needed:.4g}' in words
    for rates in (enough, [0.0] * 7):
        arm = moved(guided(model, command_velocity_limits=speeds, command_rate_limits=rates), 0.0)
        assert arm.engine.guiding.status()[0] == 'ok'
    arm = moved(guided(model, total_terms=['gravity', 'damping'], command_rate_limits=slow), 0.0)
    assert arm.engine.guiding.status()[0] == 'ok', 'there is no stop'
