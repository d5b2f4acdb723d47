"""Replay of a recording through the engine of the node: the states that the node would compute, in blocks.

The recording gives runs. The engine takes as much of a run as has no fault at once, as a batch; other states come
singly. Batches and singles are joined into blocks of at least `BLOCK` states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..core.base_motion import BaseMotion
from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import WrenchFrame, WrenchRows
from ..dynamics.terms import TERMS, Torques
from ..live.engine import Engine
from ..live.messages import (
    JointStateMessage,
    JointStateRun,
    Message,
    PayloadMessage,
    RefusedMessage,
    WrenchMessage,
)
from ..live.payloads import PayloadSpec

BLOCK = 4096  # states, at least, except of the last block


@dataclass
class States:
    """States (m) in order of arrival. Unknown numbers are NaN."""

    stamp: NDArray[np.int64]  # (m), ns
    arrival: NDArray[np.int64]  # (m), ns
    q: Array  # (m, n)
    dq: Array  # (m, n)
    effort: Array  # (m, n), as measured
    wrenches: WrenchRows  # applied by the robot
    payload: Sequence[Mapping[str, Inertia]]  # (m), by link; the same object while it is constant
    resets: NDArray[np.int64]  # (m), number of resets before
    torques: dict[str, Array] = field(default_factory=dict)  # (m, n), of terms that depend on earlier states
    base: Sequence[BaseMotion] | None = None  # (m) motion of the base; None: that of the dynamics

    def __len__(self) -> int:
        return len(self.stamp)

    def __getitem__(self, rows: slice) -> States:
        """Return a slice of the states."""
        torques = {term: torque[rows] for term, torque in self.torques.items()}
        wrenches = {frame: vectors[rows] for frame, vectors in self.wrenches.items()}
        arrays = (self.stamp[rows], self.arrival[rows], self.q[rows], self.dq[rows], self.effort[rows])
        base = None if self.base is None else self.base[rows]
        return States(*arrays, wrenches, self.payload[rows], self.resets[rows], torques, base)


def joined(parts: Sequence[States]) -> States:
    """Return the states of all parts in a single object."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*((part.stamp, part.arrival, part.q, part.dq, part.effort) for part in parts), strict=True)
    stamp, arrival, q, dq, effort = (np.concatenate(column) for column in columns)
    frames = dict.fromkeys(frame for part in parts for frame in part.wrenches)
    wrenches = {
        frame: np.concatenate([part.wrenches.get(frame, np.zeros((len(part), 6))) for part in parts])
        for frame in frames
    }
    torques = {term: np.concatenate([part.torques[term] for part in parts]) for term in parts[0].torques}
    payload = [*chain.from_iterable(part.payload for part in parts)]
    resets = np.concatenate([part.resets for part in parts])
    base = None if parts[0].base is None else [*chain.from_iterable(part.base or () for part in parts)]
    return States(stamp, arrival, q, dq, effort, wrenches, payload, resets, torques, base)


def blocks(parts: Iterable[States]) -> Iterator[States]:
    """Yield the same states in parts of at least `BLOCK`, except the last."""
    waiting: list[States] = []
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting)) >= BLOCK:
            yield joined(waiting)
            waiting = []
    if waiting:
        yield joined(waiting)


MAX_SINGLE = 64  # joint states that are processed one by one before the next attempt of a batch


def states(engine: Engine, messages: Iterable[Message | JointStateRun], terms: Sequence[str] = ()) -> Iterator[States]:
    """Yield the states that a node would compute, in blocks, with those `terms` that depend on earlier states.

    The arrival times are those of the recording. Joint states are processed in batches; one by one, as in the node, if
    they have a fault or come in parts, a term depends on earlier states, a payload changes or the base moves.
    """
    stateful = [term for term in terms if TERMS[term].start_rows(engine.dynamics) is None]
    return blocks(_Replay(engine, stateful).states(messages))


