"""Edits of values in the text of a parameter file; layout and other comments stay unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ..core.errors import ArgumentError
from ..core.text import shown
from ..robot.yaml_edits import Edit, applied, new_keys, new_value
from .parameter_file import NODE


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
            return applied(text, [edit])
    if sections:
        return applied(text, [_insertion(sections[-1], name, value)])
    end = '' if not text or text.endswith('\n') else '\n'
    return f'{text}{end}/**/{node}:\n  ros__parameters:\n    {name}: {value}\n'


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


def _replacement(text: str, mapping: yaml.MappingNode, name: str, value: str) -> Edit | None:
    """Return the edit of a parameter in a mapping, or None; its name is a single key or nested keys."""
    for key, inner in reversed(mapping.value):
        if key.value == name:
            return new_value(text, key, inner, _within_braces(value) if mapping.flow_style else value)
        if name.startswith(f'{key.value}.') and isinstance(inner, yaml.MappingNode):
            edit = _replacement(text, inner, name[len(key.value) + 1 :], value)
            if edit is not None:
                return edit
    return None


def _insertion(mapping: yaml.MappingNode, name: str, value: str) -> Edit:
    """Return the edit that puts a new parameter into the deepest mapping that its name leads to."""
    for key, inner in mapping.value:
        if name.startswith(f'{key.value}.') and isinstance(inner, yaml.MappingNode):
            return _insertion(inner, name[len(key.value) + 1 :], value)
    return new_keys(mapping, {name: _within_braces(value) if mapping.flow_style else value})


def _within_braces(value: str) -> str:
    """Return the value without its remark, which would hide the text behind it."""
    return value.partition('  # ')[0]
