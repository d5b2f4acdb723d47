"""The side of the page with the numbers: the table of every joint and term, and curves of some."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import viser

from ..dynamics.dynamics import Dynamics
from ..robot.robot import Limits
from . import texts
from .bars import search_field, table
from .plot import Plot
from .snapshot import Heard

LEFT = 540  # pixels


class Torques:
    """Table and curves."""

    def __init__(self, gui: viser.GuiApi, dynamics: Dynamics, limits: Mapping[str, Limits], hand: str) -> None:
        self._dynamics, self._limits = dynamics, limits
        self._names = dynamics.joint_names
        self.marked = ''  # the joint whose link somebody clicked on
        self.side = gui.add_panel()
        with self.side.add_tab('joints'):
            gui.add_html(search_field(self._names))
            self._bars = gui.add_html('')
            gui.add_html(texts.BARS)
            self.plot = Plot(gui, self._names, shoulder_and_elbow(dynamics, hand))
        self.side.dock_left()
        self.side.set_width(LEFT)

    def remember(self, heard: Heard) -> None:
        """Take in what the curves may show."""
        self.plot.history.add({**heard.torques, 'position': heard.q, 'velocity': heard.dq})

    def draw(self, heard: Heard) -> None:
        """Bring table and curves up to date."""
        content = table(self._names, self._limits, heard, self.plot.colors, self.marked)
        if self._bars.content != content:
            self._bars.content = content
        self.plot.draw()

    def suggest(self, link: str) -> None:
        """Let the plot show what moves a link that somebody has gripped, unless joints were chosen."""
        self.plot.suggest(shoulder_and_elbow(self._dynamics, link))


def shoulder_and_elbow(dynamics: Dynamics, hand: str) -> list[str]:
    """Return two joints that one wants to see first: of a seven-joint arm those that bear most."""
    if not hand:
        return list(dynamics.joint_names[:2])
    moved = np.abs(dynamics.jacobian(np.zeros(dynamics.n), hand)).max(axis=0) > 0
    chain = [name for name, moves in zip(dynamics.joint_names, moved, strict=True) if moves]
    return chain[-6:-3:2] or chain[:2]
