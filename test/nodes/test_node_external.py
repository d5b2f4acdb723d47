"""The running node tells what the world does: torques, wrenches at the hands, contact; or says why it does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from std_srvs.srv import SetBool

from krang_dynamics_ros import Lagrangian, Robot, Wrench

from ..ros import ESTIMATES, Client, Process, answer, domain

Q = np.array([0.1, 0.6, 0.1, *[0.3, -0.5, 0.2, -0.9, 0.1, -0.4, 0.0] * 2])
LEFT, RIGHT = np.array([12.0, -9.0, 10.0, 0.5, -0.4, 0.3]), np.array([-8.0, 14.0, 3.0, 0.2, 0.1, -0.6])
NOTHING = np.zeros(6)
TOPICS = tuple(ESTIMATES)


@dataclass
class World:
    """A robot that stands still, in a time of its own, while the world pulls at its hands."""

    client: Client
    robot: Robot
    now: int = 10**9

    def torque(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """What the world does to the joints (n), by the report's equations."""
        pulls = [Wrench(link, f[:3], f[3:]) for link, f in (('R10l', left), ('R10r', right))]
        return Lagrangian(self.robot).wrench_torque(Q, pulls)

    def go_on(self, seconds: float, left: Any = NOTHING, right: Any = NOTHING, q: Any = Q, **changes: Any) -> Time:
        """Send states for a while, 20 ms apart; return the last stamp."""
        effort = Lagrangian(self.robot).Q(Q) - self.torque(left, right)
        for _ in range(round(seconds / 0.02)):
            self.now += 20_000_000
            stamp = Time(sec=self.now // 10**9, nanosec=self.now % 10**9)
            columns = {'names': self.robot.joint_names, 'q': q, 'dq': np.zeros(17), 'effort': effort} | changes
            self.client.send_state(stamp=stamp, **columns)
            self.client.spin(0.002)
        return stamp

    def told(self, topic: str, *words: Any, **changes: Any) -> Any:
        """Go on until a topic says something for the latest state, and return it."""
        found: dict[str, Time] = {}

        def say() -> None:
            found['stamp'] = self.go_on(0.02, *words, **changes)

        return self.client.until(lambda: answer(self.client.received[topic], found['stamp']), say, topic)

    def until(self, topic: str, true: Callable[[Any], bool], *words: Any, **changes: Any) -> Any:
        """Go on until what a topic says is so, and return it: the observer takes its time, and messages get lost."""
        return self.client.until(
            lambda: (messages := self.client.received[topic]) and true(messages[-1]) and messages[-1],
            lambda: self.go_on(0.1, *words, **changes),
            topic,
        )

    def status(self, name: str, *words: Any, **changes: Any) -> Any:
        """Return the next status of a name, while states go on."""
        self.client.diagnostics.pop(name, None)
        return self.client.until(lambda: self.client.diagnostics.get(name), lambda: self.go_on(0.1, *words, **changes))


@contextmanager
def standing(robot: Robot, *words: str) -> Iterator[World]:
    """Run the node, and say what there is to say of a robot that stands still."""
    with domain() as number:
        process = Process(number, *words)
        client = Client(number)
        client.listen(*TOPICS)
        client.ready()
        yield World(client, robot)
        client.close()
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


@pytest.fixture(scope='module')
def world(robot: Robot) -> Iterator[World]:
    with standing(robot) as world:
        yield world


def numbers(message: Any) -> np.ndarray:
    f, m = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, m.x, m.y, m.z])


def near(expected: np.ndarray, within: float) -> Callable[[Any], bool]:
    return lambda message: np.abs(numbers(message) - expected).max() < within


def assert_torques_and_both_wrenches_are_told(world: World) -> None:
    expected = world.torque(LEFT, RIGHT)
    torque = world.until('torque/external', lambda m: np.abs(m.effort - expected).max() < 1e-3, LEFT, RIGHT)
    assert list(torque.name) == list(world.robot.joint_names)
    for hand, link, pull in (('left', 'R10l', LEFT), ('right', 'R10r', RIGHT)):
        topic = f'wrench/{hand}/estimated'
        message = world.until(topic, near(-pull, 0.6), LEFT, RIGHT)  # `sense` is applied_by_robot
        assert message.header.frame_id == link
        assert world.client.set(**{f'{hand}__sense': 'applied_on_robot'})[0].successful
        world.until(topic, near(pull, 0.6), LEFT, RIGHT)
        assert world.client.set(**{f'{hand}__sense': 'applied_by_robot'})[0].successful


def test_external_torques_and_both_wrenches_are_published(world: World) -> None:
    assert_torques_and_both_wrenches_are_told(world)


def test_after_a_gap_nothing_is_published_until_the_observer_has_settled(world: World) -> None:
    world.told('torque/external', LEFT)
    assert world.client.until(lambda: world.client.silent(*TOPICS, seconds=0.05))
    world.now += 10**9
    gap = world.now
    world.told('torque/external', LEFT)
    first = world.client.received['torque/external'][0].header.stamp
    assert 0.5 <= (first.sec * 10**9 + first.nanosec - gap) / 1e9


def test_diagnostics_say_that_joint_states_are_too_rare_for_the_observer(world: World) -> None:
    def seldom() -> None:
        world.now += 180_000_000
        world.go_on(0.02)

    def said() -> bool:
        status = world.client.diagnostics.get('external torque')
        return status is not None and 'stamps 0.2 s apart, must be within 0.1 s' in status.message

    world.client.until(said, seldom, 'a status that names the gap')
    assert world.client.diagnostics['external torque'].level == DiagnosticStatus.WARN


