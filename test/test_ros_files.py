"""Launch file, parameter file and RViz view: every file, executable, parameter, topic and frame they name exists."""

from __future__ import annotations

import importlib
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Robot, Wrench, dynamics_of

from .robots import ROOT

INTERFACE = (ROOT / 'docs' / 'dynamics_node.md').read_text()
HANDS = (ROOT / 'docs' / 'hands.md').read_text()
FILE = yaml.safe_load((ROOT / 'rviz' / 'krang.rviz').read_text())
RVIZ, PANELS = FILE['Visualization Manager'], FILE['Panels']
DISPLAYS: dict[str, dict[str, Any]] = {display['Name']: display for display in RVIZ['Displays']}
CLASSES = {'Grid', 'TF', 'RobotModel', 'Wrench', 'Effort', 'PointStamped'}
LAUNCH_FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
OF_CALIBRATE = {'payload/left/proposed', 'payload/right/proposed'}  # `krang calibrate` publishes them, not the node


def topics() -> dict[str, str]:
    """Return the topics that the node's document promises, with their types."""
    rows = re.findall(r'^\| (?:in|out) ((?:`[\w/]+`(?:, )?)+) \| (\w+/\w+) \|', INTERFACE, re.MULTILINE)
    return {name: kind for names, kind in rows for name in re.findall(r'`([\w/]+)`', names)}


def test_the_nodes_document_lists_the_contract() -> None:
    assert set(topics()) == {
        'joint_states', 'wrench/left', 'wrench/right', 'imu', 'torque/gravity', 'torque/coriolis', 'torque/friction',
        'torque/wrench', 'torque/total', 'torque/robot', 'torque/damping', 'torque/stops', 'guiding/hold',
        'torque/spring', 'torque/coupling',
        'effort_commands', 'dynamics/inertia', 'dynamics/coriolis', 'center_of_mass',
        'robot_description', '/diagnostics', 'wrench/left/compensated', 'wrench/right/compensated',
        'payload/left', 'payload/right', 'torque/external', 'wrench/left/estimated', 'wrench/right/estimated',
        'contact', 'contact/left', 'contact/right', 'wrench/base', 'zero_moment_point', *OF_CALIBRATE,
    }  # fmt: skip


def test_the_security_policy_allows_what_the_node_has_and_nothing_else() -> None:
    """Of the contract every topic by its direction, every service; of what is allowed, nothing that is not there."""
    policy = ET.fromstring(re.findall('```xml\n(.*?)```', (ROOT / 'docs' / 'security.md').read_text(), re.DOTALL)[0])
    rows = re.findall(r'^\| (in|out|service) ((?:`[\w/]+`(?:, )?)+) \|', INTERFACE, re.MULTILINE)
    own = {'in': {'/clock'}, 'out': {'/rosout', '/parameter_events'}, 'service': {'~/get_parameters'}}
    for kind, path in (('in', 'topics[@subscribe]'), ('out', 'topics[@publish]'), ('service', 'services[@reply]')):
        there = {name for way, names in rows if way == kind for name in re.findall(r'`([\w/]+)`', names)} | own[kind]
        there = {name for name in there if not re.search('/(proposed|accept)$', name)}  # of `krang calibrate`
        allowed = [one.text or '' for group in policy.iterfind(f'.//{path}') for one in group]
        assert not [name for name in there if not any(fnmatch(name, pattern) for pattern in allowed)], kind
        assert not [pattern for pattern in allowed if not any(fnmatch(name, pattern) for name in there)], kind


def test_the_parameter_file_names_parameters_that_exist() -> None:
    parameters = pytest.importorskip('krang_dynamics_ros.live.parameters', reason='rclpy is not installed')
    known = {spec.name for spec in parameters.documented()}
    simulator = importlib.import_module('krang_dynamics_ros.nodes.simulator.parameters').PARAMETERS
    demo = yaml.safe_load((ROOT / 'config' / 'demo.yaml').read_text())
    assert demo['/**/krang_simulator']['ros__parameters'].keys() <= {spec.name for spec in simulator}
    given = yaml.safe_load((ROOT / 'config' / 'dynamics.yaml').read_text())['/**']['ros__parameters']
    assert demo['/**/krang_dynamics']['ros__parameters'].keys() <= given.keys() | known
    assert demo['/**/krang_dynamics']['ros__parameters']['sole_publisher']  # a second demo drives nothing of the first
    flat = {
        f'{k}.{j}' if isinstance(v, dict) else k for k, v in given.items() for j in (v if isinstance(v, dict) else [0])
    }
    assert {re.sub('^(left|right)', '<hand>', name) for name in flat} <= known


