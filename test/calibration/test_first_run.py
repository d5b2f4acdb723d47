"""First run, judged from samples: each fault of sign, scale, gravity, order and mounting is found and named."""

from __future__ import annotations

import csv
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.calibration import first_commands, first_run
from krang_dynamics_ros.calibration.effort_at_rest import angle, is_new_pose, judge_rest
from krang_dynamics_ros.calibration.first_commands import TorqueAnswer
from krang_dynamics_ros.calibration.first_run import (
    ArmModel,
    Finding,
    HungMass,
    MotionRow,
    PushRow,
    RestSample,
)
from krang_dynamics_ros.live.engine import Engine, engine_of

from ..real_recordings import shared
from ..robots import arm_with_gripper

HAND = {'robot_description': arm_with_gripper(), 'end_effectors': ['tip'], 'tip.link': 'hand'}
POSES = np.array([
    [0.1, 0.9, -0.7, 0.8, 0.3, -0.4, 0.9, 0.01],
    [-0.8, 0.2, 0.6, -1.1, 0.8, 0.7, -0.5, 0.02],
    [0.7, -0.6, 1.1, 0.4, -0.9, 0.2, 1.2, 0.03],
])  # fmt: skip
DOWN = np.array([0.0, 0.0, -1.0])


def model_of(**values: Any) -> ArmModel:
    given = HAND | {name.replace('__', '.'): value for name, value in values.items()}
    known = {'total_terms': ['gravity'], 'tip.sense': 'applied_by_robot', 'effort_source': 'motor'}
    return ArmModel(_engine(json.dumps(given)), known | given)


@cache
def _engine(given: str) -> Engine:
    return engine_of(json.loads(given))


class Arm:
    """A real arm at rest: its own gravity, and what its driver makes of the torques."""

    def __init__(self, rng: np.random.Generator, gravity: Any = (0, 0, -9.81)) -> None:
        self.rng, self.model = rng, model_of(gravity=[float(x) for x in gravity])
        self.names = self.model.names

    def torque(self, q: np.ndarray) -> np.ndarray:
        """What holds it, with friction at rest and masses that are not those of the model."""
        exact = self.model.gravity_torque(q)
        return np.asarray(exact * self.rng.uniform(0.95, 1.05, len(q)) + self.rng.uniform(-0.3, 0.3, len(q)))

    def samples(self, scale: Any = 1.0, share: float = 1.0, poses: np.ndarray = POSES) -> list[RestSample]:
        """Efforts: `share` of the torque, by `scale`."""
        exact = [self.model.gravity_torque(q) for q in poses]
        return [
            RestSample(q, (self.torque(q) - (1 - share) * g) * scale, np.full(len(q), 0.05))
            for q, g in zip(poses, exact, strict=True)
        ]


@pytest.fixture
def arm(rng: np.random.Generator) -> Arm:
    return Arm(rng)


# At rest --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('down', [None, DOWN])
def test_a_plain_arm_is_right(arm: Arm, down: Any) -> None:
    found = judge_rest(model_of(), arm.samples(), down)
    assert found.verdict == 'right', found
    assert not found.parameters


def test_the_opposite_sign_is_found_in_all_joints(arm: Arm) -> None:
    found = judge_rest(model_of(), arm.samples(scale=-1), DOWN)
    assert found.parameters == {f'joints.{name}.effort_scale': -1.0 for name in arm.names}, found
    assert 'opposite sign in all joints' in found.text


def test_without_knowing_the_mounting_an_opposite_sign_names_both_causes(arm: Arm) -> None:
    found = judge_rest(model_of(), arm.samples(scale=-1))
    assert 'or the arm hangs the other way up: gravity [0.0, 0.0, 9.81]' in found.text


def test_the_opposite_sign_of_one_joint_is_found(arm: Arm) -> None:
    scale = np.ones(8)
    scale[1] = -1
    found = judge_rest(model_of(), arm.samples(scale), DOWN)
    assert found.parameters == {'joints.joint2.effort_scale': -1.0}, found


