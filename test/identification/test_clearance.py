"""Clearance of paths: distances known beforehand, bounds that are never too large, shapes that are missing or wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import coal
import numpy as np
import pytest

from krang_dynamics_ros import Robot, dynamics_of, krang, load_robot
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.core.spatial import frozen, rotation_from_rpy
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification.clearance import MARGIN, Clearance, Pair, Poses
from krang_dynamics_ros.identification.collision_shapes import FLOOR, Box, Shapes, connected_links
from krang_dynamics_ros.robot.mesh_files import MeshFiles
from krang_dynamics_ros.robot.robot import Shape
from krang_dynamics_ros.robot.urdf_reader import read_description

NOWHERE, UNTURNED = frozen([0, 0, 0]), frozen(np.eye(3))
ARM = tuple(f'q_{k}l' for k in range(1, 8))


def shapes_of(robot: Robot, *boxes: Box, **options: object) -> Shapes:
    return Shapes(robot, MeshFiles(), boxes, **options)  # type: ignore[arg-type]


def clearance_of(robot: Robot, *boxes: Box, **options: object) -> Clearance:
    return Clearance(robot, shapes_of(robot, *boxes, **options))


def with_shapes(robot: Robot, **shapes: Shape) -> Robot:
    """The robot with these collision shapes only."""
    links = [replace(link, visual=(), collision=()) for link in robot.links]
    links = [replace(x, collision=(shapes[x.name],)) if x.name in shapes else x for x in links]
    return replace(robot, links=tuple(links))


def ball(radius: float = 0.05, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Shape:
    return Shape('sphere', (radius,), frozen(at), UNTURNED)


def way(first: np.ndarray, last: np.ndarray, states: int = 200) -> np.ndarray:
    return np.linspace(first, last, states)


def test_the_least_distance_to_a_box_is_found_between_the_states_that_are_looked_at() -> None:
    """A ball on the tip of an arm passes a box: 0.3 m of arm, box face at 0.5 m, nearest where the arm points at it."""
    arm = load_robot('arm_2r')
    tip = 0.3
    robot = with_shapes(with_fixed_joints(arm, {}, ['theta1']), link1=ball(0.05, (tip, 0, 0)))
    at = dynamics_of(robot)
    centre = np.array([at.pose(np.array([q]), 'link1')[0] @ [tip, 0, 0] for q in (0.0, 0.7)])
    direction = centre[1] / np.linalg.norm(centre[1])
    wall = Box('wall', direction * (0.5 + 0.001), np.full(3, 0.002))
    path = way(np.array([0.0]), np.array([1.5]), 2001)
    least, near = clearance_of(robot, wall, has_floor=False).nearest(path)
    assert not near
    assert least is not None
    assert least.names == ('wall', 'link1')
    assert 0.5 - tip - 0.05 - 0.004 < least.distance <= 0.5 - tip - 0.05 + 0.001


@pytest.mark.parametrize('states', [40, 400])
def test_the_bound_is_never_above_the_distance_of_any_state_between(states: int) -> None:
    robot = with_fixed_joints(krang(), {}, ARM)
    clearance = clearance_of(robot)
    rng = np.random.default_rng(3)
    for _ in range(3):
        middle, size = rng.uniform(-1, 1, 7), 0.3 * rng.normal(size=(3, 7))
        angle = np.linspace(0, 2 * np.pi, 20 * (states - 1) + 1)  # 20 times as fine
        fine = middle + sum(np.outer(np.sin((h + 1) * angle + h), size[h]) for h in range(3))
        least, near = clearance.nearest(fine[::20])
        at = Poses(clearance._bodies, fine)
        truth: dict[tuple[str, str], float] = {}
        for pair in clearance.pairs:
            found = min(pair.distance(at, k, np.inf) for k in range(0, at.states, 7))
            truth[pair.names] = min(found, truth.get(pair.names, np.inf))
        assert least is not None
        assert all(one.distance <= truth[one.names] for one in near)
        others = min(value for names, value in truth.items() if names not in {one.names for one in near})
        assert least.distance <= others
        if states == 400:
            assert least.distance > others - 0.01  # the bound is not far from the truth either


def test_no_point_of_a_shape_travels_farther_than_it_is_said_to() -> None:
    """Corners of the boxes in the axes of the other body, along a path 50 times as fine, by Pinocchio's poses."""
    robot, dynamics = with_fixed_joints(krang(), {}, ARM), dynamics_of(with_fixed_joints(krang(), {}, ARM))
    clearance = clearance_of(robot, has_floor=False)
    angle = np.linspace(0, 1.0, 1001)
    q = np.outer(np.sin(3 * angle), np.linspace(0.5, 1.0, 7)) + np.outer(np.cos(5 * angle), np.linspace(-0.6, 0.3, 7))
    at = Poses(clearance._bodies, q[::50])
    signs = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
    for pair in clearance.pairs[::5]:
        corners, poses = [], []
        for name in pair.names:
            box = robot.link_of[name].collision[0]
            corners.append(box.position + signs * box.size[:3] @ box.rotation.T / 2 if box.kind == 'box' else signs * 0)
            poses.append([dynamics.pose(x, name) for x in q])
        for k, m in ((0, 1), (1, 0)):
            seen = np.array([
                ((corners[k] @ A.T + P) - S) @ B for (A, P), (B, S) in zip(poses[k], poses[m], strict=True)
            ])  # fmt: skip
            length = np.linalg.norm(np.diff(seen, axis=0), axis=2).sum(axis=0).max()
            if k == int(pair.second.radius <= pair.first.radius):
                assert length <= at.travel(pair)[-1], pair.names


