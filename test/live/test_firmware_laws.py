"""Laws of commands to robots that add torques themselves: random robots, poses, gravities, masses and payloads.

Both sums are computed by Newton and Euler's equations, which know nothing of the engine, its URDFs or Pinocchio.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from krang_dynamics_ros import NewtonEuler, Robot, Wrench, urdf_text
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.core.spatial import frozen
from krang_dynamics_ros.dynamics.factory import model_of
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.controller_watch import Endpoint
from krang_dynamics_ros.live.engine import Engine
from krang_dynamics_ros.live.parameters import MODEL
from krang_dynamics_ros.live.timeline import Clocks
from krang_dynamics_ros.robot.motor_and_friction import Friction, Motor
from krang_dynamics_ros.robot.robot import Description

from ..robots import random_body, trees

PERIOD = 0.02  # s
RAMP = 0.2  # s
FOLDER = pytest.fixture(scope='module')(lambda tmp_path_factory: tmp_path_factory.mktemp('vendor'))
many = settings(max_examples=15, phases=[Phase.generate], deadline=None, suppress_health_check=[HealthCheck.too_slow])


def with_body(robot: Robot, link: str, body: Inertia) -> Robot:
    links = tuple(replace(x, inertia=x.inertia + body) if x.name == link else x for x in robot.links)
    return replace(robot, links=links)


def beyond(robot: Robot, flange: str) -> set[str]:
    found = {flange}
    for _ in robot.joints:
        found |= {joint.child for joint in robot.joints if joint.parent in found}
    return found - {flange}


class World:
    """A random robot with a vendor's model of it, an engine for its commands, and the witness of both sums."""

    def __init__(self, robot: Robot, rng: np.random.Generator, folder: Path) -> None:
        self.robot = replace(robot, joints=tuple(replace(joint, limits=None, motor=Motor()) for joint in robot.joints))
        self.rng, self.hand = rng, robot.links[int(rng.integers(len(robot.links)))].name
        links = tuple(replace(link, inertia=random_body(rng)) for link in robot.links)
        self.vendor = replace(self.robot, links=links)
        file = folder / 'vendor.urdf'
        file.write_text(urdf_text(self.vendor))
        self.adds = [name for name in ('gravity', 'coriolis', 'friction') if rng.random() < 0.7] or ['gravity']
        self.flange = self.random_flange()
        self.told = Inertia.about_com(rng.uniform(0.1, 5), rng.normal(size=3) * 0.1, np.zeros((3, 3)))
        self.believed, self.share = rng.normal(size=3) * 9.81, rng.uniform(0, 1, 2)
        names = [joint.name for joint in robot.joints if joint.moves]
        self.joints = [str(x) for x in rng.permutation(names)[: rng.integers(1, len(names) + 1)]]
        self._start(self._parameters(str(file)))

    def _parameters(self, file: str) -> dict[str, Any]:
        k = len(self.joints)
        return {
            'command_joints': self.joints, 'command_limits': [1e6] * k, 'command_ramp': RAMP,
            'command_limits_beyond_urdf': True, 'command_start_travel': 3.0, 'payload_ramp': 0.1,
            'end_effectors': ['hand'], 'hand.link': self.hand, 'total_terms': ['gravity', 'coriolis', 'friction'],
            'robot.adds': self.adds, 'robot.description': file, 'robot.gravity': self.believed.tolist(),
            'robot.friction_share': self.share.tolist(), 'hand.robot_flange': self.flange,
            'hand.robot_payload.mass': self.told.m, 'hand.robot_payload.com': self.told.com.tolist(),
        }  # fmt: skip

    def random_flange(self) -> str:
        """Return a link below which a joint moves, or nothing."""
        moving = [joint.child for joint in self.robot.joints if joint.moves]
        flanges = [link.name for link in self.robot.links if set(moving) - beyond(self.robot, link.name)]
        return str(self.rng.choice(['', *flanges]))

    def _start(self, parameters: dict[str, Any]) -> None:
        self.time = 1000.0
        model = model_of(Description(self.robot, urdf_text(self.robot), ()))
        self.settings = Settings(parameters)
        self.settings.declare(MODEL)
        self.engine = Engine(self.settings, model, Clocks(*3 * [lambda: self.time]))
        self.supervisor, self.commands = self.engine.supervisor, self.engine.supervisor.commands
        self.supervisor.on_endpoints([Endpoint('c1', '/controller')])
        self.names = model.dynamics.joint_names
        self.order = [self.names.index(name) for name in self.joints]
        n = len(self.names)
        self.q, self.dq = self.rng.uniform(-1, 1, n), self.rng.uniform(-0.5, 0.5, n)
        self.wrench: np.ndarray | None = None  # that the hand's sensor reads, in its frame
        self.sent: np.ndarray | None = None

    @property
    def now(self) -> int:
        return round(self.time * 1e9)

    def step(self) -> None:
        self.time += PERIOD
        self.q = self.q + PERIOD * self.dq
        if self.wrench is not None:
            self.engine.inputs.on_wrench('hand', '', self.wrench[:3], self.wrench[3:], self.now, self.now)
        torques = self.engine.on_joint_state(self.names, self.q, self.dq, np.empty(0), self.now, self.now)
        sent = self.supervisor.on_torques(torques)
        self.sent = None if sent is None else sent.copy()

    def on(self) -> World:
        for _ in range(3):
            self.step()
        self.supervisor.enable()
        self.supervisor.on_acknowledged(self.commands.starts)
        self.run(RAMP + PERIOD)
        assert self.commands.stage is Stage.ON
        return self

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.step()

    def set(self, **changes: Any) -> None:
        values = {name.replace('__', '.'): value for name, value in changes.items()}
        self.settings.check(values)
        self.settings.update(values)

    # The witness ------------------------------------------------------------------------------------------------------

    def total(self) -> np.ndarray:
        values, payload = self.settings, self.engine.inputs.hands['hand'].payload
        laden = with_body(self.robot, self.hand, payload)
        witness = NewtonEuler(replace(laden, gravity=frozen(np.array(values['gravity']))))
        terms = {
            'gravity': lambda: witness.Q(self.q),
            'coriolis': lambda: witness.coriolis_torque(self.q, self.dq),
            'friction': lambda: self.friction[0] + self.friction[1],
            'wrench': lambda: self.by_wrench(witness, payload),
        }
        return np.asarray(sum((terms[name]() for name in values['total_terms'] if name), np.zeros(len(self.names))))

    def by_wrench(self, witness: NewtonEuler, payload: Inertia) -> np.ndarray:
        """What the hand applies: its sensor bears the payload besides."""
        if self.wrench is None:
            return np.zeros(len(self.names))
        contact = self.wrench - self.settings['hand.sensor.bias']
        read = witness.wrench_torque(self.q, [Wrench(self.hand, contact[:3], contact[3:])])
        links = tuple(replace(x, inertia=payload if x.name == self.hand else Inertia()) for x in self.robot.links)
        alone = NewtonEuler(replace(witness.robot, links=links, joints=tuple(bare(j) for j in self.robot.joints)))
        return np.asarray(read - alone.Q(self.q))

    @property
    def friction(self) -> tuple[np.ndarray, np.ndarray]:
        """Viscous and Coulomb friction by eq. (17)."""
        drives = {joint.name: joint.friction for joint in self.robot.joints}
        viscous = np.array([drives[name].viscous for name in self.names]) * self.dq
        return viscous, np.array([drives[name].coulomb for name in self.names]) * np.sign(self.dq)

    def firmware(self) -> np.ndarray:
        gone = beyond(self.vendor, self.flange) if self.flange else set()
        links = tuple(replace(x, inertia=Inertia()) if x.name in gone else x for x in self.vendor.links)
        joints = tuple(bare(joint) if joint.child in gone else joint for joint in self.vendor.joints)
        model = replace(self.vendor, links=links, joints=joints, gravity=frozen(self.believed))
        witness = NewtonEuler(with_body(model, self.flange or self.hand, self.told))
        added = np.zeros(len(self.names))
        if 'gravity' in self.adds:
            added += witness.Q(self.q)
        if 'coriolis' in self.adds:
            added += witness.coriolis_torque(self.q, self.dq)
        if 'friction' in self.adds and 'friction' in self.settings['total_terms']:
            added += self.share[0] * self.friction[0] + self.share[1] * self.friction[1]
        return added

    @property
    def scale(self) -> float:
        return float(1 + np.abs(self.total()).max() + np.abs(self.firmware()).max())

    @property
    def friction_fades(self) -> bool:
        """Whether friction came or went within the ramp: it has a weight of its own and never enters the remainder."""
        weight = self.commands.guiding.weights.get('friction', 0.0)
        return weight != float('friction' in self.settings['total_terms'])

    def sum_less_total(self) -> np.ndarray:
        """What the motors get beyond the total (k)."""
        assert self.sent is not None
        return np.asarray(self.sent + (self.firmware() - self.total())[self.order])


