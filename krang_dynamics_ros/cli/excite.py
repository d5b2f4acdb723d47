"""`excite`: plan a motion that determines the parameters of a robot; run it in simulation or on a robot."""

from __future__ import annotations

import argparse
import math
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
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
from ..live.robot_inputs import InputTopics
from ..recordings.bag_writer import check_new_folder
from ..recordings.derivatives import SLOWEST
from ..recordings.readers import write_csv
from ..recordings.trajectory_file import read_trajectory, write_trajectory
from ..robot.mesh_files import MeshFiles
from ..robot.robot import Robot
from ..robot.robot_file import load_robot, located
from .arm_option import ArmFile, add_arm, read_arm_file
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
from .record_beside import RecordBeside
from .recorded import add_joints, moving_joints

if TYPE_CHECKING:
    from ..nodes.trajectory_player import Drive, Player

_DESCRIPTION = """\
Plans a periodic motion whose efforts determine the parameters of a robot well: a Fourier series with a small condition
number, within the limits of position, velocity and effort. The motion keeps clear of the robot itself, the floor and
keep-out boxes, by the shapes and meshes of the robot (cables and people are not checked). Writes a
trajectory_msgs/JointTrajectory in YAML. --run simulates it and writes a recording for `krang identify`; --send plays it
on a robot, and --record records the robot meanwhile, for the same."""
SIMULATOR = 'simulator'
NEAR = 0.02  # rad or m: a joint this near to a position counts as at this position
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
        '--rate', type=number(SLOWEST), default=100.0, metavar='HZ', help='rate of points and rows; default: 100'
    )
    parser.add_argument('--seed', type=whole_number(0), default=0, help='seed of the search (default: 0)')
    parser.add_argument('-o', '--output', type=Path, default=Path('excitation.yaml'), metavar='FILE', help='trajectory')
    parser.add_argument(
        '--run', type=Path, metavar='CSV', help='simulate a robot that follows the motion, and write the recording'
    )
    parser.add_argument(
        '--noise',
        type=number(0.0),
        default=0.02,
        help='noise of its efforts, relative to their standard deviation (default: 0.02)',
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
        help=f"action of the joint trajectory controller, or '{SIMULATOR}' for simulator_node",
    )
    group.add_argument(
        '--record',
        type=Path,
        metavar='FOLDER',
        help='record to this new folder while it plays, as `krang record` does: a bag for process and identify',
    )
    group.add_argument('--motion', type=Path, metavar='FILE', help='play this trajectory instead of a planned one')
    group.add_argument(
        '--speeds',
        nargs='+',
        default=list(SPEEDS),
        type=number(0.01, 1.0),
        metavar='X',
        help=f'speeds relative to that of the motion, in this order (default: {" ".join(map(str, SPEEDS))})',
    )
    group.add_argument(
        '--tolerance',
        type=number(0.0),
        default=TOLERANCE,
        metavar='RAD',
        help=f'maximum position error of a joint, rad or m (default: {TOLERANCE})',
    )


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
    written = None if arguments.motion else arguments.output
    check_outputs([written, arguments.run], [arguments.robot, arguments.motion], arguments.overwrite)
    if arguments.record:
        if not arguments.send:
            raise ArgumentError('--record: records what --send plays, must be with --send; add it')
        check_new_folder(arguments.record)
    arm_file = read_arm_file(arguments.arm, robot_file=arguments.robot)
    robot = arm_file.robot if arm_file else load_robot(arguments.robot)
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
    with _player_of(robot, topic, ros_arguments) as player:
        return _plan_and_play(robot, arguments, player, recording)


def _plan_and_play(
    robot: Robot, arguments: argparse.Namespace, player: Player | None, recording: RecordBeside | None = None
) -> int:
    """Plan a motion, or read it; write, simulate and play it as requested."""
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
        return _play(player, drive, arm, clearance, motion, arguments, recording)
    if player:
        _write_steps(player, arm, clearance, motion, arguments)
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


