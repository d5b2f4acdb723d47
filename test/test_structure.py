"""Data flows one way, ROS stays out of the library, and the package holds what it says it holds."""

from __future__ import annotations

import ast
import configparser
import importlib
import os
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from xml.etree import ElementTree as ET

import pytest

from .robots import ROOT

PACKAGE = ROOT / 'krang_dynamics_ros'

# What each folder may import of the others.
FOLDERS: dict[str, set[str]] = {
    'core': set(),
    'reports': {'core'},
    'effects': {'core'},
    'robot': {'core', 'effects'},
    'equations': {'core', 'robot'},
    'symbolic': {'core', 'robot', 'effects', 'equations'},
    'dynamics': {'core', 'robot', 'effects', 'symbolic'},
    'live': {'core', 'effects', 'robot', 'dynamics'},
    'recordings': {'core', 'robot', 'dynamics', 'live'},
    'simulation': {'core', 'robot', 'effects', 'dynamics', 'live'},
    'identification': {'core', 'reports', 'robot', 'effects', 'equations', 'dynamics', 'recordings', 'simulation'},
    'processing': {'core', 'reports', 'robot', 'dynamics', 'live', 'recordings'},
    'calibration': {'core', 'dynamics', 'live'},
    'check': {'core', 'robot', 'equations', 'dynamics'},
    'page': {'core', 'robot', 'dynamics', 'simulation'},
    'nodes': {'core', 'robot', 'dynamics', 'live', 'simulation', 'calibration', 'page'},
    'cli': {
        'core',
        'robot',
        'equations',
        'symbolic',
        'dynamics',
        'live',
        'recordings',
        'identification',
        'processing',
        'calibration',
        'check',
        'nodes',
    },
}
ROS = {
    'ament_index_python', 'builtin_interfaces', 'diagnostic_msgs', 'geometry_msgs', 'launch', 'launch_ros',
    'rcl_interfaces', 'rclpy', 'rosgraph_msgs', 'sensor_msgs', 'std_msgs', 'std_srvs', 'trajectory_msgs',
}  # fmt: skip
FILES = {str(path.relative_to(PACKAGE).with_suffix('')): path for path in sorted(PACKAGE.rglob('*.py'))}
MODULES = [name for name in FILES if '/' in name]


def imports_of(name: str) -> tuple[set[str], set[str]]:
    """Return the modules of the package (folder/module), and the others, that a module imports."""
    ours, others = set(), set()
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        if isinstance(node, ast.Import):
            others |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            others.add((node.module or '').split('.')[0])
        elif isinstance(node, ast.ImportFrom):
            path = '/'.join([*name.split('/')[: -node.level], *filter(None, (node.module or '').split('.'))])
            ours |= {path} if path in FILES else {f'{path}/{alias.name}' for alias in node.names}
    assert 'krang_dynamics_ros' not in others, f'{name}: imports within the package are relative'
    return ours & set(FILES), others


def reached_from(name: str) -> set[str]:
    """Return a module and all that it imports, and that these import."""
    seen: set[str] = set()
    waiting = {name}
    while waiting:
        seen.add(module := waiting.pop())
        waiting |= imports_of(module)[0] - seen
    return seen


def test_every_module_is_in_a_known_folder() -> None:
    assert {name.split('/')[0] for name in MODULES} == set(FOLDERS)
    assert set(FILES) - set(MODULES) == {'__init__', '__main__'}


@pytest.mark.parametrize('name', MODULES)
def test_imports_go_one_way(name: str) -> None:
    folder = name.split('/', maxsplit=1)[0]
    others = {module.split('/')[0] for module in imports_of(name)[0]} - {folder}
    assert others <= FOLDERS[folder], f'{folder} may import {sorted(FOLDERS[folder])}'
    order = [*FOLDERS]
    assert all(order.index(other) < order.index(folder) for other in others)


def test_no_two_modules_import_each_other() -> None:
    list(TopologicalSorter({name: imports_of(name)[0] for name in MODULES}).static_order())


