"""`generate_urdf`: write a robot file as URDF."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..core.files import PACKAGE, write_whole
from ..robot.robot import Robot
from ..robot.urdf_writer import urdf_text
from .common import add_overwrite, add_robot_file, check_outputs, command_parser, guarded, loaded, robot_path, say


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('generate_urdf', 'Write a robot file as URDF.')
    add_robot_file(parser)
    parser.add_argument('-o', '--output', type=Path, help='file to write; default: standard output')
    add_overwrite(parser)
    arguments = parser.parse_args(argv)
    chosen = (robot_path(arguments), arguments.base_link, arguments.output, arguments.overwrite)
    return guarded(lambda: _generate(*chosen))


def described(path: Path, base_link: str = '') -> tuple[Robot, str]:
    """Return the robot of a file, and its URDF with a comment that names the file."""
    robot = loaded(path, base_link)
    return robot, urdf_text(
        robot, f'Generated from {path.name} by {PACKAGE} generate_urdf: edit that file, not this one.'
    )


def _generate(path: Path, base_link: str, output: Path | None, overwrite: bool) -> int:
    check_outputs([output], [path], overwrite)
    robot, text = described(path, base_link)
    if output is None:
        sys.stdout.write(text)
    else:
        write_whole(output, text)
        say(f'{output}: {len(robot.links)} links, {robot.n} joints that move, {robot.mass:.3f} kg')
    return 0


if __name__ == '__main__':
    sys.exit(main())
