"""Diagnostics of `simulator_node`: its mode and speed, and the torques that it receives."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ...simulation.simulated_robot import STEADY_SECONDS, SimulatedRobot
from ..diagnostics import ERROR, OK, WARN, Status

WINDOW = 0.9  # s: minimum time for shares and speeds
OPENING = f'the brakes are closed until effort_commands carry the arm, or do not change for {STEADY_SECONDS:g} s'
SLOW = 0.9  # of the requested speed


class SimulatorHealth:
    """The statuses of a simulator, with their counters."""

    def __init__(self, robot: SimulatedRobot, time_factor: float, friction: str) -> None:
        """`friction` describes the friction that is added to the robot's own."""
        self._robot, self._factor, self._friction = robot, time_factor, friction
        self._refused = 0
        self.sources: list[str] = []  # publishers of torques
        self._speed, self._without = 1.0, 0.0
        self._begin()

    def _begin(self) -> None:
        self._since, self._simulated = time.monotonic(), self._robot.simulation.time
        self._running = self._undriven = 0.0

    def add_time(self, seconds: float) -> None:
        """Count time (s) in which the robot runs, and in which the torques that drove it are missing."""
        if self._robot.mode in ('driven', 'braked', 'slack'):
            self._running += seconds
            self._undriven += seconds if self._robot.was_driven and self._robot.mode != 'driven' else 0.0

    def statuses(self) -> Iterator[Status]:
        """Yield the present statuses."""
        if (elapsed := time.monotonic() - self._since) > WINDOW:
            simulated = max(0.0, self._robot.simulation.time - self._simulated)
            self._speed = simulated / (self._running * self._factor) if self._running > elapsed / 2 else 1.0
            self._without = self._undriven / elapsed
            self._begin()
        yield self._simulation()
        yield self._torques()

    def _simulation(self) -> Status:
        level, message = self._mode_status()
        return Status('simulation', level, message, {
            'mode': self._robot.mode,
            'simulated time (s)': f'{self._robot.simulation.time:.3f}',
            'speed, share of the requested': f'{self._speed:.2f}',
            'without torques, share of the last second': f'{self._without:.2f}',
            'friction added': self._friction or 'none',
        })  # fmt: skip

    def _mode_status(self) -> tuple[bytes, str]:
        robot, effect = self._robot, 'the brakes are closed' if self._robot.brakes else 'the joints are slack'
        without = f'no torques for {robot.torques.timeout:g} s: {effect}'
        broken = f'broken, reset it: {robot.fault}'
        braked = OPENING if robot.takes_commands else without
        messages = {'broken': broken, 'paused': 'paused', 'braked': braked, 'slack': without}
        if robot.mode in messages:
            return ERROR if robot.mode == 'broken' else WARN, messages[robot.mode]
        if self._without > 0:
            share = max(self._without, 0.01)  # "for 0%" would be no reason to warn
            return WARN, f'torques came late: for {share:.0%} of the last second {effect.replace("are", "were")}'
        if self._speed < SLOW:
            return WARN, f'slow, at {self._speed:.0%} of its speed: this machine is busy'
        return OK, 'runs'

    def _torques(self) -> Status:
        torques, robot = self._robot.torques, self._robot
        fresh, self._refused = torques.refusals.count - self._refused, torques.refusals.count
        missing = torques.missing(robot.now)
        level, message = OK, 'received'
        if len(self.sources) > 1:
            level, message = WARN, f'published by {" and ".join(self.sources)}: two controllers drive the same robot'
        elif fresh:
            level, message = WARN, f'{fresh} messages refused: {torques.refusals.reason}'
        elif missing and not robot.has_torques:
            level, message = WARN, f'none for {len(missing)} of {len(torques.joint_names)} joints'
        return Status('torques', level, message, {
            'missing or stale': ', '.join(missing),
            'refused': torques.refusals.count,
            'last refusal': torques.refusals.reason,
            'dropped, from before a reset or a pose': robot.dropped,
            'commands held (N m)': '' if robot.command is None else ', '.join(f'{x:.3g}' for x in robot.command),
        })  # fmt: skip
