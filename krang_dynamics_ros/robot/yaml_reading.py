"""Taking a robot file's data by key: every value is checked as it is taken, and every fault noted with its path.

Keys that nobody asks for are faults, too: a misspelt one would pass in silence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import Fault, did_you_mean, fault, listed
from ..core.spatial import Array
from .yaml_parsing import NAME, is_name
from .yaml_parsing import join as _join

MISSING = object()
LARGEST = 1e9  # of any number, in its SI unit: what is beyond is a slip, and its square may be no number any more


class Section:
    """One mapping of a file. Its values are asked for by key; `close` notes the keys that nobody asked for."""

    def __init__(self, data: Any, path: str, faults: list[Fault], names: Mapping[str, float] | None = None) -> None:
        self.path, self.faults = path, faults
        self.names = names or {}
        self._asked: list[str] = []
        self._data: Mapping[Any, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.refuse(None, data, 'must be a mapping of names to values')

    def refuse(self, key: str | None, value: Any, allowed: str) -> None:
        """Note a fault of the value at `key`, or of the whole section."""
        where = (self.path or 'the whole file') if key is None else _join(self.path, key)
        self.faults.append(Fault(where, 'missing', allowed) if value is MISSING else fault(where, value, allowed))

    def _take(self, key: str) -> Any:
        self._asked.append(key)
        return self._data.get(key, MISSING)

    def has(self, key: str) -> bool:
        """Tell whether the key is given, without taking it."""
        return key in self._data

    def number(
        self, key: str, default: float | None = None, *, above: float = -math.inf, least: float = -math.inf
    ) -> float:
        """Return a finite number; without a default it must be given."""
        value = self._take(key)
        if value is MISSING and default is not None:
            return default
        if not _is_number(value) or not value > above or not value >= least:
            self.refuse(key, value, _too_large(value) or _allowed_number(value, above, least))
            return math.nan
        return float(value)

    def vector(self, key: str, default: Sequence[float] | None = None, *, count: int = 3) -> Array:
        """Return `count` finite numbers; a length's name, with or without a minus, stands for its number."""
        value = self._take(key)
        if value is MISSING and default is not None:
            return np.array(default, dtype=float)
        if not isinstance(value, list) or len(value) != count:
            self.refuse(key, value, f'must be a list of {count} numbers')
            return np.full(count, math.nan)
        return np.array([self._element(f'{key}[{i}]', item) for i, item in enumerate(value)])

    def _element(self, key: str, item: Any) -> float:
        if _is_number(item):
            return float(item)
        if isinstance(item, str) and item.lstrip('-') in self.names and item.count('-') < 2:
            return -self.names[item.lstrip('-')] if item[0] == '-' else self.names[item]
        known = f" or a length's name ({', '.join(self.names)}), maybe with a minus" if self.names else ''
        self.refuse(key, item, _too_large(item) or f'must be a finite number{known}')
        return math.nan

    def lengths(self, key: str) -> tuple[str, ...]:
        """Return how a vector is written, without taking it: a length's name, maybe with a minus, '' for a number."""
        value = self._data.get(key)
        return tuple(x if isinstance(x, str) else '' for x in value) if isinstance(value, list) else ('', '', '')

    def matrix(self, key: str) -> Array:
        """Return a 3x3 matrix of finite numbers."""
        value = self._take(key)
        rows = value if isinstance(value, list) and len(value) == 3 else []
        if not rows or not all(isinstance(row, list) and len(row) == 3 for row in rows):
            self.refuse(key, value, 'must be 3 rows of 3 numbers')
            return np.full((3, 3), math.nan)
        return np.array(
            [[self._element(f'{key}[{i}][{j}]', x) for j, x in enumerate(row)] for i, row in enumerate(rows)]
        )

    def text(self, key: str, options: Sequence[str] = ()) -> str:
        """Return a name; one of the options, if there are any."""
        value = self._take(key)
        if not isinstance(value, str) or not value or (options and value not in options):
            hint = did_you_mean(value, options).strip() if isinstance(value, str) else ''
            allowed = f'must be one of {listed(options)}' if options else 'must be a name (text)'
            self.refuse(key, value, f'{allowed}; {hint}' if hint else allowed)
            return ''
        if not is_name(value):
            self.refuse(key, value, NAME)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of names, with one at least."""
        value = self._take(key)
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            self.refuse(key, value, 'must be a list of names (texts), with one at least')
            return ()
        return tuple(value)

    def section(self, key: str) -> Section:
        """Return the mapping at `key`; an empty one if it is not given."""
        value = self._take(key)
        return Section({} if value is MISSING else value, _join(self.path, key), self.faults, self.names)

    def sections(self, key: str) -> Iterator[tuple[str, Section]]:
        """Return the name and the mapping of each entry at `key`, which must be a mapping of mappings."""
        value = self._take(key)
        if not isinstance(value, dict) or not value:
            self.refuse(key, value, 'must be a mapping of names to mappings, with one entry at least')
            return
        for name, data in value.items():
            path = _join(_join(self.path, key), name)
            yield name, Section({} if data is None else data, path, self.faults, self.names)

    def items(self, key: str) -> Iterator[Section]:
        """Return the mappings of the list at `key`; none if it is not given."""
        value = self._take(key)
        if value is MISSING:
            return
        if not isinstance(value, list):
            self.refuse(key, value, 'must be a list of mappings')
            return
        for i, data in enumerate(value):
            yield Section(data, f'{_join(self.path, key)}[{i}]', self.faults, self.names)

    def numbers(self, key: str) -> dict[str, float]:
        """Return a mapping of names to finite numbers; an empty one if it is not given."""
        section = self.section(key)
        return {name: section.number(name) for name in section.given()}

    def given(self) -> list[str]:
        """Return the keys that are given, where any may be."""
        return [*self._data]

    def close(self) -> None:
        """Note every key that was not asked for."""
        for key in self._data:
            if key not in self._asked:
                keys = ', '.join(sorted(set(self._asked)))
                self.refuse(
                    str(key), self._data[key], f'is not a known key; {did_you_mean(str(key), self._asked)}known: {keys}'
                )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST


def _too_large(value: Any) -> str:
    too_large = isinstance(value, (int, float)) and LARGEST < abs(value) < math.inf
    return f'must be at most {LARGEST:g} in size' if too_large else ''


def _allowed_number(value: Any, above: float, least: float) -> str:
    if _is_number(value):
        return 'must be positive' if above == 0 else 'must not be negative'
    return 'must be a finite number' + (', positive' if above == 0 else ', not negative' if least == 0 else '')
