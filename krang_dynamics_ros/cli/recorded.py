"""What the commands on recordings share: which recordings, of which robot, held how."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from ..core.errors import ArgumentError
from ..core.share import krang_file, robot_named
from ..recordings.bag import is_bag
from ..recordings.joint_bag import read_bag
from ..recordings.readers import find_layout, read_recording, robot_beside
from ..recordings.recording import Recording, RecordingError
from ..robot.robot import Robot


def add_recordings(parser: argparse.ArgumentParser) -> None:
    """Give a command its recordings and their robot."""
    parser.add_argument(
        'recordings', nargs='+', type=Path, metavar='RECORDING', help='bag, table or folder (docs/identification.md)'
    )
    parser.add_argument('--robot', metavar='FILE', help="robot file or URDF, or a shipped robot's name")
    parser.add_argument(
        '--layout', type=Path, metavar='FILE', help='what is where in the recordings, if that is not known'
    )
    parser.add_argument('--rows', type=_rows, metavar='A:B', help='rows that count, from 0; default: the motion')
    parser.add_argument('--joints', nargs='+', metavar='JOINT', help='that count; default: all that were recorded')
    parser.add_argument(
        '--held',
        nargs='+',
        default=[],
        type=joint_angle,
        metavar='JOINT=RAD',
        help='joints that do not count; else where they stood, or zero',
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


def recordings_of(arguments: argparse.Namespace, robot: Robot) -> tuple[list[Recording], dict[str, float]]:
    """Read the recordings of the same joints, and where the other joints stood: as `--held` says, or as recorded."""
    recordings: list[Recording] = []
    stood: dict[str, float] = {}
    for path in arguments.recordings:
        recording, still = _read(path, arguments, robot)
        names = recordings[0].joint_names if recordings else recording.joint_names
        if set(names) != set(recording.joint_names):
            raise RecordingError(f'{path}: joints {", ".join(recording.joint_names)}, must be {", ".join(names)}')
        stood |= {name: angle for name, angle in still.items() if name in robot.joint_names}
        recording = recording.joints(names)
        recordings.append(recording if arguments.rows is None else recording.rows(arguments.rows))
        check_joints(robot, recording)
    return recordings, stood | dict(arguments.held)


def _read(path: Path, arguments: argparse.Namespace, robot: Robot) -> tuple[Recording, dict[str, float]]:
    chosen = arguments.joints
    if path.exists() and is_bag(path):
        return read_bag(path, chosen or robot.joint_names, chosen=bool(chosen))
    recording = read_recording(path, arguments.layout)
    others = [name for name in recording.joint_names if chosen and name not in chosen]
    still = dict(zip(others, np.median(recording.joints(others).position, axis=0).tolist(), strict=True))
    return recording.joints(chosen) if chosen else recording, still


def robot_file_of(arguments: argparse.Namespace) -> Path:
    """Return the robot file that was named, or the one that the recording's layout names, or Krang's."""
    if arguments.robot:
        named = Path(arguments.robot)
        return named if named.exists() else robot_named(arguments.robot) or named
    first = arguments.recordings[0]
    return robot_beside(first, find_layout(first, arguments.layout)) or krang_file()


def check_joints(robot: Robot, recording: Recording) -> None:
    """Refuse a recording of another robot."""
    for name in recording.joint_names:
        if name not in robot.joint_names:
            raise ArgumentError(
                f"{recording.source}: joint '{name}' is not of robot {robot.name}, whose joints are "
                f'{", ".join(robot.joint_names)}; --robot names another'
            )
