"""`check`: compare the dynamics of a robot with two independent witnesses, and print the differences."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..check.agreement import COMPARED, TOLERANCE, Finding, Findings, prove
from ..dynamics.factory import BACKENDS, COMPILED, PINOCCHIO, dynamics_of
from ..robot.file_text import text_of
from ..robot.robot import Robot
from .arm_option import add_arm, requested_robot
from .common import add_robot_file, command_parser, guarded, note, progress_bar, say, whole_number

_DESCRIPTION = """\
Compares Pinocchio, which the node uses, with two witnesses at random states of a robot: the Lagrangian of the report,
and recursive Newton-Euler. They use neither Pinocchio nor the URDF text that it reads. If the robot is a URDF, `--urdf`
with the same file compares the reading of it, too. Exit code: 0 all agree, 1 some differ, 2 a file was refused."""

_BY_URDF = '{backend} with {urdf}, compared with two witnesses on the numbers of {robot}; largest relative difference.'
_COMPILED = "{robot} in C, by the Lagrangian's equations, compared with Newton-Euler; largest relative error."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('check', _DESCRIPTION)
    add_robot_file(parser)
    add_arm(parser)
    parser.add_argument('--urdf', type=Path, help='URDF that Pinocchio reads; default: one written from the robot')
    parser.add_argument(
        '--states', type=whole_number(1), default=100, metavar='N', help='number of random states (default: 100)'
    )
    parser.add_argument('--seed', type=whole_number(0), default=0, help='seed of the random states (default: 0)')
    parser.add_argument('--backend', choices=BACKENDS, default=PINOCCHIO, help=f'default: {PINOCCHIO}')
    arguments = parser.parse_args(argv)
    return guarded(lambda: _check(arguments))


def _check(arguments: argparse.Namespace) -> int:
    urdf, states, seed = arguments.urdf, arguments.states, arguments.seed
    robot, path = requested_robot(arguments)
    dynamics = dynamics_of(robot, text_of(urdf) if urdf else None, arguments.backend)
    joints = '1 joint' if robot.n == 1 else f'{robot.n} joints'
    say(f'{robot.name}: {joints}, {robot.mass:.3f} kg; {states} random states, seed {seed}; bare hands and payloads.')
    title = _COMPILED if arguments.backend == COMPILED else _BY_URDF
    source = urdf.name if urdf else f'a URDF written from {path.name}'
    say(title.format(robot=path.name, urdf=source, backend=BACKENDS[arguments.backend]) + '\n')
    with progress_bar('comparing', states) as show:
        findings = prove(robot, dynamics, states, seed, lambda done: show(f'{done} of {states} states', done))
    _print_table(findings)
    if robot.has_effect('friction'):
        note('the friction torque is not compared: the witness knows eq. (17), and this robot has more')
    return _verdict(robot, findings)


def _print_table(findings: Findings) -> None:
    say(f'{"quantity":<53}{"eq.":<7}{"Lagrangian":>10}  {"Newton-Euler":>12}')
    for quantity, (meaning, equation) in COMPARED.items():
        witnesses = [findings.get((quantity, name)) for name in ('Lagrangian', 'Newton-Euler')]
        law = findings.get((quantity, 'law'))
        cells = [_cell(law)] if law else [_cell(finding) for finding in witnesses]
        if not any((law, *witnesses)):
            continue
        wrong = [f for f in (law, *witnesses) if f and not f.agrees]
        mark = f'  <-- differs{f" at {wrong[0].where}" if wrong[0].where else ""}' if wrong else ''
        say(
            f'{quantity:<11}{meaning:<42}{equation:<7}{cells[0]:>10}  {cells[1] if len(cells) > 1 else "law":>12}{mark}'
        )


def _cell(finding: Finding | None) -> str:
    return f'{finding.relative:.1e}' if finding else '-'


def _verdict(robot: Robot, findings: Findings) -> int:
    wrong = sum(not finding.agrees for finding in findings.values())
    if not wrong:
        say(f'\nAll {len(findings)} comparisons agree to {TOLERANCE:g}.')
        return 0
    say(f'\n{wrong} of {len(findings)} comparisons differ by more than {TOLERANCE:g}.')
    printed = findings.get(('iT_j', 'Lagrangian'))
    if printed and not printed.agrees:
        say(f"The joints of this file are not the report's ({printed.where}).")
        say(f'If this is intended, rename the robot: another name than {robot.name}.')
    return 1


if __name__ == '__main__':
    sys.exit(main())
