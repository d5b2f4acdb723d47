"""Laws of the fit: columns times factors are the torque, derivatives are those of the cost, folds do not leak."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krang_dynamics_ros import NewtonEuler, Robot, krang, load_robot
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.effects.coupling import CoupledFriction, Coupling, CouplingEffect
from krang_dynamics_ros.effects.load import LoadFriction, LoadShare, crossing_of
from krang_dynamics_ros.effects.presliding import Presliding, presliding_history
from krang_dynamics_ros.effects.sliding import Coulomb
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.identification.bodies_prior import BodiesPrior, parameters_of_pseudo_inertia, pseudo_inertia
from krang_dynamics_ros.identification.choice import Choice, held_out_errors
from krang_dynamics_ros.identification.fit import AGREED, Fit, Problem, _Cost, last_fit
from krang_dynamics_ros.identification.gram import Gram, all_columns
from krang_dynamics_ros.identification.identified_file import robot_file_text
from krang_dynamics_ros.identification.identify import _with_effects, identify, neighbours
from krang_dynamics_ros.identification.merged_robot import MergedRobot, is_possible, with_bodies
from krang_dynamics_ros.identification.predict import predict
from krang_dynamics_ros.identification.ridge import solution
from krang_dynamics_ros.identification.samples import FOLDS, ArmMotion, Samples, folds, samples_of
from krang_dynamics_ros.identification.structure import Structure, library
from krang_dynamics_ros.recordings.recording import Recording
from krang_dynamics_ros.robot.mimic import Mimic
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot_file import read_robot

from ..real_recordings import waves
from ..robots import random_body

TIME = np.arange(0, 20, 0.01)
ARM = ('q_5l', 'q_6l', 'q_7l')


def bodies(rng: np.random.Generator, count: int = 3) -> np.ndarray:
    return np.concatenate([random_body(rng).parameters for _ in range(count)])


def strange() -> Robot:
    """Return Krang with every effect in its left wrist."""
    share, more = LoadShare(0.8, 1.3, 0.3, 0.1), LoadFriction(0.05, 0.05)
    friction = Friction(3.0, 1.5, 0.02, (Presliding(0.5, 1e-3),), share, more)
    joints = [
        replace(j, friction=friction, other_effects=(Spring(1.0, -2.0),), motor=replace(j.motor, effort_offset=0.4))
        if j.name in ARM
        else j
        for j in krang().joints
    ]
    return replace(krang(), joints=tuple(joints), couplings=(Coupling(('q_6l', 'q_7l'), 1, 0.5, 2.0, 0.05),))


@cache
def recorded() -> Recording:
    """Return efforts of it, as `predict` says them of a smooth motion."""
    q, _, _ = waves(len(ARM), TIME, 1)
    still = Recording('made here', ARM, TIME, q, None, np.zeros_like(q))
    return replace(still, effort=predict(replace(strange(), cutoff=6.0), still).predicted)


@cache
def motion() -> ArmMotion:
    return ArmMotion.of(krang(), recorded())


@cache
def samples() -> Samples:
    return samples_of([motion()], 6.0)


@cache
def gram() -> Gram:
    merged = motion().merged
    return Gram.of(samples(), [motion()], BodiesPrior.of(merged.phi), neighbours(merged.robot, ARM))


def every_effect() -> Structure:
    structure = Structure.plain(3)
    for effect in library():
        structure = structure.with_effect(effect)
    structure = structure.with_effect(Coulomb(coulomb_velocity=0.02))
    return replace(structure, couplings=(CouplingEffect(1, 2, 1),), cutoff=6.0, prior_width=0.3)


def test_the_gradient_and_the_second_derivative_of_the_divergence_are_its_differences(rng: np.random.Generator) -> None:
    prior, phi = BodiesPrior.of(bodies(rng)), bodies(rng)
    step = 1e-6 * np.abs(phi).max()
    numeric = [(prior.divergence(phi + step * e) - prior.divergence(phi - step * e)) / (2 * step) for e in np.eye(30)]
    np.testing.assert_allclose(prior.gradient(phi), numeric, rtol=1e-4, atol=1e-4 * np.abs(numeric).max())
    turned = [(prior.gradient(phi + step * e) - prior.gradient(phi - step * e)) / (2 * step) for e in np.eye(30)]
    hessian = prior.hessian_at(phi)
    np.testing.assert_allclose(hessian, turned, rtol=1e-4, atol=1e-4 * np.abs(hessian).max())


def test_the_divergence_is_least_at_the_known_bodies_and_infinite_at_impossible_ones(rng: np.random.Generator) -> None:
    phi = bodies(rng)
    prior = BodiesPrior.of(phi)
    assert prior.divergence(prior.phi) == pytest.approx(0, abs=1e-9)
    assert prior.divergence(bodies(rng)) > 0
    assert prior.divergence(-phi) == np.inf


def test_the_derivatives_of_the_cost_are_its_differences(rng: np.random.Generator) -> None:
    problem = Problem(gram(), every_effect())
    cost, x = _Cost(problem, gram().total, 2.0), problem.possible(gram().total)
    x = x + 1e-3 * np.abs(x) * rng.normal(size=len(x))
    direction = rng.normal(size=len(x)) * np.maximum(np.abs(x), 1e-3)
    h = 1e-5
    slope = (cost(x + h * direction) - cost(x - h * direction)) / (2 * h)
    assert cost.gradient(x) @ direction == pytest.approx(slope, rel=1e-4)
    bend = (cost.gradient(x + h * direction) - cost.gradient(x - h * direction)) @ direction / (2 * h)
    assert direction @ cost.hessian(x) @ direction == pytest.approx(bend, rel=1e-3)


def test_known_bodies_that_are_none_are_made_possible() -> None:
    rod = np.array([2.0, 0, 0, 0.5, 0.1, 0, 0, 0.1, 0, 0.0])
    prior = BodiesPrior.of(np.concatenate([rod, np.zeros(10)]))
    assert all(is_possible(body) for body in prior.phi.reshape(-1, 10))
    assert prior.phi[0] == pytest.approx(2.0)
    assert prior.phi[10] == pytest.approx(2e-3)
    body = random_body(np.random.default_rng(0)).parameters
    np.testing.assert_allclose(parameters_of_pseudo_inertia(pseudo_inertia(body)), body, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_any_fit_ends_at_possible_bodies_and_friction_that_is_not_negative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wild = samples().effort * rng.uniform(-2, 2, 3) + samples().effort_std * rng.normal(size=samples().effort.shape)
    known = gram()
    changed = Gram.of(replace(samples(), effort=wild), [motion()], known.prior, known.pairs)
    problem = Problem(changed, replace(every_effect(), prior_width=float(rng.choice([0.1, 1.0, 10.0]))))
    x = problem.possible(changed.total)
    assert all(is_possible(body) for body in x[: problem.unknowns.bodies].reshape(-1, 10))
    assert (x[problem.unknowns.not_negative] >= 0).all()


def test_the_last_fit_is_a_minimum(rng: np.random.Generator) -> None:
    problem = Problem(gram(), every_effect())
    cost, x = _Cost(problem, gram().total), problem.possible(gram().total)
    free = ~problem.unknowns.not_negative | (x > 0)
    for _ in range(20):
        direction = np.where(free, rng.normal(size=len(x)) * np.maximum(np.abs(x), 1e-3), 0.0)
        assert cost(x + 1e-3 * direction) > cost(x) - 1e-6


@cache
def fitted() -> Fit:
    return last_fit(gram(), samples(), [motion()], every_effect())


def test_the_terms_are_all_of_the_prediction() -> None:
    np.testing.assert_allclose(sum(fitted().terms.values()), fitted().predicted, atol=1e-9)
    assert {'coupling', 'spring', 'offset', 'load effects'} <= set(fitted().terms)


def test_the_written_robot_predicts_what_the_fit_does(tmp_path: object) -> None:
    found = identify(krang(), [recorded()])
    file = read_robot(robot_file_text(found))
    for robot in (found.robot, file):
        again = predict(robot, recorded())
        rows = np.searchsorted(TIME, found.samples.time - 0.5 * (TIME[1] - TIME[0]))
        difference = np.sqrt(np.square(again.predicted[rows] - found.fit.predicted).mean(axis=0))
        assert (difference / found.samples.effort_std).max() < 2 * AGREED


def test_a_robot_with_every_effect_predicts_what_its_columns_say() -> None:
    fit = fitted()
    robot = with_bodies(krang(), ARM, {}, fit.phi)
    robot = replace(_with_effects(robot, ARM, fit), cutoff=6.0)
    difference = predict(robot, recorded()).predicted - fit.predicted
    assert np.abs(difference).max() < 1e-2 * samples().effort_std.max()


def test_efforts_of_every_effect_are_explained() -> None:
    residual = samples().effort - fitted().predicted
    assert (np.sqrt(np.square(residual).mean(axis=0)) / samples().effort_std).max() < 0.06  # the crossing is not fitted


def test_unknowns_that_must_not_be_negative_are_pinned_to_zero(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 6))
    A, b = X.T @ X, X.T @ X @ [1.0, -1.0, 2.0, -2.0, 1.0, 1.0]
    x = solution(A, b, np.array([False, False, True, True, True, False]))
    assert x[3] == 0
    assert (x[2:5] >= 0).all()
    np.testing.assert_allclose((A @ x - b)[x != 0], 0, atol=1e-9)


def test_unknowns_that_turn_negative_one_after_the_other_are_all_pinned() -> None:
    A, b = np.eye(1), -np.ones(1)
    for _ in range(8):  # in front of them, an unknown whose value -1 keeps the others at 1
        column = A.sum(axis=1) - b
        corner = 1 + column @ np.linalg.solve(A, column)
        A = np.block([[corner, column], [column[:, None], A]])
        b = np.concatenate([[column.sum() - corner], b])
    np.testing.assert_array_equal(solution(A, b, np.ones(9, dtype=bool)), np.zeros(9))


def test_folds_do_not_leak(rng: np.random.Generator) -> None:
    """Efforts of a fold do not change the model that predicts it, except its weights and its preliminary fit."""
    fold, known = 2, gram()
    inside = samples().fold == fold
    effort = samples().effort + 5.0 * inside[:, None] * rng.normal(size=samples().effort.shape)
    X = all_columns(replace(samples(), effort=effort), known.pairs, known.load, known.crossing)
    changed = Gram.of_columns(X, samples(), known.prior, known.pairs, known.load, known.crossing)
    problem = Problem(known, Structure.plain(3))
    x, again = (problem.ridge(g.total - g.matrices[fold]) for g in (known, changed))
    np.testing.assert_allclose(again, x, rtol=1e-6, atol=1e-9)
    assert np.abs(problem.ridge(changed.total) - problem.ridge(known.total)).max() > 1e-3


def test_efforts_that_are_noise_are_not_predicted(rng: np.random.Generator) -> None:
    noise = replace(samples(), effort=rng.normal(size=samples().effort.shape), effort_std=np.ones(3))
    noise = replace(noise, known_effort=samples().load_torque([motion()], motion().merged.phi) * 0)
    of_noise = Gram.of(noise, [motion()], gram().prior, gram().pairs)
    assert held_out_errors(Problem(of_noise, every_effect())).min() > 0.95


def test_folds_are_phases_of_a_motion_that_comes_again_and_else_blocks_of_rows() -> None:
    periodic = recorded()
    fold = folds(periodic, TIME)
    np.testing.assert_array_equal(fold[:900], fold[1000:1900])
    once = periodic.rows(slice(0, 1000))
    blocks = folds(once, once.time)
    assert (np.diff(blocks) >= 0).all()
    assert np.bincount(blocks, minlength=FOLDS).min() > 160


def test_many_rows_are_thinned_and_their_rate_is_that_of_what_is_left() -> None:
    fine = np.arange(0, 8, 0.001)
    q, _, _ = waves(3, fine, 2)
    s = samples_of([ArmMotion.of(krang(), Recording('made here', ARM, fine, q, None, q))], 6.0)
    assert (len(s.time), s.rate) == (2667, pytest.approx(1000 / 3, rel=1e-3))
    np.testing.assert_allclose(s.z[1e-3], presliding_history(q, (1e-3,))[::3, :, 0])


def test_coupled_friction_never_gives_power(rng: np.random.Generator) -> None:
    pairs = [Coupling(('a', 'b'), 1, 0.5, 2.0, 0.05), Coupling(('b', 'c'), -1, 0.2, 1.0, 0.05)]
    friction, dq = CoupledFriction(pairs, 'abc'), rng.normal(size=(1000, 3))
    assert (friction.torque(dq) * dq).sum(axis=1).min() >= 0
    alone = CoupledFriction([Coupling(('a', 'b'), -1, 0.5, 2.0, 0.05)], 'abc').torque(dq)
    columns = CouplingEffect(0, 1, -1).columns(dq)
    np.testing.assert_allclose(np.stack([c @ [0.5, 2.0] for c in columns], axis=1), alone[:, :2])
    held = CoupledFriction(pairs[:1], ('b',)).torque(dq[:, :1])
    both = CoupledFriction(pairs[:1], 'ab').torque(np.c_[0 * dq[:, 0], dq[:, 0]])
    np.testing.assert_allclose(held[:, 0], both[:, 1])


def test_the_slope_and_the_potential_of_coupled_friction_are_of_one_function(rng: np.random.Generator) -> None:
    pairs = [Coupling(('a', 'b'), 1, 0.5, 2.0, 0.5), Coupling(('b', 'c'), -1, 0.2, 1.0, 0.5)]
    friction, dq, step = CoupledFriction(pairs, 'abc'), rng.normal(size=3), 1e-5 * np.eye(3)
    slope = [(friction.torque(dq + e) - friction.torque(dq - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(friction.slope(dq), slope, rtol=1e-5, atol=1e-8)
    force = [(friction.potential(dq + e) - friction.potential(dq - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(friction.torque(dq), force, rtol=1e-5, atol=1e-8)


def test_neighbours_are_joints_that_carry_one_another() -> None:
    backwards = ARM[::-1]
    pairs = {(backwards[p.first], backwards[p.second], p.sign) for p in neighbours(motion().merged.robot, backwards)}
    assert pairs == {(b, a, sign) for a, b in pairwise(ARM) for sign in (1, -1)}


def test_bodies_of_links_that_are_rigid_are_one_and_the_rest_is_written_to_the_link_that_moves() -> None:
    merged = MergedRobot.of(krang(), ARM, {'q_w': 0.3})
    assert merged.links == tuple(krang_links())
    again = with_bodies(krang(), ARM, {'q_w': 0.3}, merged.phi)
    assert all(
        np.allclose(link.inertia.parameters, was.inertia.parameters)
        for link, was in zip(again.links, krang().links, strict=True)
    )
    q, dq, ddq = np.random.default_rng(0).normal(size=(3, 5, 3))
    factor = np.repeat([1.2, 0.9, 1.5], 10)
    changed = MergedRobot.of(with_bodies(krang(), ARM, {'q_w': 0.3}, factor * merged.phi), ARM, {'q_w': 0.3})
    np.testing.assert_allclose(
        NewtonEuler(changed.robot).inverse_dynamics(q, dq, ddq) - changed.robot.rotor_inertia * ddq,
        merged.regressor(q, dq, ddq) @ (factor * merged.phi),
        atol=1e-9,
    )


def krang_links() -> list[str]:
    return [joint.child for name in ARM for joint in krang().joints if joint.name == name]


def gripper() -> Robot:
    """Return two joints and, fixed to the second link, a heavy hand with two fingers, one following the other."""
    text = """
