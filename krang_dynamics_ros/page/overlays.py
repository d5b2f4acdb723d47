"""Overlays with switches: torque rings, centre of mass, link axes, collision shapes, views."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..robot.robot import Joint, Robot
from .camera import Views, frame_of
from .figure import Figure, node_of
from .snapshot import LatestMessages

POINTS = 24  # of an arc
WHOLE = 1.5 * np.pi  # rad: the arc of a joint at its limit
LOW, HALF, FULL = np.array([34, 139, 230]), np.array([130, 80, 200]), np.array([220, 38, 38])
TRACK = (205, 210, 218)
STEPS = 50  # per limit: an arc is redrawn only when it changes by a step, because redrawing is slow


class Rings:
    """An arc on the link of each joint with a known limit; for a prismatic joint, a bar along its axis."""

    def __init__(self, scene: viser.SceneApi, robot: Robot, figure: Figure) -> None:
        self._radius = {joint.name: _radius(joint, figure) for joint in robot.moving_joints}
        self._joints = [
            (k, joint, joint.limits.effort)
            for k, joint in enumerate(robot.moving_joints)
            if joint.limits and joint.limits.effort
        ]
        thick = 0.012 * figure.size
        self._arcs: dict[str, Any] = {
            joint.name: scene.add_line_segments(
                f'{node_of(joint.child)}/torque', np.zeros((1, 2, 3)), (0, 0, 0), thickness=thick, visible=False
            )
            for _, joint, _ in self._joints
        }
        self._steps = dict.fromkeys(self._arcs, 0)
        self._tracks = [  # the whole way to both limits
            scene.add_line_segments(
                f'{node_of(joint.child)}/torque_track', self._track(joint), TRACK, thickness=0.15 * thick, visible=False
            )
            for _, joint, _ in self._joints
        ]

    @property
    def any(self) -> bool:
        """Whether the limit of some joint is known."""
        return bool(self._joints)

    def show(self, torque: Array | None) -> None:
        """Draw torques (n); None hides the arcs."""
        for track in self._tracks:
            if track.visible != (torque is not None):
                track.visible = torque is not None
        for k, joint, limit in self._joints:
            share = 0.0 if torque is None or np.isnan(torque[k]) else float(np.clip(torque[k] / limit, -1, 1))
            steps = round(share * STEPS)
            if steps != self._steps[joint.name]:
                self._steps[joint.name] = steps
                self._draw(joint, steps / STEPS)

    def _draw(self, joint: Joint, share: float) -> None:
        arc = self._arcs[joint.name]
        arc.visible = share != 0
        if share:
            arc.points = self._arc(joint, share).astype(np.float32)
            arc.colors = color(share).astype(np.uint8)

    def _track(self, joint: Joint) -> Array:
        return np.concatenate([self._arc(joint, share) for share in (-1.0, 1.0)]).astype(np.float32)

    def _arc(self, joint: Joint, share: float) -> Array:
        """Return segments (POINTS, 2, 3) in the axes of the joint's link."""
        radius = self._radius[joint.name]
        along = np.linspace(0, share, POINTS + 1)[:, None]
        if joint.kind == 'prismatic':
            points = along * 4 * radius * joint.axis
        else:
            frame = frame_of(joint.axis)
            angle = along * WHOLE
            points = radius * (np.cos(angle) * frame[:, 0] + np.sin(angle) * frame[:, 1])
        return np.stack([points[:-1], points[1:]], axis=1)


def _radius(joint: Joint, figure: Figure) -> float:
    """Return the radius (m) of an arc that is outside of the links on both sides of a joint."""
    around = [0.04 * figure.size]
    for link, turn, shift in ((joint.child, np.eye(3), 0.0), (joint.parent, joint.rotation, joint.position)):
        near = [
            np.linalg.norm(np.cross((drawn.corners - shift) @ turn, joint.axis), axis=1).min()
            for drawn in figure.visual
            if drawn.link == link
        ]
        around.append(1.05 * min(near, default=0.0))
    return min(max(around), 0.15 * figure.size)


def color(share: float) -> Array:
    """Return red, green, blue (0 to 255) of a share of a limit: blue, at half violet, red from the limit on."""
    size = min(abs(share), 1.0)
    low, high, part = (LOW, HALF, 2 * size) if size < 0.5 else (HALF, FULL, 2 * size - 1)
    return np.asarray(low + (high - low) * part).round().astype(int)


MASS = (250, 204, 21)
LOOKS = {'whole': None, 'front': (1, 0, 0.1), 'side': (0, 1, 0.1), 'top': (0.02, 0, 1)}


class Overlays:
    """A folder of switches, and the overlays."""

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
                hint='from measured efforts: a column of external torque, and an arrow at each hand',
            )  # fmt: skip
            self._rings_box = gui.add_checkbox(
                'torque rings',
                True,
                hint='the total as a share of the limit: blue to red, three quarters of a ring at the limit',
            )
            self._mass_box = gui.add_checkbox('centre of mass', False, hint='of all links, in the base frame')
            self._axes_box = gui.add_checkbox('link axes', False, hint='x red, y green, z blue, at each origin')
            self._collision_box = gui.add_checkbox('collision shapes', False, hint='what the links collide as, in red')

    def add_looks(self, gui: viser.GuiApi, views: Views) -> None:
        """Add buttons for views from the sides."""
        with self._folder:
            looks = gui.add_button_group('look', tuple(LOOKS), hint='where to look from, at all of the robot')

        def turned(event: Any) -> None:
            if event.client is not None:
                views.turn(event.client, self._figure.points, LOOKS[event.target.value])

        looks.on_click(turned)

    @property
    def observing(self) -> bool:
        """Whether external torques are switched on."""
        return bool(self._pushes_box.value)

    @property
    def has_rings(self) -> bool:
        """Whether rings of torque are shown."""
        return self._rings.any and bool(self._rings_box.value)

    def draw(self, q: Array, latest: LatestMessages) -> None:
        """Draw the enabled overlays at joint positions (n)."""
        self._rings.show(latest.torques.get('total') if self._rings_box.value else None)
        for handle in (self._mass, self._mass_label):  # the label is visible through the body around the marker
            if handle.visible != self._mass_box.value:
                handle.visible = self._mass_box.value
            if self._mass_box.value:
                handle.position = self._dynamics.center_of_mass(q)
        self._figure.show_axes(self._axes_box.value)
        if self._collision_box.value != self._collision_shown:
            self._collision_shown = self._collision_box.value
            self._figure.show_collision(self._collision_shown)
