"""Rigid bodies and composite bodies of numbers or symbols, for the witnesses and exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core.algebra import ZERO, Matrix, Vector, add, apply, cross, dot, minus, plus, product, scale, times, transpose
from ..core.inertia import Inertia
from ..robot.robot import Robot
from .frames import ByJoint, Transform, own_velocity

Momentum = tuple[Vector, Vector]  # linear, and angular about the frame's origin


class Body(NamedTuple):
    """Mass m, first moment MS and inertia J of a body, about the origin of its frame, in its axes."""

    m: Any
    MS: Vector
    J: Matrix


def body_of(inertia: Inertia) -> Body:
    """Return the body of a link's inertia."""
    return Body(inertia.m, inertia.MS.tolist(), inertia.J.tolist())


def moved(body: Body, T: Transform) -> Body:
    """Return a body of frame j in frame i, by iT_j: I_B = Ad^T I_C Ad."""
    turned = apply(T.A, body.MS)
    half = add(turned, scale(times(0.5, body.m), T.P))  # A MS + m P / 2: the shift of J is linear in it
    AJA, twice = product(T.A, product(body.J, transpose(T.A))), times(2.0, dot(T.P, half))
    J: list[list[Any]] = [[0.0] * 3 for _ in range(3)]
    for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        shift = minus(twice if i == j else 0.0, plus(times(half[i], T.P[j]), times(T.P[i], half[j])))
        J[i][j] = J[j][i] = plus(AJA[i][j], shift)
    return Body(body.m, add(turned, scale(body.m, T.P)), J)


def joined(a: Body, b: Body) -> Body:
    """Return the sum of two bodies in the same frame."""
    return Body(plus(a.m, b.m), add(a.MS, b.MS), [add(x, y) for x, y in zip(a.J, b.J, strict=True)])


def momentum(body: Body, omega: Vector, V: Vector) -> Momentum:
    """Return dE/dV = m V + omega x MS and dE/domega = J omega + MS x V, with E of eq. 11."""
    return add(scale(body.m, V), cross(omega, body.MS)), add(apply(body.J, omega), cross(body.MS, V))


def carried_bodies(robot: Robot, local: Mapping[str, Transform]) -> dict[str, Body]:
    """Return by link the composite body of the link and of all that it carries, in its frame."""
    bodies = {link.name: body_of(link.inertia) for link in robot.links}
    for joint in reversed(robot.outward):
        bodies[joint.parent] = joined(bodies[joint.parent], moved(bodies[joint.child], local[joint.child]))
    return bodies


def carried_momenta(
    robot: Robot, local: Mapping[str, Transform], bodies: Mapping[str, Body], dq: ByJoint
) -> dict[str, Momentum]:
    """Return by link the momentum, in its frame, that the joints beyond it cause while the link is at rest."""
    momenta: dict[str, Momentum] = {link.name: (ZERO, ZERO) for link in robot.links}
    for joint in reversed(robot.outward):
        T, (linear, angular) = local[joint.child], momenta[joint.child]
        if joint.moves:
            own = momentum(bodies[joint.child], *own_velocity(joint, dq[joint.name]))
            linear, angular = add(linear, own[0]), add(angular, own[1])
        linear = apply(T.A, linear)
        angular = add(apply(T.A, angular), cross(T.P, linear))
        momenta[joint.parent] = (add(momenta[joint.parent][0], linear), add(momenta[joint.parent][1], angular))
    return momenta
