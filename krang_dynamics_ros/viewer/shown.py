"""What is drawn besides the robot, each on a switch of its own; and from where one looks."""

from __future__ import annotations

from typing import Any

import viser

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..robot.robot import Robot
from .figure import Figure
from .rings import Rings
from .snapshot import Heard
from .views import Views

MASS = (250, 204, 21)
LOOKS = {'whole': None, 'front': (1, 0, 0.1), 'side': (0, 1, 0.1), 'top': (0.02, 0, 1)}


class Shown:
    """A folder of switches, and what they show."""

    def __init__(self, server: viser.ViserServer, robot: Robot, dynamics: Dynamics, figure: Figure) -> None:
        gui, scene = server.gui, server.scene
        self._dynamics, self._figure = dynamics, figure
        self._rings = Rings(scene, robot, figure)
        self._mass = scene.add_icosphere('/center_of_mass', radius=0.02 * figure.size, color=MASS, visible=False)
        self._mass_label = scene.add_label('/center_of_mass_label', 'centre of mass', anchor='top-center')
        self._mass_label.visible = False
        self._collision_shown = False
        self._folder = gui.add_folder('show', expand_by_default=False)
        with self._folder:
            self._pushes_box = gui.add_checkbox(
                'what pushes it', False,
                hint='told from measured efforts: a column of external torque, and an arrow at each hand',
            )  # fmt: skip
            self._rings_box = gui.add_checkbox('torque arcs', False, hint='total, blue to red at the limit')
            self._mass_box = gui.add_checkbox('centre of mass', False, hint='of all links, in the base frame')
            self._collision_box = gui.add_checkbox('collision shapes', False, hint='what the links collide as, in red')

    def add_looks(self, gui: viser.GuiApi, views: Views) -> None:
        """Add buttons to look at the robot from its sides."""
        with self._folder:
            looks = gui.add_button_group('look', tuple(LOOKS), hint='where to look from, at all of the robot')

        def turned(event: Any) -> None:
            if event.client is not None:
                views.turn(event.client, self._figure.points, LOOKS[event.target.value])

        looks.on_click(turned)

    @property
    def observing(self) -> bool:
        """Whether somebody wants to see what pushes the robot."""
        return bool(self._pushes_box.value)

    def draw(self, q: Array, heard: Heard) -> None:
        """Draw what is switched on, at joint positions (n)."""
        self._rings.show(heard.torques.get('total') if self._rings_box.value else None)
        for handle in (self._mass, self._mass_label):  # the label is seen through the body that the marker is in
            if handle.visible != self._mass_box.value:
                handle.visible = self._mass_box.value
            if self._mass_box.value:
                handle.position = self._dynamics.center_of_mass(q)
        if self._collision_box.value != self._collision_shown:
            self._collision_shown = self._collision_box.value
            self._figure.show_collision(self._collision_shown)
