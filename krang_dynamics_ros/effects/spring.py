"""A spring or counterbalance at a revolute joint: torque cosine cos q + sine sin q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.algebra import cos, sin
from ..core.spatial import Array
from ..robot.drive import Spring
from ..robot.robot import Joint
from .effect import JointMotion


def against_spring(cosine: Any, sine: Any, q: Any) -> Any:
    """Return the torque cosine cos q + sine sin q that the motor gives, of numbers, arrays or symbols."""
    return cosine * cos(q) + sine * sin(q)


@dataclass(frozen=True)
class SpringEffect:
    """Torque of a spring, linear in its two factors of cos q and sin q."""

    names = ('spring cos', 'spring sin')
    not_negative = False
    prior = 1.0
    term = 'spring'

    def columns(self, x: JointMotion) -> Array:
        """Return cos q and sin q."""
        return np.stack([np.cos(x.q), np.sin(x.q)], axis=-1)

    def write(self, joint: Joint, factors: Sequence[float], crossing: float) -> Joint:
        """Return the joint with this spring."""
        return replace(joint, spring=Spring(factors[0], factors[1]))


def spring_energy(springs: Sequence[Spring | None], q: Array) -> float:
    """Return the energy (J) in the springs of all joints at q (n), up to a constant."""
    cosine, sine = np.array([(s.cosine, s.sine) if s else (0.0, 0.0) for s in springs]).reshape(-1, 2).T
    return float(cosine @ np.sin(q) - sine @ np.cos(q))


def spring_torque(springs: Sequence[Spring | None], q: Array) -> Array:
    """Return the torque that the motors must give (..., n) against the springs of all joints."""
    cosine, sine = np.array([(s.cosine, s.sine) if s else (0.0, 0.0) for s in springs]).reshape(-1, 2).T
    return np.asarray(against_spring(cosine, sine, q))