def _plan(arm: Robot, shapes: Shapes, clearance: Clearance, arguments: argparse.Namespace) -> Trajectory:
    """Plan a motion, write it, and simulate it if requested."""
    with progress_bar(arm.name) as show:
        found = Search(arm, arguments.period, arguments.seed, clearance).best(show)
    kept = clearance_lines(clearance, shapes, found)
    motion = trajectory_of(found, arguments.duration, arguments.rate)
    write_trajectory(arguments.output, motion, [f'{first_point(found)}.', *kept])
    say(f'{arm.name}: {arm.n} joints, condition number {found.condition:.1f} (of the base regressor with')
    say(f'columns of length 1); {arguments.duration:g} s written: {arguments.output}')
    say(*kept, *([] if arguments.send else [f'{first_point(found)}.']))
    if arguments.run:
        with progress_bar(arm.name) as show:
            recording = run(arm, found, arguments.duration, arguments.rate, arguments.noise, arguments.seed, show)
        with whole_file(arguments.run) as stream:
            write_csv(recording, stream)
        say(f'simulated and recorded: {arguments.run}')
    return motion


def _clearance_of(robot: Robot, arguments: argparse.Namespace) -> tuple[Shapes, Clearance]:
    """Return the shapes of a robot, and the check of their clearance."""
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
    """Return lines with the smallest distances, and with everything that is not checked."""
    least, near = clearance.nearest(excitation.path(PATH_STATES))
    lines = [f'clearance: {_distance(least)} at least' if least else 'clearance: no pairs to check']
    if near:
        lines.append(f'nearer by design: {"; ".join(map(_distance, near))}')
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


def _play(
    player: Player,
    drive: Drive,
    arm: Robot,
    clearance: Clearance,
    motion: Trajectory,
    args: argparse.Namespace,
    recording: RecordBeside | None = None,
) -> int:
    """Play a motion at each speed; the user confirms each step, and any key stops it."""
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, signal.default_int_handler)
    with Keys() as keys, ExitStack() as until_played:
        for speed in args.speeds:
            slow = at_speed(motion, speed)
            way = _way(player, arm, clearance, motion, args)
            if recording and not recording.running:  # the way to the start was found: the robot will move
                until_played.enter_context(recording)
            steps = [('move to the start of the motion', way)] if way else []
            steps.append((f'play the motion at {speed:g} of its speed', slow))
            for step, trajectory in steps:
                if not keys.confirm(f'{step}? It takes {trajectory.duration:.0f} s, and any key stops it.'):
                    say('not confirmed: ended, the robot does not move')
                    return 1
                if recording:
                    recording.check()
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
    if np.abs(present - motion.position[0]).max() < NEAR:
        return None
    with progress_bar(arm.name) as show:
        way = Approach(arm, clearance, args.seed).path(present, motion.position[0], show)
    return slow_motion(arm, way)


def _write_steps(
    player: Player | None, arm: Robot, clearance: Clearance, motion: Trajectory, args: argparse.Namespace
) -> None:
    """Write trajectories for a ROS command: the way to the start, and the motion at each speed."""
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
    if args.record:
        arm_words = f' --arm {args.arm}' if args.arm else ''
        say(f'record in another terminal: krang record -o {args.record}{arm_words}')
    say('send these in this order, with a hand on the emergency stop (ROS 2 Kilted and later; they are not monitored):')
    for path in [*(path for path, _ in files), *([args.output] if 1.0 in args.speeds else [])]:
        say(f'ros2 topic pub --once --yaml-file {path} {topic} trajectory_msgs/msg/JointTrajectory')


def _player_of(robot: Robot, topic: str, words: Sequence[str]) -> Player:
    try:
        from ..nodes.trajectory_player import Player  # noqa: PLC0415 (only --send needs ROS)
    except ModuleNotFoundError as error:
        raise MissingError(error.name or 'rclpy', '--send', 'source ROS 2, or install requirements.txt') from None
    return Player(robot.joint_names, topic, words)


def _drive_of(player: Player, robot: Robot, action: str) -> Drive | None:
    """Return the drive of the robot; None, with a warning, if the messages of the action are not installed."""
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
