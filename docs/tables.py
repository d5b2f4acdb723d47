"""Writes the tables of parameters into the documents, from the declarations of the nodes: python -m docs.tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from krang_dynamics_ros.core.parameters import ParameterSpec, markdown_table
from krang_dynamics_ros.effects.joint_effects import JOINT_EFFECTS
from krang_dynamics_ros.live.base import SPECS as OF_BASE
from krang_dynamics_ros.live.external import documented as of_external
from krang_dynamics_ros.live.firmware import documented as of_firmware
from krang_dynamics_ros.live.guiding import documented as of_guiding
from krang_dynamics_ros.live.parameters import documented as of_dynamics
from krang_dynamics_ros.nodes.simulator.parameters import documented as of_simulator
from krang_dynamics_ros.nodes.trajectory_node import PARAMETERS as OF_TRAJECTORY
from krang_dynamics_ros.nodes.viewer_node import PARAMETERS as OF_VIEWER

FOLDER = Path(__file__).parent


def parameters() -> Iterator[tuple[str, Sequence[ParameterSpec]]]:
    """Return each document with the parameters of one of its tables."""
    yield 'dynamics_node.md', of_dynamics()
    yield 'external.md', of_external()
    yield 'firmware.md', of_firmware()
    yield 'base.md', OF_BASE
    yield 'guiding.md', of_guiding()
    yield 'demo.md', of_simulator()
    yield 'demo.md', OF_VIEWER
    yield 'trajectory.md', OF_TRAJECTORY


def effects_table() -> str:
    """Return the table of the numbers of effects on single joints in a robot file."""
    rows = ['| where | key | letter | default | at least | unit | meaning |', '|---|---|---|---|---|---|---|']
    for kind in JOINT_EFFECTS:
        for number in kind.numbers():
            where, default = (
                ('friction', f'{number.default:g}') if kind.term == 'friction' else (kind.key(), 'required')
            )
            least = '' if number.least is None else f'{number.least:g}'
            unit = f'{number.unit} ({number.unit_of(prismatic=True)})'
            letter = '' if number.letter == number.name else number.letter
            rows.append(f'| `{where}` | `{number.name}` | {letter} | {default} | {least} | {unit} | {number.meaning} |')
    return '\n'.join(rows)


def with_effects(text: str) -> str:
    """Return the document of robot files with a new table of effects."""
    head = effects_table().splitlines()[0]
    return re.sub(rf'{re.escape(head)}.*?(?=\n\n)', lambda _: effects_table(), text, flags=re.DOTALL)


def with_table(text: str, specs: Sequence[ParameterSpec]) -> str:
    """Return a document with a new table in place of the one whose first parameter is the same."""
    table = markdown_table(specs)
    head, rule, first = (re.escape(line) for line in table.splitlines()[:3])
    name = first.split('`')[1]
    return re.sub(rf'{head}\n{rule}\n\| `{name}`.*?(?=\n\n|\n?\Z)', lambda _: table, text, flags=re.DOTALL)


def main() -> None:
    """Write the documents again."""
    for name, specs in parameters():
        path = FOLDER / name
        path.write_text(with_table(path.read_text(encoding='utf-8'), specs), encoding='utf-8')
    path = FOLDER / 'robot_file.md'
    path.write_text(with_effects(path.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()
