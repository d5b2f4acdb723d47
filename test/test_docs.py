"""What the documents say is so: their code runs, their names exist, their table is what the command prints."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import yaml

from docs import diagrams, tables
from krang_dynamics_ros.__main__ import COMMANDS, NODES
from krang_dynamics_ros.dynamics.terms import TERMS
from krang_dynamics_ros.robot.robot_file import read_robot

from .commands import run
from .robots import ROOT

PLACES = {path.name: path for path in (*ROOT.glob('*.md'), *(ROOT / 'docs').glob('*.md'))}
PLACES |= {f'robots/{path.name}': path for path in (ROOT / 'docs' / 'robots').glob('*.md')}
DOCUMENTS = {name: path.read_text().replace('\\\n', '') for name, path in PLACES.items()}  # commands on one line
README, NODE = DOCUMENTS['README.md'], DOCUMENTS['dynamics_node.md']
NOTATION, ROBOT_FILE = DOCUMENTS['notation.md'], DOCUMENTS['robot_file.md']
EVERYTHING = '\n'.join(DOCUMENTS.values())
LIBRARY = importlib.import_module('krang_dynamics_ros')
PACKAGE = ROOT / 'krang_dynamics_ros'
MODULES = {path.stem: '.'.join(path.relative_to(ROOT).with_suffix('').parts) for path in PACKAGE.rglob('*.py')}
OWNERS = ('robot', 'inertia', 'dynamics', 'pinocchio_model')


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf'```{language}\n(.*?)```', text, re.DOTALL)


def shape(table: str) -> list[str]:
    """Return a table without its numbers, which differ in the last digits from machine to machine."""
    return re.sub(r'\d\.\de[+-]\d\d', '#', table).strip().splitlines()


def test_the_tables_of_parameters_are_the_nodes() -> None:
    for name, specs in tables.parameters():
        assert tables.markdown_table(specs) in DOCUMENTS[name], f'{name}: run `python -m docs.tables`'
        assert tables.with_table(DOCUMENTS[name], specs) == DOCUMENTS[name]


def test_a_table_of_parameters_is_replaced_whole() -> None:
    for name, specs in tables.parameters():
        stale = DOCUMENTS[name].replace(f'`{specs[-1].name}`', '`gone`').replace(f' {specs[0].meaning} |', ' old |')
        assert stale != DOCUMENTS[name]
        assert tables.with_table(stale, specs).count(tables.markdown_table(specs)) == 1


def test_the_table_of_checks_is_the_checks_that_run() -> None:
    checks = importlib.import_module('krang_dynamics_ros.live.command_checks').COMMAND_RULES
    states = importlib.import_module('krang_dynamics_ros.live.state_checks').STATE_RULES
    rows = [f'| {check.name} | {check.rule} | {check.result} |' for check in (*checks, *states)]
    assert '\n'.join(['| check | what must hold | if not |', '|---|---|---|', *rows]) in DOCUMENTS['commands.md']


def test_the_nodes_document_has_every_term() -> None:
    for term in TERMS.values():
        row = f'| out `torque/{term.name}` | sensor_msgs/JointState | {term.formula}, {term.meaning} |'
        assert row in NODE


def test_the_table_of_the_proof_is_what_check_prints() -> None:
    assert shape(blocks(DOCUMENTS['proof.md'], 'text')[0]) == shape(run('check').stdout)


def test_the_readmes_python_runs() -> None:
    names: dict[str, object] = {}
    for code in blocks(README, 'python'):
        exec(compile(code, 'README.md', 'exec'), names)  # noqa: S102
    assert 'dynamics' in names


def test_the_site_has_every_document() -> None:
    listed = '\n'.join(re.findall(r'```{toctree}\n(.*?)```', DOCUMENTS['index.md'], re.DOTALL))
    pages = {path.stem for path in (ROOT / 'docs').glob('*.md')} - {'index'}
    assert set(re.findall(r'^(\w+)$', listed, re.MULTILINE)) == pages
    assert 'robots/index' in listed
    arms = '\n'.join(re.findall(r'```{toctree}\n(.*?)```', DOCUMENTS['robots/index.md'], re.DOTALL))
    pages = {path.stem for path in (ROOT / 'docs' / 'robots').glob('*.md')} - {'index'}
    assert set(re.findall(r'^(\w+)$', arms, re.MULTILINE)) == pages


def test_the_reference_has_every_public_name() -> None:
    described = set(re.findall(r'\.\. auto\w+:: (\w+)$', DOCUMENTS['api.md'], re.MULTILINE))
    assert described == set(LIBRARY.__all__)


def test_a_description_of_an_argument_that_goes_on_is_indented() -> None:
    """In the reference, such a line would be an argument of its own."""
    sections = re.compile(r'^( *)(?:Args|Attributes|Raises):\n((?:\1    .*\n)+)', re.MULTILINE)
    found = [(path, *match) for path in PACKAGE.rglob('*.py') for match in sections.findall(path.read_text())]
    lines = [(path.name, line[len(indent) + 4 :]) for path, indent, text in found for line in text.splitlines()]
    assert len(lines) > 200
    assert [line for line in lines if not re.match(r'\w+: | ', line[1])] == []


def test_the_formulas_are_what_is_printed() -> None:
    pytest.importorskip('sympy', reason='SymPy, for formulas, is not installed')
    pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')
    assert run('formulas', 'config/textbook/pr_robot.yaml').stdout.startswith(
        blocks(DOCUMENTS['export.md'], 'text')[0].rstrip()
    )


@cache
def help_of(command: str) -> str:
    return run(command, '--help').stdout


@pytest.mark.parametrize('words', sorted(set(re.findall(r'\.venv/bin/krang (\w+)([^|`#\n]*)[`#\n]', EVERYTHING))))
def test_options_that_are_named_exist(words: tuple[str, str]) -> None:
    command, options = words
    if command in NODES:
        return
    assert command in COMMANDS
    help_text = help_of(command)
    for option in re.findall(r'(?<!\w)--?\w+', options):
        assert option in help_text


@pytest.mark.parametrize('name', sorted(set(re.findall(r'(?:^|`)make( \w*)?', EVERYTHING, re.MULTILINE))))
def test_make_targets_that_are_named_exist(name: str) -> None:
    assert re.search(rf'^{name.strip() or "venv"}:', (ROOT / 'Makefile').read_text(), re.MULTILINE)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder where what the documents name stands as in a clone after `make`."""
    for name in ('config', 'urdf'):
        (tmp_path / name).symlink_to(ROOT / name)
    krang = tmp_path / '.venv' / 'bin' / 'krang'
    krang.parent.mkdir(parents=True)
    krang.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m krang_dynamics_ros "$@"\n')
    krang.chmod(0o755)
    return tmp_path


