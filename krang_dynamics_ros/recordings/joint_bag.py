"""The joints of a bag as a table: what identification reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..core.spatial import Array
from ..messages.messages import JointStateMessage
from .bag import Bag, topics_of
from .recording import Recording, RecordingError

STILL = 1e-3  # rad or m: a joint that moves less all the time stands still


def read_bag(path: Path, names: Sequence[str], chosen: bool = False) -> tuple[Recording, dict[str, float]]:
    """Return the joints of a bag that move, or all of `names` if they were chosen, and where the others stood.

    Of `names` those count that are in the bag. A row is a message that has all of its joints: of joints that come in
    parts nobody knows where they are at one instant.
    """
    with Bag(path) as bag:
        messages = [x for x in bag.messages(topics_of(bag.contents, ())) if isinstance(x, JointStateMessage)]
    seen: dict[str, list[float]] = {}
    for message in messages:
        for name, q in zip(message.names, message.position.tolist(), strict=False):
            seen.setdefault(name, []).append(q)
    missing = [name for name in names if name not in seen]
    if not seen or len(missing) == len(names) or (chosen and missing):
        raise RecordingError(f'{path}: has joints {", ".join(seen) or "none"}, must have {", ".join(missing)}')
    moving = [name for name in names if name in seen and (chosen or np.ptp(seen[name]) >= STILL)]
    if not moving:
        raise RecordingError(f'{path}: the robot stands still, which determines nothing; record it while it moves')
    rows = [x for x in messages if len(x.position) == len(x.names) and set(moving) <= set(x.names)]
    if not rows:
        parts = '; '.join(sorted({', '.join(message.names) for message in messages}))
        raise RecordingError(f'{path}: joints come in parts ({parts}), must be of one part; name them by --joints')
    return _table(path, moving, rows), {name: float(np.median(seen[name])) for name in seen if name not in moving}


def _table(path: Path, moving: Sequence[str], rows: Sequence[JointStateMessage]) -> Recording:
    stamps = np.array([message.stamp or message.arrival for message in rows], dtype=np.int64)
    position = _columns(moving, rows, 'position')
    if position is None:
        raise RecordingError(f'{path}: joint states without positions, must have them')
    velocity, effort = (_columns(moving, rows, quantity) for quantity in ('velocity', 'effort'))
    time = (stamps - stamps[0]) * 1e-9
    return Recording(str(path), tuple(moving), time, position, velocity, effort)


def _columns(moving: Sequence[str], rows: Sequence[JointStateMessage], quantity: str) -> Array | None:
    """Return a quantity (rows, joints), or None if a message lacks it."""
    table = []
    for message in rows:
        values = getattr(message, quantity)
        if len(values) != len(message.names):
            return None
        at = {name: k for k, name in enumerate(message.names)}
        table.append(values[[at[name] for name in moving]])
    found = np.asarray(table, dtype=float)
    return None if np.isnan(found).all() else found
