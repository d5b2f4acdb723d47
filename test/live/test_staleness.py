"""When an input counts: tables of times, without DDS. Times are ms; stamps are of the sender, arrivals of who hears."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.live.engine import Engine
from krang_dynamics_ros.live.joint_tracker import JointTracker
from krang_dynamics_ros.live.parameters import MODEL
from krang_dynamics_ros.live.state_checks import JointBounds
from krang_dynamics_ros.live.wrenches import WrenchInput

from ..imu import pitching

MS = 1_000_000
HOUR = 3_600_000
UNSTAMPED = 0
NOTHING = np.empty(0)


@pytest.mark.parametrize(
    ('state', 'wrench', 'arrived', 'now', 'counts'),
    [
        # stamps of joint state and wrench; when the wrench came; when the joint state is worked on
        (5000, 5000, 5000, 5000, True),
        (5100, 5000, 5000, 5000, True),
        (5101, 5000, 5000, 5000, False),
        (5000, 5100, 5000, 5000, True),  # it may have overtaken the state
        (5000, 5101, 5000, 5000, False),  # of a time yet to come: the clocks differ
        (5000, 5000, 5000, 5100, True),
        (5000, 5000, 5000, 5101, False),  # it came too long ago, whatever the stamps
        (5000, 5000, HOUR, HOUR, True),  # a bag of long ago
        (HOUR, HOUR, 5000, 5000, True),  # another machine's clock
        (5000, UNSTAMPED, 4900, 5000, True),
        (5000, UNSTAMPED, 4899, 5000, False),
        (UNSTAMPED, 9000, 4900, 5000, True),
        (UNSTAMPED, 9000, 4899, 5000, False),
        (5000, UNSTAMPED, 5100, 5000, True),
        (5000, UNSTAMPED, 5101, 5000, False),  # it came before the clock was set back
        (5000, 5000, HOUR, 5000, False),
    ],
)
def test_a_wrench_belongs_to_a_joint_state_of_its_own_time(
    state: int, wrench: int, arrived: int, now: int, counts: bool
) -> None:
    hand = WrenchInput('left', 'R10l', timeout=0.1)
    assert hand.wrench(state * MS, now * MS) is None
    assert hand.update('', (1.0, 2, 3), (4.0, 5, 6), wrench * MS, arrived * MS)
    assert (hand.wrench(state * MS, now * MS) is not None) == counts
    hand.timeout = 10 * HOUR / 1000
    assert hand.wrench(state * MS, now * MS) is not None
    hand.forget()
    assert hand.wrench(state * MS, now * MS) is None


@pytest.mark.parametrize(
    ('messages', 'now', 'missing'),
    [
        # each message: joints, stamp, arrival
        ([], 5000, 'ab'),
        ([('ab', 5000, 5000)], 5000, ''),
        ([('ab', 5000, 5000)], 5100, ''),
        ([('ab', 5000, 5000)], 5101, 'ab'),
        ([('a', 5000, 5000)], 5000, 'b'),
        ([('a', 5000, 5000), ('b', 5100, 5050)], 5050, ''),
        ([('a', 5000, 5000), ('b', 5101, 5050)], 5050, 'a'),  # the parts are of two times
        ([('a', 5000, 5000), ('b', 5000, 5050)], 5101, 'a'),
        ([('b', 5100, 5000), ('a', 5000, 5050)], 5050, ''),  # the older part came later
        ([('a', UNSTAMPED, 5000), ('b', 9000, 5050)], 5050, ''),
        ([('a', UNSTAMPED, 5000), ('b', 9000, 5050)], 5101, 'a'),
        ([('ab', 9000, 5000), ('b', 8899, 5050)], 5050, 'a'),  # time went back: what was known is forgotten
        ([('ab', 9000, 5000), ('b', 8900, 5050)], 5050, ''),  # only out of order: no new value
        ([('ab', 9000, 5000), ('ab', 9000, 5050)], 5100, ''),  # the same stamp again
        ([('ab', 9000, 5000), ('ab', 9000, 5050)], 5101, 'ab'),  # it makes nothing younger
        ([('ab', 9000, 5000), ('b', 9000, 5050), ('a', 9001, 5050)], 5101, 'b'),
        ([('ab', 9000, 5000), ('ab', 8999, 5050)], 5101, 'ab'),
        ([('ab', UNSTAMPED, 5000), ('ab', UNSTAMPED, 5050)], 5101, ''),  # arrival alone
        ([('ab', 5000, 5000), ('b', 5101, 5050)], 5050, 'a'),  # though the last message of all is young
        ([('ab', HOUR, 5000)], 5000, ''),
        ([('a', UNSTAMPED, 5000), ('b', UNSTAMPED, 4900)], 4900, ''),
        ([('ab', UNSTAMPED, 5101)], 5000, 'ab'),  # the clock was set back
        ([('ab', 5000, HOUR)], 5000, 'ab'),
        ([('a', UNSTAMPED, HOUR), ('b', UNSTAMPED, 5000)], 5000, 'a'),
        ([('a', UNSTAMPED, HOUR), ('b', UNSTAMPED, 5000), ('b', UNSTAMPED, HOUR)], HOUR, 'a'),  # it stays forgotten
        ([('a', HOUR, HOUR), ('b', 5000, 5000), ('b', HOUR, HOUR)], HOUR, 'a'),
    ],
)
def test_a_joint_counts_while_it_is_of_the_time_of_the_others(
    messages: list[tuple[str, int, int]], now: int, missing: str
) -> None:
    states = tracker('ab')
    for names, stamp, arrival in messages:
        states.update([*names], np.ones(len(names)), NOTHING, NOTHING, stamp * MS, arrival * MS)
    assert ''.join(states.missing(now * MS)) == missing
    assert states.complete(now * MS) == (not missing)


def tracker(names: str) -> JointTracker:
    n = len(names)
    return JointTracker([*names], JointBounds.of([2.0] * n, [False] * n, [False] * n), 0.1)


@pytest.fixture(scope='module')
def model() -> Model:
    return load_model()


class Played:
    """A robot whose messages are played to it at chosen times."""

    def __init__(self, model: Model, **given: Any) -> None:
        values = {name.replace('__', '.'): value for name, value in given.items()}
        self.settings = Settings(values)
        self.settings.declare(MODEL)
        self.engine = Engine(self.settings, model)
        self.names = model.dynamics.joint_names

    def set(self, **changes: Any) -> None:
        values = {name.replace('__', '.'): value for name, value in changes.items()}
        self.settings.check(values)
        self.settings.update(values)

    def push(self, stamp: int, now: int | None = None) -> None:
        now = stamp if now is None else now
        assert self.engine.inputs.on_wrench('left', '', (10.0, 0, 0), (0.0, 0, 0), stamp * MS, now * MS)

    def hear(self, stamp: int, now: int | None = None) -> Any:
        q = np.zeros(len(self.names))
        now = stamp if now is None else now
        torques = self.engine.on_joint_state(self.names, q, NOTHING, NOTHING, stamp * MS, now * MS)
        assert torques is not None
        return torques

    def wrench_torque(self, stamp: int, now: int | None = None) -> np.ndarray:
        torque = self.hear(stamp, now).term('wrench')
        assert torque is not None
        return torque


@pytest.mark.parametrize(
    'change',
    [{'left__sense': 'applied_on_robot'}, {'left__moment_about': 'hand'}],
    ids=lambda change: next(iter(change)),
)
def test_a_new_meaning_forgets_what_came_under_the_old_one(change: dict[str, str], model: Model) -> None:
    robot = Played(model)
    robot.push(5000)
    before = robot.wrench_torque(5000)
    assert np.abs(before).max() > 1
    robot.set(wrench_timeout=0.2)
    np.testing.assert_array_equal(robot.wrench_torque(5001), before)
    robot.set(**change)
    assert not robot.wrench_torque(5002).any()
    robot.push(5003)
    sign = -1 if 'left__sense' in change else 1
    np.testing.assert_allclose(robot.wrench_torque(5003), sign * before)


@pytest.mark.parametrize(
    ('stamp', 'is_new'),
    [(5000, False), (4999, False), (4900, False), (4899, True), (5001, True), (UNSTAMPED, True)],
)
def test_a_wrench_whose_stamp_does_not_advance_is_no_new_reading(stamp: int, is_new: bool) -> None:
    """The one before ages; one from further back than the timeout is of a time that began anew."""
    hand = WrenchInput('left', 'R10l', timeout=0.1)
    assert hand.update('', (1.0, 0, 0), (0.0, 0, 0), 5000 * MS, 5000 * MS)
    assert hand.update('', (2.0, 0, 0), (0.0, 0, 0), stamp * MS, 5090 * MS) == is_new
    assert hand.refusals.count == 0
    wrench = hand.wrench(UNSTAMPED, 5101 * MS)
    assert (wrench is not None) == is_new
    assert wrench is None or wrench.force[0] == 2.0


def test_a_reading_without_a_stamp_before_one_with_a_stamp_is_no_obstacle() -> None:
    hand = WrenchInput('left', 'R10l', timeout=0.1)
    assert hand.update('', (1.0, 0, 0), (0.0, 0, 0), UNSTAMPED, 5000 * MS)
    assert hand.update('', (2.0, 0, 0), (0.0, 0, 0), 5 * MS, 5001 * MS)


@pytest.mark.parametrize('bad', [('nowhere', 1.0), ('', np.nan), ('', 1e9)])
def test_a_refused_reading_leaves_the_one_before_which_ages(bad: tuple[str, float]) -> None:
    hand = WrenchInput('left', 'R10l', timeout=0.1)
    assert hand.update('', (1.0, 0, 0), (0.0, 0, 0), 5000 * MS, 5000 * MS)
    assert not hand.update(bad[0], (bad[1], 0, 0), (0.0, 0, 0), 5090 * MS, 5090 * MS)
    wrench = hand.wrench(5090 * MS, 5090 * MS)
    assert wrench is not None
    assert wrench.force[0] == 1.0
    assert hand.wrench(5101 * MS, 5101 * MS) is None


def test_readings_while_a_joint_is_not_known_make_no_zero(model: Model) -> None:
    robot = Played(model)
    names, zeros = robot.names[:8], np.zeros(8)
    for now in range(5000, 6000, 10):
        robot.engine.inputs.on_joint_state(names, zeros, NOTHING, NOTHING, now * MS, now * MS)
        robot.push(now)
    with pytest.raises(ArgumentError, match='no readings while all joints are known'):
        robot.engine.inputs.zero('left', now * MS)
    robot.hear(now + 1)
    robot.push(now + 1)
    with pytest.raises(ArgumentError, match=r'0\.0 s of readings, must'):
        robot.engine.inputs.zero('left', (now + 1) * MS)


def test_a_clock_that_jumps_forgets_all(model: Model) -> None:
    robot = Played(model)
    robot.push(5000)
    assert robot.wrench_torque(5000).any()
    robot.engine.inputs.forget(5000 * MS)
    assert len(robot.engine.inputs.states.missing(5000 * MS)) == 17
    assert not robot.wrench_torque(5000).any()


def test_a_bag_that_begins_anew_forgets_wrenches_of_later(model: Model) -> None:
    robot = Played(model, wrench_timeout=1.0)
    robot.push(9000)
    assert robot.wrench_torque(9000).any()
    assert not robot.wrench_torque(5000, 9100).any()
    assert not robot.wrench_torque(8500, 9200).any()  # not even once time comes near it again
    robot.push(8501, 9300)
    assert robot.wrench_torque(8501, 9300).any()
    robot.push(4000, 9400)  # of the time that comes next
    assert robot.wrench_torque(4000, 9400).any()


@pytest.mark.parametrize('stamped', [False, True])
def test_a_clock_that_is_set_back_keeps_no_dead_sensor_alive(model: Model, stamped: bool) -> None:
    robot = Played(model, wrench_timeout=1.0)
    robot.push(UNSTAMPED, HOUR)
    stamp = HOUR if stamped else UNSTAMPED
    assert robot.wrench_torque(stamp, HOUR).any()
    stamp = 5000 if stamped else UNSTAMPED
    assert not robot.wrench_torque(stamp, 5000).any()
    stamp = HOUR if stamped else UNSTAMPED
    assert not robot.wrench_torque(stamp, HOUR).any()  # not even once time comes near it again
    robot.push(UNSTAMPED, HOUR)
    assert robot.wrench_torque(stamp + 1 if stamped else UNSTAMPED, HOUR).any()


def test_an_unknown_velocity_is_no_fault_and_a_position_that_is_not_finite_names_its_joint() -> None:
    states = tracker('abc')
    names, q, dq = ['c', 'a', 'b'], np.array([0.3, 0.1, 0.2]), np.array([3.0, np.nan, 2.0])
    assert states.update(names, q, dq, NOTHING, UNSTAMPED, 5000 * MS)
    np.testing.assert_array_equal(states.velocity, [np.nan, 2.0, 3.0])
    assert not states.update(names, np.array([0.3, 0.1, np.inf]), dq, NOTHING, UNSTAMPED, 5002 * MS)
    assert states.refusals.reason.startswith('position of b: inf, must be finite')
    assert not states.update(names, q, np.array([3.0, 2e6, np.nan]), NOTHING, UNSTAMPED, 5004 * MS)
    assert states.refusals.reason.startswith('velocity of a: 2000000.0, must be finite, at most')


@pytest.mark.parametrize('back', [4000, 4880, 4950])
def test_many_joint_states_at_once_end_where_the_clock_was_set_back(back: int) -> None:
    states, now = tracker('a'), np.array([5000, 5002, back, back + 2]) * MS
    assert states.update(['a'], np.ones(1), NOTHING, NOTHING, UNSTAMPED, 5000 * MS)
    columns = [np.ones((4, 1)), np.empty((4, 0)), np.empty((4, 0))]
    known = states.on_rows(['a'], columns, np.zeros(4, dtype=np.int64), now)
    assert known is not None
    assert known.shape[1] == 2
    rest = [column[2:] for column in columns]
    assert states.on_rows(['a'], rest, np.zeros(2, dtype=np.int64), now[2:]) is None
    assert states.update(['a'], np.ones(1), NOTHING, NOTHING, UNSTAMPED, back * MS)
    assert states.timeline.time_resets == (back < 5002 - 100)


def test_a_state_has_the_newest_stamp_of_its_parts(model: Model) -> None:
    """Time of arrival is of another clock than stamps: it stands in only where no part has one."""
    robot, zeros = Played(model), np.zeros(9)
    inputs, parts = robot.engine.inputs, (robot.names[:8], robot.names[8:])

    def stamps(*told: int) -> list[int]:
        found = []
        for names, stamp in zip(parts, told, strict=True):
            q = zeros[: len(names)]
            state = inputs.on_joint_state(names, q, NOTHING, NOTHING, stamp * MS, 5000 * MS)
            found += [] if state is None else [state.stamp // MS]
        return found

    assert stamps(UNSTAMPED, UNSTAMPED) == [5000]
    assert stamps(9000, UNSTAMPED) == [9000, 9000]
    assert stamps(9002, 9001) == [9002, 9001]
    assert stamps(UNSTAMPED, UNSTAMPED) == [9001, 5000]


UPRIGHT, TILTED = (1.0, 0.0, 0.0, 0.0), (np.cos(0.05), 0.0, np.sin(0.05), 0.0)


def test_an_imu_stands_for_its_joint_alone(model: Model, robot: Robot) -> None:
    played = Played(model, imu_joint='q_imu')
    inputs, zeros = played.engine.inputs, np.zeros(robot.n)

    def state(now: int) -> Any:
        return inputs.on_joint_state(robot.joint_names, zeros, zeros, NOTHING, now * MS, now * MS)

    assert state(5000) is None  # what a joint state says of that joint does not count
    inputs.on_imu(pitching(TILTED, 0.5, (0.0, 0.0), 5000 * MS, 5000 * MS))
    known = state(5001)
    assert known is not None
    assert (known.q[0], known.dq[0]) == (pytest.approx(0.1), 0.5)
    inputs.on_imu(pitching(UPRIGHT, 0.5, (-1.0, 0.0), 5010 * MS, 5010 * MS))  # says that it has no orientation
    assert inputs.states.refusals.count == 1
    assert 'orientation' in inputs.states.refusals.reason
    assert inputs.states.position[0] == pytest.approx(0.1)
    inputs.on_imu(pitching(UPRIGHT, 0.5, (0.0, -1.0), 5020 * MS, 5020 * MS))  # says that it has no rate
    known = state(5021)
    assert known is not None
    assert known.q[0] == 0
    assert known.dq is None


def test_an_imu_whose_time_goes_back_forgets_readings_of_later(model: Model) -> None:
    robot = Played(model, imu_joint='q_imu', wrench_timeout=1.0)
    robot.push(9000)
    robot.engine.inputs.on_imu(pitching(UPRIGHT, 0.0, (0.0, 0.0), 9000 * MS, 9000 * MS))
    assert robot.wrench_torque(9000).any()
    robot.engine.inputs.on_imu(pitching(UPRIGHT, 0.0, (0.0, 0.0), 7500 * MS, 9010 * MS))
    robot.engine.inputs.on_imu(pitching(UPRIGHT, 0.0, (0.0, 0.0), 8500 * MS, 9020 * MS))
    assert not robot.wrench_torque(8500, 9020).any()


def clocks(now: Callable[[], int]) -> SimpleNamespace:
    """Return the clocks of a node, both with one time, ns."""
    return SimpleNamespace(arrival=now, stamp=now)


@pytest.fixture(scope='module')
def health() -> Iterator[Callable[[Played, int], dict[str, tuple[bytes, str]]]]:
    """Give what diagnostics would say of a robot at a time."""
    pytest.importorskip('rclpy', reason='rclpy is not installed: there are no diagnostics')
    module = importlib.import_module('krang_dynamics_ros.nodes.dynamics.diagnostics')

    def say(robot: Played, now: int) -> dict[str, tuple[bytes, str]]:
        statuses = module.DynamicsHealth(robot.engine, clocks(lambda: now * MS)).statuses()
        return {status.name: (status.level, status.message) for status in statuses}

    yield say


def test_diagnostics_say_which_term_is_not_finite(health: Any) -> None:
    levels = importlib.import_module('krang_dynamics_ros.nodes.diagnostics')
    robot = Played(load_model())
    robot.wrench_torque(5000)
    assert health(robot, 5000)['torques'] == (levels.OK, 'finite')
    for k, (summed, silent) in enumerate((('gravity', 'torque/gravity, torque/total'), ('friction', 'torque/gravity'))):
        robot.set(total_terms=[summed])
        robot.engine.dynamics.gravity = np.array([0.0, 0.0, -1e308])  # the parameter does not take it
        torques = robot.hear(5001 + k)
        with np.errstate(over='ignore', invalid='ignore'):
            assert torques.term('gravity') is None
        level, words = health(robot, 5000)['torques']
        assert level == levels.ERROR
        assert re.fullmatch(
            rf'no {silent}: gravity is -?(inf|nan) for q_\w+, must be finite, and its square too', words
        )
        assert health(robot, 5000)['torques'] == (levels.OK, 'finite')  # none since


def test_a_refusal_warns_once_and_not_for_ever(model: Model, health: Any) -> None:
    """It is counted since the last report of the same diagnostics."""
    module = importlib.import_module('krang_dynamics_ros.nodes.dynamics.diagnostics')
    robot = Played(model)
    diagnostics = module.DynamicsHealth(robot.engine, clocks(lambda: 5000 * MS))
    robot.hear(5000)
    robot.engine.inputs.on_wrench('left', 'nowhere', (1.0, 0, 0), (0.0, 0, 0), 5000 * MS, 5000 * MS)
    robot.engine.on_joint_state(robot.names, np.full(17, np.nan), NOTHING, NOTHING, 5001 * MS, 5000 * MS)
    for expected in (True, False):
        told = {status.name: status for status in diagnostics.statuses()}
        for name in ('joint states', 'wrench left'):
            assert ('1 messages refused' in told[name].message) == expected
            assert told[name].values['refused'] == 1


def test_diagnostics_say_which_stamps_do_not_advance_and_which_part_is_behind(model: Model, health: Any) -> None:
    module = importlib.import_module('krang_dynamics_ros.nodes.dynamics.diagnostics')
    robot, zeros = Played(model), np.zeros(9)
    parts = robot.names[:8], robot.names[8:]
    now = [5000]
    diagnostics = module.DynamicsHealth(robot.engine, clocks(lambda: now[0] * MS))

    def joint_states() -> Any:
        return next(status for status in diagnostics.statuses() if status.name == 'joint states')

    robot.hear(5000)
    assert joint_states().values['in parts'] == 'no'
    for names, stamp in ((parts[0], 5010), (parts[1], 5090)):
        robot.engine.on_joint_state(names, zeros[: len(names)], NOTHING, NOTHING, stamp * MS, 5000 * MS)
    told = joint_states().values
    assert (told['in parts'], told['behind the newest stamp']) == ('yes', ', '.join(parts[0]))
    for now[0] in range(5001, 5200):
        robot.engine.on_joint_state(parts[0], zeros[:8], NOTHING, NOTHING, 5010 * MS, now[0] * MS)
    assert joint_states().message.endswith('; 199 messages had stamps that do not advance')


def test_diagnostics_warn_of_a_wrench_that_is_needed_and_of_one_of_another_time(model: Model, health: Any) -> None:
    levels = importlib.import_module('krang_dynamics_ros.nodes.diagnostics')
    robot = Played(model)
    robot.wrench_torque(5000)
    none = 'none received yet: counts as no wrench'
    assert health(robot, 5000)['wrench left'] == (levels.OK, none)
    robot.set(total_terms=['gravity', 'wrench'])
    assert health(robot, 5000)['wrench left'] == (levels.WARN, none)
    robot.push(5000)
    assert health(robot, 5000)['wrench left'] == (levels.OK, 'fresh')
    level, words = health(robot, 5200)['wrench left']
    assert (level, words) == (levels.WARN, 'the latest is old, must be within 0.1 s: counts as no wrench')
    robot.push(5350, 5000)
    level, words = health(robot, 5000)['wrench left']
    assert level == levels.WARN
    assert 'the latest is stamped 0.350 s after the joint states, must be within 0.1 s' in words
