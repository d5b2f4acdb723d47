"""Is a robot's inertia matrix one? What a file's odd inertias come to, all together, at rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.errors import DescriptionError, Fault, listed
from ..core.spatial import Array
from ..robot.robot import Robot

TOLERANCE = 1e-9  # of the smallest eigenvalue of A, its diagonal brought to one


def rest(robot: Robot) -> Array:
    """Return q (n) at rest: zero, or the limit next to it."""
    limits = [joint.limits for joint in robot.moving_joints]
    return np.array(
        [0.0 if x is None or x.lower is None or x.upper is None else min(max(0.0, x.lower), x.upper) for x in limits]
    )


def odd_inertia(robot: Robot, joint_names: Sequence[str], A: Array) -> tuple[Fault, ...]:
    """Return a warning if A (n, n) of these joints is singular; raise `DescriptionError` if it is worse.

    Gravity and wrench torques are right where it is singular: some joint moves no mass, or no mass of its own. Forward
    dynamics has no answer there.
    """
    size = np.sqrt(np.abs(np.diag(A)))
    size[size == 0] = 1.0
    values, vectors = np.array([-np.inf]), np.ones((len(A), 1))
    if np.isfinite(A).all():
        values, vectors = np.linalg.eigh(A / np.outer(size, size))
    if values[0] > TOLERANCE:
        return ()
    largest = np.abs(vectors[:, 0]) / np.abs(vectors[:, 0]).max() > 0.5
    joints = listed([name for name, most in zip(joint_names, largest, strict=True) if most])
    if values[0] >= -TOLERANCE:
        what = f'is singular at rest, of joints {joints}'
        return (Fault('A', what, 'which move no mass of their own: torques are right, a simulation has no answer'),)
    odd = [link.name for link in robot.links if link.inertia.m < 0 or link.inertia.impossibility()]
    what = f'is not positive definite at rest, of joints {joints}'
    raise DescriptionError(
        f"robot '{robot.name}'",
        [Fault('A', what, f'must be; no body can have the inertia of {listed(odd) or "these"}')],
    )
