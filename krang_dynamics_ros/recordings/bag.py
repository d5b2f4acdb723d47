"""A ROS 2 bag (mcap or sqlite3), read without ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..core.errors import KrangDynamicsError
from ..core.optional import optional
from .joint_state_cdr import JointStateReader
from .messages import ImuMessage, Message, WrenchMessage
from .recording import RecordingError

rosbag2 = optional('rosbags.rosbag2', 'recordings')
typesys = optional('rosbags.typesys', 'recordings')
TYPES = {
    'joint_states': 'sensor_msgs/msg/JointState',
    'wrench': 'geometry_msgs/msg/WrenchStamped',
    'imu': 'sensor_msgs/msg/Imu',
}


@dataclass(frozen=True)
class Topics:
    """Names of a recording's topics, as they stand in it."""

    joint_states: str = '/joint_states'
    wrenches: Mapping[str, str] = field(default_factory=dict)  # by hand
    imu: str = '/imu'


@dataclass
class Contents:
    """What is in a bag: topics with their types and numbers of messages, and its time, ns."""

    topics: dict[str, tuple[str, int]]
    start: int
    end: int


class Bag:
    """A bag that is open. Use it in a `with`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._reader = _guarded(self.path, lambda: rosbag2.Reader(self.path))
        self._types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)

    def __enter__(self) -> Bag:
        _guarded(self.path, self._reader.open)
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    @property
    def contents(self) -> Contents:
        """What the bag says of itself."""
        counts: Counter[str] = Counter()
        for connection in self._reader.connections:
            counts[connection.topic] += connection.msgcount
        kinds = {connection.topic: connection.msgtype for connection in self._reader.connections}
        topics = {topic: (kinds[topic], counts[topic]) for topic in sorted(kinds)}
        return Contents(topics, self._reader.start_time, self._reader.end_time)

    def messages(self, topics: Topics, start: int | None = None, end: int | None = None) -> Iterator[Message]:
        """Return the messages of these topics from `start` to before `end` (ns), in the order in which they came."""
        readers = self._readers(topics)
        connections = [one for one in self._reader.connections if one.topic in readers]
        if not connections:
            return
        stored = self._reader.messages(connections, start, end)
        while True:
            try:
                connection, arrival, raw = next(stored)
                message = readers[connection.topic](raw, arrival)
            except StopIteration:
                return
            except Exception as error:
                raise RecordingError(f'{self.path}: cannot be read on: {_words(error)}') from None
            yield message

    def _readers(self, topics: Topics) -> dict[str, Callable[[bytes, int], Message]]:
        """Return what reads the bytes of each topic that is there; refuse one of another type."""
        kinds = {topic: kind for topic, (kind, _) in self.contents.topics.items()}
        wanted = {topics.joint_states: 'joint_states', topics.imu: 'imu'}
        wanted |= dict.fromkeys(topics.wrenches.values(), 'wrench')
        for topic, what in wanted.items():
            if kinds.get(topic, TYPES[what]) != TYPES[what]:
                raise RecordingError(f'{self.path}: topic {topic} is {kinds[topic]}, must be {TYPES[what]}')
        if topics.joint_states not in kinds:
            known = ', '.join(name for name, kind in kinds.items() if kind == TYPES['joint_states']) or 'none'
            raise RecordingError(
                f'{self.path}: no topic {topics.joint_states}, must have joint states; topics of that type: {known}'
            )
        read = {what: partial(self._types.deserialize_cdr, typename=kind) for what, kind in TYPES.items()}
        readers: dict[str, Callable[[bytes, int], Message]] = {
            topics.joint_states: JointStateReader(read['joint_states']).read,
            topics.imu: lambda raw, arrival: _imu(read['imu'](raw), arrival),
        }
        for hand, topic in topics.wrenches.items():
            readers[topic] = partial(_wrench, hand, read['wrench'])
        return {topic: reader for topic, reader in readers.items() if topic in kinds}


def _wrench(hand: str, read: Callable[[bytes], Any], raw: bytes, arrival: int) -> WrenchMessage:
    told = read(raw)
    f, m = told.wrench.force, told.wrench.torque
    return WrenchMessage(hand, told.header.frame_id, (f.x, f.y, f.z), (m.x, m.y, m.z), _stamp(told), arrival)


def _imu(told: Any, arrival: int) -> ImuMessage:
    o = told.orientation
    covariances = (float(told.orientation_covariance[0]), float(told.angular_velocity_covariance[0]))
    return ImuMessage((o.w, o.x, o.y, o.z), told.angular_velocity.y, covariances, _stamp(told), arrival)


def _stamp(told: Any) -> int:
    return int(told.header.stamp.sec * 1_000_000_000 + told.header.stamp.nanosec)


def _guarded(path: Path, open_it: Callable[[], Any]) -> Any:
    try:
        return open_it()
    except KrangDynamicsError:
        raise
    except Exception as error:
        raise RecordingError(f'{path}: {_words(error)}; must be a bag of ROS 2, mcap or sqlite3') from None


def _words(error: Exception) -> str:
    return ' '.join(str(error).split())[:300] or type(error).__name__


def is_bag(path: Path) -> bool:
    """Tell whether a path looks like a bag: a folder with metadata, or one of its files."""
    return (path / 'metadata.yaml').exists() or path.suffix in ('.mcap', '.db3')


def hands_of(topics: Sequence[str], hands: Sequence[str]) -> dict[str, str]:
    """Return the topic of each hand's sensor, of those that end in wrench/<hand>."""
    return {hand: topic for hand in hands for topic in topics if topic.endswith(f'wrench/{hand}')}


def topics_of(contents: Contents, hands: Sequence[str], joint_states: str = '') -> Topics:
    """Return the topics to listen to: the joint states that are named, or likely, and each hand's sensor."""
    kinds = {topic: kind for topic, (kind, _) in contents.topics.items()}
    found = [topic for topic, kind in kinds.items() if kind == TYPES['joint_states']]
    likely = [topic for topic in found if topic.endswith('joint_states')]
    wrenches = [topic for topic, kind in kinds.items() if kind == TYPES['wrench']]
    return Topics(joint_states or next(iter(likely or found), '/joint_states'), hands_of(wrenches, hands))
