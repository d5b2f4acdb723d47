"""What the world does to the joints, from measured efforts: the generalized momentum observer.

With the momentum p = A dq, dp/dt = tau - friction - Q + C^T dq + tau_ext. The observer's r follows tau_ext as a
first-order low pass: a step of size a shows as a (1 - exp(-K t)). A. De Luca, R. Mattone, "Actuator failure detection
and isolation using generalized momenta", ICRA 2003. Here a step in time is exact for any K dt:

    r <- e^(-K dt) r + (1 - e^(-K dt)) ((p - p_before) / dt - mean of (tau - friction - Q + C^T dq))

The mean of Q - C^T dq over a step is by Lobatto's rule of four points, of order 6, the two inner states being on the
quintic through the last three states; that of efforts and friction is the mean of both ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import expm1, isfinite
from typing import Literal, get_args

import numpy as np

from ..core.spatial import Array
from .dynamics import Dynamics
from .friction import PreslidingState
from .state import State

EffortSource = Literal['joint', 'motor', 'external']
EFFORT_SOURCES: tuple[str, ...] = get_args(EffortSource)
SETTLED = 5.0  # time constants 1 / K, after which a step shows to 0.7 %
NEVER = -1
INNER = 0.5 + 0.05**0.5 * np.array([-1.0, 1.0])  # points of a step; with both ends they are Lobatto's rule


class MomentumObserver:
    """External torques (n) of one robot: what the WORLD does to the joints, N m, or N for a prismatic joint.

    `source` says what `effort` means: `joint`, the torque that the links feel, by a sensor behind the gear; `motor`,
    that of the motor, times the gear ratio: then rotors and friction are between; `external`, the thing itself, which
    goes through as it is. `effort_scale` (n) makes N m of other units, such as amperes. `gain` is K, 1/s.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        self.gain = 10.0  # 1/s
        self.source: EffortSource = 'motor'
        self.effort_scale: Array = np.ones(dynamics.n)
        self.longest = 0.1  # s: after a gap longer than this it begins anew
        self._past = PreslidingState(dynamics.friction)
        self._way = Way(dynamics.n)
        self._q = self._dq = self._pull_before = self._input_before = self._momentum_before = np.zeros(dynamics.n)
        self._changes = dynamics.changes  # of the model, when it was followed last
        self.restart()

    def restart(self) -> None:
        """Forget everything: an estimate comes again when the observer has settled."""
        self._stamp = NEVER
        self.gap = 0.0  # s, between two stamps, that made it begin anew; zero if something else did
        self._way.forget()
        self._settling = np.zeros(self.dynamics.n)  # s that each joint has been followed for
        self.torque = np.zeros(self.dynamics.n)
        self.acceleration = np.zeros(self.dynamics.n)  # of each joint, through the same low pass
        self._past.forget()

    def __call__(self, state: State) -> Array | None:
        """Go on to a state; return the external torques (n), NaN where they cannot be told, or None if nowhere."""
        effort = np.full(self.dynamics.n, np.nan) if state.effort is None else state.effort * self.effort_scale
        if self.source == 'external':
            return _any(effort)
        if state.dq is None:
            self.restart()
            return None
        self._follow(state.q, state.dq, effort, state.stamp)
        settled = self._settling * self.gain >= SETTLED
        return self.torque.copy() if settled.all() else _any(np.where(settled, self.torque, np.nan))

    def unsettled(self, state: State) -> float:
        """Return how long it still takes (s) until every joint with an effort is told."""
        known = np.zeros(self.dynamics.n, dtype=bool) if state.effort is None else np.isfinite(state.effort)
        left = SETTLED / self.gain - self._settling[known]
        return max(0.0, float(left.max())) if known.any() and self.source != 'external' else 0.0

    def _follow(self, q: Array, dq: Array, effort: Array, stamp: int) -> None:
        dt = (stamp - self._stamp) / 1e9
        if self._stamp == NEVER or not -self.longest <= dt <= self.longest:
            gap = 0.0 if self._stamp == NEVER else dt
            self.restart()
            self.gap = gap
        elif dt <= 0:
            return  # a part of a state that came late, or twice: the next one has it
        pull, input_, momentum = self._pull(q, dq), effort - self._friction(q, dq, stamp), self._momentum(q, dq)
        if self._stamp != NEVER:
            one, other = (self._pull(*point) for point in self._way.inner(self._q, self._dq, q, dq, dt))
            mean_pull = (self._pull_before + 5 * (one + other) + pull) / 12
            if self.dynamics.changes != self._changes:  # both momenta are by the model of now
                self._momentum_before = self._momentum(self._q, self._dq)
            change = momentum - self._momentum_before
            self._filter(change / dt + mean_pull - (self._input_before + input_) / 2, (dq - self._dq) / dt, dt)
        self._q, self._dq, self._stamp, self._changes = q.copy(), dq.copy(), stamp, self.dynamics.changes
        self._pull_before, self._input_before, self._momentum_before = pull, input_, momentum

    def _filter(self, torque: Array, acceleration: Array, dt: float) -> None:
        part = -expm1(-self.gain * dt)
        self.torque = self.torque + part * (torque - self.torque)
        self.acceleration += part * (acceleration - self.acceleration)
        self._settling = self._settling + dt
        if not isfinite(torque @ torque):
            known = np.isfinite(torque)
            self.torque, self._settling = np.where(known, self.torque, 0.0), np.where(known, self._settling, 0.0)

    def _momentum(self, q: Array, dq: Array) -> Array:
        """Return p (n); what a sensor behind the gear feels has no rotor in it."""
        p = self.dynamics.A(q) @ dq
        return p if self.source == 'motor' else np.asarray(p - self.dynamics.rotor_inertia * dq)

    def _pull(self, q: Array, dq: Array) -> Array:
        """Return Q - C^T dq (n), what changes the momentum if nothing else does, with the opposite sign."""
        return np.asarray(self.dynamics.Q(q) - dq @ self.dynamics.C(q, dq))

    def _friction(self, q: Array, dq: Array, stamp: int) -> Array:
        z = self._past.move(q, stamp)
        return self.dynamics.friction_torque(dq, z) if self.source == 'motor' else np.zeros_like(dq)


