"""Reading of robot descriptions (URDF)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np

from ..core.errors import DescriptionError, Fault, did_you_mean, fault, listed
from ..core.inertia import Inertia
from ..core.spatial import Array, frozen, rotation_from_rpy, symmetric, upper_triangle
from ..core.text import shown
from .mimic import Mimic, mimic_faults
from .motor_and_friction import Friction
from .robot import Description, Joint, JointKind, Limits, Link, Robot, Shape, ShapeKind
from .tree import Edge, mass_faults, tree_faults
from .urdf_writer import urdf_text
from .xml_reading import Reader, TooManyFaultsError, parse_xml

_SIZES: dict[ShapeKind, tuple[tuple[str, int], ...]] = {
    'box': (('size', 3),),
    'cylinder': (('radius', 1), ('length', 1)),
    'capsule': (('radius', 1), ('length', 1)),
    'sphere': (('radius', 1),),
}
Color = tuple[float, ...]


class ShapeReader:
    """Reader of the shapes of a URDF's links, with the colours of their materials."""

    def __init__(self, root: ET.Element, warnings: list[Fault]) -> None:
        self._warnings = warnings
        self._reader = Reader()  # its faults are warnings
        self._named: dict[str, Color] = {}
        for material in root.findall('material'):
            self._color(material, 'materials')

    def of(self, link: ET.Element, name: str) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Return the visual and the collision shapes of a link."""
        kinds = [
            [self._shape(element, f'links.{name}.{kind}[{k}]') for k, element in enumerate(link.findall(kind))]
            for kind in ('visual', 'collision')
        ]
        visual, collision = (tuple(shape for shape in shapes if shape is not None) for shapes in kinds)
        return visual, collision

    def _shape(self, element: ET.Element, path: str) -> Shape | None:
        color = self._color(element.find('material'), path)
        position, rotation = read_origin(self._reader, element, path)
        kind, size, mesh = self._geometry(element.find('geometry'), f'{path}.geometry')
        odd, self._reader.faults = self._reader.faults, []
        self._warnings += odd
        return None if odd or kind is None else Shape(kind, size, position, rotation, color, mesh)

    def _geometry(self, geometry: ET.Element | None, path: str) -> tuple[ShapeKind | None, tuple[float, ...], str]:
        shape = next(iter(() if geometry is None else geometry), None)
        if shape is None:
            return None, (), ''  # empty, or a shape that only a simulator knows
        if shape.tag == 'mesh':
            scale = self._reader.numbers(shape, 'scale', 3, f'{path}.mesh', '1 1 1')
            return 'mesh', tuple(scale.tolist()), self._mesh(shape, path)
        kind = next((kind for kind in _SIZES if kind == shape.tag), None)
        if kind is None:
            return None, (), ''
        numbers = [self._reader.numbers(shape, key, count, f'{path}.{kind}') for key, count in _SIZES[kind]]
        size = np.concatenate(numbers)
        if (size < 0).any():
            self._reader.faults.append(fault(f'{path}.{kind}', size.tolist(), 'must not be negative'))
        return kind, tuple(size.tolist()), ''

    def _mesh(self, shape: ET.Element, path: str) -> str:
        file = shape.get('filename', '')
        if not file.strip():
            self._reader.faults.append(Fault(f'{path}.mesh.filename', 'missing', 'must be a file'))
        return file

    def _color(self, material: ET.Element | None, path: str) -> Color | None:
        """Return a material's colour, its own or that of its name, clipped to 0 ... 1."""
        if material is None:
            return None
        name, color = material.get('name', ''), material.find('color')
        if color is None or 'rgba' not in color.attrib:
            return self._named.get(name)
        faults = len(self._reader.faults)
        rgba = self._reader.numbers(color, 'rgba', 4, f'{path}.material.color')
        if len(self._reader.faults) > faults:
            self._warnings.append(self._reader.faults.pop())
            return None
        clipped = tuple(np.clip(rgba, 0.0, 1.0).tolist())
        return self._named.setdefault(name, clipped) if name else clipped


KINDS: dict[str, JointKind] = {
    'revolute': 'revolute', 'continuous': 'revolute', 'prismatic': 'prismatic', 'fixed': 'fixed',
}  # fmt: skip
UNSUPPORTED_KINDS = ('floating', 'planar')
_INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
_NO_INERTIA = Inertia()
_ZERO = frozen([0.0, 0.0, 0.0])
_IDENTITY = frozen(np.eye(3))


