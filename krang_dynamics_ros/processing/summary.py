"""A recording in a few numbers: errors by joint, counts, and columns downsampled for charts, found in one pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.spatial import Array
from .columns import GAP
from .replay import States, joined

COUNTS = 0.7  # R^2 from which a slope says something of sign or unit
OTHER_UNIT = 5.0  # times too large or too small: no model is wrong by so much
POINTS = 2000  # at most; more are hidden behind each other
BROKEN = 5.0  # times the mean time between points: a line is broken there


class Downsampled:
    """Every k-th state, k growing with the recording."""

    def __init__(self, names: Sequence[str], points: int = POINTS) -> None:
        """Keep so many points at most."""
        self.names, self._points = tuple(names), points
        self._step, self._seen = 1, 0
        self.states: States | None = None  # those that are kept
        self._rows: Array | None = None  # (points, columns, n)

    def add(self, core: States, found: Mapping[str, Array]) -> None:
        """Take in states, and what was found of them (m, n) by column."""
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
        """Return one for all portions of a recording."""
        whole, some = cls(parts[0].names), [part for part in parts if part.states is not None]
        whole.states = joined([part.states for part in some if part.states is not None])
        whole._rows = np.concatenate([part._rows for part in some if part._rows is not None])
        return whole

    @property
    def seconds(self) -> Array:
        """Seconds (points) from the arrival of the first state, which never go back as stamps may."""
        return np.zeros(0) if self.states is None else (self.states.arrival - self.states.arrival[0]) * 1e-9

    @property
    def gap(self) -> float:
        """Time without a point beyond which a line is broken, s."""
        return BROKEN * float(self.seconds[-1]) / len(self.seconds) if len(self.seconds) else math.inf

    def column(self, name: str) -> Array:
        """Return the numbers of a column (points, n)."""
        return np.zeros((0, 0)) if self._rows is None else self._rows[:, self.names.index(name)]

    def line(self, name: str, joint: int) -> tuple[Array, Array]:
        """Return the seconds since the first state, and the numbers of a joint, where they are known."""
        if self._rows is None:
            return np.zeros(0), np.zeros(0)
        values = self.column(name)[:, joint]
        known = np.isfinite(values)
        return self.seconds[known], values[known]


@dataclass(frozen=True)
class JointError:
    """One joint's error, N m or N; `relative` is the root mean square over the standard deviation of the effort."""

    joint: str
    samples: int
    rms: float
    mean_absolute: float
    spread: float  # standard deviation of the measured effort
    slope: float = 1.0  # of the measured effort on the model's
    explained: float = 0.0  # R^2 of that slope

    @property
    def suspicion(self) -> str:
        """What the slope says of sign or unit; nothing while the model explains little."""
        if self.explained < COUNTS:
            return ''
        if -1 / OTHER_UNIT > self.slope > -OTHER_UNIT:
            return (
                f'effort of {self.joint} is {self.slope:.2g} times the model: its sign is the other one (effort_scale)'
            )
        if not 1 / OTHER_UNIT < self.slope < OTHER_UNIT:
            return f'effort of {self.joint} is {self.slope:.3g} times the model: it has another unit (effort_scale)'
        return ''

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
        self._model, self._model_squares, self._mixed = np.zeros(n), np.zeros(n), np.zeros(n)

    def add(self, effort: Array, residual: Array) -> None:
        """Take in states (m, n); those with a number that is not known do not count."""
        known = np.isfinite(effort) & np.isfinite(residual)
        some = ErrorSums(self._names)
        some._count += known.sum(axis=0)
        some._mean += np.where(known, effort, 0.0).sum(axis=0) / np.maximum(some._count, 1)
        some._squares += np.square(np.where(known, effort - some._mean, 0.0)).sum(axis=0)
        some._residual += np.square(np.where(known, residual, 0.0)).sum(axis=0)
        some._absolute += np.abs(np.where(known, residual, 0.0)).sum(axis=0)
        model = effort - residual
        some._model += np.where(known, model, 0.0).sum(axis=0) / np.maximum(some._count, 1)
        apart = np.where(known, model - some._model, 0.0)
        some._model_squares += np.square(apart).sum(axis=0)
        some._mixed += (np.where(known, effort - some._mean, 0.0) * apart).sum(axis=0)
        self.join(some)

    def join(self, other: ErrorSums) -> None:
        """Take in the states of another one."""
        together, apart = np.maximum(self._count + other._count, 1), other._mean - self._mean
        weight, model_apart = self._count * other._count / together, other._model - self._model
        self._squares += other._squares + np.square(apart) * weight
        self._model_squares += other._model_squares + np.square(model_apart) * weight
        self._mixed += other._mixed + apart * model_apart * weight
        self._mean += apart * other._count / together
        self._model += model_apart * other._count / together
        self._count += other._count
        self._residual += other._residual
        self._absolute += other._absolute

    def errors(self) -> list[JointError]:
        """Return the error of every joint of which anything is known, the largest RMS first."""
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
    """What was found in a recording."""

    recording: str
    digest: str
    states: int = 0
    seconds: float = 0.0
    backend: str = ''
    topics: dict[str, tuple[str, int]] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)  # topics that were listened to
    heard: int = 0  # joint state messages
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)  # by input: how many, and the last reason
    jumps: int = 0  # how often time went back
    repeated: int = 0  # joint state messages whose stamps did not advance
    accelerated: int = 0  # states whose accelerations are known
    errors: list[JointError] = field(default_factory=list)
    effort_source: str = 'motor'  # what efforts mean, as the parameter of that name
    notes: list[str] = field(default_factory=list)  # on what is odd in the recording, or left out of it
    formats: list[str] = field(default_factory=list)  # kinds of files that were written
    timing: str = ''  # rate and gaps, in words
    senses: dict[str, str] = field(default_factory=dict)  # who applies the wrench that is read, by hand
    velocity_ratios: dict[str, float] = field(default_factory=dict)  # to the change of positions, where it is not 1

    @property
    def assumed(self) -> str:
        """What the recording was taken for."""
        senses = ''.join(f', {hand}.sense {sense}' for hand, sense in self.senses.items())
        return f'effort_source {self.effort_source}{senses}; {self.timing}'

    @property
    def oddities(self) -> Iterator[str]:
        """What is odd in the recording, in a sentence each: times, velocities, signs and units of efforts."""
        for name, ratio in self.velocity_ratios.items():
            yield f'The velocity of {name} is {ratio:.3g} times the rate of change of its position, must be 1.'
        yield from (f'The {error.suspicion}.' for error in self.errors if error.suspicion)
        if self.jumps:
            yield f'Time went back {self.jumps} times; what was known before was forgotten.'
        if self.repeated:
            yield f'{self.repeated} messages of joint states had stamps that did not advance: they hold no new value.'
        if self.accelerated < FEW_ACCELERATIONS * self.states:
            yield (
                f'Accelerations are known in {self.accelerated} of {self.states} states: where time leaves a gap of '
                f'more than {GAP:g} usual steps a movement ends, and a period of the cutoff at its ends is left out.'
            )

    @property
    def why_no_errors(self) -> str:
        """Why there is nothing to hold the model against, in a sentence."""
        if self.effort_source == 'external':
            return 'effort_source is external: efforts are no part of the model, there is nothing to hold it against'
        return 'no efforts beside accelerations that can be known: there is nothing to hold the model against'
