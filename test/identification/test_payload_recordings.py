"""Payloads from recordings of a loaded arm: a simulated one whose payload is known, and a real one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize

from krang_dynamics_ros import NewtonEuler, Robot, dynamics_of, krang, load_robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.equations.regressor import with_fixed_joints
from krang_dynamics_ros.identification.identify import identify
from krang_dynamics_ros.identification.payload import identify_payload
from krang_dynamics_ros.recordings.joint_recording import read_recording
from krang_dynamics_ros.recordings.recording import Recording, RecordingError, motion_only
from krang_dynamics_ros.recordings.table import write_csv
from krang_dynamics_ros.robot.motor_and_friction import Friction

from ..commands import run as command
from ..real_recordings import shared, waves

TIME = np.arange(0, 12, 0.02)
NAMES = tuple(f'q_{k}l' for k in range(1, 8))
HAND = 'R10l'
BODY = Inertia.about_com(2.5, [0.02, -0.03, 0.11], np.diag([0.03, 0.02, 0.04]))
COMPACT = Inertia.about_com(2.5, [0.02, -0.03, 0.11], np.zeros((3, 3)))
NOISE = 0.02


@cache
def robot() -> Robot:
    joints = tuple(replace(j, friction=Friction(1.5, 0.8, 0.02)) if j.name in NAMES else j for j in krang().joints)
    return replace(krang(), joints=joints)


@cache
def recorded(mass: float = 1.0, seed: int = 0, body: Inertia = BODY) -> Recording:
    """Return the motion of the left arm with so much of the payload in its hand."""
    loaded = robot().carrying({HAND: Inertia.from_parameters(mass * body.parameters)})
    q, dq, ddq = waves(7, TIME, seed + 3)
    effort = NewtonEuler(with_fixed_joints(loaded, {}, NAMES)).inverse_dynamics(q, dq, ddq)
    effort += 1.5 * dq + 0.8 * np.tanh(dq / 0.02)
    noise = np.random.default_rng(seed).normal(size=q.shape)
    return Recording(f'motion {seed}', NAMES, TIME, q, dq, effort + NOISE * effort.std(axis=0) * noise)


def test_mass_and_centre_of_mass_are_found_within_their_standard_deviations() -> None:
    found = identify_payload(robot(), 'left', [recorded()])
    truth = np.concatenate([[BODY.m], BODY.com])
    error = np.abs(np.concatenate([[found.body.m], found.body.com]) - truth)
    assert (error < 4 * found.deviations[:4] + [0.01, 2e-3, 2e-3, 2e-3]).all()
    assert found.deviations[0] < 0.05
    assert found.link == HAND
    assert found.after.mean() < 0.1 < found.before.mean()
    assert not found.inertia_about_com.any()
    assert not found.warnings


def test_a_body_without_inertia_of_its_own_has_that_of_its_place() -> None:
    point = Inertia.about_com(2.5, [0.1, -0.2, 0.3], np.zeros((3, 3)))
    loaded, (q, dq, ddq) = krang().carrying({HAND: point}), waves(7, TIME, 3)
    effort = NewtonEuler(with_fixed_joints(loaded, {}, NAMES)).inverse_dynamics(3 * q, 3 * dq, 3 * ddq)
    found = identify_payload(krang(), 'left', [Recording('point', NAMES, TIME, 3 * q, 3 * dq, effort)])
    assert found.body.m == pytest.approx(2.5, rel=0.01)
    np.testing.assert_allclose(found.body.com, point.com, atol=2e-3)


def test_the_inertia_is_found_on_demand() -> None:
    found = identify_payload(robot(), 'left', [recorded(seed=k) for k in range(3)], inertia=True)
    assert found.body.m == pytest.approx(BODY.m, rel=0.02)
    error = np.abs(found.inertia_about_com - [0.03, 0, 0, 0.02, 0, 0.04])
    assert (error < 4 * found.deviations[4:] + 5e-3).all()
    assert found.deviations[4:].all()


def test_standard_deviations_cover_what_repeats_scatter() -> None:
    found = [identify_payload(robot(), HAND, [recorded(seed=k)]) for k in range(8)]
    assert found[0].hand == 'left'  # whose link it is: a node has parameters of hands
    masses, deviations = [one.body.m for one in found], [one.deviations[0] for one in found]
    assert (np.abs(np.array(masses) - BODY.m) < 3 * np.array(deviations) + 0.01).all()


def test_an_empty_hand_is_said_to_hold_nothing() -> None:
    found = identify_payload(robot(), 'left', [recorded(0.0)])
    assert abs(found.body.m) < 0.05
    assert identify_payload(robot(), 'left', [recorded(-0.2)]).warnings == [
        'no payload is seen: the mass is not two standard deviations above zero'
    ]
    assert (
        identify_payload(robot(), 'left', [recorded(0.0), recorded(1.0, 1)]).warnings[-1].startswith('the recordings')
    )


def test_two_recordings_are_fitted_together() -> None:
    """Over pairs of recordings of a compact body: within the deviations, which are less than by each alone."""
    found, single = [], []
    for k in range(0, 8, 2):
        pair = [recorded(1.0, seed, COMPACT) for seed in (k, k + 1)]
        found.append(identify_payload(robot(), 'left', pair))
        single += [identify_payload(robot(), 'left', [one]) for one in pair]
    truth = np.concatenate([[COMPACT.m], COMPACT.com])
    scores = [(np.concatenate([[one.body.m], one.body.com]) - truth) / one.deviations[:4] for one in found]
    assert (np.abs(scores) < 2).mean() >= 0.85
    assert np.abs(scores).max() < 3.5
    squares = np.array([np.square([one.deviations[0] for one in of]).mean() for of in (found, single)])
    assert squares[0] < 0.7 * squares[1]
    assert found[0].alone == pytest.approx({f'motion {k}': single[k].body.m for k in (0, 1)})
    assert found[0].seconds == pytest.approx(single[0].seconds + single[1].seconds)


def test_recordings_have_the_same_joints_in_any_order() -> None:
    both = identify_payload(robot(), 'left', [recorded(), recorded(1.0, 1)])
    turned = recorded(1.0, 1).joints(NAMES[::-1])
    assert identify_payload(robot(), 'left', [recorded(), turned]).body.m == pytest.approx(both.body.m)
    with pytest.raises(RecordingError, match=r'motion 1: joints q_1l, .*, must be q_1l, .*, as in the first'):
        identify_payload(robot(), 'left', [recorded(), recorded(1.0, 1).joints(NAMES[:4])])


def hanging(vertical: bool) -> Recording:
    """Return slow turns of the last joint alone, with the hand's axis along gravity, or else across it."""
    dynamics, q0 = dynamics_of(robot()), np.zeros(robot().n)
    order = [robot().joint_names.index(name) for name in NAMES]

    def tilt(angles: np.ndarray) -> float:
        q0[order[:6]] = angles
        along = dynamics.pose(q0, HAND)[0][:, 2] @ dynamics.gravity / np.linalg.norm(dynamics.gravity)
        return float(along - 1) ** 2 if vertical else float(along) ** 2

    angles = minimize(
        tilt, np.linspace(0.3, -0.4, 6), method='Nelder-Mead', options={'fatol': 1e-14, 'maxiter': 4000}
    ).x
    q = np.tile(np.append(angles, 0.0), (len(TIME), 1))
    w = 0.5
    dq, ddq = np.zeros_like(q), np.zeros_like(q)
    q[:, 6], dq[:, 6], ddq[:, 6] = 1.5 * np.sin(w * TIME), 1.5 * w * np.cos(w * TIME), -1.5 * w**2 * np.sin(w * TIME)
    loaded = with_fixed_joints(robot().carrying({HAND: BODY}), {}, NAMES)
    effort = NewtonEuler(loaded).inverse_dynamics(q, dq, ddq) + 1.5 * dq + 0.8 * np.tanh(dq / 0.02)
    noise = np.random.default_rng(9).normal(size=q.shape)
    return Recording(f'vertical {vertical}', NAMES, TIME, q, dq, effort + 0.05 * noise)


