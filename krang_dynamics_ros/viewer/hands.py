"""A hand on the page: a ball that one drags to push it, and the arrow of the wrench on it."""

from __future__ import annotations

import numpy as np
import viser

from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.dynamics import Dynamics

STIFFNESS = 150.0  # N/m: of the spring between the hand and where the ball is dragged to
DAMPING = 20.0  # N s/m: or the hand would swing about the mouse
STRONGEST = 100.0  # N: what a person leaning on it gives
ARROW = 0.012  # m/N: beyond the ball, which is 1 / STIFFNESS away
NOTICEABLE = 0.5  # N: a smaller force shows no arrow
BALL, PULLED, IDLE = (255, 140, 26), (220, 60, 20), (150, 150, 150)
WRENCH = (192, 38, 211)  # as the column of the bars


class Hand:
    """One end effector in the scene. Positions and forces are in the base's axes, m and N."""

    def __init__(self, scene: viser.SceneApi, dynamics: Dynamics, name: str, link: str) -> None:
        self.name, self.link = name, link
        self._dynamics = dynamics
        self._target: Array | None = None  # where the ball is dragged to
        self._grip: Array = np.zeros(3)  # from the mouse to the ball's middle
        self._by: int | None = None  # which client drags it
        self._enabled = False
        self._ball = scene.add_icosphere(f'/hands/{name}', radius=0.07, color=IDLE, opacity=0.85, cast_shadow=False)
        self._arrow = scene.add_arrows(
            f'/wrenches/{name}', np.array([[[0, 0, 0], [0, 0, 1.0]]]), WRENCH, visible=False,
            shaft_radius=0.014, head_radius=0.034, head_length=0.08,
        )  # fmt: skip
        self._label = scene.add_label(f'/labels/{name}', '', anchor='bottom-center')
        self._ball.on_drag(self._on_drag)

    async def _on_drag(self, event: viser.SceneNodeDragEvent[viser.IcosphereHandle]) -> None:
        if event.phase == 'end' or not self._enabled:
            self.let_go(event.client_id)
            return
        if event.phase == 'start':  # where the ball is gripped makes no force
            self._grip = np.array(self._ball.position) - np.array(event.start_position)
        self._target, self._by = np.array(event.end_position) + self._grip, event.client_id

    def let_go(self, client: int) -> None:
        """End a push, if this client gives one."""
        if self._by == client:
            self._target = self._by = None

    def push(self, q: Array, dq: Array) -> Array | None:
        """Return the force (3) in the hand's own axes that the world gives it now, or None if nobody drags."""
        target = self._target
        return None if target is None or not self._enabled else pull(self._dynamics, self.link, q, dq, target)

    def show(self, q: Array, reading: Wrench | None, *, can_be_pushed: bool) -> None:
        """Draw it at joint positions q, with what its sensor reads."""
        self._enabled = can_be_pushed
        _, origin = self._dynamics.pose(q, self.link)
        target = self._target if can_be_pushed else None
        self._ball.position = origin if target is None else target
        self._ball.color = IDLE if not can_be_pushed else BALL if target is None else PULLED
        self._label.position = (origin if target is None else target) + np.array([0.0, 0.0, 0.1])
        words = 'drag me' if can_be_pushed else ''
        words = self._draw_arrow(q, origin, reading) or words
        if self._label.text != words:
            self._label.text = words

    def _draw_arrow(self, q: Array, origin: Array, reading: Wrench | None) -> str:
        """Draw the force on the hand and return its words, or nothing if there is hardly any."""
        strength = 0.0 if reading is None else float(np.linalg.norm(reading.force))
        self._arrow.visible = strength > NOTICEABLE
        if reading is None or strength <= NOTICEABLE:
            return ''
        rotation, _ = self._dynamics.pose(q, reading.axes or self.link)
        tip = origin + rotation @ reading.force * ARROW
        self._arrow.points = np.array([[origin, tip]], dtype=np.float32)
        turning = float(np.linalg.norm(reading.moment))
        return f'{strength:.0f} N' + (f', {turning:.1f} N m' if turning > 0.1 else '')


def pull(dynamics: Dynamics, link: str, q: Array, dq: Array, target: Array) -> Array:
    """Return the force (3) in a link's axes of a spring to a point (3) in the base's axes, and of a damper.

    A velocity (n) that is not known counts as none. The force is never stronger than `STRONGEST`.
    """
    rotation, origin = dynamics.pose(q, link)
    velocity = dynamics.jacobian(q, link)[:3] @ np.nan_to_num(dq)
    force = STIFFNESS * (target - origin) - DAMPING * velocity
    return np.asarray(rotation.T @ force * min(1.0, STRONGEST / max(float(np.linalg.norm(force)), 1e-9)))
