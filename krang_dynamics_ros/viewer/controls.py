"""What can be asked for on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Controls(Protocol):
    """What the page asks for; called on the thread that calls `Page.act`."""

    def command(self, name: str) -> None:
        """Do `pause`, `resume` or `reset`."""

    def pose(self, joint: str, position: float) -> None:
        """Put a joint (rad or m)."""

    def choose_terms(self, terms: Sequence[str]) -> None:
        """Let `torque/total` be the sum of these."""

    def hang(self, hand: str, mass: float) -> None:
        """Hang a bag (kg) on a hand, which the dynamics node is not told."""

    def tell_payload(self, hand: str, mass: float) -> None:
        """Tell the dynamics node that a hand holds a bag (kg)."""

    def zero_sensor(self, hand: str) -> None:
        """Take what a hand's sensor reads now for nothing."""


Ask = Callable[[Callable[[Controls], None]], None]  # puts something to be done on the list
