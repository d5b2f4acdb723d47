"""Writing of robot files, for robots from a URDF or another source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import yaml

from ..core.errors import Fault, RobotError, fault
from ..core.spatial import upper_triangle
from ..effects.coupling import Coupling
from ..effects.effect import JointEffect
from .motor_and_friction import Friction, Motor
from .robot import Joint, Limits, Link, Robot, Shape
from .yaml_reading import MAX_NUMBER, plain_value

WIDTH = 120  # characters of a line, about

Data = Mapping[str, Any]


def robot_text(robot: Robot, note: str = '') -> str:
    """Return the robot as a robot file, which `read_robot` reads back as the same numbers.

    The names of lengths are left out. Limits above `MAX_NUMBER`, as simulators write them for no limit,
    become `MAX_NUMBER`.

    Raises:
        RobotError: a robot file cannot express the robot.
    """
    if faults := [*_inexpressible(robot)]:
        raise RobotError(f"robot '{robot.name}' as a robot file", faults)
    head = f'# {note}\n' if note else ''
    return head + re.sub(r'\n(?=\S)', '\n\n', _dump(_sections(robot), flow=None))


def _inexpressible(robot: Robot) -> Iterator[Fault]:
    """Yield properties that a robot file cannot express."""
    if not robot.name:
        yield fault('name', robot.name, 'must not be empty in a robot file')
    for joint in robot.joints:
        if joint.kind == 'prismatic' and (joint.limits is None or joint.limits.lower is None):
            yield Fault(f'joints.{joint.name}.limits', 'no lower and upper', 'must be given for a prismatic joint')


def _sections(robot: Robot) -> Data:
    sections = {
        'name': robot.name,
        'gravity': robot.gravity.tolist(),
        'identified': {'cutoff': robot.cutoff} if robot.cutoff else {},
        'links': {link.name: _link(link) for link in robot.links},
        'joints': {joint.name: _joint(joint) for joint in robot.joints},
        'end_effectors': {**robot.end_effectors},
        'start': {**robot.start},
        'couplings': couplings_data(robot.couplings),
    }
    return {key: value for key, value in sections.items() if value}


def _link(link: Link) -> Data:
    body, shapes = link.inertia, {'visual': link.visual, 'collision': link.collision}
    numbers = {'mass': body.m, 'com': body.com.tolist(), 'inertia': upper_triangle(body.I_G).tolist()}
    drawn = {kind: _Lines(_Flow(_shape(shape)) for shape in given) for kind, given in shapes.items() if given}
    return {**(numbers if body.parameters.any() else {}), **drawn}


def _shape(shape: Shape) -> Data:
    if shape.kind == 'mesh':
        data: dict[str, Any] = {'mesh': shape.mesh}
        data |= {'scale': [*shape.size]} if shape.size != (1.0, 1.0, 1.0) else {}
    else:
        data = {shape.kind: [*shape.size]}
    data |= {'xyz': shape.position.tolist()} if shape.position.any() else {}
    data |= {'rotation': shape.rotation.tolist()} if not np.array_equal(shape.rotation, np.eye(3)) else {}
    return data | ({'rgba': [*shape.rgba]} if shape.rgba else {})


def _joint(joint: Joint) -> Data:
    data = {
        'type': joint.kind, 'parent': joint.parent, 'child': joint.child,
        'xyz': joint.position.tolist(), 'rotation': joint.rotation.tolist(),
    }  # fmt: skip
    if joint.moves:
        data['axis'] = joint.axis.tolist()
        if joint.limits is not None:
            data['limits'] = _limits(joint.limits)
        if joint.motor != Motor():
            data['motor'] = motor_data(joint.motor)
        data |= effects_data(joint)
        if joint.friction == Friction() and not any(effect.term == 'friction' for effect in joint.other_effects):
            del data['friction']
        if joint.mimic:
            data['mimic'] = asdict(joint.mimic)
    return data


def _limits(limits: Limits) -> Data:
    known = {key: value for key, value in asdict(limits).items() if value is not None}
    return {key: max(-MAX_NUMBER, min(value, MAX_NUMBER)) for key, value in known.items()}


def motor_data(motor: Motor, digits: int | None = None) -> Data:
    """Return a joint's motor as in a robot file; measured numbers have `digits` significant digits."""
    data = {'gear_ratio': motor.gear_ratio, 'rotor_inertia': rounded(motor.rotor_inertia, digits)}
    if motor.viscous:
        data['viscous'] = rounded(motor.viscous, digits)
    if motor.effort_offset:
        data['effort_offset'] = rounded(motor.effort_offset, digits)
    return data


