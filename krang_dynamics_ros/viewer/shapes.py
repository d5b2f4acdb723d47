"""What a robot looks like, and how far and how hard its joints go: read from a URDF text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

import numpy as np

from ..core.spatial import Array, rotation_from_rpy

Kind = Literal['box', 'cylinder', 'sphere']
GREY = (0.6, 0.62, 0.65, 1.0)


@dataclass(frozen=True)
class Shape:
    """One visual of a link, in the link's axes. Size (m): a box's edges; radius and length; or radius."""

    link: str
    kind: Kind
    size: tuple[float, ...]
    rotation: Array
    position: Array
    color: tuple[float, ...]  # red, green, blue, opacity: 0 to 1

    @property
    def reach(self) -> float:
        """The radius (m) of a ball about its middle that holds it."""
        if self.kind == 'box':
            return float(np.linalg.norm(self.size)) / 2
        return math.hypot(self.size[0], self.size[1] / 2) if self.kind == 'cylinder' else self.size[0]


@dataclass(frozen=True)
class Bounds:
    """A joint's limits: where it can be (rad or m), and what its motor can give (N m or N); None where unknown."""

    lower: float | None
    upper: float | None
    effort: float | None


def shapes_of(urdf: str) -> list[Shape]:
    """Return the boxes, cylinders and balls of a URDF. What is no such thing, meshes and nonsense, is passed over."""
    root = ET.fromstring(urdf)  # noqa: S314 (expat reads no external entities and bounds internal ones)
    named = {material.get('name'): _color(material) for material in root.findall('material')}
    return [shape for link in root.findall('link') for shape in _shapes(link, named)]


def _shapes(link: ET.Element, named: dict[str | None, tuple[float, ...] | None]) -> Iterator[Shape]:
    for visual in link.findall('visual'):
        sized = _size(visual.find('geometry'))
        if sized is None:
            continue
        origin, material = visual.find('origin'), visual.find('material')
        place, turn = (np.array(_numbers(origin, key, 3) or [0.0] * 3) for key in ('xyz', 'rpy'))
        color = None if material is None else _color(material) or named.get(material.get('name'))
        yield Shape(link.get('name', ''), *sized, rotation_from_rpy(turn), place, color or GREY)


def _size(geometry: ET.Element | None) -> tuple[Kind, tuple[float, ...]] | None:
    for shape in [] if geometry is None else geometry:
        radius, length = _numbers(shape, 'radius', 1), _numbers(shape, 'length', 1)
        if shape.tag == 'box' and (edges := _numbers(shape, 'size', 3)):
            return 'box', edges
        if shape.tag == 'cylinder' and radius and length:
            return 'cylinder', radius + length
        if shape.tag == 'sphere' and radius:
            return 'sphere', radius
    return None


def _color(material: ET.Element) -> tuple[float, ...] | None:
    rgba = _numbers(material.find('color'), 'rgba', 4)
    return rgba and tuple(min(max(x, 0.0), 1.0) for x in rgba)


def bounds_of(urdf: str) -> dict[str, Bounds]:
    """Return the bounds of every joint that moves, by name."""
    joints = ET.fromstring(urdf).findall('joint')  # noqa: S314 (as above)
    return {joint.get('name', ''): _bounds(joint) for joint in joints if joint.get('type') != 'fixed'}


def _bounds(joint: ET.Element) -> Bounds:
    limit = joint.find('limit')
    if limit is None:
        return Bounds(None, None, None)
    lower, upper, effort = (_numbers(limit, key, 1, default='0') for key in ('lower', 'upper', 'effort'))
    strongest = effort[0] if effort and effort[0] > 0 else None
    if joint.get('type') == 'continuous' or not lower or not upper or lower >= upper:
        return Bounds(None, None, strongest)
    return Bounds(lower[0], upper[0], strongest)


def _numbers(element: ET.Element | None, key: str, count: int, default: str = '') -> tuple[float, ...] | None:
    """Return the finite numbers of an attribute, or None if they are not so many."""
    words = ('' if element is None else element.get(key, default)).split()
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        return None
    return numbers if len(numbers) == count and all(map(math.isfinite, numbers)) else None