def lines_of(name: str) -> list[str]:
    """Return the lines of a document that a shell is told, without comments."""
    found = [line for block in blocks(DOCUMENTS[name], 'bash') for line in block.splitlines()]
    return [re.sub(r'\s+#.*', '', line) for line in found]


def script_of(name: str) -> str:
    """Return what runs here: all but what installs, needs ROS's tools, or is tested by itself, as `make` is."""
    return '\n'.join(
        line for line in lines_of(name) if re.match(r'cp |\.venv/bin/krang (check|generate_urdf)(?!.*--arm)', line)
    )


@pytest.mark.parametrize('name', DOCUMENTS)
def test_commands_that_do_not_run_here_are_of_known_programs(name: str) -> None:
    left = {line.split()[0] for line in lines_of(name) if line.strip() and line not in script_of(name).splitlines()}
    assert left <= {'make', 'ros2', 'colcon', 'rosdep', '.venv/bin/python', '.venv/bin/krang', 'cd', 'export'}


@pytest.mark.parametrize('script', sorted({script_of(name) for name in DOCUMENTS} - {''}))
def test_commands_run_as_typed(script: str, clone: Path) -> None:
    done = subprocess.run(['/bin/bash', '-ec', script], cwd=clone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ''), script


@pytest.mark.parametrize('name', DOCUMENTS)
def test_files_that_are_named_exist(name: str) -> None:
    folders = 'config|urdf|docs|test|examples|launch|layouts|rviz|benchmarks'
    for named in re.findall(rf'`((?:{folders})/[\w./]*)`', DOCUMENTS[name]):
        assert (ROOT / named).exists(), named
    for link in re.findall(r'\]\((?!http)([^)#]+)[^)]*\)', DOCUMENTS[name]):
        assert (PLACES[name].parent / link).exists(), link


def tasks() -> list[tuple[str, str]]:
    """Return, from the table of what to change where, each file with each name that is looked for there."""
    rows = DOCUMENTS['development.md'].split('## To change or add')[1].split('\n\n')[1].splitlines()[2:]
    found, file = [], ''
    for row in rows:
        file = ''
        for word in re.findall(r'`([\w./]+)`', row):
            if '/' in word or word.endswith('.py'):
                file = word
                found.append((file, ''))
            elif file:
                found.append((file, word))
    return found


def walks() -> list[tuple[str, str]]:
    """Return each file, with the name that is called there, of the walks through the code."""
    return [step for walk in diagrams.walks(DOCUMENTS['architecture.md']).values() for step in walk]


def test_the_diagrams_are_drawn_from_the_tables() -> None:
    found = diagrams.walks(DOCUMENTS['architecture.md'])
    assert {name: len(steps) for name, steps in found.items()} == {
        'joint_state': 12,
        'wrench': 8,
        'process': 11,
        'identify': 13,
        'drag': 9,
    }
    for name, steps in found.items():
        assert (ROOT / 'docs' / f'{name}.svg').read_text() == diagrams.drawn(steps), 'run `python -m docs.diagrams`'


@pytest.mark.parametrize(('file', 'name'), [*tasks(), *walks()])
def test_the_table_of_changes_names_existing_files_and_symbols(file: str, name: str) -> None:
    places = [folder / file for folder in (PACKAGE, ROOT) if (folder / file).exists()]
    assert places, file
    if name and places[0].is_file() and places[0].suffix == '.py':
        code = places[0].read_text()
        owner, _, member = name.rpartition('.')
        for part in filter(None, (owner, member)):
            assert re.search(rf'\b(class|def) {part}\b|^{part}\b', code, re.MULTILINE) or f'import {part}' in code, name


def code_names() -> list[str]:
    """Return what stands in the last column of the tables that map something to code."""
    rows = [line.split('|')[1:-1] for line in NOTATION.split('## Corrections')[0].splitlines() if line.startswith('|')]
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
