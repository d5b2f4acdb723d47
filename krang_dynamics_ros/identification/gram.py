"""Columns and Gram matrices of a fit, and a preliminary fit for the load of the joints and their viscous friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..effects.coupling import CouplingEffect
from ..effects.effect import Effect
from ..effects.load import crossing_of
from .bodies_prior import BodiesPrior
from .ridge import normal_equations
from .samples import ArmMotion, Samples
from .structure import Structure, columns_of_every_joint, library

ERROR = 0.1  # of the standard deviation of the effort: assumed residual of the preliminary fit
SMALL = 1e-4  # prior precision of each joint's factors: they are free


class PreliminaryFit(NamedTuple):
    """Bodies (10 links) and viscous friction (joints)."""

    phi: Array
    viscous: Array


def preliminary_fit(samples: Samples, prior: BodiesPrior) -> PreliminaryFit:
    """Fit bodies, rotors, viscous and Coulomb friction and offsets to smoothed efforts, by ridge regression."""
    q, dq, ddq = (x[:, samples.counted] for x in samples.whole)
    own = columns_of_every_joint(q, dq, ddq)
    weights = samples.independent_part / np.square(np.maximum(ERROR * samples.effort.std(axis=0), 1e-9))
    effort = samples.smooth_effort - samples.known_effort
    M, b = normal_equations(samples.Y, own, effort, weights, prior.phi, prior.hessian)
    factors = np.arange(len(prior.phi), len(b))
    M[factors, factors] += SMALL
    x = np.asarray(np.linalg.solve(M, b), dtype=float)
    return PreliminaryFit(x[: factors[0]], x[factors].reshape(own.shape[1:])[:, 1])


def all_columns(samples: Samples, pairs: Sequence[CouplingEffect], load: Array, crossing: Array) -> Array:
    """Return all columns (rows, joints, columns + 1) for a load (rows, joints).

    They are those of the bodies, the library, the couplings, and last the effort.
    """
    x = samples.joint_motion(load, crossing)
    own = np.concatenate([effect.columns(x) for effect in library()], axis=-1)
    rows, joints = samples.effort.shape
    coupled = np.zeros((rows, joints, 2 * len(pairs)))
    for k, pair in enumerate(pairs):
        first, second = pair.columns(samples.dq)
        coupled[:, pair.first, 2 * k : 2 * k + 2] = first
        coupled[:, pair.second, 2 * k : 2 * k + 2] = second
    effort = (samples.effort - samples.known_effort)[..., None]
    return np.concatenate([samples.Y, own, coupled, effort], axis=-1)


@dataclass(frozen=True, eq=False)
class Gram:
    """X^T X (folds, joints, columns + 1, columns + 1) of the rows at a cut-off, and the other data of a fit."""

    independent_part: float  # of the rows
    effort_std: Array  # (joints), N m
    rows: NDArray[np.intp]  # (folds)
    matrices: Array
    prior: BodiesPrior
    pairs: tuple[CouplingEffect, ...]
    load: Array  # (rows, joints)
    crossing: Array  # (joints): times the load, the velocity at which a drive changes between pushing and braking

    @classmethod
    def of(
        cls, samples: Samples, motions: Sequence[ArmMotion], prior: BodiesPrior, pairs: Sequence[CouplingEffect]
    ) -> Gram:
        """Compute them with the load of a preliminary fit."""
        first = preliminary_fit(samples, prior)
        load, crossing = samples.load_torque(motions, first.phi), crossing_of(first.viscous)
        X = all_columns(samples, pairs, load, crossing)
        return cls.of_columns(X, samples, prior, pairs, load, crossing)

    @classmethod
    def of_columns(
        cls,
        X: Array,
        samples: Samples,
        prior: BodiesPrior,
        pairs: Sequence[CouplingEffect],
        load: Array,
        crossing: Array,
    ) -> Gram:
        """Compute them from columns that belong to a load (rows, joints)."""
        folds = range(int(samples.fold.max()) + 1)
        matrices = np.stack([_products(X[samples.fold == k]) for k in folds])
        rows = np.array([(samples.fold == k).sum() for k in folds])
        return cls(samples.independent_part, samples.effort_std, rows, matrices, prior, tuple(pairs), load, crossing)

    @cached_property
    def total(self) -> Array:
        """Sum over folds."""
        return np.asarray(self.matrices.sum(axis=0))


def _products(X: Array) -> Array:
    joint_first = np.ascontiguousarray(X.transpose(1, 0, 2))
    return np.asarray(joint_first.transpose(0, 2, 1) @ joint_first)


class Unknowns:
    """The unknowns of a structure: their indices, and the columns of each joint to which they belong.

    The unknowns are the bodies (10 links), two factors of each coupling, then each joint's factors.
    """

    def __init__(self, structure: Structure, gram: Gram) -> None:
        """Number them."""
        self.bodies = len(gram.prior.phi)
        columns_of = _library_columns(self.bodies)
        coupled = self.bodies + sum(len(effect.names) for effect in library())
        self.size = self.bodies + 2 * len(structure.couplings)
        self.columns, self.indices = [], []
        not_negative, priors = [True] * (2 * len(structure.couplings)), [1.0] * (2 * len(structure.couplings))
        self.factors: list[slice] = []
        for j, effects in enumerate(structure.joints):
            own = [column for effect in effects for column in columns_of[effect]]
            pairs = [k for k, pair in enumerate(structure.couplings) if j in (pair.first, pair.second)]
            at = [gram.pairs.index(structure.couplings[k]) for k in pairs]
            columns = [*range(self.bodies), *(coupled + 2 * k + i for k in at for i in (0, 1)), *own]
            shared = [self.bodies + 2 * k + i for k in pairs for i in (0, 1)]
            self.factors.append(slice(self.size, self.size + len(own)))
            self.columns.append(np.array(columns))
            self.indices.append(np.array([*range(self.bodies), *shared, *range(self.size, self.size + len(own))]))
            self.size += len(own)
            not_negative += [effect.not_negative for effect in effects for _ in effect.names]
            priors += [effect.prior for effect in effects for _ in effect.names]
        self.not_negative = np.array([False] * self.bodies + not_negative)
        self.factor_width = np.array(priors)  # (size - bodies)

    def coupling(self, k: int) -> slice:
        """Return the slice of the two factors of a coupling."""
        return slice(self.bodies + 2 * k, self.bodies + 2 * k + 2)

    def of(self, joint: int, x: Array) -> Array:
        """Return the unknowns of a joint's columns, bodies included, in the order of `columns`."""
        return np.asarray(x[self.indices[joint]])


def _library_columns(first: int) -> dict[Effect, list[int]]:
    columns, at = {}, first
    for effect in library():
        columns[effect] = [*range(at, at + len(effect.names))]
        at += len(effect.names)
    return columns
