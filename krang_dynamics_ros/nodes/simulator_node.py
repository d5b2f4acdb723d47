"""`simulator_node`: a robot to try things on. Torques and pushes in, joint states and wrist sensors out."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ..core.errors import ArgumentError, listed
from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..inputs.end_effector import EndEffector
from ..pipeline.spec import named
from ..robot.robot_file import load_robot
from ..simulation.followers import Followers
from ..simulation.sensors import SimulatedWrist, joint_effort
from ..simulation.simulated_robot import SimulatedRobot
from ..simulation.simulation import ROTOR, Simulation
from .diagnostics import Reporter
from .other_publishers import others, publishers, refuse_company
from .parameters import NodeSettings, warn_of_unknown
from .run import run
from .simulator_diagnostics import SimulatorHealth
from .simulator_parameters import PARAMETERS, of_hand, wrist
from .topics import INPUT, nanoseconds, wrench_message, wrench_of


class SimulatorNode(Node):
    """A simulated robot behind the topics of a real one."""

    def __init__(self) -> None:
        super().__init__('krang_simulator')
        self._values = NodeSettings(self)
        self._values.declare(PARAMETERS)
        self.robot = self._simulated_robot()
        simulation = self.robot.simulation
        self._dynamics, names = simulation.dynamics, simulation.robot.joint_names
        links, timeout = frozenset(self._dynamics.link_names), self._values['timeout']
        hands = simulation.robot.end_effectors.items()
        self._hands = [EndEffector(name, link, timeout=timeout, links=links) for name, link in hands]
        self._grips: dict[str, EndEffector] = {}  # links that are or were pushed anywhere
        for hand in self._hands:
            self._values.declare(of_hand(hand.name))
        warn_of_unknown(self)
        self._random = np.random.default_rng()
        self._wrists: dict[str, SimulatedWrist] = {}
        self._values.hold_to(self._check)
        self._values.used_by(self._apply)
        self._followers = Followers(simulation.robot)
        self._create_topics()
        refuse_company(self, 'joint_states')
        friction = self._friction()
        self._health = SimulatorHealth(self.robot, self._values['time_factor'], friction)
        self._reporter = Reporter(self, simulation.robot.name)
        self._reporter.add(self._health.statuses)
        self._company: list[str] = []
        self._driven = False
        self._last = time.monotonic()
        self.create_timer(1.0, self._look_round, clock=RosClock(clock_type=ClockType.STEADY_TIME))
        self.create_timer(1 / self._values['rate'], self._on_tick, clock=RosClock(clock_type=ClockType.STEADY_TIME))
        self._values.follow()
        added = f'friction added to each: {friction}; ' if friction else ''
        self.get_logger().info(f'{simulation.robot.name}: {len(names)} joints, {added}waiting for torques')

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
        return SimulatedRobot(simulation, timeout=timeout, brakes=brakes, own_time=values['publish_clock'])

    def _check(self, values: Mapping[str, Any]) -> None:
        for hand in self._hands:
            wrist(values, hand.name, hand.link)

    def _apply(self) -> None:
        """Let the hands carry and read what the parameters say."""
        self._wrists = {hand.name: wrist(self._values, hand.name, hand.link) for hand in self._hands}
        carried: dict[str, Inertia] = {}
        for hand in self._wrists.values():
            carried[hand.link] = carried.get(hand.link, Inertia()) + hand.payload
        self._dynamics.payload = carried

    def _friction(self) -> str:
        units = {'viscous': 'N m s/rad', 'coulomb': 'N m'}
        return ', '.join(f'{name} {self._values[name]:g} {unit}' for name, unit in units.items() if self._values[name])

    def _create_topics(self) -> None:
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self._message = JointState(name=list(self._followers.names))
        self._ticker = self.create_publisher(Clock, '/clock', 10) if self._values['publish_clock'] else None
        self.create_subscription(JointState, 'torque', self._on_torque, INPUT)
        self.create_subscription(JointState, 'pose', self._on_pose, 10)
        self._sensors = {
            hand.name: self.create_publisher(WrenchStamped, f'wrench/{hand.name}', 10) for hand in self._hands
        }
        for hand in self._hands:
            self.create_subscription(WrenchStamped, f'push/{hand.name}', partial(self._on_push, hand), INPUT)
        self.create_subscription(WrenchStamped, 'push', self._on_push_anywhere, INPUT)
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
        for hand in (*self._hands, *self._grips.values()):
            hand.forget()
        return 'at rest, where it started'

    def _done(self, action: Callable[[], str], _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = action()
        response.success = not self.robot.fault
        self._reporter.report()
        return response

    def _on_torque(self, message: JointState) -> None:
        self.robot.take(message.name, np.asarray(message.effort), nanoseconds(message.header.stamp))

    def _on_pose(self, message: JointState) -> None:
        try:
            self.robot.put(message.name, message.position)
        except ArgumentError as error:
            self.get_logger().warning(f'pose refused: {error}', throttle_duration_sec=1.0)

    def _on_push(self, hand: EndEffector, message: WrenchStamped) -> None:
        if not hand.take(*wrench_of(message), 0, time.monotonic_ns()):
            reason = f'push/{hand.name} refused: {hand.refusals.reason}'
            self.get_logger().warning(reason, throttle_duration_sec=1.0)

    def _on_push_anywhere(self, message: WrenchStamped) -> None:
        """Take in a push on the link that the message's frame names."""
        link, links = message.header.frame_id, frozenset(self._dynamics.link_names)
        if link not in links:
            self.get_logger().warning(f"push refused: '{link}' is no link", throttle_duration_sec=1.0)
            return
        new = EndEffector(link, link, timeout=self._values['timeout'], links=links)
        self._on_push(self._grips.setdefault(link, new), message)

    def _look_round(self) -> None:
        """Say so, once, if a second robot or a second source of torques has come."""
        self._health.sources = publishers(self, 'torque')
        found = [f'joint_states also come from {name}' for name in others(self, 'joint_states')]
        if len(self._health.sources) > 1:
            found.append(f'torques come from {" and ".join(self._health.sources)}')
        if found and found != self._company:
            self.get_logger().warning(f'{"; ".join(found)}: two robots on one ROS domain drive each other')
        self._company = found

    def _on_tick(self) -> None:
        now, broken = time.monotonic(), self.robot.fault
        passed, self._last = now - self._last, now
        self._health.went(passed)
        pushed = {hand.name: hand.wrench(0, time.monotonic_ns()) for hand in self._hands}
        pushes = [push for push in pushed.values() if push]
        pushes += [push for grip in self._grips.values() if (push := grip.wrench(0, time.monotonic_ns()))]
        self.robot.go_on(passed * self._values['time_factor'], pushes)
        self._publish(pushed, pushes)
        if self.robot.fault != broken:
            self._reporter.report()
        if not self._driven and self.robot.torques.complete(self.robot.now):
            self._driven = True
            self.get_logger().info('torques are coming')

    def _publish(self, pushed: Mapping[str, Wrench | None], pushes: Sequence[Wrench]) -> None:
        stamp = self._stamp()
        self._message.header.stamp = stamp
        simulation, followers = self.robot.simulation, self._followers
        self._message.position = array('d', followers.position(simulation.q).tobytes())
        self._message.velocity = array('d', followers.velocity(simulation.dq).tobytes())
        self._message.effort = array('d', followers.effort(self._effort(pushes)).tobytes())
        self._states.publish(self._message)
        for name, sensor in self._wrists.items():
            read = sensor.reading(self.robot.simulation, pushed[name], self._random)
            self._sensors[name].publish(wrench_message(sensor.link, stamp, read.tolist()))

    def _effort(self, pushes: Sequence[Wrench]) -> Array:
        motor = self._values['effort'] == 'motor'
        effort = self.robot.given if motor else joint_effort(self.robot.simulation, pushes)
        noise = self._values['effort_noise']
        return effort + noise * self._random.normal(size=len(effort)) if noise else effort

    def _stamp(self) -> Time:
        now = self.robot.now if self._ticker else int(self.get_clock().now().nanoseconds)
        seconds, rest = divmod(self.robot.stamp(now), 10**9)
        stamp = Time(sec=seconds, nanosec=rest)
        if self._ticker:
            self._ticker.publish(Clock(clock=stamp))
        return stamp


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatorNode, args)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
