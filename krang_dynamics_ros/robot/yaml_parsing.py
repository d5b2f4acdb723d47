"""YAML text as plain data, read once, with every fault of its form.

PyYAML's own constructor would let faults of hand-written files pass in silence: a key given twice, `1e-3` (text in
YAML 1.1, a number to everybody else), `010` (8 there) and `1:30` (90). It follows aliases as often as they stand, and
brackets as deep as they go. So its events are taken, and put together here: numbers are decimal, what is `true` or
`false` is a truth, all else is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from ..core.errors import Fault, fault

UNREADABLE = object()
LARGEST = 500_000  # characters of a text
DEEPEST = 20  # mappings and lists within each other
ENTRIES = 100_000  # values in all
LONGEST = 200  # characters of a name
NAME = f'must be a name: printable, of {LONGEST} characters at most'
ENOUGH = 1000  # faults
_NUMBER = re.compile(r'[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?')
_SMALL = re.compile(r'[-+]?[0-9]{1,15}')
_WORDS = {
    '': None, '~': None, 'null': None, 'true': True, 'false': False, '.nan': math.nan, '.inf': math.inf,
    '-.inf': -math.inf, '+.inf': math.inf,
}  # fmt: skip
_Loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # the same events, ten times as quick where libyaml is


class _RefusedError(Exception):
    """What cannot be put together at all."""


def parse(text: str, scalar: Callable[[str], Any] | None = None) -> tuple[Any, list[Fault]]:
    """Return the data of a YAML text (or UNREADABLE), and the faults of its form.

    `scalar` turns what stands there without quotes into a value, if not as above; keys are texts then.
    """
    if len(text) > LARGEST:
        return UNREADABLE, [Fault('size', f'{len(text)} characters', f'must be at most {LARGEST}')]
    builder = _Builder(scalar)
    try:
        for event in yaml.parse(text, _Loader):
            builder.take(event)
    except _RefusedError as error:
        return UNREADABLE, [*builder.faults, Fault('yaml', *error.args)]
    except (yaml.YAMLError, ValueError) as error:
        return UNREADABLE, [*builder.faults, Fault('yaml', ' '.join(str(error).split())[:300], 'must be readable YAML')]
    return builder.data, builder.faults


def parse_file(path: Path, scalar: Callable[[str], Any] | None = None) -> tuple[Any, list[Fault]]:
    """Return the same of a file."""
    try:
        with path.open(encoding='utf-8') as file:
            text = file.read(LARGEST + 1)  # of a file that never ends, no more
    except UnicodeDecodeError as error:
        return UNREADABLE, [fault('file', str(error), 'must be text in UTF-8')]
    return parse(text, scalar)


def is_name(text: str) -> bool:
    """Tell whether a text can be a name: something that can be printed."""
    return bool(text) and text.isprintable() and len(text) <= LONGEST


def _value(text: str) -> Any:
    """Return the value of a text without quotes in a file of ours."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if _SMALL.fullmatch(text) else float(text)


class _Node:
    """A value, and how many it is with all that it holds, an alias counted as often as it stands."""

    def __init__(self, value: Any, path: str = '') -> None:
        self.value, self.path, self.size = value, path, 1
        self.key: str | None = None  # of a mapping: the one whose value comes next
        self.lines: dict[str, int] = {}
        self.merged: list[Any] = []


class _Builder:
    """Puts data together out of events. `_open` is what is not closed yet, innermost last."""

    def __init__(self, scalar: Callable[[str], Any] | None) -> None:
        self._value, self._keys_are_texts = scalar or _value, scalar is not None
        self.data: Any = None
        self.faults: list[Fault] = []
        self._open: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._documents = 0

    def take(self, event: Any) -> None:
        """Go on by one event."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _RefusedError('a second document', 'must be one document')
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, [] if isinstance(event, yaml.SequenceStartEvent) else {})
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()
        elif isinstance(event, yaml.AliasEvent):
            self._put(self._known(str(event.anchor)), event)
        elif isinstance(event, yaml.ScalarEvent):
            self._put(self._anchored(event, _Node(self._scalar(event))), event)

    def _refuse(self, found: Fault) -> None:
        self.faults.append(found)
        if len(self.faults) >= ENOUGH:
            raise _RefusedError(f'{ENOUGH} faults', 'and no more are looked for')

    def _begin(self, event: Any, data: Any) -> None:
        if len(self._open) >= DEEPEST:
            raise _RefusedError(f'nested more than {DEEPEST} deep', f'must be at most {DEEPEST} deep')
        self._check_tag(event)
        node = self._anchored(event, _Node(data, self._path()))
        self._put(node, event)
        self._open.append(node)

    def _end(self) -> None:
        closed = self._open.pop()
        for base in closed.merged:
            self._merge(closed, base)
        if self._open:
            self._grow(self._open[-1], closed.size - 1)  # one was counted when it began

    def _grow(self, node: _Node, size: int) -> None:
        node.size += size
        if node.size > ENTRIES:
            counted = f'more than {ENTRIES} entries, aliases counted as often as they stand'
            raise _RefusedError(counted, f'must be at most {ENTRIES}')

    def _anchored(self, event: Any, node: _Node) -> _Node:
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _known(self, anchor: str) -> _Node:
        if anchor not in self._anchors:
            raise _RefusedError(f'*{anchor[:80]}', 'must stand for something above it')
        if self._anchors[anchor] in self._open:
            raise _RefusedError(f'*{anchor[:80]}', 'must not contain itself')
        return self._anchors[anchor]

    def _check_tag(self, event: Any) -> None:
        if event.tag not in (None, '!'):
            self._refuse(fault(self._path() or 'yaml', event.tag, 'must be without a tag'))

    def _path(self) -> str:
        """Return where the value that comes now stands."""
        inner = self._open[-1] if self._open else _Node(None)
        if isinstance(inner.value, list):
            return f'{inner.path}[{len(inner.value)}]'
        return inner.path if inner.key is None else join(inner.path, inner.key)

    def _scalar(self, event: Any) -> Any:
        self._check_tag(event)
        text = event.value
        if event.style not in (None, '') or (self._keys_are_texts and self._at_key()):  # quoted, or a block
            return text
        return self._value(text)

    def _at_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _put(self, node: _Node, event: Any) -> None:
        """Put a value where it belongs: it is the whole, an entry of a list, a key, or what stands at one."""
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
            self._refuse(fault(join(inner.path, f'(line {line})'), value, allowed))
            return repr(value)[:80]
        if value in inner.lines:
            lines = f'given on lines {inner.lines[value]} and {line}'
            self._refuse(Fault(join(inner.path, value), lines, 'must be given once only'))
        inner.lines[value] = line
        return value

    def _merge(self, closed: _Node, base: Any) -> None:
        """Fill in what `<<` brings: entries of a mapping, or of several, that are not given."""
        for mapping in base if isinstance(base, list) else [base]:
            if not isinstance(mapping, dict):
                self._refuse(fault(join(closed.path, '<<'), mapping, 'must be a mapping'))
                continue
            for key, value in mapping.items():
                closed.value.setdefault(key, value)


def join(path: str, key: str) -> str:
    """Return the path of an entry of a mapping."""
    return f'{path}.{key}' if path else key
