"""Bias, mass and centre of mass from poses: within what is asked, with errors that are told truly, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros.calibration import fit as orientations
from krang_dynamics_ros.calibration import results
from krang_dynamics_ros.calibration.fit import Calibration, Sample, fit
from krang_dynamics_ros.calibration.samples import Sampler
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import rotation_from_rpy
from krang_dynamics_ros.live.engine import engine_of
from krang_dynamics_ros.live.standstill import Standstill
from krang_dynamics_ros.live.wrenches import Reading

BIAS, MASS, COM = np.array([5.0, -3.0, 2.0, 0.2, 0.1, -0.3]), 1.6, np.array([0.01, -0.02, 0.09])
NOISE = np.repeat([0.2, 0.02], 3)  # N, N m, of one reading
G = np.array([0.0, 0.0, -9.81])


def sample(direction: np.ndarray, rng: np.random.Generator, readings: int = 100, noise: float = 1.0) -> Sample:
    """What a sensor in the hand's frame reads of bias and weight, and its mean: written down anew here."""
    g = 9.81 * direction
    force, moment = MASS * g, np.cross(MASS * COM, g)
    all_of_them = BIAS + np.concatenate([force, moment]) + noise * NOISE * rng.normal(size=(readings, 6))
    x, y, z = g
    basis = np.zeros((6, 4))
    basis[:3, 0] = g
    basis[3:, 1:] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
    return Sample(all_of_them.mean(axis=0), all_of_them.std(axis=0, ddof=1), readings, g, basis)


def directions(rng: np.random.Generator, count: int) -> np.ndarray:
    drawn = rng.normal(size=(count, 3))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def errors(calibration: Calibration) -> np.ndarray:
    return np.concatenate([calibration.bias - BIAS, [calibration.mass - MASS], calibration.com - COM])


def test_numbers_and_their_standard_deviations_are_right() -> None:
    beyond = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        calibration = fit([sample(d, rng) for d in directions(rng, 8)])
        assert not calibration.trouble
        error = errors(calibration)
        assert np.abs(error[:3]).max() < 0.1
        assert abs(error[6]) < 0.01 * MASS
        assert np.abs(error[7:]).max() < 0.002
        beyond += bool((np.abs(error) > 3 * calibration.deviations).any())
    assert beyond <= 5


def test_deviations_are_those_of_many_runs() -> None:
    poses = directions(np.random.default_rng(1), 10)
    runs = [fit([sample(d, rng) for d in poses]) for rng in map(np.random.default_rng, range(300))]
    spread = np.std([errors(run) for run in runs], axis=0)
    told = np.mean([run.deviations for run in runs], axis=0)
    assert ((0.9 < told / spread) & (told / spread < 1.3)).all()


def shifted(one: Sample, rng: np.random.Generator, origin: np.ndarray, force: float, moment: float) -> Sample:
    """The same sample about another origin, with errors (N, N m) that stay as they are while the hand stands still."""
    basis = one.basis.copy()
    basis[3:, 0] = -np.cross(origin, one.gravity)
    error = rng.normal(size=6) * np.repeat([force, moment], 3)
    return Sample(one.reading + error + (basis - one.basis) @ [MASS, *(MASS * COM)], *_rest_of(one), basis)


def _rest_of(one: Sample) -> tuple[np.ndarray, int, np.ndarray]:
    return one.deviation, one.count, one.gravity


@pytest.mark.parametrize(
    ('origin', 'force', 'moment'),
    [((0.0, 0.0, 0.0), 0.5, 0.05), ((0.02, -0.04, 0.18), 1.0, 0.005), ((-0.02, 0.04, -0.18), 1.0, 0.005)],
)
def test_deviations_hold_for_what_the_spread_within_poses_does_not_show(
    origin: tuple[float, float, float], force: float, moment: float
) -> None:
    """Cables that pull differently in each pose; moments about another point, which make mass and moment correlated."""
    poses, about = directions(np.random.default_rng(1), 12), np.array(origin)
    runs = [
        fit([shifted(sample(d, rng), rng, about, force, moment) for d in poses])
        for rng in map(np.random.default_rng, range(400))
    ]
    spread = np.std([errors(run) for run in runs], axis=0)
    told = np.sqrt(np.mean([np.square(run.deviations) for run in runs], axis=0))
    np.testing.assert_allclose(told / spread, 1.0, atol=0.15)


