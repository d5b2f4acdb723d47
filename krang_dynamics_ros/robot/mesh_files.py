"""Mesh files of a URDF: search, limits of size, up axis, reading."""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from .robot import Robot, Shape

MAX_INSTANCES = 2000  # shapes in a file; a link of a robot has a few dozen
MAX_FACES = 2_000_000  # of all instances together; a binary STL of the largest size has 1.2 million
MAX_NODES = 10_000  # of a file, with or without shapes
MAX_ELEMENTS = 20_000_000  # of all arrays that a file declares: numbers, vectors or matrices
MAX_DEPTH = 50  # nodes within each other
_GLB_HEADER = 20  # bytes before the JSON text


def check_mesh_data(data: bytes, kind: str) -> None:
    """Raise `ArgumentError` if a `.glb` or `.dae` file is broken, or has too many shapes, nodes or array elements.

    Files of other kinds have one shape.
    """
    check = {'.glb': _check_glb, '.dae': _check_dae}.get(kind)
    try:
        if check:
            check(data)
    except ArgumentError:
        raise
    except Exception as error:  # of any kind: an untrusted file
        raise ArgumentError(f'it is not a {kind} file ({str(error)[:100]})') from None


def check_scene(instances: int, faces: int) -> None:
    """Raise `ArgumentError` if a mesh has too many shapes or triangles."""
    _refuse_more('shapes', instances, MAX_INSTANCES)
    _refuse_more('faces', faces, MAX_FACES)


def _refuse_more(what: str, count: int, most: int) -> None:
    if count > most:
        raise ArgumentError(f'it has {count} {what}, must have at most {most}')


def _check_glb(data: bytes) -> None:
    if len(data) < _GLB_HEADER:
        return  # not a glb file: the reader reports it
    (length,) = struct.unpack_from('<I', data, 12)
    tree = json.loads(data[_GLB_HEADER : _GLB_HEADER + length])
    nodes = tree.get('nodes', [])
    _refuse_more('nodes', len(nodes), MAX_NODES)
    elements = sum(max(0, int(accessor.get('count', 0))) for accessor in tree.get('accessors', []))
    _refuse_more('array elements', elements, MAX_ELEMENTS)

    def parts(k: int) -> tuple[int, list[int]]:
        return int('mesh' in nodes[k]), nodes[k].get('children', [])

    roots = [k for scene in tree.get('scenes', []) for k in scene.get('nodes', [])]
    _refuse_more('shapes', _count_shapes(roots, parts), MAX_INSTANCES)


def _check_dae(data: bytes) -> None:
    if b'<!ENTITY' in data:
        raise ArgumentError('it declares entities, must have none: they can expand without limit')
    root = ET.fromstring(data)  # noqa: S314 (of the size of a mesh file, without entities)
    nodes = [element for element in root.iter() if _tag(element) in ('node', 'visual_scene')]
    _refuse_more('nodes', len(nodes), MAX_NODES)
    by_name = {node.get('id', ''): k for k, node in enumerate(nodes)}
    number_of = {node: k for k, node in enumerate(nodes)}

    def parts(k: int) -> tuple[int, list[int]]:
        inner = [*nodes[k]]
        linked = [item.get('url', '')[1:] for item in inner if _tag(item) == 'instance_node']
        shapes = sum(_tag(item) in ('instance_geometry', 'instance_controller') for item in inner)
        children = [number_of[item] for item in inner if item in number_of]
        return shapes, children + [by_name[url] for url in linked if url in by_name]

    scenes = [k for k, node in enumerate(nodes) if _tag(node) == 'visual_scene']
    _refuse_more('shapes', _count_shapes(scenes, parts), MAX_INSTANCES)


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition('}')[2]


