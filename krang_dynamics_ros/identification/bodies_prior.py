"""Prior of the bodies: pseudo-inertias, and their divergence from those of the robot file.

A body is possible if its pseudo-inertia J = [[S, MS], [MS^T, m]], S = tr(J_o)/2 1 - J_o, is positive definite (Wensing,
Kim, Slotine, "Linear matrix inequalities for physically consistent inertial parameter identification", 2018). The
distance to a known body J0 is the Bregman divergence tr(J0^-1 J) - log det(J0^-1 J) - 4 (Lee, Wensing, Park, 2020): it
has no unit, does not depend on the frame, and goes to infinity where a body becomes impossible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.spatial import Array, symmetric

MIN_MASS = 1e-3  # of the heaviest body: a lighter one counts as this heavy
NO_MASS = 1e-6  # of the heaviest body: a lighter one has no centre of mass of its own
MIN_MOMENT = 1e-3  # of the largest central second moment: a thinner body counts as this thick
MIN_GYRATION = 1e-4  # m^2, a radius of gyration of 1 cm: a smaller body counts as this large


def pseudo_inertia(parameters: Array) -> Array:
    """Return J (..., 4, 4) of the ten parameters (..., 10) [m, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ]."""
    return np.asarray(np.einsum('...a,aij->...ij', parameters, BASIS), dtype=float)


def _pseudo_inertia(parameters: Array) -> Array:
    Jo = symmetric(parameters[4:10])
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(Jo) * np.eye(3) - Jo
    J[:3, 3] = J[3, :3] = parameters[1:4]
    J[3, 3] = parameters[0]
    return J


BASIS = np.stack([_pseudo_inertia(row) for row in np.eye(10)])  # (10, 4, 4): J is the sum of parameters times these


def parameters_of_pseudo_inertia(J: Array) -> Array:
    """Return the ten parameters of J (4, 4)."""
    S = J[:3, :3]
    Jo = np.trace(S) * np.eye(3) - S
    return np.concatenate([[J[3, 3]], J[:3, 3], Jo[np.triu_indices(3)]])


def known_body(parameters: Array, heaviest: float) -> Array:
    """Return the pseudo-inertia (4, 4) of a body, made possible if it is not; `heaviest` of all bodies, kg."""
    J = pseudo_inertia(parameters)
    m = max(float(J[3, 3]), MIN_MASS * heaviest)
    com = J[:3, 3] / m if J[3, 3] > NO_MASS * heaviest else np.zeros(3)
    values, axes = np.linalg.eigh(J[:3, :3] - m * np.outer(com, com))
    floor = max(MIN_MOMENT * float(values[-1]), MIN_GYRATION * m)
    about_com = axes @ np.diag(np.maximum(values, floor)) @ axes.T
    J[:3, :3] = about_com + m * np.outer(com, com)
    J[:3, 3] = J[3, :3] = m * com
    J[3, 3] = m
    return J


@dataclass(frozen=True, eq=False)
class BodiesPrior:
    """Pseudo-inertias (links, 4, 4) of all bodies before the fit."""

    known: Array

    @classmethod
    def of(cls, phi: Array) -> BodiesPrior:
        """Use the parameters (10 links) of the robot file; impossible bodies are made possible."""
        bodies = phi.reshape(-1, 10)
        heaviest = float(bodies[:, 0].max())
        return cls(np.stack([known_body(body, heaviest) for body in bodies]))

    @cached_property
    def phi(self) -> Array:
        """The known bodies' parameters (10 links)."""
        return np.concatenate([parameters_of_pseudo_inertia(J) for J in self.known])

    @cached_property
    def inverse(self) -> Array:
        """Inverses (links, 4, 4) of the known pseudo-inertias."""
        return np.asarray(np.linalg.inv(self.known))

    @cached_property
    def hessian(self) -> Array:
        """Second derivative (10 links, 10 links) of the divergence at the known bodies."""
        return self.hessian_at(self.phi)

    def divergence(self, phi: Array) -> float:
        """Return the sum over bodies of tr(J0^-1 J) - log det(J0^-1 J) - 4; infinite where a body is impossible."""
        relative = self.inverse @ pseudo_inertia(phi.reshape(-1, 10))
        try:
            np.linalg.cholesky(pseudo_inertia(phi.reshape(-1, 10)))
        except np.linalg.LinAlgError:
            return np.inf
        return float((np.trace(relative, axis1=1, axis2=2) - np.linalg.slogdet(relative)[1] - 4).sum())

    def gradient(self, phi: Array) -> Array:
        """Return the derivative (10 links) of the divergence by the parameters."""
        inverse = np.linalg.inv(pseudo_inertia(phi.reshape(-1, 10)))
        return np.asarray(np.einsum('kij,aji->ka', self.inverse - inverse, BASIS), dtype=float).ravel()

    def hessian_at(self, phi: Array) -> Array:
        """Return the second derivative (10 links, 10 links) of the divergence at any bodies."""
        inverse = np.linalg.inv(pseudo_inertia(phi.reshape(-1, 10)))
        turned = np.einsum('kij,ajl->kail', inverse, BASIS)
        blocks = np.einsum('kaij,kbji->kab', turned, turned)
        H = np.zeros((len(phi), len(phi)))
        for k, block in enumerate(blocks):
            H[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block
        return H
