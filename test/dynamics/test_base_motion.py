"""A base that is tilted, turns and accelerates: exact against two engines whose base moves freely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import settings as with_settings

from krang_dynamics_ros import BaseMotion, Dynamics, Robot, dynamics_of, load_robot, urdf_text
from krang_dynamics_ros.check.witnesses import random_payload, random_states
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import rotation_from_rpy
from krang_dynamics_ros.dynamics.observer import MomentumObserver
from krang_dynamics_ros.dynamics.state import State

from ..robots import FILES, trees
from .test_observer import PUSH, Q

GRAVITY = np.array([0.0, 0.0, -9.81])
STILL = np.zeros(3)


class World(NamedTuple):
    """How a base moves in the world: orientation, acceleration of its origin, w and dw; all but R in base axes."""

    R: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    w: np.ndarray
    dw: np.ndarray

    @property
    def motion(self) -> BaseMotion:
        return BaseMotion(self.R.T @ GRAVITY - self.acceleration, self.w, self.dw)


def random_world(rng: np.random.Generator) -> World:
    R = rotation_from_rpy(rng.uniform(-np.pi, np.pi, 3))
    return World(R, *rng.normal(size=(2, 3)), *(rng.normal(size=(2, 3)) * 2))


def by_free_flyer(robot: Robot, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, world: World) -> np.ndarray:
    """Return the base's wrench (6) and the torques (n) by Pinocchio's own reader of URDFs and its free flyer."""
    model = pin.buildModelFromXML(urdf_text(robot), pin.JointModelFreeFlyer())
    joints = [model.joints[model.getJointId(name)] for name in robot.joint_names]
    at = [joint.idx_v for joint in joints]
    position, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    position[:3], position[3:7] = (1.0, -2.0, 3.0), pin.Quaternion(world.R).coeffs()
    v[:6], a[:6] = (
        np.r_[world.velocity, world.w],
        np.r_[world.acceleration - np.cross(world.w, world.velocity), world.dw],
    )
    v[at], a[at] = dq, ddq
    for joint, angle in zip(joints, q, strict=True):  # a continuous one has the cosine and the sine
        position[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
    model.armature = np.zeros(model.nv)
    found = pin.rnea(model, model.createData(), position, v, a)
    return np.r_[found[:6], found[at] + robot.rotor_inertia * ddq]


def assert_same(mine: Any, theirs: Any) -> None:
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9 * max(1.0, float(np.abs(theirs).max())))


@pytest.mark.parametrize('name', FILES)
def test_a_free_flyer_agrees_at_random_motions(name: str, rng: np.random.Generator) -> None:
    robot = load_robot(FILES[name])
    dynamics = dynamics_of(robot)
    for state in zip(*random_states(robot, 30, 5), strict=True):
        world = random_world(rng)
        dynamics.base_motion = world.motion
        theirs = by_free_flyer(robot, *state, world)
        assert_same(dynamics.inverse_dynamics(*state), theirs[6:])
        assert_same(dynamics.wrench_on_base(*state), theirs[:6])
        q, dq, ddq = state
        assert_same(dynamics.Q(q) + dynamics.coriolis_torque(q, dq) + dynamics.A(q) @ ddq, theirs[6:])
        assert_same(dynamics.forward_dynamics(q, dq, theirs[6:]), ddq)


def with_heavy_base(robot: Robot) -> Robot:
    """Return Krang with a body on its base, where MuJoCo would make one of the shapes."""
    body = Inertia.about_com(20.0, (0.02, -0.01, -0.1), np.diag([0.5, 0.6, 0.4]))
    return replace(robot, links=tuple(replace(x, inertia=body) if x.name == 'R0' else x for x in robot.links))


def test_mujoco_agrees_at_random_motions(robot: Robot, rng: np.random.Generator) -> None:
    robot = with_heavy_base(robot)
    dynamics = dynamics_of(robot)
    mujoco = pytest.importorskip('mujoco', reason='MuJoCo, a second engine to compare with, is not installed')
    free = '<link name="world_"/><joint name="free" type="floating"><parent link="world_"/><child link="R0"/></joint>'
    model = mujoco.MjModel.from_xml_string(urdf_text(robot).replace('</robot>', f'{free}</robot>'))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    at = np.array([model.joint(name).dofadr[0] for name in robot.joint_names])
    for q, dq, ddq in zip(*random_states(robot, 100, 6), strict=True):
        world = random_world(rng)
        mujoco.mju_mat2Quat(data.qpos[3:7], world.R.ravel())
        data.qvel[:6] = np.r_[world.R @ world.velocity, world.w]
        data.qacc[:6] = np.r_[world.R @ world.acceleration, world.dw]
        data.qpos[at + 1], data.qvel[at], data.qacc[at] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        dynamics.base_motion = world.motion
        assert_same(dynamics.inverse_dynamics(q, dq, ddq), data.qfrc_inverse[at])
        assert_same(dynamics.wrench_on_base(q, dq, ddq)[:3], world.R.T @ data.qfrc_inverse[:3])
        assert_same(dynamics.wrench_on_base(q, dq, ddq)[3:], data.qfrc_inverse[3:6])


def test_payloads_that_come_and_go_are_carried_by_a_moving_base_too(robot: Robot, rng: np.random.Generator) -> None:
    dynamics, world = dynamics_of(robot), random_world(rng)
    (state,) = zip(*random_states(robot, 1, 7), strict=True)
    dynamics.base_motion = world.motion
    links = [link.name for link in robot.links]
    for payload in (random_payload(robot, links, rng), random_payload(robot, links, rng), {}):
        dynamics.payload = payload
        assert_same(dynamics.inverse_dynamics(*state), by_free_flyer(robot.carrying(payload), *state, world)[6:])


@with_settings(max_examples=30)
@given(trees())
def test_random_trees_agree_with_a_free_flyer(tree: Robot) -> None:
    rng, dynamics = np.random.default_rng(4), dynamics_of(tree)
    for state in zip(*random_states(tree, 3, 4), strict=True):
        world = random_world(rng)
        dynamics.base_motion = world.motion
        mine = np.r_[dynamics.wrench_on_base(*state), dynamics.inverse_dynamics(*state)]
        assert_same(mine, by_free_flyer(tree, *state, world))


def test_a_base_at_rest_again_leaves_no_trace(dynamics: Dynamics, rng: np.random.Generator) -> None:
    q, dq, ddq = rng.normal(size=(3, 17))
    before = [dynamics.coriolis_torque(q, dq), dynamics.Q(q), dynamics.inverse_dynamics(q, dq, ddq), dynamics.C(q, dq)]
    christoffel = dynamics.christoffel(q)
    dynamics.base_motion = random_world(rng).motion
    assert np.abs(dynamics.coriolis_torque(q, dq) - before[0]).max() > 1
    np.testing.assert_array_equal(dynamics.C(q, dq), before[3])
    np.testing.assert_array_equal(dynamics.christoffel(q), christoffel)
    dynamics.base_motion = BaseMotion(GRAVITY)
    after = [dynamics.coriolis_torque(q, dq), dynamics.Q(q), dynamics.inverse_dynamics(q, dq, ddq), dynamics.C(q, dq)]
    for mine, theirs in zip(after, before, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_gravity_that_is_set_while_the_base_turns_stays(dynamics: Dynamics, rng: np.random.Generator) -> None:
    world, gravity = random_world(rng), rng.normal(size=3)
    dynamics.base_motion = world.motion
    dynamics.gravity = gravity
    np.testing.assert_array_equal(dynamics.base_motion.gravity, gravity)
    np.testing.assert_array_equal(dynamics.base_motion.angular_velocity, world.w)
    q = rng.normal(size=(1, 17))
    before = dynamics.Q(q[0])
    dynamics.batch('Q', q, base=[BaseMotion(GRAVITY)])
    np.testing.assert_array_equal(dynamics.Q(q[0]), before)


def test_a_state_that_is_refused_leaves_the_motion_of_the_base(dynamics: Dynamics, rng: np.random.Generator) -> None:
    dynamics.base_motion = random_world(rng).motion
    before = dynamics.base_motion
    with pytest.raises(ArgumentError, match='a joint vector has shape'):
        dynamics.batch('Q', rng.normal(size=(2, 16)), base=[random_world(rng).motion] * 2)
    assert dynamics.base_motion == before


def test_a_sensor_away_from_the_origin_tells_the_same_motion(rng: np.random.Generator) -> None:
    """What an accelerometer reads is the second derivative of its own path, less gravity."""
    for _ in range(20):
        world, p = random_world(rng), rng.normal(size=3)
        at_sensor = world.acceleration + np.cross(world.dw, p) + np.cross(world.w, np.cross(world.w, p))
        read = at_sensor - world.R.T @ GRAVITY
        found = BaseMotion.measured(read.tolist(), world.w, world.dw, p)
        np.testing.assert_allclose(found.gravity, world.motion.gravity, atol=1e-12)
    np.testing.assert_allclose(BaseMotion.tilted(world.R).gravity, world.R.T @ GRAVITY, atol=1e-12)


def test_half_of_the_way_between_two_motions(rng: np.random.Generator) -> None:
    one, other = random_world(rng).motion, random_world(rng).motion
    half = one.towards(other, 0.5)
    np.testing.assert_allclose(half.gravity, (one.gravity + other.gravity) / 2)
    np.testing.assert_allclose(half.angular_velocity, (one.angular_velocity + other.angular_velocity) / 2)
    np.testing.assert_array_equal(one.towards(other, 1.0).angular_acceleration, other.angular_acceleration)


@pytest.mark.parametrize('wrong', [(0, 0), (0, 0, np.nan), (0, np.inf, 0), ((0, 0, 0),) * 3])
def test_an_invalid_base_motion_is_refused(wrong: Any) -> None:
    for key in ('gravity', 'angular_velocity', 'angular_acceleration'):
        with pytest.raises(ArgumentError, match=f'{key} .*must be 3 finite numbers'):
            BaseMotion(**{'gravity': GRAVITY, key: wrong})


def test_compiled_dynamics_refuse_a_base_that_turns_and_take_one_that_is_tilted(robot: Robot) -> None:
    compiled, dynamics = dynamics_of(robot, backend='compiled'), dynamics_of(robot)
    tilted = BaseMotion.tilted(rotation_from_rpy([0.3, -0.2, 1.0]))
    with pytest.raises(ArgumentError, match=r"must not turn with backend 'compiled'.*use backend 'pinocchio'"):
        compiled.base_motion = BaseMotion(tilted.gravity, (0, 0, 0.1))
    np.testing.assert_array_equal(compiled.gravity, GRAVITY)
    compiled.base_motion = dynamics.base_motion = tilted
    np.testing.assert_allclose(compiled.Q(Q), dynamics.Q(Q), atol=1e-9)


# The observer --------------------------------------------------------------------------------------------------------


def rocking(t: float) -> World:
    """Return a base that rocks about a slanted axis with some degrees, and is shaken."""
    axis, angle, speed, rate = np.array([0.6, 0.8, 0.0]), 0.4 * np.sin(3 * t), 1.2 * np.cos(3 * t), -3.6 * np.sin(3 * t)
    R = pin.exp3(axis * angle)
    shaken = np.array([2.0 * np.sin(4 * t), 1.5 * np.cos(5 * t), np.sin(2 * t)])
    return World(R, STILL, shaken, axis * speed, axis * rate)


def swing(dynamics: Dynamics, torque: Callable[[np.ndarray, np.ndarray], np.ndarray], steps: int) -> Iterator[State]:
    """Yield states of a robot on the rocking base, every 2 ms, by Runge-Kutta."""

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        dynamics.base_motion = rocking(t).motion
        return np.r_[y[17:], dynamics.forward_dynamics(y[:17], y[17:], torque(y[:17], y[17:]))]

    y, h = np.r_[Q, np.zeros(17)], 0.5e-3
    for k in range(steps):
        t = k * 2e-3
        base = dynamics.base_motion = rocking(t).motion
        yield State(y[:17], y[17:], effort=torque(y[:17], y[17:]), stamp=1 + k * 2_000_000, base=base)
        for part in range(4):
            at = t + part * h
            k1 = rate(at, y)
            k2 = rate(at + h / 2, y + h / 2 * k1)
            k3 = rate(at + h / 2, y + h / 2 * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(at + h, y + h * k3))


def test_the_observer_sees_nothing_when_nothing_touches_a_robot_on_a_moving_base(dynamics: Dynamics) -> None:
    observer = MomentumObserver(dynamics)
    for state in swing(dynamics, lambda q, dq: dynamics.Q(q) - 5.0 * dq, 300):
        observer(state)
        assert np.abs(observer.torque).max() < 1e-2
    blind = MomentumObserver(dynamics)
    for state in swing(dynamics, lambda q, dq: dynamics.Q(q) - 5.0 * dq, 300):
        dynamics.base_motion = BaseMotion(GRAVITY)
        blind(State(state.q, state.dq, effort=state.effort, stamp=state.stamp))
    assert np.abs(blind.torque).max() > 10


def test_the_observer_sees_a_push_on_a_moving_base(dynamics: Dynamics) -> None:
    observer = MomentumObserver(dynamics)
    observer.gain = 30.0
    for state in swing(dynamics, lambda q, dq: dynamics.Q(q) - 5.0 * dq + PUSH, 300):
        observer(State(state.q, state.dq, effort=state.effort - PUSH, stamp=state.stamp, base=state.base))
    np.testing.assert_allclose(observer.torque, PUSH, atol=2e-2)
