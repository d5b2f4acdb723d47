"""Playing a planned motion on a robot, step by step, for `excite --send`."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core.errors import MissingError
from ..dynamics.factory import dynamics_of
from ..dynamics.trajectory import Trajectory
from ..identification.approach import Approach, slow_motion
from ..identification.clearance import Clearance
from ..identification.playing import SPEEDS, TOLERANCE, Following, at_speed
from ..recordings.trajectory_file import write_trajectory
from ..robot.robot import Robot
from .common import Keys, check_outputs, note, number, progress_bar, say, say_error
from .record_beside import RecordBeside

if TYPE_CHECKING:
    from ..nodes.trajectory_player import Player, TrajectoryFollower

SIMULATOR = 'simulator'
NEAR = 0.02  # rad or m: a joint this near to a position counts as at this position


def add_playing(parser: argparse.ArgumentParser) -> None:
    """Add the options of playing a motion on a robot."""
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


def play(
    player: Player,
    follower: TrajectoryFollower,
    robot: Robot,
    clearance: Clearance,
    motion: Trajectory,
    args: argparse.Namespace,
    recording: RecordBeside | None = None,
) -> int:
    """Play a motion at each speed; the user confirms each step, and any key stops it."""
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, signal.default_int_handler)
    moved = False
    with Keys() as keys, ExitStack() as until_played:
        for speed in args.speeds:
            slow = at_speed(motion, speed)
            way = _way(player, robot, clearance, motion, args)
            if recording and not recording.running:  # the way to the start was found: the robot will move
                until_played.enter_context(recording)
            steps = [('move to the start of the motion', way)] if way else []
            steps.append((f'play the motion at {speed:g} of its speed', slow))
            for step, trajectory in steps:
                if not keys.confirm(f'{step}? It takes {trajectory.duration:.0f} s, and any key stops it.'):
                    say('not confirmed: ended, the robot does not move')
                    if recording and not moved:
                        recording.discard()
                    return 1
                if recording:
                    recording.check()
                moved = True
                if not _played(player, follower, keys, trajectory, args.tolerance):
                    return 1
            say(f'played at {speed:g} of its speed', flush=True)
    return 0


def _played(player: Player, follower: TrajectoryFollower, keys: Keys, trajectory: Trajectory, tolerance: float) -> bool:
    """Play a trajectory; return whether it was played to its end, after a message if not."""
    following = Following(trajectory, tolerance)
    try:
        why = player.play(trajectory, follower, following.fault, keys.pressed)
    except KeyboardInterrupt:
        say_error('stopped: interrupted by Ctrl-C or a signal')
        raise
    if why:
        say_error(f'stopped: {why}')
    return not why


def _way(
    player: Player, robot: Robot, clearance: Clearance, motion: Trajectory, args: argparse.Namespace
) -> Trajectory | None:
    """Return a checked motion from the present pose to the start of the motion; None if the robot is there."""
    pose = player.pose()
    present = np.array([pose[name] for name in robot.joint_names])
    if np.abs(present - motion.position[0]).max() < NEAR:
        return None
    with progress_bar(robot.name) as show:
        way = Approach(robot, clearance, args.seed).path(present, motion.position[0], show)
    return slow_motion(robot, way)


def write_steps(
    player: Player | None, robot: Robot, clearance: Clearance, motion: Trajectory, args: argparse.Namespace
) -> None:
    """Write trajectories for a ROS command: the way to the start, and the motion at each speed."""
    files, whole = [], args.motion or args.output
    way = _way(player, robot, clearance, motion, args) if player else None
    if way:
        files.append((whole.with_stem(f'{whole.stem}_approach'), way))
    files += [(whole.with_stem(f'{whole.stem}_at_{x:g}'), at_speed(motion, x)) for x in args.speeds if x < 1]
    check_outputs([path for path, _ in files], [whole], args.overwrite)
    for path, trajectory in files:
        write_trajectory(path, trajectory)
    topic = args.send.rpartition('/')[0] + '/joint_trajectory'
    if args.record:
        arm_words = f' --arm {args.arm}' if args.arm else ''
        say(f'record in another terminal: krang record -o {args.record}{arm_words}')
    say('send these in this order, with a hand on the emergency stop (ROS 2 Kilted and later; they are not monitored):')
    for path in [*(path for path, _ in files), *([whole] if 1.0 in args.speeds else [])]:
        say(f'ros2 topic pub --once --yaml-file {path} {topic} trajectory_msgs/msg/JointTrajectory')


def player_of(robot: Robot, topic: str, words: Sequence[str]) -> Player:
    """Return the node that watches the joint states on a topic; `words` are arguments of ROS."""
    try:
        from ..nodes.trajectory_player import Player  # noqa: PLC0415 (only --send needs ROS)
    except ModuleNotFoundError as error:
        raise MissingError(error.name or 'rclpy', '--send', 'source ROS 2, or install requirements.txt') from None
    return Player(robot.joint_names, topic, words)


def follower_of(player: Player, robot: Robot, action: str) -> TrajectoryFollower | None:
    """Return the follower of the robot; None, with a warning, if the messages of the action are not installed."""
    from ..nodes.trajectory_player import ActionFollower, SimulatorFollower  # noqa: PLC0415

    if action == SIMULATOR:
        return SimulatorFollower(player, dynamics_of(robot))
    try:
        return ActionFollower(player, action)
    except MissingError as error:
        note(str(error))
        return None
