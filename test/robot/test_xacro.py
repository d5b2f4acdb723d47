"""A robot as a xacro file: properties, macros and included files, or a sentence on what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, load_robot
from krang_dynamics_ros.core.errors import KrangDynamicsError, RobotError
from krang_dynamics_ros.robot.file_text import expanded

from ..robots import ROOT

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:include filename="limb.xacro"/>
  <link name="base"/>
  <xacro:limb name="upper" parent="base" mass="$(arg mass)"/>
  <xacro:limb name="fore" parent="upper" mass="${3 * 0.5}"/>
</robot>"""
LIMB = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="0.4"/>
  <xacro:macro name="limb" params="name parent mass">
    <link name="${name}"><inertial><mass value="${mass}"/><origin xyz="0 0 ${length / 2}"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
    <joint name="${name}_joint" type="continuous"><parent link="${parent}"/><child link="${name}"/>
      <origin xyz="0 0 ${length if parent != 'base' else 0}"/><axis xyz="0 1 0"/></joint>
  </xacro:macro>
</robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    (tmp_path / 'limb.xacro').write_text(LIMB)
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(ARM)
    return path


def test_a_xacro_file_is_the_robot_that_it_makes(arm: Path) -> None:
    pytest.importorskip('xacro', reason='xacro is not installed')
    robot = load_robot(arm)
    assert robot.joint_names == ('upper_joint', 'fore_joint')
    q = np.array([0.3, 0.5])
    fore = -1.5 * 9.81 * 0.2 * np.sin(q.sum())
    upper = -9.81 * (2 * 0.2 + 1.5 * 0.4) * np.sin(q[0]) + fore
    np.testing.assert_allclose(Dynamics(robot).Q(q), [upper, fore], rtol=1e-12)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('"limb.xacro"', '"leg.xacro"', 'leg.xacro'),
        ('${3 * 0.5}', '${missing * 0.5}', "name 'missing' is not defined"),
        ('${3 * 0.5}', '${-3}', r'links\.fore\.inertial\.mass: -3'),
        ('</robot>', '', 'no element found'),
    ],
)
def test_one_that_makes_no_robot_is_refused_with_the_reason(arm: Path, old: str, new: str, message: str) -> None:
    pytest.importorskip('xacro', reason='xacro is not installed')
    arm.write_text(ARM.replace(old, new))
    with pytest.raises(KrangDynamicsError, match=message):
        load_robot(arm)


def with_mass(arm: Path, expression: str) -> None:
    arm.write_text(ARM.replace('${3 * 0.5}', expression))


def test_a_file_that_does_not_end_is_refused_after_the_time_limit(arm: Path) -> None:
    pytest.importorskip('xacro', reason='xacro is not installed')
    arm.write_text(ARM.replace('<link name="base"/>', _doubling(60)))
    with pytest.raises(RobotError, match='xacro: needs more than 2 s, must end earlier; run it yourself'):
        expanded(arm, time_limit=2.0)


def test_a_file_that_fills_the_memory_is_refused(arm: Path) -> None:
    pytest.importorskip('xacro', reason='xacro is not installed')
    with_mass(arm, '${len([0] * 10**9)}')
    with pytest.raises(RobotError, match='xacro: needs more than 1000 MB, must need less memory; run it yourself'):
        expanded(arm)


def test_a_file_that_makes_too_long_a_text_is_refused(arm: Path) -> None:
    pytest.importorskip('xacro', reason='xacro is not installed')
    arm.write_text(ARM.replace('<link name="base"/>', '<link name="base" x="${\'x\' * 70000000}"/>'))
    with pytest.raises(RobotError, match=r'xacro: makes 7\d+ bytes, must be at most 64000000'):
        expanded(arm)


def test_a_file_has_no_standard_input_and_no_module_of_the_folder_it_is_started_in(
    arm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip('xacro', reason='xacro is not installed')
    (arm.parent / 'xacro.py').write_text('raise RuntimeError("a foreign xacro")')
    monkeypatch.chdir(arm.parent)
    assert load_robot(arm).n == 2


def _doubling(times: int) -> str:
    """Return a macro that calls itself twice, so many times deep."""
    return f"""<xacro:macro name="twice" params="n"><xacro:if value="${{n}}">
        <xacro:twice n="${{n - 1}}"/><xacro:twice n="${{n - 1}}"/></xacro:if></xacro:macro>
        <link name="base"/><xacro:twice n="{times}"/>"""


def test_without_the_module_it_is_said_how_to_get_it(arm: Path) -> None:
    without = (
        "import sys; sys.modules['xacro'] = None; from krang_dynamics_ros.__main__ import main; main(sys.argv[1:])"
    )
    command = [sys.executable, '-c', without, 'check', str(arm)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 'pip install xacro' in done.stderr
    assert 'Traceback' not in done.stderr
