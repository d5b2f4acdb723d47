"""What the torques are for, without ROS in between: a simulated robot, its wrist sensor, the terms that drive it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Robot, Wrench, dynamics_of
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.dynamics.terms import Terms, Torques
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.wrenches import Sense, WrenchInput
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.simulation.sensors import SimulatedWrist
from krang_dynamics_ros.simulation.simulation import Simulation

Q = np.array([0.0, 0.6, 0.0, *[0.0, -0.8, 0.0, -0.9, 0.0, 0.0, 0.0], *[0.0, 0.8, 0.0, 0.9, 0.0, 0.0, 0.0]])
PUSH = Wrench('R10l', (0.0, 0.0, 30.0), axes='R0')  # what the world does to the left hand: N, upwards
SECONDS = 0.5


def driven(
    robot: Robot, *terms: str, push: Wrench | None = None, sense: Sense = 'applied_on_robot', real: Robot | None = None
) -> np.ndarray:
    """Return how far the left hand (3) moves in half a second under the terms, on a robot with a little friction.

    `robot` is what the dynamics know; `real`, if it is given, is what the robot is.
    """
    known = dynamics_of(robot)
    joints = tuple(replace(joint, friction=Friction(1.0, 1.0)) for joint in robot.joints)
    sim = Simulation(replace(real or robot, joints=joints), Q)
    hand = WrenchInput('left', 'R10l', sense, links=known.link_names)
    pushes = [push] if push else []
    for _ in range(int(SECONDS / 0.002)):
        force, moment = np.split(sim.dynamics.wrench_at_link(sim.q, push or Wrench('R10l', (0, 0, 0))), 2)
        hand.update('R10l', force.tolist(), moment.tolist(), 0, 0)
        wrench = hand.wrench(0, 0)
        torque = Torques(Terms(known), State(sim.q, sim.dq, [wrench] if wrench else [])).total(terms)
        assert torque is not None
        for _ in range(2):  # the torques of one joint state last until the next, as on a robot
            sim.step(torque, pushes)
    return np.asarray(known.pose(sim.q, 'R10l')[1] - known.pose(Q, 'R10l')[1])


def test_gravity_alone_holds_it_still_and_lets_a_push_move_it(robot: Robot) -> None:
    assert np.linalg.norm(driven(robot, 'gravity')) < 1e-6
    assert driven(robot, 'gravity', push=PUSH)[2] > 0.05


def test_a_push_is_held_with_the_right_sign_and_doubled_with_the_wrong_one(robot: Robot) -> None:
    free = driven(robot, 'gravity', push=PUSH)[2]
    held = driven(robot, 'gravity', 'wrench', push=PUSH)
    wrong = driven(robot, 'gravity', 'wrench', push=PUSH, sense='applied_by_robot')[2]
    assert np.linalg.norm(held) < 1e-3
    assert wrong > 1.5 * free


@pytest.mark.parametrize('payload', [2.0, 5.0])
def test_a_payload_that_the_node_does_not_know_makes_the_hand_sink(robot: Robot, payload: float) -> None:
    held = Inertia(payload, np.zeros(3), np.zeros((3, 3)))  # a point mass in the hand
    links = tuple(
        replace(link, inertia=Inertia(link.inertia.m + held.m, link.inertia.MS, link.inertia.J))
        if link.name == 'R10l'
        else link
        for link in robot.links
    )
    loaded = replace(robot, links=links)
    assert driven(robot, 'gravity', real=loaded)[2] < -0.02
    assert np.linalg.norm(driven(loaded, 'gravity', real=loaded)) < 1e-6


HAND = {
    'left.sense': 'applied_on_robot', 'left.sensor.bias': [4.0, -3.0, 2.0, 0.3, -0.2, 0.1], 'left.tool.mass': 1.6,
    'left.tool.com': [0.01, -0.02, 0.09], 'left.payload.mass': 2.0, 'left.payload.com': [0.0, 0.05, 0.1],
    'total_terms': ['gravity', 'wrench'],
}  # fmt: skip


def steered(robot: Robot, push: Wrench | None, seconds: float) -> np.ndarray:
    """Return how far the joints (n) of a robot with tool, payload and bias move, driven by the node's own engine."""
    joints = tuple(replace(joint, friction=Friction(1.0, 0.1)) for joint in robot.joints)
    sim, engine = Simulation(replace(robot, joints=joints), Q), engine_of(HAND)
    bodies = [
        Inertia.about_com(HAND[f'left.{what}.mass'], np.array(HAND[f'left.{what}.com']), np.zeros((3, 3)))
        for what in ('tool', 'payload')
    ]
    sim.dynamics.payload = {'R10l': bodies[1]}
    wrist = SimulatedWrist('R10l', *bodies, HAND['left.sensor.bias'])
    for k in range(1, int(seconds / 0.002)):
        now, read = k * 2_000_000, wrist.reading(sim, [push] if push else [], np.random.default_rng(k)).tolist()
        engine.inputs.on_wrench('left', 'R10l', read[:3], read[3:], now, now)
        torques = engine.on_joint_state(robot.joint_names, sim.q, sim.dq, np.empty(0), now, now)
        total = torques and torques.total(engine.total_terms)
        assert total is not None
        for _ in range(2):
            sim.step(total, [push] if push else [])
    return np.asarray(sim.q - Q)


def test_tool_payload_and_bias_that_the_node_knows_change_nothing(robot: Robot) -> None:
    assert np.abs(steered(robot, None, 1.0)).max() < 1e-9
    assert np.abs(steered(robot, PUSH, 0.5)).max() < 1e-3  # a push is held as without them


@pytest.mark.slow
def test_they_change_nothing_for_ten_seconds(robot: Robot) -> None:
    assert np.abs(steered(robot, None, 10.0)).max() < 1e-3
