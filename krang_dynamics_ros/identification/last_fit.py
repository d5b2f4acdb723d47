"""The last fit: all bodies possible, the load being that of the bodies that are found, and how sure the numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .fit import Problem
from .gram import Columns, Gram, Layout
from .samples import Run, Samples
from .structure import Structure

LOAD_ROUNDS = 20
DAMPED_FROM = 5  # round from which the load moves half the way
AGREED = 1e-3  # of the spread: the largest difference, as RMS of a joint, between the fit and a file with its bodies
STD_FACTOR = 1.4  # standard deviations of repeats, times this, cover other trajectories (measured)


@dataclass(frozen=True, eq=False)
class Fit:
    """The unknowns, with the structure and the load that they belong to."""

    structure: Structure
    layout: Layout = field(repr=False)
    x: Array = field(repr=False)
    crossing: Array  # (joints), rad/s per N m
    load: Array = field(repr=False)  # (rows, joints), of the bodies that were found
    predicted: Array = field(repr=False)  # (rows, joints), by these bodies and their load, as a file does
    left_out: Array = field(repr=False)  # (rows, joints): each fold predicted from the others
    terms: Mapping[str, Array] = field(repr=False)  # (rows, joints) by name: what `predicted` is the sum of
    difference: float  # RMS between fit and file, of the worst joint, in parts of the spread
    certainty: Certainty = field(repr=False)

    @property
    def phi(self) -> Array:
        """The bodies' parameters (10 links)."""
        return self.x[: self.layout.bodies]

    def factors(self, joint: int) -> Array:
        """Return the factors of a joint's own effects."""
        return self.x[self.layout.factors[joint]]

    def coupling_factors(self, k: int) -> Array:
        """Return v and c of a coupling."""
        return self.x[self.layout.coupling(k)]


@dataclass(frozen=True, eq=False)
class Certainty:
    """How sure the unknowns are, by the residuals and their memory."""

    covariance: Array  # of all unknowns, of repeats of the recording times `STD_FACTOR` squared
    beforehand: Array  # of the bodies without the recording
    information: Array  # (bodies, bodies) of the data, the factors being unknown too
    memory: Array  # (joints): rows for which residuals remember


def last_fit(gram: Gram, samples: Samples, runs: Sequence[Run], structure: Structure) -> Fit:
    """Fit with the pilot's load, take the load from the bodies found, and fit again until both agree."""
    first = Problem(gram, structure)
    left_out = _left_out(first, samples, Columns(samples, gram.pairs, gram.load, gram.crossing).X)
    problem, load = first, gram.load
    for k in range(LOAD_ROUNDS):
        x = problem.possible(problem.gram.total)
        of_bodies = samples.load(runs, x[: problem.layout.bodies])
        X = Columns(samples, gram.pairs, of_bodies, gram.crossing).X
        of_file = _predicted(problem, X, x)
        fitted = _predicted(problem, Columns(samples, gram.pairs, load, gram.crossing).X, x)
        difference = float((np.sqrt(np.square(of_file - fitted).mean(axis=0)) / samples.spread).max())
        if difference < AGREED:
            break
        load = of_bodies if k < DAMPED_FROM else (load + of_bodies) / 2
        X_next = Columns(samples, gram.pairs, load, gram.crossing).X
        problem = Problem(Gram.of_columns(X_next, samples, gram.prior, gram.pairs, load, gram.crossing), structure)
    predicted = of_file + samples.known_effort
    certainty = _certainty(problem, samples, x, samples.effort - predicted)
    return Fit(
        structure, problem.layout, x, gram.crossing, of_bodies, predicted, left_out + samples.known_effort,
        _terms(problem, X, x, of_bodies), difference, certainty,
    )  # fmt: skip


def _terms(problem: Problem, X: Array, x: Array, load: Array) -> dict[str, Array]:
    """Return what the parts of the model give (rows, joints), by name; those that are nowhere are left out."""
    layout = problem.layout
    bodies = X[..., : layout.bodies] @ x[: layout.bodies]
    found = {'gravity and Coriolis': load, 'inertia': bodies - load}
    for j, effects in enumerate(problem.structure.joints):
        at, columns, own = layout.factors[j].start, layout.columns[j], layout.unknowns[j]
        for effect in effects:
            which = (own >= at) & (own < at + len(effect.names))
            _add(found, effect.term, j, X[:, j][:, columns[which]] @ x[own[which]])
            at += len(effect.names)
        coupled = (own >= layout.bodies) & (own < layout.factors[0].start)
        _add(found, 'coupling', j, X[:, j][:, columns[coupled]] @ x[own[coupled]])
    return {name: term for name, term in found.items() if term.any()}


def _add(terms: dict[str, Array], name: str, joint: int, torque: Array) -> None:
    whole = terms.setdefault(name, np.zeros_like(terms['inertia']))
    whole[:, joint] += torque


def _predicted(problem: Problem, X: Array, x: Array) -> Array:
    """Return the effort (rows, joints) of the model."""
    layout = problem.layout
    return np.stack([X[:, j][:, columns] @ layout.of(j, x) for j, columns in enumerate(layout.columns)], axis=1)


def _left_out(problem: Problem, samples: Samples, X: Array) -> Array:
    predicted = np.empty_like(samples.effort)
    for k, matrices in enumerate(problem.gram.matrices):
        x = problem.ridge(problem.gram.total - matrices)
        predicted[samples.fold == k] = _predicted(problem, X[samples.fold == k], x)
    return predicted


def _certainty(problem: Problem, samples: Samples, x: Array, residual: Array) -> Certainty:
    """Return how far the unknowns would scatter if the recording were repeated, residuals having a memory."""
    p, total = problem.layout.bodies, problem.gram.total
    variance = np.maximum(np.square(residual).mean(axis=0), 1e-12)
    memory = np.array([_memory(column, samples.run) for column in residual.T])
    M, _ = problem.normal(total)
    P = problem.prior_at(x[:p], M)
    inverse = np.linalg.inv(M + P)
    scatter, _ = problem.normal(total, np.square(problem.weight) * variance * memory)
    covariance = STD_FACTOR**2 * inverse @ (scatter + P) @ inverse
    data, _ = problem.normal(total, 1 / (variance * memory))
    own = data[p:, p:] + P[p:, p:]
    information = data[:p, :p] - data[:p, p:] @ np.linalg.solve(own, data[p:, :p])
    return Certainty(covariance, np.asarray(np.linalg.inv(P[:p, :p]), dtype=float), information, memory)


def _memory(residual: Array, run: NDArray[np.intp]) -> float:
    """Return for how many rows a residual remembers: 1 + 2 sum of correlations up to the first negative one."""
    parts = [residual[run == k] - residual[run == k].mean() for k in np.unique(run)]
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
