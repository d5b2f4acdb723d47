"""The text of a new arm file: a parameter file of the nodes with what a URDF does not say, guesses marked as such."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .adapted import Adaptation
from .known_arms import UNKNOWN, KnownArm, hand_links, hands_of, known_arm
from .robot import Robot

GUESS = 'GUESS'
MOST_HANDS = 8  # links that are offered
WIDTH = 116  # characters of a line


@dataclass(frozen=True)
class NewArm:
    """What is known of an arm when its file is written."""

    robot: Robot  # adapted
    robot_file: Path  # absolute
    adaptation: Adaptation = field(default_factory=Adaptation)
    base_link: str = ''
    joint_states: str = ''  # topic; empty: that of the known driver
    sign: float = 0.0  # of effort, by a recording: 1 or -1; 0: not known
    findings: tuple[str, ...] = ()  # of a recording, a sentence each

    @property
    def known(self) -> KnownArm:
        """What is known of arms with such joints."""
        return known_arm(self.robot)


def arm_file_text(arm: NewArm, name: str) -> str:
    """Return the text of an arm file; `name` is the file's name, for the examples in it."""
    body = [
        '/**:  # every node',
        '  ros__parameters:',
        *_robot(arm),
        *_mounting(arm),
        *_joint_states(arm),
        *_firmware(arm),
        '',
        '/**/krang_dynamics:  # the dynamics node, and the commands that compute as it does',
        '  ros__parameters:',
        *_effort(arm),
        *_hands(arm),
        *_terms(arm),
        *_keep_out(),
    ]
    guesses = sum(f'{GUESS}:' in line for line in body)
    return '\n'.join([*_head(arm, name, guesses), *body]) + '\n'


def _head(arm: NewArm, name: str, guesses: int) -> list[str]:
    driver = f'Its joints are named as those of {arm.known.name}.' if arm.known is not UNKNOWN else ''
    lines = [
        f'# Arm file of {arm.robot.name}, by `krang new_arm`: what {arm.robot_file.name} does not say '
        f'(docs/my_arm.md). {driver}',
        f'# Each command takes it as `--arm {name}`; for ROS it is a parameter file: `--params-file {name}`.',
        f'# {guesses} values are marked {GUESS}. Check these first, then delete the mark.',
    ]
    found = [f'# Recording: {finding}' for finding in arm.findings]
    return [part for line in (*lines, *found) for part in _wrapped(line.rstrip(), '# ')]


def _robot(arm: NewArm) -> list[str]:
    changes, limitless = arm.adaptation, [joint.name for joint in arm.robot.moving_joints if not _limit(joint.limits)]
    names, hint = _list(f'{a}={b}' for a, b in changes.names), 'renamed joints: urdf_name=name'
    if changes.names:
        hint = f'{GUESS}: the recording has these names in the place of those of the URDF'
    lines = [
        f'    robot_file: {_text(str(arm.robot_file))}',
        f'    base_link: {_text(arm.base_link)}  # link that stands still, if not the root of the URDF',
        f'    joint_prefix: {_text(changes.prefix)}  # what joint_states has in front of the names of the URDF',
        f'    joint_names: {names}  # {hint}',
        *_fixed(arm),
    ]
    if limitless:
        words = f'the URDF has no effort limit for {", ".join(limitless)}: fill in those of the data sheet'
        return [*lines, *_comment(words), f'    effort_limits: {_list(())}  # joint=N m; {GUESS}: not known']
    return [*lines, "    effort_limits: ['']  # joint=N m, where less than in the URDF"]


def _fixed(arm: NewArm) -> list[str]:
    fixed = [f'{name}={position:g}' for name, position in arm.adaptation.fixed]
    if not fixed:
        return ["    fixed_joints: ['']  # joints of the URDF that joint_states never contains: joint=position"]
    words = f'{GUESS}: joints of the URDF that the joint states do not contain; fixed at the middle of their range'
    return [*_comment(words), f'    fixed_joints: {_list(fixed)}']


def _limit(limits: object) -> float:
    return getattr(limits, 'effort', None) or 0.0


def _mounting(arm: NewArm) -> list[str]:
    gravity = ', '.join(f'{x:.6g}' if '.' in f'{x:.6g}' else f'{x:.1f}' for x in arm.robot.gravity)
    return [
        '',
        *_comment(
            f'Gravity in the axes of {arm.robot.base}, m/s^2. On the floor [0.0, 0.0, -9.81], under a ceiling '
            "[0.0, 0.0, 9.81]; on a wall it is along the base's x or y axis."
        ),
        f'    gravity: [{gravity}]  # {GUESS}: mounted upright',
    ]


