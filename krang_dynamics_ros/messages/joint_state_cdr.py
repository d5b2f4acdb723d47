"""sensor_msgs/JointState out of its bytes, quickly: of one publisher's messages only the numbers differ."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.limits import MAX_CACHE_BYTES
from ..core.names import size_of
from ..core.spatial import Array
from .fields import SECOND, STAMP, stamp_from, stamp_of
from .message_cdr import LITTLE_ENDIAN
from .messages import JointStateMessage, JointStateRun

HEAD = 12  # where the frame and the names stand, behind the stamp


class _Layout(NamedTuple):
    head: bytes  # frame, names and the number of positions
    names: tuple[str, ...]
    places: tuple[tuple[int, int, int], ...]  # of positions, velocities, efforts: how many, where that and they stand


class JointStateReader:
    """Reads messages; the first of each layout is read by `deserialize`, and where its numbers stand is remembered."""

    def __init__(self, deserialize: Callable[[bytes], Any]) -> None:
        self._deserialize = deserialize
        self._layouts: dict[int, list[_Layout]] = {}  # by length of the message: both arms' may be as long
        self._bytes = 0  # of memory that the layouts take

    def read(self, raw: bytes, arrival: int) -> JointStateMessage:
        """Return the message that these bytes are; `ArgumentError` if its stamp is no time."""
        for layout in self._layouts.get(len(raw), ()):
            if raw.startswith(layout.head, HEAD) and (message := _numbers(raw, layout, arrival)) is not None:
                return message
        return self._learn(raw, arrival)

    def read_run(self, raws: Sequence[bytes], arrivals: Sequence[int]) -> JointStateRun | None:
        """Return messages of one length, all at once; None if one has another layout, or a stamp that is no time."""
        first = self.read(raws[0], arrivals[0])
        same = (layout for layout in self._layouts.get(len(raws[0]), ()) if layout.names == first.names)
        layout = next(same, None)
        if layout is None:
            return None
        table = np.frombuffer(b''.join(raws), np.uint8).reshape(len(raws), -1)
        columns = []
        for count, at, start in layout.places:
            if (_column(table, at, '<u4', 1) != count).any():
                return None
            columns.append(_column(table, start, '<f8', count))
        for start, alike in ((0, LITTLE_ENDIAN), (HEAD, layout.head)):
            if (table[:, start : start + len(alike)] != np.frombuffer(alike, np.uint8)).any():
                return None
        seconds, nanoseconds = _column(table, STAMP, '<i4', 1)[:, 0], _column(table, STAMP + 4, '<u4', 1)[:, 0]
        if (seconds < 0).any() or (nanoseconds >= SECOND).any():
            return None
        stamp = seconds.astype(np.int64) * SECOND + nanoseconds
        position, velocity, effort = columns
        return JointStateRun(layout.names, position, velocity, effort, stamp, np.array(arrivals, dtype=np.int64))

    def _learn(self, raw: bytes, arrival: int) -> JointStateMessage:
        told = self._deserialize(raw)
        columns = [np.asarray(x, dtype=float) for x in (told.position, told.velocity, told.effort)]
        message = JointStateMessage(tuple(told.name), columns[0], columns[1], columns[2], stamp_of(told), arrival)
        if raw[:2] == LITTLE_ENDIAN:
            self._remember(len(raw), _layout(raw, told.header.frame_id, message.names, columns))
        return message

    def _remember(self, length: int, layout: _Layout | None) -> None:
        if layout is None:
            return
        size = len(layout.head) + size_of(layout.names)
        if size > MAX_CACHE_BYTES:
            return
        if self._bytes + size > MAX_CACHE_BYTES:
            self._layouts.clear()
            self._bytes = 0
        self._layouts.setdefault(length, []).insert(0, layout)
        self._bytes += size


def _layout(raw: bytes, frame: str, names: Sequence[str], columns: Sequence[Array]) -> _Layout | None:
    """Return where the numbers of a message stand, or None if they are not found there."""
    end = HEAD
    for text in (frame, None, *names):  # None: the number of names
        end = _aligned(end, 4) + 4 + (0 if text is None else len(text.encode()) + 1)
    end = _aligned(end, 4)
    head, places = raw[HEAD:end], []
    for column in columns:
        at = _aligned(end, 4)
        start = _aligned(at + 4, 8) if len(column) else at + 4
        places.append((len(column), at, start))
        end = start + 8 * len(column)
    layout = _Layout(head, tuple(names), tuple(places))
    found = _numbers(raw, layout, 0) if end <= len(raw) else None
    same = found is not None and all(
        np.array_equal(x, y, equal_nan=True) for x, y in zip(found[1:4], columns, strict=True)
    )
    return layout if same else None


def _aligned(offset: int, size: int) -> int:
    """Return the next offset at which a number of this size may stand; the first four bytes do not count."""
    return offset + -(offset - 4) % size


def _numbers(raw: bytes, layout: _Layout, arrival: int) -> JointStateMessage | None:
    """Return the message, or None if it has other numbers of numbers than the layout."""
    columns = []
    for count, at, start in layout.places:
        if struct.unpack_from('<I', raw, at)[0] != count:
            return None
        columns.append(np.frombuffer(raw, '<f8', count, start))
    second, nanosecond = struct.unpack_from('<iI', raw, STAMP)
    stamp = stamp_from(second, nanosecond)
    return JointStateMessage(layout.names, columns[0], columns[1], columns[2], stamp, arrival)


def _column(table: NDArray[np.uint8], start: int, kind: str, count: int) -> Any:
    """Return the numbers (rows, count) that stand at one place of every row of bytes."""
    end = start + count * np.dtype(kind).itemsize
    return np.ascontiguousarray(table[:, start:end]).view(kind).reshape(len(table), count)
