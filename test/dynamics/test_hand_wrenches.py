"""Wrenches at the hands, estimated from the joints: both hands at once, and none where the data is not enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Lagrangian, Robot, Wrench, dynamics_of, load_robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics import kinematics
from krang_dynamics_ros.dynamics.contact import MIN_STATES, ContactDetector, ThresholdLearner, own_joints
from krang_dynamics_ros.dynamics.hand_wrenches import HandWrenches
from krang_dynamics_ros.dynamics.observer import LowPass, MomentumObserver
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.simulation.simulation import Simulation

HANDS = {'left': 'R10l', 'right': 'R10r'}


def by_world(robot: Robot, q: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
    """Return the joint torques (n) of wrenches (k, 6) of the world on the hands, by the report's equations."""
    pulls = [Wrench(link, f[:3], f[3:]) for link, f in zip(HANDS.values(), wrenches, strict=True)]
    return np.asarray(Lagrangian(robot).wrench_torque(q, pulls))


def test_wrenches_on_both_hands_are_estimated_from_joint_torques(
    robot: Robot, dynamics: Dynamics, rng: np.random.Generator
) -> None:
    estimator, estimated = HandWrenches(dynamics, HANDS), 0
    estimator.damping = 1e-5
    for _ in range(20):
        q, f = rng.uniform(-2, 2, 17), rng.normal(size=(2, 6)) * [20, 20, 20, 3, 3, 3]
        for part, one in zip(f, estimator.estimate(q, by_world(robot, q, f)).values(), strict=True):
            if one.wrench is not None:
                estimated += 1
                np.testing.assert_allclose(one.wrench, part, atol=1e-3)
    assert estimated > 30


def test_the_smallest_singular_value_is_what_the_other_hand_cannot_explain(dynamics: Dynamics) -> None:
    q = np.linspace(-1, 1, 17)
    scale = np.r_[np.ones(3), np.full(3, 0.3)][:, None]  # 1 N, and 0.3 N m
    left, right = (scale * dynamics.jacobian(q, link, 'link') for link in HANDS.values())
    rest = left - left @ np.linalg.pinv(right) @ right  # rows of the left hand, less what the right one's span
    smallest = np.linalg.svd(rest, compute_uv=False)[-1]
    estimate = HandWrenches(dynamics, HANDS).estimate(q, np.zeros(17))['left']
    assert estimate.smallest_singular_value == pytest.approx(smallest, rel=1e-6)
    assert np.linalg.norm(estimate.weakest @ rest) == pytest.approx(smallest, rel=1e-6)


