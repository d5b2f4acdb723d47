"""Recursive Newton-Euler (Craig, *Introduction to Robotics*, eqs. 6.45-6.53) for any tree.

The second witness: velocities and accelerations outwards, forces and moments inwards, without energies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.algebra import ZERO, Vector, add, apply, cross, dot, minus, scale, transpose
from ..core.errors import unknown_name
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..robot.robot import Joint, Robot
from .frames import ByJoint, Transform, all_in_base, all_local, on_coordinates, rates

Motion = tuple[Vector, Vector, Vector]  # omega, d omega/dt, dv/dt of a link's frame, in its own axes
Force = tuple[Vector, Vector]  # f, n: exerted on a link at its frame's origin, in its own axes


def outward(
    robot: Robot,
    local: Mapping[str, Transform],
    dq: ByJoint,
    ddq: ByJoint,
    gravity: Vector,
    w0: Vector = ZERO,
    dw0: Vector = ZERO,
) -> dict[str, Motion]:
    """Return the motion of every link (6.45-6.47). Gravity enters as the base accelerating against it.

    `w0` and `dw0` are the angular velocity and acceleration of the base.
    """
    motions: dict[str, Motion] = {robot.base: (w0, dw0, scale(-1.0, gravity))}
    speeds, accelerations = rates(robot, dq), rates(robot, ddq)
    for joint in robot.outward:
        motions[joint.child] = _next(joint, local[joint.child], motions[joint.parent], speeds, accelerations)
    return motions


def _next(joint: Joint, T: Transform, parent: Motion, dq: ByJoint, ddq: ByJoint) -> Motion:
    R, Z = transpose(T.A), joint.axis.tolist()
    omega, alpha, acceleration = parent
    w, a = apply(R, omega), apply(R, alpha)
    v = apply(R, add(cross(alpha, T.P), cross(omega, cross(omega, T.P)), acceleration))
    speed, rate = scale(dq.get(joint.name, 0.0), Z), scale(ddq.get(joint.name, 0.0), Z)
    if joint.kind == 'prismatic':
        return w, a, add(v, scale(2.0, cross(w, speed)), rate)
    return add(w, speed), add(a, cross(w, speed), rate), v


def inertial_force(body: Any, motion: Motion) -> Force:
    """Return the force and moment about the frame's origin that cause a link's motion (6.48-6.50)."""
    omega, alpha, acceleration = motion
    com, I_C = body.com.tolist(), body.I_G.tolist()
    at_com = add(cross(alpha, com), cross(omega, cross(omega, com)), acceleration)
    F = scale(body.m, at_com)
    N = add(apply(I_C, alpha), cross(omega, apply(I_C, omega)))
    return F, add(N, cross(com, F))


def inward(robot: Robot, local: Mapping[str, Transform], forces: dict[str, Force]) -> dict[str, Any]:
    """Return the torque (force, if prismatic) of each coordinate (6.51-6.53) from the forces of the links."""
    total, torques = dict(forces), {}
    for joint in reversed(robot.outward):
        f, n = total[joint.child]
        torques[joint.name] = dot(f if joint.kind == 'prismatic' else n, joint.axis.tolist())
        T = local[joint.child]
        parent_f, parent_n = total[joint.parent]
        carried = apply(T.A, f)
        total[joint.parent] = add(parent_f, carried), add(parent_n, apply(T.A, n), cross(T.P, carried))
    return on_coordinates(robot, torques)


class NewtonEuler:
    """The dynamics of a robot by recursive Newton-Euler (Craig, eqs. 6.45 to 6.53), with NumPy.

    It is independent of Pinocchio and of the URDF text that Pinocchio gets. Methods have the names, units and signs of
    the methods of `Dynamics`. Vectors have shape (n,), or (..., n) for many states at once.

    Args:
        robot: the robot.

    Example:
        >>> NewtonEuler(robot).inverse_dynamics(q, dq, ddq)  # N m
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.joint_names = robot.joint_names
        self.n = robot.n

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return A ddq + C dq + Q (..., n), N m, with the rotor inertia."""
        gravity = self.robot.gravity.tolist()
        links = self._torque(q, dq, ddq, gravity)
        return np.asarray(links + self.robot.rotor_inertia * np.asarray(ddq, dtype=float))

    def on_moving_base(self, q: Array, dq: Array, ddq: Array, base: tuple[Array, Array, Array]) -> Array:
        """Return A ddq + C dq + Q (..., n) on a base that moves.

        `base` is its effective gravity, w and dw (..., 3 each), in its axes.
        """
        gravity, w, dw = ([*np.moveaxis(x, -1, 0)] for x in base)
        return np.asarray(self._torque(q, dq, ddq, gravity, w, dw) + self.robot.rotor_inertia * ddq)

    def _torque(
        self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, gravity: Vector, w0: Vector = ZERO, dw0: Vector = ZERO
    ) -> Array:
        position, velocity, acceleration = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (q, dq, ddq)))
        local = all_local(self.robot, self._by_name(position))
        motions = outward(self.robot, local, self._by_name(velocity), self._by_name(acceleration), gravity, w0, dw0)
        forces = {link.name: inertial_force(link.inertia, motions[link.name]) for link in self.robot.links}
        return self._vector(inward(self.robot, local, forces), position.shape)

    def _by_name(self, x: Array) -> dict[str, Any]:
        return {name: x[..., k] for k, name in enumerate(self.joint_names)}

    def _vector(self, torques: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
        return np.stack(
            [np.broadcast_to(np.asarray(torques[name], dtype=float), shape[:-1]) for name in self.joint_names], axis=-1
        )

    def A(self, q: ArrayLike) -> Array:
        """Return the inertia matrix (..., n, n), kg m^2: column j is the torque of a unit acceleration of joint j."""
        position = np.asarray(q, dtype=float)[..., None, :]
        still = np.zeros(self.n)
        columns = self._torque(position, still, np.eye(self.n), ZERO)
        return np.swapaxes(columns, -1, -2) + np.diag(self.robot.rotor_inertia)

    def C(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis matrix (..., n, n) of eq. 4."""
        position, velocity = (np.asarray(x, dtype=float)[..., None, :] for x in (q, dq))
        unit = np.eye(self.n)
        both, alone, units = (self.coriolis_torque(position, v) for v in (velocity + unit, velocity, unit))
        return np.swapaxes(0.5 * (both - alone - units), -1, -2)

    def coriolis_torque(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis and centrifugal torque (..., n), N m."""
        return self._torque(q, dq, np.zeros(self.n), ZERO)

    def Q(self, q: ArrayLike) -> Array:
        """Return the gravity torque (..., n), N m."""
        still = np.zeros(self.n)
        return self._torque(q, still, still, self.robot.gravity.tolist())

    def wrench_torque(self, q: ArrayLike, wrenches: Iterable[Wrench]) -> Array:
        """Return J^T f (..., n), N m: each wrench is propagated inwards from its link."""
        position = np.asarray(q, dtype=float)
        local = all_local(self.robot, self._by_name(position))
        placed = all_in_base(self.robot, local)
        forces: dict[str, Force] = {link.name: (ZERO, ZERO) for link in self.robot.links}
        for wrench in wrenches:
            f, n = forces[wrench.link] if wrench.link in forces else self._unknown(wrench.link)
            force, moment = self._at_link(placed, wrench)
            forces[wrench.link] = add(f, force), add(n, moment)
        return self._vector(inward(self.robot, local, forces), position.shape)

    def _unknown(self, link: str) -> Any:
        raise unknown_name('link', link, self.robot.link_of)

    def _at_link(self, placed: Mapping[str, Transform], wrench: Wrench) -> Force:
        """Return a wrench in the axes of its link, about the origin of its link."""
        names = [name or wrench.link for name in (wrench.link, wrench.axes, wrench.about)]
        link, axes, about = (placed[name] if name in placed else self._unknown(name) for name in names)
        force, moment = (apply(axes.A, list(part)) for part in (wrench.force, wrench.moment))
        arm = [minus(x, y) for x, y in zip(about.P, link.P, strict=True)]
        into = transpose(link.A)
        return apply(into, force), apply(into, add(moment, cross(arm, force)))
