"""Joint trajectories, as trajectory_msgs/JointTrajectory holds them, and the spline of ros2_control through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import ArgumentError, unknown_name
from ..core.limits import names_fault
from ..core.spatial import Array

MAX_POINTS = 1_000_000  # of a trajectory: three hours at 100 Hz
_STEP_TOLERANCE = 1e-6  # of a step: times rounded to ns add no point


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Points of some joints over time. A point without velocities, accelerations or efforts has a row of NaN there.

    Make one with `Trajectory.of`, which checks it.

    Attributes:
        joint_names: joints, the columns of all arrays.
        time: time from the start (m,), increasing, s.
        position: positions (m, n), rad or m.
        velocity: velocities (m, n), rad/s or m/s.
        acceleration: accelerations (m, n), rad/s^2 or m/s^2.
        effort: efforts (m, n), N m or N.
    """

    joint_names: tuple[str, ...]
    time: Array
    position: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @classmethod
    def of(
        cls,
        joint_names: Sequence[str],
        time: ArrayLike,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        effort: ArrayLike | None = None,
    ) -> Trajectory:
        """Return the trajectory of these points, checked.

        Raises:
            ArgumentError: an array has another shape, a number is not finite, times do not increase.
        """
        names, times = tuple(joint_names), np.array(time, dtype=float)
        if fault := names_fault(names) or ('' if names else 'no joint names, must be at least one'):
            raise ArgumentError(f'trajectory: {fault}')
        if times.ndim != 1 or not 0 < len(times) <= MAX_POINTS:
            raise ArgumentError(f'trajectory: times of shape {times.shape}, must be (m,), m from 1 to {MAX_POINTS}')
        shape = len(times), len(names)
        numbers = {'positions': position, 'velocities': velocity, 'accelerations': acceleration, 'effort': effort}
        arrays = [_rows(name, rows, shape) for name, rows in numbers.items()]
        if (k := _first_row(~given(arrays[0]))) is not None:
            raise ArgumentError(f'{at_point(k)}: positions {arrays[0][k].tolist()}, must be given, and finite')
        _check_times(times)
        return cls(names, times, *arrays)

    @property
    def duration(self) -> float:
        """Time from the first point to the last, s."""
        return float(self.time[-1] - self.time[0])

    def columns_in(self, joint_names: Sequence[str]) -> list[int]:
        """Return the indices of this trajectory's joints in `joint_names`, or raise `ArgumentError`."""
        for name in self.joint_names:
            if name not in joint_names:
                raise unknown_name('joint', name, joint_names)
        return [list(joint_names).index(name) for name in self.joint_names]

    def stretched(self, factor: float) -> Trajectory:
        """Return the same path, slower by a factor, without efforts; the time of the first point stays."""
        time = self.time[0] + factor * (self.time - self.time[0])
        velocity, acceleration = self.velocity / factor, self.acceleration / factor**2
        return Trajectory(
            self.joint_names, time, self.position, velocity, acceleration, np.full_like(self.position, np.nan)
        )

    def at_rest_where_unknown(self) -> Trajectory:
        """Return the trajectory with velocity and acceleration zero at each point that has no velocities."""
        unknown = ~given(self.velocity)[:, None]
        velocity, acceleration = np.where(unknown, 0.0, self.velocity), np.where(unknown, 0.0, self.acceleration)
        return Trajectory(self.joint_names, self.time, self.position, velocity, acceleration, self.effort)


def at_point(k: int) -> str:
    """Return the name of a point in messages, counted from 1."""
    return f'point {k + 1}'


def given(rows: Array) -> NDArray[np.bool_]:
    """Return for each point (m,) whether its numbers (m, n) are given."""
    return np.asarray(np.isfinite(rows).all(axis=1))


def _rows(name: str, rows: ArrayLike | None, shape: tuple[int, int]) -> Array:
    """Return an array (m, n); each row is finite, or NaN where a point has no such numbers."""
    if rows is None:
        return np.full(shape, np.nan)
    array = np.array(rows, dtype=float)
    if array.shape != shape:
        raise ArgumentError(f'trajectory: {name} of shape {array.shape}, must be {shape}: a row for each point')
    finite = given(array) | np.asarray(np.isnan(array).all(axis=1))
    if (k := _first_row(~finite)) is not None:
        raise ArgumentError(f'{at_point(k)}: {name} {array[k].tolist()}, must be finite')
    return array


def _first_row(wrong: NDArray[np.bool_]) -> int | None:
    return int(wrong.argmax()) if wrong.any() else None


def _check_times(times: Array) -> None:
    """Raise `ArgumentError` for times that ros2_control refuses."""
    if (k := _first_row(~(np.isfinite(times) & (times >= 0)))) is not None:
        raise ArgumentError(f'{at_point(k)}: time_from_start {times[k]:g} s, must be finite and not negative')
    if (k := _first_row(np.diff(times) <= 0)) is not None:
        raise ArgumentError(
            f'{at_point(k + 1)}: time_from_start {times[k + 1]:.9g} s, must be after that of {at_point(k)}, '
            f'{times[k]:.9g} s'
        )


