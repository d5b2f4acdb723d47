"""Joint states of one robot, from messages that may come in parts, out of order, late or wrong."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.limits import MAX_QUANTITY, NamesCache, names_fault
from ..core.spatial import Array
from .alignment import Aligned, Alignment
from .messages import Refusals
from .position_velocity import next_velocity
from .state_checks import JointBounds, RefusedSamples, StateChecks, seconds_between
from .timeline import NEVER, Delay, Timeline


class Layout(NamedTuple):
    """Where a message's joints belong."""

    ours: NDArray[np.intp]  # places in our vectors
    theirs: NDArray[np.intp]  # places in the message
    whole: bool  # whether they are all of our joints
    known: bool  # whether it names any of our joints
    unknown: Array  # NaN for each of them
    delay: Delay


class JointTable:
    """Columns of numbers by joint, with the age of each joint. What the columns mean is the subclass's."""

    def __init__(self, joint_names: Sequence[str], columns: int, timeout: float, apart: Collection[str] = ()) -> None:
        """`timeout` in seconds; of the joints `apart`, messages by name say nothing that counts."""
        self.joint_names = tuple(joint_names)
        self.timeout = timeout
        self.numbers: Array = np.full((columns, len(self.joint_names)), np.nan)
        self.refusals = Refusals()
        self.timeline = Timeline()
        self.timeline.on_reset(self.forget)
        self._place = {name: k for k, name in enumerate(self.joint_names)}
        self._apart = frozenset(apart)
        self._layouts: NamesCache[Layout | str] = NamesCache()
        self.forget()

    def forget(self) -> None:
        """Know nothing of any joint."""
        self._stamp = np.full(len(self.joint_names), NEVER, dtype=np.int64)
        self._arrival = self._stamp.copy()
        self._whole_at = NEVER  # when the last message came, if it had all joints
        self.numbers[:] = np.nan

    def layout_of(self, names: Sequence[str]) -> Layout | None:
        """Return where a message's joints belong; note a refusal, and return None, if the names cannot be."""
        key = tuple(names)
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._new_layout(key)
            self._layouts.put(key, layout)
        if isinstance(layout, str):
            self.refusals.note(layout)
            return None
        return layout

    def _new_layout(self, names: tuple[str, ...]) -> Layout | str:
        if fault := names_fault(names):
            return fault
        theirs = [k for k, name in enumerate(names) if name in self._place and name not in self._apart]
        ours = [self._place[names[k]] for k in theirs]
        return self._layout(names, ours, theirs)

    def _layout(self, names: tuple[str, ...], ours: Sequence[int], theirs: Sequence[int]) -> Layout:
        whole, unknown = len(ours) == len(self.joint_names), np.full(len(ours), np.nan)
        places = np.array(ours, dtype=np.intp), np.array(theirs, dtype=np.intp)
        return Layout(*places, whole, len(ours) > 0, unknown, Delay(names))

    def within(self, what: str, values: Array, layout: Layout, *, may_be_unknown: bool = False) -> bool:
        """Tell whether numbers of a message are finite and not too large; note a refusal if not. NaN is unknown."""
        if values @ values <= MAX_QUANTITY:  # passes what is good at a glance; what is left is looked at one by one
            return True
        good = np.abs(values) <= MAX_QUANTITY
        if may_be_unknown:
            good |= np.isnan(values)
        if good.all():
            return True
        k = int(np.argmin(good))
        return self.refusals.note(
            f'{what} of {self.joint_names[layout.ours[k]]}: {values[k]}, must be finite, at most {MAX_QUANTITY:g}'
        )

    def store(self, layout: Layout, columns: Sequence[Array], stamp: int, now: int) -> bool:
        """Take in good numbers, a column each; if they are of before what is known, time went back: begin anew."""
        if self.timeline.goes_back(stamp, now, self.timeout * 1e9):
            self.timeline.reset(time_went_back=True)
        self._put(layout, columns, stamp, now)
        return True

    def _put(self, layout: Layout, columns: Sequence[Array], stamp: int, now: int) -> None:
        self.timeline.advance(stamp, now)
        for mine, values in zip(self.numbers, columns, strict=True):
            mine[layout.ours] = values
        self._stamp[layout.ours], self._arrival[layout.ours] = stamp, now
        self._whole_at = now if layout.whole else NEVER

    def missing(self, now: int) -> list[str]:
        """Return the joints that are not known, or known from too long ago."""
        return [name for name, old in zip(self.joint_names, self._old(now), strict=True) if old]

    def _old(self, now: int) -> NDArray[np.bool_]:
        limit = self.timeout * 1e9
        by_stamp = (self.timeline.newest - self._stamp > limit) & (self._stamp != 0)
        return np.asarray(by_stamp | (np.abs(now - self._arrival) > limit))  # what is yet to come: time went back

    def complete(self, now: int) -> bool:
        """Tell whether every joint is known, and none from too long ago."""
        return abs(now - self._whole_at) <= self.timeout * 1e9 or not self._old(now).any()  # at a glance, or one by one

    @property
    def oldest_arrival(self) -> int:
        """When the joint that is known from longest ago came; NEVER if one never did."""
        return int(self._arrival.min())

    @property
    def newest(self) -> int:
        """The newest stamp of what is known; zero if nothing of it has one."""
        return max(int(self._stamp.max()), 0) if self.timeline.newest > 0 else 0


