"""Where joints were that do not count, while those that count moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from .recording import Recording

MOVED = 0.01  # rad or m: a joint that moves more does not stand, and its weight acts elsewhere


class Track(NamedTuple):
    """One joint's positions (rows; rad, m) over its own times (rows), s since the first row of its recording."""

    time: Array
    position: Array


def stood_during(motion: Recording, others: Mapping[str, Track]) -> dict[str, float]:
    """Return where other joints stood during a motion (rad, m); those that moved are left out."""
    found = {}
    for name, track in others.items():
        inside = (track.time >= motion.time[0]) & (track.time <= motion.time[-1])
        position = track.position[inside] if inside.any() else track.position
        if np.ptp(position) <= MOVED:
            found[name] = float(np.median(position))
    return found


def with_others(recording: Recording, motion: Recording, others: Mapping[str, Track]) -> Recording:
    """Return a recording with other joints: where they stood during its motion, or how they moved, row by row."""
    stood = stood_during(motion, others)
    moved = {
        name: np.interp(recording.time, track.time, track.position)
        for name, track in others.items()
        if name not in stood
    }
    return replace(recording, stood=stood, moved=moved)
