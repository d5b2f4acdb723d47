"""Transforms iT_j(q_j) from the frame of a joint's child to that of its parent, for numbers or symbols.

Both witnesses, `lagrangian` and `newton_euler`, and the exports take their transforms from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.algebra import ZERO, Matrix, Vector, add, apply, cos, plus, product, scale, sin, times, transpose
from ..robot.robot import Joint, Robot

ByJoint = Mapping[str, Any]  # number, array or symbol by name of a moving joint


class Transform(NamedTuple):
    """iT_j (report, eq. 6): the rotation iA_j and the position iP_j of frame j in frame i."""

    A: Matrix
    P: Vector


IDENTITY = Transform(np.eye(3).tolist(), ZERO)


def local_transform(joint: Joint, q: Any) -> Transform:
    """Return iT_j at joint position q: the transform at zero, then the motion along or about the axis j_e_j."""
    A0, P0, e = joint.rotation.tolist(), joint.position.tolist(), joint.axis.tolist()
    if joint.kind == 'fixed':
        return Transform(A0, P0)
    if joint.kind == 'prismatic':
        return Transform(A0, add(P0, apply(A0, scale(q, e))))
    return Transform(product(A0, _rotation(e, cos(q), sin(q))), P0)


def _rotation(e: Vector, c: Any, s: Any) -> Matrix:
    """Return the rotation about a unit axis, e e^T + c (1 - e e^T) + s e^, entry by entry (Rodrigues)."""
    skew = ((0.0, -e[2], e[1]), (e[2], 0.0, -e[0]), (-e[1], e[0], 0.0))
    return [
        [plus(e[i] * e[j], plus(times(c, float(i == j) - e[i] * e[j]), times(s, skew[i][j]))) for j in range(3)]
        for i in range(3)
    ]


def own_velocity(joint: Joint, dq: Any) -> tuple[Vector, Vector]:
    """Return (omega, V) that a joint adds to the velocity of its child, in the child's axes (eqs. 7, 8: last terms).

    The report has revolute joints only; a prismatic joint adds e dq to V instead of omega.
    """
    own = scale(dq, joint.axis.tolist())
    return (ZERO, own) if joint.kind == 'prismatic' else (own, ZERO)


def positions(robot: Robot, q: ByJoint) -> ByJoint:
    """Return the positions of all moving joints: the coordinates and their followers."""
    followers = {name: plus(times(m.multiplier, q[m.joint]), m.offset) for name, m in robot.mimics.items()}
    return {**q, **followers}


def rates(robot: Robot, dq: ByJoint) -> ByJoint:
    """Return the velocities, or accelerations, of all moving joints."""
    followers = {name: times(m.multiplier, dq.get(m.joint, 0.0)) for name, m in robot.mimics.items()}
    return {**dq, **followers}


def on_coordinates(robot: Robot, torques: Mapping[str, Any]) -> dict[str, Any]:
    """Return the torque of each coordinate from torques at all joints: its own and those of its followers."""
    total = {name: torques[name] for name in robot.joint_names if name in torques}
    for name, m in robot.mimics.items():
        if name in torques:
            total[m.joint] = plus(total.get(m.joint, 0.0), times(m.multiplier, torques[name]))
    return total


def all_local(robot: Robot, q: ByJoint) -> dict[str, Transform]:
    """Return iT_j of every link but the base, by link name."""
    all_q = positions(robot, q)
    return {joint.child: local_transform(joint, all_q.get(joint.name)) for joint in robot.joints}


def all_in_base(robot: Robot, local: Mapping[str, Transform]) -> dict[str, Transform]:
    """Return 0T_j of every link, by link name."""
    in_base = {robot.base: IDENTITY}
    for joint in robot.outward:
        in_base[joint.child] = composed(in_base[joint.parent], local[joint.child])
    return in_base


def relative_transform(robot: Robot, local: Mapping[str, Transform], link: str, seen_from: str) -> Transform:
    """Return jT_i, frame i of a link in frame j of another link, by the joints between them: Tf() (B.11).

    If j is before i, the transforms are multiplied; if i is before j, their inverses. For links of two branches, which
    the report leaves out, both are used, by way of the link where the branches meet.
    """
    ours, theirs = robot.joints_between(link, seen_from)
    T = IDENTITY
    for joint in reversed(theirs):
        T = composed(T, inverse(local[joint.child]))
    for joint in ours:
        T = composed(T, local[joint.child])
    return T


def composed(first: Transform, second: Transform) -> Transform:
    """Return iT_k of iT_j and jT_k."""
    return Transform(product(first.A, second.A), add(first.P, apply(first.A, second.P)))


def inverse(T: Transform) -> Transform:
    """Return jT_i of iT_j."""
    A = transpose(T.A)
    return Transform(A, scale(-1.0, apply(A, T.P)))
