"""What real robots' URDFs hold: read as it is written, written back, and refused with what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from krang_dynamics_ros import Dynamics, Lagrangian, NewtonEuler, Wrench
from krang_dynamics_ros.core.errors import DescriptionError, RobotError
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.robot.mimic import Mimic
from krang_dynamics_ros.robot.robot import Limits
from krang_dynamics_ros.robot.urdf_reader import read_description
from krang_dynamics_ros.robot.urdf_writer import urdf_text

from .test_description import GOOD

HAND = """<robot name="gripper">
  <material name="steel"><color rgba="0.5 0.6 0.7 1"/></material>
  <link name="base"/>
  <link name="arm"><inertial><mass value="3"/><origin xyz="0.1 0 0.3" rpy="0.2 0 0"/>
    <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.1" iyz="0" izz="0.05"/></inertial>
    <visual><origin xyz="0 0 1"/><geometry><mesh filename="package://hands/arm.dae" scale="1 1 2"/></geometry></visual>
    <visual><geometry><capsule radius="0.1" length="0.4"/></geometry><material name="steel"/></visual>
    <collision><geometry><cylinder radius="0.1" length="0.5"/></geometry></collision></link>
  <link name="left"><inertial><mass value="0.2"/><origin xyz="0 0.1 0.2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <link name="right"><inertial><mass value="0.3"/><origin xyz="0 0.3 0.2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
  <link name="tip"><inertial><mass value="0.1"/><origin xyz="0.1 0 0.05"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="tip_joint" type="revolute"><parent link="right"/><child link="tip"/><origin xyz="0 0 0.4"/>
    <axis xyz="0 1 1"/><mimic joint="right_joint" multiplier="3" offset="-0.2"/><limit effort="1" velocity="1"/></joint>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 -1 0"/>
    <limit lower="-2" upper="1.5" effort="80" velocity="3"/><dynamics damping="0.5"/></joint>
  <joint name="right_joint" type="prismatic"><parent link="arm"/><child link="right"/><origin xyz="0 0 1"/>
    <axis xyz="0 -1 0"/><mimic joint="left_joint" multiplier="-0.5" offset="0.1"/><dynamics damping="2" friction="4"/>
    <limit lower="-1" upper="1" effort="0" velocity="0"/></joint>
  <joint name="left_joint" type="prismatic"><parent link="arm"/><child link="left"/><origin xyz="0 0 1"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.05" effort="20" velocity="0"/><dynamics friction="1"/></joint>
</robot>"""


def refused(text: str, **options: object) -> str:
    with pytest.raises((DescriptionError, RobotError)) as caught:
        Dynamics(read_description(text, **options).robot)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 20_000
    return str(caught.value)


def test_a_urdf_is_read_as_a_robot() -> None:
    robot = read_description(HAND).robot
    assert robot.joint_names == ('shoulder', 'left_joint')
    assert robot.moving_joints[0].limits == Limits(80, 3, -2, 1.5)
    assert robot.moving_joints[1].limits == Limits(20, None, 0, 0.05)  # a velocity of zero means unknown
    mesh, capsule = robot.link_of['arm'].visual
    assert (mesh.kind, mesh.mesh, mesh.size, mesh.rgba) == ('mesh', 'package://hands/arm.dae', (1, 1, 2), None)
    assert (capsule.kind, capsule.size, capsule.rgba) == ('capsule', (0.1, 0.4), (0.5, 0.6, 0.7, 1))
    assert robot.link_of['arm'].collision[0].size == (0.1, 0.5)
    np.testing.assert_array_equal(mesh.position, [0, 0, 1])
    approx = pytest.approx(0.1)
    assert robot.mimics == {
        'right_joint': Mimic('left_joint', -0.5, 0.1),
        'tip_joint': Mimic('left_joint', -1.5, approx),
    }
    np.testing.assert_allclose(robot.viscous, [0.5, 0.25 * 2])
    np.testing.assert_allclose(robot.coulomb, [0, 1 + 0.5 * 4])


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic'])
@pytest.mark.parametrize(('lower', 'upper'), [(-1.5, 0.5), (0.2, 0.7), (0, 0), (0.5, -1.5), (None, None), (None, 0.5)])
@pytest.mark.parametrize(('effort', 'velocity'), [(0, 0), (80, 3), (80, 0), (0, 3), (-1, -1), (None, None)])
def test_a_limit_is_what_the_urdf_says_and_none_where_it_says_nothing(
    kind: str, lower: float | None, upper: float | None, effort: float | None, velocity: float | None
) -> None:
    """By URDF's own rules: what is left out is zero, zero says nothing, and a continuous joint has no ends."""
    given = {'lower': lower, 'upper': upper, 'effort': effort, 'velocity': velocity}
    written = ' '.join(f'{key}="{value}"' for key, value in given.items() if value is not None)
    text = GOOD.replace('"continuous"', f'"{kind}"').replace('<dynamics', f'<limit {written}/><dynamics', 1)
    ends = (lower or 0.0, upper or 0.0)
    known = (None, None) if kind == 'continuous' or not ends[0] < ends[1] else ends
    expected = Limits(*(x if x and x > 0 else None for x in (effort, velocity)), *known)
    description = read_description(text)
    assert description.robot.moving_joints[0].limits == expected
    assert read_description(urdf_text(description.robot)).robot.moving_joints[0].limits == expected
    assert any('limit.lower' in str(one) for one in description.warnings) == (ends[0] > ends[1])


