"""Motion of a robot's base: the gravity that is felt at its origin, and how it turns, in the axes of the base."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .errors import ArgumentError
from .spatial import Array, frozen, hat

_ZERO = frozen(np.zeros(3))


@dataclass(frozen=True, eq=False)
class BaseMotion:
    """Motion of a base at one instant. All vectors (3,) are in the axes of the base.

    The velocity of the base's origin does not count. Its acceleration does: it is part of the effective gravity.

    Attributes:
        gravity: effective gravity, m/s^2: gravity less the acceleration of the base's origin, which is minus the
            specific force that an accelerometer at this origin reads.
        angular_velocity: w of the base against the world, rad/s.
        angular_acceleration: dw, its derivative, rad/s^2.

    Raises:
        ArgumentError: a vector is not three finite numbers.

    Example:
        >>> dynamics.base_motion = BaseMotion.tilted(rotation_from_rpy([0.2, 0, 0]))
    """

    gravity: Array
    angular_velocity: Array = field(default_factory=lambda: _ZERO)
    angular_acceleration: Array = field(default_factory=lambda: _ZERO)

    def __post_init__(self) -> None:
        for name in ('gravity', 'angular_velocity', 'angular_acceleration'):
            vector = frozen(getattr(self, name))
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise ArgumentError(f'base motion: {name} {vector.tolist()}, must be 3 finite numbers in base axes')
            object.__setattr__(self, name, vector)

    @classmethod
    def tilted(cls, rotation: Array, gravity: float = 9.81) -> BaseMotion:
        """Return the motion of a base at rest.

        Args:
            rotation: orientation R (3, 3) of the base in a world whose z axis points up.
            gravity: size of gravity, m/s^2.

        Returns:
            Gravity -gravity R^T e_z, and no turning.
        """
        return cls(-gravity * np.asarray(rotation, dtype=float)[2])

    @classmethod
    def measured(
        cls,
        specific_force: ArrayLike,
        angular_velocity: ArrayLike,
        angular_acceleration: ArrayLike,
        position: ArrayLike,
    ) -> BaseMotion:
        """Return the motion of a base by what a sensor that is fixed to it reads.

        Args:
            specific_force: f_s (3,) at the sensor, in base axes, m/s^2: +9.81 upwards at rest.
            angular_velocity: w (3,), in base axes, rad/s.
            angular_acceleration: dw (3,), in base axes, rad/s^2.
            position: p (3,) from the base's origin to the sensor, in base axes, m.

        Returns:
            w, dw and the gravity -f_base, where f_base = f_s - dw x p - w x (w x p).
        """
        W = hat(angular_velocity)
        acceleration = (hat(angular_acceleration) + W @ W) @ np.asarray(position, dtype=float)  # np.cross takes longer
        gravity = acceleration - np.asarray(specific_force, dtype=float)
        return cls(gravity, np.asarray(angular_velocity), np.asarray(angular_acceleration))

    @property
    def turns(self) -> bool:
        """Whether w or dw is not zero."""
        return bool(self.angular_velocity.any() or self.angular_acceleration.any())

    def towards(self, after: BaseMotion, share: float) -> BaseMotion:
        """Return the motion at a share of the time from this one to a later one: 0 is this one, 1 the later one."""
        pairs = (
            (self.gravity, after.gravity),
            (self.angular_velocity, after.angular_velocity),
            (self.angular_acceleration, after.angular_acceleration),
        )
        return BaseMotion(*((1 - share) * mine + share * theirs for mine, theirs in pairs))
