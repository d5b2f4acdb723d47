"""`simulator_node`: a simulated robot. Torques and pushes in, joint states and wrist sensors out."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
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
from ..core.limits import names_fault
from ..core.parameters import named
from ..core.spatial import Array, frozen
from ..core.text import shown_lines
from ..core.wrench import Wrench
from ..live.external import effort_scales
from ..live.firmware import FirmwareTorque, track_removed_weights
from ..live.messages import SECOND, stamp_of
from ..live.parameters import command_scales
from ..robot.adapted import SPECS as ADAPTATION
from ..robot.adapted import Adaptation
from ..robot.robot_file import load_robot
from ..robot.urdf_writer import urdf_text
from ..simulation.sensors import joint_effort
from ..simulation.simulated_robot import Followers, SimulatedRobot
from ..simulation.simulation import ADDED_ROTOR, Simulation
from .arguments import node_arguments
from .diagnostics import Reporter
from .endpoints import ensure_only_publisher, other_publishers, publishers
from .run import run
from .settings import NodeSettings, warn_of_unknown
from .simulator.diagnostics import SimulatorHealth
from .simulator.hands import SimulatorHands
from .simulator.parameters import PARAMETERS, command_scale, documented, effort_scale, gravity_of, shared
from .topics import INPUT

COMMANDS = QoSProfile(depth=1)  # reliable, as the effort controllers of ros2_control listen

_DESCRIPTION = (
    'Simulates a robot behind the topics of a real one: torques in, joint states and wrist sensors out (docs/demo.md).'
)


class SimulatorNode(Node):
    """A simulated robot behind the topics of a real one."""

    def __init__(self) -> None:
        super().__init__('krang_simulator')
        self._values = NodeSettings(self)
        self._values.declare(PARAMETERS)
        self.robot = self._simulated_robot()
        simulation = self.robot.simulation
        self._hands = SimulatorHands(self, self._values, simulation)
        self._add_firmware()
        self._effort_units = self._declared_effort_units()
        warn_of_unknown(self)
        self._random = np.random.default_rng()
        self._followers = Followers(simulation.robot)
        self._create_topics()
        ensure_only_publisher(self, self._values['joint_states_topic'])
        friction = self._friction()
        self._health = SimulatorHealth(self.robot, self._values['time_factor'], friction)
        self._reporter = Reporter(self, simulation.robot.name)
        self._reporter.add(self._health.statuses)
        self._begin()
        added = f'friction added to each: {friction}; ' if friction else ''
        self.get_logger().info(f'{simulation.robot.name}: {simulation.robot.n} joints, {added}waiting for torques')

    def _begin(self) -> None:
        """Start the timers of the simulation."""
        self._conflicts: list[str] = []
        self._driven, self._last = False, time.monotonic()
        steady = RosClock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._check_publishers, clock=steady)
        self.create_timer(1 / self._values['rate'], self._on_tick, clock=steady)
        self._values.follow()

    def _simulated_robot(self) -> SimulatedRobot:
        values, simulation = self._values, self._new_simulation()
        self._add_friction(simulation)
        self._set_start(simulation)
        timeout, brakes, commanded = values['timeout'], values['brakes'], named(values['command_joints'])
        values.declare([command_scale(name) for name in commanded])
        return SimulatedRobot(
            simulation, timeout=timeout, brakes=brakes, own_time=values['publish_clock'], command_joints=commanded,
            command_scale=command_scales(values, commanded),
        )  # fmt: skip

    def _new_simulation(self) -> Simulation:
        values = self._values
        robot = Adaptation.of({spec.name: values[spec.name] for spec in ADAPTATION}).of_robot(
            load_robot(values['robot_file'], values['base_link'])
        )
        gravity = values.declare([gravity_of(robot)])['gravity']
        simulation = Simulation(replace(robot, gravity=frozen(gravity)))
        if simulation.rotors_added:
            joints = listed(simulation.rotors_added)
            self.get_logger().warning(
                f'joints {joints} move no mass: simulated with a rotor of {ADDED_ROTOR:g} kg m^2 or kg each'
            )
        return simulation

    def _add_friction(self, simulation: Simulation) -> None:
        values = self._values
        simulation.dynamics.viscous = simulation.dynamics.viscous + values['viscous']
        by_share = values['coulomb_share'] * simulation.robot.effort_limits
        simulation.dynamics.coulomb = simulation.dynamics.coulomb + values['coulomb'] + by_share

    def _set_start(self, simulation: Simulation) -> None:
        """Set the start positions of the robot file, then those of the parameters."""
        values = self._values
        if not simulation.robot.start:  # an arm that stands upright, with joints at their ends, shows little
            simulation.set_positions(simulation.middle_positions)
        simulation.set_joint_positions(list(simulation.robot.start), list(simulation.robot.start.values()))
        if names := named(values['start.names']):
            try:
                simulation.set_joint_positions(names, values['start.positions'])
            except ArgumentError as error:
                raise ArgumentError(f'start.names, start.positions: {error}') from None

    def _add_firmware(self) -> None:
        robot = self.robot.simulation.robot
        firmware = FirmwareTorque(self._values, robot.joint_names, urdf_text(robot), self._hands.links)
        if firmware.adds_anything:
            self.robot.firmware = firmware
            self.get_logger().info(f'its firmware adds {listed(firmware.adds)} to every command')
        track_removed_weights(self._values, self.robot.simulation.dynamics.link_names, self._hands.wrists)

    def _declared_effort_units(self) -> Array:
        """Return N m (N) per unit of the published effort (n)."""
        names = self.robot.simulation.robot.joint_names
        self._values.declare([effort_scale(name) for name in names])
        return effort_scales(self._values, names)

    def _friction(self) -> str:
        units = {'viscous': 'N m s/rad', 'coulomb': 'N m', 'coulomb_share': 'of the effort limit'}
        return ', '.join(f'{name} {self._values[name]:g} {unit}' for name, unit in units.items() if self._values[name])

    def _create_topics(self) -> None:
        self._states = self.create_publisher(JointState, self._values['joint_states_topic'], 10)
        self._message = JointState(name=list(self._followers.names))
        self._ticker = self.create_publisher(Clock, '/clock', 10) if self._values['publish_clock'] else None
        self.create_subscription(JointState, 'torque', self._on_torque, INPUT)
        if named(self._values['command_joints']):
            self.create_subscription(Float64MultiArray, 'effort_commands', self._on_command, COMMANDS)
        self.create_subscription(JointState, 'pose', self._on_pose, 10)
        for name, action in (('pause', self._pause), ('resume', self._resume), ('reset', self._reset)):
            self.create_service(Trigger, name, partial(self._on_trigger, action))

    def _pause(self) -> str:
        self.robot.paused = True
        return 'paused'

    def _resume(self) -> str:
        self.robot.paused = False
        return self.robot.mode

    def _reset(self) -> str:
        self.robot.reset()
        self._hands.forget()
        return 'at rest at the start position'

    def _on_trigger(
        self, action: Callable[[], str], _: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        response.message = action()
        response.success = not self.robot.fault
        self._reporter.report()
        return response

    def _on_torque(self, message: JointState) -> None:
        try:
            self.robot.on_torque(message.name, np.asarray(message.effort), stamp_of(message))
        except ArgumentError as error:
            self.robot.torques.refusals.note(str(error))

    def _on_command(self, message: Float64MultiArray) -> None:
        refused = self.robot.command_refusals.count
        self.robot.on_command(message.data)
        if self.robot.command_refusals.count != refused:
            self.get_logger().warning(self.robot.command_refusals.reason, throttle_duration_sec=1.0)

    def _on_pose(self, message: JointState) -> None:
        try:
            if fault := names_fault(message.name):
                raise ArgumentError(fault)
            self.robot.set_positions(message.name, message.position)
        except ArgumentError as error:
            self.get_logger().warning(f'pose refused: {error}', throttle_duration_sec=1.0)

    def _check_publishers(self) -> None:
        """Warn once if a second robot or a second publisher of torques appears."""
        self._health.sources = publishers(self, 'torque')
        topic = self._values['joint_states_topic']
        found = [f'{topic} are also published by {name}' for name in other_publishers(self, topic)]
        if len(self._health.sources) > 1:
            found.append(f'torques are published by {" and ".join(self._health.sources)}')
        if found and found != self._conflicts:
            allowed = 'only one robot, and one publisher of its torques, may be on a ROS domain'
            self.get_logger().warning(f'{shown_lines("; ".join(found))}: {allowed}')
        self._conflicts = found

    def _on_tick(self) -> None:
        clock, now, broken = int(self.get_clock().now().nanoseconds), time.monotonic(), self.robot.fault
        passed, self._last = now - self._last, now
        self._health.add_time(passed)
        pushes, pulls = self._hands.pushes(), self._hands.pulls()
        self.robot.advance(passed * self._values['time_factor'], pushes, pulls)
        stamp, contacts = self._stamp(clock), [*pushes, *self.robot.pull_wrenches(pulls)]
        self._publish(contacts, stamp)
        self._hands.publish(contacts, stamp)
        if self.robot.fault != broken:
            self._reporter.report()
        if not self._driven and self.robot.has_torques:
            self._driven = True
            self.get_logger().info('receiving torques')

    def _publish(self, contacts: Sequence[Wrench], stamp: Time) -> None:
        self._message.header.stamp = stamp
        simulation, followers = self.robot.simulation, self._followers
        self._message.position = array('d', followers.position(simulation.q).tobytes())
        self._message.velocity = array('d', followers.velocity(simulation.dq).tobytes())
        self._message.effort = array('d', followers.effort(self._effort(contacts)).tobytes())
        self._states.publish(self._message)

    def _effort(self, contacts: Sequence[Wrench]) -> Array:
        motor = self._values['effort'] == 'motor'
        effort = self.robot.motor_torque if motor else joint_effort(self.robot.simulation, contacts)
        noise = self._values['effort_noise']
        effort = effort + noise * self._random.normal(size=len(effort)) if noise else effort
        return np.asarray(effort / self._effort_units)

    def _stamp(self, clock: int) -> Time:
        """Return the stamp of the state after a tick that began at a time (ns): the state's own instant."""
        behind = self.robot.behind / self._values['time_factor']
        now = self.robot.now if self._ticker else clock - round(behind * 1e9)
        seconds, rest = divmod(self.robot.stamp(now), SECOND)
        stamp = Time(sec=seconds, nanosec=rest)
        if self._ticker:
            self._ticker.publish(Clock(clock=stamp))
        return stamp


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; `args` are the command-line arguments, by default those of this process."""
    return run(SimulatorNode, node_arguments('simulator_node', _DESCRIPTION, documented, args, shared))


if __name__ == '__main__':
    sys.exit(main())
