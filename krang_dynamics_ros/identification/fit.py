"""The fit of a structure: ridge regression for the search, and the last fit, whose bodies are all possible.

    min  1/2 sum of w r^2 + 1/2 sum of precision factor^2 + sum over bodies of divergence / prior width^2

w are the weights of the joints, r the residuals; the precisions are those of the factors' priors, around zero.

The divergence (`bodies_prior.py`) is a distance of a body from that of the robot file, infinite where impossible. The
search approximates it by its second derivative at the known bodies. The last fit uses the whole divergence in a damped
Newton method; the logarithm in the divergence keeps every body possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from .gram import Gram, Unknowns, all_columns
from .ridge import solution
from .samples import ArmMotion, Samples
from .structure import Structure

FIRST_ERROR = 0.1  # of the standard deviation of the effort: assumed residual before the first fit
MIN_ERROR = 0.005  # of the standard deviation of the effort: smallest residual that sets the weight of a joint
WEIGHT_ROUNDS = 2
JITTER = 1e-6  # of a factor's own information: similar columns then share their effect
NEWTON_STEPS = 500  # recordings of real arms need 10 to 20
STIFFNESS = (1e6, 1e5, 1e4, 1e3, 100.0, 10.0, 1.0)  # weights of the divergence, from fit to fit
CONVERGED = 1e-6  # squared Newton decrement at which the fit ends; one standard deviation costs 1/2
MIN_STEP = 1e-10
SUFFICIENT = 0.1  # of the decrease that a step promises
PIN_ROUNDS = 6  # of fits with possible bodies, each with the factors at zero that were negative in the one before
PRIOR_FLOOR = 1e-12  # added to the mean square of a column
EMPTY = 1e-10  # a column with a smaller mean square counts as zero
EMPTY_PRIOR = 1e6  # prior precision that keeps the factor of such a column at zero


class Problem:
    """The fit of a structure to Gram matrices: weights and priors from all rows, solutions from any folds."""

    def __init__(self, gram: Gram, structure: Structure) -> None:
        """Weight the joints by the residuals of two fits."""
        self.gram, self.structure = gram, structure
        self.unknowns = Unknowns(structure, gram)
        self._bodies = slice(0, self.unknowns.bodies)
        self._precision = np.zeros(self.unknowns.size - self.unknowns.bodies)  # none, while the weights are found
        self.weight = self._weights()
        self._precision = self._factor_precision()

    def _weights(self) -> Array:
        gram, rows = self.gram, int(self.gram.rows.sum())
        variance = np.square(FIRST_ERROR * gram.effort_std)
        for _ in range(WEIGHT_ROUNDS):
            self.weight = gram.independent_part / variance
            squares = self.squares(gram.total, self.ridge(gram.total)) / rows
            variance = np.maximum(squares, np.square(MIN_ERROR * gram.effort_std))
        return np.asarray(gram.independent_part / variance)

    def _factor_precision(self) -> Array:
        """Return the prior precision of each factor; for a coupling the smaller of its two joints'."""
        unknowns, gram = self.unknowns, self.gram
        found = np.full(unknowns.size, np.inf)
        for j, effort_std in enumerate(gram.effort_std):
            square = np.diag(gram.total[j])[unknowns.columns[j]] / gram.rows.sum()
            width = np.concatenate([np.ones(unknowns.bodies), unknowns.factor_width])[unknowns.indices[j]]
            own = np.where(square < EMPTY, EMPTY_PRIOR, (square + PRIOR_FLOOR) / np.square(width * effort_std))
            found[unknowns.indices[j]] = np.minimum(found[unknowns.indices[j]], own)
        return found[unknowns.bodies :]

    def normal(self, total: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Return matrix and right side of the normal equations of Gram matrices (joints, ...)."""
        unknowns = self.unknowns
        M, b = np.zeros((unknowns.size, unknowns.size)), np.zeros(unknowns.size)
        for j, w in enumerate(self.weight if weight is None else weight):
            at, columns = unknowns.indices[j], unknowns.columns[j]
            M[np.ix_(at, at)] += w * total[j][np.ix_(columns, columns)]
            b[at] += w * total[j][columns, -1]
        return M, b

    def squares(self, total: Array, x: Array) -> Array:
        """Return the sum of squared residuals (joints)."""
        found = np.empty(len(total))
        for j, G in enumerate(total):
            columns, own = self.unknowns.columns[j], self.unknowns.of(j, x)
            found[j] = G[-1, -1] - 2 * own @ G[columns, -1] + own @ G[np.ix_(columns, columns)] @ own
        return np.maximum(found, 0.0)

    def precision_with_jitter(self, M: Array) -> Array:
        """Return the precision of the factors (size - bodies), jitter included."""
        return self._precision + JITTER * (np.diag(M)[self.unknowns.bodies :] + 1e-9)

    def prior_at(self, phi: Array, M: Array) -> Array:
        """Return the prior's matrix with the divergence's second derivative at bodies phi."""
        P = np.zeros_like(M)
        P[self._bodies, self._bodies] = self.gram.prior.hessian_at(phi) / self.structure.prior_width**2
        at = np.arange(self.unknowns.bodies, self.unknowns.size)
        P[at, at] = self.precision_with_jitter(M)
        return P

    def ridge(self, total: Array) -> Array:
        """Return the unknowns of the ridge regression; factors that must not be negative are zero instead."""
        M, b = self.normal(total)
        P = self.prior_at(self.gram.prior.phi, M)
        b[self._bodies] += P[self._bodies, self._bodies] @ self.gram.prior.phi
        return solution(M + P, b, self.unknowns.not_negative)

    def possible(self, total: Array) -> Array:
        """Return the unknowns, with possible bodies and no negative value of a factor that must not be negative."""
        x = self.ridge(total)
        pinned = self.unknowns.not_negative & (x <= 0)
        x[pinned] = 0.0
        x[self._bodies] = self.gram.prior.phi
        for _ in range(PIN_ROUNDS):
            for stiffness in STIFFNESS:  # a larger weight keeps the bodies farther from impossible ones
                x = self._newton(_Cost(self, total, stiffness), x, ~pinned)
            below = self.unknowns.not_negative & ~pinned & (x < 0)
            if not below.any():
                return x
            pinned |= below
            x[pinned] = 0.0
        return np.where(self.unknowns.not_negative, np.maximum(x, 0.0), x)

    def _newton(self, cost: _Cost, x: Array, free: NDArray[np.bool_]) -> Array:
        for _ in range(NEWTON_STEPS):
            gradient, hessian = cost.gradient(x), cost.hessian(x)
            step = np.zeros_like(x)
            scale = 1 / np.sqrt(np.diag(hessian)[free])
            scaled = hessian[np.ix_(free, free)] * np.outer(scale, scale)
            step[free] = -scale * np.linalg.solve(scaled, scale * gradient[free])
            decrement = float(-gradient @ step)
            if decrement < CONVERGED * cost.stiffness:
                return x
            length, here = 1.0, cost(x)
            while cost(x + length * step) > here - SUFFICIENT * length * decrement:
                length *= 0.5
                if length < MIN_STEP:
                    return x
            x = x + length * step
        raise KrangDynamicsError(f'the fit did not converge in {NEWTON_STEPS} steps; check units and the URDF')


class _Cost:
    """The cost of the last fit and its derivatives."""

    def __init__(self, problem: Problem, total: Array, stiffness: float = 1.0) -> None:
        """`stiffness` is the weight of the divergence."""
        self.stiffness = stiffness
        self._A, self._b = problem.normal(total)
        self._prior, p = problem.gram.prior, problem.unknowns.bodies
        self._divergence_weight = stiffness / problem.structure.prior_width**2
        self._bodies = slice(0, p)
        at = np.arange(p, len(self._b))
        self._A[at, at] += problem.precision_with_jitter(self._A)

    def __call__(self, x: Array) -> float:
        divergence = self._prior.divergence(x[self._bodies])
        return float(0.5 * x @ self._A @ x - self._b @ x + divergence * self._divergence_weight)

    def gradient(self, x: Array) -> Array:
        found = self._A @ x - self._b
        found[self._bodies] += self._divergence_weight * self._prior.gradient(x[self._bodies])
        return np.asarray(found)

    def hessian(self, x: Array) -> Array:
        found = self._A.copy()
        found[self._bodies, self._bodies] += self._divergence_weight * self._prior.hessian_at(x[self._bodies])
        return found


LOAD_ROUNDS = 20
DAMPED_FROM = 5  # round from which the load moves half the way
# Of the effort's standard deviation: largest RMS difference between the efforts that the fit predicts with its load,
# and those that the new robot file predicts, whose load is that of the fitted bodies.
AGREED = 1e-3
STD_FACTOR = 1.4  # on standard deviations of repeats, to cover other trajectories (measured)


@dataclass(frozen=True, eq=False)
class Fit:
    """The unknowns of the last fit, with their structure, and the load: gravity and Coriolis torque of the bodies."""

    structure: Structure
    unknowns: Unknowns = field(repr=False)
    x: Array = field(repr=False)
    # (joints), rad/s per N m (m/s per N): where the load helps the motion, the drive brakes below the velocity
    # crossing * load.
    crossing: Array
    load: Array = field(repr=False)  # (rows, joints), of the fitted bodies
    predicted: Array = field(repr=False)  # (rows, joints), by these bodies and their load, as the robot file predicts
    held_out: Array = field(repr=False)  # (rows, joints): each fold by ridge on the others, with the preliminary load
    terms: Mapping[str, Array] = field(repr=False)  # (rows, joints) by name; their sum: `predicted` less `known_effort`
    difference: float  # RMS between fit and file, of the worst joint, relative to the standard deviation of its effort
    certainty: Certainty = field(repr=False)

    @property
    def phi(self) -> Array:
        """The bodies' parameters (10 x links)."""
        return self.x[: self.unknowns.bodies]

    def factors(self, joint: int) -> Array:
        """Return the factors of a joint's own effects."""
        return self.x[self.unknowns.factors[joint]]

    def coupling_factors(self, k: int) -> Array:
        """Return v and c of a coupling."""
        return self.x[self.unknowns.coupling(k)]


@dataclass(frozen=True, eq=False)
class Certainty:
    """Uncertainty of the unknowns, corrected for the autocorrelation of the residuals."""

    covariance: Array  # of all unknowns over repeats of the recording, times `STD_FACTOR` squared
    prior: Array  # covariance of the bodies without the recording
    information: Array  # (bodies, bodies) of the data, with the factors unknown too
    correlation_rows: Array  # (joints): number of rows per independent residual


def last_fit(gram: Gram, samples: Samples, motions: Sequence[ArmMotion], structure: Structure) -> Fit:
    """Fit with the load of the preliminary fit, compute the load of the fitted bodies, and repeat until both agree."""
    problem, load = Problem(gram, structure), gram.load
    X = all_columns(samples, gram.pairs, load, gram.crossing)
    held_out = _held_out(problem, samples, X)
    for k in range(LOAD_ROUNDS):
        x = problem.possible(problem.gram.total)
        of_bodies = samples.load_torque(motions, x[: problem.unknowns.bodies])
        X_of_file = all_columns(samples, gram.pairs, of_bodies, gram.crossing)
        of_file = _predicted(problem, X_of_file, x)
        residual = of_file - _predicted(problem, X, x)
        difference = float((np.sqrt(np.square(residual).mean(axis=0)) / samples.effort_std).max())
        if difference < AGREED:
            break
        load = of_bodies if k < DAMPED_FROM else (load + of_bodies) / 2
        X = all_columns(samples, gram.pairs, load, gram.crossing)
        problem = Problem(Gram.of_columns(X, samples, gram.prior, gram.pairs, load, gram.crossing), structure)
    predicted = of_file + samples.known_effort
    certainty = _certainty(problem, samples, x, samples.effort - predicted)
    return Fit(
        structure, problem.unknowns, x, gram.crossing, of_bodies, predicted, held_out + samples.known_effort,
        _terms(problem, X_of_file, x, of_bodies), difference, certainty,
    )  # fmt: skip


def _terms(problem: Problem, X: Array, x: Array, load: Array) -> dict[str, Array]:
    """Return the effort (rows, joints) of each part of the model, by name, without parts that are zero."""
    unknowns = problem.unknowns
    bodies = X[..., : unknowns.bodies] @ x[: unknowns.bodies]
    found = {'gravity and Coriolis': load, 'inertia': bodies - load}
    for j, effects in enumerate(problem.structure.joints):
        at, columns, own = unknowns.factors[j].start, unknowns.columns[j], unknowns.indices[j]
        for effect in effects:
            which = (own >= at) & (own < at + len(effect.names))
            _add(found, effect.part, j, X[:, j][:, columns[which]] @ x[own[which]])
            at += len(effect.names)
        coupled = (own >= unknowns.bodies) & (own < unknowns.factors[0].start)
        _add(found, 'coupling', j, X[:, j][:, columns[coupled]] @ x[own[coupled]])
    return {name: term for name, term in found.items() if term.any()}


def _add(terms: dict[str, Array], name: str, joint: int, torque: Array) -> None:
    whole = terms.setdefault(name, np.zeros_like(terms['inertia']))
    whole[:, joint] += torque


def _predicted(problem: Problem, X: Array, x: Array) -> Array:
    """Return the effort (rows, joints) of the model."""
    unknowns = problem.unknowns
    return np.stack([X[:, j][:, columns] @ unknowns.of(j, x) for j, columns in enumerate(unknowns.columns)], axis=1)


def _held_out(problem: Problem, samples: Samples, X: Array) -> Array:
    predicted = np.empty_like(samples.effort)
    for k, matrices in enumerate(problem.gram.matrices):
        x = problem.ridge(problem.gram.total - matrices)
        predicted[samples.fold == k] = _predicted(problem, X[samples.fold == k], x)
    return predicted


def _certainty(problem: Problem, samples: Samples, x: Array, residual: Array) -> Certainty:
    """Return the uncertainty of the unknowns over repeats of the recording, with autocorrelated residuals."""
    p, total = problem.unknowns.bodies, problem.gram.total
    variance = np.maximum(np.square(residual).mean(axis=0), 1e-12)
    correlated = np.array([_correlation_rows(column, samples.recording_index) for column in residual.T])
    M, _ = problem.normal(total)
    P = problem.prior_at(x[:p], M)
    inverse = np.linalg.inv(M + P)
    scatter, _ = problem.normal(total, np.square(problem.weight) * variance * correlated)
    covariance = STD_FACTOR**2 * inverse @ (scatter + P) @ inverse
    data, _ = problem.normal(total, 1 / (variance * correlated))
    own = data[p:, p:] + P[p:, p:]
    information = data[:p, :p] - data[:p, p:] @ np.linalg.solve(own, data[p:, :p])
    return Certainty(covariance, np.asarray(np.linalg.inv(P[:p, :p]), dtype=float), information, correlated)


def _correlation_rows(residual: Array, recording: NDArray[np.intp]) -> float:
    """Return the rows per independent residual: 1 + 2 sum of autocorrelations up to the first negative value."""
    parts = [residual[recording == k] - residual[recording == k].mean() for k in np.unique(recording)]
    length = max(map(len, parts))
    correlation = np.zeros(length // 2)
    for part in parts:
        spectrum = np.abs(np.fft.rfft(part, 2 * length)) ** 2
        correlation += np.fft.irfft(spectrum)[: length // 2]
    if not len(correlation) or correlation[0] <= 0:
        return 1.0
    correlation /= correlation[0]
    negative = np.flatnonzero(correlation < 0)
    until = int(negative[0]) if len(negative) else len(correlation)
    return float(max(1.0, 2 * correlation[:until].sum() - 1))
