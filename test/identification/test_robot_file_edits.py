"""New numbers go into a robot file in whatever style it is written, or into a new one; they are never lost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Robot, load_robot, urdf_text
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.identification.collision_shapes import Shapes
from krang_dynamics_ros.identification.identified_file import robot_file_text, why_not_edited
from krang_dynamics_ros.identification.identify import Identified, identify
from krang_dynamics_ros.identification.robot_file_edits import Numbers, edited
from krang_dynamics_ros.recordings.table import write_csv
from krang_dynamics_ros.robot.mesh_files import MeshFiles
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot import Shape
from krang_dynamics_ros.robot.robot_file import read_robot

from ..commands import run as command
from .test_identify_inputs import NAMES, made

BLOCKS = """
name: arm
gravity: [0, 0, -9.81]
links:
  base: {}
  upper:
    mass: 2.0
    com:
    - 0.6
    - 0
    - 0
    inertia: [0.01, 0, 0, 0.1, 0, 0.1]
  fore:
    mass: 1.0
    com:
      - 0.3  # of the drawing
      - 0
      - 0
    # about the com
    inertia: [0.01, 0, 0, 0.1, 0, 0.1]
joints:
  theta1:
    type: revolute
    motor: &drive
      gear_ratio: 100
      rotor_inertia: 1e-4
    parent: base
    child: upper
    axis: [0, 1, 0]
    friction:
      viscous: 0.5  # guessed
      coulomb: 0.2
  # the elbow
  theta2:
    friction:
      viscous: 0.5
    type: revolute
    parent: upper
    child: fore
    axis: [0, 1, 0]
    xyz: [1, 0, 0]
    motor: *drive
identified:
  cutoff: 4
"""


def other_body(robot: Robot) -> Robot:
    """Return the robot with another body and other friction, as a fit would."""
    body = Inertia.about_com(1.5, np.array([0.1, 0.2, 0.3]), 0.2 * np.eye(3))
    links = [replace(x, inertia=body) if x.name != 'base' else x for x in robot.links]
    joints = [replace(x, friction=Friction(3.0, 1.0)) for x in robot.joints]
    return replace(robot, links=tuple(links), joints=tuple(joints))


@pytest.mark.parametrize('only', [('theta1', 'theta2'), ('theta1',), ('theta2',)])
def test_numbers_go_into_a_file_of_blocks(only: tuple[str, ...]) -> None:
    new, old = other_body(read_robot(BLOCKS)), read_robot(BLOCKS)
    links = [link for joint, link in zip(NAMES, ('upper', 'fore'), strict=True) if joint in only]
    joints = {joint.name: joint for joint in new.joints if joint.name in only}
    notes = {name: [f'found: {name}'] for name in (*only, *links)}
    text = edited(BLOCKS, Numbers({name: new.link_of[name] for name in links}, joints, notes), 2.0)
    back = read_robot(text)
    assert back.cutoff == 2.0
    for joint, was in zip(back.joints, old.joints, strict=True):
        assert joint.friction == (Friction(3.0, 1.0) if joint.name in only else was.friction)
        assert joint.motor == was.motor
        np.testing.assert_array_equal(joint.position, was.position)
        body = (new if joint.child in links else old).link_of[joint.child].inertia
        np.testing.assert_allclose(back.link_of[joint.child].inertia.parameters, body.parameters, rtol=1e-5)
    for words in ('# the elbow', '# about the com', *(f'# found: {name}' for name in notes)):
        assert [line.strip() for line in text.splitlines()].count(words) == 1
    assert ('guessed' in text) == ('theta1' not in only)


BRACKETS = """
name: arm
gravity: [0, 0, -9.81]
links: {base: {}, upper: {mass: 1, com: [0, 0, 0], inertia: [1, 0, 0, 1, 0, 1]}}
joints:
  theta1:  # the shoulder
    {type: revolute, parent: base, child: upper,  # as drawn
     axis: [0, 1, 0]}  # and last
