"""What `process` says of a recording is what the running node says when the same messages reach it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Robot

from ..bags import BEGIN, joint_state, wrench, write_bag

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
pytest.importorskip('rclpy', reason='rclpy is not installed')

from builtin_interfaces.msg import Time  # noqa: E402

from krang_dynamics_ros.processing.job import Job  # noqa: E402
from krang_dynamics_ros.processing.process import process  # noqa: E402

from ..ros import Client, Process, domain  # noqa: E402

WRENCHES = ('wrench/left', 'wrench/right')
PATIENT = {'state_timeout': 10.0, 'wrench_timeout': 10.0}  # s: a busy machine sends late; the stamps below do not
LOSSLESS = {f'qos_overrides./{topic}.subscription.reliability': 'reliable' for topic in ('joint_states', *WRENCHES)}
TERMS = ('gravity', 'coriolis', 'friction', 'wrench')
SECOND = 1_000_000_000


def messages(robot: Robot) -> Iterator[tuple[str, int, object]]:
    """Return joint states shuffled, in parts, refused, after gaps and from before; wrenches in several frames."""
    rng, names, stamp = np.random.default_rng(3), np.array(robot.joint_names), BEGIN
    frames, place = ['', 'R0', 'R5l', 'nowhere', 'R10r'], rng.uniform(-1, 1, robot.n)
    for k in range(120):
        stamp += {40: 25 * SECOND, 80: -60 * SECOND}.get(k, 2_000_000)  # a gap, and time that goes back
        order = rng.permutation(robot.n)
        part = order[: robot.n if k % 4 else 9]
        place = place + 0.04 * rng.uniform(-1, 1, robot.n)
        q, dq = place.copy(), rng.uniform(-1, 1, robot.n)
        if k % 11 == 5:
            q[part[0]] = np.nan
        if k % 13 == 6:
            dq[part[0]] = np.nan
        if k % 9 == 3:
            told = [*names[part], names[part[0]]]
            yield 'joint_states', stamp, joint_state(stamp, told, [*q[part], 0.0])
            continue
        if k % 5 == 1:
            numbers = rng.uniform(-20, 20, (2, 3))
            yield (
                f'wrench/{("left", "right")[k // 5 % 2]}',
                stamp,
                wrench(stamp, frames[k // 5 % len(frames)], *numbers),
            )
        yield 'joint_states', stamp, joint_state(stamp, names[part], q[part], dq[part] if k % 7 else ())


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    patient = [word for name, value in (PATIENT | LOSSLESS).items() for word in ('-p', f'{name}:={value}')]
    with domain() as number:
        node = Process(number, '--ros-args', *patient, '-p', 'left.sense:=applied_on_robot')
        client = Client(number)
        client.listen(*(f'torque/{term}' for term in TERMS), 'wrench/left/compensated', 'wrench/right/compensated')
        client.ready()
        yield client
        client.close()
        assert node.end() == 0


def test_the_node_and_the_recording_say_the_same(client: Client, robot: Robot, tmp_path: Path) -> None:
    told = list(messages(robot))
    bag = write_bag(tmp_path / 'bag', [(f'/{topic}', BEGIN + k, message) for k, (topic, _, message) in enumerate(told)])
    settings = PATIENT | {'left.sense': 'applied_on_robot', 'backend': 'pinocchio'}
    summary = process(Job(bag, tmp_path / 'out', settings))
    table = parquet.read_table(tmp_path / 'out' / 'torques.parquet')
    stamps = table['stamp'].to_numpy()
    expected = {
        term: np.stack([table[f'{name}.{term}'].to_numpy() for name in robot.joint_names], axis=1) for term in TERMS
    }
    known = {term: set(stamps[np.isfinite(rows).all(axis=1)].tolist()) for term, rows in expected.items()}
    replay(client, told, known)
    assert summary.refused['joint states'][0] > 10
    assert {'wrench left', 'wrench right'} <= set(summary.refused)
    assert summary.time_resets == 1
    whole = {ns(one.header.stamp) for topic, _, one in told if topic == 'joint_states' and len(one.name) == robot.n}
    for term in TERMS:
        answers = {ns(one.header.stamp): np.array(one.effort) for one in client.received[f'torque/{term}']}
        assert {*answers} & whole == known[term]  # a part has no row by itself: all joints are of one instant there
        assert len(known[term]) > 30
        for stamp, torque in zip(stamps.tolist(), expected[term], strict=True):
            if stamp in answers:
                np.testing.assert_allclose(answers[stamp], torque, rtol=1e-12, atol=1e-12)


def replay(client: Client, told: list[tuple[str, int, object]], known: dict[str, set[int]]) -> None:
    """Send messages one by one; wait for the answer to each that has one, so that none overtakes another.

    What gets no answer is sent again: a busy machine may lose a message, and one that comes twice changes nothing.
    """
    posed, latest = False, BEGIN
    for topic, stamp, message in told:
        posed = (
            posed and abs(stamp - latest) <= PATIENT['state_timeout'] * SECOND
        )  # after a gap, or a jump back, in part
        latest = stamp
        when = Time(sec=stamp // SECOND, nanosec=stamp % SECOND)
        if topic == 'joint_states':
            send = partial(client.send_state, message.name, message.position, message.velocity, when)
            answers = [f'torque/{term}' for term, stamps in known.items() if stamp in stamps]
            posed = posed or bool(answers)
        else:
            f, m = message.wrench.force, message.wrench.torque
            numbers = (f.x, f.y, f.z, m.x, m.y, m.z)
            send = partial(client.send_wrench, topic.split('/')[1], numbers, message.header.frame_id, when)
            answers = [f'{topic}/compensated'] if posed and message.header.frame_id != 'nowhere' else []
        if answers:
            client.until(lambda s=stamp, t=answers: all(heard(client, one, s) for one in t), send, f'{answers}')
        else:
            send()


def heard(client: Client, topic: str, stamp: int) -> bool:
    return any(ns(one.header.stamp) == stamp for one in client.received[topic][-3:])


def ns(stamp: Time) -> int:
    return int(stamp.sec * SECOND + stamp.nanosec)
