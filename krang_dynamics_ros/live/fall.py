"""The way of commands to zero when no pose can be trusted: the node follows it, and the process that outlives the node.

It needs NumPy alone, so that the process that sends the commands starts fast and stays small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # of float64; the process that sends imports nothing for a name

LONGEST_FALL = 2.5  # s: launch and honcho kill a node five seconds after they asked it to end
ZERO_SECONDS = 0.5  # s: for so long zero is sent at the end, for a message that is lost
MAX_STEP = 0.01  # s: longer gaps between two commands never count for a rate limit, so none makes a step


def rate_seconds(command: Array, rates: Array) -> float:
    """Return how long `rates` (k; N m/s, N/s) make commands (k) take to zero at least, s.

    Rates are at least each limit in two seconds; whatever they are, zero is reached within `LONGEST_FALL`.
    """
    moving = np.abs(command) > 0
    with np.errstate(divide='ignore'):
        slowest = float(np.max(np.abs(command[moving]) / rates[moving], initial=0.0))
    return min(slowest, LONGEST_FALL)


def fall_seconds(command: Array, share: float, ramp: float, rates: Array) -> float:
    """Return how long commands (k) take to zero, s: what is left of the ramp, and not faster than `rates` allow.

    `share` is how much of the ramp was up, 0 to 1; `rates` (k) are in N m/s (N/s).
    """
    return max(min(share * ramp, LONGEST_FALL), rate_seconds(command, rates))


class Fall:
    """The last commands (k) on their way to zero, all joints by one factor, and zero for `ZERO_SECONDS` after that."""

    def __init__(self, command: Array, seconds: float, least: float, now: float) -> None:
        """`seconds` is how long the way takes, `least` how long the rates make it take; `now` by a steady clock (s)."""
        self._command, self._seconds = np.array(command, dtype=float), seconds
        self._fastest = 1 / least if least > 0 else np.inf  # of the factor, 1/s
        self._factor, self._since, self._last, self._zero_at = 1.0, now, now, np.inf

    def at(self, now: float) -> Array:
        """Return the commands (k) to send now; call it at least every 10 ms."""
        wanted = 1 - (now - self._since) / self._seconds if self._seconds > 0 else 0.0
        reachable = self._factor - self._fastest * min(now - self._last, MAX_STEP)
        self._factor, self._last = max(wanted, reachable, 0.0), now
        if not self._factor:
            self._zero_at = min(self._zero_at, now)
        return self._factor * self._command

    def left(self, now: float) -> float:
        """Return how long the way still takes, s."""
        return max(0.0, self._since + self._seconds - now)

    def done(self, now: float) -> bool:
        """Tell whether zero was sent for long enough."""
        return now - self._zero_at >= ZERO_SECONDS
