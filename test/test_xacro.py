"""A robot as a xacro file: properties, macros and included files, or a sentence on what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, load_robot
from krang_dynamics_ros.core.errors import KrangDynamicsError

from .robots import ROOT

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
        ('${3 * 0.5}', '${nobody * 0.5}', "name 'nobody' is not defined"),
        ('${3 * 0.5}', '${-3}', r'links\.fore\.inertial\.mass: -3'),
        ('</robot>', '', 'no element found'),
    ],
)
def test_one_that_makes_no_robot_is_refused_with_the_reason(arm: Path, old: str, new: str, message: str) -> None:
    pytest.importorskip('xacro', reason='xacro is not installed')
    arm.write_text(ARM.replace(old, new))
    with pytest.raises(KrangDynamicsError, match=message):
        load_robot(arm)


def test_without_the_module_it_is_said_how_to_get_it(arm: Path) -> None:
    without = (
        "import sys; sys.modules['xacro'] = None; from krang_dynamics_ros.__main__ import main; main(sys.argv[1:])"
    )
    command = [sys.executable, '-c', without, 'check', str(arm)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 'pip install xacro' in done.stderr
    assert 'Traceback' not in done.stderr
