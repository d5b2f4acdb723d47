"""Limits of numbers, of names, and of the size of messages."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from .errors import listed
from .text import shown

MAX_QUANTITY = 1e6  # in its SI unit, of any position, rate, torque, force, mass; a larger number is a fault
MAX_GRAVITY = 100.0  # m/s^2, along an axis; 981 is in cm/s^2

MAX_NAMES = 2000  # in a message: ten times the joints of the largest robots; checked within a millisecond
MAX_NAME_CHARS = 256  # of a joint, link or frame in a message; files of robots have at most 200
MAX_NAMED_BYTES = 1_000_000  # of a serialized message with names: 2000 joints with all their numbers
MAX_BYTES = 10_000  # of any other serialized message
MAX_CACHE_BYTES = 1_000_000  # of a cache of name lists; the list of a robot needs a few thousand

MAX_PRESLIDING = 50  # elements of a joint's presliding friction; a fit uses two or three


_Value = TypeVar('_Value')
_ENTRY_BYTES = 1000  # of an entry without its names: dict, arrays, objects (an upper bound)
_MAX_NAMED = 5  # names in a reason


def names_fault(names: Sequence[str]) -> str:
    """Return what is wrong with the names of a message, or an empty text; in linear time."""
    if len(names) > MAX_NAMES:
        return f'{len(names)} names, must be at most {MAX_NAMES}'
    longest = max(names, key=len, default='')
    if len(longest) > MAX_NAME_CHARS:
        return f"name '{shown(longest)}' has {len(longest)} characters, must be at most {MAX_NAME_CHARS}"
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    return f'named twice: {listed(repeated[:_MAX_NAMED])}' if repeated else ''


def size_of(names: Sequence[str]) -> int:
    """Return an estimate of the memory of a list of names with its cached value, bytes."""
    return _ENTRY_BYTES + sum(map(sys.getsizeof, names)) + 3 * 8 * len(names)


class NamesCache(Generic[_Value]):
    """Cache of values by list of names, of bounded size: cleared when full, and without lists that are too large."""

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._values: dict[tuple[str, ...], _Value] = {}
        self.get = self._values.get  # returns the value of a list of names, or None

    def values(self) -> Iterable[_Value]:
        """Return all values."""
        return self._values.values()

    def put(self, names: tuple[str, ...], value: _Value) -> None:
        """Store a value."""
        size = size_of(names)
        if size > self._max_bytes:
            return
        if self._bytes + size > self._max_bytes:
            self._values.clear()
            self._bytes = 0
        self._values[names] = value
        self._bytes += size
