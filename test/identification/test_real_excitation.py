"""Motions for real URDFs with their meshes, judged by Pinocchio and coal alone: right, or refused with the reason."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
import yaml
from scipy.interpolate import CubicHermiteSpline

from krang_dynamics_ros.cli.excite import trajectory_of
from krang_dynamics_ros.core.errors import KrangDynamicsError
from krang_dynamics_ros.core.spatial import Array
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification import excitation
from krang_dynamics_ros.identification.clearance import MARGIN, Clearance, Near, _random_poses
from krang_dynamics_ros.identification.collision_shapes import FLOOR, Shapes
from krang_dynamics_ros.identification.excitation import PATH_STATES, Excitation, Search
from krang_dynamics_ros.recordings.trajectory_file import trajectory_text
from krang_dynamics_ros.robot.mesh_files import MeshFiles
from krang_dynamics_ros.robot.robot import Robot
from krang_dynamics_ros.robot.robot_file import load_description

SHARE = next(
    (found for path in sys.path if (found := Path(path, 'cmeel.prefix/share/example-robot-data')).is_dir()), None
)
FILES = {path.stem: path for path in sorted((SHARE / 'robots').rglob('*.urdf'))} if SHARE else {}
ROBOTS = {  # and the joints that move
    'ur5_robot': '', 'ur10_robot': '', 'ur3_gripper': '', 'panda': 'panda_joint', 'kinova': '', 'z1': 'joint',
    'xarm7': '', 'tiago_no_hand': 'arm_', 'talos_full_v2': 'arm_left', 'tiago_pro': 'arm_left', 'baxter': 'left_',
}  # fmt: skip
SLACK = 1e-4  # m: of the spline through points at 100 Hz, and of reading positions with nine digits
pytestmark = pytest.mark.skipif(not FILES, reason='pip install --no-deps example-robot-data: there are no real URDFs')


def plan(robot: Robot, folders: list[str], seed: int = 0) -> tuple[Excitation, Clearance, Shapes]:
    shapes = Shapes(robot, MeshFiles(folders))
    clearance = Clearance(robot, shapes)
    return Search(robot, 10.0, seed, clearance).best(), clearance, shapes


def moving(robot: Robot, prefix: str) -> Robot:
    return with_fixed_joints(robot, {}, [x for x in robot.joint_names if x.startswith(prefix) and 'gripper' not in x])


class Judge:
    """Distances of all shapes that a joint does not connect, by Pinocchio's own reader of URDFs and meshes."""

    def __init__(self, urdf: str) -> None:
        assert SHARE
        self.model = pin.buildModelFromXML(urdf, mimic=False)
        folders = [str(SHARE.parent)]
        self.geometry = pin.buildGeomFromUrdfString(self.model, urdf, pin.COLLISION, package_dirs=folders)
        for k, one in enumerate(self.geometry.geometryObjects):
            for m in range(k + 1, self.geometry.ngeoms):
                other = self.geometry.geometryObjects[m]
                parents = self.model.parents
                a, b = one.parentJoint, other.parentJoint
                if a != b and parents[a] != b and parents[b] != a:
                    self.geometry.addCollisionPair(pin.CollisionPair(k, m))

    def placed(self, names: list[str], q: Array) -> Array:
        """Return Pinocchio's own vector of positions."""
        full = pin.neutral(self.model)
        for name, angle in zip(names, q, strict=True):
            joint = self.model.joints[self.model.getJointId(name)]
            full[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(angle), np.sin(angle)] if joint.nq == 2 else angle
        return full

    def moved(self, names: list[str], path: Array) -> list[tuple[int, int]]:
        """Return the pairs that move against each other: fingers that stand still may touch."""
        data, geometry = self.model.createData(), self.geometry.createData()
        seen = []
        for q in (path[0], path[0] + 0.3):
            pin.updateGeometryPlacements(self.model, data, self.geometry, geometry, self.placed(names, q))
            pairs = [(pair.first, pair.second) for pair in self.geometry.collisionPairs]
            seen.append([geometry.oMg[a].actInv(geometry.oMg[b]) for a, b in pairs])
        return [pair for pair, one, two in zip(pairs, *seen, strict=True) if not one.isApprox(two, 1e-6)]

    def least(self, names: list[str], path: Array) -> dict[tuple[str, str], float]:
        """Return the least distance along a path by names of the links; spheres leave out what is far."""
        data, geometry = self.model.createData(), self.geometry.createData()
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        objects = [x.geometry for x in self.geometry.geometryObjects]
        for shape in objects:
            shape.computeLocalAABB()
        pairs = np.array(self.moved(names, path))
        radius = np.array([x.aabb_radius for x in objects])
        found: dict[tuple[str, str], float] = {}
        for q in path:
            pin.updateGeometryPlacements(self.model, data, self.geometry, geometry, self.placed(names, q))
            centre = np.array([M.act(x.aabb_center) for M, x in zip(geometry.oMg, objects, strict=True)])
            apart = np.linalg.norm(centre[pairs[:, 0]] - centre[pairs[:, 1]], axis=1)
            for a, b in pairs[apart - radius[pairs[:, 0]] - radius[pairs[:, 1]] < MARGIN + 0.02].tolist():
                one, two = (coal.Transform3s(geometry.oMg[x].rotation, geometry.oMg[x].translation) for x in (a, b))
                result.clear()
                d = coal.distance(objects[a], one, objects[b], two, request, result)
                key = self.names(a, b)
                found[key] = min(d, found.get(key, np.inf))
        return found

    def names(self, a: int, b: int) -> tuple[str, str]:
        one, two = sorted(self.model.frames[self.geometry.geometryObjects[k].parentFrame].name for k in (a, b))
        return one, two

    def lowest(self, names: list[str], path: Array, links: set[str]) -> float:
        """Return the least height of the vertices of these links' meshes along a path."""
        data, geometry, least = self.model.createData(), self.geometry.createData(), np.inf
        meshes = {
            k: x.geometry.vertices() for k, x in enumerate(self.geometry.geometryObjects)
            if isinstance(x.geometry, coal.BVHModelBase) and self.model.frames[x.parentFrame].name in links
        }  # fmt: skip
        for q in path:
            pin.updateGeometryPlacements(self.model, data, self.geometry, geometry, self.placed(names, q))
            for k, vertices in meshes.items():
                M = geometry.oMg[k]
                least = min(least, float((vertices @ M.rotation[2]).min() + M.translation[2]))
        return least


