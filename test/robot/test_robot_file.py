"""A robot file: every fault is refused with its path, its value and what is allowed, all at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Robot, load_robot, urdf_text
from krang_dynamics_ros.core.errors import ArgumentError, RobotError
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.robot.robot_file import load_description, read_robot

from ..robots import FILES

GOOD = """
name: arm
gravity: [0, 0, -9.81]
lengths: {L1: 0.5, L2: 0.25}
links:
  base: {}
  upper: {mass: 2.0, com: [0, 0, L1], inertia: [0.1, 0, 0, 0.1, 0, 0.05]}
  fore: {mass: 1.0, com: [0, 0, 0.1], inertia: [0.1, 0, 0, 0.1, 0, 0.05]}
joints:
  shoulder: {type: revolute, parent: base, child: upper, axis: [0, 2, 0], motor: {gear_ratio: 100, rotor_inertia: 1e-4}}
  elbow: {type: prismatic, parent: upper, child: fore, xyz: [0, -L2, L1], axis: [0, 0, 1],
          limits: {lower: 0, upper: 1, effort: 5, velocity: 1}, friction: {viscous: 1, coulomb: 2}}
"""

# ruff: noqa: E501 (a line a fault)
# What is written instead of what, and the message that names it.
FAULTS = {
    'negative mass': ('mass: 2.0', 'mass: -1.0', 'links.upper.mass: -1.0, must be positive'),
    'no mass that moves': (GOOD.partition('links:')[2], GOOD.partition('links:')[2].replace('{mass', '{} # {mass'), 'links: no moving link has a mass, at least one must: add a mass to one of upper, fore'),
    'zero mass': ('mass: 2.0', 'mass: 0', 'links.upper.mass: 0, must be positive'),
    'no mass': ('mass: 2.0, ', '', 'links.upper.mass: missing, must be a finite number, positive'),
    'no inertia': (', inertia: [0.1, 0, 0, 0.1, 0, 0.05]}\n  fore', '}\n  fore', 'links.upper.inertia: missing, must be'),
    'mass as text': ('mass: 2.0', 'mass: heavy', "links.upper.mass: 'heavy', must be a finite number, positive"),
    'mass as truth': ('mass: 2.0', 'mass: true', 'links.upper.mass: True, must be a finite number, positive'),
    'NaN': ('mass: 2.0', 'mass: .nan', 'links.upper.mass: nan, must be a finite number, positive'),
    'infinity': ('[0, 0, -9.81]', '[0, 0, -.inf]', 'gravity[2]: -inf, must be a finite number'),
    'unknown key': ('mass: 2.0', 'mass: 2.0, weight: 3', "links.upper.weight: 3, is not a known key; known: collision"),
    'misspelt key': ('gravity:', 'gravty:', "gravty: [0, 0, -9.81], is not a known key; did you mean 'gravity'?"),
    'gravity in cm/s^2': ('gravity: [0, 0, -9.81]', 'gravity: [0, 0, -981]', 'gravity: [0.0, 0.0, -981.0], must be at most 100 m/s^2'),
    'no gravity': ('gravity: [0, 0, -9.81]\n', '', 'gravity: missing, must be a list of 3 numbers'),
    'no name': ('name: arm\n', '', 'name: missing, must be a name'),
    'too short': ('com: [0, 0, 0.1]', 'com: [0, 0.1]', 'links.fore.com: [0, 0.1], must be a list of 3 numbers'),
    'unknown length': ('com: [0, 0, L1]', 'com: [0, 0, L3]', "links.upper.com[2]: 'L3', must be a finite number or a length"),
    'two signs': ('com: [0, 0, L1]', 'com: [0, 0, --L1]', "links.upper.com[2]: '--L1', must be a finite number or"),
    'expression': ('com: [0, 0, L1]', 'com: [0, 0, 2*L1]', "links.upper.com[2]: '2*L1', must be a finite number or"),
    'length not a number': ('L2: 0.25', 'L2: long', "lengths.L2: 'long', must be a finite number"),
    'triangle inequality': (
        'inertia: [0.1, 0, 0, 0.1, 0, 0.05]}\n  fore',
        'inertia: [0.1, 0, 0, 0.3, 0, 0.05]}\n  fore',
        'links.upper.inertia: [0.1, 0.0, 0.0, 0.3, 0.0, 0.05], breaks the triangle inequality: principal moments 0.05 + 0.1',
    ),
    'negative moment': (
        'inertia: [0.1, 0, 0, 0.1, 0, 0.05]}\n  fore',
        'inertia: [0.1, 0.2, 0, 0.1, 0, 0.05]}\n  fore',
        'has a negative principal moment about the centre of mass (-0.1 kg m^2)',
    ),
    'unknown parent': ('parent: base', 'parent: ground', "joints.shoulder.parent: 'ground', must be a link; links: base"),
    'misspelt child': ('child: fore', 'child: four', "joints.elbow.child: 'four', must be a link; did you mean 'fore'?"),
    'cycle': ('parent: base', 'parent: fore', "joints.shoulder.parent: 'fore', must not be below its own child: a cycle"),
    'two parents': ('child: fore', 'child: upper', "joints.elbow.child: 'upper', must not have a second joint"),
    'two bases': ('  base: {}', '  base: {}\n  lost: {}', "links: ['base', 'lost'], have no parent"),
    'zero axis': ('axis: [0, 2, 0]', 'axis: [0, 0, 0]', 'joints.shoulder.axis: [0.0, 0.0, 0.0], must not be zero'),
    'joint type': ('type: revolute', 'type: ball', "joints.shoulder.type: 'ball', must be one of revolute, prismatic, fixed"),
    'viscous friction': ('viscous: 1', 'viscous: -1', 'joints.elbow.friction.viscous: -1, must not be negative'),
    'Coulomb friction': ('coulomb: 2', 'coulomb: -2', 'joints.elbow.friction.coulomb: -2, must not be negative'),
    'smoothing': ('coulomb: 2', 'coulomb_velocity: -2', 'joints.elbow.friction.coulomb_velocity: -2, must not be negative'),
    'spring of a follower': (
        'child: fore', 'child: fore, mimic: {joint: shoulder}, spring: {cosine: 1, sine: 0}',
        "joints.elbow.spring: 'given', must not be beside mimic; give it to the joint that is followed",
    ),
    'presliding of a follower': (
        'friction: {viscous: 1, coulomb: 2}', 'friction: {presliding: [{torque: 1, distance: 1}]}, mimic: {joint: shoulder}',
        "joints.elbow.friction.presliding: 'given', must not be beside mimic; give it to the joint that is followed",
    ),
    'load of a follower': (
        'friction: {viscous: 1, coulomb: 2}', 'friction: {load: {pushing: 1, braking: 1, crossing: 0, velocity: 1}}, mimic: {joint: shoulder}',
        "joints.elbow.friction.load: 'given', must not be beside mimic; give it to the joint that is followed",
    ),
    'load_friction of a follower': (
        'friction: {viscous: 1, coulomb: 2}', 'friction: {load_friction: {factor: 1, velocity: 1}}, mimic: {joint: shoulder}',
        "joints.elbow.friction.load_friction: 'given', must not be beside mimic; give it to the joint that is followed",
    ),
    'presliding torque': (
        'coulomb: 2', 'presliding: [{distance: 1}]', 'joints.elbow.friction.presliding[0].torque: missing, must be a finite number, not negative',
    ),
    'presliding distance': (
        'coulomb: 2', 'presliding: [{torque: 1, distance: 0}]', 'joints.elbow.friction.presliding[0].distance: 0, must be positive',
    ),
    'presliding key': (
        'coulomb: 2', 'presliding: [{torque: 1, distance: 1, delta: 2}]', 'joints.elbow.friction.presliding[0].delta: 2, is not a',
    ),
    'rotor inertia': ('1e-4', '-1e-4', 'joints.shoulder.motor.rotor_inertia: -0.0001, must not be negative'),
    'gear ratio': ('gear_ratio: 100', 'gear_ratio: 0', 'joints.shoulder.motor.gear_ratio: 0.0, must not be zero'),
    'gear ratio beyond squares': ('gear_ratio: 100', 'gear_ratio: 1e200', 'joints.shoulder.motor.gear_ratio: 1e+200, must be at most 1e+09'),
    'integer of 400 digits': ('mass: 2.0', 'mass: ' + 400 * '9', 'links.upper.mass: inf, must be a finite number, positive'),
    'length without a name': ('L2: 0.25', 'L2: 0.25, "": 1', "lengths.(line 4): '', must be a name"),
    'name that cannot be printed': ('parent: base', r'parent: "b\0"', 'joints.shoulder.parent: '),
    'key that is a number': ('  fore:', '  7:', 'links.(line 8): 7, must be a name (text; quote it)'),
    'no room between limits': ('lower: 0, ', 'lower: 2, ', 'joints.elbow.limits.lower: 2.0, must be less than upper (1.0)'),
    'no limits': (
        ',\n          limits: {lower: 0, upper: 1, effort: 5, velocity: 1}',
        '',
        "joints.elbow.limits: missing, must be given for a prismatic joint",
    ),
    'effort': ('effort: 5', 'effort: 0', 'joints.elbow.limits.effort: 0, must be positive'),
    'not a rotation': (
        'axis: [0, 2, 0]', 'axis: [0, 2, 0], rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]]',
        'joints.shoulder.rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]], must be a rotation',
    ),
    'rotation and rpy': (
        'axis: [0, 2, 0]', 'axis: [0, 2, 0], rpy: [0, 0, 0], rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]',
        'joints.shoulder.rpy: ',
    ),
    'no such shape': ('base: {}', 'base: {visual: [{cone: [1, 2]}]}', 'links.base.visual[0]: [], must have exactly one of box'),
    'no size': ('base: {}', 'base: {visual: [{sphere: [-1]}]}', 'links.base.visual[0].sphere: [-1.0], must not be negative'),
    'repeated key': ('mass: 2.0', 'mass: 2.0, mass: 3.0', 'links.upper.mass: given on lines 7 and 7, must be given only once'),
    'repeated link': ('  fore:', '  upper:', 'links.upper: given on lines 7 and 8, must be given only once'),
    'no joints': ('joints:', 'joints: {}\nlinks2:', 'joints: {}, must be a mapping'),
    'links are a list': ('links:', 'links: [1]\nx:', 'links: [1], must be a mapping of names'),
}  # fmt: skip


def test_the_file_that_the_faults_are_put_into_is_good() -> None:
    robot = read_robot(GOOD)
    assert robot.joint_names == ('shoulder', 'elbow')
    np.testing.assert_array_equal(robot.link_of['upper'].inertia.com, [0, 0, 0.5])
    np.testing.assert_array_equal(robot.joint_above['fore'].position, [0, -0.25, 0.5])
    np.testing.assert_array_equal(robot.joint_above['upper'].axis, [0, 1, 0])
    assert robot.rotor_inertia[0] == pytest.approx(1.0)  # 1e-4 is a number, whatever YAML 1.1 says


@pytest.mark.parametrize('name', FAULTS)
def test_a_fault_is_refused_with_path_value_and_what_is_allowed(name: str) -> None:
    old, new, message = FAULTS[name]
    assert old in GOOD
    with pytest.raises(RobotError) as caught:
        read_robot(GOOD.replace(old, new, 1), 'arm.yaml')
    assert message in str(caught.value)
    assert str(caught.value).startswith('arm.yaml: ')


def test_a_length_may_have_a_hyphen() -> None:
    text = GOOD.replace('{L1: 0.5, L2: 0.25}', '{l-1: 0.5, l-2-b: 0.25}').replace('-L2', '-l-2-b').replace('L1', 'l-1')
    robot = read_robot(text)
    np.testing.assert_array_equal(robot.joint_above['fore'].position, [0, -0.25, 0.5])
    assert robot.as_length('-l-2-b', -0.25) == ('l-2-b', -1.0)
    assert robot.as_length('l-1', 0.5) == ('l-1', 1.0)
    for wrong in ('--l-1', '-', 'l', '1'):
        assert robot.as_length(wrong, -0.5) is None


def test_all_faults_come_at_once() -> None:
    text = (
        GOOD.replace('mass: 2.0', 'mass: -1.0')
        .replace('viscous: 1', 'viscous: -1')
        .replace('parent: base', 'parent: floor')
    )
    with pytest.raises(RobotError) as caught:
        read_robot(text)
    assert [fault.path for fault in caught.value.faults] == [
        'links.upper.mass', 'joints.elbow.friction.viscous', 'joints.shoulder.parent',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'must be a mapping'),
        ('[1, 2]', 'must be a mapping'),
        ('name: [', 'must be readable YAML'),
        ('a: &a [*a]', 'must not contain itself'),
        ('!!python/object/apply:os.system ["true"]', 'must be without a tag'),
        ('a: 1\n---\nb: 2', 'must be one document'),
        (3000 * '[', 'must be at most 20 deep'),
        (3000 * '{a: ', 'must be at most 20 deep'),
        (600_000 * 'x', 'size: 600000 characters, must be at most 500000'),
        ('{[a]: 1}', 'must have names as keys'),
        ('a: &a [1]\n? *a\n: 2', 'must have names as keys'),
        ('a: *b', 'must name an anchor above it'),
        ('name: "\\ud800"', 'must be '),
        ('name: "a\\0b"', 'must be a name: printable'),
        ('"": 1', 'must be a name: printable'),
        ('1: {}', 'must be a name (text; quote it)'),
        ('a: !!bool abc', 'must be without a tag'),
        ('a: !!timestamp abc', 'must be without a tag'),
        ('<<: 3', '<<: 3, must be a mapping'),
        ('\x00', 'must be readable YAML'),
    ],
)
def test_files_without_a_robot_are_refused(text: str, message: str) -> None:
    with pytest.raises(RobotError) as caught:
        read_robot(text)
    assert message in str(caught.value)


BOMB = 'a0: &a0 [x, x]\n' + ''.join(f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 9)}]\n' for k in range(1, 12))
MAPPINGS = 'a0: &a0 {x: 1}\n' + ''.join(
    f'a{k}: &a{k} {{{", ".join(f"k{j}: *a{k - 1}" for j in range(9))}}}\n' for k in range(1, 12)
)


@pytest.mark.parametrize(
    'text',
    [
        BOMB,
        BOMB + 'name: *a11',
        GOOD.replace('name: arm', BOMB.replace('a11:', 'name:')),
        GOOD.replace('type: revolute', 'type: *a4').replace('name: arm', BOMB[: BOMB.index('a5:')] + 'name: arm'),
        GOOD.replace('parent: base', 'parent: *a4').replace('name: arm', BOMB[: BOMB.index('a5:')] + 'name: arm'),
        MAPPINGS + 'links: *a11',
        MAPPINGS + 'links:\n  <<: *a11',
        'x: &x {' + ', '.join(f'k{j}: 1' for j in range(9000)) + '}\ny: {<<: [' + ', '.join(['*x'] * 9000) + ']}',
    ],
)
def test_a_bomb_of_aliases_is_refused_in_few_words(text: str) -> None:
    with pytest.raises(RobotError) as caught:
        read_robot(text)
    assert len(str(caught.value)) < 10_000


def test_aliases_and_merges_are_taken() -> None:
    text = GOOD.replace('fore: {mass: 1.0, com: [0, 0, 0.1], inertia:', 'fore: {<<: *upper, mass: 1.0, x:').replace(
        'upper: {', 'upper: &upper {'
    )
    robot = read_robot(text.replace(', x: [0.1, 0, 0, 0.1, 0, 0.05]', ''))
    assert robot.link_of['fore'].inertia.m == 1
    np.testing.assert_array_equal(robot.link_of['fore'].inertia.com, robot.link_of['upper'].inertia.com)


@pytest.mark.parametrize(
    'mass', ['.inf', 400 * '9', '010', '1:30', '1_0', '0x10', '0o7', '0b1', '٢', 'yes', '2024-01-01', 'true']
)
def test_numbers_that_yaml_reads_as_another_value_are_refused(mass: str) -> None:
    with pytest.raises(RobotError, match=r'links\.upper\.mass: .*, must be a finite number, positive'):
        read_robot(GOOD.replace('mass: 2.0', f'mass: {mass}'))


@pytest.mark.parametrize('name', ['undefined', 'klingon', 'hex', 'punycode'])
def test_a_text_in_an_encoding_that_cannot_be_read_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / 'robot.urdf'
    file.write_bytes(f'<?xml version="1.0" encoding="{name}"?><robot name="\xe9"/>'.encode('latin-1'))
    with pytest.raises(RobotError, match='must be text in UTF-8, or in the encoding that its XML names'):
        load_robot(file)


def test_an_empty_file_is_refused_as_such(tmp_path: Path) -> None:
    file = tmp_path / 'robot.yaml'
    file.write_text('')
    with pytest.raises(RobotError, match='the whole file: None, must be a mapping of names to values'):
        load_robot(file)


def test_a_missing_file_is_named_beside_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(RobotError) as caught:
        load_robot(tmp_path / 'krank.yaml')
    assert 'krank.yaml' in str(caught.value)
    assert 'the name of a robot of the package; known names: krang, ' in str(caught.value)


def test_the_reports_parameters_about_the_origin_say_the_same_as_those_about_the_com() -> None:
    link = read_robot(GOOD).link_of['upper']
    m, *rest = link.inertia.parameters.tolist()
    text = GOOD.replace('com: [0, 0, L1], inertia: [0.1, 0, 0, 0.1, 0, 0.05]', f'MS: {rest[:3]}, J: {rest[3:]}')
    np.testing.assert_allclose(read_robot(text).link_of['upper'].inertia.parameters, [m, *rest], rtol=1e-15)


@pytest.mark.parametrize('name', FILES)
def test_files_are_plain_yaml(name: str) -> None:
    assert yaml.safe_load(FILES[name].read_text())['name'] == name


def test_a_robot_cannot_be_changed() -> None:
    robot = load_robot(FILES['krang'])
    with pytest.raises(AttributeError):
        robot.name = 'x'  # type: ignore[misc]
    with pytest.raises(ValueError, match='read-only'):
        robot.joints[0].position[0] = 1.0
    with pytest.raises(ValueError, match='read-only'):
        robot.link_of['R1'].inertia.J[0, 0] = 1.0


def test_a_start_is_of_joints_that_move_and_within_their_limits() -> None:
    text = FILES['pr_robot'].read_text()
    assert read_robot(text).start == {'q1': -0.3, 'q2': 0.7}
    with pytest.raises(RobotError, match=r'start\.q1: -1\.3, must be within the limits of q1, -1 to 1'):
        read_robot(text.replace('q1: -0.3', 'q1: -1.3'))
    with pytest.raises(RobotError, match=r'start\.tip_mount.* must be a moving joint: q1, q2'):
        read_robot(text.replace('q1: -0.3', 'tip_mount: 0'))


@pytest.mark.parametrize('q', [-1.3, -1.0001, -1.0, -0.5, 0.0, 1.0, 1.0001, 1e6])
def test_a_start_is_taken_exactly_where_the_joint_can_stand(q: float) -> None:
    text = FILES['pr_robot'].read_text().replace('q1: -0.3', f'q1: {q!r}')
    limits = load_robot(FILES['pr_robot']).moving_joints[0].limits
    assert (limits.lower, limits.upper) == (-1, 1)
    if limits.lower <= q <= limits.upper:
        assert read_robot(text).start['q1'] == q
    else:
        with pytest.raises(RobotError, match=r'start\.q1: .* must be within the limits of q1, -1 to 1'):
            read_robot(text)


@pytest.mark.parametrize('name', FILES)
def test_a_base_link_is_refused_unless_it_is_the_files_own(name: str) -> None:
    robot = load_robot(FILES[name])
    other = robot.joints[0].child
    for read in (load_robot, load_model, lambda path, base_link: load_description(path, base_link=base_link).robot):
        with pytest.raises(RobotError, match=f"base_link: '{other}', must be {robot.base} or empty for a robot file"):
            read(FILES[name], base_link=other)
    assert load_robot(FILES[name], base_link=robot.base).base == robot.base


@pytest.mark.parametrize('name', ['a' * 300, 'a\0b', 'no such/\0', ''.join(['x/'] * 3000)])
def test_a_name_that_no_file_can_have_is_a_missing_file(name: str) -> None:
    with pytest.raises(RobotError, match='must be a readable robot file'):
        load_robot(name)


def test_a_text_in_place_of_a_path_is_named_as_such(robot: Robot) -> None:
    with pytest.raises(ArgumentError, match="give a URDF's text as robot_description"):
        load_robot(urdf_text(robot))
