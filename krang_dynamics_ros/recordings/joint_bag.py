"""The joints of a bag as a table: what identification reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.spatial import Array
from ..messages.messages import JointStateMessage, RefusedMessage
from .bag import TYPES, Bag, Contents, topics_of
from .recording import Recording, RecordingError
from .standing import Track

STILL = 1e-3  # rad or m: a joint that moves less all the time stands still


class BagJoints(NamedTuple):
    """The joints of a bag that count, all others, and how many rows were left out because a number was not finite."""

    recording: Recording
    others: Mapping[str, Track]
    left_out: int


def read_bag(path: Path, names: Sequence[str], chosen: bool = False, joint_states: str = '') -> BagJoints:
    """Return the joints of a bag that move, or all of `names` if they were chosen, and all others.

    Of `names` those count that are in the bag. A row is a message that has all of its joints: of joints that come in
    parts nobody knows where they are at one instant. `joint_states` is the topic, by default the one that is likely.
    """
    with Bag(path) as bag:
        topics = topics_of(bag.contents, (), joint_states)
        told, notes = [*bag.messages(topics)], bag.notes
        messages = [x for x in told if isinstance(x, JointStateMessage)]
        refused = [x for x in told if isinstance(x, RefusedMessage)]
        source = f'{path}{_on(topics.joint_states, bag.contents)}'
    seen = _tracks(messages)
    missing = [name for name in names if name not in seen]
    if not seen or len(missing) == len(names) or (chosen and missing):
        raise RecordingError(f'{source}: has joints {", ".join(seen) or "none"}, must have {", ".join(missing)}')
    moving = [name for name in names if name in seen and (chosen or np.ptp(seen[name].position) >= STILL)]
    if not moving:
        raise RecordingError(f'{source}: the robot stands still, which determines nothing; record it while it moves')
    rows = [x for x in messages if len(x.position) == len(x.names) and set(moving) <= set(x.names)]
    if not rows:
        parts = '; '.join(sorted({', '.join(message.names) for message in messages}))
        raise RecordingError(f'{source}: joints come in parts ({parts}), must be of one part; name them by --joints')
    if refused:
        notes.append(f'{len(refused)} joint states refused, the last because {refused[-1].reason}')
    recording, begin = _table(path, moving, rows)
    others = {name: Track(track.time - begin, track.position) for name, track in seen.items() if name not in moving}
    return BagJoints(replace(recording, notes=tuple(notes)), others, len(rows) - len(recording))


def _on(topic: str, contents: Contents) -> str:
    """Say which topic it is where a bag has several of joint states."""
    others = [name for name, (kind, _) in contents.topics.items() if kind == TYPES['joint_states'] and name != topic]
    return f', {topic} (--joint-states names another: {", ".join(others)})' if others else ''


def _stamp(message: JointStateMessage) -> int:
    return message.stamp or message.arrival


def _tracks(messages: Sequence[JointStateMessage]) -> dict[str, Track]:
    """Return the finite positions of every joint; times (s) are since the epoch of the stamps."""
    seen: dict[str, tuple[list[float], list[float]]] = {}
    for message in messages:
        at = _stamp(message) * 1e-9
        for name, q in zip(message.names, message.position.tolist(), strict=False):
            if math.isfinite(q):
                times, positions = seen.setdefault(name, ([], []))
                times.append(at)
                positions.append(q)
    return {name: Track(np.array(times), np.array(positions)) for name, (times, positions) in seen.items()}


def _table(path: Path, moving: Sequence[str], rows: Sequence[JointStateMessage]) -> tuple[Recording, float]:
    """Return the rows whose positions and efforts are finite as a recording, and when (s) it begins."""
    position, velocity, effort = (_columns(moving, rows, name) for name in ('position', 'velocity', 'effort'))
    if position is None:
        raise RecordingError(f'{path}: joint states without positions, must have them')
    _refuse_never_finite(path, moving, {'position': position, 'effort': effort})
    good = np.isfinite(position).all(axis=1)
    if effort is not None:
        good &= np.isfinite(effort).all(axis=1)
        effort = effort[good]
    if velocity is not None:
        velocity = velocity[good] if np.isfinite(velocity[good]).all() else None  # it is not what is needed
    stamps = np.array([_stamp(message) for message in rows], dtype=np.int64)[good]
    begin = stamps[0] if len(stamps) else 0
    time = (stamps - begin) * 1e-9
    return Recording(str(path), tuple(moving), time, position[good], velocity, effort), float(begin * 1e-9)


def _refuse_never_finite(path: Path, moving: Sequence[str], columns: Mapping[str, Array | None]) -> None:
    """Name the joints that have a quantity in no message."""
    for quantity, values in columns.items():
        table = np.zeros((1, len(moving))) if values is None else values
        never = [name for k, name in enumerate(moving) if not np.isfinite(table[:, k]).any()]
        if never:
            raise RecordingError(
                f'{path}: {quantity} of {", ".join(never)} is a finite number in no message, must be in some; '
                '--joints leaves joints out'
            )


def _columns(moving: Sequence[str], rows: Sequence[JointStateMessage], quantity: str) -> Array | None:
    """Return a quantity (rows, joints), NaN where a message lacks it, or None if all do."""
    table = np.full((len(rows), len(moving)), np.nan)
    for k, message in enumerate(rows):
        values = getattr(message, quantity)
        if len(values) == len(message.names):
            at = {name: j for j, name in enumerate(message.names)}
            table[k] = values[[at[name] for name in moving]]
    return None if np.isnan(table).all() else table