def played(text: str, rate: float) -> tuple[list[str], Array]:
    """Return joint names and positions of a trajectory file at this rate, by a cubic spline as a controller's."""
    message = yaml.load(text, Loader=yaml.CSafeLoader)
    points = message['points']
    stamps = np.array([x['time_from_start']['sec'] + 1e-9 * x['time_from_start']['nanosec'] for x in points])
    spline = CubicHermiteSpline(stamps, [x['positions'] for x in points], [x['velocities'] for x in points])
    return message['joint_names'], spline(np.arange(0, stamps[-1], 1 / rate))


def judged(urdf: str, robot: Robot, motion: Excitation, clearance: Clearance, shapes: Shapes, rate: float) -> None:
    """Compare what is said of a motion with what the judge finds along its file."""
    names, path = played(trajectory_text(trajectory_of(motion, 12.0, 100.0)), rate)
    judge = Judge(urdf)
    found = judge.least(names, path)
    least, near = clearance.nearest(motion.path(PATH_STATES))
    said = {tuple(sorted(one.names)): one.distance for one in near}
    assert isinstance(least, Near)
    assert least.distance >= MARGIN
    always = {tuple(sorted(pair)) for pair in clearance.always}
    for pair, distance in found.items():
        if pair not in always:
            assert distance >= said.get(pair, least.distance) - SLACK, pair
            assert distance > 0, pair
    poses = _random_poses(robot)[:30]
    for pair in always & found.keys():  # by their build: they touch in many poses
        assert sum(judge.least(names, q[None]).get(pair, np.inf) < 0.005 for q in poses) > 8, pair
    if shapes.floor:
        links = {shape.name for shape in shapes.links if shape.body}
        floor = min([least.distance, *(one.distance for one in near if FLOOR in one.names)])
        assert judge.lowest(names, path[::10], links) - shapes.floor.centre[2] >= floor - SLACK


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize('name', ROBOTS)
def test_a_motion_keeps_the_clearance_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excitation, 'DRAWS', 5)
    monkeypatch.setattr(excitation, 'STEPS', 15)
    description = load_description(FILES[name])
    robot = moving(description.robot, ROBOTS[name])
    judged(description.urdf, robot, *plan(robot, [str(FILES[name].parent)]), rate=1000.0)


