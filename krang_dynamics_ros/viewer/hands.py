"""A hand on the page: a ball that one drags to pull it, and the arrow of the wrench on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import viser

from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.dynamics import Dynamics
from .pulls import Pulls

RADIUS = 0.07  # m: of the ball, at most
ARROW = 0.012  # m/N: beyond the ball, which is 1 / stiffness of a pull away
NOTICEABLE = 0.5  # N: a smaller force shows no arrow
BALL, PULLED, IDLE = (255, 140, 26), (220, 60, 20), (150, 150, 150)
WRENCH = (192, 38, 211)  # as the column of the bars


class Hand:
    """One end effector in the scene. Positions and forces are in the base's axes, m and N."""

    def __init__(
        self, scene: viser.SceneApi, dynamics: Dynamics, name: str, link: str, pulls: Pulls,
        *, size: float, gripped: Callable[[str], None],
    ) -> None:  # fmt: skip
        """Draw it into the scene of a robot of some size (m); `gripped` is told the link when somebody grips it."""
        self.name, self.link = name, link
        self._dynamics, self._pulls, self._gripped = dynamics, pulls, gripped
        self._radius = min(RADIUS, 0.08 * size)
        self._grip: Array = np.zeros(3)  # from the mouse to the ball's middle
        self._ball = scene.add_icosphere(
            f'/hands/{name}', radius=self._radius, color=IDLE, opacity=0.85, cast_shadow=False
        )
        thick = self._radius / RADIUS
        self._arrow = scene.add_arrows(
            f'/wrenches/{name}', np.array([[[0, 0, 0], [0, 0, 1.0]]]), WRENCH, visible=False,
            shaft_radius=0.014 * thick, head_radius=0.034 * thick, head_length=0.08 * thick,
        )  # fmt: skip
        self._label = scene.add_label(f'/labels/{name}', '', anchor='bottom-center')
        self._ball.on_drag(self._on_drag)

    async def _on_drag(self, event: viser.SceneNodeDragEvent[viser.IcosphereHandle]) -> None:
        if event.phase == 'end' or not self._pulls.allowed:
            self._pulls.let_go(event.client_id)
            return
        if event.phase == 'start':  # where the ball is gripped makes no force
            self._grip = np.array(self._ball.position) - np.array(event.start_position)
            self._gripped(self.link)
            self._pulls.grip(event.client_id, self.link, np.zeros(3), np.array(event.end_position) + self._grip)
        else:
            self._pulls.move(event.client_id, np.array(event.end_position) + self._grip)

    def show(self, q: Array, reading: Wrench | None, up: Array) -> None:
        """Draw it at joint positions q, with what its sensor reads."""
        _, origin = self._dynamics.pose(q, self.link)
        pull = self._pulls.of_link(self.link)
        middle = origin if pull is None else pull.target
        self._ball.position = middle
        self._ball.color = IDLE if not self._pulls.allowed else BALL if pull is None else PULLED
        self._label.position = middle + 1.4 * self._radius * up
        words = self._draw_arrow(q, origin, reading) or ('drag me' if self._pulls.allowed else '')
        if self._label.text != words:
            self._label.text = words

    def _draw_arrow(self, q: Array, origin: Array, reading: Wrench | None) -> str:
        """Draw the force on the hand and return its words, or nothing if there is hardly any."""
        strength = 0.0 if reading is None else float(np.linalg.norm(reading.force))
        self._arrow.visible = strength > NOTICEABLE
        if reading is None or strength <= NOTICEABLE:
            return ''
        rotation, _ = self._dynamics.pose(q, reading.axes or self.link)
        tip = origin + rotation @ np.asarray(reading.force) * ARROW
        self._arrow.points = np.array([[origin, tip]], dtype=np.float32)
        turning = float(np.linalg.norm(reading.moment))
        return f'{strength:.0f} N' + (f', {turning:.1f} N m' if turning > 0.1 else '')