class _Replay:
    def __init__(self, engine: Engine, stateful: Sequence[str]) -> None:
        self._engine, self._singles = engine, SingleStates(engine, stateful)
        self._always_single = bool(stateful)
        self._single_count = 1  # joint states to process one by one next

    def states(self, messages: Iterable[Message | JointStateRun]) -> Iterator[States]:
        """Yield the states in parts."""
        for message in messages:
            if isinstance(message, JointStateRun):
                yield from self._run(message)
            else:
                self._single(message)
        yield from self._singles.flush()

    def _single(self, message: Message) -> None:
        torques = deliver(self._engine, message)
        if torques is not None:
            self._singles.add(torques, message.arrival)

    def _run(self, run: JointStateRun) -> Iterator[States]:
        """Process joint states without faults in batches, and others one by one."""
        while len(run):
            batch = None if self._always_single else self._batch(run)
            if batch is not None:
                yield from self._singles.flush()
                yield batch
                rows, self._single_count = len(batch), 1
            else:
                rows = len(run) if self._always_single else self._single_count
                self._single_count = min(2 * rows, MAX_SINGLE)
                for message in run.before(rows).messages():
                    self._single(message)
            run = run.after(rows)
        for message in run.messages():  # wrenches after the last joint state
            self._single(message)
        if len(self._singles) >= BLOCK:
            yield from self._singles.flush()

    def _batch(self, run: JointStateRun) -> States | None:
        """Process the first joint states of a run as a batch; None if they must be processed one by one."""
        columns = (run.position, run.velocity, run.effort)
        result = self._engine.on_joint_states(run.names, columns, run.stamp, run.arrival, run.wrenches)
        if result is None:
            return None
        (q, dq, effort), contacts = result
        stamp, arrival = run.stamp[: len(q)], run.arrival[: len(q)]
        payload = [self._engine.payloads.carried] * len(q)
        resets = np.full(len(q), self._engine.inputs.states.timeline.resets)
        return States(np.where(stamp == 0, arrival, stamp), arrival, q, dq, effort, contacts, payload, resets)


class SingleStates:
    """Collector of states that are processed one by one."""

    def __init__(self, engine: Engine, terms: Sequence[str]) -> None:
        self._engine, self._terms = engine, terms
        self._unknown = np.full(engine.dynamics.n, np.nan)
        self._begin()

    def _begin(self) -> None:
        self._times: list[tuple[int, int, int]] = []  # stamp, arrival, resets
        self._columns: list[tuple[Array, ...]] = []  # position, velocity, effort, terms
        self._payload: list[Mapping[str, Inertia]] = []
        self._base: list[BaseMotion] = []
        self._wrenches: dict[WrenchFrame, dict[int, Array]] = {}  # by row

    def __len__(self) -> int:
        return len(self._times)

    def add(self, torques: Torques, arrival: int) -> None:
        """Add a state with its torques.

        If joint states are split over several messages, a row is an instant at which all joints are known.
        """
        terms = [torques.term(term) for term in self._terms]
        if not torques.state.instants:
            return
        state, row = torques.state.instants[-1], len(self._times)
        self._times.append((state.stamp or arrival, arrival, self._engine.inputs.states.timeline.resets))
        found = (state.q, state.measured_dq, state.effort, *terms)
        self._columns.append(tuple(self._unknown if x is None else x.copy() for x in found))
        self._payload.append(self._engine.payloads.carried)
        if state.base is not None:
            self._base.append(state.base)
        for wrench in state.wrenches:
            rows = self._wrenches.setdefault(WrenchFrame(wrench.link, wrench.axes, wrench.about), {})
            rows[row] = rows.get(row, 0.0) + wrench.vector

    def flush(self) -> Iterator[States]:
        """Yield the collected states, if any, and clear them."""
        if self._times:
            stamp, arrival, resets = np.array(self._times, dtype=np.int64).T
            q, dq, effort, *torques = np.array(self._columns).transpose(1, 0, 2)
            wrenches = {frame: np.zeros((len(stamp), 6)) for frame in self._wrenches}
            for frame, rows in self._wrenches.items():
                wrenches[frame][[*rows]] = [*rows.values()]
            terms = dict(zip(self._terms, torques, strict=True))
            yield States(stamp, arrival, q, dq, effort, wrenches, self._payload, resets, terms, self._base or None)
            self._begin()


def deliver(engine: Engine, message: Message) -> Torques | None:
    """Pass a message to the engine as the node does; return the torques if it completes a state."""
    if isinstance(message, JointStateMessage):
        torques = engine.on_joint_state(*message)
        engine.attach_payloads(message.arrival)
        return torques
    if isinstance(message, WrenchMessage):
        engine.inputs.on_wrench(*message)
    elif isinstance(message, PayloadMessage):
        payload = PayloadSpec(message.mass, message.com, message.inertia)
        engine.on_payload(message.hand, message.frame, payload, message.arrival)
    elif isinstance(message, RefusedMessage):
        engine.count_refused(message.role, message.hand, message.reason)
    elif engine.inputs.uses_imu:
        engine.inputs.on_imu(message)
    return None
