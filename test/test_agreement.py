"""Pinocchio, the Lagrangian and Newton-Euler agree: on the robots that come with the package, and on random trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as with_settings

from krang_dynamics_ros import Robot, dynamics_of, load_robot
from krang_dynamics_ros.proof.agreement import Findings, prove

from .robots import FILES, trees

BY_BOTH = {'A', 'C', 'C dq', 'Q', 'Gamma', 'Y phi', 'J^T f'}
BY_LAGRANGIAN = {*BY_BOTH, '0T_j', 'Gamma_f', 'E', 'U', 'S'}
LAWS = {'A - A^T', 'dA/dt - 2C', 'ddq', 'f'}


def assert_agree(findings: Findings, tolerance: float = 1e-9) -> None:
    apart = {key: finding for key, finding in findings.items() if not finding.relative <= tolerance}
    assert not apart


@pytest.mark.parametrize('name', FILES)
def test_all_three_agree_at_a_thousand_states(name: str) -> None:
    robot = load_robot(FILES[name])
    findings = prove(robot, dynamics_of(robot), states=1000, seed=3)
    assert {quantity for quantity, witness in findings if witness == 'Newton-Euler'} == {*BY_BOTH, 'Gamma mean'}
    assert {quantity for quantity, witness in findings if witness == 'Lagrangian'} - {'iT_j'} == BY_LAGRANGIAN
    assert {quantity for quantity, witness in findings if witness == 'law'} == LAWS
    assert (('iT_j', 'Lagrangian') in findings) == (name == 'krang')
    assert_agree(findings)


@with_settings(max_examples=100)
@given(trees())
def test_random_trees_agree(tree: Robot) -> None:
    assert_agree(prove(tree, dynamics_of(tree), states=3, seed=4))
