"""The identified robot as a file: the old file with new numbers, their standard deviations and their source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.inertia import Inertia
from ..core.spatial import Array
from ..effects.coupling import Coupling
from ..effects.joint_effects import JOINT_EFFECTS
from ..robot.motor_and_friction import Friction
from ..robot.robot import PRISMATIC, Link, Robot, Units, joint_units
from ..robot.robot_file import read_robot
from ..robot.robot_writer import number, robot_text
from .identify import Identified
from .merged_robot import MergedRobot
from .robot_file_edits import Numbers, edited


def robot_file_text(found: Identified, old: str = '', like: Mapping[str, str] | None = None) -> str:
    """Return the robot file with the identified numbers; `old` is the text of the file, empty if there is none.

    `like` gives a recorded joint for each other joint of the same build, which gets its numbers, and those of its body.
    If the text cannot be edited, a new file of the whole robot is written, and its head gives the reason.
    """
    robot, like = found.robot, like or {}
    new = _numbers(robot, found.changed_links, found.joint_names, like, {**_link_notes(found), **_joint_notes(found)})
    text, why = _in_place(old, new, robot.cutoff) if old else ('', '')
    text = text or _new_file(robot, new)
    again = read_robot(text, 'the identified robot file')
    shared = [link.name for link in robot.links if link.name not in new.links and _differ(link, again)]
    return f'{_head(found, like, shared, why)}{text}'


def why_not_edited(robot: Robot, old: str, recorded: Sequence[str], like: Mapping[str, str]) -> str:
    """Return why new numbers of these joints cannot be written into the text of a robot file; empty if they can.

    Raises `KrangDynamicsError` if no file of this robot can be written at all.
    """
    moved = MergedRobot.of(robot, recorded, {}).links
    tried = _with_distinct_numbers(robot, moved, recorded)
    new = _numbers(tried, moved, recorded, like, {name: ['identified'] for name in (*moved, *recorded)})
    _new_file(tried, new)
    return _in_place(old, new, 1.0)[1] if old else ''


def _with_distinct_numbers(robot: Robot, moved: Sequence[str], recorded: Sequence[str]) -> Robot:
    """Return the robot with bodies and friction that all differ, as after a fit."""
    bodies = {name: Inertia.about_com(1.0 + k, np.zeros(3), np.eye(3)) for k, name in enumerate(moved)}
    friction = {name: Friction(viscous=1.0 + k) for k, name in enumerate(recorded)}
    links = [replace(link, inertia=bodies.get(link.name, link.inertia)) for link in robot.links]
    joints = [replace(joint, friction=friction.get(joint.name, joint.friction)) for joint in robot.joints]
    return replace(robot, links=tuple(links), joints=tuple(joints))


def _numbers(
    robot: Robot, moved: Sequence[str], recorded: Sequence[str], like: Mapping[str, str],
    notes: Mapping[str, Sequence[str]],
) -> Numbers:  # fmt: skip
    """Return the numbers of recorded joints and moved links, and of those of the same build."""
    _check_like(robot, recorded, like)
    joint_of = {joint.name: joint for joint in robot.joints}
    links, joints, notes = {link: robot.link_of[link] for link in moved}, {x: joint_of[x] for x in recorded}, {**notes}
    for other, name in like.items():
        of_name = joint_of[name]
        joints[other] = replace(
            joint_of[other], motor=of_name.motor, friction=of_name.friction, other_effects=of_name.other_effects
        )
        child, twin = joint_of[name].child, joint_of[other].child
        if child in links:
            links[twin] = replace(robot.link_of[twin], inertia=robot.link_of[child].inertia)
            notes[twin] = [f'like {child}: the same build']
        notes[other] = [f'like {name}: the same build']
    couplings = [*robot.couplings, *_like_couplings(robot, like)]
    return Numbers(links, joints, notes, couplings)


def _check_like(robot: Robot, recorded: Sequence[str], like: Mapping[str, str]) -> None:
    """Refuse pairs that are not OTHER=RECORDED; a recorded joint has its own numbers."""
    for other, name in like.items():
        if name not in recorded or other in recorded or other not in robot.joint_names:
            raise KrangDynamicsError(f'--like {other}={name}: must be OTHER=RECORDED, two joints of the robot')


def _like_couplings(robot: Robot, like: Mapping[str, str]) -> list[Coupling]:
    """Return the couplings of joints that are of the same build as coupled joints."""
    twin = {name: other for other, name in like.items()}
    found = [
        replace(pair, joints=(twin[pair.joints[0]], twin[pair.joints[1]]))
        for pair in robot.couplings
        if set(pair.joints) <= set(twin)
    ]
    known = {pair.joints for pair in robot.couplings}
    return [pair for pair in found if pair.joints not in known]


def _in_place(old: str, new: Numbers, cutoff: float) -> tuple[str, str]:
    """Return the old text with new numbers, or an empty text and the reason."""
    try:
        text = edited(old, new, cutoff)
        _same(new, read_robot(text, 'edited'))
    except (KrangDynamicsError, ValueError, LookupError, StopIteration) as error:
        return '', ' '.join(str(error).split())
    return text, ''


def _new_file(robot: Robot, new: Numbers) -> str:
    """Return a new robot file of the whole robot."""
    text = edited(robot_text(robot), new, robot.cutoff)
    _same(new, read_robot(text, 'the identified robot file'))
    return text


def _head(found: Identified, like: Mapping[str, str], shared: Sequence[str], why: str) -> str:
    sources = ', '.join(Path(source).name for source in found.sources)
    lines = [
        f'Identified from {sources}: {len(found.samples.time)} rows of {", ".join(found.joint_names)}.',
        f'Model: {found.structure}.',
        f'Error on held-out data: {found.errors.mean():.3f} of the standard deviation of the effort, mean over joints; '
        'by joint ' + ', '.join(f'{error:.3f}' for error in found.errors) + '.',
        f'With both efforts smoothed: {found.smooth_errors.mean():.3f}. No smooth motion explains '
        f'{found.floor.mean():.3f} of the raw efforts.',
        f'Efforts by this file and by the fit differ by {found.fit.difference:.1g} of their standard deviation.',
        '+-: a standard deviation over repeats; it does not include model error.',
        '(prior): the recording hardly determines it; it stays near the value of the old file.',
        *found.warnings,
    ]
    if like:
        lines.append(f'Not recorded, with the numbers of a joint of the same build: {", ".join(like)}.')
    if shared:
        lines.append(f'Shared by an alias with an identified link, hence changed as well: {", ".join(shared)}.')
    if why:
        lines.append(f'New file, without comments and names of lengths: the old file could not be edited ({why}).')
    return ''.join(f'# {line}\n' for line in lines)


def _link_notes(found: Identified) -> dict[str, list[str]]:
    notes = {}
    for k, link in enumerate(found.links):
        deviation, _ = found.body_deviation(k)
        sure = found.is_determined(k)
        parts = [
            f'mass +- {number(deviation[0], 2)}{_mark(sure[:1])}',
            f'com +- {_list(deviation[1:4])}{_mark(sure[1:4])}',
            f'inertia +- {_list(deviation[4:])}{_mark(sure[4:])}',
        ]
        notes[link] = ['identified: ' + ', '.join(parts)]
    return notes


def _joint_notes(found: Identified) -> dict[str, list[str]]:
    units, notes = joint_units(found.robot), {}
    for j, name in enumerate(found.joint_names):
        own, parts = units[name], []
        for factor, value, deviation in found.factors(j):
            unit = factor_unit(factor, own)
            parts.append(f'{factor_label(factor)} {number(value, 4)} +- {number(deviation, 2)} {unit}'.strip())
        beyond = found.beyond_limits.get(name)
        notes[name] = ['identified: ' + ', '.join(parts), *([beyond] if beyond else [])]
    return notes


def factor_label(factor: str) -> str:
    """Return a factor's name for reports."""
    return 'N^2 J_m' if factor == 'rotor_inertia' else factor


