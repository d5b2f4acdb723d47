"""Recordings of joints as tables: a row for each sample, a column for each joint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import KrangDynamicsError, unknown_name
from ..core.limits import MAX_QUANTITY
from ..core.spatial import Array

Rows = NDArray[np.bool_]


class RecordingError(KrangDynamicsError):
    """A recording that cannot be read, or lacks what is needed."""


@contextmanager
def reading(path: Path, before: str = '', after: str = '') -> Iterator[None]:
    """Turn any exception of a library that reads a file into a `RecordingError` with the file's name.

    A broken file can cause nearly any exception.
    """
    try:
        yield
    except KrangDynamicsError:
        raise
    except Exception as error:
        raise RecordingError(f'{path}: {before}{words_of(error)}{after}') from None


def words_of(error: Exception) -> str:
    """Return the text of an exception in one short line, or its name if it has no text."""
    return ' '.join(str(error).split())[:300].rstrip('.') or type(error).__name__


def time_text(seconds: float) -> str:
    """Return a time as text, to 1 microsecond: a floating-point number of s since 1970 has no finer resolution."""
    return f'{seconds:.6f}'.rstrip('0').rstrip('.')


@dataclass(frozen=True, eq=False)
class Recording:
    """Raw recording of some joints: rows may repeat, and nothing is smoothed.

    Units: s, rad (m), rad/s (m/s); effort as the source gives it; after `ArmFile.with_torques` in N m (N).
    """

    source: str
    joint_names: tuple[str, ...]
    time: Array  # (rows), never decreasing
    position: Array  # (rows, joints)
    velocity: Array | None = None  # (rows, joints), as the drives report it
    effort: Array | None = None  # (rows, joints)
    resting: Mapping[str, float] = field(default_factory=dict)  # resting positions of joints without a column, rad or m
    notes: tuple[str, ...] = ()  # warnings about the file
    moving_uncounted: Mapping[str, Array] = field(default_factory=dict)  # positions (rows) of other joints that move

    def __post_init__(self) -> None:
        shape = (len(self.time), len(self.joint_names))
        for name in ('position', 'velocity', 'effort'):
            values = getattr(self, name)
            if values is not None and values.shape != shape:
                raise RecordingError(f'{self.source}: {name} has shape {values.shape}, must be {shape}')
            if values is not None and not (np.abs(values) <= MAX_QUANTITY).all():
                row, joint = np.argwhere(~(np.abs(values) <= MAX_QUANTITY))[0]
                raise RecordingError(
                    f'{self.source}: {name} of {self.joint_names[joint]} in row {row} (from 0) is '
                    f'{values[row, joint]:g}, must be finite, at most {MAX_QUANTITY:g}'
                )
        self._check_time()

    def _check_time(self) -> None:
        if len(self) < 2 or not np.isfinite(self.time).all():
            raise RecordingError(f'{self.source}: time of {len(self)} rows, must be two or more finite numbers')
        back = np.flatnonzero(np.diff(self.time) < 0)
        if len(back):
            row = int(back[0])
            raise RecordingError(
                f'{self.source}: time goes from {time_text(self.time[row])} s in row {row} (from 0) back to '
                f'{time_text(self.time[row + 1])} s, must never decrease'
            )
        if self.duration == 0:
            raise RecordingError(f'{self.source}: all rows have the same time, must be s since some instant')

    def __len__(self) -> int:
        return len(self.time)

    @property
    def duration(self) -> float:
        """Time from the first row to the last, s."""
        return float(self.time[-1] - self.time[0])

    @property
    def rate(self) -> float:
        """Rows per second, from the median interval; some loggers repeat stamps."""
        between = float(np.median(np.diff(self.time)))
        return 1.0 / between if between > 0 else (len(self) - 1) / self.duration

    def rows(self, which: slice | Rows) -> Recording:
        """Return some of the rows."""
        velocity = None if self.velocity is None else self.velocity[which]
        effort = None if self.effort is None else self.effort[which]
        moving = {name: position[which] for name, position in self.moving_uncounted.items()}
        time, position = self.time[which], self.position[which]
        return replace(self, time=time, position=position, velocity=velocity, effort=effort, moving_uncounted=moving)

    def joints(self, names: Sequence[str]) -> Recording:
        """Return the columns of these joints, in this order."""
        for name in names:
            if name not in self.joint_names:
                raise unknown_name('joint', name, self.joint_names)
        columns = [self.joint_names.index(name) for name in names]
        velocity = None if self.velocity is None else self.velocity[:, columns]
        effort = None if self.effort is None else self.effort[:, columns]
        return replace(
            self, joint_names=tuple(names), position=self.position[:, columns], velocity=velocity, effort=effort
        )

    @property
    def measured_effort(self) -> Array:
        """Efforts (rows, joints); raises `RecordingError` if there are none."""
        if self.effort is None:
            raise RecordingError(f'{self.source}: no effort was recorded; it is what parameters are found from')
        return self.effort

    @property
    def is_new(self) -> Rows:
        """Whether each row (rows) differs from the previous row; a stalled logger repeats rows."""
        columns = [x for x in (self.position, self.velocity, self.effort) if x is not None]
        same = np.all([(np.diff(x, axis=0) == 0).all(axis=1) for x in columns], axis=0)
        return np.concatenate([[True], ~same])


JUMP = 5.0  # times the largest common step: a larger step at the start separates rows from before the motion
MOVING = 0.1  # of the usual sum of the speeds of all joints: below it they stand still
FASTEST = 1e6  # rows per second; more: another unit of time
MIN_TRAVEL = 2e-3  # rad or m: if no joint moves further, the robot stands still
WINDOW = 0.5  # s: window for detecting motion


def motion_only(recording: Recording) -> Recording:
    """Return the rows from the first to the last motion, without old rows at the start.

    Standstill in between stays in. A robot that never moves raises `RecordingError`.
    """
    motion = motion_or_rest(recording)
    if motion is None:
        raise RecordingError(
            f'{recording.source}: the robot stands still, which determines nothing; record it while it moves'
        )
    return motion


def stands_still(recording: Recording) -> bool:
    """Return whether no joint moves by more than encoder noise."""
    return bool((np.ptp(recording.position, axis=0) < MIN_TRAVEL).all())


def motion_or_rest(recording: Recording) -> Recording | None:
    """Return the rows of `motion_only`, or None if the robot never moves."""
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
    """Return the recording without old rows at its start, after which values jump."""
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
    """Return for each row whether joints move within half a window to either side.

    Repeated rows of a stalled logger are interpolated.
    """
    half, new = max(1, round(WINDOW / 2 * recording.rate)), recording.is_new
    time, seen = recording.time, recording.position[new]
    position = np.stack([np.interp(time, time[new], column) for column in seen.T], axis=1)
    padded = np.pad(position, ((half, half), (0, 0)), mode='edge')
    moved = np.abs(padded[2 * half :] - padded[: -2 * half]).sum(axis=1)
    common = float(np.percentile(moved, 90))
    return np.asarray(moved > max(MOVING * common, 1e-4))


MOVED = 0.01  # rad or m: an uncounted joint that moves more has no resting position


class JointTrack(NamedTuple):
    """Positions of a joint (rows; rad, m) at its own times (rows), s, from the zero of `Recording.time`."""

    time: Array
    position: Array


def resting_positions(motion: Recording, others: Mapping[str, JointTrack]) -> dict[str, float]:
    """Return the resting positions of other joints during a motion (rad, m), without joints that moved."""
    found = {}
    for name, track in others.items():
        inside = (track.time >= motion.time[0]) & (track.time <= motion.time[-1])
        position = track.position[inside] if inside.any() else track.position
        if np.ptp(position) <= MOVED:
            found[name] = float(np.median(position))
    return found


def with_others(recording: Recording, motion: Recording, others: Mapping[str, JointTrack]) -> Recording:
    """Return a recording with other joints: their resting positions, or their positions row by row."""
    resting = resting_positions(motion, others)
    moving = {
        name: np.interp(recording.time, track.time, track.position)
        for name, track in others.items()
        if name not in resting
    }
    return replace(recording, resting=resting, moving_uncounted=moving)
