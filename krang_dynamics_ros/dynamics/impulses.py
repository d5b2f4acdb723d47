"""Impulses that stop what can be stopped: a joint either holds exactly or slides with all of its friction."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
SWEEPS = 200  # of Gauss-Seidel, where the quick way to the impulses does not settle


def bounded_impulses(mobility: Floats, velocity: Floats, low: Floats, high: Floats) -> Floats:
    """Return impulses (m) between `low` and `high` that bring velocities (m) to zero where the bounds allow it.

    `mobility` (m, m) is the change of velocity per impulse. An impulse at its upper bound leaves a velocity that is
    still negative, one at its lower bound one that is still positive.
    """
    alone = -velocity / np.diag(mobility)  # what would stop each joint if there were no other: a good guess
    impulse = np.clip(alone, low, high)
    free = impulse == alone
    for _ in range(3 * len(velocity)):
        impulse[free] = 0.0
        rest = velocity + mobility @ impulse
        impulse[free] = np.linalg.solve(mobility[free][:, free], -rest[free])
        held = np.clip(impulse, low, high)
        beyond = held != impulse
        impulse = held
        left = velocity + mobility @ impulse
        back = ~free & (((impulse == high) & (left > 0)) | ((impulse == low) & (left < 0)))
        if not beyond.any() and not back.any():
            return impulse
        free = (free & ~beyond) | back
    return gauss_seidel(mobility, velocity, low, high, impulse)


def gauss_seidel(mobility: Floats, velocity: Floats, low: Floats, high: Floats, impulse: Floats) -> Floats:
    """Go from joint to joint, each to its own best, until all are near theirs: slow, but it always settles."""
    for _ in range(SWEEPS):
        for k in range(len(impulse)):
            left = velocity[k] + mobility[k] @ impulse
            impulse[k] = min(max(impulse[k] - left / mobility[k, k], low[k]), high[k])
    return impulse
