"""A simulated robot moves as its dynamics say: held, falling, pushed, rubbing, against its stops."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from krang_dynamics_ros import Inertia, Lagrangian, Robot, Wrench, load_robot
from krang_dynamics_ros.core.errors import ArgumentError, SimulationError
from krang_dynamics_ros.effects.presliding import Presliding
from krang_dynamics_ros.equations.frames import positions as all_positions
from krang_dynamics_ros.equations.frames import rates
from krang_dynamics_ros.live.wrenches import (
    MomentAbout,
    RemovedWeight,
    Sense,
    WrenchInput,
    WristSensor,
    contact_wrenches,
)
from krang_dynamics_ros.robot.motor_and_friction import Friction, Motor
from krang_dynamics_ros.robot.robot import Limits
from krang_dynamics_ros.robot.urdf_reader import read_description
from krang_dynamics_ros.simulation.impulses import SmoothFriction, bounded_impulses, gauss_seidel
from krang_dynamics_ros.simulation.sensors import SimulatedWrist, joint_effort
from krang_dynamics_ros.simulation.simulated_robot import Followers
from krang_dynamics_ros.simulation.simulation import ADDED_ROTOR, Simulation

from ..robot.test_urdf_reader import HAND
from ..robots import FILES, random_body

Q = np.array([0.1, 0.6, 0.1, *[0.3, -0.5, 0.2, -0.9, 0.1, -0.4, 0.0] * 2])


def rubbing(robot: Robot, viscous: float, coulomb: float) -> Robot:
    joints = [replace(joint, friction=Friction(viscous, coulomb)) for joint in robot.joints]
    return replace(robot, joints=tuple(joints))


def pendulum(viscous: float = 0.0, coulomb: float = 0.0, stop: float | None = None) -> Simulation:
    robot = rubbing(load_robot(FILES['pendulum']), viscous, coulomb)
    limits = None if stop is None else Limits(100, 10, -stop, stop)
    joints = [replace(j, limits=limits, motor=replace(j.motor, viscous=0.0)) if j.moves else j for j in robot.joints]
    return Simulation(replace(robot, joints=tuple(joints)))


def test_gravity_compensation_holds_and_without_it_falls(robot: Robot) -> None:
    held, falling = Simulation(robot, Q), Simulation(robot, Q)
    for _ in range(500):
        held.step(held.dynamics.Q(held.q))
        falling.step(np.zeros(17))
    np.testing.assert_allclose(held.q, Q, atol=1e-9)
    assert np.abs(falling.q - Q).max() > 0.3


@pytest.mark.parametrize(('viscous', 'coulomb'), [(0.0, 0.0), (2.0, 0.0), (0.0, 3.0), (1.0, 2.0)])
def test_energy_balance_closes(robot: Robot, viscous: float, coulomb: float) -> None:
    """What torques and pushes put in is there, or friction and stops have taken it: here with falls into stops."""
    sim = Simulation(rubbing(robot, viscous, coulomb), Q)
    torque, push = 0.5 * sim.dynamics.Q(Q), [Wrench('R10l', (5, -3, 8), axes='R0')]
    start, put_in, most = sim.energy, 0.0, 0.0
    lost = [0.0]
    for _ in range(1000):
        before, q = sim.dynamics.wrench_torque(sim.q, push), sim.q
        sim.step(torque, push)
        put_in += float((torque + (before + sim.dynamics.wrench_torque(sim.q, push)) / 2) @ (sim.q - q))
        most = max(most, sim.dynamics.E(sim.q, sim.dq))
        lost.append(sim.lost)
    assert most > 100
    assert sim.lost > 100  # the stops' alone
    assert sim.energy + sim.lost == pytest.approx(start + put_in, abs=1e-4 * most)
    assert (np.diff(lost) > -1e-4 * most).all()  # nothing gives energy back


def test_a_joint_at_rest_loses_no_energy(robot: Robot) -> None:
    sim = Simulation(rubbing(robot, 1.0, 200.0), Q)
    for _ in range(200):
        sim.step(0.5 * sim.dynamics.Q(sim.q), [Wrench('R10l', (5, -3, 8), axes='R0')])
    np.testing.assert_array_equal(sim.q, Q)
    assert sim.lost == 0.0


@pytest.mark.parametrize('seconds', [2, pytest.param(20, marks=pytest.mark.slow)])
def test_krang_in_free_fall_keeps_its_energy(robot: Robot, seconds: int) -> None:
    sim = Simulation(robot, Q)
    sim.lower[:], sim.upper[:] = -np.inf, np.inf
    start, most, worst = sim.energy, 0.0, 0.0
    for _ in range(seconds * 1000):
        sim.step(np.zeros(17))
        most = max(most, sim.dynamics.E(sim.q, sim.dq))
        worst = max(worst, abs(sim.energy - start))
    assert most > 700
    assert worst < 1e-4 * most
    assert sim.lost == 0.0


def test_brakes_stop_it_at_once_and_take_what_moved(robot: Robot) -> None:
    sim = Simulation(robot, Q)
    for _ in range(100):
        sim.step(np.zeros(17))
    moving, q, energy, time = sim.dynamics.E(sim.q, sim.dq), sim.q.copy(), sim.energy, sim.time
    sim.hold()
    np.testing.assert_array_equal(sim.q, q)
    np.testing.assert_array_equal(sim.dq, 0)
    assert moving > 0.1
    assert sim.lost == pytest.approx(moving)
    assert sim.energy + sim.lost == pytest.approx(energy)
    assert sim.time == pytest.approx(time + 1e-3)


@pytest.mark.parametrize('torque', [1e5, 1e30, 1e300, -1e5])
def test_torques_beyond_all_measure_leave_the_last_good_state(robot: Robot, torque: float) -> None:
    sim = Simulation(robot, Q)
    with pytest.raises(SimulationError, match=r'q_\d[lr]: .* must be below|not finite'):
        for _ in range(5):
            sim.step(np.full(17, torque))
    assert np.isfinite([*sim.q, *sim.dq, sim.energy, sim.lost]).all()
    assert np.abs(sim.dq).max() < 1e3
    sim.reset(Q)
    sim.step(sim.dynamics.Q(Q))
    np.testing.assert_allclose(sim.q, Q, atol=1e-9)


def test_a_known_push_for_a_known_time_moves_the_hand_as_the_dynamics_say(robot: Robot) -> None:
    sim, force = Simulation(robot, Q), np.array([10.0, -5.0, 20.0])
    J = sim.dynamics.jacobian(Q, 'R10l')
    for _ in range(10):
        sim.step(sim.dynamics.Q(sim.q), [Wrench('R10l', force, axes='R0')])
    expected = J @ np.linalg.solve(sim.dynamics.A(Q), J[:3].T @ force) * 0.01
    np.testing.assert_allclose(sim.dynamics.jacobian(sim.q, 'R10l') @ sim.dq, expected, rtol=2e-2, atol=2e-3)


def test_stiction_holds_exactly_up_to_its_limit() -> None:
    sim = pendulum(coulomb=2.0)
    for _ in range(1000):
        sim.step(np.array([1.99]))
    assert (sim.q[0], sim.dq[0]) == (pytest.approx(0, abs=1e-12), pytest.approx(0, abs=1e-12))
    sim.step(np.array([2.5]))
    assert sim.dq[0] == pytest.approx(0.5 / sim.dynamics.A(sim.q)[0, 0] * 1e-3, rel=1e-4)


def test_a_sliding_joint_comes_to_rest_and_stays_without_chatter() -> None:
    sim = pendulum(coulomb=3.0)
    sim.dq[:] = 0.5
    speeds = []
    for _ in range(1500):
        sim.step(np.zeros(1))
        speeds.append(sim.dq[0])
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(speeds))
    np.testing.assert_allclose(speeds[-500:], 0, atol=1e-12)


def test_krang_with_friction_stays_under_a_small_error_of_gain(robot: Robot) -> None:
    sim = Simulation(rubbing(robot, 1.0, 3.0), Q)
    for _ in range(500):
        sim.step(1.001 * sim.dynamics.Q(sim.q))
    np.testing.assert_allclose(sim.q, Q, atol=1e-9)


def test_a_stop_is_neither_passed_nor_sticks() -> None:
    sim = pendulum(stop=0.4)
    sim.dq[:] = 8.0
    start, reached = sim.energy, 0.0
    for _ in range(300):
        sim.step(np.array([20.0]))
        reached = max(reached, sim.q[0])
    assert reached == pytest.approx(0.4, abs=1e-9)
    assert sim.dq[0] == pytest.approx(0, abs=1e-9)
    assert sim.energy < start
    sim.step(np.array([-20.0]))
    assert sim.dq[0] < -1e-3


def test_krang_falls_into_its_stops_and_comes_to_rest(robot: Robot) -> None:
    sim = Simulation(rubbing(robot, 10.0, 1.0), Q)
    start = sim.energy
    for _ in range(4000):
        sim.step(np.zeros(17))
        assert ((sim.q >= sim.lower) & (sim.q <= sim.upper)).all()
    assert np.isfinite(sim.q).all()
    assert sim.dynamics.E(sim.q, sim.dq) < 20
    assert sim.energy < start


def test_the_quick_way_and_the_slow_way_to_the_impulses_agree(rng: np.random.Generator) -> None:
    for _ in range(50):
        root = rng.normal(size=(6, 6))
        mobility, velocity = root @ root.T + 0.1 * np.eye(6), rng.normal(size=6)
        low, high = -rng.uniform(0, 0.5, 6), rng.uniform(0, 0.5, 6)
        high[0] = np.inf
        quick = bounded_impulses(mobility, velocity, low, high)
        left = velocity + mobility @ quick
        inside = (quick > low + 1e-9) & (quick < high - 1e-9)
        np.testing.assert_allclose(left[inside], 0, atol=1e-6)
        assert (left[quick >= high - 1e-9] <= 1e-6).all()
        assert (left[quick <= low + 1e-9] >= -1e-6).all()
        slow = np.zeros(6)
        for _ in range(5):
            slow = gauss_seidel(mobility, velocity, low, high, slow)
        np.testing.assert_allclose(quick, slow, atol=1e-4)


def test_a_start_beyond_the_limits_is_refused(robot: Robot) -> None:
    with pytest.raises(ArgumentError, match='q_imu: 5, must be within its limits'):
        Simulation(robot, np.full(17, 5.0))


def test_joints_that_move_no_mass_get_a_rotor_and_move() -> None:
    light = HAND.replace('<mass value="0.2"/>', '<mass value="0"/>').replace('"0.01"', '"0"')  # that of `left`
    robot = read_description(light.replace('<mimic joint="left_joint" multiplier="-0.5" offset="0.1"/>', '')).robot
    sim = Simulation(robot, [0.5, 0.0, 0.02])
    assert sim.rotors_added == ['left_joint']
    np.testing.assert_array_equal(sim.dynamics.rotor_inertia, sim.dynamics.vector({'left_joint': ADDED_ROTOR}))
    for _ in range(20):
        sim.step(sim.dynamics.Q(sim.q) + sim.dynamics.friction.coulomb * [0, 0, 1] + [0.0, 0.0, 0.01])
    way = 0.01 / ADDED_ROTOR * 0.02**2 / 2
    np.testing.assert_allclose(sim.q, [0.5, 0.0, 0.02 + way], atol=1e-6)
    assert not Simulation(load_robot(FILES['arm_2r'])).rotors_added


def test_joints_that_follow_move_with_those_they_follow_and_energy_is_kept() -> None:
    robot = read_description(HAND).robot
    sim, followers = Simulation(rubbing(robot, 0, 0), [0.5, 0.02]), Followers(robot)
    assert followers.names == ('shoulder', 'left_joint', 'right_joint', 'tip_joint')
    sim.lower[:], sim.upper[:] = -np.inf, np.inf
    start, most = sim.energy, 0.0
    for _ in range(300):
        sim.step(np.zeros(2))
        most = max(most, sim.dynamics.E(sim.q, sim.dq))
    assert most > 1
    assert sim.energy == pytest.approx(start, abs=1e-6 * most)
    q, dq = (dict(zip(robot.joint_names, x.tolist(), strict=True)) for x in (sim.q, sim.dq))
    witness = all_positions(robot, q), rates(robot, dq)
    np.testing.assert_allclose(followers.position(sim.q), [witness[0][name] for name in followers.names])
    np.testing.assert_allclose(followers.velocity(sim.dq), [witness[1][name] for name in followers.names])
    np.testing.assert_array_equal(followers.effort(sim.dq), [*sim.dq, 0, 0])
    sim.set_joint_positions(['shoulder', 'right_joint'], [0.3, 9.0])  # as a message of joint_states names them
    assert sim.q[0] == 0.3


def test_joints_are_placed_by_name_or_not_at_all(robot: Robot) -> None:
    sim = Simulation(robot, Q)
    sim.dq[:] = 1.0
    sim.set_joint_positions(['q_3r', 'q_w'], [0.25, 0.5])
    expected = Q.copy()
    expected[[robot.joint_names.index('q_3r'), 1]] = 0.25, 0.5
    np.testing.assert_array_equal(sim.q, expected)
    np.testing.assert_array_equal(sim.dq, 0)
    for names, positions, words in (
        (['q_x'], [0.0], "joint 'q_x' is unknown"),
        (['q_w'], [0.0, 1.0], '1 joints, but 2 positions'),
        (['q_w'], [9.0], 'q_w: 9, must be within its limits'),
        (['q_w'], [np.nan], 'q_w: nan'),
    ):
        with pytest.raises(ArgumentError, match=words):
            sim.set_joint_positions(names, positions)
    np.testing.assert_array_equal(sim.q, expected)


def test_a_joint_sensor_reads_the_motor_torque_without_rotor_and_friction(robot: Robot) -> None:
    """By virtual work: link-side power is what motor, rotor and friction leave, and what pushes do comes on top."""
    joints = [
        replace(j, friction=Friction(2.0, 0.0), motor=Motor(1.0, 2.0, 0.0)) if j.moves else j for j in robot.joints
    ]
    sim = Simulation(replace(robot, joints=tuple(joints)), Q)
    push = [Wrench('R10l', (5, -3, 8), axes='R0')]
    torque = 0.8 * sim.dynamics.Q(Q)
    for _ in range(50):
        sim.step(torque, push)
    expected = torque - sim.dynamics.rotor_inertia * sim.ddq - sim.dynamics.viscous * sim.dq
    np.testing.assert_allclose(joint_effort(sim, push), expected, atol=0.002 * np.abs(expected).max())


def test_a_joint_sensor_reads_the_weight_behind_brakes(robot: Robot) -> None:
    sim = Simulation(robot, Q)
    sim.hold()
    np.testing.assert_allclose(joint_effort(sim, ()), Lagrangian(robot).Q(Q), atol=1e-9)


def test_a_wrist_reads_contact_the_weight_beyond_it_and_its_bias(robot: Robot, rng: np.random.Generator) -> None:
    """The weight by virtual work on the Lagrangian: it is what a body fixed to the hand adds to gravity's torque."""
    tool, payload = random_body(rng), random_body(rng)
    bias, contact = rng.normal(size=6), Wrench('R10l', (3.0, 4.0, 5.0), (0.1, 0.2, 0.3), axes='R0')
    sim, empty = Simulation(robot, Q), Wrench('R10l', (0, 0, 0))
    wrist = SimulatedWrist('R10l', tool, payload, bias.tolist())
    weight = wrist.reading(sim, (), rng) - bias
    loaded = [replace(x, inertia=x.inertia + tool + payload) if x.name == 'R10l' else x for x in robot.links]
    expected = Lagrangian(robot).Q(Q) - Lagrangian(replace(robot, links=tuple(loaded))).Q(Q)
    carried = Wrench('R10l', weight[:3], weight[3:])
    np.testing.assert_allclose(sim.dynamics.wrench_torque(Q, [carried]), expected, atol=1e-9)
    read = wrist.reading(sim, [contact], rng)
    np.testing.assert_allclose(read, bias + weight + sim.dynamics.wrench_at_link(Q, contact), atol=1e-12)
    assert not np.any(SimulatedWrist('R10l').reading(sim, [empty], rng))


