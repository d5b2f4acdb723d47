"""Simulation of a robot: forward dynamics with rotors, friction, stops and brakes.

A step is integrated by Runge-Kutta of fourth order, in substeps so short that no joint moves far in one. The torques of
friction and stops are solved first, so that a joint either holds exactly or slides with all of its friction. They are
constant during the substep, so the energy that they take is torque times displacement. A substep ends where a joint
reaches its stop, and the stop takes its velocity at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import ArgumentError, SimulationError, SingularityError, unknown_name
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.drives import PreslidingState
from ..dynamics.factory import dynamics_of
from ..dynamics.inertia_check import without_mass, zero_pose
from ..robot.robot import Robot
from .impulses import SmoothFriction, bounded_impulses, velocity_after

Bools = NDArray[np.bool_]
STEP = 1e-3  # s
MAX_MOTION = 0.08  # rad, m: in a substep; with it, Krang in free fall keeps its energy to 1e-4
MAX_SPEED = 1e3  # rad/s, m/s: a faster joint is a numerical failure
MIN_SUBSTEP = 1e-5  # s: shortest substep near a stop
AT_STOP = 1e-7  # rad, m: a joint nearer to its stop is at it
ADDED_ROTOR = 1e-3  # kg m^2, kg: rotor inertia of a joint that moves no mass; a motor of 1e-7 kg m^2, gear ratio 100
NEAR_END = 0.1  # of the range of a joint
STOP_ITERATIONS = 3  # to find the instant at which a joint reaches its stop


class Simulation:
    """State of a robot, advanced in steps. Vectors (n) are in the order of `robot.joint_names`."""

    def __init__(self, robot: Robot, q: ArrayLike | None = None) -> None:
        """Start at rest, at joint positions `q` or as near to zero as the limits allow.

        A joint that moves no mass gets a rotor inertia; without it its acceleration is not defined.
        """
        self.robot = robot
        self.dynamics = dynamics_of(robot)
        self.rotors_added = self._add_rotors()
        self._presliding = PreslidingState(self.dynamics.friction)
        self.lower, self.upper = robot.position_limits.copy()
        self.braked: Bools = np.zeros(robot.n, dtype=bool)  # joints that a brake holds against any torque
        self.reset(q)

    def _add_rotors(self) -> list[str]:
        """Give joints a rotor inertia where A is singular in the zero pose; return their names."""
        pose, before = zero_pose(self.robot), self.dynamics.rotor_inertia
        for _ in range(self.robot.n):  # A of a heavy robot may stay singular; a step raises then
            if not (idle := without_mass(self.dynamics.A(pose))).any():
                break
            self.dynamics.rotor_inertia = self.dynamics.rotor_inertia + ADDED_ROTOR * idle
        added = np.flatnonzero(self.dynamics.rotor_inertia != before)
        return [self.robot.joint_names[k] for k in added]

    def reset(self, q: ArrayLike | None = None) -> None:
        """Start again, at rest, at time 0."""
        self.set_positions(zero_pose(self.robot) if q is None else q)
        self.time, self.lost = 0.0, 0.0

    def set_positions(self, q: ArrayLike) -> None:
        """Set positions (n), at rest, and keep the time."""
        position = np.array(q, dtype=float)
        if position.shape != (self.robot.n,):
            raise ArgumentError(f'q: shape {position.shape}, must be ({self.robot.n},)')
        for name, value, least, most in zip(self.robot.joint_names, position, self.lower, self.upper, strict=True):
            if not (least <= value <= most and math.isfinite(value)):  # false for NaN
                raise ArgumentError(f'{name}: {value:g}, must be within its limits, {least:g} to {most:g}')
        self.q, self.dq, self.ddq = position, np.zeros(self.robot.n), np.zeros(self.robot.n)
        self._presliding.forget()
        self._presliding.move(self.q)

    @property
    def middle_positions(self) -> Array:
        """Positions (n; rad, m) inside the ranges: zero, or the middle where zero is beyond or near an end."""
        positions = zero_pose(self.robot)
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        lower, upper = self.lower[bounded], self.upper[bounded]
        margin = NEAR_END * (upper - lower)
        inside = (lower + margin <= 0) & (upper - margin >= 0)
        positions[bounded] = np.where(inside, 0.0, (lower + upper) / 2)
        return positions

    def set_joint_positions(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """Set positions of some joints, by name; the others keep theirs, and all are at rest.

        A position given for a mimic joint has no effect: it follows its joint.
        """
        if len(names) != len(positions):
            raise ArgumentError(f'{len(names)} joints, but {len(positions)} positions; must be as many')
        q = self.q.copy()
        for name, position in zip(names, positions, strict=True):
            if name in self.robot.mimics:
                continue
            if name not in self.robot.joint_names:
                raise unknown_name('joint', name, self.robot.joint_names)
            q[self.robot.joint_names.index(name)] = position
        self.set_positions(q)

    @property
    def energy(self) -> float:
        """Kinetic and potential energy (J), with springs. `lost` is the energy that friction, stops and brakes took."""
        return self.dynamics.E(self.q, self.dq) + self._potential(self.q)

    def _potential(self, q: Array) -> float:
        return self.dynamics.U(q) + self.dynamics.springs_and_couplings.spring_energy(q)

    @property
    def load(self) -> Array:
        """Torques (n) that hold the joints at rest where they are, without friction and pushes."""
        rest = np.zeros(self.robot.n)
        springs = self.dynamics.springs_and_couplings.spring_torque(self.q)
        return np.asarray(self.dynamics.inverse_dynamics(self.q, rest, rest) + springs)

    def hold(self, h: float = STEP) -> None:
        """Advance by h seconds with closed brakes: they stop every joint at once and hold it against any torque."""
        if self.dq.any():
            self.lost += self.dynamics.E(self.q, self.dq)
            self.dq = np.zeros(self.robot.n)
        self.ddq = np.zeros(self.robot.n)
        self.time += h

    def step(self, torque: Array, pushes: Sequence[Wrench] = (), h: float = STEP) -> None:
        """Advance by h seconds under torques (n) at the joints and `pushes`, wrenches that the WORLD applies.

        Raises `SimulationError` if no finite state follows; the state is then the last valid state.
        """
        left, before = h, self.dq
        while left > 0:
            fastest = float(np.abs(self.dq).max())
            try:
                with np.errstate(over='ignore', invalid='ignore'):  # a value that is not finite raises below
                    left -= self._advance(torque, pushes, min(left, MAX_MOTION / max(fastest, 1e-9)))
            except SingularityError as error:
                raise SimulationError(str(error)) from None
        self.ddq = (self.dq - before) / h  # mean of the step
        self.time += h

    def _advance(self, torque: Array, pushes: Sequence[Wrench], h: float) -> float:
        """Advance by at most h seconds, until a joint reaches its stop; return the seconds that passed."""
        resistance, held = self._resistance(torque, pushes, h)
        locked = held & (self.dq == 0)
        if locked.all():
            return h
        within = (self.q < self.upper - AT_STOP) & (self.q > self.lower + AT_STOP)
        resisting = np.where(locked, 0.0, resistance)
        q, dq = self._runge_kutta(torque + resisting, pushes, ~locked, h)
        for _ in range(STOP_ITERATIONS):
            if (share := self._share_to_stop(q, within)) == 1.0:
                break
            h *= share
            q, dq = self._runge_kutta(torque + resisting, pushes, ~locked, h)
        self._check(dq)
        beyond = float(np.maximum(q - self.upper, self.lower - q).max())
        if beyond > AT_STOP and h > MIN_SUBSTEP:  # a joint left its stop and came back: shorten the substep
            return self._advance(torque, pushes, h / 4)
        self.lost -= float(resisting @ (q - self.q))
        self._set_state(q, dq, held)
        return h

    def _acceleration(self, q: Array, dq: Array, torque: Array, pushes: Sequence[Wrench], free: Bools) -> Array:
        """Return the acceleration (n) of the joints that are free; the others are locked."""
        pushed = torque + self.dynamics.wrench_torque(q, pushes) if pushes else torque
        if self.dynamics.springs_and_couplings.springs.acts:
            pushed = pushed - self.dynamics.springs_and_couplings.spring_torque(q)
        if free.all():
            return self.dynamics.forward_dynamics(q, dq, pushed)
        net, ddq = pushed - self.dynamics.inverse_dynamics(q, dq, np.zeros(self.robot.n)), np.zeros(self.robot.n)
        ddq[free] = np.linalg.solve(self.dynamics.A(q)[free][:, free], net[free])
        return ddq

    def _runge_kutta(self, torque: Array, pushes: Sequence[Wrench], free: Bools, h: float) -> tuple[Array, Array]:
        """Return position and velocity (n) after h seconds."""
        q, dq = self.q, self.dq
        a1 = self._acceleration(q, dq, torque, pushes, free)
        v2 = dq + h / 2 * a1
        a2 = self._acceleration(q + h / 2 * dq, v2, torque, pushes, free)
        v3 = dq + h / 2 * a2
        a3 = self._acceleration(q + h / 2 * v2, v3, torque, pushes, free)
        v4 = dq + h * a3
        a4 = self._acceleration(q + h * v3, v4, torque, pushes, free)
        return q + h / 6 * (dq + 2 * v2 + 2 * v3 + v4), dq + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    def _resistance(self, torque: Array, pushes: Sequence[Wrench], h: float) -> tuple[Array, Bools]:
        """Return the torques (n) of friction and stops over the next h seconds, and which joints they hold.

        Smooth friction is evaluated at the velocity at the end: on a light wrist it may be too stiff for h.
        """
        dynamics = self.dynamics
        smooth = SmoothFriction(
            dynamics.friction, self._presliding.z, self.dq, h, dynamics.springs_and_couplings.coupled
        )
        low = np.where(self.q >= self.upper - AT_STOP, -np.inf, -smooth.dry)
        high = np.where(self.q <= self.lower + AT_STOP, np.inf, smooth.dry)
        low, high = np.where(self.braked, -np.inf, low), np.where(self.braked, np.inf, high)
        held = np.zeros(self.robot.n, dtype=bool)
        if smooth.is_zero and not (low < high).any():
            return np.zeros(self.robot.n), held
        velocity = self.dq + h * self._acceleration(self.q, self.dq, torque, pushes, ~held)
        after, impulse = velocity_after(self.dynamics.A(self.q), velocity, smooth, low, high)
        held = (impulse > low) & (impulse < high)
        return (impulse - smooth.impulse(after)) / h, held

    def _share_to_stop(self, q: Array, within: Bools) -> float:
        """Return the share of the way to q (n) at which a joint reaches its stop; 1: no joint from `within` does."""
        beyond = np.flatnonzero(within & ((q > self.upper) | (q < self.lower)))
        if not len(beyond):
            return 1.0
        displacement = (q - self.q)[beyond]
        stop = np.where(displacement > 0, self.upper[beyond], self.lower[beyond])
        return float(((stop - self.q[beyond]) / displacement).min())

    def _set_state(self, q: Array, dq: Array, held: Bools) -> None:
        """Set positions q and velocities dq (n), zero for `held` joints; `lost` grows by the energy that stops take."""
        self.q = np.clip(q, self.lower, self.upper)
        self.dq = np.where(held, 0.0, dq)
        out = np.flatnonzero(((self.q >= self.upper) & (self.dq > 0)) | ((self.q <= self.lower) & (self.dq < 0)))
        if len(out):
            low, high = np.where(self.dq[out] > 0, -np.inf, 0.0), np.where(self.dq[out] > 0, 0.0, np.inf)
            mobility = np.linalg.inv(self.dynamics.A(self.q))[:, out]
            self.dq = self.dq + mobility @ bounded_impulses(mobility[out], self.dq[out], low, high)
            self.dq[out] = np.where(low < 0, np.minimum(self.dq[out], 0.0), np.maximum(self.dq[out], 0.0))
        self._presliding.move(self.q)
        if (self.dq != dq).any() or (self.q != q).any():
            self.lost += self.dynamics.E(q, dq) + self._potential(q) - self.energy

    def _check(self, dq: Array) -> None:
        """Raise `SimulationError` if a velocity (n) is beyond `MAX_SPEED` or not finite."""
        k = int(np.argmax(np.abs(dq)))  # also finds NaN
        if not abs(dq[k]) < MAX_SPEED:
            name = self.robot.joint_names[k]
            raise SimulationError(f'{name}: {dq[k]:.3g} rad/s or m/s, must be below {MAX_SPEED:g}')