def test_gravity_that_is_out_already_is_found(arm: Arm) -> None:
    found = judge_rest(model_of(), arm.samples(share=0.0), DOWN)
    assert found.parameters == {'effort_without': ['gravity']}, found
    assert 'without gravity' in found.text
    again = judge_rest(model_of(effort_without=['gravity']), arm.samples(share=0.0), DOWN)
    assert again.verdict == 'right', again


def test_gravity_that_is_in_after_all_is_found(arm: Arm) -> None:
    found = judge_rest(model_of(effort_without=['gravity']), arm.samples(), DOWN)
    assert found.parameters == {'effort_without': ['']}, found


def test_amperes_are_found_joint_by_joint(arm: Arm) -> None:
    per_ampere = np.array([12.0, 12.0, 10.0, 8.0, 5.0, -4.0, 3.0, 20.0])
    exact = [RestSample(q, arm.model.gravity_torque(q) / per_ampere, np.zeros(8)) for q in POSES]
    found = judge_rest(model_of(), exact, DOWN)
    assert 'another unit' in found.text
    scales = {f'joints.{n}.effort_scale': s for n, s in zip(arm.names, per_ampere, strict=True)}
    assert len(found.parameters) >= 4
    for name, scale in found.parameters.items():
        assert scale == pytest.approx(scales[name], rel=1e-3)


@pytest.mark.parametrize('pair', [(0, 1), (1, 2), (2, 5)])
def test_swapped_efforts_are_named(arm: Arm, pair: tuple[int, int]) -> None:
    order = np.arange(8)
    order[[*pair]] = order[[*pair[::-1]]]
    swapped = [sample._replace(effort=sample.effort[order]) for sample in arm.samples()]
    found = judge_rest(model_of(), swapped, DOWN)
    one, other = (arm.names[k] for k in pair)
    assert f'the efforts of {one} and {other} are swapped' in found.text, found


@pytest.mark.parametrize('pair', [(0, 1), (1, 2), (2, 4)])
def test_swapped_joint_names_are_named_and_corrected_where_the_node_can(arm: Arm, pair: tuple[int, int]) -> None:
    order = np.arange(8)
    order[[*pair]] = order[[*pair[::-1]]]
    swapped = [sample._replace(q=sample.q[order], effort=sample.effort[order]) for sample in arm.samples()]
    one, other = (arm.names[k] for k in pair)
    model = model_of()
    model.values['joint_names'] = ['']
    found = judge_rest(model, swapped, DOWN)
    assert f"{one} and {other} have each other's name" in found.text, found
    assert sorted(found.parameters['joint_names']) == sorted([f'{one}={other}', f'{other}={one}'])


@pytest.mark.parametrize('gravity', [(9.81, 0, 0), (0, -9.81, 0), (0, 4.905, -8.496), (0, 2.0, -9.6)])
def test_a_wrong_mounting_is_found_with_its_gravity(rng: np.random.Generator, gravity: Any) -> None:
    found = judge_rest(model_of(), Arm(rng, gravity).samples())
    assert 'mounted in another way' in found.text, found
    np.testing.assert_allclose(found.parameters['gravity'], gravity, atol=0.6)
    assert np.linalg.norm(found.parameters['gravity']) == pytest.approx(9.81, abs=1e-2)


def test_a_ceiling_that_a_person_sees_is_a_mounting_and_no_sign(rng: np.random.Generator) -> None:
    found = judge_rest(model_of(), Arm(rng, (0, 0, 9.81)).samples(), np.array([0.0, 0.0, 1.0]))
    assert found.parameters == {'gravity': [0.0, 0.0, 9.81]}, found


def test_an_observation_distinguishes_a_wall_mount_from_a_wrong_sign(rng: np.random.Generator) -> None:
    found = judge_rest(model_of(), Arm(rng, (9.81, 0, 0)).samples(scale=-1), np.array([1.0, 0.0, 0.0]))
    assert found.parameters['gravity'] == [9.81, 0.0, 0.0], found
    assert found.parameters['joints.joint1.effort_scale'] == -1.0


