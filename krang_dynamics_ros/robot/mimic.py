"""Joints that follow another one, as the second finger of a gripper does (URDF's <mimic>)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..core.errors import Fault, did_you_mean, fault, listed
from .xml_reading import MOST


@dataclass(frozen=True)
class Mimic:
    """A joint follows the one named here: its q is multiplier times that one's, plus offset (rad, or m)."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def after(self, other: Mimic) -> Mimic:
        """Return how the follower of a joint goes with the one that this joint itself follows."""
        return Mimic(other.joint, self.multiplier * other.multiplier, self.multiplier * other.offset + self.offset)


def mimic_faults(moving: Mapping[str, Mimic | None]) -> list[Fault]:
    """Return what keeps joints that mimic from having one joint each that they follow in the end.

    `moving` has every joint that moves, and how it follows another one, None if it does not.
    """
    faults = []
    for name, mimic in moving.items():
        if mimic is not None and mimic.joint not in moving:
            hint = did_you_mean(mimic.joint, moving)
            allowed = f'must be a joint that moves; {hint}these do: {listed([*moving])}'
            faults.append(fault(f'joints.{name}.mimic.joint', mimic.joint, allowed))
    return (
        faults
        or [fault(f'joints.{name}.mimic.joint', at, 'must not follow itself: a cycle') for name, at in _cycles(moving)]
        or [*_too_large({name: mimic for name, mimic in moving.items() if mimic is not None})]
    )


def _too_large(mimics: Mapping[str, Mimic]) -> Iterator[Fault]:
    """Yield the joints whose multiplier or offset comes to no number, through those that they follow."""
    for name, mimic in resolved(mimics).items():
        if not max(abs(mimic.multiplier), abs(mimic.offset)) <= MOST:
            what = f'times {mimic.multiplier:g} plus {mimic.offset:g} of {mimic.joint} in all'
            yield Fault(f'joints.{name}.mimic', what, f'must be at most {MOST:g} in size')


def _cycles(moving: Mapping[str, Mimic | None]) -> Iterator[tuple[str, str]]:
    """Yield the joints that follow none that is free in the end, and where following them comes round."""
    free = {name for name, mimic in moving.items() if mimic is None}
    for name in moving:
        passed: dict[str, None] = {}
        at = name
        while at not in free and at not in passed and (mimic := moving[at]) is not None:
            passed[at] = None
            at = mimic.joint
        if at in free:
            free.update(passed)
        else:
            yield name, at


def resolved(mimics: Mapping[str, Mimic]) -> dict[str, Mimic]:
    """Return by name how each joint that mimics goes with one that does not, through however many between them."""
    ends: dict[str, Mimic] = {}
    for name in mimics:
        chain = [name]
        while (ahead := mimics[chain[-1]].joint) in mimics and ahead not in ends:
            chain.append(ahead)
        for follower in reversed(chain):
            mimic = mimics[follower]
            ends[follower] = mimic.after(ends[mimic.joint]) if mimic.joint in ends else mimic
    return ends
