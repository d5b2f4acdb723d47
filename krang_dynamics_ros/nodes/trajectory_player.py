"""Playing a joint trajectory on a robot or on our simulator, with supervision."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ..core.errors import ArgumentError, KrangDynamicsError, MissingError, listed
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..dynamics.trajectory import Spline, Trajectory
from ..live.messages import SECOND, stamp_of
from .endpoints import other_publishers
from .run import late_interrupt
from .topics import INPUT

SPIN_TIMEOUT = 0.02  # s
DISCOVERY = 10.0  # s to find joint states, or the action server
SILENCE = 1.0  # s without joint states: stop
HALT = 1.0  # s to hold the robot, or to wait for a cancelled goal
SETTLING = 0.5  # s after the end of a motion on the simulator
STIFFNESS, DAMPING = 100.0, 20.0  # 1/s^2, 1/s: computed torque on the simulator; slow against delays of 10 ms


class TrajectoryFollower(Protocol):
    """Interface that moves the robot along a trajectory."""

    def begin(self, trajectory: Trajectory) -> None:
        """Begin to move; `elapsed` counts from the next joint state."""

    def on_state(self, elapsed: float, q: Array, dq: Array) -> None:
        """Process a joint state (n), `elapsed` s after the beginning."""

    def outcome(self) -> str | None:
        """Return None while it moves, '' at the end, or the reason of an early end."""

    def halt(self) -> None:
        """Stop the robot where it is."""


class Player:
    """A node that watches joint states while a follower moves the robot. Use it in a `with`."""

    def __init__(
        self, joint_names: Sequence[str], joint_states: str = 'joint_states', ros_arguments: Sequence[str] = ()
    ) -> None:
        """`joint_names` are all joints of the robot; the messages on the topic `joint_states` may have some of them."""
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
        self.node: Node = rclpy.create_node('krang_excite', start_parameter_services=False)
        self._names, self._index = tuple(joint_names), {name: k for k, name in enumerate(joint_names)}
        self._q, self._dq = np.full((2, len(joint_names)), np.nan)
        self._stamp, self._arrival = 0, -np.inf
        self._fresh = False
        self._topic: str = self.node.resolve_topic_name(joint_states)
        self.node.create_subscription(JointState, self._topic, self._on_state, INPUT)
        self._executor = EventsExecutor()
        self._executor.add_node(self.node)

    def __enter__(self) -> Player:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._executor.remove_node(self.node)
        self.node.destroy_node()
        rclpy.shutdown()

    def _on_state(self, message: JointState) -> None:
        for k, name in enumerate(message.name):
            j = self._index.get(name)
            if j is not None and k < len(message.position):
                self._q[j] = message.position[k]
                self._dq[j] = message.velocity[k] if k < len(message.velocity) else np.nan
        self._stamp, self._arrival, self._fresh = stamp_of(message), time.monotonic(), True

    def spin(self) -> None:
        """Process messages for a moment."""
        with late_interrupt():
            self._executor.spin_once(timeout_sec=SPIN_TIMEOUT)

    def state(self) -> tuple[Array, Array]:
        """Return the latest positions and velocities (n); NaN where unknown."""
        return self._q.copy(), self._dq.copy()

    def pose(self) -> dict[str, float]:
        """Wait for all joints and return their positions by name; raise an error after `DISCOVERY`."""
        end = time.monotonic() + DISCOVERY
        self._q[:] = np.nan
        while not np.isfinite(self._q).all():
            if time.monotonic() > end:
                missing = [name for name, q in zip(self._names, self._q, strict=True) if not np.isfinite(q)]
                raise KrangDynamicsError(
                    f'{self._topic}: no position of {listed(missing)} within {DISCOVERY:g} s; must have all '
                    'joints of the robot: start its driver, or remap the topic (--ros-args -r joint_states:=NAME)'
                )
            self.spin()
        return dict(zip(self._names, self._q.tolist(), strict=True))

    def play(
        self,
        trajectory: Trajectory,
        follower: TrajectoryFollower,
        fault: Callable[[float, Array], str],
        stop: Callable[[], bool],
    ) -> str:
        """Move the robot; return '' at the end, or the reason of a stop.

        Args:
            trajectory: the motion.
            follower: moves the robot.
            fault: returns a message or '', from the time since the beginning (s) and the positions of the
                trajectory's joints.
            stop: returns whether a person stops the motion.
        """
        ours = [self._index[name] for name in trajectory.joint_names]
        follower.begin(trajectory)
        try:
            why = self._follow(follower, fault, stop, ours)
        except BaseException:  # Ctrl-C too
            follower.halt()
            raise
        if why:
            follower.halt()
        return why or follower.outcome() or ''

    def _follow(
        self,
        follower: TrajectoryFollower,
        fault: Callable[[float, Array], str],
        stop: Callable[[], bool],
        ours: Sequence[int],
    ) -> str:
        """Return the reason of a stop, or '' when the follower has ended."""
        begun, self._arrival, self._fresh = 0, time.monotonic(), False
        while follower.outcome() is None:
            self.spin()
            if why := self._reason_to_stop(stop):
                return why
            if not self._fresh:
                continue
            self._fresh = False
            begun = begun or self._stamp
            elapsed = (self._stamp - begun) / SECOND
            follower.on_state(elapsed, self._q, self._dq)
            if why := fault(elapsed, self._q[ours]):
                return why
        return ''

    def _reason_to_stop(self, stop: Callable[[], bool]) -> str:
        if stop():
            return 'a key was pressed'
        if time.monotonic() - self._arrival > SILENCE:
            return f'no joint states for {SILENCE:g} s'
        return ''


class SimulatorFollower:
    """Computed torque along the trajectory for our simulator, on topic `torque`; the other joints are held."""

    def __init__(self, player: Player, dynamics: Dynamics) -> None:
        self._player, self._dynamics = player, dynamics
        self._publisher = player.node.create_publisher(JointState, 'torque', 1)
        if found := other_publishers(player.node, 'torque'):
            raise ArgumentError(
                f'torque: also published by {listed(found)}, must be by this command only; run the simulator alone: '
                'krang simulator_node --ros-args -p brakes:=true'
            )
        self._message = JointState(name=list(dynamics.joint_names))
        self._spline: Spline | None = None
        self._start_position: Array | None = None
        self._elapsed = 0.0

    def begin(self, trajectory: Trajectory) -> None:
        """Begin to move."""
        self._spline, self._start_position, self._elapsed = Spline(trajectory), None, 0.0
        self._columns = [self._dynamics.joint_names.index(name) for name in trajectory.joint_names]

    def on_state(self, elapsed: float, q: Array, dq: Array) -> None:
        """Publish the torques that follow the trajectory at this state."""
        spline = self._spline
        if spline is None:
            return
        self._start_position = q.copy() if self._start_position is None else self._start_position
        self._elapsed = elapsed
        q_wanted, dq_wanted, ddq_wanted = self._start_position.copy(), np.zeros_like(q), np.zeros_like(q)
        end = spline.trajectory.time[-1]
        motion = spline.at(np.array([min(elapsed, end)]))
        q_wanted[self._columns] = motion.q[0]
        if elapsed < end:
            dq_wanted[self._columns], ddq_wanted[self._columns] = motion.dq[0], motion.ddq[0]
        self._send(q, np.nan_to_num(dq), q_wanted, dq_wanted, ddq_wanted)

    def _send(self, q: Array, dq: Array, q_wanted: Array, dq_wanted: Array, ddq_wanted: Array) -> None:
        ddq = ddq_wanted + DAMPING * (dq_wanted - dq) + STIFFNESS * (q_wanted - q)
        torque = self._dynamics.inverse_dynamics(q, dq, ddq) + self._dynamics.friction_torque(dq_wanted)
        self._message.effort = array('d', torque.tobytes())
        self._publisher.publish(self._message)

    def outcome(self) -> str | None:
        """Return None until `SETTLING` after the end of the trajectory, then ''."""
        done = self._spline is not None and self._elapsed > self._spline.trajectory.time[-1] + SETTLING
        return '' if done else None

    def halt(self) -> None:
        """Hold the robot for a moment; then the simulator closes its brakes, if enabled."""
        end, q_wanted = time.monotonic() + HALT, self._player.state()[0]
        while time.monotonic() < end:
            self._player.spin()
            q, dq = self._player.state()
            self._send(q, np.nan_to_num(dq), q_wanted, np.zeros_like(q), np.zeros_like(q))


class ActionFollower:
    """Action control_msgs/action/FollowJointTrajectory of a controller."""

    def __init__(self, player: Player, action: str) -> None:
        """Wait for the action server; raise an error if it does not appear or control_msgs is not installed."""
        try:
            from control_msgs.action import FollowJointTrajectory  # noqa: PLC0415 (not on PyPI)
            from rclpy.action import ActionClient  # noqa: PLC0415
            from trajectory_msgs.msg import JointTrajectory  # noqa: PLC0415

            from .trajectory_node import fill  # noqa: PLC0415
        except ModuleNotFoundError:
            raise MissingError('control_msgs', 'an action', 'source a ROS 2 that has it') from None
        self._player, self._type, self._message = player, FollowJointTrajectory, JointTrajectory
        self._fill = fill
        self._client = ActionClient(player.node, FollowJointTrajectory, action)
        self._handle: Any = None
        self._result: Any = None
        self._wait(action)

    def _wait(self, action: str) -> None:
        end = time.monotonic() + DISCOVERY
        while not self._client.server_is_ready():
            if time.monotonic() > end:
                suffix = '/_action/status'
                topics = self._player.node.get_topic_names_and_types(no_demangle=False)
                actions = [name.removesuffix(suffix) for name, _ in topics if name.endswith(suffix)]
                raise ArgumentError(
                    f'{action}: no such action within {DISCOVERY:g} s; actions: {listed(actions) or "none"}. Is the '
                    'controller active?'
                )
            self._player.spin()

    def begin(self, trajectory: Trajectory) -> None:
        """Send the goal and wait until it is accepted."""
        goal = self._type.Goal()
        goal.trajectory = self._message()
        self._fill(goal.trajectory, trajectory)
        self._handle = self._result = None
        accepted = self._client.send_goal_async(goal)
        end = time.monotonic() + DISCOVERY
        while not accepted.done() and time.monotonic() < end:
            self._player.spin()
        self._handle = accepted.result() if accepted.done() else None
        if self._handle is not None and self._handle.accepted:
            self._result = self._handle.get_result_async()

    def on_state(self, elapsed: float, q: Array, dq: Array) -> None:
        """Do nothing: the controller moves the robot."""

    def outcome(self) -> str | None:
        """Return the result of the controller."""
        if self._result is None:
            return 'the controller refused the trajectory; see its log'
        if not self._result.done():
            return None
        result = self._result.result().result
        code = result.error_code
        return '' if code == 0 else f'the controller ended with error {code}: {result.error_string}'

    def halt(self) -> None:
        """Cancel the goal: the controller then holds the robot."""
        if self._handle is None:
            return
        cancelled, end = self._handle.cancel_goal_async(), time.monotonic() + HALT
        while not cancelled.done() and time.monotonic() < end:
            self._player.spin()
