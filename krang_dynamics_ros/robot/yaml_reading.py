"""Safe reading of YAML as plain data, and access by key; faults are collected with their paths."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ..core.errors import Fault, did_you_mean, fault, listed
from ..core.spatial import Array
from ..core.text import signed_name

UNREADABLE = object()
MAX_CHARS = 500_000  # characters of a text
MAX_DEPTH = 20  # nested mappings and lists
MAX_ENTRIES = 100_000  # values in total
MAX_NAME_CHARS = 200
NAME = f'must be a name: printable, at most {MAX_NAME_CHARS} characters'
MAX_FAULTS = 1000
_NUMBER = re.compile(r'[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?')
_SMALL = re.compile(r'[-+]?[0-9]{1,15}')
_WORDS = {
    '': None, '~': None, 'null': None, 'true': True, 'false': False, '.nan': math.nan, '.inf': math.inf,
    '-.inf': -math.inf, '+.inf': math.inf,
}  # fmt: skip
_Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # libyaml: the same events, ten times faster


class _RefusedError(Exception):
    """A fault that makes the whole text unreadable."""


def parse(
    text: str,
    scalar: Callable[[str], Any] | None = None,
    max_chars: int = MAX_CHARS,
    max_entries: int = MAX_ENTRIES,
) -> tuple[Any, list[Fault]]:
    """Return the data of a YAML text (or UNREADABLE), and the faults of its form.

    `scalar` converts texts without quotes into values, by default `plain_value`. With `scalar`, keys are always texts
    and aliases are refused, as by ROS.
    """
    if len(text) > max_chars:
        return UNREADABLE, [Fault('size', f'{len(text)} characters', f'must be at most {max_chars}')]
    builder = _Builder(scalar, max_entries)
    try:
        for event in yaml.parse(text, _Loader):
            builder.add(event)
    except _RefusedError as error:
        return UNREADABLE, [*builder.faults, Fault('yaml', *error.args)]
    except (yaml.YAMLError, ValueError) as error:
        return UNREADABLE, [*builder.faults, Fault('yaml', ' '.join(str(error).split())[:300], 'must be readable YAML')]
    return builder.data, builder.faults


def parse_file(path: Path, scalar: Callable[[str], Any] | None = None) -> tuple[Any, list[Fault]]:
    """Read a YAML file, as `parse`."""
    try:
        with path.open(encoding='utf-8') as file:
            text = file.read(MAX_CHARS + 1)  # bounded, as a file may be endless
    except UnicodeDecodeError as error:
        return UNREADABLE, [fault('file', str(error), 'must be text in UTF-8')]
    return parse(text, scalar)


def is_name(text: str) -> bool:
    """Return whether a text can be a name: printable, and not too long."""
    return bool(text) and text.isprintable() and len(text) <= MAX_NAME_CHARS


def plain_value(text: str) -> Any:
    """Return the value of a text without quotes in a robot file."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if _SMALL.fullmatch(text) else float(text)


class _Node:
    """A value and its total number of entries; aliases count at each use."""

    def __init__(self, value: Any, path: str = '') -> None:
        self.value, self.path, self.size = value, path, 1
        self.key: str | None = None  # of a mapping: the key whose value comes next
        self.lines: dict[str, int] = {}
        self.merged: list[Any] = []


