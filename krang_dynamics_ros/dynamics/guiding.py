"""Damping, stops and friction compensation, for an arm that a person leads by hand: passive although they are sampled.

A torque acts late: its state is `delay` old by then, and it is held for a period. A spring K that acts late adds
energy; so does a damper B that acts too late. With tau = delay + half a period, and A_e = 1 / (A^-1)_jj, the inertia of
a joint while all others are free, a joint stays passive if B tau <= 0.3 A_e and K tau <= B / 2. Both are reduced to
that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from ..effects.sliding import coulomb_share
from .dynamics import Dynamics
from .state import State

FIRST_PERIOD = 0.01  # s, assumed until a period is measured: a slow joint state broadcaster
LONGEST_PERIOD = 0.1  # s: a longer interval is a gap, no period
FORGETS = 0.5  # s: time constant with which maxima of period and age decay
DAMPING_SHARE = 0.3  # largest B tau / A_e
SPRING_SHARE = 0.5  # largest K tau / B
STEEPER = 5.0  # times the damping coefficient: the slope above `damping_above`
LEAD = 2.0  # times tau: a joint starts to brake that much earlier than its margin
SMOOTH = 0.02  # rad/s (m/s): minimum range of velocity in which compensated friction changes its sign
NARROW = 0.25  # of a joint's range: maximum margin on each side


class Inertias(NamedTuple):
    """Inertias of the joints (n), kg m^2 (kg)."""

    own: Array  # A_jj (n): the other joints are locked
    effective: Array  # A_e (n): the other joints are free; zero where a joint moves no mass


class ControlLoop:
    """The delay with which the torque of a state acts, and the joints' inertias at that state."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.age_of: Callable[[State], float] = lambda state: 0.0  # s: known age of a state
        self._dynamics = dynamics
        self.forget()

    def forget(self) -> None:
        """Restart with the next state."""
        self.period, self._age, self._stamp = FIRST_PERIOD, 0.0, 0
        self._state: State | None = None
        self._inertias: Inertias | None = None

    def observe(self, state: State) -> None:
        """Update period and age with the state whose torque is computed now. Their maxima decay over FORGETS."""
        if state is self._state:
            return
        self._state, self._inertias = state, None
        passed, self._stamp = (state.stamp - self._stamp) * 1e-9, max(self._stamp, state.stamp)
        if not 0 <= passed <= LONGEST_PERIOD:
            self.period, self._age = FIRST_PERIOD, 0.0
        kept = 1 - min(max(passed, 0.0) / FORGETS, 1.0)
        if 0 < passed <= LONGEST_PERIOD:
            self.period = max(passed, passed + (self.period - passed) * kept)
        self._age = max(self.age_of(state), self._age * kept)

    @property
    def known(self) -> bool:
        """Whether it has observed a state."""
        return self._state is not None

    @property
    def tau(self) -> float:
        """Delay + half a period, s.

        The delay is the age of the state and a period, assumed for the way to the motor; at least two periods.
        """
        return max(self._age + self.period, 2 * self.period) + self.period / 2

    @property
    def inertias(self) -> Inertias:
        """The joints' inertias at the newest state."""
        if self._inertias is None and self._state is not None:
            self._inertias = inertias(self._dynamics.A(self._state.q))
        return self._inertias or Inertias(*np.zeros((2, self._dynamics.n)))

    @property
    def most_damping(self) -> Array:
        """The largest damping coefficients (n) that are passive, N m s/rad (N s/m)."""
        return np.asarray(DAMPING_SHARE * self.inertias.effective / self.tau)


