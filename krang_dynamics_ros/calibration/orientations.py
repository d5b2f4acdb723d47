"""Which orientations of a hand tell bias and weight apart, and which one to take next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from ..core.spatial import Array

FEWEST = 4  # three directions always lie on a cone: as if the hand had turned about one axis
WORST = 30.0  # condition number; 1.7 is the best there is, and a turn about one axis with a shaky hand has more
APART = np.radians(15.0)  # rad between the directions of gravity of two orientations that are not the same


def condition(directions: Sequence[Array] | Array) -> float:
    """Return the condition number of a set of orientations, given as directions of gravity in the hand's frame.

    It is that of the rows [1, g], unit g: what tells, channel by channel, an offset from a factor of each component of
    gravity. It is infinite for orientations that one axis is enough to turn into each other, for on a cone about that
    axis one such factor looks like an offset; six well-spread directions have 1.7.
    """
    values = np.linalg.svd(_rows(directions), compute_uv=False)
    return float(values[0] / values[-1]) if len(values) == 4 and values[-1] > 1e-9 else np.inf


def trouble(directions: Sequence[Array] | Array) -> str:
    """Say why a set of orientations does not determine bias and weight, or return nothing."""
    if len(directions) < FEWEST:
        return f'{len(directions)} orientations, must be at least {FEWEST}'
    number = condition(directions)
    if number > WORST:
        said = 'infinite' if number > 1e4 else f'{number:.0f}'
        return f'turned about one axis only, or too little: condition number {said}, must be below {WORST:g}'
    return ''


def is_new(direction: Array, others: Sequence[Array]) -> bool:
    """Tell whether a direction of gravity (unit, in the hand's frame) is none that was there before."""
    return all(angle(direction, other) >= APART for other in others)


def angle(one: Array, other: Array) -> float:
    """Return the angle between two unit vectors (rad)."""
    return float(np.arccos(np.clip(one @ other, -1.0, 1.0)))


def best_next(directions: Sequence[Array]) -> Array:
    """Return the direction of gravity, along an axis of the hand or midway between two or three, to take next.

    Of those that are new, it is the one that raises the smallest singular value most.
    """
    new = [candidate for candidate in CANDIDATES if is_new(candidate, directions)] or list(CANDIDATES)
    return max(new, key=lambda candidate: _smallest([*directions, candidate]))


def in_words(direction: Array, link: str, now: Array | None = None) -> str:
    """Say how to turn the hand so that gravity has a direction of its frame; `now` is which one it has."""
    names = [f'{"+" if x > 0 else "-"}{axis}' for x, axis in zip(direction, 'xyz', strict=True) if abs(x) > 0.1]
    where = names[0] if len(names) == 1 else f'midway between {" and ".join(names)}'
    away = '' if now is None else f', {np.degrees(angle(direction, now)):.0f} degrees from now'
    return f'turn {link} until {where} points straight down{away}'


def _rows(directions: Sequence[Array] | Array) -> Array:
    unit = np.reshape(np.asarray(directions, dtype=float), (-1, 3))
    return np.hstack([np.ones((len(unit), 1)), unit])


def _smallest(directions: Sequence[Array]) -> tuple[float, ...]:
    """Return the singular values, smallest first: where the first cannot tell two sets apart, the next may."""
    values = np.linalg.svd(_rows(directions), compute_uv=False)
    return tuple(np.round(np.concatenate([np.zeros(4 - len(values)), values[::-1]]), 9).tolist())


CANDIDATES = [
    np.array(corner) / np.linalg.norm(corner)
    for corner in sorted(product((1, 0, -1), repeat=3), key=lambda c: (sum(map(abs, c)), c))
    if any(corner)
]
