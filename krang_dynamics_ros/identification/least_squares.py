"""The linear problem in its normal equations, joint by joint, with a prior: solved at once, for cross-validation.

The unknowns are phi, the bodies of all links (10 links), and behind them each joint's own columns. The prior of the
bodies is the second-order part of the divergence in `bodies_prior`; the final fit takes the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..core.inertia import Inertia
from ..core.spatial import Array
from .bodies_prior import known_body, parameters_of_pseudo_inertia, stiffness
from .columns import Pilot, column_prior, joint_columns, never_negative
from .samples import Samples
from .structure import Structure

ROUNDS = 4  # of bodies and load in turn
FIRST_ERROR = 0.08  # of the spread: what is left unexplained, before a fit says how much
FIRST_MEMORY = 50.0  # rows: for how long residuals remember, before a fit says it
PINNED = 1e12  # the weight that holds a factor at zero


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the bodies before any recording."""

    phi: Array  # (10 links)
    factors: tuple[Array, ...]  # L of each link, J0 = L L^T

    @classmethod
    def of(cls, bodies: Sequence[Inertia]) -> Known:
        """Take the bodies of the robot's file."""
        factors = tuple(known_body(body) for body in bodies)
        return cls(np.concatenate([parameters_of_pseudo_inertia(L @ L.T) for L in factors]), factors)


@dataclass(frozen=True, eq=False)
class Noise:
    """How well a row is explained: variance (joints) of the residual, times the rows for which it remembers."""

    variance: Array
    memory: Array

    @property
    def weight(self) -> Array:
        """What one row counts (joints)."""
        return np.asarray(1.0 / (self.variance * self.memory))

    @classmethod
    def first(cls, spread: Array) -> Noise:
        """Guess, from the spread of the efforts."""
        return cls(np.square(FIRST_ERROR * spread), np.full(len(spread), FIRST_MEMORY))

    @classmethod
    def of(cls, residual: Array) -> Noise:
        """Measure it on residuals (rows, joints): the memory is 1 + 2 sum of correlations up to the first negative."""
        memory = [_memory(column) for column in residual.T]
        return cls(np.maximum(np.square(residual).mean(axis=0), 1e-12), np.array(memory))


def _memory(residual: Array) -> float:
    centred = residual - residual.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(centred))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(centred) // 2]
    if correlation[0] <= 0:
        return 1.0
    correlation = correlation / correlation[0]
    negative = np.flatnonzero(correlation < 0)
    until = int(negative[0]) if len(negative) else len(correlation)
    return float(max(1.0, 2 * correlation[:until].sum() - 1))


@dataclass(frozen=True, eq=False)
class Solution:
    """The unknowns, and what they lean on: the normal equations' matrix and the prior's."""

    structure: Structure
    phi: Array  # (10 links)
    factors: Array  # (joints, columns)
    pilot: Pilot
    information: Array = field(repr=False)  # of the data
    prior: Array = field(repr=False)  # of what was known

    @property
    def covariance(self) -> Array:
        """Covariance of (phi, then each joint's factors)."""
        return np.asarray(np.linalg.inv(self.information + self.prior))

    def predict(self, samples: Samples) -> Array:
        """Return the effort (rows, joints) that the model gives."""
        columns = joint_columns(samples, self.structure, self.pilot)
        return np.asarray(samples.Y @ self.phi + np.einsum('rjc,jc->rj', columns, self.factors))


