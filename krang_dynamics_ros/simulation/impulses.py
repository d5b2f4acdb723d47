"""What friction and stops give within one step of time, as impulses found together with the velocity they lead to.

Friction that does not jump (viscous, smoothed, presliding) is taken at the end of the step, for on a light wrist it may
be stiffer than the step allows. Dry friction and stops are impulses within bounds, found so that a joint either holds
exactly or slides with all of its friction: it neither creeps nor chatters. All of it is one convex problem, for a
joint's friction never falls with its velocity: so there is one velocity that fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..dynamics.drives import FrictionModel
from ..effects.coupling import CoupledFriction
from ..effects.sliding import coulomb, presliding

Floats = NDArray[np.floating[Any]]
SWEEPS = 200  # of Gauss-Seidel, where the quick way to the impulses does not settle


NEWTON = 30  # steps towards the velocity, three to five being the rule
ROUNDING = 1e-12  # of the cost, which may seem to grow by it
SETTLED = 1e-9  # rad/s, or m/s: a step of Newton's below it is none


class SmoothFriction:
    """A step's friction without jumps, as a function of the velocity (n) at its end."""

    def __init__(
        self, friction: FrictionModel, z: Array, dq: Array, h: float, coupled: CoupledFriction | None = None
    ) -> None:
        """Take the velocities dq (n) at the beginning of a step of h seconds, and the state z (n, k) of presliding."""
        self.h = h
        self._coupled = coupled or CoupledFriction((), [''] * len(dq))
        self._friction, self._z, self._before = friction, z, dq
        self._viscous, self._over = friction.viscous, friction.coulomb_velocity
        self._smoothed = np.where(self._over > 0, friction.coulomb, 0.0)
        self._width = np.where(self._over > 0, self._over, 1.0)
        self.dry = h * (friction.coulomb - self._smoothed)  # the most that jumping friction gives, N m s
        self.linear = not self._smoothed.any() and not friction.has_state and not len(self._coupled.W)
        self.none = self.linear and not self._viscous.any()

    def _movement(self, dq: Array) -> Array:
        """Return the movement (n, 1) of a step that ends with velocities dq."""
        return np.asarray(self.h / 2 * (self._before + dq))[:, None]

    def impulse(self, dq: Array) -> Array:
        """Return what it takes from the joints (n), N m s, if the step ends with dq."""
        torque = self._viscous * dq + self._smoothed * coulomb(dq, self._width)
        z = presliding(self._z, self._movement(dq), self._friction.delta)
        return np.asarray(self.h * (torque + self._friction.presliding_torque(z) + self._coupled.torque(dq)))

    def slope(self, dq: Array) -> Array:
        """Return d impulse / d dq (n) of each joint's own friction, which is never negative."""
        slope = self._viscous + self._smoothed / self._width * (1 - np.tanh(dq / self._width) ** 2)
        moved, kappa, delta = self._movement(dq), self._friction.kappa, self._friction.delta
        dz = (1 - np.sign(moved) * self._z) * np.exp(-np.abs(moved) / delta) / delta
        return np.asarray(self.h * (slope + self.h / 2 * np.einsum('jk,jk->j', kappa, dz)))

    def coupled_slope(self, dq: Array) -> Array:
        """Return d impulse / d dq (n, n) of the friction of joints together."""
        return self.h * self._coupled.slope(dq)

    def potential(self, dq: Array) -> float:
        """Return the sum of the integrals of `impulse` over dq: what the right velocity makes least, with the rest."""
        moved, kappa, delta = self._movement(dq), self._friction.kappa, self._friction.delta
        held = (np.sign(moved) * self._z - 1) * delta * (1 - np.exp(-np.abs(moved) / delta))
        springs = 2 / self.h * float(np.sum(kappa * (np.abs(moved) + held)))
        ratio = np.abs(dq / self._width)
        log_cosh = ratio + np.log1p(np.exp(-2 * ratio)) - np.log(2)
        own = float(self._viscous @ dq**2 / 2 + self._smoothed * self._width @ log_cosh)
        return self.h * (own + springs + self._coupled.potential(dq))


def velocity_after(A: Array, free: Array, smooth: SmoothFriction, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the velocity (n) at the end of a step that would end with `free` if nothing rubbed; and the impulses (n).

    `low` and `high` (n) bound the impulses of dry friction and stops, N m s; those are what is returned. By Newton's
    method, each step of which solves the bounded problem exactly; if smooth friction is linear, the first solves it.
    """

    def cost(dq: Array) -> float:
        away = dq - free
        return float(away @ A @ away / 2 + smooth.dry @ np.abs(dq)) + smooth.potential(dq)

    dq, bounded = _linearised(A, free, smooth, free, low, high)
    for _ in range(0 if smooth.linear else NEWTON):
        there, bounded = _linearised(A, free, smooth, dq, low, high)
        now, part = cost(dq), 1.0
        while part > SETTLED and cost(dq + part * (there - dq)) > now + ROUNDING * abs(now):
            part /= 2
        settled = part <= SETTLED or np.abs(there - dq).max() < SETTLED
        dq = dq + part * (there - dq)
        if settled:
            break
    return dq, bounded


def _linearised(
    A: Array, free: Array, smooth: SmoothFriction, around: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """Return the velocity and the bounded impulses (n) if smooth friction is a straight line around a velocity."""
    slope = np.diag(smooth.slope(around)) + smooth.coupled_slope(around)
    where, impulse = np.flatnonzero(low < high), np.zeros(len(free))
    mobility = np.linalg.inv(A + slope)
    dq = np.asarray(mobility @ (A @ free - smooth.impulse(around) + slope @ around))
    if len(where):
        impulse[where] = bounded_impulses(mobility[where][:, where], dq[where], low[where], high[where])
        dq = dq + mobility @ impulse
        dq[(impulse > low) & (impulse < high)] = 0.0  # held, to the last digit
    return dq, impulse


def bounded_impulses(mobility: Floats, velocity: Floats, low: Floats, high: Floats) -> Floats:
    """Return impulses (m) between `low` and `high` that bring velocities (m) to zero where the bounds allow it.

    `mobility` (m, m) is the change of velocity per impulse. An impulse at its upper bound leaves a velocity that is
    still negative, one at its lower bound one that is still positive.
    """
    alone = -velocity / np.diag(mobility)  # what would stop each joint if there were no other: a good guess
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
    """Go from joint to joint, each to its own best, until all are near theirs: slow, but it always settles."""
    for _ in range(SWEEPS):
        for k in range(len(impulse)):
            left = velocity[k] + mobility[k] @ impulse
            impulse[k] = min(max(impulse[k] - left / mobility[k, k], low[k]), high[k])
    return impulse