def outcome(**given: Any) -> list[object]:
    """Return what a model is, or the faults for which it is refused."""
    try:
        model = load_model(**given)
    except DescriptionError as error:
        return [str(one) for one in error.faults]
    numbers = model.dynamics.Q(np.full(model.robot.n, 0.3)).tolist()
    return [model.robot.base, model.robot.joint_names, numbers, model.urdf, *map(str, model.warnings)]


@pytest.mark.parametrize('base_link', ['', 'base', 'upper'])
@pytest.mark.parametrize('strict', [False, True])
def test_a_description_and_a_file_of_the_same_text_are_one_robot(base_link: str, strict: bool, tmp_path: Path) -> None:
    """Whichever way a URDF comes in, whatever is asked for with it: the same joints, numbers, warnings and refusals."""
    body = '<mass value="0.5"/><origin xyz="0.1 0 0"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.5"/>'
    moving = GOOD.replace('name="hold" type="fixed"', 'name="hold" type="continuous"')
    moving = moving.replace('<link name="tool"/>', f'<link name="tool"><inertial>{body}</inertial></link>')
    file = tmp_path / 'arm.urdf'
    for old, new in (('', ''), ('izz="0.5"', 'izz="0.1"'), ('mass value="0.5"', 'mass value="-1"')):
        text = moving.replace(old, new)
        file.write_text(text)
        options: dict[str, Any] = {'base_link': base_link, 'strict_description': strict}
        assert outcome(robot_file=file, **options) == outcome(robot_description=text, **options)
    assert load_model(robot_description=moving, base_link='upper').robot.joint_names == ('hold',)


def test_writing_and_reading_gives_the_same_robot() -> None:
    first = read_description(HAND).robot
    again = read_description(urdf_text(first)).robot
    assert urdf_text(again) == urdf_text(first)
    for link in first.links:
        np.testing.assert_allclose(again.link_of[link.name].inertia.parameters, link.inertia.parameters, rtol=1e-14)


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('<mass value="2"/>', '<mass value="2 "/>'),
        ('<mass value="2"/>', '<mass value="+2.e0&#10;"/>'),
        ('izz="0.05"', 'izz="0.05\n"'),
        ('ixy="0" ixz="0" iyy="0.1"', 'ixy="&#9;0" ixz="0" iyy=".1"'),
        ('<transmission name="t"/>', '<sensor:camera name="x"><drake:y a:b="1"/></sensor:camera>'),
        ('<robot name="arm">', '<robot xmlns="http://ros.org" xmlns:xacro="http://wiki.ros.org/xacro" name="arm">'),
        ('<robot name="arm">', '\n  <?xml version="1.0" encoding="latin-1"?>\n<robot name="arm">'),
        ('<robot name="arm">', '\ufeff<!DOCTYPE robot><robot name="arm">'),
        ('"turn"', '"universe"'),
        ('"tool"', '"universe"'),
    ],
)
def test_variants_of_writing_give_the_same_robot(old: str, new: str) -> None:
    assert old in GOOD
    odd, plain = Dynamics(GOOD.replace(old, new)), Dynamics(GOOD)
    assert odd.mass == plain.mass
    np.testing.assert_array_equal(odd.A([0.3]), plain.A([0.3]))
    np.testing.assert_array_equal(odd.Q([0.3]), plain.Q([0.3]))
    np.testing.assert_array_equal(odd.center_of_mass([0.3]), plain.center_of_mass([0.3]))
    tip = odd.link_names[-1]
    np.testing.assert_array_equal(odd.jacobian([0.3], tip), plain.jacobian([0.3], 'tool'))


