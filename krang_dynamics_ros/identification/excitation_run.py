"""An excitation followed by a simulated robot, and recorded as a real one would be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core.spatial import Array
from ..recordings.recording import Recording
from ..robot.robot import Robot
from ..simulation.simulation import STEP, Simulation
from .excitation import Excitation

STIFFNESS, DAMPING = 400.0, 40.0  # 1/s^2 and 1/s, of the controller's error: critical, settled within half a second
LEAD = 0.25  # s: the record begins when the robot is on its way, for at rest dry friction may be anything
ENCODER = 1e-5  # rad or m: what a position is rounded to


def run(
    robot: Robot,
    excitation: Excitation,
    duration: float,
    rate: float,
    noise: float,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Recording:
    """Record a simulated robot, of the excitation's joints alone, that follows it by computed torque.

    `noise` of the efforts is in parts of each one's spread; `rate` in Hz.
    """
    rows, between = round(duration * rate), max(1, round(1 / rate / STEP))
    simulation = Simulation(robot, excitation.at(np.zeros(1))[0][0])
    lead = round(LEAD * rate)
    rows += lead
    time = np.asarray(np.arange(rows) * between * STEP, dtype=float)
    position, effort = np.zeros((2, rows, robot.n))
    instants = np.asarray(np.arange(rows * between) * STEP, dtype=float)
    wanted = [x.reshape(rows, between, -1) for x in excitation.at(instants)]
    for row in range(rows):
        for k in range(between):
            torque = _torque(simulation, *(x[row, k] for x in wanted))
            if k == 0:
                position[row], effort[row] = simulation.q, torque
            simulation.step(torque)
        if progress and row % 100 == 0:
            progress(f'simulated: {time[row]:.0f} of {duration:.0f} s')
    rng = np.random.default_rng(seed)
    time, position, effort = time[:-lead], position[lead:], effort[lead:]
    effort += noise * effort.std(axis=0) * rng.normal(size=effort.shape)
    rounded = np.asarray(np.round(position / ENCODER) * ENCODER, dtype=float)
    return Recording('simulated', robot.joint_names, time, rounded, None, effort)


def _torque(simulation: Simulation, q: Array, dq: Array, ddq: Array) -> Array:
    """Return the torque (n) that follows a motion: what it takes by the model, and against what is off."""
    dynamics = simulation.dynamics
    acceleration = ddq + STIFFNESS * (q - simulation.q) + DAMPING * (dq - simulation.dq)
    friction = dynamics.friction.torque(dq)
    return np.asarray(dynamics.inverse_dynamics(simulation.q, simulation.dq, acceleration) + friction)
