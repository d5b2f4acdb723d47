"""Plan a motion that determines a robot's parameters, and run it in simulation."""

from __future__ import annotations

import argparse
import math
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core.errors import ArgumentError, MissingError, unknown_name
from ..core.files import whole_file
from ..core.spatial import Array
from ..dynamics.factory import dynamics_of
from ..dynamics.trajectory import Spline, Trajectory
from ..equations.regressor import with_fixed_joints
from ..identification.approach import Approach, slow_motion
from ..identification.clearance import MARGIN, Clearance, Near
from ..identification.collision_shapes import Box, Shapes
from ..identification.excitation import MIN_DURATION, PATH_STATES, Excitation, Search, run
from ..identification.playing import SPEEDS, TOLERANCE, Following, at_speed
from ..recordings.derivatives import SLOWEST
from ..recordings.readers import write_csv
from ..recordings.trajectory_file import read_trajectory, write_trajectory
from ..robot.mesh_files import MeshFiles
from ..robot.robot import Robot
from ..robot.robot_file import load_robot, located
from .arm_option import add_arm, read_arm_file
from .common import (
    Keys,
    add_overwrite,
    check_outputs,
    command_parser,
    guarded,
    note,
    number,
    progress_bar,
    say,
    say_error,
    whole_number,
)
from .recorded import add_joints, moving_joints

if TYPE_CHECKING:
    from ..nodes.trajectory_player import Drive, Player

_DESCRIPTION = """\
Plan a periodic motion whose efforts determine a robot's parameters well: a Fourier series of small condition number,
within limits of position, velocity and effort, that keeps clear of the robot itself, the floor and keep-out boxes by
the true shapes and meshes of the robot (not of cables or people). Writes a trajectory_msgs/JointTrajectory in YAML;
--run follows it in simulation and writes a recording that `krang identify` reads. --send plays it on a robot."""
SIMULATOR = 'simulator'
THERE = 0.02  # rad or m: a joint that is so near to where it should be is there
CHECK_EVERY = 0.005  # s, of a motion from a file


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('excite', _DESCRIPTION)
    parser.add_argument(
        'robot', nargs='?', default='', metavar='ROBOT', help='robot file, URDF or a name; default: Krang'
    )
    add_arm(parser)
    add_joints(parser)
    parser.add_argument('--period', type=number(1.0), default=10.0, metavar='S', help='default: 10')
    parser.add_argument('--duration', type=number(MIN_DURATION), default=30.0, metavar='S', help='default: 30')
    parser.add_argument(
        '--rate', type=number(SLOWEST), default=100.0, metavar='HZ', help='of points and rows; default: 100'
    )
    parser.add_argument('--seed', type=whole_number(0), default=0, help='of the search (default: 0)')
    parser.add_argument('-o', '--output', type=Path, default=Path('excitation.yaml'), metavar='FILE', help='trajectory')
    parser.add_argument('--run', type=Path, metavar='CSV', help='record a simulated robot that follows it')
    parser.add_argument(
        '--noise', type=number(0.0), default=0.02, help='of its efforts, in parts of their spread (0.02)'
    )
    add_overwrite(parser)
    _add_clearance(parser)
    _add_sending(parser)
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index('--ros-args') if '--ros-args' in words else len(words)
    arguments = parser.parse_args(words[:at])
    return guarded(lambda: _excite(arguments, words[at:]))


