"""A node takes the values that every command takes from a parameter file: 1 for 1.0, and [] for an empty list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.context import Context
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node

from krang_dynamics_ros.cli import check
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.parameter_file import read_parameters
from krang_dynamics_ros.live.parameters import MODEL, node_specs
from krang_dynamics_ros.nodes.settings import NodeSettings

from ..ros import domain


@pytest.fixture(scope='module')
def context() -> Iterator[Context]:
    with domain() as number:
        alone = Context()
        rclpy.init(context=alone, domain_id=number)
        yield alone
        rclpy.shutdown(context=alone)


def of_node(context: Context, file: Path) -> dict[str, Any]:
    """Return the values of parameters in a node that is started with a file."""
    words = ['--ros-args', '--params-file', str(file)]
    node = Node('krang_dynamics', context=context, cli_args=words, enable_rosout=False, start_parameter_services=False)
    try:
        settings = NodeSettings(node)
        chosen = settings.declare(MODEL)
        specs = node_specs(engine_of({}).model)
        return chosen | settings.declare(specs)
    finally:
        node.destroy_node()


@pytest.mark.parametrize(
    ('name', 'text', 'value'),
    [
        ('state_timeout', '1', 1.0),
        ('gravity', '[0, 0, -10]', [0.0, 0.0, -10.0]),
        ('total_terms', '[]', []),
        ('fixed_joints', '[]', []),
    ],
)
def test_whole_numbers_and_empty_lists_are_taken(
    context: Context, tmp_path: Path, name: str, text: str, value: object
) -> None:
    file = tmp_path / 'arm.yaml'
    file.write_text(f'/**:\n  ros__parameters:\n    {name}: {text}\n')
    found = of_node(context, file)[name]
    assert (found if isinstance(found, float) else [item for item in found if item != '']) == value
    assert engine_of(read_parameters(file)).settings[name] == value
    assert check.main(['--arm', str(file), '--states', '1']) == 0


@pytest.mark.parametrize(('name', 'text'), [('gravity', '[]'), ('state_timeout', 'true'), ('fixed_joints', '[1]')])
def test_others_are_refused_by_node_and_commands(context: Context, tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / 'arm.yaml'
    file.write_text(f'/**:\n  ros__parameters:\n    {name}: {text}\n')
    with pytest.raises((KrangDynamicsError, InvalidParameterTypeException), match=name):
        of_node(context, file)
    assert check.main(['--arm', str(file), '--states', '1']) == 2
