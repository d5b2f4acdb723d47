"""What drives add to the rigid body: friction of all joints, springs, coupled friction, offsets of efforts."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError
from ..core.limits import MAX_PRESLIDING
from ..core.spatial import Array
from ..effects.coupling import CoupledFriction
from ..effects.sliding import braking, coulomb, presliding
from ..effects.spring import spring_energy, spring_torque
from ..robot.drive import Friction, LoadFriction, LoadShare, Presliding, Spring
from ..robot.robot import Robot


class FrictionModel:
    """Friction of n joints. Vectors (n) are in their order; every number can be set at any time."""

    def __init__(self, viscous: ArrayLike, coulomb: ArrayLike) -> None:
        """Take the report's form: F_v (N m s/rad, or N s/m) and F_c (N m, or N) of every joint."""
        self.n = len(np.asarray(viscous))
        self.viscous, self.coulomb, self.coulomb_velocity = viscous, coulomb, np.zeros(self.n)
        self.set_presliding([()] * self.n)
        self.set_load_share([None] * self.n)
        self.set_load_friction([None] * self.n)

    def set_coefficients(self, joints: Sequence[Friction]) -> None:
        """Take what a URDF cannot carry from every joint's friction: its smoothing and its presliding."""
        self.coulomb_velocity = [friction.coulomb_velocity for friction in joints]
        self.set_presliding([friction.presliding for friction in joints])
        self.set_load_share([friction.load for friction in joints])
        self.set_load_friction([friction.load_friction for friction in joints])

    @property
    def viscous(self) -> Array:
        """F_v (n), eq. 17: N m s/rad, or N s/m."""
        return self._viscous.copy()

    @viscous.setter
    def viscous(self, value: ArrayLike) -> None:
        self._viscous = not_negative('viscous', value, self.n)

    @property
    def coulomb(self) -> Array:
        """F_c (n), eq. 17: N m, or N."""
        return self._coulomb.copy()

    @coulomb.setter
    def coulomb(self, value: ArrayLike) -> None:
        self._coulomb = not_negative('coulomb', value, self.n)

    @property
    def coulomb_velocity(self) -> Array:
        """The velocity (n) over which Coulomb friction turns its sign: rad/s, or m/s; zero for eq. (17) as it is."""
        return self._over.copy()

    @coulomb_velocity.setter
    def coulomb_velocity(self, value: ArrayLike) -> None:
        self._over = not_negative('coulomb_velocity', value, self.n)

    @property
    def presliding(self) -> tuple[tuple[Presliding, ...], ...]:
        """The presliding friction of every joint: none, one or several."""
        return self._presliding

    def set_presliding(self, joints: Sequence[Sequence[Presliding]]) -> None:
        """Set the presliding friction of every joint."""
        if len(joints) != self.n:
            raise ArgumentError(f'presliding: of {len(joints)} joints, must be of {self.n}')
        most = max(map(len, joints), default=0)
        if most > MAX_PRESLIDING:
            raise ArgumentError(f'presliding: {most} elements of a joint, must be at most {MAX_PRESLIDING}')
        self._presliding = tuple(tuple(joint) for joint in joints)
        self.kappa, self.delta = np.zeros((self.n, most)), np.ones((self.n, most))  # N m and rad, or N and m
        for row, joint in enumerate(self._presliding):
            self.kappa[row, : len(joint)] = [part.torque for part in joint]
            self.delta[row, : len(joint)] = [part.distance for part in joint]
        self.has_state = bool(self.kappa.any())  # some of it depends on the past: then `torque` wants z

    def torque(self, dq: Array, z: Array | None = None) -> Array:
        """Return what the motors must give (n) against friction; without z, the part that depends on dq alone."""
        sliding = self._viscous * dq + self._coulomb * coulomb(dq, self._over)
        return sliding if z is None or not self.has_state else sliding + self.presliding_torque(z)

    def presliding_torque(self, z: Array) -> Array:
        """Return the sum of kappa_k z_k (n)."""
        return np.asarray(np.einsum('jk,...jk->...j', self.kappa, z))

    def set_load_share(self, joints: Sequence[LoadShare | None]) -> None:
        """Set how much of its load every joint's effort shows; all of it where nothing is given."""
        shares = [share or LoadShare(1.0, 1.0, 0.0, 1.0) for share in joints]
        numbers = np.array([(x.pushing, x.braking, x.crossing, x.velocity) for x in shares], dtype=float)
        self._pushing, self._braking, self._crossing, self._turning = numbers.reshape(self.n, 4).T
        self.depends_on_load = any(share is not None for share in joints)

    def set_load_friction(self, joints: Sequence[LoadFriction | None]) -> None:
        """Set the friction of every joint that grows with its load."""
        parts = [part or LoadFriction(0.0, 1.0) for part in joints]
        numbers = np.array([(x.factor, x.velocity) for x in parts], dtype=float)
        self._load_friction, self._load_velocity = numbers.reshape(self.n, 2).T
        self.depends_on_load |= any(part is not None for part in joints)

    def hidden_load(self, dq: Array, load: Array) -> Array:
        """Return what the load (n) changes in a motor's effort, by share and friction, as a torque to be added.

        It is how the efforts of some drives read, and no dissipation: it belongs to measured efforts, on their way in,
        and never into a torque that is commanded.
        """
        if not self.depends_on_load:
            return np.zeros_like(load)
        brakes = braking(dq, load, self._crossing, self._turning)
        shared = (self._pushing + (self._braking - self._pushing) * brakes - 1.0) * load
        return np.asarray(shared + self._load_friction * np.abs(load) * np.tanh(dq / self._load_velocity))


