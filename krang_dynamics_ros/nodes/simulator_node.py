"""`simulator_node`: a robot to try things on. Torques and pushes in, joint states and wrist sensors out."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from ..core.errors import ArgumentError, listed
from ..core.names import names_fault
from ..core.spatial import Array
from ..core.text import shown_lines
from ..core.wrench import Wrench
from ..messages.fields import SECOND, stamp_of
from ..pipeline.spec import named
from ..robot.robot_file import load_robot
from ..simulation.followers import Followers
from ..simulation.sensors import joint_effort
from ..simulation.simulated_robot import SimulatedRobot
from ..simulation.simulation import ROTOR, Simulation
from .diagnostics import Reporter
from .other_publishers import others, publishers, refuse_company
from .parameters import NodeSettings, warn_of_unknown
from .run import run
from .simulator_diagnostics import SimulatorHealth
from .simulator_hands import SimulatorHands
from .simulator_parameters import PARAMETERS
from .topics import INPUT

COMMANDS = QoSProfile(depth=1)  # reliable, as the effort controllers of ros2_control listen


class SimulatorNode(Node):
    """A simulated robot behind the topics of a real one."""

    def __init__(self) -> None:
        super().__init__('krang_simulator')
        self._values = NodeSettings(self)
        self._values.declare(PARAMETERS)
        self.robot = self._simulated_robot()
        simulation = self.robot.simulation
        self._hands = SimulatorHands(self, self._values, simulation)
        warn_of_unknown(self)
        self._random = np.random.default_rng()
        self._followers = Followers(simulation.robot)
        self._create_topics()
        refuse_company(self, 'joint_states')
        friction = self._friction()
        self._health = SimulatorHealth(self.robot, self._values['time_factor'], friction)
        self._reporter = Reporter(self, simulation.robot.name)
        self._reporter.add(self._health.statuses)
        self._begin()
        added = f'friction added to each: {friction}; ' if friction else ''
        self.get_logger().info(f'{simulation.robot.name}: {simulation.robot.n} joints, {added}waiting for torques')

    def _begin(self) -> None:
        """Let time pass from now on."""
        self._company: list[str] = []
        self._driven, self._last = False, time.monotonic()
        steady = RosClock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._look_round, clock=steady)
        self.create_timer(1 / self._values['rate'], self._on_tick, clock=steady)
        self._values.follow()

    def _simulated_robot(self) -> SimulatedRobot:
        values = self._values
        simulation = Simulation(load_robot(values['robot_file'], values['base_link']))
        if simulation.rotors_added:
            joints = listed(simulation.rotors_added)
            self.get_logger().warning(
                f'joints {joints} move no mass of their own: simulated with a rotor of {ROTOR:g} kg m^2 or kg each'
            )
        for name in ('viscous', 'coulomb'):
            setattr(simulation.dynamics, name, getattr(simulation.dynamics, name) + values[name])
        simulation.place_joints(list(simulation.robot.start), list(simulation.robot.start.values()))
        if names := named(values['start.names']):
            try:
                simulation.place_joints(names, values['start.positions'])
            except ArgumentError as error:
                raise ArgumentError(f'start.names, start.positions: {error}') from None
        timeout, brakes = values['timeout'], values['brakes']
        return SimulatedRobot(
            simulation, timeout=timeout, brakes=brakes, own_time=values['publish_clock'],
            command_joints=named(values['command_joints']),
        )  # fmt: skip

    def _friction(self) -> str:
        units = {'viscous': 'N m s/rad', 'coulomb': 'N m'}
        return ', '.join(f'{name} {self._values[name]:g} {unit}' for name, unit in units.items() if self._values[name])

    def _create_topics(self) -> None:
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self._message = JointState(name=list(self._followers.names))
        self._ticker = self.create_publisher(Clock, '/clock', 10) if self._values['publish_clock'] else None
        self.create_subscription(JointState, 'torque', self._on_torque, INPUT)
        if named(self._values['command_joints']):
            self.create_subscription(Float64MultiArray, 'effort_commands', self._on_command, COMMANDS)
        self.create_subscription(JointState, 'pose', self._on_pose, 10)
        for name, action in (('pause', self._pause), ('resume', self._resume), ('reset', self._reset)):
            self.create_service(Trigger, name, partial(self._done, action))

    def _pause(self) -> str:
        self.robot.paused = True
        return 'paused'

    def _resume(self) -> str:
        self.robot.paused = False
        return self.robot.mode

    def _reset(self) -> str:
        self.robot.reset()
        self._hands.forget()
        return 'at rest, where it started'

    def _done(self, action: Callable[[], str], _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = action()
        response.success = not self.robot.fault
        self._reporter.report()
        return response

    def _on_torque(self, message: JointState) -> None:
        try:
            self.robot.take(message.name, np.asarray(message.effort), stamp_of(message))
        except ArgumentError as error:
            self.robot.torques.refusals.note(str(error))

    def _on_command(self, message: Float64MultiArray) -> None:
        refused = self.robot.command_refusals.count
        self.robot.take_command(message.data)
        if self.robot.command_refusals.count != refused:
            self.get_logger().warning(self.robot.command_refusals.reason, throttle_duration_sec=1.0)

    def _on_pose(self, message: JointState) -> None:
        try:
            if fault := names_fault(message.name):
                raise ArgumentError(fault)
            self.robot.put(message.name, message.position)
        except ArgumentError as error:
            self.get_logger().warning(f'pose refused: {error}', throttle_duration_sec=1.0)

    def _look_round(self) -> None:
        """Say so, once, if a second robot or a second source of torques has come."""
        self._health.sources = publishers(self, 'torque')
        found = [f'joint_states also come from {name}' for name in others(self, 'joint_states')]
        if len(self._health.sources) > 1:
            found.append(f'torques come from {" and ".join(self._health.sources)}')
        if found and found != self._company:
            self.get_logger().warning(f'{shown_lines("; ".join(found))}: two robots on one ROS domain drive each other')
        self._company = found

    def _on_tick(self) -> None:
        now, broken = time.monotonic(), self.robot.fault
        passed, self._last = now - self._last, now
        self._health.went(passed)
        on_hands, pushes = self._hands.pushes()
        self.robot.go_on(passed * self._values['time_factor'], pushes)
        stamp = self._stamp()
        self._publish(pushes, stamp)
        self._hands.publish(on_hands, stamp)
        if self.robot.fault != broken:
            self._reporter.report()
        if not self._driven and self.robot.has_torques:
            self._driven = True
            self.get_logger().info('torques are coming')

    def _publish(self, pushes: Sequence[Wrench], stamp: Time) -> None:
        self._message.header.stamp = stamp
        simulation, followers = self.robot.simulation, self._followers
        self._message.position = array('d', followers.position(simulation.q).tobytes())
        self._message.velocity = array('d', followers.velocity(simulation.dq).tobytes())
        self._message.effort = array('d', followers.effort(self._effort(pushes)).tobytes())
        self._states.publish(self._message)

    def _effort(self, pushes: Sequence[Wrench]) -> Array:
        motor = self._values['effort'] == 'motor'
        effort = self.robot.given if motor else joint_effort(self.robot.simulation, pushes)
        noise = self._values['effort_noise']
        return effort + noise * self._random.normal(size=len(effort)) if noise else effort

    def _stamp(self) -> Time:
        now = self.robot.now if self._ticker else int(self.get_clock().now().nanoseconds)
        seconds, rest = divmod(self.robot.stamp(now), SECOND)
        stamp = Time(sec=seconds, nanosec=rest)
        if self._ticker:
            self._ticker.publish(Clock(clock=stamp))
        return stamp


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatorNode, args)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
