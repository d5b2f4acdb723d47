"""A periodic trajectory that determines the parameters: a Fourier series of least condition number, within limits.

    q_j(s) = q0_j + sum over k of a_jk sin(k w s) + b_jk cos(k w s)      (Swevers and others, 1997)

It begins and ends at rest because s, its own time, does: that passes slowly at first and at last, so that the way is
the same. In between no joint rests together with another: what dry friction does at rest is anybody's guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from ..equations.newton_euler import NewtonEuler
from ..robot.robot import Joint, Robot
from ..robot.units import units_of
from .clearance import Clearance
from .regressor import moved_links, regressor

HARMONICS = 12  # many: what tells inertias and rotors is acceleration, and friction lets no joint be fast
RAMP = 2.0  # s: until the motion is as fast as it will be, and again at its end
STATES = 160  # per period: what condition number and limits are looked at
DRAWS, STEPS = 60, 200  # of the search: from anywhere, and from the best on
MARGIN = 0.9  # of a joint's range, velocity and effort
SPREAD = 1.5  # rad: the range of a joint without limits, to both sides
SPEED, EFFORT = 1.0, np.inf  # of a joint whose limit is not known
SHORTEST = 2 * RAMP  # s: a motion that came to rest faster would take more effort than was looked at
ROUNDS, LESS = 15, 1.02  # of making a motion smaller, and how much more than it must be: else it only comes near
RANK = 1e-9  # of the largest pivot: a column that adds less is a combination of others


@dataclass(frozen=True, eq=False)
class Excitation:
    """A trajectory of some joints: its middle (n) and its factors (n, harmonics) of sine and cosine."""

    joint_names: tuple[str, ...]
    period: float
    middle: Array
    sine: Array
    cosine: Array
    condition: float = np.inf  # number of the base regressor along it, its columns of length one

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations (times, n) of the series, which never rests."""
        w = 2 * np.pi / self.period * np.arange(1, HARMONICS + 1)
        sin, cos = np.sin(np.outer(s, w)), np.cos(np.outer(s, w))
        return (
            self.middle + sin @ self.sine.T + cos @ self.cosine.T,
            (cos * w) @ self.sine.T - (sin * w) @ self.cosine.T,
            -(sin * w**2) @ self.sine.T - (cos * w**2) @ self.cosine.T,
        )

    def from_rest_to_rest(self, time: Array, duration: float) -> tuple[Array, Array, Array]:
        """Return the same (times, n) of a motion that is at rest at time 0 and at the end of its duration, s."""
        s, ds, dds = _own_time(time, duration)
        q, dq, ddq = self.at(s)
        return q, dq * ds[:, None], ddq * np.square(ds)[:, None] + dq * dds[:, None]


def _own_time(time: Array, duration: float) -> tuple[Array, Array, Array]:
    """Return a time that begins and ends slowly, and its two derivatives (times)."""
    ramp = min(RAMP, duration / 2)
    ending = time > duration / 2
    x = np.clip(np.where(ending, duration - time, time) / ramp, 0.0, 1.0)
    rate, change = x**2 * (3 - 2 * x), 6 * x * (1 - x) / ramp
    slow = ramp * (x**3 - x**4 / 2)
    begun = np.where(x < 1, slow, time - ramp / 2)
    return np.where(ending & (x < 1), duration - ramp - slow, begun), rate, np.where(ending, -change, change)


class Search:
    """The search for a trajectory of a robot whose other joints are fixed (`regressor.held`)."""

    def __init__(self, robot: Robot, period: float, seed: int) -> None:
        """Take limits and shapes from the robot; the seed draws."""
        self._robot, self._period, self._rng = robot, period, np.random.default_rng(seed)
        self._links, self._equations, self._clearance = moved_links(robot), NewtonEuler(robot), Clearance(robot)
        self._time = np.arange(STATES) / STATES * period
        self._lower, self._upper = _limit(robot, 'lower', -SPREAD), _limit(robot, 'upper', SPREAD)
        self._speed, self._effort = MARGIN * _limit(robot, 'velocity', SPEED), MARGIN * _limit(robot, 'effort', EFFORT)
        self._dry = np.array([_dry_friction(joint) for joint in robot.moving_joints])
        self._base = self._base_columns()

    def _base_columns(self) -> list[int]:
        """Return columns that stand for all others: each adds to those before it."""
        q = self._rng.uniform(self._lower, self._upper, (60, self._robot.n))
        W = self._columns(q, *self._rng.normal(size=(2, *q.shape)))
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

    def _columns(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Return what the torques are linear in: rotors, viscous and Coulomb friction, then the bodies' parameters."""
        joints = [(np.eye(self._robot.n) * x[:, None, :]) for x in (ddq, dq, np.sign(dq))]
        Y = regressor(self._robot, self._links, q, dq, ddq)
        return np.concatenate([*joints, Y], axis=2).reshape(-1, 3 * self._robot.n + Y.shape[2])

    def best(self, progress: Callable[[str], None] | None = None) -> Excitation:
        """Return the best trajectory that was found."""
        self._refuse_stuck()
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

    def _refuse_stuck(self) -> None:
        """Name the joints that cannot move because their dry friction takes all of their effort."""
        stuck = [
            f'{joint.name} (friction {dry:.3g} {(unit := units_of(joint).effort)}, '
            f'effort limit {effort / MARGIN:.3g} {unit})'
            for joint, dry, effort in zip(self._robot.moving_joints, self._dry, self._effort, strict=True)
            if dry >= effort
        ]
        if stuck:
            raise KrangDynamicsError(
                f'{self._robot.name}: friction holds {", ".join(stuck)}; correct the limits in the robot file, or '
                'leave these joints out (--joints)'
            )

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
        return self._within(middle, sine, cosine)

    def _within(self, middle: Array, sine: Array, cosine: Array) -> Excitation | None:
        """Return the trajectory, made smaller where it must be, or nothing if it is not clear."""
        for _ in range(ROUNDS):
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
            shrink = np.where(over > 1, 1 / (LESS * np.maximum(over, 1.0)), 1.0)[:, None]
            sine, cosine = sine * shrink, cosine * shrink
        return None

    def _effort_over(self, q: Array, dq: Array, ddq: Array) -> Array:
        robot = self._robot
        friction = np.abs(dq) * robot.viscous + self._dry
        torque = np.abs(self._equations.inverse_dynamics(q, dq, ddq)) + friction
        return np.asarray(torque.max(axis=0) / self._effort)

    def _judged(self, trial: Excitation, q: Array, dq: Array, ddq: Array) -> Excitation | None:
        if not self._clearance.keeps(q):
            return None
        W = self._columns(q, dq, ddq)[:, self._base]
        norms = np.linalg.norm(W, axis=0)
        condition = np.inf if (norms == 0).any() else float(np.linalg.cond(W / norms))
        return Excitation(trial.joint_names, trial.period, trial.middle, trial.sine, trial.cosine, condition)


def _limit(robot: Robot, name: str, unknown: float) -> Array:
    """Return a limit of every joint (n); None is not known."""
    known = [getattr(joint.limits, name, None) for joint in robot.moving_joints]
    return np.array([unknown if value is None else value for value in known], dtype=float)


def _dry_friction(joint: Joint) -> float:
    """Return what a joint's friction takes at the slowest motion, once it slides."""
    return joint.friction.coulomb + sum(part.torque for part in joint.friction.presliding)
