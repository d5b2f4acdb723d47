"""`python -m krang_dynamics_ros <command>`."""

from __future__ import annotations

import argparse
import importlib
import sys

COMMANDS = {
    'check': 'hold the numbers of a robot against two independent witnesses',
    'export': 'save A, C, Q and J^T f as C, MATLAB, Python or CasADi',
    'formulas': 'print A, C dq, Q and J^T f of a small robot as formulas',
    'generate_urdf': 'write a robot file as URDF',
}


def main() -> int:
    """Run the command that is named first; the rest is its own."""
    lines = [f'  {name:<15}{what}' for name, what in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog='python -m krang_dynamics_ros',
        description='The dynamics of Golem Krang.',
        epilog='\n'.join(['commands:', *lines, '', 'COMMAND --help tells more.']),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('command', choices=COMMANDS, metavar='COMMAND', help='one of those below')
    parser.add_argument('arguments', nargs=argparse.REMAINDER, metavar='...', help='what the command takes')
    if len(sys.argv) == 1:
        parser.print_help()
        return 2
    arguments = parser.parse_args()
    command = importlib.import_module(f'.cli.{arguments.command}', __package__)
    return int(command.main(arguments.arguments))


if __name__ == '__main__':
    sys.exit(main())
