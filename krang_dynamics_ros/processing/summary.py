"""Summary of a recording: errors by joint, counts, and columns downsampled for charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.spatial import Array
from .columns import GAP
from .replay import States, joined

MIN_R2 = 0.7  # of a slope, to judge sign or unit
OTHER_UNIT = 5.0  # factor of the slope that no model error explains
POINTS = 2000  # maximum in a chart; a portion has its share of them, but `portions.MIN_POINTS` at least
BROKEN = 5.0  # times the mean step: gap in a line


class Downsampled:
    """Every k-th state of a recording; k grows with its length."""

    def __init__(self, names: Sequence[str], points: int = POINTS) -> None:
        """`points` is the maximum number of states kept."""
        self.names, self._points = tuple(names), points
        self._step, self._seen = 1, 0
        self.states: States | None = None  # kept states
        self._rows: Array | None = None  # (points, columns, n)

    def add(self, core: States, found: Mapping[str, Array]) -> None:
        """Add states with their columns (m, n)."""
        first = -self._seen % self._step
        self._seen += len(core)
        every = slice(first, None, self._step)
        rows = np.stack([found[name][every] for name in self.names], axis=1)
        self._rows = rows if self._rows is None else np.concatenate([self._rows, rows])
        self.states = core[every] if self.states is None else joined([self.states, core[every]])
        while len(self.states) > self._points:
            self.states, self._rows, self._step = self.states[::2], self._rows[::2], 2 * self._step

    @classmethod
    def of(cls, parts: Sequence[Downsampled]) -> Downsampled:
        """Return the union of all portions of a recording."""
        whole, some = cls(parts[0].names), [part for part in parts if part.states is not None]
        whole.states = joined([part.states for part in some if part.states is not None])
        whole._rows = np.concatenate([part._rows for part in some if part._rows is not None])
        return whole

    @property
    def seconds(self) -> Array:
        """Seconds (points) from the first arrival; arrivals, unlike stamps, never go back."""
        return np.zeros(0) if self.states is None else (self.states.arrival - self.states.arrival[0]) * 1e-9

    @property
    def gap(self) -> float:
        """Time without a point that makes a gap in a line, s."""
        return BROKEN * float(self.seconds[-1]) / len(self.seconds) if len(self.seconds) else math.inf

    def column(self, name: str) -> Array:
        """Return the numbers of a column (points, n)."""
        return np.zeros((0, 0)) if self._rows is None else self._rows[:, self.names.index(name)]

    def line(self, name: str, joint: int) -> tuple[Array, Array]:
        """Return the seconds since the first state, and the known numbers of a joint."""
        if self._rows is None:
            return np.zeros(0), np.zeros(0)
        values = self.column(name)[:, joint]
        known = np.isfinite(values)
        return self.seconds[known], values[known]


@dataclass(frozen=True)
class JointError:
    """Error of a joint, N m or N; `relative` is the root mean square over the standard deviation of the effort."""

    joint: str
    samples: int
    rms: float
    mean_absolute: float
    spread: float  # standard deviation of the measured effort
    slope: float = 1.0  # of measured over modelled effort
    explained: float = 0.0  # R^2 of that slope

    @property
    def suspicion(self) -> str:
        """Suspected fault of sign or unit, from the slope; '' if none, or if R^2 is small."""
        if self.explained < MIN_R2:
            return ''
        if -1 / OTHER_UNIT > self.slope > -OTHER_UNIT:
            return f'effort of {self.joint} is {self.slope:.2g} times the model: its sign is reversed (effort_scale)'
        if not 1 / OTHER_UNIT < self.slope < OTHER_UNIT:
            return f'effort of {self.joint} is {self.slope:.3g} times the model: it has another unit (effort_scale)'
        return ''

    @property
    def relative(self) -> float:
        """RMS / spread; NaN where the effort never changes."""
        return self.rms / self.spread if self.spread > 0 else float('nan')


class ErrorSums:
    """Sums over states, from which the errors are computed."""

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        self._names = joint_names
        n = len(joint_names)
        self._count, self._mean, self._squares = np.zeros(n), np.zeros(n), np.zeros(n)  # of the effort (Welford, Chan)
        self._residual, self._absolute = np.zeros(n), np.zeros(n)
        self._model, self._model_squares, self._mixed = np.zeros(n), np.zeros(n), np.zeros(n)

    def add(self, effort: Array, residual: Array) -> None:
        """Add states (m, n); unknown numbers are ignored."""
        known = np.isfinite(effort) & np.isfinite(residual)
        some = ErrorSums(self._names)
        some._count += known.sum(axis=0)
        some._mean += np.where(known, effort, 0.0).sum(axis=0) / np.maximum(some._count, 1)
        some._squares += np.square(np.where(known, effort - some._mean, 0.0)).sum(axis=0)
        some._residual += np.square(np.where(known, residual, 0.0)).sum(axis=0)
        some._absolute += np.abs(np.where(known, residual, 0.0)).sum(axis=0)
        model = effort - residual
        some._model += np.where(known, model, 0.0).sum(axis=0) / np.maximum(some._count, 1)
        deviation = np.where(known, model - some._model, 0.0)
        some._model_squares += np.square(deviation).sum(axis=0)
        some._mixed += (np.where(known, effort - some._mean, 0.0) * deviation).sum(axis=0)
        self.join(some)

    def join(self, other: ErrorSums) -> None:
        """Add the sums of another object."""
        total, difference = np.maximum(self._count + other._count, 1), other._mean - self._mean
        weight, model_difference = self._count * other._count / total, other._model - self._model
        self._squares += other._squares + np.square(difference) * weight
        self._model_squares += other._model_squares + np.square(model_difference) * weight
        self._mixed += other._mixed + difference * model_difference * weight
        self._mean += difference * other._count / total
        self._model += model_difference * other._count / total
        self._count += other._count
        self._residual += other._residual
        self._absolute += other._absolute

    def errors(self) -> list[JointError]:
        """Return the error of every joint with known numbers, the largest RMS first."""
        found = []
        for k, name in enumerate(self._names):
            if m := int(self._count[k]):
                rms, spread = np.sqrt(self._residual[k] / m), np.sqrt(self._squares[k] / m)
                absolute = float(self._absolute[k] / m)
                found.append(JointError(name, m, float(rms), absolute, float(spread), *self._slope(k)))
        return sorted(found, key=lambda error: -error.rms)

    def _slope(self, k: int) -> tuple[float, float]:
        """Return the slope of a joint's effort on its model, and its R^2."""
        both = self._squares[k] * self._model_squares[k]
        if not both > 0:
            return 1.0, 0.0
        return float(self._mixed[k] / self._model_squares[k]), float(self._mixed[k] ** 2 / both)


