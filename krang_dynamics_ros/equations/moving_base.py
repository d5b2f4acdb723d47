"""A robot on a base that moves, as the report's equations take it: with six joints before the base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core.spatial import Array, frozen
from ..robot.robot import Joint, JointKind, Limits, Link, Robot
from .frames import all_local
from .lagrangian import COMPLEX_STEP, Lagrangian, velocities

KINDS: tuple[JointKind, ...] = ('prismatic',) * 3 + ('revolute',) * 3
AXES = (0, 1, 2, 2, 1, 0)  # of sliding along x, y, z, then of yaw, pitch, roll
WITHIN = Limits(None, None, -1.0, 1.0)  # m, rad: far from where pitch makes the three turning axes dependent


def on_six_joints(robot: Robot) -> Robot:
    """Return a robot that six joints, before all others, hold to a world: `gravity` is in the axes of the world."""
    names = [f'world {k}' for k in range(6)]
    joints = tuple(
        Joint(name, kind, name, child, frozen(np.zeros(3)), frozen(np.eye(3)), frozen(np.eye(3)[axis]), limits=WITHIN)
        for name, kind, child, axis in zip(names, KINDS, [*names[1:], robot.base], AXES, strict=True)
    )
    return replace(robot, links=(*map(Link, names), *robot.links), joints=(*joints, *robot.joints))


class MovingBase(NamedTuple):
    """Motion of a base that six joints hold, at many states, in the axes of the base."""

    gravity: Array  # (..., 3) less the acceleration of the origin, m/s^2
    w: Array  # (..., 3), rad/s
    dw: Array  # (..., 3), rad/s^2
    J: Array  # (..., 6, 6): [v; w] of the base by the velocities of the six joints


def moving_base(robot: Robot, base: str, q: Array, dq: Array, ddq: Array) -> MovingBase:
    """Return the motion of a base that six joints hold, for q, dq, ddq (..., 6 + n), by eqs. 7, 8 and derivatives."""
    position, velocity = q + 1j * COMPLEX_STEP * dq, dq + 1j * COMPLEX_STEP * ddq
    w, V = (np.stack(np.broadcast_arrays(*x), axis=-1) for x in _velocity(robot, base, position, velocity))
    dw, dV = w.imag / COMPLEX_STEP, V.imag / COMPLEX_STEP
    rotation, _ = Lagrangian(robot).pose(q, base)
    gravity = np.einsum('...ij,i->...j', rotation, robot.gravity)
    columns = []
    for k in range(6):
        unit = np.zeros_like(q)
        unit[..., k] = 1.0
        turning, sliding = _velocity(robot, base, q, unit)
        columns.append(np.stack(np.broadcast_arrays(*sliding, *turning), axis=-1))
    return MovingBase(gravity - dV - np.cross(w.real, V.real), w.real, dw, np.stack(columns, axis=-1))


def _velocity(robot: Robot, base: str, q: Any, dq: Any) -> Any:
    return velocities(robot, all_local(robot, _by_name(robot, q)), _by_name(robot, dq))[base]


def _by_name(robot: Robot, x: Any) -> Mapping[str, Any]:
    return {name: x[..., k] for k, name in enumerate(robot.joint_names)}
