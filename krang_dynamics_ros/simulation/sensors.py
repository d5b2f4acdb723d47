"""What the sensors of a simulated robot read: of a hand's wrench, and of what drives the joints."""

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
    """A sensor in a wrist, in its hand's frame: it reads what the WORLD does to all that hangs beyond it.

    That is contact, and the weight of the tool (part of the hand's link) and of what the hand holds. What it takes to
    move them is left out: it is right for a hand at rest.
    """

    link: str
    tool: Inertia = field(default_factory=Inertia)
    payload: Inertia = field(default_factory=Inertia)
    bias: Sequence[float] = (0.0,) * 6  # N, N m
    noise: Sequence[float] = (0.0, 0.0)  # standard deviation of each force (N) and each moment (N m)

    def reading(self, simulation: Simulation, contacts: Sequence[Wrench], random: np.random.Generator) -> Array:
        """Return [force; moment] (6) in the hand's axes, about its origin; of the contacts, those on its link count."""
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
    """Return what a torque sensor in each joint (n) reads, behind rotor and friction: what moves and bears the links.

    Under brakes too, and at a stop: what bears the weight is between the sensor and the world.
    """
    dynamics, q, dq, ddq = simulation.dynamics, simulation.q, simulation.dq, simulation.ddq
    effort = dynamics.inverse_dynamics(q, dq, ddq) - dynamics.rotor_inertia * ddq + dynamics.drive.spring_torque(q)
    return effort - dynamics.wrench_torque(q, pushes) if pushes else effort
