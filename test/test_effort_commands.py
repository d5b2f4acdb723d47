"""When commands go out and what they are: a table of what happens, and laws over random lives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krang_dynamics_ros import Robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.outputs.effort_commands import EffortCommands, Stage
from krang_dynamics_ros.pipeline.pipeline import pipeline_of

TORQUES = np.array([10.0, -40.0])
LIMITS = np.array([50.0, 50.0])
DT = 0.01


def switch(**settings: Any) -> EffortCommands:
    commands = EffortCommands(['a', 'b'])
    for name, value in ({'limits': LIMITS} | settings).items():
        setattr(commands, name, value)
    return commands


def run(commands: EffortCommands, start: float, seconds: float, torques: np.ndarray | None = TORQUES) -> list[Any]:
    """Let time go on with torques or without; return what was sent, None where nothing was."""
    times = start + DT * np.arange(1, round(seconds / DT) + 1)
    return [commands.tick(t) if torques is None else commands.follow(t, torques) for t in times]


def test_nothing_goes_out_before_it_is_enabled() -> None:
    assert not any(sent is not None for sent in run(switch(), 0.0, 1.0))
    assert not any(sent is not None for sent in run(switch(), 0.0, 1.0, None))


@pytest.mark.parametrize(
    ('measured', 'start'),
    [(None, [0, 0]), ([5.0, -20.0], [5, -20]), ([np.nan, -20.0], [0, -20]), ([500.0, -500.0], [50, -50])],
)
def test_enabling_blends_from_where_the_joints_are(measured: list[float] | None, start: list[float]) -> None:
    commands = switch()
    commands.enable(0.0, None if measured is None else np.array(measured))
    sent = np.array(run(commands, 0.0, 2.0))
    share = np.clip(DT * np.arange(1, 201), 0, 1)[:, None]
    np.testing.assert_allclose(sent, (1 - share) * start + share * TORQUES, atol=1e-9)
    assert commands.stage is Stage.ON


@pytest.mark.parametrize(('source', 'start'), [('motor', -30.0), ('joint', -30.0), ('external', 0.0)])
def test_what_effort_means_is_what_enabling_blends_from(robot: Robot, source: str, start: float) -> None:
    """Amperes are made N m; an external torque is not what drives the joint."""
    values = {'effort_source': source, 'joints.q_1l.effort_scale': -6.0, 'command_joints': ['q_1l']}
    clock = [0.0]
    pipeline = pipeline_of(values | {'command_enabled': True}, lambda: clock[0])
    q, dq, amperes = np.linspace(-0.5, 0.5, robot.n), np.zeros(robot.n), np.full(robot.n, 5.0)
    torques = pipeline.take_joint_state(robot.joint_names, q, dq, amperes, 1, 1)
    assert torques is not None
    assert pipeline.commanding.follow(torques) == pytest.approx([start])


def test_without_a_ramp_it_is_all_there_at_once() -> None:
    commands = switch(ramp=0.0)
    commands.enable(0.0)
    np.testing.assert_array_equal(commands.follow(0.0, TORQUES), TORQUES)
    commands.disable(0.0)
    np.testing.assert_array_equal(commands.follow(0.0, TORQUES), [0, 0])
    assert commands.follow(0.1, TORQUES) is None


def test_disabling_blends_to_zero_follows_the_pose_and_stops() -> None:
    commands = switch()
    commands.enable(0.0)
    run(commands, 0.0, 1.5)
    commands.disable(1.5)
    half = run(commands, 1.5, 0.5)[-1]
    np.testing.assert_allclose(half, TORQUES / 2)
    other = run(commands, 2.0, 0.25, 2 * TORQUES)[-1]
    np.testing.assert_allclose(other, 2 * TORQUES / 4 * [1, 50 / 80])
    sent = run(commands, 2.25, 1.0)
    assert not commands.enabled
    np.testing.assert_array_equal([s for s in sent if s is not None][-1], [0, 0])
    assert sent[-1] is None
    assert commands.fault == ''


def test_disabled_halfway_up_it_comes_down_from_there_and_can_rise_again_from_where_it_is() -> None:
    commands = switch()
    commands.enable(0.0)
    np.testing.assert_allclose(run(commands, 0.0, 0.5)[-1], TORQUES / 2)
    commands.disable(0.5)
    np.testing.assert_allclose(run(commands, 0.5, 0.5)[-1], TORQUES / 4)
    commands.enable(1.0, np.array([50.0, 50.0]))
    sent = run(commands, 1.0, 1.0)
    np.testing.assert_allclose(sent[0], 0.99 * TORQUES / 4 + 0.01 * TORQUES)
    np.testing.assert_allclose(sent[-1], TORQUES)


def test_without_torques_it_disables_itself_says_so_ends_at_zero_and_stays_off() -> None:
    commands = switch(timeout=0.105)
    commands.enable(0.0)
    run(commands, 0.0, 1.5)
    sent = run(commands, 1.5, 0.1, None)
    assert not any(s is not None for s in sent)
    falling = run(commands, 1.6, 2.0, None)
    assert 'no torques for' in commands.fault
    went_out = [s for s in falling if s is not None]
    np.testing.assert_array_equal(went_out[-1], [0, 0])
    np.testing.assert_allclose(went_out[50], TORQUES / 2, atol=0.02 * 40)
    assert falling[-1] is None
    assert not any(s is not None for s in run(commands, 3.6, 1.0))
    commands.enable(4.6)
    assert commands.fault == ''
    assert run(commands, 4.6, 0.1)[-1] is not None


def test_torques_that_come_back_do_not_end_a_fault() -> None:
    commands = switch()
    commands.enable(0.0)
    run(commands, 0.0, 1.5)
    back = np.array([50.0, 50.0])
    sent = [commands.follow(1.7, back), *run(commands, 1.7, 0.5, back)]  # a gap that no tick has seen
    assert commands.fault
    np.testing.assert_allclose(sent[-1], TORQUES / 2)


def test_every_value_is_within_its_limit_and_who_is_cut_is_named() -> None:
    commands = switch(limits=np.array([50.0, 30.0]))
    commands.enable(0.0)
    sent = np.array(run(commands, 0.0, 1.5))
    assert np.abs(sent[:, 1]).max() == 30
    assert commands.cut == {'b': -40.0}
    commands.forget_cuts()
    commands.follow(1.5, np.array([1.0, 2.0]))
    assert not commands.cut


@pytest.mark.parametrize(
    ('before', 'share', 'seconds'),
    [('rising', 0.15, 2.5), ('on', 1.0, 2.5), ('falling', 0.85, 2.5), ('fault', 0.85, 2.5), ('nearly down', 0.1, 1.0)],
)
def test_in_a_hurry_what_was_sent_last_is_taken_back_in_time(before: str, share: float, seconds: float) -> None:
    commands, now = switch(ramp=10.0), 0.0
    for what, lasting in {
        'rising': [('enable', 1.5)],
        'on': [('enable', 11.0)],
        'falling': [('enable', 11.0), ('disable', 1.5)],
        'fault': [('enable', 11.0), ('fault', 1.5)],
        'nearly down': [('enable', 11.0), ('disable', 9.0)],
    }[before]:
        if what == 'enable':
            commands.enable(now)
        else:
            commands.disable(now, 'why' if what == 'fault' else '')
        run(commands, now, lasting)
        now += lasting
    commands.hurry(now, 2.5)
    sent = np.array([x for x in run(commands, now, seconds + 0.05, None) if x is not None])
    left = 1 - DT * np.arange(1, len(sent) + 1) / seconds
    np.testing.assert_allclose(sent, np.maximum(left, 0)[:, None] * share * TORQUES, atol=1e-9)
    assert abs(len(sent) * DT - seconds) < 1.5 * DT
    assert not sent[-1].any()
    assert commands.stage is Stage.OFF


def test_without_anybody_to_send_to_it_stops_at_once_and_begins_anew_from_nothing() -> None:
    commands = switch()
    commands.enable(0.0)
    run(commands, 0.0, 1.5)
    commands.drop('nobody')
    assert (commands.stage, commands.fault) == (Stage.OFF, 'nobody')
    assert not any(sent is not None for sent in run(commands, 1.5, 0.5))
    commands.enable(2.0)
    np.testing.assert_allclose(run(commands, 2.0, 0.1)[-1], 0.1 * TORQUES)
    commands.disable(2.1)
    run(commands, 2.1, 0.05)
    commands.drop('nobody')  # it was off on request: no fault
    assert (commands.stage, commands.fault) == (Stage.OFF, '')


@pytest.mark.parametrize('limits', [[50.0, 0.0], [50.0, np.nan], [50.0, -1.0]])
def test_a_joint_without_a_limit_is_not_commanded(limits: list[float]) -> None:
    commands = switch(limits=np.array(limits))
    with pytest.raises(ArgumentError, match='no effort limit is known of b'):
        commands.enable(0.0)
    assert commands.follow(0.1, TORQUES) is None
    assert 'command_joints' in EffortCommands([]).trouble()


steps = st.lists(
    st.tuples(
        st.sampled_from(['follow', 'follow', 'follow', 'tick', 'tick', 'enable', 'disable']),
        st.floats(0.001, 0.15),
        st.lists(st.floats(-200, 200), min_size=2, max_size=2),
    ),
    max_size=80,
)


@given(steps, st.floats(0.0, 2.0))
def test_in_every_life_commands_are_within_limits_begin_enabled_and_end_at_zero(steps: list[Any], ramp: float) -> None:
    commands, now, last, asked = switch(ramp=ramp), 0.0, None, False
    for what, dt, torques in steps:
        now += dt
        sent = None
        if what == 'follow':
            sent = commands.follow(now, np.array(torques))
        elif what == 'tick':
            sent = commands.tick(now)
        elif what == 'enable':
            commands.enable(now)
            asked = True
        else:
            commands.disable(now)
        if sent is not None:
            assert asked
            assert (np.abs(sent) <= LIMITS).all()
            last = sent
    for _ in range(int(3 / DT)):  # the sender of torques dies
        now += DT
        sent = commands.tick(now)
        last = last if sent is None else sent
    assert commands.stage is Stage.OFF
    assert last is None or not last.any()


@given(steps, st.floats(0.1, 2.0))
def test_with_steady_torques_no_step_is_larger_than_the_ramp_allows(steps: list[Any], ramp: float) -> None:
    commands, now, last, before = switch(ramp=ramp, timeout=1e9), 0.0, np.zeros(2), 0.0
    for what, dt, _ in steps:
        now += dt
        if what == 'enable':
            commands.enable(now)
        elif what == 'disable':
            commands.disable(now)
        else:
            sent = commands.follow(now, TORQUES)
            if sent is not None:
                assert (np.abs(sent - last) <= np.abs(TORQUES) * (now - before) / ramp + 1e-9).all()
                last = sent
            before = now if sent is not None or commands.stage is Stage.OFF else before
