"""Somebody's robot description (URDF): checked before it is used, and made ready for Pinocchio.

Pinocchio reads a URDF with a negative mass or an impossible inertia without a word, so those are refused here, all
faults at once. Meshes, sensors, transmissions and the like are passed over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np

from ..core.errors import DescriptionError, Fault, fault
from ..core.inertia import Inertia
from ..core.spatial import Array, frozen, rotation_from_rpy, symmetric
from .robot import Joint, tree_faults

MOVING = ('revolute', 'continuous', 'prismatic')
_INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


@dataclass(frozen=True)
class Description:
    """What the dynamics need of a URDF: its text, with its joints' names as they stand in it."""

    name: str
    text: str
    joint_names: tuple[str, ...]  # those that move, in the order of the text
    base: str  # the link without a parent


def read_description(urdf: str) -> Description:
    """Check a URDF text, or raise `DescriptionError` with every fault of it."""
    try:
        root = ET.fromstring(urdf)  # noqa: S314 (expat reads no external entities and bounds internal ones)
    except ET.ParseError as error:
        raise DescriptionError('robot description', [Fault('xml', str(error), 'must be well-formed XML')]) from None
    faults: list[Fault] = []
    links = {name: _link_mass(link, name, faults) for name, link in _named(root, 'link')}
    joints = [_joint(joint, name, faults) for name, joint in _named(root, 'joint')]
    faults += tree_faults([name for name, _ in _named(root, 'link')], joints)
    if root.tag != 'robot':
        faults.insert(0, fault('root element', root.tag, 'must be robot'))
    if not faults and not any(links[joint.child] for joint in joints):
        faults.append(Fault('links', 'none that moves has a mass', 'one must, at least'))
    if faults:
        raise DescriptionError(f"robot description '{root.get('name', '')}'", faults)
    _bare(root)
    children = {joint.child for joint in joints}
    base = next(name for name in links if name not in children)
    moving = tuple(joint.name for joint in joints if joint.moves)
    return Description(root.get('name', ''), ET.tostring(root, encoding='unicode'), moving, base)


def _named(root: ET.Element, tag: str) -> list[tuple[str, ET.Element]]:
    return [(element.get('name', ''), element) for element in root.findall(tag)]


def _bare(root: ET.Element) -> None:
    """Leave what dynamics need, in the form that Pinocchio wants.

    Looks, collisions and tools' extensions go: a mesh that is not there is no reason to fail. Limits play no part, but
    Pinocchio insists on them. A continuous joint becomes a revolute one without bounds: otherwise its position would
    be (cos, sin), and positions and velocities would differ in length.
    """
    for element in list(root):
        if element.tag not in ('link', 'joint'):
            root.remove(element)
        for part in [part for part in element if part.tag in ('visual', 'collision')]:
            element.remove(part)
    for joint in root.findall('joint'):
        if joint.get('type') in MOVING:
            joint.set('type', 'prismatic' if joint.get('type') == 'prismatic' else 'revolute')
            for limit in joint.findall('limit'):
                joint.remove(limit)
            ET.SubElement(joint, 'limit', lower='-1e9', upper='1e9', effort='0', velocity='0')


def _link_mass(link: ET.Element, name: str, faults: list[Fault]) -> float:
    """Return a link's mass, zero without an <inertial>; note what is wrong with it."""
    path = f'links.{name}.inertial'
    inertial = link.find('inertial')
    if inertial is None:
        return 0.0
    mass = float(_numbers(inertial.find('mass'), 'value', 1, f'{path}.mass', faults)[0])
    origin = inertial.find('origin')
    rpy = np.zeros(3) if origin is None else _numbers(origin, 'rpy', 3, f'{path}.origin', faults, '0 0 0')
    if origin is not None:
        _numbers(origin, 'xyz', 3, f'{path}.origin', faults, '0 0 0')
    tensor = inertial.find('inertia')
    entries = np.array([_numbers(tensor, key, 1, f'{path}.inertia', faults)[0] for key in _INERTIA])
    if mass < 0:
        faults.append(fault(f'{path}.mass', mass, 'must not be negative'))
    elif np.isfinite([mass, *rpy, *entries]).all():
        turn = rotation_from_rpy(rpy)
        impossible = Inertia(mass, J=frozen(turn @ symmetric(entries) @ turn.T)).impossibility()
        if impossible:
            faults.append(fault(f'{path}.inertia', entries.tolist(), impossible))
    return mass


def _joint(element: ET.Element, name: str, faults: list[Fault]) -> Joint:
    """Read a joint's place in the tree, and note what is wrong with it. Its geometry is left to Pinocchio."""
    path, kind = f'joints.{name}', element.get('type', '')
    if kind not in (*MOVING, 'fixed'):
        faults.append(fault(f'{path}.type', kind, f'must be one of {", ".join((*MOVING, "fixed"))}'))
    origin = element.find('origin')
    if origin is not None:
        for key in ('xyz', 'rpy'):
            _numbers(origin, key, 3, f'{path}.origin', faults, '0 0 0')
    axis = np.array([1.0, 0.0, 0.0])
    if element.find('axis') is not None:
        axis = _numbers(element.find('axis'), 'xyz', 3, f'{path}.axis', faults)
    if kind != 'fixed' and not np.any(axis):
        faults.append(fault(f'{path}.axis.xyz', axis.tolist(), 'must not be zero'))
    dynamics = element.find('dynamics')
    for key in ('damping', 'friction') if dynamics is not None else ():
        if _numbers(dynamics, key, 1, f'{path}.dynamics', faults, '0')[0] < 0:
            faults.append(fault(f'{path}.dynamics.{key}', dynamics.get(key), 'must not be negative'))  # type: ignore[union-attr]
    parent, child = (_link_name(element, end) for end in ('parent', 'child'))
    return Joint(name, 'fixed' if kind == 'fixed' else 'revolute', parent, child, axis, np.eye(3), axis)


def _link_name(joint: ET.Element, end: str) -> str:
    element = joint.find(end)
    return '' if element is None else element.get('link', '')


def _numbers(
    element: ET.Element | None, key: str, count: int, path: str, faults: list[Fault], default: str | None = None
) -> Array:
    """Read `count` finite numbers of an attribute, or note the fault and return NaN."""
    text = default if element is None else element.get(key, default)
    try:
        values = [float(word) for word in (text or '').split()]
    except ValueError:
        values = []
    if len(values) == count and all(math.isfinite(value) for value in values):
        return np.array(values)
    what = 'a finite number' if count == 1 else f'{count} finite numbers'
    faults.append(Fault(f'{path}.{key}', 'missing' if text is None else repr(text), f'must be {what}'))
    return np.full(count, math.nan)