def inertias(A: Array) -> Inertias:
    """Return the joints' inertias by A (n, n)."""
    own = np.diag(A)
    try:
        mobility = np.diag(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        mobility = np.zeros(len(A))
    with np.errstate(divide='ignore'):
        effective = np.where((mobility > 0) & np.isfinite(mobility), 1 / mobility, 0.0)
    return Inertias(own, np.clip(effective, 0.0, np.maximum(own, 0.0)))


class Stops:
    """A spring and a damper of each joint that push away from its position limits, inside a margin before them."""

    def __init__(self, dynamics: Dynamics) -> None:
        n = dynamics.n
        self.loop = ControlLoop(dynamics)
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)  # rad (m); infinite: no limit
        self.effort = np.zeros(n)  # effort limits, N m (N); zero: not known, then there is no stop
        self.margin = np.full(n, 0.1)  # rad (m)
        self.stiffness, self.damping = 1.0, 0.7  # spring torque at the limit / effort limit; damping ratio
        self.too_fast: dict[int, tuple[float, float]] = {}  # by joint: speed at its stop, and the needed margin
        self._dynamics = dynamics
        self._of: State | None = None
        self._zero_depth = np.zeros((2, n))  # depth, rad (m), in the upper and the lower stop that counts as zero
        self._set_zero = False  # whether the next state sets it

    def forget(self) -> None:
        """Restart with the next state."""
        self.loop.forget()
        self._of = None

    def zero_depth(self) -> None:
        """From the next state on, count the present depth of each joint in its stop as zero, so that no spring pushes.

        A spring then pushes a joint that goes deeper. Once the joint has been less deep, that depth counts as zero.
        """
        self._set_zero, self._of = True, None

    def forget_zero_depth(self) -> None:
        """Let the springs push in the whole margins again."""
        if self._set_zero or self._zero_depth.any():
            self._set_zero, self._zero_depth, self._of = False, np.zeros_like(self._zero_depth), None

    @property
    def margins(self) -> Array:
        """The margins (n) in use, rad (m): narrower for a joint with a small range."""
        return np.asarray(np.minimum(self.margin, NARROW * (self.upper - self.lower)))

    @property
    def nominal_gains(self) -> tuple[Array, Array]:
        """K and B (n) by the parameters, N m/rad and N m s/rad (N/m, N s/m)."""
        K = np.where(self.margins > 0, self.stiffness * self.effort / np.maximum(self.margins, 1e-9), 0.0)
        return K, np.asarray(2 * self.damping * np.sqrt(K * np.maximum(self.loop.inertias.own, 0.0)))

    @property
    def gains(self) -> tuple[Array, Array]:
        """K and B (n), reduced to stay passive."""
        K, B = self.nominal_gains
        B = np.minimum(B, self.loop.most_damping)
        return np.minimum(K, SPRING_SHARE * B / self.loop.tau), B

    def __call__(self, state: State) -> Array:
        """Return the torque (n), N m (N)."""
        self._update(state)
        return self._torque.copy()

    def slope(self, state: State) -> Array:
        """Return the damping coefficients (n) of the stops that joints touch now."""
        self._update(state)
        return np.where(self._touched, self._B, 0.0)

    def _update(self, state: State) -> None:
        if state is self._of:
            return
        self._of = state
        self.loop.observe(state)
        q, dq = state.q, state.velocity
        near = self.margins + LEAD * self.loop.tau * np.abs(dq)
        sides = [(sign * (q - limit), sign * dq) for sign, limit in ((1.0, self.upper), (-1.0, self.lower))]
        self._touched = (sides[0][0] + near > 0) | (sides[1][0] + near > 0)
        self._torque, self._B = np.zeros(len(q)), np.zeros(len(q))
        depths = np.maximum([beyond + self.margins for beyond, _ in sides], 0.0)
        self._zero_depth = depths if self._set_zero else np.minimum(self._zero_depth, depths)
        self._set_zero = False
        if not self._touched.any():
            return
        K, self._B = self.gains
        left = np.maximum(self.effort - np.abs(self._dynamics.Q(q)), 0.0)
        for sign, (beyond, closing), zero in zip((1.0, -1.0), sides, self._zero_depth, strict=True):
            depth = beyond + self.margins
            touched = depth + LEAD * self.loop.tau * np.maximum(closing, 0.0) > 0
            push = np.clip(K * np.maximum(depth - zero, 0.0) + self._B * closing, 0.0, left)
            self._torque -= sign * np.where(touched, push, 0.0)
            self._note(touched & (closing > 0) & (depth < 0.5 * self.margins), closing, K, left)

    def _note(self, enters: Array, speed: Array, K: Array, left: Array) -> None:
        """Store joints that enter their stop faster than their margins allow."""
        for k in np.flatnonzero(enters):
            needed = self.needed_margin(int(k), float(speed[k]), (float(K[k]), float(self._B[k])), float(left[k]))
            if needed > self.margins[k] and speed[k] > self.too_fast.get(int(k), (0.0, 0.0))[0]:
                self.too_fast[int(k)] = float(speed[k]), needed

    def needed_margin(self, k: int, speed: float, gains: tuple[float, float], left: float) -> float:
        """Return the margin, rad (m), in which joint k stops from a speed by half of the torque that is left.

        Where the gains K and B are reduced, it is at least the way that the inertia A_jj goes into spring and damper.
        """
        inertia, (K, B) = float(self.loop.inertias.own[k]), gains
        by_effort = inertia * speed**2 / left if left > 0 else math.inf
        if 0.99 * self.nominal_gains[0][k] <= K or not inertia > 0:
            return by_effort
        return max(by_effort, overshoot(inertia, K, B, speed)) if K > 0 else math.inf


