"""Edits that write new numbers into the text of a robot file and keep its layout and its other comments.

A body that several links share by an alias (`R4r: *R4`) stays shared. Identified joints that share a
motor get motors of their own; the anchor moves to the first joint that still uses it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from ..core.errors import KrangDynamicsError
from ..core.spatial import upper_triangle
from ..effects.coupling import Coupling
from ..effects.joint_effects import JOINT_EFFECTS
from ..robot.robot import Joint, Link
from ..robot.robot_writer import couplings_data, effect_data, effects_data, flow_text, motor_data, number, rounded
from ..robot.yaml_edits import Edit, applied, content_end, is_alias, line_end, new_keys, new_value, node_end

DIGITS = 6  # significant: more than any recording determines, and a possible body stays possible


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
        if key.value in new.links and not is_alias(key, node):
            edits += [*_body(text, node, new.links[key.value]), *_note(text, key, new.notes.get(key.value, ()))]
    for key, node in sections['joints'].value:
        if key.value in new.joints:
            edits += [*_gear(text, node, new.joints[key.value]), *_note(text, key, new.notes.get(key.value, ()))]
    edits += _moved_anchors(text, edits)
    return applied(text, edits)


def with_meshes_of(text: str, old: Path, new: Path) -> str:
    """Return the text of a robot file for folder `new`: relative mesh files that are in folder `old` stay the same."""
    edits: dict[int, Edit] = {}  # by position: aliases share a shape
    root = yaml.compose(text, yaml.SafeLoader)
    for node in _mesh_nodes(root) if root else ():
        name = str(node.value)
        if '://' not in name and not Path(name).is_absolute() and (old / name).is_file():
            path = flow_text([os.path.relpath((old / name).resolve(), new.resolve())])[1:-1]
            edits[node.start_mark.index] = Edit(node.start_mark.index, node.end_mark.index, path)
    return applied(text, edits.values())


def _mesh_nodes(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Yield the values of all keys `mesh` below a node."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _mesh_nodes(item)
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value == 'mesh' and isinstance(value, yaml.ScalarNode):
            yield value
        yield from _mesh_nodes(value)


def _identified(text: str, root: yaml.MappingNode, cutoff: float) -> Edit:
    """Write the cut-off of the identified numbers, behind the robot's name."""
    line = f'identified: {{cutoff: {number(cutoff, 4)}}}  # Hz, cut-off of the smoothing for the identified numbers'
    for key, node in root.value:
        if key.value == 'identified':
            return Edit(key.start_mark.index, line_end(text, node_end(text, node)), line)
    name = next(node for key, node in root.value if key.value == 'name')
    return Edit(at := line_end(text, name.end_mark.index), at, '\n' + line)


def _couplings(text: str, root: yaml.MappingNode, couplings: Sequence[Coupling]) -> list[Edit]:
    """Replace the couplings, or write them behind the robot's name."""
    new = flow_text(couplings_data(couplings, DIGITS))
    for key, node in root.value:
        if key.value == 'couplings':
            return [new_value(text, key, node, new)]
    name = next(node for key, node in root.value if key.value == 'name')
    at = line_end(text, name.end_mark.index)
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
        return [new_value(text, key, value, values[key.value]) for key, value in node.value if key.value in values]
    fields = ', '.join(f'{key}: {value}' for key, value in about_com.items())
    if given:
        raise KrangDynamicsError(f'links.{link.name}: has keys, but no mass; give it mass: 1, com and inertia to start')
    return [Edit(node.start_mark.index, node_end(text, node), f'{{{fields}}}')]


def _list(values: Sequence[float]) -> str:
    return flow_text([rounded(value, DIGITS) for value in values])


def _gear(text: str, node: yaml.MappingNode, joint: Joint) -> list[Edit]:
    """Write motor, friction and springs into a joint's mapping; a spring of the file without a fit becomes zero."""
    given = {key.value for key, _ in node.value}
    unfitted = {kind.key(): effect_data(kind()) for kind in JOINT_EFFECTS if kind.key() in given}
    new = {'motor': motor_data(joint.motor, DIGITS), **unfitted, **effects_data(joint, DIGITS)}
    old = [(key, value) for key, value in node.value if key.value in new]
    edits = [new_value(text, key, value, flow_text(new.pop(key.value))) for key, value in old]
    if not new:
        return edits
    added = {key: flow_text(value) for key, value in new.items()}
    return [*edits, new_keys(node, added, f',\n{" " * (node.start_mark.column + 1)}')]


def _note(text: str, key: yaml.Node, lines: Sequence[str]) -> list[Edit]:
    """Write comments above the line of a key."""
    start = text.rfind('\n', 0, key.start_mark.index) + 1
    indent = ' ' * key.start_mark.column
    return [Edit(start, start, ''.join(f'{indent}# {line}\n' for line in lines))] if lines else []


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
            moved.append(Edit(left[0].start, left[0].end, text[gone.start : content_end(text, gone.end)]))
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
