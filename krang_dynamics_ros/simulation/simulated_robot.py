"""A simulated robot under torque messages, commands and brakes, as the simulator node runs it."""

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
    """Extends joint vectors (n) by the k mimic joints, which follow a joint with a coordinate."""

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
        """Return the efforts (n + k); a follower has zero: its torque is part of the joint that it follows."""
        return np.concatenate([effort, np.zeros(len(self._followed))])


Mode = Literal['driven', 'braked', 'slack', 'paused', 'broken']
MAX_BACKLOG = 0.05  # s of simulation that a busy machine catches up on; beyond it simulated time is slower
MAX_COMPUTATION = 0.02  # s, of steps between two publications
UNCARRIED_SHARE = 0.02  # of the largest load: what motors may lack when brakes open; also the change of a command
MIN_LOAD = 1e-6  # N m (N): a smaller load is zero
STEADY_SECONDS = 2.0  # s of simulated time in which commands do not change, after which brakes open in any case


class FirmwareModel(Protocol):
    """Torque that a robot's own firmware adds to a command."""

    def torque(self, q: Array, dq: Array | None) -> Array | None:
        """Return the torques (n; N m, N) at positions and velocities (n)."""


class SimulatedRobot:
    """A simulation, and the torques that drive it.

    A torque carries the stamp of the joint state from which it was computed. It is dropped if that state is from before
    the last `set_positions` or `reset`. Torques age in simulated time. Without a fresh torque for every joint the
    brakes close, if the robot has any; else the joints are slack.

    Joints with an effort controller (`command_joints`) follow commands instead and hold the last command for ever.
    Before their first command they follow torques as all others do; so they do while all commands are zero and torques
    come. Commands of zero without torques let the arm fall, as on a robot.

    Brakes of these joints open as those of hanging axes do: once the motors carry the load, so that the arm does not
    fall while commands rise from zero; or once commands have not changed for `STEADY_SECONDS`, carry they or not. They
    close again with `reset` and `set_positions`.
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
        """`timeout` in seconds of simulated time; with `own_time` stamps are that time too, which a reset sets back.

        `command_scale` (k): units of a command per N m (N).
        """
        self.simulation, self.brakes, self._own_time = simulation, brakes, own_time
        self.torques = JointTorques(simulation.robot.joint_names, timeout)
        self.paused, self.fault = False, ''
        self.was_driven = False  # since the last reset or set_positions: torques can be late only after the first
        self.dropped = 0  # torques for a state from before a reset or set_positions
        self.motor_torque: Array = np.zeros(simulation.robot.n)  # present torques (n) of the motors, N m (N)
        self.firmware: FirmwareModel | None = None  # adds its torque to every command
        names = simulation.robot.joint_names
        for name in command_joints:
            if name not in names:
                raise unknown_name('command_joints: joint', name, names)
        self._commanded = np.array([names.index(name) for name in command_joints], dtype=int)
        self._command_scale = np.asarray(command_scale, dtype=float)
        self.command: Array | None = None  # the last command (k; N m, N), in the order of `command_joints`
        self.command_refusals = Refusals()
        self._open = False  # whether the brakes of the joints with commands are open
        self._steady: tuple[Array, float] | None = None  # a command (k; N m, N) that was kept since a time (s)
        self._start = simulation.q
        self._since, self._newest, self._owed = 1, 0, 0.0

    @property
    def now(self) -> int:
        """Simulated time, ns."""
        return round(self.simulation.time * 1e9)

    @property
    def behind(self) -> float:
        """Simulated time from the state to the end of the last `advance`, s: less than a step."""
        return self._owed

    def stamp(self, now: int) -> int:
        """Return the stamp (ns) of a state at a time; stamps from before a reset or `set_positions` are not reused."""
        self._newest = max(now, self._since)
        return self._newest

    def on_torque(self, names: Sequence[str], torque: Array, stamp: int) -> None:
        """Process a message of some joints' torques (N m, N); a stamp of 0 means no stamp."""
        if stamp and (stamp < self._since or (self._own_time and stamp > self._newest)):
            self.dropped += 1
        else:
            self.torques.update(names, torque, 0, self.now)

    def on_command(self, command: Sequence[float]) -> None:
        """Process a command (k; its units), as an effort controller does."""
        values = np.asarray(command, dtype=float)
        if len(values) != len(self._commanded) or not (np.abs(values) <= MAX_QUANTITY).all():  # false for NaN
            allowed = f'must be {len(self._commanded)} numbers, at most {MAX_QUANTITY:g}'
            self.command_refusals.note(f'effort_commands: {reprlib.repr(values.tolist())}, {allowed}')
        else:
            self.command = values / self._command_scale
            if self.brakes and not self._open:
                self._open = self._may_open(self.command)

    def _may_open(self, command: Array) -> bool:
        """Return whether a command (k; N m, N) carries the joints, or has come unchanged for `STEADY_SECONDS`."""
        load, now = self.simulation.load[self._commanded], self.simulation.time
        tolerance = UNCARRIED_SHARE * max(float(np.abs(load).max()), MIN_LOAD)
        if self._steady is None or np.abs(command - self._steady[0]).max() > tolerance:
            self._steady = command, now
        motor = command + self._firmware_torque[self._commanded]
        missing = np.abs(load) - motor * np.sign(load)
        return bool((missing <= tolerance).all()) or now - self._steady[1] >= STEADY_SECONDS

    @property
    def _firmware_torque(self) -> Array:
        """Torque (n; N m, N) that the firmware adds to a command now."""
        added = None if self.firmware is None else self.firmware.torque(self.simulation.q, self.simulation.dq)
        return np.zeros(self.simulation.robot.n) if added is None else added

    @property
    def takes_commands(self) -> bool:
        """Whether the last command drives its joints: there is one, and it is not zero while torques come."""
        return self.command is not None and (bool(self.command.any()) or not self.torques.complete(self.now))

    def _driven(self) -> NDArray[np.bool_]:
        """Return which joints (n) have a valid torque now."""
        driven = np.full(self.simulation.robot.n, self.torques.complete(self.now))
        if self.takes_commands:
            driven[self._commanded] = True
        return driven

    @property
    def has_torques(self) -> bool:
        """Whether any joint has a valid torque now."""
        return bool(self._driven().any())

    @property
    def mode(self) -> Mode:
        """Present mode: what moves or holds the joints."""
        if self.fault:
            return 'broken'
        if self.paused:
            return 'paused'
        if self.brakes and self._held().all():
            return 'braked'
        return 'driven' if self.has_torques else 'slack'

    def _held(self) -> NDArray[np.bool_]:
        """Return which joints (n) the brakes hold now, if the robot has any."""
        held = ~self._driven()
        if self.takes_commands and not self._open:
            held[self._commanded] = True
        return held

    def set_positions(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Set positions (rad, m) of some joints, by name; all joints are at rest then."""
        self.simulation.set_joint_positions(names, positions)
        self._begin()

    def reset(self) -> None:
        """Return to the initial positions, at rest."""
        self.simulation.reset(self._start)
        if self._own_time:
            self._newest = 0
        self._begin()

    def _begin(self) -> None:
        self.torques.forget()
        self.was_driven = self._open = False
        self._steady = None
        self.fault, self._owed, self._since = '', 0.0, self._newest + 1

    def pull_wrenches(self, pulls: Sequence[Pull]) -> list[Wrench]:
        """Return the wrenches that pulls apply at the present state, as the WORLD applies them."""
        return [pull_wrench(self.simulation.dynamics, pull, self.simulation.q, self.simulation.dq) for pull in pulls]

    def advance(self, seconds: float, pushes: Sequence[Wrench], pulls: Sequence[Pull] = ()) -> None:
        """Advance by `seconds` under wrenches of the WORLD, or less if that computes longer than `MAX_COMPUTATION`.

        Pushes keep their value. The force of a pull is computed anew in each step.
        """
        self._open = self._open or self.torques.complete(self.now)
        mode = self.mode
        if mode in ('paused', 'broken'):
            self._owed = 0.0
            return
        self.was_driven = self.was_driven or mode == 'driven'
        self._owed = min(self._owed + seconds, MAX_BACKLOG)
        torque = self._torque()
        self.motor_torque = self._with_firmware(torque)
        end = time.monotonic() + MAX_COMPUTATION
        while self._owed >= STEP:
            if mode == 'braked':
                self.simulation.hold()
            elif not self._step(torque, [*pushes, *self.pull_wrenches(pulls)]):
                return
            self._owed = self._owed - STEP if time.monotonic() < end else 0.0

    def _torque(self) -> Array:
        """Return the torques of the motors (n), and close the brakes of joints without a valid torque."""
        driven = self._driven()
        self.simulation.braked = self._held() & self.brakes
        torque = np.where(driven, self.torques.torque, 0.0)
        if self.takes_commands:
            torque[self._commanded] = self.command
        return torque

    def _with_firmware(self, torque: Array) -> Array:
        """Return the torques (n) of the motors: those given, and what the firmware adds to commands."""
        if self.firmware is None or not self.takes_commands:
            return torque
        return torque + np.where(self._driven(), self._firmware_torque, 0.0)

    def _step(self, torque: Array, pushes: Sequence[Wrench]) -> bool:
        self.motor_torque = self._with_firmware(torque)
        try:
            self.simulation.step(self.motor_torque, pushes)
        except SimulationError as error:
            self.fault = str(error)
        return not self.fault
