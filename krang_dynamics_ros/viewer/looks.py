"""What a robot looks like, and how far and how hard its joints go: read from a URDF text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

import numpy as np

from ..spatial import Array, rotation_from_rpy

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
    """Return the boxes, cylinders and balls of a URDF that has been checked. Meshes are passed over."""
    root = ET.fromstring(urdf)  # noqa: S314 (expat reads no external entities and bounds internal ones)
    named = {material.get('name'): _color(material) for material in root.findall('material')}
    return [shape for link in root.findall('link') for shape in _shapes(link, named)]


def _shapes(link: ET.Element, named: dict[str | None, tuple[float, ...] | None]) -> Iterator[Shape]:
    for visual in link.findall('visual'):
        sized = _size(visual.find('geometry'))
        if sized is None:
            continue
        origin, material = visual.find('origin'), visual.find('material')
        xyz, rpy = ('', '') if origin is None else (origin.get('xyz', ''), origin.get('rpy', ''))
        color = None if material is None else _color(material) or named.get(material.get('name'))
        place = np.array(_numbers(xyz) or [0.0] * 3)
        turn = rotation_from_rpy(np.array(_numbers(rpy) or [0.0] * 3))
        yield Shape(link.get('name', ''), *sized, turn, place, color or GREY)


def _size(geometry: ET.Element | None) -> tuple[Kind, tuple[float, ...]] | None:
    for shape in [] if geometry is None else geometry:
        if shape.tag == 'box':
            return 'box', _numbers(shape.get('size', ''))
        if shape.tag == 'cylinder':
            return 'cylinder', (float(shape.get('radius', 0)), float(shape.get('length', 0)))
        if shape.tag == 'sphere':
            return 'sphere', (float(shape.get('radius', 0)),)
    return None


def _color(material: ET.Element) -> tuple[float, ...] | None:
    color = material.find('color')
    return None if color is None else _numbers(color.get('rgba', ''))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(word) for word in text.split())


def bounds_of(urdf: str) -> dict[str, Bounds]:
    """Return the bounds of every joint that moves, by name."""
    joints = ET.fromstring(urdf).findall('joint')  # noqa: S314 (as above)
    return {joint.get('name', ''): _bounds(joint) for joint in joints if joint.get('type') != 'fixed'}


def _bounds(joint: ET.Element) -> Bounds:
    limit = joint.find('limit')
    if limit is None:
        return Bounds(None, None, None)
    turns_on = joint.get('type') == 'continuous'
    lower, upper = (None if turns_on else float(limit.get(key, 0)) for key in ('lower', 'upper'))
    return Bounds(lower, upper, float(limit.get('effort', 0)) or None)
