"""From poses at rest to a sensor's bias and to the mass and centre of mass beyond it, each with its standard deviation.

    f = b_f + m g        moment = b_m + m c x g        (sensor's sense "on the robot", all in the hand's frame)

is linear in the ten numbers b_f, b_m, m, m c. A reading in another frame, about another point or in the other sense is
so too: then the four columns of m and m c are moved there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import ArgumentError
from ..core.inertia import Inertia
from ..core.spatial import Array
from . import orientations

SURE = 3.0  # standard deviations: a mass of less may be none
NEGLIGIBLE = 1e-6  # of the largest singular value


@dataclass(frozen=True, eq=False)
class Sample:
    """The mean reading of a hand that stood still."""

    reading: Array  # (6) N, N m: mean
    deviation: Array  # (6) standard deviation of one reading
    count: int  # readings in the mean
    gravity: Array  # (3) m/s^2, in the hand's frame
    basis: Array  # (6, 4) what a body of [m, MX, MY, MZ] in the hand's frame adds to the reading

    @property
    def direction(self) -> Array:
        """Where down is, in the hand's frame: unit (3)."""
        return np.asarray(self.gravity / np.linalg.norm(self.gravity))


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a set of samples says. Deviations are standard deviations of the numbers."""

    poses: int
    condition: float
    trouble: str  # why these numbers are not to be used; empty: they are
    bias: Array  # (6) as the sensor gives it
    mass: float  # kg
    com: Array  # (3) m, in the hand's frame
    covariance: Array  # (10, 10) of [bias, mass, com]
    residual: tuple[float, float]  # N, N m: root mean square over the samples

    @property
    def deviations(self) -> Array:
        """Standard deviations (10) of bias, mass, com."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def body(self) -> Inertia:
        """What was found, a point mass: poses at rest say nothing of its inertia about its centre of mass."""
        return Inertia.about_com(self.mass, self.com, np.zeros((3, 3)))


def fit(samples: Sequence[Sample], known: Inertia | None = None) -> Calibration:
    """Return what the samples say by least squares; `known` is what hangs there besides, such as a tool, in its frame.

    `trouble` says so if they do not determine the numbers. Without any sample there is nothing to fit: `ArgumentError`.
    """
    if not samples:
        raise ArgumentError('no samples, must be one pose at least')
    directions = [sample.direction for sample in samples]
    A = np.vstack([np.hstack([np.eye(6), sample.basis]) for sample in samples])
    y = np.concatenate([sample.reading for sample in samples])
    if known is not None:
        y = y - np.concatenate([sample.basis @ known.parameters[:4] for sample in samples])
    first = np.linalg.lstsq(A, y, rcond=None)[0]
    sigma = np.tile(np.repeat(_noise(samples, y - A @ first), 3), len(samples))
    theta, covariance, determined = _solve(A / sigma[:, None], y / sigma)
    left = (y - A @ theta).reshape(-1, 2, 3)
    residual = np.sqrt(np.mean(left**2, axis=(0, 2)))
    why = orientations.trouble(directions) or ('' if determined else _UNDETERMINED)
    return _calibration(samples, theta, covariance, residual, why)


_UNDETERMINED = 'the readings do not tell bias and weight apart: do they come in a frame that turns with the hand?'


def _noise(samples: Sequence[Sample], left: Array) -> Array:
    """Return the standard deviation of a sample's force and of its moment (2).

    The spread within the poses says it well as long as the noise is white; what is left between them also has what
    the model does not know. The larger of the two counts.
    """
    within = np.mean([(s.deviation**2 / s.count).reshape(2, 3).mean(axis=1) for s in samples], axis=0)
    between = np.sum(left.reshape(-1, 2, 3) ** 2, axis=(0, 2))
    freedom = np.maximum(3 * len(samples) - np.array([4, 6]), 1)
    return np.asarray(np.sqrt(np.maximum(np.maximum(within, between / freedom), 1e-24)))


def _solve(A: Array, y: Array) -> tuple[Array, Array, bool]:
    """Return the least-squares solution, its covariance, and whether it is the only one."""
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)  # columns of one size, or N and N m would be compared
    U, values, Vt = np.linalg.svd(A / size, full_matrices=False)
    kept = values > NEGLIGIBLE * values[0]
    back = (Vt[kept].T / values[kept]) / size[:, None]
    return back @ (U[:, kept].T @ y), back @ back.T, bool(kept.all())


def _calibration(samples: Sequence[Sample], theta: Array, covariance: Array, residual: Array, why: str) -> Calibration:
    m, first_moment = float(theta[6]), theta[7:]
    sure = abs(m) > SURE * np.sqrt(covariance[6, 6])
    com = first_moment / m if sure else np.zeros(3)
    to_com = np.eye(10)  # the derivative of [bias, mass, com] by [bias, m, m c]
    to_com[7:, 6], to_com[7:, 7:] = (-com / m, np.eye(3) / m) if sure else (0.0, 0.0)
    if not why and sure and m < 0:
        why = f'the mass is {m:.3g} kg: the sensor reads the other way round, set the other `sense`'
    return Calibration(
        len(samples), orientations.condition([sample.direction for sample in samples]), why,
        theta[:6], m if sure else 0.0, com, to_com @ covariance @ to_com.T, (float(residual[0]), float(residual[1])),
    )  # fmt: skip
