"""URDFs of real robots, PyPI's `example-robot-data`: plain Pinocchio's numbers, or refused with the reason."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from krang_dynamics_ros import Dynamics, Wrench
from krang_dynamics_ros.check.agreement import prove
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.robot.robot import Robot
from krang_dynamics_ros.robot.robot_file import load_description
from krang_dynamics_ros.robot.urdf_reader import read_description
from krang_dynamics_ros.robot.urdf_writer import urdf_text

FOLDER = next(
    (found for path in sys.path if (found := Path(path, 'cmeel.prefix/share/example-robot-data/robots')).is_dir()), None
)
FILES = {path.stem: path for path in sorted(FOLDER.rglob('*.urdf'))} if FOLDER else {}
REFUSED = {
    'alex_psyonic_hands': "joints.Left_index_q2.mimic.joint: 'index_q1', must be a moving joint; did you mean",
    'iris_simple': 'must have at least one revolute or prismatic joint',
    'quadrotor_base': 'must have at least one revolute or prismatic joint',
    'ur3': 'must have at least one revolute or prismatic joint',
}
pytestmark = pytest.mark.skipif(not FILES, reason='pip install example-robot-data: there are no real robots here')


def in_pinocchio(model: pin.Model, robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return Pinocchio's own vector of positions: (cos, sin) for a continuous joint."""
    full = pin.neutral(model)
    for name, angle in zip(robot.joint_names, q, strict=True):
        joint = model.joints[model.getJointId(name)]
        full[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(angle), np.sin(angle)] if joint.nq == 2 else angle
    return full


def plain(text: str, robot: Robot) -> pin.Model:
    """Return what Pinocchio makes of a URDF by itself."""
    try:
        return pin.buildModelFromXML(text, mimic=bool(robot.mimics))
    except ValueError as error:
        pytest.skip(f'Pinocchio itself cannot read how its joints mimic: {error}')


@pytest.mark.parametrize('name', [name for name in FILES if name not in REFUSED])
def test_every_number_is_plain_pinocchios(name: str) -> None:
    text = FILES[name].read_text(encoding='utf-8')
    robot = load_description(FILES[name]).robot
    mine, model = Dynamics(robot), plain(text, robot)
    data = model.createData()
    place = [model.joints[model.getJointId(joint)].idx_v for joint in robot.joint_names]
    rng = np.random.default_rng(7)
    q, dq, force = rng.uniform(-1, 1, robot.n), rng.normal(size=robot.n), rng.normal(size=6)
    full_q, full_dq, nothing = in_pinocchio(model, robot, q), np.zeros(model.nv), np.zeros(model.nv)
    full_dq[place] = dq
    A = pin.crba(model, data, full_q)[np.ix_(place, place)]
    Q = pin.rnea(model, data, full_q, nothing, nothing)[place]
    whole = pin.rnea(model, data, full_q, full_dq, nothing)[place]
    compare(mine.A(q), A)
    compare(mine.Q(q), Q)
    compare(mine.coriolis_torque(q, dq), whole - Q, scale=np.abs(whole).max())
    link = [*robot.hands.values()][-1]
    frame = model.getFrameId(link, pin.FrameType.BODY)
    J = pin.computeFrameJacobian(model, data, full_q, frame, pin.LOCAL).reshape(6, -1)[:, place]
    compare(mine.wrench_torque(q, [Wrench(link, force[:3], force[3:])]), J.T @ force)
    again = Dynamics(read_description(urdf_text(robot)).robot)
    compare(again.A(q), A)
    compare(again.Q(q), Q)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which('cc') or not find_spec('casadi'), reason='CasADi or a C compiler is missing')
def test_a_real_arm_whose_fingers_follow_is_proven_on_exported_c() -> None:
    model = load_model(FILES['panda'], backend='compiled')
    assert model.robot.mimics
    findings = prove(model.robot, model.dynamics, 20)
    assert all(finding.agrees for finding in findings.values())


def compare(mine: np.ndarray, theirs: np.ndarray, scale: float = 0.0) -> None:
    np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10 * max(scale, np.abs(theirs).max(), 1e-3))


@pytest.mark.parametrize('name', [name for name in FILES if name in REFUSED])
def test_a_refusal_gives_the_reason(name: str) -> None:
    with pytest.raises(KrangDynamicsError) as caught:
        load_description(FILES[name])
    assert REFUSED[name] in str(caught.value)


def test_the_ones_that_people_have_are_among_them() -> None:
    assert {'panda', 'ur5_robot', 'tiago', 'pr2', 'icub', 'talos_full_v2', 'romeo', 'anymal', 'go1'} <= FILES.keys()
