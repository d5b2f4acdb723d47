"""What `calibrate` needs of ROS: the running node's parameters, joint states and readings as they come."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.experimental import EventsExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Imu, JointState

from ..calibration.sampler import Sampler
from ..core.errors import ArgumentError
from ..messages.fields import imu_of, stamp_of, wrench_of
from ..pipeline.pipeline import Pipeline
from .remote_parameters import RemoteParameters
from .topics import INPUT

SHOW = 0.2  # s between two looks at the table
GLOBAL = ('robot_file', 'robot_description', 'gravity', 'end_effectors', 'imu_joint', 'state_timeout')
OF_HAND = ('link', 'sense', 'moment_about', 'tool.mass', 'tool.com', 'payload.mass', 'payload.com', 'payload.inertia')


class Calibrator:
    """A node that only listens. Use it in a `with`."""

    def __init__(self, hand: str, target: str, ros_arguments: Sequence[str] = ()) -> None:
        """`target` is the name of the dynamics node that is asked what it knows, and told what was found."""
        rclpy.init(args=list(ros_arguments), signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('krang_calibrate')
        self._hand = hand
        self._remote = RemoteParameters(self._node, target)

    def __enter__(self) -> Calibrator:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._node.destroy_node()
        rclpy.shutdown()

    def known(self) -> dict[str, Any]:
        """Return the running node's parameters, as far as a calibration depends on them, or raise `RemoteError`."""
        self._remote.find()
        return self._remote.values([*GLOBAL, *(f'{self._hand}.{key}' for key in OF_HAND)])

    def apply(self, values: Mapping[str, Any]) -> None:
        """Set parameters of the running node, or raise `RemoteError` with its reason."""
        self._remote.set(values)

    def listen(self, pipeline: Pipeline, sampler: Sampler, changed: Callable[[bool], None]) -> None:
        """Take samples until SIGINT or SIGTERM. `changed` is called now and then, with True after a sample."""
        _Ears(self._node, pipeline, sampler, changed)
        ended: list[int] = []
        before = {name: signal.signal(name, lambda number, _: ended.append(number)) for name in _SIGNALS}
        executor = EventsExecutor()
        executor.add_node(self._node)
        shown = 0.0
        while not ended:
            executor.spin_once(timeout_sec=SHOW)
            if time.monotonic() - shown > SHOW:
                changed(False)
                shown = time.monotonic()
        executor.remove_node(self._node)
        for name, handler in before.items():
            signal.signal(name, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Ears:
    """The subscriptions: each message goes to the pipeline; after a reading, the sampler looks."""

    def __init__(self, node: Any, pipeline: Pipeline, sampler: Sampler, changed: Callable[[bool], None]) -> None:
        self._node, self._pipeline, self._sampler, self._changed = node, pipeline, sampler, changed
        node.create_subscription(JointState, 'joint_states', self._on_joint_state, INPUT)
        node.create_subscription(WrenchStamped, f'wrench/{sampler.hand.name}', self._on_wrench, INPUT)
        if pipeline.inputs.imu_joints:
            node.create_subscription(Imu, 'imu', self._on_imu, INPUT)

    def _now(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _on_joint_state(self, message: JointState) -> None:
        columns = (np.asarray(message.position), np.asarray(message.velocity), np.asarray(message.effort))
        if (stamp := self._stamp(message, 'joint_states')) is not None:
            self._pipeline.take_joint_state(message.name, *columns, stamp, self._now())

    def _on_wrench(self, message: WrenchStamped) -> None:
        now, hand = self._now(), self._sampler.hand.name
        if (stamp := self._stamp(message, 'wrench')) is not None:
            self._pipeline.inputs.take_wrench(hand, *wrench_of(message), stamp, now)
        if self._sampler.look(now):
            self._changed(True)

    def _on_imu(self, message: Imu) -> None:
        if (stamp := self._stamp(message, 'imu')) is not None:
            self._pipeline.inputs.take_imu(*imu_of(message), stamp, self._now())

    def _stamp(self, message: Any, what: str) -> int | None:
        """Return a message's stamp (ns); None, with a refusal noted, if it is no time."""
        try:
            return stamp_of(message)
        except ArgumentError as error:
            self._pipeline.refuse(what, self._sampler.hand.name, str(error))
            return None
