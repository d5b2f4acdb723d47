"""Sensors of a simulated robot: wrist sensors and joint torque sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array
from ..core.wrench import Load, Wrench
from ..live.wrenches import RemovedWeight, Sense
from .simulation import Simulation

SimulatedEffort = Literal['joint', 'motor']


@dataclass
class SimulatedWrist:
    """A wrist sensor: it measures the wrench that the WORLD applies to all that hangs beyond it.

    This is the contact wrench, the weight of the tool (part of the hand's link) and that of the payload. Inertia forces
    are left out, so a reading is right for a hand at rest. `axes` and `about` are links, as in `Wrench`.
    """

    link: str
    tool: Inertia = field(default_factory=Inertia)
    payload: Inertia = field(default_factory=Inertia)
    bias: Sequence[float] = (0.0,) * 6  # N, N m; in the axes and sense of the reading
    noise: Sequence[float] = (0.0, 0.0)  # standard deviation of each force (N) and each moment (N m)
    axes: str = ''  # of the reading; '': the hand's
    about: str = ''  # link about whose origin the moment is read; '': the hand
    sense: Sense = 'applied_on_robot'
    removed: RemovedWeight | None = None  # by the firmware; None: raw readings

    def reading(self, simulation: Simulation, contacts: Sequence[Wrench], random: np.random.Generator) -> Array:
        """Return [force; moment] (6) in its axes, about its point, in its sense. Only contacts on its link count."""
        by_world = self._at_hand(simulation, contacts)
        if self.axes or self.about:
            by_world = self._in_own_frame(simulation, by_world)
        if self.removed is not None:
            link, body, gravity = self.removed
            load = Load(link, body, self.axes or self.link, self.about or self.link, gravity)
            by_world -= simulation.dynamics.weights(simulation.q, [load])[0]
        read = self.bias + (by_world if self.sense == 'applied_on_robot' else -by_world)
        return read + np.repeat(self.noise, 3) * random.normal(size=6) if any(self.noise) else read

    def _at_hand(self, simulation: Simulation, contacts: Sequence[Wrench]) -> Array:
        """Return contacts and weights (6), by the world, in the hand's axes, about its origin."""
        dynamics, q = simulation.dynamics, simulation.q
        sum_ = np.zeros(6)
        for contact in contacts:
            if contact.link == self.link:
                sum_ += dynamics.wrench_at_link(q, contact)
        if self.tool.m or self.payload.m:
            rotation, _ = dynamics.pose(q, self.link)
            sum_ += (self.tool + self.payload).weighing @ (rotation.T @ dynamics.gravity)
        return sum_

    def _in_own_frame(self, simulation: Simulation, wrench: Array) -> Array:
        """Return a wrench (6) at the hand in the axes and about the point of the readings."""
        pose = partial(simulation.dynamics.pose, simulation.q)
        (rotation, origin), (axes, _), (_, point) = (pose(link or self.link) for link in ('', self.axes, self.about))
        force = rotation @ wrench[:3]
        moment = rotation @ wrench[3:] + np.cross(origin - point, force)
        return np.concatenate([axes.T @ force, axes.T @ moment])


def joint_effort(simulation: Simulation, pushes: Sequence[Wrench]) -> Array:
    """Return the reading of a torque sensor in each joint (n), behind rotor and friction: the torque on the links.

    It is right under closed brakes and at a stop too: both bear the links through the sensor.
    """
    dynamics, q, dq, ddq = simulation.dynamics, simulation.q, simulation.dq, simulation.ddq
    effort = (
        dynamics.inverse_dynamics(q, dq, ddq)
        - dynamics.rotor_inertia * ddq
        + dynamics.springs_and_couplings.spring_torque(q)
    )
    return effort - dynamics.wrench_torque(q, pushes) if pushes else effort