@pytest.mark.parametrize(
    ('lower', 'upper', 'start'),
    [(-3.0, 3.0, 0.0), (-3.1, -0.1, -1.6), (0.0, 3.8, 1.9), (-0.2, 3.0, 1.4), (-0.4, 3.0, 0.0)],
)
def test_a_joint_starts_at_zero_or_in_the_middle_of_its_range(lower: float, upper: float, start: float) -> None:
    robot = load_robot(FILES['pendulum'])
    joints = [replace(joint, limits=Limits(100, 10, lower, upper)) if joint.moves else joint for joint in robot.joints]
    assert Simulation(replace(robot, joints=tuple(joints))).middle_positions == pytest.approx([start])
    assert pendulum().middle_positions == pytest.approx([0.0]), 'without limits'


@pytest.mark.parametrize('sense', ['applied_by_robot', 'applied_on_robot'])
@pytest.mark.parametrize(('frame', 'about'), [('', 'frame'), ('R9l', 'frame'), ('R9l', 'hand')])
@pytest.mark.parametrize('compensated', [False, True])
def test_the_node_finds_the_contact_in_the_reading_of_any_simulated_wrist(
    robot: Robot, rng: np.random.Generator, sense: Sense, frame: str, about: MomentAbout, compensated: bool
) -> None:
    sim, contact = Simulation(robot, Q), Wrench('R10l', (3.0, 4.0, 5.0), (0.1, 0.2, 0.3), axes='R0')
    tool, payload, bias = random_body(rng), random_body(rng), rng.normal(size=6)
    removed = RemovedWeight('R8l', random_body(rng), np.array([1.0, 2.0, -9.0])) if compensated else None
    point = frame if about == 'frame' else ''
    wrist = SimulatedWrist('R10l', tool, payload, bias.tolist(), (0.0, 0.0), frame, point, sense, removed)
    read = wrist.reading(sim, [contact], rng)
    links, sensor = sim.dynamics.link_names, WristSensor.of(bias, tool.m, tool.com)
    hand = WrenchInput('left', 'R10l', sense, about, links=links, sensor=sensor, payload=payload, removed=removed)
    assert hand.update(frame or 'R10l', read[:3].tolist(), read[3:].tolist(), 1, 1)
    (found,) = contact_wrenches([hand], partial(sim.dynamics.weights, Q), 1, 1).values()
    by_robot = sim.dynamics.wrench_at_link(Q, found)
    np.testing.assert_allclose(by_robot, -sim.dynamics.wrench_at_link(Q, contact), atol=1e-9)


