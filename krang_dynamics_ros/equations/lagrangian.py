"""The report's own derivation: energies of the links, then A, C and Q from them (sections 1.2, 2 and 3).

M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015). This is a witness, independent of Pinocchio and of the
URDF text that Pinocchio gets. The equations are functions of numbers, arrays or symbols. `Lagrangian` evaluates them
with NumPy: derivatives by complex step, and coefficients of E by polarization, are exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.algebra import ZERO, Vector, add, apply, cross, dot, minus, plus, scale, times, total, transpose
from ..core.errors import ArgumentError, unknown_name
from ..core.spatial import Array, frozen
from ..core.wrench import Wrench
from ..robot.mimic import Mimic
from ..robot.robot import Joint, Robot
from .bodies import Body, body_of
from .frames import ByJoint, Transform, all_in_base, all_local, on_coordinates, own_velocity, rates, relative_transform

COMPLEX_STEP = 1e-30  # so small that it does not change the real part


def velocities(
    robot: Robot, local: Mapping[str, Transform], dq: ByJoint, w0: Vector = ZERO, V0: Vector = ZERO
) -> dict[str, tuple[Vector, Vector]]:
    """Return (omega_j, V_j) of every link in its own axes: eqs 7 and 8, the report's angVel() and linVel().

    `w0` and `V0` are those of the base, as in these functions (B.8, B.9).
    """
    moving: dict[str, tuple[Vector, Vector]] = {robot.base: (w0, V0)}
    all_dq = rates(robot, dq)
    for joint in robot.outward:
        omega, V = moving[joint.parent]
        T = local[joint.child]
        jAi = transpose(T.A)
        turning, sliding = own_velocity(joint, all_dq.get(joint.name, 0.0))
        moving[joint.child] = (
            add(apply(jAi, omega), turning),
            add(apply(jAi, add(V, cross(omega, T.P))), sliding),
        )
    return moving


def total_KE(robot: Robot, local: Mapping[str, Transform], dq: ByJoint) -> Any:
    """Return E = sum of (1/2) (omega^T J omega + M V^T V + 2 MS^T (V x omega)), eqs 9 and 11, without rotors."""
    moving = velocities(robot, local, dq)
    return total([KE(body_of(link.inertia), *moving[link.name]) for link in robot.links])


def KE(body: Body, omega: Vector, V: Vector) -> Any:
    """Return the kinetic energy of a body with angular velocity omega and velocity V of its frame's origin, eq. 11."""
    turning = dot(omega, apply(body.J, omega))
    sliding = times(body.m, dot(V, V))
    return times(0.5, total([turning, sliding, times(2.0, dot(body.MS, cross(V, omega)))]))


def total_PE(robot: Robot, local: Mapping[str, Transform]) -> Any:
    """Return U = sum of -g^T (M_j 0P_j + 0A_j MS_j), eq. 14."""
    placed, g = all_in_base(robot, local), robot.gravity.tolist()
    return total([PE(body_of(link.inertia), placed[link.name], g) for link in robot.links])


def PE(body: Body, T: Transform, g: Vector) -> Any:
    """Return the potential energy of a body with pose 0T_j in the base, eq. 14."""
    return times(-1.0, dot(g, add(scale(body.m, T.P), apply(T.A, body.MS))))


def find_A(kinetic: Callable[[Array], Any], n: int) -> list[list[Any]]:
    """Return A from E(dq) (section 1.2): A_ij is the coefficient of dq_i dq_j, A_ii twice that of dq_i^2.

    `kinetic` returns the energies (k) of k velocities (n, k). The coefficients follow by polarization:
    E(e_i + e_j) - E(e_i) - E(e_j).
    """
    unit = np.eye(n)
    i, j = np.triu_indices(n, 1)
    single, pair = kinetic(unit), kinetic(unit[:, i] + unit[:, j])
    A: list[list[Any]] = [[None] * n for _ in range(n)]
    for k in range(n):
        A[k][k] = 2.0 * single[..., k]
    for k, (a, b) in enumerate(zip(i, j, strict=True)):
        A[a][b] = A[b][a] = pair[..., k] - single[..., a] - single[..., b]
    return A


