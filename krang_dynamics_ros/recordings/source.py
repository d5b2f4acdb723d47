"""Sources: recorded messages of a robot in order of arrival, the same for every format of a recording."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ..live.messages import JointStateRun, Message
from ..live.robot_inputs import InputTopics, RobotInputs
from .recording import RecordingError

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

    def robot_topics(
        self, hands: Sequence[str], joint_states: str = '', imu: bool = False, names: InputTopics = USUAL_TOPICS
    ) -> Topics:
        """Return the topics to read: the given or most likely joint states, and wrenches and payloads of the hands.

        With `imu`, also its IMU. `names` are the topics of the robot's parameters; if the recording lacks them, the
        usual names are used. Topics with a wrong type are left out, with a note.
        """
        named = joint_states or self._joint_states(names.joint_states)
        robots = {topic.rpartition('/')[0] for topic in (named, *filter(_is_likely, self.with_role('joint_states')))}
        own = names.wrenches
        of_hands = {
            role: {
                hand: topic
                for hand in hands
                if (role == 'wrench' and hand in own and (topic := self._topic(role, own[hand], named, robots, hand)))
                or (topic := self._topic(role, f'{role}/{hand}', named, robots, hand))
            }
            for role in ('wrench', 'payload')
        }
        of_base = ''
        if imu:
            of_base = self._topic('imu', names.imu, named, robots) or self._topic('imu', 'imu', named, robots)
        asked = {f'{role}/{hand}': role for role in of_hands for hand in hands} | ({'imu': 'imu'} if imu else {})
        notes = tuple(note for end, role in asked.items() for note in self._of_other_types(role, end))
        return Topics(named, of_hands['wrench'], of_base, of_hands['payload'], notes)

    def _of_other_types(self, role: str, end: str) -> Iterator[str]:
        """Yield a note for each topic with this name and a wrong type."""
        for topic, (message_type, _) in self.topics.items():
            if topic.endswith(f'/{end}') and message_type != TYPES[role]:
                yield f'topic {topic} is {message_type}, must be {TYPES[role]}: left out'

    def _joint_states(self, name: str) -> str:
        """Return the most likely topic of joint states; refuse several that are equally likely."""
        found = self.with_role('joint_states')
        usual = '/' + name.lstrip('/')
        candidates = [usual] if usual in found else [topic for topic in found if topic.endswith(usual)]
        candidates = candidates or [*filter(_is_likely, found)] or found
        if len(candidates) > 1:
            raise RecordingError(
                f'{self.source}: joint states are on {", ".join(candidates)}, must be of one robot; '
                '`krang process --joint-states` names one, `ros2 bag convert` makes a bag of one'
            )
        return next(iter(candidates), usual)

    def _topic(self, role: str, end: str, joint_states: str, robots: Collection[str], hand: str = '') -> str:
        """Return the topic with this end, such as wrench/<hand>, of the robot with these joint states; empty if none.

        `robots` are the namespaces with joint states. Topics in the namespace of another robot are ignored, unless it
        is inside ours.
        """
        own = joint_states.rpartition('/')[0]
        end = end.lstrip('/')
        ends = [topic for topic in self.with_role(role) if topic.endswith(f'/{end}')]
        owner = {
            topic: max((name for name in robots if topic.startswith(f'{name}/')), key=len, default=None)
            for topic in ends
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
                f'{self.source}: {end} is on {", ".join(candidates)}, must be on {own}/{end} or on one topic; '
                f'{_remedy(role, hand)}, or make a bag of one robot by `ros2 bag convert`'
            )
        return next(iter(candidates), '')


def _is_likely(topic: str) -> bool:
    return topic.endswith('joint_states')


def _remedy(role: str, hand: str) -> str:
    named_by = {'imu': 'imu_topic', 'wrench': f'{hand}.wrench_topic'}
    return f'name one by {named_by[role]}' if role in named_by else f'leave {hand} out of end_effectors'


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
