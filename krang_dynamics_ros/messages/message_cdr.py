"""The other messages out of their bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..core.errors import ArgumentError
from .fields import STAMP, imu_of, payload_of, stamp_from, stamp_of, wrench_of
from .messages import ImuMessage, Message, PayloadMessage, RefusedMessage, WrenchMessage

LITTLE_ENDIAN = b'\0\1'
FRAME = 12  # where the length of the frame's name stands
Read = Callable[[bytes], Any]


def read_wrench(read: Read, hand: str, raw: bytes, arrival: int) -> WrenchMessage:
    """Read a wrench by hand: sensors are the fastest of all, and `read`, the library, takes ten times as long."""
    if raw[:2] == LITTLE_ENDIAN:
        with suppress(struct.error, UnicodeDecodeError):  # then it is for the library to say what is wrong
            return _wrench(hand, raw, arrival)
    told = read(raw)
    return WrenchMessage(hand, *wrench_of(told), stamp_of(told), arrival)


def _wrench(hand: str, raw: bytes, arrival: int) -> WrenchMessage:
    seconds, nanoseconds, length = struct.unpack_from('<iII', raw, STAMP)
    end = FRAME + 4 + length
    numbers = struct.unpack_from('<6d', raw, end + -(end - STAMP) % 8)
    frame = raw[FRAME + 4 : end - 1].decode()
    return WrenchMessage(hand, frame, numbers[:3], numbers[3:], stamp_from(seconds, nanoseconds), arrival)


def _imu(read: Read, _: str, raw: bytes, arrival: int) -> ImuMessage:
    told = read(raw)
    return ImuMessage(*imu_of(told), stamp_of(told), arrival)


def _payload(read: Read, hand: str, raw: bytes, arrival: int) -> PayloadMessage:
    return PayloadMessage(hand, *payload_of(read(raw)), arrival)


def read_or_refuse(read: Callable[[bytes, int], Message], what: str, hand: str, raw: bytes, arrival: int) -> Message:
    """Read a message of a recording; return a `RefusedMessage` where its stamp is no time."""
    try:
        return read(raw, arrival)
    except ArgumentError as error:
        return RefusedMessage(what, hand, str(error), arrival)


READERS: dict[str, Callable[[Read, str, bytes, int], Message]] = {
    'wrench': read_wrench,
    'imu': _imu,
    'payload': _payload,
}
