"""Whether commands go out, and which: a state machine without ROS. docs/commands.md has its table and the reasons.

An effort controller applies the last command until the next one comes, for ever if none does. So commands begin by an
act of a person, follow the pose at every moment, and end at zero whatever happens.

    u = rate_limit( f * clip( clip_urdf( total(state) + r ) - robot(state) ) )

`f` rises from 0 to 1 over the ramp and falls back. `r` takes up whatever makes the total jump for another reason than
the pose, and fades over the ramp. `robot` is what the arm's own firmware adds: the motors get the total in sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from .fall import MAX_STEP, ZERO_SECONDS, Fall, fall_seconds, rate_seconds

LONGEST_FOLLOWED_FALL = 2.0  # s, when the node ends: the slowest rates bring any command to zero within that
Contributions = Mapping[str, Array]


class Stage(Enum):
    """What goes out."""

    OFF = 'off'
    RISING = 'rising'
    ON = 'on'
    FALLING = 'falling'  # as a person asked: it follows the pose
    FAULT = 'falling by a fault'  # from what was sent last: no pose is trusted


LIVE = (Stage.RISING, Stage.ON)


class Remainder:
    """What is kept of sums that jumped: each addition (k) fades to zero over the ramp from its own moment."""

    def __init__(self, count: int, ramp: float) -> None:
        self._ramp = ramp
        self._added, self._since = np.empty((0, count)), np.empty(0)

    def add(self, jump: Array, now: float) -> None:
        """Add what the sum was more before than after."""
        if jump.any():
            self._added, self._since = np.vstack([self._added, jump]), np.append(self._since, now)

    def at(self, now: float) -> Array:
        """Return what is left of all additions (k)."""
        if not len(self._since):
            return np.zeros(self._added.shape[1])
        share = 1 - (now - self._since) / self._ramp if self._ramp > 0 else np.zeros(len(self._since))
        if not (share > 0).all():
            keep = share > 0
            self._added, self._since, share = self._added[keep], self._since[keep], share[keep]
        return np.asarray(np.minimum(share, 1.0) @ self._added)


class Commands:
    """The commands of some joints (k) in their controller's order. Times are seconds by a steady clock.

    The total comes as contributions (k) by name: the terms, and each hand's wrench by itself. `limits` (k) are the
    largest efforts, N m (N), zero where none is known; `rates` (k) the fastest changes, N m/s (N/s); `ramp` in seconds.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        self.limits: Array = np.zeros(len(self.joint_names))
        self.rates: Array = np.zeros(len(self.joint_names))
        self.sum_limits: Array = np.full(len(self.joint_names), np.inf)  # of command and firmware together, by the URDF
        self.robot: Array = np.zeros(len(self.joint_names))  # what the firmware adds at the newest state
        self.ramp = 1.0
        self.stage = Stage.OFF
        self.fault = ''  # why they ended by themselves, until they are enabled again
        self.closing = False  # whether the node ends, or begins anew with another robot: nothing can be enabled
        self.cut: dict[str, float] = {}  # what was wanted of joints that a limit cut, since `forget_cuts`
        self.slowed: dict[str, str] = {}  # joints that a rate limit held back since then, and what had changed
        self.share = 0.0  # f
        self._known: dict[str, Array] = {}  # the contributions at the newest state
        self._changed: dict[str, Array] = {}  # by how much they changed with it
        self._remainder = Remainder(len(self.joint_names), self.ramp)
        self.sent: Array = np.zeros(len(self.joint_names))
        self._last = self._risen_at = 0.0
        self._fall_ramp = 1.0  # s that f takes from 1 to 0
        self._zero_at = np.inf
        self._fall: Fall | None = None  # None during a fault: the commands are another process' to take back
        self._left_with: Array | None = None  # what a controller holds that left

    # What is so ----------------------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether commands go out for another reason than to end."""
        return self.stage in LIVE

    @property
    def idle(self) -> bool:
        """Whether nothing goes out."""
        return self.stage is Stage.OFF

    def remainder(self, now: float) -> Array:
        """Return r (k): what is still kept of sums that jumped."""
        return self._remainder.at(now)

    def fall_seconds(self, now: float) -> float:
        """Return how long the commands would take to zero, if a fault came now."""
        if self._fall is not None:
            return self._fall.left(now)
        return fall_seconds(self.sent, self.share, self.ramp, self.rates)

    @property
    def rate_seconds(self) -> float:
        """How long the rates make the commands take to zero at least, s."""
        return rate_seconds(self.sent, self.rates)

    # Events --------------------------------------------------------------------------------------------------------

    def enable(self, now: float, total: Contributions, measured: Array | None = None) -> None:
        """Begin to rise: from the measured efforts (k), or from zero where they are not known (None).

        Commands that fall because a person asked rise again from where they are.
        """
        if self.closing:
            raise ArgumentError('the node ends, or begins anew with another robot: enable afterwards')
        if self.stage is Stage.FAULT:
            raise ArgumentError(f'commands fall by a fault: {self.fault}; enable them when they are off')
        if self.live:
            return
        if self.stage is Stage.OFF:
            self._begin(now, total, measured)
        self.stage, self.fault = Stage.RISING, ''

    def _begin(self, now: float, total: Contributions, measured: Array | None) -> None:
        self._known, self._changed = dict(total), {}
        self._remainder = Remainder(len(self.joint_names), self.ramp)
        self.share, self.sent, self._last, self._left_with = 0.0, np.zeros(len(self.joint_names)), now, None
        self._risen_at = now
        if measured is not None:
            self.share, self.sent = 1.0, np.clip(measured - self.robot, -self.limits, self.limits)
            self._remainder.add(measured - self._sum, now)
            self._risen_at = now + self.ramp

    def disable(self, now: float) -> None:
        """Begin to fall because a person asked: the pose is followed."""
        if self.live:
            self._fall_asked(now, self.ramp)

    def end(self, now: float) -> None:
        """Begin to fall, fast enough for a node that ends; nothing can be enabled any more."""
        self.closing = True
        if self.live:
            self._fall_asked(now, self.ramp)
        if self.stage is Stage.FALLING and self.share > 0:
            self._fall_ramp = min(self._fall_ramp, LONGEST_FOLLOWED_FALL / self.share)

    def _fall_asked(self, now: float, seconds: float) -> None:
        self.stage, self._fall_ramp, self._zero_at = Stage.FALLING, seconds, np.inf

    def fail(self, now: float, why: str) -> None:
        """Begin to fall by a fault: from what was sent last, in proportion. The first reason is kept."""
        if self.stage in (*LIVE, Stage.FALLING):
            self._fail_from(self.sent, now, why)

    def _fail_from(self, command: Array, now: float, why: str) -> None:
        seconds = fall_seconds(command, self.share, self.ramp, self.rates)
        self.stage, self.fault, self.sent = Stage.FAULT, why, command
        self._fall = Fall(command, seconds, rate_seconds(command, self.rates), now)

    def controller_left(self, why: str) -> None:
        """Stop at once: whatever comes next must begin with a ramp. A controller that is back is taken to zero."""
        if self.idle:
            return
        if self.live:
            self.fault = why
        self._left_with = self.sent
        self._stop()

    def controller_back(self, now: float, why: str) -> None:
        """Take back what a controller holds whose link dropped, unless commands were enabled since."""
        if self._left_with is not None:
            command, self._left_with = self._left_with, None
            self._fail_from(command, now, why)

    def sender_lost(self, why: str) -> None:
        """Wait for another process that sends: the one there was has died, and the controller holds what it sent."""
        if not self.idle:
            self.stage, self.fault, self._fall = Stage.FAULT, self.fault or why, None

    def sender_found(self, now: float) -> None:
        """Fall from what was sent last, by the process that replaces a dead one."""
        if self.stage is Stage.FAULT and self._fall is None:
            self._fail_from(self.sent, now, self.fault)

    def sender_took_over(self, why: str, sent: Array) -> None:
        """Send nothing: the process that sends falls by itself, has come to `sent` (k), and ends."""
        self.sender_lost(why)
        if self.stage is Stage.FAULT:
            self.sent = sent

    def sender_ended(self) -> None:
        """Be off: the process that fell by itself has reached zero, or none can be reached any more."""
        if self.stage is Stage.FAULT and self._fall is None:
            self._stop()

    def _stop(self) -> None:
        self.stage, self._fall, self._known = Stage.OFF, None, {}
        self.sent = np.zeros(len(self.joint_names))

    # What is sent --------------------------------------------------------------------------------------------------

    def update(self, now: float, total: Contributions) -> Array | None:
        """Take in the contributions (k) at a new state; return the command to send now, or None.

        A contribution that goes leaves its last value in the remainder; one that comes takes its first value from it.
        """
        if self.stage in (*LIVE, Stage.FALLING):
            zero = np.zeros(len(self.joint_names))
            before = self._known
            self._changed = {name: total.get(name, zero) - before.get(name, zero) for name in {*total, *before}}
            for name in {*total} ^ {*before}:
                self._remainder.add(-self._changed[name], now)
            self._known = dict(total)
        return self.tick(now)

    def replace(self, now: float, total: Contributions) -> None:
        """Take in the contributions at the same state after a parameter was set: the remainder keeps the rest."""
        if self.stage in (*LIVE, Stage.FALLING):
            before = self._sum
            self._known = dict(total)
            self._remainder.add(before - self._sum, now)

    def tick(self, now: float) -> Array | None:
        """Return the command (k) to send now, or None; call it at least every 10 ms."""
        if self.stage is Stage.OFF:
            return None
        if self.stage is Stage.FAULT:
            return self._falling(now)
        passed, self._last = now - self._last, now
        self._move_share(passed, now)
        wanted = self._clipped(self._sum + self._remainder.at(now), self.sum_limits)
        self._send(self.share * self._clipped(wanted - self.robot, self.limits), min(passed, MAX_STEP))
        return self._zeroed(now)

    def _falling(self, now: float) -> Array | None:
        if self._fall is None:
            return None
        self.sent = self._fall.at(now)
        sent = self.sent
        if self._fall.done(now):
            self._stop()
        return sent

    def _move_share(self, passed: float, now: float) -> None:
        if self.stage is Stage.FALLING:
            self.share = max(0.0, self.share - passed / self._fall_ramp) if self._fall_ramp > 0 else 0.0
        elif self.share < 1:
            self.share = min(1.0, self.share + passed / self.ramp) if self.ramp > 0 else 1.0
        if self.stage is Stage.RISING and self.share == 1 and now >= self._risen_at:
            self.stage = Stage.ON

    def _zeroed(self, now: float) -> Array:
        sent = self.sent
        if self.stage is Stage.FALLING and not self.share and not sent.any():
            self._zero_at = min(self._zero_at, now)
            if now - self._zero_at >= ZERO_SECONDS:
                self._stop()
        return sent

    def _send(self, wanted: Array, seconds: float) -> None:
        step = wanted - self.sent
        most = self.rates * seconds
        for k in np.flatnonzero(np.abs(step) > self.rates * MAX_STEP):
            self.slowed.setdefault(self.joint_names[k], self._cause(int(k)))
        self.sent = np.where(np.abs(step) > most, self.sent + np.clip(step, -most, most), wanted)

    def _cause(self, k: int) -> str:
        """Return which contribution changed a joint's command most with the newest state."""
        largest = max(self._changed, key=lambda name: abs(self._changed[name][k]), default='')
        return largest if largest and self._changed[largest][k] else 'command_ramp'

    @property
    def _sum(self) -> Array:
        return np.sum([*self._known.values()], axis=0) if self._known else np.zeros(len(self.joint_names))

    def _clipped(self, torque: Array, limits: Array) -> Array:
        for k in np.flatnonzero(np.abs(torque) > limits):
            self.cut[self.joint_names[k]] = float(torque[k])
        return np.clip(torque, -limits, limits)

    def forget_cuts(self) -> None:
        """Name joints that a limit or a rate holds back from now on only."""
        self.cut, self.slowed = {}, {}
