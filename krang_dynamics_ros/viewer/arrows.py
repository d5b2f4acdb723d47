"""A wrench as an arrow: its force, from the point it acts on, in a colour that says who tells it."""

from __future__ import annotations

import numpy as np
import viser

from ..core.spatial import Array
from ..core.wrench import Wrench

LONG = 0.012  # m/N: beyond the ball, which is 1 / stiffness of a pull away
NOTICEABLE = 0.5  # N: a smaller force shows no arrow


class ForceArrow:
    """One arrow in the scene."""

    def __init__(self, scene: viser.SceneApi, name: str, color: tuple[int, int, int], thick: float) -> None:
        self._arrow = scene.add_arrows(
            name, np.array([[[0, 0, 0], [0, 0, 1.0]]]), color, visible=False,
            shaft_radius=0.014 * thick, head_radius=0.034 * thick, head_length=0.08 * thick,
        )  # fmt: skip

    def show(self, origin: Array, rotation: Array, wrench: Wrench | None, beside: float = 0.0) -> str:
        """Draw a force in axes of a rotation (3, 3), so far (m) beside a point (3); return it in words, if it shows."""
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
    """Return a unit vector (3) at right angles to one, level if that can be."""
    level = np.cross(direction, [0.0, 0.0, 1.0])
    if np.linalg.norm(level) < 0.3:  # or it would swing about when the force is nearly upright
        level = np.cross(direction, [1.0, 0.0, 0.0])
    return np.asarray(level / np.linalg.norm(level))
