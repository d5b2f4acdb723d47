"""The final fit: the same linear problem, all bodies possible, by a semidefinite program (cvxpy, clarabel).

    min  1/2 sum of weighted squares + 1/2 prior of the joints' factors + sum over links of divergence / spread^2

Each body is written J = L K L^T by its known pseudo-inertia L L^T, so that K is one at the known body, the divergence
is tr K - log det K - 4, and the logarithm keeps every body strictly possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.optional import optional
from ..core.spatial import Array
from .bodies_prior import parameters_of_pseudo_inertia, pseudo_inertia, stiffness
from .columns import never_negative
from .least_squares import Equations, Known, Solution, next_pilot, prior_of
from .samples import Samples
from .structure import Structure

cp = optional('cvxpy', 'bodies that are all possible')
ROUNDS = 2  # of bodies and load in turn, from the quick solution on


def possible(equations: Equations, start: Solution, known: Known, samples: Samples) -> Solution:
    """Return the solution whose bodies are all possible, started from the quick one."""
    solution = start
    for _ in range(ROUNDS):
        pilot = next_pilot(solution)
        M, b = equations.build(start.structure, pilot)
        P, at = prior_of(start.structure, pilot, known, samples.spread)
        x = _solve(M, b, P, at, known, start.structure)
        p = len(known.phi)
        factors = x[p:].reshape(len(samples.spread), -1)
        solution = Solution(start.structure, x[:p], factors, pilot, M, _prior_there(P, x[:p], start.structure))
    return solution


def _solve(M: Array, b: Array, P: Array, at: Array, known: Known, structure: Structure) -> Array:
    """Return the unknowns: bodies by their K, factors scaled to what the data say of them."""
    p = len(known.phi)
    bodies = [cp.Variable((4, 4), symmetric=True) for _ in known.factors]
    scale = 1.0 / np.sqrt(np.diag(M)[p:] + np.diag(P)[p:])
    factors = cp.Variable(len(scale))
    parts = [_parameters_of_K(L) @ cp.vec(K, order='C') for K, L in zip(bodies, known.factors, strict=True)]
    x = cp.hstack([*parts, cp.multiply(scale, factors)])
    R, d = _square_root(M, b)
    prior = cp.multiply(np.sqrt(np.diag(P)[p:]), cp.multiply(scale, factors) - at[p:])
    divergence = sum(cp.trace(K) - cp.log_det(K) for K in bodies)
    squares = cp.sum_squares(R @ x - d) + cp.sum_squares(prior)
    guarded = np.flatnonzero(np.tile(never_negative(structure), len(scale) // len(structure.columns)))
    cost = 0.5 * squares * structure.spread**2 + divergence  # so scaled, the solver finds it exactly
    _minimize(cp.Problem(cp.Minimize(cost), [factors[guarded] >= 0]))
    phi = [
        parameters_of_pseudo_inertia(L @ np.asarray(K.value) @ L.T) for K, L in zip(bodies, known.factors, strict=True)
    ]
    found = scale * np.asarray(factors.value)
    found[guarded] = np.maximum(found[guarded], 0.0)
    return np.concatenate([*phi, found])


def _minimize(problem: Any) -> None:
    try:
        problem.solve(solver='CLARABEL')
    except cp.SolverError as error:
        raise KrangDynamicsError(f'no possible bodies were found: {error}') from None
    if problem.status not in ('optimal', 'optimal_inaccurate'):
        raise KrangDynamicsError(f'no possible bodies were found: the solver says {problem.status}')


def _parameters_of_K(L: Array) -> Array:
    """Return the matrix (10, 16) that takes K, row by row, to the ten parameters of L K L^T."""
    unit = np.eye(16).reshape(16, 4, 4)
    return np.stack([parameters_of_pseudo_inertia(L @ K @ L.T) for K in unit], axis=1)


def _square_root(M: Array, b: Array) -> tuple[Array, Array]:
    """Return R and d with R^T R = M and R^T d = b: the squares behind normal equations."""
    size = np.sqrt(np.diag(M)) + 1e-30
    values, vectors = np.linalg.eigh(M / np.outer(size, size))
    kept = values > 1e-12 * values[-1]
    roots = np.sqrt(values[kept])
    return roots[:, None] * vectors[:, kept].T * size, (vectors[:, kept].T @ (b / size)) / roots


def _prior_there(P: Array, phi: Array, structure: Structure) -> Array:
    """Return the prior's matrix at the bodies that were found, where the divergence has another second derivative."""
    there = P.copy()
    for k in range(len(phi) // 10):
        at = slice(10 * k, 10 * k + 10)
        there[at, at] = (
            stiffness(np.asarray(np.linalg.cholesky(pseudo_inertia(phi[at])), dtype=float)) / structure.spread**2
        )
    return there
