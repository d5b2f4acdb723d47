"""`new_arm`: write an arm file, with the properties of an arm that its URDF lacks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.errors import ArgumentError
from ..core.files import share, write_whole
from ..live.parameter_file import read_parameters
from ..processing.arm_recording import recorded_arm
from ..robot.adapted import Adaptation
from ..robot.arm_file_text import GUESS, NewArm, arm_file_text
from ..robot.hands import hands_of
from ..robot.known_arms import UNKNOWN, KnownArm, unreported_joints
from ..robot.robot_file import located
from .arm_option import read_arm_file
from .common import add_overwrite, check_outputs, command_parser, guarded, loaded, say

_DESCRIPTION = """\
Writes an arm file: a ROS parameter file with the properties that a URDF lacks and every command needs: joint names,
gravity, topics, meaning of effort, hands, tool, keep-out boxes. Guesses are marked GUESS and explained; with
--recording, guesses of names, rate, sign and scale of effort are compared with a recording."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('new_arm', _DESCRIPTION)
    add = parser.add_argument
    add('robot', metavar='URDF', help='URDF, xacro or robot file of the arm')
    add('-o', '--output', type=Path, default=Path('my_arm.yaml'), metavar='FILE', help='default: my_arm.yaml')
    help_ = 'link of the URDF that is the fixed base; only the tree below it is read; default: the whole robot'
    add('--base-link', default='', metavar='LINK', help=help_)
    help_ = 'recording of this arm, as from `krang record` or `ros2 bag record`'
    add('--recording', type=Path, metavar='RECORDING', help=help_)
    add(
        '--joint-states',
        default='',
        metavar='TOPIC',
        help='topic of the joint states in the recording; default: joint_states, or the only one',
    )
    add_overwrite(parser)
    arguments = parser.parse_args(argv)
    return guarded(lambda: _new_arm(arguments))


def _new_arm(arguments: argparse.Namespace) -> int:
    path = located(arguments.robot)
    check_outputs([arguments.output], [path, arguments.recording], arguments.overwrite)
    robot = loaded(path, arguments.base_link)
    if not robot.n:
        raise ArgumentError(f'{path}: no joint moves, must be an arm')
    changes = Adaptation(fixed=unreported_joints(robot))
    arm = NewArm(changes.of_robot(robot), path.absolute(), changes, arguments.base_link)
    if arguments.recording:
        found = recorded_arm(arguments.recording, robot, arguments.joint_states)
        arm = replace(
            arm, robot=found.adaptation.of_robot(robot), adaptation=found.adaptation, joint_states=found.topic,
            sign=found.sign, findings=found.findings,
        )  # fmt: skip
    text = arm_file_text(replace(arm, preset=preset_of(arm.known)), arguments.output.name)
    write_whole(arguments.output, text)
    say(*_summary(arm, arguments.output, text))
    read_arm_file(arguments.output)
    return 0


def preset_of(known: KnownArm) -> dict[str, Any]:
    """Return the parameters of a known arm's file, or nothing."""
    return {} if known is UNKNOWN else read_parameters(share('config', 'robots', f'{known.file}.yaml'))


def _summary(arm: NewArm, output: Path, text: str) -> list[str]:
    known = '' if arm.known is UNKNOWN else f', joints named as those of {arm.known.name}'
    hands = ', '.join(f'{name} ({link})' for name, link in hands_of(arm.robot).items()) or 'none'
    return [
        f'{arm.robot.name}: {arm.robot.n} joints{known}; hands: {hands}',
        *arm.findings,
        f'written: {output}; {text.count(f"{GUESS}:")} guesses in it are marked {GUESS}: check these first',
    ]


if __name__ == '__main__':
    sys.exit(main())
