"""A URDF adapted to the real arm: names, fixed joints and limits change, and the torques of the other joints do not."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Lagrangian, krang
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.robot.adapted import Adaptation
from krang_dynamics_ros.robot.robot_file import load_robot
from krang_dynamics_ros.robot.urdf_reader import read_description

from ..robots import FILES, WITH_FOLLOWERS, robot_with_followers


def test_nothing_to_adapt_leaves_the_description_as_it_is() -> None:
    description = read_description(WITH_FOLLOWERS['arm_with_gripper'])
    assert Adaptation.of({'joint_names': [''], 'fixed_joints': ['']}).of_description(description) is description


def test_prefix_and_names_change_names_alone(rng: np.random.Generator) -> None:
    values = {'joint_prefix': 'left_', 'joint_names': ['theta2=elbow']}
    robot = Adaptation.of(values).of_robot(load_robot(FILES['arm_2r']))
    assert robot.joint_names == ('left_theta1', 'elbow')
    assert set(robot.start) == {'left_theta1', 'elbow'}
    q, dq, ddq = rng.normal(size=(3, 2))
    expected = Lagrangian(load_robot(FILES['arm_2r'])).inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(Lagrangian(robot).inverse_dynamics(q, dq, ddq), expected, rtol=1e-12)


def test_names_that_are_right_already_stay(rng: np.random.Generator) -> None:
    """An identified robot file has the arm's names already, and is read with the same arm file."""
    adaptation = Adaptation.of({'joint_prefix': 'left_', 'joint_names': ['theta2=elbow']})
    once = adaptation.of_robot(load_robot(FILES['arm_2r']))
    assert adaptation.of_robot(once).joint_names == once.joint_names


@pytest.mark.parametrize('name', [*WITH_FOLLOWERS])
def test_a_fixed_joint_stays_where_it_is_with_those_that_follow_it(name: str, rng: np.random.Generator) -> None:
    robot = robot_with_followers(name)
    fixed, q = robot.joint_names[-1], rng.uniform(-0.5, 0.5, robot.n)
    changed = Adaptation.of({'fixed_joints': [f'{fixed}={q[-1]:.17g}']}).of_robot(robot)
    assert changed.joint_names == robot.joint_names[:-1]
    np.testing.assert_allclose(Dynamics(changed).Q(q[:-1]), Dynamics(robot).Q(q)[:-1], atol=1e-9)
    np.testing.assert_allclose(Dynamics(changed).A(q[:-1]), Dynamics(robot).A(q)[:-1, :-1], atol=1e-9)


def test_a_model_has_the_names_in_its_urdf_too() -> None:
    model = load_model(FILES['krang'], joint_prefix='left_', fixed_joints=['left_q_imu=0.1'])
    assert model.dynamics.joint_names == tuple(f'left_{name}' for name in krang().joint_names[1:])
    assert read_description(model.urdf).robot.joint_names == model.dynamics.joint_names


def test_the_firmware_of_an_arm_has_the_same_names() -> None:
    """The vendor's URDF has the names of the URDF, and is read with the same prefix."""
    values = {'robot_file': str(FILES['arm_2r']), 'joint_prefix': 'left_', 'total_terms': ['gravity']}
    engine = engine_of(values | {'robot.adds': ['gravity'], 'robot.description': str(FILES['arm_2r'])})
    assert engine.dynamics.joint_names == ('left_theta1', 'left_theta2')


def test_effort_limits_are_filled_in_or_lowered() -> None:
    robot = Adaptation.of({'effort_limits': ['theta1=12.5']}).of_robot(load_robot(FILES['arm_2r']))
    assert [joint.limits and joint.limits.effort for joint in robot.moving_joints] == [12.5, None]
    with pytest.raises(ArgumentError, match=r"theta1=13, must not exceed the URDF's 12\.5"):
        Adaptation.of({'effort_limits': ['theta1=13']}).of_robot(robot)


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'joint_names': ['theta1']}, "joint_names: 'theta1', must be urdf_name=name"),
        ({'joint_names': ['theta3=x']}, "joint_names: joint 'theta3' is unknown; did you mean 'theta2'"),
        ({'joint_names': ['theta1=theta2']}, 'two joints would have the name theta2'),
        ({'fixed_joints': ['theta1=much']}, "fixed_joints: 'theta1=much', must be joint=number, and finite"),
        ({'fixed_joints': ['theta1=nan']}, 'must be joint=number, and finite'),
        ({'fixed_joints': ['theta9=0']}, "fixed_joints: joint 'theta9' is unknown"),
        ({'fixed_joints': ['theta1=0', 'theta2=0']}, 'must leave at least one moving joint'),
        ({'effort_limits': ['theta1=0']}, 'effort_limits: theta1=0, must be positive'),
        ({'effort_limits': ['theta9=1']}, "effort_limits: joint 'theta9' is unknown"),
        ({'joint_names': 'theta1=x'}, 'joint_names: .*, must be a list of texts'),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Adaptation.of(values).of_robot(load_robot(FILES['arm_2r']))
