"""Cartesian dynamics of a hand: F = M_x ddx + V_x + G_x (Craig, Introduction to Robotics, eq. 6.99)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError, SingularityError
from ..core.spatial import Array
from ..core.wrench import DIRECTIONS
from .dynamics import Dynamics
from .kinematics import Frame

SINGULAR = 1e-8  # smallest over largest mobility, below which M_x has fewer than about eight correct digits


@dataclass(frozen=True, eq=False)
class TaskSpace:
    """Cartesian dynamics of a link's origin in m directions. Units: kg, N, N m.

    Attributes:
        J: Jacobian (m, n), [v; omega] = J dq.
        J_bar: dynamically consistent inverse A^-1 J^T M_x of J (n, m).
        M_x: Cartesian inertia (m, m).
        V_x: Cartesian Coriolis force (m,).
        G_x: Cartesian gravity force (m,).
    """

    J: Array  # (m, n), [v; omega] = J dq
    J_bar: Array  # (n, m), the dynamically consistent inverse A^-1 J^T M_x of J
    M_x: Array  # (m, m)
    V_x: Array  # (m)
    G_x: Array  # (m)


def task_space(
    dynamics: Dynamics,
    q: ArrayLike,
    dq: ArrayLike,
    link: str,
    frame: Frame = 'base',
    directions: Sequence[int] = range(6),
) -> TaskSpace:
    """Return the Cartesian dynamics F = M_x ddx + V_x + G_x of a link's origin (Craig, eq. 6.99).

    For a square Jacobian, this is eq. 6.99 as printed. For a redundant arm, J^-1 is the dynamically consistent inverse.

    Args:
        dynamics: dynamics of the robot.
        q: joint positions (n,), rad or m.
        dq: joint velocities (n,), rad/s or m/s.
        link: name of the link.
        frame: axes of the result, those of the base or of the link; ddx is the derivative of [v; omega] in them.
        directions: controlled rows of [v; omega], by number; `(0, 1)` is the plane x, y.

    Returns:
        A `TaskSpace`.

    Raises:
        ArgumentError: the directions are not different numbers out of 0 to 5, or a link is unknown.
        SingularityError: the robot cannot move the link in all directions; the message names the lost direction.
    """
    rows = list(directions)
    if not rows or len(set(rows)) != len(rows) or not set(rows) <= set(range(6)):
        raise ArgumentError(f'directions: {rows}, must be different numbers out of 0 ... 5: {", ".join(DIRECTIONS)}')
    J = dynamics.jacobian(q, link, frame)[rows]
    A_inv_JT = _solved(dynamics.A(q), J.T, link)
    M_x = _inverse(J @ A_inv_JT, rows, link)
    J_bar = A_inv_JT @ M_x
    V_x = J_bar.T @ dynamics.coriolis_torque(q, dq) - M_x @ dynamics.jacobian_rate(q, dq, link, frame)[rows]
    return TaskSpace(J, J_bar, M_x, V_x, J_bar.T @ dynamics.Q(q))


def _solved(A: Array, JT: Array, link: str) -> Array:
    try:
        solution = np.linalg.solve(A, JT)
    except np.linalg.LinAlgError:
        solution = np.full(JT.shape, np.nan)
    if not np.isfinite(solution).all():
        raise SingularityError(f"task space of '{link}': a joint moves no mass, or the state is not finite")
    return np.asarray(solution)


def _inverse(mobility: Array, rows: Sequence[int], link: str) -> Array:
    """Return the inverse of J A^-1 J^T, or raise `SingularityError` if it is nearly singular."""
    values, vectors = np.linalg.eigh(mobility)
    ratio = values[0] / values[-1] if values[-1] > 0 else 0.0
    if not ratio > SINGULAR:
        lost = ', '.join(
            f'{DIRECTIONS[row]} {part:+.2f}' for row, part in zip(rows, vectors[:, 0], strict=True) if abs(part) > 0.1
        )
        raise SingularityError(
            f"task space of '{link}': singular, no motion along ({lost}); the ratio of mobilities is {ratio:.1e}, "
            f'must be above {SINGULAR:g}. Use fewer directions or another pose'
        )
    return np.asarray((vectors / values) @ vectors.T)
