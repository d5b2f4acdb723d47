"""Columns of the results, computed by segments: a core of states with margins for the derivatives."""

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
from ..dynamics.terms import MODEL_TERMS, TERMS
from ..recordings.derivatives import smoothing_spline
from .replay import BLOCK, States, joined

GAP = 10.0  # times the median step: a larger gap separates two movements


@dataclass
class Segment:
    """States with a core; the states outside the core are margins, and belong to the cores of other segments."""

    states: States
    core: slice


def segments(blocks: Iterable[States], margin: float) -> Iterator[Segment]:
    """Yield the same states in segments, with margins of `margin` seconds where available.

    A reset or a gap in time ends a movement; no segment extends across it.
    """
    waiting: States | None = None  # states of the next segments, after `before` states of margin
    before = 0
    for block in blocks:
        for part in _movements(block):
            if waiting is not None and not _goes_on(waiting, part):
                yield from _last_segment(waiting, before)
                waiting, before = None, 0
            waiting = part if waiting is None else joined([waiting, part])
        while waiting is not None and (out := _core(waiting, before, margin)) is not None:
            segment, keep_from, before = out
            yield segment
            waiting = waiting[keep_from:]
    if waiting is not None:
        yield from _last_segment(waiting, before)


def _movements(block: States) -> Iterator[States]:
    """Yield the parts of a block between resets and gaps."""
    steps = np.diff(block.stamp)
    median = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    reset = np.diff(block.resets) != 0
    breaks = np.flatnonzero(reset | (steps < 0) | (steps > GAP * median)) + 1
    starts = [0, *breaks.tolist(), len(block)]
    for start, end in pairwise(starts):
        yield block[start:end]


def _goes_on(before: States, after: States) -> bool:
    step = int(after.stamp[0] - before.stamp[-1])
    steps = np.diff(before.stamp) if len(before) > 1 else np.diff(after.stamp)
    median = float(np.median(steps[steps > 0])) if (steps > 0).any() else np.inf
    return before.resets[-1] == after.resets[0] and 0 <= step <= GAP * median


def _core(waiting: States, before: int, margin: float) -> tuple[Segment, int, int] | None:
    """Return the next segment, and the start and length of the margin of its successor; None: too few states."""
    end = before + BLOCK
    if len(waiting) <= end:
        return None
    beyond = int(np.searchsorted(waiting.stamp, waiting.stamp[end] + margin * 1e9))
    if beyond >= len(waiting):
        return None
    keep = int(np.searchsorted(waiting.stamp, waiting.stamp[end] - margin * 1e9))
    return Segment(waiting[:beyond], slice(before, end)), keep, end - keep


def _last_segment(waiting: States, before: int) -> Iterator[Segment]:
    if len(waiting) > before:
        yield Segment(waiting, slice(before, len(waiting)))


CACHED = 128  # states, whose inertia matrices fit into the processor's cache
MIN_STATES = 8  # of a movement, for accelerations


@dataclass(frozen=True)
class Column:
    """A quantity of each joint: name, unit of a revolute and of a prismatic joint, meaning."""

    name: str
    revolute: str
    prismatic: str
    meaning: str


MEASURED = (
    Column('position', 'rad', 'm', 'as recorded'),
    Column('velocity', 'rad/s', 'm/s', 'as recorded'),
)
EFFORT = Column('effort', 'N m', 'N', 'as recorded')
EFFORT_SCALED = Column('effort', '', '', 'as recorded, before effort_scale, effort_offset, effort_without')
SMOOTH = (
    Column('smooth_position', 'rad', 'm', 'smoothed without delay'),
    Column('smooth_velocity', 'rad/s', 'm/s', 'its derivative'),
    Column('acceleration', 'rad/s^2', 'm/s^2', 'its second derivative'),
)
INERTIA = Column('inertia', 'N m', 'N', 'A(q) ddq, on the smooth motion')
SOURCES = {
    'motor': 'tau = A ddq + C dq + Q + friction + springs + couplings + J^T f, on the smooth motion',
    'joint': 'reading of a sensor behind the gear: tau without friction and rotors, on the smooth motion',
}
SOURCES['external'] = SOURCES['motor']


def columns(terms: Sequence[str], efforts: Efforts) -> tuple[Column, ...]:
    """Return all columns, with those of the given terms."""
    of_terms = tuple(Column(name, 'N m', 'N', f'{TERMS[name].formula}, as in the node') for name in terms)
    model = Column('model', 'N m', 'N', SOURCES[efforts.source])
    meaning = (
        'effort - model'
        if efforts.as_read
        else 'torque of the effort (effort_scale, effort_offset, effort_without) - model'
    )
    if efforts.source == 'external':
        meaning = 'empty: effort is an external torque, not part of the model'
    residual = Column('residual', 'N m', 'N', meaning)
    return (*MEASURED, EFFORT if efforts.as_read else EFFORT_SCALED, *of_terms, *SMOOTH, INERTIA, model, residual)