def test_a_joint_without_effort_is_left_out_and_named(world: World) -> None:
    effort = Lagrangian(world.robot).Q(Q) - world.torque(LEFT, RIGHT)
    effort[5] = np.nan
    name = world.robot.joint_names[5]
    torque = world.until('torque/external', lambda m: name not in m.name, effort=effort)
    assert list(torque.name) == [x for x in world.robot.joint_names if x != name]
    assert f'joints without effort are omitted: {name}' in world.status('external torque', effort=effort).message
    world.until('torque/external', lambda m: len(m.name) == 17)
    assert world.status('external torque').message == 'known'


def test_a_wrench_that_cannot_be_estimated_is_not_published_and_diagnostics_give_the_reason(world: World) -> None:
    straight = {'q': np.zeros(17), 'effort': Lagrangian(world.robot).Q(np.zeros(17))}
    world.told('torque/external', **straight)
    world.client.until(lambda: 'not observable along' in world.status('estimated wrench left', **straight).message)
    world.client.received['wrench/left/estimated'].clear()
    world.told('torque/external', **straight)
    world.told('torque/external', **straight)
    assert not world.client.received['wrench/left/estimated']
    world.told('wrench/left/estimated')
    assert world.client.until(lambda: world.status('estimated wrench left').message == 'known')


def test_contact_is_published_after_thresholds_are_learnt(world: World) -> None:
    world.until('torque/external', lambda m: np.abs(m.effort).max() < 1e-4)
    assert not world.client.received['contact']
    assert 'no thresholds' in world.status('contact').message

    def learn(on: bool) -> Any:
        return world.client.call('/contact/learn', SetBool, SetBool.Request(data=on), doing=lambda: world.go_on(0.02))

    assert learn(True).success
    refused = learn(False)
    assert not refused.success
    assert 'must be at least 200' in refused.message
    assert 'must be begun first' in learn(False).message
    learn(True)
    world.client.until(lambda: re.search(r'free run: \d{3} states', world.status('contact').message))
    world.client.until(lambda: not re.search(r'free run: 1?\d{1,2} states', world.status('contact').message))
    assert learn(False).success
    assert world.client.get('joints.q_3l.contact_threshold') == pytest.approx(0.5, abs=0.01)
    assert world.client.get('joints.q_3l.contact_threshold_accelerating') == pytest.approx(1.0, abs=0.02)
    world.until('contact', lambda m: not m.data)
    push = np.array([0, 15.0, 0, 0, 0, 0])
    world.until('contact', lambda m: m.data, push)
    world.until('contact/left', lambda m: m.data, push)
    assert not world.told('contact/right', push).data
    assert world.status('contact', push).message.startswith('at q_')


def test_the_torque_that_a_sensor_explains_is_subtracted(world: World) -> None:
    client = world.client
    client.set(left__sense='applied_on_robot', left__sensor__subtract_from_external=True)
    world.told('torque/external', LEFT)
    client.until(lambda: 'there are no readings of left' in world.status('estimated wrench right', LEFT).message)

    def both() -> None:
        client.send_wrench('left', LEFT, stamp=Time(sec=world.now // 10**9, nanosec=world.now % 10**9))
        world.go_on(0.02, LEFT, RIGHT)

    client.received['wrench/left/estimated'].clear()
    left, right = (client.received[f'wrench/{hand}/estimated'] for hand in ('left', 'right'))
    client.until(lambda: left and np.abs(numbers(left[-1])).max() < 0.5, both)
    client.until(lambda: right and np.abs(numbers(right[-1]) + RIGHT).max() < 0.6, both)
    client.set(left__sense='applied_by_robot', left__sensor__subtract_from_external=False)


def test_the_meaning_of_effort_is_a_parameter(world: World) -> None:
    assert not world.client.set(effort_source='joints')[0].successful
    assert world.client.set(effort_source='external')[0].successful
    effort = np.arange(17.0)
    world.until('torque/external', lambda m: (np.array(m.effort) == effort).all(), effort=effort)
    assert world.client.set(joints__q_3l__effort_scale=-2.0)[0].successful
    k = world.robot.joint_names.index('q_3l')
    world.until('torque/external', lambda m: m.effort[k] == -2.0 * k, effort=effort)
    world.client.set(effort_source='motor', joints__q_3l__effort_scale=1.0)


def test_states_that_passed_without_a_subscriber_are_no_gap(robot: Robot) -> None:
    with standing(robot) as world:
        world.told('torque/external')
        for subscription in list(world.client.node.subscriptions):
            if 'diagnostics' not in subscription.topic_name:
                world.client.node.destroy_subscription(subscription)
        world.client.until(lambda: 'no subscriber' in world.status('external torque').message, why='no subscriber')
        world.go_on(0.5)
        world.client.diagnostics.pop('external torque')
        world.client.listen('torque/external')

        def settles() -> bool:
            status = world.client.diagnostics.get('external torque')
            return status is not None and 'settles' in status.message

        # Slower than real time: diagnostics come once a second, and must see it settle.
        world.client.until(settles, lambda: world.go_on(0.02), 'an observer that begins', pause=0.2)
        status = world.client.diagnostics['external torque']
        assert (status.level, 'stamps' in status.message) == (DiagnosticStatus.OK, False)
