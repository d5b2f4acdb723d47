"""Where the camera stands, so that all of a robot is seen, whatever the shape of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.spatial import Array

FIELD = 0.8  # rad: what the camera takes in from top to bottom
FILLED = 0.9  # of the picture's width or height
OBLIQUE = np.array([0.8, 0.5, 0.3])  # to the camera, along the horizontal directions and up
ALONG = np.array([0.85, 0.3, 0.3])  # the same, for a robot all of whose joints turn about one horizontal direction
ONE = 0.95  # a direction that has so much of all axes is the only one


@dataclass(frozen=True)
class Window:
    """The picture's size: width over height, and how much of it is covered from below (0 to 1)."""

    aspect: float = 1.0
    covered: float = 0.0


def frame_of(up: Array) -> Array:
    """Return rotation (3, 3): two horizontal directions and up. If up is z, it is the base's axes."""
    z = up / np.linalg.norm(up)
    x = _horizontal(np.eye(3)[(int(np.argmax(np.abs(z))) + 1) % 3], z)
    return np.column_stack([x, np.cross(z, x), z])


def to_camera(up: Array, axes: Sequence[Array] = ()) -> Array:
    """Return the direction (3) from which a robot shows most: half from its side.

    If all its joints turn about one horizontal axis, that is along this axis, with what is right on the right.
    """
    frame = frame_of(up)
    only = _only_axis(axes) if len(axes) else None
    if only is None or abs(only @ frame[:, 2]) > 1 - ONE:
        return np.asarray(frame @ OBLIQUE)
    x = _horizontal(only, frame[:, 2])
    right = np.cross(frame[:, 2], x)  # for who looks along -x
    x = x if right[np.argmax(np.abs(right))] > 0 else -x
    return np.asarray(np.column_stack([x, np.cross(frame[:, 2], x), frame[:, 2]]) @ ALONG)


def _only_axis(axes: Sequence[Array]) -> Array | None:
    """Return the one direction that all axes have, or None."""
    values, vectors = np.linalg.eigh(sum(np.outer(axis, axis) for axis in axes))
    return vectors[:, -1] if values[-1] > ONE * values.sum() else None


def _horizontal(vector: Array, up: Array) -> Array:
    flat = vector - up * (vector @ up)
    return np.asarray(flat / np.linalg.norm(flat))


def framed(points: Array, to_camera: Array, up: Array, window: Window) -> tuple[Array, Array]:
    """Return where the camera stands (3) and what it looks at (3) to see all points (m, 3), from a direction (3).

    A point is in the picture if |a - x| <= t (c + d): a its coordinate to the right (or up), c its depth, x and d the
    camera's, t the tangent of half the field. So d is at least A - x/t and B + x/t for two numbers A and B.
    """
    forward = -to_camera / np.linalg.norm(to_camera)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    above = np.cross(right, forward)
    a, b, c = points @ right, points @ above, points @ forward
    t = np.tan(FIELD / 2) * FILLED
    x, across = _between(a, c, t * window.aspect, t * window.aspect)
    y, along = _between(b, c, t, t * (1 - 2 * window.covered))
    d = max(across, along, 0.05 - float(c.min()))
    if d > along:  # room to spare: put it in the middle
        y = _middle(b, c, d, t, t * (1 - 2 * window.covered))
    if d > across:
        x = _middle(a, c, d, t * window.aspect, t * window.aspect)
    position = x * right + y * above - d * forward
    return position, position + forward * (d + float(np.median(c)))


def _between(a: Array, c: Array, t_over: float, t_under: float) -> tuple[float, float]:
    """Return the camera's coordinate, and its least distance, to have all points within."""
    over, under = float((a / t_over - c).max()), float((-a / t_under - c).max())
    x = (over - under) / (1 / t_over + 1 / t_under)
    return x, over - x / t_over


def _middle(a: Array, c: Array, d: float, t_over: float, t_under: float) -> float:
    """Return the middle of where the camera may be at a distance, all points being within."""
    return (float((a - t_over * (c + d)).max()) + float((a + t_under * (c + d)).min())) / 2
