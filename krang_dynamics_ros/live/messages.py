"""Contents of messages, read from their bytes (CDR) or fields, and counts of refused messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ArgumentError
from ..core.limits import MAX_CACHE_BYTES, MAX_NAMED_BYTES, size_of
from ..core.spatial import Array
from ..core.text import shown_lines

_LONGEST = 1000  # characters of a reason


@dataclass
class Refusals:
    """A count and the latest reason, for diagnostics."""

    count: int = 0
    reason: str = ''

    def note(self, reason: str) -> bool:
        """Count a refusal with its reason; return False, for `return refusals.note(...)`."""
        self.count += 1
        self.reason = shown_lines(reason, _LONGEST)
        return False


Three = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]


class JointStateMessage(NamedTuple):
    """Positions (rad, m), velocities and efforts by joint; the last two may be empty. Times in ns."""

    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    stamp: int
    arrival: int


class WrenchMessage(NamedTuple):
    """A wrench (N, N m) on a hand, in the axes of a link, or of the hand if `frame` is ''."""

    hand: str
    frame: str
    force: Three
    moment: Three
    stamp: int
    arrival: int


Quaternion = tuple[float, float, float, float]  # w, x, y, z


class ImuMessage(NamedTuple):
    """Readings of an IMU in the axes of a link: orientation in a world with z up, rad/s, specific force in m/s^2."""

    frame: str
    quaternion: Quaternion
    angular_velocity: Three
    linear_acceleration: Three
    covariances: Three  # the first entry of the covariance of each; -1: it is not given
    stamp: int
    arrival: int


class PayloadMessage(NamedTuple):
    """Payload of a hand: kg, m, kg m^2 about its centre of mass (xx xy xz yy yz zz), in the axes of a link."""

    hand: str
    frame: str
    mass: float
    com: Three
    inertia: Six
    arrival: int


class RefusedMessage(NamedTuple):
    """A refused message of a recording, with the reason."""

    role: str  # joint_states, wrench, imu or payload
    hand: str  # of a wrench or payload
    reason: str
    arrival: int


Message = JointStateMessage | WrenchMessage | ImuMessage | PayloadMessage | RefusedMessage


@dataclass(frozen=True, eq=False)
class JointStateRun:
    """Consecutive joint states (m) with the same names, and the wrenches that came between them."""

    names: tuple[str, ...]
    position: Array  # (m, k)
    velocity: Array  # (m, k), or (m, 0) if there are none
    effort: Array  # (m, k), or (m, 0)
    stamp: NDArray[np.int64]  # (m), ns
    arrival: NDArray[np.int64]  # (m), ns
    wrenches: Sequence[tuple[int, WrenchMessage]] = ()  # each with the number of joint states before it

    def __len__(self) -> int:
        return len(self.stamp)

    def before(self, row: int) -> JointStateRun:
        """Return the joint states before a row, and the wrenches that came before the last of them."""
        return self.rows(slice(None, row), [(k, message) for k, message in self.wrenches if k < row])

    def after(self, row: int) -> JointStateRun:
        """Return the joint states from a row on, and the wrenches that came after the previous row."""
        return self.rows(slice(row, None), [(k - row, message) for k, message in self.wrenches if k >= row])

    def rows(
        self, rows: slice | NDArray[np.bool_], wrenches: Sequence[tuple[int, WrenchMessage]] = ()
    ) -> JointStateRun:
        """Return some of the joint states, with these wrenches."""
        position, velocity, effort = self.position[rows], self.velocity[rows], self.effort[rows]
        return JointStateRun(self.names, position, velocity, effort, self.stamp[rows], self.arrival[rows], wrenches)

    def messages(self) -> Iterator[JointStateMessage | WrenchMessage]:
        """Yield all messages in their order."""
        wrenches = iter(self.wrenches)
        between = next(wrenches, None)
        for k in range(len(self) + 1):
            while between is not None and between[0] == k:
                yield between[1]
                between = next(wrenches, None)
            if k < len(self):
                yield JointStateMessage(
                    self.names, self.position[k], self.velocity[k], self.effort[k],
                    int(self.stamp[k]), int(self.arrival[k]),
                )  # fmt: skip


SECOND = 1_000_000_000  # ns
STAMP = 4  # offset of the stamp in a serialized message with a header


def stamp_of(message: Any) -> int:
    """Return the stamp of a message with a header, ns; raise `ArgumentError` if it is not a valid time."""
    return stamp_from(message.header.stamp.sec, message.header.stamp.nanosec)


def stamp_from(seconds: int, nanoseconds: int) -> int:
    """Return a stamp in ns; raise `ArgumentError` if it is not a valid time, because results have the same stamp."""
    if seconds < 0 or nanoseconds >= SECOND:
        raise ArgumentError(f'stamp: {seconds} s and {nanoseconds} ns, must be 0 s or more, and less than {SECOND} ns')
    return seconds * SECOND + nanoseconds


def check_size(raw: bytes, max_bytes: int) -> None:
    """Raise `ArgumentError` if a serialized message is too long: reading it would block the node."""
    if len(raw) > max_bytes:
        raise ArgumentError(f'a message of {len(raw)} bytes, must be at most {max_bytes}')


def wrench_of(message: Any) -> tuple[str, Three, Three]:
    """Return the frame, the force (N) and the moment (N m) of a WrenchStamped."""
    f, m = message.wrench.force, message.wrench.torque
    return message.header.frame_id, (f.x, f.y, f.z), (m.x, m.y, m.z)


def imu_of(message: Any) -> tuple[str, Quaternion, Three, Three, Three]:
    """Return the fields of an `ImuMessage` without its times, from an Imu."""
    o, w, f = message.orientation, message.angular_velocity, message.linear_acceleration
    covariances = (
        float(message.orientation_covariance[0]),
        float(message.angular_velocity_covariance[0]),
        float(message.linear_acceleration_covariance[0]),
    )
    return message.header.frame_id, (o.w, o.x, o.y, o.z), (w.x, w.y, w.z), (f.x, f.y, f.z), covariances


def payload_of(message: Any) -> tuple[str, float, Three, Six]:
    """Return the frame, mass (kg), centre of mass (m) and inertia about it (xx xy xz yy yz zz) of an InertiaStamped."""
    i = message.inertia
    return message.header.frame_id, i.m, (i.com.x, i.com.y, i.com.z), (i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz)


LITTLE_ENDIAN = b'\0\1'
FRAME = 12  # offset of the length of the frame name
Read = Callable[[bytes], Any]


def read_wrench(read: Read, hand: str, raw: bytes, arrival: int) -> WrenchMessage:
    """Read a wrench from its bytes: sensors have high rates, and this is ten times as fast as the library's `read`."""
    if raw[:2] == LITTLE_ENDIAN:
        with suppress(struct.error, UnicodeDecodeError):  # the library then reports the fault
            return _wrench(hand, raw, arrival)
    message = read(raw)
    return WrenchMessage(hand, *wrench_of(message), stamp_of(message), arrival)


