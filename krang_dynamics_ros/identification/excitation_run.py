"""An excitation followed by a simulated robot, and recorded as a real one would be."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..core.spatial import Array
from ..dynamics.friction import PreslidingState
from ..recordings.recording import Recording
from ..robot.robot import Robot
from ..simulation.simulation import STEP, Simulation
from .excitation import Excitation

STIFFNESS, DAMPING = 400.0, 40.0  # 1/s^2 and 1/s, of the controller's error: critical, settled within half a second
LEAD = 0.5  # s: the record begins when the robot is on its way and ends before it rests, where friction may be anything
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
    lead, between = round(LEAD * rate), max(1, math.ceil(1 / rate / STEP - 1e-6))
    h = 1 / rate / between  # s: a step; rows stand at whole ones, whatever the rate
    steps = (round(duration * rate) + 2 * lead) * between
    instants = np.asarray(np.arange(steps + 1) * h, dtype=float)
    q, dq, _ = excitation.from_rest_to_rest(instants, steps * h)
    simulation = Simulation(robot, q[0])
    dry = PreslidingState(simulation.dynamics.friction)
    position, effort = np.zeros((2, steps, robot.n))
    for k in range(steps):
        acceleration = (dq[k + 1] - dq[k]) / h
        acceleration += STIFFNESS * (q[k] - simulation.q) + DAMPING * (dq[k] - simulation.dq)
        effort[k] = _torque(simulation, acceleration, dq[k + 1], dry.move(q[k + 1]))
        simulation.step(effort[k], h=h)
        position[k] = simulation.q
        if progress and k % (100 * between) == 0:
            progress(f'simulated: {k * h:.0f} of {steps * h:.0f} s')
    rows = slice(lead * between, steps - lead * between, between)
    time, position, effort = instants[rows], position[rows], effort[rows]
    rng = np.random.default_rng(seed)
    effort = effort + noise * effort.std(axis=0) * rng.normal(size=effort.shape)
    rounded = np.asarray(np.round(position / ENCODER) * ENCODER, dtype=float)
    return Recording('simulated', robot.joint_names, time - time[0], rounded, None, effort)


def _torque(simulation: Simulation, acceleration: Array, dq: Array, z: Array) -> Array:
    """Return the torque (n) that accelerates as wanted, by the model, and what friction takes at velocity dq.

    The simulation's friction is that of the velocity with which a step ends; so are the velocity here, and the position
    that is recorded with this torque. Half a millisecond of viscous friction looks like 5 % of a rotor of Krang's.
    """
    dynamics = simulation.dynamics
    torque = dynamics.inverse_dynamics(simulation.q, simulation.dq, acceleration)
    drive = dynamics.drive.spring_torque(simulation.q) + dynamics.drive.coupled_friction(dq)
    return np.asarray(torque + drive + dynamics.friction.torque(dq, z))
