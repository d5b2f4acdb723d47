"""Writing of robots as URDF, for RViz, robot_state_publisher and other tools.

URDF has neither gravity nor rotor inertia: `dynamics_of` takes these from the `Robot`, not from the text.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array, rpy_from_rotation, upper_triangle
from .robot import Joint, Link, Robot, Shape


def urdf_text(robot: Robot, note: str = '') -> str:
    """Return a robot as URDF, with links and joints in the robot's order.

    Args:
        robot: the robot.
        note: text of a comment at the top.

    Returns:
        URDF text, without gravity, rotor inertia, springs, and friction beyond eq. 17, which URDF cannot express.
    """
    root = ET.Element('robot', name=robot.name)
    if note:
        root.append(ET.Comment(f' {note} '))
    for link in robot.links:
        _add_link(root, link)
    for joint in robot.joints:
        _add_joint(root, joint)
    ET.indent(root)
    return f'<?xml version="1.0"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add_link(root: ET.Element, link: Link) -> None:
    element = ET.SubElement(root, 'link', name=link.name)
    if link.inertia.parameters.any():
        _add_inertial(element, link.inertia)
    for kind, shapes in (('visual', link.visual), ('collision', link.collision)):
        for shape in shapes:
            _add_shape(ET.SubElement(element, kind), shape)


def _add_inertial(link: ET.Element, inertia: Inertia) -> None:
    """Write mass, centre of mass and the inertia about it; URDF's ixy is the matrix entry, as the report's XY."""
    element = ET.SubElement(link, 'inertial')
    ET.SubElement(element, 'origin', xyz=_join(inertia.com), rpy='0 0 0')
    ET.SubElement(element, 'mass', value=_number(inertia.m))
    entries = zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), upper_triangle(inertia.I_G), strict=True)
    ET.SubElement(element, 'inertia', {name: _number(value) for name, value in entries})


def _add_shape(element: ET.Element, shape: Shape) -> None:
    _add_origin(element, shape.position, shape.rotation)
    geometry = ET.SubElement(element, 'geometry')
    if shape.kind == 'box':
        ET.SubElement(geometry, 'box', size=_join(shape.size))
    elif shape.kind in ('cylinder', 'capsule'):
        ET.SubElement(geometry, shape.kind, radius=_number(shape.size[0]), length=_number(shape.size[1]))
    elif shape.kind == 'sphere':
        ET.SubElement(geometry, 'sphere', radius=_number(shape.size[0]))
    else:
        ET.SubElement(geometry, 'mesh', filename=shape.mesh, scale=_join(shape.size))
    if element.tag == 'visual' and shape.rgba is not None:
        name = 'rgba_' + '_'.join(f'{round(255 * part):02x}' for part in shape.rgba)
        material = ET.SubElement(element, 'material', name=name)
        ET.SubElement(material, 'color', rgba=_join(shape.rgba))


def _add_joint(root: ET.Element, joint: Joint) -> None:
    limits = joint.limits
    endless = joint.kind == 'revolute' and (limits is None or limits.lower is None)
    element = ET.SubElement(root, 'joint', name=joint.name, type='continuous' if endless else joint.kind)
    _add_origin(element, joint.position, joint.rotation)
    ET.SubElement(element, 'parent', link=joint.parent)
    ET.SubElement(element, 'child', link=joint.child)
    if not joint.moves:
        return
    ET.SubElement(element, 'axis', xyz=_join(joint.axis))
    if limits is not None:
        numbers = {'lower': limits.lower, 'upper': limits.upper}
        strength = {'effort': limits.effort or 0.0, 'velocity': limits.velocity or 0.0}  # URDF readers require both
        known = {name: x for name, x in numbers.items() if x is not None} | strength
        ET.SubElement(element, 'limit', {name: _number(x) for name, x in known.items()})
    ET.SubElement(element, 'dynamics', damping=_number(joint.viscous), friction=_number(joint.friction.coulomb))
    if mimic := joint.mimic:
        written = {'multiplier': _number(mimic.multiplier), 'offset': _number(mimic.offset)}
        ET.SubElement(element, 'mimic', {'joint': mimic.joint, **written})


def _add_origin(element: ET.Element, position: Array, rotation: Array) -> None:
    ET.SubElement(element, 'origin', xyz=_join(position), rpy=_join(rpy_from_rotation(rotation)))


def _join(values: Array | tuple[float, ...]) -> str:
    return ' '.join(_number(value) for value in values)


def _number(value: float) -> str:
    """Return the shortest text that reads back as the same number; zero has no sign."""
    return np.format_float_positional(value + 0.0, trim='-')