def test_a_robot_of_twice_the_size_and_lever_has_twice_the_singular_values(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows of the Jacobians are lengths, whether they are of forces or of moments."""
    joints = tuple(replace(joint, position=2 * joint.position) for joint in robot.joints)
    large = dynamics_of(replace(robot, joints=joints))
    q, links = np.linspace(-1, 1, 17), [*HANDS.values()]
    J = dynamics_of(robot).scaled_jacobians(q, links)
    monkeypatch.setattr(kinematics, 'LEVER', 2 * kinematics.LEVER)
    np.testing.assert_allclose(large.scaled_jacobians(q, links), 2 * J, atol=1e-12)


def test_a_moment_costs_as_much_as_the_force_that_causes_it_at_the_lever() -> None:
    """Force and moment share the torque of one joint so that their cost is least."""
    one = dynamics_of(load_robot('pendulum'))
    link = one.link_names[-1]
    J = one.jacobian(np.zeros(1), link, 'link')
    f, _ = one.hand_wrenches(np.zeros(1), np.ones(1), [link], 1e-4)
    weight = np.r_[np.ones(3), np.full(3, 0.3**2)][:, None] * J  # the minimum of |F|^2 + |M / 0.3 m|^2
    np.testing.assert_allclose(f, (weight / (J.T @ weight))[:, 0], atol=1e-6)


def test_an_estimate_read_later_is_of_its_own_state(dynamics: Dynamics) -> None:
    """Diagnostics read it a second later, when the arrays of the state may have changed."""
    q, torque = np.linspace(-1, 1, 17), np.ones(17)
    now, later = (HandWrenches(dynamics, HANDS).estimate(q, torque)['left'] for _ in range(2))
    smallest = now.smallest_singular_value
    q[:], torque[5] = 0.0, np.nan
    assert later.smallest_singular_value == smallest


def test_no_wrench_is_estimated_on_a_straight_arm_or_without_enough_efforts(dynamics: Dynamics) -> None:
    estimator, bent = HandWrenches(dynamics, HANDS), np.linspace(-1, 1, 17)
    for estimate in estimator.estimate(np.zeros(17), np.ones(17)).values():
        assert estimate.wrench is None
        assert estimate.smallest_singular_value < estimator.min_singular_value
        assert estimate.weakest_direction
    torque = np.ones(17)
    torque[3:9] = np.nan  # all of the left arm but its last joint, and the trunk alone cannot determine it
    estimated = estimator.estimate(bent, torque)
    assert estimated['left'].wrench is None
    assert estimated['right'].wrench is not None
    assert HandWrenches(dynamics, {}).estimate(bent, torque) == {}


@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid')
def test_a_wrench_that_is_not_finite_is_not_estimated(dynamics: Dynamics) -> None:
    estimated = HandWrenches(dynamics, HANDS).estimate(np.linspace(-1, 1, 17), np.full(17, 1.7e308))
    assert [estimate.wrench for estimate in estimated.values()] == [None, None]


@pytest.mark.parametrize('noise', [0.0, 1.0])
@pytest.mark.parametrize('poses', [4, pytest.param(50, marks=pytest.mark.slow)])
def test_in_closed_loop_20_newton_on_each_hand_are_estimated(
    robot: Robot, dynamics: Dynamics, rng: np.random.Generator, noise: float, poses: int
) -> None:
    """A robot that is held by a controller and yields; the wrench is estimated after 5 / K."""
    sim, errors = Simulation(robot), []
    low, high = 0.9 * np.maximum(sim.lower, -np.pi), 0.9 * np.minimum(sim.upper, np.pi)
    for _ in range(poses):
        q, observer = rng.uniform(low, high), MomentumObserver(dynamics)
        sim.reset(q)
        force = rng.normal(size=(2, 3))
        force *= 20 / np.linalg.norm(force, axis=1)[:, None]
        pushes, inertia = (
            [Wrench(link, f) for link, f in zip(HANDS.values(), force, strict=True)],
            np.diag(dynamics.A(q)),
        )
        estimated = None
        for k in range(253):
            torque = dynamics.Q(sim.q) + inertia * (100 * (q - sim.q) - 20 * sim.dq)
            effort = torque + noise * rng.normal(size=17)
            estimated = observer(State(sim.q, sim.dq, effort=effort, stamp=1 + k * 2_000_000))
            sim.step(torque, pushes, 2e-3)
        assert estimated is not None
        estimates = HandWrenches(dynamics, HANDS).estimate(sim.q, estimated).values()
        errors += [
            np.linalg.norm(e.wrench[:3] - f) for e, f in zip(estimates, force, strict=True) if e.wrench is not None
        ]
    assert np.median(errors) < (4 if noise else 1)
    assert np.percentile(errors, 90) < (12 if noise else 3)
    assert len(errors) >= 1.25 * poses


ARM = """<robot name="arm"><link name="base"/>{links}{joints}</robot>"""
LINK = """<link name="{name}"><inertial><origin xyz="0.02 0.01 0.15"/><mass value="{mass}"/>
<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0.001" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="j{name}" type="{kind}"><parent link="{parent}"/><child link="{name}"/><origin xyz="0.05 0 0.3"
rpy="{turn} 0 0"/><axis xyz="0 {y} {z}"/><limit effort="9" velocity="9" lower="-2" upper="2"/></joint>"""


def description(links: list[tuple[str, str, str]]) -> str:
    """Return a URDF of links (name, parent, kind of joint), with axes y and z in turns."""
    bodies = ''.join(LINK.format(name=name, mass=3 * 0.8**k) for k, (name, _, _) in enumerate(links))
    joints = ''.join(
        JOINT.format(name=name, parent=parent, kind=kind, turn=0.3 * k, y=k % 2, z=(k + 1) % 2)
        for k, (name, parent, kind) in enumerate(links)
    )
    return ARM.format(links=bodies, joints=joints)


SINGLE = [(f'l{k}', f'l{k - 1}' if k > 1 else 'base', 'revolute') for k in range(1, 8)]
TREE = [('trunk', 'base', 'prismatic')] + [
    (f'{side}{k}', f'{side}{k - 1}' if k > 1 else 'trunk', 'prismatic' if k == 3 else 'revolute')
    for side in 'ab'
    for k in range(1, 8)
]


@pytest.mark.parametrize(('links', 'hands'), [(SINGLE, {'tool': 'l7'}), (TREE, {'a': 'a7', 'b': 'b7'})])
def test_wrenches_on_other_robots_are_estimated(
    links: list[tuple[str, str, str]], hands: dict[str, str], rng: np.random.Generator
) -> None:
    """One arm from its URDF, and a tree with sliding joints: falling freely, and pulled at each hand."""
    dynamics = Dynamics(description(links))
    n, observer, estimator = dynamics.n, MomentumObserver(dynamics), HandWrenches(dynamics, hands)
    q, dq, h = rng.uniform(-1, 1, n), np.zeros(n), 5e-4
    pull = {name: rng.normal(size=6) * [10, 10, 10, 1, 1, 1] for name in hands}
    estimated, low_pass = None, LowPass()
    for k in range(1101):
        stamp = 1 + round(k * h * 1e9)
        estimated = observer(State(q, dq, effort=dynamics.Q(q) - 3 * dq, stamp=stamp))
        world = [Wrench(link, pull[name][:3], pull[name][3:]) for name, link in hands.items()]
        shown = low_pass.update(dynamics.wrench_torque(q, world), observer.gain, stamp, 0.1)

        def rate(q: np.ndarray, dq: np.ndarray, world: list[Wrench] = world) -> np.ndarray:
            return dynamics.forward_dynamics(q, dq, dynamics.Q(q) - 3 * dq + dynamics.wrench_torque(q, world))

        middle_q, middle_dq = q + h / 2 * dq, dq + h / 2 * rate(q, dq)
        q, dq = q + h * middle_dq, dq + h * rate(middle_q, middle_dq)
    assert estimated is not None
    np.testing.assert_allclose(estimated, shown, atol=0.01 * np.abs(shown).max())
    for name, estimate in estimator.estimate(q, dynamics.wrench_torque(q, world)).items():
        if estimate.wrench is not None:
            np.testing.assert_allclose(estimate.wrench, pull[name], atol=1.5)


def test_thresholds_are_learnt_and_wider_while_accelerating() -> None:
    learner = ThresholdLearner(3)
    with pytest.raises(ArgumentError, match=f'learned from 0 states, must be at least {MIN_STATES}'):
        learner.thresholds(1.5, 0.5)
    for k in range(MIN_STATES):
        learner.add(np.array([np.sin(k), -2.0, np.nan]), accelerating=False)
    even, accelerating = learner.thresholds(1.5, 0.5)
    np.testing.assert_allclose(even, [2.0, 3.5, 0], atol=1e-3)
    np.testing.assert_allclose(accelerating, [4.0, 7.0, 0], atol=1e-3)
    learner.add(np.array([8.0, 1.0, np.nan]), accelerating=True)
    np.testing.assert_allclose(learner.thresholds(1.5, 0.5)[1], [13, 4, 0])


def test_contact_is_of_the_hand_whose_own_joints_show_it(dynamics: Dynamics) -> None:
    own = own_joints(dynamics, HANDS)
    assert own == {side: [f'q_{k}{side[0]}' for k in range(1, 8)] for side in HANDS}
    detector, torque, still = ContactDetector(dynamics.joint_names, own), np.zeros(17), np.zeros(17)
    assert not detector.ready
    assert not detector.detect(np.full(17, 1e6), still).anywhere
    detector.steady, detector.accelerating = np.ones(17), np.full(17, 3.0)
    torque[4], torque[9] = -2.0, np.nan
    contact = detector.detect(torque, still)
    assert (contact.anywhere, contact.hands, contact.joints) == (True, {'left': True, 'right': False}, ('q_2l',))
    assert not detector.detect(torque, np.full(17, 2.0)).anywhere  # it accelerates
    torque[[0, 4]] = 2.0, 0.0
    contact = detector.detect(torque, still)
    assert (contact.anywhere, contact.hands) == (True, {'left': False, 'right': False})


def test_the_low_pass_is_the_observers(dynamics: Dynamics, rng: np.random.Generator) -> None:
    observer, low_pass, stamp, q = MomentumObserver(dynamics), LowPass(), 1, np.linspace(-1, 1, 17)
    observer(State(q, np.zeros(17), effort=dynamics.Q(q), stamp=stamp))
    low_pass.update(np.zeros(17), 10, stamp, 0.1)
    for _ in range(50):
        stamp += int(rng.uniform(1e6, 1e7))
        observer(State(q, np.zeros(17), effort=dynamics.Q(q) - 2.0, stamp=stamp))
        shown = low_pass.update(np.full(17, 2.0), 10, stamp, 0.1)
    np.testing.assert_allclose(observer.torque[3:], shown[3:], rtol=0.02)  # the first step is the mean of both ends
    assert low_pass.update(np.ones(17), 10, stamp, 0.1) is shown
    np.testing.assert_array_equal(low_pass.update(np.ones(17), 10, stamp + 10**9, 0.1), np.ones(17))


def test_a_robot_in_millimetres_gets_no_wrench_and_no_error() -> None:
    """J J^T is so large that what keeps it from being singular must grow with it."""
    links = [('l1', 'base', 'revolute')]
    dynamics = Dynamics(description(links).replace('xyz="0.05 0 0.3"', 'xyz="500 0 5000"') + '')
    tool = '<link name="t"/><joint name="jt" type="fixed"><parent link="l1"/><child link="t"/><origin xyz="9e7 0 9e6"/>'
    dynamics = Dynamics(description(links).replace('</robot>', f'{tool}</joint></robot>'))
    for q in np.linspace(-2, 2, 50):
        (estimate,) = HandWrenches(dynamics, {'tool': 't'}).estimate(np.array([q]), np.ones(1)).values()
        assert estimate.wrench is None
        assert estimate.smallest_singular_value < 0.05


@pytest.mark.parametrize('damping', [0.0, -1.0, np.nan])
def test_without_damping_there_is_no_solution_to_ask_for(dynamics: Dynamics, damping: float) -> None:
    with pytest.raises(ArgumentError, match='must be above 0 m'):
        dynamics.hand_wrenches(np.zeros(17), np.ones(17), ['R10l'], damping)
