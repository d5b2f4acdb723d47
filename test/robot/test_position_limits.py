"""Position limits of joints, and of those that others follow."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros.robot.urdf_reader import read_description

FINGER = """<robot name="gripper"><link name="base"/>{}</robot>"""
JOINT = """<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="{0}" type="{1}"><parent link="base"/><child link="{0}"/><axis xyz="0 0 1"/>{2}</joint>"""
LIMIT = '<limit lower="{}" upper="{}" effort="5" velocity="2"/>'
MIMIC = '<mimic joint="a" multiplier="{}" offset="{}"/>'


@pytest.mark.parametrize(
    ('limits', 'mimic', 'expected'),
    [
        ((-1, 1), (2.0, 0.0), (-0.5, 0.5)),
        ((-0.2, 1), (-1.0, 0.0), (-1.0, 0.2)),
        ((-1, 1), (1.0, 0.5), (-1.0, 0.5)),
        ((-9, 9), (1.0, 0.0), (-1.0, 1.0)),
        ((5, 6), (1.0, 0.0), (-1.0, 1.0)),  # contradicts the joint that it follows
        ((0, 0), (1.0, 0.0), (-1.0, 1.0)),  # none
    ],
)
def test_a_joint_ends_where_the_one_that_follows_it_ends(
    limits: tuple[float, float], mimic: tuple[float, float], expected: tuple[float, float]
) -> None:
    text = JOINT.format('a', 'revolute', LIMIT.format(-1, 1))
    text += JOINT.format('b', 'revolute', LIMIT.format(*limits) + MIMIC.format(*mimic))
    robot = read_description(FINGER.format(text)).robot
    np.testing.assert_allclose(robot.position_limits[:, 0], expected)


def test_a_joint_that_turns_without_end_has_no_position_limits() -> None:
    text = JOINT.format('a', 'continuous', '<limit effort="5" velocity="2"/>')
    text += JOINT.format('b', 'revolute', LIMIT.format(0, 0))
    robot = read_description(FINGER.format(text)).robot
    assert np.isinf(robot.position_limits).all()
