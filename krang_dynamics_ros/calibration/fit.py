"""Calibration of a wrist sensor: choice of orientations, and fit of bias, mass and centre of mass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from ..core.errors import ArgumentError
from ..core.inertia import Inertia
from ..core.spatial import Array

MIN_ORIENTATIONS = 4  # three directions always lie on a cone, as after turns about a single axis
MAX_CONDITION = 30.0  # 1.7 is the best possible; turns about a single axis have more
APART = np.radians(15.0)  # rad between the directions of gravity of two orientations that are not the same


def condition(directions: Sequence[Array] | Array) -> float:
    """Return the condition number of a set of orientations, given as directions of gravity in the hand's frame.

    It is the condition number of the rows [1, g] with unit g. It is infinite for turns about a single axis: on a cone
    about this axis, an offset and a factor of gravity look alike. Six well-spread directions have 1.7.
    """
    values = np.linalg.svd(_rows(directions), compute_uv=False)
    return float(values[0] / values[-1]) if len(values) == 4 and values[-1] > 1e-9 else np.inf


def trouble(directions: Sequence[Array] | Array) -> str:
    """Return why a set of orientations does not determine bias and weight, or an empty text."""
    if len(directions) < MIN_ORIENTATIONS:
        return f'{len(directions)} orientations, must be at least {MIN_ORIENTATIONS}'
    number = condition(directions)
    if number > MAX_CONDITION:
        said = 'infinite' if number > 1e4 else f'{number:.0f}'
        return f'rotated about one axis only, or too little: condition number {said}, must be at most {MAX_CONDITION:g}'
    return ''


def is_new(direction: Array, others: Sequence[Array]) -> bool:
    """Return whether a direction of gravity (unit, in the hand's frame) differs enough from all others."""
    return all(angle(direction, other) >= APART for other in others)


def angle(a: Array, other: Array) -> float:
    """Return the angle between two unit vectors (rad)."""
    return float(np.arccos(np.clip(a @ other, -1.0, 1.0)))


def best_next(directions: Sequence[Array]) -> Array:
    """Return the next direction of gravity: along an axis of the hand, or midway between two or three.

    It is the new direction that increases the smallest singular value most.
    """
    new = [candidate for candidate in CANDIDATES if is_new(candidate, directions)] or list(CANDIDATES)
    return max(new, key=lambda candidate: _smallest([*directions, candidate]))


def turn_text(direction: Array, link: str, now: Array | None = None) -> str:
    """Return the instruction to turn the hand to a direction of gravity; `now` is the present direction."""
    names = [f'{"+" if x > 0 else "-"}{axis}' for x, axis in zip(direction, 'xyz', strict=True) if abs(x) > 0.1]
    where = names[0] if len(names) == 1 else f'midway between {" and ".join(names)}'
    away = '' if now is None else f', {np.degrees(angle(direction, now)):.0f} degrees from now'
    return f'turn {link} until {where} points straight down{away}'


def _rows(directions: Sequence[Array] | Array) -> Array:
    unit = np.reshape(np.asarray(directions, dtype=float), (-1, 3))
    return np.hstack([np.ones((len(unit), 1)), unit])


def _smallest(directions: Sequence[Array]) -> tuple[float, ...]:
    """Return the singular values, smallest first."""
    values = np.linalg.svd(_rows(directions), compute_uv=False)
    return tuple(np.round(np.concatenate([np.zeros(4 - len(values)), values[::-1]]), 9).tolist())


CANDIDATES = [
    np.array(corner) / np.linalg.norm(corner)
    for corner in sorted(product((1, 0, -1), repeat=3), key=lambda c: (sum(map(abs, c)), c))
    if any(corner)
]


SURE = 3.0  # standard deviations: a smaller mass may be zero
NEGLIGIBLE = 1e-6  # of the largest singular value


@dataclass(frozen=True, eq=False)
class Sample:
    """The mean reading of a hand at standstill."""

    reading: Array  # (6) N, N m: mean
    deviation: Array  # (6) standard deviation of one reading
    count: int  # readings in the mean
    gravity: Array  # (3) m/s^2, in the hand's frame
    basis: Array  # (6, 4) reading per [m, MX, MY, MZ] of a body in the hand's frame
    time: float | None = None  # s, by any clock; None: unknown

    @property
    def direction(self) -> Array:
        """Direction of gravity in the hand's frame: unit (3)."""
        return np.asarray(self.gravity / np.linalg.norm(self.gravity))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Result of a calibration. Deviations are standard deviations.

    Attributes:
        poses: number of used samples.
        condition: condition number of their orientations.
        trouble: reasons not to use these numbers, a line each; empty: none.
        bias: bias (6,) as the sensor gives it, at the last sample, N and N m.
        mass: mass, kg.
        com: centre of mass (3,) in the hand's frame, m.
        covariance: covariance (10, 10) of [bias, mass, com].
        residual: root mean square over the samples, N and N m.
        drift: change of the bias (6,) per `drift_unit`; None: the bias was fitted as constant.
        drift_deviations: standard deviations (6,) of `drift`.
        drift_unit: `min`, or `sample` where the times of samples are not known; empty without drift.
        left_out: numbers of the samples that were left out, counted from 1.
    """

    poses: int
    condition: float
    trouble: str
    bias: Array
    mass: float
    com: Array
    covariance: Array
    residual: tuple[float, float]
    drift: Array | None = None
    drift_deviations: Array | None = None
    drift_unit: str = ''
    left_out: tuple[int, ...] = ()

    @property
    def deviations(self) -> Array:
        """Standard deviations (10) of bias, mass, com."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def body(self) -> Inertia:
        """The body as a point mass: poses at rest do not determine its inertia about its centre of mass."""
        return Inertia.point_mass(self.mass, self.com)


def fit(
    samples: Sequence[Sample], known: Inertia | None = None, drift: bool = False, left_out: Collection[int] = ()
) -> Calibration:
    """Return bias, mass and centre of mass by least squares, and reasons against them.

    Args:
        samples: samples in the order in which they were taken.
        known: another body on the hand, such as a tool, in the hand's frame.
        drift: whether the bias changes linearly, with time if all samples have a time, else from sample to sample.
        left_out: numbers of samples that are not used, from 1.

    Returns:
        The calibration. `trouble` says so if the samples do not determine the numbers, if one of them does not fit the
        others, or if the bias drifts and `drift` is not set.

    Raises:
        ArgumentError: no sample is left, or a number in `left_out` is no sample.
    """
    for number in left_out:
        if not 1 <= number <= len(samples):
            raise ArgumentError(f'sample {number} is not there, must be 1 to {len(samples)}')
    numbers = [k for k in range(1, len(samples) + 1) if k not in left_out]
    if not numbers:
        raise ArgumentError('no samples, must be one pose at least')
    chosen = [samples[k - 1] for k in numbers]
    equations = _Equations(samples, numbers, known)
    solution = equations.solve(drift)
    found = _calibration(chosen, solution, equations.unit if drift else '')
    reasons = _undetermined(chosen, equations, solution) or _contradictions(equations, numbers, found)
    return replace(found, trouble='\n'.join(reasons), left_out=tuple(sorted(set(left_out))))


class _Solution(NamedTuple):
    """A fit of [bias, m, m c], and of the drift of the bias if included."""

    theta: Array  # (10) or (16)
    covariance: Array
    determined: bool
    residuals: Array  # (m, 2, 3) of force and moment
    freedom: Array  # (2) residuals of force and of moment less the unknowns that they determine

    @property
    def squares(self) -> Array:
        """The sums (2) of the squares of the residuals of force and moment."""
        return np.asarray(np.sum(self.residuals**2, axis=(0, 2)))

    @property
    def residual(self) -> tuple[float, float]:
        """The root mean squares of the residuals of force and moment."""
        force, moment = np.sqrt(np.mean(self.residuals**2, axis=(0, 2)))
        return float(force), float(moment)


class _Equations:
    """The linear equations of samples."""

    def __init__(self, all_samples: Sequence[Sample], numbers: Sequence[int], known: Inertia | None) -> None:
        """Set up the equations; `numbers` are the used samples, from 1. Times are relative to the last sample."""
        samples = [all_samples[k - 1] for k in numbers]
        basis = np.array([np.hstack([np.eye(6), sample.basis]) for sample in samples])
        self.reading = np.array([sample.reading for sample in samples])
        if known is not None:
            self.reading = self.reading - basis[:, :, 6:] @ known.parameters[:4]
        self._within = np.array([(s.deviation**2 / s.count).reshape(2, 3).mean(axis=1) for s in samples])
        seconds = [sample.time for sample in all_samples if sample.time is not None]
        timed = len(seconds) == len(all_samples)
        self.unit = 'min' if timed else 'sample'
        times = np.array(seconds) / 60 if timed else np.arange(float(len(all_samples)))
        changing = (times - times.max())[[k - 1 for k in numbers], None, None] * np.eye(6)
        self.rows = {False: basis, True: np.concatenate([basis, changing], axis=2)}

    def solve(self, drift: bool, without: int | None = None) -> _Solution:
        """Return the least-squares solution of all samples, or of all except `without`."""
        kept = [k for k in range(len(self.reading)) if k != without]
        A, y = self.rows[drift][kept], self.reading[kept].ravel()
        A = A.reshape(-1, A.shape[2])
        freedom = 3 * len(kept) - np.array([4, 6]) - 3 * drift
        first = (y - A @ np.linalg.lstsq(A, y, rcond=None)[0]).reshape(-1, 2, 3)
        # The variance of Student's distribution, hence - 2: few samples estimate their own noise badly.
        variance = self.noise(first, freedom - 2)
        sigma = np.tile(np.repeat(np.sqrt(variance), 3), len(kept))
        theta, covariance, determined = _solve(A / sigma[:, None], y / sigma)
        return _Solution(theta, covariance, determined, (y - A @ theta).reshape(-1, 2, 3), freedom)

    def noise(self, residuals: Array, freedom: Array) -> Array:
        """Return the variance of a sample's force and of its moment (2), by `residuals` (m, 2, 3).

        The spread within poses is right for white noise; the residuals between poses also contain errors of the model.
        The larger of both is returned.
        """
        between = np.sum(residuals**2, axis=(0, 2)) / np.maximum(freedom, 1)
        return np.asarray(np.maximum(np.maximum(self._within.mean(axis=0), between), SMALLEST_NOISE**2))


SMALLEST_NOISE = 1e-12  # N, N m: of simulated readings without any


def _solve(A: Array, y: Array) -> tuple[Array, Array, bool]:
    """Return the least-squares solution, its covariance, and whether it is unique."""
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)  # equal columns: singular values then do not mix N with N m
    U, values, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = values > NEGLIGIBLE * values[0]
    back = (Vt[kept].T / values[kept]) / size[:, None]
    return back @ (U[:, kept].T @ y), back @ back.T, bool(kept.sum() == A.shape[1])


