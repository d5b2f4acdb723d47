"""Wrench that a robot applies to its support, at the origin of its base, and the zero moment point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from ..core.spatial import Array
from ..core.wrench import Wrench
from .dynamics import Dynamics


def wrench_on_support(
    dynamics: Dynamics, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, wrenches: Iterable[Wrench] = ()
) -> Array:
    """Return the wrench that the robot applies to its support.

    Args:
        dynamics: the robot, with its payloads and the motion of its base.
        q: joint positions (n,), rad or m.
        dq: joint velocities (n,), rad/s or m/s.
        ddq: joint accelerations (n,), rad/s^2 or m/s^2.
        wrenches: wrenches that the robot applies with its links elsewhere.

    Returns:
        [force; moment] (6,) in base axes, moment about the base's origin, N and N m. The base link is included: upright
        at rest the force along z is -m g.

    Raises:
        ArgumentError: a vector has another shape, or a wrench names an unknown link.

    Example:
        >>> wrench_on_support(dynamics, q, np.zeros(dynamics.n), np.zeros(dynamics.n))[2] / -9.81  # kg: the whole mass
    """
    given = dynamics.wrench_on_base(q, dq, ddq)
    for wrench in wrenches:
        at_base = Wrench(
            dynamics.base, wrench.force, wrench.moment, wrench.axes or wrench.link, wrench.about or wrench.link
        )
        given = given + dynamics.wrench_at_link(q, at_base)
    return -given


def zero_moment_point(wrench: ArrayLike, floor: float) -> Array | None:
    """Return the point of the floor about which a wrench on the support has no moment along the floor.

    Args:
        wrench: [force; moment] (6,) that the robot applies to its support, in base axes, about the base's origin.
        floor: height of the floor, m: its plane is z = floor in base axes.

    Returns:
        Point (3,) in base axes, m; None if the robot does not press on the floor. Outside of the area between the
        contacts the robot tips.
    """
    fx, fy, fz, mx, my, _ = np.asarray(wrench, dtype=float)
    if not fz < 0:
        return None
    point = np.array([(floor * fx - my) / fz, (floor * fy + mx) / fz, floor])
    return point if np.isfinite(point).all() else None
