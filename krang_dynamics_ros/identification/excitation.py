"""Excitation trajectory for identification: a Fourier series of least condition number, within limits.

    q_j(s) = q0_j + sum over k of a_jk sin(k w s) + b_jk cos(k w s)      (Swevers and others, 1997)

The motion starts and ends at rest because its path parameter s starts and ends slowly; the path is the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from ..dynamics.drives import PreslidingState
from ..effects.joint_effects import JointEffects
from ..equations.newton_euler import NewtonEuler
from ..equations.regressor import moved_links, regressor
from ..recordings.recording import Recording
from ..robot.robot import Joint, Robot, units_of
from ..simulation.simulation import STEP, Simulation
from .clearance import Clearance

HARMONICS = 12  # many: inertias and rotors need acceleration, and friction limits the speed
RAMP = 2.0  # s, from rest to full speed, and back at the end
STATES = 160  # per period, for condition number and limits
DRAWS, STEPS = 60, 200  # of the search: random starts, and steps from the best
MARGIN = 0.9  # of a joint's range, velocity and effort
SPREAD = 1.5  # rad or m: the range of a joint without limits, to both sides
SPEED, EFFORT = 1.0, np.inf  # of a joint whose limit is not known; rad/s or m/s
MIN_DURATION = 2 * RAMP  # s: a shorter motion would need more effort than was checked
ROUNDS, LESS = 15, 1.02  # of shrinking a motion into its limits, and the extra factor of each
PATH_STATES = 2001  # of a period, for clearance; between two states `clearance.py` has a lower bound
POSES = 200  # random poses among which a clear pose is searched
SHRINKS, SHRINK = 8, 0.75  # number and factor of shrinks of a random motion that is not clear
# Of the largest entry, per row: a column with a smaller part of its own is a linear combination of those before it.
RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Excitation:
    """A trajectory of some joints: its middle (n) and its coefficients (n, harmonics) of sine and cosine."""

    joint_names: tuple[str, ...]
    period: float
    middle: Array
    sine: Array
    cosine: Array
    condition: float = np.inf  # condition number of the base regressor along it, with columns of unit length

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations (times, n) of the series at s (times)."""
        w = 2 * np.pi / self.period * np.arange(1, HARMONICS + 1)
        sin, cos = np.sin(np.outer(s, w)), np.cos(np.outer(s, w))
        return (
            self.middle + sin @ self.sine.T + cos @ self.cosine.T,
            (cos * w) @ self.sine.T - (sin * w) @ self.cosine.T,
            -(sin * w**2) @ self.sine.T - (cos * w**2) @ self.cosine.T,
        )

    def path(self, states: int) -> Array:
        """Return positions (states, n) along a period of the series, the path of every motion."""
        return self.at(np.linspace(0.0, self.period, states))[0]

    def from_rest_to_rest(self, time: Array, duration: float) -> tuple[Array, Array, Array]:
        """Return q, dq, ddq (times, n) of a motion on this path, at rest at time 0 and at time `duration`, s."""
        s, ds, dds = _path_parameter(time, duration)
        q, dq, ddq = self.at(s)
        return q, dq * ds[:, None], ddq * np.square(ds)[:, None] + dq * dds[:, None]


def _path_parameter(time: Array, duration: float) -> tuple[Array, Array, Array]:
    """Return the path parameter, which starts and ends slowly, and its two derivatives (times)."""
    ramp = min(RAMP, duration / 2)
    ending = time > duration / 2
    x = np.clip(np.where(ending, duration - time, time) / ramp, 0.0, 1.0)
    rate, change = x**2 * (3 - 2 * x), 6 * x * (1 - x) / ramp
    slow = ramp * (x**3 - x**4 / 2)
    begun = np.where(x < 1, slow, time - ramp / 2)
    return np.where(ending & (x < 1), duration - ramp - slow, begun), rate, np.where(ending, -change, change)