"""


def test_keys_added_to_a_flow_mapping_get_lines_of_their_own() -> None:
    robot = read_robot(BRACKETS)
    joint = replace(robot.joints[0], friction=Friction(3.0, 1.0))
    text = edited(BRACKETS, Numbers({}, {'theta1': joint}, {}), 2.0)
    assert text.endswith("""
  theta1:  # the shoulder
    {type: revolute, parent: base, child: upper,  # as drawn
     axis: [0, 1, 0],
     motor: {gear_ratio: 1, rotor_inertia: 0},
     friction: {viscous: 3, coulomb: 1}}  # and last
""")
    assert read_robot(text).joints[0].friction == Friction(3.0, 1.0)


def test_identify_edits_a_file_of_blocks(tmp_path: Path) -> None:
    write_csv(made(), tmp_path / 'motion.csv')
    (tmp_path / 'arm.yaml').write_text(BLOCKS)
    done = command('identify', 'motion.csv', '--robot', 'arm.yaml', '-o', 'out.yaml', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '# the elbow' in (tmp_path / 'out.yaml').read_text()
    assert 'New file' not in (tmp_path / 'out.yaml').read_text()


def test_the_robot_of_a_urdf_keeps_its_shapes(tmp_path: Path) -> None:
    """Clearance is computed with the identified robot too, also in another folder."""
    box, mesh = (Shape('box', (0.1, 0.2, 0.3), np.zeros(3), np.eye(3)), _cube(tmp_path / 'arm' / 'meshes' / 'cube.obj'))
    robot = read_robot(BLOCKS)
    links = [replace(link, collision=(box, mesh) if link.name == 'fore' else ()) for link in robot.links]
    (tmp_path / 'arm' / 'arm.urdf').write_text(urdf_text(replace(robot, links=tuple(links))))
    (tmp_path / 'out').mkdir()
    write_csv(made(), tmp_path / 'motion.csv')
    found = [('arm/arm.urdf', 'out/1.yaml'), ('out/1.yaml', '2.yaml')]  # a new file, and an edited one
    for old, new in found:
        done = command('identify', 'motion.csv', '--robot', old, '-o', new, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        again = load_robot(tmp_path / new)
        shapes = Shapes(again, MeshFiles([str((tmp_path / new).parent)]))
        assert [shape.name for shape in shapes.links] == ['fore', 'fore']
    planned = command('excite', '2.yaml', '--duration', '6', '--run', 'run.csv', cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    assert 'clearance: ' in planned.stdout


def _cube(file: Path) -> Shape:
    """Write a cube of 0.2 m, in mm."""
    corners = [f'v {100 * (k & 4) / 4:g} {100 * (k & 2) / 2:g} {100 * (k & 1):g}' for k in range(8)]
    faces = [(1, 2, 4), (5, 6, 8), (1, 2, 6), (3, 4, 8), (1, 3, 7), (2, 4, 8)]
    file.parent.mkdir(parents=True)
    file.write_text('\n'.join([*corners, *(f'f {a} {b} {c}' for a, b, c in faces), '']))
    return Shape('mesh', (0.002, 0.002, 0.002), np.array([0.3, 0.0, 0.0]), np.eye(3), None, 'meshes/cube.obj')


MERGED = BLOCKS.replace('  fore:\n    mass: 1.0\n', '  fore:\n    <<: {mass: 1.0}\n')


def test_a_file_that_cannot_be_edited_is_said_before_the_fit_and_written_anew() -> None:
    robot = read_robot(MERGED)
    why = why_not_edited(robot, MERGED, NAMES, {})
    assert 'links.fore: has keys, but no mass' in why
    assert not why_not_edited(read_robot(BLOCKS), BLOCKS, NAMES, {})
    found = replace(found_in_made(), robot=other_body(replace(robot, cutoff=2.0)))
    text = robot_file_text(found, MERGED)
    assert f'New file, without comments and names of lengths: the old file could not be edited ({why}' in text
    back = read_robot(text)
    assert [joint.friction for joint in back.joints] == [Friction(3.0, 1.0)] * 2
    assert [joint.motor for joint in back.joints] == [joint.motor for joint in robot.joints]


@cache
def found_in_made() -> Identified:
    return identify(read_robot(BLOCKS), [made()])