def test_only_the_backend_imports_pinocchio_only_nodes_ros_and_only_the_page_viser() -> None:
    outside = {name: imports_of(name)[1] for name in MODULES}
    assert {name for name, others in outside.items() if 'pinocchio' in others} == {
        'dynamics/pinocchio_model',
        'dynamics/dynamics',
        'dynamics/kinematics',
    }
    assert {name.split('/')[0] for name, others in outside.items() if others & ROS} == {'nodes'}
    assert {name.split('/')[0] for name, others in outside.items() if 'viser' in others} == {'page'}


def test_only_the_viewer_node_knows_the_page() -> None:
    knowing = {name for name in MODULES if any(x.startswith('page/') for x in imports_of(name)[0])}
    assert {name for name in knowing if not name.startswith('page/')} == {
        'nodes/viewer_node', 'nodes/page/listener', 'nodes/page/controls', 'nodes/page/guiding',
    }  # fmt: skip


@pytest.mark.parametrize('witness', ['equations/lagrangian', 'equations/newton_euler'])
def test_a_witness_sees_neither_urdf_nor_pinocchio(witness: str) -> None:
    seen = reached_from(witness)
    assert not any('pinocchio' in imports_of(name)[1] for name in seen)
    assert not any('urdf' in name or name.startswith('dynamics/') for name in seen)


def test_the_library_loads_without_ros_and_without_exporters() -> None:
    code = 'import sys; from krang_dynamics_ros import *; print(*sys.modules)'
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    loaded = set(out.split())
    assert not loaded & ROS
    assert not any(name.startswith('krang_dynamics_ros.symbolic') for name in loaded)
    assert not loaded & {'casadi', 'sympy', 'viser'}


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


def test_every_command_and_node_runs_by_krang_and_by_ros2_run() -> None:
    main = importlib.import_module('krang_dynamics_ros.__main__')
    shared = {'__init__', 'arm_option', 'common', 'error_table', 'playing', 'record_beside', 'recorded'}
    folders = {'cli': {path.stem for path in (PACKAGE / 'cli').glob('*.py')} - shared}
    folders['nodes'] = {path.stem for path in (PACKAGE / 'nodes').glob('*_node.py')}
    assert (set(main.COMMANDS), set(main.NODES)) == (folders['cli'], folders['nodes'])
    scripts = {path.name: path for path in (ROOT / 'scripts').iterdir()}
    assert set(scripts) == folders['cli'] | folders['nodes']
    for folder, names in folders.items():
        for name in names:
            assert os.access(scripts[name], os.X_OK)
            assert f'from krang_dynamics_ros.{folder}.{name} import main\n' in scripts[name].read_text()
            assert callable(importlib.import_module(f'krang_dynamics_ros.{folder}.{name}').main)


def test_every_data_file_is_installed() -> None:
    text = (ROOT / 'setup.py').read_text()
    patterns = re.findall(r"glob\('([^']+)'\)", text)
    installed = {path for pattern in patterns for path in ROOT.glob(pattern)}
    there = {
        path
        for folder in ('config', 'urdf', 'launch', 'rviz', 'scripts')
        for path in (ROOT / folder).rglob('*')
        if path.is_file()
    }
    assert there <= installed | {path for path in there if '__pycache__' in path.parts}


def test_texts_name_the_person_or_the_thing() -> None:
    """A word such as 'nobody' hides which person, node or process is meant."""
    vague = re.compile(r'\b(somebody|nobody|whoever|everybody)\b', re.IGNORECASE)
    files = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md']
    for folder in ('krang_dynamics_ros', 'docs', 'config', 'launch', 'examples'):
        files += [path for path in (ROOT / folder).rglob('*') if path.suffix in ('.py', '.js', '.md', '.yaml', '.css')]
    lines = [(path.relative_to(ROOT), line) for path in files for line in path.read_text(encoding='utf-8').split('\n')]
    assert len(lines) > 10_000
    assert [(str(path), line.strip()) for path, line in lines if vague.search(line)] == []
