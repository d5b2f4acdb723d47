"""The command line of the nodes: help, and warnings of parameters that have no effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the nodes cannot run')

import rclpy
from rclpy.context import Context
from rclpy.node import Node

from krang_dynamics_ros.live.parameter_file import read_parameters
from krang_dynamics_ros.nodes import hold_switch_node, trajectory_node, viewer_node
from krang_dynamics_ros.nodes.arguments import node_arguments
from krang_dynamics_ros.nodes.settings import given_to, plain, warn_of_unknown
from krang_dynamics_ros.nodes.simulator import parameters as simulator_parameters

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


GENERAL = """
/**:
  ros__parameters: {robot_file: my robot.urdf, joint_states_topic: arm/joint_states, rate: 100.0, "a: b": .inf}
/**/krang_dynamics:
  ros__parameters:
    end_effectors: [hand]
    hand: {link: tool, payload: {mass: 1.0}}
    command_joints: [j1, "j: 2"]
    joints: {j1: {effort_scale: 2.0, command_scale: 0.5}}
    total_terms: [gravity, coriolis]
    mesh_folders: [meshes, /other/meshes]
/**/krang_simulator:
  ros__parameters: {viscous: 5.0, rate: 200.0, hand.payload.mass: 3.0}
"""
DEMO = """
/**/krang_dynamics:
  ros__parameters: {total_terms: [gravity], sole_publisher: true}
/**/krang_simulator:
  ros__parameters: {viscous: 1.0, brakes: true}
"""


def given_by(folder: Path, node: str, shared: Any, words: str) -> dict[str, Any]:
    """Return the parameters that a node has from its command line, after ROS has read it."""
    (folder / 'my arm.yaml').write_text(GENERAL)
    (folder / 'my robot.urdf').touch()
    (folder / 'demo.yaml').write_text(DEMO)
    (folder / 'demo.yaml').write_text(DEMO)
    files = {'ARM': str(folder / 'my arm.yaml'), 'DEMO': str(folder / 'demo.yaml')}
    given = [re.sub('ARM|DEMO', lambda name: files[name[0]], word) for word in words.split()]
    context = Context()
    rclpy.init(args=node_arguments(node, '', list, given, shared), context=context)
    try:
        made = Node(f'krang_{node.removesuffix("_node")}', context=context, start_parameter_services=False)
        found = given_to(made)
        made.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    return {name: plain(value) for name, value in found.items()}


def test_an_arm_file_gives_each_node_what_it_has_for_it(tmp_path: Path) -> None:
    given = given_by(tmp_path, 'dynamics_node', None, '--arm ARM')
    assert given['robot_file'] == str(tmp_path / 'my robot.urdf')
    assert (given['hand.payload.mass'], given['a: b'], given['rate']) == (1.0, float('inf'), 100.0)
    given = given_by(tmp_path, 'simulator_node', simulator_parameters.shared, '--arm ARM')
    assert given['command_joints'] == ['j1', 'j: 2']
    assert (given['joints.j1.command_scale'], given['joints.j1.effort_scale']) == (0.5, 2.0)
    assert (given['viscous'], given['rate'], given['hand.payload.mass']) == (5.0, 200.0, 3.0)
    assert 'total_terms' not in given
    given = given_by(tmp_path, 'viewer_node', viewer_node.shared, '--arm ARM')
    assert given['mesh_folders'] == [str(tmp_path / 'meshes'), '/other/meshes']
    assert given['joint_states_topic'] == 'arm/joint_states'


def test_what_comes_later_on_the_command_line_overrides(tmp_path: Path) -> None:
    demo, shared = '--ros-args --params-file DEMO', simulator_parameters.shared
    given = given_by(tmp_path, 'simulator_node', shared, f'{demo} -- --arm ARM')
    assert (given['viscous'], given['brakes']) == (5.0, True)
    assert given_by(tmp_path, 'simulator_node', shared, f'--arm ARM {demo}')['viscous'] == 1.0
    given = given_by(tmp_path, 'dynamics_node', None, f'{demo} -- --arm=ARM')
    assert (given['total_terms'], given['sole_publisher']) == (['gravity', 'coriolis'], True)
    given = given_by(tmp_path, 'dynamics_node', None, f'{demo} -- --arm ARM --ros-args -p total_terms:=[wrench]')
    assert given['total_terms'] == ['wrench']


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
