"""Draws docs/gallery/*.webp and the table of docs/gallery.md: robots that run with this package.

From the root: python -m docs.gallery. It needs the URDFs of PyPI's example-robot-data. Each robot is simulated for some
seconds, held up by Q(q) of its own model; the picture shows the links behind each joint in the colour of that joint's
torque, as a share of its effort limit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from PIL import Image

from krang_dynamics_ros.core.spatial import Array
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.robot.mesh_files import Y_UP_TO_Z_UP, MeshBounds, MeshFiles, is_y_up_intended, read_mesh
from krang_dynamics_ros.robot.robot import Robot, Shape
from krang_dynamics_ros.simulation.simulation import STEP, Simulation

FOLDER = Path(__file__).parent
ROBOTS = next(
    (found for path in sys.path if (found := Path(path, 'cmeel.prefix/share/example-robot-data/robots')).is_dir()),
    Path(),
)
SIDE = 360  # pixels
FINER = 2  # pixels are drawn so many times finer, then averaged
POINTS = 1_500_000  # on the surface
HELD = 3.0  # s: how long it is simulated
FRICTION = 0.1  # N m s/rad on every joint, so that rounding errors do not grow
LIGHT = np.array([0.35, -0.45, 0.82])
VIEW = np.array([1.0, -0.75, 0.45])  # from the robot to the camera
BACKGROUND = np.array([244, 246, 248])
IDLE, HALF, FULL = np.array([150, 158, 170]), np.array([240, 170, 40]), np.array([200, 40, 40])  # share 0, 0.5, 1


@dataclass(frozen=True)
class Shown:
    """A robot of the gallery: its file, its licence, and a pose in which its weight shows."""

    title: str
    file: str
    licence: str
    pose: dict[str, float]


GALLERY = {
    'panda': Shown('Franka Panda', 'panda_description/urdf/panda.urdf', 'Apache-2.0', {
        'panda_joint2': 0.6, 'panda_joint4': -1.4, 'panda_joint6': 2.0, 'panda_finger_joint1': 0.03}),
    'ur10': Shown('UR10', 'ur_description/urdf/ur10_robot.urdf', 'BSD', {
        'shoulder_lift_joint': -0.6, 'elbow_joint': 0.9, 'wrist_1_joint': -0.3}),
    'kinova': Shown('Kinova Jaco (j2s6s)', 'kinova_description/robots/kinova.urdf', 'BSD', {
        'j2s6s200_joint_2': 4.0, 'j2s6s200_joint_3': 4.4, 'j2s6s200_joint_5': 0.6}),
    'xarm7': Shown('xArm 7', 'xarm_description/urdf/xarm7.urdf', 'BSD-3-Clause', {'joint2': 0.7, 'joint4': 1.0}),
    'so101': Shown('SO-101', 'so_arm_description/urdf/so101.urdf', 'Apache-2.0', {}),
    'allegro': Shown('Allegro Hand, right', 'allegro_hand_description/urdf/allegro_right_hand.urdf', 'BSD', {}),
    'baxter': Shown('Baxter', 'baxter_description/urdf/baxter.urdf', 'BSD', {
        'left_s1': -0.3, 'right_s1': -0.3, 'left_e1': 0.9, 'right_e1': 0.9}),
    'tiago': Shown('TIAGo', 'tiago_description/robots/tiago.urdf', 'Apache-2.0', {
        'arm_1_joint': 1.6, 'arm_2_joint': 0.2, 'arm_4_joint': 1.0, 'torso_lift_joint': 0.15}),
    'talos': Shown('TALOS, held at the waist', 'talos_data/robots/talos_full_v2.urdf', 'Apache-2.0', {
        'arm_left_2_joint': 0.6, 'arm_right_2_joint': -0.6, 'arm_left_4_joint': -1.2, 'arm_right_4_joint': -1.2}),
    'g1': Shown('Unitree G1 with hands, held at the waist', 'g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf',
                'BSD-3-Clause', {'left_shoulder_roll_joint': 0.5, 'right_shoulder_roll_joint': -0.5}),
}  # fmt: skip


@dataclass(frozen=True)
class Held:
    """What came out of one robot's simulation."""

    robot: Robot
    simulation: Simulation
    mass: float  # kg
    torque: Array  # (n), N m or N: what holds it up at the end
    drift: float  # rad or m: how far any joint went


def held(shown: Shown) -> Held:
    """Put a robot into its pose and hold it there by its own gravity torque."""
    model = load_model(ROBOTS / shown.file)
    simulation = Simulation(model.robot)
    simulation.dynamics.viscous = simulation.dynamics.viscous + FRICTION
    simulation.set_joint_positions(list(shown.pose), list(shown.pose.values()))
    start, dynamics = simulation.q.copy(), simulation.dynamics
    for _ in range(round(HELD / STEP)):
        simulation.step(dynamics.Q(simulation.q), ())
    torque = dynamics.Q(simulation.q)
    return Held(model.robot, simulation, dynamics.mass, torque, float(np.abs(simulation.q - start).max()))


def shares(result: Held) -> dict[str, float]:
    """Return by link the share of the effort limit that the joint before it needs; 0 where that is not known."""
    found: dict[str, float] = {}
    names = result.robot.joint_names
    for link in result.robot.links:
        before = [joint for joint in result.robot.chain(link.name) if joint.name in names]
        limit = before[-1].limits.effort if before and before[-1].limits else None
        share = abs(result.torque[names.index(before[-1].name)]) / limit if before and limit else 0.0
        found[link.name] = min(1.0, float(share))
    return found


