"""An arm that lifts a load: what its drives or its firmware say, with friction, noise and a wrong model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from krang_dynamics_ros import Dynamics, Robot, dynamics_of
from krang_dynamics_ros.calibration.payload_by_lifting import Stand
from krang_dynamics_ros.calibration.stands import HoldingTorque
from krang_dynamics_ros.core.inertia import Inertia

ARM = [f'q_{k}l' for k in range(1, 8)]
LIMITS = np.array([120, 120, 60, 60, 20, 20, 10.0])  # N m, of the arm's joints
MODEL_ERROR = 0.05  # of each mass
FRICTION, LOAD_FRICTION = 0.03, 0.05  # of a joint's limit, and of its load
STICKS = (0.6, 1.0)  # what of the friction is left at a stand
NOISE = 0.005  # of a joint's limit
YIELD, REPEAT = 0.003, 0.001  # rad: of the controller under load, and between two stands
RATE, STEP, BEYOND = 20, 0.15, 0.1  # Hz; rad between two messages; rad from which a pose is approached


@dataclass
class Lifted:
    """One run: the truth, and where the arm goes."""

    robot: Robot
    dynamics: Dynamics  # the true ones
    firmware: Dynamics  # those of its external torques, with their own errors
    body: Inertia
    poses: np.ndarray  # (poses, n)
    coulomb: np.ndarray  # (n)
    limits: np.ndarray  # (n)
    rng: np.random.Generator
    meaning: str = 'motor'

    @classmethod
    def drawn(cls, robot: Robot, seed: int, meaning: str, poses: int = 5, mass: float | None = None) -> Lifted:
        rng = np.random.default_rng(seed)
        arm, limits = arm_of(robot), np.full(robot.n, 10.0)
        limits[arm] = LIMITS
        coulomb = np.zeros(robot.n)
        coulomb[arm] = FRICTION * LIMITS * rng.uniform(0.5, 1.5, len(arm))
        goals = np.zeros((poses, robot.n))
        goals[:, robot.joint_names.index('q_w')] = 0.6
        goals[:, arm] = rng.uniform(-1.5, 1.5, (poses, len(arm)))
        com = rng.uniform([-0.1, -0.1, -0.05], [0.1, 0.1, 0.15])
        body = Inertia.about_com(mass or rng.uniform(1.0, 4.0), com, np.zeros((3, 3)))
        return cls(robot, wrong(robot, rng), wrong(robot, rng), body, goals, coulomb, limits, rng, meaning)

    @property
    def truth(self) -> np.ndarray:
        return np.array([self.body.m, *self.body.com])

    def load(self, loaded: bool, told: Inertia | None = None) -> None:
        """Put the load on, or take it off; `told` is what the firmware is told of."""
        self.dynamics.payload = {'R10l': self.body} if loaded else {}
        self.firmware.payload = {'R10l': told} if told else {}

    def effort(self, q: np.ndarray, sticks: np.ndarray) -> np.ndarray:
        """Return efforts at rest; `sticks` is friction's share of its most (n), by the side from which joints came."""
        held = self.dynamics.Q(q)
        driving = held + sticks * (self.coulomb + LOAD_FRICTION * np.abs(held))
        return self.firmware.Q(q) - driving if self.meaning == 'external' else driving

    def visits(self) -> Iterator[tuple[np.ndarray, int]]:
        """Return the poses as the controller reaches them, each from both sides."""
        arm = arm_of(self.robot)
        for goal in self.poses:
            for side in (1, -1):
                q = goal.copy()
                q[arm] += self.rng.normal(size=len(arm)) * REPEAT - YIELD * bool(self.dynamics.payload)
                yield q, side

    def sticks(self, side: int) -> np.ndarray:
        share = np.zeros(self.robot.n)
        share[arm_of(self.robot)] = side * self.rng.uniform(*STICKS, len(ARM))
        return share

    def stands(self, holding: HoldingTorque, readings: int = 20) -> list[Stand]:
        """Return stands as a sampler would have them."""
        found = []
        for q, side in self.visits():
            noise = NOISE * self.limits / np.sqrt(readings)
            effort = self.effort(q, self.sticks(side)) + noise * self.rng.normal(size=self.robot.n)
            sides = np.zeros(self.robot.n)
            sides[arm_of(self.robot)] = side
            found.append(Stand(q, holding.residual(q, effort), noise, sides))
        return found

    def states(self, seconds: float = 1.2) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return position, velocity and effort at `RATE`: on the way to each pose, and at rest there."""
        arm, here = arm_of(self.robot), self.poses[0]
        for q, side in self.visits():
            before = q.copy()
            before[arm] -= side * BEYOND
            for goal in (before, q):
                way = goal - here
                steps = 1 + int(np.abs(way).max() / STEP)
                for k in range(1, steps + 1):
                    yield here + k / steps * way, way / steps * RATE, self.noisy(here + k / steps * way, side)
                here = goal
            sticks = self.sticks(side)
            effort = self.effort(q, sticks)
            for _ in range(int(seconds * RATE)):
                noise = NOISE * self.limits * self.rng.normal(size=self.robot.n)
                yield q, np.zeros(self.robot.n), effort + noise

    def noisy(self, q: np.ndarray, side: int) -> np.ndarray:
        return self.effort(q, self.sticks(side)) + NOISE * self.limits * self.rng.normal(size=self.robot.n)


def wrong(robot: Robot, rng: np.random.Generator) -> Dynamics:
    """Return the robot with masses that are some percent off."""

    def off(inertia: Inertia) -> Inertia:
        return Inertia.from_parameters(inertia.parameters * (1 + MODEL_ERROR * rng.normal()))

    return dynamics_of(replace(robot, links=tuple(replace(x, inertia=off(x.inertia)) for x in robot.links)))


def arm_of(robot: Robot) -> list[int]:
    return [robot.joint_names.index(name) for name in ARM]


def errors(found: Sequence[float] | np.ndarray, truth: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    return np.abs(np.asarray(found) - truth) / deviations
