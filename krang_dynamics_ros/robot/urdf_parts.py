"""Links' inertias and joints of a URDF, number by number."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np

from ..core.errors import fault
from ..core.inertia import Inertia
from ..core.spatial import Array, frozen, rotation_from_rpy, symmetric, upper_triangle
from .drive import Friction
from .mimic import Mimic
from .robot import Joint, JointKind, Limits
from .tree import Edge
from .xml_reading import Reader

KINDS: dict[str, JointKind] = {
    'revolute': 'revolute', 'continuous': 'revolute', 'prismatic': 'prismatic', 'fixed': 'fixed',
}  # fmt: skip
FREE = ('floating', 'planar')
_INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
_NOTHING = Inertia()
_NOWHERE = frozen([0.0, 0.0, 0.0])
_UNTURNED = frozen(np.eye(3))


def place(reader: Reader, element: ET.Element | None, path: str) -> tuple[Array, Array]:
    """Return position and rotation of what has an <origin>, or need not have one."""
    origin = None if element is None else element.find('origin')
    if origin is None:
        return _NOWHERE, _UNTURNED
    position, rpy = (reader.numbers(origin, key, 3, f'{path}.origin', '0 0 0') for key in ('xyz', 'rpy'))
    return frozen(position), frozen(rotation_from_rpy(rpy)) if rpy.any() else _UNTURNED


def inertia(reader: Reader, link: ET.Element, name: str) -> Inertia:
    """Return a link's inertia, none without an <inertial>; warn of one that no body can have."""
    inertial, path = link.find('inertial'), f'links.{name}.inertial'
    if inertial is None:
        return _NOTHING
    mass = reader.number(inertial.find('mass'), 'value', f'{path}.mass')
    com, turn = place(reader, inertial, path)
    tensor = inertial.find('inertia')
    entries = np.array([reader.number(tensor, key, f'{path}.inertia') for key in _INERTIA])
    if mass < 0:
        reader.refuse(f'{path}.mass', mass, 'must not be negative')
    if not np.isfinite([mass, *com, *turn.flat, *entries]).all() or mass < 0:
        return _NOTHING
    moments = turn @ symmetric(entries) @ turn.T
    body = Inertia.about_com(mass, com, symmetric(upper_triangle(moments)))
    impossible = '' if not (mass or entries.any()) else body.impossibility()
    if impossible:
        reader.warnings.append(fault(f'{path}.inertia', entries.tolist(), impossible))
    return body


def joint(reader: Reader, element: ET.Element, edge: Edge) -> Joint:
    """Return a joint; what is wrong with it is noted."""
    name, parent, child, _ = edge
    path, kind = f'joints.{name}', element.get('type', '')
    if kind in FREE:
        reader.refuse(f'{path}.type', kind, free_joint(child))
    elif kind not in KINDS:
        reader.refuse(f'{path}.type', kind, f'must be one of {", ".join(KINDS)}')
    position, rotation = place(reader, element, path)
    if kind not in KINDS or kind == 'fixed':
        return Joint(name, 'fixed', parent, child, position, rotation, _NOWHERE)
    return Joint(
        name, KINDS[kind], parent, child, position, rotation,
        axis=_axis(reader, element.find('axis'), path),
        limits=_limits(reader, element, path),
        friction=_friction(reader, element.find('dynamics'), path),
        mimic=_mimic(reader, element.find('mimic'), path),
    )  # fmt: skip


def free_joint(child: str) -> str:
    """Say what to do about a joint that leaves its child free."""
    return f"is not computed with, for the base stands still here; with base_link '{child}' that link is the base"


def _axis(reader: Reader, element: ET.Element | None, path: str) -> Array:
    axis = np.array([1.0, 0.0, 0.0]) if element is None else reader.numbers(element, 'xyz', 3, f'{path}.axis')
    largest = np.abs(axis).max()
    if largest == 0:
        reader.refuse(f'{path}.axis.xyz', axis.tolist(), 'must not be zero')
        return _NOWHERE
    axis = axis / largest  # first, or the square of a tiny one would be zero
    return frozen(axis / np.linalg.norm(axis))


def _limits(reader: Reader, element: ET.Element, path: str) -> Limits | None:
    """Return the limits. An effort or velocity of zero stands for one that nobody knew, and so do limits without room.

    A continuous joint has no lower and upper one, whatever is written. The largest number there is stands for none in
    simulators' files, so limits may be as large.
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
        reader.warnings.append(fault(f'{where}.lower', lower, f'is above upper ({upper:g}): taken as no limits'))
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