@pytest.mark.parametrize('text', ['1_0', '٢', '0x10', 'inf', 'nan', '2,0', '2 3', '', '1e999', '2\u00a0', '2f', '--2'])
def test_a_value_that_is_not_a_number_is_a_fault(text: str) -> None:
    assert 'links.upper.inertial.mass.value' in refused(GOOD.replace('<mass value="2"/>', f'<mass value="{text}"/>'))


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (
            '"left_joint" multiplier',
            '"lost" multiplier',
            "joints.right_joint.mimic.joint: 'lost', must be a moving joint",
        ),
        ('"left_joint" multiplier', '"tip_joint" multiplier', 'must not follow itself: a cycle'),
        ('"left_joint" multiplier', '"right_joint" multiplier', 'must not follow itself: a cycle'),
        ('name="left_joint" type="prismatic"', 'name="left_joint" type="fixed"', 'must be a moving joint'),
        ('multiplier="-0.5"', 'multiplier="-1e30"', 'joints.tip_joint.mimic: -3e+30 * left_joint + 0.1 in total'),
        ('multiplier="3"', 'multiplier="1e31"', "mimic.multiplier: '1e31', must be at most 1e+30 in size"),
        ('xyz="0.1 0 0.3"', 'xyz="0.1 0 1e160"', "links.arm.inertial.origin.xyz: '0.1 0 1e160', must be at most 1e+30"),
        ('mass value="3"', f'mass value="{"1" * 100_000}x"', 'links.arm.inertial.mass.value'),
        ('multiplier="3"', 'multiplier="x"', "joints.tip_joint.mimic.multiplier: 'x', must be a finite number"),
        ('<mimic joint="right_joint"', '<mimic', 'joints.tip_joint.mimic.joint: missing, must be a name'),
        ('name="tip"', 'name=""', "links[4].name: '', must be a name"),
        ('name="tip"', 'name="a&#10;b"', r"links[4].name: 'a\nb', must be a name"),
        ('name="shoulder"', 'name="' + 999 * 's' + '"', 'joints[1].name: '),
        ('<robot', '<!DOCTYPE r [<!ENTITY a "b">]><robot', "entity 'a', must not be declared"),
        ('<material', '<a>' * 3000 + '</a>' * 3000 + '<material', 'must be at most 50 deep'),
        ('<material', '<a>' * 100_000 + '<material', 'must be at most 50 deep'),
        ('"gripper"', '"grip\ud800per"', 'must be well-formed XML'),
        ('"gripper"', '"grip\0per"', 'must be well-formed XML'),
        ('</robot>', '<xacro:arm/><link/></robot>', 'xacro: not expanded, must be: name the file .xacro'),
    ],
)
def test_a_fault_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert old in HAND
    assert message in refused(HAND.replace(old, new, 1))


def test_an_impossible_inertia_is_warned_of_and_taken_as_it_stands() -> None:
    text = GOOD.replace('izz="0.05"', 'izz="0.5"')
    description = read_description(text)
    said = 'links.upper.inertial.inertia: [0.1, 0.0, 0.0, 0.1, 0.0, 0.5], breaks the triangle inequality: principal'
    assert [str(warning).startswith(said) for warning in description.warnings] == [True]
    np.testing.assert_array_equal(Dynamics(text).Q([0.3]), Dynamics(GOOD).Q([0.3]))
    assert said in refused(text, strict=True)


def test_a_joint_that_moves_no_mass_is_warned_of() -> None:
    text = GOOD.replace('name="hold" type="fixed"', 'name="hold" type="continuous"')
    dynamics = Dynamics(text)
    assert [str(warning) for warning in dynamics.warnings] == [
        'A: is singular in the zero pose, because joints hold move no mass of their own; torques are right, the '
        'simulator gives each a rotor'
    ]
    np.testing.assert_allclose(dynamics.Q([0.3, 1.0]), [*Dynamics(GOOD).Q([0.3]), 0], atol=1e-12)


def test_a_free_base_is_refused_with_what_to_do_and_its_part_is_taken() -> None:
    text = GOOD.replace(
        '<transmission', '<link name="world"/><joint name="free" type="floating"><parent link="world"/>'
        '<child link="base"/></joint><transmission',
    )  # fmt: skip
    assert "joints.free.type: 'floating', is not supported, since the base is fixed; base_link" in refused(text)
    description = read_description(text, base_link='base')
    assert description.robot.base == 'base'
    np.testing.assert_array_equal(Dynamics(description.urdf).Q([0.3]), Dynamics(GOOD).Q([0.3]))
    assert "base_link: 'bas', must be a link of the robot; did you mean 'base'?" in refused(text, base_link='bas')


