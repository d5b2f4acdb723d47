"""Contact detection: external torques above thresholds that are learned from a run without contact.

Each joint has two thresholds, since a model has its largest errors during acceleration: `steady` for standstill and
constant velocity, `accelerating` for acceleration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from .dynamics import Dynamics

MIN_STATES = 200  # of a run from which thresholds are learned


@dataclass(frozen=True)
class Contact:
    """Whether something touches the robot, and where."""

    anywhere: bool
    hands: dict[str, bool]  # only hands with a joint of their own whose torque and threshold are known
    joints: tuple[str, ...]  # above their threshold


class ContactDetector:
    """Thresholds (n) of external torques, N m (N); infinite where unknown."""

    def __init__(self, joint_names: Sequence[str], own_joints: Mapping[str, Sequence[str]]) -> None:
        """Create a detector; `own_joints` are, for each hand, the joints that carry this hand and no other."""
        self.joint_names = tuple(joint_names)
        self.steady = np.full(len(self.joint_names), np.inf)
        self.accelerating = self.steady.copy()
        self.min_acceleration = 1.0  # rad/s^2 (m/s^2): above it, a joint counts as accelerating
        self._of_hand = {hand: np.isin(np.array(self.joint_names), list(joints)) for hand, joints in own_joints.items()}

    @property
    def ready(self) -> bool:
        """Whether any joint has a threshold."""
        return bool(np.isfinite(self.steady).any())

    def accelerates(self, acceleration: Array) -> bool:
        """Return whether the robot counts as accelerating."""
        return bool((np.abs(acceleration) > self.min_acceleration).any())

    def detect(self, torque: Array, acceleration: Array) -> Contact:
        """Return where external torques (n), NaN where unknown, are above the thresholds."""
        thresholds = self.accelerating if self.accelerates(acceleration) else self.steady
        beyond, known = np.abs(torque) > thresholds, np.isfinite(torque) & np.isfinite(thresholds)  # NaN: False
        joints = tuple(name for name, yes in zip(self.joint_names, beyond, strict=True) if yes)
        hands = {hand: bool(beyond[own].any()) for hand, own in self._of_hand.items() if known[own].any()}
        return Contact(bool(beyond.any()), hands, joints)


class ThresholdLearner:
    """Records the largest external torques of a run without contact."""

    def __init__(self, n: int) -> None:
        self._largest = np.full((2, n), np.nan)  # steady, accelerating; NaN: no data
        self.states = 0

    def add(self, torque: Array, accelerating: bool) -> None:
        """Add a state of the run; NaN where a joint's torque is unknown."""
        self.states += 1
        row = self._largest[int(accelerating)]
        np.fmax(row, np.abs(torque), out=row)

    def thresholds(self, factor: float, margin: float) -> tuple[Array, Array]:
        """Return thresholds (n), steady and accelerating: the largest torque times `factor`, plus `margin`.

        For acceleration, `margin` counts twice; a run without acceleration gives thresholds twice the steady ones. Zero
        means not known, as in the parameters: the joint has no data.
        """
        if self.states < MIN_STATES:
            raise ArgumentError(f'learned from {self.states} states, must be at least {MIN_STATES}, without contact')
        steady, accelerating = self._largest
        steady = np.where(np.isnan(steady), accelerating, steady)
        wider = np.where(np.isnan(accelerating), 2 * steady, np.fmax(accelerating, steady))
        return np.nan_to_num(factor * steady + margin), np.nan_to_num(factor * wider + 2 * margin)


def own_joints(dynamics: Dynamics, hands: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, by hand, the joints that carry this hand and no other; `hands` are links by name of the hand."""
    carrying = {hand: dynamics.jacobian(np.zeros(dynamics.n), link).any(axis=0) for hand, link in hands.items()}
    shared = sum((carries.astype(int) for carries in carrying.values()), np.zeros(dynamics.n, dtype=int)) > 1
    return {
        hand: [name for name, own in zip(dynamics.joint_names, carries & ~shared, strict=True) if own]
        for hand, carries in carrying.items()
    }
