"""Where in the period of its excitation a row stands: cross-validation must leave out phases, not times.

An excitation that comes again makes every stretch of time known from the others; a fit looks better than it is.
"""

from __future__ import annotations

import numpy as np

from ..core.spatial import Array
from ..recordings.recording import Recording

RATE = 20.0  # Hz: fine enough to find a period
AGAIN = 0.97  # correlation of the motion with itself one period later, from which on it counts as periodic
COMMON = 0.75  # of the rows: those that say whether a motion comes again
SHORTEST = 2.0  # s: a period shorter than this is a wiggle


def period(recording: Recording) -> float:
    """Return the period (s) of the motion; the recording's length if it does not come again."""
    time = np.arange(recording.time[0], recording.time[-1], 1 / RATE)
    q = np.stack([np.interp(time, recording.time, column) for column in recording.position.T], axis=1)
    spread = q.std(axis=0)
    q = ((q - q.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, spread > 0]
    shortest = round(SHORTEST * RATE)
    shifts = np.arange(shortest, int(len(q) / 1.5))
    alike = np.array([1 - _common(np.square(q[k:] - q[:-k]).mean(axis=1)) / 2 for k in shifts])
    peaks = np.flatnonzero((alike[1:-1] >= alike[:-2]) & (alike[1:-1] >= alike[2:]) & (alike[1:-1] > AGAIN)) + 1
    return float(shifts[peaks[0]] / RATE) if len(peaks) else recording.duration * (1 + 1e-9)


def _common(squares: Array) -> float:
    """Return the mean without the largest: a motion that starts or ends slowly is another there."""
    return float(np.sort(squares)[: max(1, round(COMMON * len(squares)))].mean())
