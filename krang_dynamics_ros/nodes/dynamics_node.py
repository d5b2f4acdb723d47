"""`dynamics_node`: joint states and wrenches in, torques by name out. README.md has its topics and parameters."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String

from ..core.errors import ArgumentError, KrangDynamicsError, unknown_name
from ..dynamics.factory import load_model
from ..dynamics.terms import TERMS, Terms
from ..inputs.end_effector import EndEffector
from ..inputs.imu import pitch
from ..inputs.joint_states import JointStates
from . import dynamics_parameters as parameters
from .diagnostics import PERIOD, Reporter
from .parameters import Spec, declare, named, warn_of_unknown
from .run import run
from .topics import INPUT, NumbersTopic, PointTopic, TorqueTopic, wrench_of

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class DynamicsNode(Node):
    """Parses messages, calls the library, publishes."""

    def __init__(self) -> None:
        super().__init__('krang_dynamics')
        chosen = declare(self, parameters.MODEL)
        if chosen['backend'] == 'compiled':
            self.get_logger().info('backend compiled: the first time, building it takes a few seconds')
        self.model = load_model(**chosen)
        self.dynamics = self.model.dynamics
        self._specs: dict[str, Spec] = {}
        self._values: dict[str, Any] = {}
        self._declare(parameters.settings(self.model))
        self._declare(parameters.of_joints(self.dynamics))
        self._apart = [self._known_joint('imu_joint', self._values['imu_joint'])] if self._values['imu_joint'] else []
        self.states = JointStates(self.dynamics.joint_names, self._values['state_timeout'], self._apart)
        self.hands = [self._hand(name) for name in named(self._values['end_effectors'])]
        self._apply()
        warn_of_unknown(self)
        self._create_outputs()
        self._create_inputs()
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._take_parameters)
        self._reporter = Reporter(self, self.dynamics.name)
        self.create_timer(PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f'{self.dynamics.name}: {self.dynamics.n} joints; waiting for {self._input_name}')

    # Starting ---------------------------------------------------------------------------------------------------------

    def _declare(self, specs: Sequence[Spec]) -> None:
        self._values |= declare(self, specs)
        self._specs |= {spec.name: spec for spec in specs}

    def _known_joint(self, parameter: str, name: str) -> str:
        if name not in self.dynamics.joint_names:
            raise unknown_name(f'{parameter}: joint', name, self.dynamics.joint_names)
        return name

    def _hand(self, name: str) -> EndEffector:
        links = self.dynamics.link_names
        self._declare(parameters.of_end_effector(name, self.model.end_effectors.get(name, '')))
        link = self._values[f'{name}.link']
        if link not in links:
            raise unknown_name(f'{name}.link: link', link, links)
        return EndEffector(name, link, links=frozenset(links))

    def _create_outputs(self) -> None:
        names, frame_id = self.dynamics.joint_names, self._values['frame_id']
        self._torques = {term: TorqueTopic(self, f'torque/{term}', names, frame_id) for term in TERMS}
        self._total = TorqueTopic(self, 'torque/total', names, frame_id)
        commanded = named(self._values['command_joints'])
        order = [names.index(self._known_joint('command_joints', name)) for name in commanded]
        self._command_order = np.array(order, dtype=int)
        self._commands = NumbersTopic(self, 'effort_commands') if commanded else None
        self._inertia = NumbersTopic(self, 'dynamics/inertia', self.dynamics.n)
        self._coriolis = NumbersTopic(self, 'dynamics/coriolis', self.dynamics.n)
        self._com = PointTopic(self, 'center_of_mass', self.dynamics.base)
        self._description = self.create_publisher(String, 'robot_description', LATCHED)
        self._description.publish(String(data=self.model.urdf))

    def _create_inputs(self) -> None:
        options = QoSOverridingOptions.with_default_policies()
        subscribe = partial(self.create_subscription, qos_profile=INPUT, qos_overriding_options=options)
        self._input_name = subscribe(JointState, 'joint_states', self._on_joint_state).topic_name
        for hand in self.hands:
            subscribe(WrenchStamped, f'wrench/{hand.name}', partial(self._on_wrench, hand))
        if self._apart:
            subscribe(Imu, 'imu', self._on_imu)
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = self.get_clock().create_jump_callback(back, post_callback=self._on_time_jump)

    # Parameters -------------------------------------------------------------------------------------------------------

    def _check_parameters(self, changes: list[Parameter]) -> SetParametersResult:
        """Accept a set of changes, or refuse it as one with the reason."""
        try:
            for change in changes:
                if change.name in self._specs:
                    self._specs[change.name].check(change.value)
                    _check(change.name, change.value)
        except KrangDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take_parameters(self, changes: list[Parameter]) -> None:
        self._values |= {change.name: change.value for change in changes if change.name in self._specs}
        self._apply()

    def _apply(self) -> None:
        """Put the parameters' values to work."""
        for name in ('gravity', 'total_terms'):
            _check(name, self._values[name])
        self.dynamics.gravity = np.array(self._values['gravity'])
        for key in parameters.JOINT_SETTINGS:
            setattr(self.dynamics, key, parameters.joint_vector(self._values, self.dynamics, key))
        self._terms = named(self._values['total_terms'])
        self.states.timeout = self._values['state_timeout']
        for hand in self.hands:
            meaning = (self._values[f'{hand.name}.sense'], self._values[f'{hand.name}.moment_about'])
            if meaning != (hand.sense, hand.moment_about):
                hand.forget()  # what came under the other meaning
            hand.sense, hand.moment_about = meaning
            hand.timeout = self._values['wrench_timeout']

    # Messages ---------------------------------------------------------------------------------------------------------

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _on_joint_state(self, message: JointState) -> None:
        start, now, jumps = time.perf_counter(), self._now(), self.states.jumps
        counter = self._reporter.counter
        counter.messages += 1
        arrays = (np.asarray(message.position), np.asarray(message.velocity), message.effort)
        stamp = _nanoseconds(message.header.stamp)
        taken = self.states.take(message.name, *arrays, stamp, now)
        if self.states.jumps != jumps:
            for hand in self.hands:
                hand.time_went_back(to=stamp)
        if taken and self.states.complete(now):
            self._publish(message.header.stamp, stamp, now)
            counter.computed(time.perf_counter() - start)

    def _publish(self, stamp: Time, nanoseconds: int, now: int) -> None:
        """Publish what somebody listens to, and can be known; `nanoseconds` are those of the stamp."""
        wrenches = [wrench for hand in self.hands if (wrench := hand.wrench(nanoseconds, now))]
        q, dq = self.states.position, self.states.velocity if self.states.moving else None
        terms = Terms(self.dynamics, q, dq, wrenches)
        for term, topic in self._torques.items():
            if topic.wanted and (torque := terms.torque(term)) is not None:
                topic.send(torque, stamp)
        commanded = self._commands is not None and self._commands.wanted
        if (self._total.wanted or commanded) and (total := terms.total(self._terms)) is not None:
            if self._total.wanted:
                self._total.send(total, stamp)
            if commanded and self._commands:
                self._commands.send(total[self._command_order])
        if self._com.wanted:
            self._com.send(self.dynamics.center_of_mass(q), stamp)
        if self._inertia.wanted:
            self._inertia.send(self.dynamics.A(q))
        if self._coriolis.wanted and dq is not None:
            self._coriolis.send(self.dynamics.C(q, dq))

    def _on_wrench(self, hand: EndEffector, message: WrenchStamped) -> None:
        hand.take(*wrench_of(message), _nanoseconds(message.header.stamp), self._now())

    def _on_imu(self, message: Imu) -> None:
        o, rate = message.orientation, message.angular_velocity.y
        try:
            angle = pitch((o.w, o.x, o.y, o.z), message.orientation_covariance[0])
        except ArgumentError as error:
            self.states.refusals.note(str(error))
            return
        velocity = rate if message.angular_velocity_covariance[0] != -1 else math.nan
        self.states.take_joint(self._apart[0], angle, velocity, _nanoseconds(message.header.stamp), self._now())

    def _on_time_jump(self, _: TimeJump) -> None:
        self.states.forget()
        for hand in self.hands:
            hand.forget()

    def _report(self) -> None:
        self._reporter.report(self.states, self.hands, self._now(), 'wrench' in self._terms)


def _nanoseconds(stamp: Time) -> int:
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def _check(name: str, value: Any) -> None:
    """Check what a range cannot say."""
    numbers = value if name == 'gravity' else [value]
    if any(isinstance(x, float) and not math.isfinite(x) for x in numbers) or (name == 'gravity' and len(value) != 3):
        raise ArgumentError(f'{name}: {list(numbers)}, must be {"3 finite numbers" if name == "gravity" else "finite"}')
    if name == 'total_terms' and len(set(value)) != len(value):
        raise ArgumentError(f'total_terms: {list(value)}, must name each term once')


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(DynamicsNode, args)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
