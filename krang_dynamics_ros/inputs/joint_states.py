"""Where the joints are, how fast they move and what drives them, as messages say; and torques by joint name."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from ..core.limits import LARGEST
from ..core.spatial import Array
from .joint_table import JointTable


class JointStates(JointTable):
    """Positions, velocities and efforts by joint. The last two may be unknown: then they are NaN."""

    def __init__(self, joint_names: Sequence[str], timeout: float, apart: Collection[str] = ()) -> None:
        """`timeout` in seconds; of the joints `apart`, messages say nothing that counts."""
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
            return False  # another robot's joints
        q = position[layout.theirs]
        dq = velocity[layout.theirs] if len(velocity) else layout.unknown
        if not self.within('position', q, layout) or not self.within('velocity', dq, layout, may_be_unknown=True):
            return False
        return self.store(layout, (q, dq, _known(effort[layout.theirs]) if len(effort) else layout.unknown), stamp, now)

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
