"""Torques that an arm's firmware adds to each command, by its own model, payload and gravity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.errors import ArgumentError, unknown_name
from ..core.inertia import Inertia
from ..core.spatial import Array
from ..robot.robot import Robot
from .factory import dynamics_of

MAY_ADD = ('gravity', 'coriolis', 'friction')


class Firmware:
    """Terms that the firmware of a robot computes, with the sign of the total.

    The firmware's model is the vendor's robot up to the flanges, with the payloads that are configured in the firmware.
    """

    def __init__(
        self, robot: Robot, joint_names: Sequence[str], flanges: Sequence[str] = (), adds: Sequence[str] = ('gravity',)
    ) -> None:
        """Create the firmware's model.

        Args:
            robot: the robot as the vendor models it.
            joint_names: order of torques (n); torques of joints that `robot` lacks are zero.
            flanges: links at which the vendor's model ends.
            adds: terms that the firmware adds, out of MAY_ADD.
        """
        self.adds = frozenset(adds)
        self._dynamics = dynamics_of(without_beyond(robot, flanges))
        if others := [name for name in self._dynamics.joint_names if name not in joint_names]:
            raise ArgumentError(f'robot.description: joint {others[0]}, must be of the robot, or beyond a robot_flange')
        self._order = [list(joint_names).index(name) for name in self._dynamics.joint_names]
        self._n = len(joint_names)

    def set_gravity(self, gravity: Sequence[float]) -> None:
        """Set the gravity (3) that the firmware uses: base axes, pointing down, m/s^2."""
        self._dynamics.gravity = np.array(gravity, dtype=float)

    def set_payload(self, payload: Mapping[str, Inertia]) -> None:
        """Set the payloads that are configured in the firmware, by flange, in the frame of the flange."""
        self._dynamics.payload = dict(payload)

    def torque(self, q: Array, dq: Array | None) -> Array | None:
        """Return the torque (n) that the firmware adds, N m (N); None if it needs velocities and `dq` is None.

        Friction is not included: it is left out of the command instead (`robot.friction_share`).
        """
        torque = np.zeros(self._n)
        if 'gravity' in self.adds:
            torque += self.gravity_torque(q)
        if 'coriolis' in self.adds:
            if dq is None:
                return None
            torque[self._order] += self._dynamics.coriolis_torque(q[self._order], dq[self._order])
        return torque

    def gravity_torque(self, q: Array) -> Array:
        """Return the gravity torque (n) of the firmware's model."""
        torque = np.zeros(self._n)
        torque[self._order] = self._dynamics.Q(q[self._order])
        return torque


def without_beyond(robot: Robot, flanges: Sequence[str]) -> Robot:
    """Return the robot with massless and fixed links beyond the flanges."""
    names = [link.name for link in robot.links]
    if wrong := [flange for flange in flanges if flange not in names]:
        raise unknown_name('robot_flange: link', wrong[0], names)
    beyond: set[str] = set()
    for joint in robot.outward:
        if joint.parent in flanges or joint.parent in beyond:
            beyond.add(joint.child)
    links = tuple(replace(link, inertia=Inertia()) if link.name in beyond else link for link in robot.links)
    joints = tuple(replace(j, kind='fixed', mimic=None) if j.child in beyond else j for j in robot.joints)
    return replace(robot, links=links, joints=joints)
