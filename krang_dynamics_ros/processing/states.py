"""Messages of a recording through the node's own pipeline: the states that it would have had, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.terms import TERMS, Torques
from ..pipeline.pipeline import Pipeline
from ..recordings.messages import ImuMessage, JointStateMessage, Message, WrenchMessage

BLOCK = 4096  # states


@dataclass
class States:
    """States (m) in the order in which they came. What is not known is NaN."""

    stamp: NDArray[np.int64]  # (m), ns
    arrival: NDArray[np.int64]  # (m), ns
    q: Array  # (m, n)
    dq: Array  # (m, n)
    effort: Array  # (m, n), as measured
    wrenches: Sequence[Sequence[Wrench]]  # of each state: what the robot applies
    torques: dict[str, Array] = field(default_factory=dict)  # (m, n), of the terms that remember states before

    def __len__(self) -> int:
        return len(self.stamp)

    def __getitem__(self, rows: slice) -> States:
        """Return some of the states."""
        torques = {term: torque[rows] for term, torque in self.torques.items()}
        arrays = (self.stamp[rows], self.arrival[rows], self.q[rows], self.dq[rows], self.effort[rows])
        return States(*arrays, self.wrenches[rows], torques)


class _Room:
    """Room for a block of states."""

    def __init__(self, n: int, terms: Sequence[str]) -> None:
        self.count = 0
        self.times = np.zeros((2, BLOCK), dtype=np.int64)
        self.columns = np.full((3, BLOCK, n), np.nan)
        self.torques = {term: np.full((BLOCK, n), np.nan) for term in terms}
        self.wrenches: list[Sequence[Wrench]] = []

    def add(self, torques: Torques, arrival: int) -> None:
        state, k = torques.state, self.count
        self.times[:, k] = state.stamp or arrival, arrival
        q, dq, effort = self.columns
        q[k] = state.q
        if state.dq is not None:
            dq[k] = state.dq
        if state.effort is not None:
            effort[k] = state.effort
        self.wrenches.append(tuple(state.wrenches))
        for term, rows in self.torques.items():
            torque = torques.term(term)
            if torque is not None:
                rows[k] = torque
        self.count += 1

    def states(self) -> States:
        k = self.count
        stamp, arrival = self.times[:, :k]
        q, dq, effort = self.columns[:, :k]
        return States(stamp, arrival, q, dq, effort, self.wrenches, {x: rows[:k] for x, rows in self.torques.items()})


def states(pipeline: Pipeline, messages: Iterable[Message], terms: Sequence[str] = ()) -> Iterator[States]:
    """Return the states that a node would have had, in blocks; of `terms` those that remember states before with them.

    A message's time of arrival is the recording's; a node's clock is nothing else.
    """
    remembering = [term for term in terms if TERMS[term].start_rows(pipeline.dynamics) is None]
    room = _Room(pipeline.dynamics.n, remembering)
    for message in messages:
        torques = take(pipeline, message)
        if torques is None:
            continue
        room.add(torques, message.arrival)
        if room.count == BLOCK:
            yield room.states()
            room = _Room(pipeline.dynamics.n, remembering)
    if room.count:
        yield room.states()


def take(pipeline: Pipeline, message: Message) -> Torques | None:
    """Give a message to what a node would have given it to; return the torques of a state that is then known."""
    if isinstance(message, JointStateMessage):
        return pipeline.take_joint_state(*message)
    if isinstance(message, WrenchMessage):
        pipeline.inputs.take_wrench(*message)
    elif isinstance(message, ImuMessage) and pipeline.inputs.imu_joints:
        pipeline.inputs.take_imu(*message)
    return None
