"""`generate_urdf`: write a robot file as URDF."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core.files import PACKAGE, write_whole
from ..robot.urdf_writer import urdf_text
from .arm_option import add_arm, requested_robot
from .common import add_overwrite, add_robot_file, check_outputs, command_parser, guarded, robot_path, say


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('generate_urdf', 'Write a robot file as URDF.')
    add_robot_file(parser)
    add_arm(parser)
    parser.add_argument('-o', '--output', type=Path, help='file to write; default: standard output')
    add_overwrite(parser)
    arguments = parser.parse_args(argv)
    return guarded(lambda: _generate(arguments))


def _generate(arguments: argparse.Namespace) -> int:
    output = arguments.output
    check_outputs([output], [robot_path(arguments), arguments.arm], arguments.overwrite)
    robot, path = requested_robot(arguments)
    note = f'Generated from {path.name} by {PACKAGE} generate_urdf: edit that file, not this one.'
    text = urdf_text(robot, note)
    if output is None:
        sys.stdout.write(text)
    else:
        write_whole(output, text)
        say(f'{output}: {len(robot.links)} links, {robot.n} joints that move, {robot.mass:.3f} kg')
    return 0


if __name__ == '__main__':
    sys.exit(main())
