"""Messages as they come from a bag, joint states of one layout put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..messages.joint_state_cdr import JointStateReader
from ..messages.message_cdr import read_or_refuse
from ..messages.messages import JointStateRun, Message, WrenchMessage

RUN = 1024  # joint states that are put together at most


class RunCollector:
    """Holds back joint states, and the wrenches between them, until something else comes or there are enough."""

    def __init__(self, reader: JointStateReader) -> None:
        self._reader = reader
        self._raws: list[bytes] = []
        self._arrivals: list[int] = []
        self._wrenches: list[tuple[int, WrenchMessage]] = []

    def joint_state(self, raw: bytes, arrival: int) -> Iterator[Message | JointStateRun]:
        """Take in a joint state; return what is not held back any longer."""
        if self._raws and (len(self._raws) >= RUN or len(raw) != len(self._raws[0])):
            yield from self.rest()
        self._raws.append(raw)
        self._arrivals.append(arrival)

    def other(self, message: Message) -> Iterator[Message | JointStateRun]:
        """Take in another message; return what is not held back any longer."""
        if isinstance(message, WrenchMessage) and self._raws:
            self._wrenches.append((len(self._raws), message))
        else:
            yield from self.rest()
            yield message

    def rest(self) -> Iterator[Message | JointStateRun]:
        """Return all that is held back."""
        raws, arrivals, wrenches = self._raws, self._arrivals, self._wrenches
        self._raws, self._arrivals, self._wrenches = [], [], []
        if not raws:
            return
        run = self._run(raws, arrivals)
        if run is not None:
            yield replace(run, wrenches=wrenches)
            return
        for k, (raw, arrival) in enumerate(zip(raws, arrivals, strict=True)):
            yield read_or_refuse(self._reader.read, 'joint_states', '', raw, arrival)
            yield from (message for before, message in wrenches if before == k + 1)

    def _run(self, raws: Sequence[bytes], arrivals: Sequence[int]) -> JointStateRun | None:
        """Return all of them at once; None where one cannot be read, or is of another layout."""
        try:
            return self._reader.read_run(raws, arrivals)
        except Exception:  # it is read by itself then, and says why
            return None