def factor_unit(factor: str, joint: Units) -> str:
    """Return the unit of a factor of a joint; shares of the load have none."""
    units = {'rotor_inertia': joint.inertia, 'pushing': '', 'braking': '', 'load friction': ''}
    for kind in JOINT_EFFECTS:
        units |= {declared.label: declared.unit_of(joint is PRISMATIC) for declared in kind.factors()}
    return units.get(factor, joint.effort)


def _mark(determined: Array) -> str:
    return '' if determined.any() else ' (prior)'


def _list(values: Array) -> str:
    return '[' + ', '.join(number(value, 2) for value in values) + ']'


def _same(meant: Numbers, read: Robot) -> None:
    """Refuse a file that does not read back as the identified numbers."""
    for name, link in meant.links.items():
        if _differ(link, read):
            raise KrangDynamicsError(f'links.{name}: shares its body, by an alias, with a link that has another')
    joint_of = {joint.name: joint for joint in read.joints}
    for name, joint in meant.joints.items():
        if not np.isclose(joint_of[name].viscous, joint.viscous, rtol=1e-4):
            raise KrangDynamicsError(f'joints.{name}: does not get the identified friction')


def _differ(link: Link, other: Robot) -> bool:
    here, there = link.inertia.parameters, other.link_of[link.name].inertia.parameters
    return not np.allclose(there, here, rtol=1e-4, atol=1e-4 * max(1e-6, float(np.abs(here).max())))
