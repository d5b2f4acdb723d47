"""Velocities and accelerations of a recording without delay: a quintic smoothing spline over all of it.

The spline minimises  sum (q - s)^2 dt + (2 pi f)^-6 integral (d^3 s/dt^3)^2 dt  (Schoenberg, Reinsch): a zero-phase
low pass of sixth order that lets half through at frequency f, whatever the times between samples are.

A logger's stamps are not the instants at which the drives were read. All joints of a row are read together, so a row
whose joints are all ahead of the smooth motion, each by its own velocity times the same few milliseconds, was read
that much later. These shifts are estimated, and the spline goes through the samples where they were read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline
from scipy.linalg import solveh_banded
from scipy.sparse import diags_array

from ..core.spatial import Array
from .recording import Recording, RecordingError

DEGREE = 5
SLOWEST = 10.0  # rows per second: fewer do not show how an arm moves
LONGEST_GAP = 3600.0  # s, between two rows; longer: a wrong stamp, or two recordings
ANCHOR = 1e-6  # of a row's weight: makes the spline a straight line where no rows are
SHIFT_ROUNDS = 6  # of spline and shifts in turn; the shifts settle to a tenth of a millisecond
SHIFT_GAIN = 0.7  # part of the remaining shift in each round; 1 would overshoot, since rows depend on their neighbours
SHIFT_FLOOR = 0.15  # rad/s, of all joints together: slower motion does not determine the instant
LARGEST_SHIFT = (-3.0, 1.2)  # in row intervals; a stalled row can be much older than its stamp, but hardly newer


@dataclass(frozen=True)
class SmoothMotion:
    """Positions, velocities and accelerations (rows, joints) of the samples of a recording, at instants (rows)."""

    instant: Array
    q: Array
    dq: Array
    ddq: Array


def smoothing_spline(time: Array, values: Array, cutoff: float) -> BSpline:
    """Return the quintic smoothing spline through values (rows, columns) at increasing times; cutoff f in Hz."""
    span = float(time[-1] - time[0])
    step = float(np.median(np.diff(time)))
    intervals = max(int(np.ceil(span / max(step, 1 / (40 * cutoff)))), 1)
    h = span / intervals
    knots = time[0] + h * np.arange(-DEGREE, intervals + DEGREE + 1)
    inside = np.clip(time, knots[DEGREE], knots[-DEGREE - 1])  # rounding leaves the last a little outside
    B = BSpline.design_matrix(inside, knots, DEGREE).tocsr()
    count = intervals + DEGREE
    third = diags_array([-1.0, 3.0, -3.0, 1.0], offsets=[0, 1, 2, 3], shape=(count - 3, count))
    weight = (2 * np.pi * cutoff) ** -6 / h**5 * (len(time) - 1) / span
    normal = (B.T @ B + weight * (third.T @ third)).todia()
    bands = np.zeros((DEGREE + 1, count))
    for k in range(DEGREE + 1):
        bands[k, : count - k] = normal.diagonal(-k)
    bands[0] += ANCHOR
    centres = time[0] + h * (np.arange(count) - (DEGREE - 1) / 2)  # of the basis functions
    straight = np.stack([np.interp(centres, time, column) for column in values.T], axis=1)
    return BSpline(knots, solveh_banded(bands, B.T @ values + ANCHOR * straight, lower=True), DEGREE)


class Smoothed:
    """Smooth motion of a recording, without repeated rows."""

    def __init__(self, recording: Recording, cutoff: float, shift: bool = True) -> None:
        """Smooth a recording; motion above the frequency `cutoff` (Hz) counts as noise."""
        self.cutoff = cutoff
        self.new = recording.is_new
        position, stamps = recording.position[self.new], recording.time[self.new]
        if len(stamps) < 4 * DEGREE:
            raise RecordingError(f'{recording.source}: {len(stamps)} different rows, must be {4 * DEGREE} at least')
        if stamps[-1] <= stamps[0]:
            raise RecordingError(f'{recording.source}: all different rows have the same time, must be in s')
        if recording.rate < SLOWEST:
            raise RecordingError(
                f'{recording.source}: {recording.rate:.3g} rows per second, must be {SLOWEST:g} at least; time is in s'
            )
        _refuse_gap(recording.source, stamps)
        self._spacing = 1.0 / recording.rate
        self.instant = self._shifted(stamps, position) if shift else _increasing(stamps)
        self.spline = smoothing_spline(self.instant, position, cutoff)

    def _shifted(self, stamps: Array, position: Array) -> Array:
        """Return the instants (rows) at which the rows were read."""
        least, most = (factor * self._spacing for factor in LARGEST_SHIFT)
        instant = _increasing(stamps)
        for _ in range(SHIFT_ROUNDS):
            spline = smoothing_spline(instant, position, self.cutoff)
            velocity, ahead = spline(instant, 1), position - spline(instant)
            shift = (velocity * ahead).sum(axis=1) / (np.square(velocity).sum(axis=1) + SHIFT_FLOOR**2)
            instant = np.clip(instant + SHIFT_GAIN * shift, stamps + least, stamps + most)
            instant = _increasing(instant)
        return instant

    @cached_property
    def motion(self) -> SmoothMotion:
        """The motion at the new rows."""
        return self.at(self.instant)

    def at(self, instant: ArrayLike) -> SmoothMotion:
        """Return the motion at any instants within the recording."""
        t = np.asarray(instant, dtype=float)
        return SmoothMotion(t, *(np.asarray(self.spline(t, order)) for order in range(3)))


def _refuse_gap(source: str, stamps: Array) -> None:
    """Refuse times (rows) with a gap longer than `LONGEST_GAP`."""
    k = int(np.argmax(np.diff(stamps)))
    if stamps[k + 1] - stamps[k] > LONGEST_GAP:
        raise RecordingError(
            f'{source}: time goes from {stamps[k]:.10g} s to {stamps[k + 1]:.10g} s in one row, must be '
            f'{LONGEST_GAP:g} s at most; if no stamp is wrong, --rows takes the rows of one side'
        )


def _increasing(time: Array) -> Array:
    """Return strictly increasing times (rows), at least 1 ns apart."""
    return np.asarray(np.maximum.accumulate(time) + 1e-9 * np.arange(len(time)))
