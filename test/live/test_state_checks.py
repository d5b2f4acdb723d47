"""Joint states that commands must not follow: jumps, resets, contradictions, lateness. Times are ms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krang_dynamics_ros.live.joint_tracker import JointTracker
from krang_dynamics_ros.live.state_checks import STATE_RULES, JointBounds, StateChecks

MS = 1_000_000
UNSTAMPED = 0
NOTHING = np.empty(0)
EPOCH = 1_700_000_000_000  # ms


class Robot:
    """Joints a and b turn at 2 rad/s at most, c turns without end, d slides, e has a limit of zero."""

    def __init__(self) -> None:
        bounds = JointBounds.of(
            [2.0, 2.0, None, None, 0.0], [False, False, False, True, False], [False, False, True, False, False]
        )
        self.names = ['a', 'b', 'c', 'd', 'e']
        self.tracker = JointTracker(self.names, bounds, 0.1)
        self.tracker.timeline.on_reset(self.count)
        self.checks: StateChecks = self.tracker.checks
        self.forgot = 0

    def count(self) -> None:
        self.forgot += 1

    def send(self, now: float, stamp: float | None = None, dq: dict[str, float] | None = None, **q: float) -> bool:
        """Let a message come of the joints that are named, at a time; return whether it was accepted."""
        velocity = np.array([(dq or {}).get(name, 0.0) for name in q])
        stamp = EPOCH + now if stamp is None else stamp
        return self.tracker.update([*q], np.array([*q.values()]), velocity, NOTHING, round(stamp * MS), round(now * MS))

    def position(self, name: str) -> float:
        return float(self.tracker.position[self.names.index(name)])

    def fault(self, now: float) -> str:
        return self.checks.fault(round(now * MS))


@pytest.fixture
def robot() -> Robot:
    return Robot()


@pytest.mark.parametrize(
    ('name', 'moved', 'dt', 'accepted'),
    [
        ('a', 0.053, 1, True),  # 2 * 2 rad/s * 1 ms + 0.05 rad
        ('a', 0.055, 1, False),
        ('a', -0.055, 1, False),
        ('a', 0.44, 100, True),
        ('a', 0.46, 100, False),
        ('a', 4.0, 1000, True),  # a gap
        ('c', 0.24, 10, True),  # no limit is known: 10 rad/s
        ('c', 0.26, 10, False),
        ('c', 2 * np.pi, 1, True),  # it turns without end
        ('c', 2 * np.pi - 0.06, 1, True),
        ('c', 2 * np.pi - 0.08, 1, False),
        ('c', 4 * np.pi, 1, True),
        ('a', 2 * np.pi, 1, False),
        ('d', 0.049, 10, True),  # it slides: 2 m/s
        ('d', 0.051, 10, False),
        ('e', 0.24, 10, True),  # a limit of zero is none
        ('e', 0.26, 10, False),
    ],
)
@pytest.mark.parametrize('stamped', [True, False])
def test_a_sample_that_no_joint_can_reach_is_refused_and_counted(
    robot: Robot, name: str, moved: float, dt: float, accepted: bool, stamped: bool
) -> None:
    stamp = None if stamped else UNSTAMPED
    assert robot.send(5000, stamp, **{name: 0.3})
    assert robot.send(5000 + dt, stamp, **{name: 0.3 + moved}) == accepted
    assert robot.position(name) == pytest.approx(0.3 + moved * accepted)
    assert robot.tracker.refusals.count == (not accepted)
    if not accepted:
        assert robot.tracker.refusals.reason.startswith(f'{name}: ')
    assert robot.forgot == 0


def test_time_between_two_samples_goes_by_their_stamps(robot: Robot) -> None:
    """Two messages that come at once are as far apart as they were read."""
    assert robot.send(5000, 9000, a=0.0)
    assert robot.send(5000, 9100, a=0.4)
    assert not robot.send(5100, 9101, a=0.6)


def test_a_refused_message_makes_no_joint_younger(robot: Robot) -> None:
    robot.send(5000, a=0.0, b=0.0)
    robot.send(5090, a=3.0, b=0.0)
    assert robot.tracker.missing(5100 * MS) == ['c', 'd', 'e']
    assert robot.tracker.missing(5101 * MS) == robot.names


def test_three_samples_in_a_row_that_agree_are_the_new_truth(robot: Robot) -> None:
    robot.send(5000, a=0.0, b=0.1)
    assert not robot.send(5010, a=2.0, b=0.1)
    assert not robot.send(5020, a=2.02, b=0.1)
    assert robot.forgot == 0
    assert robot.send(5030, a=2.04, b=0.1)
    assert robot.forgot == 1
    assert robot.position('a') == pytest.approx(2.04)
    assert robot.tracker.timeline.time_resets == 0
    assert robot.send(5040, a=2.06, b=0.1)
    assert robot.forgot == 1


@pytest.mark.parametrize('samples', [(2.0, 0.0, 2.0, 2.0), (2.0, 2.0, 0.01, 2.0), (2.0, -2.0, 2.0, 2.0)])
def test_samples_that_are_not_in_a_row_or_do_not_agree_are_no_new_truth(
    robot: Robot, samples: tuple[float, ...]
) -> None:
    robot.send(5000, a=0.0)
    for k, q in enumerate(samples):
        robot.send(5010 + 10 * k, a=q)
    assert robot.forgot == 0
    assert abs(robot.position('a')) < 0.1


def test_one_refused_message_that_comes_again_is_one_sample(robot: Robot) -> None:
    robot.send(5000, a=0.0)
    for k in range(5):
        assert not robot.send(5010 + k, EPOCH + 5010, a=2.0)
    assert robot.tracker.refusals.count == 1
    assert robot.fault(5020) == ''


def test_two_robots_on_one_topic_never_mix(robot: Robot) -> None:
    """The first one stays; three refused samples within a second are a fault that names joint, values, publishers."""
    robot.checks.publishers = lambda: ['/arm', '/other_arm']
    for k in range(100):
        robot.send(5000 + 10 * k, a=0.3, b=0.1)
        robot.send(5005 + 10 * k, a=-2.0, b=0.1)
        assert robot.position('a') == pytest.approx(0.3)
        assert bool(robot.fault(5006 + 10 * k)) == (k >= 2)
    assert robot.fault(6000) == (
        'a: 3 samples within a second contradict the samples before, the last is -2 rad after 0.3 rad; '
        'joint_states are published by /arm, /other_arm'
    )
    assert robot.fault(7100) == ''


def test_one_stray_sample_or_three_in_two_seconds_are_no_fault(robot: Robot) -> None:
    for k in range(300):
        robot.send(5000 + 10 * k, a=np.pi if k % 100 == 50 else 0.0)
        assert robot.fault(5000 + 10 * k) == ''
    assert robot.tracker.refusals.count == 3


def test_time_that_goes_back_is_a_fault_for_a_second(robot: Robot) -> None:
    robot.send(5000, a=0.0)
    assert robot.fault(5000) == ''
    robot.send(5010, EPOCH + 4800, a=2.0)
    assert robot.forgot == 1
    assert 'time went back' in robot.fault(5010)
    assert 'time went back' in robot.fault(6009)
    assert robot.fault(6011) == ''


def test_a_clock_that_jumps_is_a_fault(robot: Robot) -> None:
    robot.send(5000, a=0.0)
    robot.tracker.on_clock_jump(3000 * MS)
    assert robot.fault(3000) == 'the clock jumped'


def quiet(robot: Robot, messages: Iterator[tuple[float, float, dict[str, float], dict[str, float]]]) -> None:
    """Assert that nothing is said of messages: arrival, stamp, positions, velocities."""
    robot.checks.compare(True)
    for arrival, stamp, q, dq in messages:
        assert robot.send(arrival, stamp, dq, **q)
        assert robot.fault(arrival) == ''
        assert robot.checks.warnings() == []
    assert robot.tracker.refusals.count == robot.forgot == 0


Message = tuple[float, float, dict[str, float], dict[str, float]]


def moving(rate: float, seconds: float = 3.0, late: float = 0.0, amplitude: float = 0.5) -> Iterator[Message]:
    rng = np.random.default_rng(0)
    for k in range(int(seconds * rate)):
        t = k / rate
        q = {name: amplitude * np.sin(3 * t + j) for j, name in enumerate('abcde')}
        dq = {name: 3 * amplitude * np.cos(3 * t + j) for j, name in enumerate('abcde')}
        yield 5000 + 1000 * t + late * rng.uniform(), EPOCH + 1000 * t, q, dq


@pytest.mark.parametrize('rate', [100, 1000])
@pytest.mark.parametrize('late', [0.0, 50.0])
def test_a_broadcaster_is_quiet(robot: Robot, rate: float, late: float) -> None:
    quiet(robot, moving(rate, late=min(late, 1000 / rate)))


def test_three_publishers_are_quiet(robot: Robot) -> None:
    def parts() -> Iterator[Message]:
        for arrival, stamp, q, dq in moving(200):
            for k, names in enumerate(('ab', 'cd', 'e')):
                yield arrival + 0.1 * k, stamp, {x: q[x] for x in names}, {x: dq[x] for x in names}

    quiet(robot, parts())


def test_a_simulator_whose_values_do_not_change_is_quiet(robot: Robot) -> None:
    quiet(robot, ((5000 + k, EPOCH + k, dict.fromkeys('abcde', 0.2), {}) for k in range(1000)))


def test_noise_of_velocities_at_standstill_is_quiet(robot: Robot) -> None:
    rng = np.random.default_rng(0)
    still = dict.fromkeys('abcde', 0.2)
    speeds = (dict(zip('abcde', rng.normal(0, 0.1, 5), strict=True)) for _ in range(3000))
    quiet(robot, ((5000 + k, EPOCH + k, still, dq) for k, dq in enumerate(speeds)))


@pytest.mark.parametrize('speed', [0.5, 1.0, 1.01])
def test_a_simulated_clock_that_is_slower_or_faster_is_quiet(robot: Robot, speed: float) -> None:
    """Arrivals go by that clock as well."""
    dq = dict.fromkeys('abcde', 0.1 / speed)
    times = ((5000 + speed * k, 1e-4 * k) for k in range(2000))
    quiet(robot, ((now, now, dict.fromkeys('abcde', q), dq) for now, q in times))


def test_a_bag_that_loops_goes_on_and_says_no_more_than_that_time_went_back(robot: Robot) -> None:
    robot.checks.compare(True)
    for loop in range(3):
        for arrival, stamp, q, dq in moving(100, seconds=1.7):
            assert robot.send(arrival + 1700 * loop, stamp, dq, **q)
        assert ('time went back' in robot.fault(5000 + 1700 * loop + 900)) == (loop > 0)
        assert robot.fault(5000 + 1700 * loop + 1699) == ''
    assert robot.forgot == 2


def test_positions_that_stand_while_velocities_move_are_a_fault(robot: Robot) -> None:
    """Half of the joints frozen, with new stamps."""
    robot.checks.compare(True)
    for k in range(400):
        robot.send(5000 + k, a=1e-3 * k, b=0.5, c=0.5, dq={'a': 1.0, 'b': 0.21, 'c': 0.19})
        assert ('b: its position is constant' in robot.fault(5000 + k)) == (k >= 200)
    robot.send(5400, a=0.4, b=0.501, c=0.5, dq={'a': 1.0, 'b': 0.21, 'c': 0.19})
    assert robot.fault(5400) == ''


def test_each_comparison_begins_anew(robot: Robot) -> None:
    for begin in (5000, 5150):
        robot.checks.compare(True)
        for k in range(150):  # less than is a fault
            robot.send(begin + k, b=0.5, dq={'b': 0.5})
            assert robot.fault(begin + k) == ''
        robot.checks.compare(False)


def test_a_position_that_freezes_after_a_long_standstill_is_found_as_soon(robot: Robot) -> None:
    robot.checks.compare(True)
    for k in range(0, 60_000, 10):
        robot.send(5000 + k, a=0.5, dq={'a': 0.0})
    for k in range(0, 300, 10):
        robot.send(65_000 + k, a=0.5, dq={'a': 0.5})
    assert 'a: its position is constant for 0.3 s while its velocity is 0.5 rad/s' in robot.fault(65_290)


@pytest.mark.parametrize(('name', 'odd'), [('a', 1.0), ('a', -1.0), ('d', 0.2)])
def test_velocities_that_contradict_positions_are_a_warning_that_names_the_joint(
    robot: Robot, name: str, odd: float
) -> None:
    robot.checks.compare(True)
    told: list[str] = []
    for k in range(400):
        robot.send(5000 + k, dq={name: odd, 'b': 0.1}, **{name: 1e-5 * k, 'b': 1e-4 * k})
        told = robot.checks.warnings()
        share = 1e-3 * k * abs(odd) / (0.008 if name == 'd' else 0.08)  # of the travel of which half is the margin
        assert told if share > 1.1 else not told or share > 0.9
    assert told == [f'velocities contradict positions: {name}; check the sign and unit of the velocities']
    assert robot.fault(5400) == ''


def test_nothing_is_compared_while_nothing_watches(robot: Robot) -> None:
    for k in range(400):
        robot.send(5000 + k, a=0.5, dq={'a': 1.0})
    assert robot.fault(5400) == ''
    robot.checks.compare(True)
    assert robot.fault(5400) == ''
    for k in range(400, 800):
        robot.send(5000 + k, a=0.5, dq={'a': 1.0})
    assert robot.fault(5800)
    assert robot.checks.warnings()
    robot.checks.compare(False)
    assert robot.fault(5800) == ''
    assert not robot.checks.warnings()


@pytest.mark.parametrize('clocks', [0.0, 1e12, -1e12])
def test_states_that_come_late_are_a_fault_whatever_the_clocks(robot: Robot, clocks: float) -> None:
    for k in range(100):
        robot.send(5000 + 10 * k, EPOCH + clocks + 10 * k, a=0.0)
    assert robot.fault(6000) == ''
    for k in range(100, 111):
        robot.send(5000 + 10 * k + 100, EPOCH + clocks + 10 * k, a=0.0)
    assert robot.fault(6200) == ''
    robot.send(6222, EPOCH + clocks + 1120, a=0.0)
    assert robot.fault(6222) == (
        'joint states of a have an additional delay of 0.1 s, must be at most 0.1 s (state_timeout); check the network '
        'and the load'
    )
    robot.send(6223, EPOCH + clocks + 1220, a=0.0)
    assert robot.fault(6223) == ''


def test_lateness_is_of_each_list_of_names_by_itself(robot: Robot) -> None:
    """One publisher's clock is an hour behind, within state_timeout of nothing: each has its own delay."""
    for k in range(100):
        robot.send(5000 + 10 * k, EPOCH + 10 * k, a=0.0)
        robot.send(5000 + 10 * k, EPOCH + 10 * k - 90, b=0.0)
        assert robot.fault(5000 + 10 * k) == ''


