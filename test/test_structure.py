"""Data flows one way, ROS stays out of the library, and the package holds what it says it holds."""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from .robots import ROOT

PACKAGE = ROOT / 'krang_dynamics_ros'

# What each module may import of the package. A module that is not here may import whatever stands above it.
ALLOWED = {
    'errors': set(),
    'spatial': set(),
    'algebra': set(),
    'inertia': {'spatial'},
    'wrench': {'errors', 'spatial'},
    'motors': {'spatial'},
    'refusals': set(),
    'imu': {'errors'},
    'joint_states': {'refusals', 'spatial'},
    'end_effector': {'errors', 'joint_states', 'refusals', 'wrench'},
    'robot': {'errors', 'inertia', 'spatial'},
    'share': {'errors'},
    'report': set(),
    'urdf': {'robot', 'inertia', 'spatial'},
    'description': {'errors', 'inertia', 'robot', 'spatial'},
    'yaml_reading': {'errors', 'spatial'},
    'robot_file': {'errors', 'inertia', 'robot', 'share', 'spatial', 'yaml_reading'},
    'frames': {'algebra', 'robot'},
    'bodies': {'algebra', 'frames', 'inertia', 'robot'},
    'lagrangian': {'algebra', 'bodies', 'errors', 'frames', 'robot', 'spatial', 'wrench'},
    'newton_euler': {'algebra', 'errors', 'frames', 'robot', 'spatial', 'wrench'},
    'pinocchio_model': {'description', 'errors', 'spatial'},
    'dynamics': {'errors', 'pinocchio_model', 'spatial', 'wrench'},
    'optional': {'errors'},
    'symbolic_robot': {'errors', 'inertia', 'optional', 'robot', 'spatial'},
    'symbols': {'algebra', 'bodies', 'errors', 'frames', 'lagrangian', 'optional', 'robot', 'symbolic_robot'},
    'instructions': {'optional'},
    'languages': {'instructions'},
    'export_tables': {'symbols'},
    'export_c': {'export_tables', 'languages', 'symbols'},
    'export': {'errors', 'export_c', 'export_tables', 'languages', 'optional', 'robot', 'symbols'},
    'formulas': {
        'algebra',
        'bodies',
        'errors',
        'frames',
        'instructions',
        'optional',
        'robot',
        'symbolic_robot',
        'symbols',
    },
    'library': {'errors', 'export_c', 'symbols'},
    'compiled': {'dynamics', 'library', 'robot', 'spatial', 'symbols', 'wrench'},
    'terms': {'dynamics', 'spatial', 'wrench'},
    'task_space': {'dynamics', 'errors', 'spatial'},
    'model': {'compiled', 'dynamics', 'errors', 'robot', 'robot_file', 'share', 'urdf'},
    'simulation': {'errors', 'model', 'robot', 'spatial', 'wrench'},
    'proof': {'dynamics', 'lagrangian', 'newton_euler', 'report', 'robot', 'spatial', 'wrench'},
}
ORDER = [*ALLOWED]


def imports_of(path: Path) -> tuple[set[str], set[str]]:
    """Return the modules of the package, and the others, that a file imports."""
    ours, others = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            others |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            others.add((node.module or '').split('.')[0])
        elif isinstance(node, ast.ImportFrom):
            ours |= {node.module.split('.')[0]} if node.module else {alias.name for alias in node.names}
    return ours, others


def modules() -> list[str]:
    return sorted(path.stem for path in PACKAGE.glob('*.py') if not path.stem.startswith('__'))


def test_every_module_has_its_place() -> None:
    assert modules() == sorted(ALLOWED)


@pytest.mark.parametrize('name', modules())
def test_imports_go_one_way(name: str) -> None:
    ours, _ = imports_of(PACKAGE / f'{name}.py')
    assert ours <= ALLOWED[name]
    assert all(ORDER.index(other) < ORDER.index(name) for other in ours)