class JointStates(JointTable):
    """Positions, velocities and efforts by joint. The last two may be unknown: then they are NaN."""

    def __init__(self, joint_names: Sequence[str], timeout: float, apart: Collection[str] = ()) -> None:
        """`timeout` in seconds; of the joints `apart`, messages say nothing that counts."""
        super().__init__(joint_names, 3, timeout, apart)
        self.position, self.velocity, self.effort = self.numbers

    def update(
        self,
        names: Sequence[str],
        position: Array,
        velocity: Array,
        effort: Array,
        stamp: int,
        now: int,
    ) -> bool:
        """Take in a message of some joints, in any order; return whether it was of use.

        `velocity` and `effort` may be empty, or NaN where they are not known; an effort that is no number of a robot
        is not known either. A message with any other fault is refused whole. The caller's arrays are copied.
        """
        layout = self.layout_of(names)
        if layout is None:
            return False
        n, positions, velocities, efforts = len(names), len(position), len(velocity), len(effort)
        if positions != n or velocities not in (0, n) or efforts not in (0, n):
            lengths = f'{n} names, {positions} positions, {velocities} velocities, {efforts} efforts'
            return self.refusals.note(f'arrays of unequal length: {lengths}')
        if not layout.known:
            return False  # another robot's joints
        q = position[layout.theirs]
        dq = velocity[layout.theirs] if velocities else layout.unknown
        if not self.within('position', q, layout) or not self.within('velocity', dq, layout, may_be_unknown=True):
            return False
        return self.store(layout, (q, dq, _known(effort[layout.theirs]) if efforts else layout.unknown), stamp, now)

    @property
    def moving(self) -> bool:
        """Whether every joint's velocity is known."""
        return not math.isnan(self.velocity @ self.velocity)


def _known(effort: Array) -> Array:
    """Return efforts, NaN for those that cannot be."""
    return effort if effort @ effort <= MAX_QUANTITY else np.where(np.abs(effort) <= MAX_QUANTITY, effort, np.nan)


class JointTorques(JointTable):
    """Torques by joint, N m, or N for a prismatic joint."""

    def __init__(self, joint_names: Sequence[str], timeout: float) -> None:
        """`timeout` in seconds."""
        super().__init__(joint_names, 1, timeout)
        (self.torque,) = self.numbers

    def update(self, names: Sequence[str], torque: Array, stamp: int, now: int) -> bool:
        """Take in a message of some joints' torques; return whether it was of use; one with a fault is not."""
        layout = self.layout_of(names)
        if layout is None:
            return False
        if len(torque) != len(names):
            return self.refusals.note(f'arrays of unequal length: {len(names)} names, {len(torque)} torques')
        if not layout.known:
            return False
        tau = torque[layout.theirs]
        return self.within('torque', tau, layout) and self.store(layout, (tau,), stamp, now)


Times = NDArray[np.int64]
Columns = Sequence[Array]  # positions, velocities, efforts