class Search:
    """The search for a trajectory of a robot whose other joints are fixed (`regressor.with_fixed_joints`)."""

    def __init__(self, robot: Robot, period: float, seed: int, clearance: Clearance | None = None) -> None:
        """Use the limits of the robot; `seed` is of the random trials. Without `clearance` no distance is checked."""
        self._robot, self._period, self._rng = robot, period, np.random.default_rng(seed)
        self._links, self._equations, self._clearance = moved_links(robot), NewtonEuler(robot), clearance
        self._time = np.arange(STATES) / STATES * period
        self._lower, self._upper = _limit(robot, 'lower', -SPREAD), _limit(robot, 'upper', SPREAD)
        self._speed, self._effort = MARGIN * _limit(robot, 'velocity', SPEED), MARGIN * _limit(robot, 'effort', EFFORT)
        self._dry = np.array([_dry_friction(joint) for joint in robot.moving_joints])
        self._more = JointEffects.of('friction', [joint.other_effects for joint in robot.moving_joints]).sum
        self._base = self._base_columns()
        self._beyond: Counter[str] = Counter()  # trials by the joint whose effort was beyond its limit

    def _base_columns(self) -> list[int]:
        """Return the indices of linearly independent columns."""
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
        """Return the regressor of rotors, viscous and Coulomb friction, then of the bodies' parameters."""
        joints = [(np.eye(self._robot.n) * x[:, None, :]) for x in (ddq, dq, np.sign(dq))]
        Y = regressor(self._robot, self._links, q, dq, ddq)
        return np.concatenate([*joints, Y], axis=2).reshape(-1, 3 * self._robot.n + Y.shape[2])

    def best(self, progress: Callable[[str], None] | None = None) -> Excitation:
        """Return the best trajectory that was found."""
        self._refuse_stuck()
        found: Excitation | None = None
        for k in range(DRAWS + STEPS):
            draw = k < DRAWS or found is None
            trial = self._tried(None if draw else found, 0.3 * 0.985 ** max(0, k - DRAWS))
            found = self._better(found, trial, SHRINKS if draw else 0) or found
            if progress:
                state = f'condition number {found.condition:.1f}' if found else f'no motion yet{self._obstacles()}'
                progress(f'{k + 1}/{DRAWS + STEPS}: {state}')
        if found is None:
            raise KrangDynamicsError(
                f'{self._robot.name}: no motion within limits and clear of itself, floor and base was found'
                f'{self._obstacles()}; fix other joints elsewhere (--fixed), move fewer (--joints), correct the '
                'floor (--floor), or ask for less clearance (--clearance)'
            )
        return found

    def _obstacles(self) -> str:
        """Return, as text, what stopped most trials."""
        names = self._clearance.obstacles()[:3] if self._clearance else []
        why = [f'mostly too near: {", ".join(" and ".join(pair) for pair in names)}'] if names else []
        if self._beyond:
            (joint, count), *_ = self._beyond.most_common(1)
            why.append(f'effort of {joint} beyond its limit in {count} trials')
        return f' ({"; ".join(why)})' if why else ''

    def _better(self, found: Excitation | None, trial: Excitation | None, shrinks: int) -> Excitation | None:
        """Return the trial, shrunk until it is clear, if it is better than the best so far."""
        for _ in range(shrinks + 1):
            if trial is None or (found is not None and trial.condition >= found.condition):
                return None
            if self._clearance is None or not self._clearance.blocked(trial.path(PATH_STATES)):
                return trial
            trial = self._within(trial.middle, SHRINK * trial.sine, SHRINK * trial.cosine)
        return None

    def _refuse_stuck(self) -> None:
        """Refuse joints that cannot move because their dry friction is larger than their effort limit."""
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
            middle = self._clear_middle()
            sine, cosine = rng.normal(size=(2, n, HARMONICS)) / np.arange(1, HARMONICS + 1)
        else:
            size = np.abs(near.sine).max()
            middle = near.middle + step * 0.3 * rng.normal(size=n)
            sine, cosine = (x + step * size * rng.normal(size=x.shape) for x in (near.sine, near.cosine))
        return None if middle is None else self._within(middle, sine, cosine)

    def _clear_middle(self) -> Array | None:
        """Return a random clear pose in the middle half of the limits; None if there is none among `POSES`."""
        room = 0.25 * (self._upper - self._lower)
        for _ in range(POSES):
            middle = self._rng.uniform(self._lower + room, self._upper - room)
            if self._clearance is None or not self._clearance.blocked(middle[None]):
                return np.asarray(middle)
        return None

    def _within(self, middle: Array, sine: Array, cosine: Array) -> Excitation | None:
        """Return the trajectory, shrunk joint by joint to stay within limits; None if that does not help."""
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
                return self._judged(trial)
            shrink = np.where(over > 1, 1 / (LESS * np.maximum(over, 1.0)), 1.0)[:, None]
            sine, cosine = sine * shrink, cosine * shrink
        self._beyond[self._robot.joint_names[int(over.argmax())]] += 1  # speed and range fit after shrinking
        return None

    def _effort_over(self, q: Array, dq: Array, ddq: Array) -> Array:
        robot = self._robot
        friction = np.abs(dq) * robot.viscous + self._dry + self._more.torque(np.abs(dq))
        torque = np.abs(self._equations.inverse_dynamics(q, dq, ddq)) + friction
        return np.asarray(torque.max(axis=0) / self._effort)

    def _judged(self, trial: Excitation) -> Excitation:
        """Return the trajectory with its condition number, by the eigenvalues of W^T W."""
        W = self._columns(*trial.at(self._time))[:, self._base]
        W = W / np.maximum(np.linalg.norm(W, axis=0), 1e-300)
        values = np.linalg.eigvalsh(W.T @ W)
        condition = np.sqrt(values[-1] / values[0]) if values[0] > 0 else np.inf
        return replace(trial, condition=float(condition))