def test_without_noise_it_is_exact_and_a_known_tool_is_taken_out(rng: np.random.Generator) -> None:
    samples = [sample(d, rng, noise=0.0) for d in directions(rng, 5)]
    np.testing.assert_allclose(errors(fit(samples)), 0, atol=1e-9)
    tool = Inertia.about_com(1.0, np.array([0.0, 0.01, 0.02]), np.zeros((3, 3)))
    payload = fit(samples, tool)
    assert payload.mass == pytest.approx(MASS - 1.0)
    np.testing.assert_allclose(payload.mass * payload.com + tool.MS, MASS * COM, atol=1e-9)
    np.testing.assert_allclose(payload.bias, BIAS, atol=1e-9)


def cone(half_angle: float, count: int = 8) -> list[np.ndarray]:
    around = np.linspace(0, 2 * np.pi, count, endpoint=False)
    s, c = np.sin(half_angle), np.cos(half_angle)
    return [np.array([s * np.cos(x), s * np.sin(x), c]) for x in around]


@pytest.mark.parametrize('half_angle', [0.0, 0.3, 1.0, np.pi / 2])
def test_a_turn_about_one_axis_is_refused(half_angle: float, rng: np.random.Generator) -> None:
    turn = rotation_from_rpy(rng.uniform(-3, 3, 3))
    shaky = [turn @ d + rng.normal(size=3) * 0.002 for d in cone(half_angle)]
    found = fit([sample(d / np.linalg.norm(d), rng) for d in shaky])
    assert 'about one axis only' in found.trouble


@pytest.mark.parametrize('half_angle', [0.0, 0.3, 1.0, np.pi / 2])
def test_the_condition_number_of_a_turn_about_one_axis_is_infinite(half_angle: float) -> None:
    for rng in map(np.random.default_rng, range(20)):
        turn = rotation_from_rpy(rng.uniform(-3, 3, 3))
        assert orientations.condition([turn @ d for d in cone(half_angle)]) == np.inf
    assert orientations.condition(np.vstack([np.eye(3), -np.eye(3)])) == pytest.approx(np.sqrt(3))


def test_a_refused_reading_counts_nothing() -> None:
    """Of the readings of a second every second one is refused: the mean is of the others, each once."""
    engine = engine_of({})
    sampler, names = Sampler(engine, 'left'), engine.dynamics.joint_names
    taken = None
    for k in range(1, 300):
        now = k * 10_000_000
        engine.on_joint_state(names, np.zeros(len(names)), np.zeros(len(names)), np.empty(0), now, now)
        engine.inputs.on_wrench('left', 'nowhere' if k % 2 else '', (1, 0, 0), (0, 0, 0), now, now)
        taken = taken or sampler.look(now)
    assert taken
    assert 45 <= taken.count <= 55


@pytest.mark.parametrize('count', [1, 2, 3])
def test_too_few_poses_are_refused(count: int, rng: np.random.Generator) -> None:
    found = fit([sample(d, rng) for d in directions(rng, count)])
    assert found.trouble == f'{count} orientations, must be at least 4'
    with pytest.raises(ArgumentError, match='one pose at least'):
        fit([])


def test_readings_in_a_frame_that_stands_still_are_refused(rng: np.random.Generator) -> None:
    """Readings in the base's axes: then bias and weight cannot be separated."""
    samples = [sample(d, rng) for d in directions(rng, 8)]
    still = np.zeros((6, 4))
    still[:3, 0] = G
    still[3:, 1:] = [[0, 9.81, 0], [-9.81, 0, 0], [0, 0, 0]]
    assert 'tell bias and weight apart' in fit([Sample(**(vars(s) | {'basis': still})) for s in samples]).trouble


def test_a_sensor_that_reads_the_other_way_round_is_named(rng: np.random.Generator) -> None:
    samples = [sample(d, rng) for d in directions(rng, 8)]
    assert 'sense' in fit([Sample(**(vars(s) | {'basis': -s.basis})) for s in samples]).trouble


