"""How the node starts, ends, comes back, tells time and lives beside others; and that nonsense does not shake it."""

from __future__ import annotations

import signal
from array import array
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from krang_dynamics_ros import Lagrangian, Robot
from krang_dynamics_ros.core.spatial import rotation_from_rpy

from ..ros import TORQUES, Client, Process, domain, effort

Q = np.linspace(-0.8, 0.8, 17)
GRAVITY = 'torque/gravity'
ALL = tuple(f'torque/{name}' for name in TORQUES)


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as taken:
        yield taken


@pytest.mark.parametrize('which', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(number: int, robot: Robot, which: int) -> None:
    process, client = Process(number), Client(number)
    client.listen(GRAVITY)
    client.ready()
    client.ask(robot.joint_names, Q, (), GRAVITY)
    assert process.end(which) == 0
    assert 'Traceback' not in process.output
    client.close()


def test_the_log_says_once_when_an_input_turns_bad_and_good(number: int, robot: Robot) -> None:
    process, client = Process(number), Client(number)
    client.listen(GRAVITY)
    client.ready()
    client.until(lambda: process.output.count('no torque: 17 of 17 joints are not known') == 1)
    client.until(
        lambda: 'joint states: all joints are known' in process.output,
        lambda: client.send_state(robot.joint_names, Q, 0 * Q),
    )
    client.until(lambda: process.output.count('no torque: 17 of 17 joints are not known') == 2)
    client.close()
    assert process.end() == 0


def test_the_node_and_its_publishers_may_come_and_go(number: int, robot: Robot) -> None:
    client = Client(number)
    client.listen(GRAVITY)
    expected = Lagrangian(robot).Q(Q)
    for _ in range(2):
        process = Process(number)
        client.ready()
        np.testing.assert_allclose(effort(client.ask(robot.joint_names, Q, (), GRAVITY)), expected, atol=1e-9)
        assert process.end() == 0
    process = Process(number)
    for _ in range(2):
        other = Client(number)
        other.listen(GRAVITY)
        other.ready()
        np.testing.assert_allclose(effort(other.ask(robot.joint_names, Q, (), GRAVITY)), expected, atol=1e-9)
        other.close()
    assert process.end() == 0
    client.close()


def test_two_namespaces_are_two_robots(number: int, robot: Robot) -> None:
    processes = [Process(number, '--ros-args', '-r', f'__ns:=/{name}') for name in ('a', 'b')]
    clients = [Client(number, f'/{name}') for name in ('a', 'b')]
    for client, q in zip(clients, (Q, -Q), strict=True):
        client.listen(GRAVITY)
        client.ready()
        np.testing.assert_allclose(
            effort(client.ask(robot.joint_names, q, (), GRAVITY)), Lagrangian(robot).Q(q), atol=1e-9
        )
    clients[0].received[GRAVITY].clear()
    clients[1].ask(robot.joint_names, Q, (), GRAVITY)
    assert clients[0].silent(GRAVITY, seconds=0.1)
    for end in (*clients,):
        end.close()
    assert [process.end() for process in processes] == [0, 0]


def test_topics_can_be_remapped_and_their_qos_overridden(number: int, robot: Robot) -> None:
    process = Process(
        number, '--ros-args', '-r', 'torque/gravity:=hold',
        '-p', 'qos_overrides./hold.publisher.reliability:=best_effort',
    )  # fmt: skip
    client = Client(number)
    got: list[JointState] = []
    client.node.create_subscription(JointState, 'hold', got.append, 1)  # reliable: cannot hear a best-effort publisher
    client.ready()
    client.until(lambda: client.node.count_publishers('hold'))
    for _ in range(20):
        client.send_state(robot.joint_names, Q)
        client.spin(0.02)
    assert not got
    client.close()
    assert process.end() == 0
    assert 'incompatible' in process.output.lower()


def test_simulated_time_that_jumps_back_forgets_and_goes_on(number: int, robot: Robot) -> None:
    process, client = Process(number, '--ros-args', '-p', 'use_sim_time:=true'), Client(number)
    client.listen(GRAVITY)
    client.ready()
    clock = client.publisher(Clock, '/clock')

    def tick(seconds: int) -> Time:
        stamp = Time(sec=seconds)
        clock.publish(Clock(clock=stamp))
        client.spin(0.02)
        return stamp

    counts = iter(range(10**6))

    def answered(seconds: int, part: slice) -> bool:
        tick(seconds)
        stamp = Time(sec=seconds, nanosec=1000 * next(counts))  # a stamp that does not advance is no new state
        client.send_state(robot.joint_names[part], Q[part], stamp=stamp)
        client.spin(0.05)
        return any(message.header.stamp == stamp for message in client.received[GRAVITY])

    client.until(lambda: answered(100, slice(None)))
    client.received[GRAVITY].clear()
    tick(50)
    client.silent(GRAVITY, seconds=0.1)
    assert not answered(50, slice(0, 3))
    client.until(lambda: answered(50, slice(None)))
    client.close()
    assert process.end() == 0


@pytest.mark.slow
def test_simulated_time_that_jumps_back_a_little_forgets_all_the_same(number: int, robot: Robot) -> None:
    """By less than a timeout: what is known of is still of a time that is yet to come."""
    process, client = Process(number, '--ros-args', '-p', 'use_sim_time:=true'), Client(number)
    client.listen(GRAVITY)
    client.ready()
    clock, answers = client.publisher(Clock, '/clock'), client.received[GRAVITY]

    def tick(milliseconds: int) -> None:
        clock.publish(Clock(clock=Time(sec=100, nanosec=milliseconds * 10**6)))
        client.spin(0.02)

    def say(milliseconds: int, part: slice) -> None:
        tick(milliseconds)
        client.send_state(robot.joint_names[part], Q[part], stamp=Time())
        client.spin(0.05)

    client.until(lambda: answers, lambda: say(500, slice(None)), 'torques')
    for _ in range(5):
        tick(450)
    client.silent(GRAVITY, seconds=0.1)
    client.send_state(robot.joint_names[:3], Q[:3], stamp=Time())
    assert client.silent(GRAVITY)
    client.until(lambda: client.received[GRAVITY], lambda: say(450, slice(None)), 'torques again')
    client.close()
    assert process.end() == 0


@pytest.mark.slow
def test_simulated_time_that_jumps_back_forgets_what_has_no_stamp(number: int, robot: Robot) -> None:
    process, client = Process(number, '--ros-args', '-p', 'use_sim_time:=true'), Client(number)
    client.listen(GRAVITY)
    client.ready()
    clock = client.publisher(Clock, '/clock')

    def say(seconds: int, part: slice) -> None:
        clock.publish(Clock(clock=Time(sec=seconds)))
        client.spin(0.05)
        client.send_state(robot.joint_names[part], Q[part], stamp=Time())

    client.until(lambda: client.received[GRAVITY], lambda: say(100, slice(None)))
    for _ in range(5):
        clock.publish(Clock(clock=Time(sec=50)))
        client.spin(0.05)
    client.send_state(robot.joint_names[:3], Q[:3], stamp=Time())
    assert client.silent(GRAVITY)
    client.until(lambda: client.received[GRAVITY], lambda: say(50, slice(None)))
    client.close()
    assert process.end() == 0


def test_simulated_time_is_what_ages(number: int, robot: Robot) -> None:
    """By the time of arrival alone, for these states have no stamps."""
    process, client = Process(number, '--ros-args', '-p', 'use_sim_time:=true'), Client(number)
    client.listen(GRAVITY)
    client.ready()
    clock, answers = client.publisher(Clock, '/clock'), client.received[GRAVITY]

    def say(seconds: int, part: slice) -> list[JointState]:
        clock.publish(Clock(clock=Time(sec=seconds)))
        client.spin(0.02)
        client.send_state(robot.joint_names[part], Q[part], stamp=Time())
        client.spin(0.05)
        return answers

    client.until(lambda: say(100, slice(None)), why='the first torques')
    answers.clear()
    say(101, slice(3))
    client.silent(GRAVITY, seconds=0.1)  # the other joints are known from a second ago
    client.until(lambda: say(101, slice(3, None)), why='all joints to be known')
    client.spin(0.3)  # in which no simulated time passes
    answers.clear()
    client.until(lambda: say(101, slice(3)), why='torques, for nothing has aged')
    client.close()
    assert process.end() == 0


def test_the_imu_gives_q_imu(number: int, robot: Robot) -> None:
    process, client = Process(number, '--ros-args', '-p', 'imu_joint:=q_imu'), Client(number)
    client.listen(GRAVITY, 'torque/coriolis')
    client.ready()
    client.publisher(Imu, 'imu')
    names = robot.joint_names
    dq = np.linspace(1, 2, 17)
    for angle, heading in ((0.3, 0.0), (-0.7, 2.0), (2.5, -1.0)):
        q = np.array([angle, *Q[1:]])

        def lean(angle: float = angle, heading: float = heading) -> None:
            client.send_imu(quaternion(rotation_from_rpy([0, angle, heading])), rate=dq[0])
            client.spin(0.01)

        def right(q: np.ndarray = q, lean: object = lean) -> bool:
            # what joint_states says of q_imu does not count
            gravity, coriolis = client.ask(
                names, [9.0, *q[1:]], [9.0, *dq[1:]], GRAVITY, 'torque/coriolis', before=lean
            )
            lagrangian = Lagrangian(robot)
            return np.allclose(effort(gravity), lagrangian.Q(q)) and np.allclose(
                effort(coriolis), lagrangian.coriolis_torque(q, dq)
            )

        client.until(right)
    client.silent(GRAVITY, seconds=0.3)
    for _ in range(5):
        client.send_imu((0.5, 0, 0, 0))  # no unit quaternion
        client.send_state(names, Q, dq)
    assert client.silent(*ALL[:1])

    def say() -> None:
        client.send_imu((1, 0, 0, 0), stamp=Time(sec=-1))
        client.send_state(names, Q, dq)

    client.until(lambda: refusal(client).startswith('imu: stamp: -1 s'), say)
    assert client.silent(*ALL[:1])

    def roll() -> None:
        client.send_imu(quaternion(rotation_from_rpy([np.pi / 3, 0, 0])))
        client.send_state(names, Q, dq)

    client.until(lambda: refusal(client).startswith('imu: roll 60.0 degrees, must be within 5'), roll)
    assert client.silent(*ALL[:1])

    def spoil() -> None:
        client.publisher(Imu, 'imu').publish(b'\0\1\0\0' + b'\xff' * 80)
        client.send_state(names, Q, dq)

    client.until(lambda: refusal(client).startswith('imu: bytes that are not a message'), spoil)
    assert client.silent(*ALL[:1])
    client.close()
    assert process.end() == 0, process.output


def quaternion(R: np.ndarray) -> np.ndarray:
    w = np.sqrt(max(0.0, 1 + np.trace(R))) / 2
    if w > 1e-6:
        return np.array([w, *(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w))])
    axis = np.sqrt(np.maximum(0, (np.diag(R) + 1) / 2))
    return np.array([0.0, *axis])


