"""Reading of robot files (YAML). The error has all faults of a file (docs/robot_file.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..core.errors import ArgumentError, Fault, RobotError, fault, listed
from ..core.files import krang_file, robot_named
from ..core.inertia import Inertia
from ..core.limits import MAX_GRAVITY, MAX_PRESLIDING
from ..core.spatial import Array, frozen, is_rotation, rotation_from_rpy, symmetric
from ..effects.coupling import Coupling
from ..effects.effect import JointEffect
from ..effects.joint_effects import EQ_17, JOINT_EFFECTS
from ..effects.load import LoadFriction, LoadShare
from ..effects.presliding import Presliding
from .file_text import exists, is_xml, text_of
from .mimic import Mimic, mimic_faults
from .motor_and_friction import Friction, Motor
from .robot import Description, Joint, JointKind, Limits, Link, Robot, Shape
from .tree import mass_faults, tree_faults
from .urdf_reader import read_description
from .urdf_writer import urdf_text
from .yaml_reading import MISSING, UNREADABLE, Section, parse

KINDS = ('revolute', 'prismatic', 'fixed')
SOLIDS = {'box': 3, 'cylinder': 2, 'capsule': 2, 'sphere': 1}  # with their numbers
SHAPES = (*SOLIDS, 'mesh')
GREY = [0.7, 0.7, 0.7, 1.0]
FOLLOWS = 'must not be beside mimic; give it to the joint that is followed'


def load_robot(path: str | Path = '', base_link: str = '') -> Robot:
    """Return a robot from a robot file (YAML), a URDF or a xacro file.

    Args:
        path: path of the file, or the name of a robot of the package, such as `krang_identified`; empty: Krang.
        base_link: link of a URDF that is the fixed base; only the tree below it is read. Empty: the whole robot.

    Returns:
        The `Robot`.

    Raises:
        FaultsError: the file has faults or cannot be read; `faults` has all of them, each with its path and value.
        ArgumentError: `path` is the text of a URDF, or the file is a ROS parameter file.
        MissingError: the file is a xacro file, and xacro is not installed.
    """
    return load_description(path, base_link=base_link).robot


def load_description(path: str | Path = '', *, base_link: str = '', strict: bool = False) -> Description:
    """Read a robot as `load_robot`, with its URDF and warnings; with `strict`, warnings are faults."""
    path = located(path)
    text = text_of(path)
    if is_xml(text):
        return read_description(text, base_link=base_link, strict=strict, source=str(path))
    robot = read_robot(text, str(path))
    if base_link and base_link != robot.base:
        raise RobotError(str(path), [fault('base_link', base_link, f'must be {robot.base} or empty for a robot file')])
    return Description(robot, urdf_text(robot))


def located(path: str | Path = '') -> Path:
    """Return the file of a path or of the name of a robot of the package; empty: Krang."""
    if is_xml(str(path)):
        raise ArgumentError("robot_file: is XML, must be a path; give a URDF's text as robot_description")
    path = Path(path or krang_file())
    return path if exists(path) else robot_named(str(path)) or path


def read_robot(text: str, source: str = 'robot') -> Robot:
    """Read a robot from YAML text; `source` names it in the error."""
    data, faults = parse(text)
    if _is_parameter_file(data):
        raise ArgumentError(f'{source}: is a ROS parameter file, must be a robot; give an arm file as --arm {source}')
    robot = None if data is UNREADABLE else _robot(data, faults)
    if robot is None or faults:
        raise RobotError(source, faults)
    return robot


def _is_parameter_file(data: Any) -> bool:
    return isinstance(data, dict) and any(isinstance(x, dict) and 'ros__parameters' in x for x in data.values())


def _robot(data: Any, faults: list[Fault]) -> Robot | None:
    root = Section(data, '', faults)
    if not isinstance(data, dict):
        return None
    root.lengths = root.numbers('lengths')
    name = root.text('name')
    gravity = root.vector('gravity')
    if (np.abs(gravity) > MAX_GRAVITY).any():
        root.refuse('gravity', gravity.tolist(), f'must be at most {MAX_GRAVITY:g} m/s^2 along each axis')
    links = [_link(link, section) for link, section in root.sections('links')]
    joints = [_joint(joint, section) for joint, section in root.sections('joints')]
    hands = root.section('end_effectors')
    end_effectors = {hand: hands.text(hand, [link.name for link in links]) for hand in hands.given()}
    start = _start(root, joints)
    cutoff = _cutoff(root)
    couplings = tuple(_coupling(item, joints) for item in root.items('couplings'))
    root.close()
    if links and joints and all(joint.parent and joint.child for joint in joints):
        faults += tree_faults([link.name for link in links], [joint.edge for joint in joints])
        faults += mimic_faults({joint.name: joint.mimic for joint in joints if joint.moves})
    if not faults:
        faults += mass_faults({link.name: link.inertia.m for link in links}, [joint.edge for joint in joints])
    if faults:
        return None
    return Robot(
        name, tuple(links), tuple(joints), frozen(gravity), dict(root.lengths), end_effectors, start, cutoff, couplings
    )  # fmt: skip


def _start(root: Section, joints: list[Joint]) -> dict[str, float]:
    """Read the start positions of a simulation: moving joints, within their limits."""
    section, moving = root.section('start'), {joint.name: joint.limits for joint in joints if joint.moves}
    start = {}
    for name in section.given():
        start[name], limits = section.number(name), moving.get(name) or Limits(None, None)
        lower, upper = (-math.inf if limits.lower is None else limits.lower), limits.upper
        if name not in moving:
            section.refuse(name, start[name], f'must be a moving joint: {listed(list(moving))}')
        elif not lower <= start[name] <= (math.inf if upper is None else upper):
            section.refuse(name, start[name], f'must be within the limits of {name}, {lower:g} to {upper:g}')
    return start


def _cutoff(root: Section) -> float:
    """Read the smoothing of an identified robot (Hz); zero if the robot is not identified."""
    section = root.section('identified')
    cutoff = section.number('cutoff', 0.0, least=0)
    section.close()
    return cutoff


def _coupling(section: Section, joints: list[Joint]) -> Coupling:
    """Read the coupled friction of two joints."""
    names = [joint.name for joint in joints if joint.moves and joint.mimic is None]
    first, second = section.text('first', names), section.text('second', names)
    if first == second:
        section.refuse('second', second, 'must be another joint than first')
    sign = section.number('sign')
    if sign not in (1, -1):
        section.refuse('sign', sign, 'must be 1 or -1')
    viscous, coulomb = section.number('viscous', 0.0, least=0), section.number('coulomb', 0.0, least=0)
    coupling = Coupling((first, second), 1 if sign == 1 else -1, viscous, coulomb, section.number('velocity', above=0))
    section.close()
    return coupling


def _link(name: str, section: Section) -> Link:
    inertia = _inertia(section)
    visual = tuple(_shape(item) for item in section.items('visual'))
    collision = tuple(_shape(item) for item in section.items('collision'))
    section.close()
    return Link(name, inertia, visual, collision, section.length_names('com'))


def _inertia(section: Section) -> Inertia:
    """Read `mass`, and either `com` and `inertia` (about it) or the report's `MS` and `J` (about the origin).

    The mass may be zero beside a centre of mass of zero and an inertia that is not: a URDF may describe a rotor so.
    """
    about_origin = section.has('MS') or section.has('J')
    massless = not (section.has('mass') or section.has('com') or section.has('inertia') or about_origin)
    first, second = ('MS', 'J') if about_origin else ('com', 'inertia')
    no_mass, no_vector, no_inertia = (0.0, [0.0] * 3, [0.0] * 6) if massless else (None, None, None)
    vector, matrix = section.vector(first, no_vector), symmetric(section.vector(second, no_inertia, count=6))
    moments_only = matrix.any() and not vector.any()
    mass = section.number('mass', no_mass, least=0) if moments_only else section.number('mass', no_mass, above=0)
    if not np.isfinite([mass, *vector, *matrix.flat]).all() or massless:
        return Inertia()
    inertia = Inertia(mass, frozen(vector), frozen(matrix)) if about_origin else Inertia.about_com(mass, vector, matrix)
    impossible = inertia.impossibility()
    if impossible:
        section.refuse(second, [round(x, 9) for x in matrix[np.triu_indices(3)].tolist()], impossible)
    return inertia


def _rotation(section: Section) -> Array:
    """Read `rotation` (rows; its columns are the child's axes in the parent's) or `rpy` (URDF's angles), or neither."""
    if not section.has('rotation'):
        return rotation_from_rpy(section.vector('rpy', [0.0, 0.0, 0.0]))
    rotation = section.matrix('rotation')
    if section.has('rpy'):
        rpy = section.vector('rpy')
        section.refuse('rpy', rpy.tolist(), 'must not be given beside rotation')
    if np.isfinite(rotation).all() and not is_rotation(rotation):
        section.refuse('rotation', rotation.tolist(), 'must be a rotation: orthonormal columns, right-handed')
    return rotation


def _joint(name: str, section: Section) -> Joint:
    kind = cast(JointKind, section.text('type', KINDS))
    parent, child = section.text('parent'), section.text('child')
    position, rotation = frozen(section.vector('xyz', [0.0, 0.0, 0.0])), frozen(_rotation(section))
    written = section.length_names('xyz')
    joint = Joint(name, kind, parent, child, position, rotation, frozen(np.zeros(3)), position_lengths=written)
    if kind != 'fixed':
        joint = replace(
            joint,
            axis=_axis(section),
            limits=_limits(section, kind),
            motor=_motor(section.section('motor')),
            friction=_friction(friction := section.section('friction'), follows=section.has('mimic')),
            mimic=_mimic(section.section('mimic')) if section.has('mimic') else None,
        )
        for effect in _effects(section, friction):
            joint = joint.with_effect(effect)
        friction.close()
    section.close()
    return joint


def _axis(joint: Section) -> Array:
    axis = joint.vector('axis')
    length = float(np.linalg.norm(axis))
    if length == 0:
        joint.refuse('axis', axis.tolist(), 'must not be zero')
    return frozen(axis / length if length else axis)


def _limits(joint: Section, kind: str) -> Limits | None:
    """Read the limits, which may be unknown. `lower` and `upper` come together; a prismatic joint must have them."""
    if not joint.has('limits'):
        if kind == 'prismatic':
            joint.refuse('limits', MISSING, 'must be given for a prismatic joint')
        return None
    section = joint.section('limits')
    effort, velocity = (section.number(key, above=0) if section.has(key) else None for key in ('effort', 'velocity'))
    lower = upper = None
    if section.has('lower') or section.has('upper') or kind == 'prismatic':
        lower, upper = section.number('lower'), section.number('upper')
        if lower >= upper:
            section.refuse('lower', lower, f'must be less than upper ({upper})')
    section.close()
    return Limits(effort, velocity, lower, upper)


def _motor(section: Section) -> Motor:
    ratio = section.number('gear_ratio', 1.0)
    if abs(ratio) < 1e-9:
        section.refuse('gear_ratio', ratio, 'must not be zero')
    rotor_inertia, viscous = section.number('rotor_inertia', 0.0, least=0), section.number('viscous', 0.0, least=0)
    motor = Motor(ratio, rotor_inertia, viscous, section.number('effort_offset', 0.0))
    section.close()
    return motor


def _friction(section: Section, follows: bool) -> Friction:
    """Read presliding and the effects of the load, which a joint that follows another (mimic) must not have."""
    for name in ('presliding', 'load', 'load_friction') if follows else ():
        if section.has(name):
            section.refuse(name, 'given', FOLLOWS)
    items = [*section.items('presliding')]
    if len(items) > MAX_PRESLIDING:
        section.refuse('presliding', f'{len(items)} elements', f'must be at most {MAX_PRESLIDING}')
    presliding = tuple(_presliding(item) for item in items[:MAX_PRESLIDING])
    load = _load_share(section) if section.has('load') else None
    load_friction = _load_friction(section) if section.has('load_friction') else None
    return Friction(presliding=presliding, load=load, load_friction=load_friction)


def _effects(joint: Section, friction: Section) -> Iterator[JointEffect]:
    """Read the effects that are given. Numbers of friction have defaults; those of other effects must all be given."""
    for kind in JOINT_EFFECTS:
        is_friction = kind.term == 'friction'
        where, names = (friction, [x.name for x in kind.numbers()]) if is_friction else (joint, [kind.key()])
        given = [name for name in names if where.has(name)]
        for name in given if joint.has('mimic') and kind not in EQ_17 else ():
            where.refuse(name, 'given', FOLLOWS)
        effect = _effect(kind, friction, complete=False) if is_friction else None
        if given:
            yield effect or _own_section(kind, joint)


def _own_section(kind: type[JointEffect], joint: Section) -> JointEffect:
    section = joint.section(kind.key())
    effect = _effect(kind, section, complete=True)
    section.close()
    return effect


def _effect(kind: type[JointEffect], section: Section, complete: bool) -> JointEffect:
    """Read the numbers of an effect; if they need not be complete, they have defaults."""
    ranges = {number.name: -math.inf if number.least is None else number.least for number in kind.numbers()}
    defaults = {number.name: None if complete else number.default for number in kind.numbers()}
    return kind(**{name: section.number(name, defaults[name], least=least) for name, least in ranges.items()})


def _mimic(section: Section) -> Mimic:
    mimic = Mimic(section.text('joint'), section.number('multiplier', 1.0), section.number('offset', 0.0))
    section.close()
    return mimic


def _load_friction(friction: Section) -> LoadFriction:
    section = friction.section('load_friction')
    load_friction = LoadFriction(section.number('factor'), section.number('velocity', above=0))
    section.close()
    return load_friction


def _load_share(friction: Section) -> LoadShare:
    section = friction.section('load')
    shares = section.number('pushing'), section.number('braking')
    share = LoadShare(*shares, section.number('crossing', least=0), section.number('velocity', above=0))
    section.close()
    return share


def _presliding(section: Section) -> Presliding:
    presliding = Presliding(section.number('torque', least=0), section.number('distance', above=0))
    section.close()
    return presliding


def _shape(section: Section) -> Shape:
    given = [kind for kind in SHAPES if section.has(kind)]
    if len(given) != 1:
        section.refuse(None, given, f'must have exactly one of {", ".join(SHAPES)}')
    kind = given[0] if given else 'sphere'
    mesh, size = ('', _size(section, kind, not given)) if kind != 'mesh' else _mesh(section)
    position, rotation = section.vector('xyz', [0.0, 0.0, 0.0]), _rotation(section)
    rgba = None if kind == 'mesh' and not section.has('rgba') else section.vector('rgba', GREY, count=4)
    if rgba is not None and ((rgba < 0) | (rgba > 1)).any():
        section.refuse('rgba', rgba.tolist(), 'must be between 0 and 1')
    section.close()
    color = None if rgba is None else tuple(rgba.tolist())
    return Shape(cast(Any, kind), tuple(size.tolist()), frozen(position), frozen(rotation), color, mesh)


def _size(section: Section, kind: str, optional: bool) -> Array:
    """Read the numbers of a solid. Zero is a plate, a line or a point, as a URDF may have it."""
    size = section.vector(kind, [1.0] if optional else None, count=SOLIDS[kind])
    if (size < 0).any():
        section.refuse(kind, size.tolist(), 'must not be negative')
    return size


def _mesh(section: Section) -> tuple[str, Array]:
    """Read the file of a mesh, as in a URDF, and its scale; negative numbers mirror it."""
    return section.file('mesh'), section.vector('scale', [1.0, 1.0, 1.0])
