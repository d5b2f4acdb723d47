"""Where the joints are, how fast they move and what drives them, as messages say; and torques by joint name."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.limits import LARGEST
from ..core.spatial import Array
from .joint_table import NEVER, JointTable, Layout

Stamps = NDArray[np.int64]


class JointStates(JointTable):
    """Positions, velocities and efforts by joint. The last two may be unknown: then they are NaN."""

    def __init__(self, joint_names: Sequence[str], timeout: float, apart: Collection[str] = ()) -> None:
        """`timeout` in seconds; the joints `apart` are known by `take_joint` only, whatever messages say of them."""
        super().__init__(joint_names, 3, timeout, apart)
        self.position, self.velocity, self.effort = self.numbers

    def take(
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
        layout = self.place(names)
        if layout is None:
            return False
        n = len(names)
        if len(position) != n or len(velocity) not in (0, n) or len(effort) not in (0, n):
            lengths = f'{n} names, {len(position)} positions, {len(velocity)} velocities, {len(effort)} efforts'
            return self.refusals.note(f'arrays of unequal length: {lengths}')
        if not len(layout.ours):
            return False  # somebody else's joints
        unknown = np.full(len(layout.ours), np.nan)
        q = position[layout.theirs]
        dq = velocity[layout.theirs] if len(velocity) else unknown
        if not self.within('position', q, layout) or not self.within('velocity', dq, layout, may_be_unknown=True):
            return False
        return self.store(layout, (q, dq, _known(effort[layout.theirs]) if len(effort) else unknown), stamp, now)

    def take_rows(self, names: Sequence[str], columns: Sequence[Array], stamp: Stamps, now: Stamps) -> Array | None:
        """Take in messages of all joints, many at once: positions, velocities, efforts (m, k), as `take` would.

        Return what is known after each of the first of them, (3, rows, n): as many as are without any fault and follow
        each other in time. From the first one that `take` must look at, nothing is taken; None: that is the first.
        """
        layout = self._layouts.get(tuple(names))
        unequal = any(x.shape[1] not in (0, len(names)) for x in columns)
        if unequal or not isinstance(layout, Layout) or not layout.whole:
            return None
        known = np.full((3, len(stamp), len(self.joint_names)), np.nan)
        for mine, theirs in zip(known, columns, strict=True):
            if theirs.shape[1]:
                mine[:, layout.ours] = theirs[:, layout.theirs]
        q, dq, effort = known
        effort[~(np.abs(effort) <= LARGEST)] = np.nan
        good = (np.abs(q) <= LARGEST).all(axis=1) & ~(np.abs(dq) > LARGEST).any(axis=1)
        newest = np.maximum.accumulate(np.concatenate([[self._newest], np.where(stamp == 0, NEVER, stamp)]))
        latest = np.maximum.accumulate(np.concatenate([[self._latest], now]))
        near = 0.5 * self.timeout * 1e9  # far from a jump back
        good &= ((stamp == 0) | (newest[:-1] - stamp < near)) & (latest[:-1] - now < near)
        rows = len(good) if good.all() else int(np.argmin(good))
        if not rows:
            return None
        self._newest, self._latest = int(newest[rows]), int(latest[rows])
        self.store(layout, [*known[:, rows - 1]], int(stamp[rows - 1]), int(now[rows - 1]))
        return known[:, :rows]

    def take_joint(self, name: str, position: float, velocity: float, stamp: int, now: int) -> bool:
        """Take in one joint from a source of its own, which says nothing of its effort."""
        layout, q, dq = self.place_of(name), np.array([position]), np.array([velocity])
        if not self.within('position', q, layout) or not self.within('velocity', dq, layout, may_be_unknown=True):
            return False
        return self.store(layout, (q, dq, np.array([np.nan])), stamp, now)

    @property
    def moving(self) -> bool:
        """Whether every joint's velocity is known."""
        return not math.isnan(self.velocity @ self.velocity)


def _known(effort: Array) -> Array:
    """Return efforts, NaN for those that cannot be."""
    return effort if effort @ effort <= LARGEST else np.where(np.abs(effort) <= LARGEST, effort, np.nan)


class JointTorques(JointTable):
    """Torques by joint, N m, or N for a prismatic joint."""

    def __init__(self, joint_names: Sequence[str], timeout: float) -> None:
        """`timeout` in seconds."""
        super().__init__(joint_names, 1, timeout)
        (self.torque,) = self.numbers

    def take(self, names: Sequence[str], torque: Array, stamp: int, now: int) -> bool:
        """Take in a message of some joints' torques; return whether it was of use; one with a fault is not."""
        layout = self.place(names)
        if layout is None:
            return False
        if len(torque) != len(names):
            return self.refusals.note(f'arrays of unequal length: {len(names)} names, {len(torque)} torques')
        if not len(layout.ours):
            return False
        tau = torque[layout.theirs]
        return self.within('torque', tau, layout) and self.store(layout, (tau,), stamp, now)
