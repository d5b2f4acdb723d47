"""How much a mesh file unfolds to, counted before it is unfolded: a few bytes can stand for a shape a million times."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from xml.etree import ElementTree as ET

from ..core.errors import ArgumentError

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
