"""Payloads from messages to the dynamics, at times of a test's choice: placed, kept until then, ramped, refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Robot, dynamics_of
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import upper_triangle
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.messages import JointStateMessage, JointStateRun, PayloadMessage
from krang_dynamics_ros.live.payloads import PayloadSpec
from krang_dynamics_ros.processing.replay import deliver, states

from ..robots import random_body

S, MS = 10**9, 10**6  # ns
Q = np.linspace(-0.5, 0.7, 17)


def told(body: Inertia) -> PayloadSpec:
    return PayloadSpec(body.m, body.com.tolist(), upper_triangle(body.I_G).tolist())


def message(hand: str, body: Inertia, frame: str, now: int) -> PayloadMessage:
    return PayloadMessage(hand, frame, *told(body), now)


def state(engine: Engine, now: int, q: np.ndarray = Q, names: Any = None) -> JointStateMessage:
    names = engine.dynamics.joint_names if names is None else names
    return JointStateMessage(tuple(names), q[: len(names)], np.zeros(len(names)), np.empty(0), now, now)


def gravity(engine: Engine, now: int, q: np.ndarray = Q) -> np.ndarray:
    """Return the gravity torque after a joint state, as it is used live and in `process`."""
    torques = deliver(engine, state(engine, now, q))
    assert torques is not None
    return np.asarray(torques.term('gravity'))


@pytest.fixture
def engine() -> Engine:
    return engine_of({'payload_ramp': 0.0})


def carried_in_base(dynamics: Dynamics, q: np.ndarray, link: str, body: Inertia) -> np.ndarray:
    """Return mass and first moment of a body on a link, in the base's axes about its origin."""
    R, p = dynamics.pose(q, link)
    return np.append(body.m, R @ body.MS + body.m * p)


def test_a_payload_in_another_links_frame_waits_until_the_joints_are_known(
    engine: Engine, robot: Robot, rng: np.random.Generator
) -> None:
    body, bare = random_body(rng), dynamics_of(robot)
    deliver(engine, message('left', body, 'R5r', S))
    assert engine.payloads.waiting_frame('left') == 'R5r'
    assert engine.payloads.changing('left')
    assert engine.payloads.refusals['left'].count == 0
    first = gravity(engine, 2 * S)
    np.testing.assert_allclose(first, bare.Q(Q), rtol=1e-12, atol=1e-12)  # it begins with the next state, as any other
    assert engine.payloads.waiting_frame('left') == ''
    gravity(engine, 3 * S)
    held = engine.dynamics.payload['R10l']
    np.testing.assert_allclose(
        carried_in_base(bare, Q, 'R10l', held), carried_in_base(bare, Q, 'R5r', body), rtol=1e-9, atol=1e-9
    )
    moved = Q + 0.3  # held by the hand from then on: its own frame is what it keeps to
    gravity(engine, 4 * S, moved)
    np.testing.assert_array_equal(engine.dynamics.payload['R10l'].parameters, held.parameters)


def test_it_waits_while_one_joint_is_missing(engine: Engine, rng: np.random.Generator) -> None:
    names = engine.dynamics.joint_names
    deliver(engine, message('left', random_body(rng), 'R0', S))
    assert deliver(engine, state(engine, S, names=names[:-1])) is None
    assert engine.payloads.waiting_frame('left') == 'R0'
    deliver(engine, JointStateMessage(names[-1:], Q[-1:], np.zeros(1), np.empty(0), S + MS, S + MS))
    assert engine.payloads.waiting_frame('left') == ''


@pytest.mark.parametrize('frame', ['', 'R10l'])
def test_a_newer_message_replaces_the_one_that_waits(engine: Engine, frame: str, rng: np.random.Generator) -> None:
    older, newer = random_body(rng), random_body(rng)
    deliver(engine, message('left', older, 'R5r', S))
    deliver(engine, message('left', newer, frame, S + 1))
    assert engine.payloads.waiting_frame('left') == ''
    for k in (2, 3):
        gravity(engine, k * S)
    np.testing.assert_allclose(engine.dynamics.payload['R10l'].parameters, newer.parameters, rtol=1e-9, atol=1e-12)


def test_one_that_waits_replaces_an_older_one_that_waits(
    engine: Engine, robot: Robot, rng: np.random.Generator
) -> None:
    older, newer = random_body(rng), random_body(rng)
    deliver(engine, message('left', older, 'R5r', S))
    deliver(engine, message('left', newer, 'R0', S + 1))
    for k in (2, 3):
        gravity(engine, k * S)
    expected = dynamics_of(robot).inertia_at_link(newer, 'R10l', 'R0', Q)
    np.testing.assert_allclose(engine.dynamics.payload['R10l'].parameters, expected.parameters, rtol=1e-9, atol=1e-9)


