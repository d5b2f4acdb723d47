"""Text of a new arm file: node parameters that a URDF does not contain, with marked guesses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .adapted import Adaptation
from .hands import hand_links, hands_of
from .known_arms import UNKNOWN, KnownArm, known_arm
from .mesh_files import MeshFiles, missing_meshes
from .robot import Robot

GUESS = 'GUESS'
MAX_HAND_LINKS = 8  # links that the comment lists
WIDTH = 116  # characters of a line


@dataclass(frozen=True)
class NewArm:
    """Input of a new arm file."""

    robot: Robot  # adapted
    robot_file: Path  # absolute
    adaptation: Adaptation = field(default_factory=Adaptation)
    base_link: str = ''
    joint_states: str = ''  # topic; empty: the driver's usual topic
    sign: float = 0.0  # of effort, from a recording: 1 or -1; 0: unknown
    findings: tuple[str, ...] = ()  # sentences about a recording
    preset: Mapping[str, Any] = field(default_factory=dict)  # parameters of the known arm's file in config/robots/

    @property
    def known(self) -> KnownArm:
        """Known arm with such joint names."""
        return known_arm(self.robot)

    @property
    def effort_scale(self) -> float:
        """N m per unit of effort, with the sign of the recording; 1 unless the known arm's file has one value."""
        scales = {value for name, value in self.preset.items() if name.endswith('.effort_scale')}
        scale = float(scales.pop()) if len(scales) == 1 else 1.0
        return self.sign * abs(scale) or scale

    @property
    def source(self) -> str:
        """Where guesses on the driver come from."""
        return f'as config/robots/{self.known.file}.yaml says' if self.preset else 'the usual value'


def arm_file_text(arm: NewArm, name: str) -> str:
    """Return the text of an arm file; `name` is the name of the file, for examples in comments."""
    body = [
        '/**:  # every node',
        '  ros__parameters:',
        *_robot(arm),
        *_mounting(arm),
        *_joint_states(arm),
        *_firmware(arm),
        '',
        '/**/krang_dynamics:  # the dynamics node, and the `krang` programs that use its parameters',
        '  ros__parameters:',
        *_effort(arm),
        *_of_driver(arm),
        *_hands(arm),
        *_terms(arm),
        *_keep_out(),
        *_meshes(arm),
    ]
    guesses = sum(f'{GUESS}:' in line for line in body)
    return '\n'.join([*_head(arm, name, guesses), *body]) + '\n'


def _head(arm: NewArm, name: str, guesses: int) -> list[str]:
    driver = f'Its joints are named as those of {arm.known.name}.' if arm.known is not UNKNOWN else ''
    lines = [
        f'# Arm file of {arm.robot.name}, by `krang new_arm`: parameters that {arm.robot_file.name} lacks '
        f'(docs/my_arm.md). {driver}',
        f'# Commands for the arm accept it as `--arm {name}`; for ROS it is a parameter file: `--params-file {name}`.',
        f'# {guesses} values are marked {GUESS}. Check these first, then delete the mark.',
    ]
    found = [f'# Recording: {finding}' for finding in arm.findings]
    return [part for line in (*lines, *found) for part in _wrapped(line.rstrip(), '# ')]


def _robot(arm: NewArm) -> list[str]:
    changes, limitless = arm.adaptation, [joint.name for joint in arm.robot.moving_joints if not _limit(joint.limits)]
    names, hint = _list(f'{a}={b}' for a, b in changes.names), 'renamed joints: urdf_name=name'
    if changes.names:
        hint = f'{GUESS}: the recording has these names instead of those of the URDF'
    lines = [
        f'    robot_file: {_text(str(arm.robot_file))}',
        f'    base_link: {_text(arm.base_link)}  # fixed base, if not the root of the URDF',
        f'    joint_prefix: {_text(changes.prefix)}  # prefix of the names in joint_states, missing in the URDF',
        f'    joint_names: {names}  # {hint}',
        *_fixed(arm),
    ]
    if limitless:
        words = f'the URDF has no effort limit for {", ".join(limitless)}: fill in the limits of the data sheet'
        return [*lines, *_comment(words), f'    effort_limits: {_list(())}  # joint=N m; {GUESS}: unknown']
    return [*lines, "    effort_limits: ['']  # joint=N m, to reduce the limits of the URDF"]


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
    adds = arm.preset.get('robot.adds', [''])
    mark = f'  # {GUESS}: {arm.source}' if any(adds) else ''
    return ['', *_comment(words), f'    robot: {{adds: {_list(name for name in adds if name)}}}{mark}']


def _joint_states(arm: NewArm) -> list[str]:
    topic = arm.joint_states or arm.preset.get('joint_states_topic', 'joint_states')
    mark = '' if arm.joint_states else f'  # {GUESS}: {arm.source}'
    return [
        '',
        *_comment('Topics. Relative names: a namespace goes in front.'),
        f'    joint_states_topic: {_text(topic)}{mark}',
    ]


def _effort(arm: NewArm) -> list[str]:
    lines = _comment(
        "effort_source: what `effort` means. motor: the motor's torque, at the joint; joint: a sensor behind the gear; "
        'external: the torque of contacts. effort_scale: N m per unit of effort, negative if the sign is reversed.'
    )
    guess = (
        f'{arm.source}, with the reasons'
        if arm.preset
        else 'this arm is unknown: motor torque in N m, gravity included, is assumed'
    )
    without = _list(name for name in arm.preset.get('effort_without', ()) if name)
    lines += [*_comment(f'{GUESS}: {guess}'), f'    effort_source: {arm.preset.get("effort_source", "motor")}']
    lines += [f'    effort_without: {without}  # terms that the driver has subtracted, such as gravity', '    joints:']
    return lines + [f'      {_text(name)}: {{effort_scale: {arm.effort_scale}}}' for name in arm.robot.joint_names]


