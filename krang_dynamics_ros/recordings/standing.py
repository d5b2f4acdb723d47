"""Where joints stood that do not count, while those that count moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from .recording import Recording, RecordingError

MOVED = 0.01  # rad or m: a joint that moves more does not stand, and its weight acts elsewhere


class Track(NamedTuple):
    """One joint's positions (rows; rad, m) over its own times (rows), s since the first row of its recording."""

    time: Array
    position: Array


def stood_during(motion: Recording, others: Mapping[str, Track]) -> dict[str, float]:
    """Return where other joints stood during a motion (rad, m), or refuse those that moved."""
    stood = {}
    for name, track in others.items():
        inside = (track.time >= motion.time[0]) & (track.time <= motion.time[-1])
        position = track.position[inside] if inside.any() else track.position
        if np.ptp(position) > MOVED:
            raise RecordingError(
                f'{motion.source}: {name} moves from {position.min():.4g} to {position.max():.4g} while '
                f'{", ".join(motion.joint_names)} do, must stand; count it (--joints), or say at which angle it is '
                f'taken to stand (--held {name}={np.median(position):.4g})'
            )
        stood[name] = float(np.median(position))
    return stood
