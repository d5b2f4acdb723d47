"""Pinocchio, the Lagrangian and Newton-Euler agree: on the robots that come with the package, and on random trees."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as with_settings

from krang_dynamics_ros import Robot, dynamics_of, load_robot, urdf_text
from krang_dynamics_ros.check.agreement import Findings, prove
from krang_dynamics_ros.robot.robot import Limits

from ..marks import slow_but
from ..robots import FILES, trees, trees_with_followers

BY_BOTH = {'A', 'C', 'C dq', 'Q', 'Gamma', 'Y phi', 'J^T f'}
ON_MOVING_BASE = {'Gamma w0', 'f_0'}
BY_LAGRANGIAN = {*BY_BOTH, *ON_MOVING_BASE, '0T_j', 'f', 'Gamma_f', 'E', 'U', 'S'}
LAWS = {'A - A^T', 'dA/dt - 2C', 'ddq'}


def assert_agree(findings: Findings, tolerance: float = 1e-9) -> None:
    apart = {key: finding for key, finding in findings.items() if not finding.relative <= tolerance}
    assert not apart


@pytest.mark.parametrize('name', slow_but(['pr_robot', 'rotating_mass'], FILES))
def test_all_three_agree_at_a_thousand_states(name: str) -> None:
    robot = load_robot(FILES[name])
    findings = prove(robot, dynamics_of(robot), states=1000, seed=3)
    assert {quantity for quantity, witness in findings if witness == 'Newton-Euler'} == {
        *BY_BOTH,
        'Gamma mean',
        'Gamma w0',
    }
    assert {quantity for quantity, witness in findings if witness == 'Lagrangian'} - {'iT_j'} == BY_LAGRANGIAN
    assert {quantity for quantity, witness in findings if witness == 'law'} == LAWS
    assert (('iT_j', 'Lagrangian') in findings) == (name == 'krang')
    assert_agree(findings)


@pytest.mark.slow
@with_settings(max_examples=100)
@given(trees())
def test_random_trees_agree(tree: Robot) -> None:
    assert_agree(prove(tree, dynamics_of(tree), states=3, seed=4))


@with_settings(max_examples=50)
@given(trees_with_followers())
def test_random_trees_with_followers_agree(tree: Robot) -> None:
    assert_agree(prove(tree, dynamics_of(tree), states=3, seed=4))


def test_a_urdf_may_lack_a_hands_link(robot: Robot) -> None:
    for lost in (['R10l'], ['R10l', 'R10r']):
        text = urdf_text(robot)
        for link in lost:
            text = text.replace(f'"{link}"', f'"{link}_of_another_name"')
        assert_agree(prove(robot, dynamics_of(robot, text), states=3))


@pytest.mark.parametrize('far', [1e16, 1.79769e308])
def test_limits_that_mean_none_are_no_place_to_draw_from(robot: Robot, far: float) -> None:
    limits = Limits(None, None, -far, far)
    sliding = [replace(joint, kind='prismatic') if joint.name == 'q_3l' else joint for joint in robot.joints]
    joints = tuple(replace(joint, limits=limits) if joint.moves else joint for joint in sliding)
    other = replace(robot, name='other', joints=joints)
    assert_agree(prove(other, dynamics_of(other), states=3))
