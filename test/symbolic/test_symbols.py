"""The symbols are the Lagrangian's: the very same lines, with CasADi's symbols where the numbers were."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')

import casadi
from hypothesis import given, settings

from krang_dynamics_ros import KrangDynamicsError, Lagrangian, Robot, Wrench, dynamics_of, load_robot
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import frozen, inertia_in_parent, rotation_from_rpy
from krang_dynamics_ros.equations.bodies import body_of, moved
from krang_dynamics_ros.equations.frames import Transform, all_local
from krang_dynamics_ros.equations.lagrangian import total_KE, total_PE
from krang_dynamics_ros.robot.robot_file import read_robot
from krang_dynamics_ros.symbolic.expressions import QUANTITIES, Symbols

from ..robots import FILES, ROOT, WITH_FOLLOWERS, random_body, robot_with_followers, trees, trees_with_followers

RTOL = 1e-12


def wrenches_on(hands: dict[str, str], f: np.ndarray) -> list[Wrench]:
    return [Wrench(link, x[:3], x[3:]) for link, x in zip(hands.values(), f.reshape(-1, 6), strict=True)]


def expected(witness: Any, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, wrenches: list[Wrench]) -> dict[str, Any]:
    """Return every quantity by a class with the methods of `Dynamics`."""
    return {
        'A': witness.A(q),
        'C': witness.C(q, dq),
        'coriolis_torque': witness.coriolis_torque(q, dq),
        'Q': witness.Q(q),
        'inverse_dynamics': witness.inverse_dynamics(q, dq, ddq),
        'wrench_torque': witness.wrench_torque(q, wrenches),
        'friction_torque': witness.friction_torque(dq),
        'E': witness.E(q, dq),
        'U': witness.U(q),
    }


def assert_same(mine: Any, theirs: Any, what: str, rtol: float = RTOL) -> None:
    mine, theirs = np.squeeze(np.asarray(mine)), np.squeeze(np.asarray(theirs))
    scale = max(float(np.abs(theirs).max()), 1.0)
    assert np.abs(mine - theirs).max() <= rtol * scale, what


def assert_agree(symbols: Symbols, witness: Any, states: int, p: np.ndarray | None = None) -> None:
    p, rng = symbols.values if p is None else p, np.random.default_rng(3)
    for q, dq, ddq in zip(*random_states(symbols.robot, states, 11), strict=True):
        f = rng.normal(size=6 * len(symbols.hands)) * 30
        numbers = {'q': q, 'dq': dq, 'ddq': ddq, 'f': f, 'p': p}
        for name, value in expected(witness, q, dq, ddq, wrenches_on(symbols.hands, f)).items():
            mine = symbols.function(name)(*(numbers[x] for x in QUANTITIES[name].inputs))
            assert_same(mine, value, name)


@pytest.mark.parametrize('leave_open', ['settings', 'all'])
@pytest.mark.parametrize('name', FILES)
def test_symbols_agree_with_the_lagrangian_and_with_pinocchio(name: str, leave_open: str) -> None:
    robot = load_robot(FILES[name])
    symbols = Symbols(robot, leave_open)
    assert_agree(symbols, Lagrangian(robot), 10)
    assert_agree(symbols, dynamics_of(robot), 10)


@given(trees(largest=8))
@settings(max_examples=15)
def test_they_agree_on_random_trees(robot: Robot) -> None:
    assert_agree(Symbols(robot, 'all'), Lagrangian(robot), 2)


@pytest.mark.parametrize('leave_open', ['settings', 'all'])
@pytest.mark.parametrize('name', WITH_FOLLOWERS)
def test_joints_that_follow_are_in_the_symbols(name: str, leave_open: str) -> None:
    robot = robot_with_followers(name)
    symbols = Symbols(robot, leave_open)
    assert symbols.q.numel() == robot.n < sum(joint.moves for joint in robot.joints)
    assert_agree(symbols, Lagrangian(robot), 3)
    assert_agree(symbols, dynamics_of(robot), 10)


@settings(max_examples=15)
@given(trees_with_followers(largest=6))
def test_they_agree_on_random_trees_with_followers(robot: Robot) -> None:
    assert_agree(Symbols(robot, 'all'), dynamics_of(robot), 2)


def test_one_body_for_all_that_a_joint_carries_gives_what_the_whole_sum_gives(robot: Robot) -> None:
    """A and Q are taken from bodies joined together; here from totalKE() and totalPE() as the report has them."""
    q, dq = casadi.SX.sym('q', robot.n), casadi.SX.sym('dq', robot.n)
    local = all_local(robot, {name: q[k] for k, name in enumerate(robot.joint_names)})
    E = total_KE(robot, local, {name: dq[k] for k, name in enumerate(robot.joint_names)})
    whole = casadi.Function('whole', [q], [casadi.hessian(E, dq)[0], casadi.gradient(total_PE(robot, local), q)])
    symbols = Symbols(robot)
    for position in random_states(robot, 5, 11).q:
        A, Q = whole(position)
        assert_same(symbols.function('A')(position, symbols.values), A, 'A')
        assert_same(symbols.function('Q')(position, symbols.values), Q, 'Q')


def test_a_body_moves_as_the_adjoint_says(rng: np.random.Generator) -> None:
    body, A, P = random_body(rng), rotation_from_rpy(rng.normal(size=3)), rng.normal(size=3)
    mine = moved(body_of(body), Transform(A.tolist(), P.tolist()))
    theirs = inertia_in_parent(body.matrix, A, P)
    np.testing.assert_allclose(Inertia(mine.m, frozen(mine.MS), frozen(mine.J)).matrix, theirs, atol=1e-13)


def test_other_numbers_for_the_parameters_are_another_robot(robot: Robot, rng: np.random.Generator) -> None:
    """All parameters as symbols, other numbers put in: the robot whose file has those numbers."""
    symbols = Symbols(robot, 'all')
    lengths = {name: rng.uniform(0.1, 0.6) for name in robot.lengths}
    text = FILES['krang'].read_text()
    for name, x in lengths.items():
        text = text.replace(f'  {name}: {robot.lengths[name]}', f'  {name}: {x!r}')
    other = read_robot(text)
    assert other.lengths == lengths
    links = tuple(replace(link, inertia=random_body(rng)) if link.inertia.m else link for link in other.links)
    other = replace(other, links=links, gravity=frozen([1.0, -2.0, -9.0]))
    p = Symbols(other, 'all').values
    assert not np.isclose(p, symbols.values).all()
    assert_agree(symbols, Lagrangian(other), 3, p)


def changed(robot: Robot, rng: np.random.Generator) -> Robot:
    """Return the robot with every number changed after it was read, though its file had some of them as lengths."""
    joints = tuple(replace(joint, position=frozen(joint.position + rng.normal(size=3) * 0.1)) for joint in robot.joints)
    links = tuple(replace(link, inertia=random_body(rng)) if link.inertia.m else link for link in robot.links)
    return replace(robot, joints=joints, links=links)


@pytest.mark.parametrize('leave_open', ['settings', 'all'])
@pytest.mark.parametrize('name', FILES)
def test_numbers_that_were_changed_after_reading_are_what_counts(
    name: str, leave_open: str, rng: np.random.Generator
) -> None:
    robot = changed(load_robot(FILES[name]), rng)
    symbols = Symbols(robot, leave_open)
    assert not {parameter.name for parameter in symbols.parameters} & robot.lengths.keys()
    assert_agree(symbols, dynamics_of(robot), 2)


def test_the_parameters_are_the_reports(robot: Robot) -> None:
    names = [parameter.name for parameter in Symbols(robot, 'all').parameters]
    assert len(names) == len(set(names)) == 3 + 3 * 17 + 10 * 2 + 9 + 10 * 17
    assert names[:3] == ['gx', 'gy', 'gz']
    assert {f'L{k}' for k in range(1, 10)} < set(names)
    start = names.index('m_R1')
    letters = ['m', 'MX', 'MY', 'MZ', 'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ']
    assert names[start : start + 10] == [f'{letter}_R1' for letter in letters]
    settings_only = [parameter.name for parameter in Symbols(robot).parameters]
    assert settings_only == names[:74]


def test_all_is_linear_in_the_inertial_parameters_and_the_lengths_are_not(robot: Robot) -> None:
    symbols = Symbols(robot, 'all')
    inertial = [k for k, x in enumerate(symbols.parameters) if x.name[0] in 'mMXYZI']  # rotors are: eq. 18
    lengths = [k for k, x in enumerate(symbols.parameters) if x.name[0] == 'L']
    assert (len(inertial), len(lengths)) == (207, 9)
    pi, L = (casadi.vertcat(*(symbols.p[k] for k in indices)) for indices in (inertial, lengths))
    for name in ('A', 'C', 'coriolis_torque', 'Q', 'E', 'U'):
        expression = casadi.vec(getattr(symbols, name))
        assert not any(casadi.which_depends(expression, pi, 2, False)), name
        if name in ('A', 'C', 'coriolis_torque', 'E'):
            assert all(casadi.which_depends(expression, L, 2, False)), name


def test_unknown_names_are_refused(robot: Robot) -> None:
    with pytest.raises(KrangDynamicsError, match=r"parameters 'al' is unknown; did you mean 'all'\? known: settings"):
        Symbols(robot, 'al')
    with pytest.raises(KrangDynamicsError, match="quantity 'B' is unknown"):
        Symbols(robot).function('B')


@pytest.mark.parametrize('module', ['casadi', 'sympy'])
def test_without_them_the_library_runs_and_says_what_is_missing(module: str) -> None:
    code = f"""
import sys
sys.modules['{module}'] = None
import krang_dynamics_ros
assert krang_dynamics_ros.dynamics_of(krang_dynamics_ros.krang()).n == 17
from krang_dynamics_ros.__main__ import main
sys.argv = ['', 'formulas']
sys.exit(main())
"""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert f'{module}, needed for' in done.stderr
    assert f'pip install {module}' in done.stderr
    assert 'Traceback' not in done.stderr


def test_the_library_does_not_load_them() -> None:
    code = "import sys, krang_dynamics_ros; assert not {'casadi', 'sympy'} & set(sys.modules)"
    subprocess.run([sys.executable, '-c', code], cwd=ROOT, check=True)
