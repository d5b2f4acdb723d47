"""The robot of an identification: recorded joints move, all others are fixed, and rigid links are one body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array
from ..equations.newton_euler import NewtonEuler
from ..equations.regressor import parameters_of, regressor, with_fixed_joints, with_parameters
from ..robot.robot import Robot
from .bodies_prior import pseudo_inertia

MAX_FIXED_SHARE = 0.9  # of the possible share of the fixed links, where the fitted body is too light for all


@dataclass(frozen=True, eq=False)
class MergedRobot:
    """A robot whose coordinates are the recorded joints. Only the base and the children of moving joints have mass."""

    robot: Robot
    links: tuple[str, ...]  # with one merged body each: the child of each joint that moves or follows

    @classmethod
    def of(cls, robot: Robot, moving: Sequence[str], resting: Mapping[str, float]) -> MergedRobot:
        """Fix the joints that do not move at their resting positions, and merge rigid links."""
        fixed = with_fixed_joints(robot, resting, moving)
        links = tuple(joint.child for joint in fixed.outward if joint.moves)
        return cls(_merged(fixed), links)

    @property
    def phi(self) -> Array:
        """The bodies' parameters (10 links), about the frames of their links."""
        return parameters_of(self.robot, self.links)

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Return Y (rows, joints, 10 links)."""
        return regressor(self.robot, self.links, q, dq, ddq)

    def load_torque(self, q: Array, dq: Array, phi: Array) -> Array:
        """Return the gravity and Coriolis torque (rows, joints) of bodies phi (10 links)."""
        bodies = with_parameters(self.robot, self.links, phi)
        return NewtonEuler(_without_rotors(bodies)).inverse_dynamics(q, dq, np.zeros_like(q))


def _without_rotors(robot: Robot) -> Robot:
    joints = [replace(joint, motor=replace(joint.motor, rotor_inertia=0.0)) for joint in robot.joints]
    return replace(robot, joints=tuple(joints))


def _merged(robot: Robot) -> Robot:
    """Return the robot with the body of each fixed link in the link that carries it."""
    bodies = {link.name: link.inertia for link in robot.links}
    for joint in reversed(robot.outward):
        if not joint.moves:
            bodies[joint.parent] = bodies[joint.parent] + bodies[joint.child].in_parent(joint.rotation, joint.position)
            bodies[joint.child] = Inertia()
    return replace(robot, links=tuple(replace(link, inertia=bodies[link.name]) for link in robot.links))


def with_bodies(robot: Robot, moving: Sequence[str], resting: Mapping[str, float], phi: Array) -> Robot:
    """Return the robot whose merged bodies are phi (10 links): the moving links get the difference.

    Where that makes such a link impossible, the links fixed to it become lighter, all by the same factor.
    """
    fixed = with_fixed_joints(robot, resting, moving)
    merged = MergedRobot.of(robot, moving, resting)
    bodies = {link.name: link.inertia for link in robot.links}
    for k, link in enumerate(merged.links):
        total = phi[10 * k : 10 * k + 10]
        rest = merged.robot.link_of[link].inertia.parameters - bodies[link].parameters
        share = 1.0 if is_possible(total - rest) else MAX_FIXED_SHARE * _largest_share(total, rest)
        bodies[link] = Inertia.from_parameters(total - share * rest)
        if share < 1:
            for other in (name for name in _rigid_with(fixed, link) if bodies[name].m):
                bodies[other] = Inertia.from_parameters(share * bodies[other].parameters)
    return replace(robot, links=tuple(replace(link, inertia=bodies[link.name]) for link in robot.links))


def is_possible(parameters: Array) -> bool:
    """Return whether a rigid body can have these ten parameters: its pseudo-inertia is positive definite."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(parameters))[0] > 0)


def _largest_share(total: Array, rest: Array) -> float:
    """Return the largest share (at most 1) of the body `rest` that can be subtracted and leaves a possible body."""
    L = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(total)))
    most = float(np.linalg.eigvalsh(L @ pseudo_inertia(rest) @ L.T)[-1])
    return min(1.0, 1.0 / most)


def _rigid_with(robot: Robot, link: str) -> list[str]:
    """Return the links that fixed joints hold to a link, directly or through others."""
    links = [link]
    for joint in robot.outward:
        if not joint.moves and joint.parent in links:
            links.append(joint.child)
    return links[1:]