def _count_shapes(roots: list[int], parts: Callable[[int], tuple[int, list[int]]]) -> int:
    """Return the number of shapes below nodes. `parts` gives the shapes and child nodes of a node.

    Raises:
        ArgumentError: nodes contain themselves, or are deeper than `MAX_DEPTH`.
    """
    counts: dict[int, int] = {}
    levels: dict[int, int] = {}  # below a node

    def count(node: int, depth: int) -> int:
        if depth + levels.get(node, 0) > MAX_DEPTH:
            raise ArgumentError(f'its nodes are nested more than {MAX_DEPTH} deep, must be at most {MAX_DEPTH}')
        if node not in counts:
            shapes, inner = parts(node)
            counts[node] = shapes + sum(count(child, depth + 1) for child in inner)
            levels[node] = max((1 + levels[child] for child in inner), default=0)
        return counts[node]

    return sum(count(root, 0) for root in roots)


Y_UP_TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
JOINT_MARGIN = 0.01  # m around a mesh, within which a joint counts as inside


class MeshBounds(NamedTuple):
    """Lowest and highest coordinates (2, 3) of a mesh, m, and whether its file declares y as the up axis."""

    bounds: Array
    y_up: bool


def is_y_up_intended(robot: Robot, read: Callable[[str], MeshBounds]) -> bool:
    """Return whether more joints lie in the y-up meshes if these are rotated to z up than if they are not.

    `read` gives the bounds of a mesh by its name in the URDF, or raises `ArgumentError`.
    """
    carried: dict[str, list[Array]] = {}
    for joint in robot.joints:
        carried.setdefault(joint.parent, []).append(joint.position)
    raw = turned = 0
    for link in robot.links:
        for shape, bounds in _y_up_shapes(link.visual if link.name in carried else (), read):
            raw += _joints_in(bounds, np.eye(3), shape, carried[link.name])
            turned += _joints_in(bounds, Y_UP_TO_Z_UP, shape, carried[link.name])
    return turned > raw


def _y_up_shapes(shapes: Sequence[Shape], read: Callable[[str], MeshBounds]) -> Iterator[tuple[Shape, Array]]:
    for shape in shapes:
        if shape.kind != 'mesh' or not shape.mesh.lower().endswith('.dae'):
            continue
        try:
            mesh = read(shape.mesh)
        except ArgumentError:
            continue  # the reader of the mesh reports the reason
        if mesh.y_up:
            yield shape, mesh.bounds


def _joints_in(bounds: Array, turn: Array, shape: Shape, joints: list[Array]) -> int:
    """Return the number of joints (3, in the link's axes) inside the bounding box of a mesh."""
    low, high = np.sort(bounds @ turn.T * shape.size, axis=0)
    at = (np.array(joints) - shape.position) @ shape.rotation
    return int(np.all((at > low - JOINT_MARGIN) & (at < high + JOINT_MARGIN), axis=1).sum())


KINDS = ('.dae', '.stl', '.obj', '.glb')
MAX_MESH_BYTES = 60_000_000  # bytes of one file
FOLDERS_ABOVE = 5  # parent folders in which a package is searched
Y_UP = re.compile(rb'<up_axis>\s*Y_UP')
UNIT = re.compile(rb'<unit\b[^>]*\bmeter\s*=\s*["\']([0-9.eE+-]+)["\']')


