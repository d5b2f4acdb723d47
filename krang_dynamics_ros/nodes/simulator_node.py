"""`simulator_node`: a robot to try things on. Torques and pushes in, joint states and wrist sensors out."""

from __future__ import annotations

import math
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.simulation import STEP, Simulation
from ..inputs.end_effector import EndEffector
from ..inputs.joint_states import JointTorques
from ..pipeline.spec import NONE, ROBOT_FILE, Spec, named
from ..robot.robot_file import load_robot
from .other_publishers import others, publishers, refuse_company
from .parameters import declare, warn_of_unknown
from .run import run
from .topics import INPUT, wrench_message, wrench_of

LONGEST = 0.05  # s: what a busy machine misses beyond this is not made up for; time then runs slower

PARAMETERS = (
    ROBOT_FILE,
    Spec('rate', 500.0, 'of `joint_states` and of the wrist sensors, Hz', least=1.0, most=1000.0),
    Spec('time_factor', 1.0, 'simulated seconds per second', least=0.01, most=10.0),
    Spec('publish_clock', False, 'publish simulated time on `/clock`, and stamp with it'),
    Spec('timeout', 0.1, 'torques and pushes from longer ago count as none, s', least=0.001, most=10.0),
    Spec('brakes', False, 'stand still, after the start and a reset, until torques come'),
    Spec('viscous', 0.0, 'viscous friction of every joint besides its own, N m s/rad', least=0.0, most=1e6),
    Spec('coulomb', 0.0, 'Coulomb friction of every joint besides its own, N m', least=0.0, most=1e6),
    Spec('start.names', NONE, 'joints that do not start at zero, or at the limit next to it'),
    Spec('start.positions', [0.0], 'where those start, rad or m'),
)


