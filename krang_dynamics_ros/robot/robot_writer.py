"""A robot as the text of a robot file: for a robot that came from elsewhere, as from a URDF."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ..core.errors import Fault, RobotError, fault
from ..core.spatial import upper_triangle
from .drive import Coupling, Friction, Motor, Spring
from .mimic import Mimic
from .robot import Joint, Link, Robot


def robot_text(robot: Robot, note: str = '') -> str:
    """Return the robot as a robot file, which `read_robot` reads back as the same numbers.

    Shapes and the names of lengths are left out. A robot that a robot file cannot say is refused.
    """
    if faults := [*_unsaid(robot)]:
        raise RobotError(f"robot '{robot.name}' as a robot file", faults)
    lines = [f'# {note}'] if note else []
    lines += [f'name: {_word(robot.name)}', '', f'gravity: {numbers(robot.gravity)}  # m/s^2']
    if robot.cutoff:
        lines += ['', f'identified: {{cutoff: {number(robot.cutoff)}}}']
    lines += ['', 'links:']
    for link in robot.links:
        lines += _link(link)
    lines += ['', 'joints:']
    for joint in robot.joints:
        lines += _joint(joint)
    if robot.end_effectors:
        hands = ', '.join(f'{_word(hand)}: {_word(link)}' for hand, link in robot.end_effectors.items())
        lines += ['', f'end_effectors: {{{hands}}}']
    if robot.start:
        start = ', '.join(f'{_word(joint)}: {number(position)}' for joint, position in robot.start.items())
        lines += ['', f'start: {{{start}}}']
    if robot.couplings:
        lines += ['', f'couplings: {couplings_text(robot.couplings)}']
    return '\n'.join(lines) + '\n'


def _unsaid(robot: Robot) -> Iterator[Fault]:
    """Yield what a robot file has no words for."""
    if not robot.name:
        yield fault('name', robot.name, 'must not be empty in a robot file')
    for joint in robot.joints:
        if joint.kind == 'prismatic' and (joint.limits is None or joint.limits.lower is None):
            yield Fault(f'joints.{joint.name}.limits', 'no lower and upper', 'must be given for a prismatic joint')


def _link(link: Link) -> list[str]:
    body = link.inertia
    if not body.m:
        return [f'  {_word(link.name)}: {{}}']
    return [
        f'  {_word(link.name)}:',
        f'    mass: {number(body.m)}',
        f'    com: {numbers(body.com)}',
        f'    inertia: {numbers(upper_triangle(body.I_G))}',
    ]


def _joint(joint: Joint) -> list[str]:
    rows = ', '.join(numbers(row) for row in joint.rotation)
    lines = [
        f'  {_word(joint.name)}:',
        f'    {{type: {joint.kind}, parent: {_word(joint.parent)}, child: {_word(joint.child)},',
        f'     xyz: {numbers(joint.position)}, rotation: [{rows}]',
    ]
    if joint.moves:
        lines[-1] += f', axis: {numbers(joint.axis)}'
        if joint.limits is not None:
            known = {key: getattr(joint.limits, key) for key in ('effort', 'velocity', 'lower', 'upper')}
            limits = ', '.join(f'{key}: {number(value)}' for key, value in known.items() if value is not None)
            lines += [f'     limits: {{{limits}}}']
            lines[-2] += ','
        if joint.motor != Motor():
            lines[-1] += ','
            lines += [f'     motor: {motor_text(joint.motor)}']
        if joint.friction != Friction():
            lines[-1] += ','
            lines += [f'     friction: {friction_text(joint.friction)}']
        if joint.spring:
            lines[-1] += ','
            lines += [f'     spring: {spring_text(joint.spring)}']
        if joint.mimic:
            lines[-1] += ','
            lines += [f'     mimic: {_mimic_text(joint.mimic)}']
    lines[-1] += '}'
    return lines


def motor_text(motor: Motor, digits: int | None = None) -> str:
    """Return a joint's motor as YAML, what was measured with so many significant digits."""
    fields = {'gear_ratio': number(motor.gear_ratio), 'rotor_inertia': number(motor.rotor_inertia, digits)}
    if motor.viscous:
        fields['viscous'] = number(motor.viscous, digits)
    if motor.effort_offset:
        fields['effort_offset'] = number(motor.effort_offset, digits)
    return _mapping(fields)


def friction_text(friction: Friction, digits: int | None = None) -> str:
    """Return a joint's friction as YAML, what was measured with so many significant digits."""
    fields = {'viscous': number(friction.viscous, digits), 'coulomb': number(friction.coulomb, digits)}
    if friction.coulomb_velocity:
        fields['coulomb_velocity'] = number(friction.coulomb_velocity)
    if friction.presliding:
        parts = [
            _mapping({'torque': number(part.torque, digits), 'distance': number(part.distance)})
            for part in friction.presliding
        ]
        fields['presliding'] = f'[{", ".join(parts)}]'
    if friction.load:
        names = ('pushing', 'braking', 'crossing', 'velocity')
        fields['load'] = _mapping({name: number(getattr(friction.load, name), digits) for name in names})
    if friction.load_friction:
        factor, velocity = friction.load_friction.factor, friction.load_friction.velocity
        fields['load_friction'] = _mapping({'factor': number(factor, digits), 'velocity': number(velocity)})
    return _mapping(fields)


def spring_text(spring: Spring, digits: int | None = None) -> str:
    """Return a joint's spring as YAML."""
    return _mapping({'cosine': number(spring.cosine, digits), 'sine': number(spring.sine, digits)})


def couplings_text(couplings: Iterable[Coupling], digits: int | None = None) -> str:
    """Return coupled friction as YAML."""
    items = [
        _mapping({
            'first': _word(pair.joints[0]), 'second': _word(pair.joints[1]), 'sign': str(pair.sign),
            'viscous': number(pair.viscous, digits), 'coulomb': number(pair.coulomb, digits),
            'velocity': number(pair.velocity),
        })
        for pair in couplings
    ]  # fmt: skip
    return f'[{", ".join(items)}]'


def _mimic_text(mimic: Mimic) -> str:
    return _mapping(
        {'joint': _word(mimic.joint), 'multiplier': number(mimic.multiplier), 'offset': number(mimic.offset)}
    )


def _mapping(fields: Mapping[str, str]) -> str:
    return '{' + ', '.join(f'{key}: {value}' for key, value in fields.items()) + '}'


def numbers(values: Iterable[float]) -> str:
    """Return a list of numbers as YAML."""
    return '[' + ', '.join(number(value) for value in values) + ']'


def number(value: float, digits: int | None = None) -> str:
    """Return a number as YAML: the shortest text that reads back as it, or so many significant digits of it."""
    if digits is None:
        return np.format_float_positional(float(value) + 0.0, trim='-')
    rounded = float(f'{value + 0.0:.{digits}g}')
    text = np.format_float_positional(rounded, trim='-')
    return text if len(text) < digits + 6 else f'{rounded:.{digits - 1}e}'


def _word(text: str) -> str:
    """Return a name, in quotes where YAML would take it for something else."""
    plain = text.replace('_', 'a').replace('-', 'a').isalnum() and text[0].isalpha()
    return (
        text
        if plain and text.lower() not in ('null', 'true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n')
        else json.dumps(text, ensure_ascii=False)
    )