def test_one_recording_that_leaves_a_number_open_is_refused_and_another_closes_it() -> None:
    """About the vertical, the height of the centre of mass never shows; with the hand across, it does."""
    up, across = hanging(True), hanging(False)
    with pytest.raises(
        RecordingError, match=r'vertical True: the motion does not determine the payload of left: .*; turn'
    ):
        identify_payload(robot(), 'left', [up])
    found = identify_payload(robot(), 'left', [up, across])
    assert found.body.m == pytest.approx(BODY.m, abs=0.03)
    np.testing.assert_allclose(found.body.com, BODY.com, atol=5e-3)
    assert np.isnan(found.alone['vertical True'])
    assert not found.warnings, 'a mass that is not determined differs from nothing'


def test_a_payload_that_noise_hides_is_refused_with_the_number_that_is_uncertain() -> None:
    one, noise = recorded(), np.random.default_rng(1).normal(size=recorded().position.shape)
    loud = replace(one, effort=one.measured_effort + 60 * noise)
    with pytest.raises(
        RecordingError, match=r'does not determine the payload of left: mass [\d.]+ \+- 0\.\d+ kg; turn'
    ):
        identify_payload(robot(), 'left', [loud])


def test_a_payload_that_the_motion_does_not_determine_is_refused() -> None:
    arm = load_robot('arm_2r')
    q, dq, ddq = waves(2, TIME, 3)
    flat = Recording('flat', arm.joint_names, TIME, q, dq, NewtonEuler(arm).inverse_dynamics(q, dq, ddq))
    with pytest.raises(RecordingError, match=r'does not determine the payload of .*: some of its numbers'):
        identify_payload(arm, next(iter(arm.hands)), [flat])
    short = recorded().rows(slice(0, 150))
    with pytest.raises(RecordingError, match='s of motion, must be at least 4 s'):
        identify_payload(robot(), 'left', [short])
    with pytest.raises(RecordingError, match='no joint of it moves R10r'):
        identify_payload(robot(), 'right', [recorded()])
    with pytest.raises(ArgumentError, match="hand 'middle' is unknown"):
        identify_payload(robot(), 'middle', [recorded()])