def test_an_observation_distinguishes_a_tilt_from_a_wrong_sign(rng: np.random.Generator) -> None:
    found = judge_rest(model_of(), Arm(rng, (4.905, 0, -8.496)).samples(scale=-1), DOWN)
    np.testing.assert_allclose(found.parameters['gravity'], (4.905, 0, -8.496), atol=0.6)
    assert found.parameters['joints.joint1.effort_scale'] == -1.0
    assert 'and effort has the opposite sign' in found.text


def test_a_seen_mounting_is_taken_over_where_efforts_have_no_gravity(rng: np.random.Generator) -> None:
    found = judge_rest(model_of(), Arm(rng, (9.81, 0, 0)).samples(share=0.0), np.array([1.0, 0.0, 0.0]))
    assert found.parameters == {'gravity': [9.81, 0.0, 0.0], 'effort_without': ['gravity']}, found


def test_a_missing_payload_is_no_scale(arm: Arm) -> None:
    found = judge_rest(model_of(), arm.samples(scale=1.25), DOWN)
    assert found.verdict == 'right', found
    assert '1.2' in found.text
    assert 'is a payload or tool missing' in found.text


def test_a_model_that_is_too_heavy_lacks_no_payload(arm: Arm) -> None:
    found = judge_rest(model_of(), arm.samples(scale=0.75), DOWN)
    assert found.verdict == 'right', found
    assert 'are masses of the model too large?' in found.text
    assert 'missing' not in found.text


def test_noise_is_explained_by_nothing(rng: np.random.Generator) -> None:
    samples = [RestSample(q, rng.normal(size=8) * 40, np.ones(8)) for q in POSES]
    found = judge_rest(model_of(), samples, DOWN)
    assert found.verdict == 'unclear'
    assert not found.parameters
    assert 'nothing explains the efforts' in found.text


def test_a_check_without_evidence_is_unclear(arm: Arm) -> None:
    samples = arm.samples()
    assert 'must be 3' in judge_rest(model_of(), samples[:2]).text
    silent = [sample._replace(effort=np.full(8, np.nan)) for sample in samples]
    assert 'joint_states has no effort' in judge_rest(model_of(), silent).text
    assert is_new_pose(samples[1], samples[:1])
    assert not is_new_pose(samples[0], samples)


def recorded(folder: str, urdf: str, table: str) -> tuple[ArmModel, list[RestSample]]:
    """Three poses of a real arm at its slowest moments, and its model."""
    path = shared(folder)
    model = ArmModel(engine_of({'robot_file': str(path / urdf)}))
    with (path / table).open() as stream:
        header = next(csv.reader(stream))
        rows = np.loadtxt(stream, delimiter=',')

    def columns(kind: str) -> np.ndarray:
        """Return what was recorded of each joint; of a finger that was not, zeros for its position, else NaN."""
        missing = np.full(len(rows), 0.0 if kind == 'position' else np.nan)
        names = [f'{name}.{kind}' for name in model.names]
        return np.column_stack([rows[:, header.index(name)] if name in header else missing for name in names])

    q, dq, effort = (columns(kind) for kind in ('position', 'velocity', 'effort'))
    samples: list[RestSample] = []
    for k in np.argsort(np.nanmax(np.abs(dq), axis=1)):
        sample = RestSample(q[k], effort[k], np.zeros(len(q[k])))
        if len(samples) < 3 and is_new_pose(sample, samples):
            samples.append(sample)
    return model, samples


def test_a_real_arm_on_a_wall_is_found_there() -> None:
    model, samples = recorded('rokae_ar5_wall', 'ar5_upright.urdf', 'train_0-42s.csv')
    found = judge_rest(model, samples)
    assert 'mounted in another way' in found.text, found
    assert angle(np.array(found.parameters['gravity']), np.array([1.0, 0.0, 0.0])) < np.radians(6)
    model, samples = recorded('rokae_ar5_wall', 'ar5_wall.urdf', 'train_0-42s.csv')
    assert judge_rest(model, samples, model.gravity).verdict == 'right'


