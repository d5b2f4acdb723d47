"""Messages of a recording through the node's own pipeline: the states that it would have had, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import WrenchRows

BLOCK = 4096  # states


@dataclass
class States:
    """States (m) in the order in which they came. What is not known is NaN."""

    stamp: NDArray[np.int64]  # (m), ns
    arrival: NDArray[np.int64]  # (m), ns
    q: Array  # (m, n)
    dq: Array  # (m, n)
    effort: Array  # (m, n), as measured
    wrenches: WrenchRows  # what the robot applies
    payload: Sequence[Mapping[str, Inertia]]  # (m), by link: one object for all states that have the same
    resets: NDArray[np.int64]  # (m), how often everything began anew before
    torques: dict[str, Array] = field(default_factory=dict)  # (m, n), of the terms that remember states before

    def __len__(self) -> int:
        return len(self.stamp)

    def __getitem__(self, rows: slice) -> States:
        """Return some of the states."""
        torques = {term: torque[rows] for term, torque in self.torques.items()}
        wrenches = {place: vectors[rows] for place, vectors in self.wrenches.items()}
        arrays = (self.stamp[rows], self.arrival[rows], self.q[rows], self.dq[rows], self.effort[rows])
        return States(*arrays, wrenches, self.payload[rows], self.resets[rows], torques)


def joined(parts: Sequence[States]) -> States:
    """Return the states of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*((part.stamp, part.arrival, part.q, part.dq, part.effort) for part in parts), strict=True)
    stamp, arrival, q, dq, effort = (np.concatenate(column) for column in columns)
    places = dict.fromkeys(place for part in parts for place in part.wrenches)
    wrenches = {
        place: np.concatenate([part.wrenches.get(place, np.zeros((len(part), 6))) for part in parts])
        for place in places
    }
    torques = {term: np.concatenate([part.torques[term] for part in parts]) for term in parts[0].torques}
    payload = [*chain.from_iterable(part.payload for part in parts)]
    resets = np.concatenate([part.resets for part in parts])
    return States(stamp, arrival, q, dq, effort, wrenches, payload, resets, torques)


def blocks(parts: Iterable[States]) -> Iterator[States]:
    """Return the same states in parts of `BLOCK` at least."""
    waiting: list[States] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= BLOCK:
            yield joined(waiting)
            waiting = []
    if waiting:
        yield joined(waiting)
