"""The robot in the scene, moved by its joint positions."""

from __future__ import annotations

import numpy as np
import viser
from viser import transforms

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from .shapes import Shape

JOINT_BALL = 0.02  # m: what stands for a link that shows no shape
FLOOR = (222, 226, 232)


def quaternion(rotation: Array) -> Array:
    """Return w, x, y, z of a rotation (3, 3)."""
    return np.asarray(transforms.SO3.from_matrix(rotation).wxyz)


class Figure:
    """A robot drawn of its shapes; of balls at its links' origins where it has none that can be drawn."""

    def __init__(self, scene: viser.SceneApi, dynamics: Dynamics, shapes: list[Shape]) -> None:
        self._dynamics = dynamics
        self._links = {name: scene.add_frame(f'/robot/{name}', show_axes=False) for name in dynamics.link_names}
        for k, shape in enumerate(shapes or [_ball(name) for name in dynamics.link_names]):
            _draw(scene, f'/robot/{shape.link}/{k}', shape)
        self.pose(np.zeros(dynamics.n))
        middle, size = self.box
        floor = min([_lowest(shape) for shape in shapes if shape.link == dynamics.base], default=middle[2] - 1.3 * size)
        scene.add_grid(
            '/floor', infinite_grid=True, position=(0.0, 0.0, floor), plane_color=FLOOR, plane_opacity=1.0,
            shadow_opacity=0.3, fade_distance=12.0, cell_color=(205, 210, 217), section_color=(180, 186, 195),
        )  # fmt: skip

    def pose(self, q: Array) -> None:
        """Put every link where joint positions (n) put it."""
        for name, frame in self._links.items():
            rotation, origin = self._dynamics.pose(q, name)
            frame.wxyz, frame.position = quaternion(rotation), origin

    @property
    def box(self) -> tuple[Array, float]:
        """The middle (3) of where the links are now, and how far (m) they are from it."""
        origins = np.array([frame.position for frame in self._links.values()])
        middle = (origins.min(axis=0) + origins.max(axis=0)) / 2
        return middle, max(0.3, float(np.linalg.norm(origins - middle, axis=1).max()))


def _ball(link: str) -> Shape:
    return Shape(link, 'sphere', (JOINT_BALL,), np.eye(3), np.zeros(3), (0.3, 0.4, 0.6, 1.0))


def _lowest(shape: Shape) -> float:
    return float(shape.position[2]) - (min(shape.size[0], shape.reach) if shape.kind != 'box' else shape.size[2] / 2)


def _draw(scene: viser.SceneApi, name: str, shape: Shape) -> None:
    red, green, blue, opacity = shape.color
    place = {
        'color': (red, green, blue),
        'opacity': None if opacity >= 1 else opacity,
        'wxyz': quaternion(shape.rotation),
        'position': shape.position,
    }
    if shape.kind == 'box':
        scene.add_box(name, dimensions=shape.size, **place)  # type: ignore[arg-type]
    elif shape.kind == 'cylinder':
        scene.add_cylinder(name, radius=shape.size[0], height=shape.size[1], **place)  # type: ignore[arg-type]
    else:
        scene.add_icosphere(name, radius=shape.size[0], **place)  # type: ignore[arg-type]
