"""The side of the page with the numbers: bars of every joint and term, and curves of some."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import viser

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from . import texts as words
from .bars import table
from .plot import Plot
from .shapes import Bounds

LEFT = 540  # pixels


class Torques:
    """Bars and curves."""

    def __init__(self, gui: viser.GuiApi, dynamics: Dynamics, bounds: Mapping[str, Bounds], hand: str) -> None:
        self._names, self._bounds = dynamics.joint_names, bounds
        side = gui.add_panel()
        with side.add_tab('torques'):
            self._bars = gui.add_html('')
            gui.add_html(words.BARS)
            self._plot = Plot(gui, self._names, _shoulder_and_elbow(dynamics, hand))
        side.dock_left()
        side.set_width(LEFT)

    def remember(self, torques: Mapping[str, Array | None], q: Array | None, dq: Array | None) -> None:
        """Take in what the curves may show."""
        self._plot.history.add({**torques, 'position': q, 'velocity': dq})

    def draw(self, torques: Mapping[str, Array | None]) -> None:
        """Bring bars and curves up to date."""
        content = table(self._names, self._bounds, torques)
        if self._bars.content != content:
            self._bars.content = content
        self._plot.draw()


def _shoulder_and_elbow(dynamics: Dynamics, hand: str) -> list[str]:
    """Return two joints that one wants to see first: of a seven-joint arm those that bear most."""
    if not hand:
        return list(dynamics.joint_names[:2])
    moved = np.abs(dynamics.jacobian(np.zeros(dynamics.n), hand)).max(axis=0) > 0
    chain = [name for name, moves in zip(dynamics.joint_names, moved, strict=True) if moves]
    return chain[-6:-3:2] or chain[:2]