def test_the_noise_of_a_wrist_is_what_was_asked_for(robot: Robot, rng: np.random.Generator) -> None:
    wrist, sim = SimulatedWrist('R10l', noise=(0.2, 0.02)), Simulation(robot, Q)
    read = np.array([wrist.reading(sim, (), rng) for _ in range(2000)])
    np.testing.assert_allclose(read.std(axis=0), [0.2] * 3 + [0.02] * 3, rtol=0.1)


def test_a_payload_on_the_simulated_hand_makes_it_sink(robot: Robot, rng: np.random.Generator) -> None:
    sim = Simulation(rubbing(robot, 1.0, 1.0), Q)
    known = sim.dynamics.Q(Q)
    sim.dynamics.payload = {'R10l': Inertia.about_com(2.0, np.zeros(3), np.zeros((3, 3)))}
    before = sim.dynamics.pose(Q, 'R10l')[1][2]
    for _ in range(300):
        sim.step(known)
    assert sim.dynamics.pose(sim.q, 'R10l')[1][2] < before - 0.02


def with_presliding() -> Robot:
    friction = Friction(0.3, 2.0, 0.05, (Presliding(4.0, 0.01), Presliding(1.0, 0.1)))
    robot = load_robot(FILES['arm_2r'])
    return replace(robot, joints=tuple(replace(joint, friction=friction) for joint in robot.joints))


