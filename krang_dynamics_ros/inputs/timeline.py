"""The time of what is known: when it began anew, decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

NEVER = -(2**62)


class Timeline:
    """Stamps and arrivals (ns) of accepted messages, and resets: each lets everything that remembers begin anew.

    Stamps are compared with stamps and arrivals with arrivals, never one with the other.
    """

    def __init__(self) -> None:
        self.resets = 0  # in all; the next two are among them
        self.time_resets = 0  # because time went back
        self._forget: list[Callable[[], None]] = []
        self._begin()

    def _begin(self) -> None:
        self.newest = self.latest = NEVER  # the newest stamp, the latest arrival

    def on_reset(self, forget: Callable[[], None]) -> None:
        """Call a function at each reset."""
        self._forget.append(forget)

    def goes_back(self, stamp: int, now: int, limit: float) -> bool:
        """Tell whether a message is of before what is known, by more than a limit (ns)."""
        return bool(stamp and stamp < self.newest - limit) or now < self.latest - limit

    def advance(self, stamp: int, now: int) -> None:
        """Take in the times of an accepted message."""
        if stamp > self.newest and stamp:
            self.newest = stamp
        self.latest = max(self.latest, now)

    def reset(self, *, time_went_back: bool) -> None:
        """Begin anew, with everything that remembers."""
        self.resets += 1
        self.time_resets += time_went_back
        self._begin()
        for forget in self._forget:
            forget()
