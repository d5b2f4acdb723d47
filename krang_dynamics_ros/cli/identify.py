"""Find a robot's friction, rotor inertias and bodies in recordings of it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ..core.spatial import Array
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
    say(f'{", ".join(found.sources)}: {len(found.samples.time)} rows of {found.duration:.1f} s of motion')
    say(f'model: {found.structure}')
    say('error on rows left out, over the standard deviation of the effort:\n')
    print_errors(found.robot, found.joint_names, ErrorTable.of(found, found.samples.spread))
    say(f'\n{found.combinations_text}; every body is a possible one')
    say(f'file and fit differ by {found.fit.difference:.1g} of the standard deviation')
    for warning in found.warnings:
        say(f'note: {warning}')


class Errors(Protocol):
    """Errors by joint, in parts of the standard deviation of the raw effort."""

    @property
    def errors(self) -> Array:
        """Raw."""

    @property
    def smooth_errors(self) -> Array:
        """With effort and model smoothed."""

    @property
    def floor(self) -> Array:
        """What no smooth motion explains."""


class ErrorTable(NamedTuple):
    """What a table of errors shows, of each joint; the first three in parts of the effort's standard deviation."""

    raw: Array
    smoothed: Array
    floor: Array
    rmse: Array  # N m, or N

    @classmethod
    def of(cls, found: Errors, spread: Array) -> ErrorTable:
        """Take the errors of an identification or a prediction."""
        return cls(found.errors, found.smooth_errors, found.floor, found.errors * spread)


def print_errors(robot: Robot, names: Sequence[str], table: ErrorTable) -> None:
    """Print errors by joint, each RMSE in its unit."""
    width, units = max(len(name) for name in (*names, 'joint')), joint_units(robot)
    say(f'{"joint":<{width}}  {"raw":>8}  {"smoothed":>8}  {"floor":>8}  {"RMSE":>10}')
    for name, raw, smoothed, floor, rmse in zip(names, *table, strict=True):
        say(f'{name:<{width}}  {raw:8.4f}  {smoothed:8.4f}  {floor:8.4f}  {rmse:10.4g} {units[name].effort}')
    means = '  '.join(f'{column.mean():8.4f}' for column in table[:3])
    say(f'{"mean":<{width}}  {means}')
    worst = '  '.join(f'{column.max():8.4f}' for column in table[:3])
    say(f'{"worst":<{width}}  {worst}')
    say('\nraw: as recorded. smoothed: effort and model smoothed. floor: what no smooth motion explains of the effort.')


if __name__ == '__main__':
    sys.exit(main())