name: arm
gravity: [0, 0, -9.81]
links:
  base: {}
  one: {mass: 2, com: [0, 0, 0.2], inertia: [0.1, 0, 0, 0.1, 0, 0.1]}
  two: {mass: 1, com: [0, 0, 0.2], inertia: [0.1, 0, 0, 0.1, 0, 0.1]}
  hand: {mass: 3, com: [0, 0, 0], inertia: [0.1, 0, 0, 0.1, 0, 0.1]}
  left: {mass: 0.1, com: [0, 0, 0], inertia: [0.001, 0, 0, 0.001, 0, 0.001]}
  right: {mass: 0.1, com: [0, 0, 0], inertia: [0.001, 0, 0, 0.001, 0, 0.001]}
joints:
  j1: {type: revolute, parent: base, child: one, axis: [0, 1, 0]}
  j2: {type: revolute, parent: one, child: two, xyz: [0, 0, 0.5], axis: [1, 0, 0]}
  wrist: {type: fixed, parent: two, child: hand, xyz: [0, 0, 0.4]}
  finger1: {type: prismatic, parent: hand, child: left, axis: [0, 1, 0], limits: {lower: 0, upper: 0.1}}
  finger2: {type: prismatic, parent: hand, child: right, axis: [0, -1, 0], limits: {lower: 0, upper: 0.1},
            mimic: {joint: finger1, multiplier: 1, offset: 0}}
