"""Timing of a recording: rate, gaps, repeated rows, and velocities compared with the change of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .recording import Recording

GAP = 10.0  # times the common step: a longer step is a gap
LAGS = 200  # differences are over 1 / 200 of the rows: the longer the lags, the smaller the effect of encoder noise
MIN_AGREEMENT = 0.9  # minimum R^2 of positions by velocities; below it, no ratio is reported
TOLERANCE = 0.05  # of the ratio around 1


@dataclass(frozen=True)
class Timing:
    """Timing of rows, from their stamps."""

    rate: float  # rows per second
    duration: float  # s
    gaps: int  # steps of more than `GAP` common steps
    longest: float  # s, longest gap
    repeated: int  # rows that a logger wrote again, or of an arm that stands perfectly still

    @classmethod
    def of(cls, recording: Recording) -> Timing:
        """Return the timing of a recording."""
        steps = np.diff(recording.time)
        gaps = steps[steps > GAP / recording.rate]
        longest, repeated = float(gaps.max(initial=0.0)), int((~recording.is_new).sum())
        return cls(recording.rate, recording.duration, len(gaps), longest, repeated)

    def __str__(self) -> str:
        several = f'{self.gaps} gaps, the longest' if self.gaps > 1 else 'a gap of'
        gaps = f'{several} {self.longest:.3g} s' if self.gaps else 'no gaps'
        repeated = f', {self.repeated} repeated rows left out' if self.repeated else ''
        return f'{self.duration:.1f} s at {self.rate:.4g} rows per second, {gaps}{repeated}'


class TimingSums:
    """Timing of rows that come in batches."""

    def __init__(self) -> None:
        """Start without rows."""
        self._step = 0.0  # ns, the common step of the first batch
        self._ends: tuple[int, int] | None = None  # ns, the first stamp and the last one
        self._gaps, self._longest = 0, 0.0

    def add(self, stamps: NDArray[np.int64]) -> None:
        """Add the stamps (rows), ns, of a batch."""
        first = int(stamps[0]) if self._ends is None else self._ends[0]
        steps = np.diff(stamps if self._ends is None else np.concatenate([[self._ends[1]], stamps]))
        self._step = self._step or (float(np.median(steps)) if len(steps) else 0.0)
        gaps = steps[steps > GAP * self._step] if self._step else steps[:0]
        self._gaps, self._longest = self._gaps + len(gaps), max(self._longest, float(gaps.max(initial=0)))
        self._ends = first, int(stamps[-1])

    def join(self, other: TimingSums) -> None:
        """Add the sums of later rows."""
        if other._ends is not None:
            self.add(np.array(other._ends[:1]))
            self._gaps, self._longest = self._gaps + other._gaps, max(self._longest, other._longest)
            self._ends = (self._ends or other._ends)[0], other._ends[1]

    def timing(self, repeated: int) -> Timing:
        """Return the timing; the number of repeated rows is counted elsewhere."""
        first, last = self._ends or (0, 0)
        rate = 1e9 / self._step if self._step else 0.0
        return Timing(rate, max(last - first, 0) * 1e-9, self._gaps, self._longest * 1e-9, repeated)


class VelocityRatio:
    """Ratio of recorded velocities to the change of positions (joints), summed over batches of rows."""

    def __init__(self, joints: int) -> None:
        """Start without rows."""
        self._products = np.zeros((3, joints))  # of travel and positions' change: both squared, and mixed

    def add(self, time: Array, position: Array, velocity: Array, lag: int = 1) -> None:
        """Add a batch of rows (rows, joints) at increasing times (s); differences are over `lag` rows."""
        if len(time) <= lag:
            return
        step = np.diff(time)[:, None]
        steps = np.stack([(velocity[1:] + velocity[:-1]) / 2 * step, np.diff(position, axis=0)])
        known = np.isfinite(steps).all(axis=0) & (step <= GAP * np.median(step))
        ways = np.cumsum(np.where(known, steps, 0.0), axis=1)
        ways = np.concatenate([np.zeros_like(ways[:, :1]), ways], axis=1)
        by_velocity, change = ways[:, lag:] - ways[:, :-lag]
        pairs = ((by_velocity, by_velocity), (change, change), (by_velocity, change))
        self._products += np.stack([(a * b).sum(axis=0) for a, b in pairs])

    def join(self, other: VelocityRatio) -> None:
        """Add the sums of other batches."""
        self._products += other._products

    @classmethod
    def of(cls, recording: Recording) -> VelocityRatio | None:
        """Compare the velocities of a recording with its positions; None if it has none."""
        if recording.velocity is None:
            return None
        found, new = cls(len(recording.joint_names)), recording.is_new
        lag = max(1, int(new.sum()) // LAGS)
        found.add(recording.time[new], recording.position[new], recording.velocity[new], lag)
        return found

    @property
    def ratio(self) -> Array:
        """Velocity over change of position (joints); NaN where they are not proportional."""
        travel, _, mixed = self._products
        with np.errstate(all='ignore'):
            return np.where(self.agreement >= MIN_AGREEMENT, travel / mixed, np.nan)

    @property
    def agreement(self) -> Array:
        """R^2 (joints) of the change of positions, predicted by velocities times any factor; NaN at rest."""
        travel, change, mixed = self._products
        with np.errstate(all='ignore'):
            return np.square(mixed) / (travel * change)

    @property
    def common(self) -> float:
        """The ratio of most joints, with its sign; NaN if there is none."""
        ratio = self.ratio[np.isfinite(self.ratio)]
        if not len(ratio):
            return float('nan')
        median = float(np.median(ratio))
        return median if (np.abs(ratio / median - 1) < TOLERANCE).mean() > 1 / 2 else float('nan')


def differing(ratio: Array, common: float, names: Sequence[str]) -> dict[str, float]:
    """Return the ratios, by joint name, that differ from the common ratio."""
    return {
        name: float(own)
        for name, own in zip(names, ratio, strict=True)
        if np.isfinite(own) and not abs(own / common - 1) < TOLERANCE
    }
