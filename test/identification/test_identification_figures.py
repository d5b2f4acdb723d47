"""How near identification comes, over many recordings of a simulated arm: 30 s by `excite`, 2 % of noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from krang_dynamics_ros import Robot, krang
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.equations.regressor import moved_links, regressor, with_fixed_joints
from krang_dynamics_ros.identification.excitation import Search, run
from krang_dynamics_ros.identification.identify import Identified, identify
from krang_dynamics_ros.identification.merged_robot import MergedRobot
from krang_dynamics_ros.identification.predict import predict
from krang_dynamics_ros.recordings.recording import Recording
from krang_dynamics_ros.robot.motor_and_friction import Friction

pytestmark = pytest.mark.slow
ARM = ('q_5l', 'q_6l', 'q_7l')
TRUTH = {'rotor_inertia': 0.4, 'viscous': 3.0, 'coulomb': 1.5}
NOISE, SEEDS = 0.02, 40


@cache
def truth() -> Robot:
    """Krang with friction and rotors in a wrist whose bodies are otherwise than published: by 10 %, 1 cm, 10 %."""
    rng = np.random.default_rng(7)
    moved = moved_links(with_fixed_joints(krang(), {}, ARM))
    links = []
    for link in krang().links:
        body = link.inertia
        if link.name in moved:
            stretch = np.diag(1 + 0.05 * rng.normal(size=3))
            body = Inertia.about_com(
                body.m * (1 + 0.1 * rng.normal()), body.com + 0.01 * rng.normal(size=3), stretch @ body.I_G @ stretch
            )
        links.append(replace(link, inertia=body))
    friction = Friction(TRUTH['viscous'], TRUTH['coulomb'], 0.02)
    joints = [
        replace(j, friction=friction, motor=replace(j.motor, rotor_inertia=0.4 / j.motor.gear_ratio**2))
        if j.name in ARM
        else j
        for j in krang().joints
    ]
    return replace(krang(), links=tuple(links), joints=tuple(joints))


@cache
def recorded(seed: int) -> Recording:
    arm = with_fixed_joints(truth(), {}, ARM)
    return run(arm, Search(arm, 10.0, seed).best(), 30.0, 100.0, noise=0.0)


def noisy(recording: Recording, seed: int) -> Recording:
    effort = recording.measured_effort
    rng = np.random.default_rng([seed, 77])
    return replace(recording, effort=effort + NOISE * effort.std(axis=0) * rng.normal(size=effort.shape))


@cache
def found() -> list[Identified]:
    return [identify(krang(), [noisy(recorded(0), seed)]) for seed in range(SEEDS)]


def base_combinations(links: tuple[str, ...]) -> np.ndarray:
    """Combinations (r, 10 links + joints) of bodies and rotors that torques of random states tell apart."""
    arm, rng = with_fixed_joints(truth(), {}, ARM), np.random.default_rng(3)
    q, dq, ddq = rng.normal(size=(3, 200, arm.n))
    rotors = np.eye(arm.n) * ddq[:, None, :]
    W = np.concatenate([regressor(arm, links, q, dq, ddq), rotors], axis=2).reshape(200 * arm.n, -1)
    size = np.maximum(np.linalg.norm(W, axis=0), 1e-12)
    _, values, V = np.linalg.svd(W / size, full_matrices=False)
    return np.asarray(V[values > 1e-9 * values[0]] * size)


def test_friction_and_rotors_are_within_three_per_cent() -> None:
    values = np.array([[result.fit.factors(j)[:3] for j in range(len(ARM))] for result in found()])
    error = np.abs(values / list(TRUTH.values()) - 1)
    assert (error < 0.03).mean() >= 0.95
    assert np.abs(values.mean(axis=0) / list(TRUTH.values()) - 1).max() < 0.015  # no bias


def base_scores(result: Identified) -> list[float]:
    """Return how many standard deviations the base parameters are off."""
    V = base_combinations(result.links)
    rotors = [result.fit.unknowns.factors[j].start for j in range(len(ARM))]
    which = [*range(10 * len(result.links)), *rotors]
    off = np.concatenate([result.fit.phi - MergedRobot.of(truth(), ARM, {}).phi, result.fit.x[rotors] - 0.4])
    C = result.fit.certainty.covariance[np.ix_(which, which)]
    return (V @ off / np.sqrt(np.diag(V @ C @ V.T))).tolist()


def test_base_parameters_are_within_three_standard_deviations() -> None:
    scores = [score for result in found() for score in base_scores(result)]
    assert (np.abs(scores) < 3).mean() >= 0.95


def test_another_trajectory_is_predicted_as_well_as_noise_allows() -> None:
    errors = [predict(result.robot, noisy(recorded(1), 500 + k)).errors for k, result in enumerate(found())]
    assert np.mean(errors) < 1.25 * NOISE
    assert np.max(np.mean(errors, axis=1)) < 1.8 * NOISE  # an offset may look like gravity along the one motion
    assert np.max(errors) < 2.5 * NOISE


def test_over_other_trajectories_nine_of_ten_numbers_are_within_two_standard_deviations() -> None:
    scores = []
    for seed in range(8):
        arm = with_fixed_joints(truth(), {}, ARM)
        motion = run(arm, Search(arm, 10.0, 20 + seed).best(), 30.0, 100.0, noise=0.0)
        result = identify(krang(), [noisy(motion, 20 + seed)])
        for j in range(len(ARM)):
            numbers = zip(result.factors(j), TRUTH.values(), strict=False)
            scores += [(value - true) / sure for (_, value, sure), true in numbers]
        scores += base_scores(result)
    assert (np.abs(scores) < 2).mean() >= 0.9
