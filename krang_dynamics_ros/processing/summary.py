"""What was found in a recording, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors_by_joint import JointError


@dataclass
class Summary:
    """What was found in a recording."""

    recording: str
    digest: str
    states: int = 0
    seconds: float = 0.0
    backend: str = ''
    topics: dict[str, tuple[str, int]] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)  # topics that were listened to
    heard: int = 0  # joint state messages
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)  # by input: how many, and the last reason
    jumps: int = 0  # how often time went back
    errors: list[JointError] = field(default_factory=list)
    effort_source: str = 'motor'  # what efforts mean, as the parameter of that name
    notes: list[str] = field(default_factory=list)  # on what is odd in the recording, or left out of it

    @property
    def why_no_errors(self) -> str:
        """Why there is nothing to hold the model against, in a sentence."""
        if self.effort_source == 'external':
            return 'effort_source is external: efforts are no part of the model, there is nothing to hold it against'
        return 'no efforts beside accelerations that can be known: there is nothing to hold the model against'
