"""A recording's messages given to the node's own pipeline, at the times at which they came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import Place
from ..dynamics.terms import TERMS, Torques
from ..messages.messages import (
    JointStateMessage,
    JointStateRun,
    Message,
    PayloadMessage,
    RefusedMessage,
    WrenchMessage,
)
from ..pipeline.payloads import Told
from ..pipeline.pipeline import Pipeline
from .states import BLOCK, States, blocks

ONE_BY_ONE = 64  # joint states at most, before it is tried again to take many at once


def states(
    pipeline: Pipeline, messages: Iterable[Message | JointStateRun], terms: Sequence[str] = ()
) -> Iterator[States]:
    """Return the states that a node would have had, in blocks; of `terms` those that remember states before with them.

    A message's time of arrival is the recording's; a node's clock is nothing else. Joint states without any fault are
    taken many at once; where a term remembers, or a payload is on its way, they come one by one as in the node.
    """
    remembering = [term for term in terms if TERMS[term].start_rows(pipeline.dynamics) is None]
    return blocks(_Replay(pipeline, remembering).states(messages))


class _Replay:
    def __init__(self, pipeline: Pipeline, remembering: Sequence[str]) -> None:
        self._pipeline, self._singles = pipeline, Singles(pipeline, remembering)
        self._alone = bool(remembering)
        self._patience = 1  # joint states to be taken one by one

    def states(self, messages: Iterable[Message | JointStateRun]) -> Iterator[States]:
        """Return the states in parts."""
        for message in messages:
            if isinstance(message, JointStateRun):
                yield from self._run(message)
            else:
                self._one(message)
        yield from self._singles.flush()

    def _one(self, message: Message) -> None:
        torques = take(self._pipeline, message)
        if torques is not None:
            self._singles.add(torques, message.arrival)

    def _run(self, run: JointStateRun) -> Iterator[States]:
        """Take what has no fault at once, and what may have one by itself."""
        while len(run):
            many = None if self._alone else self._many(run)
            if many is not None:
                yield from self._singles.flush()
                yield many
                rows, self._patience = len(many), 1
            else:
                rows = len(run) if self._alone else self._patience
                self._patience = min(2 * rows, ONE_BY_ONE)
                for message in run.before(rows).messages():
                    self._one(message)
            run = run.after(rows)
        for message in run.messages():  # wrenches after the last of them
            self._one(message)
        if len(self._singles) >= BLOCK:
            yield from self._singles.flush()

    def _many(self, run: JointStateRun) -> States | None:
        """Take the first joint states of a run at once; None if they must come one by one."""
        columns = (run.position, run.velocity, run.effort)
        taken = self._pipeline.take_joint_states(run.names, columns, run.stamp, run.arrival, run.wrenches)
        if taken is None:
            return None
        (q, dq, effort), contacts = taken
        stamp, arrival = run.stamp[: len(q)], run.arrival[: len(q)]
        payload = [self._pipeline.payloads.carried] * len(q)
        resets = np.full(len(q), self._pipeline.inputs.states.timeline.resets)
        return States(np.where(stamp == 0, arrival, stamp), arrival, q, dq, effort, contacts, payload, resets)


class Singles:
    """States that come one by one."""

    def __init__(self, pipeline: Pipeline, terms: Sequence[str]) -> None:
        self._pipeline, self._terms = pipeline, terms
        self._unknown = np.full(pipeline.dynamics.n, np.nan)
        self._begin()

    def _begin(self) -> None:
        self._times: list[tuple[int, int, int]] = []  # stamp, arrival, resets
        self._columns: list[tuple[Array, ...]] = []  # position, velocity, effort, terms
        self._payload: list[Mapping[str, Inertia]] = []
        self._wrenches: dict[Place, dict[int, Array]] = {}  # by row

    def __len__(self) -> int:
        return len(self._times)

    def add(self, torques: Torques, arrival: int) -> None:
        """Take in a state with its torques. Where joints come in parts, a row is an instant at which all are known."""
        terms = [torques.term(term) for term in self._terms]
        if not torques.state.instants:
            return
        state, row = torques.state.instants[-1], len(self._times)
        self._times.append((state.stamp or arrival, arrival, self._pipeline.inputs.states.timeline.resets))
        found = (state.q, state.velocities, state.effort, *terms)
        self._columns.append(tuple(self._unknown if x is None else x.copy() for x in found))
        self._payload.append(self._pipeline.payloads.carried)
        for wrench in state.wrenches:
            rows = self._wrenches.setdefault(Place(wrench.link, wrench.axes, wrench.about), {})
            rows[row] = rows.get(row, 0.0) + wrench.vector

    def flush(self) -> Iterator[States]:
        """Return them, if there are any, and begin anew."""
        if self._times:
            stamp, arrival, resets = np.array(self._times, dtype=np.int64).T
            q, dq, effort, *torques = np.array(self._columns).transpose(1, 0, 2)
            wrenches = {place: np.zeros((len(stamp), 6)) for place in self._wrenches}
            for place, rows in self._wrenches.items():
                wrenches[place][[*rows]] = [*rows.values()]
            terms = dict(zip(self._terms, torques, strict=True))
            yield States(stamp, arrival, q, dq, effort, wrenches, self._payload, resets, terms)
            self._begin()


def take(pipeline: Pipeline, message: Message) -> Torques | None:
    """Give a message to what a node would have given it to; return the torques of a state that is then known."""
    if isinstance(message, JointStateMessage):
        torques = pipeline.take_joint_state(*message)
        pipeline.place_payloads(message.arrival)
        return torques
    if isinstance(message, WrenchMessage):
        pipeline.inputs.take_wrench(*message)
    elif isinstance(message, PayloadMessage):
        told = Told(message.mass, message.com, message.inertia)
        pipeline.take_payload(message.hand, message.frame, told, message.arrival)
    elif isinstance(message, RefusedMessage):
        pipeline.refuse(message.what, message.hand, message.reason)
    elif pipeline.inputs.imu_joints:
        pipeline.inputs.take_imu(*message)
    return None
