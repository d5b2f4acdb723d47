"""`predict`: predict the efforts of a recording, and print the errors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.errors import ArgumentError
from ..core.files import whole_file
from ..dynamics.efforts import braked_rows
from ..identification.predict import Prediction, predict
from ..recordings.recording import Recording, RecordingError, motion_or_rest
from ..recordings.table import write_csv
from ..robot.robot import Robot, joint_units
from ..robot.robot_file import load_robot
from .common import add_overwrite, check_outputs, command_parser, guarded, say
from .error_table import print_errors
from .recorded import add_recordings, given_robot, recordings_of

_DESCRIPTION = """\
Predicts the efforts of a recording with a robot file, for example of `krang identify`, and prints the error by joint:
RMSE over the standard deviation of the measured effort, from the first to the last row of motion. Default of --robot:
ROBOT_identified.yaml in the working directory if it exists, else the robot of the arm file, of the layout of the
recording, or Krang."""


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
        raise ArgumentError(
            f'{arguments.output}: a single file, must be for a single recording; run predict once for each'
        )
    robot, path, arm = given_robot(arguments)
    identified = Path(f'{robot.name}_identified.yaml')
    if not arguments.robot and identified.is_file():
        path, robot = identified, arm.robot_of(identified) if arm else load_robot(identified)
    read = [path, arguments.arm, arguments.layout, *arguments.recordings]
    check_outputs([arguments.output], read, arguments.overwrite)
    say(f'robot: {path}')
    recordings = recordings_of(arguments, robot, arm)
    for recording in recordings:
        motion = recording if arguments.rows is not None else motion_or_rest(recording)
        rows = _rows(recording, motion, arguments.rows)
        motion = motion or recording
        found = predict(robot, motion)
        say(f'\n{recording.source}: {rows}\n')
        _print(robot, found if found.stands_still else _without_braked(robot, found))
        if arguments.output:
            with whole_file(arguments.output) as stream:
                write_csv(replace(motion, effort=found.predicted), stream)
    return 0


def _without_braked(robot: Robot, found: Prediction) -> Prediction:
    """Return a prediction without the rows in which brakes hold the arm, after a line about them."""
    recording = found.recording
    dq = found.dq if recording.velocity is None else recording.velocity
    limits = robot.effort_limits[[robot.joint_names.index(name) for name in recording.joint_names]]
    braked = braked_rows(dq, recording.measured_effort, found.residual, limits)
    if not braked.any():
        return found
    say(
        f'brakes or friction hold the arm in {braked.sum()} of these rows, which are left out of the errors: it stands '
        'still without efforts, though the model loads it\n'
    )
    kept = ~braked
    return replace(found, recording=recording.rows(kept), predicted=found.predicted[kept], dq=found.dq[kept])


def _print(robot: Robot, found: Prediction) -> None:
    names = found.recording.joint_names
    if not found.stands_still:
        _check_effort(found.recording)
        print_errors(robot, names, found, found.effort_std)
        return
    width, units = max(len(name) for name in (*names, 'joint')), joint_units(robot)
    say('the robot is at rest: there is no relative error; errors are absolute\n')
    say(f'{"joint":<{width}}  {"RMSE":>10}')
    for name, rmse in zip(names, found.rmse, strict=True):
        say(f'{name:<{width}}  {rmse:10.4g} {units[name].effort}')


def _check_effort(recording: Recording) -> None:
    """Refuse joints with constant effort: an error relative to its standard deviation is undefined."""
    efforts = zip(recording.joint_names, recording.measured_effort.T, strict=True)
    dead = [name for name, effort in efforts if np.ptp(effort) == 0]
    if dead:
        others = ' '.join(name for name in recording.joint_names if name not in dead)
        raise RecordingError(
            f'{recording.source}: the effort of {", ".join(dead)} never changes, must be measured'
            + (f'; exclude it with --joints {others}' if others else '')
        )


def _rows(recording: Recording, motion: Recording | None, requested: slice | None) -> str:
    if requested is not None:  # the recording has been cut
        return f'{len(recording)} rows, as requested'
    if motion is None:
        return f'all {len(recording)} rows'
    first = int((recording.time < motion.time[0]).sum())
    return f'rows {first} to {first + len(motion) - 1} of {len(recording)}, the motion'


if __name__ == '__main__':
    sys.exit(main())
