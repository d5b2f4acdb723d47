"""A simulated arm that a person leads by hand: the engine's commands drive it, at any rate, late by any delay."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from krang_dynamics_ros import Robot, Wrench
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.dynamics.factory import Model, dynamics_of
from krang_dynamics_ros.live.controller_watch import Endpoint
from krang_dynamics_ros.live.engine import Engine
from krang_dynamics_ros.live.parameters import MODEL
from krang_dynamics_ros.live.timeline import Clocks
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot import Link
from krang_dynamics_ros.robot.urdf_reader import read_description
from krang_dynamics_ros.simulation.sensors import joint_effort
from krang_dynamics_ros.simulation.simulation import Simulation

RAMP = 0.1
Push = Callable[[float], Sequence[Wrench]]


def _link(name: str, mass: float, com: str, inertia: float) -> str:
    moments = f'ixx="{inertia}" iyy="{inertia}" izz="{inertia / 3}" ixy="0" ixz="0" iyz="0"'
    inertial = f'<origin xyz="{com}"/><mass value="{mass}"/><inertia {moments}/>'
    return f'<link name="{name}"><inertial>{inertial}</inertial></link>'


def _joint(name: str, between: tuple[str, str], at: str, axis: str, limits: tuple[float, float, float]) -> str:
    lower, upper, effort = limits
    return (
        f'<joint name="{name}" type="revolute"><parent link="{between[0]}"/><child link="{between[1]}"/>'
        f'<origin xyz="{at}"/><axis xyz="{axis}"/>'
        f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="3"/></joint>'
    )


def arm(friction: float = 0.0, rotors: float = 1.0) -> Robot:
    """Return an arm of three joints (about the vertical, shoulder, elbow) as widespread arms have them.

    `friction` is each joint's Coulomb friction in parts of its effort limit; `rotors` scales the rotor inertias.
    """
    text = f"""<robot name="arm"><link name="base"/>
      {_link('trunk', 4.0, '0 0 0.1', 0.02)}{_link('upper', 5.0, '0.15 0 0', 0.06)}
      {_link('fore', 3.0, '0.15 0 0', 0.03)}
      {_joint('turn', ('base', 'trunk'), '0 0 0.1', '0 0 1', (-2.5, 2.5, 150))}
      {_joint('shoulder', ('trunk', 'upper'), '0 0 0.2', '0 1 0', (-2.0, 2.0, 150))}
      {_joint('elbow', ('upper', 'fore'), '0.35 0 0', '0 1 0', (-2.4, 2.4, 60))}
      <link name="hand"/><joint name="mount" type="fixed"><parent link="fore"/><child link="hand"/>
      <origin xyz="0.3 0 0"/></joint></robot>"""
    robot = read_description(text).robot
    inertias = iter((1.2, 1.2, 0.4))
    joints = []
    for joint in robot.joints:
        if joint.limits is not None and joint.limits.effort:
            motor = replace(joint.motor, gear_ratio=1.0, rotor_inertia=rotors * next(inertias))
            rubs = Friction(friction * joint.limits.effort / 5, friction * joint.limits.effort)
            joints.append(replace(joint, motor=motor, friction=rubs))
        else:
            joints.append(joint)
    return replace(robot, joints=tuple(joints))


def off_by(robot: Robot, share: float, rng: np.random.Generator) -> Robot:
    """Return the robot with masses and friction that are off by up to a share."""

    def link(it: Link) -> Link:
        factor, body = rng.uniform(1 - share, 1 + share), it.inertia
        return replace(it, inertia=Inertia(factor * body.m, factor * body.MS, factor * body.J))

    def rubs(it: Friction) -> Friction:
        factor = rng.uniform(1 - share, 1 + share)
        return replace(it, viscous=factor * it.viscous, coulomb=factor * it.coulomb)

    joints = tuple(replace(joint, friction=rubs(joint.friction)) for joint in robot.joints)
    return replace(robot, links=tuple(map(link, robot.links)), joints=joints)


class Guided:
    """An arm, what its node knows of it, and the way between. Delays are in periods."""

    def __init__(
        self, known: Robot, real: Robot, q: Sequence[float], rate: float, delays: tuple[int, int] = (0, 0), **given: Any
    ) -> None:
        """`delays` are of joint states and of commands."""
        self.sim, self.period, self.time = Simulation(real, q), 1 / rate, 1000.0
        names = list(known.joint_names)
        values = {'command_joints': names, 'command_ramp': RAMP, 'command_start': 'zero'}
        self.settings = Settings(values | {name.replace('__', '.'): value for name, value in given.items()})
        self.settings.declare(MODEL)
        self.engine = Engine(self.settings, Model(known, dynamics_of(known), ''), Clocks(*3 * [lambda: self.time]))
        self.supervisor, self.commands, self.names = self.engine.supervisor, self.engine.supervisor.commands, names
        self.supervisor.on_endpoints([Endpoint('c', '/arm_effort_controller')])
        self._states: deque[Any] = deque(maxlen=delays[0] + 1)
        self._commands: deque[Any] = deque([(np.zeros(len(names)),) * 2] * delays[1], maxlen=delays[1] + 1)
        self.q, self.dq, self.guiding, self.times = [], [], [], []  # type: ignore[var-annotated]
        self.pressed = False  # whether a person holds the switch
        self.feels = False  # whether efforts are measured behind the gears
        self._pushes: Sequence[Wrench] = ()
        self.work = 0.0  # of pushes, J
        self.energy = 0.0  # of guiding torques, J

    def begin(self) -> Guided:
        """Enable commands while brakes hold the arm, and open the brakes when they are on."""
        self.sim.braked[:] = True
        self.run(0.2)
        self.supervisor.enable()
        self.supervisor.on_acknowledged(self.commands.starts)
        self.run(max(0.3, 20 * self.period))
        self.sim.braked[:] = False
        self.energy = self.work = 0.0
        self.q.clear(), self.dq.clear(), self.guiding.clear(), self.times.clear()
        return self

    def run(self, seconds: float, push: Push = lambda t: ()) -> Guided:
        """Let time go on."""
        for _ in range(round(seconds / self.period)):
            self._step(push)
        return self

    def _step(self, push: Push) -> None:
        sim = self.sim
        if self.pressed:
            self.supervisor.on_hold(True)
        stamp = round(self.time * 1e9)
        effort = joint_effort(sim, self._pushes) if self.feels else np.empty(0)
        self._states.append((sim.q.copy(), sim.dq.copy(), effort, stamp))
        if len(self._states) == self._states.maxlen:
            q, dq, effort, then = self._states[0]
            torques = self.engine.on_joint_state(self.names, q, dq, effort, then, stamp)
            if torques is not None:
                self.supervisor.on_torques(torques)
        commands = self.commands
        self._commands.append((commands.sent.copy(), commands.sent - commands.unguided))
        sent, guiding = self._commands[0]
        before, parts = sim.q.copy(), max(1, round(self.period / 1e-3))
        self._pushes = pushes = push(self.time)
        for _ in range(parts):
            middle = sim.q.copy()
            sim.step(sent, pushes, self.period / parts)
            if pushes:
                self.work += abs(float(sim.dynamics.wrench_torque(middle, pushes) @ (sim.q - middle)))
        self.energy += float(guiding @ (sim.q - before))
        self.q.append(sim.q.copy()), self.dq.append(sim.dq.copy())
        self.guiding.append(guiding), self.times.append(self.time)
        self.time += self.period