def _calibration(samples: Sequence[Sample], solution: _Solution, drift_unit: str) -> Calibration:
    theta, covariance = solution.theta, solution.covariance
    m, first_moment = float(theta[6]), theta[7:10]
    sure = abs(m) > SURE * np.sqrt(covariance[6, 6])
    com = first_moment / m if sure else np.zeros(3)
    to_com = np.eye(10)  # the derivative of [bias, mass, com] by [bias, m, m c]
    to_com[7:, 6], to_com[7:, 7:] = (-com / m, np.eye(3) / m) if sure else (0.0, 0.0)
    found = Calibration(
        len(samples), condition([sample.direction for sample in samples]), '', theta[:6], m if sure else 0.0, com,
        to_com @ covariance[:10, :10] @ to_com.T, solution.residual,
    )  # fmt: skip
    if not drift_unit:
        return found
    deviations = np.sqrt(np.diag(covariance)[10:])
    return replace(found, drift=theta[10:], drift_deviations=deviations, drift_unit=drift_unit)


def _undetermined(samples: Sequence[Sample], equations: _Equations, solution: _Solution) -> list[str]:
    """Return why samples do not determine the numbers, or an empty list."""
    if why := trouble([sample.direction for sample in samples]):
        return [why]
    if solution.determined:
        return []
    if equations.solve(drift=False).determined:
        return [
            'the samples do not tell drift and weight apart: take more, some of them turned back towards the first '
            'orientations'
        ]
    return ['the readings do not tell bias and weight apart: do they come in a frame that turns with the hand?']


