"""Effects that are one class and one entry of a list work everywhere: an example of how to add one, and its proof."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs import tables
from krang_dynamics_ros import Lagrangian, Robot, dynamics_of, krang
from krang_dynamics_ros.check.agreement import prove
from krang_dynamics_ros.cli.check import main as check
from krang_dynamics_ros.core.algebra import exp
from krang_dynamics_ros.core.errors import ArgumentError, FaultsError
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.dynamics.drives import FrictionModel
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.dynamics.terms import Terms, Torques
from krang_dynamics_ros.effects.effect import JointEffect, constant, factor
from krang_dynamics_ros.effects.joint_effects import JOINT_EFFECTS
from krang_dynamics_ros.identification.identified_file import robot_file_text
from krang_dynamics_ros.identification.identify import identify
from krang_dynamics_ros.identification.predict import predict
from krang_dynamics_ros.identification.report import identification_report
from krang_dynamics_ros.live.parameters import documented, of_joints, set_joints
from krang_dynamics_ros.recordings.recording import Recording
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot_file import load_robot, read_robot
from krang_dynamics_ros.robot.robot_writer import robot_text
from krang_dynamics_ros.simulation.impulses import SmoothFriction, velocity_after
from krang_dynamics_ros.simulation.simulation import Simulation

from ..real_recordings import waves
from ..robot.test_robot_file import GOOD
from ..robots import FILES
from . import test_joint_effects as laws


@dataclass(frozen=True)
class Quadratic(JointEffect):
    """Friction of a fluid, c dq |dq|."""

    quadratic: float = factor('quadratic friction', 'N m s^2/rad^2', symbol='Fq', letter='F_q')

    term = 'friction'

    def torque(self, x: Any) -> Any:
        """Return c dq |dq|."""
        return self.quadratic * x * abs(x)

    def slope(self, x: Any) -> Any:
        """Return 2 c |dq|."""
        return 2 * self.quadratic * abs(x)

    def integral(self, x: Any) -> Any:
        """Return c |dq|^3 / 3."""
        return self.quadratic * abs(x) ** 3 / 3


@dataclass(frozen=True)
class Stribeck(JointEffect):
    """Friction that is largest at a velocity and falls beyond: F (dq / v) exp(1/2 - (dq / v)^2 / 2)."""

    stribeck: float = factor('Stribeck friction', 'N m')
    stribeck_velocity: float = constant(0.1, 'velocity of the largest Stribeck friction', 'rad/s', least=1e-6)

    term = 'friction'

    def torque(self, x: Any) -> Any:
        """Return the torque; at v it is F."""
        ratio = x / self.stribeck_velocity
        return self.stribeck * ratio * exp(0.5 - ratio**2 / 2)

    def slope(self, x: Any) -> Any:
        """Return the derivative, negative beyond v."""
        ratio = x / self.stribeck_velocity
        return self.stribeck / self.stribeck_velocity * (1 - ratio**2) * exp(0.5 - ratio**2 / 2)

    def integral(self, x: Any) -> Any:
        """Return the integral from 0."""
        return self.stribeck * self.stribeck_velocity * (exp(0.5) - exp(0.5 - (x / self.stribeck_velocity) ** 2 / 2))


@dataclass(frozen=True)
class LinearSpring(JointEffect):
    """A spring that is as stiff everywhere: k q + t."""

    stiffness: float = factor('stiffness', 'N m/rad')
    preload: float = factor('torque of the spring at zero', 'N m', least=None)

    term = 'spring'

    def torque(self, x: Any) -> Any:
        """Return k q + t."""
        return self.stiffness * x + self.preload

    def slope(self, x: Any) -> Any:
        """Return k."""
        return self.stiffness + 0.0 * x

    def integral(self, x: Any) -> Any:
        """Return the energy, J."""
        return self.stiffness * x**2 / 2 + self.preload * x


NEW: tuple[type[JointEffect], ...] = (Quadratic, Stribeck, LinearSpring)
EFFECTS = (Quadratic(0.7), Stribeck(1.5, 0.2), LinearSpring(2.0, -0.5))


@pytest.fixture(autouse=True)
def listed() -> Iterator[None]:
    """List the new effects, as one line in `joint_effects.py` would."""
    JOINT_EFFECTS.extend(NEW)
    yield
    del JOINT_EFFECTS[-len(NEW) :]


def with_effects(name: str = 'arm_2r', *effects: JointEffect) -> Robot:
    """Return a robot whose last joint has the effects."""
    robot = load_robot(name)
    last = robot.moving_joints[-1]
    joints = [replace(x, other_effects=effects or EFFECTS) if x is last else x for x in robot.joints]
    return replace(robot, joints=tuple(joints))


def own(robot: Robot, term: str, x: np.ndarray) -> np.ndarray:
    """Return the torque (n) of the new effects of a term."""
    torque = np.zeros(robot.n)
    torque[-1] = sum(effect.torque(x[-1]) for effect in EFFECTS if effect.term == term)
    return torque


@pytest.mark.parametrize('kind', NEW)
def test_its_class_keeps_the_laws(kind: type[JointEffect]) -> None:
    laws.test_columns_times_factors_are_the_torque(kind)
    laws.test_slope_and_integral_are_those_of_the_torque(kind)
    laws.test_a_formula_is_the_same_for_one_joint_for_many_and_for_symbols(kind)
    laws.test_every_number_has_a_name_of_its_own_and_says_what_it_is()
    if kind.term == 'friction':
        laws.test_friction_gives_no_power_and_none_at_standstill(kind)


# Robot files ----------------------------------------------------------------------------------------------------------


def test_a_robot_file_says_it_and_is_written_again() -> None:
    text = robot_text(with_effects())
    assert 'quadratic: 0.7, stribeck: 1.5, stribeck_velocity: 0.2' in text
    assert 'linear_spring: {stiffness: 2, preload: -0.5}' in text
    assert read_robot(text).moving_joints[-1].other_effects == EFFECTS
    assert not read_robot(text).moving_joints[0].other_effects


@pytest.mark.parametrize(
    ('key', 'message'),
    [
        ('quadratic: -1', 'friction.quadratic: -1, must not be negative'),
        ('stribeck_velocity: 0', 'friction.stribeck_velocity: 0, must be at least 1e-06'),
        ('quadratc: 1', r"is not a known key; did you mean 'quadratic'\?"),
    ],
)
def test_a_robot_file_with_a_wrong_number_is_refused(key: str, message: str) -> None:
    with pytest.raises(FaultsError, match=message):
        read_robot(GOOD.replace('coulomb: 2', key))


def test_a_joint_that_follows_another_has_none() -> None:
    with pytest.raises(FaultsError, match=r"friction\.quadratic: 'given', must not be beside mimic"):
        read_robot(GOOD.replace('friction: {', 'mimic: {joint: shoulder}, friction: {quadratic: 1, '))


def test_the_documents_have_its_numbers() -> None:
    assert '| `friction` | `quadratic` | F_q | 0 | 0 | N m s^2/rad^2 (N s^2/m^2) | quadratic friction |' in (
        tables.effects_table()
    )
    (parameter,) = [spec for spec in documented() if spec.name == 'joints.<joint>.quadratic']
    assert parameter.meaning == 'quadratic friction F_q, N m s^2/rad^2 (N s^2/m^2 if prismatic)'


# Torques --------------------------------------------------------------------------------------------------------------


def test_the_terms_and_the_total_contain_it() -> None:
    robot, plain = with_effects(), load_robot('arm_2r')
    state = State(np.array([0.3, 0.9]), np.array([0.4, -0.25]))
    torques, before = (Torques(Terms(dynamics_of(of)), state) for of in (robot, plain))
    for term, x in (('friction', state.velocity), ('spring', state.q)):
        here, there = torques.term(term), before.term(term)
        assert here is not None
        assert there is not None
        np.testing.assert_allclose(here - there, own(robot, term, x), rtol=1e-12)
    total, friction = torques.total(['friction']), torques.term('friction')
    assert total is not None
    assert friction is not None
    np.testing.assert_array_equal(total, friction)


def test_a_parameter_of_the_node_sets_it() -> None:
    dynamics, dq = dynamics_of(with_effects()), np.array([0.4, -0.25])
    values = Settings()
    declared = values.declare(of_joints(dynamics))
    assert declared['joints.theta2.quadratic'] == 0.7
    assert declared['joints.theta2.stribeck_velocity'] == 0.2
    assert 'joints.theta2.stiffness' not in declared
    before = dynamics.friction_torque(dq)
    values.update({'joints.theta1.quadratic': 3.0})
    set_joints(dynamics, values)
    np.testing.assert_allclose(dynamics.friction_torque(dq) - before, [3.0 * 0.4**2, 0], atol=1e-12)
    with pytest.raises(ArgumentError, match=r'joints\.theta1\.quadratic: -1\.0, must be 0 to'):
        values.check({'joints.theta1.quadratic': -1.0})


def test_the_witness_of_eq_17_refuses_it_and_the_proof_leaves_friction_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = with_effects()
    with pytest.raises(ArgumentError, match=r'theta2: has friction quadratic, stribeck, must have that of eq. \(17\)'):
        Lagrangian(robot).friction_torque(np.zeros(2))
    found = prove(robot, dynamics_of(robot), 5)
    assert ('Gamma_f', 'Lagrangian') not in found
    assert ('Gamma_f', 'Lagrangian') in prove(load_robot('arm_2r'), dynamics_of(load_robot('arm_2r')), 5)
    (tmp_path / 'robot.yaml').write_text(robot_text(robot))
    assert check([str(tmp_path / 'robot.yaml'), '--states', '5']) == 0
    assert 'friction torque is not compared' in capsys.readouterr().err


# Simulator ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('effect', EFFECTS)
def test_the_simulator_keeps_the_energy_but_for_what_friction_takes(effect: JointEffect) -> None:
    simulation = Simulation(with_effects('pendulum', effect), [1.2])
    before = simulation.energy
    for _ in range(1500):
        simulation.step(np.zeros(1))
    assert simulation.energy + simulation.lost == pytest.approx(before, abs=2e-3 * abs(before) + 1e-3)
    assert simulation.lost > 0.01


def test_a_step_is_solved_where_friction_falls_with_the_velocity() -> None:
    """What friction takes has changed the momentum, also of a light joint beyond the peak of a stiff Stribeck curve."""
    friction = FrictionModel([0.0], [0.0])
    peak = replace(load_robot('pendulum').moving_joints[0], other_effects=(Stribeck(5.0, 0.01),))
    friction.set_coefficients([peak])
    A, h, nothing = np.array([[1e-3]]), 1e-3, np.zeros((1, 0))
    for free in [-1.0, *np.geomspace(1e-3, 10, 80)]:
        smooth = SmoothFriction(friction, nothing, np.array([free]), h)
        dq, _ = velocity_after(A, np.array([free]), smooth, np.zeros(1), np.zeros(1))
        np.testing.assert_allclose(A @ (free - dq), smooth.impulse(dq), atol=1e-6)
        assert -1e-9 <= dq[0] * np.sign(free) <= abs(free) + 1e-9


def test_in_the_simulator_friction_balances_a_constant_torque() -> None:
    """A joint without gravity turns at last with the velocity at which friction equals the torque."""
    robot = with_effects('pendulum', Quadratic(0.7))
    joints = [replace(x, friction=Friction(), motor=replace(x.motor, viscous=0.0)) for x in robot.joints]
    free = replace(robot, gravity=np.zeros(3), joints=tuple(joints))
    simulation = Simulation(free)
    for _ in range(5_000):
        simulation.step(np.array([5.0]))
    assert simulation.dq[0] == pytest.approx(np.sqrt(5.0 / 0.7), rel=1e-3)


# Exports --------------------------------------------------------------------------------------------------------------


def exported(folder: Path, language: str) -> tuple[Robot, list[Path]]:
    export = pytest.importorskip('krang_dynamics_ros.symbolic.export', reason='CasADi is not installed').export
    robot = with_effects()
    return robot, export(robot, language, folder)


def assert_right(robot: Robot, term: str, x: np.ndarray, torque: np.ndarray) -> None:
    dynamics = dynamics_of(robot)
    expected = dynamics.friction_torque(x) if term == 'friction' else dynamics.springs_and_couplings.spring_torque(x)
    np.testing.assert_allclose(torque, expected, rtol=1e-12)
    assert np.abs(own(robot, term, x)[-1]) > 0.1


def test_exported_python_contains_it(tmp_path: Path) -> None:
    robot, (file,) = exported(tmp_path, 'python')
    specification = importlib.util.spec_from_file_location('exported', file)
    module: Any = importlib.util.module_from_spec(specification)  # type: ignore[arg-type]
    specification.loader.exec_module(module)  # type: ignore[union-attr]
    x, p = np.array([0.4, -0.5]), module.parameters()
    assert p[-4:] == [0.7, 1.5, 2.0, -0.5]
    assert_right(robot, 'friction', x, np.array(module.friction_torque([*x], p)))
    assert_right(robot, 'spring', x, np.array(module.spring_torque([*x], p)))
    assert 'quadratic friction of theta2, N m s^2/rad^2: 0.7' in file.read_text()


@pytest.mark.skipif(not shutil.which('gcc'), reason='gcc is not installed')
def test_exported_c_contains_it(tmp_path: Path) -> None:
    robot, _ = exported(tmp_path, 'c')
    name, x = 'arm_2r', np.array([0.4, -0.5])
    header = (tmp_path / f'{name}.h').read_text()
    assert 'the only calls are sin, cos, exp and fabs of <math.h>' in header
    (tmp_path / 'main.c').write_text(
        f'#include <stdio.h>\n#include "{name}.h"\nint main(void) {{ double p[{len_p(robot)}], t[2], '
        f'x[2] = {{{x[0]}, {x[1]}}}; {name}_parameters(p); {name}_friction_torque(x, p, t); '
        'printf("%.17g %.17g\\n", t[0], t[1]); '
        f'{name}_spring_torque(x, p, t); printf("%.17g %.17g\\n", t[0], t[1]); return 0; }}\n'
    )
    words = ['gcc', '-std=c99', '-Wall', '-Werror', 'main.c', f'{name}.c', '-lm', '-o', 'it']
    subprocess.run(words, cwd=tmp_path, check=True)
    out = subprocess.run(['./it'], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    friction, spring = [np.array(line.split(), dtype=float) for line in out.splitlines()]
    assert_right(robot, 'friction', x, friction)
    assert_right(robot, 'spring', x, spring)


def len_p(robot: Robot) -> int:
    parameters = importlib.import_module('krang_dynamics_ros.symbolic.parameters')
    return len(parameters.setting_values(robot))


def test_exported_matlab_and_formulas_contain_it(tmp_path: Path) -> None:
    pytest.importorskip('sympy', reason='SymPy is not installed')
    exported(tmp_path, 'matlab')
    assert 'abs(dq(2))' in (tmp_path / 'arm_2r_friction_torque.m').read_text()
    formulas = importlib.import_module('krang_dynamics_ros.symbolic.formulas').formulas
    friction = str(formulas(with_effects('pendulum', Quadratic(0.7)))['friction_torque'])
    assert 'thetadot*(F_q*Abs(thetadot) + F_v' in friction


# Identification -------------------------------------------------------------------------------------------------------


def test_identify_finds_it_and_writes_it_into_the_robot_file() -> None:
    arm, time = ('q_5l', 'q_6l', 'q_7l'), np.arange(0, 16, 0.02)
    joints = [replace(x, other_effects=(Quadratic(4.0),)) if x.name == 'q_6l' else x for x in krang().joints]
    truth = replace(krang(), joints=tuple(joints), cutoff=6.0)
    q, _, _ = waves(len(arm), time, 1)
    still = Recording('made here', arm, time, q, None, np.zeros_like(q))
    recorded = replace(still, effort=predict(truth, still).predicted)
    found = identify(krang(), [recorded])
    assert Quadratic() in found.structure.joints[1]
    text = robot_file_text(found, FILES['krang'].read_text())
    joint = next(joint for joint in read_robot(text).joints if joint.name == 'q_6l')
    (quadratic,) = [effect for effect in joint.other_effects if isinstance(effect, Quadratic)]
    assert quadratic.quadratic == pytest.approx(4.0, rel=0.05)
    assert 'N m s^2/rad^2' in text
    assert 'N m s^2/rad^2' in identification_report(found)
    assert predict(read_robot(text), recorded).errors.max() < 0.1
