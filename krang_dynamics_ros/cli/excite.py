"""`excite`: plan a motion that determines the parameters of a robot; run it in simulation or on a robot."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import ArgumentError, unknown_name
from ..core.files import whole_file
from ..core.spatial import Array
from ..dynamics.trajectory import Spline, Trajectory
from ..equations.regressor import with_fixed_joints
from ..identification.clearance import MARGIN, Clearance, Near
from ..identification.collision_shapes import Box, Shapes
from ..identification.excitation import MIN_DURATION, PATH_STATES, Excitation, Search, run
from ..live.robot_inputs import InputTopics
from ..recordings.bag import check_new_folder
from ..recordings.derivatives import SLOWEST
from ..recordings.table import write_csv
from ..recordings.trajectory_file import read_trajectory, write_trajectory
from ..robot.mesh_files import MeshFiles
from ..robot.robot import Robot
from ..robot.robot_file import load_robot, located
from .arm_option import ArmFile, add_arm, read_arm_file
from .common import (
    add_overwrite,
    check_outputs,
    command_parser,
    guarded,
    number,
    progress_bar,
    say,
    whole_number,
)
from .playing import NEAR, add_playing, follower_of, play, player_of, write_steps
from .record_beside import RecordBeside
from .recorded import add_joints, moving_joints

if TYPE_CHECKING:
    from ..nodes.trajectory_player import Player

_DESCRIPTION = """\
Plans a periodic motion whose efforts determine the parameters of a robot well: a Fourier series with a small condition
number, within the limits of position, velocity and effort. The motion keeps clear of the robot itself, the floor and
keep-out boxes, by the shapes and meshes of the robot (cables and people are not checked). Writes a
trajectory_msgs/JointTrajectory in YAML. --run simulates it and writes a recording for `krang identify`; --send plays it
on a robot, and --record writes a recording of the robot while it plays."""
CHECK_EVERY = 0.005  # s between the checked states of a motion from a file
PLANNING: dict[str, Any] = {  # options for planning, with their defaults; refused with --motion
    'period': 10.0, 'duration': 30.0, 'rate': 100.0, 'seed': 0, 'output': Path('excitation.yaml'), 'run': None,
    'noise': 0.02, 'joints': [],
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('excite', _DESCRIPTION)
    parser.add_argument(
        'robot', nargs='?', default='', metavar='ROBOT', help='robot file, URDF or a name; default: Krang'
    )
    add_arm(parser)
    add_joints(parser)
    _add_planning(parser)
    add_overwrite(parser)
    _add_clearance(parser)
    add_playing(parser)
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index('--ros-args') if '--ros-args' in words else len(words)
    arguments = parser.parse_args(words[:at])
    return guarded(lambda: _excite(arguments, words[at:]))


def _add_planning(parser: argparse.ArgumentParser) -> None:
    # fmt: off
    add, default = parser.add_argument_group('planning, without --motion').add_argument, PLANNING
    add('--period', type=number(1.0), metavar='S', help=f'default: {default["period"]:g}')
    add('--duration', type=number(MIN_DURATION), metavar='S', help=f'default: {default["duration"]:g}')
    add('--rate', type=number(SLOWEST), metavar='HZ', help=f'rate of points and rows; default: {default["rate"]:g}')
    add('--seed', type=whole_number(0), metavar='N', help=f'seed of the search (default: {default["seed"]})')
    add('-o', '--output', type=Path, metavar='FILE', help=f'file for the trajectory; default: {default["output"]}')
    add('--run', type=Path, metavar='CSV', help='simulate a robot that follows the motion; write the recording')
    add('--noise', type=number(0.0), metavar='PART',
        help=f'noise of its efforts, relative to their standard deviation (default: {default["noise"]:g})')
    # fmt: on


def _set_planning(arguments: argparse.Namespace) -> None:
    """Set the defaults of the options for planning; refuse these options beside a motion that is planned already."""
    given = [f'--{name}' for name in PLANNING if getattr(arguments, name) not in (None, [])]
    if arguments.motion and given:
        raise ArgumentError(f'{", ".join(given)}: for planning, must not be given with --motion')
    for name, default in PLANNING.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)


def _add_clearance(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('clearance (docs/excitation.md)')
    group.add_argument(
        '--clearance',
        type=number(0.0, 1.0),
        default=MARGIN,
        metavar='M',
        help=f'minimum distance, m (default: {MARGIN})',
    )
    group.add_argument(
        '--floor',
        type=_floor,
        default='lowest',
        metavar='M',
        help='height of the floor above the origin of the base, m, or none; default: lowest point of fixed links',
    )
    box = 'X,Y,Z,DX,DY,DZ'
    group.add_argument(
        '--keep-out',
        nargs='+',
        default=[],
        type=_box,
        metavar=f'NAME={box}',
        help='boxes that the robot must not enter: centre and size in the axes of the base, m',
    )
    group.add_argument(
        '--tool',
        nargs='+',
        default=[],
        type=_box,
        metavar=f'LINK={box}',
        help='boxes around tools that the URDF lacks: centre and size in the axes of the link, m',
    )
    group.add_argument('--meshes', nargs='+', default=[], metavar='FOLDER', help='folders of the meshes, or packages')
    group.add_argument(
        '--touching', nargs='+', default=[], type=_links, metavar='LINK,LINK', help='links that may touch each other'
    )
    group.add_argument('--without-missing', action='store_true', help='ignore missing shapes')


def _floor(text: str) -> str | float:
    """Read a height, `lowest` or `none`."""
    if text in ('lowest', 'none'):
        return text
    try:
        return number(-math.inf)(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f'{text}, must be a height in m, lowest or none') from None


def _box(text: str) -> tuple[str, Array]:
    """Read NAME=X,Y,Z,DX,DY,DZ."""
    name, _, numbers = text.rpartition('=')
    try:
        values = np.array([float(value) for value in numbers.split(',')])
    except ValueError:
        values = np.zeros(0)
    if not name or values.shape != (6,) or not np.isfinite(values).all() or not (values[3:] > 0).all():
        raise argparse.ArgumentTypeError(f'{text}, must be NAME=X,Y,Z,DX,DY,DZ: centre and positive size, m')
    return name, values


def _links(text: str) -> tuple[str, str]:
    first, comma, second = text.partition(',')
    if not (first and comma and second):
        raise argparse.ArgumentTypeError(f'{text}, must be LINK,LINK')
    return first, second


def _excite(arguments: argparse.Namespace, ros_arguments: Sequence[str]) -> int:
    _set_planning(arguments)
    written = None if arguments.motion else arguments.output
    read = [arguments.robot, arguments.arm, arguments.motion]
    check_outputs([written, arguments.run], read, arguments.overwrite)
    if arguments.record:
        if not arguments.send:
            raise ArgumentError('--record: only with --send, whose motion it records; add --send, or --run to simulate')
        check_new_folder(arguments.record)
    arm_file = read_arm_file(arguments.arm, robot_file=arguments.robot)
    robot = arm_file.robot if arm_file else load_robot(arguments.robot)
    arguments.mesh_folders = arm_file.mesh_folders if arm_file else []
    arguments.robot_beside = arguments.robot or (str(arm_file.values.get('robot_file', '')) if arm_file else '')
    if arm_file:
        arguments.keep_out += [(name, np.ravel(box)) for name, box in arm_file.keep_out.items()]
    if arguments.duration * arguments.rate > 1e6:
        raise ArgumentError(f'{arguments.duration * arguments.rate:g} points, must be 1e6 at most')
    if not arguments.send:
        return _plan_and_play(robot, arguments, None)
    topic = arm_file.engine.inputs.topics.joint_states if arm_file else InputTopics().joint_states
    recorded_arm = arm_file or ArmFile(Path(arguments.robot or robot.name), {'robot_file': arguments.robot})
    recording = RecordBeside(arguments.record, recorded_arm, ros_arguments, arguments.arm) if arguments.record else None
    with player_of(robot, topic, ros_arguments) as player:
        return _plan_and_play(robot, arguments, player, recording)


def _plan_and_play(
    robot: Robot, arguments: argparse.Namespace, player: Player | None, recording: RecordBeside | None = None
) -> int:
    """Plan a motion, write it and simulate it if requested, or read one; then play it if requested."""
    moving: Sequence[str] = moving_joints(arguments, robot)
    motion = read_trajectory(arguments.motion) if arguments.motion else None
    moving = motion.joint_names if motion else moving
    follower = follower_of(player, robot, arguments.send) if player else None
    reduced = with_fixed_joints(robot, _fixed(robot, moving, arguments, player), moving)
    shapes, clearance = _clearance_of(reduced, arguments)
    if motion:
        _check(motion, clearance)
    else:
        motion = _plan(reduced, shapes, clearance, arguments)
    if follower and player:
        return play(player, follower, reduced, clearance, motion, arguments, recording)
    if player:
        write_steps(player, reduced, clearance, motion, arguments)
    return 0


def _fixed(
    robot: Robot, moving: Sequence[str], arguments: argparse.Namespace, player: Player | None
) -> dict[str, float]:
    """Return the positions of the fixed joints: as given by --fixed, or as measured."""
    given = dict(arguments.fixed)
    pose = player.pose() if player else {}
    for name, angle in given.items():
        if abs(pose.get(name, angle) - angle) > NEAR:
            raise ArgumentError(f'{name}: is at {pose[name]:.3f}, must be at {angle:g} (--fixed); move it there')
    return {name: angle for name, angle in pose.items() if name not in moving} | given


def _check(motion: Trajectory, clearance: Clearance) -> None:
    """Refuse a motion from a file with too small a clearance."""
    spline = Spline(motion)
    if near := clearance.blocked(spline.at(spline.times(CHECK_EVERY)).q):
        raise ArgumentError(f'the motion brings {" and ".join(near.names)} too near: {_distance(near)}; plan it again')


def _plan(robot: Robot, shapes: Shapes, clearance: Clearance, arguments: argparse.Namespace) -> Trajectory:
    """Plan a motion, write it, and simulate it if requested."""
    with progress_bar(robot.name) as show:
        found = Search(robot, arguments.period, arguments.seed, clearance).best(show)
    kept = clearance_lines(clearance, shapes, found)
    motion = trajectory_of(found, arguments.duration, arguments.rate)
    write_trajectory(arguments.output, motion, [f'{first_point(found)}.', *kept])
    say(f'{robot.name}: {robot.n} joints, condition number {found.condition:.1f} (base regressor, normalised columns)')
    say(f'written: {arguments.output}, {arguments.duration:g} s')
    say(*kept, *([] if arguments.send else [f'{first_point(found)}.']))
    if arguments.run:
        with progress_bar(robot.name) as show:
            recording = run(robot, found, arguments.duration, arguments.rate, arguments.noise, arguments.seed, show)
        with whole_file(arguments.run) as stream:
            write_csv(recording, stream)
        say(f'simulated and recorded: {arguments.run}')
    return motion


def _clearance_of(robot: Robot, arguments: argparse.Namespace) -> tuple[Shapes, Clearance]:
    """Return the shapes of a robot, and the check of their clearance."""
    boxes = [Box(name, values[:3], values[3:]) for name, values in arguments.keep_out]
    boxes += [Box(f'tool of {link}', values[:3], values[3:], link) for link, values in arguments.tool]
    height = arguments.floor if isinstance(arguments.floor, float) else None
    shapes = Shapes(
        robot, MeshFiles([*arguments.meshes, *arguments.mesh_folders], located(arguments.robot_beside)), boxes, height,
        arguments.floor != 'none', without_missing=arguments.without_missing,
    )  # fmt: skip
    for name in (name for pair in arguments.touching for name in pair):
        if name not in shapes.names:
            raise unknown_name('link', name, shapes.names)
    with progress_bar('comparing shapes in random poses'):
        return shapes, Clearance(robot, shapes, arguments.clearance, arguments.touching)


def clearance_lines(clearance: Clearance, shapes: Shapes, excitation: Excitation) -> list[str]:
    """Return lines with the smallest distances, and with everything that is not checked."""
    least, near = clearance.nearest(excitation.path(PATH_STATES))
    lines = [f'clearance: {_distance(least)} at least' if least else 'clearance: no pairs to check']
    if near:
        lines.append(f'allowed to be nearer, because they are close in every pose: {"; ".join(map(_distance, near))}')
    lines.append('not checked: links that a joint connects, cables, people')
    if clearance.always:
        lines.append(f'not checked, because they touch by design: {_pairs(clearance.always)}')
    if shapes.missing:
        lines.append(f'not checked, because their meshes are missing: {", ".join(shapes.missing)}')
    if shapes.bare:
        lines.append(f'not checked, because they have no shape: {", ".join(shapes.bare)}')
    if shapes.floor is None:
        lines.append('not checked: the floor, because its height is unknown (--floor)')
    return lines


def _distance(near: Near) -> str:
    return f'{math.floor(1000 * near.distance) / 10:g} cm ({" and ".join(near.names)})'


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ', '.join(dict.fromkeys(' and '.join(pair) for pair in pairs))


def first_point(excitation: Excitation) -> str:
    """Return a sentence with the positions of the joints at the start of the motion."""
    position = excitation.at(np.zeros(1))[0][0]
    joints = ', '.join(f'{name} {angle:.4f}' for name, angle in zip(excitation.joint_names, position, strict=True))
    return f'Move the joints to the first point beforehand ({joints}): the clearance of the way there was not checked'


def trajectory_of(excitation: Excitation, duration: float, rate: float) -> Trajectory:
    """Return the motion from rest to rest, with points at a rate (Hz)."""
    time = np.arange(round(duration * rate) + 1) / rate
    return Trajectory.of(excitation.joint_names, time, *excitation.from_rest_to_rest(time, float(time[-1])))


if __name__ == '__main__':
    sys.exit(main())
