"""What is exported is loaded, compiled and run by those it is for, and gives the Lagrangian's numbers."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')

import casadi

from krang_dynamics_ros import KrangDynamicsError, Lagrangian, Robot, load_robot
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.robot.robot_file import read_robot
from krang_dynamics_ros.symbolic.export import FORMATS, export
from krang_dynamics_ros.symbolic.expressions import QUANTITIES, Symbols, identifier

from ..commands import run
from ..marks import slow_but
from ..robots import FILES, ROOT, WITH_FOLLOWERS, robot_with_followers
from .test_symbols import assert_same, expected, wrenches_on

GCC, GXX, NM, OCTAVE = map(shutil.which, ('gcc', 'g++', 'nm', 'octave-cli'))
needs_gcc = pytest.mark.skipif(not GCC, reason='gcc is not installed')
needs_octave = pytest.mark.skipif(not OCTAVE, reason='Octave is not installed')
STRICT = ['-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror']
Call = Callable[..., Any]

AWKWARD = """
name: 2 arms */ "of" 100% ??/
gravity: [0.5, 0, -9.81]
links:
  base\\: {}
  lower "*/ %d: {mass: 2, com: [0.1, 0.2, 0.3], inertia: [1, 0.1, 0, 1, 0, 1]}
  upper: {mass: 1, com: [0.3, 0, 0.1], inertia: [1, 0, 0.2, 1, 0, 1]}