FEW_ACCELERATIONS = 0.9  # of the states


@dataclass
class Summary:
    """Results of a recording."""

    recording: str
    digest: str
    states: int = 0
    seconds: float = 0.0
    backend: str = ''
    topics: dict[str, tuple[str, int]] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)  # topics that were read
    joint_state_count: int = 0  # joint state messages
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)  # by input: number, and the last reason
    time_resets: int = 0  # number of times that time went back
    repeated: int = 0  # joint state messages whose stamps did not advance
    accelerated: int = 0  # states whose accelerations are known
    braked: int = 0  # states in which brakes hold the arm, left out of the errors
    errors: list[JointError] = field(default_factory=list)
    effort_source: str = 'motor'  # parameter effort_source
    notes: list[str] = field(default_factory=list)  # on faults and omissions of the recording
    formats: list[str] = field(default_factory=list)  # formats of the written files
    timing: str = ''  # rate and gaps, as text
    senses: dict[str, str] = field(default_factory=dict)  # parameter <hand>.sense, by hand
    velocity_ratios: dict[str, float] = field(default_factory=dict)  # velocity over change of position, if not 1

    @property
    def assumed(self) -> str:
        """Assumptions about the recording, as text."""
        senses = ''.join(f', {hand}.sense {sense}' for hand, sense in self.senses.items())
        return f'effort_source {self.effort_source}{senses}; {self.timing}'

    @property
    def suspected_faults(self) -> Iterator[str]:
        """Sentences on suspected faults of the recording: times, velocities, signs and units of efforts."""
        for name, ratio in self.velocity_ratios.items():
            yield f'The velocity of {name} is {ratio:.3g} times the rate of change of its position, must be 1.'
        yield from (f'The {error.suspicion}.' for error in self.errors if error.suspicion)
        if self.time_resets:
            yield f'Time went back {self.time_resets} times: a movement ends there each time.'
        if self.repeated:
            yield f'{self.repeated} messages of joint states had stamps that did not advance: they were ignored.'
        if self.braked:
            yield (
                f'Brakes or friction hold the arm in {self.braked} of {self.states} states, which are left out of the '
                'errors: it stands still without efforts, though the model loads it.'
            )
        if self.accelerated < FEW_ACCELERATIONS * self.states:
            yield (
                f'Accelerations are known in {self.accelerated} of {self.states} states: a gap of more than '
                f'{GAP:g} median steps ends a movement, and a period of the cutoff at its ends is omitted.'
            )

    @property
    def why_no_errors(self) -> str:
        """Reason why the model cannot be compared with efforts."""
        if self.effort_source == 'external':
            return 'effort_source is external: the model predicts no external torques, so there is no comparison'
        return (
            'no state has both efforts and the whole model, so they cannot be compared; if the recording has no '
            'velocities, set velocity_source: position'
        )
