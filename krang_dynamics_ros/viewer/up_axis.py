"""Whether a robot's Collada meshes stand as their files say.

A file names an axis that is up. RViz does not care, and so most robots are drawn right if nobody does; some mean it.
The joints tell: they lie in the links that carry them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..robot.robot import Robot, Shape

TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # from y up to z up
NEAR = 0.01  # m: a joint so far from a mesh lies in it still
READ = Callable[[str], Any]  # a mesh (`trimesh.Trimesh`) by its name, with its `y_up`; or `ArgumentError`


def is_meant(robot: Robot, read: READ) -> bool:
    """Tell whether more joints lie in the meshes that say y is up if these are turned than if they are not."""
    carried: dict[str, list[Array]] = {}
    for joint in robot.joints:
        carried.setdefault(joint.parent, []).append(joint.position)
    raw = turned = 0
    for link in robot.links:
        for shape, mesh in _saying_so(link.visual if link.name in carried else (), read):
            raw += _joints_in(mesh.bounds, np.eye(3), shape, carried[link.name])
            turned += _joints_in(mesh.bounds, TURN, shape, carried[link.name])
    return turned > raw


def _saying_so(shapes: tuple[Shape, ...], read: READ) -> Iterator[tuple[Shape, Any]]:
    for shape in shapes:
        if shape.kind != 'mesh' or not shape.mesh.lower().endswith('.dae'):
            continue
        try:
            mesh = read(shape.mesh)
        except ArgumentError:
            continue  # whoever draws it says why
        if mesh.metadata['y_up']:
            yield shape, mesh


def _joints_in(bounds: Array, turn: Array, shape: Shape, joints: list[Array]) -> int:
    """Return how many joints (3, in the link's axes) lie in the box about a mesh."""
    low, high = np.sort(bounds @ turn.T * shape.size, axis=0)
    at = (np.array(joints) - shape.position) @ shape.rotation
    return int(np.all((at > low - NEAR) & (at < high + NEAR), axis=1).sum())
