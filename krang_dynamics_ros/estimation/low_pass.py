"""The observer's low pass, for what is held against it."""

from __future__ import annotations

from math import expm1

from ..core.spatial import Array


class LowPass:
    """x of before, as the momentum observer would show it: exact for any step, begun anew after a gap."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew with the next x."""
        self._value: Array | None = None
        self._stamp = self.begun = 0  # ns

    def follow(self, x: Array, gain: float, stamp: int, longest: float) -> Array:
        """Go on to x (n) at a stamp (ns); return what shows of it. `gain` is K (1/s), a gap is beyond `longest` (s)."""
        dt = (stamp - self._stamp) / 1e9
        if self._value is None or not -longest <= dt <= longest:
            self._value, self.begun = x.copy(), stamp
        elif dt > 0:
            self._value = self._value - expm1(-gain * dt) * (x - self._value)
        else:
            return self._value
        self._stamp = stamp
        return self._value
