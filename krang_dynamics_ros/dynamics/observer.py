"""Momentum observer: external torques from efforts and momentum (A. De Luca and R. Mattone, 2003).

The change of the momentum A dq less the integral of C^T dq - Q equals the integral of A ddq + C dq + Q. So each step
takes the mean of this sum on a path between two states, and A dq itself is never computed.

`terms.py` makes it the term `external`. `live/external.py` has its parameters, and passes its torques to
`hand_wrenches.py` and `contact.py`.
"""

from __future__ import annotations

from math import expm1, isfinite

import numpy as np

from ..core.base_motion import BaseMotion
from ..core.path import Path, Step
from ..core.spatial import Array
from .drives import PreslidingState
from .dynamics import Dynamics
from .efforts import Efforts
from .state import State


class LowPass:
    """First-order low pass with the time constant of the observer, for signals that are compared with its output.

    It is exact for any time step, and starts again after a gap.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Discard the history: the filter starts again at the next x."""
        self._value: Array | None = None
        self._stamp = self.start = 0  # ns

    def update(self, x: Array, gain: float, stamp: int, max_gap: float) -> Array:
        """Advance to x (n) at a stamp (ns) and return the filtered x (n).

        `gain` is K, 1/s. The filter starts again after a gap longer than `max_gap`, s.
        """
        dt = (stamp - self._stamp) / 1e9
        if self._value is None or not -max_gap <= dt <= max_gap:
            self._value, self.start = x.copy(), stamp
        elif dt > 0:
            self._value = self._value - expm1(-gain * dt) * (x - self._value)
        else:
            return self._value
        self._stamp = stamp
        return self._value


SETTLED = 5.0  # time constants 1 / K, after which 0.7 % of a step is missing
NO_STAMP = -1


class MomentumObserver:
    """External torques (n) of a robot: torques that the WORLD applies to the joints, N m (N).

    If the efforts of the states are external torques themselves, they are returned unfiltered.

    Attributes:
        gain: K, 1/s.
        efforts: meaning of the efforts.
        max_gap: longest time between two states, s; after a longer gap the observer starts again.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        self.gain = 10.0  # 1/s
        self.efforts = Efforts(dynamics)
        self.max_gap = 0.1  # s
        self._presliding = PreslidingState(dynamics.friction)
        self._path = Path()
        self._input_before = np.zeros(dynamics.n)
        self.forget()

    @property
    def stamp(self) -> int:
        """Stamp (ns) of the state of the torques; negative if there is none."""
        return self._stamp

    def forget(self) -> None:
        """Discard the history: the next estimate comes when the observer has settled."""
        self._stamp = NO_STAMP
        self.gap = 0.0  # s, between two stamps, that caused the reset; zero for another cause
        # Stamp (n), ns, since which the torque of each joint is filtered without a gap; and the latest of them.
        self._since, self._latest = np.full(self.dynamics.n, NO_STAMP), NO_STAMP
        self.torque = np.zeros(self.dynamics.n)
        self.acceleration = np.zeros(self.dynamics.n)  # of each joint, through the same low pass
        self._presliding.forget()
        self._base_before: BaseMotion | None = None

    def __call__(self, state: State) -> Array | None:
        """Advance to a state; return the external torques (n), NaN where unknown, or None if all are unknown.

        If joint states are split over several messages, it advances to the newest state in which all joints have the
        same instant, and stays there until a newer such state exists.
        """
        for instant in state.instants:
            if instant.dq is None:
                self.forget()
            else:
                self._follow(instant.q, instant.dq, self._joint_torque(instant), instant.stamp, instant.base)
        if state.parts is not None and state.parts.is_too_old:
            self.forget()
        if self.efforts.source == 'external':
            return _any(self.efforts.scaled(state))
        if self._stamp == NO_STAMP:
            return None
        settles = 1e9 * SETTLED / self.gain  # ns
        if self._stamp - self._latest >= settles:
            return self.torque.copy()
        return _any(np.where(self._stamp - self._since >= settles, self.torque, np.nan))

    def _joint_torque(self, state: State) -> Array:
        torque = self.efforts.torque(state)
        return np.zeros(self.dynamics.n) if torque is None else torque  # zero: not used, with effort source `external`

    def seconds_to_settle(self, state: State) -> float:
        """Return the time (s) until the torque of all joints with an effort is known."""
        known = np.zeros(self.dynamics.n, dtype=bool) if state.effort is None else np.isfinite(state.effort)
        left = SETTLED / self.gain - (self._stamp - self._since[known]) / 1e9
        return max(0.0, float(left.max())) if known.any() and self.efforts.source != 'external' else 0.0

    def _follow(self, q: Array, dq: Array, torque: Array, stamp: int, base: BaseMotion | None) -> None:
        dt = (stamp - self._stamp) / 1e9
        if self._stamp == NO_STAMP or not -self.max_gap <= dt <= self.max_gap:
            gap = 0.0 if self._stamp == NO_STAMP else dt
            self.forget()
            self.gap = gap
        elif dt <= 0:
            return  # the state came late or twice; the next step covers its time
        input_ = torque - self._drive_torque(q, dq)
        if self._stamp == NO_STAMP:
            self._path.begin(q, dq)
            self._since[:] = self._latest = stamp
        else:
            step, part = self._path.step(q, dq, dt), -expm1(-self.gain * dt)
            self.acceleration += part * (step.acceleration - self.acceleration)
            if self.efforts.source != 'external':
                self._filter(self._mean(step, base) - (self._input_before + input_) / 2, part, stamp)
        self._stamp, self._input_before, self._base_before = stamp, input_, base

    def _mean(self, step: Step, base: BaseMotion | None) -> Array:
        """Return the mean over a step of A ddq + C dq + Q (n), without rotors where a sensor is behind the gear."""
        if base is None:
            torque = self.dynamics.mean_inverse_dynamics(step)
        else:
            torque = self.dynamics.mean_on_moving_base(step, self._base_before or base, base)
        return torque if self.efforts.source == 'motor' else torque - self.dynamics.rotor_inertia * step.acceleration

    def _filter(self, torque: Array, part: float, stamp: int) -> None:
        self.torque = self.torque + part * (torque - self.torque)
        if not isfinite(torque @ torque):
            unknown = ~np.isfinite(torque)
            self.torque[unknown], self._since[unknown], self._latest = 0.0, stamp, stamp

    def _drive_torque(self, q: Array, dq: Array) -> Array:
        """Return the torque (n) between effort and links: springs, and friction if the effort is that of the motor."""
        z, both = self._presliding.move(q), self.dynamics.springs_and_couplings
        springs = both.spring_torque(q)
        if self.efforts.source != 'motor':
            return springs
        return self.dynamics.friction.torque(dq, z) + both.coupled_friction(dq) + springs


def _any(torque: Array) -> Array | None:
    return torque if np.isfinite(torque).any() else None
