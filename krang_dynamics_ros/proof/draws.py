"""What a proof draws by lot: states of a robot, wrenches on it, payloads in its hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..robot.robot import Robot


class States(NamedTuple):
    """Random states of a robot: positions, velocities and accelerations, each (states, n)."""

    q: Array
    dq: Array
    ddq: Array


def random_states(robot: Robot, count: int, seed: int) -> States:
    """Draw states: positions within the limits, or one turn, velocities and accelerations normally distributed."""
    rng = np.random.default_rng(seed)
    bounds = [
        (j.limits.lower, j.limits.upper) if j.limits and j.limits.lower is not None else (-np.pi, np.pi)
        for j in robot.moving_joints
    ]
    lower, upper = np.array(bounds, dtype=float).T
    q = rng.uniform(lower, upper, (count, robot.n))
    return States(q, rng.normal(size=(count, robot.n)), rng.normal(size=(count, robot.n)))


def random_payload(robot: Robot, links: Sequence[str], rng: np.random.Generator) -> dict[str, Inertia]:
    """Draw a body for every hand that is among the links: five points with masses, as a body can have them."""
    return {link: _random_body(rng) for link in robot.hands.values() if link in links}


def _random_body(rng: np.random.Generator) -> Inertia:
    masses, points = rng.uniform(0.1, 2.0, 5), rng.normal(size=(5, 3)) * 0.2
    squares = np.einsum('ki,kj,k->ij', points, points, masses)
    return Inertia(float(masses.sum()), masses @ points, np.trace(squares) * np.eye(3) - squares)


def random_wrenches(robot: Robot, links: Sequence[str], rng: np.random.Generator) -> list[list[Wrench]]:
    """Draw three sets: on the hands in their own axes; on the hands, and anywhere, in any link's axes and about any.

    "Anywhere" is every end of the tree and one more link.
    """
    if not links:
        return []
    bearing = {joint.parent for joint in robot.joints}
    hands = [link for link in robot.hands.values() if link in links]
    ends = [link for link in links if link not in bearing]
    anywhere = [*ends, str(rng.choice(links))]

    def drawn(on: Sequence[str], aslant: bool) -> list[Wrench]:
        frames = [rng.choice(links, 2).tolist() if aslant else ('', '') for _ in on]
        return [Wrench(link, *rng.normal(size=(2, 3)), *of) for link, of in zip(on, frames, strict=True)]

    return [drawn(hands, aslant=False), drawn(hands, aslant=True), drawn(anywhere, aslant=True)]