def find_christoffel(dA_dq: Any) -> Any:
    """Return the Christoffel symbols c_kij = C_k(q)[i, j] from dA_dq[..., i, j, k] = dA_ij/dq_k.

    C_k = (dA_k/dq + (dA_k/dq)^T - dA/dq_k) / 2, with column k of A as A_k; symmetric (De Luca, *Robotics 2*).
    """
    kij = dA_dq  # dA_ki/dq_j
    kji = np.swapaxes(dA_dq, -1, -2)  # dA_kj/dq_i
    ijk = np.moveaxis(dA_dq, -1, -3)  # dA_ij/dq_k
    return 0.5 * (kij + kji - ijk)


def find_C(dA_dq: Any, dq: Any) -> Any:
    """Return C by Christoffel symbols, eq. 4, from dA_dq[..., i, j, k] = dA_ij/dq_k and velocities dq[..., k]."""
    return np.einsum('...ijk,...k->...ij', find_christoffel(dA_dq), dq)


def find_Jacobian(
    robot: Robot, placed: Mapping[str, Transform], link: str, seen_from: str = ''
) -> dict[str, tuple[Vector, Vector]]:
    """Return the columns [e_j x L_jn; e_j] of the Jacobian of a link, in base axes, by coordinate (section 3).

    `placed` has the poses of all links between the base and `link`, in the base. With `seen_from`, poses and result are
    relative to that link; joints that carry only `seen_from` count with the opposite sign.
    """
    ours, theirs = robot.joints_between(link, seen_from or robot.base)
    linear: dict[str, Vector] = {}
    angular: dict[str, Vector] = {}
    for joint in (joint for joint in (*ours, *theirs) if joint.moves):
        T = placed[joint.child]
        e = scale(1.0 if joint in ours else -1.0, apply(T.A, joint.axis.tolist()))
        L = [minus(x, y) for x, y in zip(placed[link].P, T.P, strict=True)]
        mimic = robot.mimics.get(joint.name, Mimic(joint.name))
        column = (e, ZERO) if joint.kind == 'prismatic' else (cross(e, L), e)
        for half, part in zip((linear, angular), column, strict=True):
            half[mimic.joint] = add(half.get(mimic.joint, ZERO), scale(mimic.multiplier, part))
    return {name: (linear[name], angular[name]) for name in linear}


