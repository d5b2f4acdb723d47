"""The commands' state machine: every cell of its table, what is sent over time, and laws under random events."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.live.commands import Commands, Stage
from krang_dynamics_ros.live.fall import MAX_STEP, Fall, fall_seconds, rate_seconds

from ..robots import ROOT

GRAVITY = np.array([10.0, -40.0])
LIMITS = np.array([50.0, 50.0])
DT = 0.01
GUIDING_RATE = 20.0  # 1/s
BRAKE = np.array([-3.0, 2.0])  # what a damper gives
LONGEST_FALL, ZERO_SECONDS = 2.5, 0.5  # s, as the documents say
RAMPS = (0.0, 0.3, 1.0, 10.0)


def machine(ramp: float = 1.0, rate: float = 10.0) -> Commands:
    """Return commands of two joints; `rate` is how many times the limit they may change in a second."""
    commands = Commands(['a', 'b'])
    commands.limits, commands.rates, commands.ramp = LIMITS, rate * LIMITS, ramp
    commands.guiding_rates = GUIDING_RATE * LIMITS
    return commands


class Life:
    """A machine and its clock; keeps what was sent."""

    def __init__(self, ramp: float = 1.0, rate: float = 10.0) -> None:
        self.commands, self.now = machine(ramp, rate), 100.0
        self.total = {'gravity': GRAVITY}
        self.guiding: dict[str, np.ndarray] = {}
        self.fading: tuple[str, ...] = ()
        self.sent: list[Any] = []

    def run(self, seconds: float, states: bool = True) -> Life:
        """Let time go on, with a state at every step or with none."""
        for _ in range(round(seconds / DT)):
            self.now += DT
            news = (self.now, self.total, self.guiding, self.fading)
            command = self.commands.update(*news) if states else self.commands.tick(self.now)
            self.sent.append(None if command is None else command.copy())
        return self

    def enable(self, measured: np.ndarray | None = None, acknowledged: bool = True) -> Life:
        self.commands.enable(self.now, self.total, measured)
        if acknowledged:
            self.commands.acknowledged(self.commands.starts)
        return self

    def until_off(self) -> float:
        """Run until nothing is sent; return how long that took."""
        start = self.now
        while not self.commands.idle:
            self.run(DT)
            assert self.now - start < 30
        return self.now - start

    def went_out(self) -> np.ndarray:
        return np.array([sent for sent in self.sent if sent is not None])


# The table ------------------------------------------------------------------------------------------------------------

STAGES: dict[str, Callable[[Life], Any]] = {
    'off': lambda life: life,
    'rising': lambda life: life.enable().run(0.5),
    'on': lambda life: life.enable().run(1.5),
    'falling': lambda life: (life.enable().run(1.5), life.commands.disable(life.now), life.run(0.2)),
    'falling by a fault': lambda life: (life.enable().run(1.5), life.commands.fail(life.now, 'first'), life.run(0.2)),
    'off, after the controller left with a command': lambda life: (
        life.enable().run(1.5), life.commands.controller_left('left')
    ),
}  # fmt: skip
EVENTS: dict[str, Callable[[Life], Any]] = {
    'enabled': lambda life: life.enable(),
    'all subscribers have acknowledged a zero': lambda life: life.commands.acknowledged(life.commands.starts),
    'disabled': lambda life: life.commands.disable(life.now),
    'a fault': lambda life: life.commands.fail(life.now, 'second'),
    'its controller leaves': lambda life: life.commands.controller_left('left'),
    'the same controller is back': lambda life: life.commands.controller_back(life.now, 'back'),
    'the node is asked to end, or another robot description comes': lambda life: life.commands.end(life.now),
    'the node sends no command for 0.2 s: the sender takes over': lambda life: life.commands.sender_took_over(
        'silent', GRAVITY / 2
    ),
    'the sender dies': lambda life: life.commands.sender_lost('died'),
}


def table() -> list[tuple[str, str, str]]:
    """Return event, state and result of each cell of the table in docs/commands.md."""
    text = (ROOT / 'docs' / 'commands.md').read_text()
    rows = [[cell.strip() for cell in line.strip('|').split('|')] for line in text.splitlines() if line.startswith('|')]
    start = next(k for k, row in enumerate(rows) if row[0] == 'event')
    columns = rows[start][1:]
    cells = []
    for row in rows[start + 2 :]:
        if len(row) != len(columns) + 1:
            break
        cells += [(row[0], column, cell) for column, cell in zip(columns, row[1:], strict=True)]
    return cells


def test_the_documents_table_has_every_event_and_every_state() -> None:
    assert {event for event, _, _ in table()} == set(EVENTS)
    assert {state for _, state, _ in table()} == set(STAGES)


@pytest.mark.parametrize(('event', 'state', 'cell'), table())
def test_an_event_leads_where_the_documents_table_says(event: str, state: str, cell: str) -> None:
    life = Life()
    STAGES[state](life)
    before, fault = life.commands.stage, life.commands.fault
    if 'refused' in cell:
        with pytest.raises(ArgumentError):
            EVENTS[event](life)
    else:
        EVENTS[event](life)
    expected = re.split(r'[,:;]', cell)[0].strip()
    assert life.commands.stage == (before if expected in ('stays', 'refused') else Stage(expected))
    if 'a fault is reported' in cell:
        assert life.commands.fault not in ('', fault)
    elif 'rising' not in cell:  # it clears the fault
        assert life.commands.fault == fault


# What is sent ---------------------------------------------------------------------------------------------------------


def test_off_sends_nothing() -> None:
    assert Life().run(1.0).sent == Life().run(1.0, states=False).sent == [None] * 100


def test_rising_from_zero_follows_the_pose_by_its_share() -> None:
    life = Life().enable()
    for _ in range(100):
        life.total = {'gravity': GRAVITY * (1 + 0.3 * np.sin(life.now))}
        before = life.commands.ramp_fraction
        life.run(DT)
        np.testing.assert_allclose(life.sent[-1], (before + DT) * life.total['gravity'], atol=1e-9)
    life.run(DT)
    assert life.commands.stage is Stage.ON


@pytest.mark.parametrize('ramp', RAMPS)
def test_zeros_are_sent_until_one_is_acknowledged_and_then_the_ramp_begins(ramp: float) -> None:
    life = Life(ramp)
    life.guiding = {'damping': BRAKE}
    life.enable(acknowledged=False).run(3.0)
    assert life.commands.waits
    assert life.commands.seconds_unacknowledged(life.now) == pytest.approx(3.0)
    assert len(life.went_out()) == 300
    assert not life.went_out().any()
    assert life.commands.acknowledged(life.commands.starts)
    assert not life.commands.seconds_unacknowledged(life.now)
    life.run(DT)
    most = life.commands.all_rates * MAX_STEP if not ramp else DT / ramp * np.abs(GRAVITY + BRAKE)
    assert (np.abs(life.sent[-1]) <= most + 1e-9).all()
    life.run(ramp + 0.2)
    assert life.commands.stage is Stage.ON
    np.testing.assert_allclose(life.sent[-1], GRAVITY + BRAKE)


def test_an_acknowledgement_of_an_earlier_start_begins_no_ramp() -> None:
    life = Life().enable().run(0.5)
    earlier = life.commands.starts
    life.commands.controller_left('left')
    life.enable(acknowledged=False)
    assert not life.commands.acknowledged(earlier)
    life.run(0.5)
    assert not life.sent[-1].any()
    assert life.commands.acknowledged(life.commands.starts)
    assert not life.commands.acknowledged(life.commands.starts)
    life.run(0.5)
    np.testing.assert_allclose(life.sent[-1], GRAVITY / 2)


def test_disabling_and_enabling_again_replaces_no_acknowledgement() -> None:
    life = Life().enable(acknowledged=False).run(2.0)
    life.commands.disable(life.now)
    life.run(0.2)
    assert not life.commands.waits
    life.enable(acknowledged=False).run(1.0)
    assert life.commands.seconds_unacknowledged(life.now) == pytest.approx(1.0)
    assert not life.went_out().any()


def test_commands_from_measured_efforts_or_enabled_while_they_fall_wait_for_nothing() -> None:
    life = Life().enable(GRAVITY, acknowledged=False).run(1.5)
    assert life.commands.stage is Stage.ON
    life.commands.disable(life.now)
    life.run(0.75)
    life.enable(acknowledged=False).run(0.5)
    np.testing.assert_allclose(life.sent[-1], 0.75 * GRAVITY)


def test_rising_from_measured_efforts_begins_there_and_fades_to_the_total() -> None:
    measured = np.array([14.0, -30.0])
    life = Life().enable(measured)
    life.run(1.5)
    share = np.clip(DT * np.arange(1, 151), 0, 1)[:, None]
    np.testing.assert_allclose(life.went_out(), (1 - share) * measured + share * GRAVITY, atol=1e-9)


@pytest.mark.parametrize('every', [2, 7])
def test_a_jump_fades_and_the_pose_is_followed(every: int) -> None:
    """A contribution that flickers leaves the others where they are: no error of the pose remains."""
    life = Life().enable().run(1.5)
    push = np.array([0.0, 6.0])
    for k in range(60):
        life.total = {'gravity': GRAVITY * np.cos(0.05 * k)} | ({'wrench left': push} if k % every == 0 else {})
        before = life.sent[-1]
        life.run(DT)
        left = life.sent[-1] - life.total['gravity']
        assert left[0] == pytest.approx(0, abs=1e-9)
        assert -1e-9 <= left[1] <= 6 + 1e-9
        assert abs(life.sent[-1] - before)[1] < 2.5
    life.total = {'gravity': GRAVITY}
    life.run(1.1)
    np.testing.assert_allclose(life.sent[-1], GRAVITY)


def test_each_addition_fades_from_its_own_moment() -> None:
    life = Life().enable().run(1.5)
    life.total = {'gravity': GRAVITY, 'wrench left': np.array([0.0, 6.0])}
    life.run(0.5)
    life.total = life.total | {'wrench right': np.array([4.0, 0.0])}
    life.run(0.25)
    np.testing.assert_allclose(life.sent[-1] - GRAVITY, [4 * 0.24, 6 * 0.74], atol=1e-9)


def test_a_parameter_that_is_set_makes_no_jump() -> None:
    life = Life().enable().run(1.5)
    life.total = {'gravity': -GRAVITY}
    life.commands.replace(life.now, life.total)
    life.run(0.5)
    np.testing.assert_allclose(life.sent[-1], [0, 0], atol=1e-9)
    steps = np.abs(np.diff(life.went_out()[149:], axis=0))
    assert steps.max() == pytest.approx(2 * 40 * DT)


def test_the_sum_is_clipped_before_its_share_is_taken() -> None:
    life = Life()
    life.total = {'gravity': np.array([10.0, -70.0])}
    life.enable().run(0.5)
    np.testing.assert_allclose(life.sent[-1], [5, -25])


def test_the_remainder_of_a_jump_falls_with_the_total() -> None:
    life = Life().enable(GRAVITY + 4.0).run(0.2)
    life.commands.disable(life.now)
    life.run(0.3)
    np.testing.assert_allclose(life.sent[-1], 0.7 * (GRAVITY + 4.0 * 0.5), atol=1e-9)


def test_a_parameter_that_is_set_while_commands_fall_makes_no_jump() -> None:
    life = Life(10.0).enable(GRAVITY).run(10.1)
    life.commands.disable(life.now)
    life.run(0.1)
    life.total = {'gravity': -GRAVITY}
    life.commands.replace(life.now, life.total)
    life.run(0.1)
    np.testing.assert_allclose(life.sent[-1], 0.98 * GRAVITY * (2 * 0.99 - 1), atol=1e-9)


def test_a_jump_is_held_back_by_the_rate_and_the_cause_is_named() -> None:
    life = Life(rate=1.0).enable().run(3.0)
    life.total = {'gravity': GRAVITY + np.array([0, 78.0])}
    life.run(DT)
    np.testing.assert_allclose(life.sent[-1] - life.sent[-2], [0, 50 * DT])
    assert life.commands.slowed == {'b': 'gravity'}
    life.run(2.0)
    np.testing.assert_allclose(life.sent[-1], life.total['gravity'])


@pytest.mark.parametrize(('jump', 'named'), [(0.95, False), (1.05, True)])
def test_a_rate_limit_that_acts_longer_than_a_step_is_named(jump: float, named: bool) -> None:
    life = Life(rate=1.0).enable().run(3.0)
    life.commands.forget_cuts()
    life.total = {'gravity': GRAVITY + np.array([jump * 50 * MAX_STEP, 0.0]), 'friction': np.zeros(2)}
    life.run(DT)
    assert life.commands.slowed == ({'a': 'gravity'} if named else {})
    life.commands.forget_cuts()
    assert not life.commands.slowed


def test_after_a_gap_there_is_no_step() -> None:
    life = Life(rate=1.0).enable().run(3.0)
    life.total = {'gravity': GRAVITY + np.array([0, 78.0])}
    life.now += 5.0
    life.run(DT)
    assert abs(life.sent[-1] - life.sent[-2])[1] == pytest.approx(50 * MAX_STEP)


def test_a_limit_cuts_and_the_joint_is_named() -> None:
    life = Life()
    life.total = {'gravity': np.array([10.0, -70.0])}
    life.enable().run(2.0)
    np.testing.assert_array_equal(life.sent[-1], [10, -50])
    assert life.commands.cut == {'b': (-70.0, 50.0)}
    life.commands.forget_cuts()
    life.commands.sum_limits = np.array([100.0, 60.0])
    life.run(DT)
    assert life.commands.cut == {'b': (-70.0, 50.0)}, 'the smaller limit, and what was requested before any'
    life.commands.firmware_torque = np.array([0.0, -20.0])
    life.run(DT)
    assert life.commands.cut == {'b': (-70.0, 60.0)}, 'the sum with the torque of the firmware'
    life.commands.firmware_torque = np.zeros(2)
    life.commands.forget_cuts()
    life.total = {'gravity': GRAVITY}
    life.run(1.0)
    assert not life.commands.cut


def test_disabling_follows_the_pose_to_zero_sends_zero_and_stops() -> None:
    life = Life().enable().run(1.5)
    life.commands.disable(life.now)
    life.run(0.5)
    np.testing.assert_allclose(life.sent[-1], GRAVITY / 2)
    life.total = {'gravity': GRAVITY * [2, 1]}
    life.run(0.25)
    np.testing.assert_allclose(life.sent[-1], life.total['gravity'] / 4)
    assert life.until_off() == pytest.approx(0.25 + ZERO_SECONDS, abs=2 * DT)
    zeros = [sent is not None and not sent.any() for sent in life.sent[-round(ZERO_SECONDS / DT) :]]
    assert all(zeros)
    assert life.run(1.0).sent[-100:] == [None] * 100


def test_enabled_while_it_falls_it_rises_from_where_it_is() -> None:
    life = Life().enable().run(1.5)
    life.commands.disable(life.now)
    life.run(0.75)
    life.enable(np.array([50.0, 50.0]))  # measured efforts say nothing here
    life.run(0.5)
    np.testing.assert_allclose(life.sent[-1], 0.75 * GRAVITY)
    life.run(0.5)
    assert life.commands.stage is Stage.ON


def test_a_pose_that_needs_nothing_ends_no_fall_before_its_time() -> None:
    life = Life(3.0).enable().run(3.1)
    life.commands.disable(life.now)
    life.run(1.0)
    life.total = {'gravity': np.zeros(2)}
    life.run(0.8)
    assert not life.sent[-1].any()
    life.total = {'gravity': GRAVITY}
    life.run(0.3)
    np.testing.assert_allclose(life.sent[-1], GRAVITY * 0.3)


def test_zero_is_sent_for_long_enough_again_after_it_was_enabled_meanwhile() -> None:
    life = Life().enable().run(1.5)
    life.commands.disable(life.now)
    life.run(1.3)
    assert not life.sent[-1].any()
    life.enable().run(0.2)
    life.commands.disable(life.now)
    assert life.until_off() == pytest.approx(0.2 + ZERO_SECONDS, abs=3 * DT)


def test_a_fault_freezes_what_was_sent_and_no_state_changes_it() -> None:
    life = Life().enable().run(1.5)
    life.commands.fail(life.now, 'why')
    life.total = {'gravity': -5 * GRAVITY}
    life.run(0.5)
    np.testing.assert_allclose(life.sent[-1], GRAVITY / 2)
    life.until_off()
    assert life.commands.fault == 'why'
    life.enable()
    assert life.commands.fault == ''


def test_a_fault_on_the_way_up_takes_what_is_left_of_the_ramp() -> None:
    life = Life().enable().run(0.25)
    life.commands.fail(life.now, 'why')
    assert life.until_off() == pytest.approx(0.25 + ZERO_SECONDS, abs=2 * DT)


def test_a_fault_is_no_faster_than_the_rates() -> None:
    life = Life(ramp=0.0, rate=0.5).enable().run(4.0)
    life.commands.fail(life.now, 'why')
    assert life.until_off() == pytest.approx(40 / 25 + ZERO_SECONDS, abs=3 * DT)


def test_a_controller_that_is_back_is_taken_to_zero_from_what_it_holds() -> None:
    life = Life().enable().run(1.5)
    life.commands.controller_left('left')
    assert life.run(3.0).sent[-1] is None
    life.commands.controller_back(life.now, 'back')
    np.testing.assert_array_equal(life.commands.sent, GRAVITY)
    life.run(DT)
    np.testing.assert_allclose(life.sent[-1], 0.99 * GRAVITY)
    life.until_off()
    life.commands.controller_back(life.now, 'back')
    assert life.commands.idle


def test_the_next_enabling_forgets_the_command_that_a_controller_held() -> None:
    life = Life().enable().run(1.5)
    life.commands.controller_left('left')
    life.enable().run(1.5)
    life.commands.disable(life.now)
    life.until_off()
    life.commands.controller_back(life.now, 'back')
    assert life.commands.idle


def test_a_dead_sender_is_replaced_before_the_fall_begins() -> None:
    life = Life().enable().run(1.5)
    life.commands.sender_lost('died')
    assert life.run(1.0).sent[-1] is None
    life.commands.sender_found(life.now)
    life.run(DT)
    np.testing.assert_allclose(life.sent[-1], 0.99 * GRAVITY)
    life.until_off()
    assert life.commands.fault == 'died'


def test_a_sender_that_took_over_is_waited_for() -> None:
    life = Life().enable().run(1.5)
    life.commands.sender_took_over('silent', 0.3 * GRAVITY)
    np.testing.assert_allclose(life.commands.sent, 0.3 * GRAVITY)
    assert life.run(1.0).sent[-1] is None
    with pytest.raises(ArgumentError, match='silent'):
        life.enable()
    life.commands.sender_ended()
    assert life.commands.idle


FULL = STAGES | {
    'from all of it': lambda life: life.enable(LIMITS * [1, -1]).run(0.1),
    'falling from all of it': lambda life: (
        life.enable(LIMITS * [1, -1]).run(0.1), life.commands.disable(life.now), life.run(0.1)
    ),
    'a fault from all of it': lambda life: (
        life.enable(LIMITS * [1, -1]).run(0.1), life.commands.fail(life.now, 'first'), life.run(0.1)
    ),
}  # fmt: skip


@pytest.mark.parametrize('ramp', RAMPS)
@pytest.mark.parametrize('rate', [0.5, 10.0])
@pytest.mark.parametrize('state', [*FULL][1:])
def test_a_node_that_ends_reaches_zero_in_time(ramp: float, rate: float, state: str) -> None:
    life = Life(ramp, rate)
    life.total = {'gravity': LIMITS * [1, -1]}
    FULL[state](life)
    life.commands.end(life.now)
    life.total = {'gravity': LIMITS * [-1, 1]}  # the pose swings over as fast as it can
    assert life.until_off() <= LONGEST_FALL + ZERO_SECONDS + 2 * DT
    with pytest.raises(ArgumentError, match='the node shuts down'):
        life.enable()


@pytest.mark.parametrize(('ramp', 'seconds'), [(10.0, 2.0), (3.0, 1.5), (0.4, 0.2)])
@pytest.mark.parametrize('asked', [True, False])
def test_a_node_that_ends_takes_what_is_left_of_the_ramp_and_two_seconds_at_most(
    ramp: float, seconds: float, asked: bool
) -> None:
    life = Life(ramp).enable().run(ramp / 2)
    if asked:
        life.commands.disable(life.now)
    life.commands.end(life.now)
    assert life.until_off() == pytest.approx(seconds + ZERO_SECONDS, abs=3 * DT)


def test_a_fall_is_in_proportion_and_within_the_rates() -> None:
    command, rates = np.array([40.0, -2.0]), np.array([100.0, 100.0])
    assert fall_seconds(command, 1.0, 0.1, rates) == pytest.approx(0.4)
    fall = Fall(command, 0.4, rate_seconds(command, rates), 0.0)
    values = np.array([fall.at(t) for t in np.arange(0.01, 1.0, 0.01)])
    np.testing.assert_allclose(values[:, 1] * -20, values[:, 0], atol=1e-12)
    assert np.abs(np.diff(values, axis=0)).max() <= 1.0 + 1e-9
    assert not values[45:].any()
    assert not fall.done(0.5)
    assert fall.done(1.0)


@pytest.mark.parametrize('rate', [0.0, 1e-300, 1.0])
@pytest.mark.parametrize('ramp', RAMPS)
def test_a_fall_reaches_zero_whatever_rates_and_ramp_are(ramp: float, rate: float) -> None:
    command, rates = np.array([40.0, 0.0]), np.full(2, rate)
    seconds = fall_seconds(command, 1.0, ramp, rates)
    fall = Fall(command, seconds, rate_seconds(command, rates), 0.0)
    values = [fall.at(t) for t in np.arange(0.01, LONGEST_FALL + 0.02, 0.01)]
    assert not values[-1].any()


def test_a_joint_at_zero_needs_no_rate() -> None:
    assert rate_seconds(np.array([40.0, 0.0]), np.array([80.0, 0.0])) == pytest.approx(0.5)


def test_a_fall_after_a_gap_makes_no_step_and_then_makes_up_for_it() -> None:
    fall = Fall(np.array([40.0]), 1.0, 0.2, 0.0)
    before = fall.at(0.1)
    assert before - fall.at(0.9) == pytest.approx(40 * MAX_STEP / 0.2)
    values = [fall.at(t)[0] for t in np.arange(0.91, 1.2, 0.01)]
    assert values[-1] == 0
    assert not fall.done(1.2)


def test_a_long_ramp_makes_no_fault_longer_than_allowed() -> None:
    life = Life(10.0).enable(GRAVITY).run(0.1)
    life.commands.fail(life.now, 'why')
    assert life.until_off() == pytest.approx(LONGEST_FALL + ZERO_SECONDS, abs=3 * DT)


@pytest.mark.parametrize('ramp', RAMPS)
@pytest.mark.parametrize('state', ['rising', 'on', 'falling', 'falling by a fault'])
def test_the_process_that_sends_takes_no_longer_than_the_node_would(ramp: float, state: str) -> None:
    """What it is given with a command, at any moment, is what is left of the ramp, and what the rates allow."""
    life = Life(ramp, 2.0).enable().run(0.1)
    life.commands.fail(life.now, 'an earlier one')
    life.until_off()
    life.now = 100.0
    STAGES[state](life)
    for _ in range(20):
        life.run(DT)
        left, sent = life.commands.fall_seconds(life.now), life.commands.sent
        assert life.commands.rate_seconds == pytest.approx(np.abs(sent / life.commands.rates).max())
        assert life.commands.rate_seconds <= left + 1e-9 or state == 'falling by a fault'
        if state == 'falling by a fault':
            assert left == pytest.approx(max(min(ramp, 1.5, LONGEST_FALL), 0.4) - (life.now - 101.5), abs=DT)
        else:
            shortest = min(ramp * life.commands.ramp_fraction, LONGEST_FALL)
            assert left == pytest.approx(max(shortest, life.commands.rate_seconds))


def test_news_of_a_sender_that_was_never_lost_changes_nothing() -> None:
    for news in (lambda life: life.commands.sender_found(life.now), lambda life: life.commands.sender_ended()):
        life = Life()
        STAGES['falling by a fault'](life)
        news(life)
        life.run(0.3)
        np.testing.assert_allclose(life.sent[-1], GRAVITY / 2)
        life = Life().enable().run(1.5)
        news(life)
        assert life.commands.stage is Stage.ON


@pytest.mark.parametrize('ramp', RAMPS)
def test_after_the_ramp_nothing_remains_of_a_jump_and_before_it_is_not_on(ramp: float) -> None:
    life = Life(ramp).enable(GRAVITY + 4.0)
    life.run(ramp / 2)
    if ramp:
        assert life.commands.stage is Stage.RISING
        np.testing.assert_allclose(life.sent[-1], GRAVITY + 2.0, atol=1e-9)
    life.run(ramp / 2 + 0.1)
    assert life.commands.stage is Stage.ON
    np.testing.assert_allclose(life.sent[-1], GRAVITY)
    life.total = {'gravity': GRAVITY, 'wrench': np.array([3.0, 0.0])}
    life.run(ramp + 0.1)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + np.array([3.0, 0.0]))
    assert not life.commands.remainder(life.now).any()


def test_each_enabling_begins_anew_with_the_ramp_that_is_set() -> None:
    life = Life(1.0).enable(GRAVITY + 4.0).run(0.1)
    life.commands.controller_left('left')
    life.commands.ramp = 2.0
    life.enable().run(1.0)
    np.testing.assert_allclose(life.sent[-1], GRAVITY / 2)
    life.commands.controller_left('left')
    life.enable(GRAVITY + 4.0).run(1.0)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + 2.0)
    life.commands.controller_left('left')
    life.commands.ramp = 0.3
    life.enable().run(0.32)
    assert life.commands.stage is Stage.ON


# Guiding --------------------------------------------------------------------------------------------------------------


def braked(life: Life, ramp: float = 1.0) -> Life:
    """Let commands be on, with a damper that gives BRAKE."""
    life.guiding = {'damping': BRAKE}
    life.enable().run(ramp + 0.5)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + BRAKE)
    return life


@pytest.mark.parametrize('measured', [None, GRAVITY + 4.0])
def test_guiding_rises_from_nothing_also_where_commands_begin_at_efforts(measured: np.ndarray | None) -> None:
    life = Life()
    life.guiding = {'damping': BRAKE}
    life.enable(measured).run(0.4)
    np.testing.assert_allclose(life.sent[-1] - life.commands.unguided, 0.4 * BRAKE, atol=1e-9)
    assert life.commands.ramp_fraction == (pytest.approx(0.4) if measured is None else 1)


def test_guiding_is_that_of_the_newest_state_and_leaves_nothing_behind() -> None:
    life = braked(Life())
    life.guiding = {'damping': -BRAKE}
    life.run(DT)
    np.testing.assert_allclose(life.sent[-1], GRAVITY - BRAKE)
    life.guiding = {}
    life.run(DT)
    np.testing.assert_allclose(life.sent[-1], GRAVITY)
    assert not life.commands.remainder(life.now).any()


def test_a_parameter_of_guiding_that_is_set_leaves_no_remainder() -> None:
    life = braked(Life())
    life.commands.replace(life.now, life.total, {'damping': 3 * BRAKE})
    assert not life.commands.remainder(life.now).any()
    life.guiding = {'damping': 3 * BRAKE}
    life.run(2 * DT)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + 3 * BRAKE)


def test_guiding_that_comes_while_commands_are_on_rises_over_the_ramp() -> None:
    life = braked(Life())
    life.guiding = {'damping': BRAKE, 'stops': -2 * BRAKE}
    life.run(0.25)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + BRAKE - 0.5 * BRAKE, atol=1e-9)


def test_guiding_that_is_removed_from_the_total_fades_at_the_newest_state() -> None:
    life = braked(Life())
    life.fading = ('damping',)
    life.run(0.25)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + 0.75 * BRAKE, atol=1e-9)
    life.guiding = {'damping': -2 * BRAKE}
    life.run(0.25)
    np.testing.assert_allclose(life.sent[-1], GRAVITY - BRAKE, atol=1e-9)
    assert life.commands.guiding.names == ['damping']
    life.run(0.6)
    np.testing.assert_allclose(life.sent[-1], GRAVITY, atol=1e-9)
    assert not life.commands.guiding.names
    assert not life.commands.remainder(life.now).any()


def test_guiding_falls_with_the_commands() -> None:
    life = braked(Life())
    life.commands.disable(life.now)
    life.run(0.5)
    np.testing.assert_allclose(life.sent[-1], 0.5 * (GRAVITY + BRAKE))
    life.until_off()


def test_a_state_that_is_late_has_no_guiding() -> None:
    life = braked(Life())
    life.commands.guiding.max_age = 0.035
    life.run(0.03, states=False)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + BRAKE)
    life.run(DT, states=False)
    np.testing.assert_allclose(life.sent[-1], GRAVITY)
    life.run(DT)
    np.testing.assert_allclose(life.sent[-1], GRAVITY + BRAKE)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_fault_ends_guiding_within_the_rates_and_the_rest_falls_as_without_it(sign: int) -> None:
    life, alone = Life(), Life().enable().run(2.0)
    life.guiding = {'stops': sign * np.array([30.0, 30.0])}
    life.enable().run(2.0)
    for one in (life, alone):
        one.commands.fail(one.now, 'why')
        one.sent.clear()
        one.run(1.0)
    excess = np.abs(life.went_out() - alone.went_out())
    assert excess[0, 0] == pytest.approx(30 - GUIDING_RATE * 50 * DT, abs=0.5)
    assert not excess[5:].any()


def test_guiding_beside_the_rest_stays_within_the_limits() -> None:
    life = Life()
    life.guiding = {'stops': np.array([200.0, -200.0])}
    life.enable().run(2.0)
    np.testing.assert_array_equal(life.sent[-1], LIMITS * [1, -1])
    life.commands.sum_limits, life.commands.firmware_torque = np.full(2, 40.0), np.array([15.0, 0.0])
    life.run(1.0)
    np.testing.assert_allclose(life.sent[-1], [25.0, -40.0])


def test_a_controller_that_is_back_held_no_damper() -> None:
    life = braked(Life())
    life.commands.controller_left('left')
    life.commands.controller_back(life.now, 'back')
    np.testing.assert_array_equal(life.commands.sent, GRAVITY + BRAKE)
    life.run(2 * DT)
    np.testing.assert_allclose(life.sent[-1], 0.98 * GRAVITY)


# Laws -----------------------------------------------------------------------------------------------------------------


class Lives(RuleBasedStateMachine):
    """Any sequence of events keeps the laws of what is sent."""

    @initialize(ramp=st.sampled_from(RAMPS), rate=st.sampled_from([0.5, 2.0, 10.0]))
    def begin(self, ramp: float, rate: float) -> None:
        self.life = Life(ramp, rate)
        self.commands = self.life.commands
        self.enabled_since_off = self.left = False
        self.unacknowledged = False  # since commands were enabled from zero
        self.closing_for = self.gaps = 0.0
        self.zero_since = np.inf
        self.last: Any = None

    @rule(total=st.lists(st.floats(-200, 200), min_size=2, max_size=2), push=st.sampled_from([None, 5.0, -90.0]))
    def new_state(self, total: list[float], push: float | None) -> None:
        self.life.total = {'gravity': np.array(total)} | ({} if push is None else {'wrench': np.full(2, push)})
        self.step(states=True)

    @rule(names=st.sets(st.sampled_from(['damping', 'stops', 'friction'])), data=st.data())
    def new_guiding(self, names: set[str], data: st.DataObject) -> None:
        torques = st.lists(st.floats(-120, 120), min_size=2, max_size=2)
        self.life.guiding = {name: np.array(data.draw(torques)) for name in sorted(names)}
        faded = self.commands.remainder(self.life.now + DT)  # it may grow: jumps of both signs fade one after the other
        self.step(states=True)
        np.testing.assert_allclose(self.commands.remainder(self.life.now), faded, atol=1e-9)

    @rule(count=st.integers(1, 80), states=st.booleans())
    def time_goes_on(self, count: int, states: bool) -> None:
        for _ in range(count):
            self.step(states)

    @rule(gap=st.floats(0.0, 2.0))
    def gap(self, gap: float) -> None:
        self.gaps += gap
        self.life.now += gap
        self.step(states=True)

    def step(self, states: bool) -> None:
        stage, self.unguided = self.commands.stage, self.commands.unguided
        weights = dict(self.commands.guiding.weights)
        self.life.run(DT, states)
        sent = self.life.sent[-1]
        self.check(sent, stage)
        if sent is None or sent.any():
            self.zero_since = np.inf
        self.zero_since = min(self.zero_since, self.life.now)
        if stage is not Stage.OFF and self.commands.idle:
            assert not sent.any()
            assert self.life.now - self.zero_since >= ZERO_SECONDS - 1e-9
        if stage is Stage.ON and states and not self.commands.remainder(self.life.now).any():
            wanted = np.clip(np.sum([*self.life.total.values()], axis=0), -LIMITS, LIMITS)
            most, all_most = self.commands.rates * MAX_STEP, self.commands.all_rates * MAX_STEP
            rest = self.unguided + np.clip(wanted - self.unguided, -most, most)
            if weights.keys() == self.life.guiding.keys() and all(weight == 1 for weight in weights.values()):
                both = np.clip(rest + sum(self.life.guiding.values(), np.zeros(2)), -LIMITS, LIMITS)
                step = np.clip(both - self.last, -all_most, all_most)
                np.testing.assert_allclose(sent, self.last + step, atol=1e-6)
            np.testing.assert_allclose(self.commands.unguided, rest, atol=1e-6)
        self.last = sent

    def check(self, sent: Any, stage: Stage) -> None:
        """Hold what was sent to the laws; `stage` is that of before."""
        if self.commands.closing and stage is not Stage.OFF:
            self.closing_for += DT
            assert self.closing_for <= LONGEST_FALL + ZERO_SECONDS + 2 * DT + self.gaps
        if sent is None:
            assert stage is Stage.OFF
            assert self.left or self.last is None or not self.last.any()
            return
        self.left = False
        if self.unacknowledged:
            assert not sent.any()
            assert self.commands.ramp_fraction == 0
        assert (np.abs(sent) <= LIMITS + 1e-9).all()
        if self.last is None:
            return
        rest, before = self.commands.unguided, self.unguided
        assert (np.abs(sent - self.last) <= self.commands.all_rates * MAX_STEP + 1e-9).all()
        if self.commands.idle:
            return
        assert (np.abs(rest - before) <= self.commands.rates * MAX_STEP + 1e-9).all()
        if stage is Stage.FAULT:
            for now, then in ((rest, before), (sent - rest, self.last - before)):
                assert (np.abs(now) <= np.abs(then) + 1e-9).all()
                assert (now * then >= -1e-9).all()

    @rule(measured=st.sampled_from([None, (20.0, -45.0), (49.0, 0.0), (60.0, -55.0)]), acknowledged=st.booleans())
    def enable(self, measured: tuple[float, ...] | None, acknowledged: bool) -> None:
        off = self.commands.idle
        try:
            self.life.enable(None if measured is None else np.array(measured), acknowledged)
        except ArgumentError:
            assert self.commands.stage is Stage.FAULT or self.commands.closing
            return
        self.enabled_since_off = True
        self.unacknowledged = not acknowledged and (measured is None if off else self.unacknowledged)
        if off:
            self.last = None  # the first value after OFF is free

    @precondition(lambda self: self.commands.idle and not self.commands.closing)
    @rule(count=st.integers(1, 80))
    def wait_for_an_acknowledgement(self, count: int) -> None:
        self.enable(None, False)
        self.time_goes_on(count, True)

    @rule(of_earlier_start=st.booleans())
    def acknowledge(self, of_earlier_start: bool) -> None:
        self.unacknowledged = self.unacknowledged and of_earlier_start
        self.commands.acknowledged(self.commands.starts - of_earlier_start)

    @rule()
    def disable(self) -> None:
        self.commands.disable(self.life.now)

    @rule()
    def fail(self) -> None:
        self.commands.fail(self.life.now, 'a fault')

    @precondition(lambda self: not self.commands.idle)
    @rule()
    def controller_leaves(self) -> None:
        self.commands.controller_left('left')
        self.left = True

    @rule()
    def controller_is_back(self) -> None:
        held = self.commands._still_applied
        if self.commands.idle and held is not None:
            self.last, _ = held
        self.commands.controller_back(self.life.now, 'back')

    @rule(goes_on=st.booleans())
    def end(self, goes_on: bool) -> None:
        if not self.commands.closing:
            self.closing_for = self.gaps = 0.0
        self.commands.end(self.life.now)
        self.commands.closing = not goes_on

    @rule(found=st.booleans())
    def the_sender_dies_or_takes_over(self, found: bool) -> None:
        if self.commands.idle:
            return
        if found:
            self.commands.sender_lost('died')
            self.commands.sender_found(self.life.now)
        else:
            self.commands.sender_took_over('silent', np.zeros(2))
            self.commands.sender_ended()
            assert self.commands.idle
            self.last = None

    @rule(total=st.lists(st.floats(-200, 200), min_size=2, max_size=2))
    def a_parameter_is_set(self, total: list[float]) -> None:
        self.life.total = self.life.total | {'gravity': np.array(total)}
        self.commands.replace(self.life.now, self.life.total, self.life.guiding)

    @invariant()
    def rises_only_after_an_enabling(self) -> None:
        if not hasattr(self, 'life'):
            return
        if self.commands.enabled:
            assert self.enabled_since_off
        if self.commands.idle:
            self.enabled_since_off = self.unacknowledged = False
            assert not self.commands.sent.any()


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
