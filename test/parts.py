"""Joint states of a moving robot, by several publishers that each have some of its joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from krang_dynamics_ros import Dynamics
from krang_dynamics_ros.live.messages import JointStateMessage

BODY, LEFT, RIGHT = slice(0, 3), slice(3, 10), slice(10, 17)
BEGIN = 1_700_000_000_000_000_000  # ns


class Publisher(NamedTuple):
    """Which joints a publisher has, how often it reads them (Hz), and how long (s) its messages are on their way."""

    joints: slice
    rate: float
    delay: float = 0.0
    phase: float = 0.0  # s


def motion(dynamics: Dynamics, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities and efforts of sines that begin softly, with nothing touching the robot."""
    k = np.arange(dynamics.n)
    start = np.where(k == 1, 0.8, 0.0)
    speed, phase = 1.5 + 0.15 * k, 0.7 * k
    size = 0.5 / speed
    q = start + size * np.sin(speed * t + phase)
    dq, ddq = size * speed * np.cos(speed * t + phase), -size * speed**2 * np.sin(speed * t + phase)
    return q, dq, dynamics.inverse_dynamics(q, dq, ddq) + dynamics.friction_torque(dq)


def published(dynamics: Dynamics, publishers: Sequence[Publisher], seconds: float) -> Iterator[JointStateMessage]:
    """Yield the messages of all publishers in the order in which they come."""
    names, events = dynamics.joint_names, []
    for number, one in enumerate(publishers):
        for k in range(int(seconds * one.rate)):
            stamp = round((k / one.rate + one.phase) * 1e9)
            events.append((stamp + round(one.delay * 1e9), number, stamp))
    for arrival, number, stamp in sorted(events):
        joints = publishers[number].joints
        columns = [x[joints] for x in motion(dynamics, stamp * 1e-9)]
        yield JointStateMessage(names[joints], *columns, BEGIN + stamp, 1_000_000_000 + arrival)
