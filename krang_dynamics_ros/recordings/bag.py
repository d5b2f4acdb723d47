"""A ROS 2 bag (mcap or sqlite3), read without ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..core.errors import KrangDynamicsError
from ..core.optional import optional
from ..messages.joint_state_cdr import JointStateReader
from ..messages.message_cdr import READERS
from ..messages.messages import JointStateRun, Message
from .recording import RecordingError
from .run_collector import RunCollector

rosbag2 = optional('rosbags.rosbag2', 'recordings')
typesys = optional('rosbags.typesys', 'recordings')
TYPES = {
    'joint_states': 'sensor_msgs/msg/JointState',
    'wrench': 'geometry_msgs/msg/WrenchStamped',
    'imu': 'sensor_msgs/msg/Imu',
    'payload': 'geometry_msgs/msg/InertiaStamped',
}


@dataclass(frozen=True)
class Topics:
    """Names of a recording's topics, as they stand in it."""

    joint_states: str = '/joint_states'
    wrenches: Mapping[str, str] = field(default_factory=dict)  # by hand
    imu: str = '/imu'
    payloads: Mapping[str, str] = field(default_factory=dict)  # by hand

    @property
    def all(self) -> Iterator[tuple[str, str, str]]:
        """Every topic, what is on it (one of `TYPES`), and the hand that it is of, if it is."""
        yield self.joint_states, 'joint_states', ''
        yield self.imu, 'imu', ''
        yield from ((topic, 'wrench', hand) for hand, topic in self.wrenches.items())
        yield from ((topic, 'payload', hand) for hand, topic in self.payloads.items())


@dataclass
class Contents:
    """What is in a bag: topics with their types and numbers of messages, and its time, ns."""

    topics: dict[str, tuple[str, int]]
    start: int
    end: int
    source: str = 'bag'

    def of_kind(self, what: str) -> list[str]:
        """Return the topics of one of `TYPES`; those with messages, if any has."""
        there = [topic for topic, (kind, _) in self.topics.items() if kind == TYPES[what]]
        return [topic for topic in there if self.topics[topic][1]] or there


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
        return Contents(topics, self._reader.start_time, self._reader.end_time, str(self.path))

    def topics(self, hands: Sequence[str], joint_states: str = '') -> Topics:
        """Return the topics to listen to."""
        return topics_of(self.contents, hands, joint_states)

    def messages(self, topics: Topics, start: int | None = None, end: int | None = None) -> Iterator[Message]:
        """Return the messages of these topics from `start` to before `end` (ns), in the order in which they came."""
        for found in self.runs(topics, start, end):
            if isinstance(found, JointStateRun):
                yield from found.messages()
            else:
                yield found

    def runs(
        self, topics: Topics, start: int | None = None, end: int | None = None
    ) -> Iterator[Message | JointStateRun]:
        """Return the same, joint states of one layout together, with the wrenches between them."""
        readers = self._readers(topics)
        heard = {topics.joint_states, *readers}
        connections = [one for one in self._reader.connections if one.topic in heard]
        if not connections:
            return
        collector = RunCollector(JointStateReader(self._reading('joint_states')))
        try:
            for connection, arrival, raw in self._reader.messages(connections, start, end):
                if connection.topic == topics.joint_states:
                    yield from collector.joint_state(raw, arrival)
                else:
                    yield from collector.other(readers[connection.topic](raw, arrival))
            yield from collector.rest()
        except Exception as error:
            raise RecordingError(f'{self.path}: cannot be read on: {_words(error)}') from None

    def _reading(self, what: str) -> Callable[[bytes], Any]:
        return partial(self._types.deserialize_cdr, typename=TYPES[what])

    def _readers(self, topics: Topics) -> dict[str, Callable[[bytes, int], Message]]:
        """Return what reads the bytes of each topic that is there but joint states; refuse one of another type."""
        kinds = {topic: kind for topic, (kind, _) in self.contents.topics.items()}
        readers: dict[str, Callable[[bytes, int], Message]] = {}
        for topic, what, hand in topics.all:
            if kinds.get(topic, TYPES[what]) != TYPES[what]:
                raise RecordingError(f'{self.path}: topic {topic} is {kinds[topic]}, must be {TYPES[what]}')
            if what in READERS:
                readers[topic] = partial(READERS[what], self._reading(what), hand)
        if topics.joint_states not in kinds:
            known = ', '.join(name for name, kind in kinds.items() if kind == TYPES['joint_states']) or 'none'
            raise RecordingError(
                f'{self.path}: no topic {topics.joint_states}, must have joint states; topics of that type: {known}'
            )
        return {topic: reader for topic, reader in readers.items() if topic in kinds}


