"""Rows of recordings for a fit, and their folds: cross-validation holds out phases of the excitation, not times.

In a periodic excitation every segment of time is known from the other periods, so a fit would look better than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..effects.effect import JointMotion
from ..effects.presliding import presliding_history
from ..recordings.derivatives import Smoothed, smoothing_spline
from ..recordings.recording import Recording
from ..robot.robot import Robot
from .merged_robot import MergedRobot

RATE = 20.0  # Hz: fine enough to find a period
MIN_CORRELATION = 0.97  # of the motion with itself a period later, to count as periodic
COMMON = 0.75  # of the rows, those with the smallest difference, decide whether a motion is periodic
MIN_PERIOD = 2.0  # s


def period(recording: Recording) -> float:
    """Return the period (s) of the motion; the recording's duration if it is not periodic."""
    time = np.arange(recording.time[0], recording.time[-1], 1 / RATE)
    q = np.stack([np.interp(time, recording.time, column) for column in recording.position.T], axis=1)
    size = q.std(axis=0)
    q = ((q - q.mean(axis=0)) / np.where(size > 0, size, 1.0))[:, size > 0]
    shortest = round(MIN_PERIOD * RATE)
    shifts = np.arange(shortest, int(len(q) / 1.5))
    alike = np.array([1 - _common(np.square(q[k:] - q[:-k]).mean(axis=1)) / 2 for k in shifts])
    middle = alike[1:-1]
    peaks = np.flatnonzero((middle >= alike[:-2]) & (middle >= alike[2:]) & (middle > MIN_CORRELATION)) + 1
    return float(shifts[peaks[0]] / RATE) if len(peaks) else recording.duration * (1 + 1e-9)


def _common(squares: Array) -> float:
    """Return the mean without the largest: a motion that starts or ends slowly differs there."""
    return float(np.sort(squares)[: max(1, round(COMMON * len(squares)))].mean())


MAX_ROWS = 3000  # of all recordings together: neighbouring rows are nearly the same
FOLDS = 6  # blocks of the period, or of the rows, each left out once
PERIODIC = 0.9  # of the duration: a shorter period repeats
DISTANCES = (1e-3, 1e-2, 1e-4)  # of presliding, rad (m)


