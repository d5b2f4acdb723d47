"""Joints of a recording as one table, for identification: from any source.

Joint states may be split over several messages, for example of several publishers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import listed
from ..core.spatial import Array
from ..live.alignment import Aligned, Alignment
from ..live.messages import QUANTITIES, JointStateMessage, JointStateRun, Message, RefusedMessage
from ..live.robot_inputs import InputTopics
from .formats import open_source
from .recording import JointTrack, Recording, RecordingError, time_text
from .source import USUAL_TOPICS, Contents, Source

MAX_GAP = 0.1  # s between samples of a joint if joint states are split over messages, as `state_timeout` of the node
STILL = 1e-3  # rad or m: a joint with a smaller range stands still

Stamps = NDArray[np.int64]
Runs = Sequence[JointStateRun]


class JointRecording(NamedTuple):
    """Counted joints of a recording, all other joints, and the number of rows left out."""

    recording: Recording
    others: Mapping[str, JointTrack]
    left_out: int  # rows without a finite position or effort of every joint


def read_recording(path: str | Path, layout: Path | None = None) -> Recording:
    """Return all joints of a recording, or raise `RecordingError` with the file and the reason."""
    return read_joints(Path(path), layout=layout, chosen=True).recording


def read_joints(
    path: Path,
    names: Sequence[str] = (),
    chosen: bool = False,
    joint_states: str = '',
    topic_names: InputTopics = USUAL_TOPICS,
    layout: Path | None = None,
) -> JointRecording:
    """Return the joints of a recording that move, out of `names` (all, if there are none), and all other joints.

    If `chosen`, or if no joint moves, every joint of `names` is used. A row is a message that has all used joints;
    joints of several messages are aligned to common instants, as in the node. `joint_states` is the topic in a bag, by
    default the most likely one by the names of the robot's parameters.
    """
    with open_source(path, layout) as source:
        topics = source.topics((), joint_states, names=topic_names)
        runs, refused = _joint_states(source.runs(topics))
        notes, origin = [*source.notes, *_refusals(refused)], source.origin
        seen = _tracks(runs)
        there = _recorded(source, topics.joint_states, names or [*seen], seen, chosen)
    moving = [name for name in there if np.ptp(seen[name].position) >= STILL]
    counted = there if chosen or not moving else moving
    table = _table(path, counted, runs)
    recording, zero = table.recording(path, counted, origin)
    notes += _notes(there, table, recording)
    others = {name: track.since(zero) for name, track in seen.items() if name not in counted}
    return JointRecording(replace(recording, notes=tuple(notes)), others, table.left_out)


def _refusals(refused: Sequence[RefusedMessage]) -> Iterator[str]:
    if refused:
        yield f'{len(refused)} joint states refused, the last because {refused[-1].reason}'


def _notes(names: Sequence[str], table: _Table, recording: Recording) -> Iterator[str]:
    """Yield what was done to the joints `names` of a recording."""
    if still := [name for name in names if name not in recording.joint_names]:
        yield f'{listed(still)}: at rest, so they are not used; --joints names the joints to use'
    if table.in_parts:
        yield f'joint states are split over several messages; they are brought to {len(recording)} common instants'
    if table.velocity is not None and recording.velocity is None:
        yield 'velocities are not used: one is missing or not finite'


def _joint_states(messages: Iterable[Message | JointStateRun]) -> tuple[list[JointStateRun], list[RefusedMessage]]:
    """Return the joint states as runs, and the refused ones."""
    runs, refused = [], []
    for found in messages:
        if isinstance(found, JointStateRun):
            runs.append(found)
        elif isinstance(found, JointStateMessage):
            q, dq, effort = (x[None] for x in (found.position, found.velocity, found.effort))
            runs.append(JointStateRun(found.names, q, dq, effort, np.array([found.stamp]), np.array([found.arrival])))
        elif isinstance(found, RefusedMessage):
            refused.append(found)
    return runs, refused


def _on(topic: str, contents: Contents) -> str:
    """Return the topic and the others for the text of an error, if a bag has several topics of joint states.

    Topics of torques have the same type, and are left out.
    """
    others = [name for name in contents.with_role('joint_states') if name != topic and 'torque' not in name.split('/')]
    return f', {topic} (--joint-states names another: {", ".join(others)})' if others else ''


class _Track(NamedTuple):
    time: Stamps  # ns
    position: Array

    def since(self, zero: int) -> JointTrack:
        """Return the track with times in s since an instant (ns)."""
        return JointTrack(_seconds(self.time - zero), self.position)


def _stamps(run: JointStateRun) -> Stamps:
    """Return the stamps (m), ns; arrivals where a stamp is missing."""
    return np.where(run.stamp == 0, run.arrival, run.stamp)


def _seconds(nanoseconds: Stamps) -> Array:
    return np.asarray(nanoseconds * 1e-9, dtype=np.float64)


def _tracks(runs: Runs) -> dict[str, _Track]:
    """Return the finite positions of every joint."""
    seen: dict[str, list[_Track]] = defaultdict(list)
    for run in runs:
        stamps = _stamps(run)
        for name, q in zip(run.names, run.position.T, strict=False):
            finite = np.isfinite(q)
            seen[name].append(_Track(stamps[finite], q[finite]))
    joined = {name: _Track(*map(np.concatenate, zip(*parts, strict=True))) for name, parts in seen.items()}
    return {name: track for name, track in joined.items() if len(track.time)}


def _recorded(source: Source, topic: str, names: Sequence[str], seen: Mapping[str, _Track], chosen: bool) -> list[str]:
    """Return the joints of `names` that were recorded; raise if there are none, or if a chosen one is missing."""
    missing = [name for name in names if name not in seen]
    if not seen or len(missing) == len(names) or (chosen and missing):
        named, has = f'{source.path}{_on(topic, source.contents)}', listed([*seen])
        if not seen:
            raise RecordingError(f'{named}: has no joint with a finite position, must have some')
        raise RecordingError(f'{named}: has joints {has}, must have {listed(missing)}; is it of another robot?')
    return [name for name in names if name in seen]


class _Table(NamedTuple):
    stamps: Stamps  # (rows), ns
    position: Array  # (rows, joints)
    velocity: Array | None
    effort: Array | None
    left_out: int  # rows without a finite position or effort of every joint
    in_parts: bool = False  # whether joints came in several messages

    def recording(self, path: Path, names: Sequence[str], origin: int | None) -> tuple[Recording, int]:
        """Return the recording and the zero of its time, ns; velocities are dropped unless all are finite."""
        if len(self.stamps) < 2:
            raise RecordingError(
                f'{path}: {len(self.stamps)} rows with finite numbers, {self.left_out} without, must be two or more'
            )
        zero = int(self.stamps[0]) if origin is None else origin
        velocity = self.velocity if self.velocity is not None and np.isfinite(self.velocity).all() else None
        seconds = _seconds(self.stamps - zero)
        return Recording(str(path), tuple(names), seconds, self.position, velocity, self.effort), zero


def _table(path: Path, names: Sequence[str], runs: Runs) -> _Table:
    """Return the rows whose positions and efforts are finite."""
    whole = [run for run in runs if run.position.shape[1] == len(run.names) and {*names} <= {*run.names}]
    return _table_of_whole(path, names, whole) if whole else _table_of_parts(path, names, runs)


def _table_of_whole(path: Path, names: Sequence[str], runs: Runs) -> _Table:
    """Return a table of messages that have all joints."""
    position, velocity, effort = (_column(names, runs, quantity) for quantity in QUANTITIES)
    if position is None:
        raise RecordingError(f'{path}: joint states without positions, must have them')
    _refuse_never_finite(path, names, {'position': position, 'effort': effort})
    good = np.isfinite(position).all(axis=1)
    if effort is not None:
        good &= np.isfinite(effort).all(axis=1)
    stamps = np.concatenate([_stamps(run) for run in runs])
    velocity, effort = (None if x is None else x[good] for x in (velocity, effort))
    return _Table(stamps[good], position[good], velocity, effort, int((~good).sum()))


def _column(names: Sequence[str], runs: Runs, quantity: str) -> Array | None:
    """Return a quantity (rows, joints), NaN where missing, or None if no message has it."""
    table = np.concatenate([_numbers(names, run, quantity) for run in runs])
    return None if np.isnan(table).all() else table


def _numbers(names: Sequence[str], run: JointStateRun, quantity: str) -> Array:
    """Return a quantity (m, joints) of a run, NaN where missing."""
    found, values = np.full((len(run), len(names)), np.nan), getattr(run, quantity)
    if values.shape[1] == len(run.names):
        for column, name in zip(found.T, names, strict=True):
            if name in run.names:
                column[:] = values[:, run.names.index(name)]
    return found


def _table_of_parts(path: Path, names: Sequence[str], runs: Runs) -> _Table:
    """Return a table of common instants of joints that come in several messages, aligned as in the node."""
    parts = [run for run in runs if {*names} & {*run.names}]
    numbers = np.concatenate([np.stack([_numbers(names, run, x) for x in QUANTITIES], axis=1) for run in parts])
    with_effort = bool(np.isfinite(numbers[:, 2]).any())
    _refuse_never_finite(path, names, {'position': numbers[:, 0], 'effort': numbers[:, 2] if with_effort else None})
    needed = numbers[:, [0, 2] if with_effort else [0]]
    there = np.concatenate([np.tile([name in run.names for name in names], (len(run), 1)) for run in parts])
    good = np.isfinite(np.where(there[:, None], needed, 0.0)).all(axis=(1, 2))
    stamps = np.concatenate([_stamps(run) for run in parts])
    aligned = _aligned(path, names, stamps[good], there[good], numbers[good])
    if not aligned:
        named = '; '.join(sorted({', '.join(run.names) for run in parts}))
        raise RecordingError(
            f'{path}: joint states are split over several messages ({named}), never within {MAX_GAP:g} s; '
            'must be within that time: name the joints of one message by --joints'
        )
    instants = np.array([row.instant for row in aligned], dtype=np.int64)
    position, velocity, effort = np.stack([row.numbers for row in aligned], axis=1)
    measured = None if np.isnan(velocity).all() else velocity
    return _Table(instants, position, measured, effort if with_effort else None, int((~good).sum()), True)


def _aligned(
    path: Path, names: Sequence[str], stamps: Stamps, there: NDArray[np.bool_], numbers: Array
) -> list[Aligned]:
    """Return all common instants; `there` (messages, joints) is whether a message has a joint."""
    alignment, found, newest = Alignment(len(names)), [], np.zeros(len(names), dtype=np.int64)
    for stamp, joints, values in zip(stamps.tolist(), map(np.flatnonzero, there), numbers, strict=True):
        before = int(newest[joints].max())
        _refuse_back(path, names[int(joints[0])], before, stamp)
        if stamp == before:
            continue  # the message has no new value
        newest[joints] = stamp
        alignment.add(joints, [quantity[joints] for quantity in values], stamp, stamp)
        found += alignment.next(MAX_GAP)
    return found


def _refuse_back(path: Path, name: str, before: int, stamp: int) -> None:
    """Refuse stamps (ns) of a joint that decrease: two recordings, or another clock."""
    if stamp < before:
        raise RecordingError(
            f'{path}: time of {name} goes from {time_text(before * 1e-9)} s back to {time_text(stamp * 1e-9)} s, '
            'must never decrease'
        )


def _refuse_never_finite(path: Path, names: Sequence[str], columns: Mapping[str, Array | None]) -> None:
    """Refuse joints that have a quantity in no row."""
    for quantity, values in columns.items():
        table = np.zeros((1, len(names))) if values is None else values
        never = [name for k, name in enumerate(names) if not np.isfinite(table[:, k]).any()]
        if never:
            raise RecordingError(
                f'{path}: {quantity} of {", ".join(never)} is finite in no row, must be in some; --joints leaves '
                'joints out'
            )
