"""What keeps links and joints from being one tree, in time that grows with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ..core.errors import MOST, Fault, did_you_mean, fault, listed

ENOUGH = 1000  # faults: who reads them has begun with the first


class Edge(NamedTuple):
    """A joint, as far as a tree goes."""

    name: str
    parent: str
    child: str
    moves: bool


def tree_faults(links: Sequence[str], joints: Sequence[Edge]) -> list[Fault]:
    """Return what keeps links and joints from being one tree with at least one joint that moves."""
    names = [joint.name for joint in joints]
    form = chain(_repeated('links', links), _repeated('joints', names), _unknown_ends(links, joints))
    faults = list(islice(form, ENOUGH))
    if faults:
        return faults
    parent_of = {joint.child: joint.parent for joint in joints}
    bases = [link for link in links if link not in parent_of]
    if len(bases) > 1:
        faults.append(fault('links', bases, 'are all without a parent; exactly one link, the base, must be'))
    faults += islice(_cycles(joints, parent_of), ENOUGH)
    if not any(joint.moves for joint in joints):
        faults.append(fault('joints', names, 'must have one revolute or prismatic at least'))
    return faults


def _repeated(kind: str, names: Sequence[str]) -> Iterator[Fault]:
    for name, count in Counter(names).items():
        if count > 1:
            yield fault(f'{kind}.{name}', name, 'must be given once only')


def _unknown_ends(links: Sequence[str], joints: Sequence[Edge]) -> Iterator[Fault]:
    """Yield the ends of joints that are no links, and the links that two joints carry."""
    known, carried, hints = set(links), set(), MOST  # a message has room for so many: those after go without a hint
    for joint in joints:
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in known:
                hint = did_you_mean(link, links) if hints > 0 else ''
                hints -= 1
                yield fault(f'joints.{joint.name}.{end}', link, f'must be a link; {hint}links: {listed(links)}')
        if joint.child in carried:
            yield fault(f'joints.{joint.name}.child', joint.child, 'must not have a second joint that carries it')
        carried.add(joint.child)


def _cycles(joints: Sequence[Edge], parent_of: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the joints whose parent is below their own child. Every link is passed once."""
    done: set[str] = set()
    in_cycle: set[str] = set()
    for start in parent_of:
        path: dict[str, None] = {}
        link = start
        while link in parent_of and link not in done and link not in path:
            path[link] = None
            link = parent_of[link]
        if link in path:
            passed = [*path]
            in_cycle.update(passed[passed.index(link) :])
        done.update(path)
    for joint in joints:
        if joint.child in in_cycle:
            yield fault(f'joints.{joint.name}.parent', joint.parent, 'must not be below its own child: a cycle')
