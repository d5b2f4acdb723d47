"""A robot written as a robot file reads back with the same numbers, or is refused by what cannot be said."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from krang_dynamics_ros import Robot, load_robot
from krang_dynamics_ros.core.errors import RobotError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import frozen, rotation_from_rpy
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.load import LoadFriction, LoadShare
from krang_dynamics_ros.effects.presliding import Presliding
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.robot.mimic import Mimic
from krang_dynamics_ros.robot.motor_and_friction import Friction, Motor
from krang_dynamics_ros.robot.robot import Joint, Limits, Shape
from krang_dynamics_ros.robot.robot_file import read_robot
from krang_dynamics_ros.robot.robot_writer import robot_text

from ..robots import FILES, IDENTIFIED, trees


def assert_same(robot: Robot) -> None:
    back = read_robot(robot_text(robot, 'made here'))
    assert (back.name, back.end_effectors, back.start) == (robot.name, robot.end_effectors, robot.start)
    assert (back.cutoff, back.couplings) == (robot.cutoff, robot.couplings)
    np.testing.assert_array_equal(back.gravity, robot.gravity)
    assert [link.name for link in back.links] == [link.name for link in robot.links]
    for link, was in zip(back.links, robot.links, strict=True):
        np.testing.assert_allclose(link.inertia.parameters, was.inertia.parameters, rtol=1e-9, atol=1e-12)
        for shapes, before in ((link.visual, was.visual), (link.collision, was.collision)):
            assert [_numbers(shape) for shape in shapes] == [_numbers(shape) for shape in before]
    for joint, before in zip(back.joints, robot.joints, strict=True):
        names = (
            'name',
            'kind',
            'parent',
            'child',
            *(('limits', 'motor', 'friction', 'other_effects', 'mimic') if before.moves else ()),
        )
        assert [getattr(joint, name) for name in names] == [getattr(before, name) for name in names]
        np.testing.assert_array_equal(joint.position, before.position)
        np.testing.assert_array_equal(joint.rotation, before.rotation)
        if before.moves:
            np.testing.assert_allclose(joint.axis, before.axis, rtol=1e-14)


def _numbers(shape: Shape) -> tuple[object, ...]:
    """Return all of a shape; solids without a colour are grey."""
    color = shape.rgba or (None if shape.kind == 'mesh' else (0.7, 0.7, 0.7, 1.0))
    return shape.kind, shape.size, shape.mesh, shape.position.tolist(), shape.rotation.tolist(), color


@pytest.mark.parametrize('path', [*FILES.values(), IDENTIFIED], ids=lambda path: path.stem)
def test_a_robot_of_the_package_comes_back(path: object) -> None:
    assert_same(load_robot(str(path)))


@given(trees(largest=6))
def test_any_robot_comes_back(robot: Robot) -> None:
    assert_same(robot)


def changed(**changes: object) -> Robot:
    """Return a robot of two joints, its second changed."""
    robot = load_robot('arm_2r')
    second = robot.moving_joints[1]
    joints: list[Joint] = [replace(x, **changes) if x is second else x for x in robot.joints]  # type: ignore[arg-type]
    return replace(robot, joints=tuple(joints), start={})


@pytest.mark.parametrize(
    'changes',
    [
        {'friction': Friction(0, 0, 0.02, (Presliding(1, 1e-4), Presliding(2, 1e-3)), LoadShare(0.3, 0.7, 0.01, 0.1))},
        {'motor': Motor(-100, 1e-7, 1e-5, -0.25)},
        {'friction': Friction(load_friction=LoadFriction(-0.1, 0.05))},
        {'other_effects': (Spring(-1.5, 2.5),)},
        {'mimic': Mimic('theta1', 2.0, -0.5)},
        {'limits': Limits(None, None)},
        {'limits': Limits(None, 2.0)},
        {'limits': Limits(None, None, -1.0, 1.0)},
        {'name': 'it\'s a "\\" or: #'},
        {'name': 'off'},
        *({'name': name} for name in ('1e5', '.5', '=', '-', '? a', 'a: b', ' a ', '~', 'True', '\u00e9 \U0001f600')),
    ],
)
def test_all_of_a_drive_comes_back(changes: dict[str, object]) -> None:
    assert_same(changed(**changes))


def test_a_file_is_for_people_too() -> None:
    lines = robot_text(changed(friction=Friction(1.5, 2e-6)), 'made here').splitlines()
    assert lines[:4] == ['# made here', 'name: arm_2r', '', 'gravity: [0, -9.81, 0]']
    assert any('friction: {viscous: 1.5, coulomb: 2.0e-06' in line for line in lines)
    assert '    rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]' in lines
    assert max(map(len, lines)) <= 120


def test_friction_of_two_joints_together_comes_back() -> None:
    pair = Coupling(('theta1', 'theta2'), -1, 0.25, 1.5, 0.05)
    assert_same(replace(changed(), couplings=(pair,)))
    text = robot_text(replace(changed(), couplings=(pair,)))
    for wrong, fault in (('sign: 2', 'must be 1 or -1'), ('second: theta1', 'must be another joint than first')):
        key = wrong.split(':')[0]
        line = re.sub(rf'{key}: [^,}}]*', wrong, text)
        with pytest.raises(RobotError, match=fault):
            read_robot(line)


def test_a_rotor_without_mass_comes_back() -> None:
    robot = load_robot('arm_2r')
    moments = Inertia.about_com(0.0, np.zeros(3), np.diag([0.1, 0.2, 0.25]))
    assert_same(replace(robot, links=(*robot.links[:-1], replace(robot.links[-1], inertia=moments))))


TURNED, AT = frozen(rotation_from_rpy(np.array([0.1, -2.0, 3.0]))), frozen(np.array([0.1, 0.0, -0.25]))
SHAPES = (
    Shape('mesh', (1.0, 1.0, 1.0), AT, TURNED, None, 'package://arm/meshes/upper arm.dae'),
    Shape('mesh', (0.001, -0.001, 0.001), AT, TURNED, (0.1, 0.2, 0.3, 0.5), 'off'),
    Shape('box', (0.1, 0.2, 0.0), AT, TURNED, (1.0, 0.0, 0.0, 1.0)),
    Shape('cylinder', (0.1, 0.2), AT, TURNED),
    Shape('capsule', (0.1, 0.2), AT, TURNED),
    Shape('sphere', (0.1,), frozen(np.zeros(3)), frozen(np.eye(3))),
)


def test_shapes_come_back() -> None:
    robot = changed()
    links = [replace(robot.links[1], visual=SHAPES, collision=SHAPES[::-1]), *robot.links[2:]]
    shown = replace(robot, links=(robot.links[0], *links))
    assert_same(shown)
    lines = robot_text(shown).splitlines()
    assert max(map(len, lines)) <= 150  # a shape is a line
    assert sum('package://' in line and line.lstrip().startswith('- {') for line in lines) == 2


@pytest.mark.parametrize(
    ('shape', 'fault'),
    [
        ('{mesh: 3}', 'mesh: 3, must be a file (text)'),
        ('{mesh: " "}', "mesh: ' ', must be a file (text)"),
        ('{mesh: a.stl, scale: 2}', 'scale: 2, must be a list of 3 numbers'),
        ('{mesh: a.stl, box: [1, 1, 1]}', 'must have exactly one of box, cylinder, capsule, sphere, mesh'),
        ('{box: [1, 1, 1], scale: [1, 1, 1]}', 'scale: [1, 1, 1], is not a known key'),
    ],
)
def test_a_wrong_mesh_is_refused(shape: str, fault: str) -> None:
    text = robot_text(changed()).replace('  link1:\n', f'  link1:\n    collision: [{shape}]\n')
    with pytest.raises(RobotError) as caught:
        read_robot(text)
    assert fault in str(caught.value)


def test_limits_that_stand_for_none_are_written_so_that_they_can_be_read() -> None:
    none = float(np.finfo(np.float32).max)
    back = read_robot(robot_text(changed(limits=Limits(none, none, -none, none))))
    assert back.moving_joints[1].limits == Limits(1e9, 1e9, -1e9, 1e9)


@pytest.mark.parametrize(
    ('robot', 'fault'),
    [
        (changed(kind='prismatic', limits=None), 'joints.theta2.limits: no lower and upper, must be given'),
        (changed(kind='prismatic', limits=Limits(1, 1)), 'joints.theta2.limits: no lower and upper, must be given'),
        (replace(changed(), name=''), "name: '', must not be empty in a robot file"),
    ],
)
def test_a_robot_that_a_robot_file_cannot_express_is_refused(robot: Robot, fault: str) -> None:
    with pytest.raises(RobotError) as caught:
        robot_text(robot)
    assert fault in str(caught.value)
