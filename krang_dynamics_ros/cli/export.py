"""`export`: write the symbolic dynamics of a robot for other programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import ArgumentError
from ..symbolic.export import FORMATS, export, usage
from ..symbolic.expressions import identifier
from ..symbolic.parameters import OPEN
from .arm_option import add_arm, requested_robot
from .common import (
    add_overwrite,
    add_robot_file,
    command_parser,
    guarded,
    note_friction,
    progress_bar,
    say,
)

_DESCRIPTION = """\
Writes A, C, C dq, Q, A ddq + C dq + Q, J^T f, friction, springs, coupled friction, E and U of a robot as functions of
q, dq, ddq, wrenches f and parameters p: C99 without dependencies, MATLAB and Octave functions, a Python module, or
CasADi files."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('export', _DESCRIPTION)
    add_robot_file(parser)
    add_arm(parser)
    parser.add_argument('--to', choices=FORMATS, default='c', help='default: c')
    parser.add_argument(
        '--parameters',
        choices=OPEN,
        default='settings',
        help='content of p; the others are numbers: settings (gravity, rotor inertia, friction, payloads, '
        'springs, couplings; the default), or all (also the ten inertial parameters of each link, and the lengths)',
    )
    parser.add_argument('-o', '--output', type=Path, metavar='DIR', help='folder to write to; default: ROBOT_FORMAT')
    add_overwrite(parser)
    arguments = parser.parse_args(argv)
    return guarded(lambda: _export(arguments))


def _check_folder(folder: Path, overwrite: bool) -> None:
    """Make the output folder; refuse a folder with files unless `overwrite` is set."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not overwrite:
        raise ArgumentError(f'{folder}: contains files, must be empty or new; set another folder, or --overwrite')


def _export(arguments: argparse.Namespace) -> int:
    robot, _ = requested_robot(arguments)
    name, to = identifier(robot.name), arguments.to
    folder = arguments.output or Path(f'{name}_{to}')
    _check_folder(folder, arguments.overwrite)
    with progress_bar(robot.name) as show:
        files = export(robot, to, folder, arguments.parameters, show)
    note_friction(robot)
    say(*files)
    say(f'\nIn {folder}:  {usage(to, name)}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
