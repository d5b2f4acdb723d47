"""A periodic trajectory that determines the parameters: a Fourier series of least condition number, within limits.

    q_j(t) = q0_j + sum over k of a_jk sin(k w t) + b_jk cos(k w t)      (Swevers and others, 1997)

It begins and ends every period at rest, so that it can be started, stopped and repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from ..equations.newton_euler import NewtonEuler
from ..robot.robot import Robot
from .clearance import Clearance
from .regressor import moved_links, regressor

HARMONICS = 5
STATES = 80  # per period: what condition number and limits are looked at
DRAWS, STEPS = 60, 200  # of the search: from anywhere, and from the best on
MARGIN = 0.9  # of a joint's range, velocity and effort
SPREAD = 1.5  # rad: the range of a joint without limits, to both sides
SPEED, EFFORT = 1.0, np.inf  # of a joint without limits
RANK = 1e-9  # of the largest pivot: a column that adds less is a combination of others


@dataclass(frozen=True, eq=False)
class Excitation:
    """A trajectory of some joints: its middle (n) and its factors (n, harmonics) of sine and cosine."""

    joint_names: tuple[str, ...]
    period: float
    middle: Array
    sine: Array
    cosine: Array
    condition: float = np.inf  # number of the base regressor along it

    def at(self, time: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations (times, n)."""
        w = 2 * np.pi / self.period * np.arange(1, HARMONICS + 1)
        s, c = np.sin(np.outer(time, w)), np.cos(np.outer(time, w))
        q = self.middle + s @ self.sine.T + (c - 1.0) @ self.cosine.T
        return (
            q,
            (c * w) @ self.sine.T - (s * w) @ self.cosine.T,
            -(s * w**2) @ self.sine.T - (c * w**2) @ self.cosine.T,
        )


class Search:
    """The search for a trajectory of a robot whose other joints are fixed (`regressor.held`)."""

    def __init__(self, robot: Robot, period: float, seed: int) -> None:
        """Take limits and shapes from the robot; the seed draws."""
        self._robot, self._period, self._rng = robot, period, np.random.default_rng(seed)
        self._links, self._equations, self._clearance = moved_links(robot), NewtonEuler(robot), Clearance(robot)
        self._time = np.arange(STATES) / STATES * period
        limits = [joint.limits for joint in robot.moving_joints]
        self._lower = np.array([-SPREAD if x is None or x.lower is None else x.lower for x in limits])
        self._upper = np.array([SPREAD if x is None or x.upper is None else x.upper for x in limits])
        self._speed = MARGIN * np.array([SPEED if x is None else x.velocity for x in limits])
        self._effort = MARGIN * np.array([EFFORT if x is None else x.effort for x in limits])
        self._base = self._base_columns()

    def _base_columns(self) -> list[int]:
        """Return columns of the regressor that stand for all others: each adds to those before it."""
        q = self._rng.uniform(self._lower, self._upper, (60, self._robot.n))
        dq, ddq = self._rng.normal(size=(2, *q.shape))
        W = regressor(self._robot, self._links, q, dq, ddq).reshape(-1, 10 * len(self._links))
        chosen: list[int] = []
        rest = W / max(float(np.abs(W).max()), 1e-12)
        for k in range(W.shape[1]):
            column = rest[:, k]
            norm = float(np.linalg.norm(column))
            if norm > RANK * len(W):
                chosen.append(k)
                direction = column / norm
                rest = rest - np.outer(direction, direction @ rest)
        return chosen

    def best(self, progress: Callable[[str], None] | None = None) -> Excitation:
        """Return the best trajectory that was found."""
        found: Excitation | None = None
        for k in range(DRAWS + STEPS):
            trial = self._tried(None if k < DRAWS or found is None else found, 0.3 * 0.985 ** max(0, k - DRAWS))
            if trial is not None and (found is None or trial.condition < found.condition):
                found = trial
            if progress:
                progress(f'{k + 1}/{DRAWS + STEPS}: condition number {found.condition if found else np.inf:.1f}')
        if found is None:
            raise KrangDynamicsError(
                f'{self._robot.name}: no motion was found within limits and clear of floor and base; '
                'hold other joints elsewhere (--held)'
            )
        return found

    def _tried(self, near: Excitation | None, step: float) -> Excitation | None:
        n, rng = self._robot.n, self._rng
        if near is None:
            room = 0.25 * (self._upper - self._lower)
            middle = rng.uniform(self._lower + room, self._upper - room)
            sine, cosine = rng.normal(size=(2, n, HARMONICS)) / np.arange(1, HARMONICS + 1)
        else:
            size = np.abs(near.sine).max()
            middle = near.middle + step * 0.3 * rng.normal(size=n)
            sine, cosine = (x + step * size * rng.normal(size=x.shape) for x in (near.sine, near.cosine))
        return self._within(middle, *_at_rest(sine, cosine))

    def _within(self, middle: Array, sine: Array, cosine: Array) -> Excitation | None:
        """Return the trajectory, made smaller where it must be, or nothing if it is not clear."""
        for _ in range(6):
            trial = Excitation(self._robot.joint_names, self._period, middle, sine, cosine)
            q, dq, ddq = trial.at(self._time)
            half = MARGIN * 0.5 * (self._upper - self._lower)
            centre = 0.5 * (self._upper + self._lower)
            over = np.abs(dq).max(axis=0) / self._speed
            reach = np.abs(q - middle).max(axis=0)
            over = np.maximum(over, reach / np.maximum(half - np.abs(middle - centre), 1e-9))
            over = np.maximum(over, np.sqrt(self._effort_over(q, dq, ddq)))
            if (over <= 1).all():
                return self._judged(trial, q, dq, ddq)
            shrink = (1 / np.maximum(over, 1.0))[:, None]
            sine, cosine = sine * shrink, cosine * shrink
        return None

    def _effort_over(self, q: Array, dq: Array, ddq: Array) -> Array:
        robot = self._robot
        friction = np.abs(dq) * robot.viscous + robot.coulomb
        torque = np.abs(self._equations.inverse_dynamics(q, dq, ddq)) + friction
        return np.asarray(torque.max(axis=0) / self._effort)

    def _judged(self, trial: Excitation, q: Array, dq: Array, ddq: Array) -> Excitation | None:
        if not self._clearance.keeps(q):
            return None
        W = regressor(self._robot, self._links, q, dq, ddq).reshape(-1, 10 * len(self._links))[:, self._base]
        norms = np.linalg.norm(W, axis=0)
        condition = np.inf if (norms == 0).any() else float(np.linalg.cond(W / norms))
        return Excitation(trial.joint_names, trial.period, trial.middle, trial.sine, trial.cosine, condition)


def _at_rest(sine: Array, cosine: Array) -> tuple[Array, Array]:
    """Return the factors with the last harmonic so that velocity and acceleration are zero where a period begins."""
    k = np.arange(1, HARMONICS + 1)
    sine, cosine = sine.copy(), cosine.copy()
    sine[:, -1] = -(sine[:, :-1] @ k[:-1]) / k[-1]
    cosine[:, -1] = -(cosine[:, :-1] @ k[:-1] ** 2) / k[-1] ** 2
    return sine, cosine
