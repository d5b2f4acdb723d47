"""Friction beyond eq. (17): smoothed over a velocity, and presliding; equal in all modules that use it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from krang_dynamics_ros import Lagrangian, Robot, dynamics_of, load_robot
from krang_dynamics_ros.core.errors import ArgumentError, KrangDynamicsError
from krang_dynamics_ros.dynamics.drives import FrictionModel, PreslidingState
from krang_dynamics_ros.effects.load import LoadFriction, LoadShare
from krang_dynamics_ros.effects.presliding import Presliding, presliding
from krang_dynamics_ros.effects.sliding import coulomb_share
from krang_dynamics_ros.live.parameters import presliding_of
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot_file import read_robot
from krang_dynamics_ros.simulation.impulses import SmoothFriction, velocity_after
from krang_dynamics_ros.simulation.simulation import Simulation

from ..commands import run
from ..robot.test_robot_file import GOOD
from ..robots import FILES

GEAR = Friction(0.5, 1.0, 0.02, (Presliding(1.5, 1e-4), Presliding(2.0, 1e-3)))


def pendulum(friction: Friction) -> Simulation:
    robot = load_robot(FILES['pendulum'])
    joints = [replace(j, friction=friction, motor=replace(j.motor, viscous=0.0)) for j in robot.joints]
    return Simulation(replace(robot, joints=tuple(joints)))


def test_smoothed_friction_is_eq_17_far_from_standstill_and_passes_through_zero() -> None:
    dq = np.array([-3.0, -0.01, 0.0, 0.01, 3.0])
    np.testing.assert_array_equal(coulomb_share(dq), [-1, -1, 0, 1, 1])
    smooth = coulomb_share(dq, 0.02)
    np.testing.assert_allclose(smooth[[0, 2, 4]], [-1, 0, 1], atol=1e-12)
    assert smooth[3] == -smooth[1] == pytest.approx(np.tanh(0.5))
    np.testing.assert_allclose(coulomb_share(dq, [0.0, 0.02, 0.0, 0.02, 0.0]), [-1, smooth[1], 0, smooth[3], 1])


def test_presliding_is_the_same_however_a_movement_is_cut_into_steps(rng: np.random.Generator) -> None:
    """A law of Dahl's equation dz/dq = (s - z) / delta; and its solution by small steps of Euler's is the same."""
    for moved in (3e-4, -2e-4):
        once = presliding(0.3, moved, 1e-3)
        z = euler = np.array(0.3)
        for part in np.diff(np.sort(np.r_[0.0, rng.uniform(0, 1, 400), 1.0])) * moved:
            z = presliding(z, part, 1e-3)
            euler = euler + (np.sign(part) - euler) * abs(part) / 1e-3
        assert z == pytest.approx(once, abs=1e-12)
        assert euler == pytest.approx(once, abs=2e-3)
    assert presliding(0.3, 0.0, 1e-3) == 0.3
    assert presliding(0.3, 1.0, 1e-3) == 1.0


def test_presliding_takes_energy_and_forgets_where_it_began() -> None:
    path = 2e-3 * np.sin(np.linspace(0, 4 * np.pi, 4001))
    friction = FrictionModel([0.0], [0.0])
    friction.set_presliding([(Presliding(2.0, 1e-3),)])
    one, other = PreslidingState(friction), PreslidingState(friction)
    other.z[:] = -1.0
    torques = np.array([[friction.presliding_torque(x.move(np.array([q])))[0] for x in (one, other)] for q in path])
    np.testing.assert_allclose(torques[2000:, 0], torques[2000:, 1], atol=0.02)
    assert np.trapezoid(torques[2000:, 0], path[2000:]) > 1e-3  # a loop around what it takes, J


def test_a_robot_file_says_which_friction_and_the_witness_agrees(rng: np.random.Generator) -> None:
    words = 'coulomb: 2, coulomb_velocity: 0.1, presliding: [{torque: 1, distance: 1e-3}, {torque: 2, distance: 1e-4}]'
    robot = read_robot(GOOD.replace('coulomb: 2', words))
    assert robot.friction_beyond_report == ('elbow',)
    dynamics, dq = dynamics_of(robot), rng.normal(size=2) * 0.1
    assert dynamics.friction.presliding == ((), (Presliding(1, 1e-3), Presliding(2, 1e-4)))
    np.testing.assert_allclose(dynamics.friction_torque(dq), Lagrangian(robot).friction_torque(dq), rtol=1e-14)
    expected = dq[1] + 2 * np.tanh(dq[1] / 0.1) + 0.5 - 2 * 0.25
    z = np.array([[7.0, 7.0], [0.5, -0.25]])
    assert dynamics.friction_torque(dq, z)[1] == pytest.approx(expected)
    assert dynamics.friction_torque(dq, z)[0] == dynamics.friction_torque(dq)[0]


def test_settings_that_cannot_be_are_refused(robot: Robot) -> None:
    friction = dynamics_of(robot).friction
    for bad in ([-1.0] * 17, [np.nan] * 17, [0.1] * 16):
        with pytest.raises(ArgumentError, match=r'coulomb_velocity: .*, must be 17 finite numbers, none negative'):
            friction.coulomb_velocity = bad
    with pytest.raises(ArgumentError, match='presliding: 1 joints, must be 17'):
        friction.set_presliding([()])


def test_the_elements_of_presliding_are_bounded_wherever_they_come_from() -> None:
    """Of 100 000 pairs every joint got as many, in every state."""
    many = ', '.join(['{torque: 1, distance: 1}'] * 18_000)
    with pytest.raises(KrangDynamicsError, match=r'friction\.presliding: .*18000 elements.*, must be at most 50'):
        read_robot(GOOD.replace('coulomb: 2', f'presliding: [{many}]'))
    with pytest.raises(ArgumentError, match='left: 200000 numbers, must be at most 50 pairs'):
        presliding_of('left', [1.0] * 200_000)
    with pytest.raises(ArgumentError, match='presliding: 100000 elements of a joint, must be at most 50'):
        FrictionModel([0.0], [0.0]).set_presliding([(Presliding(1.0, 0.1),) * 100_000])
    FrictionModel([0.0], [0.0]).set_presliding([presliding_of('left', [1.0] * 100)])


def test_a_state_follows_a_model_that_is_changed() -> None:
    friction = FrictionModel([0.0], [0.0])
    state = PreslidingState(friction)
    assert state.move(np.array([1.0])).shape == (1, 0)
    friction.set_presliding([(Presliding(1.0, 0.1), Presliding(1.0, 0.2))])
    state.move(np.array([1.0]))
    np.testing.assert_allclose(state.move(np.array([2.0])), 1 - np.exp([[-10, -5]]))


def test_unknown_positions_do_not_change_presliding_states() -> None:
    friction = FrictionModel([0.0, 0.0], [0.0, 0.0])
    friction.set_presliding([(Presliding(1.0, 0.1),)] * 2)
    state = PreslidingState(friction)
    state.move(np.array([0.0, 0.0]))
    for unknown in ([np.nan, 1.0], [np.inf, 1.0]):
        assert not state.move(np.array(unknown)).any()
    np.testing.assert_allclose(state.move(np.array([0.1, 0.1])), 1 - np.exp([[-1], [-1]]))


def test_in_simulation_a_joint_gives_way_like_a_spring_and_then_slides() -> None:
    """The spring of presliding is kappa / delta = 20 000 N m/rad, far too stiff for an explicit step of 1 ms."""
    sim = pendulum(Friction(viscous=50.0, presliding=(Presliding(2.0, 1e-4),)))
    for k in range(1500):
        sim.step(sim.dynamics.Q(sim.q) + min(k / 1000, 1.0))
    assert sim.q[0] == pytest.approx(1e-4 * np.log(2), rel=0.03)  # where z is one half
    assert abs(sim.dq[0]) < 1e-5
    for _ in range(300):
        sim.step(sim.dynamics.Q(sim.q) + 3.0)
    assert sim.dq[0] == pytest.approx((3 - 2) / 50, rel=1e-3)


def test_in_simulation_smoothed_friction_creeps_where_it_should() -> None:
    sim = pendulum(Friction(coulomb=2.0, coulomb_velocity=1e-4))
    for _ in range(500):
        sim.step(sim.dynamics.Q(sim.q) + 1.0)
    assert sim.dq[0] == pytest.approx(1e-4 * np.arctanh(0.5), rel=1e-4)


@pytest.mark.parametrize(
    'friction', [GEAR, replace(GEAR, coulomb_velocity=0.0), Friction(coulomb=3, coulomb_velocity=1)]
)
def test_energy_balance_closes_and_krang_comes_to_rest(robot: Robot, friction: Friction) -> None:
    rubbing = replace(robot, joints=tuple(replace(joint, friction=friction) for joint in robot.joints))
    sim = Simulation(rubbing, np.clip(np.full(17, 0.3), Simulation(robot).lower, Simulation(robot).upper))
    sim.dq[:] = np.linspace(-1, 1, 17)
    start, most = sim.energy, sim.dynamics.E(sim.q, sim.dq)
    torque = 0.5 * sim.dynamics.Q(sim.q)
    put_in = 0.0
    for _ in range(150):
        before = torque @ sim.dq
        sim.step(torque)
        put_in += (before + torque @ sim.dq) / 2 * 1e-3
    assert sim.lost > 0.01 * most
    assert sim.energy + sim.lost == pytest.approx(start + put_in, abs=3e-3 * most)


@pytest.mark.parametrize('over', [0.0, 0.02])
def test_the_velocity_found_is_the_one_that_fits(rng: np.random.Generator, over: float) -> None:
    """What friction takes at the velocity at the end, and nothing else, has changed the momentum."""
    friction = FrictionModel([0.5] * 6, [1.0] * 6)
    joint = replace(load_robot(FILES['pendulum']).moving_joints[0], friction=replace(GEAR, coulomb_velocity=over))
    friction.set_coefficients([joint] * 6)
    for h in (1e-3, 1e-4, 1e-2):
        for _ in range(20):
            root, free = rng.normal(size=(6, 6)), rng.normal(size=6) * 0.03
            A, z = 0.01 * root @ root.T + 0.001 * np.eye(6), rng.uniform(-1, 1, (6, 2))
            smooth = SmoothFriction(friction, z, free + rng.normal(size=6) * 0.01, h)
            dq, impulse = velocity_after(A, free, smooth, -smooth.dry, smooth.dry)
            np.testing.assert_allclose(A @ (free - dq), smooth.impulse(dq) - impulse, atol=1e-9)
            assert (np.abs(impulse) <= smooth.dry).all()
            np.testing.assert_allclose((impulse + smooth.dry * np.sign(dq))[dq != 0], 0, atol=1e-12)


@pytest.mark.parametrize('where', ['c', 'matlab', 'python'])
def test_an_export_says_that_it_has_eq_17_alone(tmp_path: Path, where: str) -> None:
    pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')
    file = tmp_path / 'arm.yaml'
    file.write_text(GOOD.replace('coulomb: 2', 'coulomb: 2, coulomb_velocity: 0.1'))
    done = run('export', str(file), '--to', where, '-o', str(tmp_path / 'out'))
    assert 'elbow: only F_v dq + F_c sign(dq); smoothing by tanh and presliding are left out' in done.stderr
    text = ''.join(path.read_text() for path in (tmp_path / 'out').iterdir())
    assert 'Coulomb friction of elbow, N; its smoothing by tanh and presliding are left out' in text
    assert 'of shoulder, N m; its' not in text


def test_load_share_and_load_friction_are_set_in_any_order_and_end() -> None:
    model, moving, load = FrictionModel([0.0], [0.0]), np.array([1.0]), np.array([10.0])
    model.set_load_friction([LoadFriction(factor=0.1, velocity=0.05)])
    model.set_load_share([None])
    np.testing.assert_allclose(model.load_effect_on_reading(moving, load), [1.0])
    model.set_load_friction([None])
    assert not model.depends_on_load
    assert not model.load_effect_on_reading(moving, load).any()


def test_a_drive_shows_less_of_its_load_while_it_pushes_than_while_it_brakes() -> None:
    model = FrictionModel([100.0], [0.0])
    load, fast = np.array([40.0]), np.array([1.0])
    assert not model.load_effect_on_reading(fast, load).any()
    model.set_load_share([LoadShare(pushing=0.2, braking=0.9, crossing=0.01, velocity=0.02)])
    assert load + model.load_effect_on_reading(fast, load) == pytest.approx([8.0])  # it lifts
    assert load + model.load_effect_on_reading(-0.1 * fast, load) == pytest.approx(
        [36.0], rel=1e-3
    )  # it lets down slowly
    assert load + model.load_effect_on_reading(-fast, load) == pytest.approx(
        [8.0]
    )  # faster than the load would go by itself
    assert load + model.load_effect_on_reading(0 * fast, load) == pytest.approx([22.0])
    with_sign = model.load_effect_on_reading(np.linspace(-2, 2, 401)[:, None], -load)
    np.testing.assert_allclose(with_sign, -model.load_effect_on_reading(-np.linspace(-2, 2, 401)[:, None], load))
