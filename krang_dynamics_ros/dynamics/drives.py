"""Drives of all joints: friction of single joints and its state; springs and coupled friction."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError
from ..core.limits import MAX_PRESLIDING
from ..core.spatial import Array
from ..effects.coupling import CoupledFriction
from ..effects.joint_effects import JointEffects
from ..effects.load import LoadFriction, LoadShare, braking
from ..effects.presliding import Presliding, presliding
from ..robot.robot import Joint, Robot


class FrictionModel:
    """Friction of n joints. Vectors (n) are in their order; all numbers can be set at any time."""

    def __init__(self, viscous: ArrayLike, coulomb: ArrayLike) -> None:
        """Create friction as in eq. 17, from F_v (n; N m s/rad, N s/m) and F_c (n; N m, N)."""
        self.n = len(np.asarray(viscous))
        self.sliding = JointEffects('friction', self.n)
        self.viscous, self.coulomb = viscous, coulomb
        self.set_presliding([()] * self.n)
        self.set_load_share([None] * self.n)
        self.set_load_friction([None] * self.n)

    def set_coefficients(self, joints: Sequence[Joint]) -> None:
        """Set what a URDF cannot contain: smoothing and other effects, presliding, load share and load friction."""
        viscous, coulomb = self.viscous, self.coulomb  # they include motors and mimic joints, a joint's effects do not
        self.sliding.set_joints([joint.effects for joint in joints])
        self.viscous, self.coulomb = viscous, coulomb
        self.set_presliding([joint.friction.presliding for joint in joints])
        self.set_load_share([joint.friction.load for joint in joints])
        self.set_load_friction([joint.friction.load_friction for joint in joints])

    @property
    def viscous(self) -> Array:
        """Viscous friction F_v (n), eq. 17, N m s/rad (N s/m)."""
        return self.sliding['viscous']

    @viscous.setter
    def viscous(self, value: ArrayLike) -> None:
        self.sliding['viscous'] = value

    @property
    def coulomb(self) -> Array:
        """Coulomb friction F_c (n), eq. 17, N m (N)."""
        return self.sliding['coulomb']

    @coulomb.setter
    def coulomb(self, value: ArrayLike) -> None:
        self.sliding['coulomb'] = value

    @property
    def coulomb_velocity(self) -> Array:
        """Velocity (n) over which Coulomb friction changes its sign, rad/s (m/s); zero: eq. 17, a jump."""
        return self.sliding['coulomb_velocity']

    @coulomb_velocity.setter
    def coulomb_velocity(self, value: ArrayLike) -> None:
        self.sliding['coulomb_velocity'] = value

    @property
    def presliding(self) -> tuple[tuple[Presliding, ...], ...]:
        """Presliding elements of each joint; may be empty."""
        return self._presliding

    def set_presliding(self, joints: Sequence[Sequence[Presliding]]) -> None:
        """Set the presliding elements of each joint."""
        if len(joints) != self.n:
            raise ArgumentError(f'presliding: {len(joints)} joints, must be {self.n}')
        count = max(map(len, joints), default=0)
        if count > MAX_PRESLIDING:
            raise ArgumentError(f'presliding: {count} elements of a joint, must be at most {MAX_PRESLIDING}')
        self._presliding = tuple(tuple(joint) for joint in joints)
        self.kappa, self.delta = np.zeros((self.n, count)), np.ones((self.n, count))  # N m and rad, or N and m
        for row, joint in enumerate(self._presliding):
            self.kappa[row, : len(joint)] = [part.torque for part in joint]
            self.delta[row, : len(joint)] = [part.distance for part in joint]
        self.has_state = bool(self.kappa.any())  # friction depends on the past: `torque` needs z

    def torque(self, dq: Array, z: Array | None = None) -> Array:
        """Return the torque (n) that overcomes friction; without z, the part that depends on dq alone."""
        sliding = self.sliding.sum.torque(dq)
        return sliding if z is None or not self.has_state else sliding + self.presliding_torque(z)

    def presliding_torque(self, z: Array) -> Array:
        """Return the sum of kappa_k z_k (n)."""
        return np.asarray(np.einsum('jk,...jk->...j', self.kappa, z))

    def set_load_share(self, joints: Sequence[LoadShare | None]) -> None:
        """Set the load share of each joint; None: the effort contains the whole load."""
        shares = [share or LoadShare() for share in joints]
        rows = np.array([(x.pushing, x.braking, x.crossing, x.velocity) for x in shares], dtype=float)
        self._pushing, self._braking, self._crossing, self._load_velocity_width = rows.reshape(self.n, 4).T
        self._has_load_share = any(share is not None for share in joints)

    def set_load_friction(self, joints: Sequence[LoadFriction | None]) -> None:
        """Set the friction of each joint that is proportional to its load."""
        parts = [part or LoadFriction() for part in joints]
        rows = np.array([(x.factor, x.velocity) for x in parts], dtype=float)
        self._load_friction, self._load_velocity = rows.reshape(self.n, 2).T
        self._has_load_friction = any(part is not None for part in joints)

    @property
    def depends_on_load(self) -> bool:
        """Whether a joint has a load share or load friction."""
        return self._has_load_share or self._has_load_friction

    def load_effect_on_reading(self, dq: Array, load: Array) -> Array:
        """Return the torque (n) that load share and load friction add to the reading of a motor, from its load (n).

        It describes how some drives measure, and is not a dissipation. It applies to measured efforts only, never to
        a commanded torque.
        """
        if not self.depends_on_load:
            return np.zeros_like(load)
        brakes = braking(dq, load, self._crossing, self._load_velocity_width)
        shared = (self._pushing + (self._braking - self._pushing) * brakes - 1.0) * load
        return np.asarray(shared + self._load_friction * np.abs(load) * np.tanh(dq / self._load_velocity))


class PreslidingState:
    """State z (n, elements) of presliding friction; it follows the joint positions, measurement by measurement.

    It needs the encoder's own positions: smoothing removes the small steps that presliding depends on. It starts at
    z = 0; the error of this start vanishes after a few `distance`s of movement.
    """

    def __init__(self, friction: FrictionModel) -> None:
        self._friction = friction
        self.forget()

    def forget(self) -> None:
        """Discard the history: z = 0."""
        self.z = np.zeros_like(self._friction.kappa)
        self._q: Array | None = None

    def move(self, q: Array) -> Array:
        """Advance to positions q (n) and return z (n, elements). Positions that are not finite change nothing."""
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


class SpringsAndCouplings:
    """Springs and coupled friction of n joints; zero until `set_coefficients`."""

    def __init__(self, n: int) -> None:
        """Create n joints without springs and coupled friction."""
        self.n = n
        self.springs = JointEffects('spring', n)
        self.coupled = CoupledFriction((), [''] * n)
        self.has_couplings = False

    def set_coefficients(self, robot: Robot) -> None:
        """Set all coefficients from a robot; joints are in the order of the robot."""
        self.springs.set_joints([joint.effects for joint in robot.moving_joints])
        self.coupled = CoupledFriction(robot.couplings, robot.joint_names)
        self.has_couplings = bool(robot.couplings)

    def spring_torque(self, q: Array) -> Array:
        """Return the torque (..., n) that holds the springs at q (..., n)."""
        return self.springs.sum.torque(q) if self.springs.acts else np.zeros_like(q)

    def spring_energy(self, q: Array) -> float:
        """Return the energy of the springs, J."""
        return self.springs.sum.integral(q)

    def coupled_friction(self, dq: Array) -> Array:
        """Return the torque (..., n) that overcomes the coupled friction at dq (..., n)."""
        return self.coupled.torque(dq) if self.has_couplings else np.zeros_like(dq)
