"""Lists of names as messages bring them: what is wrong with them, and a cache of them that cannot grow without end."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from .errors import listed
from .limits import MAX_CACHE_BYTES, MAX_NAME_CHARS, MAX_NAMES
from .text import shown

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

    def get(self, names: tuple[str, ...]) -> _Value | None:
        """Return the value of a list of names, or None."""
        return self._values.get(names)

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
