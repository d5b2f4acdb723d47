"""`identify`: identify friction, rotor inertias and bodies of a robot from recordings."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..core.files import write_whole
from ..identification.doctor import ASSUMED, examine
from ..identification.identified_file import robot_file_text, why_not_edited
from ..identification.identify import Identified, identify
from ..identification.payload import Payload, identify_payload, payload_parameters
from ..identification.report import identification_report
from ..identification.robot_file_edits import with_meshes_of
from ..recordings.recording import Recording
from ..robot.file_text import is_xml, text_of
from ..robot.robot import Robot
from .common import add_overwrite, check_outputs, command_parser, guarded, note, progress_bar, say
from .error_table import print_errors
from .recorded import add_recordings, given_robot, recordings_of

_DESCRIPTION = """\
Identifies friction, rotor inertias and bodies of a robot from recordings of its positions and efforts. All bodies are
physically possible; parameters that the motion does not determine stay near those of the robot file. Cross-validation
selects the terms of the model. Writes a robot file and a report; `krang predict` then predicts the efforts of another
recording. `--payload HAND` identifies only mass and centre of mass of the payload, as parameters of the node."""
INERTIA_AXES = ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('identify', _DESCRIPTION)
    add_recordings(parser)
    parser.add_argument(
        '--like',
        nargs='+',
        default=[],
        type=_pair,
        metavar='OTHER=JOINT',
        help='give OTHER, a joint that was not recorded, the numbers of the recorded JOINT of the same build',
    )
    parser.add_argument('--payload', metavar='HAND', help='identify only the payload of this hand (or link)')
    parser.add_argument(
        '--inertia', action='store_true', help='identify the inertia of the payload too, which needs a fast motion'
    )
    parser.add_argument(
        '-o',
        '--output',
        type=Path,
        metavar='FILE',
        help='robot file; default: ROBOT_identified.yaml. Of a payload: parameter file; default: HAND_payload.yaml',
    )
    parser.add_argument('--report', type=Path, metavar='FILE', help='default: the robot file with .html')
    add_overwrite(parser)
    arguments = parser.parse_args(argv)
    if arguments.inertia and not arguments.payload:
        parser.error('--inertia is for --payload HAND: the inertias of a robot are always identified')
    if arguments.payload and (arguments.like or arguments.report):
        parser.error('--payload HAND writes a parameter file: must be without --like and --report')
    return guarded(lambda: _payload(arguments) if arguments.payload else _identify(arguments))


def _pair(text: str) -> tuple[str, str]:
    other, equals, name = text.partition('=')
    if not equals:
        raise argparse.ArgumentTypeError(f'{text}, must be OTHER=JOINT')
    return other, name


def _identify(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    robot, path, arm = given_robot(arguments)
    output = arguments.output or Path(f'{robot.name}_identified.yaml')
    page = arguments.report or output.with_suffix('.html')
    read = [path, arguments.arm, arguments.layout, *arguments.recordings]
    check_outputs([output, page], read, arguments.overwrite)
    recordings = recordings_of(arguments, robot, arm)
    text = text_of(path)
    old = '' if is_xml(text) else text
    like = dict(arguments.like)
    if why := why_not_edited(robot, old, recordings[0].joint_names, like):
        note(f'{path} cannot be edited, so a new robot file will be written: {why}')
    _note_mistakes(robot, recordings)
    with progress_bar(robot.name) as show:
        found = identify(robot, recordings, show)
    _print(found)
    new = robot_file_text(found, old, like)
    write_whole(output, with_meshes_of(new, path.parent, output.parent))
    write_whole(page, identification_report(found))
    say(f'\nwritten: {output}, {page}  ({time.monotonic() - started:.0f} s)')
    return 0


def _note_mistakes(robot: Robot, recordings: Sequence[Recording]) -> None:
    """Print assumptions on recordings, and the findings of a quick `krang doctor`."""
    say(f'assumed: {ASSUMED}')
    for recording in recordings:
        found = examine(robot, recording, quick=True)
        say(f'{recording.source}: {found.timing}')
        note(*(f'{recording.source}: {finding}; `krang doctor` says more' for finding in found.findings))


def _payload(arguments: argparse.Namespace) -> int:
    robot, path, arm = given_robot(arguments)
    output = arguments.output or Path(f'{Path(arguments.payload).name}_payload.yaml')
    read = [path, arguments.arm, arguments.layout, *arguments.recordings]
    check_outputs([output], read, arguments.overwrite)
    recordings = recordings_of(arguments, robot, arm)
    _note_mistakes(robot, recordings)
    found = identify_payload(robot, arguments.payload, recordings, arguments.inertia)
    _print_payload(found)
    write_whole(output, payload_parameters(found))
    say(f'\nwritten: {output}')
    return 0


def _print_payload(found: Payload) -> None:
    say(f'{found.hand} ({found.link}) holds, by the robot file and {found.seconds:.1f} s of motion:\n')
    names = ['mass', *(f'centre of mass {axis}' for axis in 'xyz'), *(f'inertia {axis}' for axis in INERTIA_AXES)]
    values = [found.body.m, *found.body.com, *found.inertia_about_com]
    units = ['kg', *['m'] * 3, *['kg m^2'] * 6]
    count = 10 if found.inertia else 4
    for name, value, unit, deviation in zip(names[:count], values, units, found.deviations, strict=False):
        say(f'  {name:<18}{value:>10.5f} {unit:<7}+- {deviation:.5f}')
    say('\nerror of the efforts, RMSE over their standard deviation, mean of the joints:')
    say(f'{found.before.mean():.3f} without the payload, {found.after.mean():.3f} with it')
    if found.alone:
        masses = [
            f'{name} {"not determined" if math.isnan(mass) else f"{mass:.3f} kg"}' for name, mass in found.alone.items()
        ]
        say(f'mass from each single recording: {", ".join(masses)}')
    for warning in found.warnings:
        note(warning)


def _print(found: Identified) -> None:
    say(f'{", ".join(found.sources)}: {len(found.samples.time)} rows of {found.duration:.1f} s of motion')
    say(f'model: {found.structure}')
    say('error on held-out data, over the standard deviation of the effort:\n')
    print_errors(found.robot, found.joint_names, found, found.samples.effort_std)
    say(f'\n{found.combinations_text}; every body is physically possible')
    difference = f'{found.fit.difference:.1g} of their standard deviation'
    say(f'efforts by the new file and by the fit differ by {difference}, in the worst joint')
    for warning in found.warnings:
        say(f'note: {warning}')


if __name__ == '__main__':
    sys.exit(main())
