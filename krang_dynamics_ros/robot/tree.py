"""Checks that links and joints form a tree, in linear time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ..core.errors import MAX_LISTED, Fault, did_you_mean, fault, listed

MAX_FAULTS = 1000


class Edge(NamedTuple):
    """A joint as an edge of the tree of links."""

    name: str
    parent: str
    child: str
    moves: bool


def tree_faults(links: Sequence[str], joints: Sequence[Edge]) -> list[Fault]:
    """Return the faults of a tree of links and joints; at least one joint must move."""
    names = [joint.name for joint in joints]
    form = chain(_repeated('links', links), _repeated('joints', names), _unknown_ends(links, joints))
    faults = list(islice(form, MAX_FAULTS))
    if faults:
        return faults
    parent_of = {joint.child: joint.parent for joint in joints}
    bases = [link for link in links if link not in parent_of]
    if len(bases) > 1:
        faults.append(fault('links', bases, 'have no parent; exactly one link, the base, must have none'))
    faults += islice(_cycles(joints, parent_of), MAX_FAULTS)
    if not any(joint.moves for joint in joints):
        faults.append(fault('joints', names, 'must have at least one revolute or prismatic joint'))
    return faults


def mass_faults(masses: Mapping[str, float], joints: Sequence[Edge]) -> list[Fault]:
    """Return a fault if no moving link has a mass; `masses` has every link (kg) of a tree without faults.

    Gravity torques of such a robot are zero: its file lacks numbers.
    """
    fixed = _fixed_to_base(masses, joints)
    if any(mass for link, mass in masses.items() if link not in fixed):
        return []
    heavy = [link for link, mass in masses.items() if mass]
    what_to_do = f'add a mass to one of {listed([link for link in masses if link not in fixed])}'
    still = f', or let a joint move {listed(heavy)}' if heavy else ''
    return [Fault('links', 'no moving link has a mass', f'at least one must: {what_to_do}{still}')]


def _fixed_to_base(links: Iterable[str], joints: Sequence[Edge]) -> set[str]:
    """Return the links of a tree that no joint moves, the base among them."""
    below: dict[str, list[str]] = {}
    for joint in joints:
        if not joint.moves:
            below.setdefault(joint.parent, []).append(joint.child)
    carried = {joint.child for joint in joints}
    waiting = [link for link in links if link not in carried]
    fixed: set[str] = set()
    while waiting:
        fixed.add(waiting[-1])
        waiting += below.get(waiting.pop(), [])
    return fixed


def _repeated(kind: str, names: Sequence[str]) -> Iterator[Fault]:
    for name, count in Counter(names).items():
        if count > 1:
            yield fault(f'{kind}.{name}', name, 'must be given only once')


def _unknown_ends(links: Sequence[str], joints: Sequence[Edge]) -> Iterator[Fault]:
    """Yield the ends of joints that are not links, and the links that two joints carry."""
    known, carried, hints = set(links), set(), MAX_LISTED  # later faults are not listed
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
    """Yield the joints whose parent is below their own child. Every link is visited once."""
    done: set[str] = set()
    in_cycle: set[str] = set()
    for start in parent_of:
        path: dict[str, None] = {}
        link = start
        while link in parent_of and link not in done and link not in path:
            path[link] = None
            link = parent_of[link]
        if link in path:
            visited = [*path]
            in_cycle.update(visited[visited.index(link) :])
        done.update(path)
    for joint in joints:
        if joint.child in in_cycle:
            yield fault(f'joints.{joint.name}.parent', joint.parent, 'must not be below its own child: a cycle')