def overshoot(inertia: float, K: float, B: float, speed: float) -> float:
    """Return how far an inertia with a speed goes into a spring K and a damper B, rad (m)."""
    frequency = math.sqrt(K / inertia)
    ratio = min(B / (2 * math.sqrt(K * inertia)), 0.999)
    return speed / frequency * math.exp(-ratio / math.sqrt(1 - ratio**2) * math.acos(ratio))


class FrictionCompensation:
    """The share of the friction that the total compensates: smooth at standstill, so that noise moves nothing."""

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics = dynamics
        self.push: Callable[[State], Array | None] = lambda state: None  # torque (n) of the world, NaN where unknown
        self.set_gain(np.ones(dynamics.n))

    def set_gain(self, gain: Array) -> None:
        """Set the compensated share (n), 0 to 1; 1: all of the friction, not smoothed."""
        self.gain, self.partly = gain, bool((gain < 1).any())

    def of(self, friction: Array, state: State) -> Array:
        """Return the compensated part (n) of `torque/friction` (n)."""
        model, dq = self._dynamics.friction, state.velocity
        motion = coulomb_share(dq, np.maximum(model.coulomb_velocity, SMOOTH))
        direction = np.clip(motion + (1 - np.abs(motion)) * self._intent(state), -1, 1)
        smooth = friction + model.coulomb * (direction - coulomb_share(dq, model.coulomb_velocity))
        return np.where(self.gain == 1, friction, self.gain * smooth)

    def of_coupling(self, state: State) -> Array:
        """Return the compensated part (n) of `torque/coupling`: of each pair, the smaller share of its joints."""
        return self._dynamics.springs_and_couplings.coupled.shared(state.velocity, self.gain, SMOOTH)

    def _intent(self, state: State) -> Array:
        """Return where a push at standstill is to move each joint (n): the sign, and from 0 to 1 how surely.

        0 up to half of the uncompensated Coulomb friction, so that a smaller error of the model moves nothing; 1 from
        all of it on, at which the joint begins to move.
        """
        push, left = self.push(state), (1 - self.gain) * self._dynamics.friction.coulomb
        if push is None:
            return np.zeros(len(left))
        known = np.where((left > 0) & np.isfinite(push), push, 0.0)
        shown = np.clip(2 * np.abs(known) / np.where(left > 0, left, 1.0) - 1, 0, 1)
        return np.asarray(np.sign(known) * shown)


class Damping:
    """A damper of each joint, steeper above a speed."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.loop = ControlLoop(dynamics)
        self.coefficient = np.zeros(dynamics.n)  # N m s/rad (N s/m)
        self.above = np.full(dynamics.n, np.inf)  # rad/s (m/s)
        self.stops: Stops | None = None  # their damping is added to this one: the sum stays within the maximum

    def forget(self) -> None:
        """Restart with the next state."""
        self.loop.forget()

    @property
    def reduced(self) -> Array:
        """Whether each coefficient (n) is above the passive maximum now; the damping of stops is not counted."""
        return np.asarray(self.coefficient > self.loop.most_damping)

    def __call__(self, state: State) -> Array:
        """Return the torque (n), N m (N)."""
        self.loop.observe(state)
        most = self.loop.most_damping
        if self.stops is not None:
            most = most - self.stops.slope(state)
        slope, steep = np.minimum(self.coefficient, most), np.minimum(STEEPER * self.coefficient, most)
        speed = np.abs(state.velocity)
        torque = slope * speed + (steep - slope) * np.maximum(speed - self.above, 0.0)
        return np.asarray(-np.sign(state.velocity) * torque)