def _guarded(path: Path, open_it: Callable[[], Any]) -> Any:
    try:
        return open_it()
    except KrangDynamicsError:
        raise
    except Exception as error:
        raise RecordingError(f'{path}: {_words(error)}; must be a bag of ROS 2, mcap or sqlite3') from None


def _words(error: Exception) -> str:
    return ' '.join(str(error).split())[:300].rstrip('.') or type(error).__name__


def is_bag(path: Path) -> bool:
    """Tell whether a path looks like a bag: a folder with metadata, or one of its files."""
    return (path / 'metadata.yaml').exists() or path.suffix in ('.mcap', '.db3')


def topics_of(contents: Contents, hands: Sequence[str], joint_states: str = '') -> Topics:
    """Return the topics to listen to: the joint states that are named, or likely, and those of that robot's hands."""
    named = joint_states or _joint_states_of(contents)
    robots = {topic.rpartition('/')[0] for topic in (named, *filter(_is_likely, contents.of_kind('joint_states')))}
    of_hands = {
        what: {hand: topic for hand in hands if (topic := _topic_of(contents, what, hand, named, robots))}
        for what in ('wrench', 'payload')
    }
    return Topics(named, of_hands['wrench'], payloads=of_hands['payload'])


def _is_likely(topic: str) -> bool:
    return topic.endswith('joint_states')


def _joint_states_of(contents: Contents) -> str:
    """Return the likeliest topic of joint states; of several that are as likely none."""
    found = contents.of_kind('joint_states')
    usual = Topics().joint_states
    candidates = [usual] if usual in found else [*filter(_is_likely, found)] or found
    if len(candidates) > 1:
        raise RecordingError(
            f'{contents.source}: joint states are on {", ".join(candidates)}, must be of one robot; '
            '`krang process --joint-states` names one, `ros2 bag convert` makes a bag of one'
        )
    return next(iter(candidates), usual)


def _topic_of(contents: Contents, what: str, hand: str, joint_states: str, robots: Collection[str]) -> str:
    """Return the topic <what>/<hand> of the robot with these joint states, or nothing.

    `robots` are the namespaces with joint states: what is in another one's is not taken, unless that is within ours.
    """
    own, end = joint_states.rpartition('/')[0], f'{what}/{hand}'
    ends = [topic for topic in contents.of_kind(what) if topic.endswith(f'/{end}')]
    owner = {
        topic: max((one for one in robots if topic.startswith(f'{one}/')), key=len, default=None) for topic in ends
    }
    likely_first = (
        [topic for topic in ends if topic == f'{own}/{end}'],
        [topic for topic in ends if owner[topic] == own],
        [topic for topic in ends if topic.startswith(f'{own}/')],
        [topic for topic in ends if owner[topic] is None],
    )
    candidates = next(filter(None, likely_first), [])
    if len(candidates) > 1:
        raise RecordingError(
            f'{contents.source}: {end} is on {", ".join(candidates)}, must be on {own}/{end} or on one topic; '
            f'leave {hand} out of end_effectors, or make a bag of one robot by `ros2 bag convert`'
        )
    return next(iter(candidates), '')
