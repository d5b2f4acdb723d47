"""Joint states taken many at once are those taken one by one, to the last bit, whatever comes between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Robot
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.messages import JointStateRun
from krang_dynamics_ros.live.robot_inputs import InputTopics
from krang_dynamics_ros.processing.columns import Computer, segments
from krang_dynamics_ros.processing.replay import States, joined, states
from krang_dynamics_ros.recordings.bag import Bag
from krang_dynamics_ros.recordings.recording import RecordingError
from krang_dynamics_ros.recordings.source import Contents, Topics

from ..bags import BEGIN, inertia, joint_state, wrench, write_bag

MS = 1_000_000
PARAMETERS = {
    'backend': 'pinocchio',
    'left.sense': 'applied_on_robot',
    'left.sensor.bias': [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    'right.tool.mass': 0.7,
    'right.tool.com': [0.0, 0.1, 0.05],
    'right.sensor.deadband': [0.5, 0.05],
}
PAYLOAD = (2.0, (0.0, 0.01, 0.1), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))


def messages(robot: Robot, seed: int) -> Iterator[tuple[str, int, object]]:
    """Return mostly good joint states, 2 ms apart, and now and then what goes wrong, or comes between."""
    rng, names, stamp = np.random.default_rng(seed), list(robot.joint_names), BEGIN
    place = rng.uniform(-1, 1, robot.n)
    for k in range(900):
        stamp += {300: 25_000 * MS, 500: -60_000 * MS, 700: -150 * MS, 800: -30 * MS, 860: 0, 861: -1}.get(k, 2 * MS)
        moved, dq, effort = rng.uniform(-1, 1, (3, robot.n))
        place = place + (0.04 * moved if k != 400 else 2 + moved)  # at 400 it is elsewhere, as after a reset
        q = place.copy()
        arrival, told = BEGIN + 70_000 * MS + 2 * MS * k + int(rng.integers(0, MS)), stamp
        what = int(rng.integers(0, 60))
        if what < 8:
            frame, numbers = ['', 'R5l', 'R0', 'nowhere'][what % 4], rng.uniform(-20, 20, (2, 3))
            hand = ('left', 'right')[what // 4]
            yield f'/wrench/{hand}', arrival, wrench(stamp if what else stamp + 300 * MS, frame, *numbers)
        if what == 8:
            q[3] = np.nan
        if what == 7:
            q[2] += 0.3  # further than it can have moved
        if what == 9:
            dq[4] = np.nan
        if what == 10:
            effort[5] = 1e9
        if what == 11:
            dq[6] = 1e7
        if what == 12:
            told = 0  # not stamped
        if what == 13:
            yield '/joint_states', arrival, joint_state(stamp, names[:5], q[:5])
        if k == 600:
            yield '/payload/left', arrival, inertia(stamp, '', *PAYLOAD)
        yield '/joint_states', arrival, joint_state(told, names, q, dq if what != 14 else (), effort)


def both(robot: Robot, tmp_path: Path, seed: int) -> tuple[list[Engine], list[States]]:
    bag = write_bag(tmp_path / f'bag_{seed}', messages(robot, seed))
    engines, found = [engine_of(PARAMETERS) for _ in range(2)], []
    with Bag(bag) as opened:
        topics = opened.contents.robot_topics(('left', 'right'))
        assert topics.payloads == {'left': '/payload/left'}
        for engine, read in zip(engines, (opened.runs, opened.messages), strict=True):
            found.append(joined([*states(engine, read(topics))]))
        runs = [one for one in opened.runs(topics) if isinstance(one, JointStateRun)]
        assert max(map(len, runs)) > 50
        assert any(one.wrenches for one in runs)
    return engines, found


@pytest.mark.parametrize('seed', range(3))
def test_many_at_once_are_one_by_one(robot: Robot, tmp_path: Path, seed: int) -> None:
    engines, (many, single) = both(robot, tmp_path, seed)
    for name in ('stamp', 'arrival', 'q', 'dq', 'effort'):
        np.testing.assert_array_equal(getattr(many, name), getattr(single, name), name)
    for place in {*many.wrenches, *single.wrenches}:
        none = np.zeros((len(many), 6))
        np.testing.assert_array_equal(many.wrenches.get(place, none), single.wrenches.get(place, none))
    carried = [[body.parameters.tolist() for row in found.payload for body in row.values()] for found in (many, single)]
    assert carried[0] == carried[1]
    inputs = [one.inputs for one in engines]
    known = [(one.joint_state_count, one.states.refusals, one.states.timeline.time_resets) for one in inputs]
    assert known[0] == known[1]
    assert known[0][2] == 2
    for name in ('left', 'right'):
        assert engines[0].inputs.hands[name].refusals == engines[1].inputs.hands[name].refusals
    assert {place.axes for place in many.wrenches} == {'', 'R5l', 'R0'}


def test_a_payload_message_changes_the_terms_over_its_ramp(robot: Robot, tmp_path: Path) -> None:
    engines, (many, _) = both(robot, tmp_path, 0)
    mass = np.array([row['R10l'].m for row in many.payload])
    assert mass[0] == 0
    assert mass[-1] == 2.0
    growing = mass[(mass > 0) & (mass < 2)]
    assert len(growing) > 100
    assert (np.diff(growing) >= 0).all()
    computer = Computer(engines[0].dynamics, ('gravity',), 20.0, engines[0].external.efforts)
    dynamics = engine_of(PARAMETERS).dynamics
    gravity = np.concatenate([computer.columns(segment)['gravity'] for segment in segments([many], 1.0)])
    for k in range(0, len(many), 10):
        dynamics.payload = many.payload[k]
        np.testing.assert_allclose(gravity[k], dynamics.Q(many.q[k]), rtol=1e-12, atol=1e-12)
    assert engines[0].dynamics.payload['R10l'].m == 2.0  # as it was before the terms were computed
    engines[0].dynamics.payload = {}
    for segment in segments([many], 1.0):
        computer.columns(segment)
        assert engines[0].dynamics.payload == {}


def test_topics_of_hands_are_found_by_their_ends() -> None:
    kinds = {'/a/wrench/left': 'geometry_msgs/msg/WrenchStamped', '/payload/left': 'geometry_msgs/msg/InertiaStamped'}
    contents = Contents({topic: (kind, 1) for topic, kind in kinds.items()}, 0, 1)
    expected = Topics('/joint_states', {'left': '/a/wrench/left'}, payloads={'left': '/payload/left'})
    assert contents.robot_topics(('left',)) == expected


def in_bag(*names: str, silent: tuple[str, ...] = ()) -> Contents:
    kinds = {'joint_states': 'sensor_msgs/msg/JointState', 'left': 'geometry_msgs/msg/WrenchStamped'}
    of = {name: kinds.get(name.rpartition('/')[2], kinds['joint_states']) for name in sorted((*names, *silent))}
    return Contents({name: (kind, int(name in names)) for name, kind in of.items()}, 0, 1, 'the bag')


@pytest.mark.parametrize(
    ('names', 'asked', 'joint_states', 'wrench'),
    [
        ('/a/joint_states /a/wrench/left /b/joint_states /b/wrench/left', '/a/joint_states', None, '/a/wrench/left'),
        ('/a/joint_states /b/joint_states /b/wrench/left', '/a/joint_states', None, ''),
        ('/a/joint_states /b/joint_states /a/ft/wrench/left /b/ft/wrench/left', '/b/joint_states', None,
         '/b/ft/wrench/left'),
        ('/a/joint_states /a/wrench/left /ft/wrench/left', '', '/a/joint_states', '/a/wrench/left'),
        ('/a/joint_states /ft/wrench/left', '', '/a/joint_states', '/ft/wrench/left'),
        ('/a/joint_states /joint_states /a/wrench/left', '', '/joint_states', '/a/wrench/left'),
        ('/a/joint_states /torque/gravity', '', '/a/joint_states', ''),
        ('/measured', '', '/measured', ''),
        ('', '', '/joint_states', ''),
    ],
)  # fmt: skip
def test_hands_are_of_the_robot_with_the_joint_states(
    names: str, asked: str, joint_states: str | None, wrench: str
) -> None:
    found = in_bag(*names.split()).robot_topics(('left',), asked)
    assert found.joint_states == (joint_states or asked)
    assert found.wrenches == ({'left': wrench} if wrench else {})


def test_a_topic_without_messages_is_no_candidate() -> None:
    contents = in_bag('/b/joint_states', '/b/wrench/left', silent=('/a/joint_states', '/a/wrench/left'))
    assert contents.robot_topics(('left',)) == Topics('/b/joint_states', {'left': '/b/wrench/left'})


@pytest.mark.parametrize(
    ('names', 'said'),
    [
        ('/a/joint_states /b/joint_states', 'the bag: joint states are on /a/joint_states, /b/joint_states, must be'),
        ('/torque/gravity /torque/friction', 'joint states are on /torque/friction, /torque/gravity'),
        ('/joint_states /a/wrench/left /b/wrench/left', 'wrench/left is on /a/wrench/left, /b/wrench/left, must be'),
    ],
)
def test_ambiguous_topics_are_refused(names: str, said: str) -> None:
    with pytest.raises(RecordingError, match=said):
        in_bag(*names.split()).robot_topics(('left',))


def test_the_remedy_for_ambiguous_wrenches_names_the_parameter_and_works() -> None:
    contents = in_bag('/joint_states', '/a/ati/left', '/b/ati/left')
    with pytest.raises(RecordingError, match=r'; name one by tip\.wrench_topic, or make a bag'):
        contents.robot_topics(('tip',), names=InputTopics(wrenches={'tip': 'ati/left'}))
    found = contents.robot_topics(('tip',), names=InputTopics(wrenches={'tip': '/b/ati/left'}))
    assert found.wrenches == {'tip': '/b/ati/left'}


def test_the_remedy_for_ambiguous_payloads_names_the_hand() -> None:
    kinds = dict.fromkeys(('/a/payload/tip', '/b/payload/tip'), 'geometry_msgs/msg/InertiaStamped')
    contents = Contents({topic: (kind, 1) for topic, kind in kinds.items()}, 0, 1)
    with pytest.raises(RecordingError, match='; leave tip out of end_effectors, or make a bag'):
        contents.robot_topics(('tip',))