@pytest.mark.parametrize('recording', [
    ('franka_panda', 'panda.urdf', 'train_first_14000_rows.csv'), ('kuka_lwr4', 'kuka_lwr4.urdf', 'measurements_1.csv'),
])  # fmt: skip
def test_sign_and_gravity_are_found_in_efforts_of_real_arms(recording: tuple[str, str, str]) -> None:
    model, samples = recorded(*recording)
    assert judge_rest(model, samples, DOWN).verdict == 'right'
    turned = [sample._replace(effort=-sample.effort) for sample in samples]
    assert judge_rest(model, turned, DOWN).parameters == {f'joints.{name}.effort_scale': -1.0 for name in model.names}
    out = [sample._replace(effort=sample.effort - model.gravity_torque(sample.q)) for sample in samples]
    assert judge_rest(model, out, DOWN).parameters == {'effort_without': ['gravity']}


# Friction -------------------------------------------------------------------------------------------------------------


def motion(rng: np.random.Generator, friction: float, joint: int = 3, gravity_in: bool = True) -> list[MotionRow]:
    model, rows = model_of(), []
    for k, speed in enumerate([0.05] * 100 + [-0.05] * 100):
        q, dq = POSES[0].copy(), np.zeros(8)
        q[joint] += 0.05 * 0.02 * min(k, 200 - k)
        dq[joint] = speed
        effort = model.gravity_torque(q) * gravity_in + friction * np.sign(dq) + 0.05 * rng.normal(size=8)
        rows.append(MotionRow(0.02 * k, q, dq, effort))
    return rows


def test_friction_says_where_effort_is_measured(rng: np.random.Generator) -> None:
    found = first_run.judge_friction(model_of(), motion(rng, 2.0))
    assert found.verdict == 'right'
    assert 'torque of the motors' in found.text
    assert 'joint4: friction 2' in found.details[0]
    behind = first_run.judge_friction(model_of(), motion(rng, 0.0))
    assert behind.parameters == {'effort_source': 'joint'}
    again = first_run.judge_friction(model_of(effort_source='joint'), motion(rng, 2.0))
    assert again.parameters == {'effort_source': 'motor'}


def test_friction_is_found_in_efforts_without_gravity(rng: np.random.Generator) -> None:
    found = first_run.judge_friction(model_of(effort_without=['gravity']), motion(rng, 2.0, gravity_in=False))
    assert found.verdict == 'right', found


def test_friction_against_the_motion_is_an_opposite_sign(rng: np.random.Generator) -> None:
    found = first_run.judge_friction(model_of(effort_without=['gravity']), motion(rng, -2.0, gravity_in=False))
    assert found.parameters == {'joints.joint4.effort_scale': -1.0}


def test_motion_one_way_says_nothing(rng: np.random.Generator) -> None:
    assert first_run.judge_friction(model_of(), motion(rng, 2.0)[:100]).verdict == 'unclear'
    assert first_run.judge_friction(model_of(), []).verdict == 'unclear'


# A mass, a push -------------------------------------------------------------------------------------------------------


def hung(arm: Arm, scale: float, mass: float = 2.0, told: bool | None = None) -> Finding:
    q, model = POSES[0], arm.model
    before = RestSample(q, scale * arm.model.gravity_torque(q), np.zeros(8))
    # The weight is a wrench of the world on the hand, here by the model's own payload.
    loaded = model_of(tip__payload__mass=mass, tip__payload__com=[0.0, 0.0, 0.1])
    more = scale * (loaded.gravity_torque(q) - model.gravity_torque(q))
    assert np.abs(more).max() >= 1 * abs(scale)
    with_mass = before._replace(effort=before.effort + more)
    after = None if told is None else before if told else with_mass
    return first_run.judge_mass(model_of(), HungMass('tip', mass, (0.0, 0.0, 0.1)), before, with_mass, after)