def _limit(robot: Robot, name: str, unknown: float) -> Array:
    """Return a limit of every joint (n), and `unknown` where there is none."""
    known = [getattr(joint.limits, name, None) for joint in robot.moving_joints]
    return np.array([unknown if value is None else value for value in known], dtype=float)


def _dry_friction(joint: Joint) -> float:
    """Return the friction torque of a joint at the slowest sliding motion."""
    return joint.friction.coulomb + sum(part.torque for part in joint.friction.presliding)


STIFFNESS, DAMPING = 400.0, 40.0  # 1/s^2 and 1/s, of the controller's error: critical, settled within half a second
LEAD = 0.5  # s, left out at both ends: near rest the friction is not determined
ENCODER = 1e-5  # rad or m, resolution of a position
REPORT_EVERY = 1000  # steps


def run(
    robot: Robot,
    excitation: Excitation,
    duration: float,
    rate: float,
    noise: float,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Recording:
    """Record a simulated robot that follows the excitation by computed torque.

    `robot` has the joints of the excitation only. `noise` of the efforts is relative to the standard deviation of each;
    `rate` in Hz.
    """
    lead, between = round(LEAD * rate), max(1, math.ceil(1 / rate / STEP - 1e-6))
    h = 1 / rate / between  # s, a step; rows are at whole steps, at any rate
    steps = (round(duration * rate) + 2 * lead) * between
    instants = np.asarray(np.arange(steps + 1) * h, dtype=float)
    q, dq, _ = excitation.from_rest_to_rest(instants, steps * h)
    position, effort = _followed(robot, q, dq, h, progress)
    rows = slice(lead * between, steps - lead * between, between)
    time, position, effort = instants[rows], position[rows], effort[rows]
    rng = np.random.default_rng(seed)
    effort = effort + noise * effort.std(axis=0) * rng.normal(size=effort.shape)
    rounded = np.asarray(np.round(position / ENCODER) * ENCODER, dtype=float)
    return Recording('simulated', robot.joint_names, time - time[0], rounded, None, effort)


def _followed(
    robot: Robot, q: Array, dq: Array, h: float, progress: Callable[[str], None] | None
) -> tuple[Array, Array]:
    """Return positions and efforts (steps, n) of a simulated robot that follows q and dq (steps + 1, n), step h (s)."""
    simulation, steps = Simulation(robot, q[0]), len(q) - 1
    dry = PreslidingState(simulation.dynamics.friction)
    position, effort = np.zeros((2, steps, robot.n))
    for k in range(steps):
        acceleration = (dq[k + 1] - dq[k]) / h
        acceleration += STIFFNESS * (q[k] - simulation.q) + DAMPING * (dq[k] - simulation.dq)
        effort[k] = _torque(simulation, acceleration, dq[k + 1], dry.move(q[k + 1]))
        simulation.step(effort[k], h=h)
        position[k] = simulation.q
        if progress and k % REPORT_EVERY == 0:
            progress(f'simulated: {k * h:.0f} of {steps * h:.0f} s')
    return position, effort


def _torque(simulation: Simulation, acceleration: Array, dq: Array, z: Array) -> Array:
    """Return the torque (n) for an acceleration by the model, and for friction at velocity dq.

    The simulation evaluates friction at the end of a step. So dq and the position that is recorded with this torque are
    those at the end of the step: half a step (0.5 ms) of delay makes viscous friction look like 5 % of Krang's rotors.
    """
    dynamics = simulation.dynamics
    torque = dynamics.inverse_dynamics(simulation.q, simulation.dq, acceleration)
    both = dynamics.springs_and_couplings
    beside = both.spring_torque(simulation.q) + both.coupled_friction(dq)
    return np.asarray(torque + beside + dynamics.friction.torque(dq, z))