def _add_sending(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('playing it on a robot (docs/excitation.md)')
    group.add_argument(
        '--send',
        default='',
        metavar='ACTION',
        help=f"action of the joint trajectory controller, or '{SIMULATOR}': our simulator",
    )
    group.add_argument('--motion', type=Path, metavar='FILE', help='play this trajectory; no other one is planned')
    group.add_argument(
        '--speeds',
        nargs='+',
        default=list(SPEEDS),
        type=number(0.01, 1.0),
        metavar='X',
        help=f'parts of its speed, one after the other (default: {" ".join(map(str, SPEEDS))})',
    )
    group.add_argument(
        '--tolerance',
        type=number(0.0),
        default=TOLERANCE,
        metavar='RAD',
        help=f'how far a joint may be from its reference, rad or m (default: {TOLERANCE})',
    )


def _add_clearance(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('clearance (docs/excitation.md)')
    group.add_argument(
        '--clearance', type=number(0.0, 1.0), default=MARGIN, metavar='M', help=f'least distance, m (default: {MARGIN})'
    )
    group.add_argument(
        '--floor',
        type=_floor,
        default='lowest',
        metavar='M',
        help='height of the floor above the origin of the base, m, or none; default: lowest, that of what stands still',
    )
    box = 'X,Y,Z,DX,DY,DZ'
    group.add_argument(
        '--keep-out',
        nargs='+',
        default=[],
        type=_box,
        metavar=f'NAME={box}',
        help='boxes that the robot keeps out of: centre and size in the axes of the base, m',
    )
    group.add_argument(
        '--tool',
        nargs='+',
        default=[],
        type=_box,
        metavar=f'LINK={box}',
        help='boxes about what a link carries and the URDF lacks: centre and size in the axes of the link, m',
    )
    group.add_argument('--meshes', nargs='+', default=[], metavar='FOLDER', help='folders of the meshes, or packages')
    group.add_argument(
        '--touching', nargs='+', default=[], type=_links, metavar='LINK,LINK', help='links that may touch each other'
    )
    group.add_argument('--without-missing', action='store_true', help='go on without shapes that are missing')


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
    written = None if arguments.motion else arguments.output
    check_outputs([written, arguments.run], [arguments.robot, arguments.motion], arguments.overwrite)
    arm_file = read_arm_file(arguments.arm, robot_file=arguments.robot)
    robot = arm_file.robot if arm_file else load_robot(arguments.robot)
    arguments.robot_beside = arguments.robot or (str(arm_file.values.get('robot_file', '')) if arm_file else '')
    if arm_file:
        arguments.keep_out += [(name, np.ravel(box)) for name, box in arm_file.keep_out.items()]
    if arguments.duration * arguments.rate > 1e6:
        raise ArgumentError(f'{arguments.duration * arguments.rate:g} points, must be 1e6 at most')
    if not arguments.send:
        return _plan_and_play(robot, arguments, None)
    with _player_of(robot, ros_arguments) as player:
        return _plan_and_play(robot, arguments, player)


def _plan_and_play(robot: Robot, arguments: argparse.Namespace, player: Player | None) -> int:
    """Plan a motion, or read it; write, simulate and play it as asked."""
    moving: Sequence[str] = moving_joints(arguments, robot.joint_names)
    motion = read_trajectory(arguments.motion) if arguments.motion else None
    moving = motion.joint_names if motion else moving
    drive = _drive_of(player, robot, arguments.send) if player else None
    arm = with_fixed_joints(robot, _fixed(robot, moving, arguments, player), moving)
    shapes, clearance = _clearance_of(arm, arguments)
    if motion:
        _check(motion, clearance)
    else:
        motion = _plan(arm, shapes, clearance, arguments)
    if drive and player:
        return _play(player, drive, arm, clearance, motion, arguments)
    if player:
        _write_steps(player, arm, clearance, motion, arguments)
    return 0


def _fixed(
    robot: Robot, moving: Sequence[str], arguments: argparse.Namespace, player: Player | None
) -> dict[str, float]:
    """Return the positions of the joints that do not move: as told, or as they are."""
    told = dict(arguments.fixed)
    pose = player.pose() if player else {}
    for name, angle in told.items():
        if abs(pose.get(name, angle) - angle) > THERE:
            raise ArgumentError(f'{name}: is at {pose[name]:.3f}, must be at {angle:g} (--fixed); move it there')
    return {name: angle for name, angle in pose.items() if name not in moving} | told


def _check(motion: Trajectory, clearance: Clearance) -> None:
    """Refuse a motion from a file that does not keep clear."""
    spline = Spline(motion)
    if near := clearance.blocked(spline.at(spline.times(CHECK_EVERY)).q):
        raise ArgumentError(f'the motion brings {" and ".join(near.names)} too near: {_distance(near)}; plan it again')


def _plan(arm: Robot, shapes: Shapes, clearance: Clearance, arguments: argparse.Namespace) -> Trajectory:
    """Plan a motion, write it, and follow it in simulation if asked."""
    with progress_bar(arm.name) as show:
        found = Search(arm, arguments.period, arguments.seed, clearance).best(show)
    kept = clearance_lines(clearance, shapes, found)
    motion = trajectory_of(found, arguments.duration, arguments.rate)
    write_trajectory(arguments.output, motion, [f'{first_point(found)}.', *kept])
    say(f'{arm.name}: {arm.n} joints, condition number {found.condition:.1f} (of the base regressor, its columns')
    say(f'of length one); {arguments.duration:g} s written: {arguments.output}')
    say(*kept, *([] if arguments.send else [f'{first_point(found)}.']))
    if arguments.run:
        with progress_bar(arm.name) as show:
            recording = run(arm, found, arguments.duration, arguments.rate, arguments.noise, arguments.seed, show)
        with whole_file(arguments.run) as stream:
            write_csv(recording, stream)
        say(f'simulated and recorded: {arguments.run}')
    return motion


def _clearance_of(robot: Robot, arguments: argparse.Namespace) -> tuple[Shapes, Clearance]:
    """Return the shapes of a robot and what they must keep; say what is guessed or unknown."""
    boxes = [Box(name, values[:3], values[3:]) for name, values in arguments.keep_out]
    boxes += [Box(f'tool of {link}', values[:3], values[3:], link) for link, values in arguments.tool]
    folders = [*arguments.meshes, str(located(arguments.robot_beside).parent)]
    height = arguments.floor if isinstance(arguments.floor, float) else None
    shapes = Shapes(
        robot, MeshFiles(folders), boxes, height, arguments.floor != 'none', without_missing=arguments.without_missing
    )
    for name in (name for pair in arguments.touching for name in pair):
        if name not in shapes.names:
            raise unknown_name('link', name, shapes.names)
    with progress_bar('comparing shapes in random poses'):
        return shapes, Clearance(robot, shapes, arguments.clearance, arguments.touching)


def clearance_lines(clearance: Clearance, shapes: Shapes, excitation: Excitation) -> list[str]:
    """Say how far apart everything stays, and what is not known or not checked."""
    least, near = clearance.nearest(excitation.path(PATH_STATES))
    lines = [f'clearance: {_distance(least)} at least' if least else 'clearance: nothing to keep clear of']
    if near:
        lines.append(f'nearer by design: {"; ".join(map(_distance, near))}')
    lines.append('not checked: links that a joint connects, cables, people')
    if clearance.always:
        lines.append(f'not checked, for they touch by their build: {_pairs(clearance.always)}')
    if shapes.missing:
        lines.append(f'not checked, for their meshes are missing: {", ".join(shapes.missing)}')
    if shapes.bare:
        lines.append(f'not checked, for they have no shape: {", ".join(shapes.bare)}')
    if shapes.floor is None:
        lines.append('not checked: the floor, whose height is not known (--floor)')
    return lines


def _distance(near: Near) -> str:
    return f'{math.floor(1000 * near.distance) / 10:g} cm ({" and ".join(near.names)})'


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ', '.join(dict.fromkeys(' and '.join(pair) for pair in pairs))


def first_point(excitation: Excitation) -> str:
    """Say where the joints must stand before the motion begins."""
    position = excitation.at(np.zeros(1))[0][0]
    joints = ', '.join(f'{name} {angle:.4f}' for name, angle in zip(excitation.joint_names, position, strict=True))
    return f'Bring the joints to the first point beforehand ({joints}): the way there was not checked for clearance'


def trajectory_of(excitation: Excitation, duration: float, rate: float) -> Trajectory:
    """Return the motion from rest to rest, with points at a rate (Hz)."""
    time = np.arange(round(duration * rate) + 1) / rate
    return Trajectory.of(excitation.joint_names, time, *excitation.from_rest_to_rest(time, float(time[-1])))


def _play(
    player: Player, drive: Drive, arm: Robot, clearance: Clearance, motion: Trajectory, args: argparse.Namespace
) -> int:
    """Play a motion, faster each time: a person confirms each step, and stops it by a key."""
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, signal.default_int_handler)
    with Keys() as keys:
        for speed in args.speeds:
            slow = at_speed(motion, speed)
            way = _way(player, arm, clearance, motion, args)
            steps = [('move to the start of the motion', way)] if way else []
            steps.append((f'play the motion at {speed:g} of its speed', slow))
            for what, trajectory in steps:
                if not keys.confirm(f'{what}? It takes {trajectory.duration:.0f} s, and any key stops it.'):
                    say('ended; nothing moves')
                    return 1
                following = Following(trajectory, args.tolerance)
                if why := player.play(trajectory, drive, following.fault, keys.pressed):
                    say_error(f'stopped: {why}')
                    return 1
            say(f'played at {speed:g} of its speed', flush=True)
    return 0


def _way(
    player: Player, arm: Robot, clearance: Clearance, motion: Trajectory, args: argparse.Namespace
) -> Trajectory | None:
    """Return a checked motion from the present pose to the start of the motion; None if the robot is there."""
    pose = player.pose()
    present = np.array([pose[name] for name in arm.joint_names])
    if np.abs(present - motion.position[0]).max() < THERE:
        return None
    with progress_bar(arm.name) as show:
        way = Approach(arm, clearance, args.seed).path(present, motion.position[0], show)
    return slow_motion(arm, way)


def _write_steps(
    player: Player | None, arm: Robot, clearance: Clearance, motion: Trajectory, args: argparse.Namespace
) -> None:
    """Write what a ROS command can send where the action cannot: the way to the start, and the motion at each speed."""
    files = []
    way = _way(player, arm, clearance, motion, args) if player else None
    if way:
        files.append((args.output.with_stem(f'{args.output.stem}_approach'), way))
    files += [
        (args.output.with_stem(f'{args.output.stem}_at_{x:g}'), at_speed(motion, x)) for x in args.speeds if x < 1
    ]
    for path, trajectory in files:
        write_trajectory(path, trajectory)
    topic = args.send.rpartition('/')[0] + '/joint_trajectory'
    say('send these one by one, a hand on the emergency stop (ROS 2 Kilted and later; nothing watches them):')
    for path in [*(path for path, _ in files), *([args.output] if 1.0 in args.speeds else [])]:
        say(f'ros2 topic pub --once --yaml-file {path} {topic} trajectory_msgs/msg/JointTrajectory')


def _player_of(robot: Robot, words: Sequence[str]) -> Player:
    try:
        from ..nodes.trajectory_player import Player  # noqa: PLC0415 (ROS is needed to send only)
    except ModuleNotFoundError as error:
        raise MissingError(error.name or 'rclpy', '--send', 'source ROS 2, or install requirements.txt') from None
    return Player(robot.joint_names, words)


def _drive_of(player: Player, robot: Robot, action: str) -> Drive | None:
    """Return what moves the robot; None, and a note, if the messages of the action are not on this machine."""
    from ..nodes.trajectory_player import ActionDrive, SimulatorDrive  # noqa: PLC0415

    if action == SIMULATOR:
        return SimulatorDrive(player, dynamics_of(robot))
    try:
        return ActionDrive(player, action)
    except MissingError as error:
        note(str(error))
        return None


if __name__ == '__main__':
    sys.exit(main())
