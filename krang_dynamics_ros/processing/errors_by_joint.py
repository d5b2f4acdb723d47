"""How far the model is from the measured efforts, joint by joint, found in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.spatial import Array


@dataclass(frozen=True)
class JointError:
    """One joint's error, N m or N; `relative` is the root mean square over the standard deviation of the effort."""

    joint: str
    samples: int
    rms: float
    mean_absolute: float
    spread: float  # standard deviation of the measured effort

    @property
    def relative(self) -> float:
        """RMS / spread; NaN where the effort never changes."""
        return self.rms / self.spread if self.spread > 0 else float('nan')


class ErrorSums:
    """Sums over states, from which the errors follow."""

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        self._names = joint_names
        n = len(joint_names)
        self._count, self._mean, self._squares = np.zeros(n), np.zeros(n), np.zeros(n)  # of the effort (Welford, Chan)
        self._residual, self._absolute = np.zeros(n), np.zeros(n)

    def add(self, effort: Array, residual: Array) -> None:
        """Take in states (m, n); those with a number that is not known do not count."""
        known = np.isfinite(effort) & np.isfinite(residual)
        some = ErrorSums(self._names)
        some._count += known.sum(axis=0)
        some._mean += np.where(known, effort, 0.0).sum(axis=0) / np.maximum(some._count, 1)
        some._squares += np.square(np.where(known, effort - some._mean, 0.0)).sum(axis=0)
        some._residual += np.square(np.where(known, residual, 0.0)).sum(axis=0)
        some._absolute += np.abs(np.where(known, residual, 0.0)).sum(axis=0)
        self.join(some)

    def join(self, other: ErrorSums) -> None:
        """Take in the states of another one."""
        together, apart = np.maximum(self._count + other._count, 1), other._mean - self._mean
        self._squares += other._squares + np.square(apart) * self._count * other._count / together
        self._mean += apart * other._count / together
        self._count += other._count
        self._residual += other._residual
        self._absolute += other._absolute

    def errors(self) -> list[JointError]:
        """Return the error of every joint of which anything is known, the worst explained first."""
        found = []
        for k, name in enumerate(self._names):
            if m := int(self._count[k]):
                rms, spread = np.sqrt(self._residual[k] / m), np.sqrt(self._squares[k] / m)
                found.append(JointError(name, m, float(rms), float(self._absolute[k] / m), float(spread)))
        return sorted(found, key=lambda error: -np.nan_to_num(error.relative, nan=np.inf))
