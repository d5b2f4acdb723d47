"""The fall of commands to zero when the pose cannot be trusted. Used by the node and by the sender process.

Imports NumPy only, so that the sender process starts fast and stays small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # of float64; numpy.typing would slow the start of the sender

LONGEST_FALL = 2.5  # s: launch and honcho kill a node five seconds after SIGINT
ZERO_SECONDS = 0.5  # s of zero commands at the end, because a message may be lost
MAX_STEP = 0.01  # s: a rate limit counts longer gaps between two commands as this long, to avoid a step


def rate_seconds(command: Array, rates: Array) -> float:
    """Return the minimum time (s) in which commands (k) reach zero within `rates` (k; N m/s, N/s).

    It is at most `LONGEST_FALL`, even for slower rates.
    """
    moving = np.abs(command) > 0
    with np.errstate(divide='ignore'):
        slowest = float(np.max(np.abs(command[moving]) / rates[moving], initial=0.0))
    return min(slowest, LONGEST_FALL)


def fall_seconds(command: Array, ramp_fraction: float, ramp: float, rates: Array) -> float:
    """Return the duration of a fall of commands (k) to zero, s: the risen part of the ramp, or longer by the rates.

    `ramp_fraction` is 0 to 1; `rates` (k) are in N m/s (N/s).
    """
    return max(min(ramp_fraction * ramp, LONGEST_FALL), rate_seconds(command, rates))


class Fall:
    """Fall of the last commands (k) to zero, all joints by a common factor, then zero for `ZERO_SECONDS`."""

    def __init__(
        self, command: Array, seconds: float, least: float, now: float, sent: Array = None, rates: Array = 0.0
    ) -> None:
        """`seconds` is the duration, `least` its minimum by the rate limits; `now` by a steady clock (s).

        `sent` (k) is the last command, if guiding torques were part of it: they end at once, within `rates` (k; per s).
        """
        self._command, self._seconds = np.array(command, dtype=float), seconds
        self._excess = np.zeros_like(self._command) if sent is None else np.asarray(sent) - self._command
        self._rates = np.maximum(rates, np.abs(self._command + self._excess) / LONGEST_FALL)
        self._fastest = 1 / least if least > 0 else np.inf  # of the factor, 1/s
        self._factor, self._since, self._last, self._zero_at = 1.0, now, now, np.inf

    def at(self, now: float) -> Array:
        """Return the commands (k) to send now; call it at least every 10 ms."""
        scheduled = 1 - (now - self._since) / self._seconds if self._seconds > 0 else 0.0
        passed, before = min(now - self._last, MAX_STEP), self._factor
        self._factor, self._last = max(scheduled, before - self._fastest * passed, 0.0), now
        command = self.unguided
        if self._excess.any():
            sent, max_step = before * self._command + self._excess, self._rates * passed
            step = command - sent
            self._excess = np.where(np.abs(step) > max_step, sent + np.clip(step, -max_step, max_step) - command, 0.0)
            command = command + self._excess
        if not self._factor and not self._excess.any():
            self._zero_at = min(self._zero_at, now)
        return command

    @property
    def unguided(self) -> Array:
        """The commands (k) without guiding torques."""
        return self._factor * self._command

    def left(self, now: float) -> float:
        """Return the remaining time to zero, s."""
        return max(0.0, self._since + self._seconds - now)

    def done(self, now: float) -> bool:
        """Return whether zero was sent for `ZERO_SECONDS`."""
        return now - self._zero_at >= ZERO_SECONDS