def _wrench(hand: str, raw: bytes, arrival: int) -> WrenchMessage:
    seconds, nanoseconds, length = struct.unpack_from('<iII', raw, STAMP)
    end = FRAME + 4 + length
    numbers = struct.unpack_from('<6d', raw, end + -(end - STAMP) % 8)  # aligned to 8 bytes from the stamp on
    frame = raw[FRAME + 4 : end - 1].decode()
    return WrenchMessage(hand, frame, numbers[:3], numbers[3:], stamp_from(seconds, nanoseconds), arrival)


def _imu(read: Read, _: str, raw: bytes, arrival: int) -> ImuMessage:
    message = read(raw)
    return ImuMessage(*imu_of(message), stamp_of(message), arrival)


def _payload(read: Read, hand: str, raw: bytes, arrival: int) -> PayloadMessage:
    return PayloadMessage(hand, *payload_of(read(raw)), arrival)


def read_or_refuse(read: Callable[[bytes, int], Message], role: str, hand: str, raw: bytes, arrival: int) -> Message:
    """Read a message of a recording; return a `RefusedMessage` if it is too long or its stamp is no valid time."""
    try:
        return read(raw, arrival)
    except ArgumentError as error:
        return RefusedMessage(role, hand, str(error), arrival)


READERS: dict[str, Callable[[Read, str, bytes, int], Message]] = {
    'wrench': read_wrench,
    'imu': _imu,
    'payload': _payload,
}


HEAD = 12  # offset of the frame and the names
QUANTITIES = ('position', 'velocity', 'effort')
DOUBLE = np.dtype('<f8')


class _Column(NamedTuple):
    size: int  # numbers in the column
    head: slice  # bytes of the message that hold the size
    head_bytes: bytes  # the serialized size
    start: int  # offset of the numbers


class _Layout(NamedTuple):
    head: bytes  # frame and names
    names: tuple[str, ...]
    columns: tuple[_Column, ...]  # positions, velocities, efforts
    start: int  # offset of the first number
    doubles: int  # from there to the last number; the 8 bytes between two columns (size and padding) count as one
    slices: tuple[slice, ...]  # the columns in these doubles