def bare(joint: Any) -> Any:
    return replace(joint, motor=Motor(), friction=Friction())


def random_change(world: World) -> None:
    """Change something that a person or a sensor may change while commands are sent."""
    rng, gravity = world.rng, ['gravity'] if 'gravity' in world.adds else []
    change = int(rng.integers(5))
    if change == 0:
        others = [name for name in ('gravity', 'coriolis', 'friction', 'wrench') if rng.random() < 0.5]
        world.set(total_terms=[*dict.fromkeys([*gravity, *others])] or [''])
    elif change == 1:
        world.set(gravity=(rng.normal(size=3) * 9.81).tolist())
    elif change == 2:
        world.set(hand__payload__mass=float(rng.uniform(0, 5)), hand__payload__com=rng.uniform(-0.2, 0.2, 3).tolist())
    elif change == 3:
        world.set(hand__sensor__bias=(rng.normal(size=6)).tolist() if rng.random() < 0.5 else [0.0] * 6)
    else:
        world.wrench = None if world.wrench is not None else rng.normal(size=6) * 10
        world.engine.inputs.hands['hand'].forget()  # a sensor that falls silent


@many
@given(robot=trees(6), seed=st.integers(0, 2**32 - 1))
def test_the_motors_get_the_total_in_sum(FOLDER: Path, robot: Robot, seed: int) -> None:
    world = World(robot, np.random.default_rng(seed), FOLDER).on()
    np.testing.assert_allclose(world.sum_less_total() / world.scale, 0, atol=1e-9)
    world.supervisor.disable()
    world.run(RAMP + PERIOD)
    assert not world.sent.any()  # nothing is sent at the end, whatever the firmware believes


@many
@given(robot=trees(6), seed=st.integers(0, 2**32 - 1))
def test_whatever_changes_leaves_the_sum_within_the_ramp(FOLDER: Path, robot: Robot, seed: int) -> None:
    world = World(robot, np.random.default_rng(seed), FOLDER).on()
    for _ in range(6):
        before = world.sent
        random_change(world)
        world.time += RAMP / 1000
        large = world.scale + np.abs(before).max() + np.abs(world.commands.remainder(world.time)).max()
        np.testing.assert_allclose(world.supervisor.tick(), before, atol=0.01 * large)  # nothing jumps
        for _ in range(int(world.rng.integers(1, 8))):
            world.step()
            remainder = world.commands.remainder(world.time)
            if not world.friction_fades:
                np.testing.assert_allclose((world.sum_less_total() - remainder) / world.scale, 0, atol=1e-9)
    world.run(RAMP + PERIOD)
    assert not world.commands.remainder(world.time).any()
    np.testing.assert_allclose(world.sum_less_total() / world.scale, 0, atol=1e-9)