class PreslidingState:
    """How the joints came to where they are: z (n, k), which follows their positions, measurement by measurement.

    Feed it the encoder's own positions: what is smoothed has lost the small steps that presliding lives on. It starts
    in the middle, z = 0, and forgets that after a few distances of movement.
    """

    def __init__(self, friction: FrictionModel) -> None:
        self._friction = friction
        self.forget()

    def forget(self) -> None:
        """Know nothing of the past."""
        self.z = np.zeros_like(self._friction.kappa)
        self._q: Array | None = None

    def move(self, q: Array) -> Array:
        """Go on to positions q (n), and return z (n, k). Positions that are not finite move nothing."""
        if not self._friction.has_state:
            return self.z
        if self.z.shape != self._friction.kappa.shape:
            self.forget()
        if not isfinite(q @ q):
            return self.z
        if self._q is not None:
            self.z = presliding(self.z, (q - self._q)[:, None], self._friction.delta)
        self._q = q.copy()
        return self.z


def not_negative(name: str, value: ArrayLike, n: int) -> Array:
    """Return n finite numbers, none negative, or raise `ArgumentError`."""
    vector = np.array(value, dtype=float)
    if vector.shape != (n,) or not (np.isfinite(vector) & (vector >= 0)).all():
        raise ArgumentError(f'{name}: {value!r}, must be {n} finite numbers, none negative')
    return vector


class Drive:
    """Springs, coupled friction and effort offsets of n joints; none until a robot is taken."""

    def __init__(self, n: int) -> None:
        """Begin without any."""
        self.n = n
        self._springs: Sequence[Spring | None] = [None] * n
        self.coupled = CoupledFriction((), [''] * n)
        self.has_springs = self.has_couplings = False
        self.effort_offset = np.zeros(n)

    def set_coefficients(self, robot: Robot) -> None:
        """Take what the robot file says; joints are in the robot's order."""
        self._springs = [joint.spring for joint in robot.moving_joints]
        self.has_springs = any(spring is not None for spring in self._springs)
        self.coupled = CoupledFriction(robot.couplings, robot.joint_names)
        self.has_couplings = bool(robot.couplings)
        self.effort_offset = np.array([joint.motor.effort_offset for joint in robot.moving_joints])

    @property
    def effort_offset(self) -> Array:
        """What efforts (n) read where there is no torque, N m (N)."""
        return self._offset.copy()

    @effort_offset.setter
    def effort_offset(self, value: ArrayLike) -> None:
        offset = np.array(value, dtype=float)
        if offset.shape != (self.n,) or not np.isfinite(offset).all():
            raise ArgumentError(f'effort_offset: {offset.tolist()}, must be {self.n} finite numbers')
        self._offset = offset

    def without_offset(self, effort: Array) -> Array:
        """Return the torque (n) that an effort stands for."""
        return np.asarray(effort - self._offset)

    def spring_torque(self, q: Array) -> Array:
        """Return what must be given (n) against springs."""
        return spring_torque(self._springs, q) if self.has_springs else np.zeros(self.n)

    def spring_energy(self, q: Array) -> float:
        """Return what springs hold, J."""
        return spring_energy(self._springs, q) if self.has_springs else 0.0

    def coupled_friction(self, dq: Array) -> Array:
        """Return what motors must give (n) against friction of joints together."""
        return self.coupled.torque(dq) if self.has_couplings else np.zeros(self.n)