joints:
  a "b" \\ */ %s ??/: {type: revolute, parent: base\\, child: lower "*/ %d, axis: [1, 2, 3]}
  "??' é ??/": {type: prismatic, parent: lower "*/ %d, child: upper, axis: [1, 0, 1],
      limits: {lower: -1, upper: 1, effort: 1, velocity: 1}, motor: {gear_ratio: 3, rotor_inertia: 0.1}}
"""
CASES = [
    ('krang', 'settings'), ('krang', 'all'), ('pendulum', 'all'), ('pr_robot', 'settings'), ('awkward', 'all'),
    ('arm_with_gripper', 'settings'), ('hand_with_followers', 'all'),
]  # fmt: skip
SMALL = [('pr_robot', 'settings'), ('awkward', 'all'), ('hand_with_followers', 'all')]


def robot_named(name: str) -> Robot:
    if name in WITH_FOLLOWERS:
        return robot_with_followers(name)
    return read_robot(AWKWARD) if name == 'awkward' else load_robot(FILES[name])


def states(symbols: Symbols, count: int = 3) -> Iterator[dict[str, np.ndarray]]:
    rng = np.random.default_rng(4)
    drawn = random_states(symbols.robot, count, 5)
    drawn.q[0] = drawn.dq[0] = 0  # where friction has no sign
    for q, dq, ddq in zip(*drawn, strict=True):
        yield {'q': q, 'dq': dq, 'ddq': ddq, 'f': rng.normal(size=6 * len(symbols.hands)), 'p': symbols.values}


def assert_all_agree(symbols: Symbols, call: Call) -> None:
    """Hold call(quantity, *arguments) against the Lagrangian."""
    lagrangian = Lagrangian(symbols.robot)
    for state in states(symbols):
        wrenches = wrenches_on(symbols.hands, state['f'])
        for quantity, value in expected(lagrangian, *(state[x] for x in ('q', 'dq', 'ddq')), wrenches).items():
            assert_same(call(quantity, *(state[x] for x in QUANTITIES[quantity].inputs)), value, quantity)


@pytest.mark.parametrize(('name', 'leave_open'), slow_but(SMALL, CASES))
def test_casadi_loads_it_back_identical(name: str, leave_open: str, tmp_path: Path) -> None:
    robot = robot_named(name)
    symbols, word = Symbols(robot, leave_open), identifier(robot.name)
    export(robot, 'casadi', tmp_path, leave_open)
    loaded = {quantity: casadi.Function.load(str(tmp_path / f'{word}_{quantity}.casadi')) for quantity in QUANTITIES}
    for quantity, function in loaded.items():
        assert function.serialize() == symbols.function(quantity).serialize()
        assert function.name_in() == [*QUANTITIES[quantity].inputs]
    assert_all_agree(symbols, lambda quantity, *of: np.array(loaded[quantity](*of)))
    parameters = casadi.Function.load(str(tmp_path / f'{word}_parameters.casadi'))
    assert np.array_equal(np.array(parameters()['p']).ravel(), symbols.values)


@pytest.mark.parametrize(('name', 'leave_open'), slow_but(SMALL, CASES))
def test_python_needs_math_alone(name: str, leave_open: str, tmp_path: Path) -> None:
    robot = robot_named(name)
    (file,) = export(robot, 'python', tmp_path, leave_open)
    imports = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ['from math import cos, sin']
    specification = importlib.util.spec_from_file_location('exported', file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert_all_agree(Symbols(robot, leave_open), lambda quantity, *of: getattr(module, quantity)(*map(list, of)))
    assert module.parameters() == Symbols(robot, leave_open).values.tolist()


def test_the_joints_that_follow_are_named_beside_the_joint_that_they_follow(tmp_path: Path) -> None:
    export(robot_named('hand_with_followers'), 'c', tmp_path)
    header = (tmp_path / 'hand_with_followers.h').read_text()
    assert (
        '1   near_joint, rad; middle_joint: 1.5 q + 0.2; tip_joint: -1.2 q + -0.26; thumb_joint: 0.25 q + 0' in header
    )
    assert '2   slide_joint, m; nail_joint: -3 q + 0.4' in header
    assert 'viscous friction of near_joint and the joints that follow it, N m s/rad' in header


def compiled(robot: Robot, folder: Path, leave_open: str) -> Path:
    """Return the object file, compiled with every warning an error."""
    word = identifier(robot.name)
    export(robot, 'c', folder, leave_open)
    subprocess.run([GCC, *STRICT, '-O0', '-fPIC', '-c', f'{word}.c'], cwd=folder, check=True)
    return folder / f'{word}.o'


@needs_gcc
@pytest.mark.parametrize(('name', 'leave_open'), slow_but([CASES[0], *SMALL], CASES))
def test_c_compiles_without_a_warning_and_agrees(name: str, leave_open: str, tmp_path: Path) -> None:
    robot = robot_named(name)
    symbols, word = Symbols(robot, leave_open), identifier(robot.name)
    compiled(robot, tmp_path, leave_open)
    subprocess.run([GCC, '-shared', f'{word}.o', '-lm', '-o', 'it.so'], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / 'it.so'))

    def call(quantity: str, *of: np.ndarray) -> np.ndarray:
        output = np.full(symbols.function(quantity).numel_out(0), np.nan)
        getattr(library, f'{word}_{quantity}')(*(ctypes.c_void_p(x.ctypes.data) for x in (*of, output)))
        return output.reshape((robot.n, -1)) if output.size > 1 else output

    assert_all_agree(symbols, call)
    p = np.full(symbols.values.size, np.nan)
    getattr(library, f'{word}_parameters')(ctypes.c_void_p(p.ctypes.data))
    np.testing.assert_array_equal(p, symbols.values)


@needs_gcc
def test_c_has_no_state_and_calls_nothing_but_sin_and_cos(robot: Robot, tmp_path: Path) -> None:
    table = subprocess.run([NM, compiled(robot, tmp_path, 'settings')], capture_output=True, text=True, check=True)
    symbols = [line.split()[-2:] for line in table.stdout.splitlines()]
    assert {kind for kind, _ in symbols} <= {'T', 'U', 'r'}  # functions, those called, constants: no data
    assert {name for kind, name in symbols if kind == 'U'} <= {'sin', 'cos', 'sincos', '_GLOBAL_OFFSET_TABLE_'}
    source = (tmp_path / 'krang.c').read_text()
    assert not re.search(r'\b(for|while|if|goto|static|malloc)\b|\?', source)
    assert re.findall(r'#include .*', source) == ['#include "krang.h"', '#include <math.h>']


@needs_gcc
@pytest.mark.parametrize('name', slow_but(['awkward'], ['krang', 'awkward']))
def test_the_line_in_the_header_builds_the_example(name: str, tmp_path: Path) -> None:
    robot = robot_named(name)
    word = identifier(robot.name)
    export(robot, 'c', tmp_path)
    line = re.search(r'^ \*     (gcc .*)$', (tmp_path / f'{word}.h').read_text(), re.MULTILINE).group(1)
    subprocess.run([*line.split(), *STRICT], cwd=tmp_path, check=True)
    q, dq = (x[0] for x in random_states(robot, 1, 6)[:2])
    words = [f'./{word}_example', *map(repr, [*q.tolist(), *dq.tolist()])]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    rows = done.stdout.splitlines()
    printed = np.array([row.split()[-3:] for row in rows[1:]], dtype=float).T
    lagrangian = Lagrangian(robot)
    for mine, theirs in zip(printed, (lagrangian.Q(q), lagrangian.coriolis_torque(q, dq)), strict=False):
        assert_same(mine, theirs, 'printed')
    assert [row[: -3 * 25].strip() for row in rows[1:]] == [*robot.joint_names]
    for wrong in (['x'], ['0.1x'], [''], ['0'] * (2 * robot.n + 1)):
        refused = subprocess.run([words[0], *wrong], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert refused.returncode == 2
        assert f"argument {len(wrong)}: '{wrong[-1]}', must be one of at most {2 * robot.n} numbers" in refused.stderr


@needs_gcc
def test_the_readmes_c_compiles(robot: Robot, tmp_path: Path) -> None:
    export(robot, 'c', tmp_path)
    (code,) = re.findall(r'```c\n(.*?)```', (ROOT / 'docs' / 'export.md').read_text(), re.DOTALL)
    (tmp_path / 'loop.c').write_text(code)
    subprocess.run([GCC, *STRICT, '-fsyntax-only', 'loop.c'], cwd=tmp_path, check=True)


@pytest.mark.skipif(not GXX, reason='g++ is not installed')
def test_the_header_is_one_for_cpp_too(tmp_path: Path) -> None:
    export(robot_named('pr_robot'), 'c', tmp_path)
    (tmp_path / 'it.cpp').write_text('#include "pr_robot.h"\nint main() { double p[9]; pr_robot_parameters(p); }\n')
    subprocess.run([GCC, *STRICT, '-c', 'pr_robot.c'], cwd=tmp_path, check=True)
    subprocess.run([GXX, '-Wall', '-Wextra', '-pedantic', '-Werror', 'it.cpp', 'pr_robot.o'], cwd=tmp_path, check=True)


@needs_octave
@pytest.mark.parametrize(('name', 'leave_open'), slow_but(SMALL, CASES))
def test_octave_runs_it_and_agrees(name: str, leave_open: str, tmp_path: Path) -> None:
    robot = robot_named(name)
    symbols, word = Symbols(robot, leave_open), identifier(robot.name)
    export(robot, 'matlab', tmp_path, leave_open)
    lines = [f'p = {word}_parameters();', "printf('%.17g ', p); printf('\\n');"]
    for state in states(symbols):
        lines += [f"{x} = {state[x].tolist()}.';" for x in ('q', 'dq', 'ddq', 'f')]
        for quantity, what in QUANTITIES.items():  # Octave goes by columns
            lines.append(f"printf('%.17g ', {word}_{quantity}({', '.join(what.inputs)}).'); printf('\\n');")
    (tmp_path / 'run.m').write_text('\n'.join(lines))
    done = subprocess.run([OCTAVE, '--norc', 'run.m'], capture_output=True, text=True, cwd=tmp_path, check=True)
    p, *rows = [np.array(row.split(), dtype=float) for row in done.stdout.splitlines()]
    np.testing.assert_array_equal(p, symbols.values)
    answers = iter(rows)

    def call(quantity: str, *_: np.ndarray) -> np.ndarray:
        return given[quantity].reshape(robot.n, -1) if given[quantity].size > 1 else given[quantity]

    lagrangian = Lagrangian(robot)
    for state in states(symbols):
        given = {quantity: next(answers) for quantity in QUANTITIES}
        for quantity, value in expected(
            lagrangian, *(state[x] for x in ('q', 'dq', 'ddq')), wrenches_on(symbols.hands, state['f'])
        ).items():
            assert_same(call(quantity), value, quantity)


@pytest.mark.parametrize('name', slow_but(['class', 'math'], ['class', 'math', 'random', 'True', 'lambda']))
def test_the_line_that_is_printed_imports_it_whatever_the_robots_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / 'robot.yaml'
    file.write_text(FILES['pendulum'].read_text().replace('name: pendulum', f"name: '{name}'"))
    done = run('export', file, '--to', 'python', '-o', tmp_path / 'there')
    line = done.stdout.splitlines()[-1].split(':  ')[1].replace('(q, ', '([0.1], ')
    imported, use = line.split('; ')
    code = f'{imported}; print({use})'
    out = subprocess.run(
        [sys.executable, '-c', code], cwd=tmp_path / 'there', capture_output=True, text=True, check=True
    )
    assert out.stdout.startswith('[[1.')


@pytest.mark.parametrize(
    ('to', 'function'), [('c', 'pr_robot_parameters'), ('matlab', 'pr_robot_parameters'), ('python', 'parameters')]
)
def test_a_head_has_all_terms_and_the_function_of_the_parameters(to: str, function: str, tmp_path: Path) -> None:
    for file in export(load_robot(FILES['pr_robot']), to, tmp_path):
        if file.suffix != '.c':
            text = file.read_text()
            assert 'tau = A(q) ddq + C(q, dq) dq + Q(q) + friction + spring + coupling + J^T f' in text
            assert re.search(rf'p(\[\d+\]: the parameters)?; {function}\(\) ', text)


@pytest.mark.parametrize(('to', 'count', 'next_step'), [
    ('c', 3, 'gcc -std=c99 -O2 pr_robot_example.c pr_robot.c -lm -o pr_robot_example'),
    ('matlab', 12, 'p = pr_robot_parameters(); A = pr_robot_A(q, p)'),
    ('python', 1, 'import pr_robot; pr_robot.A(q, pr_robot.parameters())'),
    ('casadi', 12, "A = casadi.Function.load('pr_robot_A.casadi'); A(q, p)"),
])  # fmt: skip
def test_the_command_names_the_files_and_what_to_do_next(to: str, count: int, next_step: str, tmp_path: Path) -> None:
    assert to in FORMATS
    done = run('export', FILES['pr_robot'], '--to', to, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, '')
    *files, _, last = done.stdout.splitlines()
    assert sorted(files) == sorted(f'pr_robot_{to}/{file.name}' for file in (tmp_path / f'pr_robot_{to}').iterdir())
    assert len(files) == count
    assert last == f'In pr_robot_{to}:  {next_step}'


def test_krang_and_c_are_the_default_and_the_parameters_can_stay_open(tmp_path: Path) -> None:
    assert run('export', cwd=tmp_path).returncode == 0
    assert 'p[74]' in (tmp_path / 'krang_c' / 'krang.h').read_text()
    assert run('export', '--parameters', 'all', '-o', tmp_path / 'there' / 'too', cwd=tmp_path).returncode == 0
    assert 'p[253]' in (tmp_path / 'there' / 'too' / 'krang.h').read_text()


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('export', '--to', 'fortran'), "invalid choice: 'fortran'"),
        (('export', '--parameters', 'none'), "invalid choice: 'none'"),
        (('export', 'nowhere.yaml'), 'nowhere.yaml: 1 fault'),
        (('export', '-o', '/proc/here'), '/proc/here: No such file or directory'),
        (('export', '-o', 'README.md'), 'README.md: File exists'),
        (('formulas', 'config/krang.yaml'), "robot 'krang': 17 joints, must have at most 3; use `krang export`"),
        (('formulas', 'nowhere.yaml'), 'nowhere.yaml: 1 fault'),
    ],
)
def test_nonsense_gets_a_plain_word(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert message in done.stdout + done.stderr
    assert 'Traceback' not in done.stderr


def test_a_format_that_is_not_one_is_refused(robot: Robot, tmp_path: Path) -> None:
    with pytest.raises(KrangDynamicsError, match="format 'pyton' is unknown; did you mean 'python'"):
        export(robot, 'pyton', tmp_path)