def test_clocks_that_drift_are_not_late(robot: Robot) -> None:
    for k in range(2000):
        robot.send(5000 + 100 * k, EPOCH + 99.91 * k, a=0.0)
        assert robot.fault(5000 + 100 * k) == ''


def test_stamps_of_another_clock_are_a_fault_for_enabling(robot: Robot) -> None:
    assert robot.checks.clock_fault(EPOCH * MS) == ''
    robot.send(5000, UNSTAMPED, a=0.0)
    assert robot.checks.clock_fault(EPOCH * MS) == ''
    robot.send(5000, EPOCH, a=0.0)
    for clock, side in ((99, ''), (101, 'behind'), (-99, ''), (-101, 'ahead of')):
        told = robot.checks.clock_fault((EPOCH + clock) * MS)
        assert told == (side and (
            f'stamps of a are 0.101 s {side} this clock, must be within 0.1 s (state_timeout); synchronise the clocks, '
            'or set state_clock to other'
        ))  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.floats(-7, 7)), min_size=2, max_size=60))
def test_an_accepted_state_is_reachable_from_the_state_before(told: list[tuple[int, float]]) -> None:
    """Or three samples in a row said the same, and everything began anew."""
    robot, now, before, since = Robot(), 5000, None, 0
    for dt, q in told:
        now, forgot = now + dt, robot.forgot
        since += dt
        if robot.send(now, a=q):
            reaches = before is None or abs(q - before) <= 4.0 * since * 1e-3 + 0.05 + 1e-12
            assert reaches == (robot.forgot == forgot)
            before, since = q, 0


def test_every_check_is_described() -> None:
    assert len({check.name for check in STATE_RULES}) == len(STATE_RULES) == 6
    assert {check.result for check in STATE_RULES} == {
        'fault', 'warning; fault beside `damping` or `stops`', 'refused',
    }  # fmt: skip
