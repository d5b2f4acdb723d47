"""Columns of a recording of any length, thinned out evenly as they come: what a chart has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .states import States

POINTS = 2000  # at most; more are hidden behind each other


class Thinned:
    """Every k-th state, k growing with the recording."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._step, self._seen = 1, 0
        self._stamp: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._rows: Array | None = None  # (points, columns, n)

    def add(self, core: States, found: Mapping[str, Array]) -> None:
        """Take in states, and what was found of them (m, n) by column."""
        first = -self._seen % self._step
        self._seen += len(core)
        rows = np.stack([found[name][first :: self._step] for name in self.names], axis=1)
        self._stamp = np.concatenate([self._stamp, core.stamp[first :: self._step]])
        self._rows = rows if self._rows is None else np.concatenate([self._rows, rows])
        while len(self._stamp) > POINTS:
            self._stamp, self._rows, self._step = self._stamp[::2], self._rows[::2], 2 * self._step

    def line(self, name: str, joint: int) -> tuple[Array, Array]:
        """Return the seconds since the first state, and the numbers of a joint, where they are known."""
        if self._rows is None:
            return np.zeros(0), np.zeros(0)
        values = self._rows[:, self.names.index(name), joint]
        known = np.isfinite(values)
        return (self._stamp[known] - self._stamp[0]) * 1e-9, values[known]
