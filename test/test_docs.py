"""What the documents say is so: their code runs, their names exist, their table is what the command prints."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml

from krang_dynamics_ros.robot.robot_file import read_robot

from .robots import ROOT
from .test_commands import run

README = (ROOT / 'README.md').read_text()
NOTATION = (ROOT / 'docs' / 'notation.md').read_text()
ROBOT_FILE = (ROOT / 'docs' / 'robot_file.md').read_text()
LIBRARY = importlib.import_module('krang_dynamics_ros')
PACKAGE = ROOT / 'krang_dynamics_ros'
MODULES = {path.stem: '.'.join(path.relative_to(ROOT).with_suffix('').parts) for path in PACKAGE.rglob('*.py')}
OWNERS = ('robot', 'inertia', 'dynamics', 'pinocchio_model')


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf'```{language}\n(.*?)```', text, re.DOTALL)


def shape(table: str) -> list[str]:
    """Return a table without its numbers, which differ in the last digits from machine to machine."""
    return re.sub(r'\d\.\de[+-]\d\d', '#', table).strip().splitlines()


def test_the_readmes_parameters_are_the_nodes() -> None:
    parameters = pytest.importorskip('krang_dynamics_ros.nodes.dynamics_parameters', reason='rclpy is not installed')
    table = importlib.import_module('krang_dynamics_ros.nodes.parameters').markdown_table(parameters.documented())
    assert table in README
    for node in ('simulator_node', 'viewer_node'):
        declared = importlib.import_module(f'krang_dynamics_ros.nodes.{node}').PARAMETERS
        assert importlib.import_module('krang_dynamics_ros.nodes.parameters').markdown_table(declared) in README


def test_the_readmes_table_is_what_check_prints() -> None:
    assert shape(blocks(README, 'text')[0]) == shape(run('check').stdout)


def test_the_readmes_python_runs() -> None:
    names: dict[str, object] = {}
    for code in blocks(README, 'python'):
        exec(compile(code, 'README.md', 'exec'), names)  # noqa: S102
    assert 'dynamics' in names


def test_the_readmes_formulas_are_what_is_printed() -> None:
    pytest.importorskip('sympy', reason='SymPy, for formulas, is not installed')
    pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')
    assert run('formulas', 'config/textbook/pr_robot.yaml').stdout.startswith(blocks(README, 'text')[1].rstrip())


@pytest.mark.parametrize(
    'words',
    sorted(set(re.findall(r'krang_dynamics_ros (check|export|formulas|generate_urdf)([^|`#\n]*)[`#\n]', README))),
)
def test_the_readmes_options_exist(words: tuple[str, str]) -> None:
    command, options = words
    help_text = run(command, '--help').stdout
    for option in re.findall(r'--?\w+', options):
        assert option in help_text


@pytest.mark.parametrize('name', re.findall(r'^make (\w*)', '\n'.join(blocks(README, 'bash')), re.MULTILINE))
def test_the_readmes_make_targets_exist(name: str) -> None:
    assert re.search(rf'^{name or "venv"}:', (ROOT / 'Makefile').read_text(), re.MULTILINE)


@pytest.mark.parametrize('document', [README, NOTATION, ROBOT_FILE])
def test_files_that_are_named_exist(document: str) -> None:
    for name in re.findall(r'`((?:config|urdf|docs|test)/[\w./]*)`', document):
        assert (ROOT / name).exists(), name
    for link in re.findall(r'\]\(([\w./]+)\)', document):
        assert (ROOT / link).exists() or (ROOT / 'docs' / link).exists(), link


def code_names() -> list[str]:
    """Return what stands in the last column of the tables that map something to code."""
    rows = [
        line.split('|')[1:-1] for line in NOTATION.split('## Where the print')[0].splitlines() if line.startswith('|')
    ]
    names = {name for row in rows for name in re.findall(r'`([A-Za-z_]+(?:\.[A-Za-z_]+)?)`', row[-1])}
    return sorted(names - {'lengths', 'A', 'P', 'C dq', 'o'})


@pytest.mark.parametrize('name', code_names())
def test_names_in_the_notation_exist(name: str) -> None:
    owner, _, member = name.rpartition('.')
    if not owner:
        known = hasattr(LIBRARY, member) or name in {'R0', 'R1', 'R10r'}
        assert known or member in MODULES
    elif owner[0].isupper():
        holders = [importlib.import_module(MODULES[module]) for module in OWNERS]
        held = [getattr(holder, owner, None) or getattr(LIBRARY, owner, None) for holder in holders]
        assert any(hasattr(one, member) or member in getattr(one, '__dataclass_fields__', {}) for one in held)
    else:
        assert hasattr(importlib.import_module(MODULES[owner]), member)


def test_the_example_of_a_robot_file_is_a_robot(tmp_path: Path) -> None:
    example = blocks(ROBOT_FILE, 'yaml')[0]
    assert read_robot(example).joint_names == ('shoulder',)
    keys = set(re.findall(r'`(\w+)`', ROBOT_FILE))
    for name, section in yaml.safe_load(example).items():
        assert name in keys
        assert section
