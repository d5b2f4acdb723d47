"""Say what the efforts of a recording should have been, and how far from that they were."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.errors import ArgumentError
from ..core.files import whole_file
from ..identification.predict import Prediction, predict
from ..recordings.readers import write_csv
from ..recordings.recording import Recording, RecordingError, motion_or_rest
from ..robot.robot import Robot, joint_units
from ..robot.robot_file import load_robot
from .common import add_overwrite, check_outputs, command_parser, guarded, say
from .identify import ErrorTable, print_errors
from .recorded import add_recordings, arm_of, recordings_of, robot_file_of

_DESCRIPTION = """\
Predict the efforts of a recording by a robot file, such as `krang identify` writes, and print the error by joint: the
root of the mean squared error over the standard deviation of the measured effort, from the first row of motion to the
last. Without
--robot: ROBOT_identified.yaml in this folder, if there is one, else the robot that the recording's layout names."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('predict', _DESCRIPTION)
    add_recordings(parser)
    parser.add_argument('-o', '--output', type=Path, metavar='FILE', help='write the predicted efforts as CSV')
    add_overwrite(parser)
    arguments = parser.parse_args(argv)
    return guarded(lambda: _predict(arguments))


def _predict(arguments: argparse.Namespace) -> int:
    if arguments.output and len(arguments.recordings) > 1:
        raise ArgumentError(f'{arguments.output}: is one file, must be of one recording')
    arm = arm_of(arguments)
    path = robot_file_of(arguments, arm)
    robot = arm.robot if arm else load_robot(path)
    identified = Path(f'{robot.name}_identified.yaml')
    if not arguments.robot and identified.is_file():
        path, robot = identified, arm.robot_of(identified) if arm else load_robot(identified)
    check_outputs([arguments.output], [path, arguments.layout, *arguments.recordings], arguments.overwrite)
    say(f'robot: {path}')
    recordings = recordings_of(arguments, robot, arm)
    for recording in recordings:
        motion = recording if arguments.rows is not None else motion_or_rest(recording)
        rows = _rows(recording, motion, arguments.rows)
        motion = motion or recording
        found = predict(robot, motion)
        say(f'\n{recording.source}: {rows}\n')
        _print(robot, found)
        if arguments.output:
            with whole_file(arguments.output) as stream:
                write_csv(replace(motion, effort=found.predicted), stream)
    return 0


def _print(robot: Robot, found: Prediction) -> None:
    names = found.recording.joint_names
    if not found.stands_still:
        _check_effort(found.recording)
        print_errors(robot, names, ErrorTable.of(found, found.spread))
        return
    width, units = max(len(name) for name in (*names, 'joint')), joint_units(robot)
    say('the robot stands still: an error relative to the spread of the effort says nothing, so it is absolute\n')
    say(f'{"joint":<{width}}  {"RMSE":>10}')
    for name, rmse in zip(names, found.rmse, strict=True):
        say(f'{name:<{width}}  {rmse:10.4g} {units[name].effort}')


def _check_effort(recording: Recording) -> None:
    """Refuse a joint whose effort never changes: an error in parts of its spread says nothing."""
    efforts = zip(recording.joint_names, recording.measured_effort.T, strict=True)
    dead = [name for name, effort in efforts if np.ptp(effort) == 0]
    if dead:
        others = ' '.join(name for name in recording.joint_names if name not in dead)
        raise RecordingError(
            f'{recording.source}: the effort of {", ".join(dead)} never changes, must be measured'
            + (f'; --joints {others} leaves it out' if others else '')
        )


def _rows(recording: Recording, motion: Recording | None, asked: slice | None) -> str:
    if asked is not None:  # the recording has been cut
        return f'{len(recording)} rows, as asked'
    if motion is None:
        return f'all {len(recording)} rows'
    first = int((recording.time < motion.time[0]).sum())
    return f'rows {first} to {first + len(motion) - 1} of {len(recording)}, the motion'


if __name__ == '__main__':
    sys.exit(main())
