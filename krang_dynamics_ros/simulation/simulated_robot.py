"""Joints that mimic another one, in what a robot says of its joints."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import SimulationError, unknown_name
from ..core.limits import MAX_QUANTITY
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..live.joints import JointTorques
from ..live.messages import Refusals
from ..robot.robot import Robot
from .pulls import Pull, pull_wrench
from .simulation import STEP, Simulation


class Followers:
    """Completes joint vectors (n): behind the joints with a coordinate come the k that follow one of them."""

    def __init__(self, robot: Robot) -> None:
        mimics = robot.mimics
        self.names = (*robot.joint_names, *mimics)
        self._followed = np.array([robot.joint_names.index(mimic.joint) for mimic in mimics.values()], dtype=np.intp)
        self._multiplier = np.array([mimic.multiplier for mimic in mimics.values()])
        self._offset = np.array([mimic.offset for mimic in mimics.values()])

    def position(self, q: Array) -> Array:
        """Return the positions (n + k), rad or m."""
        return np.concatenate([q, self._multiplier * q[self._followed] + self._offset])

    def velocity(self, dq: Array) -> Array:
        """Return the velocities (n + k), rad/s or m/s."""
        return np.concatenate([dq, self._multiplier * dq[self._followed]])

    def effort(self, effort: Array) -> Array:
        """Return the efforts (n + k): none for a follower, for what it takes is in that of the joint it follows."""
        return np.concatenate([effort, np.zeros(len(self._followed))])


Mode = Literal['driven', 'braked', 'slack', 'paused', 'broken']
LONGEST = 0.05  # s: what a busy machine misses beyond this is not made up for; simulated time then goes slower
MAX_STEP_TIME = 0.02  # s: longest computation of steps between two publications


class FirmwareModel(Protocol):
    """What a robot's own firmware adds to a command."""

    def torque(self, q: Array, dq: Array | None) -> Array | None:
        """Return the torques (n; N m, N) at positions and velocities (n)."""


