"""Joints of a bag as a table, for identification."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..live.alignment import Aligned, Alignment
from ..live.messages import QUANTITIES, JointStateMessage, RefusedMessage
from ..live.robot_inputs import InputTopics
from .bag import NAMES, TYPES, Bag, Contents, topics_of
from .recording import JointTrack, Recording, RecordingError

MAX_GAP = 0.1  # s between samples of a joint that comes in parts, as `state_timeout` of the node
STILL = 1e-3  # rad or m: a joint with a smaller range stands still


Stamps = NDArray[np.int64]


class BagJoints(NamedTuple):
    """Joints of a bag that count, all other joints, and the number of rows left out for numbers that are not finite."""

    recording: Recording
    others: Mapping[str, JointTrack]
    left_out: int


def read_bag(
    path: Path,
    names: Sequence[str],
    chosen: bool = False,
    joint_states: str = '',
    topic_names: InputTopics = NAMES,
) -> BagJoints:
    """Return the moving joints of a bag out of `names` (all of them if `chosen`), and all other joints.

    A row is a message that has all moving joints; joints in parts are aligned to common instants, as in the node.
    `joint_states` is the topic, by default the most likely topic by the names of the robot's parameters.
    """
    with Bag(path) as bag:
        topics = topics_of(bag.contents, (), joint_states, names=topic_names)
        everything, notes = [*bag.messages(topics)], bag.notes
        messages = [x for x in everything if isinstance(x, JointStateMessage)]
        refused = [x for x in everything if isinstance(x, RefusedMessage)]
        source = f'{path}{_on(topics.joint_states, bag.contents)}'
    seen = _tracks(messages)
    missing = [name for name in names if name not in seen]
    if not seen or len(missing) == len(names) or (chosen and missing):
        raise RecordingError(f'{source}: has joints {", ".join(seen) or "none"}, must have {", ".join(missing)}')
    moving = [name for name in names if name in seen and (chosen or np.ptp(seen[name].position) >= STILL)]
    if not moving:
        raise RecordingError(f'{source}: the robot stands still, which determines nothing; record it while it moves')
    rows = [x for x in messages if len(x.position) == len(x.names) and set(moving) <= set(x.names)]
    table = _table(path, moving, rows) if rows else _table_of_parts(path, moving, messages)
    if refused:
        notes.append(f'{len(refused)} joint states refused, the last because {refused[-1].reason}')
    if not rows:
        notes.append(f'joints come in parts, which were brought to {len(table.recording)} common instants')
    others = {
        name: JointTrack(track.time - table.begin, track.position) for name, track in seen.items() if name not in moving
    }
    return BagJoints(replace(table.recording, notes=tuple(notes)), others, table.left_out)


class _Table(NamedTuple):
    recording: Recording
    begin: float  # s
    left_out: int  # messages with a number that is missing or not finite


def _on(topic: str, contents: Contents) -> str:
    """Return the name of the topic for messages, if a bag has several topics of joint states."""
    others = [name for name, (kind, _) in contents.topics.items() if kind == TYPES['joint_states'] and name != topic]
    return f', {topic} (--joint-states names another: {", ".join(others)})' if others else ''


def _stamp(message: JointStateMessage) -> int:
    return message.stamp or message.arrival


def _tracks(messages: Sequence[JointStateMessage]) -> dict[str, JointTrack]:
    """Return the finite positions of every joint; times (s) are since the epoch of the stamps."""
    seen: dict[str, tuple[list[float], list[float]]] = {}
    for message in messages:
        at = _stamp(message) * 1e-9
        for name, q in zip(message.names, message.position.tolist(), strict=False):
            if math.isfinite(q):
                times, positions = seen.setdefault(name, ([], []))
                times.append(at)
                positions.append(q)
    return {name: JointTrack(np.array(times), np.array(positions)) for name, (times, positions) in seen.items()}


def _table(path: Path, moving: Sequence[str], rows: Sequence[JointStateMessage]) -> _Table:
    """Return the rows whose positions and efforts are finite as a recording."""
    position, velocity, effort = (_columns(moving, rows, name) for name in QUANTITIES)
    if position is None:
        raise RecordingError(f'{path}: joint states without positions, must have them')
    _refuse_never_finite(path, moving, {'position': position, 'effort': effort})
    good = np.isfinite(position).all(axis=1)
    if effort is not None:
        good &= np.isfinite(effort).all(axis=1)
        effort = effort[good]
    stamps = np.array([_stamp(message) for message in rows], dtype=np.int64)[good]
    velocity = None if velocity is None else velocity[good]
    recording, begin = _recording(path, moving, stamps, position[good], velocity, effort)
    return _Table(recording, begin, len(rows) - len(recording))


def _recording(
    path: Path, moving: Sequence[str], stamps: Stamps, position: Array, velocity: Array | None, effort: Array | None
) -> tuple[Recording, float]:
    """Return the recording and its start (s); velocities are dropped unless all are finite."""
    if velocity is not None and not np.isfinite(velocity).all():
        velocity = None
    begin = stamps[0] if len(stamps) else 0
    time = (stamps - begin) * 1e-9
    return Recording(str(path), tuple(moving), time, position, velocity, effort), float(begin * 1e-9)


def _table_of_parts(path: Path, moving: Sequence[str], messages: Sequence[JointStateMessage]) -> _Table:
    """Return a table of common instants of joints that come in several messages, aligned as in the node."""
    parts = [x for x in messages if set(moving) & set(x.names)]
    numbers = np.stack([_numbers(moving, part) for part in parts])  # (messages, 3, joints)
    with_effort = bool(np.isfinite(numbers[:, 2]).any())
    _refuse_never_finite(path, moving, {'position': numbers[:, 0], 'effort': numbers[:, 2] if with_effort else None})
    needed = numbers[:, [0, 2] if with_effort else [0]]
    there = np.array([[name in part.names for name in moving] for part in parts])
    good = np.isfinite(np.where(there[:, None], needed, 0.0)).all(axis=(1, 2))
    stamps = np.array([_stamp(part) for part in parts], dtype=np.int64)
    aligned = _aligned(path, moving, stamps[good], there[good], numbers[good])
    if not aligned:
        named = '; '.join(sorted({', '.join(message.names) for message in parts}))
        raise RecordingError(
            f'{path}: joints come in parts ({named}) that are never known within {MAX_GAP:g} s of each other, '
            'must be; name those of one part by --joints'
        )
    instants = np.array([row.instant for row in aligned], dtype=np.int64)
    position, velocity, effort = np.stack([row.numbers for row in aligned], axis=1)
    recording, begin = _recording(path, moving, instants, position, velocity, effort if with_effort else None)
    return _Table(recording, begin, int((~good).sum()))


def _aligned(
    path: Path, moving: Sequence[str], stamps: Stamps, there: NDArray[np.bool_], numbers: Array
) -> list[Aligned]:
    """Return all common instants; `there` (messages, joints) is whether a message has a joint."""
    alignment, found, newest = Alignment(len(moving)), [], np.zeros(len(moving), dtype=np.int64)
    for stamp, joints, values in zip(stamps.tolist(), map(np.flatnonzero, there), numbers, strict=True):
        before = int(newest[joints].max())
        _refuse_back(path, moving[int(joints[0])], before, stamp)
        if stamp == before:
            continue  # it holds no new value
        newest[joints] = stamp
        alignment.add(joints, [quantity[joints] for quantity in values], stamp, stamp)
        found += alignment.next(MAX_GAP)
    return found


def _numbers(moving: Sequence[str], message: JointStateMessage) -> Array:
    """Return position, velocity and effort (3, joints) of a message, NaN where missing."""
    found = np.full((3, len(moving)), np.nan)
    for row, quantity in zip(found, QUANTITIES, strict=True):
        values = getattr(message, quantity)
        if len(values) == len(message.names):
            at = dict(zip(message.names, values.tolist(), strict=True))
            row[:] = [at.get(name, np.nan) for name in moving]
    return found


def _refuse_back(path: Path, name: str, before: int, stamp: int) -> None:
    """Refuse stamps (ns) of a joint that decrease: two recordings, or another clock."""
    if stamp < before:
        raise RecordingError(
            f'{path}: time of {name} goes from {before * 1e-9:.10g} s back to {stamp * 1e-9:.10g} s, '
            'must never decrease'
        )


def _refuse_never_finite(path: Path, moving: Sequence[str], columns: Mapping[str, Array | None]) -> None:
    """Refuse joints that have a quantity in no message."""
    for quantity, values in columns.items():
        table = np.zeros((1, len(moving))) if values is None else values
        never = [name for k, name in enumerate(moving) if not np.isfinite(table[:, k]).any()]
        if never:
            raise RecordingError(
                f'{path}: {quantity} of {", ".join(never)} is a finite number in no message, must be in some; '
                '--joints leaves joints out'
            )


def _columns(moving: Sequence[str], rows: Sequence[JointStateMessage], quantity: str) -> Array | None:
    """Return a quantity (rows, joints), NaN where missing, or None if no message has it."""
    table = np.full((len(rows), len(moving)), np.nan)
    for k, message in enumerate(rows):
        values = getattr(message, quantity)
        if len(values) == len(message.names):
            at = {name: j for j, name in enumerate(message.names)}
            table[k] = values[[at[name] for name in moving]]
    return None if np.isnan(table).all() else table
