"""States cut into stretches that can be worked on apart: a core, and beside it what derivatives need to see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .states import BLOCK, States, joined

GAP = 10.0  # times the common step: what is further apart belongs to two movements


@dataclass
class Stretch:
    """States, of which those of `core` are what is asked for; the others stand beside them in other stretches."""

    states: States
    core: slice


def stretches(blocks: Iterable[States], margin: float) -> Iterator[Stretch]:
    """Return the same states in stretches, with `margin` seconds on both sides where there are so many.

    Where everything began anew, or time leaves a gap, a movement ends: no stretch looks across.
    """
    waiting: States | None = None  # states whose stretches are not out yet, after `before` of margin
    before = 0
    for block in blocks:
        for part in _movements(block):
            if waiting is not None and not _goes_on(waiting, part):
                yield from _rest(waiting, before)
                waiting, before = None, 0
            waiting = part if waiting is None else joined([waiting, part])
        while waiting is not None and (out := _core(waiting, before, margin)) is not None:
            stretch, keep_from, before = out
            yield stretch
            waiting = waiting[keep_from:]
    if waiting is not None:
        yield from _rest(waiting, before)


def _movements(block: States) -> Iterator[States]:
    """Return the parts of a block between which time breaks."""
    steps = np.diff(block.stamp)
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    anew = np.diff(block.resets) != 0
    breaks = np.flatnonzero(anew | (steps < 0) | (steps > GAP * usual)) + 1
    starts = [0, *breaks.tolist(), len(block)]
    for start, end in pairwise(starts):
        yield block[start:end]


def _goes_on(before: States, after: States) -> bool:
    step = int(after.stamp[0] - before.stamp[-1])
    steps = np.diff(before.stamp) if len(before) > 1 else np.diff(after.stamp)
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else np.inf
    return before.resets[-1] == after.resets[0] and 0 <= step <= GAP * usual


def _core(waiting: States, before: int, margin: float) -> tuple[Stretch, int, int] | None:
    """Return the next stretch, from where its successor's margin begins and how long that is; None: not enough yet."""
    end = before + BLOCK
    if len(waiting) <= end:
        return None
    beyond = int(np.searchsorted(waiting.stamp, waiting.stamp[end] + margin * 1e9))
    if beyond >= len(waiting):
        return None
    keep = int(np.searchsorted(waiting.stamp, waiting.stamp[end] - margin * 1e9))
    return Stretch(waiting[:beyond], slice(before, end)), keep, end - keep


def _rest(waiting: States, before: int) -> Iterator[Stretch]:
    if len(waiting) > before:
        yield Stretch(waiting, slice(before, len(waiting)))
