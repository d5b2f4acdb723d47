"""Edits of values in the text of a YAML file; layout and comments stay, except a comment behind an old value."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import yaml


class Edit(NamedTuple):
    """The replacement of a piece of the text."""

    start: int
    end: int
    text: str


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with edits that do not overlap."""
    for edit in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def new_value(text: str, key: yaml.Node, node: yaml.Node, new: str) -> Edit:
    """Replace the value of a key; a comment behind it on its line is about the old value and is removed."""
    start = text.index(':', key.end_mark.index) + 1
    end = _alias_end(text, key) if is_alias(key, node) else max(node_end(text, node), start)
    stop = line_end(text, end)
    behind = text[end:stop].strip()
    return Edit(start, stop if not behind or behind.startswith('#') else end, f' {new}')


def new_keys(mapping: yaml.MappingNode, values: Mapping[str, str], separator: str = ', ') -> Edit:
    """Add keys with their values to a mapping: as its first lines, or as the last ones within its braces."""
    if mapping.flow_style:
        close = mapping.end_mark.index - 1
        before = separator if mapping.value else ''
        return Edit(close, close, before + separator.join(f'{key}: {value}' for key, value in values.items()))
    first = mapping.value[0][0].start_mark
    lines = (f'{key}: {value}\n{" " * first.column}' for key, value in values.items())
    return Edit(first.index, first.index, ''.join(lines))


def line_end(text: str, index: int) -> int:
    """Return the index where the line of an index ends."""
    end = text.find('\n', index)
    return len(text) if end < 0 else end


def node_end(text: str, node: yaml.Node) -> int:
    """Return the index where the text of a node ends; the end mark of a block is at the token that follows."""
    block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    return content_end(text, node.end_mark.index) if block else int(node.end_mark.index)


def content_end(text: str, index: int) -> int:
    """Return the index where the last value, alias or bracket before an index ends."""
    ends = _ends(text)
    return ends[bisect_right(ends, index) - 1]


@lru_cache(maxsize=1)
def _ends(text: str) -> tuple[int, ...]:
    """Return the indices where values, aliases and closing brackets of a text end."""
    closing = (yaml.ScalarToken, yaml.AliasToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
    return tuple(token.end_mark.index for token in yaml.scan(text, yaml.SafeLoader) if isinstance(token, closing))


def is_alias(key: yaml.Node, value: yaml.Node) -> bool:
    """Return whether the value of a key is an alias: its text stands elsewhere, before the key."""
    return bool(value.start_mark.index < key.start_mark.index)


def _alias_end(text: str, key: yaml.Node) -> int:
    """Return the index where the alias behind a key ends."""
    end = text.index('*', key.end_mark.index) + 1
    while end < len(text) and (text[end].isalnum() or text[end] in '_-.'):
        end += 1
    return end
