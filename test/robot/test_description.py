"""Any URDF: if the dynamics cannot be computed from it, it is refused, with the link or joint and the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics
from krang_dynamics_ros.core.errors import DescriptionError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.robot.urdf_reader import read_description

GOOD = """<robot name="arm">
  <link name="base"><inertial><mass value="5"/><origin xyz="0.1 0 0.2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="upper"><inertial><mass value="2"/><origin xyz="0 0 0.5" rpy="0 0.3 0"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.05"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/upper.dae"/></geometry></visual></link>
  <link name="tool"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <dynamics damping="0.5" friction="0.25"/></joint>
  <joint name="hold" type="fixed"><parent link="upper"/><child link="tool"/><origin xyz="0 0 1"/></joint>
  <transmission name="t"/><gazebo/>
</robot>"""

MASSLESS = """<robot name="light"><link name="base"/><link name="upper"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="upper"/></joint></robot>"""
BODY = """<inertial><mass value="5"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
STAND = f"""<link name="stand">{BODY}</link><link name="cup">{BODY}</link>
  <joint name="on" type="fixed"><parent link="base"/><child link="stand"/></joint>
  <joint name="in" type="fixed"><parent link="stand"/><child link="cup"/></joint></robot>"""

FAULTS = {
    'not XML': ('</robot>', '', 'xml: '),
    'not a robot': ('robot', 'sdf', "root element: 'sdf', must be robot"),
    'negative mass': (
        '<mass value="2"/>',
        '<mass value="-2"/>',
        'links.upper.inertial.mass: -2.0, must not be negative',
    ),
    'mass as text': (
        '<mass value="2"/>',
        '<mass value="two"/>',
        "links.upper.inertial.mass.value: 'two', must be a finite number",
    ),
    'NaN': (
        '<mass value="2"/>',
        '<mass value="nan"/>',
        "links.upper.inertial.mass.value: 'nan', must be a finite number",
    ),
    'no mass in inertial': (
        '<mass value="2"/>',
        '',
        'links.upper.inertial.mass.value: missing, must be a finite number',
    ),
    'no mass that moves': (
        '<mass value="2"/>',
        '<mass value="0"/>',
        'links: no moving link has a mass, at least one must: add a mass to one of upper, tool, or let a joint move'
        ' base',
    ),
    'no mass at all': (GOOD, MASSLESS, 'at least one must: add a mass to one of upper'),
    'mass fixed to the base': (GOOD, MASSLESS.replace('</robot>', STAND), 'let a joint move stand, cup'),
    'not positive definite': ('iyy="0.1"', 'iyy="-1"', 'A: is not positive definite in the zero pose (joints turn)'),
    'joint type': (
        '"continuous"',
        '"ball"',
        "joints.turn.type: 'ball', must be one of revolute, continuous, prismatic, fixed",
    ),
    'free joint': ('"continuous"', '"floating"', "base_link 'upper' makes this link the base"),
    'unknown link': (
        'child link="tool"',
        'child link="tol"',
        "joints.hold.child: 'tol', must be a link; did you mean 'tool'?",
    ),
    'cycle': ('<parent link="base"/>', '<parent link="tool"/>', 'must not be below its own child: a cycle'),
    'two bases': (
        '<link name="tool"/>',
        '<link name="tool"/><link name="lost"/>',
        "['base', 'lost'], have no parent",
    ),
    'same name twice': (
        '<link name="tool"/>',
        '<link name="tool"/><link name="tool"/>',
        "links.tool: 'tool', must be given only once",
    ),
    'zero axis': ('axis xyz="0 1 0"', 'axis xyz="0 0 0"', 'joints.turn.axis.xyz: [0.0, 0.0, 0.0], must not be zero'),
    'short origin': (
        'origin xyz="0 0 1"',
        'origin xyz="0 1"',
        "joints.hold.origin.xyz: '0 1', must be 3 finite numbers",
    ),
    'negative friction': (
        'friction="0.25"',
        'friction="-1"',
        'joints.turn.dynamics.friction: -1.0, must not be negative',
    ),
    'nothing moves': ('"continuous"', '"fixed"', 'must have at least one revolute or prismatic joint'),
}


@pytest.mark.parametrize('name', FAULTS)
def test_a_fault_is_refused_with_its_place_and_reason(name: str) -> None:
    old, new, message = FAULTS[name]
    assert old in GOOD
    with pytest.raises(DescriptionError) as caught:
        Dynamics(GOOD.replace(old, new))
    assert message in str(caught.value)


def test_a_mass_behind_a_fixed_joint_counts_if_a_joint_moves_it() -> None:
    text = MASSLESS.replace('</robot>', STAND).replace('<parent link="base"/><child link="stand"/>',
                                                       '<parent link="upper"/><child link="stand"/>')  # fmt: skip
    dynamics = Dynamics(text)
    assert dynamics.mass == 10
    assert np.isfinite(dynamics.center_of_mass([0.3])).all()


def test_a_robot_made_without_a_moving_mass_has_the_centre_of_mass_of_its_base() -> None:
    """Only Python can make such a robot: files are refused."""
    robot = read_description(GOOD).robot
    links = tuple(replace(link, inertia=Inertia()) if link.name == 'upper' else link for link in robot.links)
    np.testing.assert_allclose(Dynamics(replace(robot, links=links)).center_of_mass([0.3]), [0.1, 0, 0.2])


def test_all_faults_come_at_once() -> None:
    text = GOOD.replace('<mass value="2"/>', '<mass value="-2"/>').replace('"continuous"', '"ball"')
    with pytest.raises(DescriptionError) as caught:
        Dynamics(text)
    assert [fault.path for fault in caught.value.faults] == ['links.upper.inertial.mass', 'joints.turn.type']


def test_a_urdf_from_elsewhere_works() -> None:
    d = Dynamics(GOOD)
    assert d.joint_names == ('turn',)
    assert d.link_names == ('base', 'upper', 'tool')
    assert d.base == 'base'
    assert (d.viscous, d.coulomb) == (0.5, 0.25)
    assert d.mass == 7
    np.testing.assert_allclose(d.Q([np.pi / 2]), [-2 * 9.81 * 0.5])
    np.testing.assert_allclose(d.A([0.0]), [[0.1 + 2 * 0.5**2]])


def test_limits_and_looks_are_not_needed() -> None:
    wild = GOOD.replace('"continuous"', '"revolute"').replace('<transmission', '<material/><transmission')
    np.testing.assert_array_equal(Dynamics(wild).Q([0.3]), Dynamics(GOOD).Q([0.3]))
    sliding = Dynamics(GOOD.replace('"continuous"', '"prismatic"').replace('xyz="0 1 0"', 'xyz="0 0 1"'))
    np.testing.assert_allclose(sliding.Q([0.3]), [2 * 9.81])


def test_a_continuous_joint_has_an_angle_and_many_turns_change_nothing() -> None:
    d = Dynamics(GOOD)
    np.testing.assert_allclose(d.Q([0.4 + 20 * np.pi]), d.Q([0.4]), rtol=1e-12)
    np.testing.assert_allclose(d.pose([np.pi / 2], 'tool')[1], [1, 0, 0], atol=1e-12)


def test_a_base_with_mass_counts_in_the_centre_of_mass_and_the_potential_energy() -> None:
    d = Dynamics(GOOD)
    np.testing.assert_allclose(d.center_of_mass([0.0]), (5 * np.array([0.1, 0, 0.2]) + 2 * np.array([0, 0, 0.5])) / 7)
    assert d.U([0.0]) == pytest.approx(9.81 * (5 * 0.2 + 2 * 0.5))
