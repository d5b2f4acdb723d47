"""States cut into stretches that can be worked on apart: a core, and beside it what derivatives need to see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from numpy.linalg import LinAlgError

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..dynamics.efforts import Efforts
from ..dynamics.terms import TERMS
from ..recordings.derivatives import smoothing_spline
from .replay import BLOCK, States, joined

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


OF_GAMMA = ('gravity', 'coriolis', 'friction', 'wrench')  # besides A ddq
FEW = 128  # states
FEWEST = 8  # states of a movement; of fewer nothing is said of accelerations


@dataclass(frozen=True)
class Column:
    """One number of each joint: its name, its unit for a joint that turns and for one that slides, what it is."""

    name: str
    turning: str
    sliding: str
    meaning: str


MEASURED = (
    Column('position', 'rad', 'm', 'as recorded'),
    Column('velocity', 'rad/s', 'm/s', 'as recorded'),
)
EFFORT = Column('effort', 'N m', 'N', 'as recorded')
EFFORT_SCALED = Column('effort', '', '', 'as recorded; torque by effort_scale, effort_offset, effort_without')
SMOOTH = (
    Column('smooth_position', 'rad', 'm', 'smoothed without delay'),
    Column('smooth_velocity', 'rad/s', 'm/s', 'its derivative'),
    Column('acceleration', 'rad/s^2', 'm/s^2', 'its second derivative'),
)
INERTIA = Column('inertia', 'N m', 'N', 'A(q) ddq, on the smooth motion')
SOURCES = {
    'motor': 'Gamma = A ddq + C dq + Q + friction + J^T f, on the smooth motion',
    'joint': 'what a sensor behind the gear reads: Gamma without friction and rotors, on the smooth motion',
}
SOURCES['external'] = SOURCES['motor']


def columns(terms: Sequence[str], efforts: Efforts) -> tuple[Column, ...]:
    """Return all columns, those of the wanted terms among them."""
    wanted = tuple(Column(name, 'N m', 'N', f'{TERMS[name].formula}, as the node has it') for name in terms)
    model = Column('model', 'N m', 'N', SOURCES[efforts.source])
    meaning = (
        'effort - model'
        if efforts.as_read
        else 'torque of the effort (effort_scale, effort_offset, effort_without) - model'
    )
    if efforts.source == 'external':
        meaning = 'empty: effort is an external torque, no part of the model'
    residual = Column('residual', 'N m', 'N', meaning)
    return (*MEASURED, EFFORT if efforts.as_read else EFFORT_SCALED, *wanted, *SMOOTH, INERTIA, model, residual)


class Computer:
    """Turns stretches of a recording into columns."""

    def __init__(self, dynamics: Dynamics, terms: Sequence[str], cutoff: float, efforts: Efforts) -> None:
        """`cutoff` (Hz): motion above it counts as noise."""
        self._dynamics, self._terms, self._cutoff, self._efforts = dynamics, terms, cutoff, efforts
        self._compute = {name: TERMS[name].start_rows(dynamics) for name in {*terms, *OF_GAMMA}}

    def columns(self, stretch: Stretch) -> dict[str, Array]:
        """Return by column the numbers (m, n) of a stretch's core, and `measured`: the efforts in N m (N)."""
        core = stretch.states[stretch.core]
        q, dq, ddq = smooth_motion(stretch, self._cutoff)
        smooth = replace(core, q=q, dq=dq)
        parts = [self._computed(core[rows], smooth[rows], ddq[rows]) for rows in self._payloads(core)]
        found = {'position': core.q, 'velocity': core.dq, 'effort': core.effort}
        found |= {'smooth_position': q, 'smooth_velocity': dq, 'acceleration': ddq}
        found |= {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        found['measured'] = self._efforts.torques(core.q, core.dq, core.effort, core.base)
        known = np.nan if self._efforts.source == 'external' else 1.0
        return found | {'residual': known * (found['measured'] - found['model'])}

    def _payloads(self, core: States) -> Iterator[slice]:
        """Give the dynamics one payload after the other, each with the rows that have it; at the end that of before."""
        before, start = self._dynamics.payload, 0
        for _, same in groupby(core.payload, id):
            count = len([*same])
            self._dynamics.payload = core.payload[start]
            yield slice(start, start + count)
            start += count
        self._dynamics.payload = before

    def _computed(self, core: States, smooth: States, ddq: Array) -> dict[str, Array]:
        """Return the terms, A ddq and the whole model (m, n) of states that have one payload."""
        found = {name: self._term(name, core, core) for name in self._terms}
        inertia = self._inertia(smooth.q, ddq)
        behind = self._efforts.source == 'joint'  # the gear, with friction and rotors before it
        given = [self._term(name, smooth, core) for name in OF_GAMMA if not (behind and name == 'friction')]
        model = sum(given, inertia - self._dynamics.rotor_inertia * ddq if behind else inertia)
        return found | {'inertia': inertia, 'model': model}

    def _inertia(self, q: Array, ddq: Array) -> Array:
        """Return A ddq (m, n), a few states at a time: all matrices at once would not stay in the processor's cache."""
        found = np.empty_like(q)
        for start in range(0, len(q), FEW):
            rows = slice(start, start + FEW)
            found[rows] = np.einsum('mij,mj->mi', self._dynamics.over('A', q[rows]), ddq[rows])
        return found

    def _term(self, name: str, rows: States, core: States) -> Array:
        """Return a term of rows, which are the core's states, or those of its smooth motion."""
        compute = self._compute[name]
        if compute is not None:
            return compute(_moving(rows) if TERMS[name].needs_velocity else rows)
        if rows is core:
            return core.torques[name]
        # Only friction is in Gamma and remembers: what its past adds was found on the positions as they were measured.
        friction = self._dynamics.friction
        return core.torques[name] - friction.torque(core.dq) + friction.torque(rows.dq)


def _moving(rows: States) -> States:
    """Return states without the velocities of those in which one is not known, as the node takes them."""
    unknown = np.asarray(np.isnan(rows.dq).any(axis=1))
    return replace(rows, dq=np.where(unknown[:, None], np.nan, rows.dq)) if unknown.any() else rows


def smooth_motion(stretch: Stretch, cutoff: float) -> tuple[Array, Array, Array]:
    """Return q, dq and ddq (m, n) of a stretch's core, smoothed without delay; NaN near the ends of a movement.

    There, for one period of the cutoff, a spline has points on one side only, and its curvature is a guess.
    """
    stamp, first = np.unique(stretch.states.stamp, return_index=True)
    core = stretch.states.stamp[stretch.core]
    time, end = (core - stamp[0]) * 1e-9, (stamp[-1] - stamp[0]) * 1e-9
    inside = (time >= 1 / cutoff) & (time <= end - 1 / cutoff)
    found = np.full((3, len(core), stretch.states.q.shape[1]), np.nan)
    if inside.any() and len(stamp) >= FEWEST:
        with suppress(LinAlgError):  # states that are far more than a period of the cutoff apart say nothing of it
            spline = smoothing_spline((stamp - stamp[0]) * 1e-9, stretch.states.q[first], cutoff)
            for order, values in enumerate(found):
                values[inside] = spline(time[inside], order)
    return found[0], found[1], found[2]
