"""Contact over a long run: a robot that moves freely reports none, and 15 N are reported within 0.3 s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from krang_dynamics_ros import Robot, Wrench, dynamics_of
from krang_dynamics_ros.dynamics.terms import Torques
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.simulation.simulation import Simulation

MIDDLE = np.array([0.1, 0.6, 0.1, *[0.3, -0.5, 0.2, -0.9, 0.1, -0.4, 0.0] * 2])  # rad
SWING = 0.15  # rad, of each of three sines in each joint
STEP = 2_000_000  # ns
NOISE = 1.0  # N m, on every effort


class Run:
    """A simulated robot that follows sines by computed torque, and the node's engine that listens to it."""

    def __init__(self, robot: Robot, engine: Engine, rng: np.random.Generator) -> None:
        self._simulation, self._dynamics, self._engine = Simulation(robot), dynamics_of(robot), engine
        self._rng, self._names, self._stamp = rng, list(robot.joint_names), STEP
        self._rates, self._phases = rng.uniform(0.3, 2, (2, 17, 3)) * [[[1]], [[np.pi]]]
        self._simulation.reset(self._wanted()[0])

    def _wanted(self) -> np.ndarray:
        """Return position, velocity and acceleration (3, n) of now."""
        angle, w = self._rates * self._stamp / 1e9 + self._phases, self._rates
        parts = np.array([np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)])
        return np.asarray(SWING * parts.sum(axis=2) + [MIDDLE, 0 * MIDDLE, 0 * MIDDLE])

    def go_on(self, seconds: float, pushes: Sequence[Wrench] = ()) -> Iterator[Torques]:
        """Yield what the node would know at each state, under what the WORLD does."""
        for _ in range(round(seconds * 1e9 / STEP)):
            simulation, (q, dq, ddq) = self._simulation, self._wanted()
            ddq = ddq + 100 * (q - simulation.q) + 20 * (dq - simulation.dq)
            torque = self._dynamics.inverse_dynamics(simulation.q, simulation.dq, ddq)
            effort = torque + self._rng.normal(scale=NOISE, size=17)
            now = self._stamp
            torques = self._engine.on_joint_state(self._names, simulation.q, simulation.dq, effort, now, now)
            assert torques is not None
            yield torques
            simulation.step(torque, pushes, STEP / 1e9)
            self._stamp += STEP


def touched(engine: Engine, torques: Torques) -> bool:
    contact = engine.external.contact(torques)
    return contact is not None and contact.anywhere


@pytest.mark.slow
def test_ten_minutes_of_free_motion_give_no_contact_and_15_newton_do(robot: Robot, rng: np.random.Generator) -> None:
    learning = engine_of({})
    run = Run(robot, learning, rng)
    for torques in run.go_on(2):
        learning.external.unexplained_torque(torques)  # until it has settled
    learning.external.begin_learning()
    for torques in run.go_on(60):
        learning.external.learn(torques)
    engine = engine_of(learning.external.end_learning())

    run = Run(robot, engine, rng)  # another motion
    assert not any(touched(engine, torques) for torques in run.go_on(600))

    in_time = 0
    for _ in range(100):
        force = rng.normal(size=3)
        push = Wrench(rng.choice(['R10l', 'R10r']), 15 * force / np.linalg.norm(force))
        told = [touched(engine, torques) for torques in run.go_on(0.3, [push])]
        in_time += any(told)
        told = [touched(engine, torques) for torques in run.go_on(1.0)]
        assert not told[-1]
    assert in_time >= 99