def test_smooth_friction_its_slope_and_its_potential_are_of_one_function(rng: np.random.Generator) -> None:
    friction = Simulation(with_presliding()).dynamics.friction
    for _ in range(20):
        z, before, dq = rng.uniform(-0.9, 0.9, (2, 2)), rng.normal(size=2), rng.normal(size=2)
        smooth, step = SmoothFriction(friction, z, before, 1e-3), 1e-6 * np.eye(2)
        slope = [(smooth.impulse(dq + e) - smooth.impulse(dq - e))[k] / 2e-6 for k, e in enumerate(step)]
        np.testing.assert_allclose(smooth.slope(dq), slope, rtol=1e-5)
        force = [(smooth.potential(dq + e) - smooth.potential(dq - e)) / 2e-6 for e in step]
        np.testing.assert_allclose(smooth.impulse(dq), force, rtol=1e-5, atol=1e-9)


def test_a_robot_that_is_put_somewhere_has_no_friction_left_from_before() -> None:
    simulation = Simulation(with_presliding(), [0.3, 0.4])
    for _ in range(50):
        simulation.step(np.array([40.0, 20.0]))
    moved = simulation._presliding.z
    assert np.abs(moved).max() > 0.1
    simulation.set_positions([0.3, 0.4])
    assert not simulation._presliding.z.any()
