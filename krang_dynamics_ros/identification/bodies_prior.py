"""How far bodies are from the known ones: pseudo-inertias, their cone and the distance in it.

A body is possible if its pseudo-inertia J = [[S, MS], [MS^T, m]], S = tr(J_o)/2 1 - J_o, is positive definite (Wensing,
Kim, Slotine, "Linear matrix inequalities for physically consistent inertial parameter identification", 2018). The
distance to a known body J0 is the Bregman divergence tr(J0^-1 J) - log det(J0^-1 J) - 4 (Lee, Wensing, Park, 2020): it
has no unit, sees no frame, and goes to infinity where a body stops being possible.
"""

from __future__ import annotations

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array, symmetric

LEAST = 1e-3  # of the largest radius of gyration squared: thinner known bodies count as this thick
ALONE = 1e-3  # kg and kg m^2 per (0.1 m)^2: what a link without mass counts as, so that it may have some


def pseudo_inertia(parameters: Array) -> Array:
    """Return J (4, 4) of the ten parameters [m, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ]."""
    Jo = symmetric(parameters[4:10])
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(Jo) * np.eye(3) - Jo
    J[:3, 3] = J[3, :3] = parameters[1:4]
    J[3, 3] = parameters[0]
    return J


def parameters_of_pseudo_inertia(J: Array) -> Array:
    """Return the ten parameters of J (4, 4)."""
    S = J[:3, :3]
    Jo = np.trace(S) * np.eye(3) - S
    return np.concatenate([[J[3, 3]], J[:3, 3], Jo[np.triu_indices(3)]])


BASIS = np.stack([pseudo_inertia(row) for row in np.eye(10)])  # (10, 4, 4): J is the sum of parameters times these


def known_body(inertia: Inertia) -> Array:
    """Return the factor L (4, 4) of the known pseudo-inertia, J0 = L L^T, made possible where it is not quite."""
    m = max(inertia.m, ALONE)
    J = pseudo_inertia(inertia.parameters if inertia.m else np.concatenate([[m], np.zeros(9)]))
    com = J[:3, 3] / m
    about_com = J[:3, :3] - m * np.outer(com, com)
    values, axes = np.linalg.eigh(about_com)
    floor = max(LEAST * float(values[-1]), m * 1e-4)  # a radius of gyration of 1 cm at least
    about_com = axes @ np.diag(np.maximum(values, floor)) @ axes.T
    J[:3, :3] = about_com + m * np.outer(com, com)
    J[3, 3] = m
    return np.asarray(np.linalg.cholesky(J), dtype=float)


def stiffness(L: Array) -> Array:
    """Return the second derivative (10, 10) of the divergence by the parameters, at the known body L L^T."""
    inverse = np.linalg.inv(L)
    turned = np.einsum('ij,ajk,lk->ail', inverse, BASIS, inverse)
    return np.asarray(np.einsum('aij,bij->ab', turned, turned))
