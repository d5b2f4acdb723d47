"""A chain of alike links, as long as one wants it."""

from __future__ import annotations

import numpy as np

from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import frozen
from krang_dynamics_ros.robot.robot import Joint, Link, Robot

_AXES = np.eye(3)


def chain(n: int) -> Robot:
    """Return a robot of n revolute joints in a row, their axes x, y, z in turn."""
    body = Inertia.about_com(1.0, np.array([0.0, 0.0, 0.1]), np.diag([0.01, 0.01, 0.005]))
    links = [Link('base'), *(Link(f'link{k}', body) for k in range(n))]
    joints = [
        Joint(
            f'q{k}', 'revolute', links[k].name, links[k + 1].name,
            position=frozen([0, 0, 0.2]), rotation=frozen(np.eye(3)), axis=frozen(_AXES[k % 3]),
        )
        for k in range(n)
    ]  # fmt: skip
    return Robot(f'chain of {n}', tuple(links), tuple(joints))