def effects_data(joint: Joint, digits: int | None = None) -> dict[str, Data]:
    """Return friction and other effects of a joint as in a robot file; fitted numbers have `digits` significant digits.

    They are the section `friction` and those of effects that are not friction, by key.
    """
    friction: dict[str, Any] = {}
    for effect in joint.effects:
        friction |= effect_data(effect, digits) if effect.term == 'friction' else {}
    if not joint.friction.coulomb_velocity:
        del friction['coulomb_velocity']
    friction |= _beyond_sliding(joint.friction, digits)
    others = {x.key(): effect_data(x, digits) for x in joint.other_effects if x.term != 'friction'}
    return {'friction': friction, **others}


def effect_data(effect: JointEffect, digits: int | None = None) -> Data:
    """Return the numbers of an effect; factors have `digits` significant digits."""
    return {x.name: rounded(getattr(effect, x.name), digits if x.is_factor else None) for x in effect.numbers()}


def _beyond_sliding(friction: Friction, digits: int | None) -> Data:
    """Return presliding friction and the effects of the load."""
    data: dict[str, Any] = {}
    if friction.presliding:
        parts = friction.presliding
        data['presliding'] = [{'torque': rounded(part.torque, digits), 'distance': part.distance} for part in parts]
    if friction.load:
        data['load'] = {name: rounded(value, digits) for name, value in asdict(friction.load).items()}
    if friction.load_friction:
        factor, velocity = friction.load_friction.factor, friction.load_friction.velocity
        data['load_friction'] = {'factor': rounded(factor, digits), 'velocity': velocity}
    return data


def couplings_data(couplings: Iterable[Coupling], digits: int | None = None) -> list[Data]:
    """Return coupled friction as in a robot file."""
    return [
        {
            'first': pair.joints[0], 'second': pair.joints[1], 'sign': pair.sign,
            'viscous': rounded(pair.viscous, digits), 'coulomb': rounded(pair.coulomb, digits),
            'velocity': pair.velocity,
        }
        for pair in couplings
    ]  # fmt: skip


def flow_text(data: object) -> str:
    """Return data as a single line of YAML, in brackets."""
    return _dump(data, flow=True, width=float('inf')).strip()


def rounded(value: float, digits: int | None = None) -> float:
    """Return a number with `digits` significant digits, by default all; zero has no sign."""
    return float(value if digits is None else f'{value:.{digits}g}') + 0.0


def number(value: float, digits: int | None = None) -> str:
    """Return a number as YAML: the shortest text that reads back as it, or with `digits` significant digits."""
    short = rounded(value, digits)
    texts = np.format_float_positional(short, trim='-'), np.format_float_scientific(short, trim='0')
    return min(texts, key=len)


class _Lines(list[object]):
    """A list with an entry per line."""


class _Flow(dict[str, object]):
    """A mapping in braces."""


class _Dumper(yaml.SafeDumper):
    """Writes lists in brackets, and quotes texts that `yaml_reading` would read as another type."""

    def _text(self, text: str) -> yaml.ScalarNode:
        style = None if plain_value(text) == text else '"'
        return self.represent_scalar('tag:yaml.org,2002:str', text, style=style)

    def _number(self, value: float) -> yaml.ScalarNode:
        text = number(value)
        return self.represent_scalar(f'tag:yaml.org,2002:{"float" if "." in text else "int"}', text)

    def _list(self, values: list[object]) -> yaml.SequenceNode:
        return self.represent_sequence('tag:yaml.org,2002:seq', values, flow_style=not isinstance(values, _Lines))

    def _flow(self, values: _Flow) -> yaml.MappingNode:
        return self.represent_mapping('tag:yaml.org,2002:map', values, flow_style=True)


_Dumper.add_representer(str, _Dumper._text)
_Dumper.add_representer(float, _Dumper._number)
_Dumper.add_representer(list, _Dumper._list)
_Dumper.add_representer(_Lines, _Dumper._list)
_Dumper.add_representer(_Flow, _Dumper._flow)


def _dump(data: object, flow: bool | None, width: float = WIDTH) -> str:
    """Return data as YAML; `flow`: mappings in brackets (True), never (False), or only the innermost (None)."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, default_flow_style=flow, width=width, sort_keys=False, allow_unicode=True
    )
    return text
