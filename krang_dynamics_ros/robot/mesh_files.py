"""Meshes that a URDF names: where they are, whether they are small enough to load, which way is up, reading them."""

from __future__ import annotations

import io
import json
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
MAX_FACES = 2_000_000  # of all instances together: more than a file of the largest size has itself
MAX_NODES = 10_000  # of a file, those without a shape too
MAX_ELEMENTS = 20_000_000  # numbers, in all arrays that a file declares
MAX_DEPTH = 50  # nodes within each other
_GLB_HEADER = 20  # bytes before the JSON text


def check_unfolded(data: bytes, kind: str) -> None:
    """Raise `ArgumentError` if a file of this kind (`.glb`, `.dae`) places too many shapes; others place one."""
    if kind == '.glb':
        _check_glb(data)
    elif kind == '.dae':
        _check_dae(data)


def check_scene(instances: int, faces: int) -> None:
    """Raise `ArgumentError` if that are too many shapes or triangles to make one mesh of."""
    _refuse_more('shapes', instances, MAX_INSTANCES)
    _refuse_more('faces', faces, MAX_FACES)


def _refuse_more(what: str, count: int, most: int) -> None:
    if count > most:
        raise ArgumentError(f'it has {count} {what}, must have at most {most}')


def _check_glb(data: bytes) -> None:
    if len(data) < _GLB_HEADER:
        return  # no glb: for the reader to say
    (length,) = struct.unpack_from('<I', data, 12)
    tree = json.loads(data[_GLB_HEADER : _GLB_HEADER + length])
    nodes = tree.get('nodes', [])
    _refuse_more('nodes', len(nodes), MAX_NODES)
    _refuse_more('numbers', sum(int(one.get('count', 0)) for one in tree.get('accessors', [])), MAX_ELEMENTS)

    def parts(k: int) -> tuple[int, list[int]]:
        return int('mesh' in nodes[k]), nodes[k].get('children', [])

    roots = [k for scene in tree.get('scenes', []) for k in scene.get('nodes', [])]
    _refuse_more('shapes', _placed(roots, parts), MAX_INSTANCES)


def _check_dae(data: bytes) -> None:
    if b'<!ENTITY' in data:
        raise ArgumentError('it declares entities, must have none: they can unfold to anything')
    root = ET.fromstring(data)  # noqa: S314 (of the size of a mesh file, without entities)
    nodes = [one for one in root.iter() if _tag(one) in ('node', 'visual_scene')]
    _refuse_more('nodes', len(nodes), MAX_NODES)
    by_name = {one.get('id', ''): k for k, one in enumerate(nodes)}
    of = {one: k for k, one in enumerate(nodes)}

    def parts(k: int) -> tuple[int, list[int]]:
        inner = [*nodes[k]]
        linked = [one.get('url', '')[1:] for one in inner if _tag(one) == 'instance_node']
        shapes = sum(_tag(one) in ('instance_geometry', 'instance_controller') for one in inner)
        return shapes, [of[one] for one in inner if one in of] + [by_name[url] for url in linked if url in by_name]

    scenes = [k for k, one in enumerate(nodes) if _tag(one) == 'visual_scene']
    _refuse_more('shapes', _placed(scenes, parts), MAX_INSTANCES)


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition('}')[2]


