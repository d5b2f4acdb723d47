"""`krang <command>`: one command for all, of which pip puts no other on the path; `python -m krang_dynamics_ros` too.

`ros2 run krang_dynamics_ros <command>` runs the same ones, each by the script of its name in `scripts/`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from .core.process_start import end_on_signals

COMMANDS = {
    'calibrate': "find a wrist sensor's bias and what hangs on it, from poses",
    'check': 'hold the numbers of a robot against two independent witnesses',
    'doctor': 'look whether a recording is of this robot, in these units',
    'excite': "plan a motion that determines a robot's parameters, and run it in simulation",
    'export': 'save A, C, Q and J^T f as C, MATLAB, Python or CasADi',
    'first_run': 'check on a real arm, step by step, what efforts, wrenches and commands mean',
    'formulas': 'print A, C dq, Q and J^T f of a small robot as formulas',
    'generate_urdf': 'write a robot file as URDF',
    'identify': "find a robot's friction, rotor inertias and bodies in recordings",
    'new_arm': 'write a parameter file for an arm: what its URDF does not say',
    'predict': 'say what the efforts of a recording should have been',
    'process': 'turn recordings into every torque term over time, and hold the model against the efforts',
    'record': 'record joint states, wrenches and torques of a running robot',
    'trajectory': 'fill the efforts of a joint trajectory in, for feed-forward, within all limits',
}
NODES = {
    'dynamics_node': 'joint states and wrenches in, torques by name out',
    'hold_switch_node': 'a button of a joystick as the switch that a person holds while guiding',
    'simulator_node': 'a simulated robot that takes torques',
    'trajectory_node': 'joint trajectories in, the same with efforts out',
    'viewer_node': 'a page in the browser with the robot and its torques',
}

REMEDIES = {  # of modules that some commands need
    'rclpy': 'source ROS, or use the .venv of `make`',
    'scipy': "in a clone: pip install '.[recordings,identification]'",
    'rosbags': "in a clone: pip install '.[recordings]'",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command or node that is named first; the rest is its own."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog='krang',
        description='The dynamics of Golem Krang, or of another robot.',
        epilog=_listed('commands', COMMANDS) + _listed('nodes', NODES) + '\nkrang COMMAND --help tells more.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('command', choices=COMMANDS | NODES, metavar='COMMAND', help='one of those below')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, metavar='...', help='what the command takes')
    if not words:
        parser.print_help()
        return 2
    chosen = parser.parse_args(words)
    folder = 'nodes' if chosen.command in NODES else 'cli'
    if chosen.command in NODES:
        end_on_signals()
    try:
        module = importlib.import_module(f'.{folder}.{chosen.command}', __package__)
    except ModuleNotFoundError as error:
        name = str(error.name).partition('.')[0]
        if name not in REMEDIES:
            raise
        sys.stderr.write(f'{name}, which `{chosen.command}` needs, is not on this machine; {REMEDIES[name]}\n')
        return 2
    return int(module.main(chosen.arguments))


def _listed(title: str, what: dict[str, str]) -> str:
    return '\n'.join([f'{title}:', *(f'  {name:<16}{words}' for name, words in what.items()), ''])


if __name__ == '__main__':
    sys.exit(main())