def test_a_path_through_a_thin_wall_is_blocked_though_both_ends_are_clear() -> None:
    robot = with_fixed_joints(krang(), {}, ARM)
    hand = dynamics_of(robot).pose(np.zeros(7), 'R10l')[1]
    wall = Box('wall', hand, np.full(3, 0.05))
    clearance = clearance_of(robot, wall, has_floor=False)
    ends = np.zeros((2, 7))
    ends[0, 1], ends[1, 1] = 0.5, -0.5  # the shoulder swings the arm through it
    assert not clearance_of(robot, has_floor=False).blocked(way(*ends))
    assert not clearance.blocked(ends[:1])
    assert not clearance.blocked(ends[1:])
    blocked = clearance.blocked(way(*ends))
    assert blocked is not None
    assert 'wall' in blocked.names
    assert clearance.obstacles()[0] == blocked.names


def test_a_hand_in_the_floor_is_found_and_the_floor_can_be_set() -> None:
    whole = with_fixed_joints(krang(), {}, ARM)
    robot = with_shapes(whole, **{name: whole.link_of[name].collision[0] for name in ('R4l', 'R8l', 'R10l')})
    reach = np.array([[q1, -1.5, 0, 0, 0, 0, 0] for q1 in np.linspace(-3, 3, 100)])  # forward, down, back and up
    assert not clearance_of(robot, floor=-1.0).blocked(reach)
    blocked = clearance_of(robot, floor=0.6).blocked(reach)
    assert blocked is not None
    assert blocked.names[0] == FLOOR
    assert not clearance_of(robot, has_floor=False).blocked(reach)


def test_the_floor_is_the_lowest_point_of_what_stands_still() -> None:
    arm = with_fixed_joints(krang(), {}, ARM)
    floor = shapes_of(arm).floor
    assert floor is not None
    np.testing.assert_allclose(floor.centre, [0, 0, -0.268], atol=1e-9)  # the wheels
    assert shapes_of(replace(arm, gravity=np.zeros(3))).floor is None
    assert shapes_of(load_robot('arm_2r')).floor is None  # nothing that stands still has a shape


def test_an_arm_that_folds_onto_itself_is_seen() -> None:
    clearance = clearance_of(with_fixed_joints(krang(), {}, ARM))
    assert not clearance.blocked(np.array([[0.0, -1.0, 0, -1.0, 0, 1.0, 0]]))
    folded = np.zeros((1, 7))
    folded[0, 3], folded[0, 5] = 2.0, 2.0  # elbow and wrist: the hand comes back to the upper arm
    turned = np.stack([folded[0] * [1, 1, 1, a, 1, b, 1] for a in (1, -1) for b in (1, -1)])
    assert any(clearance.blocked(q[None]) for q in turned)


