"""What hands apply by contact at many joint states at once: the numbers of `contact_wrenches`, state by state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..core.wrench import Place
from .end_effector import EndEffector, Reading, WeighAt

Times = NDArray[np.int64]


class Told(NamedTuple):
    """A reading as it came: before which of the joint states, when it was stamped and when it came (ns)."""

    row: int
    reading: Reading
    stamp: int
    arrival: int


def latest(hand: EndEffector, row: int) -> list[Told]:
    """Return a hand's latest reading, as it came before a row; nothing if there is none."""
    return [] if hand.reading is None else [Told(row, hand.reading, hand.stamp, hand.arrival)]


class RowTimes(NamedTuple):
    """Stamps and times of arrival (m; ns) of joint states."""

    stamp: Times
    arrival: Times


def contact_rows(
    hand: EndEffector, told: Sequence[Told], q: Array, times: RowTimes, weigh: WeighAt
) -> dict[Place, Array]:
    """Return what the robot applies with a hand at joint states q (m, n), from its readings, the earliest first.

    A state has the last reading that came before it, if that is not late then, as `EndEffector.late` says.
    """
    which = np.searchsorted([one.row for one in told], np.arange(len(q)), side='right') - 1
    rows = np.flatnonzero((which >= 0) & ~_late(hand, told, which, times))
    found: dict[Place, Array] = {}
    contacts: dict[int, Array] = {}  # of readings that no weight is in: the same at every pose
    for k, one in zip(rows.tolist(), which[rows].tolist(), strict=True):
        reading = told[one].reading
        if one not in contacts or hand.load(reading) is not None:
            load = hand.load(reading)
            contacts[one] = hand.contact(reading, None if load is None else weigh(q[k], [load])[0]).vector
        place = Place(hand.link, reading.axes, reading.about)
        if place not in found:
            found[place] = np.zeros((len(q), 6))
        found[place][k] = contacts[one]
    return found


def _late(hand: EndEffector, told: Sequence[Told], which: NDArray[np.intp], times: RowTimes) -> NDArray[np.bool_]:
    limit = hand.timeout * 1e9
    stamp, arrival = (np.array([one[at] for one in told], dtype=np.int64)[which] for at in (2, 3))
    ahead = np.where((stamp != 0) & (times.stamp != 0), stamp - times.stamp, 0)
    return np.asarray((np.abs(ahead) > limit) | (np.abs(times.arrival - arrival) > limit))
