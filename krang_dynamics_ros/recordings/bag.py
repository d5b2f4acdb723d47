"""Messages of a bag in order of arrival; joint states of the same layout come as blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ..core.optional import optional
from ..live.messages import READERS, JointStateReader, JointStateRun, Message, WrenchMessage, read_or_refuse
from ..live.robot_inputs import InputTopics
from .recording import RecordingError, reading
from .source import EARLIEST, LATEST, TYPES, USUAL_TOPICS, Contents, Source, Topics
from .topics import topics_of

RUN = 1024  # largest number of joint states in a block


class RunCollector:
    """Collects joint states of the same layout, and the wrenches between them, into blocks."""

    def __init__(self, reader: JointStateReader) -> None:
        self._reader = reader
        self._raws: list[bytes] = []
        self._arrivals: list[int] = []
        self._wrenches: list[tuple[int, WrenchMessage]] = []

    def joint_state(self, raw: bytes, arrival: int) -> Iterator[Message | JointStateRun]:
        """Add a joint state; yield completed messages."""
        if self._raws and (len(self._raws) >= RUN or len(raw) != len(self._raws[0])):
            yield from self.flush()
        self._raws.append(raw)
        self._arrivals.append(arrival)

    def other(self, message: Message) -> Iterator[Message | JointStateRun]:
        """Add another message; yield completed messages."""
        if isinstance(message, WrenchMessage) and self._raws:
            self._wrenches.append((len(self._raws), message))
        else:
            yield from self.flush()
            yield message

    def flush(self) -> Iterator[Message | JointStateRun]:
        """Yield all collected messages."""
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
        """Return the messages as a block; None if a message is unreadable or has another layout."""
        try:
            return self._reader.read_run(raws, arrivals)
        except Exception:  # then each message is read alone, and gives the reason
            return None


rosbag2 = optional('rosbags.rosbag2', 'recordings')
typesys = optional('rosbags.typesys', 'recordings')
METADATA = 'metadata.yaml'
FILES = ('.mcap', '.db3')
A_BAG = '; must be a bag of ROS 2, mcap or sqlite3'
SAME_TIME = 1_000_000_000  # ns: times that differ by less are reported as equal


class Bag(Source):
    """An open bag."""

    seekable = True

    def __init__(self, path: str | Path) -> None:
        super().__init__(Path(path))
        with reading(self.path, after=A_BAG):
            self._reader = rosbag2.Reader(self.path)
        self._types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)

    def __enter__(self) -> Bag:
        with reading(self.path, after=A_BAG):
            self._reader.open()
        return self

    def close(self) -> None:
        """Close the files."""
        self._reader.close()

    @cached_property
    def _connections(self) -> list[Any]:
        """Connections of the bag's files. `metadata.yaml` lists them too, and can be wrong."""
        return [connection for file in self._files for connection in file.connections]

    @property
    def _files(self) -> list[Any]:
        return getattr(self._reader.storage, 'storages', None) or [self._reader.storage]

    @cached_property
    def contents(self) -> Contents:
        """Contents of the bag, from its files."""
        counts: Counter[str] = Counter()
        for connection in self._connections:
            counts[connection.topic] += connection.msgcount
        kinds = {connection.topic: connection.msgtype for connection in self._connections}
        topics = {topic: (kinds[topic], counts[topic]) for topic in sorted(kinds)}
        there = [file.metadata for file in self._files if file.metadata.message_count]
        start = min((known.start_time for known in there), default=0)
        return Contents(topics, start, max((known.end_time for known in there), default=0), str(self.path))

    @property
    def notes(self) -> list[str]:
        """Contradictions between `metadata.yaml` and the files; the files count."""
        if len(self._files) == 1 and self._files[0] is self._reader.storage:
            return []
        held, said = sum(count for _, count in self.contents.topics.values()), self._reader.message_count
        found = [f'{METADATA} says {said} messages, its files hold {held}, which count'] if said != held else []
        if held and said:
            times = {'begins': (self._reader.start_time, self.contents.start)}
            times['ends'] = (self._reader.end_time, self.contents.end)
            for what, (says, is_at) in times.items():
                if abs(says - is_at) > SAME_TIME:
                    seconds = f'{says * 1e-9:.10g} s, by its files at {is_at * 1e-9:.10g} s, which counts'
                    found.append(f'{METADATA} says that it {what} at {seconds}')
        unlisted = {path.name for path in self.path.iterdir() if path.suffix in FILES}
        unlisted -= {Path(file.path).name for file in self._files}
        return found + [f'{name} is in the folder and not in {METADATA}: left out' for name in sorted(unlisted)]

    @property
    def begin(self) -> int:
        """Arrival of the first message, ns, from the message itself."""
        with reading(self.path):
            return next((arrival for _, arrival, _ in self._reader.messages(self._connections, 0, LATEST)), 0)

    def topics(
        self, hands: Sequence[str], joint_states: str = '', imu: bool = False, names: InputTopics = USUAL_TOPICS
    ) -> Topics:
        """Return the topics to read."""
        return topics_of(self.contents, hands, joint_states, imu, names)

    def runs(self, topics: Topics, start: int = EARLIEST, end: int = LATEST) -> Iterator[Message | JointStateRun]:
        """Yield messages; joint states with the same names, and the wrenches between them, come as blocks."""
        readers = self._readers(topics)
        kinds = {topic: TYPES[what] for topic, what, _ in topics.all}
        connections = [x for x in self._connections if x.msgtype == kinds.get(x.topic)]
        collector = RunCollector(JointStateReader(self._reading('joint_states')))
        bounds = max(start, 0), min(end, LATEST)  # by messages
        with reading(self.path, 'cannot be read on: '):
            for connection, arrival, raw in self._reader.messages(connections, *bounds) if connections else ():
                if connection.topic == topics.joint_states:
                    yield from collector.joint_state(raw, arrival)
                else:
                    yield from collector.other(readers[connection.topic](raw, arrival))
            yield from collector.flush()

    def _reading(self, what: str) -> Callable[[bytes], Any]:
        return partial(self._types.deserialize_cdr, typename=TYPES[what])

    def _readers(self, topics: Topics) -> dict[str, Callable[[bytes, int], Message]]:
        """Return the reader of each topic except joint states; refuse topics of a wrong type."""
        kinds = {topic: kind for topic, (kind, _) in self.contents.topics.items()}
        readers: dict[str, Callable[[bytes, int], Message]] = {}
        for topic, what, hand in topics.all:
            if kinds.get(topic, TYPES[what]) != TYPES[what]:
                raise RecordingError(f'{self.path}: topic {topic} is {kinds[topic]}, must be {TYPES[what]}')
            if what in READERS:
                read = partial(READERS[what], self._reading(what), hand)
                readers[topic] = partial(read_or_refuse, read, what, hand)
        if topics.joint_states not in kinds:
            known = ', '.join(name for name, kind in kinds.items() if kind == TYPES['joint_states']) or 'none'
            raise RecordingError(
                f'{self.path}: no topic {topics.joint_states}, must have joint states; topics of that type: {known}'
            )
        return {topic: reader for topic, reader in readers.items() if topic in kinds}


def is_bag(path: Path) -> bool:
    """Return whether a path looks like a bag: a folder with metadata, or one of its files."""
    return (path / METADATA).exists() or path.suffix in FILES