class Way:
    """The way of one step, from a state q0, dq0 to the next one, dt later, as a polynomial in t from 0 to 1.

    It is the quintic that goes through the state before as well; without that one, the cubic through both ends:
    q0 + v t + change t^2 / 2 + bend t^2 (3 - 2 t) + (a + b t) t^2 (1 - t)^2, the last term zero for the cubic.
    """

    def __init__(self, n: int) -> None:
        self._terms = np.zeros((5, n))  # v, change, bend, a, b
        self._before: tuple[Array, Array, float] | None = None  # q0, dq0, dt of the step before

    def forget(self) -> None:
        """Know of no state before."""
        self._before = None

    def inner(self, q0: Array, dq0: Array, q1: Array, dq1: Array, dt: float) -> Iterable[tuple[Array, Array]]:
        """Return positions and velocities (n) at the inner points of a step.

        Stamps that jitter, and positions in coarse steps, would look like velocity there. So that stays near the
        velocity of even acceleration, as it does on any smooth movement.
        """
        v, change, bend, a, b = self._terms
        v[:], change[:] = dt * dq0, dt * (dq1 - dq0)
        bend[:] = q1 - q0 - v - change / 2  # what even acceleration does not explain
        if self._before is None:
            a[:] = b[:] = 0.0
        else:
            q, dq, dt_before = self._before
            rho = dt_before / dt
            w = (rho + rho * rho) ** 2
            a[:] = (q - q0 + rho * v - rho**2 / 2 * change - rho**2 * (3 + 2 * rho) * bend) / w
            b[:] = (dt * dq - v + rho * change + 6 * rho * (1 + rho) * bend) / w + (2 / rho + 2 / (1 + rho)) * a
            a += rho * b
        self._before = q0, dq0, dt
        limit = np.abs(change) + 0.1 * np.abs(v + change / 2)
        rate = np.minimum(np.maximum(_BENT @ self._terms, -limit), limit)
        return zip(q0 + _POSITION @ self._terms, (_EVEN @ self._terms + rate) / dt, strict=True)


def _rows(*values: Array) -> Array:
    """Return what v, change, bend, a, b have a part in (2, 5), at the inner points."""
    return np.column_stack([value * np.ones(2) for value in values])


_T = INNER
_U = INNER * (1 - INNER)
_POSITION = _rows(_T, _T**2 / 2, _T**2 * (3 - 2 * _T), _U**2, _U**2 * _T)
_EVEN = _rows(_T**0, _T, 0 * _T, 0 * _T, 0 * _T)
_BENT = _rows(0 * _T, 0 * _T, 6 * _U, 2 * _U * (1 - 2 * _T), 2 * _U * (1 - 2 * _T) * _T + _U**2)


def _any(torque: Array) -> Array | None:
    return torque if np.isfinite(torque).any() else None