def solids(robot: Robot, folder: Path) -> Iterator[tuple[str, Any]]:
    """Return link and mesh (trimesh, in the link's frame) of every visual shape."""
    meshes = MeshFiles([str(folder)])
    read = cache(lambda name: read_mesh(meshes.find(name)))

    def bounds(name: str) -> MeshBounds:
        mesh = read(name)
        return MeshBounds(mesh.bounds, mesh.metadata['y_up'])

    turned = is_y_up_intended(robot, bounds)
    for link in robot.links:
        for shape in link.visual:
            yield link.name, solid(shape, read, turned)


def solid(shape: Shape, read: Any, turned: bool) -> Any:
    """Return one visual shape as a mesh in the frame of its link."""
    if shape.kind == 'box':
        mesh = trimesh.creation.box(shape.size)
    elif shape.kind == 'sphere':
        mesh = trimesh.creation.icosphere(radius=shape.size[0])
    elif shape.kind != 'mesh':
        mesh = trimesh.creation.cylinder(shape.size[0], shape.size[1])
    else:
        mesh = read(shape.mesh).copy()
        if turned and mesh.metadata['y_up']:
            mesh.apply_transform(np.pad(Y_UP_TO_Z_UP, (0, 1)) + np.diag([0.0, 0.0, 0.0, 1.0]))
        mesh.apply_scale(shape.size)
    return placed(mesh, shape.rotation, shape.position)


def placed(mesh: Any, rotation: Array, position: Array) -> Any:
    """Put a mesh at a rotation (3, 3) and a position (3; m), and return it."""
    mesh.apply_transform(np.block([[rotation, np.reshape(position, (3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]]))
    return mesh


def picture(result: Held, folder: Path) -> Image.Image:
    """Return the robot as points on its surface: the nearest one of each pixel, lit from one side."""
    parts = []
    for link, mesh in solids(result.robot, folder):
        parts.append((link, placed(mesh, *result.simulation.dynamics.pose(result.simulation.q, link))))
    area, share = sum(mesh.area for _, mesh in parts), shares(result)
    points, normals, colors = [], [], []
    for link, mesh in parts:
        found, faces = trimesh.sample.sample_surface(mesh, max(500, int(POINTS * mesh.area / area)), seed=1)
        points.append(found)
        normals.append(mesh.face_normals[faces])
        colors.append(np.tile(color(share[link]), (len(found), 1)))
    return drawn(np.concatenate(points), np.concatenate(normals), np.concatenate(colors))


def color(share: float) -> Array:
    """Return the colour (3) of a share of the effort limit."""
    first, second, part = (IDLE, HALF, 2 * share) if share < 0.5 else (HALF, FULL, 2 * share - 1)
    return np.asarray(first + part * (second - first))


def drawn(points: Array, normals: Array, colors: Array) -> Image.Image:
    """Return points (k, 3) with normals and colours as a picture, seen along VIEW without perspective."""
    back = VIEW / np.linalg.norm(VIEW)
    right = np.cross([0.0, 0.0, 1.0], back)
    axes = np.stack([right / np.linalg.norm(right), np.cross(back, right / np.linalg.norm(right)), back])
    x, y, depth = axes @ points.T
    side = SIDE * FINER
    scale = 0.94 * side / max(np.ptp(x), np.ptp(y))
    column = (side / 2 + (x - (x.min() + x.max()) / 2) * scale).astype(int).clip(0, side - 1)
    row = (side / 2 - (y - (y.min() + y.max()) / 2) * scale).astype(int).clip(0, side - 1)
    facing = np.where((normals @ back)[:, None] < 0, -normals, normals)
    bright = 0.5 + 0.55 * np.clip(facing @ (LIGHT / np.linalg.norm(LIGHT)), 0, 1)
    image = np.tile(BACKGROUND.astype(float), (side, side, 1))
    order = np.argsort(np.tile(depth, 4))  # the nearest point of a pixel is written last
    rows, columns = (
        (part[None, :] + np.array([[0], [0], [1], [1]])[steps]).ravel().clip(0, side - 1)
        for part, steps in ((row, [0, 1, 2, 3]), (column, [0, 2, 1, 3]))
    )  # each point fills 2 x 2 pixels
    image[rows[order], columns[order]] = np.tile(colors * bright[:, None], (4, 1))[order]
    picture = Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))
    return picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)


def line(name: str, shown: Shown, result: Held) -> str:
    """Return one robot's line of the table."""
    top = int(np.argmax(np.abs(result.torque)))
    unit = 'N' if result.robot.moving_joints[top].kind == 'prismatic' else 'N m'
    drift = f'{result.drift:.0e}' if result.drift else '0'
    largest = f'{result.robot.joint_names[top]}: {result.torque[top]:.2f} {unit}'
    return (f'| ![{shown.title}](gallery/{name}.webp) | **{shown.title}** | {result.robot.n} | {result.mass:.2f} | '
            f'{largest} | {drift} | {shown.licence} |')  # fmt: skip


def main() -> None:
    """Draw all robots, and write the table into docs/gallery.md."""
    lines = []
    for name, shown in GALLERY.items():
        result = held(shown)
        picture(result, (ROBOTS / shown.file).parent).save(FOLDER / 'gallery' / f'{name}.webp', quality=82, method=6)
        lines.append(line(name, shown, result))
        sys.stdout.write(f'{lines[-1]}\n')
        sys.stdout.flush()
    page = FOLDER / 'gallery.md'
    text = page.read_text(encoding='utf-8')
    page.write_text(re.sub(r'(\|[-|]+\|\n)(\|.*\n)+', lambda found: found[1] + '\n'.join(lines) + '\n', text), 'utf-8')


if __name__ == '__main__':
    main()
