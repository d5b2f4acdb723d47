"""What `dynamics_node` hears: joint states, wrenches on the hands, an IMU on the base."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import Imu, JointState

from ..core.errors import ArgumentError, unknown_name
from ..core.wrench import Wrench
from ..dynamics.factory import Model
from ..dynamics.terms import State
from ..inputs.end_effector import EndEffector
from ..inputs.imu import pitch
from ..inputs.joint_states import JointStates
from . import dynamics_parameters as parameters
from .parameters import named
from .settings import Settings
from .topics import INPUT, nanoseconds, wrench_of


class DynamicsInputs:
    """Messages, put together to what is known of the robot now."""

    def __init__(self, node: Node, settings: Settings, model: Model) -> None:
        self._node, self._settings, self._model = node, settings, model
        self.heard = 0  # joint states, good or not
        imu_joint = settings['imu_joint']
        self._apart = [known_joint(model, 'imu_joint', imu_joint)] if imu_joint else []
        self.states = JointStates(model.dynamics.joint_names, settings['state_timeout'], self._apart)
        self.hands = [self._hand(name) for name in named(settings['end_effectors'])]
        settings.used_by(self._apply)

    def _hand(self, name: str) -> EndEffector:
        links = self._model.dynamics.link_names
        link = self._settings.declare(parameters.of_end_effector(name, self._model.end_effectors.get(name, '')))
        if link[f'{name}.link'] not in links:
            raise unknown_name(f'{name}.link: link', link[f'{name}.link'], links)
        return EndEffector(name, link[f'{name}.link'], links=frozenset(links))

    def _apply(self) -> None:
        self.states.timeout = self._settings['state_timeout']
        for hand in self.hands:
            meaning = (self._settings[f'{hand.name}.sense'], self._settings[f'{hand.name}.moment_about'])
            if meaning != (hand.sense, hand.moment_about):
                hand.forget()  # what came under the other meaning
            hand.sense, hand.moment_about = meaning
            hand.timeout = self._settings['wrench_timeout']

    def subscribe(self, on_state: Callable[[Time, int, int], None]) -> str:
        """Listen from now on, and return the name of the topic of the joint states.

        `on_state` is called when a joint state has made all joints known, with its stamp, the same in ns, and the
        time of its arrival in ns.
        """
        subscribe = partial(
            self._node.create_subscription,
            qos_profile=INPUT,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self._on_state = on_state
        topic: str = subscribe(JointState, 'joint_states', self._on_joint_state).topic_name
        for hand in self.hands:
            subscribe(WrenchStamped, f'wrench/{hand.name}', partial(self._on_wrench, hand))
        if self._apart:
            subscribe(Imu, 'imu', self._on_imu)
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = self._node.get_clock().create_jump_callback(back, post_callback=self._on_time_jump)
        return topic

    def now(self) -> int:
        """The node's clock, ns."""
        return int(self._node.get_clock().now().nanoseconds)

    def state(self, stamp: int, now: int) -> State:
        """Return what is known, for a joint state of this stamp: call it when all joints are."""
        wrenches: list[Wrench] = [wrench for hand in self.hands if (wrench := hand.wrench(stamp, now))]
        states = self.states
        return State(states.position, states.velocity if states.moving else None, wrenches, states.effort, stamp)

    def _on_joint_state(self, message: JointState) -> None:
        self.heard += 1
        now, jumps, stamp = self.now(), self.states.jumps, nanoseconds(message.header.stamp)
        columns = (np.asarray(message.position), np.asarray(message.velocity), np.asarray(message.effort))
        taken = self.states.take(message.name, *columns, stamp, now)
        if self.states.jumps != jumps:
            for hand in self.hands:
                hand.time_went_back(to=stamp)
        if taken and self.states.complete(now):
            self._on_state(message.header.stamp, stamp, now)

    def _on_wrench(self, hand: EndEffector, message: WrenchStamped) -> None:
        hand.take(*wrench_of(message), nanoseconds(message.header.stamp), self.now())

    def _on_imu(self, message: Imu) -> None:
        o, rate = message.orientation, message.angular_velocity.y
        try:
            angle = pitch((o.w, o.x, o.y, o.z), message.orientation_covariance[0])
        except ArgumentError as error:
            self.states.refusals.note(str(error))
            return
        velocity = rate if message.angular_velocity_covariance[0] != -1 else math.nan
        self.states.take_joint(self._apart[0], angle, velocity, nanoseconds(message.header.stamp), self.now())

    def _on_time_jump(self, _: TimeJump) -> None:
        self.states.forget()
        for hand in self.hands:
            hand.forget()


def known_joint(model: Model, parameter: str, name: str) -> str:
    """Return a joint's name that a parameter gave, if the robot has it."""
    if name not in model.dynamics.joint_names:
        raise unknown_name(f'{parameter}: joint', name, model.dynamics.joint_names)
    return name
