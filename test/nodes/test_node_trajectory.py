"""`trajectory_node` over DDS: a trajectory comes back with efforts, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from geometry_msgs.msg import InertiaStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from krang_dynamics_ros import BaseMotion, Dynamics, Inertia, Robot, load_robot, urdf_text
from krang_dynamics_ros.core.spatial import rotation_from_rpy
from krang_dynamics_ros.dynamics.feed_forward import FeedForward, Plan
from krang_dynamics_ros.dynamics.trajectory import Trajectory
from krang_dynamics_ros.nodes.trajectory_node import fill, summary, trajectory_of

from ..imu import quaternion
from ..ros import Client, Process, domain

ARM = [f'q_{k}l' for k in range(1, 8)]
OUT = 'trajectory/with_effort'


class Planner(Client):
    """A planner that sends trajectories and listens to what comes back."""

    def __init__(self, number: int) -> None:
        super().__init__(number, node='krang_trajectory')
        self.received[OUT] = []
        self.node.create_subscription(JointTrajectory, OUT, self.received[OUT].append, 10)
        self.until(lambda: self.node.count_publishers(OUT) > 0, why=OUT)

    def plan(self, message: Any, doing: Any = None) -> Any:
        """Send a trajectory, and return it with efforts."""
        self.received[OUT].clear()
        self.publisher(JointTrajectory, 'trajectory').publish(message)
        return self.until(lambda: self.received[OUT], doing, 'efforts')[0]

    def refused(self, message: Any, reason: str) -> None:
        """Send a trajectory, and wait until diagnostics say why it is refused."""
        self.publisher(JointTrajectory, 'trajectory').publish(message)
        self.until(lambda: reason in getattr(self.diagnostics.get('trajectories'), 'message', ''), why=reason)


@pytest.fixture(scope='module')
def planner() -> Iterator[Planner]:
    with domain() as number:
        arguments = ('--ros-args', '-p', 'state_timeout:=10.0', '-p', 'every:=0.05')
        process = Process(number, *arguments, module='trajectory_node')
        client = Planner(number)
        yield client
        client.close()
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


def motion(names: list[str], faster: float = 1.0) -> Trajectory:
    q, dq = np.zeros((2, 3, len(names)))
    q[1:], dq[1] = [[0.1] * len(names), [0.2] * len(names)], 0.06 * faster
    return Trajectory.of(names, np.array([0.0, 1.5, 3.0]) / faster, q, dq)


def message_of(trajectory: Trajectory) -> Any:
    message = JointTrajectory()
    message.header.frame_id, message.header.stamp.sec = 'base', 12
    fill(message, trajectory)
    return message


def test_a_message_is_the_trajectory_it_was_made_of() -> None:
    given = motion(ARM)
    back = trajectory_of(message_of(given))
    for name in ('time', 'position', 'velocity', 'acceleration', 'effort'):
        np.testing.assert_array_equal(getattr(back, name), getattr(given, name))


@pytest.mark.parametrize(
    ('stretch', 'notes', 'wanted'),
    [
        (1.0, (), '3 points'),
        (1.25, (), '3 points, slower by a factor of 1.25'),
        (1.0, ('no velocity', 'no effort'), '3 points; note: no velocity; no effort'),
    ],
)
def test_the_log_has_the_stretch_and_the_notes_if_there_are_any(
    stretch: float, notes: tuple[str, ...], wanted: str
) -> None:
    assert summary(Plan(motion(ARM), stretch, np.zeros(7), np.zeros(7), notes)) == wanted


def test_a_trajectory_comes_back_with_efforts(planner: Planner, robot: Robot, dynamics: Dynamics) -> None:
    """The joints that it does not name are where joint states say, and the hand holds what it was told."""
    q = dynamics.vector({'q_w': 0.3, 'q_1r': 0.5})
    planner.send_state(dynamics.joint_names, q, np.zeros(dynamics.n))
    payload = InertiaStamped()
    payload.inertia.m, payload.inertia.com.z = 2.0, 0.1
    planner.publisher(InertiaStamped, 'payload/left').publish(payload)
    planner.until(lambda: planner.get('left.payload.mass') == 2.0, why='payload')

    def say() -> None:
        planner.send_state(dynamics.joint_names, q, np.zeros(dynamics.n))
        if not planner.received[OUT]:
            planner.publisher(JointTrajectory, 'trajectory').publish(message_of(motion(ARM)))

    answer = planner.plan(message_of(motion(ARM)), say)
    assert (answer.header.frame_id, answer.header.stamp.sec) == ('base', 12)
    assert list(answer.joint_names) == ARM
    dynamics.payload = {'R10l': Inertia.about_com(2.0, [0.0, 0.0, 0.1], np.zeros((3, 3)))}
    fixed = {name: float(x) for name, x in zip(dynamics.joint_names, q, strict=True) if name not in ARM}
    wanted = FeedForward(robot, dynamics, fixed).plan(motion(ARM), 0.05).trajectory
    dynamics.payload = {}
    got = trajectory_of(answer)
    np.testing.assert_allclose(got.time, wanted.time, atol=1e-9)
    np.testing.assert_allclose(got.effort, wanted.effort, rtol=1e-9, atol=1e-9)


def test_a_limit_is_named_and_retimed_on_request(planner: Planner, dynamics: Dynamics) -> None:
    names = list(dynamics.joint_names)
    fast = message_of(motion(names, 8.0))
    planner.refused(fast, 'retime slows the motion down')
    assert planner.set(retime=True)[0].successful
    slow = planner.plan(fast)
    assert trajectory_of(slow).duration > 1.1 * 3.0 / 8
    assert planner.set(retime=False)[0].successful
    assert not planner.set(every=0.0)[0].successful


def test_an_invalid_trajectory_is_refused_with_the_reason(planner: Planner, dynamics: Dynamics) -> None:
    names = list(dynamics.joint_names)
    short = message_of(motion(names))
    short.points[1].velocities = [0.0]
    planner.refused(short, 'point 2: 1 velocities, must be 17, or none')
    planner.refused(message_of(motion(['q_9l'])), "joint 'q_9l' is unknown")
    planner.refused(JointTrajectory(joint_names=names), 'times of shape (0,)')
    nan = message_of(motion(names))
    nan.points[0].positions = [float('nan')] * 17
    planner.refused(nan, 'point 1: positions')
    back = JointTrajectory(joint_names=['q_1l'], points=[JointTrajectoryPoint(positions=[0.0]) for _ in range(2)])
    planner.refused(back, 'must be after that of point 1')
    assert planner.plan(message_of(motion(names))).points  # and goes on


def test_a_refusal_names_joints_without_a_position() -> None:
    with domain() as number:
        process = Process(number, module='trajectory_node')
        client = Planner(number)
        client.refused(message_of(motion(ARM)), 'positions of q_imu, q_w, q_torso')
        client.close()
        assert process.end() == 0, process.output


def test_a_tilted_base_counts_as_the_imu_says_it_is(robot: Robot, dynamics: Dynamics) -> None:
    names = list(dynamics.joint_names)
    with domain() as number:
        process = Process(number, '--ros-args', '-p', 'base_motion:=orientation', module='trajectory_node')
        client = Planner(number)
        client.refused(message_of(motion(names)), 'the motion of the base is not known: no reading of the IMU')
        R = rotation_from_rpy((0.3, -0.5, 1.0))
        given, imu = message_of(motion(names)), Imu()
        imu.orientation.w, imu.orientation.x, imu.orientation.y, imu.orientation.z = quaternion(R)
        imu.header.frame_id = 'R0'

        def tilt() -> None:
            imu.header.stamp = client.stamp()
            client.publisher(Imu, 'imu').publish(imu)
            client.publisher(JointTrajectory, 'trajectory').publish(given)

        dynamics.base_motion = BaseMotion.tilted(R)
        wanted = FeedForward(robot, dynamics).plan(motion(names)).trajectory
        found = trajectory_of(client.plan(given, tilt))
        np.testing.assert_allclose(found.effort, wanted.effort, atol=1e-9)
        client.close()
        assert process.end() == 0, process.output


def test_the_robot_may_come_by_a_topic_and_another_after_it() -> None:
    names = ['theta1', 'theta2']
    with domain() as number:
        process = Process(number, '--ros-args', '-p', 'robot_description_topic:=urdf', module='trajectory_node')
        client = Client(number, node='krang_trajectory')
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        descriptions = client.node.create_publisher(String, 'urdf', latched)
        got: list[Any] = []
        client.node.create_subscription(JointTrajectory, OUT, got.append, 10)
        trajectories = client.node.create_publisher(JointTrajectory, 'trajectory', 10)
        light = load_robot('arm_2r')
        heavy = light.carrying({light.links[-1].name: Inertia.about_com(3.0, [0, 0, 0], np.zeros((3, 3)))})
        for robot in (light, heavy):
            descriptions.publish(String(data=urdf_text(robot)))
            wanted = FeedForward(robot, Dynamics(urdf_text(robot))).plan(motion(names)).trajectory.effort

            def came(wanted: np.ndarray = wanted) -> bool:
                efforts = trajectory_of(got[-1]).effort if got else np.zeros((0, 2))
                return efforts.shape == wanted.shape and np.allclose(efforts, wanted, rtol=1e-9, atol=1e-9)

            client.until(came, lambda: trajectories.publish(message_of(motion(names))), 'efforts of that robot')
        client.close()
        assert process.end() == 0, process.output
