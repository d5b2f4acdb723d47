"""What bad input gets: each row of the contract's table, on the running node."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from krang_dynamics_ros import Lagrangian, Robot, Wrench
from krang_dynamics_ros.core.limits import MAX_CACHE_BYTES, MAX_NAMED_BYTES
from krang_dynamics_ros.live.messages import JointStateReader

from ..ros import TORQUES, Client, Process, domain, effort

Q = np.linspace(-0.8, 0.8, 17)
DQ = np.linspace(1, -1, 17)
GRAVITY = 'torque/gravity'
ALL = tuple(f'torque/{name}' for name in TORQUES)
TIMEOUT = 0.3  # s: longer than the default, so that a busy machine does not make states late


@pytest.fixture(scope='module')
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


@pytest.fixture(scope='module')
def process(number: int) -> Iterator[Process]:
    node = Process(number, '--ros-args', '-p', f'state_timeout:={TIMEOUT}', '-p', f'wrench_timeout:={TIMEOUT}')
    yield node
    assert node.end() == 0, node.output
    assert 'Traceback' not in node.output


@pytest.fixture
def client(number: int, process: Process) -> Iterator[Client]:
    client = Client(number)
    client.listen(*ALL, 'dynamics/coriolis')
    client.ready()
    client.silent(GRAVITY, seconds=TIMEOUT + 0.1)  # until the node has forgotten what the test before said
    yield client
    client.close()


def reasons(client: Client, status: str = 'joint states') -> str:
    """Return what diagnostics said last of an input."""
    return str(client.diagnostics[status].message) if status in client.diagnostics else ''


@pytest.mark.parametrize('reliability', [ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE])
def test_messages_of_reliable_and_best_effort_senders_are_received(
    client: Client, robot: Robot, reliability: ReliabilityPolicy
) -> None:
    """Drivers of sensors often send best effort: who asks for more hears nothing from them, without a word."""
    qos, kinds = (
        QoSProfile(depth=10, reliability=reliability),
        {'joint_states': JointState, 'wrench/left': WrenchStamped},
    )
    senders = {topic: client.node.create_publisher(kind, topic, qos) for topic, kind in kinds.items()}
    good = Lagrangian(robot).wrench_torque(Q, [Wrench('R10l', (1, 0, 0))])

    def send() -> None:
        for topic, kind in kinds.items():
            message = kind()
            message.header.stamp = client.stamp()
            if topic == 'joint_states':
                message.name, message.position = list(robot.joint_names), array('d', Q)
            else:
                message.wrench.force.x = 1.0
            senders[topic].publish(message)

    def held() -> bool:
        messages = client.received['torque/wrench']
        return bool(messages) and bool(np.allclose(effort(messages[-1]), good, atol=1e-9))

    client.received['torque/wrench'].clear()
    client.until(held, send, 'the torque of a wrench')
    for sender in senders.values():
        client.node.destroy_publisher(sender)


def test_every_stream_of_a_sensor_is_asked_for_at_best_effort(client: Client) -> None:
    for topic in ('joint_states', 'wrench/left', 'wrench/right'):
        name = client.node.resolve_topic_name(topic)
        asked = [one.qos_profile.reliability for one in client.node.get_subscriptions_info_by_topic(name)]
        assert asked == [ReliabilityPolicy.BEST_EFFORT], topic


def test_parts_from_two_publishers_make_a_state(client: Client, robot: Robot) -> None:
    names = robot.joint_names
    other = client.node.create_publisher(JointState, 'joint_states', 10)
    client.until(lambda: other.get_subscription_count() > 0)
    for _ in range(5):
        client.send_state(names[:3], Q[:3], DQ[:3])
        client.spin()
    assert client.silent(*ALL, seconds=0.1)

    def arms() -> None:
        message = JointState(name=list(names[3:]), position=array('d', Q[3:]), velocity=array('d', DQ[3:]))
        message.header.stamp = client.stamp()
        other.publish(message)

    gravity = client.ask(names[:3], Q[:3], DQ[:3], GRAVITY, before=arms)
    np.testing.assert_allclose(effort(gravity), Lagrangian(robot).Q(Q), atol=1e-9)


def test_a_part_that_grew_old_is_not_known(client: Client, robot: Robot) -> None:
    names = robot.joint_names
    client.send_state(names[3:], Q[3:])
    client.silent(GRAVITY, seconds=TIMEOUT + 0.1)
    client.send_state(names[:3], Q[:3])
    assert client.silent(*ALL)
    said = '14 of 17 joints are not known: q_1l'
    client.until(lambda: said in reasons(client), lambda: client.send_state(names[:3], Q[:3]), said)
    client.ask(names, Q, (), GRAVITY)


def test_a_part_that_is_old_by_its_stamp_is_not_known(client: Client, robot: Robot) -> None:
    now = client.stamp()
    client.send_state(robot.joint_names[3:], Q[3:], stamp=now)
    client.send_state(robot.joint_names[:3], Q[:3], stamp=Time(sec=now.sec + 2, nanosec=now.nanosec))
    assert client.silent(*ALL)


@pytest.mark.parametrize('velocities', [(), np.full(17, np.nan), [*DQ[:16], np.nan]])
def test_without_velocities_gravity_and_wrench_go_on(client: Client, robot: Robot, velocities: object) -> None:
    gravity, wrench, total = client.ask(robot.joint_names, Q, velocities, GRAVITY, 'torque/wrench', 'torque/total')
    np.testing.assert_allclose(effort(gravity), Lagrangian(robot).Q(Q), atol=1e-9)
    np.testing.assert_array_equal(effort(total), effort(gravity))
    np.testing.assert_array_equal(effort(wrench), 0)
    assert client.silent('torque/coriolis', 'torque/friction', 'dynamics/coriolis')
    client.until(
        lambda: 'no velocities' in reasons(client), lambda: client.send_state(robot.joint_names, Q, velocities)
    )


def spoilt(case: str, names: tuple[str, ...]) -> JointState:
    message = JointState(name=list(names), position=array('d', Q), velocity=array('d', DQ))
    if case == 'NaN':
        message.position[5] = np.nan
    elif case == 'infinity':
        message.position[5] = np.inf
    elif case == 'too large':
        message.position[5] = 1e9
    elif case == 'infinite velocity':
        message.velocity[5] = -np.inf
    elif case == 'short position':
        message.position = array('d', Q[:16])
    elif case == 'no position':
        message.position = array('d')
    elif case == 'long velocity':
        message.velocity = array('d', [*DQ, 0.0])
    elif case == 'short effort':
        message.effort = array('d', [1.0])
    elif case == 'twice':
        message.name[5] = message.name[4]
    return message


@pytest.mark.parametrize(
    ('case', 'reason'),
    [
        ('NaN', 'position of q_3l: nan, must be finite'),
        ('infinity', 'position of q_3l: inf, must be finite'),
        ('too large', 'position of q_3l: 1000000000.0, must be finite, at most 1e+06'),
        ('infinite velocity', 'velocity of q_3l: -inf, must be finite'),
        ('short position', 'arrays of unequal length: 17 names, 16 positions'),
        ('no position', 'arrays of unequal length: 17 names, 0 positions'),
        ('long velocity', 'arrays of unequal length: 17 names, 17 positions, 18 velocities'),
        ('short effort', '17 velocities, 1 efforts'),
        ('twice', 'named twice: q_2l'),
    ],
)
def test_a_faulty_message_is_refused_whole_counted_and_named(
    client: Client, robot: Robot, case: str, reason: str
) -> None:
    publisher = client.publisher(JointState, 'joint_states')
    for _ in range(3):
        message = spoilt(case, robot.joint_names)
        message.header.stamp = client.stamp()
        publisher.publish(message)
    assert client.silent(*ALL)
    values = {pair.key: pair.value for pair in client.until(lambda: client.diagnostics.get('joint states')).values}
    client.until(lambda: reason in values_of(client)['last refusal'], why=str(values))
    assert int(values_of(client)['refused']) >= 3


def values_of(client: Client) -> dict[str, str]:
    return {pair.key: pair.value for pair in client.diagnostics['joint states'].values}


@pytest.mark.parametrize('raw', [b'garbage', b'\0\1\0\0' + b'\xff' * 80, b'\0\1\0\0' + b'\0' * 8])
def test_bytes_that_are_no_message_are_refused_and_work_goes_on(client: Client, robot: Robot, raw: bytes) -> None:
    def refused(status: str) -> int:
        values = {pair.key: pair.value for pair in client.until(lambda: client.diagnostics.get(status)).values}
        return int(values['refused']) if 'not a message' in values['last refusal'] else 0

    def spoil() -> None:
        client.publisher(JointState, 'joint_states').publish(raw)
        client.publisher(WrenchStamped, 'wrench/left').publish(raw)

    client.until(lambda: refused('joint states') and refused('wrench left'), spoil)
    client.ask(robot.joint_names, Q, (), GRAVITY)


@pytest.mark.parametrize(
    ('count', 'reason'), [(30_000, '30000 names, must be at most 2000'), (150_000, 'bytes, must be at most 1000000')]
)
def test_a_message_of_very_many_names_is_refused_and_work_goes_on(
    client: Client, robot: Robot, count: int, reason: str
) -> None:
    """With 30 000 names the node was silent for 21 s, with 150 000 it would be for minutes."""
    names = [f'joint_{k}' for k in range(count)]

    def refused() -> bool:
        return 'joint states' in client.diagnostics and reason in values_of(client)['last refusal']

    client.until(refused, lambda: client.send_state(names, np.zeros(count)), reason)
    assert len(values_of(client)['last refusal']) < 200
    client.ask(robot.joint_names, Q, (), GRAVITY)


@pytest.mark.parametrize(('length', 'reason'), [(400_000, 'must be at most 10000'), (3000, 'is unknown')])
def test_a_frame_with_a_long_name_is_refused_in_a_line(client: Client, robot: Robot, length: int, reason: str) -> None:
    def refused() -> str:
        values = client.until(lambda: client.diagnostics.get('wrench left')).values
        why = {pair.key: pair.value for pair in values}['last refusal']
        return why if reason in why else ''

    frame = '\x1b' * length
    why = client.until(refused, lambda: client.send_wrench('left', (1, 0, 0, 0, 0, 0), frame), reason)
    assert why.isprintable()
    assert len(why) < 200
    client.ask(robot.joint_names, Q, (), GRAVITY)


def test_the_cache_of_message_layouts_is_bounded_in_bytes() -> None:
    reader, largest = JointStateReader(partial(deserialize_message, message_type=JointState)), 0
    for k in range(300):
        message = JointState(name=[f'{"x" * 100}_{k}_{j}' for j in range(100)], position=array('d', np.zeros(100)))
        raw = bytes(serialize_message(message))
        assert reader.read(raw, 0).names == tuple(message.name)
        known = [layout for layouts in reader._layouts.values() for layout in layouts]
        largest = max(largest, sum(len(layout.head) + sum(map(len, layout.names)) for layout in known))
    assert 0 < largest <= MAX_CACHE_BYTES
    message = JointState(name=['x' * (9 * MAX_NAMED_BYTES // 10)], position=array('d', [0.0]))
    before = len(known)
    reader.read(bytes(serialize_message(message)), 0)
    assert sum(map(len, reader._layouts.values())) == before


@pytest.mark.parametrize('stamp', [Time(sec=2**31 - 1, nanosec=10**9), Time(sec=5, nanosec=10**9), Time(sec=-1)])
def test_a_stamp_that_is_no_time_is_refused_and_work_goes_on(client: Client, robot: Robot, stamp: Time) -> None:
    reason = f'stamp: {stamp.sec} s and {stamp.nanosec} ns, must be'

    def refused(status: str) -> bool:
        values = client.until(lambda: client.diagnostics.get(status)).values
        return reason in {pair.key: pair.value for pair in values}['last refusal']

    def spoil() -> None:
        client.send_state(robot.joint_names, Q, stamp=stamp)
        client.send_wrench('left', (1, 0, 0, 0, 0, 0), stamp=stamp)

    client.until(lambda: refused('joint states') and refused('wrench left'), spoil, reason)
    assert not any(client.received[topic] for topic in ALL)
    client.ask(robot.joint_names, Q, (), GRAVITY)


def test_other_robots_joints_are_passed_over(client: Client, robot: Robot) -> None:
    client.send_state(['elbow', 'wrist'], [np.nan, 1.0])
    client.send_state([], [])
    assert client.silent(*ALL)
    client.ask([*robot.joint_names, 'elbow'], [*Q, 1.0], (), GRAVITY)


def hold(client: Client, robot: Robot, push: Callable[[], object], torque: np.ndarray) -> None:
    """Push until the torque of the wrench is there; a wrench and a state may overtake each other."""

    def held() -> bool:
        message = client.ask(robot.joint_names, Q, (), 'torque/wrench', before=lambda: (push(), client.spin(0.01)))
        return bool(np.allclose(effort(message), torque, atol=1e-9))

    client.until(held, why='the torque of a wrench')


@pytest.mark.parametrize(
    ('numbers', 'frame', 'reason'),
    [
        ((1, 2, 3, 4, 5, 6), 'R10', "frame 'R10' is unknown; did you mean 'R10"),
        ((1, 2, 3, 4, 5, 6), 'map', "frame 'map' is unknown"),
        ((np.nan, 2, 3, 4, 5, 6), '', 'must be finite'),
        ((1, 2, 3, 4, 5, np.inf), '', 'must be finite'),
        ((1e7, 2, 3, 4, 5, 6), '', 'must be finite, at most 1e+06'),
    ],
)
def test_a_faulty_wrench_is_refused_and_the_one_before_ages_out(
    client: Client, robot: Robot, numbers: tuple[float, ...], frame: str, reason: str
) -> None:
    good = Lagrangian(robot).wrench_torque(Q, [Wrench('R10l', (1, 0, 0))])

    def push() -> None:
        client.send_wrench('left', (1, 0, 0, 0, 0, 0))

    hold(client, robot, push, good)

    def spoil() -> None:
        client.send_wrench('left', numbers, frame)
        client.send_state(robot.joint_names, Q)

    client.until(lambda: not np.any(effort(client.received['torque/wrench'][-1])), spoil, 'the old wrench to age out')
    status = client.until(
        lambda: (s := client.diagnostics.get('wrench left')) and any(reason in pair.value for pair in s.values) and s,
        spoil, reason,
    )  # fmt: skip
    assert status.level == b'\1'


def test_a_wrench_that_stopped_counts_as_none_and_says_so(client: Client, robot: Robot) -> None:
    def push() -> None:
        client.send_wrench('right', (0, 0, 5, 0, 0, 0))

    hold(client, robot, push, Lagrangian(robot).wrench_torque(Q, [Wrench('R10r', (0, 0, 5))]))
    client.silent(GRAVITY, seconds=TIMEOUT + 0.1)
    ask = partial(client.ask, robot.joint_names, Q, (), 'torque/wrench')
    client.until(lambda: not np.any(effort(ask())), why='what was on its way, on a busy machine')
    client.until(lambda: 'the latest is old' in reasons(client, 'wrench right'))
    assert client.diagnostics['wrench right'].level == b'\1'


def test_a_wrench_that_is_old_by_its_stamp_counts_as_none(client: Client, robot: Robot) -> None:
    for _ in range(3):
        stamp = client.stamp()
        client.send_wrench('left', (0, 0, 5, 0, 0, 0), stamp=Time(sec=stamp.sec - 3, nanosec=stamp.nanosec))
        client.spin(0.02)
    np.testing.assert_array_equal(effort(client.ask(robot.joint_names, Q, (), 'torque/wrench')), 0)


def test_time_that_goes_back_forgets_the_state_and_work_goes_on(client: Client, robot: Robot) -> None:
    names = robot.joint_names
    client.ask(names, Q, (), GRAVITY)
    client.send_wrench('left', (0, 0, 5, 0, 0, 0))
    long_ago = Time(sec=1000, nanosec=5)
    client.silent(GRAVITY, seconds=0.05)
    client.send_state(names[:3], Q[:3], stamp=long_ago)
    assert client.silent(*ALL, seconds=0.1)  # the other joints are of a time that is yet to come
    stamp = client.send_state(names, Q, stamp=Time(sec=1000, nanosec=9))
    message = client.until(lambda: next((m for m in client.received['torque/wrench'] if m.header.stamp == stamp), None))
    np.testing.assert_array_equal(effort(message), 0)  # and so was the wrench
    client.ask(names, Q, (), GRAVITY)


def later(stamp: Time, milliseconds: int) -> Time:
    ns = stamp.sec * 10**9 + stamp.nanosec + milliseconds * 10**6
    return Time(sec=ns // 10**9, nanosec=ns % 10**9)


def test_a_sample_that_no_joint_can_reach_is_no_torque_and_three_that_agree_are_the_new_truth(
    client: Client, robot: Robot
) -> None:
    stamp, names, elsewhere = client.stamp(), robot.joint_names, Q + 0.5 * (np.arange(17) == 5)
    client.until(
        lambda: any(one.header.stamp == stamp for one in client.received[GRAVITY]),
        lambda: client.send_state(names, Q, stamp=stamp),
    )
    client.until(lambda: client.diagnostics.get('joint states'))
    reason = 'q_3l: moved by 0.5 to 0.2 within 0.001 s, must move by at most 0.054'
    client.until(
        lambda: reason in values_of(client)['last refusal'],
        lambda: client.send_state(names, elsewhere, stamp=later(stamp, 1)),
    )
    assert not any(one.header.stamp == later(stamp, 1) for one in client.received[GRAVITY])
    gravity = client.ask(robot.joint_names, elsewhere, (), GRAVITY)
    np.testing.assert_allclose(effort(gravity), Lagrangian(robot).Q(elsewhere), atol=1e-9)


def test_a_stamp_that_does_not_advance_is_no_new_value(client: Client, robot: Robot) -> None:
    client.ask(robot.joint_names, Q, (), GRAVITY)
    stamp = client.stamp()
    said = 'had stamps that do not advance'
    client.until(lambda: said in reasons(client), lambda: client.send_state(robot.joint_names, Q, stamp=stamp), said)
    client.ask(robot.joint_names, Q, (), GRAVITY)


def test_unstamped_states_and_wrenches_work(client: Client, robot: Robot) -> None:
    """As from `ros2 topic pub` by hand: then only the time of arrival counts."""
    client.silent(GRAVITY, seconds=0.05)

    def say() -> None:
        client.send_wrench('left', (1, 0, 0, 0, 0, 0), stamp=Time())
        client.spin(0.01)
        client.send_state(robot.joint_names, Q, stamp=Time())

    expected = Lagrangian(robot).wrench_torque(Q, [Wrench('R10l', (1, 0, 0))])
    client.until(
        lambda: any(np.allclose(effort(m), expected, atol=1e-9) for m in client.received['torque/wrench']), say
    )
    assert client.received['torque/wrench'][-1].header.stamp == Time()