def test_a_mass_shows_sign_and_scale(arm: Arm) -> None:
    assert hung(arm, 1.0).verdict == 'right'
    assert hung(arm, -1.0).parameters == {f'joints.{name}.effort_scale': -1.0 for name in arm.names}
    amperes = hung(arm, 0.1)
    assert amperes.parameters['joints.joint2.effort_scale'] == pytest.approx(10.0)
    assert hung(arm, 0.0).verdict == 'unclear'


def test_a_payload_that_the_robot_subtracts_is_reported(arm: Arm) -> None:
    assert 'its weight is no longer in effort' in hung(arm, 1.0, told=True).text
    assert 'effort is the same' in hung(arm, 1.0, told=False).text


def push(force: float, effort_sign: float = 1.0, sensor_sign: float = 1.0) -> list[PushRow]:
    model, rows = model_of(), []
    bias = np.array([4.0, -3.0, 2.0])
    for k in range(100):
        f = np.array([force, 1.0, -2.0]) * np.clip((k - 20) / 20, 0, 1)
        external = effort_sign * model.force_torque(POSES[1], 'tip', f) + 0.2
        rows.append(PushRow(POSES[1], external, sensor_sign * f + bias))
    return rows


def test_a_push_shows_the_signs_of_sensor_and_external_torques() -> None:
    sensor, joints = first_run.judge_push(model_of(), 'tip', push(20.0))
    assert sensor.parameters == {'tip.sense': 'applied_on_robot'}
    assert joints.verdict == 'right', joints
    sensor, joints = first_run.judge_push(model_of(), 'tip', push(20.0, -1, -1))
    assert sensor.verdict == 'right'
    assert joints.parameters['joints.joint1.effort_scale'] == -1.0
    for found in first_run.judge_push(model_of(), 'tip', push(-2.0)):
        assert found.verdict == 'unclear', found
    silent = [PushRow(POSES[1], None, None)] * 20
    assert [found.verdict for found in first_run.judge_push(model_of(), 'tip', silent)] == ['unclear'] * 2


# Commands -------------------------------------------------------------------------------------------------------------


def moving(way: float, q: np.ndarray = POSES[0]) -> list[MotionRow]:
    """Move along the torque that holds the arm up (`way` above zero: it rises), rad in all."""
    torque = model_of().gravity_torque(q)
    step = way * torque / np.abs(torque).max()
    return [MotionRow(0.1 * k, q + step * k / 10, step, np.zeros(8)) for k in range(11)]


def test_zero_commands_show_whether_the_firmware_adds_gravity() -> None:
    judge = first_commands.judge_zero_command
    stands = judge(model_of(), moving(0.0))
    assert stands.parameters == {'robot.adds': ['gravity']}
    assert 'adds gravity' in stands.text
    sinks = judge(model_of(), moving(-0.05))
    assert sinks.verdict == 'right'
    assert 'sinks' in sinks.text
    without = model_of(total_terms=['coriolis'])
    assert judge(without, moving(-0.05)).parameters == {'total_terms': ['gravity', 'coriolis']}
    rises = judge(model_of(), moving(0.05))
    assert rises.verdict == 'wrong'
    assert 'rises' in rises.text
    assert judge(model_of(), []).verdict == 'unclear'
    assert first_commands.terms_of_zero(model_of()) == ['']


def test_a_firmware_that_is_declared_is_held_against_the_motion() -> None:
    model = model_of(robot__adds=['gravity', 'coriolis'])
    assert first_commands.terms_of_zero(model) == ['gravity', 'coriolis']
    assert first_commands.judge_zero_command(model, moving(0.0)).verdict == 'right'
    assert first_commands.judge_zero_command(model, moving(-0.05)).parameters == {'robot.adds': ['coriolis']}


def loaded_pose(q_1: float) -> np.ndarray:
    """Return a pose with this position of joint 1, which bears a weight."""
    return np.array([q_1, *POSES[0][1:]])