def _firmware(arm: NewArm) -> list[str]:
    words = "Terms that the arm's own firmware adds to torque commands, so they are subtracted (docs/firmware.md)."
    if arm.known.adds_gravity:
        return ['', *_comment(words), f'    robot: {{adds: [gravity]}}  # {GUESS}: of {arm.known.name}']
    return ['', *_comment(words), "    robot: {adds: ['']}"]


def _joint_states(arm: NewArm) -> list[str]:
    topic, known = arm.joint_states or arm.known.joint_states, arm.known
    mark = '' if arm.joint_states else f'  # {GUESS}: ' + ('the usual name' if known is UNKNOWN else f'of {known.name}')
    return [
        '',
        *_comment('Topics. Relative names: a namespace goes in front.'),
        *(part for line in known.notes for part in _comment(line)),
        f'    joint_states_topic: {_text(topic)}{mark}',
    ]


def _effort(arm: NewArm) -> list[str]:
    known, scale = arm.known, arm.sign * abs(arm.known.effort_scale) or arm.known.effort_scale
    lines = _comment(
        "effort_source: what `effort` means. motor: the motor's torque, at the joint; joint: a sensor behind the gear; "
        'external: what the world does. effort_scale: N m per unit of effort, negative where the sign is turned.'
    )
    lines += [*_comment(f'{GUESS}: {known.effort}'), f'    effort_source: {known.effort_source}']
    lines += ["    effort_without: ['']  # terms that the driver has subtracted, such as gravity", '    joints:']
    return lines + [f'      {_text(name)}: {{effort_scale: {scale}}}' for name in arm.robot.joint_names]


def _hands(arm: NewArm) -> list[str]:
    links, hands = hand_links(arm.robot), hands_of(arm.robot)
    if not hands:
        return ["    end_effectors: ['']  # no link moves"]
    offered = ', '.join(links[:MOST_HANDS])
    guess = 'As in the robot file' if arm.robot.end_effectors else f'{GUESS}: the likeliest is chosen'
    lines = ['', *_comment(f'Hands. The ends of the arm: {offered}. {guess}')]
    lines.append(f'    end_effectors: [{", ".join(hands)}]')
    for name, link in hands.items():
        topic = arm.known.wrench or f'wrench/{name}'
        lines += [
            f'    {name}:',
            f'      link: {_text(link)}',
            f'      wrench_topic: {_text(topic)}  # of a force sensor, if there is one',
            f'      sense: {arm.known.sense}  # who applies the wrench; docs/hands.md has an experiment that shows it',
            '      tool: {mass: 0.0, com: [0.0, 0.0, 0.0]}  # what the sensor carries and the URDF contains, kg and m: '
            '`krang calibrate`',
        ]
    return lines


def _terms(arm: NewArm) -> list[str]:
    joints = ', '.join(arm.robot.joint_names)
    if arm.known.adds_gravity:
        first = ['    total_terms: [gravity, coriolis]  # gravity is subtracted from commands: robot.adds']
    else:
        first = ['    total_terms: [gravity]  # in torque/total: gravity, coriolis, friction, wrench']
    return [
        '',
        *first,
        *_comment("Joints of torque commands, in the controller's order; none: no commands (docs/commands.md)"),
        f'    # command_joints: [{joints}]',
    ]


def _keep_out() -> list[str]:
    return [
        '',
        *_comment('Boxes that `krang excite` keeps out of, in the axes of the base: centre and size, m.'),
        '    # keep_out:',
        '    #   table: {centre: [0.0, 0.0, -0.05], size: [2.0, 2.0, 0.1]}',
        '    #   wall: {centre: [-0.6, 0.0, 0.5], size: [0.1, 3.0, 3.0]}',
    ]


def _comment(words: str) -> list[str]:
    return _wrapped(f'    # {words}', '    # ')


def _wrapped(line: str, start: str) -> list[str]:
    """Return a comment as lines of at most `WIDTH` characters; each begins with `start`."""
    lines = [line]
    while len(lines[-1]) > WIDTH and (at := lines[-1].rfind(' ', len(start) + 1, WIDTH)) > 0:
        lines[-1:] = [lines[-1][:at], start + lines[-1][at + 1 :]]
    return lines


def _text(text: str) -> str:
    """Return a text for YAML: plain where ROS and YAML read it as this text, else in quotes."""
    plain = text.replace('_', '').replace('/', '').replace('.', '').replace('-', '')
    safe = plain.isascii() and plain.isalnum() and plain[:1].isalpha() and text[:1] not in '-.'
    reserved = text.lower() in ('true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null', 'nan', 'inf')
    return text if safe and not reserved else json.dumps(text, ensure_ascii=False) if text else "''"


def _list(texts: Iterable[str]) -> str:
    """Return a list of texts for YAML; ROS 2 has no empty list, so an empty text stands for it."""
    items: Sequence[str] = [json.dumps(text, ensure_ascii=False) for text in texts]
    return f'[{", ".join(items)}]' if items else "['']"
