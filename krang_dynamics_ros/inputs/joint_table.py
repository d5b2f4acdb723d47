"""Numbers of named joints, put together from messages that may come in parts, out of order, late or wrong.

Times are whole nanoseconds. A message has a stamp, from its sender, and a time of arrival, by the receiver's clock.
Stamps are compared with each other and arrivals with each other, never one with the other: bags and other machines'
clocks are ordinary. A stamp of zero means "not stamped"; then arrival alone counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.limits import LARGEST
from ..core.names import NamesCache, names_fault
from ..core.spatial import Array
from .delay import Delay
from .refusals import Refusals
from .timeline import NEVER, Timeline


class Layout(NamedTuple):
    """Where a message's joints belong."""

    ours: NDArray[np.intp]  # places in our vectors
    theirs: NDArray[np.intp]  # places in the message
    whole: bool  # whether they are all of our joints
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

    def place(self, names: Sequence[str]) -> Layout | None:
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
        return Layout(np.array(ours, dtype=np.intp), np.array(theirs, dtype=np.intp), whole, unknown, Delay(names))

    def within(self, what: str, values: Array, layout: Layout, *, may_be_unknown: bool = False) -> bool:
        """Tell whether numbers of a message are finite and not too large; note a refusal if not. NaN is unknown."""
        if values @ values <= LARGEST:  # passes what is good at a glance; what is left is looked at one by one
            return True
        good = np.abs(values) <= LARGEST
        if may_be_unknown:
            good |= np.isnan(values)
        if good.all():
            return True
        k = int(np.argmin(good))
        return self.refusals.note(
            f'{what} of {self.joint_names[layout.ours[k]]}: {values[k]}, must be finite, at most {LARGEST:g}'
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