@pytest.mark.parametrize('name', modules())
def test_only_two_modules_know_pinocchio_and_none_knows_ros(name: str) -> None:
    _, others = imports_of(PACKAGE / f'{name}.py')
    assert ('pinocchio' in others) == (name in {'pinocchio_model', 'dynamics'})
    assert not others & {'rclpy', 'sensor_msgs', 'geometry_msgs', 'std_msgs', 'ament_index_python', 'launch'}


@pytest.mark.parametrize('path', sorted((PACKAGE / 'viewer').glob('*.py')), ids=lambda path: path.stem)
def test_the_page_knows_no_ros_and_nothing_else_knows_viser(path: Path) -> None:
    assert not imports_of(path)[1] & {'rclpy', 'sensor_msgs', 'geometry_msgs', 'std_msgs', 'std_srvs'}
    for other in PACKAGE.rglob('*.py'):
        assert other.parent == path.parent or 'viser' not in imports_of(other)[1]


@pytest.mark.parametrize('witness', ['lagrangian', 'newton_euler'])
def test_a_witness_sees_neither_urdf_nor_pinocchio(witness: str) -> None:
    seen, waiting = set(), {witness}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        ours, others = imports_of(PACKAGE / f'{name}.py')
        waiting |= ours - seen
        assert 'pinocchio' not in others
    assert not seen & {'urdf', 'description', 'dynamics', 'pinocchio_model'}


def test_the_library_loads_fast_and_without_ros() -> None:
    code = (
        'import sys, time; start = time.perf_counter(); import krang_dynamics_ros; '
        'print(time.perf_counter() - start, "rclpy" in sys.modules)'
    )
    times = []
    for _ in range(3):  # the best of three: the first may read from a cold disk
        out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
        seconds, ros = out.split()
        assert ros == 'False'
        times.append(float(seconds))
    assert min(times) <= 0.6


def test_package_xml_is_a_ros_2_package() -> None:
    root = ET.parse(ROOT / 'package.xml').getroot()
    assert root.get('format') == '3'
    assert root.findtext('name') == 'krang_dynamics_ros'
    assert root.findtext('export/build_type') == 'ament_python'
    assert root.findtext('license') == 'Apache-2.0'
    assert (ROOT / 'resource' / 'krang_dynamics_ros').is_file()
    scripts = configparser.ConfigParser()
    scripts.read(ROOT / 'setup.cfg')
    assert scripts['install']['install_scripts'] == '$base/lib/krang_dynamics_ros'


def test_setup_and_package_xml_have_one_version() -> None:
    version = re.search(r"version='([^']+)'", (ROOT / 'setup.py').read_text())
    assert version
    assert version.group(1) == ET.parse(ROOT / 'package.xml').getroot().findtext('version')


def test_every_command_has_an_executable_and_every_executable_a_function() -> None:
    commands = {path.stem for path in (PACKAGE / 'cli').glob('*.py')} - {'__init__', 'common'}
    scripts = dict(re.findall(r"'(\w+) = \{PACKAGE\}\.([\w.]+):main'", (ROOT / 'setup.py').read_text()))
    nodes = {path.stem for path in (PACKAGE / 'nodes').glob('*_node.py')}
    assert set(scripts) == commands | nodes
    assert set(importlib.import_module('krang_dynamics_ros.__main__').COMMANDS) == commands
    for module in scripts.values():
        assert callable(importlib.import_module(f'krang_dynamics_ros.{module}').main)


def test_every_data_file_is_installed() -> None:
    text = (ROOT / 'setup.py').read_text()
    patterns = re.findall(r"glob\('([^']+)'\)", text)
    installed = {path for pattern in patterns for path in ROOT.glob(pattern)}
    there = {
        path for folder in ('config', 'urdf', 'launch', 'rviz') for path in (ROOT / folder).rglob('*') if path.is_file()
    }
    assert there <= installed | {path for path in there if '__pycache__' in path.parts}