def test_a_joint_that_gravity_presses_against_its_stop_shows_no_firmware() -> None:
    judge, one = first_commands.judge_zero_command, model_of(command_joints=['joint1'])
    for q_1 in (-2.0, -1.985, -2.01, 1.99, 2.0):
        q = loaded_pose(q_1)
        torque = one.gravity_torque(q)[0]
        found = judge(one, moving(0.0, q))
        if torque * q_1 < 0:  # it sinks away from zero, onto the stop
            assert found.verdict == 'unclear', q_1
            assert f'joint1 is at {q_1:g}, its limits are -2 to 2, and its stop may hold it' in found.text
        else:  # no stop holds it
            assert found.parameters == {'robot.adds': ['gravity']}, q_1
    assert {np.sign(one.gravity_torque(loaded_pose(q_1))[0] * q_1) for q_1 in (-2.0, 2.0)} == {-1.0, 1.0}


def test_a_joint_on_its_stop_does_not_hide_the_others() -> None:
    model = model_of()
    q = next(loaded_pose(x) for x in (-2.0, 2.0) if model.on_stops(loaded_pose(x))[0])
    found = first_commands.judge_zero_command(model, moving(0.0, q))
    assert found.parameters == {'robot.adds': ['gravity']}
    assert 'joint1' not in found.text


def answers(sign: float, joint: int = 6, moved: float = 0.02, effort: float = 0.0) -> list[TorqueAnswer]:
    unit, drift = np.eye(8)[joint], 0.01
    return [
        TorqueAnswer(t, (POSES[0], POSES[0] + 2 * sign * t * moved * unit + drift), (np.zeros(8), effort * t * unit))
        for t in (0.5, -0.5)
    ]


def test_a_test_torque_shows_sign_and_order() -> None:
    model = model_of(command_joints=['joint5', 'joint6', 'joint7'], command_limits=[5.0, 5.0, 5.0])
    judge = first_commands.judge_test_torque
    assert judge(model, 'joint7', answers(1)).verdict == 'right'
    assert judge(model, 'joint7', answers(-1)).parameters == {'joints.joint7.command_scale': -1.0}
    other = judge(model, 'joint7', answers(1, joint=4))
    assert other.parameters == {'command_joints': ['joint7', 'joint6', 'joint5']}
    assert 'joint5 moves instead of joint7' in other.text
    assert 'its effort follows' in judge(model, 'joint7', answers(1, moved=0.0, effort=0.9)).text
    assert 'other way' in judge(model, 'joint7', answers(1, moved=0.0, effort=-0.9)).text
    assert 'no joint moved' in judge(model, 'joint7', answers(1, moved=0.0)).text


def test_words_of_a_joint_that_may_slide_have_both_units() -> None:
    model = model_of(command_joints=['finger_joint1'], command_limits=[5.0])
    found = first_commands.judge_test_torque(model, 'finger_joint1', answers(1, joint=7))
    assert 'finger_joint1: 0.02 rad (m) by 0.5 N m (N)' in found.details
    still = first_commands.judge_test_torque(model, 'finger_joint1', answers(1, joint=7, moved=0.0))
    assert 'no joint moved by 0.5 N m (N): ' in still.text


def test_the_last_command_of_a_killed_node_must_be_zero() -> None:
    before = [(0.1 * k - 20, np.array([10.0, 0.1 * (k % 2)])) for k in range(200)]  # a person has yet to kill the node
    fall = [(0.1 * k, np.array([2.0 * max(0, 5 - k), 0.0])) for k in range(10)]
    good = first_commands.judge_killed(model_of(), before[:-1] + fall, moving(0.0))
    assert good.verdict == 'right'
    assert '0.5 s after the last nonzero command; commands fell for 0.5 s' in good.text
    bad = first_commands.judge_killed(model_of(), fall[:3], moving(0.0))
    assert bad.verdict == 'wrong'
    assert 'must be zero' in bad.text
    assert first_commands.judge_killed(model_of(), [], []).verdict == 'unclear'
