"""Find a robot's friction, rotor inertias and bodies in recordings of it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..core.whole_file import write_whole
from ..identification.identified import Identified
from ..identification.identify import identify
from ..identification.report import identification_report
from ..identification.robot_file_out import check_like, robot_file_text, why_not_edited
from ..robot.file_text import is_xml, text_of
from ..robot.robot import Robot
from ..robot.robot_file import load_robot
from ..robot.units import joint_units
from .common import command_parser, guarded, note, refuse_overwriting, say, show_progress
from .recorded import add_recordings, check_folders, recordings_of, robot_file_of

_DESCRIPTION = """\
Find friction, rotor inertias and bodies of a robot in recordings of its positions and efforts; all bodies are possible,
and drawn towards the robot file's where the motion says nothing. Which terms the model has is chosen by
cross-validation. Writes a robot file and a report; `krang predict` then says another recording's efforts."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('identify', _DESCRIPTION)
    add_recordings(parser)
    parser.add_argument(
        '--like', nargs='+', default=[], type=_pair, metavar='OTHER=JOINT', help='joints built as a recorded one is'
    )
    parser.add_argument('-o', '--output', type=Path, metavar='FILE', help='robot file; default: ROBOT_identified.yaml')
    parser.add_argument('--report', type=Path, metavar='FILE', help='default: the robot file with .html')
    arguments = parser.parse_args(argv)
    return guarded(lambda: _identify(arguments))


def _pair(text: str) -> tuple[str, str]:
    other, equals, name = text.partition('=')
    if not equals:
        raise argparse.ArgumentTypeError(f'{text}, must be OTHER=JOINT')
    return other, name


def _identify(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    path = robot_file_of(arguments)
    robot = load_robot(path)
    recordings = recordings_of(arguments, robot)
    output = arguments.output or Path(f'{robot.name}_identified.yaml')
    text = text_of(path)
    old = '' if is_xml(text) else text
    page = arguments.report or output.with_suffix('.html')
    refuse_overwriting([output, page], [path, arguments.layout, *arguments.recordings])
    check_folders(output, page)
    like = dict(arguments.like)
    check_like(robot, recordings[0].joint_names, like)
    if why := why_not_edited(robot, old, recordings[0].joint_names, like):
        note(f'{path} cannot be edited, the robot will be written anew: {why}')
    found = identify(robot, recordings, show_progress)
    show_progress('')
    _print(found)
    write_whole(output, robot_file_text(found, old, like))
    write_whole(page, identification_report(found))
    say(f'\nwritten: {output}, {page}  ({time.monotonic() - started:.0f} s)')
    return 0


def _print(found: Identified) -> None:
    say(f'{", ".join(found.sources)}: {len(found.samples.phase)} rows of motion')
    say(f'model: {found.structure}')
    say('error on rows left out, RMSE over standard deviation of the effort:\n')
    print_errors(found.robot, found.joint_names, found.errors.tolist(), found.samples.spread.tolist())
    say(f"\n{found.combinations} of {10 * len(found.links)} combinations of the bodies' numbers are determined by the")
    say('recording, the others by what was known before; every body is a possible one')
    for name, words in found.beyond_limits.items():
        say(f'{name}: {words}')


def print_errors(robot: Robot, names: Sequence[str], errors: Sequence[float], spreads: Sequence[float]) -> None:
    """Print a table of errors by joint, each in its unit."""
    width, units = max(len(name) for name in (*names, 'joint')), joint_units(robot)
    say(f'{"joint":<{width}}  {"RMSE/std":>8}  {"RMSE":>10}')
    for name, error, spread in zip(names, errors, spreads, strict=True):
        say(f'{name:<{width}}  {error:8.4f}  {error * spread:10.4g} {units[name].effort}')
    say(f'{"mean":<{width}}  {sum(errors) / len(errors):8.4f}')
    say(f'{"worst":<{width}}  {max(errors):8.4f}')


if __name__ == '__main__':
    sys.exit(main())
