"""Time: when it began anew, decided here and nowhere else, and how late messages come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
