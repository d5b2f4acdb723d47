"""How large a number of a robot may be, and how many values and characters a message may hold."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from .errors import listed
from .text import shown

MAX_QUANTITY = (
    1e6  # in its SI unit, of any position, rate, torque, force, mass: what is beyond is a fault, not a robot's
)

MAX_NAMES = 2000  # of a message: ten times the joints of the largest robots, and read in a millisecond
MAX_NAME_CHARS = 256  # of a joint, a link or a frame; ROS itself allows no longer names of topics
MAX_NAMED_BYTES = 1_000_000  # of a serialized message with names: those of 2000 joints with all their numbers
MAX_BYTES = 10_000  # of any other serialized message: a few numbers and a frame
MAX_CACHE_BYTES = 1_000_000  # that a cache of name lists may take; a robot's list takes a few thousand

MAX_PRESLIDING = 50  # elements of a joint's presliding friction; a fit uses two or three


_Value = TypeVar('_Value')
_ENTRY = 1000  # bytes of an entry besides its names: dict, arrays, objects; more than they take
_FEW = 5  # names that a reason lists


def names_fault(names: Sequence[str]) -> str:
    """Return what is wrong with the names of a message, or nothing; in time linear in their number."""
    if len(names) > MAX_NAMES:
        return f'{len(names)} names, must be at most {MAX_NAMES}'
    longest = max(names, key=len, default='')
    if len(longest) > MAX_NAME_CHARS:
        return f"name '{shown(longest)}' has {len(longest)} characters, must be at most {MAX_NAME_CHARS}"
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    return f'named twice: {listed(twice[:_FEW])}' if twice else ''


def size_of(names: Sequence[str]) -> int:
    """Return about how many bytes of memory a list of names takes with what is known of it, 16 bytes a name."""
    return _ENTRY + sum(map(sys.getsizeof, names)) + 3 * 8 * len(names)


class NamesCache(Generic[_Value]):
    """Values by list of names. It forgets all when it would take too much memory; a list too large is not kept."""

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._values: dict[tuple[str, ...], _Value] = {}
        self.get = self._values.get  # the value of a list of names, or None

    def values(self) -> Iterable[_Value]:
        """Return all values."""
        return self._values.values()

    def put(self, names: tuple[str, ...], value: _Value) -> None:
        """Keep a value."""
        size = size_of(names)
        if size > self._max_bytes:
            return
        if self._bytes + size > self._max_bytes:
            self._values.clear()
            self._bytes = 0
        self._values[names] = value
        self._bytes += size