def read_origin(reader: Reader, element: ET.Element | None, path: str) -> tuple[Array, Array]:
    """Return position and rotation of an element's <origin>, by default the identity."""
    origin = None if element is None else element.find('origin')
    if origin is None:
        return _ZERO, _IDENTITY
    position, rpy = (reader.numbers(origin, key, 3, f'{path}.origin', '0 0 0') for key in ('xyz', 'rpy'))
    return frozen(position), frozen(rotation_from_rpy(rpy)) if rpy.any() else _IDENTITY


def read_inertia(reader: Reader, link: ET.Element, name: str) -> Inertia:
    """Return a link's inertia, zero without an <inertial>; an impossible inertia gives a warning."""
    inertial, path = link.find('inertial'), f'links.{name}.inertial'
    if inertial is None:
        return _NO_INERTIA
    mass = reader.number(inertial.find('mass'), 'value', f'{path}.mass')
    com, turn = read_origin(reader, inertial, path)
    tensor = inertial.find('inertia')
    entries = np.array([reader.number(tensor, key, f'{path}.inertia') for key in _INERTIA])
    if mass < 0:
        reader.refuse(f'{path}.mass', mass, 'must not be negative')
    if not np.isfinite([mass, *com, *turn.flat, *entries]).all() or mass < 0:
        return _NO_INERTIA
    moments = turn @ symmetric(entries) @ turn.T
    body = Inertia.about_com(mass, com, symmetric(upper_triangle(moments)))
    impossible = '' if not (mass or entries.any()) else body.impossibility()
    if impossible:
        reader.warnings.append(fault(f'{path}.inertia', entries.tolist(), impossible))
    return body


def read_joint(reader: Reader, element: ET.Element, edge: Edge) -> Joint:
    """Return a joint; its faults go to the reader."""
    name, parent, child, _ = edge
    path, kind = f'joints.{name}', element.get('type', '')
    if kind in UNSUPPORTED_KINDS:
        reader.refuse(f'{path}.type', kind, _no_free_joint(child))
    elif kind not in KINDS:
        reader.refuse(f'{path}.type', kind, f'must be one of {", ".join(KINDS)}')
    position, rotation = read_origin(reader, element, path)
    if kind not in KINDS or kind == 'fixed':
        return Joint(name, 'fixed', parent, child, position, rotation, _ZERO)
    return Joint(
        name, KINDS[kind], parent, child, position, rotation,
        axis=_axis(reader, element.find('axis'), path),
        limits=_limits(reader, element, path),
        friction=_friction(reader, element.find('dynamics'), path),
        mimic=_mimic(reader, element.find('mimic'), path),
    )  # fmt: skip


def _no_free_joint(child: str) -> str:
    """Return the text of the fault of a floating or planar joint: what is wrong, what to try."""
    return f"is not supported, since the base is fixed; base_link '{child}' makes this link the base"


def _axis(reader: Reader, element: ET.Element | None, path: str) -> Array:
    axis = np.array([1.0, 0.0, 0.0]) if element is None else reader.numbers(element, 'xyz', 3, f'{path}.axis')
    largest = np.abs(axis).max()
    if largest == 0:
        reader.refuse(f'{path}.axis.xyz', axis.tolist(), 'must not be zero')
        return _ZERO
    axis = axis / largest  # first, or the square of a tiny one would be zero
    return frozen(axis / np.linalg.norm(axis))


def _limits(reader: Reader, element: ET.Element, path: str) -> Limits | None:
    """Return the limits. An effort or velocity of zero, or equal lower and upper limits, count as unknown.

    The lower and upper limits of a continuous joint are ignored. Simulators write the largest float for no limit, so
    limits may be that large.
    """
    limit, where = element.find('limit'), f'{path}.limit'
    if limit is None:
        return None
    effort, velocity, lower, upper = (
        reader.number(limit, key, where, '0', most=math.inf) for key in ('effort', 'velocity', 'lower', 'upper')
    )
    known = Limits(effort if effort > 0 else None, velocity if velocity > 0 else None)
    if lower < upper and element.get('type') != 'continuous':
        return replace(known, lower=lower, upper=upper)
    if lower > upper:
        reader.warnings.append(fault(f'{where}.lower', lower, f'is above upper ({upper:g}): both are ignored'))
    return known


def _friction(reader: Reader, dynamics: ET.Element | None, path: str) -> Friction:
    if dynamics is None:
        return Friction()
    numbers = {key: reader.number(dynamics, key, f'{path}.dynamics', '0') for key in ('damping', 'friction')}
    for key, number in numbers.items():
        if number < 0:
            reader.refuse(f'{path}.dynamics.{key}', number, 'must not be negative')
    return Friction(numbers['damping'], numbers['friction'])


