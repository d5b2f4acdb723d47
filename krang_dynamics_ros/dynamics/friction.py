"""Friction of all joints: one model for feed-forward, observer, simulation and identification.

    Gamma_f = F_v dq + F_c coulomb(dq) + sum of kappa_k z_k

The first two are the report's eq. (17), the default; a joint may have its Coulomb friction smoothed over a velocity,
and presliding friction, which depends on how the joint came to where it is (`core.friction_shapes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError
from ..core.friction_shapes import braking, coulomb, presliding
from ..core.limits import MAX_PRESLIDING
from ..core.spatial import Array
from ..robot.drive import Friction, LoadFriction, LoadShare, Presliding


class FrictionModel:
    """Friction of n joints. Vectors (n) are in their order; every number can be set at any time."""

    def __init__(self, viscous: ArrayLike, coulomb: ArrayLike) -> None:
        """Take the report's form: F_v (N m s/rad, or N s/m) and F_c (N m, or N) of every joint."""
        self.n = len(np.asarray(viscous))
        self.viscous, self.coulomb, self.coulomb_velocity = viscous, coulomb, np.zeros(self.n)
        self.set_presliding([()] * self.n)
        self.set_load_share([None] * self.n)
        self.set_load_friction([None] * self.n)

    def take(self, joints: Sequence[Friction]) -> None:
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
