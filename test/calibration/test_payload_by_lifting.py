"""A payload by lifting: its numbers lie within their deviations; what cannot be known is refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Robot, krang
from krang_dynamics_ros.calibration.lifting import Lifting, new_pose
from krang_dynamics_ros.calibration.payload_by_lifting import LiftedPayload, Stand, condition, fit, poses_of
from krang_dynamics_ros.calibration.stands import (
    HoldingTorque,
    LastTravel,
    StandSampler,
    StandsError,
    read_stands,
    write_stands,
)
from krang_dynamics_ros.cli import calibrate
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.standstill import effort_fault

from ..bags import BEGIN, joint_state, write_bag
from ..marks import slow_but
from .lifting_world import ARM, RATE, Lifted, arm_of, errors

MEANINGS = ('motor', 'external')
ROBOT = krang()


@cache
def engine(meaning: str = 'motor') -> Engine:
    return engine_of({'effort_source': meaning})


def found_by(run: Lifted, meaning: str = 'motor') -> LiftedPayload:
    holding = HoldingTorque(engine(meaning), 'left')
    run.load(False)
    empty = run.stands(holding)
    run.load(True)
    return fit(poses_of(empty, run.stands(holding), holding.columns), ROBOT.joint_names)


# Numbers and their deviations -------------------------------------------------------------------------------------


@pytest.mark.parametrize('meaning', slow_but(['external'], MEANINGS))
def test_numbers_are_within_two_deviations_in_90_of_100_runs(meaning: str) -> None:
    within = np.zeros(4)
    for seed in range(100):
        run = Lifted.drawn(ROBOT, seed, meaning)
        found = found_by(run, meaning)
        assert not found.trouble
        within += errors([found.mass, *found.com], run.truth, found.deviations) < 2
        assert found.deviations[0] < 0.25
    assert within.min() >= 90, within


@pytest.mark.slow
@pytest.mark.parametrize('meaning', MEANINGS)
def test_numbers_of_joint_states_are_within_two_deviations_in_90_of_100_runs(meaning: str) -> None:
    """The same through the sampler: it finds the stands and their sides in what the joint states say."""
    within = np.zeros(4)
    for seed in range(100, 200):
        run, used = Lifted.drawn(ROBOT, seed, meaning, poses=4), engine_of({'effort_source': meaning})
        stands = {loaded: sampled(run, used, loaded) for loaded in (False, True)}
        assert len(stands[False]) == len(stands[True]) == 8
        found = fit(poses_of(stands[False], stands[True], HoldingTorque(used, 'left').columns), ROBOT.joint_names)
        assert not found.trouble
        within += errors([found.mass, *found.com], run.truth, found.deviations) < 2
    assert within.min() >= 90, within


def sampled(run: Lifted, used: Engine, loaded: bool) -> list[Stand]:
    run.load(loaded)
    sampler, now = StandSampler(used, 'left'), (1 + loaded) * 10**12
    for q, dq, effort in run.states():
        now += 10**9 // RATE
        torques = used.on_joint_state(ROBOT.joint_names, q, dq, effort, now, now)
        assert torques is not None
        sampler.update(torques, now)
    return sampler.stands


def test_without_friction_and_noise_the_numbers_are_exact_whatever_the_model() -> None:
    run = Lifted.drawn(ROBOT, 3, 'motor')
    holding, all_stands = HoldingTorque(engine(), 'left'), []
    for loaded in (False, True):
        run.load(loaded)
        stands = []
        for goal in run.poses:
            for side in (1, -1):
                sides = np.isin(ROBOT.joint_names, ARM) * side
                residual = holding.residual(goal, run.effort(goal, np.zeros(ROBOT.n)))
                stands.append(Stand(goal, residual, np.zeros(ROBOT.n), sides))
        all_stands.append(stands)
    found = fit(poses_of(*all_stands, holding.columns), ROBOT.joint_names)
    np.testing.assert_allclose([found.mass, *found.com], run.truth, atol=1e-9)


def test_friction_that_rises_with_the_load_falls_out() -> None:
    run, holding, both = Lifted.drawn(ROBOT, 3, 'motor'), HoldingTorque(engine(), 'left'), []
    for loaded in (False, True):
        run.load(loaded)
        both.append([])
        for goal in run.poses:
            for side in (1, -1):
                sides = np.isin(ROBOT.joint_names, ARM) * float(side)
                residual = holding.residual(goal, run.effort(goal, sides))
                both[-1].append(Stand(goal, residual, np.zeros(ROBOT.n), sides))
    found = fit(poses_of(*both, holding.columns), ROBOT.joint_names)
    np.testing.assert_allclose([found.mass, *found.com], run.truth, atol=1e-9)
    assert (found.friction[arm_of(ROBOT)] > run.coulomb[arm_of(ROBOT)]).all()


@pytest.mark.parametrize('values', [{'effort_source': 'external'}, {'effort_without': ['gravity']}])
def test_a_payload_that_the_firmware_was_told_counts_where_it_took_it_off(values: dict) -> None:
    """The firmware is told of the load, or of something else, before the loaded run: what it takes off is put back."""
    run = Lifted.drawn(ROBOT, 5, 'external')
    told = Inertia.about_com(1.5, np.array([0.0, 0.02, 0.1]), np.zeros((3, 3)))
    sign, stands = (1 if values.get('effort_source') else -1), []
    for loaded in (False, True):
        payload = {'left.robot_payload.mass': 1.5, 'left.robot_payload.com': [0.0, 0.02, 0.1]} if loaded else {}
        holding = HoldingTorque(engine_of(values | payload), 'left')
        run.load(loaded, told if loaded else None)
        stands.append([])
        for q, side in run.visits():
            sides = np.isin(ROBOT.joint_names, ARM) * side
            effort = sign * run.effort(q, np.zeros(ROBOT.n))
            stands[-1].append(Stand(q, holding.residual(q, effort), np.full(ROBOT.n, 0.01), sides))
    found = fit(poses_of(*stands, holding.columns), ROBOT.joint_names)
    assert found.mass == pytest.approx(run.body.m, rel=0.01)
    np.testing.assert_allclose(found.com, run.body.com, atol=0.003)


def test_a_payload_of_the_model_changes_nothing() -> None:
    """The node may carry a payload already: what is found is all that the hand holds."""
    q, effort = np.full(ROBOT.n, 0.3), np.full(ROBOT.n, 2.0)
    known = engine_of({'left.payload.mass': 2.0, 'left.payload.com': [0.0, 0.1, 0.2]})
    expected = HoldingTorque(engine(), 'left').residual(q, effort)
    np.testing.assert_allclose(HoldingTorque(known, 'left').residual(q, effort), expected, atol=1e-9)


# What cannot be known ---------------------------------------------------------------------------------------------


def changed(run: Lifted, change: object) -> LiftedPayload:
    """Return the fit of stands that were changed."""
    holding = HoldingTorque(engine(), 'left')
    both = []
    for loaded in (False, True):
        run.load(loaded)
        both.append([change(stand) for stand in run.stands(holding)])  # type: ignore[operator]
    return fit(poses_of(*both, holding.columns), ROBOT.joint_names)


def test_poses_from_one_side_only_do_not_count() -> None:
    found = changed(Lifted.drawn(ROBOT, 1, 'motor'), lambda stand: stand._replace(side=np.abs(stand.side)))
    assert '0 of 5 poses have stands from both sides' in found.trouble
    assert not np.isfinite(found.deviations).any()


def test_a_joint_that_came_from_one_side_is_left_out_and_the_others_tell() -> None:
    def still(stand: Stand) -> Stand:
        side = stand.side.copy()
        side[ROBOT.joint_names.index('q_1l')] = 0
        return stand._replace(side=side)

    run = Lifted.drawn(ROBOT, 2, 'motor')
    found = changed(run, still)
    assert not found.trouble
    assert ROBOT.joint_names.index('q_1l') not in found.joints
    assert (errors([found.mass, *found.com], run.truth, found.deviations) < 3).all()


def test_a_pose_is_the_same_where_the_controller_yields_and_another_beyond() -> None:
    holding, stands = HoldingTorque(engine(), 'left'), []
    for x in (0.0, 0.05, 0.1, 0.15):
        q = np.full(ROBOT.n, 0.6)
        q[ROBOT.joint_names.index('q_2l')] += x
        q[ROBOT.joint_names.index('q_2r')] = 10 * x  # the other arm does not count
        stands.append(Stand(q, np.zeros(ROBOT.n), np.zeros(ROBOT.n), np.ones(ROBOT.n)))
    assert len(poses_of(stands[:2], [], holding.columns)) == 1
    assert len(poses_of(stands, [], holding.columns)) == 2


def test_two_poses_are_too_few() -> None:
    assert 'must be 3' in found_by(Lifted.drawn(ROBOT, 1, 'motor', poses=2)).trouble


def test_a_hand_that_never_turns_is_refused_and_a_turn_of_it_is_proposed() -> None:
    """The arm goes up and down, the wrist keeps the hand as it was: the centre of mass never shows along gravity."""
    run = Lifted.drawn(ROBOT, 4, 'motor')
    run.poses[:, arm_of(ROBOT)] = 0
    for pose, (a, b) in zip(run.poses, [(0.3, 0.2), (0.8, -0.4), (-0.5, 0.9), (1.2, 0.3), (0.1, -1.0)], strict=True):
        for name, x in (('q_2l', a), ('q_4l', b), ('q_6l', -a - b)):
            pose[ROBOT.joint_names.index(name)] = x
    found = found_by(run)
    assert 'the poses do not determine centre of mass' in found.trouble
    holding, joints = HoldingTorque(engine(), 'left'), Lifting(engine(), StandSampler(engine(), 'left'), []).joints
    run.load(False)
    poses = poses_of(run.stands(holding), [], holding.columns)
    words = new_pose(poses, joints, holding.columns)
    assert any(f'turn {name} to' in words for name in ARM)  # no joint that stays where it is
    name, _, target = words.split('turn ')[1].partition(' to ')
    turned = run.poses[int(words.split('in pose ')[1].split(',')[0]) - 1].copy()
    turned[ROBOT.joint_names.index(name)] = float(target.split()[0])
    rows = [pose.columns for pose in poses]
    assert condition(np.concatenate(rows))[0] > 1000
    assert condition(np.concatenate([*rows, holding.columns(turned)]))[0] < 40
    run.poses = np.vstack([run.poses, turned])
    assert 'do not determine' not in found_by(run).trouble


def test_a_load_that_friction_hides_is_refused_with_the_numbers() -> None:
    found = found_by(Lifted.drawn(ROBOT, 1, 'motor', mass=0.05))
    assert 'friction and noise hide' in found.trouble
    assert 'which has a friction of' in found.trouble


def test_swapped_runs_are_named() -> None:
    run, holding = Lifted.drawn(ROBOT, 1, 'motor'), HoldingTorque(engine(), 'left')
    run.load(False)
    empty = run.stands(holding)
    run.load(True)
    assert 'swapped' in fit(poses_of(run.stands(holding), empty, holding.columns), ROBOT.joint_names).trouble


# Stands -----------------------------------------------------------------------------------------------------------


def fed(used: Engine, states: Iterator[tuple]) -> StandSampler:
    sampler, now = StandSampler(used, 'left'), 10**12
    for q, dq, effort in states:
        now += 10**9 // RATE
        torques = used.on_joint_state(ROBOT.joint_names, q, dq, effort, now, now)
        assert torques is not None
        sampler.update(torques, now)
    return sampler


def test_efforts_that_are_the_total_are_refused() -> None:
    run, used = Lifted.drawn(ROBOT, 1, 'motor', poses=1), engine_of({})
    run.load(True)
    states = ((q, dq, used.dynamics.Q(q)) for q, dq, _ in run.states())
    sampler = fed(used, states)
    assert not sampler.stands
    assert 'effort equals torque/total to rounding' in sampler.status


def test_an_arm_that_rests_since_the_start_makes_no_stand() -> None:
    rest = ((np.zeros(ROBOT.n), np.zeros(ROBOT.n), np.ones(ROBOT.n)) for _ in range(3 * RATE))
    sampler = fed(engine_of({}), rest)
    assert not sampler.stands
    assert 'at rest since the start' in sampler.status


def test_a_rest_makes_one_stand_and_a_refusal_none() -> None:
    run = Lifted.drawn(ROBOT, 1, 'motor', poses=1)
    run.load(False)
    assert len(fed(engine_of({}), run.states(seconds=4.0)).stands) == 2
    used, sampler = engine_of({}), None
    sampler = StandSampler(used, 'left')
    sampler.refusal = lambda: 'commands are enabled'
    now = 10**12
    for q, dq, effort in run.states():
        now += 10**9 // RATE
        sampler.update(used.on_joint_state(ROBOT.joint_names, q, dq, effort, now, now), now)  # type: ignore[arg-type]
    assert (sampler.stands, sampler.status) == ([], 'commands are enabled')


def test_joint_states_without_effort_make_no_stand() -> None:
    run = Lifted.drawn(ROBOT, 1, 'motor', poses=1)
    run.load(False)
    sampler = fed(engine_of({}), ((q, dq, np.empty(0)) for q, dq, _ in run.states()))
    assert (sampler.stands, sampler.status) == ([], 'joint_states has no effort')


def test_the_side_is_that_of_the_last_travel_and_no_overshoot_of_noise() -> None:
    travel = LastTravel(2)
    for x in (0.0, 0.1, 0.2, 0.2003, 0.1995):
        travel.update(np.array([x, -x]))
    assert travel.side.tolist() == [1, -1]
    travel.update(np.array([0.19, -0.19]))
    assert travel.side.tolist() == [-1, 1]
    travel.forget()
    travel.update(np.zeros(2))
    assert travel.side.tolist() == [0, 0]


def test_efforts_that_drift_are_not_steady() -> None:
    rng, time = np.random.default_rng(1), np.linspace(0, 1, 100)[:, None]
    noise = 0.3 * rng.normal(size=(100, 3))
    assert effort_fault(noise + 5.0) == ''
    assert 'the effort of joint 2 of 3 still drifts' in effort_fault(noise + time * [0.0, 3.0, 0.0])
    assert effort_fault(np.where([True, False, True], noise, np.nan)) == ''


def test_stands_are_kept_as_they_are_and_bad_files_are_refused(tmp_path: Path) -> None:
    run = Lifted.drawn(ROBOT, 1, 'motor')
    run.load(False)
    stands = run.stands(HoldingTorque(engine(), 'left'))
    stands[0].residual[3] = np.nan
    path = tmp_path / 'stands.csv'
    write_stands(path, stands, ROBOT.joint_names)
    for one, other in zip(read_stands(path, ROBOT.joint_names), stands, strict=True):
        np.testing.assert_array_equal(np.concatenate(one), np.concatenate(other))
    text = path.read_text()
    header, first, *_ = text.splitlines()
    last = first.rpartition(',')[0]
    for bad in ('', 'nonsense\n1,2\n', f'{header}\n1,2\n', f'{header}\n{last},2.0\n', f'{header}\n{last},inf\n'):
        path.write_text(bad)
        with pytest.raises(StandsError):
            read_stands(path, ROBOT.joint_names)


# The command ------------------------------------------------------------------------------------------------------


def messages(run: Lifted) -> Iterator[tuple[str, int, object]]:
    for k, (q, dq, effort) in enumerate(run.states()):
        stamp = BEGIN + k * 10**9 // RATE
        yield '/joint_states', stamp, joint_state(stamp, ROBOT.joint_names, q, dq, effort)


@pytest.mark.parametrize('meaning', MEANINGS)
def test_two_recordings_give_the_payload(
    meaning: str, robot: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Lifted.drawn(robot, 6, meaning)
    parameters = {'/**': {'ros__parameters': {'effort_source': meaning}}}
    (tmp_path / 'node.yaml').write_text(yaml.safe_dump(parameters))
    for name, loaded in (('empty', False), ('full', True)):
        run.load(loaded)
        write_bag(tmp_path / name, messages(run))
    words = ['left', '--payload', '--efforts', '--params', 'node.yaml']
    assert calibrate.main([*words, '--bag', 'empty', '--samples', 'empty.csv']) == 0
    assert 'empty hand: 10 stands' in capsys.readouterr().out
    assert calibrate.main([*words, '--bag', 'full', '--empty', 'empty.csv', '-o', 'found.yaml']) == 0
    output = capsys.readouterr().out
    assert 'payload by lifting: 10 stands' in output
    (node,) = yaml.safe_load((tmp_path / 'found.yaml').read_text()).values()
    payload = node['ros__parameters']['left']['payload']
    assert payload['mass'] == pytest.approx(run.body.m, abs=0.3)
    np.testing.assert_allclose(payload['com'], run.body.com, atol=0.04)
    assert payload['inertia'] == [0.0] * 6
    engine_of({f'left.payload.{key}': value for key, value in payload.items()})


def test_stands_are_continued_fitted_again_and_refused_with_the_reason(
    robot: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Lifted.drawn(robot, 6, 'motor')
    holding = HoldingTorque(engine(), 'left')
    for name, loaded in (('empty.csv', False), ('full.csv', True)):
        run.load(loaded)
        write_stands(Path(name), run.stands(holding), robot.joint_names)
    words = ['left', '--payload', '--efforts', '--fit-only', '--empty', 'empty.csv', '--samples']
    assert calibrate.main([*words, 'full.csv', '-o', 'found.yaml']) == 0
    stands = read_stands(Path('full.csv'), robot.joint_names)
    write_stands(Path('few.csv'), stands[:4], robot.joint_names)
    capsys.readouterr()
    assert calibrate.main([*words, 'few.csv', '-o', 'none.yaml']) == 1
    assert 'Not concluded: 2 of 5 poses have stands from both sides' in (printed := capsys.readouterr()).err
    assert 'next  pose 3 from below and from above: q' in printed.out
    assert not Path('none.yaml').exists()


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (['--efforts'], '--efforts needs --payload'),
        (['--payload', '--empty', 'x.csv'], '--empty is of --payload --efforts'),
        (['--payload', '--efforts', '--drift', '--empty', 'x.csv'], 'goes without --drift'),
        (['--payload', '--efforts', '--apply'], 'need --empty FILE'),
        (['--payload', '--efforts', '--bag', 'b'], 'needs --samples FILE'),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrate.main(['left', *words]) == 2
    assert reason in capsys.readouterr().err