def test_a_tool_moves_with_its_link() -> None:
    robot = with_fixed_joints(krang(), {}, ARM)
    axes, hand = dynamics_of(robot).pose(np.zeros(7), 'R10l')
    wall = Box('wall', hand + np.array([0, 0.6, 0]), np.full(3, 0.1))
    tool = Box('tool of R10l', axes.T @ [0, 0.45, 0], np.full(3, 0.2), 'R10l')
    assert not clearance_of(robot, wall, has_floor=False).blocked(np.zeros((1, 7)))
    blocked = clearance_of(robot, wall, tool, has_floor=False).blocked(np.zeros((1, 7)))
    assert blocked is not None
    assert 'tool of R10l' in blocked.names


def test_links_that_may_touch_are_left_out() -> None:
    robot = with_fixed_joints(krang(), {}, ARM)
    shapes = shapes_of(robot)
    names = {pair.names for pair in Clearance(robot, shapes).pairs}
    assert ('R4l', 'R6l') in names
    assert {pair.names for pair in Clearance(robot, shapes, touching=[('R6l', 'R4l')]).pairs} == names - {
        ('R4l', 'R6l')
    }
    assert not {('R4l', 'R5l'), ('R3', 'R4l'), ('R9l', 'R10l')} & names  # a joint connects them


def test_a_single_joint_that_folds_an_arm_is_checked() -> None:
    """The forearm with all that it carries is one body next to the one that stands still: its hand meets the torso."""
    robot = with_fixed_joints(krang(), {'q_2l': 0.0}, ['q_4l'])
    clearance = clearance_of(robot)
    assert not clearance.blocked(np.zeros((1, 1)))
    sides = [clearance.blocked(way(np.zeros(1), np.array([end]))) for end in (-3.1, 3.1)]
    assert any(side and side.names[1] in ('R8l', 'R9l', 'R10l') for side in sides)


def test_a_link_always_inside_an_obstacle_is_an_error_that_names_both() -> None:
    robot = with_fixed_joints(krang(), {}, ARM)
    shoulder = dynamics_of(robot).pose(np.zeros(7), 'R4l')[1]
    with pytest.raises(KrangDynamicsError, match=r'shelf: R4l is inside in every pose .* --keep-out'):
        clearance_of(robot, Box('shelf', shoulder, np.full(3, 0.5)))


# --- meshes


def tetrahedron(path: Path, size: float = 0.1) -> Path:
    """Write a mesh (OBJ) of four faces with its corner in the origin."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * size
    lines = [f'v {x} {y} {z}' for x, y, z in corners] + ['f 1 3 2', 'f 1 2 4', 'f 1 4 3', 'f 2 3 4']
    path.write_text('\n'.join(lines) + '\n')
    return path


def urdf(scale: str = '1 1 1', mesh: str = 'part.obj') -> str:
    """An arm of three links of 0.3 m along x that turn about z; the last has a mesh."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    visual = f'<collision><geometry><mesh filename="{mesh}" scale="{scale}"/></geometry></collision>'
    small = '<collision><geometry><sphere radius="0.02"/></geometry></collision>'
    links = f'<link name="base"/><link name="a">{body}{small}</link><link name="b">{body}</link>'
    joints = ''.join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="100" velocity="1"/></joint>'
        for name, parent, child, x in (('j1', 'base', 'a', 0), ('j2', 'a', 'b', 0.3), ('j3', 'b', 'c', 0.3))
    )
    return f'<robot name="chain">{links}<link name="c">{body}{visual}</link>{joints}</robot>'


def read(tmp_path: Path, text: str, **options: bool) -> Shapes:
    return Shapes(read_description(text).robot, MeshFiles([str(tmp_path)]), **options)  # type: ignore[arg-type]


def test_links_without_a_shape_are_part_of_the_joint() -> None:
    assert connected_links(read_description(urdf()).robot) == {frozenset('ac'), frozenset(('a', 'base'))}


@pytest.mark.parametrize(('size', 'scale'), [(0.1, '1 1 1'), (100.0, '0.001 0.001 0.001')])
def test_a_mesh_counts_with_its_own_size_in_metres_and_in_millimetres(tmp_path: Path, size: float, scale: str) -> None:
    tetrahedron(tmp_path / 'part.obj', size)
    shapes = read(tmp_path, urdf(scale))
    robot = read_description(urdf(scale)).robot
    wall = Box('wall', np.array([0.9, 0.0, 0.0]), np.array([0.1, 1.0, 1.0]))
    shapes = Shapes(robot, MeshFiles([str(tmp_path)]), [wall])
    least, _ = Clearance(robot, shapes).nearest(np.zeros((2, 3)))
    assert least is not None
    assert least.distance == pytest.approx(0.85 - 0.7, abs=1e-3)  # its corner is at 0.6 + 0.1 m


