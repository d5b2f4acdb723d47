"""Search for a simple structure with nearly the smallest error on held-out data, joint by joint, in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.spatial import Array
from ..effects.coupling import CouplingEffect
from ..effects.effect import Effect, JointEffect
from .fit import Problem
from .gram import Gram
from .structure import EVERY_JOINT, Structure, library

CUTOFFS = (1.5, 2.1, 3.0, 4.2, 6.0, 12.0, 20.0)  # Hz
MAX_CUTOFF = 0.25  # of the rate of a recording
PRIOR_WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # of bodies about the known ones, relative
NEARLY = 1.01  # times the least error: the smallest prior width within it is chosen
MIN_GROSS_IMPROVEMENT = 0.15  # of a joint's error, for couplings and springs
MIN_IMPROVEMENT = 0.02  # of a joint's error, for other effects


@dataclass(frozen=True)
class Trial:
    """A structure and its error on held-out data: RMSE over the standard deviation of the effort, of each joint."""

    structure: Structure
    errors: tuple[float, ...]

    @property
    def error(self) -> float:
        """Mean over joints."""
        return float(np.mean(self.errors))


def held_out_errors(problem: Problem) -> Array:
    """Return the error (joints) over all rows, each fold predicted from the other folds."""
    gram, squares = problem.gram, np.zeros(len(problem.gram.effort_std))
    for matrices in gram.matrices:
        squares += problem.squares(matrices, problem.ridge(gram.total - matrices))
    return np.asarray(np.sqrt(squares / gram.rows.sum()) / gram.effort_std)


class Choice:
    """The search: cut-off, couplings, effects and prior width in turn, each by cross-validation."""

    def __init__(
        self,
        gram_at: Callable[[float], Gram],
        cutoffs: Sequence[float],
        progress: Callable[[str], None],
    ) -> None:
        """`gram_at` gives the Gram matrices at a cut-off in Hz; `progress` gets each structure that is tried."""
        self._gram_at, self._cutoffs, self._progress = gram_at, cutoffs, progress
        self._tried: dict[Structure, Trial] = {}

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials so far."""
        return tuple(self._tried.values())

    def trial(self, structure: Structure) -> Trial:
        """Return the trial of a structure, computed once."""
        if structure not in self._tried:
            self._progress(f'trying {structure}')
            errors = held_out_errors(Problem(self._gram_at(structure.cutoff), structure))
            self._tried[structure] = Trial(structure, tuple(errors.tolist()))
        return self._tried[structure]

    def best(self, joints: int) -> Trial:
        """Return the trial at which the search ends: simple, with nearly the smallest error on held-out data."""
        pairs = self._gram_at(self._cutoffs[0]).pairs
        chosen = self._best_cutoff(Structure.plain(joints))
        chosen = self._with_couplings(chosen, pairs)  # first: a gross error hides the rest
        more = [effect for effect in library() if effect not in EVERY_JOINT]
        springs = [effect for effect in more if isinstance(effect, JointEffect) and effect.term == 'spring']
        others = [effect for effect in more if effect not in springs]
        chosen = self._with_effects(chosen, others, MIN_IMPROVEMENT, rounds=2)
        chosen = self._with_effects(chosen, springs, MIN_GROSS_IMPROVEMENT, rounds=1)
        return self._best_prior_width(self._best_cutoff(chosen.structure))

    def _best_cutoff(self, structure: Structure) -> Trial:
        return min((self.trial(replace(structure, cutoff=f)) for f in self._cutoffs), key=lambda trial: trial.error)

    def _best_prior_width(self, chosen: Trial) -> Trial:
        """Return the trial with the smallest prior width of bodies whose held-out error is nearly the least."""
        trials = [self.trial(replace(chosen.structure, prior_width=width)) for width in PRIOR_WIDTHS]
        least = min(trial.error for trial in trials)
        return next(trial for trial in trials if trial.error <= least * NEARLY)

    def _with_effects(self, chosen: Trial, effects: Sequence[Effect], min_gain: float, rounds: int) -> Trial:
        """Try each effect on all joints; keep it on joints that improve enough, if that alone improves the mean."""
        for _ in range(rounds):
            before = chosen
            for effect in effects:
                everywhere = chosen.structure.with_effect(effect)
                if everywhere == chosen.structure:
                    continue
                gaining = _gaining(chosen, self.trial(everywhere), min_gain)
                joints = tuple(j for j in gaining if everywhere.joints[j] != chosen.structure.joints[j])
                if joints:
                    chosen = self._better(chosen, chosen.structure.with_effect(effect, joints))
            if chosen is before:
                break
        return chosen

    def _with_couplings(self, chosen: Trial, pairs: Sequence[CouplingEffect]) -> Trial:
        """Try couplings on pairs of neighbours, as effects on joints."""
        for _ in range(2):
            before = chosen
            for group in _groups(pairs):
                new = tuple(pair for pair in group if pair not in chosen.structure.couplings)
                if not new:
                    continue
                tried = self.trial(_coupled(chosen.structure, new))
                gaining = _gaining(chosen, tried, MIN_GROSS_IMPROVEMENT)
                kept = tuple(pair for pair in new if {pair.first, pair.second} & set(gaining))
                if kept:
                    chosen = self._better(chosen, _coupled(chosen.structure, kept))
            if chosen is before:
                break
        return chosen

    def _better(self, chosen: Trial, structure: Structure) -> Trial:
        return min(chosen, self.trial(structure), key=lambda trial: trial.error)


def _gaining(before: Trial, after: Trial, min_gain: float) -> list[int]:
    return [j for j, (a, b) in enumerate(zip(before.errors, after.errors, strict=True)) if b < a * (1 - min_gain)]


def _coupled(structure: Structure, pairs: tuple[CouplingEffect, ...]) -> Structure:
    return replace(structure, couplings=(*structure.couplings, *pairs))


def _groups(pairs: Sequence[CouplingEffect]) -> Iterator[list[CouplingEffect]]:
    """Yield groups of pairs that are tried together: of the same sign, each joint in at most one pair."""
    left = list(pairs)
    while left:
        used: set[int] = set()
        group = []
        for pair in left:
            if pair.sign == left[0].sign and not {pair.first, pair.second} & used:
                group.append(pair)
                used |= {pair.first, pair.second}
        yield group
        left = [pair for pair in left if pair not in group]