OF_DRIVER = (
    'velocity_source', 'velocity_cutoff', 'command_start', 'command_controller', 'robot.gravity',
    'robot.friction_share',
)  # fmt: skip
OF_HAND = ('sensor.compensated', 'sensor.frame', 'robot_flange', 'robot_payload.mass', 'robot_payload.com')


def _of_driver(arm: NewArm) -> list[str]:
    """Return what else the file of a known arm says of its driver."""
    found = {name: arm.preset[name] for name in OF_DRIVER if name in arm.preset}
    if len(found.get('robot.friction_share', ())) not in (2, 2 * arm.robot.n):
        found.pop('robot.friction_share', None)
    return [f'    {name}: {json.dumps(value)}  # {GUESS}: {arm.source}' for name, value in found.items()]


def _of_hand(arm: NewArm) -> list[str]:
    """Return what the file of a known arm says of its hand, as far as the robot has the links."""
    links = {link.name for link in arm.robot.links}
    found = {key: arm.preset[f'hand.{key}'] for key in OF_HAND if f'hand.{key}' in arm.preset}
    for key in ('sensor.frame', 'robot_flange'):
        if found.get(key, '') not in links:
            found.pop(key, None)
    if 'robot_flange' not in found:
        found = {key: value for key, value in found.items() if not key.startswith('robot_payload')}
    return [f'      {key}: {json.dumps(value)}  # {GUESS}: {arm.source}' for key, value in found.items()]


def _hands(arm: NewArm) -> list[str]:
    links, hands = hand_links(arm.robot), hands_of(arm.robot)
    if not hands:
        return ["    end_effectors: ['']  # no link moves"]
    listed = ', '.join(links[:MAX_HAND_LINKS])
    guess = 'From the robot file' if arm.robot.end_effectors else f'{GUESS}: the most likely link'
    lines = ['', *_comment(f'Hands. The ends of the arm: {listed}. {guess}')]
    lines.append(f'    end_effectors: [{", ".join(hands)}]')
    for name, link in hands.items():
        topic = arm.preset.get('hand.wrench_topic', f'wrench/{name}')
        sense = arm.preset.get('hand.sense', 'applied_on_robot')
        lines += [
            f'    {name}:',
            f'      link: {_text(link)}',
            f'      wrench_topic: {_text(topic)}  # of a force sensor, if present',
            f'      sense: {sense}  # side that applies the wrench; test it as in docs/hands.md',
            '      tool: {mass: 0.0, com: [0.0, 0.0, 0.0]}  # part beyond the sensor, in the URDF already, kg and m: '
            '`krang calibrate`',
            *_of_hand(arm),
        ]
    return lines


def _terms(arm: NewArm) -> list[str]:
    joints = ', '.join(arm.robot.joint_names)
    terms = _list(arm.preset.get('total_terms', ['gravity'])).replace('"', '')
    first = f'    total_terms: {terms}  # summed in torque/total; more: coriolis, friction ... (docs/dynamics_node.md)'
    if any(arm.preset.get('robot.adds', [''])):
        first = f'    total_terms: {terms}  # what the firmware adds of it is subtracted from commands: robot.adds'
    return [
        '',
        first,
        *_comment("Joints of torque commands, in the controller's order; without them, no commands (docs/commands.md)"),
        f'    # command_joints: [{joints}]',
    ]


def _keep_out() -> list[str]:
    return [
        '',
        *_comment('Boxes that `krang excite` avoids, in the axes of the base: centre and size, m.'),
        '    # keep_out:',
        '    #   table: {centre: [0.0, 0.0, -0.05], size: [2.0, 2.0, 0.1]}',
        '    #   wall: {centre: [-0.6, 0.0, 0.5], size: [0.1, 3.0, 3.0]}',
    ]


def _meshes(arm: NewArm) -> list[str]:
    missing = missing_meshes(arm.robot, MeshFiles(near=arm.robot_file))
    if not missing:
        return []
    more = f' and {len(missing) - 1} more' if len(missing) > 1 else ''
    words = (
        'Folders of meshes, or of packages of meshes, for `krang excite` and the page. Not found without them: '
        f'{missing[0]}{more}.'
    )
    return ['', *_comment(words), '    # mesh_folders: [/folder/of/the/package]']


def _comment(words: str) -> list[str]:
    return _wrapped(f'    # {words}', '    # ')


def _wrapped(line: str, start: str) -> list[str]:
    """Return a comment as lines of at most `WIDTH` characters; each begins with `start`."""
    lines = [line]
    while len(lines[-1]) > WIDTH and (at := lines[-1].rfind(' ', len(start) + 1, WIDTH)) > 0:
        lines[-1:] = [lines[-1][:at], start + lines[-1][at + 1 :]]
    return lines


def _text(text: str) -> str:
    """Return a text for YAML, in quotes unless ROS and YAML read it as this text without quotes."""
    plain = text.replace('_', '').replace('/', '').replace('.', '').replace('-', '')
    safe = plain.isascii() and plain.isalnum() and plain[:1].isalpha() and text[:1] not in '-.'
    reserved = text.lower() in ('true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null', 'nan', 'inf')
    return text if safe and not reserved else json.dumps(text, ensure_ascii=False) if text else "''"


def _list(texts: Iterable[str]) -> str:
    """Return a list of texts for YAML; ROS 2 has no empty list, so it is written as ['']."""
    items: Sequence[str] = [json.dumps(text, ensure_ascii=False) for text in texts]
    return f'[{", ".join(items)}]' if items else "['']"
