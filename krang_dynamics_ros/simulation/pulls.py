"""A person pulls a link of a simulated robot: a spring and a damper between a point of the link and a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.dynamics import Dynamics

STIFFNESS = 150.0  # N/m
DAMPING = 20.0  # N s/m; without it, the link swings about the target
MAX_FORCE = 100.0  # N: a person who leans on the robot
MAX_PULLS = 20  # per link


class Pull(NamedTuple):
    """A link, its grip point (3; m, axes of the link), and the target of that point (3; m, axes of the base)."""

    link: str
    grip: Array
    target: Array


def pulls_of(link: str, points: Sequence[Sequence[float]]) -> list[Pull]:
    """Return the pulls on a link from points (2 k, 3; m): each grip, followed by its target.

    Raises:
        ArgumentError: a point is not three finite numbers, or the points are not pairs, or too many.
    """
    if any(len(point) != 3 for point in points):
        raise ArgumentError(f'points of {sorted({*map(len, points)})} numbers, must be 3 coordinates each, in m')
    pairs = np.array(points, dtype=float).reshape(-1, 3)
    if len(pairs) % 2 or len(pairs) > 2 * MAX_PULLS:
        raise ArgumentError(f'{len(pairs)} points, must be pairs of grip and target, at most {MAX_PULLS} pairs')
    if not np.isfinite(pairs).all():
        raise ArgumentError('a point is not finite, must be coordinates in m')
    return [Pull(link, grip, target) for grip, target in pairs.reshape(-1, 2, 3)]


def pull_wrench(dynamics: Dynamics, pull: Pull, q: Array, dq: Array) -> Wrench:
    """Return the wrench of the WORLD on the link, in its axes about its origin, at q and dq (n).

    The force is at most `MAX_FORCE`. An unknown velocity (NaN) counts as zero.
    """
    rotation, origin = dynamics.pose(q, pull.link)
    arm = rotation @ pull.grip
    twist = dynamics.jacobian(q, pull.link) @ np.nan_to_num(dq)
    velocity = twist[:3] + np.cross(twist[3:], arm)
    force = STIFFNESS * (pull.target - origin - arm) - DAMPING * velocity
    force = rotation.T @ force * min(1.0, MAX_FORCE / max(float(np.linalg.norm(force)), 1e-9))
    return Wrench(pull.link, force, np.cross(pull.grip, force))
