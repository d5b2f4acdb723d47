"""`krang <command>`, or `python -m krang_dynamics_ros <command>`: runs the commands and nodes of the package.

`ros2 run krang_dynamics_ros <command>` runs them too, by the scripts in `scripts/`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from importlib import metadata

from .core.process_start import end_on_signals

COMMANDS = {
    'calibrate': 'identify the bias of a wrist sensor and its tool or payload, from poses at rest',
    'check': 'compare the dynamics of a robot with two independent witnesses',
    'doctor': 'check that a recording is of this robot, in the expected units and signs',
    'excite': 'plan a motion that determines the parameters of a robot; simulate or play it',
    'export': 'write A, C, Q and J^T f as C, MATLAB, Python or CasADi',
    'first_run': 'check the meaning of efforts, wrenches and commands on a real arm, step by step',
    'formulas': 'print A, C dq, Q and J^T f of a small robot as formulas',
    'generate_urdf': 'write a robot file as URDF',
    'identify': 'identify friction, rotor inertias and bodies of a robot from recordings',
    'new_arm': 'write an arm file, with the properties of an arm that its URDF lacks',
    'predict': 'predict the efforts of a recording, and print the errors',
    'process': 'compute the torque terms of recordings, and compare the model with the efforts',
    'record': 'record joint states, wrenches and torques of a running robot',
    'trajectory': 'add feed-forward efforts to a joint trajectory, within all limits',
}
NODES = {
    'dynamics_node': 'computes joint torques from joint states and wrenches',
    'hold_switch_node': 'uses a joystick button as the hold switch for hand guiding',
    'simulator_node': 'simulates a robot that is driven by torques',
    'trajectory_node': 'adds feed-forward efforts to joint trajectories',
    'viewer_node': 'shows the robot and its torques in the browser',
}

REMEDIES = {  # of modules that some commands need
    'rclpy': 'source ROS, or use the .venv of `make`',
    'scipy': "in a clone: pip install '.[recordings,identification]'",
    'rosbags': "in a clone: pip install '.[recordings]'",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command or node of the first argument, with the other arguments."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog='krang',
        description='The dynamics of Golem Krang, or of another robot.',
        epilog=_listed('commands', COMMANDS) + _listed('nodes', NODES) + '\nkrang COMMAND --help shows its arguments.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'command', choices=COMMANDS | NODES, metavar='COMMAND', help='a command or node of the lists below'
    )
    version = _version() if '--version' in words[:1] else ''
    parser.add_argument('--version', action='version', version=version, help='show the version of the package')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, metavar='...', help='arguments of the command')
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


def _version() -> str:
    """Return name and version of the package, as it is installed."""
    try:
        return f'{__package__} {metadata.version(str(__package__))}'
    except metadata.PackageNotFoundError:
        return f'{__package__}, not installed: its version is in package.xml'


def _listed(title: str, meanings: dict[str, str]) -> str:
    width = max(map(len, COMMANDS | NODES))
    return '\n'.join([f'{title}:', *(f'  {name:<{width}}  {words}' for name, words in meanings.items()), ''])


if __name__ == '__main__':
    sys.exit(main())
