"""Readings of which the robot's firmware has taken a weight out, and headers that name no link."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Lagrangian, Robot
from krang_dynamics_ros.calibration.samples import Sampler
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.wrenches import (
    RemovedWeight,
    RowTimes,
    TimedReading,
    WrenchInput,
    contact_rows,
    contact_wrenches,
)

from ..robots import random_body
from .test_command_supervisor import Arm
from .test_wrist_sensor import BIAS, TOOL, TOOL_COM, TOOL_MASS

FLANGE = 'R9l'
TILTED, UPRIGHT = np.array([1.0, -2.0, -9.0]), np.array([0.0, 0.0, -9.81])
PAYLOAD = {'left.payload.mass': 1.5, 'left.payload.com': [0.01, -0.02, 0.08]}
TOLD = {'left.robot_payload.mass': 1.5, 'left.robot_payload.com': [0.01, -0.02, 0.08]}


def weight_by_hand(
    robot: Robot, q: np.ndarray, link: str, body: Inertia, gravity: np.ndarray, frame: str, about: str
) -> np.ndarray:
    """Gravity on a body at a link, by the report's frames: at its centre of mass, moved, turned. The world's sense."""
    lagrangian = Lagrangian(robot)
    R, origin = lagrangian.pose(q, link)
    axes, where = lagrangian.pose(q, frame or 'R10l')
    if about == 'hand':
        where = lagrangian.pose(q, 'R10l')[1]
    force, point = body.m * gravity, origin + R @ body.com
    return np.concatenate([axes.T @ force, axes.T @ np.cross(point - where, force)])


@pytest.mark.parametrize('sense', ['applied_by_robot', 'applied_on_robot'])
@pytest.mark.parametrize('about', ['frame', 'hand'])
@pytest.mark.parametrize('frame', ['', 'R10l', 'R0', 'R6r'], ids=lambda f: f or 'empty')
def test_the_weight_that_the_firmware_subtracted_is_added_back_in_its_own_gravity(
    robot: Robot, dynamics: Dynamics, rng: np.random.Generator, frame: str, about: str, sense: str
) -> None:
    dynamics.gravity = TILTED
    ours, told = random_body(rng), random_body(rng)
    removed = RemovedWeight(FLANGE, told, UPRIGHT)
    links = dynamics.link_names
    hand = WrenchInput('left', 'R10l', sense, about, links=links, sensor=TOOL, payload=ours, removed=removed)
    tool, sign = Inertia.about_com(TOOL_MASS, TOOL_COM, np.zeros((3, 3))), 1 if sense == 'applied_by_robot' else -1
    weigh = partial(weight_by_hand, robot, frame=frame, about=about)
    for k, q in enumerate(rng.uniform(-2, 2, (3, robot.n)), 1):
        touch = rng.normal(size=6) * 20
        in_sensor = sum(weigh(q, 'R10l', body, TILTED) for body in (tool, ours))
        reading = touch + BIAS - sign * (in_sensor - weigh(q, FLANGE, told, UPRIGHT))
        assert hand.update(frame, reading[:3].tolist(), reading[3:].tolist(), k, k)
        (wrench,) = contact_wrenches([hand], partial(dynamics.weights, q), k, k).values()
        np.testing.assert_allclose(sign * wrench.vector, touch, atol=1e-10)
        times = RowTimes(np.array([k]), np.array([k]))
        timed = [TimedReading(0, hand.reading, k, k)]
        (rows,) = contact_rows(hand, timed, q[None], times, dynamics.weights).values()
        np.testing.assert_array_equal(rows[0], wrench.vector)


@pytest.mark.parametrize('stamped', [True, False])
def test_in_many_states_at_once_a_reading_counts_until_its_timeout(dynamics: Dynamics, stamped: bool) -> None:
    hand = WrenchInput('left', 'R10l', links=dynamics.link_names)
    begin, limit = 10**12, round(hand.timeout * 1e9)
    assert hand.update('', [1.0, 2.0, 3.0], [0.0] * 3, begin if stamped else 0, begin)
    ages = np.array([0, limit // 2, limit, limit + 1, 3 * limit // 2, 2 * limit])
    times = RowTimes(begin + ages if stamped else 0 * ages, begin + (0 * ages if stamped else ages))
    timed = [TimedReading(0, hand.reading, begin if stamped else 0, begin)]
    (rows,) = contact_rows(hand, timed, np.zeros((len(ages), dynamics.n)), times, dynamics.weights).values()
    assert rows.any(axis=1).tolist() == [True, True, True, False, False, False]


def engine(**given: Any) -> Engine:
    return engine_of({'payload_ramp': 0.0, 'left.sense': 'applied_on_robot', **given})


def contact(given: dict[str, Any], reading: list[float], frame: str = '') -> np.ndarray:
    """Return what an engine makes of a reading at a pose."""
    one, q = engine(**given), np.linspace(-1, 1, 17)
    one.on_joint_state(one.dynamics.joint_names, q, np.zeros(17), np.empty(0), 1, 1)
    assert one.inputs.on_wrench('left', frame, reading[:3], reading[3:], 1, 1)
    found = one.inputs.compensated('left', 1)
    assert found is not None
    return found


READING = [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]


def test_a_payload_that_both_know_leaves_a_compensated_reading_as_it_is() -> None:
    both = PAYLOAD | TOLD | {'left.sensor.compensated': True}
    np.testing.assert_allclose(contact(both, READING), READING, atol=1e-12)
    assert np.abs(contact(PAYLOAD | TOLD, READING)[:3] - READING[:3]).max() > 5.0  # taken out twice


def test_a_tool_set_in_the_firmware_counts_once(rng: np.random.Generator) -> None:
    """Told to the firmware with the payload as one body, and to us apart."""
    tool = {'left.tool.mass': 0.5, 'left.tool.com': [0.0, 0.0, 0.03]}
    com = (np.array([0.01, -0.02, 0.08]) * 1.5 + np.array([0.0, 0.0, 0.03]) * 0.5) / 2.0
    told = {'left.robot_payload.mass': 2.0, 'left.robot_payload.com': com.tolist(), 'left.sensor.compensated': True}
    np.testing.assert_allclose(contact(PAYLOAD | tool | told, READING), READING, atol=1e-12)


def test_zero_makes_a_compensated_reading_nothing_in_other_poses_too(rng: np.random.Generator) -> None:
    """The robot is on a wall, and its firmware believes that it stands: the weight that it takes out is another."""
    one = engine(**PAYLOAD, **TOLD, **{'left.sensor.compensated': True, 'gravity': [0.0, 9.81, 0.0]})
    body = Inertia.about_com(1.5, np.array([0.01, -0.02, 0.08]), np.zeros((3, 3)))
    now = 0

    def stand(q: np.ndarray) -> np.ndarray | None:
        nonlocal now
        weights = [
            weight_by_hand(one.model.robot, q, 'R10l', body, np.array(g), '', 'hand')
            for g in ((0.0, 9.81, 0.0), UPRIGHT)
        ]
        reading = BIAS + weights[0] - weights[1]
        for _ in range(60):
            now += 10**7
            one.on_joint_state(one.dynamics.joint_names, q, np.zeros(17), np.empty(0), now, now)
            one.inputs.on_wrench('left', '', reading[:3].tolist(), reading[3:].tolist(), now, now)
        return one.inputs.compensated('left', now)

    stand(np.zeros(17))
    bias = one.zero('left', now)
    np.testing.assert_allclose(bias, BIAS, atol=1e-9)
    one.settings.update({'left.sensor.bias': bias.tolist()})
    one.inputs.states.on_clock_jump(now)
    np.testing.assert_allclose(stand(rng.uniform(-2, 2, 17)), np.zeros(6), atol=1e-9)


def test_calibration_puts_the_weight_back_first(rng: np.random.Generator) -> None:
    """A sample of a compensated reading is that of the sensor."""
    q = rng.uniform(-2, 2, 17)
    numbers = {}
    for compensated in (False, True):
        one = engine(**TOLD, **{'left.sensor.compensated': compensated, 'left.robot_flange': FLANGE})
        sampler = Sampler(one, 'left')
        for k in range(1, 130):
            one.on_joint_state(one.dynamics.joint_names, q, np.zeros(17), np.empty(0), k * 10**7, k * 10**7)
            one.inputs.on_wrench('left', 'R9l', READING[:3], READING[3:], k * 10**7, k * 10**7)
            sampler.look(k * 10**7)
        numbers[compensated] = sampler.samples[0].reading
    told = Inertia.about_com(1.5, np.array([0.01, -0.02, 0.08]), np.zeros((3, 3)))
    weight = weight_by_hand(load_model().robot, q, FLANGE, told, UPRIGHT, FLANGE, 'frame')
    np.testing.assert_allclose(numbers[False], READING)
    np.testing.assert_allclose(numbers[True], READING + weight, atol=1e-9)  # the sensor reads what the world does


def test_a_frame_of_the_controller_is_replaced_by_a_link() -> None:
    one = engine()
    assert not one.inputs.on_wrench('left', 'tool0_controller', READING[:3], READING[3:], 1, 1)
    assert 'tool0_controller' in one.inputs.hands['left'].refusals.reason
    named = {'left.sensor.frame': 'R9l'} | PAYLOAD
    np.testing.assert_array_equal(contact(named, READING, 'tool0_controller'), contact(PAYLOAD, READING, 'R9l'))
    np.testing.assert_array_equal(contact(named, READING, 'R0'), contact(PAYLOAD, READING, 'R9l'))


def test_readings_of_another_frame_are_forgotten() -> None:
    one = engine()
    one.inputs.on_wrench('left', '', READING[:3], READING[3:], 1, 1)
    one.settings.update({'left.sensor.frame': 'R9l'})
    assert not one.inputs.hands['left'].known


@pytest.mark.parametrize(
    'wrong',
    [
        {'left.sensor.frame': 'tool0_controller'},
        {'left.sensor.compensated': True, 'left.robot_flange': 'panda_link8'},
    ],
)
def test_a_link_that_the_robot_does_not_have_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match='link'):
        engine(**wrong)


def test_the_meaning_of_readings_is_fixed_while_commands_are_sent() -> None:
    model: Model = load_model()
    arm = Arm(model).on()
    for change in ({'left__sensor__frame': 'R9l'}, {'left__sensor__compensated': True}):
        with pytest.raises(ArgumentError, match='cannot change while commands are sent'):
            arm.set(**change)
    arm.supervisor.disable()
    arm.run(2.0)
    arm.set(left__sensor__frame='R9l', left__sensor__compensated=True)


def test_a_body_beyond_the_flange_of_another_robot_counts_in_its_frame(robot: Robot) -> None:
    """Without a flange the body is in the hand's frame, with one in the flange's."""
    one, q = engine(**TOLD, **{'left.sensor.compensated': True}), np.linspace(-1, 1, 17)
    two = engine(**TOLD, **{'left.sensor.compensated': True, 'left.robot_flange': FLANGE})
    told = Inertia.about_com(1.5, np.array([0.01, -0.02, 0.08]), np.zeros((3, 3)))
    for which, link in ((one, 'R10l'), (two, FLANGE)):
        which.on_joint_state(robot.joint_names, q, np.zeros(17), np.empty(0), 1, 1)
        which.inputs.on_wrench('left', '', READING[:3], READING[3:], 1, 1)
        weight = weight_by_hand(replace(robot), q, link, told, UPRIGHT, '', 'frame')
        found = which.inputs.compensated('left', 1)
        np.testing.assert_allclose(found, READING + weight, atol=1e-10)
