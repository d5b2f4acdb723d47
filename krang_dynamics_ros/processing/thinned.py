"""Columns of a recording of any length, thinned out evenly as they come: what a chart has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..core.spatial import Array
from .states import States, joined

POINTS = 2000  # at most; more are hidden behind each other


class Thinned:
    """Every k-th state, k growing with the recording."""

    def __init__(self, names: Sequence[str], points: int = POINTS) -> None:
        """Keep so many points at most."""
        self.names, self._points = tuple(names), points
        self._step, self._seen = 1, 0
        self.states: States | None = None  # those that are kept
        self._rows: Array | None = None  # (points, columns, n)

    def add(self, core: States, found: Mapping[str, Array]) -> None:
        """Take in states, and what was found of them (m, n) by column."""
        first = -self._seen % self._step
        self._seen += len(core)
        every = slice(first, None, self._step)
        rows = np.stack([found[name][every] for name in self.names], axis=1)
        self._rows = rows if self._rows is None else np.concatenate([self._rows, rows])
        self.states = core[every] if self.states is None else joined([self.states, core[every]])
        while len(self.states) > self._points:
            self.states, self._rows, self._step = self.states[::2], self._rows[::2], 2 * self._step

    @classmethod
    def of(cls, parts: Sequence[Thinned]) -> Thinned:
        """Return one for all portions of a recording."""
        whole, some = cls(parts[0].names), [part for part in parts if part.states is not None]
        whole.states = joined([part.states for part in some if part.states is not None])
        whole._rows = np.concatenate([part._rows for part in some if part._rows is not None])
        return whole

    @property
    def seconds(self) -> Array:
        """Seconds (points) since the first state."""
        return np.zeros(0) if self.states is None else (self.states.stamp - self.states.stamp[0]) * 1e-9

    def column(self, name: str) -> Array:
        """Return the numbers of a column (points, n)."""
        return np.zeros((0, 0)) if self._rows is None else self._rows[:, self.names.index(name)]

    def line(self, name: str, joint: int) -> tuple[Array, Array]:
        """Return the seconds since the first state, and the numbers of a joint, where they are known."""
        if self._rows is None:
            return np.zeros(0), np.zeros(0)
        values = self.column(name)[:, joint]
        known = np.isfinite(values)
        return self.seconds[known], values[known]
