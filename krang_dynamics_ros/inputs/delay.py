"""How late messages come: their delay above the smallest one, for clocks that differ by any amount."""

from __future__ import annotations

from collections.abc import Sequence

DRIFT = 1e-3  # s/s: two clocks drift apart by less


class Delay:
    """The delay of the messages of one list of names, by arrival minus stamp (ns)."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.forget()

    def forget(self) -> None:
        """Begin anew with the next message."""
        self.stamp = 0  # of the latest message; zero: there is none
        self.arrival = self.lateness = self._least = 0

    def observe(self, stamp: int, arrival: int) -> None:
        """Take in a message with a stamp. The smallest delay may rise by `DRIFT`."""
        delay = arrival - stamp
        least = self._least + (arrival - self.arrival) * DRIFT
        self._least = delay if not self.stamp or delay < least else int(least)
        self.lateness, self.stamp, self.arrival = delay - self._least, stamp, arrival
