"""Accepts joint states whose stamps advance and whose steps are plausible; aligns all joints to one instant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.limits import MAX_QUANTITY
from ..core.spatial import Array
from .alignment import Aligned, Alignment
from .joints import JointStates, MessageJoints
from .position_velocity import next_velocity
from .state_checks import JointBounds, RefusedSamples, StateChecks, seconds_between
from .timeline import NEVER, Delay

Times = NDArray[np.int64]
Columns = Sequence[Array]  # positions, velocities, efforts


class JointTracker(JointStates):
    """Latest positions, velocities and efforts, from samples whose stamps advance and whose steps are plausible.

    `numbers` are the latest numbers of each joint; `aligned` returns numbers of all joints at a common instant.
    """

    def __init__(
        self, joint_names: Sequence[str], bounds: JointBounds, timeout: float, excluded: Collection[str] = ()
    ) -> None:
        """`timeout` in seconds; the joints `excluded` are set by `on_joint` only, never by messages."""
        self.checks = StateChecks(joint_names, bounds.prismatic, timeout)
        self.checks.delays = self.delays
        self.repeated = 0  # messages whose stamps did not advance: no new value
        self.velocity_cutoff = 0.0  # Hz, of velocities computed from positions; 0: use those of the messages
        self._bounds, self._refused = bounds, RefusedSamples(bounds)
        self.alignment = Alignment(len(joint_names))
        self._max_squared_step = float(bounds.margin.min()) ** 2 if len(joint_names) else 0.0
        self._alone: dict[str, MessageJoints] = {}  # joints with a source of their own
        super().__init__(joint_names, timeout, excluded)

    def forget(self) -> None:
        """Forget the data of all joints."""
        super().forget()
        self._refused.forget()
        self.alignment.forget()

    def on_joint(self, name: str, position: float, velocity: float, stamp: int, now: int) -> bool:
        """Store the position and velocity of a joint with a source of its own; its effort stays unknown."""
        joints = self._alone.get(name)
        if joints is None:
            joints = self._alone[name] = self._message_joints((name,), [self._index[name]], [0])
        q, dq = np.array([position]), np.array([velocity])
        if not self.within('position', q, joints) or not self.within('velocity', dq, joints, may_be_unknown=True):
            return False
        return self.store(joints, (q, dq, joints.unknown), stamp, now)

    def delays(self) -> Iterator[Delay]:
        """Return the delay of each set of joints that comes in a message."""
        cached = (*self._joints_of_names.values(), *self._alone.values())
        return (joints.delay for joints in cached if not joints.fault)

    # One message ------------------------------------------------------------------------------------------------------

    def store(self, joints: MessageJoints, columns: Columns, stamp: int, now: int) -> bool:
        """Store valid numbers by column; return whether they contain a new sample.

        A joint whose stamp does not advance has no new sample. A sample with an implausible step refuses the whole
        message.
        """
        timeline = self.timeline
        if timeline.goes_back(stamp, now, self.timeout * 1e9):
            self._reset(f'time went back in the joint states, by {self._seconds_back(stamp, now):.3g} s', now)
        elif 0 < stamp <= timeline.newest_stamp:
            joints, columns = self._advancing(joints, columns, stamp)
            if not joints.relevant:
                self.repeated += 1
                return False
        if not self._follows(joints, columns, stamp, now):
            return False
        if self.velocity_cutoff > 0 and self._uses_position_velocities(joints):  # the first test spares a call
            columns = columns[0], self._velocities(joints, columns[0], stamp, now), columns[2]
        self._put(joints, columns, stamp, now)
        if stamp:
            joints.delay.observe(stamp, now)
        if self.alignment.active or not joints.whole:
            self.alignment.add(joints.ours, columns, stamp, now)
        return True

    def _uses_position_velocities(self, joints: MessageJoints) -> bool:
        """Return whether the velocities of a message are computed from positions.

        Not those of an excluded joint: its source gives them, and it always comes alone (`on_joint`).
        """
        return self.velocity_cutoff > 0 and self.joint_names[joints.ours[0]] not in self._excluded

    def _velocities(self, joints: MessageJoints, q: Array, stamp: int, now: int) -> Array:
        """Return the velocities (k) of joints after a move to positions q (k)."""
        ours = joints.ours
        seconds = seconds_between((self._stamp[ours], self._arrival[ours]), stamp, now)
        moved = self._bounds.moved(ours, self.position[ours], q)
        return next_velocity(self.velocity[ours], moved, seconds, self.velocity_cutoff, self.timeout)

    def _seconds_back(self, stamp: int, now: int) -> float:
        """Return by how much time went back with a message, s."""
        timeline = self.timeline
        return max(timeline.newest_stamp - stamp if stamp else 0, timeline.latest_arrival - now) * 1e-9

    def on_clock_jump(self, now: int) -> None:
        """Reset: the clock of arrivals jumped to `now`."""
        self._reset('the clock jumped', now)

    def _reset(self, why: str, now: int, *, time_went_back: bool = True) -> None:
        self.timeline.reset(time_went_back=time_went_back)
        if time_went_back:
            self.checks.note_reset(why, now)

    def _advancing(self, joints: MessageJoints, columns: Columns, stamp: int) -> tuple[MessageJoints, Columns]:
        """Return the part of a message whose joints have an advancing stamp."""
        advances = self._stamp[joints.ours] < stamp
        if advances.all():
            return joints, columns
        ours, theirs, unknown = joints.ours[advances], joints.theirs[advances], joints.unknown[advances]
        some = joints._replace(ours=ours, theirs=theirs, unknown=unknown, whole=False, relevant=len(ours) > 0)
        return some, [x[advances] for x in columns]

    def _follows(self, joints: MessageJoints, columns: Columns, stamp: int, now: int) -> bool:
        """Return whether the steps from the samples before are plausible; note a refusal if not."""
        moved = columns[0] - self.position[joints.ours]
        if moved.dot(moved) <= self._max_squared_step and not self._refused.any and not self.checks.compares_velocities:
            return True  # fast test
        ours = joints.ours
        seconds = seconds_between((self._stamp[ours], self._arrival[ours]), stamp, now)
        moved = self._bounds.moved(ours, self.position[ours], columns[0])
        far = np.abs(moved) > self._bounds.reach(ours, seconds)  # NaN: no sample before
        if far.any() and not self._accepts_far(ours[far], columns[0][far], seconds[far], stamp, now):
            return False
        if self._refused.any:
            self._refused.end(ours[~far])
        if self.checks.compares_velocities and not far.any() and not self._uses_position_velocities(joints):
            self.checks.observe(ours, moved, columns[1], seconds)
        return True

    def _accepts_far(self, joints: NDArray[np.intp], samples: Array, seconds: Array, stamp: int, now: int) -> bool:
        """Return whether far samples are accepted: if enough of them agree, after a reset. Else note or count them."""
        if self._refused.has(joints, stamp):
            self.repeated += 1
            return False
        before = self.position[joints]
        for joint, known, sample in zip(joints.tolist(), before.tolist(), samples.tolist(), strict=True):
            self.checks.note_refused(joint, known, sample, now)
        if self._refused.add(joints, samples, stamp, now):
            self._reset('', now, time_went_back=False)
            return True
        self.refusals.note(
            f'{self.joint_names[joints[0]]}: moved by {abs(samples[0] - before[0]):.3g} to {samples[0]:.4g} within '
            f'{seconds[0]:.3g} s, must move by at most {self._bounds.reach(joints, seconds)[0]:.3g}; is there '
            f'another source of joint states, or another unit, such as degrees?'
        )
        return False

    # Many messages at once --------------------------------------------------------------------------------------------

    def on_rows(self, names: Sequence[str], columns: Sequence[Array], stamp: Times, now: Times) -> Array | None:
        """Store many messages of all joints at once: positions, velocities, efforts (m, k), as `update` would.

        Return the numbers (3, rows, n) after each of the first `rows` messages, which have no fault and are in order of
        time. The message after them must be passed to `update`; None if this is the first message of all.
        """
        joints = self._joints_of_names.get(tuple(names))
        if joints is None or not joints.whole or self.alignment.active:
            return None
        if any(x.shape[1] not in (0, len(names)) for x in columns):
            return None
        numbers = self._in_our_order(joints, columns)
        q, dq, effort = numbers
        effort[~(np.abs(effort) <= MAX_QUANTITY)] = np.nan
        good = (np.abs(q) <= MAX_QUANTITY).all(axis=1) & ~(np.abs(dq) > MAX_QUANTITY).any(axis=1)
        moved, seconds = self._steps(q, stamp, now)
        far = np.abs(moved) > self._bounds.reach(slice(None), seconds)
        good &= self._is_newer(stamp, now) & ~far.any(axis=1)
        rows = len(good) if good.all() else int(np.argmin(good))
        if not rows:
            return None
        if self._uses_position_velocities(joints):
            self._write_position_velocities(dq[:rows], moved, seconds)
        self._refused.forget()
        self.timeline.advance(int(stamp[:rows].max()), int(now[:rows].max()))
        ours = joints.ours
        last = q[rows - 1, ours], dq[rows - 1, ours], effort[rows - 1, ours]
        self._put(joints, last, int(stamp[rows - 1]), int(now[rows - 1]))
        return numbers[:, :rows]

    def _in_our_order(self, joints: MessageJoints, columns: Columns) -> Array:
        """Return columns (m, k) of messages as (3, m, n), in the order of the robot; NaN where they have no numbers."""
        numbers = np.full((3, len(columns[0]), len(self.joint_names)), np.nan)
        for column, values in zip(numbers, columns, strict=True):
            if values.shape[1]:
                column[:, joints.ours] = values[:, joints.theirs]
        return numbers

    def _write_position_velocities(self, dq: Array, moved: Array, seconds: Array) -> None:
        """Fill dq (m, n) with velocities: steps `moved` over their durations (s), after a low pass."""
        velocity = self.velocity
        for k in range(len(dq)):
            velocity = dq[k] = next_velocity(velocity, moved[k], seconds[k], self.velocity_cutoff, self.timeout)

    def _is_newer(self, stamp: Times, now: Times) -> NDArray[np.bool_]:
        """Return for each message (m) whether its stamp advances and its arrival is not far back."""
        timeline, stamps = self.timeline, np.where(stamp == 0, NEVER, stamp)
        newest = np.maximum.accumulate(np.concatenate([[timeline.newest_stamp], stamps]))
        latest = np.maximum.accumulate(np.concatenate([[timeline.latest_arrival], now]))
        near = 0.5 * self.timeout * 1e9
        return np.asarray(((stamp == 0) | (stamp > newest[:-1])) & (latest[:-1] - now < near))

    def _steps(self, q: Array, stamp: Times, now: Times) -> tuple[Array, Array]:
        """Return the travel (m, n) of joints to the positions q (m, n) of messages, and its duration (s)."""
        stamps, arrivals = (
            np.vstack([before, np.repeat(times[:, None], len(before), axis=1)])
            for before, times in ((self._stamp, stamp), (self._arrival, now))
        )
        seconds = seconds_between((stamps[:-1], arrivals[:-1]), stamps[1:], arrivals[1:])
        return self._bounds.moved(slice(None), np.vstack([self.position, q[:-1]]), q), seconds

    # One instant ------------------------------------------------------------------------------------------------------

    def aligned(self) -> list[Aligned]:
        """Advance to the newest instant with all joints known; return the instants up to it, the newest last."""
        return self.alignment.next(self.timeout)

    @property
    def is_too_old(self) -> bool:
        """Whether the newest instant of `aligned` is too old, because some joints lag too far behind the others."""
        return self.alignment.active and self.alignment.lag > self.timeout

    def delayed_joints(self) -> list[str]:
        """Return the joints whose data is late, so that no newer instant of all joints is known."""
        if not self.alignment.active:
            return []
        return [name for name, behind in zip(self.joint_names, self.alignment.behind(), strict=True) if behind]
