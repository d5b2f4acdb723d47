"""The parameter files of arms as they are sold: each starts an engine with the arm's URDF, and new arm files follow it.

URDFs are those of PyPI's `example-robot-data`. It has no FR3: its Panda stands for it, with the FR3's names; no UR5e:
UR3, UR5 and UR10 have the same joints; no LBR, Gen3 and OpenArm: chains with the names of these arms stand for them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.cli import new_arm
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.files import share
from krang_dynamics_ros.live.controller_watch import Endpoint
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.parameter_file import read_parameters, unknown_parameters
from krang_dynamics_ros.robot.known_arms import KNOWN

from ..robots import ROOT

FOLDER = next(
    (found for path in sys.path if (found := Path(path, 'cmeel.prefix/share/example-robot-data/robots')).is_dir()), None
)
SHIPPED = {path.stem: path for path in sorted((ROOT / 'config' / 'robots').glob('*.yaml'))}
BODY = '<inertial><origin xyz="0.02 0 0.1"/><mass value="2"/><inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial>'  # noqa: E501
LIMIT = '<limit lower="-2.9" upper="2.9" effort="100" velocity="2"/>'


def chain(name: str, joints: str, hand: str) -> str:
    """Return a URDF of seven joints in a chain, each second one about y, and a link at the end."""
    parts = [f'<robot name="{name}"><link name="base">{BODY}</link>']
    for k in range(1, 8):
        parent, axis = ('base' if k == 1 else f'link{k - 1}'), '0 0 1' if k % 2 else '0 1 0'
        parts.append(
            f'<link name="link{k}">{BODY}</link><joint name="{joints.format(k)}" type="revolute">'
            f'<parent link="{parent}"/><child link="link{k}"/><origin xyz="0 0 0.2"/><axis xyz="{axis}"/>'
            f'{LIMIT}</joint>'
        )
    end = f'<parent link="link7"/><child link="{hand}"/><origin xyz="0 0 0.1"/>'
    return ''.join([*parts, f'<link name="{hand}"/><joint name="to_hand" type="fixed">{end}</joint></robot>'])


def real(stem: str) -> str:
    if FOLDER is None:
        pytest.skip('pip install example-robot-data: there are no real robots here')
    (path,) = FOLDER.rglob(f'{stem}.urdf')
    return path.read_text()


def urdfs(file: str) -> list[str]:
    """Return the URDFs that stand for the arms of a file."""
    chains = {
        'kuka_lbr_iiwa14': ('lbr_iiwa14', 'joint_{}', 'tool0'),
        'kuka_lbr_fri_stack': ('iiwa7', 'lbr_A{}', 'lbr_link_ee'),
        'kinova_gen3': ('gen3', 'joint_{}', 'end_effector_link'),
        'openarm': ('openarm', 'openarm_joint{}', 'openarm_hand'),
    }
    if file in chains:
        return [chain(*chains[file])]
    if file == 'franka_fr3':
        return [real('panda').replace('panda_', 'fr3_')]
    if file == 'universal_robots':
        return [real(f'{name}_robot') for name in ('ur3', 'ur5', 'ur10')]
    return [real({'ufactory_xarm7': 'xarm7'}[file])]


def values_of(file: str, urdf: str, folder: Path) -> dict[str, Any]:
    path = folder / f'{file}.urdf'
    path.write_text(urdf)
    return read_parameters(SHIPPED[file]) | {'robot_file': str(path)}


def state(engine: Engine, count: int = 3, scale: float = 1.0) -> Any:
    """Let an arm stand whose driver reports what holds it; return its torques."""
    names, n = engine.dynamics.joint_names, engine.dynamics.n
    q = np.full(n, 0.3)
    effort = engine.dynamics.Q(q) / engine.external.efforts.scale * scale
    for k in range(1, count + 1):
        now = 10**9 + k * 10**7
        torques = engine.on_joint_state(names, q, np.empty(0), effort, now, now)
    return torques


@pytest.mark.parametrize('file', SHIPPED)
def test_a_shipped_file_starts_an_engine(file: str, tmp_path: Path) -> None:
    for urdf in urdfs(file):
        values = values_of(file, urdf, tmp_path)
        assert unknown_parameters(values) == []
        engine = engine_of(values)
        torques = state(engine)
        assert torques.term('gravity') is not None
        assert np.isfinite(torques.term('gravity')).all()
        adds, total = [name for name in values['robot.adds'] if name], values['total_terms']
        assert 'gravity' not in adds or 'gravity' in total  # else enabling is refused
        assert 'friction' not in total or 'friction' not in adds


@pytest.mark.parametrize('file', SHIPPED)
def test_a_known_arm_has_a_shipped_file_and_a_page_names_it(file: str, tmp_path: Path) -> None:
    (known,) = (arm for arm in KNOWN if arm.file == file)
    pages = [page.read_text() for page in (ROOT / 'docs' / 'robots').glob('*.md')]
    assert any(f'{file}.yaml' in page for page in pages)
    page = re.search(r'docs/robots/\w+\.md', SHIPPED[file].read_text())
    assert page is not None
    assert (ROOT / page[0]).is_file()
    assert 'Nothing in this file was tried on an arm' in SHIPPED[file].read_text()
    for urdf in urdfs(file):
        path = tmp_path / 'arm.urdf'
        path.write_text(urdf)
        assert new_arm.main([str(path), '-o', str(tmp_path / 'my_arm.yaml'), '--overwrite']) == 0
        text = (tmp_path / 'my_arm.yaml').read_text()
        assert known.name in text
        of_arm, shipped = read_parameters(tmp_path / 'my_arm.yaml'), read_parameters(SHIPPED[file])
        assert unknown_parameters(of_arm) == []
        for name in ('joint_states_topic', 'effort_source', 'robot.adds', 'total_terms', 'velocity_source'):
            assert of_arm.get(name) == shipped.get(name), name
        scales = {value for name, value in shipped.items() if name.endswith('effort_scale')} or {1.0}
        assert {value for name, value in of_arm.items() if name.endswith('effort_scale')} == scales


def test_every_known_arm_has_a_file() -> None:
    assert {arm.file for arm in KNOWN} == set(SHIPPED)
    assert all(share('config', 'robots', f'{arm.file}.yaml').is_file() for arm in KNOWN)


def test_what_is_sent_to_an_arm_at_rest_is_what_its_firmware_lacks(tmp_path: Path) -> None:
    """The Franka with its hand, told to its firmware: nothing is left to send."""
    engine = engine_of(values_of('franka_fr3', urdfs('franka_fr3')[0], tmp_path))
    torques = state(engine)
    added = engine.firmware.torque(torques.state.q, np.zeros(7))
    assert added is not None
    needed = torques.term('gravity')
    assert np.abs(needed).max() > 10.0
    assert np.abs(added - needed).max() < 1.5  # the hand of this URDF has fingers, and 0.73 kg stand for all of it
    assert engine.supervisor.commands.joint_names == tuple(f'fr3_joint{k}' for k in range(1, 8))


@pytest.mark.parametrize('file', ['kuka_lbr_iiwa14', 'kinova_gen3'])
def test_efforts_of_the_other_sign_are_read_as_torques(file: str, tmp_path: Path) -> None:
    engine = engine_of(values_of(file, urdfs(file)[0], tmp_path))
    torques = state(engine)
    np.testing.assert_allclose(engine.external.measured(torques.state), torques.term('gravity'), atol=1e-9)
    assert (engine.external.efforts.scale == -1).all()


def test_a_wrench_in_the_frame_of_the_controller_is_read(tmp_path: Path) -> None:
    """Payload and tool are out of it: what the robot was told changes nothing while both are told the same."""
    told = {'hand.robot_payload.mass': 1.5, 'hand.payload.mass': 1.5, 'robot.gravity': [0.0, 0.0, -9.81]}
    engine = engine_of(values_of('universal_robots', urdfs('universal_robots')[1], tmp_path) | told)
    state(engine)
    now, reading = 10**9 + 4 * 10**7, [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]
    assert engine.inputs.on_wrench('hand', 'tool0_controller', reading[:3], reading[3:], now, now)
    np.testing.assert_allclose(engine.inputs.compensated('hand', now), reading, atol=1e-9)


def test_an_arm_without_velocities_has_them_by_its_file(tmp_path: Path) -> None:
    engine = engine_of(values_of('kuka_lbr_iiwa14', urdfs('kuka_lbr_iiwa14')[0], tmp_path))
    np.testing.assert_array_equal(state(engine).state.dq, np.zeros(7))


def test_observation_only_files_command_nothing(tmp_path: Path) -> None:
    for file in ('kuka_lbr_fri_stack', 'kinova_gen3', 'openarm'):
        engine = engine_of(values_of(file, urdfs(file)[0], tmp_path))
        engine.supervisor.on_endpoints([Endpoint('c1', '/controller')])
        state(engine)
        with pytest.raises(ArgumentError, match='command_joints'):
            engine.supervisor.enable()
