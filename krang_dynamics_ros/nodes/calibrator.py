"""The ROS side of `krang calibrate`: it subscribes to an arm, and reads and sets parameters of its dynamics node.

On `payload/<hand>/proposed` and `payload/<hand>/accept` it offers the payload that `krang calibrate --efforts` finds.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger

from ..calibration.lifting import Lifting
from ..calibration.payload_by_lifting import LiftedPayload
from ..calibration.samples import Sampler
from ..core.errors import ArgumentError, KrangDynamicsError
from ..dynamics.terms import Torques
from ..live.engine import Engine
from ..live.messages import ImuMessage, imu_of, stamp_of, wrench_of
from .diagnostics import OK, Reporter, Status
from .remote import RemoteError, RemoteNode
from .run import caught
from .topics import INPUT, LATCHED

SHOW = 0.2  # s between two updates of the table


class Calibrator:
    """A node that subscribes, and sets parameters of the dynamics node on request. Use it in a `with`."""

    def __init__(self, target: str, ros_arguments: Sequence[str] = ()) -> None:
        """`target` is the name of the dynamics node whose parameters are read, and set to the result."""
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('krang_calibrate')
        asking = rclpy.create_node('krang_calibrate_parameters')  # callbacks of the first node wait for its answers
        self._asking, self._remote = asking, RemoteNode(asking, target)

    def __enter__(self) -> Calibrator:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._node.destroy_node()
        self._asking.destroy_node()
        rclpy.shutdown()

    def parameters(self) -> dict[str, Any]:
        """Return all parameters of the running node, with its robot, or raise `RemoteError`."""
        self._remote.find()
        return self._remote.with_description(self._remote.values())

    def commands_refusal(self) -> str:
        """Return why present efforts must not be used: the node commands the arm, or does not answer; else ''."""
        try:
            enabled = self._remote.values(['command_enabled']).get('command_enabled', False)
        except RemoteError as error:
            return f'whether commands are enabled is not known: {error}'
        if not enabled:
            return ''
        return (
            f'commands of {self._remote.target} are enabled: under gravity compensation the effort is the command, and '
            'shows no load; disable them, and hold the arm with a position controller'
        )

    def apply(self, values: Mapping[str, Any]) -> None:
        """Set parameters of the running node, or raise `RemoteError` with its reason."""
        self._remote.set(values)

    def listen(self, engine: Engine, sampler: Sampler, changed: Callable[[bool], None]) -> None:
        """Collect samples until a stop signal. `changed` is called often (False), and after each sample (True)."""
        _Subscriptions(self._node, self._remote, engine, sampler, changed)
        self._spin(changed)

    def listen_to_efforts(self, engine: Engine, lifting: Lifting, changed: Callable[[bool], None]) -> None:
        """Collect stands until a stop signal, and propose the payload. `changed` is called as in `listen`."""
        proposal = PayloadProposal(self._node, lifting, engine.dynamics.name, self.apply)
        proposal.publish()

        def on_stand() -> None:
            changed(True)
            proposal.publish()

        _EffortSubscriptions(self._node, self._remote, engine, lifting, on_stand)
        self._spin(changed)

    def _spin(self, changed: Callable[[bool], None]) -> None:
        """Process messages until a stop signal."""
        with caught((signal.SIGINT, signal.SIGTERM)) as ended:
            executor = EventsExecutor()
            executor.add_node(self._node)
            shown = 0.0
            while not ended:
                executor.spin_once(timeout_sec=SHOW)
                if time.monotonic() - shown > SHOW:
                    changed(False)
                    shown = time.monotonic()
            executor.remove_node(self._node)


class _JointSubscriptions:
    """The subscriptions that all calibrations need: they pass each message to the engine."""

    def __init__(self, node: Any, remote: RemoteNode, engine: Engine, hand: str) -> None:
        self._node, self._remote, self._engine, self._hand = node, remote, engine, hand
        topics = engine.inputs.topics
        self._subscribe(JointState, topics.joint_states, self._on_joint_state)
        if engine.inputs.uses_imu:
            self._subscribe(Imu, topics.imu, self._on_imu)

    def _subscribe(self, kind: type[Any], usual: str, callback: Callable[[Any], None]) -> None:
        """Subscribe to the topic of this type that the running node uses."""
        topic = self._remote.subscribed_topic(kind.__name__, usual)
        self._node.create_subscription(kind, topic, callback, INPUT)

    def _now(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _on_joint_state(self, message: JointState) -> None:
        columns = (np.asarray(message.position), np.asarray(message.velocity), np.asarray(message.effort))
        now = self._now()
        if (stamp := self._stamp(message, 'joint_states')) is not None:
            torques = self._engine.on_joint_state(message.name, *columns, stamp, now)
            if torques is not None:
                self._on_torques(torques, now)

    def _on_torques(self, torques: Torques, now: int) -> None:
        """Use a joint state that makes all joints known."""

    def _on_imu(self, message: Imu) -> None:
        if (stamp := self._stamp(message, 'imu')) is not None:
            self._engine.inputs.on_imu(ImuMessage(*imu_of(message), stamp, self._now()))

    def _stamp(self, message: Any, role: str) -> int | None:
        """Return the stamp of a message (ns); note a refusal and return None if it is not a valid time."""
        try:
            return stamp_of(message)
        except ArgumentError as error:
            self._engine.count_refused(role, self._hand, str(error))
            return None


class _Subscriptions(_JointSubscriptions):
    """The subscriptions for a wrist sensor: each reading goes to the sampler too."""

    def __init__(
        self, node: Any, remote: RemoteNode, engine: Engine, sampler: Sampler, changed: Callable[[bool], None]
    ) -> None:
        super().__init__(node, remote, engine, sampler.hand.name)
        self._sampler, self._changed = sampler, changed
        self._subscribe(WrenchStamped, engine.inputs.topics.wrenches[self._hand], self._on_wrench)

    def _on_wrench(self, message: WrenchStamped) -> None:
        now = self._now()
        if (stamp := self._stamp(message, 'wrench')) is not None:
            self._engine.inputs.on_wrench(self._hand, *wrench_of(message), stamp, now)
        if self._sampler.look(now):
            self._changed(True)


class _EffortSubscriptions(_JointSubscriptions):
    """The subscriptions for efforts: each joint state goes to the sampler of stands too."""

    def __init__(
        self, node: Any, remote: RemoteNode, engine: Engine, lifting: Lifting, on_stand: Callable[[], None]
    ) -> None:
        super().__init__(node, remote, engine, lifting.hand.name)
        self._lifting, self._on_stand = lifting, on_stand

    def _on_torques(self, torques: Torques, now: int) -> None:
        if self._lifting.sampler.update(torques, now):
            self._on_stand()


class PayloadProposal:
    """Publishes each payload that the stands determine, and sets it on request."""

    def __init__(self, node: Node, lifting: Lifting, robot: str, apply: Callable[[Mapping[str, Any]], None]) -> None:
        """`apply` sets parameters of the dynamics node, or raises an error of ours; `robot` is the robot's name."""
        self._node, self._lifting, self._apply = node, lifting, apply
        hand = lifting.hand.name
        self._publisher = node.create_publisher(InertiaStamped, f'payload/{hand}/proposed', LATCHED)
        node.create_service(Trigger, f'payload/{hand}/accept', self._on_accept)
        Reporter(node, robot).add(self._statuses)

    def publish(self) -> None:
        """Publish the payload by all stands so far, if they determine it; call it after each stand."""
        found = self._lifting.found
        if found is None or found.trouble:
            return
        message = InertiaStamped()
        message.header.stamp, message.header.frame_id = self._node.get_clock().now().to_msg(), self._lifting.hand.link
        message.inertia.m, com = found.mass, message.inertia.com
        com.x, com.y, com.z = found.com.tolist()
        self._publisher.publish(message)

    def _on_accept(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if why := self._lifting.trouble:
            response.success, response.message = False, why
            return response
        values = self._lifting.values()
        try:
            self._apply(values)
        except KrangDynamicsError as error:
            response.success, response.message = False, str(error)
            return response
        response.success = True
        response.message = '; '.join(f'{name} is {value}' for name, value in values.items())
        return response

    def _statuses(self) -> Iterator[Status]:
        name, found = f'payload {self._lifting.hand.name} proposed', self._lifting.found
        now = {'now': self._lifting.sampler.status}
        if found is None or not np.isfinite(found.deviations).all():
            yield Status(name, OK, f'none: {self._lifting.trouble}', now)
        else:
            message = f'none: {found.trouble}' if found.trouble else f'{found.mass:.4g} kg'
            yield Status(name, OK, message, now | self._values(found))

    def _values(self, found: LiftedPayload) -> dict[str, str]:
        """Return numbers with their standard deviations, and the friction of each used joint."""
        names, deviations = self._lifting.joints.names, found.deviations
        return {
            'mass (kg)': f'{found.mass:.6g}',
            'mass, standard deviation (kg)': f'{deviations[0]:.2g}',
            'centre of mass (m)': ', '.join(f'{x:.4g}' for x in found.com),
            'centre of mass, standard deviation (m)': ', '.join(f'{x:.2g}' for x in deviations[1:]),
            'poses': str(found.poses),
            'friction (N m, N)': ', '.join(f'{names[k]} {found.friction[k]:.3g}' for k in found.joints),
        }
