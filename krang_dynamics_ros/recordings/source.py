"""Sources: recorded messages of a robot in order of arrival, the same for every format of a recording."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ..live.messages import JointStateRun, Message
from ..live.robot_inputs import InputTopics, RobotInputs

EARLIEST, LATEST = -(2**63 - 1), 2**63 - 1  # ns
TYPES = {  # of the messages, by the role of a topic
    'joint_states': 'sensor_msgs/msg/JointState',
    'wrench': 'geometry_msgs/msg/WrenchStamped',
    'imu': 'sensor_msgs/msg/Imu',
    'payload': 'geometry_msgs/msg/InertiaStamped',
}
USUAL_TOPICS = InputTopics()


@dataclass(frozen=True)
class Topics:
    """Names of a recording's topics."""

    joint_states: str = '/joint_states'
    wrenches: Mapping[str, str] = field(default_factory=dict)  # by hand
    imu: str = ''  # empty: none
    payloads: Mapping[str, str] = field(default_factory=dict)  # by hand
    notes: tuple[str, ...] = field(default=(), compare=False)  # warnings about ignored topics

    @property
    def all(self) -> Iterator[tuple[str, str, str]]:
        """Each topic with its role (a key of `TYPES`) and its hand, empty if it has none."""
        yield self.joint_states, 'joint_states', ''
        if self.imu:
            yield self.imu, 'imu', ''
        yield from ((topic, 'wrench', hand) for hand, topic in self.wrenches.items())
        yield from ((topic, 'payload', hand) for hand, topic in self.payloads.items())


@dataclass
class Contents:
    """Contents of a recording: its topics, start and end (ns), by the indices of its files."""

    topics: dict[str, tuple[str, int]]  # message type and number of messages, by topic
    start: int
    end: int
    source: str = 'bag'

    def with_role(self, role: str) -> list[str]:
        """Return the topics whose message type fits a role; only those with messages, if there are any."""
        there = [topic for topic, (message_type, _) in self.topics.items() if message_type == TYPES[role]]
        return [topic for topic in there if self.topics[topic][1]] or there


Opened = TypeVar('Opened', bound='Source')


class Source(ABC):
    """Messages of one robot in order of arrival. Use it in a `with`; every format of a recording is a subclass."""

    seekable = False  # whether a later part can be read without reading all that is before it
    origin: int | None = None  # stamp (ns) of time zero in `Recording.time`; None: that of the first joint state

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - most formats hold no file open
        """Close the files."""

    @property
    @abstractmethod
    def contents(self) -> Contents:
        """Contents, without reading all messages where the format allows it."""

    @abstractmethod
    def runs(self, topics: Topics, start: int = EARLIEST, end: int = LATEST) -> Iterator[Message | JointStateRun]:
        """Yield the messages that arrived from `start` to before `end` (ns); joint states come as runs."""

    @property
    def notes(self) -> Sequence[str]:
        """Warnings about the files."""
        return ()

    @property
    def first_arrival(self) -> int:
        """Arrival of the first message, ns; by the message itself where `contents.start` comes from an index."""
        return self.contents.start

    def topics(
        self, hands: Sequence[str], joint_states: str = '', imu: bool = False, names: InputTopics = USUAL_TOPICS
    ) -> Topics:
        """Return the topics to read. A table has none: the name of its file stands for the topic of joint states."""
        return Topics(self.path.name)

    def topics_of(self, inputs: RobotInputs, joint_states: str = '') -> Topics:
        """Return the topics that an engine's inputs need; `joint_states` selects one of several such topics."""
        return self.topics(tuple(inputs.hands), joint_states, inputs.uses_imu, inputs.topics)

    def messages(self, topics: Topics, start: int = EARLIEST, end: int = LATEST) -> Iterator[Message]:
        """Yield the messages of `runs` one by one."""
        for found in self.runs(topics, start, end):
            if isinstance(found, JointStateRun):
                yield from found.messages()
            else:
                yield found