@pytest.mark.parametrize('name', ['ur5_robot', 'panda'])
def test_a_first_motion_is_there_within_ten_seconds_of_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of this process, which other work on the machine does not lengthen; judged at a tenth of the rate."""
    monkeypatch.setattr(excitation, 'DRAWS', 1)
    monkeypatch.setattr(excitation, 'STEPS', 0)
    description, begun = load_description(FILES[name]), time.process_time()
    robot = moving(description.robot, ROBOTS[name])
    found = plan(robot, [str(FILES[name].parent)])
    assert time.process_time() - begun < 10
    judged(description.urdf, robot, *found, rate=100.0)


@pytest.mark.long
@pytest.mark.slow
def test_meshes_in_millimetres_are_right_with_their_scale_and_refused_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excitation, 'DRAWS', 2)
    monkeypatch.setattr(excitation, 'STEPS', 5)
    description = load_description(FILES['ur5_robot'])
    motion, clearance, _ = plan(description.robot, [str(FILES['ur5_robot'].parent)])
    robot = in_millimetres(description.robot, tmp_path)
    scaled = with_scale(robot, 0.001)
    again, other, _ = plan(scaled, [str(tmp_path)])
    for one, two in zip(
        [x for part in clearance.nearest(motion.path(PATH_STATES))[1:] for x in part],
        [x for part in other.nearest(motion.path(PATH_STATES))[1:] for x in part],
        strict=True,
    ):
        assert one.names == two.names
        assert one.distance == pytest.approx(two.distance, abs=5e-4)
    np.testing.assert_allclose(again.middle, motion.middle, atol=1e-9)
    for scale in (1.0, 1e-6):
        with pytest.raises(KrangDynamicsError, match=r'its mesh is .* m large, must be between .* correct its scale'):
            plan(with_scale(robot, scale), [str(tmp_path)])


def in_millimetres(robot: Robot, folder: Path) -> Robot:
    """Write all collision meshes 1000 times as large into a folder, and return the robot that names them."""
    files, links = MeshFiles([str(FILES['ur5_robot'].parent)]), []
    for link in robot.links:
        shapes = []
        for k, shape in enumerate(link.collision):
            if shape.kind != 'mesh':
                shapes.append(shape)
                continue
            mesh = trimesh.load_mesh(files.find(shape.mesh))
            mesh.apply_scale(1000)
            mesh.export(folder / f'{link.name}_{k}.stl')
            shapes.append(replace(shape, mesh=f'{link.name}_{k}.stl'))
        links.append(replace(link, collision=tuple(shapes)))
    return replace(robot, links=tuple(links))


def with_scale(robot: Robot, scale: float) -> Robot:
    links = [
        replace(link, collision=tuple(replace(x, size=(scale,) * 3) if x.mesh else x for x in link.collision))
        for link in robot.links
    ]
    return replace(robot, links=tuple(links))
