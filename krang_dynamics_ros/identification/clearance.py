"""Whether a motion keeps clear of the floor, of what stands still and of itself, by the robot file's simple shapes.

Every shape counts as the box around it, every link by its collision shapes, or by its visual ones if it has none. The
floor is a plane across gravity at the lowest point of what stands still. The first link of each chain always touches
what carries it, and is held against the floor alone. Moving links are held against each other from the third joint
between them on: nearer ones fill each other's corners, which boxes around them take for touching.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from ..equations.frames import all_in_base, all_local
from ..robot.robot import Link, Robot, Shape

MARGIN = 0.03  # m, all round
NEIGHBOURS = 2  # joints between moving links whose boxes may touch


class Box(NamedTuple):
    """Boxes in the base's axes: centres (states, 3), axes as columns (states, 3, 3), half sizes (3)."""

    centre: Array
    axes: Array
    half: Array


class Clearance:
    """The shapes of a robot, of which those that stand still are known beforehand."""

    def __init__(self, robot: Robot) -> None:
        """Take a robot whose joints that stand still are fixed (`regressor.held`)."""
        self._robot = robot
        moved = {link.name for link in robot.links if any(joint.moves for joint in robot.chain(link.name))}
        first = {joint.child for joint in robot.moving_joints if joint.parent not in moved}
        self._free = [link for link in robot.links if link.name in moved]
        self._touching = first
        self._still = self._boxes([link for link in robot.links if link.name not in moved], np.zeros((1, robot.n)))
        self._up = -robot.gravity / (np.linalg.norm(robot.gravity) or 1.0)
        self._floor = min((float(_lowest(box, self._up)[0]) for _, box in self._still), default=-np.inf)

    def keeps(self, q: Array) -> bool:
        """Tell whether all states (states, n) keep clear."""
        boxes = self._boxes(self._free, q)
        for link, box in boxes:
            if (_lowest(box, self._up) < self._floor + MARGIN).any():
                return False
            if link not in self._touching and any(_overlap(box, other).any() for _, other in self._still):
                return False
        for k, (link, box) in enumerate(boxes):
            for other, near in boxes[k + 1 :]:
                if self._apart(link, other) > NEIGHBOURS and _overlap(box, near).any():
                    return False
        return True

    def _apart(self, link: str, other: str) -> int:
        """Return how many moving joints are between two links."""
        one, two = ({j.name for j in self._robot.chain(x) if j.moves} for x in (link, other))
        return len(one ^ two)

    def _boxes(self, links: Sequence[Link], q: Array) -> list[tuple[str, Box]]:
        positions = {name: q[:, k] for k, name in enumerate(self._robot.joint_names)}
        placed = all_in_base(self._robot, all_local(self._robot, positions))
        boxes = []
        for link in links:
            T = placed[link.name]
            A = np.stack([np.stack([np.broadcast_to(x, len(q)) for x in row], -1) for row in T.A], axis=-2)
            P = np.stack([np.broadcast_to(x, len(q)) for x in T.P], axis=-1)
            for shape in link.collision or link.visual:
                boxes.append((link.name, Box(P + A @ shape.position, A @ shape.rotation, _half(shape))))  # noqa: PERF401
        return boxes


def _half(shape: Shape) -> Array:
    if shape.kind == 'box':
        return np.asarray(shape.size, dtype=float) / 2
    radius = shape.size[0]
    return np.array([radius, radius, shape.size[1] / 2 if shape.kind == 'cylinder' else radius])


def _lowest(box: Box, up: Array) -> Array:
    """Return the height (states) of the lowest corner."""
    return np.asarray(box.centre @ up - np.abs(np.swapaxes(box.axes, 1, 2) @ up) @ box.half)


def _overlap(a: Box, b: Box) -> Array:
    """Tell of every state whether two boxes come nearer than the margin: no axis parts them (Gottschalk, 1996)."""
    n = len(a.centre)
    A, B = a.axes, np.broadcast_to(b.axes, a.axes.shape)
    crossed = np.cross(A[:, :, :, None], B[:, :, None, :], axis=1).reshape(n, 3, 9)
    axes = np.concatenate([A, B, crossed], axis=2)
    length = np.linalg.norm(axes, axis=1)
    apart = np.abs(np.einsum('sxk,sx->sk', axes, b.centre - a.centre))
    reach = np.einsum('sxk,sxi->ski', axes, A), np.einsum('sxk,sxi->ski', axes, B)
    size = np.abs(reach[0]) @ (a.half + MARGIN) + np.abs(reach[1]) @ b.half
    return np.asarray(~((apart > size) & (length > 1e-6)).any(axis=1))
