"""Regressor of the inertial parameters: Gamma = Y(q, dq, ddq) phi, for many states at once.

phi has the report's ten parameters of every link (section 5.1), in which the equations of motion are linear. The
equations are those of `equations.newton_euler`, applied to ten bodies with a single parameter each, side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.algebra import add, apply, cross, dot, scale
from ..core.errors import ArgumentError, unknown_name
from ..core.inertia import Inertia
from ..core.spatial import Array
from ..robot.adapted import fixed_at
from ..robot.robot import Joint, Robot
from .bodies import Body
from .frames import ByJoint, Transform, all_local, on_coordinates
from .newton_euler import Force, Motion, outward

PARAMETERS = ('m', 'MX', 'MY', 'MZ', 'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ')


def unit_bodies() -> Body:
    """Return ten bodies with one parameter each: every number is an array (10) of zeros with a single 1."""
    unit = np.eye(10)
    XX, XY, XZ, YY, YZ, ZZ = unit[4:]
    return Body(unit[0], list(unit[1:4]), [[XX, XY, XZ], [XY, YY, YZ], [XZ, YZ, ZZ]])


def body_force(body: Body, motion: Motion) -> Force:
    """Return the force and moment about the frame's origin that cause a body's motion, linear in the body.

    Equations 6.48-6.50 (Craig, *Introduction to Robotics*), with MS and with the inertia about the origin.
    """
    omega, alpha, acceleration = motion
    F = add(scale(body.m, acceleration), cross(alpha, body.MS), cross(omega, cross(omega, body.MS)))
    N = add(apply(body.J, alpha), cross(omega, apply(body.J, omega)), cross(body.MS, acceleration))
    return F, N


def regressor(robot: Robot, links: Sequence[str], q: Array, dq: Array, ddq: Array) -> Array:
    """Return Y (states, n, 10 x links) for states (states, n): the torque of each parameter of each link."""
    positions, speeds, accelerations = (
        {name: x[:, [k]] for k, name in enumerate(robot.joint_names)} for x in (q, dq, ddq)
    )  # an axis more, for the ten bodies
    local = all_local(robot, positions)
    motions = outward(robot, local, speeds, accelerations, robot.gravity.tolist())
    Y = np.zeros((len(q), robot.n, len(links), 10))
    for k, link in enumerate(links):
        torques = _carried(robot, local, link, body_force(unit_bodies(), motions[link]))
        for name, torque in on_coordinates(robot, torques).items():
            Y[:, robot.joint_names.index(name), k] = torque
    return Y.reshape(len(q), robot.n, -1)


def _carried(robot: Robot, local: Mapping[str, Transform], link: str, force: Force) -> dict[str, Array]:
    """Return the torque (force, if prismatic) by joint of a force on a link, propagated to the base."""
    torques = {}
    for joint in reversed(robot.chain(link)):
        f, n = force
        if joint.moves:
            torques[joint.name] = dot(f if joint.kind == 'prismatic' else n, joint.axis.tolist())
        T = local[joint.child]
        carried = apply(T.A, f)
        force = carried, add(apply(T.A, n), cross(T.P, carried))
    return torques


def with_fixed_joints(robot: Robot, angles: ByJoint, moving: Sequence[str]) -> Robot:
    """Return the robot with all joints fixed except `moving` and their followers, at `angles` or zero.

    Its coordinates are in the order of `moving`.
    """
    for name in (*moving, *angles):
        if name not in robot.joint_names:
            raise unknown_name('joint', name, robot.joint_names)
    for name, angle in angles.items():
        if not np.isfinite(angle):
            raise ArgumentError(f'{name}: fixed at {angle}, must be a finite number')
    at = {joint.name: joint for joint in robot.joints}
    others = [_with_fixed_joints(robot, joint, angles, moving) for joint in robot.joints if joint.name not in moving]
    return replace(robot, joints=tuple([at[name] for name in moving] + others))


def _with_fixed_joints(robot: Robot, joint: Joint, angles: ByJoint, moving: Sequence[str]) -> Joint:
    """Return a joint that is not in `moving`: fixed at its position, or as a follower of a moving joint."""
    if not joint.moves:
        return joint
    mimic = robot.mimics.get(joint.name)
    if mimic is None:
        return fixed_at(joint, float(angles.get(joint.name, 0.0)))
    if mimic.joint in moving:
        return replace(joint, mimic=mimic)
    return fixed_at(joint, mimic.multiplier * float(angles.get(mimic.joint, 0.0)) + mimic.offset)


def moved_links(robot: Robot) -> tuple[str, ...]:
    """Return the moving links; the parameters of other links do not appear in torques."""
    return tuple(link.name for link in robot.links if any(joint.moves for joint in robot.chain(link.name)))


def parameters_of(robot: Robot, links: Sequence[str]) -> Array:
    """Return phi (10 x links) of a robot."""
    return np.concatenate([robot.link_of[link].inertia.parameters for link in links])


def with_parameters(robot: Robot, links: Sequence[str], phi: Array) -> Robot:
    """Return the robot with the inertial parameters phi (10 x links) in these links."""
    new = {link: Inertia.from_parameters(phi[10 * k : 10 * k + 10]) for k, link in enumerate(links)}
    bodies = tuple(replace(link, inertia=new.get(link.name, link.inertia)) for link in robot.links)
    return replace(robot, links=bodies)