def test_mimicking_joints_agree_with_both_witnesses_and_with_pinocchios_own() -> None:
    robot = read_description(HAND).robot
    dynamics, lagrangian, recursive = Dynamics(robot), Lagrangian(robot), NewtonEuler(robot)
    plain = HAND.replace('"right_joint" multiplier="3" offset="-0.2"', '"left_joint" multiplier="-1.5" offset="0.1"')
    model = pin.buildModelFromXML(plain.replace('capsule', 'cylinder'), mimic=True)  # which knows no chain of mimics
    place = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
    rng = np.random.default_rng(1)
    q, dq, ddq = rng.normal(size=(3, 2))
    theirs = model.createData()
    full_q, full_dq, full_ddq = (x[np.argsort(place)] for x in (q, dq, ddq))
    torque = pin.rnea(model, theirs, full_q, full_dq, full_ddq)[place]
    A = pin.crba(model, theirs, full_q)[np.ix_(place, place)]
    wrench = Wrench('tip', rng.normal(size=3), rng.normal(size=3), axes='base')
    for witness in (lagrangian, recursive):
        np.testing.assert_allclose(dynamics.A(q), witness.A(q), rtol=1e-10)
        np.testing.assert_allclose(dynamics.C(q, dq), witness.C(q, dq), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(dynamics.Q(q), witness.Q(q), rtol=1e-10)
        np.testing.assert_allclose(
            dynamics.inverse_dynamics(q, dq, ddq), witness.inverse_dynamics(q, dq, ddq), rtol=1e-9
        )
        np.testing.assert_allclose(dynamics.wrench_torque(q, [wrench]), witness.wrench_torque(q, [wrench]), rtol=1e-10)
    np.testing.assert_allclose(dynamics.A(q), A, rtol=1e-10)
    np.testing.assert_allclose(dynamics.inverse_dynamics(q, dq, ddq), torque, rtol=1e-10)
    np.testing.assert_allclose(dynamics.forward_dynamics(q, dq, torque), ddq, rtol=1e-9)
    np.testing.assert_allclose(dynamics.jacobian(q, 'tip'), lagrangian.jacobian(q, 'tip'), rtol=1e-10, atol=1e-12)
    assert dynamics.E(q, dq) == pytest.approx(float(lagrangian.E(q, dq)), rel=1e-12)


def chain(joints: int, kind: str) -> str:
    body = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    links = ''.join(f'<link name="l{k}">{body}</link>' for k in range(joints + 1))
    held = ''.join(
        f'<joint name="j{k}" type="{kind if k else "revolute"}"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0 0 0.01"/></joint>'
        for k in reversed(range(joints))
    )
    return f'<robot name="chain">{links}{held}</robot>'


@pytest.mark.slow
def test_a_chain_of_20000_fixed_links_is_one_body() -> None:
    dynamics = Dynamics(chain(20_000, 'fixed'))
    assert dynamics.mass == 20_001
    np.testing.assert_allclose(dynamics.pose([0.0], 'l20000')[1], [0, 0, 200.0])


def test_more_joints_than_can_be_computed_with_are_refused() -> None:
    assert 'joints: 2000 that move, must be at most 200' in refused(chain(2000, 'revolute'))


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        ("'<robot>' + 50_000_000 * ' '", 'size: 50000007 characters, must be at most 16000000'),
        ("'<robot>' + 900_000 * '<link name=\"\"/>' + '</robot>'", 'more than 250000 elements'),
        pytest.param("'<robot>' + 240_000 * '<link name=\"\"/>' + '</robot>'", '1000 faults', marks=pytest.mark.slow),
        ("'<robot>' + ''.join(f'<link name=\"{k}\"/>' for k in range(240_000)) + '</robot>'", 'have no parent'),
        ("'<robot>' + 200_000 * '<joint name=\"a\" type=\"b\"/>' + '</robot>'", '1000 faults'),
    ],
)
def test_hostile_text_is_refused_in_bounded_memory(make: str, message: str) -> None:
    code = (
        'import resource\nfrom krang_dynamics_ros.robot.urdf_reader import read_description\n'
        f'text = {make}\nbefore = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n'
        'try:\n    read_description(text)\nexcept Exception as error:\n    print(error)\n'
        'print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)'
    )
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    *said, memory = run.stdout.splitlines()
    assert message in ''.join(said)
    assert len(run.stdout) < 10_000
    assert int(memory) < 200_000  # kB
