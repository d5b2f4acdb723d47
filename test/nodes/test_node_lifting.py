"""Payload by lifting over DDS: the command proposes what it finds, and sets it on the dynamics node when asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from geometry_msgs.msg import InertiaStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

from krang_dynamics_ros import Robot
from krang_dynamics_ros.calibration.stands import HoldingTorque, write_stands
from krang_dynamics_ros.live.engine import engine_of

from ..calibration.lifting_world import Lifted, arm_of
from ..ros import Client, Process, domain
from .test_node_calibrate import Command

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
COMMANDS_ON = """
import rclpy
rclpy.init()
node = rclpy.create_node('krang_dynamics')
node.declare_parameter('command_enabled', True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    pass
"""


class Arm:
    """An arm that a position controller holds, and what it says of itself."""

    def __init__(self, client: Client, run: Lifted) -> None:
        self.client, self.run = client, run
        self.q = self.goal = run.poses[0]
        self.sticks = np.zeros(run.robot.n)

    def come_to(self, pose: int, side: int) -> None:
        """Go beyond a pose, then to it from that side."""
        beyond = self.run.poses[pose].copy()
        beyond[arm_of(self.run.robot)] -= 0.1 * side
        for goal in (beyond, self.run.poses[pose]):
            self.goal = goal
            self.client.until(lambda: np.array_equal(self.q, self.goal), self.say, why='the arm is there')
        self.sticks = self.run.sticks(side)

    def say(self) -> None:
        way = self.goal - self.q
        self.q = self.goal if np.abs(way).max() < 0.04 else self.q + way * 0.04 / np.abs(way).max()
        effort = self.run.effort(self.q, self.sticks) + 0.005 * self.run.limits * self.run.rng.normal(size=len(self.q))
        self.client.send_state(self.run.robot.joint_names, self.q, np.zeros(len(self.q)), effort=effort)
        self.client.spin(0.005)


@pytest.fixture
def run(robot: Robot, tmp_path: Path) -> Lifted:
    """Three poses: the empty hand was in all of them, the loaded one in two."""
    lifted, holding = Lifted.drawn(robot, 12, 'motor', poses=3), HoldingTorque(engine_of({}), 'left')
    for name, loaded, count in (('empty.csv', False, 6), ('full.csv', True, 4)):
        lifted.load(loaded)
        write_stands(tmp_path / name, lifted.stands(holding)[:count], robot.joint_names)
    return lifted


@pytest.fixture
def number() -> Iterator[int]:
    with domain() as found:
        yield found


def stand_of(arm: Arm, command: Command, count: int) -> None:
    def there() -> bool:
        return f'stand {count} taken' in command.output or command.process.poll() is not None

    arm.client.until(there, arm.say, why=f'stand {count}; {command.output}')
    assert command.process.poll() is None, command.output


def proposal_values(client: Client) -> dict[str, str]:
    """Return what diagnostics say of the proposal."""
    status = client.diagnostics.get('payload left proposed')
    return {pair.key: pair.value for pair in status.values} if status else {}


def test_a_lifted_payload_is_proposed_and_set_when_accepted(number: int, run: Lifted, tmp_path: Path) -> None:
    process = Process(number, '--ros-args', '-p', 'state_timeout:=2.0')
    client = Client(number)
    client.listen('torque/gravity')
    client.ready()
    proposed: list[InertiaStamped] = []
    client.node.create_subscription(InertiaStamped, 'payload/left/proposed', proposed.append, LATCHED)
    arm = Arm(client, run)
    words = ['left', '--payload', '--efforts', '--empty', 'empty.csv', '--samples', 'full.csv', '-o', 'found.yaml']
    command = Command(number, tmp_path, *words)
    refusal = client.call('/payload/left/accept', Trigger, Trigger.Request(), arm.say)
    assert not refusal.success
    assert '2 of 3 poses have stands from both sides' in refusal.message
    for count, side in ((5, 1), (6, -1)):
        arm.come_to(2, side)
        stand_of(arm, command, count)
    client.until(lambda: proposed, arm.say, why='payload/left/proposed')
    inertia = proposed[-1].inertia
    assert proposed[-1].header.frame_id == 'R10l'
    assert inertia.m == pytest.approx(run.body.m, abs=0.5)
    key = 'mass, standard deviation (kg)'
    client.until(lambda: key in proposal_values(client), arm.say, why='diagnostics')
    assert 0 < float(proposal_values(client)[key]) < 0.3
    assert client.get('left.payload.mass') == 0.0
    answer = client.call('/payload/left/accept', Trigger, Trigger.Request(), arm.say)
    assert answer.success, answer.message
    assert client.get('left.payload.mass') == pytest.approx(inertia.m, rel=1e-5)
    np.testing.assert_allclose(client.get('left.payload.com'), run.body.com, atol=0.08)
    assert command.end() == 0, command.output
    assert (tmp_path / 'found.yaml').exists()
    client.close()
    assert process.end() == 0, process.output


@pytest.mark.slow
def test_no_stand_is_taken_while_commands_are_enabled(number: int, run: Lifted, tmp_path: Path) -> None:
    other = Process(number, code=COMMANDS_ON)
    client = Client(number)
    arm = Arm(client, run)
    command = Command(number, tmp_path, 'left', '--payload', '--efforts', '--samples', 'new.csv')
    arm.come_to(1, 1)
    client.until(lambda: client.node.count_publishers('payload/left/proposed') > 0, arm.say, why='the command listens')
    arm.come_to(1, -1)
    client.until(lambda: 'are enabled' in proposal_values(client).get('now', ''), arm.say, why='the refusal')
    assert command.end() == 1
    assert 'commands of krang_dynamics are enabled' in command.output
    assert not (tmp_path / 'new.csv').exists()
    client.close()
    other.end()