class JointTracker(JointStates):
    """Positions, velocities and efforts now, by samples whose stamps advance and that can follow the ones before.

    `numbers` are the newest ones of each joint; `aligned` are those of one instant.
    """

    def __init__(
        self, joint_names: Sequence[str], bounds: JointBounds, timeout: float, apart: Collection[str] = ()
    ) -> None:
        """`timeout` in seconds; the joints `apart` are known by `on_joint` only, whatever messages say of them."""
        self.checks = StateChecks(joint_names, bounds.sliding, timeout)
        self.checks.delays = self._delays
        self.repeated = 0  # messages whose stamps did not advance: they hold no new value
        self.velocity_cutoff = 0.0  # Hz, of velocities made of positions; 0: velocities are those of the messages
        self._bounds, self._refused = bounds, RefusedSamples(bounds)
        self._alignment = Alignment(len(joint_names))
        self._glance = float(bounds.margin.min()) ** 2 if len(joint_names) else 0.0
        self._alone: dict[str, Layout] = {}  # of joints from a source of their own
        super().__init__(joint_names, timeout, apart)

    def forget(self) -> None:
        """Know nothing of any joint."""
        super().forget()
        self._refused.forget()
        self._alignment.forget()

    def on_joint(self, name: str, position: float, velocity: float, stamp: int, now: int) -> bool:
        """Take in one joint from a source of its own, which says nothing of its effort."""
        layout = self._alone.get(name)
        if layout is None:
            layout = self._alone[name] = self._layout((name,), [self._place[name]], [0])
        q, dq = np.array([position]), np.array([velocity])
        if not self.within('position', q, layout) or not self.within('velocity', dq, layout, may_be_unknown=True):
            return False
        return self.store(layout, (q, dq, layout.unknown), stamp, now)

    def _delays(self) -> Iterator[Delay]:
        layouts = (*self._layouts.values(), *self._alone.values())
        return (layout.delay for layout in layouts if isinstance(layout, Layout))

    # One message ------------------------------------------------------------------------------------------------------

    def store(self, layout: Layout, columns: Columns, stamp: int, now: int) -> bool:
        """Take in good numbers, a column each; return whether there was a new sample among them.

        A joint whose stamp does not advance has none. A message with a sample that cannot follow the one before is
        refused whole.
        """
        timeline = self.timeline
        if timeline.goes_back(stamp, now, self.timeout * 1e9):
            self._begin_anew(f'time went back in the joint states, by {self._goes_back(stamp, now):.3g} s', now)
        elif 0 < stamp <= timeline.newest:
            layout, columns = self._advancing(layout, columns, stamp)
            if not layout.known:
                self.repeated += 1
                return False
        if not self._follows(layout, columns, stamp, now):
            return False
        if self._derives(layout):
            columns = columns[0], self._velocities(layout, columns[0], stamp, now), columns[2]
        self._put(layout, columns, stamp, now)
        if stamp:
            layout.delay.observe(stamp, now)
        if self._alignment.active or not layout.whole:
            self._alignment.add(layout.ours, columns, stamp, now)
        return True

    def _derives(self, layout: Layout) -> bool:
        """Tell whether velocities of a message are made of positions; a source of its own has its own velocity."""
        return self.velocity_cutoff > 0 and self.joint_names[layout.ours[0]] not in self._apart

    def _velocities(self, layout: Layout, q: Array, stamp: int, now: int) -> Array:
        """Return the velocities of joints that move on to positions q (k)."""
        ours = layout.ours
        seconds = seconds_between((self._stamp[ours], self._arrival[ours]), stamp, now)
        moved = self._bounds.moved(ours, self.position[ours], q)
        return next_velocity(self.velocity[ours], moved, seconds, self.velocity_cutoff, self.timeout)

    def _goes_back(self, stamp: int, now: int) -> float:
        timeline = self.timeline
        return max(timeline.newest - stamp if stamp else 0, timeline.latest - now) * 1e-9

    def on_clock_jump(self, now: int) -> None:
        """Know nothing: the clock of arrivals jumped to now."""
        self._begin_anew('the clock jumped', now)

    def _begin_anew(self, why: str, now: int, *, time_went_back: bool = True) -> None:
        self.timeline.reset(time_went_back=time_went_back)
        if time_went_back:
            self.checks.note_reset(why, now)

    def _advancing(self, layout: Layout, columns: Columns, stamp: int) -> tuple[Layout, Columns]:
        """Return what of a message is of joints whose stamp advances."""
        advances = self._stamp[layout.ours] < stamp
        if advances.all():
            return layout, columns
        ours, theirs, unknown = layout.ours[advances], layout.theirs[advances], layout.unknown[advances]
        some = layout._replace(ours=ours, theirs=theirs, unknown=unknown, whole=False, known=len(ours) > 0)
        return some, [x[advances] for x in columns]

    def _follows(self, layout: Layout, columns: Columns, stamp: int, now: int) -> bool:
        """Tell whether samples can follow the ones before; note a refusal if not."""
        moved = columns[0] - self.position[layout.ours]
        if moved @ moved <= self._glance and not self._refused.any and not self.checks.compares:
            return True  # at a glance
        ours = layout.ours
        seconds = seconds_between((self._stamp[ours], self._arrival[ours]), stamp, now)
        moved = self._bounds.moved(ours, self.position[ours], columns[0])
        far = np.abs(moved) > self._bounds.reach(ours, seconds)  # NaN: there is none before
        if far.any() and not self._refuse(ours[far], columns[0][far], seconds[far], stamp, now):
            return False
        if self._refused.any:
            self._refused.end(ours[~far])
        if self.checks.compares and not far.any() and not self._derives(layout):
            self.checks.observe(ours, moved, columns[1], seconds)
        return True

    def _refuse(self, joints: NDArray[np.intp], samples: Array, seconds: Array, stamp: int, now: int) -> bool:
        """Refuse samples of joints, and return False; or begin anew with them, if they are the new truth."""
        if self._refused.has(joints, stamp):
            self.repeated += 1
            return False
        before = self.position[joints]
        for joint, known, sample in zip(joints.tolist(), before.tolist(), samples.tolist(), strict=True):
            self.checks.note_refused(joint, known, sample, now)
        if self._refused.add(joints, samples, stamp, now):
            self._begin_anew('', now, time_went_back=False)
            return True
        self.refusals.note(
            f'{self.joint_names[joints[0]]}: {samples[0]:.4g} is {abs(samples[0] - before[0]):.3g} away from where it '
            f'was {seconds[0]:.3g} s before, must be at most {self._bounds.reach(joints, seconds)[0]:.3g}; is there '
            f'another publisher of joint states?'
        )
        return False

    # Many messages at once --------------------------------------------------------------------------------------------

    def on_rows(self, names: Sequence[str], columns: Sequence[Array], stamp: Times, now: Times) -> Array | None:
        """Take in messages of all joints, many at once: positions, velocities, efforts (m, k), as `take` would.

        Return what is known after each of the first of them, (3, rows, n): as many as are without any fault and follow
        each other in time. From the first one that `take` must look at, nothing is taken; None: that is the first.
        """
        layout = self._layouts.get(tuple(names))
        unequal = any(x.shape[1] not in (0, len(names)) for x in columns)
        if unequal or not isinstance(layout, Layout) or not layout.whole or self._alignment.active:
            return None
        known = np.full((3, len(stamp), len(self.joint_names)), np.nan)
        for mine, theirs in zip(known, columns, strict=True):
            if theirs.shape[1]:
                mine[:, layout.ours] = theirs[:, layout.theirs]
        q, dq, effort = known
        effort[~(np.abs(effort) <= MAX_QUANTITY)] = np.nan
        good = (np.abs(q) <= MAX_QUANTITY).all(axis=1) & ~(np.abs(dq) > MAX_QUANTITY).any(axis=1)
        moved, seconds = self._steps(q, stamp, now)
        far = np.abs(moved) > self._bounds.reach(slice(None), seconds)
        good &= self._advance(stamp, now) & ~far.any(axis=1)
        rows = len(good) if good.all() else int(np.argmin(good))
        if not rows:
            return None
        if self._derives(layout):
            velocity = self.velocity.copy()
            for k in range(rows):
                velocity = next_velocity(velocity, moved[k], seconds[k], self.velocity_cutoff, self.timeout)
                dq[k] = velocity
        self._refused.forget()
        self.timeline.advance(int(stamp[:rows].max()), int(now[:rows].max()))
        ours = layout.ours
        last = q[rows - 1, ours], dq[rows - 1, ours], effort[rows - 1, ours]
        self._put(layout, last, int(stamp[rows - 1]), int(now[rows - 1]))
        return known[:, :rows]

    def _advance(self, stamp: Times, now: Times) -> NDArray[np.bool_]:
        """Tell which messages' stamps advance, and which arrivals are far from a jump back."""
        newest = np.maximum.accumulate(np.concatenate([[self.timeline.newest], np.where(stamp == 0, NEVER, stamp)]))
        latest = np.maximum.accumulate(np.concatenate([[self.timeline.latest], now]))
        near = 0.5 * self.timeout * 1e9
        return np.asarray(((stamp == 0) | (stamp > newest[:-1])) & (latest[:-1] - now < near))

    def _steps(self, q: Array, stamp: Times, now: Times) -> tuple[Array, Array]:
        """Return by how much joints moved (m, n) to the positions q (m, n) of messages, and within which time (s)."""
        stamps, arrivals = (
            np.vstack([before, np.repeat(times[:, None], len(before), axis=1)])
            for before, times in ((self._stamp, stamp), (self._arrival, now))
        )
        seconds = seconds_between((stamps[:-1], arrivals[:-1]), stamps[1:], arrivals[1:])
        return self._bounds.moved(slice(None), np.vstack([self.position, q[:-1]]), q), seconds

    # One instant ------------------------------------------------------------------------------------------------------

    @property
    def in_parts(self) -> bool:
        """Whether joints come in parts, so that the newest samples are not of one instant."""
        return self._alignment.active

    def aligned(self) -> list[Aligned]:
        """Go on to the newest instant at which all joints are known; return it, after instants on the way to it."""
        return self._alignment.next(self.timeout)

    @property
    def is_too_old(self) -> bool:
        """Whether that instant is too long ago, for a part is too far behind the others."""
        return self.in_parts and self._alignment.lag > self.timeout

    def delayed_joints(self) -> list[str]:
        """Return the joints that the others wait for."""
        if not self.in_parts:
            return []
        return [name for name, late in zip(self.joint_names, self._alignment.behind(), strict=True) if late]
