"""The topics of a bag that belong to a robot: its joint states, its wrist sensors, its IMU and its payloads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ..live.robot_inputs import InputTopics
from .recording import RecordingError
from .source import TYPES, USUAL_TOPICS, Contents, Topics


def topics_of(
    contents: Contents,
    hands: Sequence[str],
    joint_states: str = '',
    imu: bool = False,
    names: InputTopics = USUAL_TOPICS,
) -> Topics:
    """Return the topics to read: the given or most likely joint states, and wrenches and payloads of the hands.

    With `imu`, also its IMU. `names` are the topics of the robot's parameters; if the recording lacks them, the usual
    names are used. Topics with a wrong type are left out, with a note.
    """
    named = joint_states or _joint_states_of(contents, names.joint_states)
    robots = {topic.rpartition('/')[0] for topic in (named, *filter(_is_likely, contents.with_role('joint_states')))}
    own = names.wrenches
    of_hands = {
        role: {
            hand: topic
            for hand in hands
            if (role == 'wrench' and hand in own and (topic := _topic_of(contents, role, own[hand], named, robots)))
            or (topic := _topic_of(contents, role, f'{role}/{hand}', named, robots))
        }
        for role in ('wrench', 'payload')
    }
    of_base = ''
    if imu:
        of_base = _topic_of(contents, 'imu', names.imu, named, robots) or _topic_of(
            contents, 'imu', 'imu', named, robots
        )
    asked = {f'{role}/{hand}': role for role in of_hands for hand in hands} | ({'imu': 'imu'} if imu else {})
    notes = tuple(note for end, role in asked.items() for note in _of_other_types(contents, role, end))
    return Topics(named, of_hands['wrench'], of_base, of_hands['payload'], notes)


def _of_other_types(contents: Contents, role: str, end: str) -> Iterator[str]:
    """Yield a note for each topic with this name and a wrong type."""
    for topic, (message_type, _) in contents.topics.items():
        if topic.endswith(f'/{end}') and message_type != TYPES[role]:
            yield f'topic {topic} is {message_type}, must be {TYPES[role]}: left out'


def _is_likely(topic: str) -> bool:
    return topic.endswith('joint_states')


def _joint_states_of(contents: Contents, name: str = USUAL_TOPICS.joint_states) -> str:
    """Return the most likely topic of joint states; refuse several that are equally likely."""
    found = contents.with_role('joint_states')
    usual = '/' + name.lstrip('/')
    candidates = [usual] if usual in found else [topic for topic in found if topic.endswith(usual)]
    candidates = candidates or [*filter(_is_likely, found)] or found
    if len(candidates) > 1:
        raise RecordingError(
            f'{contents.source}: joint states are on {", ".join(candidates)}, must be of one robot; '
            '`krang process --joint-states` names one, `ros2 bag convert` makes a bag of one'
        )
    return next(iter(candidates), usual)


def _topic_of(contents: Contents, role: str, end: str, joint_states: str, robots: Collection[str]) -> str:
    """Return the topic with this end, such as wrench/<hand>, of the robot with these joint states; empty if none.

    `robots` are the namespaces with joint states. Topics in the namespace of another robot are ignored, unless it is
    inside ours.
    """
    own = joint_states.rpartition('/')[0]
    end = end.lstrip('/')
    ends = [topic for topic in contents.with_role(role) if topic.endswith(f'/{end}')]
    owner = {
        topic: max((name for name in robots if topic.startswith(f'{name}/')), key=len, default=None) for topic in ends
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
            f'{_remedy(role, end)}, or make a bag of one robot by `ros2 bag convert`'
        )
    return next(iter(candidates), '')


def _remedy(role: str, end: str) -> str:
    return 'set imu_joint to nothing' if role == 'imu' else f'leave {end.rpartition("/")[2]} out of end_effectors'
