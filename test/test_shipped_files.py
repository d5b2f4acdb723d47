"""What the shipped parameter and launch files make of the nodes: their defaults, but for differences with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed: the parameters of the simulator are not known')

from krang_dynamics_ros import Wrench, load_robot
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.core.files import krang_file
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.guiding import HOLD_TIMEOUT
from krang_dynamics_ros.live.parameters import documented
from krang_dynamics_ros.nodes.simulator import parameters as simulator_parameters
from krang_dynamics_ros.simulation.simulation import Simulation

from .launch_stand_in import LaunchConfiguration, launched
from .robots import ROOT

DYNAMICS, SIMULATOR = 'krang_dynamics', 'krang_simulator'
DEFAULTS = {
    DYNAMICS: {spec.name: spec.default for spec in documented()},
    SIMULATOR: {spec.name: spec.default for spec in simulator_parameters.PARAMETERS},
}
# Every value of a shipped file that is not the node's default, and why.
DIFFERENT = {
    ('demo.yaml', DYNAMICS, 'sense', 'applied_on_robot'): 'the simulated wrist sensors read what the world does',
    ('demo.yaml', DYNAMICS, 'sole_publisher', True): 'a second demo would drive the robot of the first',
    ('demo.yaml', SIMULATOR, 'brakes', True): 'as those of the real robot, they close when torques stop',
    ('demo.yaml', SIMULATOR, 'viscous', 1.0): 'without friction the least error of compensation grows',
    ('demo.yaml', SIMULATOR, 'coulomb', 1.0): 'the same',
    ('demo.yaml', SIMULATOR, 'coulomb_share', 0.02): 'a bag in a hand moves its arm, and not the trunk',
}
LAUNCHED = {
    'demo.launch.py': ['dynamics_node', 'simulator_node', 'viewer_node'],
    'dynamics.launch.py': ['dynamics_node'],
    'guiding.launch.py': ['dynamics_node', 'hold_switch_node'],
}


def flat(values: Mapping[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value


def shipped(name: str) -> dict[str, dict[str, Any]]:
    """Return the parameters that a file gives each node of the demo."""
    sections = yaml.safe_load((ROOT / 'config' / name).read_text())
    given: dict[str, dict[str, Any]] = {}
    for section, content in sections.items():
        node = section.rpartition('/')[2]
        assert node in (*DEFAULTS, '**'), section
        given.setdefault(DYNAMICS if node == '**' else node, {}).update(flat(content['ros__parameters']))
    return given


@pytest.mark.parametrize('name', ['dynamics.yaml', 'demo.yaml'])
def test_a_shipped_file_gives_the_defaults_but_for_differences_that_have_a_reason(name: str) -> None:
    different = {
        (name, node, parameter, value)
        for node, values in shipped(name).items()
        for parameter, value in values.items()
        if DEFAULTS[node][parameter] != value
    }
    assert different == {key for key in DIFFERENT if key[0] == name}


def test_commented_parameters_of_parameter_files_are_valid() -> None:
    """Who takes off the hash gets a file that a node takes."""
    text = (ROOT / 'config' / 'dynamics.yaml').read_text()
    given = dict(flat(yaml.safe_load(re.sub(r'^    # ', '    ', text, flags=re.MULTILINE))['/**']['ros__parameters']))
    assert {'left.sense', 'joints.q_1l.viscous', 'command_joints'} <= set(given)
    engine = engine_of(given)
    assert engine.inputs.hands['left'].sense == 'applied_on_robot'
    assert len(given['command_limits']) == len(given['command_joints'])


@pytest.mark.parametrize('hand', ['left', 'right'])
def test_a_push_on_a_hand_is_held_in_the_demo_and_not_doubled(hand: str, rng: np.random.Generator) -> None:
    """With the wrench in the total, what motors and world do to the joints is what holds the robot up alone."""
    given = shipped('demo.yaml')[DYNAMICS]
    engine = engine_of(given | {'total_terms': [*given['total_terms'], 'wrench']})
    simulation, link = Simulation(load_robot(krang_file())), load_model().end_effectors[hand]
    values = Settings({})
    values.declare(simulator_parameters.of_hand(hand, link))
    sensor = simulator_parameters.wrist(values, hand, link)
    simulation.set_positions(np.clip(rng.uniform(-0.8, 0.8, simulation.robot.n), simulation.lower, simulation.upper))
    push = Wrench(link, rng.normal(scale=20, size=3), rng.normal(size=3))
    read = sensor.reading(simulation, [push], rng)
    engine.inputs.on_wrench(hand, sensor.link, read[:3], read[3:], 10**9, 10**9)
    names, none = simulation.robot.joint_names, np.empty(0)
    torques = engine.on_joint_state(names, simulation.q, none, none, 10**9, 10**9)
    assert torques is not None
    total = torques.total(engine.total_terms)
    assert total is not None
    by_world = simulation.dynamics.wrench_torque(simulation.q, [push])
    assert np.abs(by_world).max() > 1
    np.testing.assert_allclose(total + by_world, simulation.dynamics.Q(simulation.q), atol=1e-9)


@pytest.mark.parametrize('name', LAUNCHED)
def test_a_launch_ends_with_any_node_of_ours_and_goes_on_without_a_tool(name: str) -> None:
    nodes = launched(name)
    ours = {executable for executable, node in nodes.items() if node.package == 'krang_dynamics_ros'}
    assert sorted(ours) == LAUNCHED[name]
    for executable, node in nodes.items():
        assert getattr(node, 'on_exit', '') == (f'{executable} has ended' if executable in ours else '')


def test_the_switch_of_guiding_comes_often_enough_and_is_required() -> None:
    nodes = launched('guiding.launch.py', button='3')
    (joystick,) = nodes['joy_node'].parameters
    assert joystick['autorepeat_rate'] >= 2 / HOLD_TIMEOUT
    assert {'guiding.hold_required': True} in nodes['dynamics_node'].parameters
    assert nodes['hold_switch_node'].parameters == [{'button': LaunchConfiguration('button')}]


@pytest.mark.parametrize(
    ('file', 'button', 'reason'),
    [
        (None, '5', 'must be a file'),
        ('- a list', '5', 'must be a mapping'),
        ('/**: {ros__parameters: {robot_file: nowhere.urdf}}', '5', r'nowhere\.urdf'),
        ('/**: {ros__parameters: {robot_file: ""}}', '-1', "button: '-1', must be a whole number"),
        ('/**: {ros__parameters: {robot_file: ""}}', '3', ''),
    ],
)
def test_guiding_under_launch_reads_its_file_before_anything_starts(
    tmp_path: Path, file: str | None, button: str, reason: str
) -> None:
    path = tmp_path / 'guiding.yaml'
    if file is not None:
        path.write_text(file)
    given = {'params_file': str(path), 'button': button}
    if not reason:
        assert len(launched('guiding.launch.py', **given)) == 3
        return
    with pytest.raises(KrangDynamicsError, match=reason):
        launched('guiding.launch.py', **given)


def test_the_demo_under_launch_is_that_of_make_run() -> None:
    """The same nodes, with the same parameter files and the same remappings."""
    lines = dict(line.split(': ', 1) for line in (ROOT / 'Procfile').read_text().splitlines() if ': ' in line)
    run = {found[1]: line for line in lines.values() if (found := re.search(r'nodes\.(\w+_node)', line))}
    nodes = launched('demo.launch.py')
    assert set(run) == {executable for executable, node in nodes.items() if node.package == 'krang_dynamics_ros'}
    for executable, line in run.items():
        node, remapped = nodes[executable], dict(re.findall(r'-r (\S+?):=(\S+)', line))
        assert dict(getattr(node, 'remappings', [])) == remapped, executable
        assert LaunchConfiguration('params_file') in node.parameters or '--params-file' not in line, executable
        commands = str(ROOT / 'config' / 'demo_commands.yaml')
        assert ('$KRANG_COMMANDS' in line) == (commands in node.parameters), executable
    of_simulator = nodes['simulator_node'].parameters
    shared = next(place for place, given in enumerate(of_simulator) if isinstance(given, dict))
    assert shared < of_simulator.index(LaunchConfiguration('params_file')), 'a section for the simulator overrides'
    files = {file for line in run.values() for file in re.findall(r'--params-file (\S+)', line)}
    assert files == {'config/demo.yaml'}
