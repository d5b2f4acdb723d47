"""A quick fit that says which load the joints carry and how viscous they are, before effects of the load are fitted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from .bodies_prior import BodiesPrior
from .samples import Samples

ERROR = 0.1  # of the spread of the effort: what the quick fit leaves unexplained
COULOMB_VELOCITY = 0.02  # rad/s
SMALL = 1e-4  # precision of each joint's factors: they are free


class Pilot(NamedTuple):
    """Bodies (10 links) and viscous friction (joints)."""

    phi: Array
    viscous: Array


def pilot_fit(samples: Samples, prior: BodiesPrior) -> Pilot:
    """Fit bodies, rotors, viscous and Coulomb friction and offsets to smoothed efforts, by ridge regression."""
    q, dq, ddq = (x[:, samples.counted] for x in samples.whole)
    own = np.stack([ddq, dq, np.tanh(dq / COULOMB_VELOCITY), np.ones_like(q)], axis=-1)
    p, n, c = samples.Y.shape[2], samples.effort.shape[1], own.shape[2]
    M, b = np.zeros((p + n * c, p + n * c)), np.zeros(p + n * c)
    M[:p, :p] = prior.hessian
    b[:p] = prior.hessian @ prior.phi
    new_rows = min(1.0, 2 * samples.cutoff / samples.rate)
    weights = new_rows / np.square(np.maximum(ERROR * samples.effort.std(axis=0), 1e-9))
    effort = samples.smooth_effort - samples.known_effort
    for j, weight in enumerate(weights):
        at = np.r_[0:p, p + j * c : p + (j + 1) * c]
        X = np.concatenate([samples.Y[:, j], own[:, j]], axis=1)
        M[np.ix_(at, at)] += weight * X.T @ X
        b[at] += weight * X.T @ effort[:, j]
    M[np.arange(p, len(M)), np.arange(p, len(M))] += SMALL
    x = np.linalg.solve(M, b)
    return Pilot(x[:p], x[p:].reshape(n, c)[:, 1])
