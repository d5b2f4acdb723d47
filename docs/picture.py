"""Draws docs/krang.png from the robot's own shapes. Needs MuJoCo, of the test requirements, and Debian's libosmesa6."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

os.environ.setdefault('MUJOCO_GL', 'osmesa')

import mujoco
import numpy as np

from krang_dynamics_ros import krang, urdf_text

POSE = {
    'q_imu': 0.1, 'q_w': 0.35, 'q_1l': 0.5, 'q_2l': -0.5, 'q_4l': -1.2, 'q_6l': -0.4,
    'q_1r': -0.3, 'q_2r': 0.7, 'q_4r': 1.3, 'q_6r': 0.4,
}  # fmt: skip
SIZE = 640
VIEWS = (150, 35)  # degrees about the vertical


def scene() -> mujoco.MjModel:
    """Return the robot with its visuals, on a floor, under light."""
    keep = '<mujoco><compiler discardvisual="false" fusestatic="false"/></mujoco>'
    spec = mujoco.MjSpec.from_string(urdf_text(krang()).replace('<robot name="krang">', f'<robot name="krang">{keep}'))
    sky = spec.add_texture(name='sky', type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=64, height=64)
    sky.builtin, sky.rgb1, sky.rgb2 = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, [0.93, 0.95, 0.98], [0.8, 0.84, 0.9]
    floor = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[9, 9, 0.1], pos=[0, 0, -0.268])
    floor.rgba, floor.group = [0.82, 0.84, 0.87, 1], 1
    spec.worldbody.add_light(pos=[2, -1.5, 4], dir=[-0.4, 0.3, -0.85], castshadow=True)
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.35] * 3, [0.45] * 3
    spec.visual.global_.offwidth = spec.visual.global_.offheight = SIZE
    return spec.compile()


def png(pixels: np.ndarray) -> bytes:
    """Return an RGB picture (height, width, 3) as PNG."""
    height, width, _ = pixels.shape
    rows = b''.join(b'\0' + row.tobytes() for row in pixels)
    parts = [
        (b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)),
        (b'IDAT', zlib.compress(rows, 9)),
        (b'IEND', b''),
    ]
    chunks = (struct.pack('>I', len(d)) + t + d + struct.pack('>I', zlib.crc32(t + d)) for t, d in parts)
    return b'\x89PNG\r\n\x1a\n' + b''.join(chunks)


def main() -> None:
    """Draw it from both sides."""
    model = scene()
    data = mujoco.MjData(model)
    for joint, angle in POSE.items():
        data.joint(joint).qpos = angle
    mujoco.mj_forward(model, data)
    shown, camera = mujoco.MjvOption(), mujoco.MjvCamera()
    shown.geomgroup[:] = [0, 1, 0, 0, 0, 0]  # visuals, not collisions
    camera.lookat, camera.distance, camera.elevation = [0.15, 0, 0.52], 3.0, -12
    with mujoco.Renderer(model, SIZE, SIZE) as renderer:
        pictures = []
        for camera.azimuth in VIEWS:
            renderer.update_scene(data, camera, shown)
            pictures.append(renderer.render())
    (Path(__file__).parent / 'krang.png').write_bytes(png(np.hstack(pictures)))


if __name__ == '__main__':
    main()
