"""What `simulator_node` says of itself on `/diagnostics`: what the robot does, and which torques it gets."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ...simulation.simulated_robot import SimulatedRobot
from ..diagnostics import ERROR, OK, WARN, Status

WINDOW = 0.9  # s: shares and speeds are of a time at least as long
SLOW = 0.9  # of the speed that was asked for


class SimulatorHealth:
    """The statuses of a simulator, and what is counted for them."""

    def __init__(self, robot: SimulatedRobot, time_factor: float, friction: str) -> None:
        """`friction` says what was added to the robot's own."""
        self._robot, self._factor, self._friction = robot, time_factor, friction
        self._refused = 0
        self.sources: list[str] = []  # of torques, if there are several
        self._speed, self._without = 1.0, 0.0
        self._begin()

    def _begin(self) -> None:
        self._since, self._simulated = time.monotonic(), self._robot.simulation.time
        self._going = self._stood = 0.0

    def went(self, seconds: float) -> None:
        """Note for how long the robot was in the mode that it is in."""
        if self._robot.mode in ('driven', 'braked', 'slack'):
            self._going += seconds
            self._stood += seconds if self._robot.was_driven and self._robot.mode != 'driven' else 0.0

    def statuses(self) -> Iterator[Status]:
        """Return what is so now."""
        if (elapsed := time.monotonic() - self._since) > WINDOW:
            went = max(0.0, self._robot.simulation.time - self._simulated)
            self._speed = went / (self._going * self._factor) if self._going > elapsed / 2 else 1.0
            self._without = self._stood / elapsed
            self._begin()
        yield self._simulation()
        yield self._torques()

    def _simulation(self) -> Status:
        level, words = self._words()
        return Status('simulation', level, words, {
            'mode': self._robot.mode,
            'simulated time (s)': f'{self._robot.simulation.time:.3f}',
            'speed, of what was asked for': f'{self._speed:.2f}',
            'without torques, of the last second': f'{self._without:.2f}',
            'friction added': self._friction or 'none',
        })  # fmt: skip

    def _words(self) -> tuple[bytes, str]:
        robot, held = self._robot, 'the brakes are closed' if self._robot.brakes else 'the joints are slack'
        without = f'no torques for {robot.torques.timeout:g} s: {held}'
        words = {'broken': f'broken, reset it: {robot.fault}', 'paused': 'paused', 'braked': without, 'slack': without}
        if robot.mode in words:
            return ERROR if robot.mode == 'broken' else WARN, words[robot.mode]
        if self._without > 0:
            share = max(self._without, 0.01)  # "for 0%" would be no reason to warn
            return WARN, f'torques came late: for {share:.0%} of the last second {held.replace("are", "were")}'
        if self._speed < SLOW:
            return WARN, f'slow, at {self._speed:.0%} of its speed: this machine is busy'
        return OK, 'runs'

    def _torques(self) -> Status:
        torques, robot = self._robot.torques, self._robot
        fresh, self._refused = torques.refusals.count - self._refused, torques.refusals.count
        missing = torques.missing(robot.now)
        level, words = OK, 'coming'
        if len(self.sources) > 1:
            level, words = WARN, f'come from {" and ".join(self.sources)}: two controllers drive one robot'
        elif fresh:
            level, words = WARN, f'{fresh} messages refused: {torques.refusals.reason}'
        elif missing and not robot.has_torques:
            level, words = WARN, f'none for {len(missing)} of {len(torques.joint_names)} joints'
        return Status('torques', level, words, {
            'missing or late': ', '.join(missing),
            'refused in all': torques.refusals.count,
            'refused last because': torques.refusals.reason,
            'for a state from before a reset or a pose': robot.dropped,
            'commands held (N m)': '' if robot.command is None else ', '.join(f'{x:.3g}' for x in robot.command),
        })  # fmt: skip