class Equations:
    """Normal equations of some rows.

    Where Coulomb friction jumps with the sign of the velocity, a joint does not count in rows in which it hardly moves:
    a sign that is wrong there looks like inertia.
    """

    def __init__(self, samples: Samples, rows: NDArray[np.bool_], noise: Noise, structure: Structure) -> None:
        """Take the rows that count (rows), and how much each joint's count."""
        self._samples, self._rows, self._weight = samples, rows, noise.weight
        jumps = not structure.coulomb_velocity
        self._counts = (samples.slides | (not jumps))[rows].T[:, :, None].astype(float)  # (joints, rows, 1)
        self._Y = np.ascontiguousarray(samples.Y[rows].transpose(1, 0, 2)) * self._counts  # (joints, rows, 10 links)
        self._effort = samples.effort[rows].T * self._counts[:, :, 0]
        self._YtY = np.einsum('j,jrp,jrq->pq', self._weight, self._Y, self._Y, optimize=True)
        self._Yty = np.einsum('j,jrp,jr->p', self._weight, self._Y, self._effort, optimize=True)

    def build(self, structure: Structure, pilot: Pilot) -> tuple[Array, Array]:
        """Return matrix and right side for all unknowns."""
        C = joint_columns(self._samples, structure, pilot)[self._rows].transpose(1, 0, 2) * self._counts
        n, _, c = C.shape
        p = self._YtY.shape[0]
        M, b = np.zeros((p + n * c, p + n * c)), np.zeros(p + n * c)
        M[:p, :p], b[:p] = self._YtY, self._Yty
        for j, weight in enumerate(self._weight):
            at = slice(p + j * c, p + (j + 1) * c)
            M[:p, at] = weight * self._Y[j].T @ C[j]
            M[at, :p] = M[:p, at].T
            M[at, at] = weight * C[j].T @ C[j]
            b[at] = weight * C[j].T @ self._effort[j]
        return M, b


def solve(equations: Equations, structure: Structure, known: Known, spread: Array) -> Solution:
    """Return the solution of bodies, friction and shares, none of whose factors is negative that must not be."""
    n = len(spread)
    pilot = Pilot(known.phi, np.asarray(spread))
    for round_ in range(ROUNDS):
        M, b = equations.build(structure, pilot)
        P, at = prior_of(structure, pilot, known, spread)
        x = _not_negative(M + P, b + P @ at, len(known.phi), n, structure)
        factors = x[len(known.phi) :].reshape(n, -1)
        solution = Solution(structure, x[: len(known.phi)], factors, pilot, M, P)
        if round_ + 1 < ROUNDS:
            pilot = next_pilot(solution)
    return solution


def noise_of(samples: Samples, structure: Structure, known: Known) -> Noise:
    """Fit all rows to see how well each joint is explained: so much must the data count against the prior."""
    every = np.ones(len(samples.phase), dtype=bool)
    first = solve(Equations(samples, every, Noise.first(samples.spread), structure), structure, known, samples.spread)
    return Noise.of(samples.effort - first.predict(samples))


def next_pilot(solution: Solution) -> Pilot:
    """Return what the next round starts from; shares are drawn towards the mean of the robot's joints."""
    names = solution.structure.columns
    viscous = solution.factors[:, names.index('viscous')]
    pilot = replace(solution.pilot, phi=solution.phi, viscous=np.maximum(viscous, 1e-6), first=False)
    if not solution.structure.load_share:
        return pilot
    mean = 1 + solution.factors[:, [names.index('pushing'), names.index('braking')]].mean(axis=0)
    pushing, braking = np.clip(mean, 0.0, 1.5).tolist()
    return replace(pilot, shares=(pushing, braking))


def prior_of(structure: Structure, pilot: Pilot, known: Known, spread: Array) -> tuple[Array, Array]:
    """Return the prior's matrix and its centre, for all unknowns."""
    mean, deviation = column_prior(structure, pilot, spread)
    p = len(known.phi)
    P = np.zeros((p + mean.size, p + mean.size))
    for k, L in enumerate(known.factors):
        P[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = stiffness(L) / structure.spread**2
    P[np.arange(p, len(P)), np.arange(p, len(P))] = 1.0 / np.square(deviation).ravel()
    return P, np.concatenate([known.phi, mean.ravel()])


def _not_negative(M: Array, b: Array, p: int, n: int, structure: Structure) -> Array:
    """Solve M x = b; factors that come out negative and must not are held at zero."""
    guarded = np.concatenate([np.zeros(p, dtype=bool), np.tile(never_negative(structure), n)])
    held = np.zeros(len(b), dtype=bool)
    for _ in range(5):
        x = np.asarray(np.linalg.solve(M + np.diag(np.where(held, PINNED, 0.0)), b))
        below = guarded & ~held & (x < 0)
        if not below.any():
            break
        held |= below
    return np.where(held, 0.0, x)
