"""What was found in a recording, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .errors_by_joint import JointError
from .stretches import GAP

FEW_ACCELERATIONS = 0.9  # of the states


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
    repeated: int = 0  # joint state messages whose stamps did not advance
    accelerated: int = 0  # states whose accelerations are known
    errors: list[JointError] = field(default_factory=list)
    effort_source: str = 'motor'  # what efforts mean, as the parameter of that name
    notes: list[str] = field(default_factory=list)  # on what is odd in the recording, or left out of it

    @property
    def oddities(self) -> Iterator[str]:
        """What is odd in the times of the recording, in a sentence each."""
        if self.jumps:
            yield f'Time went back {self.jumps} times; what was known before was forgotten.'
        if self.repeated:
            yield f'{self.repeated} messages of joint states had stamps that did not advance: they hold no new value.'
        if self.accelerated < FEW_ACCELERATIONS * self.states:
            yield (
                f'Accelerations are known in {self.accelerated} of {self.states} states: where time leaves a gap of '
                f'more than {GAP:g} usual steps a movement ends, and a period of the cutoff at its ends is left out.'
            )

    @property
    def why_no_errors(self) -> str:
        """Why there is nothing to hold the model against, in a sentence."""
        if self.effort_source == 'external':
            return 'effort_source is external: efforts are no part of the model, there is nothing to hold it against'
        return 'no efforts beside accelerations that can be known: there is nothing to hold the model against'