def test_nothing_beyond_the_sensor_is_no_mass(rng: np.random.Generator) -> None:
    samples = [sample(d, rng) for d in directions(rng, 8)]
    bare = [Sample(**(vars(s) | {'reading': s.reading - s.basis @ [MASS, *(MASS * COM)]})) for s in samples]
    found = fit(bare)
    assert not found.trouble
    assert (found.mass, *found.com) == (0, 0, 0, 0)
    assert np.abs(found.bias - BIAS).max() < 0.1


def test_the_next_orientation_leads_to_numbers_soon_and_never_to_one_that_was() -> None:
    for start in directions(np.random.default_rng(3), 5):
        taken = [start]
        while orientations.trouble(taken):
            best = orientations.best_next(taken)
            assert orientations.is_new(best, taken)
            taken.append(best)
        assert len(taken) == 4
        for _ in range(4):
            taken.append(orientations.best_next(taken))
        assert orientations.condition(taken) < 2.5


def test_the_next_orientation_is_said_so_that_one_can_do_it() -> None:
    down = np.array([0.0, 0.0, 1.0])
    assert orientations.turn_text(-down, 'R10l', down) == (
        'turn R10l until -z points straight down, 180 degrees from now'
    )
    assert 'midway between +x and -y points' in orientations.turn_text(np.array([1.0, -1.0, 0.0]), 'R10l')


def test_the_next_pose_is_shown_above_the_numbers_and_a_missing_deviation_is_marked(rng: np.random.Generator) -> None:
    lines = results.table(fit([sample(d, rng) for d in directions(rng, 8)]), 'left', 'turn the hand', 'that way')
    assert [line.split()[0] for line in lines[:6]] == ['left:', 'condition', 'the', 'now', 'next', 'bias']
    assert len(lines) == 15
    assert all(float(line.split('+- ')[1]) > 0 for line in lines[5:])
    assert results.table(fit([sample(G / 9.81, rng)]), 'left', '', '')[0] == 'left: 1 pose'
    assert len(results.table(None, 'left', 'waiting', 'that way')) == 3


# Standing still ---------------------------------------------------------------------------------------------------


def stood(
    seconds: float = 0.5, rate: int = 200, joints: int = 3, moving: float = 0.0, turning: float = 0.0,
    drift: float = 0.0, noise: float = 1.0,
) -> tuple[Standstill, int]:  # fmt: skip
    rng, still = np.random.default_rng(4), Standstill([f'q{k}' for k in range(joints)], 0.5)
    for k in range(int(seconds * rate) + 1):
        time = k / rate
        numbers = BIAS + drift * time * np.repeat([1.0, 0.1], 3) + noise * NOISE * rng.normal(size=6)
        q, dq = np.full(joints, turning * time), np.array([0.0, moving, 0.0])
        still.add(int(time * 1e9), Reading(numbers, '', ''), q, dq)
    return still, int(seconds * 1e9)


def test_readings_at_standstill_are_averaged() -> None:
    still, now = stood(seconds=3.0)
    assert still.fault(now) == ''
    average = still.average()
    assert 95 <= average.readings <= 101
    assert np.abs(average.reading.numbers - BIAS).max() < 0.1
    np.testing.assert_allclose(average.deviation, NOISE, rtol=0.3)


@pytest.mark.parametrize(
    ('how', 'reason'),
    [
        ({'moving': 0.3}, 'q1 moves'), ({'turning': 0.05}, 'has moved by'), ({'drift': 3.0}, 'drift'),
        ({'noise': 30.0}, 'noise'), ({'seconds': 0.2}, 's of readings, must'), ({'rate': 10}, 's of readings, must'),
    ],
)  # fmt: skip
def test_a_moving_joint_or_reading_is_refused_with_the_reason(how: dict[str, float], reason: str) -> None:
    still, now = stood(**how)
    assert reason in still.fault(now)


def test_readings_that_stop_or_change_their_frame_are_no_standstill() -> None:
    still, now = stood()
    assert 'no readings' in still.fault(now + 10**9)
    still.add(now, Reading(BIAS, 'R3', 'R3'), np.zeros(3), None)
    assert 'several frames' in still.fault(now)
    still.add(0, Reading(BIAS, '', ''), np.zeros(3), None)  # time went back
    assert 's of readings, must' in still.fault(0)
    still.forget()
    assert 'no readings' in still.fault(0)
