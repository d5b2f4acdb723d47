"""State machine of the effort commands, without ROS. docs/commands.md has its table and the reasons.

An effort controller applies the last command until it receives another. So commands are enabled only by an explicit
service call, never by a file or a parameter; they follow the pose, except after a fault, and they end at zero, also
when the node dies.

    unguided = rate_limit( f * clip( clip_urdf( total + r ) - robot ), rates )
    u = rate_limit( clip( clip_urdf( unguided + w * guiding + robot ) - robot ), all_rates )

Without guiding torques, u = rate_limit( unguided, all_rates ).

`clip_urdf` limits command and `robot` together to the URDF's effort limits, `clip` the command to `command_limits`.
`f`, the ramp fraction, rises from 0 to 1 over the ramp, and falls back. Before it rises from 0, zeros are sent until
all subscribers have acknowledged one: for a subscriber that receives nothing at first, the ramp would be a step. `r`,
the remainder, compensates jumps of the total that are not caused by the pose; it fades over the ramp. Where commands
start from measured efforts, `f` is 1 at once, and `r` begins as these efforts less the total. `robot` is the torque
that the arm's own firmware adds to each command.

`guiding` is damping, stops, and the compensation of friction and coupling; `total` is the sum of all other terms of
`total_terms`. A damping torque that is held while the joint's velocity changes damps no more: so guiding torques never
enter `r`, and fade by a weight `w` of their own. A fault or a late state ends them at once, within their rate limits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from .fading import Remainder, WeightedGuiding
from .fall import MAX_STEP, ZERO_SECONDS, Fall, fall_seconds, rate_seconds

MAX_SHUTDOWN_FALL = 2.0  # s: duration of a fall at shutdown; the slowest allowed rates reach zero within it
Contributions = Mapping[str, Array]
NONE: Contributions = {}


class Stage(Enum):
    """Stage of the commands. To fall is to go to zero, over the ramp and within the rate limits."""

    OFF = 'off'
    RISING = 'rising'
    ON = 'on'
    FALLING = 'falling'  # disabled: commands still follow the pose
    FAULT = 'falling by a fault'  # the last command is scaled to zero: the pose is not trusted


ENABLED = (Stage.RISING, Stage.ON)


class Cut(NamedTuple):
    """An effort, N m (N), that was cut.

    It is a command that exceeds `command_limits`, or command and firmware torque together that exceed the URDF's limit.
    """

    requested: float
    limit: float


class Commands:
    """The commands of some joints (k) in their controller's order. Times are seconds by a steady clock.

    The total is given as contributions (k) by name: the terms except guiding torques, and each hand's wrench. `limits`
    (k) are the effort limits, N m (N), zero where unknown; `rates` (k) the rate limits, N m/s (N/s); `ramp` in seconds.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        self.limits: Array = np.zeros(len(self.joint_names))
        self.rates: Array = np.zeros(len(self.joint_names))
        self.guiding_rates: Array = self.rates  # rate limits of commands with guiding torques, N m/s (N/s)
        self.guiding = WeightedGuiding()
        self.sum_limits: Array = np.full(len(self.joint_names), np.inf)  # of command + firmware torque, by the URDF
        self.firmware_torque: Array = np.zeros(len(self.joint_names))  # added by the firmware at the latest state, N m
        self.ramp = 1.0
        self.stage = Stage.OFF
        self.fault = ''  # reason of the last fault, until commands are enabled again
        self.closing = False  # the node shuts down or is replaced: enabling is refused
        self.cut: dict[str, Cut] = {}  # by name of the joint, since `forget_cuts`
        self.slowed: dict[str, str] = {}  # joints slowed by a rate limit since then, with the cause
        self.ramp_fraction = 0.0  # f
        self.starts = 0  # number of starts from off: an acknowledgement names its start
        self._acknowledged = True  # whether f may rise
        self._known: dict[str, Array] = {}  # contributions at the latest state
        self._changed: dict[str, Array] = {}  # their changes from the state before
        self._remainder = Remainder(len(self.joint_names), self.ramp)
        self.sent: Array = np.zeros(len(self.joint_names))
        self.unguided: Array = self.sent  # the same without guiding torques
        self._ticked_at = self._enabled_at = 0.0
        self._on_from = 0.0  # s, the earliest time of stage ON
        self._fall_ramp = 1.0  # s, duration of f from 1 to 0
        self._zero_at = np.inf
        self._fall: Fall | None = None  # of stage FAULT; None in this stage: the sender died, or falls by itself
        self._still_applied: tuple[Array, Array] | None = None  # `sent` and `unguided` when the controller left

    # State ---------------------------------------------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        """Whether commands are sent and not falling."""
        return self.stage in ENABLED

    @property
    def idle(self) -> bool:
        """Whether no commands are sent."""
        return self.stage is Stage.OFF

    @property
    def waits(self) -> bool:
        """Whether zeros are sent until all subscribers have acknowledged one."""
        return self.stage is Stage.RISING and not self._acknowledged

    def seconds_unacknowledged(self, now: float) -> float:
        """Return for how long commands have waited for an acknowledgement, s; 0 if they do not wait."""
        return now - self._enabled_at if self.waits else 0.0

    def remainder(self, now: float) -> Array:
        """Return the remainder r (k)."""
        return self._remainder.at(now)

    def fall_seconds(self, now: float) -> float:
        """Return the time that commands need to reach zero after a fault now, s."""
        if self._fall is not None:
            return self._fall.left(now)
        return fall_seconds(self.unguided, self.ramp_fraction, self.ramp, self.rates)

    @property
    def rate_seconds(self) -> float:
        """Minimum time to zero that the rate limits allow, s."""
        return rate_seconds(self.unguided, self.rates)

    # Events --------------------------------------------------------------------------------------------------------

    def enable(self, now: float, total: Contributions, measured: Array | None = None) -> None:
        """Start to rise: from the measured efforts (k), from zero if they are not known (None).

        After `disable`, commands that have not reached zero rise from their present value instead.
        """
        if self.closing:
            raise ArgumentError('the node shuts down, or restarts with another robot or hands; enable afterwards')
        if self.stage is Stage.FAULT:
            raise ArgumentError(f'commands fall by a fault: {self.fault}; enable them when they are off')
        if self.enabled:
            return
        if self.stage is Stage.OFF:
            self._begin(now, total, measured)
        self.stage, self.fault, self._enabled_at = Stage.RISING, '', now

    def _begin(self, now: float, total: Contributions, measured: Array | None) -> None:
        self._known, self._changed = dict(total), {}
        self.guiding.clear()
        self._remainder = Remainder(len(self.joint_names), self.ramp)
        self.ramp_fraction, self._ticked_at, self._still_applied, self._on_from = 0.0, now, None, now
        self.starts, self._acknowledged = self.starts + 1, measured is not None
        self.sent = self.unguided = np.zeros(len(self.joint_names))
        if measured is not None:
            self.ramp_fraction = 1.0
            self.sent = self.unguided = np.clip(measured - self.firmware_torque, -self.limits, self.limits)
            self._remainder.add(measured - self._sum, now)
            self._on_from = now + self.ramp

    def acknowledged(self, start: int) -> bool:
        """All subscribers have acknowledged a zero of this start (`starts`); return whether the ramp begins now."""
        waited = self.waits
        self._acknowledged = self._acknowledged or start == self.starts
        return waited and not self.waits

    def disable(self, now: float) -> None:
        """Start to fall on request: commands still follow the pose."""
        if self.enabled:
            self._fall_on_request(now, self.ramp)

    def end(self, now: float) -> None:
        """Start to fall, fast enough for a shutdown, and refuse to be enabled again."""
        self.closing = True
        if self.enabled:
            self._fall_on_request(now, self.ramp)
        if self.stage is Stage.FALLING and self.ramp_fraction > 0:
            self._fall_ramp = min(self._fall_ramp, MAX_SHUTDOWN_FALL / self.ramp_fraction)

    def _fall_on_request(self, now: float, seconds: float) -> None:
        self.stage, self._fall_ramp, self._zero_at = Stage.FALLING, seconds, np.inf

    def fail(self, now: float, why: str) -> None:
        """Start to fall by a fault: scale the last command sent down to zero. The first reason is kept."""
        if self.stage in (*ENABLED, Stage.FALLING):
            self._fail_from(self.sent, self.unguided, now, why)

    def _fail_from(self, sent: Array, unguided: Array, now: float, why: str) -> None:
        seconds = fall_seconds(unguided, self.ramp_fraction, self.ramp, self.rates)
        least = rate_seconds(unguided, self.rates)
        self.stage, self.fault, self.sent, self.unguided = Stage.FAULT, why, sent, unguided
        self._fall = Fall(unguided, seconds, least, now, sent, self.all_rates)

    def controller_left(self, why: str) -> None:
        """The controller left: stop at once, because the next one must start with a ramp."""
        if self.idle:
            return
        if self.enabled:
            self.fault = why
        self._still_applied = self.sent, self.unguided
        self._stop()

    def controller_back(self, now: float, why: str) -> None:
        """The controller that left is back: take the command that it still applies to zero.

        If commands were enabled since, the controller applies a newer command, and nothing is done.
        """
        if self._still_applied is not None:
            applied, self._still_applied = self._still_applied, None
            self._fail_from(*applied, now, why)

    def sender_lost(self, why: str) -> None:
        """The sender process died: wait for a new one; meanwhile the controller applies the last command."""
        if not self.idle:
            self.stage, self.fault, self._fall = Stage.FAULT, self.fault or why, None

    def sender_found(self, now: float) -> None:
        """A new sender process replaces the dead one: fall from the last command sent."""
        if self.stage is Stage.FAULT and self._fall is None:
            self._fail_from(self.sent, self.unguided, now, self.fault)

    def sender_took_over(self, why: str, sent: Array) -> None:
        """The sender process takes commands to zero on its own, and has reached `sent` (k): send nothing."""
        self.sender_lost(why)
        if self.stage is Stage.FAULT:
            self.sent = self.unguided = sent

    def sender_ended(self) -> None:
        """The sender process has taken commands to zero on its own, or cannot be reached any more: switch off."""
        if self.stage is Stage.FAULT and self._fall is None:
            self._stop()

    def _stop(self) -> None:
        self.stage, self._fall, self._known = Stage.OFF, None, {}
        self.guiding.clear()
        self.sent = self.unguided = np.zeros(len(self.joint_names))

    # Output --------------------------------------------------------------------------------------------------------

    def update(
        self, now: float, total: Contributions, guiding: Contributions = NONE, fading: Collection[str] = ()
    ) -> Array | None:
        """Store the contributions (k) at a new state; return the command (k) to send now, or None.

        So that commands do not jump, the remainder gets the last value of each contribution that disappears, and minus
        the first value of each that appears. The weight of a guiding torque rises from 0 over the ramp, and falls if
        `fading` names it. A guiding torque that disappears ends within the rates.
        """
        if self.stage in (*ENABLED, Stage.FALLING):
            zero = np.zeros(len(self.joint_names))
            before = self._known
            self._changed = {name: total.get(name, zero) - before.get(name, zero) for name in {*total, *before}}
            for name in {*total} ^ {*before}:
                self._remainder.add(-self._changed[name], now)
            self._known = dict(total)
            self.guiding.at_new_state(guiding, fading, now)
        return self.tick(now)

    def replace(
        self, now: float, total: Contributions, guiding: Contributions = NONE, fading: Collection[str] = ()
    ) -> None:
        """Store the contributions (k) at the same state after a parameter change; compensate the jump."""
        if self.stage in (*ENABLED, Stage.FALLING):
            before = self._sum
            self._known = dict(total)
            self._remainder.add(before - self._sum, now)
            self.guiding.at_same_state(guiding, fading)

    def tick(self, now: float) -> Array | None:
        """Return the command (k) to send now, or None; call it at least every 10 ms."""
        if self.stage is Stage.OFF:
            return None
        if self.stage is Stage.FAULT:
            return self._falling(now)
        passed, self._ticked_at = now - self._ticked_at, now
        self._move_ramp(passed, now)
        total = self._sum + self._remainder.at(now)
        command = self._within_limits(total)
        self._note_cuts(total, command)
        self._send(self.ramp_fraction * command, min(passed, MAX_STEP), now)
        return self._sent_or_off(now)

    def _falling(self, now: float) -> Array | None:
        if self._fall is None:
            return None
        self.sent, self.unguided = self._fall.at(now), self._fall.unguided
        sent = self.sent
        if self._fall.done(now):
            self._stop()
        return sent

    def _move_ramp(self, passed: float, now: float) -> None:
        if self.waits:
            return
        falls = self.stage is Stage.FALLING
        ramp = self._fall_ramp if falls else self.ramp
        step = (passed / ramp if ramp > 0 else 1.0) * (-1 if falls else 1)
        self.ramp_fraction = min(max(self.ramp_fraction + step, 0.0), 1.0)
        self.guiding.move(step)
        if self.stage is Stage.RISING and self.ramp_fraction == 1 and now >= self._on_from:
            self.stage = Stage.ON

    def _sent_or_off(self, now: float) -> Array:
        """Return the last command; switch off once zero was sent for `ZERO_SECONDS` while falling."""
        sent = self.sent
        if self.stage is Stage.FALLING and not self.ramp_fraction and not sent.any():
            self._zero_at = min(self._zero_at, now)
            if now - self._zero_at >= ZERO_SECONDS:
                self._stop()
        return sent

    def _send(self, command: Array, seconds: float, now: float) -> None:
        slow = np.abs(command - self.unguided) > self.rates * MAX_STEP  # a smaller lag is made up within a tick
        for k in np.flatnonzero(slow):
            self.slowed.setdefault(self.joint_names[k], self._cause(int(k)))
        self.unguided = _rate_limited(command, self.unguided, self.rates * seconds)
        self.sent = _rate_limited(self._with_guiding(now), self.sent, self.all_rates * seconds)

    @property
    def all_rates(self) -> Array:
        """Rate limits (k) of commands with guiding torques, N m/s (N/s)."""
        return np.maximum(self.rates, self.guiding_rates)

    def _with_guiding(self, now: float) -> Array:
        """Return the command (k) with the weighted guiding torques, if their state is not too old."""
        guiding = self.guiding.at(now)
        if guiding is None or not guiding.any():
            return self.unguided
        return self._within_limits(self.unguided + guiding + self.firmware_torque)

    def _cause(self, k: int) -> str:
        """Return the contribution that changed the command of a joint most at the latest state."""
        largest = max(self._changed, key=lambda name: abs(self._changed[name][k]), default='')
        return largest if largest and self._changed[largest][k] else 'command_ramp'

    @property
    def _sum(self) -> Array:
        return np.sum([*self._known.values()], axis=0) if self._known else np.zeros(len(self.joint_names))

    def _within_limits(self, total: Array) -> Array:
        """Return the command (k) for a total (k): within the URDF's limits with the firmware's torque, and its own."""
        within = np.clip(total, -self.sum_limits, self.sum_limits)
        return np.asarray(np.clip(within - self.firmware_torque, -self.limits, self.limits))

    def _note_cuts(self, total: Array, command: Array) -> None:
        requested = total - self.firmware_torque
        for k in np.flatnonzero(command != requested):
            own = abs(command[k]) == self.limits[k]
            cut = (requested[k], self.limits[k]) if own else (total[k], self.sum_limits[k])
            self.cut[self.joint_names[k]] = Cut(*map(float, cut))

    def forget_cuts(self) -> None:
        """Clear the lists of joints that were cut by a limit or slowed by a rate limit."""
        self.cut, self.slowed = {}, {}


def _rate_limited(command: Array, last: Array, max_step: Array) -> Array:
    """Return a command (k), or the nearest one to it that differs from the last one by at most `max_step` (k)."""
    step = command - last
    return np.where(np.abs(step) > max_step, last + np.clip(step, -max_step, max_step), command)
