"""The identified robot as a file: the old one with new numbers, each with its standard deviation and its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from ..robot.robot import Link, Robot
from ..robot.robot_file import read_robot
from ..robot.robot_writer import number, robot_text
from .identified import Identified
from .robot_file_edits import edited


def robot_file_text(found: Identified, old: str = '', like: Mapping[str, str] | None = None) -> str:
    """Return the robot file with what was found; `old` is the file's text, none for a robot from elsewhere.

    `like` names joints that are built as recorded ones are: they and the bodies they carry get the same numbers.
    """
    robot, like = found.robot, like or {}
    check_like(robot, found.joint_names, like)
    joint_of = {joint.name: joint for joint in robot.joints}
    links = {link: robot.link_of[link] for link in found.links}
    joints = {name: joint_of[name] for name in found.joint_names}
    notes = {**_link_notes(found), **_joint_notes(found)}
    for other, name in like.items():
        joints[other] = replace(joint_of[other], motor=joint_of[name].motor, friction=joint_of[name].friction)
        child, twin = joint_of[name].child, joint_of[other].child
        if child in links:
            links[twin] = replace(robot.link_of[twin], inertia=robot.link_of[child].inertia)
            notes[twin] = [f'like {child}: the same module']
        notes[other] = [f'like {name}: the same module']
    text = edited(old or robot_text(robot), links, joints, notes, robot.cutoff)
    again = read_robot(text, 'the identified robot file')
    _same(links, again)
    shared = [link.name for link in robot.links if link.name not in links and _differ(link, again)]
    return f'{_head(found, like, shared)}{text}'


def check_like(robot: Robot, recorded: Sequence[str], like: Mapping[str, str]) -> None:
    """Refuse pairs that are not OTHER=RECORDED; a recorded joint has numbers of its own."""
    for other, name in like.items():
        if name not in recorded or other in recorded or other not in robot.joint_names:
            raise KrangDynamicsError(f'--like {other}={name}: must be OTHER=RECORDED, two joints of the robot')


def _head(found: Identified, like: Mapping[str, str], shared: Sequence[str]) -> str:
    sources = ', '.join(Path(source).name for source in found.sources)
    lines = [
        f'Identified from {sources}: {len(found.samples.phase)} rows of {", ".join(found.joint_names)}.',
        f'Model: {found.structure}.',
        f'Error on rows left out: {found.errors.mean():.3f} of the spread of the effort, mean over joints; by joint '
        + ', '.join(f'{error:.3f}' for error in found.errors)
        + '.',
        'Behind +- is one standard deviation. (prior): what stood here before decides, the recording hardly says it.',
    ]
    if like:
        lines.append(f'By symmetry of the modules, not recorded: {", ".join(like)}.')
    if shared:
        lines.append(f'Shared by an alias with an identified link, hence changed as well: {", ".join(shared)}.')
    return ''.join(f'# {line}\n' for line in lines)


def _link_notes(found: Identified) -> dict[str, list[str]]:
    notes = {}
    for k, link in enumerate(found.links):
        deviation, _ = found.body_deviation(k)
        told = found.told(k)
        parts = [
            f'mass +- {number(deviation[0], 2)}{_mark(told[:1])}',
            f'com +- {_list(deviation[1:4])}{_mark(told[1:4])}',
            f'inertia +- {_list(deviation[4:])}{_mark(told[4:])}',
        ]
        notes[link] = ['identified: ' + ', '.join(parts)]
    return notes


def _joint_notes(found: Identified) -> dict[str, list[str]]:
    units = {'rotor_inertia': 'kg m^2', 'viscous': 'N m s/rad', 'pushing': '', 'braking': ''}
    notes = {}
    for j, name in enumerate(found.joint_names):
        parts = []
        for k, column in enumerate(found.structure.columns):
            value = found.solution.factors[j, k] + (column in ('pushing', 'braking'))
            label = 'N^2 J_m' if column == 'rotor_inertia' else column
            deviation = number(found.deviation(j, column), 2)
            parts.append(f'{label} {number(value, 4)} +- {deviation} {units.get(column, "N m")}'.strip())
        beyond = found.beyond_limits.get(name)
        notes[name] = ['identified: ' + ', '.join(parts), *([beyond] if beyond else [])]
    return notes


def _mark(told: Array) -> str:
    return '' if told.any() else ' (prior)'


def _list(values: Array) -> str:
    return '[' + ', '.join(number(value, 2) for value in values) + ']'


def _same(meant: Mapping[str, Link], read: Robot) -> None:
    """Refuse to hand out a file that does not read as what was found."""
    for name, link in meant.items():
        if _differ(link, read):
            raise KrangDynamicsError(f'links.{name}: shares its body, by an alias, with one that was found otherwise')


def _differ(link: Link, other: Robot) -> bool:
    here, there = link.inertia.parameters, other.link_of[link.name].inertia.parameters
    return not np.allclose(there, here, rtol=1e-4, atol=1e-4 * max(1e-6, float(np.abs(here).max())))
