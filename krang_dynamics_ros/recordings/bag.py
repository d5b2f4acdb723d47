"""Reading and writing of bags, without ROS.

Messages are read in order of arrival; consecutive joint states of the same form (frame, names, sizes) come as
runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ..core.errors import ArgumentError
from ..core.optional import optional
from ..live.messages import READERS, JointStateReader, JointStateRun, Message, WrenchMessage, read_or_refuse
from ..live.robot_inputs import InputTopics
from .recording import RecordingError, reading, time_text
from .source import EARLIEST, LATEST, TYPES, USUAL_TOPICS, Contents, Source, Topics

MAX_RUN = 1024  # joint states


class RunCollector:
    """Collects consecutive joint states of the same form (frame, names, sizes), and the wrenches between, into runs."""

    def __init__(self, reader: JointStateReader) -> None:
        self._reader = reader
        self._raws: list[bytes] = []
        self._arrivals: list[int] = []
        self._wrenches: list[tuple[int, WrenchMessage]] = []

    def add_joint_state(self, raw: bytes, arrival: int) -> Iterator[Message | JointStateRun]:
        """Add a joint state; if it does not fit into the present run, yield that run first."""
        if self._raws and (len(self._raws) >= MAX_RUN or len(raw) != len(self._raws[0])):
            yield from self.flush()
        self._raws.append(raw)
        self._arrivals.append(arrival)

    def add_other(self, message: Message) -> Iterator[Message | JointStateRun]:
        """Add a message that is no joint state: a wrench joins the present run; else yield run and message."""
        if isinstance(message, WrenchMessage) and self._raws:
            self._wrenches.append((len(self._raws), message))
        else:
            yield from self.flush()
            yield message

    def flush(self) -> Iterator[Message | JointStateRun]:
        """Yield the collected messages: as a run, or one by one if one is unreadable or has another form."""
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
        """Return the messages as a run; None if a message is unreadable or has another form."""
        try:
            return self._reader.read_run(raws, arrivals)
        except Exception:  # the messages are then read one by one, and an unreadable one is refused with its reason
            return None


rosbag2 = optional('rosbags.rosbag2', 'recordings')
typesys = optional('rosbags.typesys', 'recordings')
interfaces = optional('rosbags.interfaces', 'recordings')
METADATA = 'metadata.yaml'
VERSION = 9  # of the metadata, which Jazzy writes
FOREVER = 2147483647  # s, rmw's infinity
FILES = ('.mcap', '.db3')
A_BAG = '; must be a bag of ROS 2, mcap or sqlite3'
SAME_TIME = 1_000_000_000  # ns: times in `metadata.yaml` and in the files that differ by less count as equal


class Bag(Source):
    """A bag; `with` opens it."""

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
        types = {connection.topic: connection.msgtype for connection in self._connections}
        topics = {topic: (types[topic], counts[topic]) for topic in sorted(types)}
        there = [file.metadata for file in self._files if file.metadata.message_count]
        start = min((known.start_time for known in there), default=0)
        return Contents(topics, start, max((known.end_time for known in there), default=0), str(self.path))

    @property
    def notes(self) -> list[str]:
        """Contradictions between `metadata.yaml` and the files; the files are used."""
        if len(self._files) == 1 and self._files[0] is self._reader.storage:
            return []
        count, listed = sum(count for _, count in self.contents.topics.values()), self._reader.message_count
        found = [f'{METADATA} lists {listed} messages, the files have {count}: the files are used'] * (listed != count)
        if count and listed:
            times = {'start': (self._reader.start_time, self.contents.start)}
            times['end'] = (self._reader.end_time, self.contents.end)
            for name, (by_metadata, by_files) in times.items():
                if abs(by_metadata - by_files) > SAME_TIME:
                    seconds = f'{time_text(by_metadata * 1e-9)} s, the files have {time_text(by_files * 1e-9)} s'
                    found.append(f'{METADATA} has the {name} at {seconds}: the files are used')
        unlisted = {path.name for path in self.path.iterdir() if path.suffix in FILES}
        unlisted -= {Path(file.path).name for file in self._files}
        return found + [f'{name} is in the folder and not in {METADATA}: it is left out' for name in sorted(unlisted)]

    @property
    def first_arrival(self) -> int:
        """Arrival of the first message, ns, by the message itself."""
        with reading(self.path):
            return next((arrival for _, arrival, _ in self._reader.messages(self._connections, 0, LATEST)), 0)

    def topics(
        self, hands: Sequence[str], joint_states: str = '', imu: bool = False, names: InputTopics = USUAL_TOPICS
    ) -> Topics:
        """Return the topics to read."""
        return self.contents.robot_topics(hands, joint_states, imu, names)

    def runs(self, topics: Topics, start: int = EARLIEST, end: int = LATEST) -> Iterator[Message | JointStateRun]:
        """Yield messages; consecutive joint states, and the wrenches between them, come as runs."""
        readers = self._readers(topics)
        types = {topic: TYPES[role] for topic, role, _ in topics.all}
        connections = [x for x in self._connections if x.msgtype == types.get(x.topic)]
        collector = RunCollector(JointStateReader(self._deserializer('joint_states')))
        bounds = max(start, 0), min(end, LATEST)  # of arrivals, ns
        with reading(self.path, 'reading stopped: '):
            for connection, arrival, raw in self._reader.messages(connections, *bounds) if connections else ():
                if connection.topic == topics.joint_states:
                    yield from collector.add_joint_state(raw, arrival)
                else:
                    yield from collector.add_other(readers[connection.topic](raw, arrival))
            yield from collector.flush()

    def _deserializer(self, role: str) -> Callable[[bytes], Any]:
        return partial(self._types.deserialize_cdr, typename=TYPES[role])

    def _readers(self, topics: Topics) -> dict[str, Callable[[bytes, int], Message]]:
        """Return the reader of each topic except joint states; refuse topics of a wrong type."""
        types = {topic: message_type for topic, (message_type, _) in self.contents.topics.items()}
        readers: dict[str, Callable[[bytes, int], Message]] = {}
        for topic, role, hand in topics.all:
            if types.get(topic, TYPES[role]) != TYPES[role]:
                raise RecordingError(f'{self.path}: topic {topic} is {types[topic]}, must be {TYPES[role]}')
            if role in READERS:
                read = partial(READERS[role], self._deserializer(role), hand)
                readers[topic] = partial(read_or_refuse, read, role, hand)
        if topics.joint_states not in types:
            known = ', '.join(name for name, x in types.items() if x == TYPES['joint_states']) or 'none'
            raise RecordingError(
                f'{self.path}: no topic {topics.joint_states}, must have joint states; topics of that type: {known}'
            )
        return {topic: reader for topic, reader in readers.items() if topic in types}


def is_bag(path: Path) -> bool:
    """Return whether a path looks like a bag: a folder with metadata, or one of its files."""
    return (path / METADATA).exists() or path.suffix in FILES


def check_new_folder(folder: Path) -> None:
    """Refuse the path of a bag that exists, or whose parent does not exist."""
    if folder.exists() or folder.is_symlink():
        raise ArgumentError(f'{folder}: exists, must be a new folder; name another one, or remove it')
    if not folder.absolute().parent.is_dir():
        raise ArgumentError(f'{folder.parent}: no such folder, must exist; make it with mkdir -p')


class BagWriter:
    """A new bag. Use it in a `with`: its end writes the index, without which the bag cannot be read."""

    def __init__(self, folder: Path) -> None:
        """Create the folder; `ArgumentError` if the path exists."""
        check_new_folder(folder)
        self.folder, self._connections = folder, {}  # type: Path, dict[str, Any]
        self._types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
        self._writer = rosbag2.Writer(folder, version=VERSION, storage_plugin=rosbag2.StoragePlugin.MCAP)
        self._writer.open()

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, topic: str, kind: str, arrival: int, raw: bytes, latched: bool = False) -> None:
        """Add a serialized message (CDR) of a type such as sensor_msgs/msg/JointState; `arrival` is in ns."""
        if topic not in self._connections:
            if kind not in self._types.types:
                raise RecordingError(f'{topic}: is {kind}, which cannot be recorded; use `ros2 bag record`')
            profiles = [_latched()] if latched else []
            self._connections[topic] = self._writer.add_connection(
                topic, kind, typestore=self._types, offered_qos_profiles=profiles
            )
        self._writer.write(self._connections[topic], arrival, raw)


def _latched() -> Any:
    """Return the quality of service of a latched topic (transient local)."""
    forever = interfaces.QosTime(FOREVER, 0)
    return interfaces.Qos(
        history=interfaces.QosHistory.KEEP_LAST, depth=1, reliability=interfaces.QosReliability.RELIABLE,
        durability=interfaces.QosDurability.TRANSIENT_LOCAL, deadline=forever, lifespan=forever,
        liveliness=interfaces.QosLiveliness.AUTOMATIC, liveliness_lease_duration=forever,
        avoid_ros_namespace_conventions=False,
    )  # fmt: skip
