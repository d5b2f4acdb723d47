"""`trajectory`: add feed-forward efforts to a joint trajectory, within the limits of the joints."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ArgumentError, listed, unknown_name
from ..core.spatial import Array
from ..dynamics.feed_forward import EVERY, FeedForward, LimitError, Plan
from ..dynamics.trajectory import Trajectory
from ..live.engine import Engine, engine_of
from ..live.parameter_file import read_parameters, unknown_parameters
from ..recordings.trajectory_file import read_trajectory, write_trajectory
from ..robot.robot import Robot, joint_units
from .arm_option import add_arm, read_arm_file, with_robot
from .common import add_overwrite, check_outputs, command_parser, guarded, note, number, say, say_error
from .recorded import check_fixed, joint_angle

_DESCRIPTION = """\
Reads a trajectory_msgs/JointTrajectory (YAML) and writes it with `effort` for the feed-forward of the joint trajectory
controller of ros2_control: A ddq + C dq + gravity + friction. Limits of position, velocity and effort are checked at
the points and between them, on the spline of the controller. Exit code 1: a limit is exceeded."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('trajectory', _DESCRIPTION)
    add = parser.add_argument
    add('trajectory', type=Path, metavar='FILE', help='YAML, as `ros2 topic echo --once` prints it')
    add('--robot', default='', metavar='FILE', help='robot file, URDF or a name; default: that of --params, or Krang')
    add('--params', type=Path, metavar='FILE', help='parameter file of dynamics_node: robot, payload, robot.adds, ...')
    add_arm(parser)
    add('-o', '--output', type=Path, default=Path('with_effort.yaml'), metavar='FILE', help='default: with_effort.yaml')
    add('--every', type=number(1e-4), default=EVERY, metavar='S', help='largest step between points (default: 0.01)')
    add('--retime', action='store_true', help='slow down as little as needed; points without velocities become stops')
    add(
        '--fixed', nargs='+', default=[], type=joint_angle, metavar='JOINT=RAD',
        help='positions of joints that the trajectory does not contain; default: zero',
    )  # fmt: skip
    add(
        '--largest-payload', nargs='?', const='', metavar='HAND',
        help='print the largest mass that the hand (or a link) can carry in addition to its payload',
    )  # fmt: skip
    add(
        '--com',
        nargs=3,
        type=float,
        metavar=('X', 'Y', 'Z'),
        help='centre of that mass in the frame of the hand, m; default: 0',
    )
    add_overwrite(parser)
    arguments = parser.parse_args(argv)
    return guarded(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    read = [arguments.trajectory, arguments.params, arguments.robot, arguments.arm]
    check_outputs([arguments.output], read, arguments.overwrite)
    if arguments.com and arguments.largest_payload is None:
        raise ArgumentError('--com: must be with --largest-payload')
    trajectory = read_trajectory(arguments.trajectory)
    engine = _engine(arguments)
    robot, fixed = engine.robot, dict(arguments.fixed)
    check_fixed(robot, arguments.fixed)
    if both := sorted(set(fixed) & set(trajectory.joint_names)):
        raise ArgumentError(f'--fixed: {listed(both)}, must not be joints of the trajectory')
    feed_forward = FeedForward(robot, engine.dynamics, fixed, engine.firmware, engine.total_terms)
    try:
        plan = feed_forward.plan(trajectory, arguments.every, arguments.retime)
        say(*_summary(plan, robot))
        if arguments.largest_payload is not None:
            say(_largest_payload(feed_forward, plan, robot, arguments))
    except LimitError as error:
        say_error(error)
        return 1
    remarks = [f'Efforts of {robot.name} for feed-forward.', *plan.notes]
    write_trajectory(arguments.output, plan.trajectory, remarks)
    say(f'wrote {arguments.output}: {len(plan.trajectory.time)} points')
    note(*plan.notes)
    return 0


def _engine(arguments: argparse.Namespace) -> Engine:
    """Return the engine of a node with these parameters: robot, gravity, payloads and friction."""
    arm = read_arm_file(arguments.arm, robot_file=arguments.robot)
    given: dict[str, Any] = read_parameters(arguments.params) if arguments.params else {}
    of_params = [*given]
    given = (arm.values if arm else {}) | given
    if arguments.robot:
        given = with_robot(given, arguments.robot)
    note(*(f'{arguments.params}: {line}' for line in (unknown_parameters(given, of_params) if of_params else [])))
    if (mode := given.get('base_motion', 'fixed')) != 'fixed':
        raise ArgumentError(
            f'base_motion: {mode}, must be fixed: no IMU is read here; set gravity in the axes of the base'
        )
    return engine_of(given)


def _summary(plan: Plan, robot: Robot) -> list[str]:
    """Return the duration, and the largest shares of the limits, as text."""
    trajectory, units = plan.trajectory, joint_units(robot)
    lines = [f'{robot.name}: {listed(trajectory.joint_names)}; {trajectory.duration:.4g} s']
    if plan.stretch > 1:
        lines.append(f'slowed down by a factor of {plan.stretch:.5g}, to keep all limits')
    for quantity, share in (('velocity', plan.velocity_share), ('effort', plan.effort_share)):
        k = int(share.argmax())
        if share[k] > 0:  # the limit is known
            lines.append(f'largest {quantity}: {100 * share[k]:.0f} % of the limit of {trajectory.joint_names[k]}')
    k = int(np.unravel_index(np.abs(trajectory.effort).argmax(), trajectory.effort.shape)[1])
    name = trajectory.joint_names[k]
    lines.append(f'largest effort in the file: {np.abs(trajectory.effort).max():.4g} {units[name].effort} at {name}')
    return lines


def _largest_payload(feed_forward: FeedForward, plan: Plan, robot: Robot, arguments: argparse.Namespace) -> str:
    """Return the largest payload as text; the mass is rounded down."""
    link = _link(arguments.largest_payload, plan.trajectory, robot)
    com: Array = np.array(arguments.com or [0.0] * 3)
    if not np.isfinite(com).all():
        raise ArgumentError(f'--com: {com.tolist()}, must be finite')
    found = feed_forward.largest_payload(plan.trajectory, link, com, arguments.every)
    where = f'at ({", ".join(f"{x:g}" for x in com)}) m of {link}'
    if math.isinf(found.mass):
        return f'largest payload {where}: not limited, because no effort limit is known'
    mass = math.floor(found.mass * 1000) / 1000
    return (
        f'largest payload {where}: {mass:.3f} kg in addition; then {found.joint} is at its limit at {found.time:.4g} s'
    )


def _link(name: str, trajectory: Trajectory, robot: Robot) -> str:
    """Return the link of a hand, by name; without a name, that of the only hand that the trajectory moves."""
    if name:
        if name not in robot.hands and name not in robot.link_of:
            raise unknown_name('hand', name, robot.hands)
        return robot.hands.get(name, name)
    moved = {
        hand: link
        for hand, link in robot.hands.items()
        if set(trajectory.joint_names) & {joint.name for joint in robot.chain(link)}
    }
    if len(moved) != 1:
        hands = listed([*moved]) or 'none'
        raise ArgumentError(f'--largest-payload: several or no hands move ({hands}), must be a hand or a link')
    return next(iter(moved.values()))


if __name__ == '__main__':
    sys.exit(main())
