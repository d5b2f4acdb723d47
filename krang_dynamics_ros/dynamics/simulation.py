"""A robot over time: forward dynamics with rotors, friction and stops.

Torques, pushes and gravity go through Runge-Kutta of fourth order. Friction and the joints' stops come as impulses at
the end of each step; those of dry friction are found so that a joint either holds exactly or slides with all of its
friction: it neither creeps nor chatters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import ArgumentError, unknown_name
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..robot.robot import Robot
from .factory import dynamics_of

Floats = NDArray[np.floating[Any]]
STEP = 1e-3  # s; Krang in free fall keeps its energy to 1e-4 with it
SWEEPS = 200  # of Gauss-Seidel, where the quick way to the impulses does not settle


class Simulation:
    """A robot's state, and how it goes on. Vectors (n,) are in the order of `robot.joint_names`."""

    def __init__(self, robot: Robot, q: ArrayLike | None = None) -> None:
        """Start at rest, at joint positions `q` or as near to zero as the limits allow."""
        self.robot = robot
        self.dynamics = dynamics_of(robot)
        limits = [joint.limits for joint in robot.moving_joints]
        self.lower = np.array([-np.inf if x is None or x.lower is None else x.lower for x in limits])
        self.upper = np.array([np.inf if x is None or x.upper is None else x.upper for x in limits])
        self.reset(q)

    def reset(self, q: ArrayLike | None = None) -> None:
        """Begin again, at rest."""
        self.place(np.clip(np.zeros(self.robot.n), self.lower, self.upper) if q is None else q)
        self.time, self.lost = 0.0, 0.0

    def place(self, q: ArrayLike) -> None:
        """Put the joints at q (n), at rest; time goes on."""
        position = np.array(q, dtype=float)
        if position.shape != (self.robot.n,):
            raise ArgumentError(f'q: shape {position.shape}, must be ({self.robot.n},)')
        for name, value, least, most in zip(self.robot.joint_names, position, self.lower, self.upper, strict=True):
            if not least <= value <= most:  # NaN is not
                raise ArgumentError(f'{name}: {value:g}, must be within its limits, {least:g} to {most:g}')
        self.q, self.dq = position, np.zeros(self.robot.n)

    def place_joints(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Put some joints, by name, where they are wanted; the others stay where they are, and all are at rest."""
        if len(names) != len(positions):
            raise ArgumentError(f'{len(names)} joints, but {len(positions)} positions; must be as many')
        q = self.q.copy()
        for name, position in zip(names, positions, strict=True):
            if name not in self.robot.joint_names:
                raise unknown_name('joint', name, self.robot.joint_names)
            q[self.robot.joint_names.index(name)] = position
        self.place(q)

    @property
    def energy(self) -> float:
        """Kinetic and potential energy (J). `lost` is what friction and stops have taken so far."""
        return self.dynamics.E(self.q, self.dq) + self.dynamics.U(self.q)

    def step(self, torque: Array, pushes: Sequence[Wrench] = (), h: float = STEP) -> None:
        """Go on by h seconds, under torques (n) at the joints and `pushes`, wrenches that the WORLD applies."""

        def acceleration(q: Array, dq: Array) -> Array:
            pushed = torque + self.dynamics.wrench_torque(q, pushes) if pushes else torque
            return self.dynamics.forward_dynamics(q, dq, pushed)

        before, start = self.dq, self.q
        q, dq = _runge_kutta(acceleration, start, before, h)
        after, impulse = self._rubbed_and_stopped(q, dq, h)
        self.lost -= float(impulse @ (dq + after)) / 2
        q = q + h / 2 * (after - dq)  # as if the impulse had acted all through the step
        still = (before == 0) & (after == 0)
        self.q, self.dq = np.clip(np.where(still, start, q), self.lower, self.upper), after
        self.time += h

    def _rubbed_and_stopped(self, q: Array, dq: Array, h: float) -> tuple[Array, Array]:
        """Return the velocity (n) after friction and stops had their say, and the impulse (n) that they gave, N m s.

        Viscous friction is taken at the velocity it leads to, for on a light wrist it may be stiffer than h allows.
        """
        viscous, dry = self.dynamics.viscous * h, self.dynamics.coulomb * h
        low, high = np.where(q > self.upper, -np.inf, -dry), np.where(q < self.lower, np.inf, dry)
        where = np.flatnonzero(low < high)
        if not len(where) and not viscous.any():
            return dq, np.zeros_like(dq)
        A = self.dynamics.A(q)
        mobility = np.linalg.inv(A + np.diag(viscous))
        after = mobility @ (A @ dq)
        if len(where):
            bounded = bounded_impulses(mobility[np.ix_(where, where)], after[where], low[where], high[where])
            after = after + mobility[:, where] @ bounded
            after[where[(bounded > low[where]) & (bounded < high[where])]] = 0.0  # held, to the last digit
        return after, A @ (after - dq)


def _runge_kutta(a: Callable[[Array, Array], Array], q: Array, dq: Array, h: float) -> tuple[Array, Array]:
    """Return position and velocity after h seconds."""
    a1 = a(q, dq)
    v2 = dq + h / 2 * a1
    a2 = a(q + h / 2 * dq, v2)
    v3 = dq + h / 2 * a2
    a3 = a(q + h / 2 * v2, v3)
    v4 = dq + h * a3
    a4 = a(q + h * v3, v4)
    return q + h / 6 * (dq + 2 * v2 + 2 * v3 + v4), dq + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def bounded_impulses(mobility: Floats, velocity: Floats, low: Floats, high: Floats) -> Floats:
    """Return impulses (m) between `low` and `high` that bring velocities (m) to zero where the bounds allow it.

    `mobility` (m, m) is the change of velocity per impulse. An impulse at its upper bound leaves a velocity that is
    still negative, one at its lower bound one that is still positive.
    """
    impulse = np.clip(np.zeros_like(velocity), low, high)
    free = np.ones(len(velocity), dtype=bool)
    for _ in range(3 * len(velocity)):
        impulse[free] = 0.0
        rest = velocity + mobility @ impulse
        impulse[free] = np.linalg.solve(mobility[np.ix_(free, free)], -rest[free])
        held = np.clip(impulse, low, high)
        beyond = held != impulse
        impulse = held
        left = velocity + mobility @ impulse
        back = ~free & (((impulse == high) & (left > 0)) | ((impulse == low) & (left < 0)))
        if not beyond.any() and not back.any():
            return impulse
        free = (free & ~beyond) | back
    return _gauss_seidel(mobility, velocity, low, high, impulse)


def _gauss_seidel(mobility: Floats, velocity: Floats, low: Floats, high: Floats, impulse: Floats) -> Floats:
    """Go from joint to joint, each to its own best, until all are near theirs: slow, but it always settles."""
    for _ in range(SWEEPS):
        for k in range(len(impulse)):
            left = velocity[k] + mobility[k] @ impulse
            impulse[k] = min(max(impulse[k] - left / mobility[k, k], low[k]), high[k])
    return impulse
