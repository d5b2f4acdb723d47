"""Sensors of a simulated robot: wrist sensors and joint torque sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import Wrench
from .simulation import Simulation

EffortSource = Literal['joint', 'motor']


@dataclass
class SimulatedWrist:
    """A wrist sensor, in its hand's frame: it measures the wrench that the WORLD applies to all that hangs beyond it.

    This is the contact wrench, the weight of the tool (part of the hand's link) and that of the payload. Inertia forces
    are left out, so a reading is right for a hand at rest.
    """

    link: str
    tool: Inertia = field(default_factory=Inertia)
    payload: Inertia = field(default_factory=Inertia)
    bias: Sequence[float] = (0.0,) * 6  # N, N m
    noise: Sequence[float] = (0.0, 0.0)  # standard deviation of each force (N) and each moment (N m)

    def reading(self, simulation: Simulation, contacts: Sequence[Wrench], random: np.random.Generator) -> Array:
        """Return [force; moment] (6) in the hand's axes, about its origin. Only contacts on its link count."""
        dynamics, q = simulation.dynamics, simulation.q
        read = np.array(self.bias, dtype=float)
        for contact in contacts:
            if contact.link == self.link:
                read += dynamics.wrench_at_link(q, contact)
        if self.tool.m or self.payload.m:
            rotation, _ = dynamics.pose(q, self.link)
            read += (self.tool + self.payload).weighing @ (rotation.T @ dynamics.gravity)
        return read + np.repeat(self.noise, 3) * random.normal(size=6) if any(self.noise) else read


def joint_effort(simulation: Simulation, pushes: Sequence[Wrench]) -> Array:
    """Return the reading of a torque sensor in each joint (n), behind rotor and friction: the torque on the links.

    It is right under closed brakes and at a stop too: both bear the links through the sensor.
    """
    dynamics, q, dq, ddq = simulation.dynamics, simulation.q, simulation.dq, simulation.ddq
    effort = dynamics.inverse_dynamics(q, dq, ddq) - dynamics.rotor_inertia * ddq + dynamics.drive.spring_torque(q)
    return effort - dynamics.wrench_torque(q, pushes) if pushes else effort
