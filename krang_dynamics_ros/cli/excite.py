"""Plan a motion that determines a robot's parameters, and run it in simulation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..core.whole_file import whole_file, write_whole
from ..identification.excitation import SHORTEST, Excitation, Search
from ..identification.excitation_run import run
from ..identification.regressor import held
from ..recordings.derivatives import SLOWEST
from ..recordings.readers import write_csv
from ..robot.robot_file import load_robot
from .common import command_parser, guarded, number, refuse_overwriting, say, show_progress, whole_number
from .recorded import check_folders, joint_angle

_DESCRIPTION = """\
Plan a periodic motion whose efforts determine a robot's parameters well: a Fourier series of small condition number,
within limits of position, velocity and effort, that keeps clear of the floor and of what stands still by the robot
file's shapes (not of other arms, cables or people). Writes a trajectory_msgs/JointTrajectory in YAML; --run follows it
in simulation and writes a recording that `krang identify` reads."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = command_parser('excite', _DESCRIPTION)
    parser.add_argument(
        'robot', nargs='?', default='', metavar='ROBOT', help='robot file, URDF or a name; default: Krang'
    )
    parser.add_argument('--joints', nargs='+', metavar='JOINT', help='that move; default: all')
    parser.add_argument(
        '--held', nargs='+', default=[], type=joint_angle, metavar='JOINT=RAD', help='the others; else zero'
    )
    parser.add_argument('--period', type=number(1.0), default=10.0, metavar='S', help='default: 10')
    parser.add_argument('--duration', type=number(SHORTEST), default=30.0, metavar='S', help='default: 30')
    parser.add_argument(
        '--rate', type=number(SLOWEST), default=100.0, metavar='HZ', help='of points and rows; default: 100'
    )
    parser.add_argument('--seed', type=whole_number(0), default=0, help='of the search (default: 0)')
    parser.add_argument('-o', '--output', type=Path, default=Path('excitation.yaml'), metavar='FILE', help='trajectory')
    parser.add_argument('--run', type=Path, metavar='CSV', help='record a simulated robot that follows it')
    parser.add_argument(
        '--noise', type=number(0.0), default=0.02, help='of its efforts, in parts of their spread (0.02)'
    )
    arguments = parser.parse_args(argv)
    return guarded(lambda: _excite(arguments))


def _excite(arguments: argparse.Namespace) -> int:
    refuse_overwriting([arguments.output, arguments.run], [arguments.robot])
    robot = load_robot(arguments.robot)
    arm = held(robot, dict(arguments.held), arguments.joints or robot.joint_names)
    if arguments.duration * arguments.rate > 1e6:
        raise ArgumentError(f'{arguments.duration * arguments.rate:g} points, must be 1e6 at most')
    check_folders(arguments.output, *filter(None, [arguments.run]))
    found = Search(arm, arguments.period, arguments.seed).best(show_progress)
    show_progress('')
    write_whole(arguments.output, trajectory_text(found, arguments.duration, arguments.rate))
    say(f'{robot.name}: {arm.n} joints, condition number {found.condition:.1f} (of the base regressor, its columns')
    say(f'of length one); {arguments.duration:g} s written: {arguments.output}')
    say(f'{first_point(found)}.')
    if arguments.run:
        recording = run(arm, found, arguments.duration, arguments.rate, arguments.noise, arguments.seed, show_progress)
        show_progress('')
        with whole_file(arguments.run) as stream:
            write_csv(recording, stream)
        say(f'simulated and recorded: {arguments.run}')
    return 0


def first_point(excitation: Excitation) -> str:
    """Say where the joints must stand before the motion begins."""
    position = excitation.at(np.zeros(1))[0][0]
    joints = ', '.join(f'{name} {angle:.4f}' for name, angle in zip(excitation.joint_names, position, strict=True))
    return f'Bring the joints to the first point beforehand ({joints}): the way there was not checked for clearance'


def trajectory_text(excitation: Excitation, duration: float, rate: float) -> str:
    """Return a trajectory_msgs/JointTrajectory as YAML, which `ros2 topic pub` and controllers' tools take."""
    time = np.arange(round(duration * rate) + 1) / rate
    names = ', '.join(excitation.joint_names)
    lines = [
        f'# {first_point(excitation)}.',
        'header: {stamp: {sec: 0, nanosec: 0}, frame_id: ""}',
        f'joint_names: [{names}]',
        'points:',
    ]
    states = excitation.from_rest_to_rest(time, float(time[-1]))
    for t, *state in zip(time, *states, strict=True):
        sec, nanosec = divmod(round(t * 1e9), 10**9)
        values = zip(('positions', 'velocities', 'accelerations'), state, strict=True)
        fields = ', '.join(f'{key}: {_floats(value)}' for key, value in values)
        lines.append(f'- {{{fields}, time_from_start: {{sec: {sec}, nanosec: {nanosec}}}}}')
    return '\n'.join(lines) + '\n'


def _floats(values: Array) -> str:
    """Return a list in YAML whose every number is a float: a message that checks its fields refuses 0."""
    return '[' + ', '.join(f'{value:.9f}' for value in values) + ']'


if __name__ == '__main__':
    sys.exit(main())
