"""Common arguments of the commands that read recordings: recordings, robot, moving and fixed joints."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..core.errors import ArgumentError, listed, unknown_name
from ..core.files import krang_file, robot_named
from ..recordings.formats import robot_of
from ..recordings.joint_recording import read_joints
from ..recordings.recording import JointTrack, Recording, RecordingError, motion_or_rest, with_others
from ..recordings.source import USUAL_TOPICS
from ..robot.robot import Robot
from ..robot.robot_file import load_robot, located
from .arm_option import ArmFile, add_arm, arm_beside, read_arm_file
from .common import note


def add_recordings(parser: argparse.ArgumentParser, several: bool = True) -> None:
    """Add the arguments for one or several recordings and their robot."""
    parser.add_argument(
        'recordings', nargs='+' if several else 1, type=Path, metavar='RECORDING',
        help='bag, table or folder (docs/identification.md)',
    )  # fmt: skip
    parser.add_argument('--robot', metavar='FILE', help='robot file or URDF, or name of a shipped robot')
    add_arm(parser)
    add_layout(parser)
    parser.add_argument(
        '--joint-states', default='', metavar='TOPIC',
        help='topic of the joint states in a bag; default: that of the arm file, joint_states, or the only one',
    )  # fmt: skip
    parser.add_argument('--rows', type=_rows, metavar='A:B', help='rows to use, from 0; default: those with motion')
    add_joints(parser)


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Add the option for a layout file."""
    help_ = 'layout file: which column of a table is which quantity (docs/identification.md)'
    parser.add_argument('--layout', type=Path, metavar='FILE', help=help_)


