"""Latest numbers of each joint, from messages that may have some of the joints only, in any order, or be wrong."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.limits import MAX_QUANTITY, NamesCache, names_fault
from ..core.spatial import Array
from .messages import Refusals
from .timeline import NEVER, Delay, Timeline

MAX_SQUARES = MAX_QUANTITY**2  # if a sum of squares is not larger, no number in it is too large or NaN


class MessageJoints(NamedTuple):
    """Indices of the joints of a message."""

    ours: NDArray[np.intp]  # indices in the vectors of the robot
    theirs: NDArray[np.intp]  # indices in the message
    whole: bool  # whether it has all joints of the robot
    relevant: bool  # whether it has any joint of the robot
    unknown: Array  # NaN for each joint of `ours`
    delay: Delay
    fault: str = ''  # of the names: the message is refused


class JointTable:
    """Columns of numbers by joint, with the age of each joint. Subclasses define the columns."""

    def __init__(
        self, joint_names: Sequence[str], columns: int, timeout: float, excluded: Collection[str] = ()
    ) -> None:
        """`timeout` in seconds; messages are ignored for the joints `excluded`."""
        self.joint_names = tuple(joint_names)
        self.timeout = timeout
        self.numbers: Array = np.full((columns, len(self.joint_names)), np.nan)  # a row is a column of the table
        self._columns = tuple(self.numbers)  # views: iterating over the matrix would make new ones each time
        self.refusals = Refusals()
        self.timeline = Timeline()
        self.timeline.on_reset(self.forget)
        self._index = {name: k for k, name in enumerate(self.joint_names)}
        self._excluded = frozenset(excluded)
        self._joints_of_names: NamesCache[MessageJoints] = NamesCache()
        self.forget()

    def forget(self) -> None:
        """Forget the data of all joints."""
        self._stamp = np.full(len(self.joint_names), NEVER, dtype=np.int64)
        self._arrival = self._stamp.copy()
        self._whole_at = NEVER  # arrival of the last message, if it had all joints
        self.numbers[:] = np.nan

    def joints_of(self, names: Sequence[str]) -> MessageJoints | None:
        """Return the joint indices of a message; note a refusal and return None if the names are not valid."""
        key = tuple(names)
        joints = self._joints_of_names.get(key)
        if joints is None:
            joints = self._find_joints(key)
            self._joints_of_names.put(key, joints)
        if joints.fault:
            self.refusals.note(joints.fault)
            return None
        return joints

    def _find_joints(self, names: tuple[str, ...]) -> MessageJoints:
        if fault := names_fault(names):
            return self._message_joints((), [], [])._replace(fault=fault)
        theirs = [k for k, name in enumerate(names) if name in self._index and name not in self._excluded]
        ours = [self._index[names[k]] for k in theirs]
        return self._message_joints(names, ours, theirs)

    def _message_joints(self, names: tuple[str, ...], ours: Sequence[int], theirs: Sequence[int]) -> MessageJoints:
        whole, unknown = len(ours) == len(self.joint_names), np.full(len(ours), np.nan)
        indices = np.array(ours, dtype=np.intp), np.array(theirs, dtype=np.intp)
        return MessageJoints(*indices, whole, len(ours) > 0, unknown, Delay(names))

    def within(self, quantity: str, values: Array, joints: MessageJoints, *, may_be_unknown: bool = False) -> bool:
        """Return whether numbers of a message are finite and not too large; note a refusal if not.

        With `may_be_unknown`, NaN is allowed.
        """
        if values.dot(values) <= MAX_SQUARES:  # fast test of all; the tests below find the fault
            return True
        good = np.abs(values) <= MAX_QUANTITY
        if may_be_unknown:
            good |= np.isnan(values)
        if good.all():
            return True
        k = int(np.argmin(good))
        return self.refusals.note(
            f'{quantity} of {self.joint_names[joints.ours[k]]}: {values[k]}, must be finite, at most {MAX_QUANTITY:g}'
        )

    def store(self, joints: MessageJoints, columns: Sequence[Array], stamp: int, now: int) -> bool:
        """Store valid numbers by column, after a reset if time went back.

        Return whether they contain a new sample: here always, a subclass may refuse them.
        """
        if self.timeline.goes_back(stamp, now, self.timeout * 1e9):
            self.timeline.reset(time_went_back=True)
        self._put(joints, columns, stamp, now)
        return True

    def _put(self, joints: MessageJoints, columns: Sequence[Array], stamp: int, now: int) -> None:
        self.timeline.advance(stamp, now)
        for column, values in zip(self._columns, columns, strict=True):
            column[joints.ours] = values
        self._stamp[joints.ours], self._arrival[joints.ours] = stamp, now
        self._whole_at = now if joints.whole else NEVER

    def missing(self, now: int) -> list[str]:
        """Return the joints without data, or with data older than the timeout."""
        return [name for name, old in zip(self.joint_names, self._old(now), strict=True) if old]

    def _old(self, now: int) -> NDArray[np.bool_]:
        limit = self.timeout * 1e9
        by_stamp = (self.timeline.newest_stamp - self._stamp > limit) & (self._stamp != 0)
        return np.asarray(by_stamp | (np.abs(now - self._arrival) > limit))  # abs: after a clock was set back

    def complete(self, now: int) -> bool:
        """Return whether every joint has data that is not older than the timeout."""
        return abs(now - self._whole_at) <= self.timeout * 1e9 or not self._old(now).any()  # the first test is faster

    @property
    def oldest_arrival(self) -> int:
        """Arrival (ns) of the joint with the oldest data; NEVER if a joint has none."""
        return int(self._arrival.min())

    @property
    def newest_joint_stamp(self) -> int:
        """The newest stamp (ns) stored for a joint; zero if none has one."""
        return max(int(self._stamp.max()), 0) if self.timeline.newest_stamp > 0 else 0


class JointStates(JointTable):
    """Positions, velocities and efforts by joint. Unknown velocities and efforts are NaN."""

    def __init__(self, joint_names: Sequence[str], timeout: float, excluded: Collection[str] = ()) -> None:
        """`timeout` in seconds; messages are ignored for the joints `excluded`."""
        super().__init__(joint_names, 3, timeout, excluded)
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
        """Store a message of some joints, in any order; return whether it was used.

        `velocity` and `effort` may be empty, or NaN where unknown. An effort that is not finite or too large counts as
        unknown. Any other fault refuses the whole message. The arrays are copied.
        """
        joints = self.joints_of(names)
        if joints is None:
            return False
        n, positions, velocities, efforts = len(names), position.size, velocity.size, effort.size
        if positions != n or velocities not in (0, n) or efforts not in (0, n):
            lengths = f'{n} names, {positions} positions, {velocities} velocities, {efforts} efforts'
            return self.refusals.note(f'arrays of unequal length: {lengths}')
        if not joints.relevant:
            return False  # joints of another robot
        q = position[joints.theirs]
        dq = velocity[joints.theirs] if velocities else joints.unknown
        if not self.within('position', q, joints) or not self.within('velocity', dq, joints, may_be_unknown=True):
            return False
        return self.store(
            joints, (q, dq, _valid_efforts(effort[joints.theirs]) if efforts else joints.unknown), stamp, now
        )

    @property
    def velocities_known(self) -> bool:
        """Whether every joint's velocity is known."""
        return not math.isnan(self.velocity.dot(self.velocity))


def _valid_efforts(effort: Array) -> Array:
    """Return efforts, with NaN for those that are not finite or too large."""
    return effort if effort.dot(effort) <= MAX_SQUARES else np.where(np.abs(effort) <= MAX_QUANTITY, effort, np.nan)


class JointTorques(JointTable):
    """Torques by joint, N m, or N for a prismatic joint."""

    def __init__(self, joint_names: Sequence[str], timeout: float) -> None:
        """`timeout` in seconds."""
        super().__init__(joint_names, 1, timeout)
        (self.torque,) = self.numbers

    def update(self, names: Sequence[str], torque: Array, stamp: int, now: int) -> bool:
        """Store torques (k) of some joints; return whether they were used. A fault refuses the whole message."""
        joints = self.joints_of(names)
        if joints is None:
            return False
        if len(torque) != len(names):
            return self.refusals.note(f'arrays of unequal length: {len(names)} names, {len(torque)} torques')
        if not joints.relevant:
            return False
        tau = torque[joints.theirs]
        return self.within('torque', tau, joints) and self.store(joints, (tau,), stamp, now)
