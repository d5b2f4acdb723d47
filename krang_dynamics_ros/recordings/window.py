"""Which rows of a recording count: those of the motion, without what came before and after it."""

from __future__ import annotations

import numpy as np

from .recording import Recording, RecordingError, Rows

JUMP = 5.0  # times the largest common step: a step like this at the start is no motion, but the row before it
MOVING = 0.1  # of the speed that joints commonly have together: below it they stand still
FASTEST = 1e6  # rows per second: what is beyond has another unit of time
MIN_TRAVEL = 2e-3  # rad or m: a robot none of whose joints moves further stands still
WINDOW = 0.5  # s: within which joints are seen to move


def motion_only(recording: Recording) -> Recording:
    """Return the rows from the first in which joints move to the last, without rows from before the record.

    Rests in between stay: they say how a joint holds. A robot that never moves is refused.
    """
    found = motion_or_rest(recording)
    if found is None:
        raise RecordingError(
            f'{recording.source}: the robot stands still, which determines nothing; record it while it moves'
        )
    return found


def stands_still(recording: Recording) -> bool:
    """Return whether no joint moves, but for the noise of its encoder."""
    return bool((np.ptp(recording.position, axis=0) < MIN_TRAVEL).all())


def motion_or_rest(recording: Recording) -> Recording | None:
    """Return the same, or None of a robot that never moves."""
    if recording.duration < 2 * WINDOW:
        raise RecordingError(f'{recording.source}: {recording.duration:.3g} s long, must be {2 * WINDOW:g} s at least')
    if not recording.rate <= FASTEST:
        raise RecordingError(
            f'{recording.source}: {recording.rate:.3g} rows per second, must be {FASTEST:g} at most; time is in s'
        )
    recording = _without_start(recording)
    moving = np.flatnonzero(_moving(recording))
    if not len(moving) or stands_still(recording):
        return None
    return recording.rows(slice(moving[0], moving[-1] + 1))


def _without_start(recording: Recording) -> Recording:
    """Leave out the first rows if they stem from before the motion: values jump from them to the next."""
    early = max(3, len(recording) // 200)
    last = -1
    for values in (recording.time[:, None], recording.position, recording.effort):
        if values is not None:
            steps = np.abs(np.diff(values, axis=0))
            common = np.percentile(steps, 99, axis=0)
            jumps = np.flatnonzero((steps[:early] > JUMP * common + 1e-9).any(axis=1))
            last = max(last, int(jumps[-1]) if len(jumps) else -1)
    return recording.rows(slice(last + 1, None))


def _moving(recording: Recording) -> Rows:
    """Tell of every row whether joints move within half a window to either side.

    While a logger stalls its rows repeat and the joints go on: they moved steadily to where they are seen next.
    """
    half, new = max(1, round(WINDOW / 2 * recording.rate)), recording.is_new
    time, seen = recording.time, recording.position[new]
    position = np.stack([np.interp(time, time[new], column) for column in seen.T], axis=1)
    padded = np.pad(position, ((half, half), (0, 0)), mode='edge')
    moved = np.abs(padded[2 * half :] - padded[: -2 * half]).sum(axis=1)
    common = float(np.percentile(moved, 90))
    return np.asarray(moved > max(MOVING * common, 1e-4))
