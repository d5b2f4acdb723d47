"""Springs and coupled friction in symbols, exports and the compiled library: the torques of the robot's drives."""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')

import casadi

from krang_dynamics_ros import Robot, dynamics_of, load_robot
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.robot.robot_writer import robot_text
from krang_dynamics_ros.symbolic.export import export
from krang_dynamics_ros.symbolic.expressions import Symbols
from krang_dynamics_ros.symbolic.parameters import setting_slices, setting_values, symbolic

from ..commands import run
from ..robots import FILES, robot_with_followers

GCC, OCTAVE = shutil.which('gcc'), shutil.which('octave-cli')
needs_gcc = pytest.mark.skipif(not GCC, reason='gcc is not installed')
RTOL = 1e-12
NAME = 'hand_with_followers'
Call = Callable[[str, np.ndarray, np.ndarray], np.ndarray]  # quantity, its state, p


@cache
def sprung() -> Robot:
    """Return a robot with followers, with springs at two of its joints and coupled friction of three pairs."""
    robot = robot_with_followers(NAME)
    first, second, *_ = names = robot.joint_names
    springs = {first: (Spring(3.0, -2.0),), second: (Spring(0.0, 0.7),)}
    joints = tuple(replace(joint, other_effects=springs.get(joint.name, ())) for joint in robot.joints)
    pairs = ((first, second, 1, 0.4, 2.5, 0.05), (first, second, -1, 0.0, 1.0, 0.2), (second, names[-1], -1, 0.3, 0, 1))
    couplings = tuple(Coupling((a, b), sign, *numbers) for a, b, sign, *numbers in pairs)
    return replace(robot, joints=joints, couplings=couplings)


@cache
def symbols(leave_open: str = 'settings') -> Symbols:
    return Symbols(sprung(), leave_open)


def test_coupled_friction_has_the_units_of_its_joints() -> None:
    joints = tuple(replace(joint, kind='prismatic') if joint.moves else joint for joint in sprung().joints)
    for robot, units in ((sprung(), ['N m s/rad', 'N m']), (replace(sprung(), joints=joints), ['N s/m', 'N'])):
        meanings = [x.meaning for x in symbolic(robot).parameters if x.name.startswith('W')]
        assert [meaning.rpartition(', ')[2] for meaning in meanings] == units * len(robot.couplings)


def states(count: int = 20) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [np.zeros(sprung().n), *rng.normal(size=(count, sprung().n)) * 10.0 ** rng.uniform(-3, 0.5, (count, 1))]


def assert_right(call: Call, p: np.ndarray) -> None:
    both = dynamics_of(sprung()).springs_and_couplings
    for x in states():
        np.testing.assert_allclose(call('spring_torque', x, p).ravel(), both.spring_torque(x), rtol=RTOL, atol=1e-14)
        coupling = call('coupling_torque', x, p).ravel()
        np.testing.assert_allclose(coupling, both.coupled_friction(x), rtol=RTOL, atol=1e-14)


# The laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('leave_open', ['settings', 'all'])
def test_the_symbols_are_the_torques_of_the_drives(leave_open: str) -> None:
    of = symbols(leave_open)
    assert_right(lambda name, x, p: np.array(of.function(name)(x, p)), of.values)


