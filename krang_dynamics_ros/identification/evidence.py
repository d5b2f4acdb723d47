"""How well a robot fits a recording if its columns are exchanged, scaled or turned, or gravity has another direction.

The fit is linear, over some hundred smoothed rows: bodies near those of the robot file, and for each joint an offset
and non-negative rotor inertia, viscous and Coulomb friction. So an error of some percent in the robot file does not
hide the right mapping of columns, and a wrong sign, which would need negative friction, shows as a large error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from ..core.spatial import Array
from ..equations.regressor import regressor
from ..recordings.derivatives import Smoothed
from ..recordings.recording import Recording, RecordingError, motion_only
from ..robot.robot import Robot
from .bodies_prior import BodiesPrior
from .ridge import normal_equations, solution, unknowns_of
from .samples import ArmMotion
from .structure import EVERY_JOINT, columns_of_every_joint

CUTOFF = 3.0  # Hz
MAX_CUTOFF = 0.25  # of the rate
MAX_ROWS = 300
PRIOR_WIDTH = 0.3  # prior standard deviation of bodies about those of the file, relative
FILE_WIDTH = 1e-3  # the same, for a fit with the file's bodies
ERROR = 0.1  # of the standard deviation of an effort: expected residual of a fit
LOOSE_MASS, LOOSE_MOMENT = 5.0, 1.0  # kg and kg m: prior standard deviations of an unmodelled mass
TINY = 1e-12
FACTOR_WIDTHS = np.array([effect.prior for effect in EVERY_JOINT])
NOT_NEGATIVE = [effect.not_negative for effect in EVERY_JOINT]
NOMINAL_RATE = 100.0  # rows per second, assumed while the time of a recording is not known
BANDWIDTH = 0.99  # of the energy of the positions is below the bandwidth
SMOOTHING = 6.0  # cut-off of the smoothing over the bandwidth
MIN_GAIN = 0.005  # part of the squared error that the inertia must remove, to show the time
OTHER_UNITS = 3.0  # times G: if the fitted gravity is larger, the efforts have another unit
G = 9.81  # m/s^2
T = TypeVar('T')


@dataclass(frozen=True)
class ColumnMapping:
    """Which column of a table belongs to which joint, and the factor of its numbers."""

    position: tuple[int, ...]
    effort: tuple[int, ...]
    position_factor: tuple[float, ...]
    effort_factor: tuple[float, ...]

    @classmethod
    def plain(cls, joints: int) -> ColumnMapping:
        """Return the mapping of a table without mistakes: each column as it is."""
        order, ones = tuple(range(joints)), (1.0,) * joints
        return cls(order, order, ones, ones)

    def swapped(self, a: int, b: int, position: bool, effort: bool) -> ColumnMapping:
        """Return the mapping with columns of two joints exchanged."""
        found = self
        if position:
            found = replace(found, position=_swapped(self.position, a, b))
            found = replace(found, position_factor=_swapped(self.position_factor, a, b))
        if effort:
            found = replace(found, effort=_swapped(self.effort, a, b))
            found = replace(found, effort_factor=_swapped(self.effort_factor, a, b))
        return found

    def times(self, factors: Sequence[float], position: bool, effort: bool) -> ColumnMapping:
        """Return the mapping with the columns of each joint times a factor."""
        found = self
        if position:
            found = replace(found, position_factor=_product(self.position_factor, factors))
        if effort:
            found = replace(found, effort_factor=_product(self.effort_factor, factors))
        return found

    def turned(self, joint: int, position: bool, effort: bool) -> ColumnMapping:
        """Return the mapping with the opposite sign for a joint's columns."""
        factors = [-1.0 if k == joint else 1.0 for k in range(len(self.position))]
        return self.times(factors, position, effort)

    def apply(self, recording: Recording, velocity: bool = True) -> Recording:
        """Return the repaired recording; `velocity`: whether velocities are mapped as positions are."""
        n, position = len(self.position), list(self.position)
        q = recording.position[:, position] * self.position_factor
        dq, effort = recording.velocity, recording.measured_effort[:, list(self.effort)] * self.effort_factor
        if dq is not None and velocity:
            dq = dq[:, position] * self.position_factor
        return replace(recording, joint_names=recording.joint_names[:n], position=q, velocity=dq, effort=effort)


