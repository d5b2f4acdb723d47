"""Joints that follow another joint, as the second finger of a gripper (URDF's <mimic>)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..core.errors import Fault, did_you_mean, fault, listed
from .xml_reading import MAX_NUMBER


@dataclass(frozen=True)
class Mimic:
    """Relation of a follower to `joint`: q = multiplier * q_joint + offset (rad, m)."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def after(self, other: Mimic) -> Mimic:
        """Return the relation of this follower to the joint that `joint` itself follows by `other`."""
        return Mimic(other.joint, self.multiplier * other.multiplier, self.multiplier * other.offset + self.offset)


def mimic_faults(moving: Mapping[str, Mimic | None]) -> list[Fault]:
    """Return the faults of mimic joints: unknown joints, cycles, numbers out of range.

    `moving` has all moving joints by name, with their relation, or None for independent joints.
    """
    faults = []
    for name, mimic in moving.items():
        if mimic is not None and mimic.joint not in moving:
            hint = did_you_mean(mimic.joint, moving)
            allowed = f'must be a moving joint; {hint}moving joints: {listed([*moving])}'
            faults.append(fault(f'joints.{name}.mimic.joint', mimic.joint, allowed))
    return (
        faults
        or [fault(f'joints.{name}.mimic.joint', at, 'must not follow itself: a cycle') for name, at in _cycles(moving)]
        or [*_too_large({name: mimic for name, mimic in moving.items() if mimic is not None})]
    )


def _too_large(mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
    """Yield the joints whose total multiplier or offset is too large."""
    for name, mimic in resolved(mimics).items():
        if not max(abs(mimic.multiplier), abs(mimic.offset)) <= MAX_NUMBER:
            what = f'{mimic.multiplier:g} * {mimic.joint} + {mimic.offset:g} in total'
            yield Fault(f'joints.{name}.mimic', what, f'must be at most {MAX_NUMBER:g} in size')


def _cycles(moving: Mapping[str, Mimic | None]) -> Iterator[tuple[str, str]]:
    """Yield the joints that do not end at an independent joint, and the joint at which the cycle closes."""
    free = {name for name, mimic in moving.items() if mimic is None}
    for name in moving:
        path: dict[str, None] = {}
        at = name
        while at not in free and at not in path and (mimic := moving[at]) is not None:
            path[at] = None
            at = mimic.joint
        if at in free:
            free.update(path)
        else:
            yield name, at


def resolved(mimics: Mapping[str, Mimic]) -> dict[str, Mimic]:
    """Return the relation of each follower to an independent joint, by name, through all joints between them."""
    ends: dict[str, Mimic] = {}
    for name in mimics:
        chain = [name]
        while (ahead := mimics[chain[-1]].joint) in mimics and ahead not in ends:
            chain.append(ahead)
        for follower in reversed(chain):
            mimic = mimics[follower]
            ends[follower] = mimic.after(ends[mimic.joint]) if mimic.joint in ends else mimic
    return ends