class Computer:
    """Computes the columns of segments."""

    def __init__(self, dynamics: Dynamics, terms: Sequence[str], cutoff: float, efforts: Efforts) -> None:
        """`cutoff` (Hz): motion above it counts as noise."""
        self._dynamics, self._terms, self._cutoff, self._efforts = dynamics, terms, cutoff, efforts
        self._compute = {name: TERMS[name].start_rows(dynamics) for name in {*terms, *MODEL_TERMS}}

    def columns(self, segment: Segment) -> dict[str, Array]:
        """Return the numbers (m, n) of a segment's core by column, and `measured`: the efforts in N m (N)."""
        core = segment.states[segment.core]
        q, dq, ddq = smooth_motion(segment, self._cutoff)
        smooth = replace(core, q=q, dq=dq)
        parts = [self._computed(core[rows], smooth[rows], ddq[rows]) for rows in self._payloads(core)]
        found = {'position': core.q, 'velocity': core.dq, 'effort': core.effort}
        found |= {'smooth_position': q, 'smooth_velocity': dq, 'acceleration': ddq}
        found |= {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        found['measured'] = self._efforts.torques(core.q, core.dq, core.effort, core.base)
        known = np.nan if self._efforts.source == 'external' else 1.0
        return found | {'residual': known * (found['measured'] - found['model'])}

    def _payloads(self, core: States) -> Iterator[slice]:
        """Yield the rows of each payload while the dynamics have it; restore the payload of the dynamics at the end."""
        before, start = self._dynamics.payload, 0
        for _, same in groupby(core.payload, id):
            count = len([*same])
            self._dynamics.payload = core.payload[start]
            yield slice(start, start + count)
            start += count
        self._dynamics.payload = before

    def _computed(self, core: States, smooth: States, ddq: Array) -> dict[str, Array]:
        """Return the terms, A ddq and the whole model (m, n) of states with the same payload."""
        found = {name: self._term(name, core, core) for name in self._terms}
        inertia = self._inertia(smooth.q, ddq)
        behind = self._efforts.source == 'joint'  # the gear: without friction and rotors
        names = [name for name in MODEL_TERMS if not (behind and TERMS[name].is_friction)]
        terms = [self._term(name, smooth, core) for name in names]
        model = sum(terms, inertia - self._dynamics.rotor_inertia * ddq if behind else inertia)
        return found | {'inertia': inertia, 'model': model}

    def _inertia(self, q: Array, ddq: Array) -> Array:
        """Return A ddq (m, n), computed for a few states at a time."""
        found = np.empty_like(q)
        for start in range(0, len(q), CACHED):
            rows = slice(start, start + CACHED)
            found[rows] = np.einsum('mij,mj->mi', self._dynamics.batch('A', q[rows]), ddq[rows])
        return found

    def _term(self, name: str, rows: States, core: States) -> Array:
        """Return a term (m, n) for rows: the states of the core, or those of its smooth motion."""
        compute = self._compute[name]
        if compute is not None:
            return compute(_with_complete_velocities(rows) if TERMS[name].needs_velocity else rows)
        if rows is core:
            return core.torques[name]
        # Of the model's terms, only friction depends on earlier states, by presliding: that part stays as in the node.
        friction = self._dynamics.friction
        return core.torques[name] - friction.torque(core.dq) + friction.torque(rows.dq)


def _with_complete_velocities(rows: States) -> States:
    """Return states with all velocities NaN where one of them is unknown, as in the node."""
    unknown = np.asarray(np.isnan(rows.dq).any(axis=1))
    return replace(rows, dq=np.where(unknown[:, None], np.nan, rows.dq)) if unknown.any() else rows


def smooth_motion(segment: Segment, cutoff: float) -> tuple[Array, Array, Array]:
    """Return q, dq and ddq (m, n) of a segment's core, smoothed without delay; NaN near the ends of a movement.

    Within a period of the cutoff from an end, the spline has few points on one side, so its curvature is uncertain.
    """
    stamp, first = np.unique(segment.states.stamp, return_index=True)
    core = segment.states.stamp[segment.core]
    time, end = (core - stamp[0]) * 1e-9, (stamp[-1] - stamp[0]) * 1e-9
    inside = (time >= 1 / cutoff) & (time <= end - 1 / cutoff)
    found = np.full((3, len(core), segment.states.q.shape[1]), np.nan)
    if inside.any() and len(stamp) >= MIN_STATES:
        with suppress(LinAlgError):  # states too far apart for the cutoff
            spline = smoothing_spline((stamp - stamp[0]) * 1e-9, segment.states.q[first], cutoff)
            for order, values in enumerate(found):
                values[inside] = spline(time[inside], order)
    return found[0], found[1], found[2]
