"""A robot as the text of a robot file: for a robot that came from elsewhere, as from a URDF."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..core.spatial import upper_triangle
from .robot import Joint, Link, Robot


def robot_text(robot: Robot, note: str = '') -> str:
    """Return the robot as a robot file, which `read_robot` reads back; looks are left out."""
    lines = [f'# {note}'] if note else []
    lines += [f'name: {_word(robot.name)}', '', f'gravity: {numbers(robot.gravity)}  # m/s^2', '', 'links:']
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
    return '\n'.join(lines) + '\n'


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
        if joint.friction.viscous or joint.friction.coulomb:
            friction = f'viscous: {number(joint.friction.viscous)}, coulomb: {number(joint.friction.coulomb)}'
            lines[-1] += ','
            lines += [f'     friction: {{{friction}}}']
    lines[-1] += '}'
    return lines


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
        else repr(text)
    )
