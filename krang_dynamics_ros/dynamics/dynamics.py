"""Numbers of the equations of motion, by Pinocchio.

    tau = A(q) ddq + C(q, dq) dq + Q(q) + friction (17) + J^T f (16), with the rotor inertia (18) in A

Letters and equation numbers: M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015).
Units: m, kg, s, rad, N, N m. "Base" is the link without a parent. It does not move, unless `base_motion` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from ..core.base_motion import BaseMotion
from ..core.errors import ArgumentError, SingularityError
from ..core.path import POINTS, WEIGHTS, Step
from ..core.spatial import Array
from ..core.wrench import LEVER, Load, Wrench, WrenchRows
from .kinematics import Kinematics

Quantity = Literal['A', 'C', 'Q', 'coriolis_torque']


class Dynamics(Kinematics):
    """The dynamics of a robot, by Pinocchio.

        tau = A(q) ddq + C(q, dq) dq + Q(q) + friction (17) + J^T f (16), with the rotor inertia (18) in A

    Joint vectors have shape (n,), in the order of `joint_names`, in rad and N m (m and N for prismatic joints). Every
    returned array is new. An object is not thread-safe: each thread needs its own.

    While the base turns (`base_motion`), `coriolis_torque` and `inverse_dynamics` contain the torques of that rotation,
    and `forward_dynamics` allows for them. A, C, `christoffel` and E are those of the motion relative to the base.

    Example:
        >>> dynamics = Dynamics(Path('arm.urdf').read_text())
        >>> dynamics.Q(np.zeros(dynamics.n))  # N m: the torque that holds the arm up
    """

    def A(self, q: ArrayLike) -> Array:
        """Return the inertia matrix, eq. 2, with the rotor inertia (eq. 18).

        Args:
            q: joint positions (n,), rad or m.

        Returns:
            A (n, n), kg m^2 (kg for prismatic joints); symmetric.

        Raises:
            ArgumentError: `q` has another shape.
        """
        return self._square(pin.crba(self._model, self._data, self._position_in(q)))

    def C(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis matrix by Christoffel symbols, eq. 4.

        Args:
            q: joint positions (n,), rad or m.
            dq: joint velocities (n,), rad/s or m/s.

        Returns:
            C (n, n); dA/dt - 2 C is skew-symmetric, whatever the base does. C dq is `coriolis_torque` of a base that
            does not turn.

        Raises:
            ArgumentError: a vector has another shape.
        """
        return self._square(
            pin.computeCoriolisMatrix(self._model, self._data, self._position_in(q), self._vector_in(dq))
        )

    def Q(self, q: ArrayLike) -> Array:
        """Return the gravity torque, eq. 5: the torque that holds the robot up.

        Args:
            q: joint positions (n,), rad or m.

        Returns:
            Q (n,), N m (N).

        Raises:
            ArgumentError: `q` has another shape.
        """
        return self._out(pin.computeGeneralizedGravity(self._model, self._data, self._position_in(q)))

    def coriolis_torque(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the Coriolis and centrifugal torque C(q, dq) dq, with the torques by the rotation of the base.

        Args:
            q: joint positions (n,), rad or m.
            dq: joint velocities (n,), rad/s or m/s.

        Returns:
            C dq (n,), N m (N).

        Raises:
            ArgumentError: a vector has another shape.
        """
        if self._base_turning is not None:
            return self._with_moving_base(q, dq, np.zeros(self.n), np.zeros(3))[1]
        return self._out(pin.rnea(self._weightless, self._data, self._position_in(q), self._vector_in(dq), self._zero))

    def christoffel(self, q: ArrayLike) -> Array:
        """Return the Christoffel symbols c_kij of all joints: (C dq)_k = dq^T C_k dq.

        c_kii dq_i^2 is the centrifugal torque at joint k, 2 c_kij dq_i dq_j the Coriolis torque of two joints.

        Args:
            q: joint positions (n,), rad or m.

        Returns:
            C_k (n, n, n), first index k; each C_k is symmetric.

        Raises:
            ArgumentError: `q` has another shape.
        """
        unit, position = np.eye(self.n), self._position_in(q)

        def coriolis(dq: Array) -> Array:  # of the joints alone
            return self._out(pin.rnea(self._weightless, self._data, position, self._vector_in(dq), self._zero))

        single = np.array([coriolis(row) for row in unit])
        C_k = np.empty((self.n, self.n, self.n))
        for i in range(self.n):
            C_k[:, i, i] = single[i]
            for j in range(i):
                both = coriolis(unit[i] + unit[j])
                C_k[:, i, j] = C_k[:, j, i] = (both - single[i] - single[j]) / 2
        return C_k

    def friction_torque(self, dq: ArrayLike, z: Array | None = None) -> Array:
        """Return the friction torque F_v dq + F_c sign(dq), eq. 17: the torque that overcomes friction.

        The extensions of `friction` are included: Coulomb friction that is smoothed over a velocity, and presliding.

        Args:
            dq: joint velocities (n,), rad/s or m/s.
            z: state of presliding (n, elements), from a `PreslidingState`; without it, presliding is left out.

        Returns:
            Gamma_f (n,), N m (N).

        Raises:
            ArgumentError: `dq` has another shape.
        """
        return self.friction.torque(self._checked(dq), z)

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return A(q) ddq + C(q, dq) dq + Q(q), eq. 3, without friction and wrenches.

        Args:
            q: joint positions (n,), rad or m.
            dq: joint velocities (n,), rad/s or m/s.
            ddq: joint accelerations (n,), rad/s^2 or m/s^2.

        Returns:
            Gamma (n,), N m (N).

        Raises:
            ArgumentError: a vector has another shape.
        """
        if self._base_turning is not None:
            links = self._with_moving_base(q, dq, ddq, self._gravity)[1]
            return np.asarray(links + self._rotors * np.asarray(ddq, dtype=float))
        return self._out(
            pin.rnea(self._model, self._data, self._position_in(q), self._vector_in(dq), self._vector_in(ddq))
        )

    def mean_inverse_dynamics(self, step: Step) -> Array:
        """Return the mean over a step of A ddq + C dq + Q (n)."""
        return np.asarray(WEIGHTS @ [self.inverse_dynamics(*point) for point in zip(*step.points(), strict=True)])

    def mean_on_moving_base(self, step: Step, before: BaseMotion, after: BaseMotion) -> Array:
        """Return the mean over a step of A ddq + C dq + Q (n), with the base's motion before and after it."""
        motions = [before.towards(after, share) for share in POINTS.tolist()]
        return np.asarray(
            WEIGHTS @ self._on_moving_base(self.inverse_dynamics, zip(*step.points(), strict=True), motions)
        )

    def wrench_on_base(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return the wrench of the support on the base: the negative of `wrench_on_support` without its `wrenches`.

        Args:
            q: joint positions (n,), rad or m.
            dq: joint velocities (n,), rad/s or m/s.
            ddq: joint accelerations (n,), rad/s^2 or m/s^2.

        Returns:
            [force; moment] (6,) at the base's origin, in base axes, N and N m. At rest it is the weight of the whole
            robot, with the base and payloads, pointing up. The reaction to the rotation of rotors is left out.

        Raises:
            ArgumentError: a vector has another shape.
        """
        return self._with_moving_base(q, dq, ddq, self._gravity)[0]

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, torque: ArrayLike) -> Array:
        """Return the acceleration ddq with A ddq + C dq + Q = torque. The inverse of `inverse_dynamics`.

        Args:
            q: joint positions (n,), rad or m.
            dq: joint velocities (n,), rad/s or m/s.
            torque: joint torques (n,), N m (N), less friction and J^T f.

        Returns:
            ddq (n,), rad/s^2 (m/s^2).

        Raises:
            ArgumentError: a vector has another shape.
            SingularityError: a joint moves no mass, or the state is not finite.
        """
        if self._G is None and self._base_turning is None:
            ddq = self._out(
                pin.aba(self._model, self._data, self._position_in(q), self._vector_in(dq), self._vector_in(torque))
            )
        else:  # the articulated-body algorithm supports neither mimic joints nor a base that turns
            ddq = self._solved(q, self._checked(torque) - self.inverse_dynamics(q, dq, np.zeros(self.n)))
        if not math.isfinite(ddq @ ddq):
            raise SingularityError('the acceleration is not finite: a joint moves no mass, or the state is not finite')
        return ddq

    def _solved(self, q: ArrayLike, torque: Array) -> Array:
        try:
            return np.asarray(np.linalg.solve(self.A(q), torque))
        except np.linalg.LinAlgError:
            return np.full(self.n, math.nan)

    def E(self, q: ArrayLike, dq: ArrayLike) -> float:
        """Return the kinetic energy E = dq^T A(q) dq / 2, eq. 2, with the rotors.

        Args:
            q: joint positions (n,), rad or m.
            dq: joint velocities (n,), rad/s or m/s.

        Returns:
            E in joules. Pinocchio 4.1 leaves out some rotors: the energy of all rotors is added to that of the links.

        Raises:
            ArgumentError: a vector has another shape.
        """
        links: float = pin.computeKineticEnergy(self._weightless, self._data, self._position_in(q), self._vector_in(dq))
        return links + 0.5 * float(self._rotors @ np.square(dq)) if self._any_rotor else links

    def U(self, q: ArrayLike) -> float:
        """Return the potential energy of all links, eqs. 12 and 15; zero at the origin of the base.

        Args:
            q: joint positions (n,), rad or m.

        Returns:
            U, J.

        Raises:
            ArgumentError: `q` has another shape.
        """
        moving = pin.computePotentialEnergy(self._model, self._data, self._position_in(q))
        return float(moving - self._base_mass * self._model.gravity.linear @ self._base_com)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Return the centre of mass of all links, with the base and payloads.

        Args:
            q: joint positions (n,), rad or m.

        Returns:
            Position (3,) in the base frame, m.

        Raises:
            ArgumentError: `q` has another shape.
        """
        com: Array = pin.centerOfMass(self._model, self._data, self._position_in(q))
        if not self._base_mass:
            return com
        moving = self._data.mass[0]
        if not moving:  # then Pinocchio's centre of mass is NaN
            return self._base_com.copy()
        return np.asarray((moving * com + self._base_mass * self._base_com) / (moving + self._base_mass))

    def wrench_torque(self, q: ArrayLike, wrenches: Iterable[Wrench]) -> Array:
        """Return J^T f, eq. 16, summed over wrenches: the torque with which the robot APPLIES them.

        Args:
            q: joint positions (n,), rad or m.
            wrenches: wrenches that the robot applies; negate the reading of a sensor that measures the world's wrench.

        Returns:
            Torque (n,), N m (N).

        Raises:
            ArgumentError: `q` has another shape, or a wrench names an unknown link.

        Example:
            >>> up = Wrench('R10l', force=(0, 0, 20), axes='R0')  # 20 N upwards, in the axes of the base
            >>> dynamics.wrench_torque(q, [up])
        """
        position = self._position_in(q)
        torque = np.zeros(self._model.nv)
        for wrench in wrenches:
            link = self._frame(wrench.link)
            J = pin.computeFrameJacobian(self._model, self._data, position, link, pin.LOCAL)
            torque += J.T @ self._at_link(position, link, wrench)
        return self._out(torque)

    def hand_wrenches(
        self, q: ArrayLike, torque: ArrayLike, links: Sequence[str], damping: float
    ) -> tuple[Array, float]:
        """Return the wrenches on links that explain joint torques: J^T f inverted by least squares.

        The minimum of norm(J^T f - torque)^2 + damping^2 norm(f)^2. A moment counts as a force at `LEVER`, 0.3 m.

        Args:
            q: joint positions (n,), rad or m.
            torque: joint torques (n,), N m (N); a joint with NaN is left out.
            links: names of the links.
            damping: damping of the least squares, m; above zero.

        Returns:
            Wrenches (6 x links,), NaN where rounding leaves no solution; and a lower bound of all squared singular
            values of J, m^2.

        Raises:
            ArgumentError: a vector has another shape, a link is unknown, or the damping is not positive.
        """
        J, torque = self.scaled_jacobians(q, links), self._checked(torque)
        if not damping > 0:
            raise ArgumentError(f'damping: {damping}, must be above 0 m')
        if not math.isfinite(torque @ torque):
            known = np.isfinite(torque)
            J, torque = J[:, known], torque[known]
        unit = np.eye(len(J))
        try:
            damped = np.linalg.inv(J @ J.T + damping**2 * unit)
        except np.linalg.LinAlgError:
            return np.full(len(J), np.nan), 0.0
        f = damped @ (J @ torque)
        f.reshape(-1, 2, 3)[:, 1] *= LEVER
        return f, 1 / np.vdot(damped, unit) - damping**2

    def weights(self, q: ArrayLike, loads: Iterable[Load]) -> list[Array]:
        """Return the weight [force; moment] (6) of each load, in the axes and about the point that the load names.

        The world applies it; the joint torque that holds it, as part of Q, is -J^T times it.
        """
        pin.forwardKinematics(self._model, self._data, self._position_in(q))
        return [self._weight(load) for load in loads]

    def _weight(self, load: Load) -> Array:
        pose = pin.updateFramePlacement(self._model, self._data, self._frame(load.link))
        gravity = self._gravity if load.gravity is None else load.gravity
        weight = load.body.weighing.dot(gravity.dot(pose.rotation))  # a third of the time of @
        if load.axes in ('', load.link) and load.about in ('', load.link):
            return np.asarray(weight)
        link, axes, about = (
            pin.updateFramePlacement(self._model, self._data, self._frame(name or load.link)).copy()
            for name in ('', load.axes, load.about)
        )
        given = pin.SE3(axes.rotation, about.translation)
        return np.array(given.actInv(link.act(pin.Force(weight))).vector)

    def batch(self, quantity: Quantity, q: Array, *dq: Array, base: Sequence[BaseMotion] | None = None) -> Array:
        """Return A, C, Q or C dq of many states, a state per row: (m, n, n) or (m, n) from q (m, n) and dq (m, n).

        `base` has the motion of the base at each state (m); None: `base_motion` at all of them.
        """
        rows, compute = zip(q, *dq, strict=True), getattr(self, quantity)
        values = [compute(*row) for row in rows] if base is None else self._on_moving_base(compute, rows, base)
        return np.array(values).reshape(len(q), *[self.n] * (2 if quantity in ('A', 'C') else 1))

    def _on_moving_base(
        self, compute: Callable[..., Array], rows: Iterable[tuple[Array, ...]], motions: Sequence[BaseMotion]
    ) -> list[Array]:
        """Return `compute` of each row, with its motion of the base; afterwards the base moves as before."""
        present, values = self.base_motion, []
        try:
            for motion, row in zip(motions, rows, strict=True):
                self.base_motion = motion
                values.append(compute(*row))
        finally:
            self.base_motion = present
        return values

    def wrench_torques(self, q: Array, wrenches: WrenchRows) -> Array:
        """Return J^T f (m, n) for many states, from q (m, n) and the wrenches at each state."""
        torques = np.zeros((len(q), self.n))
        for frame, vectors in wrenches.items():
            for k in np.flatnonzero(vectors.any(axis=1)):
                torques[k] += self.wrench_torque(q[k], [Wrench.of(frame.link, vectors[k].copy(), *frame[1:])])
        return torques