def test_rviz_shows_robot_frames_wrenches_torques_and_centre_of_mass() -> None:
    assert {display['Class'].removeprefix('rviz_default_plugins/') for display in DISPLAYS.values()} == CLASSES
    for display in DISPLAYS.values():
        assert display['Enabled'] is True
        assert display['Value'] is True
    assert RVIZ['Transformation']['Current']['Class'] == 'rviz_default_plugins/TF'
    assert RVIZ['Global Options']['Fixed Frame'] == 'R0'
    frames = [DISPLAYS['Floor']['Reference Frame'], RVIZ['Views']['Current']['Target Frame']]
    assert frames == ['<Fixed Frame>'] * 2  # of any robot: the launch file says which frame that is
    assert DISPLAYS['Robot']['Description Topic']['Durability Policy'] == 'Transient Local'


def luminance(color: str) -> float:
    """Return the relative luminance of an RViz colour, as WCAG 2 defines it."""
    red, green, blue = ((x / 12.92) if (x := int(part) / 255) <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4
                        for part in color.split(';'))  # fmt: skip
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_rvizs_colours_read_on_a_light_background() -> None:
    background = luminance(RVIZ['Global Options']['Background Color'])
    assert background > 0.7
    colors = {(name, key): display[key] for name, display in DISPLAYS.items() for key in display if 'Color' in key}
    assert len(colors) == 4 * 2 + 2
    poor = {key: color for key, color in colors.items() if (background + 0.05) / (luminance(color) + 0.05) < 3}
    assert not poor


def test_the_message_filters_of_rviz_hold_500_hz() -> None:
    """tf2 at 20 Hz, topics at 500 Hz: 25 messages wait; with the default of 10 each drop is a line of text."""
    waiting = ('Wrench', 'Effort', 'PointStamped')
    filtered = [display['Topic'] for display in DISPLAYS.values() if display['Class'].endswith(waiting)]
    assert [topic['Filter size'] for topic in filtered] == [100] * 6


def test_rviz_reads_the_heights_of_its_panel() -> None:
    """RViz takes Tree Height only together with Help Height."""
    (panel,) = [panel for panel in PANELS if panel['Class'] == 'rviz_common/Displays']
    assert {'Tree Height', 'Help Height'} <= panel.keys()


def test_rviz_listens_to_topics_that_exist() -> None:
    named = [display['Topic']['Value'] for display in DISPLAYS.values() if 'Topic' in display]
    named += [DISPLAYS['Robot']['Description Topic']['Value'], DISPLAYS['Effort torque']['Robot Description']]
    assert {name.lstrip('/') for name in named} <= set(topics())
    for path in LAUNCH_FILES:
        led = re.search(r'TOPICS = \((.*?)\)', path.read_text(), re.DOTALL)
        if led:
            assert {name.lstrip('/') for name in named} == set(re.findall(r"'([\w/]+)'", led.group(1)))


def test_every_joint_has_what_rvizs_effort_display_needs(robot: Robot) -> None:
    for joint in robot.moving_joints:
        assert joint.limits is not None
        assert joint.limits.lower is not None


def test_the_worked_number_of_the_document(robot: Robot) -> None:
    d = dynamics_of(robot)
    q = d.vector({'q_2l': -np.pi / 2})
    shoulder = robot.joint_names.index('q_1l')
    on_robot = np.array([-20.0, 0, 0])
    assert d.wrench_torque(q, [Wrench('R10l', -on_robot)])[shoulder] == pytest.approx(16.09, abs=0.005)
    assert d.Q(q)[shoulder] == pytest.approx(78.02, abs=0.005)
    assert '**+16.09 N m**' in HANDS
    assert '+78.02 N m' in HANDS


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda p: p.name)
def test_a_launch_file_names_what_exists(path: Path) -> None:
    text = path.read_text()
    compile(text, str(path), 'exec')
    for package, executable in re.findall(r"package='(\w+)',\s*executable='(\w+)'", text):
        if package == 'krang_dynamics_ros':
            assert (ROOT / 'scripts' / executable).is_file()
        else:
            assert f'<exec_depend>{package}</exec_depend>' in (ROOT / 'package.xml').read_text()
    for parts in re.findall(r"share\(('[^)]*')\)", text):
        assert ROOT.joinpath(*re.findall(r"'([^']+)'", parts)).is_file()
