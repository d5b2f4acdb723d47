"""Torque in three dimensions: an arc about each joint's axis, as long and as coloured as its share of the limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import viser

from ..core.spatial import Array
from ..robot.robot import Joint, Robot
from .camera import frame_of
from .figure import Figure, node_of

POINTS = 24  # of an arc
WHOLE = 1.5 * np.pi  # rad: the arc of a joint at its limit
LOW, HALF, FULL = np.array([34, 139, 230]), np.array([240, 180, 30]), np.array([220, 38, 38])
STEPS = 50  # of the limit: an arc is drawn anew only when it is longer or shorter by one, for that is dear


class Rings:
    """One arc for each joint whose limit is known, on its link; for a joint that slides a bar along its axis."""

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

    def show(self, torque: Array | None) -> None:
        """Draw torques (n), or nothing."""
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
    """Return the radius (m) of an arc that is not hidden in the links on both sides of a joint."""
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
    """Return red, green, blue (0 to 255) of a share of a limit: blue, at half yellow, red from the limit on."""
    size = min(abs(share), 1.0)
    low, high, part = (LOW, HALF, 2 * size) if size < 0.5 else (HALF, FULL, 2 * size - 1)
    return np.asarray(low + (high - low) * part).round().astype(int)
