"""Edits that write new numbers into the text of a robot file and keep its layout and its other comments.

A body that several links share by an alias (`R4r: *R4`) stays shared. Joints that share a motor and differ after the
fit get motors of their own; the anchor moves to the first joint that still uses it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import yaml

from ..core.errors import KrangDynamicsError
from ..core.spatial import upper_triangle
from ..effects.coupling import Coupling
from ..effects.joint_effects import JOINT_EFFECTS
from ..robot.robot import Joint, Link
from ..robot.robot_writer import couplings_data, effect_data, effects_data, flow_text, motor_data, number, rounded

DIGITS = 6  # significant: more than any recording determines, and a possible body stays possible


@dataclass(frozen=True)
class Edit:
    """The replacement of a piece of the text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Numbers:
    """The new content of a file: links and joints by name, the notes above them, and all couplings."""

    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    notes: Mapping[str, Sequence[str]]
    couplings: Sequence[Coupling] = ()


def edited(text: str, new: Numbers, cutoff: float) -> str:
    """Return the text with new bodies of links, motors, friction and other effects of joints, couplings and notes.

    `cutoff` of the identified numbers, Hz. Notes are written above the names of links and joints.
    """
    root = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise KrangDynamicsError('the robot file must be a mapping')
    sections = {key.value: value for key, value in root.value}
    edits = [_identified(text, root, cutoff), *_couplings(text, root, new.couplings)]
    for key, node in sections['links'].value:
        if key.value in new.links and not _is_alias(text, key, node):
            edits += [*_body(text, node, new.links[key.value]), *_note(text, key, new.notes.get(key.value, ()))]
    for key, node in sections['joints'].value:
        if key.value in new.joints:
            edits += [*_gear(text, node, new.joints[key.value]), *_note(text, key, new.notes.get(key.value, ()))]
    edits += _moved_anchors(text, edits)
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _identified(text: str, root: yaml.MappingNode, cutoff: float) -> Edit:
    """Write the cut-off of the identified numbers, behind the robot's name."""
    line = f'identified: {{cutoff: {number(cutoff, 4)}}}  # Hz, cut-off of the smoothing for the identified numbers'
    for key, node in root.value:
        if key.value == 'identified':
            return Edit(key.start_mark.index, _line_end(text, _end(text, node)), line)
    name = next(node for key, node in root.value if key.value == 'name')
    return Edit(at := _line_end(text, name.end_mark.index), at, '\n' + line)


def _couplings(text: str, root: yaml.MappingNode, couplings: Sequence[Coupling]) -> list[Edit]:
    """Replace the couplings, or write them behind the robot's name."""
    new = flow_text(couplings_data(couplings, DIGITS))
    for key, node in root.value:
        if key.value == 'couplings':
            return [_value(text, key, node, new)]
    name = next(node for key, node in root.value if key.value == 'name')
    at = _line_end(text, name.end_mark.index)
    return [Edit(at, at, f'\ncouplings: {new}')] if couplings else []


def _body(text: str, node: yaml.Node, link: Link) -> list[Edit]:
    body = link.inertia
    about_com = {
        'mass': number(body.m, DIGITS),
        'com': _list(body.com.tolist()),
        'inertia': _list(upper_triangle(body.I_G).tolist()),
    }
    about_origin = {'MS': _list(body.MS.tolist()), 'J': _list(upper_triangle(body.J).tolist())}
    values = {**about_com, **about_origin}
    given = {key.value: value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}
    if 'mass' in given:
        return [_value(text, key, value, values[key.value]) for key, value in node.value if key.value in values]
    fields = ', '.join(f'{key}: {value}' for key, value in about_com.items())
    if given:
        raise KrangDynamicsError(f'links.{link.name}: has keys, but no mass; give it mass: 1, com and inertia to start')
    return [Edit(node.start_mark.index, _end(text, node), f'{{{fields}}}')]


def _list(values: Sequence[float]) -> str:
    return flow_text([rounded(value, DIGITS) for value in values])


def _value(text: str, key: yaml.Node, node: yaml.Node, new: str) -> Edit:
    """Replace the value of a key; a comment behind it on its line is about the old value and is removed."""
    start = text.index(':', key.end_mark.index) + 1
    end = _alias_end(text, key) if _is_alias(text, key, node) else _end(text, node)
    stop = _line_end(text, end)
    return Edit(start, stop if text[end:stop].strip().startswith('#') else end, f' {new}')