# Standard deviations of a normal distribution beyond which chance is excluded.
BAD_SAMPLE = 4.0  # once in 30 000 samples
DRIFT = 2.5  # once in 160 sets; a drift that is overlooked costs more than one that is fitted in vain


def _contradictions(equations: _Equations, numbers: Sequence[int], found: Calibration) -> list[str]:
    """Return reasons against a determined fit; `numbers` are the numbers of the samples.

    A bad sample and a drift hide each other. So samples are tested with a drift, and the drift without the bad sample.
    """
    reasons = []
    if found.mass < 0:
        reasons.append(f'the mass is {found.mass:.3g} kg: the sensor reads the other way round, set the other `sense`')
    drift, bad = found.drift is not None, _bad_sample(equations)
    if bad is not None:
        reasons.append(_bad_sample_line(equations, bad, numbers[bad], drift))
    if drift:
        return reasons
    constant, changing = equations.solve(False, bad), equations.solve(True, bad)
    if changing.determined and _improvement(equations, constant, changing) > DRIFT:
        reasons.append(f'the bias drifts (--drift fits it): then {_both(constant, changing)}')
    return reasons


def _bad_sample(equations: _Equations) -> int | None:
    """Return the index of the sample that fits the others worst, unless chance explains it."""
    count = len(equations.reading)
    whole, others = equations.solve(drift=True), [equations.solve(True, k) for k in range(count)]
    scores = [_improvement(equations, whole, without) for without in others]
    worst = int(np.argmax(scores))
    return worst if scores[worst] > BAD_SAMPLE else None


