"""Clocks, and stamps and arrivals of messages: whether time went back, resets of all that remembers, delays."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

Clock = Callable[[], float]  # seconds


class Clocks(NamedTuple):
    """The clocks of an engine."""

    steady: Clock = time.monotonic  # for ramps and rates of commands; it cannot be set
    arrival: Clock = time.monotonic  # of the arrivals of messages, for example simulated time
    stamp: Clock = time.monotonic  # of stamps: that of the system, or simulated time


STEADY = Clocks()  # one clock for all


DRIFT = 1e-3  # s/s: two clocks drift apart by less


class Delay:
    """The delay of messages with the same joints, by arrival minus stamp (ns)."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.forget()

    def forget(self) -> None:
        """Restart with the next message."""
        self.stamp = 0  # of the latest message; 0: none yet
        self.arrival = self.excess = self._least = 0  # `excess`: of the delay over the smallest one

    def observe(self, stamp: int, arrival: int) -> None:
        """Update the delay with a stamped message. The smallest delay may rise by `DRIFT`."""
        delay = arrival - stamp
        least = self._least + (arrival - self.arrival) * DRIFT
        self._least = delay if not self.stamp or delay < least else int(least)
        self.excess, self.stamp, self.arrival = delay - self._least, stamp, arrival


NEVER = -(2**62)


class Timeline:
    """Stamps and arrivals (ns) of accepted messages, and resets: each calls the registered `forget` functions.

    Stamps are compared with stamps and arrivals with arrivals, never stamps with arrivals.
    """

    def __init__(self) -> None:
        self.resets = 0  # all resets
        self.time_resets = 0  # resets because time went back
        self._forget: list[Callable[[], None]] = []
        self._begin()

    def _begin(self) -> None:
        self.newest_stamp = self.latest_arrival = NEVER

    def on_reset(self, forget: Callable[[], None]) -> None:
        """Call a function at each reset."""
        self._forget.append(forget)

    def goes_back(self, stamp: int, now: int, limit: float) -> bool:
        """Return whether a message is older than the newest one by more than a limit (ns)."""
        return bool(stamp and stamp < self.newest_stamp - limit) or now < self.latest_arrival - limit

    def advance(self, stamp: int, now: int) -> None:
        """Store the times of an accepted message."""
        if stamp > self.newest_stamp and stamp:
            self.newest_stamp = stamp
        self.latest_arrival = max(self.latest_arrival, now)

    def reset(self, *, time_went_back: bool) -> None:
        """Count a reset and call all registered `forget` functions."""
        self.resets += 1
        self.time_resets += time_went_back
        self._begin()
        for forget in self._forget:
            forget()
