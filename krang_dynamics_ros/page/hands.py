"""The hands in the scene: a ball to drag, and arrows of the measured and the estimated force."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser

from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.dynamics import Dynamics
from .pulls import Pulls

LONG = 0.012  # m/N: longer than 1 / stiffness of a pull, so that the arrow extends beyond the ball
NOTICEABLE = 0.5  # N: smaller forces have no arrow


class ForceArrow:
    """An arrow in the scene."""

    def __init__(self, scene: viser.SceneApi, name: str, color: tuple[int, int, int], thick: float) -> None:
        self._arrow = scene.add_arrows(
            name, np.array([[[0, 0, 0], [0, 0, 1.0]]]), color, visible=False,
            shaft_radius=0.014 * thick, head_radius=0.034 * thick, head_length=0.08 * thick,
        )  # fmt: skip

    def show(self, origin: Array, rotation: Array, wrench: Wrench | None, beside: float = 0.0) -> str:
        """Draw a force with its axes (3, 3) and origin (3), shifted sideways by `beside` (m); return its text."""
        force = None if wrench is None else rotation @ np.asarray(wrench.force)
        strength = 0.0 if force is None else float(np.linalg.norm(force))
        if self._arrow.visible != (strength > NOTICEABLE):
            self._arrow.visible = strength > NOTICEABLE
        if wrench is None or force is None or strength <= NOTICEABLE:
            return ''
        start = origin + beside * _across(force / strength)
        self._arrow.points = np.array([[start, start + force * LONG]], dtype=np.float32)
        turning = float(np.linalg.norm(wrench.moment))
        return f'{strength:.0f} N' + (f', {turning:.1f} N m' if turning > 0.1 else '')


def _across(direction: Array) -> Array:
    """Return a unit vector (3) perpendicular to `direction` and z; to x instead, if `direction` is nearly z."""
    level = np.cross(direction, [0.0, 0.0, 1.0])
    if np.linalg.norm(level) < 0.3:  # unstable for a force nearly along z
        level = np.cross(direction, [1.0, 0.0, 0.0])
    return np.asarray(level / np.linalg.norm(level))


RADIUS = 0.07  # m: of a ball on a large robot; up to twice this where a shape hides it
OUT = 1.2  # radius of a ball by the depth of its centre
BALL, PULLED, IDLE = (255, 140, 26), (220, 60, 20), (150, 150, 150)
WRENCH, ESTIMATE = (192, 38, 211), (101, 163, 13)  # colours of the columns `wrench` and `external`
BESIDE = 0.09  # m: from the arrow of the sensor to that of the estimate


def ball_radius(size: float, depth: float) -> float:
    """Return the radius (m) of a ball on a robot of a size (m), `depth` (m) deep in a shape that it sticks out of."""
    usual = min(RADIUS, 0.04 * size)
    return min(max(usual, OUT * depth), 2 * usual)


class Hand:
    """A hand in the scene. Positions and forces are in the axes of the base, m and N."""

    def __init__(
        self, scene: viser.SceneApi, dynamics: Dynamics, name: str, link: str, pulls: Pulls,
        *, radius: float, gripped: Callable[[str], None],
    ) -> None:  # fmt: skip
        """Draw it with a ball of this radius (m); `gripped` is called with the link when a drag starts."""
        self.name, self.link = name, link
        self._dynamics, self._pulls, self._gripped = dynamics, pulls, gripped
        self._radius = radius
        self._grip: Array = np.zeros(3)  # from the pointer to the centre of the ball
        self._ball = scene.add_icosphere(  # opaque: behind viser's floor, a translucent ball vanishes
            f'/hands/{name}', radius=self._radius, color=IDLE, cast_shadow=False
        )
        self._thick = self._radius / RADIUS
        self._read = ForceArrow(scene, f'/wrenches/{name}', WRENCH, self._thick)
        self._estimated = ForceArrow(scene, f'/estimates/{name}', ESTIMATE, self._thick)
        self._label = scene.add_label(f'/labels/{name}', '', anchor='bottom-center')
        self._ball.on_drag(self._on_drag)

    async def _on_drag(self, event: viser.SceneNodeDragEvent[viser.IcosphereHandle]) -> None:
        if event.phase == 'end' or not self._pulls.allowed:
            self._pulls.let_go(event.client_id)
            return
        if event.phase == 'start':  # no force at the start, wherever the ball is gripped
            self._grip = np.array(self._ball.position) - np.array(event.start_position)
            self._gripped(self.link)
            self._pulls.grip(event.client_id, self.link, np.zeros(3), np.array(event.end_position) + self._grip)
        else:
            self._pulls.move(event.client_id, np.array(event.end_position) + self._grip)

    def show(self, q: Array, reading: Wrench | None, estimate: Wrench | None, pulled: float, up: Array) -> None:
        """Draw it at joint positions q, with the readings of its sensor, the estimate, and the pull (N)."""
        _, origin = self._dynamics.pose(q, self.link)
        pull = self._pulls.of_link(self.link)
        middle = origin if pull is None else pull.target
        self._ball.position = middle
        self._ball.color = IDLE if not self._pulls.allowed else BALL if pull is None else PULLED
        self._label.position = middle + 1.4 * self._radius * up
        words = self._draw_arrows(q, origin, reading, estimate) or (f'{pulled:.0f} N' if pull else '')
        words = words or ('drag me' if self._pulls.allowed else '')
        if self._label.text != words:
            self._label.text = words

    def _draw_arrows(self, q: Array, origin: Array, reading: Wrench | None, estimate: Wrench | None) -> str:
        """Draw the forces on the hand; return their text, '' if they are small."""
        read = self._read.show(origin, self._axes(q, reading), reading)
        estimated = self._estimated.show(origin, self._axes(q, estimate), estimate, BESIDE * self._thick)
        return ', '.join(part for part in (read, estimated and f'estimated {estimated}') if part)

    def _axes(self, q: Array, wrench: Wrench | None) -> Array:
        return self._dynamics.pose(q, (wrench and wrench.axes) or self.link)[0]
