"""Ridge regression of efforts: normal equations, and their solution without impossible negative unknowns.

The unknowns are first those that all joints share, such as the bodies, then those of each joint, such as its friction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array


def unknowns_of(joint: int, shared: int, own: int) -> NDArray[np.intp]:
    """Return the indices of the unknowns of a joint: all shared ones, and its own."""
    return np.concatenate([np.arange(shared), shared + own * joint + np.arange(own)])


def normal_equations(
    shared: Array, own: Array, effort: Array, weights: Sequence[float] | Array, known: Array, precision: Array
) -> tuple[Array, Array]:
    """Return matrix and right side for columns (rows, joints, s or c), efforts (rows, joints) and weights (joints).

    The prior of the shared unknowns is their known values (s) with a precision (s, s); the others have none yet.
    """
    n, s, c = effort.shape[1], shared.shape[2], own.shape[2]
    A, b = np.zeros((s + c * n, s + c * n)), np.zeros(s + c * n)
    A[:s, :s], b[:s] = precision, precision @ known
    for j, weight in enumerate(weights):
        at, X = unknowns_of(j, s, c), np.concatenate([shared[:, j], own[:, j]], axis=1)
        A[np.ix_(at, at)] += weight * X.T @ X
        b[at] += weight * X.T @ effort[:, j]
    return A, b


def solution(A: Array, b: Array, not_negative: NDArray[np.bool_]) -> Array:
    """Return the solution of A x = b; unknowns that must not be negative are pinned to zero where they would be."""
    pinned = np.zeros(len(b), dtype=bool)
    while True:
        free, x = ~pinned, np.zeros(len(b))
        x[free] = np.linalg.solve(A[np.ix_(free, free)], b[free])
        below = not_negative & free & (x < 0)
        if not below.any():
            return x
        pinned |= below
