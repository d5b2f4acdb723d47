"""Who pulls the robot, where, and how hard: a spring between a point of a link and the mouse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics

STIFFNESS = 150.0  # N/m: of the spring
DAMPING = 20.0  # N s/m: or what is pulled would swing about the mouse
STRONGEST = 100.0  # N: what a person leaning on it gives


@dataclass(frozen=True)
class Pull:
    """A link, the point (3) where it is gripped, in its own axes, and where (3, base's axes) that point is pulled."""

    link: str
    grip: Array
    target: Array


class Pulls:
    """The pulls of all who have the page open, by their number. Only as long as they may."""

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics = dynamics
        self._of: dict[int, Pull] = {}
        self.allowed = False

    def grip(self, client: int, link: str, grip: Array, target: Array) -> None:
        """Pull a link at a point (3) in its axes towards a point (3) in the base's."""
        self._of[client] = Pull(link, grip, target)

    def move(self, client: int, target: Array) -> None:
        """Pull what this client holds elsewhere."""
        if pull := self._of.get(client):
            self._of[client] = Pull(pull.link, pull.grip, target)

    def let_go(self, client: int) -> None:
        """End the pull of this client, if there is one."""
        self._of.pop(client, None)

    def of_link(self, link: str) -> Pull | None:
        """Return what pulls a link now."""
        return next((pull for pull in list(self._of.values()) if self.allowed and pull.link == link), None)

    def on_links(self, q: Array, dq: Array) -> dict[str, Array]:
        """Return, by link, the force and moment (6) that the world gives now, about its origin, in its axes."""
        total: dict[str, Array] = {}
        for pull in list(self._of.values()) if self.allowed else []:
            total[pull.link] = total.get(pull.link, np.zeros(6)) + pulled(self._dynamics, pull, q, dq)
        return total


def pulled(dynamics: Dynamics, pull: Pull, q: Array, dq: Array) -> Array:
    """Return force and moment (6), in the link's axes about its origin, of a spring and a damper at the grip.

    A velocity (n) that is not known counts as none. The force is never stronger than `STRONGEST`.
    """
    rotation, origin = dynamics.pose(q, pull.link)
    arm = rotation @ pull.grip
    twist = dynamics.jacobian(q, pull.link) @ np.nan_to_num(dq)
    velocity = twist[:3] + np.cross(twist[3:], arm)
    force = STIFFNESS * (pull.target - origin - arm) - DAMPING * velocity
    force = rotation.T @ force * min(1.0, STRONGEST / max(float(np.linalg.norm(force)), 1e-9))
    return np.concatenate([force, np.cross(pull.grip, force)])