class _Builder:
    """Builds data from events. `_open` are the open mappings and lists, innermost last."""

    def __init__(self, scalar: Callable[[str], Any] | None, max_entries: int) -> None:
        self._max_entries = max_entries
        self._value, self._is_of_ros = scalar or plain_value, scalar is not None
        self.data: Any = None
        self.faults: list[Fault] = []
        self._open: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._documents = 0

    def add(self, event: Any) -> None:
        """Process an event."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _RefusedError('a second document', 'must be one document')
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, [] if isinstance(event, yaml.SequenceStartEvent) else {})
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()
        elif isinstance(event, yaml.AliasEvent):
            if self._is_of_ros:
                self._refuse(Fault(self._path() or 'yaml', f'*{event.anchor}', 'must be the value: ROS has no aliases'))
            self._put(self._known(str(event.anchor)), event)
        elif isinstance(event, yaml.ScalarEvent):
            self._put(self._anchored(event, _Node(self._scalar(event))), event)

    def _refuse(self, refused: Fault) -> None:
        self.faults.append(refused)
        if len(self.faults) >= MAX_FAULTS:
            raise _RefusedError(f'{MAX_FAULTS} faults', 'must be fewer; the rest is not checked')

    def _begin(self, event: Any, data: Any) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise _RefusedError(f'nested more than {MAX_DEPTH} deep', f'must be at most {MAX_DEPTH} deep')
        self._check_tag(event)
        node = self._anchored(event, _Node(data, self._path()))
        self._put(node, event)
        self._open.append(node)

    def _end(self) -> None:
        closed = self._open.pop()
        for base in closed.merged:
            self._merge(closed, base)
        if self._open:
            self._grow(self._open[-1], closed.size - 1)  # 1 was counted at its begin

    def _grow(self, node: _Node, size: int) -> None:
        node.size += size
        if node.size > self._max_entries:
            counted = f'more than {self._max_entries} entries, aliases counted at each use'
            raise _RefusedError(counted, f'must be at most {self._max_entries}')

    def _anchored(self, event: Any, node: _Node) -> _Node:
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _known(self, anchor: str) -> _Node:
        if anchor not in self._anchors:
            raise _RefusedError(f'*{anchor[:80]}', 'must name an anchor above it')
        if self._anchors[anchor] in self._open:
            raise _RefusedError(f'*{anchor[:80]}', 'must not contain itself')
        return self._anchors[anchor]

    def _check_tag(self, event: Any) -> None:
        if event.tag not in (None, '!'):
            self._refuse(fault(self._path() or 'yaml', event.tag, 'must be without a tag'))

    def _path(self) -> str:
        """Return the path of the next value."""
        inner = self._open[-1] if self._open else _Node(None)
        if isinstance(inner.value, list):
            return f'{inner.path}[{len(inner.value)}]'
        return inner.path if inner.key is None else join_path(inner.path, inner.key)

    def _scalar(self, event: Any) -> Any:
        self._check_tag(event)
        text = event.value
        if event.style not in (None, '') or (self._is_of_ros and self._at_key()):  # quoted, or a block
            return text
        return self._value(text)

    def _at_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _put(self, node: _Node, event: Any) -> None:
        """Store a value as the whole data, an entry of a list, a key, or the value of a key."""
        if not self._open:
            self.data = node.value
            return
        inner = self._open[-1]
        self._grow(inner, node.size)
        if isinstance(inner.value, list):
            inner.value.append(node.value)
        elif inner.key is None:
            inner.key = self._key(node.value, event, inner)
        else:
            key, inner.key = inner.key, None
            if key == '<<':
                inner.merged.append(node.value)
                self._grow(inner, node.size)
            else:
                inner.value[key] = node.value

    def _key(self, value: Any, event: Any, inner: _Node) -> str:
        if isinstance(value, (dict, list)):
            raise _RefusedError(f'{inner.path or "the file"} has a mapping or list as a key', 'must have names as keys')
        line = event.start_mark.line + 1
        if value == '<<' and isinstance(event, yaml.ScalarEvent) and not event.style:
            return '<<'
        if not isinstance(value, str) or not is_name(value):
            allowed = 'must be a name (text; quote it)' if not isinstance(value, str) else NAME
            self._refuse(fault(join_path(inner.path, f'(line {line})'), value, allowed))
            return repr(value)[:80]
        if value in inner.lines:
            lines = f'given on lines {inner.lines[value]} and {line}'
            self._refuse(Fault(join_path(inner.path, value), lines, 'must be given only once'))
        inner.lines[value] = line
        return value

    def _merge(self, closed: _Node, base: Any) -> None:
        """Add the entries of `<<` (a mapping, or a list of mappings) that are not given."""
        for mapping in base if isinstance(base, list) else [base]:
            if not isinstance(mapping, dict):
                self._refuse(fault(join_path(closed.path, '<<'), mapping, 'must be a mapping'))
                continue
            for key, value in mapping.items():
                closed.value.setdefault(key, value)


def join_path(path: str, key: str) -> str:
    """Return the path of an entry of a mapping."""
    return f'{path}.{key}' if path else key


MISSING = object()
MAX_NUMBER = 1e9  # of any number, in its SI unit; a larger number is a mistake


class Section:
    """A mapping of a file, read by key. `close` reports the keys that were not read."""

    def __init__(self, data: Any, path: str, faults: list[Fault], lengths: Mapping[str, float] | None = None) -> None:
        """Read `data`; `lengths` (m) may stand by their names in vectors and matrices."""
        self.path, self.faults = path, faults
        self.lengths = lengths or {}
        self._read: list[str] = []
        self._data: Mapping[Any, Any] = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.refuse(None, data, 'must be a mapping of names to values')

    def refuse(self, key: str | None, value: Any, allowed: str) -> None:
        """Add a fault of the value at `key`, or of the whole section."""
        where = (self.path or 'the whole file') if key is None else join_path(self.path, key)
        self.faults.append(Fault(where, 'missing', allowed) if value is MISSING else fault(where, value, allowed))

    def _value(self, key: str) -> Any:
        self._read.append(key)
        return self._data.get(key, MISSING)

    def has(self, key: str) -> bool:
        """Return whether the key is given; this does not count as reading."""
        return key in self._data

    def number(
        self, key: str, default: float | None = None, *, above: float = -math.inf, least: float = -math.inf
    ) -> float:
        """Return a finite number; it must be given if there is no default."""
        value = self._value(key)
        if value is MISSING and default is not None:
            return default
        if not _is_number(value) or not value > above or not value >= least:
            self.refuse(key, value, _too_large(value) or _allowed_number(value, above, least))
            return math.nan
        return float(value)

    def vector(self, key: str, default: Sequence[float] | None = None, *, count: int = 3) -> Array:
        """Return `count` finite numbers; an entry may be the name of a length, with or without a minus."""
        value = self._value(key)
        if value is MISSING and default is not None:
            return np.array(default, dtype=float)
        if not isinstance(value, list) or len(value) != count:
            self.refuse(key, value, f'must be a list of {count} numbers')
            return np.full(count, math.nan)
        return np.array([self._element(f'{key}[{i}]', item) for i, item in enumerate(value)])

    def _element(self, key: str, item: Any) -> float:
        if _is_number(item):
            return float(item)
        if isinstance(item, str) and (named := signed_name(item, self.lengths)):
            return named[1] * self.lengths[named[0]]
        known = f" or a length's name ({', '.join(self.lengths)}), or minus a name" if self.lengths else ''
        self.refuse(key, item, _too_large(item) or f'must be a finite number{known}')
        return math.nan

    def length_names(self, key: str) -> tuple[str, ...]:
        """Return the names of lengths in a vector, with their minus, '' for numbers; this does not count as reading."""
        value = self._data.get(key)
        return tuple(x if isinstance(x, str) else '' for x in value) if isinstance(value, list) else ('', '', '')

    def matrix(self, key: str) -> Array:
        """Return a 3x3 matrix of finite numbers."""
        value = self._value(key)
        rows = value if isinstance(value, list) and len(value) == 3 else []
        if not rows or not all(isinstance(row, list) and len(row) == 3 for row in rows):
            self.refuse(key, value, 'must be 3 rows of 3 numbers')
            return np.full((3, 3), math.nan)
        return np.array(
            [[self._element(f'{key}[{i}][{j}]', x) for j, x in enumerate(row)] for i, row in enumerate(rows)]
        )

    def text(self, key: str, options: Sequence[str] = ()) -> str:
        """Return a name, out of the options if given."""
        value = self._value(key)
        if not isinstance(value, str) or not value or (options and value not in options):
            hint = did_you_mean(value, options).strip() if isinstance(value, str) else ''
            allowed = f'must be one of {listed(options)}' if options else 'must be a name (text)'
            self.refuse(key, value, f'{allowed}; {hint}' if hint else allowed)
            return ''
        if not is_name(value):
            self.refuse(key, value, NAME)
        return value

    def file(self, key: str) -> str:
        """Return the name of a file."""
        value = self._value(key)
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, value, 'must be a file (text)')
            return ''
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of names with at least one entry."""
        value = self._value(key)
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            self.refuse(key, value, 'must be a list of at least one name (text)')
            return ()
        return tuple(value)

    def section(self, key: str) -> Section:
        """Return the mapping at `key`, empty if not given."""
        value = self._value(key)
        return Section({} if value is MISSING else value, join_path(self.path, key), self.faults, self.lengths)

    def sections(self, key: str) -> Iterator[tuple[str, Section]]:
        """Yield name and mapping of each entry at `key`, which must be a mapping of mappings."""
        value = self._value(key)
        if not isinstance(value, dict) or not value:
            self.refuse(key, value, 'must be a mapping of names to mappings, with at least one entry')
            return
        for name, data in value.items():
            path = join_path(join_path(self.path, key), name)
            yield name, Section({} if data is None else data, path, self.faults, self.lengths)

    def items(self, key: str) -> Iterator[Section]:
        """Yield the mappings of the list at `key`, none if not given."""
        value = self._value(key)
        if value is MISSING:
            return
        if not isinstance(value, list):
            self.refuse(key, value, 'must be a list of mappings')
            return
        for i, data in enumerate(value):
            yield Section(data, f'{join_path(self.path, key)}[{i}]', self.faults, self.lengths)

    def numbers(self, key: str) -> dict[str, float]:
        """Return a mapping of names to finite numbers, empty if not given."""
        section = self.section(key)
        return {name: section.number(name) for name in section.given()}

    def given(self) -> list[str]:
        """Return the keys that are given, for a section with free keys."""
        return [*self._data]

    def close(self) -> None:
        """Add a fault for each key that was not read."""
        for key in self._data:
            if key not in self._read:
                keys = ', '.join(sorted(set(self._read)))
                self.refuse(
                    str(key), self._data[key], f'is not a known key; {did_you_mean(str(key), self._read)}known: {keys}'
                )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _too_large(value: Any) -> str:
    too_large = isinstance(value, (int, float)) and MAX_NUMBER < abs(value) < math.inf
    return f'must be at most {MAX_NUMBER:g} in size' if too_large else ''


def _allowed_number(value: Any, above: float, least: float) -> str:
    if _is_number(value):
        return (
            'must be positive'
            if above == 0
            else 'must not be negative'
            if least == 0
            else f'must be at least {least:g}'
        )
    return 'must be a finite number' + (', positive' if above == 0 else ', not negative' if least == 0 else '')
