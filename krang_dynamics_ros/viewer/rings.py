"""Torque in three dimensions: an arc about each joint's axis, as long and as coloured as its share of the limit."""

from __future__ import annotations

import numpy as np
import viser

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..robot.robot import Joint, Robot
from .camera import frame_of

POINTS = 24  # of an arc
WHOLE = 1.5 * np.pi  # rad: the arc of a joint at its limit
LOW, HALF, FULL = np.array([34, 139, 230]), np.array([240, 180, 30]), np.array([220, 38, 38])
QUIET = 0.01  # of the limit: less shows no arc


class Rings:
    """One arc for each joint whose limit is known; for a joint that slides a bar along its axis."""

    def __init__(self, scene: viser.SceneApi, robot: Robot, dynamics: Dynamics, size: float) -> None:
        """Prepare them for a robot of some size (m)."""
        self._dynamics, self._radius = dynamics, 0.05 * size
        self._joints = robot.moving_joints
        self.shown = False
        self._lines = {
            joint.name: scene.add_line_segments(
                f'/torque/{joint.name}', np.zeros((POINTS, 2, 3)), (0, 0, 0), thickness=5.0, visible=False
            )
            for joint in self._joints
            if joint.limits and joint.limits.effort
        }

    def show(self, q: Array, torque: Array | None) -> None:
        """Draw torques (n) at joint positions (n)."""
        for k, joint in enumerate(self._joints):
            lines = self._lines.get(joint.name)
            if lines is None or joint.limits is None or not joint.limits.effort:
                continue
            share = 0.0 if torque is None or not self.shown else float(torque[k]) / joint.limits.effort
            visible = abs(share) > QUIET
            if lines.visible != visible:
                lines.visible = visible
            if visible:
                lines.points = self._arc(q, joint, share).astype(np.float32)
                lines.colors = np.broadcast_to(color(share), (POINTS, 2, 3)).astype(np.uint8)

    def _arc(self, q: Array, joint: Joint, share: float) -> Array:
        rotation, origin = self._dynamics.pose(q, joint.child)
        along = np.linspace(0, np.clip(share, -1, 1), POINTS + 1)[:, None]
        if joint.kind == 'prismatic':
            points = along * 4 * self._radius * joint.axis
        else:
            frame = frame_of(joint.axis)
            angle = along * WHOLE
            points = self._radius * (np.cos(angle) * frame[:, 0] + np.sin(angle) * frame[:, 1])
        points = origin + points @ rotation.T
        return np.stack([points[:-1], points[1:]], axis=1)


def color(share: float) -> Array:
    """Return red, green, blue (0 to 255) of a share of a limit: blue, at half yellow, red from the limit on."""
    size = min(abs(share), 1.0)
    low, high, part = (LOW, HALF, 2 * size) if size < 0.5 else (HALF, FULL, 2 * size - 1)
    return np.asarray(low + (high - low) * part).round().astype(int)
