"""A reading without bias, tool and payload: against the report's frames by hand, and by what weight means in Q."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krang_dynamics_ros import Dynamics, Lagrangian, Robot, Wrench, dynamics_of
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.wrench import Load
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.payloads import PayloadSpec
from krang_dynamics_ros.live.wrenches import WrenchInput, WristSensor, contact_wrenches

from ..robots import random_body

FRAMES = ['', 'R10l', 'R0', 'R7l', 'R6r']
BIAS = np.array([4.0, -3.0, 2.0, 0.3, -0.2, 0.1])
TOOL_MASS, TOOL_COM = 1.6, np.array([0.01, -0.02, 0.09])
TOOL = WristSensor.of(BIAS, TOOL_MASS, TOOL_COM)
numbers = st.floats(-1e4, 1e4)


def weight_by_hand(robot: Robot, q: np.ndarray, body: Inertia, frame: str, about: str) -> np.ndarray:
    """Gravity on a body at R10l, by the report's frames: at its centre of mass, moved, turned. In the world's sense."""
    lagrangian = Lagrangian(robot)
    R, origin = lagrangian.pose(q, 'R10l')
    force, point = body.m * np.asarray(robot.gravity), origin + R @ body.com
    axes, where = lagrangian.pose(q, frame or 'R10l')
    if about == 'hand':
        where = origin
    return np.concatenate([axes.T @ force, axes.T @ np.cross(point - where, force)])


@pytest.mark.parametrize('sense', ['applied_by_robot', 'applied_on_robot'])
@pytest.mark.parametrize('about', ['frame', 'hand'])
@pytest.mark.parametrize('frame', FRAMES, ids=lambda f: f or 'empty')
def test_the_contact_wrench_is_right_in_every_frame_and_sense(
    robot: Robot, dynamics: Dynamics, rng: np.random.Generator, frame: str, about: str, sense: str
) -> None:
    tilted = np.array([1.0, -2.0, -9.0])
    robot, dynamics.gravity = replace(robot, gravity=tilted), tilted
    payload = random_body(rng)
    hand = WrenchInput('left', 'R10l', sense, about, links=dynamics.link_names, sensor=TOOL, payload=payload)
    body, sign = Inertia.about_com(TOOL_MASS, TOOL_COM, np.zeros((3, 3))), 1 if sense == 'applied_by_robot' else -1
    for k, q in enumerate(rng.uniform(-2, 2, (3, robot.n)), 1):
        touch = rng.normal(size=6) * 20
        weight = sum(weight_by_hand(robot, q, one, frame, about) for one in (body, payload))
        reading = touch + BIAS - sign * weight
        assert hand.update(frame, reading[:3].tolist(), reading[3:].tolist(), k, k)
        (wrench,) = contact_wrenches([hand], partial(dynamics.weights, q), k, k).values()
        np.testing.assert_allclose(sign * wrench.vector, touch, atol=1e-10)
        as_read = Wrench('R10l', touch[:3] * sign, touch[3:] * sign, frame, frame if about == 'frame' else '')
        mine, theirs = (dynamics.wrench_torque(q, [one]) for one in (wrench, as_read))
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_a_tool_that_hangs_free_is_not_counted_twice(robot: Robot, rng: np.random.Generator) -> None:
    """What gravity does to a body is what Q must give for it, whatever link has it."""
    body = random_body(rng)
    links = tuple(replace(link, inertia=link.inertia + body) if link.name == 'R10r' else link for link in robot.links)
    laden, bare = dynamics_of(replace(robot, links=links)), dynamics_of(robot)
    for q in rng.uniform(-2, 2, (5, robot.n)):
        for frame in ('', 'R0', 'R3'):
            (weight,) = bare.weights(q, [Load('R10r', body, frame, frame)])
            torque = bare.wrench_torque(q, [Wrench('R10r', weight[:3], weight[3:], frame, frame)])
            np.testing.assert_allclose(laden.Q(q) - bare.Q(q), -torque, atol=1e-10)


@given(st.lists(numbers, min_size=6, max_size=6), st.floats(0, 100), st.floats(0, 10))
def test_a_dead_band_shrinks(reading: list[float], newtons: float, newton_metres: float) -> None:
    sensor = WristSensor.of(deadband=[newtons, newton_metres])
    left = sensor.contact(np.array(reading), 1.0, None)
    for x, y, d in zip(reading, left, [newtons] * 3 + [newton_metres] * 3, strict=True):
        assert abs(y) == pytest.approx(max(abs(x) - d, 0), abs=1e-9)
        assert y == 0 or np.sign(y) == np.sign(x)


def test_a_dead_band_has_no_jump_and_knows_no_sense() -> None:
    sensor = WristSensor.of(deadband=[2.0, 0.2])
    one, other = (sensor.contact(np.full(6, x), 1.0, None) for x in (2.0 - 1e-9, 2.0 + 1e-9))
    assert np.abs(one - other).max() < 1e-8
    np.testing.assert_array_equal(sensor.contact(BIAS, -1.0, None), -sensor.contact(BIAS, 1.0, None))


def test_two_hands_get_their_own_weights(dynamics: Dynamics, rng: np.random.Generator) -> None:
    q, links = rng.uniform(-2, 2, dynamics.n), dynamics.link_names
    hands = [
        WrenchInput('left', 'R10l', links=links),
        WrenchInput('right', 'R10r', links=links, sensor=TOOL),
        WrenchInput('third', 'R7l', links=links, payload=random_body(rng)),
    ]
    for hand in hands:
        hand.update('', (1.0, 2.0, 3.0), (0.0, 0.0, 0.0), 1, 1)
    weigh = partial(dynamics.weights, q)
    for hand, wrench in zip(hands, contact_wrenches(hands, weigh, 1, 1).values(), strict=True):
        (alone,) = contact_wrenches([hand], weigh, 1, 1).values()
        np.testing.assert_array_equal(alone.vector, wrench.vector)
        assert alone.link == wrench.link == hand.link
    hands[1].forget()
    assert [wrench.link for wrench in contact_wrenches(hands, weigh, 1, 1).values()] == ['R10l', 'R7l']


def test_a_change_of_tool_or_payload_counts_at_once(dynamics: Dynamics, rng: np.random.Generator) -> None:
    q = rng.uniform(-2, 2, dynamics.n)
    hand = WrenchInput('left', 'R10l', links=dynamics.link_names)
    hand.update('', (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1, 1)
    seen = []
    for sensor, payload in ((TOOL, Inertia()), (TOOL, random_body(rng)), (WristSensor(), Inertia())):
        hand.sensor, hand.payload = sensor, payload
        seen.append(contact_wrenches([hand], partial(dynamics.weights, q), 1, 1)[hand.name].vector)
    assert not np.allclose(seen[0], seen[1])
    np.testing.assert_array_equal(seen[2], 0)


@pytest.mark.parametrize(
    'wrong',
    [
        {'bias': [0.0] * 5}, {'bias': [np.nan] * 6}, {'tool_mass': -1.0}, {'tool_mass': np.inf}, {'tool_com': [0.0]},
        {'deadband': [-1.0, 0.0]}, {'deadband': [1.0]}, {'deadband': [np.nan, 0.0]},
    ],
)  # fmt: skip
def test_a_sensor_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match='must'):
        WristSensor.of(**wrong)


def test_while_a_payload_changes_zero_is_refused_for_its_weight_would_go_into_the_bias(robot: Robot) -> None:
    engine, now = engine_of({'payload_ramp': 1.0}), 10**9
    weight = [0.0, 0.0, 2 * 9.81]  # at q = 0 the base's z is up; the robot bears 2 kg

    def stand(seconds: float) -> int:
        nonlocal now
        for _ in range(int(seconds * 100)):
            now += 10**7
            engine.on_joint_state(robot.joint_names, np.zeros(robot.n), np.zeros(robot.n), np.empty(0), now, now)
            engine.inputs.on_wrench('left', 'R0', weight, [0.0] * 3, now, now)
        return now

    stand(0.6)
    assert engine.zero('left', now)[2] == pytest.approx(weight[2])
    engine.on_payload('left', '', PayloadSpec(2.0, [0.0] * 3, [0.0] * 6), now)
    for seconds in (0.0, 0.5):
        with pytest.raises(ArgumentError, match='payload is still changing'):
            engine.zero('left', stand(seconds))
    assert engine.zero('left', stand(1.0))[:3] == pytest.approx(np.zeros(3), abs=1e-9)