class MeshFiles:
    """Search of mesh files in package folders."""

    def __init__(self, folders: Sequence[str] = (), near: str | Path = '') -> None:
        """Search the package paths of ROS first, then these folders and their parents, then those of a robot file.

        Raises:
            ArgumentError: one of `folders` is no folder.
        """
        given = [Path(folder).expanduser() for folder in folders if folder]
        for folder in given:
            if not folder.is_dir():
                raise ArgumentError(f'folder of meshes: {folder}, must be a folder that exists')
        self._near = [folder.resolve() for folder in (*given, *([Path(near).expanduser().parent] if near else []))]
        self._ros = [Path(part) for part in os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep) if part]
        self._share = [
            Path(part, 'share') for part in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if part
        ]

    def find(self, name: str) -> Path:
        """Return the file of a mesh name of a URDF, or raise `ArgumentError`."""
        for path in self._candidates(name):
            try:
                file = path.resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                continue
            if file.is_file():
                return _allowed(file, name)
        raise ArgumentError(f'{name[:200]!r} is not found')

    def has(self, name: str) -> bool:
        """Return whether the file of a mesh name of a URDF is found, and may be read."""
        try:
            return self.find(name).is_file()
        except ArgumentError:
            return False

    def _candidates(self, name: str) -> Iterator[Path]:
        if name.startswith(('package://', 'model://')):
            package, _, inside = name.split('://', 1)[1].partition('/')
            yield from (folder / package / inside for folder in (*self._share, *self._ros))
            yield from (folder / inside for folder in self._ros if folder.name == package)
            for folder in self._near:
                for above in [folder, *folder.parents][: FOLDERS_ABOVE + 1]:
                    yield above / package / inside
                    if above.name == package:
                        yield above / inside
        elif name.startswith('file://'):
            yield Path(unquote(urlsplit(name).path))
        elif '://' not in name:
            yield from (folder / name for folder in (*self._near, Path('/')) if folder != Path('/') or name[:1] == '/')


def missing_meshes(robot: Robot, files: MeshFiles) -> list[str]:
    """Return the names of the meshes of a robot that are not found, each once."""
    shapes = [shape for link in robot.links for shape in (*link.visual, *link.collision) if shape.kind == 'mesh']
    return [name for name in dict.fromkeys(shape.mesh for shape in shapes) if not files.has(name)]


def _allowed(file: Path, name: str) -> Path:
    if file.suffix.lower() not in KINDS:
        raise ArgumentError(f'{name[:200]!r} is not a mesh, must be {", ".join(KINDS)}')
    if (size := file.stat().st_size) > MAX_MESH_BYTES:
        raise ArgumentError(f'{name[:200]!r} has {size} bytes, must be at most {MAX_MESH_BYTES}')
    return file


def metres_per_unit(data: bytes, kind: str) -> float:
    """Return the unit that a COLLADA file declares, m; 1 for other kinds, and for what is no positive number."""
    declared = UNIT.search(data[:20_000]) if kind == '.dae' else None
    try:
        unit = float(declared[1]) if declared else 1.0
    except ValueError:
        return 1.0
    return unit if 0 < unit < math.inf else 1.0


def is_y_up(data: bytes) -> bool:
    """Return whether a COLLADA file declares y as the up axis."""
    return bool(Y_UP.search(data[:20_000]))


def read_mesh(file: Path) -> Any:
    """Return a mesh (`trimesh.Trimesh`, m) with its own colours, or raise `ArgumentError`.

    Its metadata `y_up` is whether the file declares y as the up axis.
    """
    import trimesh  # noqa: PLC0415 (it comes with viser, and is slow to import)

    data, kind = file.read_bytes(), file.suffix.lower()
    try:
        check_mesh_data(data, kind)
        scene: Any = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], resolver=None)
        placed = [scene.graph[name][1] for name in scene.graph.nodes_geometry]
        check_scene(len(placed), sum(len(getattr(scene.geometry[shape], 'faces', ())) for shape in placed))
        loaded: Any = scene.to_mesh()
    except ModuleNotFoundError as error:
        raise ArgumentError(f'{file.name}: {error.name} is not on this machine; pip install pycollada') from None
    except Exception as error:  # four readers of other packages, on untrusted files
        raise ArgumentError(f'{file.name} cannot be read: {str(error)[:100]}') from None
    if not len(getattr(loaded, 'faces', ())):
        raise ArgumentError(f'{file.name} has no faces')
    loaded.apply_scale(metres_per_unit(data, kind))
    loaded.metadata['y_up'] = is_y_up(data)
    return loaded