def test_the_command_writes_parameters_of_the_node(tmp_path: Path) -> None:
    write_csv(recorded(), tmp_path / 'a.csv')
    write_csv(recorded(1.0, 1), tmp_path / 'b.csv')
    done = command('identify', '--payload', 'left', 'a.csv', 'b.csv', '--robot', 'krang', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'mass from each single recording: a.csv 2.' in done.stdout
    told = yaml.safe_load((tmp_path / 'left_payload.yaml').read_text())
    payload = told['/**/krang_dynamics']['ros__parameters']['left']['payload']
    assert payload['mass'] == pytest.approx(BODY.m, rel=0.1)  # the file knows of no friction
    assert set(payload) == {'mass', 'com', 'inertia'}
    again = command('identify', '--payload', 'left', 'a.csv', '--inertia', '-o', 'own.yaml', cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert 'inertia zz' in again.stdout


def test_words_of_the_command_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    write_csv(recorded(), tmp_path / 'a.csv')
    for words in (['--inertia'], ['--payload', 'left', '--report', 'x.html'], ['--payload', 'left', '-o', 'a.csv']):
        assert command('identify', 'a.csv', *words, cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_the_load_of_a_real_arm_is_found_within_12_percent_and_by_halves_within_5() -> None:
    folder, loaded = shared('ur10e'), shared('ur10e_payload') / 'ur-20_01_31-load.csv'
    arm = identify(load_robot(folder / 'ur10e.urdf'), [read_recording(next(folder.glob('*.csv')))]).robot
    motion = motion_only(read_recording(loaded))
    found = identify_payload(arm, 'tool0', [motion])
    assert found.body.m == pytest.approx(2.805, rel=0.12)
    assert found.after.mean() < 0.25 * found.before.mean()
    half = len(motion) // 2
    halves = [identify_payload(arm, 'tool0', [motion.rows(rows)]).body.m for rows in (slice(half), slice(half, None))]
    assert halves[0] == pytest.approx(halves[1], rel=0.05)
