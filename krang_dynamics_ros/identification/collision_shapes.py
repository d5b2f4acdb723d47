"""Shapes of a robot's links as coal geometries, in the frames of its rigid bodies; floor, keep-out boxes and tools.

Links without a moving joint between them are one rigid body. Body 0 is fixed. The frame of another body is that of the
link behind its joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import coal
import numpy as np

from ..core.errors import ArgumentError, KrangDynamicsError, unknown_name
from ..core.spatial import Array
from ..equations.frames import IDENTITY, Transform, all_in_base, all_local, composed
from ..robot.mesh_files import (
    Y_UP_TO_Z_UP,
    MeshBounds,
    MeshFiles,
    check_mesh_data,
    is_y_up,
    is_y_up_intended,
    metres_per_unit,
)
from ..robot.robot import Robot, Shape

MAX_SIZE = 20.0  # of the robot's reach: a mesh in mm that is read as m is 1000 times too large
MIN_SIZE = 1e-3  # of the robot's reach: a mesh in m that is scaled to mm is below it
FLOOR = 'floor'


@dataclass(frozen=True, eq=False)
class Box:
    """A solid box in the axes of a link (a tool), or of the base where no link is given (a keep-out box)."""

    name: str
    centre: Array  # (3), m
    size: Array  # (3), m, whole edges
    link: str = ''


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """A solid or a mesh, placed in the frame of its body, with its convex hull and a sphere about it."""

    name: str  # of the link or box, or FLOOR
    body: int
    geometry: Any  # coal.CollisionGeometry
    hull: Any  # coal.ShapeBase that contains the geometry; the same object where that is convex
    placement: Any  # coal.Transform3s
    centre: Array  # (3), in the body's frame
    radius: float  # inf: the floor, all below `centre`
    obstacle: bool = False  # floor, keep-out box or tool, not a link


class Bodies:
    """The rigid bodies of a robot, and their poses at joint positions."""

    def __init__(self, robot: Robot) -> None:
        """Number the bodies outward from 0; each moving joint begins a new body."""
        self._robot = robot
        self.roots = [robot.base]
        self.of_link = {robot.base: 0}
        self.offset = {robot.base: IDENTITY}  # of each link in the frame of its body
        for joint in robot.outward:
            if joint.moves:
                self.of_link[joint.child] = len(self.roots)
                self.roots.append(joint.child)
                self.offset[joint.child] = IDENTITY
            else:
                self.of_link[joint.child] = self.of_link[joint.parent]
                local = Transform(joint.rotation.tolist(), joint.position.tolist())
                self.offset[joint.child] = composed(self.offset[joint.parent], local)

    def poses(self, q: Array) -> tuple[Array, Array]:
        """Return rotations (bodies, states, 3, 3) and origins (bodies, states, 3) at positions q (states, n)."""
        positions = {name: q[:, k] for k, name in enumerate(self._robot.joint_names)}
        placed = all_in_base(self._robot, all_local(self._robot, positions))
        rotations, origins = np.empty((len(self.roots), len(q), 3, 3)), np.empty((len(self.roots), len(q), 3))
        for k, link in enumerate(self.roots):
            for i in range(3):
                origins[k, :, i] = placed[link].P[i]
                for j in range(3):
                    rotations[k, :, i, j] = placed[link].A[i][j]
        return rotations, origins

    def reach(self) -> float:
        """Return the length of the longest chain of joints, m."""
        length = {self._robot.base: 0.0}
        for joint in self._robot.outward:
            length[joint.child] = length[joint.parent] + float(np.linalg.norm(joint.position))
        return max(length.values())


def connected_links(robot: Robot) -> set[frozenset[str]]:
    """Return pairs of links that a joint connects; links without a shape count as part of the joint."""
    shown = {link.name for link in robot.links if link.collision or link.visual}
    pairs = set()
    for link in shown - {robot.base}:
        above = robot.joint_above[link].parent
        while above not in shown and above != robot.base:
            above = robot.joint_above[above].parent
        pairs.add(frozenset((link, above)))
    return pairs


class Shapes:
    """All shapes of a robot and about it: links, tools, keep-out boxes, floor."""

    def __init__(
        self,
        robot: Robot,
        meshes: MeshFiles,
        boxes: Sequence[Box] = (),
        floor: float | None = None,
        has_floor: bool = True,
        without_missing: bool = False,
    ) -> None:
        """Read the shapes of a robot in which only the joints of a path move (`regressor.with_fixed_joints`).

        Args:
            robot: the robot; of a link without collision shapes, the visual ones count.
            meshes: where its meshes are.
            boxes: tools and keep-out boxes.
            floor: height along the upward direction in the base's frame, m; None: the lowest point of the
                links that no joint moves.
            has_floor: whether there is a floor.
            without_missing: continue without meshes that cannot be read, even without any shape.

        Raises:
            KrangDynamicsError: a mesh is missing or of an impossible size, or no moving link has a shape.
        """
        self.bodies, self.connected = Bodies(robot), connected_links(robot)
        reader = _Reader(robot, self.bodies, meshes)
        self.links = reader.read()
        self.missing = reader.missing
        self.boxes = [_box(robot, self.bodies, box) for box in boxes]
        _refuse_sizes(self.links, self.bodies.reach())
        if not without_missing:
            self._refuse_missing(robot)
        self.bare = self._bare(robot)
        self.floor = self._floor(robot, floor) if has_floor else None

    def _refuse_missing(self, robot: Robot) -> None:
        if self.missing:
            faults = '; '.join(f'{link}: {", ".join(why)}' for link, why in self.missing.items())
            raise KrangDynamicsError(
                f'{robot.name}: the shape of {len(self.missing)} link(s) is unknown: {faults}. Name the folder of the '
                'meshes or of their package (--meshes, or mesh_folders in the arm file), or continue without them '
                '(--without-missing)'
            )
        if not any(shape.body for shape in self.links):
            raise KrangDynamicsError(
                f'{robot.name}: no link that moves has a shape, so no distance is known; give the links shapes in the '
                'robot file, or continue without them (--without-missing)'
            )

    def _bare(self, robot: Robot) -> list[str]:
        """Return moving links with mass on bodies without any shape."""
        shown = {shape.body for shape in self.links}
        body = self.bodies.of_link
        return [link.name for link in robot.links if link.inertia.m and body[link.name] not in shown | {0}]

    def _floor(self, robot: Robot, height: float | None) -> CollisionShape | None:
        gravity = float(np.linalg.norm(robot.gravity))
        if not gravity:
            return None
        up = -robot.gravity / gravity
        if height is None:
            still = [shape for shape in self.links if shape.body == 0]
            if not still:
                return None
            height = min(lowest(shape, up) for shape in still)
        plane = coal.Halfspace(up, height)
        return CollisionShape(FLOOR, 0, plane, plane, coal.Transform3s.Identity(), height * up, np.inf, obstacle=True)

    @property
    def names(self) -> list[str]:
        """Names of the links that have a shape, of the boxes and of the floor."""
        return list(dict.fromkeys(shape.name for shape in (*self.links, *self._around)))

    @property
    def _around(self) -> list[CollisionShape]:
        return [*([self.floor] if self.floor else []), *self.boxes]

    def pairs(self) -> Iterator[tuple[CollisionShape, CollisionShape]]:
        """Yield pairs of shapes on different bodies, except those of links that a joint connects."""
        for k, first in enumerate(self.links):
            for second in self.links[k + 1 :]:
                if first.body != second.body and frozenset((first.name, second.name)) not in self.connected:
                    yield first, second
        for k, first in enumerate(self._around):
            for second in [*self._around[k + 1 :], *self.links]:
                if first.body != second.body:
                    yield first, second


def lowest(shape: CollisionShape, up: Array) -> float:
    """Return the height (m) of a shape's lowest point in its body's frame."""
    plane, result = coal.Halfspace(up, 0.0), coal.DistanceResult()
    compute = coal.ComputeDistance(plane, shape.hull)
    return float(compute(coal.Transform3s.Identity(), shape.placement, coal.DistanceRequest(), result))


class _Reader:
    """Reads the shapes of links; collects the reasons for meshes that cannot be read."""

    def __init__(self, robot: Robot, bodies: Bodies, meshes: MeshFiles) -> None:
        self._robot, self._bodies, self._meshes = robot, bodies, meshes
        self._loader = coal.MeshLoader()
        self.missing: dict[str, list[str]] = {}  # reasons by link

    def read(self) -> list[CollisionShape]:
        """Return the shapes of all links: collision shapes, or else visual shapes."""
        shapes = [(link.name, shape) for link in self._robot.links for shape in link.collision or link.visual]
        return [found for found in (self._try(*item) for item in shapes) if found]

    def _try(self, link: str, shape: Shape) -> CollisionShape | None:
        try:
            return self._shape(link, shape)
        except ArgumentError as error:
            self.missing.setdefault(link, []).append(str(error))
            return None

    def _shape(self, link: str, shape: Shape) -> CollisionShape:
        if shape.kind != 'mesh':
            geometry = hull = _solid(shape)
        else:
            if self._is_y_up(shape.mesh) and self._y_up_meant:  # rotated before it is scaled, as the page does
                size = tuple(np.abs(Y_UP_TO_Z_UP.T) @ shape.size)
                shape = replace(shape, size=size, rotation=shape.rotation @ Y_UP_TO_Z_UP)
            geometry = self._mesh(shape.mesh, np.array(shape.size))
            hull = geometry.convex
        return _placed(link, self._bodies.of_link[link], geometry, hull, self._bodies.offset[link], shape)

    def _mesh(self, name: str, scale: Array) -> Any:
        file = self._meshes.find(name)
        data, kind = file.read_bytes(), file.suffix.lower()
        try:
            check_mesh_data(data, kind)
            mesh = self._loader.load(str(file), scale * metres_per_unit(data, kind))  # coal ignores the unit
            mesh.buildConvexHull(True, 'Qt')
        except (RuntimeError, ValueError) as error:
            raise ArgumentError(f'{name[:200]!r} cannot be read: {str(error)[:100]}') from None
        return mesh

    def _is_y_up(self, name: str) -> bool:
        return name.lower().endswith('.dae') and is_y_up(self._meshes.find(name).read_bytes())

    @cached_property
    def _y_up_meant(self) -> bool:
        return is_y_up_intended(self._robot, self._bounds)

    def _bounds(self, name: str) -> MeshBounds:
        box = self._mesh(name, np.ones(3)).aabb_local
        return MeshBounds(np.array([box.min_, box.max_]), self._is_y_up(name))


def _solid(shape: Shape) -> Any:
    if shape.kind == 'box':
        return coal.Box(*shape.size)
    if shape.kind == 'sphere':
        return coal.Sphere(*shape.size)
    return (coal.Capsule if shape.kind == 'capsule' else coal.Cylinder)(*shape.size)


def _box(robot: Robot, bodies: Bodies, box: Box) -> CollisionShape:
    link = box.link or robot.base
    if link not in robot.link_of:
        raise unknown_name('link', link, robot.link_of)
    solid = coal.Box(*box.size)
    shape = Shape('box', tuple(box.size), box.centre, np.eye(3))
    placed = _placed(box.name, bodies.of_link[link], solid, solid, bodies.offset[link], shape)
    return replace(placed, obstacle=True)


def _placed(name: str, body: int, geometry: Any, hull: Any, offset: Transform, shape: Shape) -> CollisionShape:
    A, P = np.array(offset.A, dtype=float), np.array(offset.P, dtype=float)
    rotation, position = A @ shape.rotation, A @ shape.position + P
    geometry.computeLocalAABB()
    centre = rotation @ geometry.aabb_center + position
    placement = coal.Transform3s(rotation, position)
    return CollisionShape(name, body, geometry, hull, placement, centre, float(geometry.aabb_radius))


def _refuse_sizes(shapes: Sequence[CollisionShape], reach: float) -> None:
    """Refuse meshes that are 1000 times too large or too small."""
    for shape in shapes:
        size = 2 * shape.radius
        if shape.geometry is not shape.hull and not MIN_SIZE * reach < size < MAX_SIZE * max(reach, 0.05):
            raise KrangDynamicsError(
                f'{shape.name}: its mesh is {size:.3g} m large, must be between {MIN_SIZE * reach:.3g} and '
                f'{MAX_SIZE * max(reach, 0.05):.3g} m for a robot of {reach:.3g} m; correct its scale in the URDF '
                '(0.001 for a mesh in millimetres)'
            )
