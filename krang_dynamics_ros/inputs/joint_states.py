"""What is known of the joints, put together from messages that may come in parts, out of order, late or wrong.

Times are whole nanoseconds. A message has a stamp, from its sender, and a time of arrival, by the receiver's clock.
Stamps are compared with each other and arrivals with each other, never one with the other: bags and other machines'
clocks are ordinary. A stamp of zero means "not stamped"; then arrival alone counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .refusals import Refusals

LARGEST = 1e6  # rad, m, rad/s, m/s: what is beyond is no position or velocity of a robot, but a fault
KNOWN_LAYOUTS = 64  # lists of names that are remembered; a few publishers need a few
NEVER = -(2**62)


class Layout(NamedTuple):
    """Where a message's joints belong."""

    ours: NDArray[np.intp]  # places in our vectors
    theirs: NDArray[np.intp]  # places in the message
    whole: bool  # whether they are all of our joints


class JointStates:
    """Positions and velocities by joint, with the age of each."""

    def __init__(self, joint_names: Sequence[str], timeout: float, apart: Collection[str] = ()) -> None:
        """`timeout` in seconds; the joints `apart` are known by `take_joint` only, whatever messages say of them."""
        self.joint_names = tuple(joint_names)
        self.timeout = timeout
        self.position: Array = np.zeros(len(self.joint_names))
        self.velocity: Array = np.full(len(self.joint_names), np.nan)
        self.refusals = Refusals()
        self.jumps = 0  # how often time went back
        self._place = {name: k for k, name in enumerate(self.joint_names)}
        self._apart = frozenset(apart)
        self._layouts: dict[tuple[str, ...], Layout | str] = {}
        self.forget()

    def forget(self) -> None:
        """Know nothing of any joint."""
        self._stamp = np.full(len(self.joint_names), NEVER, dtype=np.int64)
        self._arrival = self._stamp.copy()
        self._newest = self._whole_at = NEVER
        self.velocity[:] = np.nan

    def take(
        self,
        names: Sequence[str],
        position: Array,
        velocity: Array,
        effort: Sequence[float],
        stamp: int,
        now: int,
    ) -> bool:
        """Take in a message of some joints, in any order; return whether it was of use.

        `velocity` may be empty, or NaN where it is not known; of `effort` only the length matters. A message with a
        fault is refused whole. The caller's arrays are copied.
        """
        layout = self._layout(names)
        if isinstance(layout, str):
            return self.refusals.note(layout)
        n = len(names)
        if len(position) != n or len(velocity) not in (0, n) or len(effort) not in (0, n):
            lengths = f'{n} names, {len(position)} positions, {len(velocity)} velocities, {len(effort)} efforts'
            return self.refusals.note(f'arrays of unequal length: {lengths}')
        if not len(layout.ours):
            return False  # somebody else's joints
        q = position[layout.theirs]
        dq = velocity[layout.theirs] if len(velocity) else np.full(len(q), np.nan)
        return self._store(layout, q, dq, stamp, now)

    def take_joint(self, name: str, position: float, velocity: float, stamp: int, now: int) -> bool:
        """Take in one joint from a source of its own."""
        place = np.array([self._place[name]])
        return self._store(Layout(place, place, False), np.array([position]), np.array([velocity]), stamp, now)

    def _store(self, layout: Layout, q: Array, dq: Array, stamp: int, now: int) -> bool:
        # The sums of squares pass what is good at a glance; what is left, NaN included, is looked at one by one.
        if not q @ q <= LARGEST and not (np.abs(q) <= LARGEST).all():
            return self.refusals.note(self._fault('position', q, layout))
        if not dq @ dq <= LARGEST and (np.abs(dq) > LARGEST).any():
            return self.refusals.note(self._fault('velocity', dq, layout))
        if stamp and stamp < self._newest - self.timeout * 1e9:
            self.jumps += 1
            self.forget()
        self._newest = max(self._newest, stamp or NEVER)
        self.position[layout.ours], self.velocity[layout.ours] = q, dq
        self._stamp[layout.ours], self._arrival[layout.ours] = stamp, now
        self._whole_at = now if layout.whole else NEVER
        return True

    def _fault(self, what: str, values: Array, layout: Layout) -> str:
        k = int(np.argmax(~(np.abs(values) <= LARGEST) & ~(np.isnan(values) & (what == 'velocity'))))
        return f'{what} of {self.joint_names[layout.ours[k]]}: {values[k]}, must be finite, at most {LARGEST:g}'

    def _layout(self, names: Sequence[str]) -> Layout | str:
        key = tuple(names)
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= KNOWN_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = self._new_layout(key)
        return layout

    def _new_layout(self, names: tuple[str, ...]) -> Layout | str:
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            return f'named twice: {", ".join(twice[:5])}'
        theirs = [k for k, name in enumerate(names) if name in self._place and name not in self._apart]
        ours = [self._place[names[k]] for k in theirs]
        return Layout(
            np.array(ours, dtype=np.intp), np.array(theirs, dtype=np.intp), len(ours) == len(self.joint_names)
        )

    def missing(self, now: int) -> list[str]:
        """Return the joints that are not known, or known from too long ago."""
        return [name for name, old in zip(self.joint_names, self._old(now), strict=True) if old]

    def _old(self, now: int) -> NDArray[np.bool_]:
        limit = self.timeout * 1e9
        by_stamp = (self._newest - self._stamp > limit) & (self._stamp != 0)
        return np.asarray(by_stamp | (now - self._arrival > limit) | (self._arrival == NEVER))

    def complete(self, now: int) -> bool:
        """Tell whether every joint is known, and none from too long ago."""
        return self._whole_at == now or not self._old(now).any()

    @property
    def moving(self) -> bool:
        """Whether every joint's velocity is known."""
        return not math.isnan(self.velocity @ self.velocity)

    @property
    def oldest_arrival(self) -> int:
        """When the joint that is known from longest ago came; NEVER if one never did."""
        return int(self._arrival.min())

    @property
    def newest(self) -> int:
        """The newest stamp; zero if there is none."""
        return max(self._newest, 0)