class SimulatorNode(Node):
    """A simulated robot behind the topics of a real one."""

    def __init__(self) -> None:
        super().__init__('krang_simulator')
        self._values = declare(self, PARAMETERS)
        warn_of_unknown(self)
        self.robot = load_robot(self._values['robot_file'])
        self.simulation = Simulation(self.robot)
        for name in ('viscous', 'coulomb'):
            setattr(self.simulation.dynamics, name, getattr(self.simulation.dynamics, name) + self._values[name])
        self._start = self._start_positions()
        timeout = self._values['timeout']
        self._torques = JointTorques(self.robot.joint_names, timeout)
        links = frozenset(self.robot.link_of)
        self._hands = [
            EndEffector(name, link, timeout=timeout, links=links) for name, link in self.robot.end_effectors.items()
        ]
        self._running, self._driven, self._owed = True, False, 0.0
        self._braked: bool = self._values['brakes']
        self._create_topics()
        refuse_company(self, 'joint_states')
        self._company: list[str] = []
        self.create_timer(1.0, self._look_round, clock=RosClock(clock_type=ClockType.STEADY_TIME))
        self.create_timer(1 / self._values['rate'], self._on_tick, clock=RosClock(clock_type=ClockType.STEADY_TIME))
        self._last = time.monotonic()
        self.get_logger().info(f'{self.robot.name}: {self.robot.n} joints, waiting for torques')

    def _start_positions(self) -> Array:
        if names := named(self._values['start.names']):
            try:
                self.simulation.place_joints(names, self._values['start.positions'])
            except ArgumentError as error:
                raise ArgumentError(f'start.names, start.positions: {error}') from None
        return self.simulation.q

    def _create_topics(self) -> None:
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self._message = JointState(name=list(self.robot.joint_names))
        self._ticker = self.create_publisher(Clock, '/clock', 10) if self._values['publish_clock'] else None
        self.create_subscription(JointState, 'torque', self._on_torque, INPUT)
        self.create_subscription(JointState, 'pose', self._on_pose, 10)
        self._sensors = {
            hand.name: self.create_publisher(WrenchStamped, f'wrench/{hand.name}', 10) for hand in self._hands
        }
        for hand in self._hands:
            self.create_subscription(WrenchStamped, f'push/{hand.name}', partial(self._on_push, hand), INPUT)
        for name, action in (('pause', self._pause), ('resume', self._resume), ('reset', self._reset)):
            self.create_service(Trigger, name, partial(_done, action))

    def _pause(self) -> str:
        self._running = False
        return 'paused'

    def _resume(self) -> str:
        self._running = True
        return 'running'

    def _reset(self) -> str:
        self.simulation.reset(self._start)
        self._torques.forget()
        self._braked = self._values['brakes']
        for hand in self._hands:
            hand.forget()
        return 'at rest, where it started'

    def _on_torque(self, message: JointState) -> None:
        # Stamps are the dynamics node's business; here only the time of arrival counts.
        self._torques.take(message.name, np.asarray(message.effort), 0, time.monotonic_ns())

    def _on_pose(self, message: JointState) -> None:
        try:
            self.simulation.place_joints(message.name, message.position)
        except ArgumentError as error:
            self.get_logger().warning(f'pose refused: {error}', throttle_duration_sec=1.0)

    def _on_push(self, hand: EndEffector, message: WrenchStamped) -> None:
        if not hand.take(*wrench_of(message), 0, time.monotonic_ns()):
            reason = f'push/{hand.name} refused: {hand.refusals.reason}'
            self.get_logger().warning(reason, throttle_duration_sec=1.0)

    def _look_round(self) -> None:
        """Say so, once, if a second robot or a second source of torques has come."""
        found = [f'joint_states also come from {name}' for name in others(self, 'joint_states')]
        if len(sources := publishers(self, 'torque')) > 1:
            found.append(f'torques come from {" and ".join(sources)}')
        if found and found != self._company:
            self.get_logger().warning(f'{"; ".join(found)}: two robots on one ROS domain drive each other')
        self._company = found

    def _on_tick(self) -> None:
        now, torque = time.monotonic(), self._torque()
        if self._running and not self._braked:
            self._go_on((now - self._last) * self._values['time_factor'], torque)
        self._last = now
        self._publish()

    def _go_on(self, seconds: float, torque: Array) -> None:
        self._owed = min(self._owed + seconds, LONGEST)
        pushes = [push for hand in self._hands if (push := hand.wrench(0, time.monotonic_ns()))]
        while self._owed >= STEP:
            self.simulation.step(torque, pushes)
            self._owed -= STEP

    def _torque(self) -> Array:
        """Return the torques that came last, or none if one is missing or old; say so when that changes."""
        driven = self._torques.complete(time.monotonic_ns())
        self._braked = self._braked and not driven
        if driven != self._driven:
            self._driven = driven
            if driven:
                self.get_logger().info('torques are coming')
            else:
                self.get_logger().warning(f'no torques for {self._values["timeout"]:g} s: the joints are slack')
        return self._torques.torque.copy() if driven else np.zeros(self.robot.n)

    def _publish(self) -> None:
        stamp = self._stamp()
        self._message.header.stamp = stamp
        self._message.position = array('d', self.simulation.q.tobytes())
        self._message.velocity = array('d', self.simulation.dq.tobytes())
        self._states.publish(self._message)
        for hand in self._hands:
            self._sensors[hand.name].publish(self._reading(hand, stamp))

    def _stamp(self) -> Time:
        if self._ticker is None:
            stamp: Time = self.get_clock().now().to_msg()
            return stamp
        part, whole = math.modf(self.simulation.time)
        stamp = Time(sec=int(whole), nanosec=int(part * 1e9))
        self._ticker.publish(Clock(clock=stamp))
        return stamp

    def _reading(self, hand: EndEffector, stamp: Time) -> WrenchStamped:
        """Return what a sensor in the wrist reads: the world's push on the hand, in its axes, about its origin."""
        push = hand.wrench(0, time.monotonic_ns()) or Wrench(hand.link, (0.0, 0.0, 0.0))
        read = self.simulation.dynamics.wrench_at_link(self.simulation.q, push)
        return wrench_message(hand.link, stamp, read.tolist())


def _done(action: Callable[[], str], _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
    response.success, response.message = True, action()
    return response


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run(SimulatorNode, args)


if __name__ == '__main__':
    sys.exit(main(sys.argv))