"""
    return read_robot(text)


def test_a_body_too_light_for_what_is_fixed_to_it_makes_that_lighter() -> None:
    robot, names = gripper(), ('j1', 'j2')
    light = MergedRobot.of(robot, names, {}).phi.copy()
    light[10:] *= 0.3
    found = with_bodies(robot, names, {}, light)
    np.testing.assert_allclose(MergedRobot.of(found, names, {}).phi, light, atol=1e-9)
    assert all(is_possible(link.inertia.parameters) for link in found.links if link.inertia.m)
    assert found.link_of['hand'].inertia.m < 3


def test_a_gripper_that_was_not_recorded_is_no_reason_to_refuse(rng: np.random.Generator) -> None:
    robot, names = gripper(), ('j1', 'j2')
    q, dq, ddq = waves(2, TIME, 4)
    merged = MergedRobot.of(robot, names, {'finger1': 0.05})
    effort = NewtonEuler(merged.robot).inverse_dynamics(q, dq, ddq) + 2 * dq + np.tanh(dq / 0.02)
    effort += 0.01 * effort.std(axis=0) * rng.normal(size=effort.shape)
    found = identify(robot, [Recording('made here', names, TIME, q, None, effort, {'finger1': 0.05})])
    assert found.errors.max() < 0.02
    again = read_robot(robot_file_text(found))
    assert next(joint for joint in again.joints if joint.name == 'finger2').mimic == Mimic('finger1')
    assert found.links == ('one', 'two')


def test_joints_that_follow_a_recorded_one_are_in_its_regressor(rng: np.random.Generator) -> None:
    robot = gripper()
    names = ('j1', 'j2', 'finger1')
    merged = MergedRobot.of(robot, names, {})
    assert merged.links == ('one', 'two', 'left', 'right')
    q, dq, ddq = rng.normal(size=(3, 4, 3))
    np.testing.assert_allclose(
        merged.regressor(q, dq, ddq) @ merged.phi, NewtonEuler(robot).inverse_dynamics(q, dq, ddq), atol=1e-9
    )


def test_fixed_joints_may_differ_between_recordings() -> None:
    robot = load_robot('arm_2r')
    q, dq, ddq = waves(1, TIME, 5)
    motions = []
    for angle in (0.0, 1.2):
        merged = MergedRobot.of(robot, ('theta1',), {'theta2': angle})
        effort = NewtonEuler(merged.robot).inverse_dynamics(q, dq, ddq)
        recording = Recording('made here', ('theta1',), TIME, q, None, effort, {'theta2': angle})
        motions.append(ArmMotion.of(robot, recording))
    s = samples_of(motions, 6.0)
    first = s.effort - s.known_effort
    assert np.abs(s.effort[s.recording_index == 0] - s.effort[s.recording_index == 1]).max() > 1
    rotor = robot.rotor_inertia[0] * s.whole[2]
    np.testing.assert_allclose(s.Y @ motions[0].merged.phi + rotor, first, atol=0.1 * s.effort_std[0])


def test_a_spring_is_found_where_there_is_one(rng: np.random.Generator) -> None:
    q, dq, ddq = waves(2, TIME, 6)
    robot = load_robot('arm_2r')
    effort = NewtonEuler(robot).inverse_dynamics(q, dq, ddq) + dq + np.tanh(dq / 0.02)
    effort[:, 0] += 30.0 * np.cos(q[:, 0]) - 50.0 * np.sin(q[:, 0])
    effort += 0.01 * effort.std(axis=0) * rng.normal(size=effort.shape)
    tight = replace(robot, links=tuple(replace(x, inertia=heavy(x.inertia)) for x in robot.links))
    found = identify(tight, [Recording('made here', robot.joint_names, TIME, q, None, effort)])
    assert found.errors.max() < 0.03
    if Spring() in found.structure.joints[0]:
        assert found.robot.moving_joints[0].other_effects


def heavy(inertia: Inertia) -> Inertia:
    """Return a body that no longer is on the border of what is possible."""
    return inertia + Inertia.about_com(0.0, np.zeros(3), 0.01 * np.eye(3)) if inertia.m else inertia


def test_the_search_tries_no_structure_twice() -> None:
    choice = Choice(lambda _: gram(), (6.0,), lambda _: None)
    best = choice.best(3)
    assert len({trial.structure for trial in choice.trials}) == len(choice.trials)
    assert best.error <= choice.trials[0].error
    assert crossing_of(np.array([0.0]))[0] > 1e5