def test_nothing_in_the_hand_replaces_it_and_so_does_a_parameter(engine: Engine, rng: np.random.Generator) -> None:
    deliver(engine, message('left', random_body(rng), 'R5r', S))
    deliver(engine, message('left', Inertia(), 'R5r', S + 1))
    deliver(engine, message('right', random_body(rng), 'R5l', S))
    engine._settings.update({'right.payload.mass': 3.0})
    assert [engine.payloads.waiting_frame(hand) for hand in ('left', 'right')] == ['', '']
    for k in (2, 3):
        gravity(engine, k * S)
    assert [engine.dynamics.payload[link].m for link in engine.dynamics.payload] == [3.0]


@pytest.mark.parametrize('frame', ['R5rr', 'R5r'])
def test_a_refused_message_leaves_the_one_that_waits(engine: Engine, frame: str, rng: np.random.Generator) -> None:
    deliver(engine, message('left', random_body(rng), 'R5r', S))
    wrong = Inertia(2.0, np.zeros(3), np.diag([1.0, 1.0, 9.0]) if frame == 'R5r' else np.eye(3))
    deliver(engine, message('left', wrong, frame, S + 1))
    assert engine.payloads.refusals['left'].count == 1
    assert engine.payloads.waiting_frame('left') == 'R5r'


def test_a_recording_of_many_states_at_once_places_it_too(robot: Robot, rng: np.random.Generator) -> None:
    """States without fault are taken many at once, yet not past a payload that waits for the first of them."""
    engine, body = engine_of({'payload_ramp': 0.0}), random_body(rng)
    now = S + MS * np.arange(50)
    columns = np.tile(Q, (50, 1)), np.zeros((50, 17)), np.empty((50, 0))
    run = JointStateRun(engine.dynamics.joint_names, *columns, now, now)
    rows = [x for found in states(engine, [message('left', body, 'R5r', S - 1), run]) for x in found.payload]
    expected = dynamics_of(robot).inertia_at_link(body, 'R10l', 'R5r', Q)
    assert [payload['R10l'].m for payload in rows] == [0.0, *[pytest.approx(body.m)] * 49]
    np.testing.assert_allclose(rows[-1]['R10l'].parameters, expected.parameters, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('seed', range(5))
def test_payload_messages_at_any_time_never_cause_a_jump(seed: int) -> None:
    """Each of the ten parameters changes by no more per time than the span of all payloads over the ramp."""
    rng, ramp, step = np.random.default_rng(seed), 0.2, 5 * MS
    engine = engine_of({'payload_ramp': ramp})
    gravity(engine, S)
    bodies = [Inertia(), *(random_body(rng) for _ in range(5)), Inertia(), random_body(rng)]
    told_at = dict(zip(np.sort(rng.choice(300, len(bodies) - 1, replace=False)).tolist(), bodies[1:], strict=True))
    most = np.ptp([body.parameters for body in bodies], axis=0) * step / (ramp * 1e9)
    before = np.zeros(10)
    for k in range(400):
        now = 2 * S + k * step
        if k in told_at:
            deliver(engine, message('left', told_at[k], '', now))
        gravity(engine, now)
        carried = engine.dynamics.payload.get('R10l', Inertia()).parameters
        assert (np.abs(carried - before) <= most * (1 + 1e-9) + 1e-12).all()
        before = carried
    np.testing.assert_allclose(before, bodies[-1].parameters, rtol=1e-9, atol=1e-12)
    assert not engine.payloads.changing('left')


@pytest.mark.parametrize('frame', ['', 'R9l', 'R5r'])
def test_a_payload_that_the_node_refuses_is_refused_in_a_recording(engine: Engine, frame: str) -> None:
    """What is within bounds where it was given may be beyond them at the hand: parameters are checked as a whole."""
    gravity(engine, S)
    far = Inertia.about_com(1.0, np.array([1e6, 1e6, 1e6]), np.eye(3))
    deliver(engine, message('left', far, frame, S))
    gravity(engine, 2 * S)
    refusals, carries = engine.payloads.refusals['left'], engine.dynamics.payload
    if frame:
        assert refusals.count == 1
        assert 'must be finite, at most 1e+06' in refusals.reason
    assert ('R10l' in carries) == (not frame)
