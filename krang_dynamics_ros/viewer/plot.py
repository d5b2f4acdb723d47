"""The last seconds of chosen joints, as curves."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import viser
from viser import uplot

from ..core.spatial import Array
from .bars import COLUMNS

SECONDS, PERIOD = 20.0, 0.1  # s: how much is kept, and how often
LENGTH = int(SECONDS / PERIOD)
PLOTTED = (*COLUMNS, 'position', 'velocity')
UNITS = dict.fromkeys(COLUMNS, 'N m') | {'position': 'rad', 'velocity': 'rad/s'}
CURVE_COLORS = ('#2563eb', '#ea580c', '#16a34a', '#9333ea', '#0891b2', '#be123c', '#65a30d', '#78716c')


class History:
    """Every quantity of every joint, ten times a second; what was not known is a gap."""

    def __init__(self, n: int) -> None:
        self._values = np.full((LENGTH, len(PLOTTED), n), np.nan)
        self._times = np.full(LENGTH, np.nan)

    def add(self, values: Mapping[str, Array | None]) -> None:
        """Take in vectors (n) by quantity, once in a `PERIOD`."""
        now = time.monotonic()
        if now - self._times[-1] < PERIOD:
            return
        self._values = np.roll(self._values, -1, axis=0)
        self._times = np.roll(self._times, -1)
        self._times[-1] = now
        for k, quantity in enumerate(PLOTTED):
            vector = values.get(quantity)
            self._values[-1, k] = np.nan if vector is None else vector

    def curves(self, quantity: str, joints: Sequence[int]) -> tuple[Array, ...]:
        """Return seconds before now (m), and a curve (m) for each joint."""
        there = np.isfinite(self._times)
        when = self._times[there] - (self._times[-1] if there.any() else 0.0)
        values = self._values[there, PLOTTED.index(quantity)]
        return (when, *(values[:, k] for k in joints))


def curve_color(k: int) -> str:
    """Return the colour of the k-th curve."""
    return CURVE_COLORS[k % len(CURVE_COLORS)]


class Plot:
    """A quantity to choose, and the curves of chosen joints."""

    def __init__(self, gui: viser.GuiApi, joint_names: Sequence[str], chosen: Sequence[str]) -> None:
        self._gui = gui
        self._names = joint_names
        self.history = History(len(joint_names))
        self._quantity = gui.add_dropdown('plot', PLOTTED, initial_value='total')
        self._place = gui.add_folder(None)
        self._chosen, self._by_user = list(chosen), False
        self._chart: viser.GuiUplotHandle | None = None
        self._shown: tuple[str, list[str]] = ('', [])

    @property
    def colors(self) -> dict[str, str]:
        """The colour of the curve of each joint in the plot."""
        return {name: curve_color(k) for k, name in enumerate(self._chosen)}

    def toggle(self, joint: str) -> None:
        """Put a joint into the plot, or take it out, because somebody says so."""
        if joint in self._names:
            self._by_user = True
            self._chosen = [name for name in self._chosen if name != joint] + [joint] * (joint not in self._chosen)

    def suggest(self, joints: Sequence[str]) -> None:
        """Show these joints, unless somebody has chosen others."""
        if not self._by_user and joints:
            self._chosen = list(joints)

    def draw(self) -> None:
        """Bring the curves up to now."""
        wanted = (self._quantity.value, list(self._chosen))
        data = self.history.curves(wanted[0], [self._names.index(name) for name in wanted[1]])
        if len(data) < 2 or not len(data[0]):
            data = (np.zeros(1), np.full(1, np.nan))
        if self._chart is not None and wanted == self._shown:
            self._chart.data = data
            if (scales := _scales(data)) != self._chart.scales:
                self._chart.scales = scales
            return
        self._shown = wanted
        if self._chart is not None:
            self._chart.remove()
        with self._place:
            self._chart = self._new_chart(*wanted, data)

    def _new_chart(self, quantity: str, joints: list[str], data: tuple[Array, ...]) -> viser.GuiUplotHandle:
        curves = [uplot.Series(label=name, stroke=curve_color(k), width=2) for k, name in enumerate(joints)]
        seconds, values = uplot.Axis(label='s'), uplot.Axis(label=UNITS[quantity])
        return self._gui.add_uplot(
            data, (uplot.Series(label='s'), *(curves or [uplot.Series(label='no joint chosen')])),
            scales=_scales(data), axes=(seconds, values), legend=uplot.Legend(show=True, live=False), height=220,
        )  # fmt: skip


def _scales(data: Sequence[Array]) -> dict[str, uplot.Scale]:
    """Return the span of both axes, in whole steps: neither trembling with every number nor blowing up a tiny one."""
    curves = np.concatenate(data[1:])
    known = curves[np.isfinite(curves)] if np.isfinite(curves).any() else np.zeros(1)
    step = 10.0 ** np.floor(np.log10(max(1.0, np.ptp(known))))
    low, high = np.floor(known.min() / step) * step, np.ceil(known.max() / step) * step
    high = high if high > low else low + step
    span = (float(low), float(high + (high - low) / 12))  # or the upper number would be cut
    return {'x': uplot.Scale(time=False, auto=False, range=(-SECONDS, 0.0)), 'y': uplot.Scale(auto=False, range=span)}