def _swapped(values: tuple[T, ...], a: int, b: int) -> tuple[T, ...]:
    found = list(values)
    found[a], found[b] = found[b], found[a]
    return tuple(found)


def _product(values: Sequence[float], factors: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(a * b) for a, b in zip(values, factors, strict=True))


class Slope(NamedTuple):
    """Slope of each joint's effort over the model's torque, with free friction and offset."""

    value: Array
    explained: Array  # partial R^2 of the model's torque


class Parts(NamedTuple):
    """Regressors (rows, joints, 10 links) of one mapping of the positions, and the columns of friction."""

    inertial: Array  # without gravity
    gravity: Array  # (rows, joints, 10 links, 3): of 1 m/s^2 along each axis of the base
    own: Array  # (rows, joints, 4): rotor, viscous, Coulomb, offset


class UnmodelledMass(NamedTuple):
    """Mass (kg) that the last link carries and the robot file lacks, its centre (m), and errors with and without it."""

    mass: float
    com: Array
    error: float
    without: float


class Evidence:
    """Smoothed rows of a motion, and the fit of a robot to each mapping of them."""

    def __init__(self, robot: Robot, motion: Recording, cutoff: float = CUTOFF) -> None:
        """Smooth a motion, at a cut-off in Hz."""
        of_arm = ArmMotion.of(robot, motion)
        smoothed = Smoothed(of_arm.recording, min(cutoff, MAX_CUTOFF * motion.rate))
        found, every = smoothed.motion, slice(None, None, max(1, -(-len(smoothed.instant) // MAX_ROWS)))
        self.merged, self.n = of_arm.merged, len(of_arm.counted)
        self._whole = found.q[every], found.dq[every], found.ddq[every]
        self._effort = motion.measured_effort[smoothed.new][every]
        self._independent_part = min(1.0, 2 * smoothed.cutoff * motion.duration / len(self._effort))
        self._parts: dict[tuple[tuple[int, ...], tuple[float, ...]], Parts] = {}

    @cached_property
    def plain(self) -> ColumnMapping:
        """The mapping of the table as it is."""
        return ColumnMapping.plain(self.n)

    @cached_property
    def gravity(self) -> Array:
        """Gravity of the robot file (3), m/s^2, in the base's axes."""
        return np.asarray(self.merged.robot.gravity, dtype=float)

    @cached_property
    def _prior(self) -> BodiesPrior:
        return BodiesPrior.of(self.merged.phi)

    def parts(self, mapping: ColumnMapping) -> Parts:
        """Return the regressors of a mapping."""
        key = mapping.position, mapping.position_factor
        if key not in self._parts:
            self._parts[key] = self._computed(mapping)
        return self._parts[key]

    def _computed(self, mapping: ColumnMapping) -> Parts:
        others = [*range(self.n, self._whole[0].shape[1])]  # joints that move but have no effort
        columns, factors = [*mapping.position, *others], np.array([*mapping.position_factor, *(1.0 for _ in others)])
        q, dq, ddq = (x[:, columns] * factors for x in self._whole)
        robot, links, still = self.merged.robot, self.merged.links, np.zeros_like(q)
        weightless = regressor(replace(robot, gravity=np.zeros(3)), links, q, dq, ddq)
        weights = [regressor(replace(robot, gravity=axis), links, q, still, still) for axis in np.eye(3)]
        own, n = columns_of_every_joint(q, dq, ddq), self.n
        return Parts(weightless[:, :n], np.stack(weights, axis=-1)[:, :n], own[:, :n])

    def effort(self, mapping: ColumnMapping) -> Array:
        """Return the efforts (rows, joints) of a mapping."""
        return np.asarray(self._effort[:, list(mapping.effort)] * mapping.effort_factor)

    def errors(self, mapping: ColumnMapping | None = None) -> Array:
        """Return the error of the fit (joints), RMSE over the standard deviation of the effort."""
        return self._fit(mapping or self.plain, None, self._bodies(PRIOR_WIDTH))[0]

    def error(self, mapping: ColumnMapping | None = None) -> float:
        """Return the mean error over joints."""
        return float(self.errors(mapping).mean())

    def stiff_error(self, mapping: ColumnMapping, gravity: Array | None = None) -> float:
        """Return the mean error over joints with the file's bodies."""
        return float(self._fit(mapping, gravity, self._bodies(FILE_WIDTH))[0].mean())

    def _bodies(self, prior_width: float) -> Array:
        """Return the prior precision of the bodies (10 links, 10 links)."""
        return np.asarray(self._prior.hessian / prior_width**2)

    def _fit(self, mapping: ColumnMapping, gravity: Array | None, prior: Array) -> tuple[Array, Array]:
        """Return errors (joints), and the unknowns: bodies, then four factors of each joint."""
        parts, effort = self.parts(mapping), self.effort(mapping)
        Y = parts.inertial + parts.gravity @ (self.gravity if gravity is None else gravity)
        effort_std = np.maximum(effort.std(axis=0), TINY)
        p, c = Y.shape[2], parts.own.shape[2]
        weights = [self._independent_part / (ERROR * of_joint) ** 2 for of_joint in effort_std]
        A, b = normal_equations(Y, parts.own, effort, weights, self._prior.phi, prior)
        for j in range(self.n):
            factors = unknowns_of(j, p, c)[p:]
            square = np.square(parts.own[:, j]).mean(axis=0)
            A[factors, factors] += (square + TINY) / np.square(FACTOR_WIDTHS * effort_std[j])
        x = solution(A, b, np.array([False] * p + NOT_NEGATIVE * self.n))
        model = [Y[:, j] @ x[:p] + parts.own[:, j] @ x[p + c * j : p + c * j + c] for j in range(self.n)]
        return np.sqrt(np.square(effort - np.stack(model, axis=1)).mean(axis=0)) / effort_std, x

    def slopes(self, mapping: ColumnMapping | None = None, gravity: Array | None = None) -> Slope:
        """Return the slope of each joint's effort on the torque of the file's bodies."""
        mapping = mapping or self.plain
        parts, effort = self.parts(mapping), self.effort(mapping)
        torque = (parts.inertial + parts.gravity @ (self.gravity if gravity is None else gravity)) @ self.merged.phi
        value, explained = np.zeros(self.n), np.zeros(self.n)
        for j in range(self.n):
            own = parts.own[:, j, 1:]
            left, of_torque = (y - own @ np.linalg.lstsq(own, y, rcond=None)[0] for y in (effort[:, j], torque[:, j]))
            if (of_torque @ of_torque) * (left @ left) > 0:
                value[j] = left @ of_torque / (of_torque @ of_torque)
                explained[j] = (left @ of_torque) ** 2 / ((of_torque @ of_torque) * (left @ left))
        return Slope(value, explained)

    def fitted_gravity(self, mapping: ColumnMapping | None = None) -> Array:
        """Return gravity (3) fitted as three free numbers, with the file's bodies."""
        mapping = mapping or self.plain
        parts, effort = self.parts(mapping), self.effort(mapping)
        weight = np.einsum('rjpi,p->rji', parts.gravity, self.merged.phi)
        x, _ = shared_fit(weight, parts.own, effort - parts.inertial @ self.merged.phi)
        return np.asarray(x[:3])

    def unmodelled_mass(self) -> UnmodelledMass:
        """Fit mass and first moment of the last link, with the file's bodies elsewhere."""
        last, stiff = len(self.merged.links) - 1, self._bodies(FILE_WIDTH)
        at, free = slice(10 * last, 10 * last + 4), stiff.copy()
        whole = slice(10 * last, 10 * last + 10)
        free[whole, whole] = np.diag([LOOSE_MASS**-2.0, *[LOOSE_MOMENT**-2.0] * 3, *[FILE_WIDTH**-4.0] * 6])
        without, _ = self._fit(self.plain, None, stiff)
        errors, x = self._fit(self.plain, None, free)
        mass, *moment = x[at] - self._prior.phi[at]
        return UnmodelledMass(float(mass), np.array(moment) / mass, float(errors.mean()), float(without.mean()))


def shared_fit(shared: Array, own: Array, effort: Array) -> tuple[Array, float]:
    """Fit factors that all joints share (rows, joints, s) and factors of each joint (rows, joints, c).

    Return the factors, the shared first, and the mean squared error relative to the variance of each effort.
    """
    n, s, c = effort.shape[1], shared.shape[2], own.shape[2]
    A, b, squares = np.zeros((s + c * n,) * 2), np.zeros(s + c * n), 0.0
    for j, effort_std in enumerate(np.maximum(effort.std(axis=0), TINY)):
        at, y = unknowns_of(j, s, c), effort[:, j] / effort_std
        X = np.concatenate([shared[:, j], own[:, j]], axis=1) / effort_std
        A[np.ix_(at, at)] += X.T @ X
        b[at] += X.T @ y
        squares += float(y @ y)
    A[np.diag_indices(len(A))] += 1e-9 * np.diag(A) + TINY
    x = np.linalg.solve(A, b)
    return x, (squares - float(b @ x)) / effort.size


def with_time(recording: Recording, factor: float) -> Recording:
    """Return the recording with its time, from zero on, times a factor."""
    return replace(recording, time=(recording.time - recording.time[0]) * factor)


def time_by_inertia(robot: Robot, recording: Recording) -> float | None:
    """Return the factor of time that gives the inertia its right share; None if the inertia does not show.

    The recording gets `NOMINAL_RATE` first, so that the result does not depend on its time.
    """
    scale = recording.rate / NOMINAL_RATE
    try:
        motion = motion_only(replace(with_time(recording, scale), velocity=None))
    except RecordingError:
        return None
    evidence = Evidence(robot, motion, SMOOTHING * _bandwidth(motion))
    parts, effort, phi = evidence.parts(evidence.plain), evidence.effort(evidence.plain), evidence.merged.phi
    weight = np.einsum('rjpi,p->rji', parts.gravity, phi)
    both = np.concatenate([weight, (parts.inertial @ phi)[..., None]], axis=-1)
    x, error = shared_fit(both, parts.own[..., 1:], effort)
    _, without = shared_fit(weight, parts.own[..., 1:], effort)
    strength = float(np.linalg.norm(x[:3])) / G
    share = abs(x[3]) / (strength if strength > OTHER_UNITS else 1.0)
    if share == 0 or error > (1 - MIN_GAIN) * without:
        return None
    return float(share**-0.5 * scale)


def _bandwidth(recording: Recording) -> float:
    """Return the frequency (Hz) below which `BANDWIDTH` of the positions' energy is."""
    time = np.linspace(recording.time[0], recording.time[-1], len(recording))
    q = np.stack([np.interp(time, recording.time, column) for column in recording.position.T], axis=1)
    q = (q - q.mean(axis=0)) / np.maximum(q.std(axis=0), 1e-9)
    energy = np.square(np.abs(np.fft.rfft(q * np.hanning(len(q))[:, None], axis=0))).sum(axis=1)
    row = int(np.searchsorted(np.cumsum(energy), BANDWIDTH * energy.sum()))
    return float(max(row, 1) / (time[-1] - time[0]))
