"""Velocities made of positions: those of a low-pass of differences, begun anew where the motion is not known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.joint_tracker import JointTracker
from krang_dynamics_ros.live.state_checks import JointBounds

from ..imu import pitching
from .test_command_supervisor import Arm

MS = 1_000_000
NOTHING = np.empty(0)
CUTOFF = 20.0  # Hz
START = 1_700_000_000_000 * MS


def tracker(n: int = 1, endless: bool = False, cutoff: float = CUTOFF) -> JointTracker:
    names = [f'joint{k}' for k in range(n)]
    one = JointTracker(names, JointBounds.of([50.0] * n, [False] * n, [endless] * n), 0.1)
    one.velocity_cutoff = cutoff
    return one


def send(one: JointTracker, seconds: float, q: Any, arrival: float | None = None, stamped: bool = True) -> np.ndarray:
    """Let a message without velocities come; return the velocities that are known then."""
    stamp = START + round(seconds * 1e9)
    now = START + round((seconds if arrival is None else arrival) * 1e9)
    position = np.atleast_1d(np.asarray(q, dtype=float))
    assert one.update(one.joint_names, position, NOTHING, NOTHING, stamp if stamped else 0, now)
    return one.velocity.copy()


def test_a_steady_motion_has_its_velocity_from_the_second_sample_on_by_stamps(rng: np.random.Generator) -> None:
    one, time = tracker(), 0.0
    found = []
    for _ in range(50):
        time += rng.uniform(0.001, 0.03)
        found.append(send(one, time, 1.5 * time, arrival=time + rng.uniform(0, 0.02))[0])
    assert math.isnan(found[0])
    np.testing.assert_allclose(found[1:], 1.5, atol=1e-4)  # stamps are whole ns


def test_without_stamps_arrivals_count() -> None:
    one = tracker()
    found = [send(one, 0.0, 2.0 * k * 0.01, arrival=k * 0.01, stamped=False)[0] for k in range(1, 5)]
    np.testing.assert_allclose(found[1:], 2.0, atol=1e-6)
    assert send(one, 0.0, 0.09, arrival=0.04, stamped=False)[0] == pytest.approx(2.0)  # no time has passed


@pytest.mark.parametrize('cutoff', [5.0, 20.0, 80.0])
def test_the_velocity_is_late_as_stated(cutoff: float) -> None:
    """Under a constant acceleration the delay is what is missing over the acceleration."""
    one, acceleration, dt = tracker(cutoff=cutoff), 3.0, 0.025 / cutoff
    for k in range(400):
        velocity = send(one, k * dt, acceleration * (k * dt) ** 2 / 2)[0]
    delay = (acceleration * (k * dt) - velocity) / acceleration
    assert delay == pytest.approx(1 / (2 * math.pi * cutoff), rel=0.003)


def test_the_delay_is_at_least_half_a_sample() -> None:
    one, dt = tracker(cutoff=1000.0), 0.01
    for k in range(100):
        velocity = send(one, k * dt, (k * dt) ** 2 / 2)[0]
    assert k * dt - velocity == pytest.approx(dt / 2, rel=1e-6)


@pytest.mark.parametrize(('frequency', 'share'), [(2.0, 0.995), (20.0, math.sqrt(0.5)), (200.0, 0.0995)])
def test_the_cutoff_is_that_of_a_first_order_low_pass(frequency: float, share: float) -> None:
    one, dt, w = tracker(), 1e-4, 2 * math.pi * frequency
    found = [send(one, k * dt, math.sin(w * k * dt) / w)[0] for k in range(round((0.1 + 3 / frequency) / dt))]
    assert max(found[-round(1 / frequency / dt) :]) == pytest.approx(share, rel=0.02)


def test_a_gap_and_a_reset_begin_anew() -> None:
    one = tracker()
    for k in range(5):
        send(one, 0.01 * k, 0.01 * k)
    assert send(one, 0.2, 5.0)[0] != send(one, 0.21, 5.02)[0]
    assert math.isnan(send(one, 0.5, 5.3)[0])  # a gap longer than the timeout
    assert send(one, 0.51, 5.33)[0] == pytest.approx(3.0)  # of what was before the gap nothing is left
    one.on_clock_jump(START)
    assert math.isnan(send(one, 0.0, 5.3)[0])
    assert send(one, 0.01, 5.29)[0] == pytest.approx(-1.0)
    assert math.isnan(send(one, -20.0, 5.3)[0])  # time went back


def test_a_joint_that_turns_without_end_has_no_jump() -> None:
    one = tracker(endless=True)
    send(one, 0.0, math.pi - 0.01)
    assert send(one, 0.01, -math.pi + 0.01)[0] == pytest.approx(2.0)


def test_a_stamp_that_does_not_advance_changes_nothing() -> None:
    one = tracker()
    send(one, 0.0, 0.0)
    before = send(one, 0.01, 0.01)
    assert not one.update(one.joint_names, np.array([0.02]), NOTHING, NOTHING, START + 10 * MS, START + 11 * MS)
    np.testing.assert_array_equal(one.velocity, before)


def test_many_messages_at_once_are_as_one_by_one(rng: np.random.Generator) -> None:
    steps = rng.uniform(0.001, 0.02, 200)
    steps[70] = 0.5  # a gap
    stamp = START + np.round(np.cumsum(steps) * 1e9).astype(np.int64)
    q = np.cumsum(rng.uniform(-0.02, 0.02, (200, 3)), axis=0)
    single, many = tracker(3), tracker(3)
    expected = []
    for k in range(200):
        assert single.update(single.joint_names, q[k], NOTHING, NOTHING, int(stamp[k]), int(stamp[k]))
        expected.append(single.velocity.copy())
    many.update(many.joint_names, q[0], NOTHING, NOTHING, int(stamp[0]), int(stamp[0]))
    rows = many.on_rows(many.joint_names, (q[1:], np.empty((199, 0)), np.empty((199, 0))), stamp[1:], stamp[1:])
    assert rows is not None
    np.testing.assert_allclose(rows[1], expected[1:], atol=1e-12)
    assert np.isnan(rows[1][69]).all()  # after the gap
    np.testing.assert_allclose(many.velocity, single.velocity, atol=1e-12)


# In an engine ----------------------------------------------------------------------------------------------------


def moved(engine: Engine, count: int, speed: float, velocity: Any = NOTHING) -> Any:
    """Let a robot move steadily; return the torques at the end."""
    names = engine.dynamics.joint_names
    for k in range(count):
        now = START + 10 * k * MS
        torques = engine.on_joint_state(names, np.full(17, speed * 0.01 * k), velocity, NOTHING, now, now)
    return torques


def test_coriolis_and_friction_are_computed_without_velocities_in_the_messages() -> None:
    assert moved(engine_of({}), 5, 0.5).term('coriolis') is None
    engine = engine_of({'velocity_source': 'position'})
    torques = moved(engine, 5, 0.5)
    np.testing.assert_allclose(torques.state.dq, 0.5, atol=1e-9)
    expected = engine.dynamics.coriolis_torque(torques.state.q, np.full(17, 0.5))
    np.testing.assert_allclose(torques.term('coriolis'), expected, atol=1e-8)
    assert np.abs(expected).max() > 0.1


def test_velocities_of_messages_do_not_count() -> None:
    torques = moved(engine_of({'velocity_source': 'position'}), 5, 0.5, velocity=np.full(17, -7.0))
    np.testing.assert_allclose(torques.state.dq, 0.5, atol=1e-9)


def test_an_imu_keeps_its_own_rate() -> None:
    engine = engine_of({'velocity_source': 'position', 'imu_joint': 'q_imu'})
    for k in range(3):
        engine.inputs.on_imu(pitching((1.0, 0.0, 0.0, 0.0), 0.25, (0.0, 0.0), START + k * MS, START + k * MS))
    assert engine.inputs.states.velocity[engine.dynamics.joint_names.index('q_imu')] == 0.25


def test_commands_with_coriolis_go_out_without_velocities_in_the_messages() -> None:
    """The messages' velocities have the wrong sign: what is not used is not compared."""
    terms = {'total_terms': ['gravity', 'coriolis'], 'velocity_source': 'position', 'command_start_travel': 3.0}
    arm = Arm(load_model(), **terms).run(0.1)
    arm.supervisor.enable()
    for _ in range(150):
        arm.q, arm.dq = arm.q + 0.003, np.full(17, -0.3)
        arm.run(0.01)
    assert arm.commands.enabled
    assert not arm.engine.inputs.checks.warnings()
    total = arm.engine.dynamics.Q(arm.q) + arm.engine.dynamics.coriolis_torque(arm.q, np.full(17, 0.3))
    np.testing.assert_allclose(arm.last, total[3:10], atol=1e-3)


def test_the_source_cannot_change_while_commands_go_out() -> None:
    arm = Arm(load_model()).on()
    for change in ({'velocity_source': 'position'}, {'velocity_cutoff': 10.0}):
        with pytest.raises(ArgumentError, match='cannot change while commands are sent'):
            arm.set(**change)
