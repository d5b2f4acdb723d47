"""Choosing the structure by what it says of rows that it has not seen: blocks cut by the phase of the excitation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .least_squares import Equations, Known, Noise, noise_of, solve
from .samples import DISTANCES, Samples
from .structure import Structure

FOLDS = 6  # blocks of the period, each left out once
WORTH = 0.01  # of the error: a term that brings less is not worth having
CUTOFFS = (1.5, 2.1, 3.0, 4.2, 6.0, 12.0)  # Hz
SPREADS = (0.3, 1.0, 3.0)  # of bodies about the known ones, relative: nobody knows a body better than to a third
CHANCE = 5.0  # chi-square: what one number more would gain by chance in two or three cases of a hundred
THIN = 2500  # rows at most in cross-validation: neighbours say nearly the same


@dataclass(frozen=True)
class Trial:
    """A structure and its error on rows left out: RMSE over standard deviation, of each joint."""

    structure: Structure
    errors: tuple[float, ...]

    @property
    def error(self) -> float:
        """Mean over joints."""
        return float(np.mean(self.errors))


def folds(samples: Samples) -> NDArray[np.intp]:
    """Return the block (rows) of every row."""
    return np.asarray(np.minimum((samples.phase * FOLDS).astype(int), FOLDS - 1))


def held_out(samples: Samples, structure: Structure, known: Known, noise: Noise) -> Array:
    """Return the effort (rows, joints) that is predicted of every row from the blocks it does not stand in."""
    block, predicted = folds(samples), np.empty_like(samples.effort)
    for k in np.unique(block):
        solution = solve(Equations(samples, block != k, noise, structure), structure, known, samples.spread)
        predicted[block == k] = solution.predict(samples)[block == k]
    return predicted


class Choice:
    """The search: one question after the other, each answered by cross-validation."""

    def __init__(
        self, samples_at: Callable[[float], Samples], known: Known, progress: Callable[[str], None] | None = None
    ) -> None:
        """`samples_at` gives the samples smoothed with a cut-off in Hz; `progress` hears what is being tried."""
        self._samples_at, self._known, self._progress = samples_at, known, progress or (lambda _: None)
        self.trials: list[Trial] = []

    def error_of(self, structure: Structure) -> Trial:
        """Try a structure."""
        self._progress(f'trying {structure}')
        samples = self._samples_at(structure.cutoff)
        predicted = held_out(samples, structure, self._known, noise_of(samples, structure, self._known))
        errors = np.sqrt(np.square(samples.effort - predicted).mean(axis=0)) / samples.spread
        self.trials.append(Trial(structure, tuple(errors.tolist())))
        return self.trials[-1]

    def best(self) -> Trial:
        """Return the structure that says best what it has not seen; of nearly equal ones the one that came first."""
        chosen = self.error_of(Structure())
        for question in (_cutoffs, _coulomb, _presliding, _coulomb, _load, _crossing, _offset, _cutoffs):
            for structure in question(chosen.structure):
                if structure == chosen.structure:
                    continue
                trial = self.error_of(structure)
                if trial.error < chosen.error * (1 if question is _cutoffs else 1 - WORTH):  # smoothing adds no term
                    chosen = trial
        return self._nearest(chosen)

    def _nearest(self, chosen: Trial) -> Trial:
        """Return the same with bodies as near to the known ones as the unseen rows do not contradict."""
        s = chosen.structure
        trials = [chosen if x == s.spread else self.error_of(replace(s, spread=x)) for x in SPREADS]
        least = min(trial.error for trial in trials)
        return next(trial for trial in trials if trial.error <= least * (1 + self._by_chance(s)))

    def _by_chance(self, structure: Structure) -> float:
        """Return by how much, of it, an error may grow by chance: a chi-square over twice the rows that are new."""
        samples = self._samples_at(structure.cutoff)
        anew = len(samples.phase) / noise_of(samples, structure, self._known).memory
        return CHANCE / (2 * float(anew.sum()))


def _cutoffs(s: Structure) -> Iterator[Structure]:
    yield from (replace(s, cutoff=cutoff) for cutoff in CUTOFFS)


def _coulomb(s: Structure) -> Iterator[Structure]:
    yield from (replace(s, coulomb_velocity=v) for v in (0.0, 0.005, 0.02, 0.05))


def _presliding(s: Structure) -> Iterator[Structure]:
    yield from (replace(s, presliding=d) for d in (DISTANCES[:1], DISTANCES))


def _load(s: Structure) -> Iterator[Structure]:
    yield replace(s, load_share=True)


def _crossing(s: Structure) -> Iterator[Structure]:
    if s.load_share:
        yield from (replace(s, load_crossing=c) for c in (1.0, 1.8))
        yield from (replace(s, load_velocity=v) for v in (0.05, 0.2))


def _offset(s: Structure) -> Iterator[Structure]:
    yield replace(s, offset=True)


def thinned(samples: Samples) -> Samples:
    """Return every so many rows, few enough for cross-validation."""
    step = max(1, -(-len(samples.phase) // THIN))
    return Samples(*(getattr(samples, name)[::step] for name in samples.__dataclass_fields__))


def table(trials: Sequence[Trial]) -> str:
    """Return what was tried, best first."""
    lines = [f'{trial.error:.4f}  {trial.structure}' for trial in sorted(trials, key=lambda t: t.error)]
    return '\n'.join(lines)
