"""What a proof draws by lot: states of a robot, wrenches on it, payloads in its hands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import Wrench
from ..robot.robot import Joint, Robot

REACH = {'revolute': np.pi, 'prismatic': 1.0}  # rad, m, to each side of zero, or of the limit that is nearest


class States(NamedTuple):
    """Random states of a robot: positions, velocities and accelerations, each (states, n)."""

    q: Array
    dq: Array
    ddq: Array


def random_states(robot: Robot, count: int, seed: int) -> States:
    """Draw states: positions within limits and `REACH`, velocities and accelerations normally distributed."""
    rng = np.random.default_rng(seed)
    lower, upper = np.array([_bounds(joint) for joint in robot.moving_joints], dtype=float).T
    q = rng.uniform(lower, upper, (count, robot.n))
    return States(q, rng.normal(size=(count, robot.n)), rng.normal(size=(count, robot.n)))


def _bounds(joint: Joint) -> tuple[float, float]:
    """Return between which positions to draw: some limits are so far that they mean none."""
    reach, limits = REACH[joint.kind], joint.limits
    if not limits or limits.lower is None or limits.upper is None:
        return -reach, reach
    middle = min(max(0.0, limits.lower), limits.upper)
    return max(limits.lower, middle - reach), min(limits.upper, middle + reach)


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
