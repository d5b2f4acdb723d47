"""`trajectory_node`: joint trajectories in, the same with efforts for feed-forward out. See docs/trajectory.md."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..core.errors import ArgumentError, KrangDynamicsError, listed
from ..core.parameters import ParameterSpec
from ..core.spatial import Array
from ..core.text import shown_lines
from ..dynamics.factory import Model, load_model
from ..dynamics.feed_forward import EVERY, FeedForward, Plan
from ..dynamics.trajectory import Trajectory, given
from ..live.engine import Engine
from ..live.messages import SECOND, check_size
from ..live.parameters import MODEL, documented
from .arguments import node_arguments
from .diagnostics import OK, WARN, Reporter, Status
from .dynamics.description_input import Described, DescriptionInput
from .dynamics.inputs import DynamicsInputs, NodeClocks
from .run import run
from .settings import NodeSettings, warn_of_unknown
from .topics import why_refused

QOS = QoSProfile(depth=10)  # reliable, like the controllers of ros2_control
MAX_BYTES = 20_000_000  # of a message: 34 000 points of 17 joints with all fields
PAYLOAD_PERIOD = 0.1  # s between two steps of a payload that changes
FIELDS = ('positions', 'velocities', 'accelerations', 'effort')

_DESCRIPTION = 'Fills in the efforts of joint trajectories: `trajectory` in, `trajectory/with_effort` out.'
PARAMETERS = (
    ParameterSpec('every', EVERY, 'maximum step between two published points, s', settable=True, least=1e-4, most=10.0),
    ParameterSpec(
        'retime', False, 'slow a trajectory down, as little as needed, where it exceeds limits; points without '
        'velocities then have velocity zero', settable=True,
    ),
)  # fmt: skip


class TrajectoryNode(Node):
    """Parses trajectories, calls the library, publishes."""

    def __init__(self, described: Described | None = None) -> None:
        """`described` is the robot from `robot_description_topic`; None: none received yet, or no such topic."""
        super().__init__('krang_trajectory')
        self.replacement: Callable[[], Node] | None = None  # creates the node that replaces this one, for another robot
        self._settings = NodeSettings(self)
        chosen = self._settings.declare(MODEL)
        topic = chosen.pop('robot_description_topic')
        description = DescriptionInput(self, self._settings, described, self._restart_with) if topic else None
        if description is not None and described is None:
            Reporter(self, '').add(description.statuses)
            self.get_logger().info(f'waiting for the robot, its URDF on {description.topic}')
            return
        self._begin(load_model(**chosen) if described is None else described.model)

    def _begin(self, model: Model) -> None:
        """Create subscriptions and publishers for a robot."""
        self._settings.declare(PARAMETERS)
        self._clocks = NodeClocks(self)
        self._engine = Engine(self._settings, model, self._clocks.in_seconds())
        warn_of_unknown(self)
        self._settings.follow()
        DynamicsInputs(self, self._engine, self._clocks, lambda torques, stamp: None, wrists=False)  # callbacks keep it
        self._filled = self._refused = 0
        self._reason = ''
        self._out = self.create_publisher(JointTrajectory, 'trajectory/with_effort', QOS)
        topic = self.create_subscription(JointTrajectory, 'trajectory', self._on_trajectory, QOS, raw=True).topic_name
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(PAYLOAD_PERIOD, self._advance_payloads, clock=steady)
        Reporter(self, model.dynamics.name).add(self._statuses)
        self.get_logger().info(f'{model.dynamics.name}: {model.dynamics.n} joints; waiting for {topic}')

    def _restart_with(self, described: Described) -> None:
        self.replacement = partial(TrajectoryNode, described)

    def begin_stop(self) -> None:
        """Do nothing: this node sends no commands."""

    @property
    def stopped(self) -> bool:
        """Whether another robot may be read: always."""
        return True

    def resume_commands(self) -> None:
        """Do nothing: this node sends no commands."""

    def _advance_payloads(self) -> None:
        self._engine.payloads.advance(self._clocks.arrival())

    def _on_trajectory(self, raw: bytes) -> None:
        """Publish a trajectory with efforts, or refuse it."""
        try:
            check_size(raw, MAX_BYTES)
            message = deserialize_message(raw, JointTrajectory)
            trajectory = trajectory_of(message)
            if not self._engine.payloads.steady:
                raise ArgumentError('the payload of a hand is changing, must be constant; send the trajectory again')
            plan = self._plan(trajectory)
        except (RuntimeError, KrangDynamicsError) as error:
            self._refuse(str(error) if isinstance(error, KrangDynamicsError) else why_refused(error))
            return
        self._filled, self._reason = self._filled + 1, ''
        fill(message, plan.trajectory)
        self._out.publish(message)
        self.get_logger().info(shown_lines(summary(plan)))

    def _plan(self, trajectory: Trajectory) -> Plan:
        engine = self._engine
        self._set_base()
        fixed, robot = self._fixed(trajectory), engine.model.robot
        feed_forward = FeedForward(robot, engine.dynamics, fixed, engine.firmware, engine.total_terms)
        return feed_forward.plan(trajectory, self._settings['every'], self._settings['retime'])

    def _set_base(self) -> None:
        """Set the present motion of the base; raise `ArgumentError` if it is unknown, or will change."""
        base, engine = self._engine.inputs.base, self._engine
        if base is None:
            return
        if base.mode == 'full':
            raise ArgumentError('base_motion: full, must be fixed or orientation: how the base will move is not known')
        if why := engine.inputs.base_fault(self._clocks.arrival()):
            raise ArgumentError(f'the motion of the base is not known: {why}')
        if base.motion is not None:
            engine.dynamics.base_motion = base.motion

    def _fixed(self, trajectory: Trajectory) -> dict[str, float]:
        """Return the positions of the joints that a trajectory does not name."""
        states = self._engine.inputs.states
        named = {states.joint_names[k] for k in trajectory.columns_in(states.joint_names)}
        missing = [name for name in states.missing(self._clocks.arrival()) if name not in named]
        if missing:
            raise ArgumentError(f'positions of {listed(missing)} are not known: name them, or publish joint_states')
        positions = zip(states.joint_names, states.position.tolist(), strict=True)
        return {name: position for name, position in positions if name not in named}

    def _refuse(self, reason: str) -> None:
        self._refused, self._reason = self._refused + 1, reason
        self.get_logger().error(shown_lines(f'trajectory refused: {reason}'))

    def _statuses(self) -> Iterator[Status]:
        """Yield the result of the latest trajectory."""
        values = {'filled': self._filled, 'refused': self._refused}
        message = f'refused: {self._reason}' if self._reason else 'latest trajectory published' * bool(self._filled)
        yield Status('trajectories', WARN if self._reason else OK, message or 'none received yet', values)


def summary(plan: Plan) -> str:
    """Return a line about a trajectory with efforts, with its notes."""
    stretched = f', slower by a factor of {plan.stretch:.4g}' if plan.stretch > 1 else ''
    notes = f'; note: {"; ".join(plan.notes)}' if plan.notes else ''
    return f'{len(plan.trajectory.time)} points{stretched}{notes}'


def trajectory_of(message: Any) -> Trajectory:
    """Return the trajectory of a message, or raise `ArgumentError`."""
    n = len(message.joint_names)
    columns: dict[str, Array] = {field: np.full((len(message.points), n), np.nan) for field in FIELDS}
    for k, point in enumerate(message.points):
        for field, rows in columns.items():
            numbers = getattr(point, field)
            if len(numbers) not in (0, n):
                raise ArgumentError(f'point {k + 1}: {len(numbers)} {field}, must be {n}, or none')
            if len(numbers):
                rows[k] = _finite(numbers, f'point {k + 1}: {field}')
    times = [point.time_from_start.sec + point.time_from_start.nanosec / SECOND for point in message.points]
    return Trajectory.of(message.joint_names, times, *columns.values())


def _finite(numbers: Any, name: str) -> Array:
    row = np.asarray(numbers, dtype=float)
    if not np.isfinite(row).all():
        raise ArgumentError(f'{name} {row.tolist()}, must be finite')
    return row


def fill(message: Any, trajectory: Trajectory) -> None:
    """Write the points of a trajectory into a message; keep its header."""
    arrays = trajectory.position, trajectory.velocity, trajectory.acceleration, trajectory.effort
    known = [given(rows) for rows in arrays]
    message.joint_names, message.points = list(trajectory.joint_names), []
    for k, time in enumerate(trajectory.time):
        sec, nanosec = divmod(round(time * SECOND), SECOND)
        point = JointTrajectoryPoint(time_from_start=Duration(sec=sec, nanosec=nanosec))
        for field, rows, there in zip(FIELDS, arrays, known, strict=True):
            if there[k]:
                setattr(point, field, array('d', rows[k].tobytes()))
        message.points.append(point)


def _documented() -> list[ParameterSpec]:
    return [*PARAMETERS, *documented()]


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; `args` are the words behind its name, by default those of this process."""
    return run(TrajectoryNode, node_arguments('trajectory_node', _DESCRIPTION, _documented, args))


if __name__ == '__main__':
    sys.exit(main())
