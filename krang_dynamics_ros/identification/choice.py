"""Choosing the structure by what it says of rows left out, joint by joint, in a fixed order of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.spatial import Array
from ..effects.coupling import CouplingEffect
from ..effects.effect import Effect
from ..effects.load import LoadFrictionEffect, LoadShareEffect
from ..effects.presliding import PreslidingEffect
from ..effects.sliding import CoulombEffect
from ..effects.spring import SpringEffect
from .fit import Problem
from .gram import Gram
from .samples import DISTANCES
from .structure import Structure

CUTOFFS = (1.5, 2.1, 3.0, 4.2, 6.0, 12.0, 20.0)  # Hz
MAX_CUTOFF = 0.25  # of the rate of a recording
SPREADS = (0.1, 0.3, 1.0, 3.0, 10.0)  # of bodies about the known ones, relative
NEARLY = 1.01  # times the least error: of such spreads, the smallest is taken
GROSS = 0.15  # of a joint's error: what couplings and springs must bring
MIN_IMPROVEMENT = 0.02  # of it: what other effects must bring
EFFECTS: tuple[Effect, ...] = (
    *(CoulombEffect(v) for v in (0.005, 0.05, 0.1)),
    *(PreslidingEffect(d) for d in DISTANCES),
    LoadShareEffect(),
    LoadFrictionEffect(),
)


@dataclass(frozen=True)
class Trial:
    """A structure and its error on rows left out: RMSE over the standard deviation of the effort, of each joint."""

    structure: Structure
    errors: tuple[float, ...]

    @property
    def error(self) -> float:
        """Mean over joints."""
        return float(np.mean(self.errors))


def left_out_errors(problem: Problem) -> Array:
    """Return the error (joints) on rows of each fold, predicted from the others."""
    gram, squares = problem.gram, np.zeros(len(problem.gram.spread))
    for matrices in gram.matrices:
        squares += problem.squares(matrices, problem.ridge(gram.total - matrices))
    return np.asarray(np.sqrt(squares / gram.rows.sum()) / gram.spread)


class Choice:
    """The search: one question after the other, each answered by cross-validation."""

    def __init__(
        self,
        gram_at: Callable[[float], Gram],
        cutoffs: Sequence[float],
        progress: Callable[[str], None],
    ) -> None:
        """`gram_at` gives the Gram matrices at a cut-off in Hz; `progress` is told what is being tried."""
        self._gram_at, self._cutoffs, self._progress = gram_at, cutoffs, progress
        self._tried: dict[Structure, Trial] = {}

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All that was tried."""
        return tuple(self._tried.values())

    def trial(self, structure: Structure) -> Trial:
        """Try a structure."""
        if structure not in self._tried:
            self._progress(f'trying {structure}')
            errors = left_out_errors(Problem(self._gram_at(structure.cutoff), structure))
            self._tried[structure] = Trial(structure, tuple(errors.tolist()))
        return self._tried[structure]

    def best(self, joints: int) -> Trial:
        """Return the structure that says best what it has not seen."""
        pairs = self._gram_at(self._cutoffs[0]).pairs
        chosen = self._best_cutoff(Structure.plain(joints))
        chosen = self._coupled(chosen, pairs)  # first: a gross error hides the rest
        chosen = self._with_effects(chosen, EFFECTS, MIN_IMPROVEMENT, rounds=2)
        chosen = self._with_effects(chosen, (SpringEffect(),), GROSS, rounds=1)
        return self._best_spread(self._best_cutoff(chosen.structure))

    def _best_cutoff(self, structure: Structure) -> Trial:
        return min((self.trial(replace(structure, cutoff=f)) for f in self._cutoffs), key=lambda trial: trial.error)

    def _best_spread(self, chosen: Trial) -> Trial:
        """Return the same with bodies as near to the known ones as rows left out do not contradict."""
        trials = [self.trial(replace(chosen.structure, spread=spread)) for spread in SPREADS]
        least = min(trial.error for trial in trials)
        return next(trial for trial in trials if trial.error <= least * NEARLY)

    def _with_effects(self, chosen: Trial, effects: Sequence[Effect], worth: float, rounds: int) -> Trial:
        """Offer each effect to all joints together; those that gain enough keep it, if they gain alone too."""
        for _ in range(rounds):
            before = chosen
            for effect in effects:
                everywhere = chosen.structure.with_effect(effect)
                if everywhere == chosen.structure:
                    continue
                gaining = _gaining(chosen, self.trial(everywhere), worth)
                joints = tuple(j for j in gaining if everywhere.joints[j] != chosen.structure.joints[j])
                if joints:
                    chosen = self._better(chosen, chosen.structure.with_effect(effect, joints))
            if chosen is before:
                break
        return chosen

    def _coupled(self, chosen: Trial, pairs: Sequence[CouplingEffect]) -> Trial:
        """Offer couplings to pairs of neighbours, as effects are offered to joints."""
        for _ in range(2):
            before = chosen
            for group in _groups(pairs):
                new = tuple(pair for pair in group if pair not in chosen.structure.couplings)
                if not new:
                    continue
                tried = self.trial(_coupled(chosen.structure, new))
                gaining = _gaining(chosen, tried, GROSS)
                kept = tuple(pair for pair in new if {pair.first, pair.second} & set(gaining))
                if kept:
                    chosen = self._better(chosen, _coupled(chosen.structure, kept))
            if chosen is before:
                break
        return chosen

    def _better(self, chosen: Trial, structure: Structure) -> Trial:
        return min(chosen, self.trial(structure), key=lambda trial: trial.error)


def _gaining(before: Trial, after: Trial, worth: float) -> list[int]:
    return [j for j, (a, b) in enumerate(zip(before.errors, after.errors, strict=True)) if b < a * (1 - worth)]


def _coupled(structure: Structure, pairs: tuple[CouplingEffect, ...]) -> Structure:
    return replace(structure, couplings=(*structure.couplings, *pairs))


def _groups(pairs: Sequence[CouplingEffect]) -> Iterator[list[CouplingEffect]]:
    """Yield pairs that are tried together: of one sign, no joint in two of them where that can be."""
    left = list(pairs)
    while left:
        taken: set[int] = set()
        group = []
        for pair in left:
            if pair.sign == left[0].sign and not {pair.first, pair.second} & taken:
                group.append(pair)
                taken |= {pair.first, pair.second}
        yield group
        left = [pair for pair in left if pair not in group]
