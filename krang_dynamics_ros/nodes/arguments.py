"""The command line of a node: help, an arm file, and ROS arguments behind `--ros-args`; others are refused."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from ..core.errors import KrangDynamicsError
from ..core.parameters import ROBOT_FILE, ParameterSpec
from ..core.text import shown_lines
from ..live.parameter_file import Shared, arm_arguments
from ..live.parameters import JOINT_STATES_TOPIC

ROS, END, ARM = '--ros-args', '--', '--arm'
WIDTH = 110  # characters of a line of help
INDENT = ' ' * 4


class _Parser(argparse.ArgumentParser):
    """Parser whose errors end with a hint."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and a hint."""
        self.exit(2, f'{shown_lines(message)}\n{self.prog} --help shows the arguments\n')


def node_arguments(
    node: str, description: str, specs: Callable[[], Sequence[ParameterSpec]], words: Sequence[str] | None = None,
    shared: Shared | None = None,
) -> list[str]:  # fmt: skip
    """Return the arguments for ROS, in the order of the command line; end with help or with exit code 2.

    Args:
        node: name of the executable, such as `dynamics_node`; its ROS name is then `krang_dynamics`.
        description: what the node does.
        specs: returns the parameters that help lists.
        words: the command line without the program's name; None: that of this process.
        shared: returns what the node uses of an arm file's parameters of the dynamics node.
    """
    given = list(sys.argv[1:] if words is None else words)
    own, before, after = _split(given)
    parser = _parser(node)
    known, rest = parser.parse_known_args(own)
    if known.help:
        listed = specs()
        parser.description = '\n'.join([description, '', 'examples:', *_examples(parser.prog, listed)])
        sys.stdout.write(f'{parser.format_help()}\nParameters:\n\n' + '\n'.join(_listed(listed)) + '\n')
        parser.exit(0)
    if rest:
        parser.error(_refusal(node, rest, specs))
    try:
        of_arm = arm_arguments(known.arm, f'krang_{node.removesuffix("_node")}', shared) if known.arm else ()
        return [*before, *of_arm, *after]
    except KrangDynamicsError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f'{known.arm}: {error.strerror}')


def _parser(node: str) -> argparse.ArgumentParser:
    prog = node if Path(sys.argv[0]).name == node else f'krang {node}'
    parser = _Parser(
        prog=prog,
        usage=f'{prog} [--arm FILE] [--ros-args ...]',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument('-h', '--help', action='store_true', help='show this, and all parameters')
    parser.add_argument(ARM, type=Path, metavar='FILE', help='arm file, by `krang new_arm` (docs/my_arm.md)')
    parser.add_argument(
        ROS, action='store_true', help="before ROS's arguments: -p NAME:=VALUE, --params-file FILE, -r FROM:=TO"
    )
    return parser


def _examples(prog: str, specs: Sequence[ParameterSpec]) -> Iterator[str]:
    """Yield command lines with what the node has: a robot, joint states."""
    names = {spec.name for spec in specs}
    remapped = ''
    if JOINT_STATES_TOPIC.name in names:
        yield f'  {prog} --arm my_arm.yaml'
        remapped = ' -r joint_states:=other/joint_states'
    if ROBOT_FILE.name in names:
        yield f'  {prog} --ros-args -p {ROBOT_FILE.name}:=my_robot.urdf'
    yield f'  {prog} --ros-args --params-file my_parameters.yaml{remapped}'


def _split(words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the arguments of the node itself, and those of ROS before and after the last `--arm`.

    Those of ROS are each from `--ros-args` to `--`.
    """
    own: list[str] = []
    before: list[str] = []
    after: list[str] = []
    inside = False
    for word in words:
        if word == ROS or (inside and word == END):
            inside = word == ROS
            after.append(word)
        elif inside:
            after.append(word)
        else:
            own.append(word)
            if word.partition('=')[0] == ARM:
                before, after = [*before, *after], []
    return own, before, after


def _refusal(node: str, rest: Sequence[str], specs: Callable[[], Sequence[ParameterSpec]]) -> str:
    word, all_ = rest[0], ' '.join(rest)
    if word.startswith('-') or ':=' in word:
        return f"unknown argument {all_}; ROS's arguments come behind --ros-args: krang {node} --ros-args {all_}"
    if word.endswith(('.yaml', '.yml')):
        return f'unknown argument {all_}; an arm file: --arm {word}; a parameter file: --ros-args --params-file {word}'
    if word.endswith(('.urdf', '.xacro', '.xml')) and ROBOT_FILE in specs():
        return f'unknown argument {all_}; a robot: --ros-args -p robot_file:={word}'
    return f'unknown argument {all_}; parameters: --ros-args -p NAME:=VALUE'


def _listed(specs: Sequence[ParameterSpec]) -> Iterator[str]:
    for spec in specs:
        default = spec.default_text or repr(spec.default)
        yield f'  {spec.name}  ({spec.type_name}; default: {default.replace("`", "")})'
        meaning = f'{spec.description}; {spec.allowed}' if spec.allowed else spec.description
        yield textwrap.fill(meaning.replace('`', ''), WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
