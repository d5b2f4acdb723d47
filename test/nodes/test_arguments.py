"""The command line of the nodes: help, and warnings of parameters that have no effect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')

from krang_dynamics_ros.live.parameter_file import read_parameters
from krang_dynamics_ros.nodes import hold_switch_node, trajectory_node
from krang_dynamics_ros.nodes.settings import warn_of_unknown

from ..robots import ROOT


@pytest.mark.parametrize(('main', 'has_robot'), [(trajectory_node.main, True), (hold_switch_node.main, False)])
def test_help_has_examples_only_of_what_a_node_has(
    main: Callable[[list[str]], int], has_robot: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(['--help'])
    examples = capsys.readouterr().out.partition('examples:')[2].partition('options:')[0]
    assert ended.value.code == 0
    assert '--ros-args --params-file my_parameters.yaml' in examples
    for words in ('--arm my_arm.yaml', '-p robot_file:=my_robot.urdf', '-r joint_states:='):
        assert (words in examples) == has_robot, words


@pytest.mark.parametrize(('main', 'has_robot'), [(trajectory_node.main, True), (hold_switch_node.main, False)])
def test_a_refused_urdf_is_a_hint_at_robot_file_only_where_there_is_one(
    main: Callable[[list[str]], int], has_robot: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(['arm.urdf'])
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert error.startswith('unknown argument arm.urdf; ')
    assert ('robot_file:=arm.urdf' in error) == has_robot


def warnings(given: dict[str, Any]) -> list[str]:
    """Return the warnings of a node without parameters that is started with these."""
    found: list[str] = []
    node: Any = SimpleNamespace(
        _parameter_overrides={name: SimpleNamespace(value=value) for name, value in given.items()}, _parameters={},
        has_parameter=lambda name: False, get_logger=lambda: SimpleNamespace(warning=found.append),
    )  # fmt: skip
    warn_of_unknown(node)
    return found


@pytest.mark.parametrize('path', sorted((ROOT / 'config' / 'robots').glob('*.yaml')), ids=lambda path: path.stem)
def test_what_an_arm_file_gives_to_every_node_is_no_fault_of_any(path: Path) -> None:
    given = read_parameters(path, 'krang_hold_switch')
    assert 'joint_states_topic' in given
    assert not warnings(given)
    (warning,) = warnings(given | {'joint_state_topic': 'joint_states'})
    assert "'joint_state_topic' is unknown" in warning
