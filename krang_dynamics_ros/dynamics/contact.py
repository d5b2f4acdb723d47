"""Contact: an external torque beyond what a robot that touches nothing has been seen to show.

Two thresholds to a joint, since a model errs most while it accelerates: one for a robot that moves evenly or stands,
one for a robot that accelerates. Both are learnt from a run in which it touches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from .dynamics import Dynamics

FEWEST = 200  # states of a run to learn from


@dataclass(frozen=True)
class Contact:
    """Whether something touches the robot, and where."""

    anywhere: bool
    hands: dict[str, bool]  # those that have a joint of their own whose torque and threshold are known
    joints: tuple[str, ...]  # those beyond their threshold


class ContactDetector:
    """Thresholds (n), N m, or N for a prismatic joint; infinite where none is known."""

    def __init__(self, joint_names: Sequence[str], own_joints: Mapping[str, Sequence[str]]) -> None:
        """`own_joints` are, for each hand, those that carry it and no other hand."""
        self.joint_names = tuple(joint_names)
        self.even = np.full(len(self.joint_names), np.inf)
        self.accelerating = self.even.copy()
        self.fast = 1.0  # rad/s^2, m/s^2: a robot with a joint beyond this accelerates
        self._of_hand = {hand: np.isin(np.array(self.joint_names), list(joints)) for hand, joints in own_joints.items()}

    @property
    def ready(self) -> bool:
        """Whether any joint has a threshold."""
        return bool(np.isfinite(self.even).any())

    def accelerates(self, acceleration: Array) -> bool:
        """Tell whether the robot counts as accelerating."""
        return bool((np.abs(acceleration) > self.fast).any())

    def detect(self, torque: Array, acceleration: Array) -> Contact:
        """Return where external torques (n), NaN where unknown, are beyond the thresholds."""
        thresholds = self.accelerating if self.accelerates(acceleration) else self.even
        beyond, known = np.abs(torque) > thresholds, np.isfinite(torque) & np.isfinite(thresholds)  # NaN is not beyond
        joints = tuple(name for name, yes in zip(self.joint_names, beyond, strict=True) if yes)
        hands = {hand: bool(beyond[own].any()) for hand, own in self._of_hand.items() if known[own].any()}
        return Contact(bool(beyond.any()), hands, joints)


class ThresholdLearner:
    """The largest external torques of a run without contact."""

    def __init__(self, n: int) -> None:
        self._largest = np.full((2, n), np.nan)  # evenly, accelerating; NaN for what was not seen
        self.states = 0

    def add(self, torque: Array, accelerating: bool) -> None:
        """Take in one state of the run; NaN where a joint's torque is not known."""
        self.states += 1
        row = self._largest[int(accelerating)]
        np.fmax(row, np.abs(torque), out=row)

    def thresholds(self, margin: float, floor: float) -> tuple[Array, Array]:
        """Return thresholds (n) for even motion and for acceleration: the largest times `margin`, plus `floor`.

        They are wider for acceleration, twice as wide if none was seen; zero for a joint that was not seen at all.
        """
        if self.states < FEWEST:
            raise ArgumentError(f'learnt from {self.states} states, must be {FEWEST} at least, without contact')
        even, accelerating = self._largest
        even = np.where(np.isnan(even), accelerating, even)
        wider = np.where(np.isnan(accelerating), 2 * even, np.fmax(accelerating, even))
        return np.nan_to_num(margin * even + floor), np.nan_to_num(margin * wider + 2 * floor)


def own_joints(dynamics: Dynamics, hands: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the joints that carry one hand (links by name) and no other, by hand."""
    carrying = {hand: dynamics.jacobian(np.zeros(dynamics.n), link).any(axis=0) for hand, link in hands.items()}
    shared = sum((carries.astype(int) for carries in carrying.values()), np.zeros(dynamics.n, dtype=int)) > 1
    return {
        hand: [name for name, own in zip(dynamics.joint_names, carries & ~shared, strict=True) if own]
        for hand, carries in carrying.items()
    }
