"""What a wrist sensor reads besides contact: its own bias, and the weight of what hangs beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..core.errors import ArgumentError
from ..core.inertia import Inertia
from ..core.spatial import Array, frozen

_NONE = frozen(np.zeros(6))


@dataclass(frozen=True, eq=False)
class WristSensor:
    """One sensor's bias, tool and dead band. A reading is [force; moment] (N, N m), as the sensor gives it.

        reading = bias + weight of tool and payload + contact

    all in the reading's own axes, about its own point, in its own sense (a weight is what the world applies). `tool` is
    what of the hand's link hangs beyond the sensor: the model has it already, so it corrects readings only. A payload
    is not in the model: it corrects readings too, and is the dynamics' to add.
    """

    bias: Array = field(default_factory=lambda: _NONE)  # (6), as the sensor gives it
    tool: Inertia = field(default_factory=Inertia)  # in the hand's frame; of use are mass and centre of mass
    deadband: tuple[float, float] = (0.0, 0.0)  # N, N m

    @classmethod
    def of(
        cls,
        bias: Sequence[float] | Array = _NONE,
        tool_mass: float = 0.0,
        tool_com: Sequence[float] | Array = (0.0, 0.0, 0.0),
        deadband: Sequence[float] = (0.0, 0.0),
    ) -> WristSensor:
        """Check the numbers: bias (6), kg, m (3) in the hand's frame, N and N m; or raise `ArgumentError`."""
        for name, numbers, count in (('bias', bias, 6), ('tool com', tool_com, 3), ('dead band', deadband, 2)):
            if len(numbers) != count or not np.isfinite(numbers).all():
                raise ArgumentError(f'{name}: {list(numbers)}, must be {count} finite numbers')
        if not (np.isfinite(tool_mass) and tool_mass >= 0):
            raise ArgumentError(f'tool mass: {tool_mass}, must be finite, not negative (kg)')
        if min(deadband) < 0:
            raise ArgumentError(f'dead band: {list(deadband)}, must not be negative (N, N m)')
        tool = Inertia(float(tool_mass), frozen(tool_mass * np.asarray(tool_com, dtype=float)))
        return cls(frozen(bias), tool, (float(deadband[0]), float(deadband[1])))

    @cached_property
    def _band(self) -> Array | None:
        return np.repeat(self.deadband, 3) if any(self.deadband) else None

    def contact(self, reading: Array, sign: float, weight: Array | None) -> Array:
        """Return what the robot applies by contact (6): a reading without bias and weight, then shrunk.

        `sign` turns a reading into what the robot applies; `weight` (6) is what gravity, the world, does beyond the
        sensor. The dead band is each axis' own, for it stands for the noise and the hysteresis of each channel:
        |x| - d, the sign kept, zero within. It shrinks and does not clip, so that what is felt has no jump.
        """
        left = reading - self.bias if sign > 0 else self.bias - reading
        if weight is not None:
            left += weight
        band = self._band
        return left if band is None else left - np.maximum(np.minimum(left, band), -band)
