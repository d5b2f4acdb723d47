"""Joint states that come in parts, from several publishers, against one publisher of all joints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krang_dynamics_ros import Dynamics, dynamics_of, load_robot
from krang_dynamics_ros.live.alignment import DEPTH, Alignment
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.messages import JointStateMessage

from ..imu import pitching
from ..parts import BEGIN, BODY, LEFT, RIGHT, Publisher, motion, published

ALL = slice(0, 17)
MS = 1_000_000
WARM = 1_000_000_000  # ns


@pytest.fixture(scope='module')
def krang() -> Dynamics:
    return dynamics_of(load_robot())


def engine(**values: object) -> Engine:
    return engine_of({'backend': 'pinocchio', **values})


def external(robot: Engine, messages: Iterable[JointStateMessage]) -> list[np.ndarray]:
    """Return the external torques after each message that told them."""
    told = (robot.on_joint_state(*message) for message in messages)
    torques = [one.term('external') for one in told if one is not None]
    return [torque for torque in torques if torque is not None]


def worst(publishers: Sequence[Publisher], krang: Dynamics, seconds: float = 2.0) -> float:
    """Return the largest external torque of a robot that nothing touches, N m."""
    torques = external(engine(), published(krang, publishers, seconds))
    assert len(torques) > 100
    return float(np.abs(torques).max())


def test_parts_of_equal_stamps_are_one_publisher_in_whatever_order_they_come(krang: Dynamics) -> None:
    one = external(engine(), published(krang, [Publisher(ALL, 500)], 1.0))
    for delays in ((0.0, 1e-4, 2e-4), (2e-4, 1e-4, 0.0), (1e-4, 5e-3, 0.0), (0.0, 0.0, 0.0)):
        parts = [Publisher(joints, 500, delay) for joints, delay in zip((BODY, LEFT, RIGHT), delays, strict=True)]
        many = np.array(external(engine(), published(krang, parts, 1.0)))
        for torque in one:
            assert np.abs(many - torque).max(axis=1).min() == 0.0 or torque is one[-1]


@pytest.mark.parametrize(
    ('parts', 'most'),
    [
        ([Publisher(ALL, 500)], 0.001),
        ([Publisher(BODY, 500), Publisher(LEFT, 500), Publisher(RIGHT, 500)], 0.001),
        ([Publisher(BODY, 100), Publisher(LEFT, 500), Publisher(RIGHT, 500)], 0.001),
        ([Publisher(BODY, 50), Publisher(LEFT, 500), Publisher(RIGHT, 500)], 0.001),
        ([Publisher(BODY, 200), Publisher(LEFT, 250), Publisher(RIGHT, 333)], 0.002),
        ([Publisher(BODY, 100, 1e-3, 3.7e-3), Publisher(LEFT, 500, 0, 1.1e-3), Publisher(RIGHT, 500)], 0.001),
        ([Publisher(BODY, 500, 8e-3, 7e-4), Publisher(LEFT, 500, 2e-4, 1.1e-3), Publisher(RIGHT, 500)], 0.001),
    ],
    ids=['one', 'equal', '100/500/500', '50/500/500', '200/250/333', 'phases', 'late'],
)
def test_a_robot_that_nothing_touches_shows_nothing_however_its_joints_come(
    krang: Dynamics, parts: list[Publisher], most: float
) -> None:
    """One publisher at the rate of the fastest part shows 0.0004 N m."""
    assert worst(parts, krang) < most


def test_parts_without_stamps_are_aligned_by_their_arrival(krang: Dynamics) -> None:
    parts = [Publisher(BODY, 100), Publisher(LEFT, 500), Publisher(RIGHT, 500)]
    unstamped = (message._replace(stamp=0) for message in published(krang, parts, 2.0))
    assert np.abs(external(engine(), unstamped)).max() < 0.001


def test_lost_messages_show_as_little_as_with_one_publisher(krang: Dynamics) -> None:
    def without(publishers: Sequence[Publisher]) -> list[JointStateMessage]:
        rng = np.random.default_rng(0)
        return [message for message in published(krang, publishers, 2.0) if rng.uniform() > 0.05]

    parts = [Publisher(joints, 500) for joints in (BODY, LEFT, RIGHT)]
    one, many = (np.abs(external(engine(), without(told))).max() for told in ([Publisher(ALL, 500)], parts))
    assert many < 2 * one + 0.001


def test_a_push_shows_as_with_one_publisher(krang: Dynamics) -> None:
    def pushed(publishers: Sequence[Publisher]) -> np.ndarray:
        messages = (one._replace(effort=one.effort - 3.0) for one in published(krang, publishers, 1.5))
        return external(engine(), messages)[-1]

    parts = [Publisher(BODY, 100), Publisher(LEFT, 500), Publisher(RIGHT, 500)]
    np.testing.assert_allclose(pushed(parts), 3.0, atol=0.01)
    np.testing.assert_allclose(pushed([Publisher(ALL, 500)]), 3.0, atol=0.01)


def test_one_joint_by_an_imu_is_a_part(krang: Dynamics) -> None:
    robot, largest = engine(imu_joint='q_imu'), 0.0
    for k in range(1500):
        t = 0.002 * k
        if k % 5 == 0:
            q, dq, _ = motion(krang, t - 0.0013)
            angle, stamp = q[0] / 2, BEGIN + round((t - 0.0013) * 1e9)
            quaternion = (np.cos(angle), 0.0, np.sin(angle), 0.0)
            robot.inputs.on_imu(pitching(quaternion, dq[0], (0.0, 0.0), stamp, WARM + round(t * 1e9)))
        torques = robot.on_joint_state(
            krang.joint_names, *motion(krang, t), BEGIN + round(t * 1e9), WARM + round(t * 1e9)
        )
        torque = None if torques is None else torques.term('external')
        assert torque is None or np.isnan(torque[0])  # an IMU says nothing of an effort
        largest = largest if torque is None else max(largest, float(np.nanmax(np.abs(torque))))
    assert 0 < largest < 0.001


def test_a_part_that_cannot_be_brought_to_one_instant_gives_no_torque_and_is_named(krang: Dynamics) -> None:
    """It is further behind than samples of the others are kept, though state_timeout would let it."""
    robot, names = engine(state_timeout=1.0), krang.joint_names
    parts = [Publisher(BODY, 500), Publisher(LEFT, 500), Publisher(RIGHT, 500)]
    assert external(robot, published(krang, parts, 1.0))
    late = [Publisher(BODY, 500, 0.5), Publisher(LEFT, 500), Publisher(RIGHT, 500)]
    for message in (one for one in published(krang, late, 3.0) if one.stamp >= BEGIN + WARM):
        torques = robot.on_joint_state(*message)
        assert torques is not None
        torque = torques.term('external')
        if message.stamp == BEGIN + 2.5 * WARM:
            break
    assert torque is None
    assert robot.inputs.states.is_too_old
    assert robot.inputs.states.delayed_joints() == [*names[BODY]]
    assert torques.term('gravity') is not None  # by the newest position of each joint


def test_one_publisher_of_all_joints_costs_no_history(krang: Dynamics) -> None:
    robot = engine()
    for message in published(krang, [Publisher(ALL, 500)], 0.1):
        torques = robot.on_joint_state(*message)
        assert torques is not None
        assert not robot.inputs.states.alignment.active
        assert [*torques.state.instants] == [torques.state]


def test_feed_forward_goes_by_the_newest_position_of_each_joint(krang: Dynamics) -> None:
    """A torque of the newest positions is off by velocity times skew; one that waits is late for all joints."""
    robot, newest = engine(), np.full(17, np.nan)
    for message in published(krang, [Publisher(BODY, 100), Publisher(LEFT, 500), Publisher(RIGHT, 500)], 0.1):
        newest[[krang.joint_names.index(name) for name in message.names]] = message.position
        torques = robot.on_joint_state(*message)
        assert (torques is None) == bool(np.isnan(newest).any())
        if torques is not None:
            np.testing.assert_array_equal(torques.term('gravity'), krang.Q(newest))


def test_everything_that_remembers_begins_anew_with_a_new_truth(krang: Dynamics) -> None:
    """As after a slider, or a reset of a simulator."""
    robot = engine()
    messages = [*published(krang, [Publisher(ALL, 500)], 2.0)]
    for k, message in enumerate(messages):
        moved = message._replace(position=message.position + (0.5 if k >= 500 else 0.0))
        torques = robot.on_joint_state(*moved)
        assert (torques is None) == (k in {500, 501})
        if torques is not None:
            told = torques.term('external')
            assert (told is None) == (k < 250 or 502 <= k < 752)
            assert told is None or k >= 500 or np.abs(told).max() < 0.001
    assert robot.inputs.states.timeline.resets == 1


def test_the_filter_of_sensor_torques_restarts_with_the_observer(krang: Dynamics) -> None:
    """Else what they explained at the pose before would be in it."""
    robot, told = engine(**{'left.sensor.subtract_from_external': True}), []
    q, still = motion(krang, 0.0)[0], np.zeros(17)
    for k in range(900):
        now = BEGIN + 2 * MS * k
        if k == 500:
            q = q + 0.5
        assert robot.inputs.on_wrench('left', '', (20.0, 0.0, 0.0), (0.0, 0.0, 0.0), now, now)
        torques = robot.on_joint_state(krang.joint_names, q, still, krang.Q(q), now, now)
        if torques is None or (torque := robot.external.unexplained_torque(torques)) is None:
            continue
        by_world = -krang.wrench_torque(q, [*torques.state.wrenches])
        told.append(k)
        np.testing.assert_allclose(torque, torques.term('external') - by_world, atol=1e-9)
    assert 502 + 250 in told


def test_parts_begin_anew_when_time_goes_back(krang: Dynamics) -> None:
    robot = engine()
    parts = [Publisher(BODY, 100), Publisher(LEFT, 500), Publisher(RIGHT, 500)]
    for loop in range(2):
        told = [one._replace(arrival=one.arrival + loop * 3 * WARM) for one in published(krang, parts, 2.0)]
        torques = external(robot, told)
        assert 1500 < len(torques) < len(told) - 500  # it settles for half a second, each time
        assert np.abs(torques).max() < 0.001
    assert robot.inputs.states.timeline.resets == robot.inputs.states.timeline.time_resets == 1


cubics = st.lists(st.floats(-1, 1), min_size=4, max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.lists(cubics, min_size=3, max_size=3), st.lists(st.floats(1.0, 12.0), min_size=3, max_size=3), st.booleans())
def test_cubic_motion_is_interpolated_exactly(
    cubics: list[list[float]], periods: list[float], by_arrival: bool
) -> None:
    """Whatever the rates of the parts are; and no instant is beyond the newest sample of any joint."""
    alignment, found = Alignment(3), []
    events = sorted((round(k * period * MS) + 5 * MS, j) for j, period in enumerate(periods) for k in range(30))
    for t, j in events:
        value = np.polyval(cubics[j], t * 1e-7)
        columns = [np.array([x]) for x in (value, -value, 2 * value)]
        alignment.add(np.array([j]), columns, 0 if by_arrival else t, t if by_arrival else 10**12)
        newest = [max((s for s, i in events if i == which and s <= t), default=0) for which in range(3)]
        for instant, numbers in alignment.next(0.1):
            assert instant <= min(newest) + (1 if by_arrival else 0)
            found.append(instant)
            expected = [np.polyval(cubic, instant * 1e-7) for cubic in cubics]
            if len(found) > 60:  # four samples of each joint are there
                np.testing.assert_allclose(
                    numbers, [expected, np.negative(expected), 2 * np.array(expected)], atol=1e-6
                )
    assert all(a < b for a, b in pairwise(found))


def test_uneven_samples_are_bridged_by_a_straight_line() -> None:
    """A cubic through them would swing far beyond."""
    alignment = Alignment(2)
    for t in (100, 101, 102, 160):
        alignment.add(np.array([0]), [np.array([float(t == 101)])] * 3, t * MS, t * MS)
    for t in (100, 130, 160):
        alignment.add(np.array([1]), [np.zeros(1)] * 3, t * MS, t * MS)
    for _, numbers in alignment.next(0.1):
        assert np.abs(numbers).max() <= 1.0


@pytest.mark.parametrize('times', [((100, 150, 250), (90, 301)), ((80, 250), (80, 100, 301))])
def test_an_instant_without_samples_on_both_sides_within_the_timeout_is_none(
    times: tuple[tuple[int, ...], ...],
) -> None:
    alignment = Alignment(2)
    for t in times[0]:
        alignment.add(np.array([0]), [np.zeros(1)] * 3, t * MS, t * MS)
    for t in times[1]:
        alignment.add(np.array([1]), [np.zeros(1)] * 3, t * MS, t * MS)
    assert alignment.next(0.1) == []
    assert alignment.lag == float('inf')


def test_as_many_samples_are_kept_as_are_said() -> None:
    for count, there in ((DEPTH - 4, True), (DEPTH + 4, False)):
        alignment = Alignment(2)
        for t in range(100, 100 + count):
            alignment.add(np.array([0]), [np.zeros(1)] * 3, t * MS, t * MS)
        for t in (99, 103):
            alignment.add(np.array([1]), [np.zeros(1)] * 3, t * MS, t * MS)
        assert bool(alignment.next(1.0)) == there


def test_friction_and_coriolis_of_parts_are_of_the_newest_state(krang: Dynamics) -> None:
    robot = load_robot()
    sticky = replace(robot, joints=tuple(replace(j, friction=replace(j.friction, viscous=1.0)) for j in robot.joints))
    dynamics = dynamics_of(sticky)
    torques = None
    told = engine(**{f'joints.{name}.viscous': 1.0 for name in dynamics.joint_names})
    for message in published(krang, [Publisher(BODY, 500), Publisher(LEFT, 500), Publisher(RIGHT, 500)], 0.1):
        torques = told.on_joint_state(*message)
    assert torques is not None
    np.testing.assert_allclose(torques.term('friction'), torques.state.velocity)
