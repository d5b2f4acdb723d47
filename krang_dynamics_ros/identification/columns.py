"""The columns of the linear problem: what each joint's motor gives, by what it gives it for.

    tau_j = Y_j phi + I_a ddq + F_v dq + F_c coulomb(dq) + sum kappa_k z_k + (share - 1) load + offset

The load is what gravity and Coriolis forces take, the bodies being those of the round before (`Pilot`): shares and
bodies enter as a product otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.friction_shapes import braking, coulomb
from ..core.spatial import Array
from .samples import DISTANCES, Samples, doubtful
from .structure import Structure

SHARE = 0.5  # what shares are drawn towards before a robot's own joints have said where theirs are
SHARE_SPREAD = (0.5, 0.2)  # standard deviation of the prior of a share, before and after
WIDE = {'rotor_inertia': 10.0, 'viscous': 100.0, 'coulomb': 1.0, 'offset': 0.03}  # the same, in spreads of the effort
NEVER_NEGATIVE = ('rotor_inertia', 'viscous', 'coulomb', 'presliding')


@dataclass(frozen=True, eq=False)
class Pilot:
    """What is known of the model from the round before: bodies (10 links), viscous friction and mean shares."""

    phi: Array
    viscous: Array  # (joints)
    shares: tuple[float, float] = (SHARE, SHARE)
    first: bool = True


def joint_columns(samples: Samples, structure: Structure, pilot: Pilot) -> Array:
    """Return the columns (rows, joints, columns) in the order of `structure.columns`."""
    s = samples
    columns = [s.ddq, s.dq, coulomb(s.dq, doubtful(s.dq, structure.coulomb_velocity))]
    columns += [s.z[:, :, DISTANCES.index(distance)] for distance in structure.presliding]
    if structure.load_share:
        load = s.Y_load @ pilot.phi
        brakes = braking(s.dq, load, crossing(structure, pilot.viscous), structure.load_velocity)
        columns += [load * (1 - brakes), load * brakes]
    if structure.offset:
        columns.append(np.ones_like(s.q))
    return np.stack(columns, axis=-1)


def crossing(structure: Structure, viscous: Array) -> Array:
    """Return the velocity per load (joints) above which a drive pushes that the load helps."""
    return structure.load_crossing / np.maximum(viscous, 1e-6)


def column_prior(structure: Structure, pilot: Pilot, spread: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation (joints, columns) of what is known of the columns' factors beforehand."""
    n = len(spread)
    means, deviations = [], []
    for name in structure.columns:
        kind = name.split()[0]
        if kind in ('pushing', 'braking'):
            mean = pilot.shares[kind == 'braking'] - 1.0
            means.append(np.full(n, mean))
            deviations.append(np.full(n, SHARE_SPREAD[0 if pilot.first else 1]))
        else:
            means.append(np.zeros(n))
            deviations.append(WIDE.get(kind, 1.0) * spread)
    return np.stack(means, axis=-1), np.stack(deviations, axis=-1)


def never_negative(structure: Structure) -> Array:
    """Tell of every column whether its factor must not be negative."""
    return np.array([name.split()[0] in NEVER_NEGATIVE for name in structure.columns])