class SimulatedRobot:
    """A simulation, and the torques that count for it.

    A torque has the stamp of the joint state that it was computed from. One for a state from before the robot was put
    somewhere else says nothing of where it is now, and is dropped. Torques age in simulated time, in which the robot
    falls; without fresh ones for every joint the brakes close, if there are any, or the joints are slack.

    Joints with an effort controller (`command_joints`) take commands instead, and hold the last one for ever; until the
    first one they are as joints without torques are.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        timeout: float,
        brakes: bool,
        own_time: bool = False,
        command_joints: Sequence[str] = (),
        command_scale: ArrayLike = 1.0,
    ) -> None:
        """`timeout` in seconds of simulated time; with `own_time` stamps are of that, and a reset sets it back.

        `command_scale` (k) are the units of commands per N m (N).
        """
        self.simulation, self.brakes, self._own_time = simulation, brakes, own_time
        self.torques = JointTorques(simulation.robot.joint_names, timeout)
        self.paused, self.fault = False, ''
        self.was_driven = False  # since it was put where it is: torques can be late only after the first ones
        self.dropped = 0  # torques for a state from before
        self.given: Array = np.zeros(simulation.robot.n)  # what the motors give now
        self.firmware: FirmwareModel | None = None  # what the robot adds to every command, once there is one
        names = simulation.robot.joint_names
        for name in command_joints:
            if name not in names:
                raise unknown_name('command_joints: joint', name, names)
        self._commanded = np.array([names.index(name) for name in command_joints], dtype=int)
        self._command_scale = np.asarray(command_scale, dtype=float)
        self.command: Array | None = None  # the last one (k; N m, N), in the order of `command_joints`
        self.command_refusals = Refusals()
        self._start = simulation.q
        self._since, self._newest, self._owed = 1, 0, 0.0

    @property
    def now(self) -> int:
        """Simulated time, ns."""
        return round(self.simulation.time * 1e9)

    def stamp(self, now: int) -> int:
        """Return a state's stamp (ns) at a time: none that a state had before the robot was put somewhere else."""
        self._newest = max(now, self._since)
        return self._newest

    def on_torque(self, names: Sequence[str], torque: Array, stamp: int) -> None:
        """Take in a message of some joints' torques (N m, N); a stamp of 0 means that it has none."""
        if stamp and (stamp < self._since or (self._own_time and stamp > self._newest)):
            self.dropped += 1
        else:
            self.torques.update(names, torque, 0, self.now)

    def on_command(self, command: Sequence[float]) -> None:
        """Take in a command (k; its units), as an effort controller does."""
        values = np.asarray(command, dtype=float)
        if len(values) != len(self._commanded) or not (np.abs(values) <= MAX_QUANTITY).all():  # NaN is not
            wanted = f'must be {len(self._commanded)} numbers, at most {MAX_QUANTITY:g}'
            self.command_refusals.note(f'effort_commands: {reprlib.repr(values.tolist())}, {wanted}')
        else:
            self.command = values / self._command_scale

    def _driven(self) -> NDArray[np.bool_]:
        """Return which joints (n) have a torque that counts now."""
        driven = np.full(self.simulation.robot.n, self.torques.complete(self.now))
        driven[self._commanded] = self.command is not None
        return driven

    @property
    def has_torques(self) -> bool:
        """Whether a torque counts now, in any joint."""
        return bool(self._driven().any())

    @property
    def mode(self) -> Mode:
        """What it does now."""
        if self.fault:
            return 'broken'
        if self.paused:
            return 'paused'
        if self.has_torques:
            return 'driven'
        return 'braked' if self.brakes else 'slack'

    def put(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Put some joints (rad, m), by name; all are at rest then."""
        self.simulation.set_joint_positions(names, positions)
        self._begin()

    def reset(self) -> None:
        """Go back to where it started, at rest."""
        self.simulation.reset(self._start)
        if self._own_time:
            self._newest = 0
        self._begin()

    def _begin(self) -> None:
        self.torques.forget()
        self.was_driven = False
        self.fault, self._owed, self._since = '', 0.0, self._newest + 1

    def pulled(self, pulls: Sequence[Pull]) -> list[Wrench]:
        """Return the wrenches of the WORLD that pulls give at the state of now."""
        return [pull_wrench(self.simulation.dynamics, pull, self.simulation.q, self.simulation.dq) for pull in pulls]

    def advance(self, seconds: float, pushes: Sequence[Wrench], pulls: Sequence[Pull] = ()) -> None:
        """Go on by so many seconds, under what the WORLD does to it; less far if that takes too long to compute.

        Pushes keep their value. The force of a pull is computed anew at each step.
        """
        mode = self.mode
        if mode in ('paused', 'broken'):
            self._owed = 0.0
            return
        self.was_driven = self.was_driven or mode == 'driven'
        self._owed = min(self._owed + seconds, LONGEST)
        self.given = torque = self._torque()
        end = time.monotonic() + MAX_STEP_TIME
        while self._owed >= STEP:
            if mode == 'braked':
                self.simulation.hold()
            elif not self._step(torque, [*pushes, *self.pulled(pulls)]):
                return
            self._owed = self._owed - STEP if time.monotonic() < end else 0.0

    def _torque(self) -> Array:
        """Return what the motors give now (n); brakes close on the joints that get nothing."""
        driven = self._driven()
        self.simulation.braked = ~driven & self.brakes
        torque = np.where(driven, self.torques.torque, 0.0)
        if self.command is not None:
            torque[self._commanded] = self.command
        return torque

    def _step(self, torque: Array, pushes: Sequence[Wrench]) -> bool:
        if self.firmware is not None and self.command is not None:
            added = self.firmware.torque(self.simulation.q, self.simulation.dq)
            torque = self.given = torque if added is None else torque + np.where(self._driven(), added, 0.0)
        try:
            self.simulation.step(torque, pushes)
        except SimulationError as error:
            self.fault = str(error)
        return not self.fault
