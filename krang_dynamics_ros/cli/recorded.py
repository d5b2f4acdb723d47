"""What the commands on recordings share: which recordings, of which robot, held how."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..core.errors import ArgumentError
from ..core.share import krang_file, robot_named
from ..recordings.bag import is_bag
from ..recordings.joint_bag import read_bag
from ..recordings.readers import find_layout, read_recording, robot_beside
from ..recordings.recording import Recording, RecordingError
from ..recordings.standing import Track, with_others
from ..recordings.window import motion_or_rest
from ..robot.robot import Robot
from .common import note


def add_recordings(parser: argparse.ArgumentParser) -> None:
    """Give a command its recordings and their robot."""
    parser.add_argument(
        'recordings', nargs='+', type=Path, metavar='RECORDING', help='bag, table or folder (docs/identification.md)'
    )
    parser.add_argument('--robot', metavar='FILE', help="robot file or URDF, or a shipped robot's name")
    parser.add_argument(
        '--layout', type=Path, metavar='FILE', help='what is where in the recordings, if that is not known'
    )
    parser.add_argument('--joint-states', default='', metavar='TOPIC', help='of a bag; default: the one that there is')
    parser.add_argument('--rows', type=_rows, metavar='A:B', help='rows that count, from 0; default: the motion')
    parser.add_argument('--joints', nargs='+', metavar='JOINT', help='whose efforts count; default: all recorded')
    parser.add_argument(
        '--held',
        nargs='+',
        default=[],
        type=joint_angle,
        metavar='JOINT=RAD',
        help='joints that do not count; else as recorded, or zero',
    )


def _rows(text: str) -> slice:
    first, colon, last = text.partition(':')
    try:
        rows = slice(int(first) if first else None, int(last) if last else None)
    except ValueError:
        colon = ''
    if not colon:
        raise argparse.ArgumentTypeError(f'{text}, must be A:B, either of them empty or a number')
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


def recordings_of(arguments: argparse.Namespace, robot: Robot) -> list[Recording]:
    """Read the recordings of the same joints, each with where the other joints stood: as `--held` says, or recorded."""
    recordings: list[Recording] = []
    for path in arguments.recordings:
        recording, others = _read(path, arguments, robot)
        names = recordings[0].joint_names if recordings else recording.joint_names
        if set(names) != set(recording.joint_names):
            raise RecordingError(f'{path}: joints {", ".join(recording.joint_names)}, must be {", ".join(names)}')
        recording = recording.joints(names)
        check_joints(robot, recording)
        recordings.append(_with_others(recording, others, arguments, robot))
    return recordings


def _with_others(
    recording: Recording, others: Mapping[str, Track], arguments: argparse.Namespace, robot: Robot
) -> Recording:
    """Return the rows that were asked for, with where the robot's other joints stood or moved in them."""
    said = dict(arguments.held)
    unsaid = {name: others[name] for name in others if name in robot.joint_names and name not in said}
    if arguments.rows is not None:
        recording = recording.rows(arguments.rows)
    motion = motion_or_rest(recording) if unsaid and arguments.rows is None else recording
    recording = with_others(recording, motion or recording, unsaid)
    return replace(recording, stood={**recording.stood, **said})


def _read(path: Path, arguments: argparse.Namespace, robot: Robot) -> tuple[Recording, Mapping[str, Track]]:
    """Return the joints of a recording that count, and the others."""
    chosen = arguments.joints
    if path.exists() and is_bag(path):
        bag = read_bag(path, chosen or robot.joint_names, bool(chosen), arguments.joint_states)
        note(*(f'{path}: {line}' for line in bag.recording.notes))
        if bag.left_out:
            note(f'{path}: {bag.left_out} messages left out, a number in them is missing or not finite')
        return bag.recording, bag.others
    recording = read_recording(path, arguments.layout)
    others = [name for name in recording.joint_names if chosen and name not in chosen]
    tracks = {name: Track(recording.time, recording.joints([name]).position[:, 0]) for name in others}
    return recording.joints(chosen) if chosen else recording, tracks


def robot_file_of(arguments: argparse.Namespace) -> Path:
    """Return the robot file that was named, or the one that the recording's layout names, or Krang's."""
    if arguments.robot:
        named = Path(arguments.robot)
        return named if named.exists() else robot_named(arguments.robot) or named
    first = arguments.recordings[0]
    return robot_beside(first, find_layout(first, arguments.layout)) or krang_file()


def check_folders(*files: Path) -> None:
    """Refuse files to be written where no folder is: said before the work, not after it."""
    for file in files:
        if not file.parent.is_dir():
            raise ArgumentError(f'{file.parent}: no such folder; must be there to write into')


def check_joints(robot: Robot, recording: Recording) -> None:
    """Refuse a recording of another robot."""
    for name in recording.joint_names:
        if name not in robot.joint_names:
            raise ArgumentError(
                f"{recording.source}: joint '{name}' is not of robot {robot.name}, whose joints are "
                f'{", ".join(robot.joint_names)}; --robot names another'
            )
