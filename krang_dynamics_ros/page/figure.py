"""The robot in the scene, moved by its joint positions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import viser
from viser import transforms

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..robot.mesh_files import Y_UP_TO_Z_UP, MeshBounds, MeshFiles, is_y_up_intended, read_mesh
from ..robot.robot import Robot, Shape
from .camera import frame_of

GREY, COLLISION = (0.6, 0.62, 0.65, 1.0), (0.9, 0.3, 0.2, 0.35)
LIT, COAT = (245, 158, 11), 0.75  # colour of highlighted links and rows; opacity of the highlight over a coloured mesh
TRIPPED = (220, 38, 38)  # colour of the links of a joint that a fault names
STICK = (0.3, 0.4, 0.6, 1.0)  # of links without a shape
FLOOR, CELLS, SECTIONS = (128, 134, 142), (150, 156, 164), (130, 136, 145)  # visible in light and dark mode
AXES = np.array([0.08, 0.003, 0.004])  # length, radius, radius of the origin, of the robot's size
HANGING, AHEAD = 0.8, 0.2  # how far an arm hangs down, and in front of its joint, of its length from joint to joint
LIFTED = 0.25  # how far a hand is lifted, of that length
CORNERS = np.array(list(itertools.product((False, True), repeat=3)))


def node_of(link: str) -> str:
    """Return the scene name of a link; a slash would make it the child of another node."""
    return f'/robot/{link.replace("/", "|")}'


def quaternion(rotation: Array) -> Array:
    """Return w, x, y, z of a rotation (3, 3)."""
    return np.asarray(transforms.SO3.from_matrix(rotation).wxyz)


@dataclass
class Drawn:
    """A shape in the scene: its link, the corners (8, 3) of a box about it in the link's axes, and its handle.

    A mesh with colours of its own is highlighted by a `coat`, a second mesh that is created at the first use.
    """

    link: str
    corners: Array
    handle: Any
    coat: Callable[[], Any] | None = None


class Figure:
    """A robot drawn by its shapes, or by sticks from joint to joint for links without drawable shapes."""

    def __init__(self, scene: viser.SceneApi, robot: Robot, dynamics: Dynamics, meshes: MeshFiles, up: Array) -> None:
        """Draw it, and a floor perpendicular to `up`, a unit vector (3) in the axes of the base."""
        self._scene, self._dynamics = scene, dynamics
        self._read = cache(lambda name: read_mesh(meshes.find(name)))
        self._turned = is_y_up_intended(robot, self._bounds)
        self._links = {link.name: scene.add_frame(node_of(link.name), show_axes=False) for link in robot.links}
        self.missing: list[str] = []  # reasons of meshes that are not drawn
        self.visual = [drawn for link in robot.links for drawn in self._draw_all(link.name, link.visual, 'visual')]
        bare = {link.name for link in robot.links} - {drawn.link for drawn in self.visual}
        self.visual += [
            drawn for link, shapes in _sticks(robot, bare).items() for drawn in self._draw_all(link, shapes, 'stick')
        ]
        self._robot = robot
        self._collision: list[Drawn] | None = None
        self._lit: list[tuple[Any, Any]] = []  # highlighted handles, with their own colour
        self.pose(np.zeros(dynamics.n))
        self._add_floor(robot, up)

    def _bounds(self, name: str) -> MeshBounds:
        mesh = self._read(name)
        return MeshBounds(mesh.bounds, mesh.metadata['y_up'])

    def _draw_all(self, link: str, shapes: Sequence[Shape], kind: str) -> Iterator[Drawn]:
        for k, shape in enumerate(shapes):
            if drawn := self._try(link, shape, f'{node_of(link)}/{kind}_{k}'):
                yield drawn

    def _try(self, link: str, shape: Shape, name: str) -> Drawn | None:
        try:
            return self._draw(link, shape, name)
        except ArgumentError as error:
            self.missing.append(str(error))
            return None

    def _draw(self, link: str, shape: Shape, name: str) -> Drawn:
        red, green, blue, opacity = shape.rgba or GREY
        place = {'wxyz': quaternion(shape.rotation), 'position': shape.position}
        paint = {'color': (red, green, blue), 'opacity': None if opacity >= 1 else opacity}
        if shape.kind == 'mesh':
            return self._draw_mesh(link, shape, name, place, paint)
        if shape.kind == 'box':
            handle: Any = self._scene.add_box(name, dimensions=shape.size, **place, **paint)  # type: ignore[arg-type]
            half = np.array(shape.size) / 2
        elif shape.kind == 'sphere':
            handle = self._scene.add_icosphere(name, radius=shape.size[0], **place, **paint)  # type: ignore[arg-type]
            half = np.full(3, shape.size[0])
        else:  # the length of a capsule includes both caps
            long = shape.size[1] + (2 * shape.size[0] if shape.kind == 'capsule' else 0)
            handle = self._scene.add_cylinder(name, shape.size[0], long, **place, **paint)  # type: ignore[arg-type]
            half = np.array([shape.size[0], shape.size[0], long / 2])
        return Drawn(link, _corners(shape, -half, half), handle)

    def _draw_mesh(self, link: str, shape: Shape, name: str, place: dict[str, Any], paint: dict[str, Any]) -> Drawn:
        mesh = self._read(shape.mesh).copy()
        if self._turned and mesh.metadata['y_up']:
            mesh.apply_transform(np.pad(Y_UP_TO_Z_UP, (0, 1)) + np.diag([0.0, 0.0, 0.0, 1.0]))
        mesh.apply_scale(shape.size)
        corners = _corners(shape, *mesh.bounds)
        if shape.rgba is not None:
            handle: Any = self._scene.add_mesh_simple(name, mesh.vertices, mesh.faces, **place, **paint)
            return Drawn(link, corners, handle)

        @cache
        def coat() -> Any:
            look: dict[str, Any] = {'color': LIT, 'opacity': COAT, 'cast_shadow': False, **place}
            return self._scene.add_mesh_simple(f'{name}_coat', mesh.vertices, mesh.faces, **look)

        return Drawn(link, corners, self._scene.add_mesh_trimesh(name, mesh, **place), coat)

    def _add_floor(self, robot: Robot, up: Array) -> None:
        heights = self.points @ up
        base = [_lowest(shape, up) for shape in robot.link_of[robot.base].visual if shape.kind != 'mesh']
        floor = min(base, default=float(heights.min()) - (0.0 if self._stands(robot) else 0.3 * float(np.ptp(heights))))
        self._scene.set_up_direction(up)
        self._scene.add_grid(
            '/floor', infinite_grid=True, position=floor * up, wxyz=quaternion(frame_of(up)), plane_color=FLOOR,
            plane_opacity=0.25, shadow_opacity=0.3, fade_distance=12.0, cell_color=CELLS, section_color=SECTIONS,
        )  # fmt: skip

    def _stands(self, robot: Robot) -> bool:
        return any(drawn.link == robot.base for drawn in self.visual) and bool(robot.link_of[robot.base].visual)

    def pose(self, q: Array) -> None:
        """Move every link to its pose at joint positions (n)."""
        for name, frame in self._links.items():
            rotation, origin = self._dynamics.pose(q, name)
            frame.wxyz, frame.position = quaternion(rotation), origin

    def pose_of(self, link: str) -> tuple[Array, Array]:
        """Return rotation (3, 3) and origin (3) of a link as drawn now."""
        frame = self._links[link]
        rotation = transforms.SO3(np.asarray(frame.wxyz)).as_matrix()
        return np.asarray(rotation, dtype=float), np.asarray(frame.position)

    def light(self, colors: Mapping[str, tuple[int, int, int]]) -> None:
        """Draw links in the given colours, by link; draw all others in their own."""
        for handle, color in self._lit:
            if color is None:
                handle.visible = False
            else:
                handle.color = color
        self._lit = []
        for drawn in self.visual:
            if drawn.link in colors:
                handle = drawn.coat() if drawn.coat else drawn.handle
                self._lit.append((handle, None if drawn.coat else tuple(handle.color)))
                handle.color, handle.visible = colors[drawn.link], True

    def show_axes(self, shown: bool) -> None:
        """Show the axes of every link; or hide them."""
        for frame in self._links.values():
            if frame.show_axes != shown:
                frame.axes_length, frame.axes_radius, frame.origin_radius = (self.size * AXES).tolist()
                frame.show_axes = shown

    def show_collision(self, shown: bool) -> None:
        """Show or hide the collision shapes."""
        if self._collision is None and shown:
            shapes = {link.name: tuple(map(_as_collision, link.collision)) for link in self._robot.links}
            self._collision = [drawn for link in shapes for drawn in self._draw_all(link, shapes[link], 'collision')]
        for drawn in self._collision or ():
            drawn.handle.visible = shown

    @property
    def points(self) -> Array:
        """Corners (m, 3) of boxes around all shapes of the robot, as drawn now."""
        corners = []
        for drawn in self.visual:
            rotation, origin = self.pose_of(drawn.link)
            corners.append(origin + drawn.corners @ rotation.T)
        return np.concatenate(corners)

    def reach(self, links: Sequence[str], up: Array) -> Array:
        """Return points (m, 3) to which links are pulled, and to which they fall if nothing holds them.

        They are above the link, below the first joint that is its own, and in front of that: stops keep an arm from
        hanging straight.
        """
        chains = {
            link: [j.child for j in self._robot.chain(link) if j.moves and j.kind != 'prismatic'] for link in links
        }
        points = [np.empty((0, 3))]
        for link, chain in chains.items():
            others = {child for other in chains.keys() - {link} for child in chains[other]}
            if own := [child for child in chain if child not in others]:
                places = [self.pose_of(child)[1] for child in (*own, link)]
                length = sum(float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(places))
                below = places[0] - HANGING * length * up
                ahead = below + AHEAD * length * _level(places[-1] - places[0], up)
                points.append(np.array([below, ahead, places[-1] + LIFTED * length * up]))
        return np.concatenate(points)

    def depth(self, link: str, together: Collection[str]) -> float:
        """Return a bound (m) on how deep the origin of a link is in the shapes of links that move with it."""
        point = self.pose_of(link)[1]
        inside = [0.0]
        for drawn in self.visual:
            if drawn.link in together:
                rotation, origin = self.pose_of(drawn.link)
                low, high = drawn.corners.min(axis=0), drawn.corners.max(axis=0)
                local = rotation.T @ (point - origin)
                if (low <= local).all() and (local <= high).all():
                    inside.append(float((high - low).min()) / 2)
        return max(inside)

    @property
    def size(self) -> float:
        """Diagonal of the robot (m), as drawn now."""
        return max(0.1, float(np.linalg.norm(np.ptp(self.points, axis=0))))


def _level(vector: Array, up: Array) -> Array:
    """Return the horizontal unit vector (3) of a vector; zero if that is vertical."""
    flat = vector - (vector @ up) * up
    size = float(np.linalg.norm(flat))
    return flat / size if size > 1e-6 else np.zeros(3)


def _corners(shape: Shape, low: Array, high: Array) -> Array:
    """Return the corners (8, 3), in the link's axes, of a box from low to high (3) in the shape's."""
    return np.asarray(shape.position + np.where(CORNERS, high, low) @ shape.rotation.T)


def _as_collision(shape: Shape) -> Shape:
    return Shape(shape.kind, shape.size, shape.position, shape.rotation, COLLISION, shape.mesh)


def _sticks(robot: Robot, bare: set[str]) -> dict[str, list[Shape]]:
    """Return shapes for links without any, by link: a ball, and a stick to each joint on it."""
    lengths = [float(np.linalg.norm(joint.position)) for joint in robot.joints]
    thick = min(0.02, max(0.004, 0.1 * max(lengths, default=0.1)))
    sticks = {link: [Shape('sphere', (thick,), np.zeros(3), np.eye(3), STICK)] for link in sorted(bare)}
    for joint, length in zip(robot.joints, lengths, strict=True):
        if joint.parent in bare and length > thick:
            turn = frame_of(joint.position / length)
            sticks[joint.parent].append(Shape('cylinder', (thick / 2, length), joint.position / 2, turn, STICK))
    return sticks


def _lowest(shape: Shape, up: Array) -> float:
    """Return the lowest coordinate (m) of a shape of the base, along `up`."""
    local = np.abs(shape.rotation.T @ up)
    if shape.kind == 'box':
        reach = float(local @ shape.size) / 2
    elif shape.kind == 'sphere':
        reach = shape.size[0]
    else:
        reach = shape.size[0] * math.hypot(local[0], local[1]) + shape.size[1] / 2 * float(local[2])
    return float(shape.position @ up) - reach