def nonsense(rng: np.random.Generator, names: tuple[str, ...]) -> JointState:
    """A joint state with at least one fault that must keep it from being used."""
    bad = [np.nan, np.inf, -np.inf, 1e300, -1e9]
    kind = rng.integers(5)
    q, dq, said = rng.normal(size=17), rng.normal(size=17), list(names)
    effort = rng.normal(size=17)
    if kind == 0:
        q[rng.integers(17)] = rng.choice(bad)
    elif kind == 1:
        dq[rng.integers(17)] = rng.choice(bad[1:])
    elif kind == 2:
        said[rng.integers(16)] = said[16]
    elif kind == 3:
        q = q[: rng.integers(17)] if rng.random() < 0.5 else np.append(q, q)
    else:
        dq, effort = (dq[: rng.integers(1, 17)], effort) if rng.random() < 0.5 else (dq, effort[: rng.integers(1, 17)])
    order = rng.permutation(len(said))
    message = JointState(
        name=[said[k] for k in order], position=array('d', q), velocity=array('d', dq), effort=array('d', effort)
    )
    message.header.stamp = Time(sec=int(rng.integers(-(2**31), 2**31)), nanosec=int(rng.integers(0, 2**32)))
    message.header.frame_id = ''.join(map(chr, rng.integers(32, 1000, 5)))
    return message