def _placed(roots: list[int], parts: Callable[[int], tuple[int, list[int]]]) -> int:
    """Return how many shapes nodes place; `parts` tells those of one node, and the nodes in it. Each is counted once.

    Nodes that are within themselves, or deeper than `MAX_DEPTH`, are refused.
    """
    known: dict[int, int] = {}

    def count(node: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise ArgumentError(f'its nodes are more than {MAX_DEPTH} deep within each other, must be at most that')
        if node not in known:
            shapes, inner = parts(node)
            known[node] = shapes + sum(count(child, depth + 1) for child in inner)
        return known[node]

    return sum(count(root, 0) for root in roots)


TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # from y up to z up
NEAR = 0.01  # m: a joint so far from a mesh lies in it still


class MeshBounds(NamedTuple):
    """Lowest and highest coordinates (2, 3) of a mesh, m, and whether its file calls y the axis that is up."""

    bounds: Array
    y_up: bool


def is_y_up_meant(robot: Robot, read: Callable[[str], MeshBounds]) -> bool:
    """Tell whether more joints lie in the meshes that say y is up if these are turned than if they are not.

    `read` gives the bounds of a mesh by its name in the URDF, or raises `ArgumentError`.
    """
    carried: dict[str, list[Array]] = {}
    for joint in robot.joints:
        carried.setdefault(joint.parent, []).append(joint.position)
    raw = turned = 0
    for link in robot.links:
        for shape, bounds in _y_up_shapes(link.visual if link.name in carried else (), read):
            raw += _joints_in(bounds, np.eye(3), shape, carried[link.name])
            turned += _joints_in(bounds, TURN, shape, carried[link.name])
    return turned > raw


def _y_up_shapes(shapes: Sequence[Shape], read: Callable[[str], MeshBounds]) -> Iterator[tuple[Shape, Array]]:
    for shape in shapes:
        if shape.kind != 'mesh' or not shape.mesh.lower().endswith('.dae'):
            continue
        try:
            mesh = read(shape.mesh)
        except ArgumentError:
            continue  # the reader that needs the mesh itself gives the reason
        if mesh.y_up:
            yield shape, mesh.bounds


def _joints_in(bounds: Array, turn: Array, shape: Shape, joints: list[Array]) -> int:
    """Return how many joints (3, in the link's axes) lie in the box about a mesh."""
    low, high = np.sort(bounds @ turn.T * shape.size, axis=0)
    at = (np.array(joints) - shape.position) @ shape.rotation
    return int(np.all((at > low - NEAR) & (at < high + NEAR), axis=1).sum())


KINDS = ('.dae', '.stl', '.obj', '.glb')
MAX_MESH_BYTES = 60_000_000  # bytes of one file
FOLDERS_ABOVE = 5  # a package of a file is looked for so far above it
Y_UP = re.compile(rb'<up_axis>\s*Y_UP')
UNIT = re.compile(rb'<unit\b[^>]*\bmeter\s*=\s*["\']([0-9.eE+-]+)["\']')


class MeshFiles:
    """The folders in which packages are looked for."""

    def __init__(self, folders: Sequence[str] = ()) -> None:
        """Look in these folders and above them first, then where ROS has its packages."""
        self._near = [Path(folder).expanduser().resolve() for folder in folders]
        self._ros = [Path(part) for part in os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep) if part]
        self._share = [
            Path(part, 'share') for part in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if part
        ]

    def find(self, name: str) -> Path:
        """Return the file of a name as a URDF has it, or raise `ArgumentError` with what is wrong."""
        for path in self._candidates(name):
            try:
                found = path.resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                continue
            if found.is_file():
                return _allowed(found, name)
        raise ArgumentError(f'{name[:200]!r} is not found')

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


def _allowed(file: Path, name: str) -> Path:
    if file.suffix.lower() not in KINDS:
        raise ArgumentError(f'{name[:200]!r} is no mesh, must be {", ".join(KINDS)}')
    if (size := file.stat().st_size) > MAX_MESH_BYTES:
        raise ArgumentError(f'{name[:200]!r} has {size} bytes, must be {MAX_MESH_BYTES} at most')
    return file


def is_y_up(data: bytes) -> bool:
    """Tell whether a file (COLLADA) calls y the axis that is up."""
    return bool(Y_UP.search(data[:20_000]))


def read_mesh(file: Path) -> Any:
    """Return a mesh (`trimesh.Trimesh`, m) with its own colours, or raise `ArgumentError`.

    Its metadata say under `y_up` whether the file calls y the axis that is up.
    """
    import trimesh  # noqa: PLC0415 (it comes with viser, and takes its time)

    data, kind = file.read_bytes(), file.suffix.lower()
    try:
        check_unfolded(data, kind)
        scene: Any = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], resolver=None)
        placed = [scene.graph[name][1] for name in scene.graph.nodes_geometry]
        check_scene(len(placed), sum(len(getattr(scene.geometry[shape], 'faces', ())) for shape in placed))
        loaded: Any = scene.to_mesh()
    except ModuleNotFoundError as error:
        raise ArgumentError(f'{file.name}: {error.name} is not on this machine; pip install pycollada') from None
    except Exception as error:  # of a stranger's file, in four readers of others
        raise ArgumentError(f'{file.name} cannot be read: {str(error)[:100]}') from None
    if not len(getattr(loaded, 'faces', ())):
        raise ArgumentError(f'{file.name} has no faces')
    unit = UNIT.search(data[:20_000]) if kind == '.dae' else None
    if unit and 0 < float(unit[1]) < 1:
        loaded.apply_scale(float(unit[1]))
    loaded.metadata['y_up'] = is_y_up(data)
    return loaded
