"""A simulated robot beside a clock: what its motors get, and whether it obeys, is braked, slack, paused or broken."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..core.errors import SimulationError
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..inputs.joint_states import JointTorques
from .simulation import STEP, Simulation

Mode = Literal['driven', 'braked', 'slack', 'paused', 'broken']
LONGEST = 0.05  # s: what a busy machine misses beyond this is not made up for; simulated time then goes slower
PATIENCE = 0.02  # s: for so long steps may be computed at a stretch, or nobody would hear of the robot meanwhile


class SimulatedRobot:
    """A simulation, and the torques that count for it.

    A torque has the stamp of the joint state that it was computed from. One for a state from before the robot was put
    somewhere else says nothing of where it is now, and is dropped. Torques age in simulated time, in which the robot
    falls; without fresh ones for every joint the brakes close, if there are any, or the joints are slack.
    """

    def __init__(self, simulation: Simulation, *, timeout: float, brakes: bool, own_time: bool = False) -> None:
        """`timeout` in seconds of simulated time; with `own_time` stamps are of that, and a reset sets it back."""
        self.simulation, self.brakes, self._own_time = simulation, brakes, own_time
        self.torques = JointTorques(simulation.robot.joint_names, timeout)
        self.paused, self.fault = False, ''
        self.dropped = 0  # torques for a state from before
        self.given: Array = np.zeros(simulation.robot.n)  # what the motors give now
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

    def take(self, names: Sequence[str], torque: Array, stamp: int) -> None:
        """Take in a message of some joints' torques (N m, N); a stamp of 0 means that it has none."""
        if stamp and (stamp < self._since or (self._own_time and stamp > self._newest)):
            self.dropped += 1
        else:
            self.torques.take(names, torque, 0, self.now)

    @property
    def mode(self) -> Mode:
        """What it does now."""
        if self.fault:
            return 'broken'
        if self.paused:
            return 'paused'
        if self.torques.complete(self.now):
            return 'driven'
        return 'braked' if self.brakes else 'slack'

    def put(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Put some joints (rad, m), by name; all are at rest then."""
        self.simulation.place_joints(names, positions)
        self._begin()

    def reset(self) -> None:
        """Go back to where it started, at rest."""
        self.simulation.reset(self._start)
        if self._own_time:
            self._newest = 0
        self._begin()

    def _begin(self) -> None:
        self.torques.forget()
        self.fault, self._owed, self._since = '', 0.0, self._newest + 1

    def go_on(self, seconds: float, pushes: Sequence[Wrench]) -> None:
        """Go on by so many seconds, under what the WORLD does to it; less far if that takes too long to compute."""
        mode = self.mode
        if mode in ('paused', 'broken'):
            self._owed = 0.0
            return
        self._owed = min(self._owed + seconds, LONGEST)
        self.given = torque = self.torques.torque.copy() if mode == 'driven' else np.zeros(self.simulation.robot.n)
        end = time.monotonic() + PATIENCE
        while self._owed >= STEP:
            if mode == 'braked':
                self.simulation.hold()
            elif not self._step(torque, pushes):
                return
            self._owed = self._owed - STEP if time.monotonic() < end else 0.0

    def _step(self, torque: Array, pushes: Sequence[Wrench]) -> bool:
        try:
            self.simulation.step(torque, pushes)
        except SimulationError as error:
            self.fault = str(error)
        return not self.fault