def _bad_sample_line(equations: _Equations, bad: int, number: int, drift: bool) -> str:
    whole, others = equations.solve(drift), equations.solve(drift, bad)
    off = np.linalg.norm((equations.reading[bad] - equations.rows[drift][bad] @ others.theta).reshape(2, 3), axis=1)
    return (
        f'sample {number} is off by {off[0]:.2g} N, {off[1]:.2g} N m (--leave-out {number}): '
        f'without it {_both(whole, others)}'
    )


def _both(before: _Solution, after: _Solution) -> str:
    """Return residual and mass before and after, as text."""
    (force, moment), (less_force, less_moment) = before.residual, after.residual
    residual = f'residual {less_force:.2g} N, {less_moment:.2g} N m, not {force:.2g} N, {moment:.2g} N m'
    return f'{residual}; mass {after.theta[6]:.4f} kg, not {before.theta[6]:.4f}'


def _improvement(equations: _Equations, before: _Solution, after: _Solution) -> float:
    """Return the significance of a better fit, of force or of moment, in standard deviations.

    `after` has three more unknowns each than `before`, or one sample less (three rows each).
    """
    if (after.freedom < 2).any():
        return 0.0
    gain = (before.squares - after.squares) / 3 / equations.noise(after.residuals, after.freedom)
    return max(_normal_of_F(float(x), 3, int(freedom)) for x, freedom in zip(gain, after.freedom, strict=True))


def _normal_of_F(ratio: float, upper: int, lower: int) -> float:
    """Return the standard normal deviate as probable as a ratio of variances with these degrees of freedom.

    Paulson's approximation (1942), by the cube roots of both variances.
    """
    a, b = 2 / (9 * upper), 2 / (9 * lower)
    root = np.cbrt(max(ratio, 0.0))
    return float(((1 - b) * root - (1 - a)) / np.sqrt(b * root**2 + a))
