"""`formulas`: print the equations of a small robot as formulas."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..core.files import robot_files
from ..robot.robot import Robot
from ..symbolic.formulas import formulas, sympy
from .arm_option import add_arm, requested_robot
from .common import command_parser, guarded, loaded, note_friction, progress_bar

_DESCRIPTION = """\
Prints A, C dq, Q, J^T f, friction and springs of a small robot as formulas with the symbols of its file, for comparison
with a textbook. F and M are the force and moment that a hand applies, in the axes of the base and about the origin of
the hand. A letter with another meaning in the file gets a prime."""
_LEFT = {
    'A': 'A(q)',
    'coriolis_torque': 'C(q, dq) dq',
    'Q': 'Q(q)',
    'wrench_torque': 'J^T f',
    'friction_torque': 'friction',
    'spring_torque': 'springs',
    'coupling_torque': 'coupling',
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('formulas', _DESCRIPTION)
    parser.add_argument(
        'robot_file',
        nargs='?',
        type=Path,
        help='robot file (YAML) of at most 3 joints; default: all textbook robots',
    )
    add_arm(parser)
    arguments = parser.parse_args(argv)
    arguments.base_link = ''
    return guarded(lambda: _print(_robots(arguments)))


def _robots(arguments: argparse.Namespace) -> Iterator[Robot]:
    if arguments.robot_file or arguments.arm:
        yield requested_robot(arguments)[0]
    else:
        yield from map(loaded, robot_files()[1:])


def _print(robots: Iterable[Robot]) -> int:
    unicode = (sys.stdout.encoding or '').lower().startswith('utf')
    for robot in robots:
        with progress_bar(robot.name) as show:
            found = formulas(robot, show)
        note_friction(robot)
        print(f'{robot.name}: q = ({", ".join(robot.joint_names)})\n')
        for quantity, matrix in found.items():
            shown = sympy.S.Zero if matrix.is_zero_matrix else matrix if matrix.shape != (1, 1) else matrix[0]
            print(_beside(_LEFT[quantity], sympy.pretty(shown, use_unicode=unicode, wrap_line=False)), end='\n\n')
    return 0


def _beside(left: str, block: str) -> str:
    """Return `left =` in front of the middle line of a block."""
    lines = block.splitlines()
    middle = len(lines) // 2
    return '\n'.join(f'{f"{left} =" if k == middle else "":<15}{line}'.rstrip() for k, line in enumerate(lines))


if __name__ == '__main__':
    sys.exit(main())