class Lagrangian:
    """The dynamics of a robot by the Lagrangian of the report, with NumPy.

    It is independent of Pinocchio and of the URDF text that Pinocchio gets. Methods have the names, units and signs of
    the methods of `Dynamics`. Vectors have shape (n,), or (..., n) for many states at once. Derivatives by complex
    step, and coefficients by polarization, are exact to rounding.

    Args:
        robot: the robot.

    Example:
        >>> np.allclose(Lagrangian(robot).Q(q), dynamics_of(robot).Q(q))
        True
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.joint_names = robot.joint_names
        self.n = robot.n

    def _local(self, q: Any, extra: int = 0) -> dict[str, Transform]:
        """Return all iT_j, with `extra` array axes after those of the states."""
        by_name = {name: q[..., k].reshape(q.shape[:-1] + (1,) * extra) for k, name in enumerate(self.joint_names)}
        return all_local(self.robot, by_name)

    def _stepped(self, q: Array) -> Any:
        """Return q (..., n, n) with a complex step of joint k in row k: f(q).imag / COMPLEX_STEP is df/dq_k."""
        return q[..., None, :] + 1j * COMPLEX_STEP * np.eye(self.n)

    def A(self, q: ArrayLike) -> Array:
        """Return the inertia matrix (..., n, n), eq. 2, with the rotor inertia (eq. 18), kg m^2."""
        return np.asarray(self._A(np.asarray(q, dtype=float)) + np.diag(self.robot.rotor_inertia))

    def _A(self, q: Any) -> Any:
        local = self._local(q, extra=1)

        def kinetic(dq: Array) -> Any:
            energy = total_KE(self.robot, local, dict(zip(self.joint_names, dq, strict=True)))
            return np.broadcast_to(energy, (*q.shape[:-1], dq.shape[1]))

        rows = find_A(kinetic, self.n)
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def dA_dq(self, q: ArrayLike) -> Array:
        """Return the derivatives dA_ij/dq_k (..., n, n, n), last index k."""
        return np.moveaxis(self._A(self._stepped(np.asarray(q, dtype=float))).imag / COMPLEX_STEP, -3, -1)

    def C(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis matrix (..., n, n), eq. 4."""
        return np.asarray(find_C(self.dA_dq(q), np.asarray(dq, dtype=float)))

    def christoffel(self, q: ArrayLike) -> Array:
        """Return the Christoffel symbols C_k(q) (..., n, n, n) of every joint k: (C dq)_k = dq^T C_k dq."""
        return np.asarray(find_christoffel(self.dA_dq(q)))

    def coriolis_torque(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis and centrifugal torque (..., n), N m."""
        return np.asarray(np.einsum('...ij,...j->...i', self.C(q, dq), np.asarray(dq, dtype=float)))

    def Q(self, q: ArrayLike) -> Array:
        """Return the gravity torque Q_i = dU/dq_i (..., n), eq. 5, N m."""
        stepped = self._stepped(np.asarray(q, dtype=float))
        return np.asarray(
            np.broadcast_to(total_PE(self.robot, self._local(stepped)), stepped.shape[:-1]).imag / COMPLEX_STEP
        )

    def E(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the kinetic energy (...) of links (eqs. 9, 11) and rotors (section 4.2), J."""
        velocity = np.asarray(dq, dtype=float)
        by_name = {name: velocity[..., k] for k, name in enumerate(self.joint_names)}
        links = total_KE(self.robot, self._local(np.asarray(q, dtype=float)), by_name)
        return np.asarray(links + 0.5 * (velocity**2) @ self.robot.rotor_inertia)

    def U(self, q: ArrayLike) -> Array:
        """Return the potential energy (...), eq. 15, J."""
        position = np.asarray(q, dtype=float)
        return np.asarray(np.broadcast_to(total_PE(self.robot, self._local(position)), position.shape[:-1]))

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass (..., 3) of all links in the base frame, m."""
        moments = [Lagrangian(replace(self.robot, gravity=frozen(along))).U(q) for along in -np.eye(3)]
        return np.stack(moments, axis=-1) / self.robot.mass

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return A ddq + C dq + Q (..., n), eq. 3, N m."""
        inertial = np.einsum('...ij,...j->...i', self.A(q), np.asarray(ddq, dtype=float))
        return np.asarray(inertial + self.coriolis_torque(q, dq) + self.Q(q))

    def friction_torque(self, dq: ArrayLike) -> Array:
        """Return the friction torque F_v dq + F_c sign(dq) (..., n), eq. 17, N m; tanh(dq / v) where a joint has v.

        Presliding is left out. Other friction raises `ArgumentError`.
        """
        velocity = np.asarray(dq, dtype=float)
        speeds = rates(self.robot, {name: velocity[..., k] for k, name in enumerate(self.joint_names)})
        torques = {joint.name: _friction(joint, speeds[joint.name]) for joint in self.robot.joints if joint.moves}
        total = on_coordinates(self.robot, torques)
        return np.stack([total[name] for name in self.joint_names], axis=-1)

    def pose(self, q: ArrayLike, link: str) -> tuple[Array, Array]:
        """Return rotation (..., 3, 3) and origin (..., 3), m, of a link's frame in the base frame."""
        return _numbers(self._placed(np.asarray(q, dtype=float), link)[link], np.shape(q)[:-1])

    def relative_pose(self, q: ArrayLike, link: str, seen_from: str) -> tuple[Array, Array]:
        """Return rotation (..., 3, 3) and origin (..., 3), m, of a link's frame in the frame of another link."""
        local = self._local(np.asarray(q, dtype=float))
        return _numbers(relative_transform(self.robot, local, link, seen_from), np.shape(q)[:-1])

    def _placed(self, q: Array, *links: str) -> dict[str, Transform]:
        for link in links:
            if link not in self.robot.link_of:
                raise unknown_name('link', link, self.robot.link_of)
        return all_in_base(self.robot, self._local(q))

    def jacobian(self, q: ArrayLike, link: str) -> Array:
        """Return the Jacobian (..., 6, n) of a link's origin, in the axes of the base (section 3)."""
        return self._columns(find_Jacobian(self.robot, self._placed(np.asarray(q, dtype=float), link), link), q)

    def relative_jacobian(self, q: ArrayLike, link: str, seen_from: str) -> Array:
        """Return the Jacobian (..., 6, n) of a link as an observer on another link sees it, in that link's axes."""
        local = self._local(np.asarray(q, dtype=float))
        between = [joint.child for part in self.robot.joints_between(link, seen_from) for joint in part]
        placed = {name: relative_transform(self.robot, local, name, seen_from) for name in (*between, link)}
        return self._columns(find_Jacobian(self.robot, placed, link, seen_from), q)

    def _columns(self, columns: Mapping[str, tuple[Vector, Vector]], q: ArrayLike) -> Array:
        shape, still = np.shape(q)[:-1], (ZERO, ZERO)
        parts = [columns.get(name, still) for name in self.joint_names]
        return np.stack(
            [np.concatenate([_stack(half, shape) for half in column], axis=-1) for column in parts], axis=-1
        )

    def wrench_torque(self, q: ArrayLike, wrenches: Iterable[Wrench]) -> Array:
        """Return J^T f (..., n), eq. 16, N m; each wrench is transformed to base axes and the origin of its link."""
        torque: Any = np.zeros(np.shape(q))
        for wrench in wrenches:
            link, axes, about = wrench.link, wrench.axes or wrench.link, wrench.about or wrench.link
            placed = self._placed(np.asarray(q, dtype=float), link, axes, about)
            force, moment = (apply(placed[axes].A, list(part)) for part in (wrench.force, wrench.moment))
            arm = [minus(x, y) for x, y in zip(placed[about].P, placed[link].P, strict=True)]
            moment = add(moment, cross(arm, force))
            columns = find_Jacobian(self.robot, placed, link)
            for k, name in enumerate(self.joint_names):
                if name in columns:
                    linear, angular = columns[name]
                    torque[..., k] += plus(dot(linear, force), dot(angular, moment))
        return np.asarray(torque)


def _friction(joint: Joint, dq: Any) -> Any:
    """Return F_v dq + F_c sign(dq), eq. 17; tanh(dq / v) instead of the sign for a joint with velocity v."""
    unknown = [effect.key() for effect in joint.other_effects if effect.term == 'friction']
    if unknown:
        raise ArgumentError(f'{joint.name}: has friction {", ".join(unknown)}, must have that of eq. (17) alone')
    over = joint.friction.coulomb_velocity
    return joint.viscous * dq + joint.friction.coulomb * (np.tanh(dq / over) if over else np.sign(dq))


def _numbers(T: Transform, shape: tuple[int, ...]) -> tuple[Array, Array]:
    return np.stack([_stack(row, shape) for row in T.A], axis=-2), _stack(T.P, shape)


def _stack(vector: Vector, shape: tuple[int, ...]) -> Array:
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), shape) for x in vector], axis=-1)
