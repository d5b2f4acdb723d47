"""Input that was refused: how often, and why the last time."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.text import shown_lines

_LONGEST = 1000  # characters of a reason


@dataclass
class Refusals:
    """A count and the latest reason, for diagnostics."""

    count: int = 0
    reason: str = ''

    def note(self, reason: str) -> bool:
        """Count a refusal; return False, so that `return refusals.note(...)` reads as what it means."""
        self.count += 1
        self.reason = shown_lines(reason, _LONGEST)
        return False