@dataclass(frozen=True, eq=False)
class ArmMotion:
    """The motion of one recording: first the counted joints, whose efforts are used, then those that only move."""

    merged: MergedRobot
    recording: Recording
    counted: tuple[int, ...]  # columns of the recording

    @classmethod
    def of(cls, robot: Robot, recording: Recording, moving: Sequence[str] = ()) -> ArmMotion:
        """Return the motion of the recorded joints; `moving` are uncounted joints that move in other recordings."""
        names = dict.fromkeys((*recording.joint_names, *recording.moving_uncounted, *moving))
        resting = {name: q for name, q in recording.resting.items() if name not in names}
        merged, counted = MergedRobot.of(robot, [*names], resting), len(recording.joint_names)
        return cls(merged, with_moving_uncounted(recording, [*names][counted:]), tuple(range(counted)))


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of recordings, one after the other: arrays (rows, counted joints); Y (rows, counted joints, 10 x links)."""

    cutoff: float  # Hz
    rate: float  # rows per second
    time: Array  # s, since each recording's first row
    recording_index: NDArray[np.intp]  # (rows)
    fold: NDArray[np.intp]  # (rows)
    whole: tuple[Array, Array, Array]  # q, dq, ddq (rows, all moving joints)
    counted: tuple[int, ...]  # columns of `whole`
    effort: Array  # as recorded
    smooth_effort: Array  # smoothed as the motion is
    # Effort by which the merged bodies of each recording differ from those of the first, because its fixed joints rest
    # elsewhere, by the numbers of the robot file. A fit subtracts it.
    known_effort: Array
    Y: Array
    z: dict[float, Array]  # presliding states by distance, rad (m)
    effort_std: Array  # standard deviation of the raw effort (counted joints), over all rows of motion

    @property
    def dq(self) -> Array:
        """Velocities of the counted joints."""
        return self.whole[1][:, self.counted]

    @property
    def independent_part(self) -> float:
        """Part of the rows that is independent: neighbours within the smoothing are not."""
        return float(min(1.0, 2 * self.cutoff / self.rate))

    @property
    def floor(self) -> Array:
        """The part of the efforts (joints) that no smooth motion explains, over their standard deviation."""
        rough = np.square(self.effort - self.smooth_effort).mean(axis=0)
        return np.asarray(np.sqrt(rough) / self.effort_std)

    def load_torque(self, motions: Sequence[ArmMotion], phi: Array) -> Array:
        """Return gravity and Coriolis torque (rows, counted joints) of bodies phi (10 x links)."""
        q, dq, _ = self.whole
        rows = [self.recording_index == k for k in range(len(motions))]
        parts = [x.merged.load_torque(q[own], dq[own], phi) for x, own in zip(motions, rows, strict=True)]
        return np.concatenate(parts)[:, self.counted]

    def joint_motion(self, load: Array, crossing: Array) -> JointMotion:
        """Return the motion of the counted joints, as effects need it."""
        q, dq, ddq = (x[:, self.counted] for x in self.whole)
        return JointMotion(q, dq, ddq, load, crossing, self.z)


def with_moving_uncounted(motion: Recording, names: Sequence[str]) -> Recording:
    """Return a recording with columns for moving, uncounted joints too; their effort is set to zero."""
    if not names:
        return motion
    at_rest = {name: np.full(len(motion), motion.resting.get(name, 0.0)) for name in names}
    others = np.stack([motion.moving_uncounted.get(name, at_rest[name]) for name in names], axis=1)
    return replace(
        motion,
        joint_names=(*motion.joint_names, *names),
        position=np.concatenate([motion.position, others], axis=1),
        velocity=None,
        effort=None if motion.effort is None else np.concatenate([motion.effort, np.zeros_like(others)], axis=1),
        moving_uncounted={},
    )


def samples_of(motions: Sequence[ArmMotion], cutoff: float) -> Samples:
    """Return the rows of recordings, smoothed with a cut-off (Hz), at most about `MAX_ROWS`."""
    smoothed = [Smoothed(motion.recording, cutoff) for motion in motions]
    step = max(1, -(-sum(int(s.new.sum()) for s in smoothed) // MAX_ROWS))
    parts = [_part(motion, s, motions[0].merged, step) for motion, s in zip(motions, smoothed, strict=True)]
    spacing = np.concatenate([np.diff(part.time) for part in parts])
    joined = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ('time', 'fold', 'effort', 'smooth_effort', 'known_effort', 'Y')
    }
    return Samples(
        cutoff, float(1 / np.median(spacing)), **joined,
        recording_index=np.concatenate([np.full(len(part.time), k) for k, part in enumerate(parts)]),
        whole=tuple(np.concatenate(x) for x in zip(*(part.whole for part in parts), strict=True)),  # type: ignore[arg-type]
        counted=motions[0].counted,
        z={d: np.concatenate([part.z[..., k] for part in parts]) for k, d in enumerate(DISTANCES)},
        effort_std=np.concatenate([_counted(motion) for motion in motions]).std(axis=0),
    )  # fmt: skip


def _counted(motion: ArmMotion) -> Array:
    return motion.recording.measured_effort[:, motion.counted]


@dataclass(frozen=True, eq=False)
class _Part:
    time: Array
    fold: NDArray[np.intp]
    whole: tuple[Array, Array, Array]
    effort: Array
    smooth_effort: Array
    known_effort: Array
    Y: Array
    z: Array


def _part(motion: ArmMotion, smoothed: Smoothed, first: MergedRobot, step: int) -> _Part:
    recording, every, counted = motion.recording, slice(None, None, step), list(motion.counted)
    x, new = smoothed.motion, smoothed.new
    effort = _counted(motion)[new]
    whole = x.q[every], x.dq[every], x.ddq[every]
    Y = motion.merged.regressor(*whole)[:, counted]
    return _Part(
        smoothed.instant[every] - recording.time[0],
        folds(recording, smoothed.instant[every]),
        whole,
        effort[every],
        smoothing_spline(smoothed.instant, effort, smoothed.cutoff)(smoothed.instant)[every],
        Y @ (motion.merged.phi - first.phi),
        Y,
        presliding_history(recording.position[:, counted], DISTANCES)[new][every],
    )


def folds(recording: Recording, instant: Array) -> NDArray[np.intp]:
    """Return the fold of rows at instants: by phase if the motion is periodic, else equal blocks of rows."""
    length = period(recording)
    if length < PERIODIC * recording.duration:
        part = (instant - recording.time[0]) / length % 1.0
    else:
        part = np.interp(instant, recording.time, np.arange(len(recording))) / len(recording)
    return np.asarray(np.minimum((part * FOLDS).astype(np.intp), FOLDS - 1), dtype=np.intp)