def test_the_spring_torque_is_the_derivative_of_its_energy() -> None:
    of, both = symbols(), dynamics_of(sprung()).springs_and_couplings
    for q in states():
        steps = 1e-6 * np.eye(len(q))
        slope = [(both.spring_energy(q + step) - both.spring_energy(q - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(np.array(of.function('spring_torque')(q, of.values)).ravel(), slope, atol=1e-8)
    jacobian = casadi.Function('J', [of.q, of.p], [casadi.jacobian(of.spring_torque, of.q)])(states()[3], of.values)
    np.testing.assert_allclose(jacobian, np.array(jacobian).T)  # it has a potential


def test_coupled_friction_never_gives_power_whatever_its_coefficients(rng: np.random.Generator) -> None:
    of, at = symbols(), setting_slices(sprung())['coupling']
    for dq in states():
        p = of.values.copy()
        p[at] = rng.uniform(0, 5, size=6)
        torque = np.array(of.function('coupling_torque')(dq, p)).ravel()
        assert torque @ dq >= 0
        np.testing.assert_allclose(of.function('coupling_torque')(-dq, p), -torque[:, None])


# The parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('leave_open', ['settings', 'all'])
def test_their_parameters_come_last_and_a_robot_without_them_has_none(leave_open: str) -> None:
    plain = [*Symbols(robot_with_followers(NAME), leave_open).parameters]
    ours = [*symbols(leave_open).parameters]
    assert ours[: len(plain)] == plain
    assert [x.value for x in ours[len(plain) :]] == [3.0, -2.0, 0.0, 0.7, 0.4, 2.5, 0.0, 1.0, 0.3, 0.0]
    names = [x.name for x in ours]
    assert len(names) == len(set(names))


def test_the_settings_of_the_compiled_backend_are_those_of_the_symbols() -> None:
    np.testing.assert_array_equal(setting_values(sprung()), symbols().values)
    assert max(of.stop for of in setting_slices(sprung()).values()) == symbols().p.numel()


def test_other_numbers_in_p_are_another_spring() -> None:
    of, q = symbols(), states()[2]
    p = of.values.copy()
    p[setting_slices(sprung())['effects']] *= 2
    twice = of.function('spring_torque')(q, p)
    np.testing.assert_allclose(twice, 2 * np.array(of.function('spring_torque')(q, of.values)))


# The formats ----------------------------------------------------------------------------------------------------------


def test_casadi_loads_them(tmp_path: Path) -> None:
    export(sprung(), 'casadi', tmp_path)
    load = {x: casadi.Function.load(str(tmp_path / f'{NAME}_{x}.casadi')) for x in ('spring_torque', 'coupling_torque')}
    assert_right(lambda name, x, p: np.array(load[name](x, p)), symbols().values)


def test_python_has_them_with_math_alone(tmp_path: Path) -> None:
    (file,) = export(sprung(), 'python', tmp_path)
    assert re.findall(r'^from .*|^import .*', file.read_text(), re.MULTILINE) == ['from math import cos, sin, tanh']
    specification = importlib.util.spec_from_file_location('exported', file)
    module: Any = importlib.util.module_from_spec(specification)  # type: ignore[arg-type]
    specification.loader.exec_module(module)  # type: ignore[union-attr]
    assert_right(lambda name, x, p: np.array(getattr(module, name)([*x], p)), module.parameters())


@needs_gcc
def test_c_has_them_without_a_warning(tmp_path: Path) -> None:
    export(sprung(), 'c', tmp_path)
    words = [GCC, '-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror', '-shared', '-fPIC', f'{NAME}.c', '-lm']
    subprocess.run([*words, '-o', 'it.so'], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / 'it.so'))
    assert_right(caller(library), symbols().values)
    header = (tmp_path / f'{NAME}.h').read_text()
    assert 'the only calls are sin, cos and tanh of <math.h>' in header
    assert 'NOT in here' not in header


def caller(library: Any) -> Call:
    """Return a function that calls those of a library of C."""

    def call(name: str, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        torque = np.full(sprung().n, np.nan)
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (x, p, torque))
        getattr(library, f'{NAME}_{name}')(*pointers)
        return torque

    return call


@needs_gcc
def test_the_compiled_library_has_them_and_the_backend_its_other_numbers() -> None:
    dynamics = dynamics_of(sprung(), backend='compiled')
    assert_right(caller(dynamics._library), symbols().values)  # type: ignore[attr-defined]
    plain, q = dynamics_of(sprung()), states()[4]
    for of in (dynamics, plain):
        of.gravity = np.array([1.0, 2.0, -9.0])
    np.testing.assert_allclose(dynamics.Q(q), plain.Q(q), rtol=1e-10)
    np.testing.assert_array_equal(
        dynamics.springs_and_couplings.spring_torque(q), plain.springs_and_couplings.spring_torque(q)
    )


@pytest.mark.skipif(not OCTAVE, reason='Octave is not installed')
def test_octave_has_them(tmp_path: Path) -> None:
    export(sprung(), 'matlab', tmp_path)
    x = states()[2]
    lines = [f"p = {NAME}_parameters(); x = {x.tolist()}.';"]
    lines += [f"printf('%.17g ', {NAME}_{name}(x, p)); printf('\\n');" for name in ('spring_torque', 'coupling_torque')]
    (tmp_path / 'run.m').write_text('\n'.join(lines))
    done = subprocess.run([OCTAVE, '--norc', 'run.m'], capture_output=True, text=True, cwd=tmp_path, check=True)
    spring, coupling = [np.array(row.split(), dtype=float) for row in done.stdout.splitlines()]
    both = dynamics_of(sprung()).springs_and_couplings
    np.testing.assert_allclose(spring, both.spring_torque(x), rtol=RTOL)
    np.testing.assert_allclose(coupling, both.coupled_friction(x), rtol=RTOL)


def test_matlab_writes_them(tmp_path: Path) -> None:
    export(sprung(), 'matlab', tmp_path)
    assert 'cos(q(1))' in (tmp_path / f'{NAME}_spring_torque.m').read_text()
    assert 'tanh(' in (tmp_path / f'{NAME}_coupling_torque.m').read_text()


def test_formulas_show_them_for_a_robot_that_has_them(tmp_path: Path) -> None:
    robot = load_robot(FILES['arm_2r'])
    joints = tuple(
        replace(joint, other_effects=(Spring(3.0, 0.0),)) if joint.name == 'theta2' else joint for joint in robot.joints
    )
    file = tmp_path / 'robot.yaml'
    file.write_text(
        robot_text(replace(robot, joints=joints, couplings=(Coupling(robot.joint_names, -1, 0.4, 0, 0.05),)))
    )
    shown = run('formulas', file).stdout
    assert 'springs =' in shown
    assert 'a⋅cos(θ₂)' in shown
    assert 'coupling =' in shown
    assert 'v⋅' in shown
    assert 'springs =' not in run('formulas', FILES['arm_2r']).stdout
