"""Another engine altogether, MuJoCo, reads the committed URDF and comes to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics
from krang_dynamics_ros.check.witnesses import random_states

from ..robots import ROOT

mujoco = pytest.importorskip('mujoco', reason='MuJoCo, a second engine to compare with, is not installed')


@pytest.fixture(scope='module')
def model() -> object:
    return mujoco.MjModel.from_xml_path(str(ROOT / 'urdf' / 'krang.urdf'))


def test_joints_are_the_same(model: object, dynamics: Dynamics) -> None:
    assert [model.joint(k).name for k in range(model.njnt)] == list(dynamics.joint_names)


def test_inertia_bias_energy_and_centre_of_mass_agree(model: object, dynamics: Dynamics, robot: object) -> None:
    data = mujoco.MjData(model)
    states = random_states(robot, 100, 8)
    A = np.zeros((model.nv, model.nv))
    for q, dq in zip(states.q, states.dq, strict=True):
        data.qpos[:], data.qvel[:] = q, dq
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, A, data.qM) if hasattr(data, 'qM') else mujoco.mj_fullM(model, data, A)
        np.testing.assert_allclose(dynamics.A(q), A, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            dynamics.coriolis_torque(q, dq) + dynamics.Q(q), data.qfrc_bias, rtol=1e-9, atol=1e-8
        )
        np.testing.assert_allclose(dynamics.center_of_mass(q), data.subtree_com[0], rtol=1e-9, atol=1e-9)


def test_hand_jacobian_agrees(model: object, dynamics: Dynamics, robot: object) -> None:
    data = mujoco.MjData(model)
    for q in random_states(robot, 20, 9).q:
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        for hand in ('R10l', 'R10r'):
            J = np.zeros((6, model.nv))
            body = model.body(hand).id
            mujoco.mj_jac(model, data, J[:3], J[3:], data.xpos[body], body)
            np.testing.assert_allclose(dynamics.jacobian(q, hand), J, atol=1e-9)