class JointStateReader:
    """Reader of joint states. `deserialize` reads the first message of each layout; its offsets are cached."""

    def __init__(self, deserialize: Callable[[bytes], Any]) -> None:
        self._deserialize = deserialize
        self._layouts: dict[int, list[_Layout]] = {}  # by length of the message, which layouts may share
        self._bytes = 0  # memory of the layouts

    def read(self, raw: bytes, arrival: int) -> JointStateMessage:
        """Return the message in these bytes; raise `ArgumentError` if it is too long or its stamp is not valid."""
        for layout in self._layouts.get(len(raw), ()):
            if raw.startswith(layout.head, HEAD) and (message := _numbers(raw, layout, arrival)) is not None:
                return message
        return self._learn(raw, arrival)

    def read_run(self, raws: Sequence[bytes], arrivals: Sequence[int]) -> JointStateRun | None:
        """Return messages of equal length as arrays; None if the layouts differ or a stamp is not a valid time."""
        first = self.read(raws[0], arrivals[0])
        same = (layout for layout in self._layouts.get(len(raws[0]), ()) if layout.names == first.names)
        layout = next(same, None)
        if layout is None:
            return None
        table = np.frombuffer(b''.join(raws), np.uint8).reshape(len(raws), -1)
        columns = []
        for column in layout.columns:
            if (_column(table, column.head.start, '<u4', 1) != column.size).any():
                return None
            columns.append(_column(table, column.start, '<f8', column.size))
        for start, expected in ((0, LITTLE_ENDIAN), (HEAD, layout.head)):
            if (table[:, start : start + len(expected)] != np.frombuffer(expected, np.uint8)).any():
                return None
        seconds, nanoseconds = _column(table, STAMP, '<i4', 1)[:, 0], _column(table, STAMP + 4, '<u4', 1)[:, 0]
        if (seconds < 0).any() or (nanoseconds >= SECOND).any():
            return None
        stamp = seconds.astype(np.int64) * SECOND + nanoseconds
        position, velocity, effort = columns
        return JointStateRun(layout.names, position, velocity, effort, stamp, np.array(arrivals, dtype=np.int64))

    def _learn(self, raw: bytes, arrival: int) -> JointStateMessage:
        check_size(raw, MAX_NAMED_BYTES)
        message = self._deserialize(raw)
        columns = [np.asarray(x, dtype=float) for x in (message.position, message.velocity, message.effort)]
        names, stamp = tuple(message.name), stamp_of(message)
        if raw[:2] == LITTLE_ENDIAN:
            self._remember(len(raw), _layout(raw, message.header.frame_id, names, columns))
        return JointStateMessage(names, columns[0], columns[1], columns[2], stamp, arrival)

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
    """Return the offsets of the numbers in a message, or None if reading by them gives other numbers."""
    end = HEAD
    for text in (frame, None, *names):  # None: the number of names
        end = _aligned(end, 4) + 4 + (0 if text is None else len(text.encode()) + 1)
    end = _aligned(end, 4)
    head, table = raw[HEAD:end], []
    for column in columns:
        at, size = _aligned(end, 4), len(column)
        start = _aligned(at + 4, 8) if size else at + 4
        table.append(_Column(size, slice(at, at + 4), struct.pack('<I', size), start))
        end = start + 8 * size
    if end > len(raw):
        return None
    layout = _Layout(head, tuple(names), tuple(table), *_doubles(table))
    found = _numbers(raw, layout, 0)
    same = found is not None and all(
        np.array_equal(x, y, equal_nan=True) for x, y in zip(found[1:4], columns, strict=True)
    )
    return layout if same else None


def _doubles(columns: Sequence[_Column]) -> tuple[int, int, tuple[slice, ...]]:
    """Return the offset and number of the doubles that hold all columns, and the columns' slices."""
    filled = [column for column in columns if column.size]
    if not filled:
        return 0, 0, (slice(0),) * len(columns)
    start, last = filled[0].start, filled[-1]
    firsts = [(column.start - start) // 8 if column.size else 0 for column in columns]
    slices = tuple(slice(first, first + column.size) for first, column in zip(firsts, columns, strict=True))
    return start, (last.start - start) // 8 + last.size, slices


def _aligned(offset: int, size: int) -> int:
    """Return the next aligned offset for a number of this size; alignment counts from byte 4 (CDR)."""
    return offset + -(offset - 4) % size


def _numbers(raw: bytes, layout: _Layout, arrival: int) -> JointStateMessage | None:
    """Return the message, or None if the sizes of its columns differ from the layout."""
    for column in layout.columns:
        if raw[column.head] != column.head_bytes:
            return None
    numbers = np.frombuffer(raw, DOUBLE, layout.doubles, layout.start)
    position, velocity, effort = layout.slices
    second, nanosecond = struct.unpack_from('<iI', raw, STAMP)
    stamp = stamp_from(second, nanosecond)
    return JointStateMessage(layout.names, numbers[position], numbers[velocity], numbers[effort], stamp, arrival)


def _column(table: NDArray[np.uint8], start: int, kind: str, count: int) -> Any:
    """Return the numbers (rows, count) at an offset of every row of bytes."""
    end = start + count * np.dtype(kind).itemsize
    return np.ascontiguousarray(table[:, start:end]).view(kind).reshape(len(table), count)
