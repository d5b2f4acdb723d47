"""Efforts for a controller that holds the last value it got: when they go out, blended from where, and within what.

An effort controller (ros2_control's effort_controllers, for one) has no clock: it applies the last command until the
next one comes, for ever if none does. So what is sent last matters more than anything before it, and while anybody
listens it is always zero:

- *Held*, the last torque would be right for the one pose in which it was computed, and nobody would ever correct it.
  An arm that moves, is pushed, or lets its payload go, is driven by it without end and without any feedback, also when
  this node has died since. Nothing in the robot can tell such a torque from one that is meant.
- *Zero* is what a controller has before its first command, what the robot's own brakes and watchdogs are made for, and
  it puts no energy into the arm: it sinks until it hangs or rests on something.
- *At once*, zero would drop the arm, and with it what it holds. So the last command is taken back over the ramp, in
  proportion: all joints yield together, and who stands by sees the arm sink, and has that long to react.

While commands are taken back because somebody asked, they follow the torques of the pose as it changes. When the
torques themselves are lost, the last command is the only thing known; it is taken back as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array


class Stage(Enum):
    """What is going out."""

    OFF = 'off'
    RISING = 'rising'
    ON = 'on'
    FALLING = 'falling'


class EffortCommands:
    """A switch for the commands of some joints, in their controller's order. Times are seconds by a steady clock.

    `limits` (k) are the largest efforts, N m or N; zero where none is known. `ramp` is how long a blend takes, and
    `timeout` for how long the torques may fail to come.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        self.limits: Array = np.zeros(len(self.joint_names))
        self.ramp, self.timeout = 1.0, 0.1
        self.stage = Stage.OFF
        self.fault = ''  # why it switched itself off, until it is enabled again
        self.cut: dict[str, float] = {}  # what was wanted of joints that were cut to their limit, since `forget_cuts`
        self._start: Array = np.zeros(len(self.joint_names))  # what rises to the torques
        self._rise = 0.0  # how far it has come, 0 to 1
        self._base = self._sent = self._start  # what is taken back; what went out last
        self._since, self._duration = 0.0, 0.0  # of the blend
        self._latest = 0.0  # when torques came

    @property
    def enabled(self) -> bool:
        """Whether commands go out for other reasons than to end."""
        return self.stage in (Stage.RISING, Stage.ON)

    @property
    def idle(self) -> bool:
        """Whether nothing goes out."""
        return self.stage is Stage.OFF

    def trouble(self, limits: Array | None = None) -> str:
        """Say why it cannot be enabled, with these limits or its own; or return nothing."""
        if not self.joint_names:
            return 'no joints to command: set command_joints, and start again'
        known = self.limits if limits is None else limits
        unknown = [name for name, limit in zip(self.joint_names, known, strict=True) if not limit > 0]
        return f'no effort limit is known of {", ".join(unknown)}: set command_limits' if unknown else ''

    def enable(self, now: float, measured: Array | None = None) -> None:
        """Begin to blend from the measured efforts (k; NaN: not known, then from zero) to the torques.

        What is being taken back at this moment rises again from where it is.
        """
        if why := self.trouble():
            raise ArgumentError(why)
        if self.enabled:
            return
        if self.stage is Stage.FALLING:
            start = self._sent
        else:
            start = np.zeros(len(self.joint_names)) if measured is None else np.nan_to_num(measured, nan=0.0)
        self._start, self._rise, self.fault = self._within(start), 0.0, ''
        self._begin(Stage.RISING, now)
        self._latest = now

    def blend_anew(self, now: float) -> None:
        """Blend from what was sent last: from now on the torques are of other terms."""
        if self.enabled:
            self._start, self._rise = self._sent, 0.0
            self._begin(Stage.RISING, now)

    def disable(self, now: float, fault: str = '') -> None:
        """Begin to take the commands back; `fault` says why, if nobody asked for it: then they no longer follow."""
        self.fault = fault or self.fault
        if self.enabled:
            self._base = self._sent
            self._begin(Stage.FALLING, now)

    def drop(self, fault: str) -> None:
        """Send nothing more from now on: nobody is left who could take the commands back."""
        if self.enabled:
            self.fault = fault
        self.stage, self._sent = Stage.OFF, np.zeros(len(self.joint_names))

    def hurry(self, now: float, longest: float) -> None:
        """Take back what was sent last within `longest` seconds, or as soon as it would be anyway; call `tick` then."""
        if not self.idle:
            left = self.ramp if self.enabled else self._since + self._duration - now
            self._base = self._sent
            self._begin(Stage.FALLING, now)
            self._duration = min(left, longest)

    def follow(self, now: float, torques: Array) -> Array | None:
        """Take in torques (k), and return the command to send now, or None."""
        if late := self.late(now):
            self.disable(now, late)
        self._latest = now
        if self.enabled:
            self._rise = self._share(now)
            self.stage = Stage.ON if self._rise == 1 else Stage.RISING
            return self._send(self._blend(torques))
        if self.stage is Stage.FALLING and not self.fault:
            self._base = self._within(self._blend(torques))
        return self._fall(now)

    def tick(self, now: float) -> Array | None:
        """Return the command to send now if no torques come: call it often."""
        if late := self.late(now):
            self.disable(now, late)
        return self._fall(now)

    def late(self, now: float) -> str:
        """Say so if commands go out, and torques have not come for too long."""
        age = now - self._latest
        too_old = self.enabled and age > self.timeout
        return f'no torques for {age:.2g} s, must come every {self.timeout:g} s' if too_old else ''

    def forget_cuts(self) -> None:
        """Name joints that are cut from now on only."""
        self.cut = {}

    def _begin(self, stage: Stage, now: float) -> None:
        self.stage, self._since, self._duration = stage, now, self.ramp

    def _share(self, now: float) -> float:
        """Return how much of the blend is done, 0 to 1."""
        return min(max((now - self._since) / self._duration, 0.0), 1.0) if self._duration > 0 else 1.0

    def _blend(self, torques: Array) -> Array:
        return np.asarray((1 - self._rise) * self._start + self._rise * torques)

    def _fall(self, now: float) -> Array | None:
        if self.stage is not Stage.FALLING:
            return None
        left = 1 - self._share(now)
        if not left:
            self.stage = Stage.OFF
        return self._send(left * self._base)

    def _send(self, command: Array) -> Array:
        self._sent = self._within(command)
        return self._sent

    def _within(self, command: Array) -> Array:
        """Return a command within the limits, and note who was cut."""
        for k in np.flatnonzero(np.abs(command) > self.limits):
            self.cut[self.joint_names[k]] = float(command[k])
        return np.clip(command, -self.limits, self.limits)