def _gear(text: str, node: yaml.MappingNode, joint: Joint) -> list[Edit]:
    """Write motor, friction and springs into a joint's mapping; a spring of the file without a fit becomes zero."""
    given = {key.value for key, _ in node.value}
    unfitted = {kind.key(): effect_data(kind()) for kind in JOINT_EFFECTS if kind.key() in given}
    new = {'motor': motor_data(joint.motor, DIGITS), **unfitted, **effects_data(joint, DIGITS)}
    old = [(key, value) for key, value in node.value if key.value in new]
    edits = [_value(text, key, value, flow_text(new.pop(key.value))) for key, value in old]
    if not new:
        return edits
    if node.flow_style:
        indent = ' ' * (node.start_mark.column + 1)
        added = ''.join(f',\n{indent}{key}: {flow_text(value)}' for key, value in new.items())
        close = node.end_mark.index - 1
        return [*edits, Edit(close, close, added)]
    first = node.value[0][0].start_mark
    added = ''.join(f'{key}: {flow_text(value)}\n{" " * first.column}' for key, value in new.items())
    return [*edits, Edit(first.index, first.index, added)]


def _note(text: str, key: yaml.Node, lines: Sequence[str]) -> list[Edit]:
    """Write comments above the line of a key."""
    start = text.rfind('\n', 0, key.start_mark.index) + 1
    indent = ' ' * key.start_mark.column
    return [Edit(start, start, ''.join(f'{indent}# {line}\n' for line in lines))] if lines else []


def _line_end(text: str, index: int) -> int:
    end = text.find('\n', index)
    return len(text) if end < 0 else end


def _end(text: str, node: yaml.Node) -> int:
    """Return the index where the text of a node ends; the end mark of a block is at the token that follows."""
    block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    return _content_end(text, node.end_mark.index) if block else int(node.end_mark.index)


def _content_end(text: str, index: int) -> int:
    """Return the index where the last value, alias or bracket before an index ends."""
    ends = _ends(text)
    return ends[bisect_right(ends, index) - 1]


@lru_cache(maxsize=1)
def _ends(text: str) -> tuple[int, ...]:
    """Return the indices where values, aliases and closing brackets of a text end."""
    closing = (yaml.ScalarToken, yaml.AliasToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)
    return tuple(token.end_mark.index for token in yaml.scan(text, yaml.SafeLoader) if isinstance(token, closing))


def _is_alias(text: str, key: yaml.Node, value: yaml.Node) -> bool:
    return value.start_mark.index < key.start_mark.index


def _alias_end(text: str, key: yaml.Node) -> int:
    """Return the index where the alias behind a key ends."""
    end = text.index('*', key.end_mark.index) + 1
    while end < len(text) and (text[end].isalnum() or text[end] in '_-.'):
        end += 1
    return end


@dataclass(frozen=True)
class Mark:
    """The position of an anchor, with its value, or of an alias."""

    name: str
    alias: bool
    start: int
    end: int


def _moved_anchors(text: str, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits that keep aliases valid: a removed anchor moves to its first remaining alias."""
    marks = _marks(text)
    moved = []
    for gone in marks:
        if gone.alias or not _inside(gone.start, edits):
            continue
        left = [mark for mark in marks if mark.alias and mark.name == gone.name and not _inside(mark.start, edits)]
        if left:
            moved.append(Edit(left[0].start, left[0].end, text[gone.start : _content_end(text, gone.end)]))
    return moved


def _marks(text: str) -> list[Mark]:
    """Return all anchors, with the values behind them, and aliases of a text."""
    marks: list[Mark] = []
    open_: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, yaml.SafeLoader):
        start, end = (mark.index if mark else 0 for mark in (event.start_mark, event.end_mark))
        anchor = event.anchor if isinstance(event, yaml.NodeEvent) else None
        if isinstance(event, yaml.CollectionEndEvent):
            name, began = open_.pop()
            marks += [Mark(name, False, began, end)] if name else []
        elif isinstance(event, yaml.CollectionStartEvent):
            open_.append((anchor, start))
        elif anchor:
            marks.append(Mark(anchor, isinstance(event, yaml.AliasEvent), start, end))
    return sorted(marks, key=lambda mark: mark.start)


def _inside(index: int, edits: Sequence[Edit]) -> bool:
    return any(edit.start <= index < edit.end for edit in edits)
