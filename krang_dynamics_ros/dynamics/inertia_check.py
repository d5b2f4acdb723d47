"""Check of the inertia matrix in the zero pose, for robots whose file contains impossible inertias."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DescriptionError, Fault, listed
from ..core.spatial import Array
from ..robot.robot import Robot

TOLERANCE = 1e-9  # for the eigenvalues of A, scaled to a unit diagonal


def zero_pose(robot: Robot) -> Array:
    """Return q (n) of the zero pose: zero, or the limit that is nearest to zero."""
    return np.clip(np.zeros(robot.n), *robot.position_limits)


def check_inertia_matrix(robot: Robot, joint_names: Sequence[str], A: Array) -> tuple[Fault, ...]:
    """Return a warning if A (n, n) is singular; raise `DescriptionError` if it has a negative eigenvalue.

    A is singular if a joint moves no mass, or no mass of its own. Gravity and wrench torques are still right then, but
    forward dynamics has no solution.
    """
    values, _ = _spectrum(A)
    if values[0] > TOLERANCE:
        return ()
    joints = listed([name for name, idle in zip(joint_names, without_mass(A), strict=True) if idle])
    if values[0] >= -TOLERANCE:
        why = f'because joints {joints} move no mass of their own; torques are right, the simulator gives each a rotor'
        return (Fault('A', 'is singular in the zero pose', why),)
    odd = [link.name for link in robot.links if link.inertia.m < 0 or link.inertia.impossibility()]
    what = f'is not positive definite in the zero pose (joints {joints})'
    allowed = f'must be; correct the inertia of {listed(odd) or "their links"}, which no rigid body can have'
    raise DescriptionError(f"robot '{robot.name}'", [Fault('A', what, allowed)])


def without_mass(A: Array) -> NDArray[np.bool_]:
    """Return for each joint (n) whether it moves no mass of its own: it dominates the null space of A (n, n)."""
    values, vectors = _spectrum(A)
    part = np.linalg.norm(vectors[:, values <= TOLERANCE], axis=1)
    return np.asarray(part > 0.5 * part.max())


def _spectrum(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (n), ascending, and eigenvectors (n, n) of A, scaled to a unit diagonal."""
    if not np.isfinite(A).all():
        return np.full(len(A), -np.inf), np.eye(len(A))
    size = np.sqrt(np.abs(np.diag(A)))
    size[size == 0] = 1.0
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    return values, vectors
