"""Impulses of friction and stops within one time step, solved together with the velocity at the end of the step.

Smooth friction (viscous, smoothed Coulomb, presliding) is evaluated at the end of the step: on a light wrist it may be
too stiff for an explicit step. Dry friction and stops are bounded impulses, so that a joint either holds exactly or
slides with all of its friction; it neither creeps nor chatters. If no friction falls with velocity, the whole is one
convex problem with a single solution; with friction that falls (Stribeck), a step finds a local minimum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..dynamics.drives import FrictionModel
from ..effects.coupling import CoupledFriction
from ..effects.presliding import presliding

Floats = NDArray[np.floating[Any]]
MAX_SWEEPS = 200  # of Gauss-Seidel, used where the active-set method does not converge
MAX_NEWTON_STEPS = 30  # three to five are usual
ROUNDING = 1e-12  # relative: the cost may seem to grow by it
CONVERGED = 1e-9  # rad/s or m/s: a smaller Newton step counts as none


class SmoothFriction:
    """Smooth friction of a step, as a function of the velocity (n) at its end."""

    def __init__(
        self, friction: FrictionModel, z: Array, dq: Array, h: float, coupled: CoupledFriction | None = None
    ) -> None:
        """Begin a step of h seconds at velocities dq (n) and presliding states z (n, elements)."""
        self.h = h
        self._coupled = coupled or CoupledFriction((), [''] * len(dq))
        self._friction, self._z, self._before = friction, z, dq
        self._sliding = friction.sliding.smooth
        self.dry = h * friction.sliding.dry  # largest impulse of dry friction, N m s
        self.linear = self._sliding.linear and not friction.has_state and not len(self._coupled.W)
        self.is_zero = self.linear and not self._sliding.effects  # no smooth friction at any velocity

    def _movement(self, dq: Array) -> Array:
        """Return the displacement (n, 1) of a step that ends with velocities dq."""
        return np.asarray(self.h / 2 * (self._before + dq))[:, None]

    def impulse(self, dq: Array) -> Array:
        """Return the impulse (n), N m s, that it takes from the joints if the step ends with dq."""
        torque = self._sliding.torque(dq)
        z = presliding(self._z, self._movement(dq), self._friction.delta)
        return np.asarray(self.h * (torque + self._friction.presliding_torque(z) + self._coupled.torque(dq)))

    def slope(self, dq: Array) -> Array:
        """Return d impulse / d dq (n) of the friction of single joints; a negative slope counts as zero."""
        slope = np.maximum(self._sliding.slope(dq), 0.0)
        moved, kappa, delta = self._movement(dq), self._friction.kappa, self._friction.delta
        dz = (1 - np.sign(moved) * self._z) * np.exp(-np.abs(moved) / delta) / delta
        return np.asarray(self.h * (slope + self.h / 2 * np.einsum('jk,jk->j', kappa, dz)))

    def coupled_slope(self, dq: Array) -> Array:
        """Return d impulse / d dq (n, n) of coupled friction."""
        return self.h * self._coupled.slope(dq)

    def potential(self, dq: Array) -> float:
        """Return the sum of the integrals of `impulse` over dq: a part of the cost that the solution minimises."""
        moved, kappa, delta = self._movement(dq), self._friction.kappa, self._friction.delta
        held = (np.sign(moved) * self._z - 1) * delta * (1 - np.exp(-np.abs(moved) / delta))
        springs = 2 / self.h * float(np.sum(kappa * (np.abs(moved) + held)))
        return self.h * (self._sliding.integral(dq) + springs + self._coupled.potential(dq))


def velocity_after(A: Array, unresisted: Array, smooth: SmoothFriction, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the velocity (n) at the end of a step, and the impulses (n; N m s) of dry friction and stops.

    `unresisted` is the velocity without friction and stops; `low` and `high` (n) bound the impulses. Newton's method:
    each step solves the bounded problem exactly, and the first is enough if smooth friction is linear.
    """

    def cost(dq: Array) -> float:
        away = dq - unresisted
        return float(away @ A @ away / 2 + smooth.dry @ np.abs(dq)) + smooth.potential(dq)

    dq, bounded = _linearised(A, unresisted, smooth, unresisted, low, high)
    for _ in range(0 if smooth.linear else MAX_NEWTON_STEPS):
        new, bounded = _linearised(A, unresisted, smooth, dq, low, high)
        before, part = cost(dq), 1.0
        while part > CONVERGED and cost(dq + part * (new - dq)) > before + ROUNDING * abs(before):
            part /= 2
        converged = part <= CONVERGED or np.abs(new - dq).max() < CONVERGED
        dq = dq + part * (new - dq)
        if converged:
            break
    return dq, bounded


def _linearised(
    A: Array, unresisted: Array, smooth: SmoothFriction, around: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """Return velocity and bounded impulses (n) with smooth friction linearised around a velocity."""
    slope = np.diag(smooth.slope(around)) + smooth.coupled_slope(around)
    limited, impulse = np.flatnonzero(low < high), np.zeros(len(unresisted))
    mobility = np.linalg.inv(A + slope)
    dq = np.asarray(mobility @ (A @ unresisted - smooth.impulse(around) + slope @ around))
    if len(limited):
        impulse[limited] = bounded_impulses(mobility[limited][:, limited], dq[limited], low[limited], high[limited])
        dq = dq + mobility @ impulse
        dq[(impulse > low) & (impulse < high)] = 0.0  # held exactly
    return dq, impulse


def bounded_impulses(mobility: Floats, velocity: Floats, low: Floats, high: Floats) -> Floats:
    """Return impulses (m) between `low` and `high` that bring velocities (m) to zero where the bounds allow it.

    `mobility` (m, m) is the change of velocity per impulse. An impulse at its upper bound may leave a negative
    velocity, at its lower bound a positive velocity.
    """
    alone = -velocity / np.diag(mobility)  # stops each joint if there were no other: a first guess
    impulse = np.clip(alone, low, high)
    free = impulse == alone
    for _ in range(3 * len(velocity)):
        impulse[free] = 0.0
        rest = velocity + mobility @ impulse
        impulse[free] = np.linalg.solve(mobility[free][:, free], -rest[free])
        held = np.clip(impulse, low, high)
        beyond = held != impulse
        impulse = held
        left = velocity + mobility @ impulse
        back = ~free & (((impulse == high) & (left > 0)) | ((impulse == low) & (left < 0)))
        if not beyond.any() and not back.any():
            return impulse
        free = (free & ~beyond) | back
    return gauss_seidel(mobility, velocity, low, high, impulse)


def gauss_seidel(mobility: Floats, velocity: Floats, low: Floats, high: Floats, impulse: Floats) -> Floats:
    """Solve the same problem, joint by joint, in `MAX_SWEEPS` sweeps: slow, but it always converges."""
    for _ in range(MAX_SWEEPS):
        for k in range(len(impulse)):
            left = velocity[k] + mobility[k] @ impulse
            impulse[k] = min(max(impulse[k] - left / mobility[k, k], low[k]), high[k])
    return impulse