@pytest.mark.parametrize(('size', 'scale'), [(100.0, '1 1 1'), (0.1, '0.001 0.001 0.001')])
def test_a_mesh_of_an_impossible_size_is_refused_with_its_link(tmp_path: Path, size: float, scale: str) -> None:
    tetrahedron(tmp_path / 'part.obj', size)
    with pytest.raises(KrangDynamicsError, match=r'^c: its mesh is .* m large, must be between .* correct its scale'):
        read(tmp_path, urdf(scale))


def test_a_missing_mesh_is_named_and_refused_by_default(tmp_path: Path) -> None:
    with pytest.raises(KrangDynamicsError, match=r"c: 'part.obj' is not found.*--meshes.*--without-missing"):
        read(tmp_path, urdf())
    shapes = read(tmp_path, urdf(), without_missing=True)
    assert list(shapes.missing) == ['c']
    assert shapes.bare == ['b', 'c']
    (tmp_path / 'part.obj').write_text('no mesh')
    with pytest.raises(KrangDynamicsError, match=r"c: 'part.obj' cannot be read"):
        read(tmp_path, urdf())
    for kind in ('dae', 'glb'):
        (tmp_path / f'part.{kind}').write_text('no mesh, in more than twenty bytes')
        with pytest.raises(KrangDynamicsError, match=rf"c: 'part.{kind}' cannot be read: it is not a .{kind} file"):
            read(tmp_path, urdf(mesh=f'part.{kind}'))


def test_a_robot_without_any_shape_is_refused() -> None:
    robot = with_shapes(load_robot('arm_2r'))
    with pytest.raises(KrangDynamicsError, match='no link that moves has a shape'):
        shapes_of(robot)
    assert not Clearance(robot, shapes_of(robot, without_missing=True)).pairs


def test_a_hollow_of_a_mesh_is_free() -> None:
    """The hull of a mesh is only a first look: an L of two plates lets a ball into its corner."""
    plates = coal.BVHModelOBBRSS()
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 1]], dtype=float)
    plates.beginModel(4, 6)
    plates.addVertices(corners)
    plates.addTriangles(np.array([[0, 1, 2], [0, 2, 3], [0, 4, 5], [0, 5, 3]]))
    plates.endModel()
    plates.buildConvexHull(True, 'Qt')
    robot = with_fixed_joints(load_robot('arm_2r'), {}, ['theta1'])
    shapes = shapes_of(with_shapes(robot, link1=ball(0.1)))
    still = replace(shapes.links[0], body=0, geometry=plates, hull=plates.convex, placement=coal.Transform3s.Identity())
    moved = replace(shapes.links[0], body=0, placement=coal.Transform3s(np.eye(3), np.array([0.4, 0.3, 0.5])))
    pair = Pair(still, moved, MARGIN)
    assert pair.distance(Poses(shapes.bodies, np.zeros((1, 1))), 0, np.inf) == pytest.approx(0.2, abs=1e-6)


def test_boxes_turned_with_their_links_meet_where_their_corners_do() -> None:
    """Above a floor, against corners that Pinocchio places."""
    arm = load_robot('arm_2r')
    beam = Shape('box', (0.3, 0.1, 0.06), frozen([0.2, 0.05, 0.0]), frozen(rotation_from_rpy([0.1, 0.2, 0.3])))
    moved = [link.name for link in arm.links if link.name in ('link1', 'link2')]
    robot, dynamics = with_shapes(arm, link1=beam, link2=beam), dynamics_of(arm)
    up = -arm.gravity / np.linalg.norm(arm.gravity)
    corners = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T * [0.15, 0.05, 0.03]
    clearance = clearance_of(robot, floor=-0.5)
    for q in np.random.default_rng(5).uniform(-3, 3, (300, arm.n)):
        placed = [dynamics.pose(q, name) for name in moved]
        points = [P + A @ (beam.position + beam.rotation @ c) for A, P in placed for c in corners]
        lowest = float((np.array(points) @ up).min()) + 0.5
        if abs(lowest - MARGIN) > 1e-6:
            assert bool(clearance.blocked(q[None])) == (lowest < MARGIN)
