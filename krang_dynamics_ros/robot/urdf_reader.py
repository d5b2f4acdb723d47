"""Somebody's robot description (URDF) as a `Robot`: the one place where URDF is read.

What the numbers of a robot cannot be computed from is refused, all faults at once. What is only odd is taken as it
stands and warned of: vendors' files are full of inertias that no body can have, and gravity does not care. Sensors,
transmissions and other tools' elements are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from xml.etree import ElementTree as ET

from ..core.errors import DescriptionError, Fault, did_you_mean, listed
from ..core.text import shown
from . import urdf_parts as parts
from .description import Description
from .mimic import mimic_faults
from .robot import Link, Robot
from .tree import Edge, mass_faults, tree_faults
from .urdf_shapes import Looks
from .urdf_writer import urdf_text
from .xml_reading import EnoughError, Reader, parse_xml

_KEPT = frozenset({
    'link', 'inertial', 'origin', 'mass', 'inertia', 'visual', 'collision', 'geometry', 'box', 'cylinder', 'sphere',
    'capsule', 'mesh', 'material', 'color', 'joint', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mimic',
})  # fmt: skip


def read_description(
    urdf: str, *, base_link: str = '', strict: bool = False, source: str = 'robot description'
) -> Description:
    """Read a URDF text, or raise `DescriptionError` with every fault of it.

    `base_link` takes what is below that link, as if it stood still. `strict` makes a fault of what is only odd.
    `source` says in the error where the text is from.
    """
    root = parse_xml(urdf, _KEPT)
    if isinstance(root, Fault):
        raise DescriptionError(source, [root])
    reader, robot = Reader(), None
    with suppress(EnoughError):
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
        return None  # what has no name cannot be spoken of
    element_of = dict(zip(links, elements, strict=True))
    if base_link:
        links, edges = _below(base_link, links, edges, reader)
    looks = Looks(root, reader.warnings)
    bodies = {name: parts.inertia(reader, element_of[name], name) for name in links}
    joints = tuple(parts.joint(reader, element, edge) for edge, element in edges)
    reader.faults += tree_faults(links, [edge for edge, _ in edges])
    reader.faults += mimic_faults({joint.name: joint.mimic for joint in joints if joint.moves})
    if not reader.faults:
        reader.faults += mass_faults({name: body.m for name, body in bodies.items()}, [edge for edge, _ in edges])
    if reader.faults:
        return None
    drawn = tuple(Link(name, bodies[name], *looks.of(element_of[name], name)) for name in links)
    return Robot(shown(root.get('name', '')), drawn, joints)


def _edge(reader: Reader, element: ET.Element, k: int) -> Edge:
    name = reader.name(element.attrib, 'name', f'joints[{k}]')
    parent, child = (
        '' if (found := element.find(end)) is None else found.get('link', '') for end in ('parent', 'child')
    )
    return Edge(name, parent, child, element.get('type') != 'fixed')


Edges = list[tuple[Edge, ET.Element]]


def _below(base: str, links: Sequence[str], edges: Edges, reader: Reader) -> tuple[list[str], Edges]:
    """Return the links and joints below a link, itself included, in the order of the text."""
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