def add_joints(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for moving and fixed joints."""
    parser.add_argument(
        '--joints', nargs='+', default=[], metavar='JOINT', help='joints that move; default: all but the fixed ones'
    )
    parser.add_argument(
        '--fixed',
        nargs='+',
        default=[],
        type=joint_angle,
        metavar='JOINT=RAD',
        help='positions of fixed joints (rad or m); of other joints that do not move: as recorded or measured, or zero',
    )


def moving_joints(arguments: argparse.Namespace, robot: Robot) -> list[str]:
    """Return the moving joints of a robot: those of `--joints`, or all but those of `--fixed`."""
    joint_names, fixed = robot.joint_names, [name for name, _ in arguments.fixed]
    for name in (*arguments.joints, *fixed):
        if name not in joint_names:
            raise unknown_name('joint', name, joint_names)
    if both := [name for name in arguments.joints if name in fixed]:
        raise ArgumentError(f'--joints and --fixed: both have {", ".join(both)}, must be in one of the two')
    check_fixed(robot, arguments.fixed)
    return arguments.joints or [name for name in joint_names if name not in fixed]


def check_fixed(robot: Robot, fixed: Sequence[tuple[str, float]]) -> None:
    """Refuse positions of `--fixed` at which a joint cannot be."""
    for name, q in fixed:
        if name in robot.joint_names and (fault := robot.position_fault(name, q)):
            raise ArgumentError(f'--fixed {fault}')


def _rows(text: str) -> slice:
    first, colon, last = text.partition(':')
    try:
        rows = slice(int(first) if first else None, int(last) if last else None)
    except ValueError:
        colon = ''
    if not colon:
        raise argparse.ArgumentTypeError(f'{text}, must be A:B with numbers; each may be empty')
    return rows


def joint_angle(text: str) -> tuple[str, float]:
    """Read JOINT=RAD."""
    name, _, angle = text.partition('=')
    try:
        value = float(angle)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f'{text}, must be JOINT=RAD')
    return name, value


def given_robot(arguments: argparse.Namespace) -> tuple[Robot, Path, ArmFile | None]:
    """Return the robot, its file, and the arm file, if there is one.

    The arm file is that of `--arm`, or that in the folder of the first recording if there is no `--robot`.
    """
    beside = None if arguments.arm or arguments.robot else arm_beside(arguments.recordings)
    arm = read_arm_file(arguments.arm or beside, robot_file=arguments.robot)
    path = _robot_file_of(arguments, arm)
    return arm.robot if arm else load_robot(path), path, arm


def recordings_of(arguments: argparse.Namespace, robot: Robot, arm: ArmFile | None = None) -> list[Recording]:
    """Read recordings of the same joints; the positions of other joints are those of `--fixed`, or as recorded."""
    recordings: list[Recording] = []
    for path in arguments.recordings:
        recording, others = _read(path, arguments, robot, arm)
        names = recordings[0].joint_names if recordings else recording.joint_names
        if set(names) != set(recording.joint_names):
            raise RecordingError(f'{path}: joints {", ".join(recording.joint_names)}, must be {", ".join(names)}')
        recording = recording.joints(names)
        check_joints(robot, recording)
        recording = _with_others(recording, others, arguments, robot)
        recordings.append(arm.with_torques(recording) if arm else recording)
    return recordings


def _with_others(
    recording: Recording, others: Mapping[str, JointTrack], arguments: argparse.Namespace, robot: Robot
) -> Recording:
    """Return the requested rows, with the other joints of the robot: at rest during the motion, or moving."""
    given = dict(arguments.fixed)
    recorded = {name: others[name] for name in others if name in robot.joint_names and name not in given}
    if arguments.rows is not None:
        recording = _rows_of(recording, arguments.rows)
    motion = motion_or_rest(recording) if recorded and arguments.rows is None else recording
    recording = with_others(recording, motion or recording, recorded)
    return replace(recording, resting={**recording.resting, **given})


def _rows_of(recording: Recording, rows: slice) -> Recording:
    """Return the rows of `--rows`, or raise `RecordingError` if they are fewer than two."""
    first, end, _ = rows.indices(len(recording))
    if end - first < 2:
        asked = ':'.join('' if row is None else str(row) for row in (rows.start, rows.stop))
        raise RecordingError(
            f'{recording.source}: --rows {asked} takes {max(end - first, 0)} of {len(recording)} rows, must take 2 or '
            'more: A:B is from row A to the row before B'
        )
    return recording.rows(rows)


def _read(
    path: Path, arguments: argparse.Namespace, robot: Robot, arm: ArmFile | None
) -> tuple[Recording, Mapping[str, JointTrack]]:
    """Return the moving joints of a recording, and the tracks of the others."""
    moving = moving_joints(arguments, robot)
    topics = arm.engine.inputs.topics if arm else USUAL_TOPICS
    found = read_joints(path, moving, bool(arguments.joints), arguments.joint_states, topics, arguments.layout)
    note(*(f'{path}: {line}' for line in found.recording.notes))
    if foreign := [name for name in found.others if name not in robot.joint_names]:
        note(f'{path}: {listed(foreign)}: not joints of {robot.name}, left out')
    if found.left_out:
        note(f'{path}: {found.left_out} rows left out, because a number is missing or not finite')
    return found.recording, found.others


def _robot_file_of(arguments: argparse.Namespace, arm: ArmFile | None = None) -> Path:
    """Return the robot file of the arm file, of `--robot`, of the layout of the recording, or that of Krang."""
    if arm is not None:
        return located(arm.values.get('robot_file', ''))
    if arguments.robot:
        named = Path(arguments.robot)
        return named if named.exists() else robot_named(arguments.robot) or named
    first = arguments.recordings[0]
    return robot_of(first, arguments.layout) or krang_file()


def check_joints(robot: Robot, recording: Recording) -> None:
    """Refuse a recording of another robot."""
    for name in recording.joint_names:
        if name not in robot.joint_names:
            raise ArgumentError(
                f"{recording.source}: joint '{name}' is not a joint of {robot.name}, must be one of "
                f'{", ".join(robot.joint_names)}; set the robot with --robot'
            )