class Motion(NamedTuple):
    """States along a trajectory."""

    time: Array  # (m) s
    q: Array  # (m, n)
    dq: Array  # (m, n)
    ddq: Array  # (m, n)


class Spline:
    """Interpolation of ros2_control's joint trajectory controller, with its default `interpolation_method`.

    A segment is of degree 5 where both of its points have velocities and accelerations, of degree 3 where they have
    velocities, else a straight line, whose velocity jumps at the points.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        """Compute the coefficients of all segments.

        Raises:
            ArgumentError: a point has accelerations, but no velocities: the controller would go to zero there.
        """
        self.trajectory = trajectory
        without_velocity = ~given(trajectory.velocity) & given(trajectory.acceleration)
        if (k := _first_row(without_velocity)) is not None:
            raise ArgumentError(f'{at_point(k)}: accelerations without velocities, must have both')
        self._steps = np.diff(trajectory.time)
        self._coefficients = self._fitted()

    def _fitted(self) -> Array:
        """Return the coefficients (m - 1, 6, n) of powers of the time since a segment's first point."""
        t, x = self.trajectory, self._steps[:, None]
        rise = t.position[1:] - t.position[:-1]
        c = np.zeros((len(rise), 6, len(t.joint_names)))
        c[:, 0], c[:, 1] = t.position[:-1], rise / x
        cubic = given(t.velocity[1:] + t.velocity[:-1])
        quintic = cubic & given(t.acceleration[1:] + t.acceleration[:-1])
        v, v_end = t.velocity[:-1], t.velocity[1:]
        hermite = np.stack([v, (3 * rise / x - 2 * v - v_end) / x, (v + v_end - 2 * rise / x) / x**2], axis=1)
        c[cubic, 1:4] = hermite[cubic]
        half, half_end = t.acceleration[:-1] / 2, t.acceleration[1:] / 2
        # Differences at the segment's end from a motion with the initial velocity and acceleration.
        p, dv, da = rise - x * (v + x * half), (v_end - v - 2 * x * half) * x, (half_end - half) * x**2
        powers = [v, half, (10 * p - 4 * dv + da) / x**3, (7 * dv - 15 * p - 2 * da) / x**4]
        powers.append((6 * p - 3 * dv + da) / x**5)
        c[quintic, 1:] = np.stack(powers, axis=1)[quintic]
        return c

    def at(self, time: ArrayLike) -> Motion:
        """Return the states at times (s) between the first and last point.

        At a point, the accelerations are those of the segment that begins there.
        """
        times = np.asarray(time, dtype=float)
        t = self.trajectory
        if not len(self._steps):
            still = np.zeros((len(times), len(t.joint_names)))
            return Motion(times, still + t.position, still, still)
        k = np.clip(np.searchsorted(t.time, times, side='right') - 1, 0, len(self._steps) - 1)
        c, x = self._coefficients[k], (times - t.time[k])[:, None]
        q = sum(c[:, i] * x**i for i in range(6))
        dq = sum(i * c[:, i] * x ** (i - 1) for i in range(1, 6))
        ddq = sum(i * (i - 1) * c[:, i] * x ** (i - 2) for i in range(2, 6))
        return Motion(times, *(np.asarray(rows, dtype=float) for rows in (q, dq, ddq)))

    def times(self, every: float, substeps: int = 1) -> Array:
        """Return times (s): all points, between them equal steps of at most `every`, each divided into `substeps`."""
        t = self.trajectory
        counts = np.maximum(np.ceil(self._steps / every - _STEP_TOLERANCE), 1) * substeps
        if counts.sum() > MAX_POINTS:
            raise ArgumentError(f'{counts.sum():g} points at every {every:g} s, must be at most {MAX_POINTS}')
        parts = [
            start + step * np.arange(count) / count
            for start, step, count in zip(t.time[:-1], self._steps, counts, strict=True)
        ]
        return np.concatenate([*parts, t.time[-1:]])

    def sampled(self, every: float) -> Trajectory:
        """Return the same motion with points at most `every` seconds apart; all old points are kept.

        A controller moves the arm in the same way: between two new points its spline is the same polynomial. So only
        quintic segments get accelerations. All points must have velocities.
        """
        t, motion = self.trajectory, self.at(self.times(every))
        at_points = given(t.acceleration)
        k = np.clip(np.searchsorted(t.time, motion.time, side='right') - 1, 0, None)
        quintic = at_points[k] & at_points[np.minimum(k + 1, len(at_points) - 1)]
        ddq = np.where(quintic[:, None], motion.ddq, np.nan)
        at = np.isin(motion.time, t.time)
        motion.q[at], motion.dq[at], ddq[at] = t.position, t.velocity, t.acceleration  # without rounding
        return Trajectory(t.joint_names, motion.time, motion.q, motion.dq, ddq, np.full_like(motion.q, np.nan))
