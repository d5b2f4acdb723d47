"""The report's w0 and V0: a base that moves is a link that six joints move."""

from __future__ import annotations

import numpy as np

from krang_dynamics_ros import Robot
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.equations.frames import all_local
from krang_dynamics_ros.equations.lagrangian import velocities
from krang_dynamics_ros.equations.moving_base import moving_base, on_six_joints


def test_w0_and_V0_are_the_velocities_of_a_base_that_six_joints_move(robot: Robot) -> None:
    six = on_six_joints(robot)
    s = random_states(six, 3, 0)
    for q, dq in zip(s.q, s.dq, strict=True):
        by_name, speeds = (dict(zip(six.joint_names, x, strict=True)) for x in (q, dq))
        theirs = velocities(six, all_local(six, by_name), speeds)
        mine = velocities(robot, all_local(robot, by_name), speeds, *theirs[robot.base])
        for link in robot.link_of:
            np.testing.assert_allclose(mine[link], theirs[link], atol=1e-12)


def test_a_base_that_falls_freely_feels_no_gravity(robot: Robot) -> None:
    six = on_six_joints(robot)
    q, dq, ddq = np.zeros((3, 23))
    q[3:6], ddq[2] = (0.5, -0.4, 0.3), -9.81
    base = moving_base(six, robot.base, q, dq, ddq)
    np.testing.assert_allclose(base.gravity, 0, atol=1e-12)
    np.testing.assert_allclose([base.w, base.dw], 0, atol=1e-12)
