"""Edits of values in the text of a parameter file; layout and other comments stay unchanged."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from ..core.errors import ArgumentError
from ..core.text import shown

NODE = 'krang_dynamics'


class _Edit(NamedTuple):
    """Replacement of a piece of the text."""

    start: int
    end: int
    text: str


def edited(text: str, values: Mapping[str, Any], remark: str, node: str = NODE) -> str:
    """Return the text with these values of a node's parameters, each with a remark behind it.

    An existing value is replaced together with the comment behind it; a new parameter comes first in its section.
    """
    for name, value in values.items():
        text = _with_value(text, name, f'{value_text(value)}  # {shown(remark)}', node)
    return text


def value_text(value: Any) -> str:
    """Return a value as YAML text that ROS reads with the same type (1.0 stays a float)."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, (list, tuple)):
        return f'[{", ".join(map(value_text, value))}]'
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False)


def _with_value(text: str, name: str, value: str, node: str) -> str:
    sections = [*_sections(text, node)]
    for section in reversed(sections):
        if (edit := _replacement(text, section, name, value)) is not None:
            return _applied(text, edit)
    if sections:
        return _applied(text, _insertion(text, sections[-1], name, value))
    end = '' if not text or text.endswith('\n') else '\n'
    return f'{text}{end}/**/{node}:\n  ros__parameters:\n    {name}: {value}\n'


def _applied(text: str, edit: _Edit) -> str:
    return text[: edit.start] + edit.text + text[edit.end :]


def _sections(text: str, node: str) -> Iterator[yaml.MappingNode]:
    """Yield the parameters of all sections for a node of this name, in the order of the file."""
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ArgumentError(f'parameter file: {error}, must be YAML') from None
    if root is None:
        return
    yield from _within(root, node, ours=False)


def _within(mapping: yaml.Node, node: str, ours: bool) -> Iterator[yaml.MappingNode]:
    if not isinstance(mapping, yaml.MappingNode):
        raise ArgumentError('parameter file: must map nodes to their parameters')
    for key, value in mapping.value:
        if key.value == 'ros__parameters':
            if ours and isinstance(value, yaml.MappingNode):
                yield value
        elif isinstance(value, yaml.MappingNode):
            yield from _within(value, node, key.value.strip('/').split('/')[-1] in (node, '*', '**'))


def _replacement(text: str, mapping: yaml.MappingNode, name: str, value: str) -> _Edit | None:
    """Return the edit of a parameter in a mapping, or None; its name is a single key or nested keys."""
    for key, inner in reversed(mapping.value):
        if key.value == name:
            return _value_edit(text, key, inner, value, mapping.flow_style)
        if name.startswith(f'{key.value}.') and isinstance(inner, yaml.MappingNode):
            edit = _replacement(text, inner, name[len(key.value) + 1 :], value)
            if edit is not None:
                return edit
    return None


def _value_edit(text: str, key: yaml.Node, inner: yaml.Node, value: str, flow: bool) -> _Edit:
    start = text.index(':', key.end_mark.index) + 1
    end = max(_end(text, inner), start)
    if flow:  # a comment would hide the text behind it
        return _Edit(start, end, f' {value.partition("  # ")[0]}')
    stop = _line_end(text, end)
    behind = text[end:stop].strip()
    return _Edit(start, stop if not behind or behind.startswith('#') else end, f' {value}')


def _insertion(text: str, mapping: yaml.MappingNode, name: str, value: str) -> _Edit:
    """Return the edit that puts a new parameter into the deepest mapping that its name leads to."""
    for key, inner in mapping.value:
        if name.startswith(f'{key.value}.') and isinstance(inner, yaml.MappingNode):
            return _insertion(text, inner, name[len(key.value) + 1 :], value)
    if mapping.flow_style:
        close = mapping.end_mark.index - 1
        comma = ', ' if mapping.value else ''
        return _Edit(close, close, f'{comma}{name}: {value.partition("  # ")[0]}')
    first = mapping.value[0][0].start_mark
    return _Edit(first.index, first.index, f'{name}: {value}\n{" " * first.column}')


def _line_end(text: str, index: int) -> int:
    end = text.find('\n', index)
    return len(text) if end < 0 else end


def _end(text: str, node: yaml.Node) -> int:
    """Return the end of the text of a node; the end mark of a block is too far, at the next token."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style:
        return int(node.end_mark.index)
    closing = (yaml.ScalarToken, yaml.AliasToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
    ends = [token.end_mark.index for token in yaml.scan(text, yaml.SafeLoader) if isinstance(token, closing)]
    return int(ends[bisect_right(ends, node.end_mark.index) - 1])