def test_ten_thousand_malformed_messages_give_no_torque_and_no_crash(number: int, robot: Robot) -> None:
    process, client = Process(number, '--ros-args', '-p', 'total_terms:=[gravity, wrench]'), Client(number)
    client.listen(*ALL)
    client.ready()
    rng = np.random.default_rng(13)
    publisher = client.publisher(JointState, 'joint_states')
    wrench = client.publisher(WrenchStamped, 'wrench/left')
    for k in range(10_000):
        publisher.publish(nonsense(rng, robot.joint_names))
        if k % 5 == 0:
            push = WrenchStamped()
            push.header.frame_id = str(rng.choice(['', 'R3', 'nowhere', 'R10l']))
            push.wrench.force.x = float(rng.choice([np.nan, np.inf, 1e200]))
            wrench.publish(push)
            client.spin(0.001)
    assert not any(client.received[topic] for topic in ALL)
    assert process.process.poll() is None
    gravity, total = client.ask(robot.joint_names, Q, (), GRAVITY, 'torque/total')
    np.testing.assert_allclose(effort(gravity), Lagrangian(robot).Q(Q), atol=1e-9)
    np.testing.assert_allclose(effort(total), effort(gravity))
    client.until(lambda: refused(client) > 1000, why='refusals are counted')
    client.close()
    assert process.end() == 0
    assert 'Traceback' not in process.output
    assert len(process.output.splitlines()) < 30  # nothing prints at the rate of a topic


def refused(client: Client) -> int:
    return int(said(client).get('refused', 0))


def refusal(client: Client) -> str:
    return said(client).get('last refusal', '')


def said(client: Client) -> dict[str, str]:
    status = client.diagnostics.get('joint states')
    return {pair.key: pair.value for pair in status.values} if status else {}
