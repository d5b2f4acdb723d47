"""Which rows of a recording count: those of the motion, without what came before and after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .recording import Recording, RecordingError, Rows

JUMP = 5.0  # times the largest common step: a step like this at the start is no motion, but the row before it
MOVING = 0.1  # of the speed that joints commonly have together: below it they stand still
FASTEST = 1e6  # rows per second: what is beyond has another unit of time
PAUSE = 0.5  # s: standing still for longer ends a motion


def motion_only(recording: Recording) -> Recording:
    """Return the longest stretch in which the joints do not all stand still, without rows from before the record.

    What a robot does between its start pose and the excitation, and how it rests, is another regime: brakes are closed,
    or drives hold. A robot that never moves is refused.
    """
    if recording.duration < 2 * PAUSE:
        raise RecordingError(f'{recording.source}: {recording.duration:.3g} s long, must be {2 * PAUSE:g} s at least')
    if not recording.rate <= FASTEST:
        raise RecordingError(
            f'{recording.source}: {recording.rate:.3g} rows per second, must be {FASTEST:g} at most; time is in s'
        )
    recording = _without_start(recording)
    moving = _moving(recording)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], moving.astype(int), [0]])))
    stretches = _joined(edges.reshape(-1, 2).tolist(), round(PAUSE * recording.rate))
    if not len(stretches):
        raise RecordingError(
            f'{recording.source}: the robot stands still, which determines nothing; record it while it moves'
        )
    first, last = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
    return recording.rows(slice(first, last))


def _joined(stretches: Sequence[Sequence[int]], pause: int) -> list[tuple[int, int]]:
    """Return stretches (first, last), those as one that a shorter pause (rows) parts: all joints turned back."""
    joined: list[tuple[int, int]] = []
    for first, last in stretches:
        goes_on = joined and first - joined[-1][1] <= pause
        joined.append((joined.pop()[0] if goes_on else first, last))
    return joined


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
    """Tell of every row whether joints move within half a pause around it.

    While a logger stalls its rows repeat and the joints go on: they moved steadily to where they are seen next.
    """
    half, new = max(1, round(PAUSE / 2 * recording.rate)), recording.is_new
    time, seen = recording.time, recording.position[new]
    position = np.stack([np.interp(time, time[new], column) for column in seen.T], axis=1)
    padded = np.pad(position, ((half, half), (0, 0)), mode='edge')
    moved = np.abs(padded[2 * half :] - padded[: -2 * half]).sum(axis=1)
    common = float(np.percentile(moved, 90))
    return np.asarray(moved > max(MOVING * common, 1e-4))