def _mimic(reader: Reader, element: ET.Element | None, path: str) -> Mimic | None:
    if element is None:
        return None
    where = f'{path}.mimic'
    return Mimic(
        reader.name(element.attrib, 'joint', where),
        reader.number(element, 'multiplier', where, '1'),
        reader.number(element, 'offset', where, '0'),
    )


_KEPT = frozenset({
    'link', 'inertial', 'origin', 'mass', 'inertia', 'visual', 'collision', 'geometry', 'box', 'cylinder', 'sphere',
    'capsule', 'mesh', 'material', 'color', 'joint', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mimic',
})  # fmt: skip


def read_description(
    urdf: str, *, base_link: str = '', strict: bool = False, source: str = 'robot description'
) -> Description:
    """Read a URDF text.

    Args:
        urdf: URDF text.
        base_link: link that is the fixed base; only the tree below it is read. Empty: the whole robot.
        strict: whether warnings are faults.
        source: name of the text in errors.

    Returns:
        The `Description`.

    Raises:
        DescriptionError: the text has faults; `faults` has all of them, the message the first 20.
    """
    root = parse_xml(urdf, _KEPT)
    if isinstance(root, Fault):
        raise DescriptionError(source, [root])
    reader, robot = Reader(), None
    with suppress(TooManyFaultsError):
        robot = _robot(root, base_link, reader)
    faults = reader.faults + reader.warnings if strict else reader.faults
    if faults or robot is None:
        if '<xacro:' in urdf:
            faults.insert(0, Fault('xacro', 'not expanded', 'must be: name the file .xacro, or run xacro on it first'))
        raise DescriptionError(f"{source} '{root.get('name', '')[:80]}'", faults)
    return Description(robot, urdf_text(robot) if base_link else urdf, tuple(reader.warnings))


def _robot(root: ET.Element, base_link: str, reader: Reader) -> Robot | None:
    """Return the robot, or None where the reader found faults."""
    if root.tag != 'robot':
        reader.refuse('root element', root.tag, 'must be robot')
    elements = root.findall('link')
    links = [reader.name(element.attrib, 'name', f'links[{k}]') for k, element in enumerate(elements)]
    edges = [(_edge(reader, joint, k), joint) for k, joint in enumerate(root.findall('joint'))]
    if reader.faults:
        return None  # messages need names
    element_of = dict(zip(links, elements, strict=True))
    if base_link:
        links, edges = _below(base_link, links, edges, reader)
    shapes = ShapeReader(root, reader.warnings)
    bodies = {name: read_inertia(reader, element_of[name], name) for name in links}
    joints = tuple(read_joint(reader, element, edge) for edge, element in edges)
    reader.faults += tree_faults(links, [edge for edge, _ in edges])
    reader.faults += mimic_faults({joint.name: joint.mimic for joint in joints if joint.moves})
    if not reader.faults:
        reader.faults += mass_faults({name: body.m for name, body in bodies.items()}, [edge for edge, _ in edges])
    if reader.faults:
        return None
    drawn = tuple(Link(name, bodies[name], *shapes.of(element_of[name], name)) for name in links)
    return Robot(shown(root.get('name', '')), drawn, joints)


def _edge(reader: Reader, element: ET.Element, k: int) -> Edge:
    name = reader.name(element.attrib, 'name', f'joints[{k}]')
    parent, child = ('' if (link := element.find(end)) is None else link.get('link', '') for end in ('parent', 'child'))
    return Edge(name, parent, child, element.get('type') != 'fixed')


Edges = list[tuple[Edge, ET.Element]]


def _below(base: str, links: Sequence[str], edges: Edges, reader: Reader) -> tuple[list[str], Edges]:
    """Return the links and joints of the subtree of a link, in the order of the text."""
    if base not in links:
        hint = did_you_mean(base, links)
        reader.refuse('base_link', base, f'must be a link of the robot; {hint}links: {listed(links)}')
    carried: dict[str, list[str]] = {}
    for edge, _ in edges:
        carried.setdefault(edge.parent, []).append(edge.child)
    reached, waiting = {base}, [base]
    while waiting:
        fresh = [child for child in carried.get(waiting.pop(), []) if child not in reached]
        reached.update(fresh)
        waiting += fresh
    kept = [(edge, element) for edge, element in edges if edge.parent in reached and edge.child != base]
    return [link for link in links if link in reached], kept
