"""Samples with a bias that drifts, or with a bad one among them: it is said, and the fit takes it out on request."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from krang_dynamics_ros.calibration.fit import Sample, fit
from krang_dynamics_ros.calibration.samples import SamplesError, read_samples, write_samples
from krang_dynamics_ros.cli import calibrate
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.live.standstill import Average
from krang_dynamics_ros.live.wrenches import Reading

from ..real_recordings import shared
from .test_calibration import BIAS, directions, errors, sample

POSES = 12
EVERYTHING = ('bias',) * 6 + ('mass',) + ('centre of mass',) * 3


def drifting(
    seed: int, drift: float, outlier: float, timed: bool = True, poses: int = POSES
) -> tuple[list[Sample], int]:
    """Samples whose bias drifts by so many newtons in all, and the number of the one that is off by `outlier` newtons.

    Besides the noise within samples, each has an error that stays while it is taken.
    """
    rng = np.random.default_rng(seed)
    samples = [sample(direction, rng) for direction in directions(rng, poses)]
    times = np.sort(rng.uniform(0, 900, poses)) if timed else np.arange(poses) * 60.0
    rate = drift * rng.uniform(0.5, 1, 6) * rng.choice([-1, 1], 6) * np.repeat([1, 0.03], 3) / np.ptp(times)
    number = int(rng.integers(poses)) + 1
    for k, one in enumerate(samples):
        error = rng.normal(size=6) * np.repeat([0.05, 0.003], 3) + rate * (times[k] - times[-1])
        if k + 1 == number:
            error += outlier * rng.uniform(0.5, 1, 6) * rng.choice([-1, 1], 6) * np.repeat([1, 0.05], 3)
        samples[k] = replace(one, reading=one.reading + error, time=float(times[k]) if timed else None)
    return samples, number


@pytest.mark.parametrize('timed', [True, False])
def test_standard_deviations_hold_with_a_drift_and_a_bad_sample(timed: bool) -> None:
    """Of each of the ten numbers, 90 to 99 % are within two standard deviations."""
    within = np.zeros(10)
    for seed in range(200):
        samples, number = drifting(seed, drift=1.0, outlier=2.0, timed=timed)
        found = fit(samples)
        assert f'(--leave-out {number}):' in found.trouble
        assert found.trouble.count('--leave-out') == 1
        clean = fit(samples, drift=True, left_out=[number])
        assert not clean.trouble
        within += np.abs(errors(clean)) <= 2 * clean.deviations
    share = dict(zip(enumerate(EVERYTHING), within / 200, strict=True))
    assert all(0.9 <= x <= 0.99 for x in share.values()), share


def test_a_drift_is_offered_where_there_is_one_and_only_there() -> None:
    offered = {drift: sum('--drift' in fit(drifting(k, drift, 0.0)[0]).trouble for k in range(100)) for drift in (0, 1)}
    assert offered[0] <= 6
    assert offered[1] >= 95


def test_a_bad_sample_is_not_found_where_there_is_none() -> None:
    assert sum('--leave-out' in fit(drifting(k, 1.0, 0.0)[0]).trouble for k in range(200)) <= 2


def test_a_fitted_drift_is_reported_over_time() -> None:
    samples, number = drifting(3, drift=2.0, outlier=0.0)
    found, late = fit(samples, drift=True), [replace(one, time=(one.time or 0) + 1e9) for one in samples]
    assert found.drift is not None
    assert found.drift_deviations is not None
    assert found.drift_unit == 'min'
    assert np.abs(found.bias - BIAS).max() < 0.3  # that of the last sample
    minutes = ((samples[-1].time or 0) - (samples[0].time or 0)) / 60
    assert 1.0 < np.abs(found.drift[:3]).max() * minutes < 2.1
    np.testing.assert_allclose(fit(late, drift=True).drift, found.drift, rtol=1e-6)
    assert fit([replace(one, time=None) for one in samples], drift=True).drift_unit == 'sample'
    assert fit(samples, drift=True, left_out=[number]).left_out == (number,)


def test_a_drift_that_samples_do_not_determine_is_refused() -> None:
    samples, _ = drifting(1, 0.0, 0.0)
    at_once = [replace(one, time=5.0) for one in samples]
    assert 'do not tell drift and weight apart' in fit(at_once, drift=True).trouble
    assert fit(at_once).trouble == ''


def test_a_sample_that_is_not_there_cannot_be_left_out() -> None:
    samples, _ = drifting(1, 0.0, 0.0)
    with pytest.raises(ArgumentError, match='sample 13 is not there, must be 1 to 12'):
        fit(samples, left_out=[13])
    with pytest.raises(ArgumentError, match='one pose at least'):
        fit(samples[:2], left_out=[1, 2])


def averages(times: list[float | None]) -> list[Average]:
    return [Average(Reading(np.arange(6.0) + k, '', ''), np.ones(6), 100, np.zeros(2), t) for k, t in enumerate(times)]


def test_times_of_samples_are_kept_and_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / 'samples.csv'
    write_samples(path, averages([1.5, None, 1.7e9]), ['a', 'b'])
    assert [one.time for one in read_samples(path, ['a', 'b'], [])] == [1.5, None, 1.7e9]
    lines = [line.split(',') for line in path.read_text().splitlines()]
    path.write_text('\n'.join(','.join(line[1:]) for line in lines))
    read = read_samples(path, ['a', 'b'], [])
    assert [one.time for one in read] == [None] * 3
    np.testing.assert_array_equal(read[2].reading.numbers, np.arange(6.0) + 2)
    path.write_text('\n'.join(','.join([*line[1:], line[0]]) for line in lines))  # the column may stand anywhere
    assert [one.time for one in read_samples(path, ['a', 'b'], [])] == [1.5, None, 1.7e9]
    for wrong in ('x', 'nan'):
        path.write_text('\n'.join(','.join([wrong if k else 'time', *line[1:]]) for k, line in enumerate(lines)))
        with pytest.raises(SamplesError, match='line 2'):
            read_samples(path, ['a', 'b'], [])
    path.write_text('\n'.join(','.join(line) for line in lines) + ',1')
    with pytest.raises(SamplesError, match='line 4'):
        read_samples(path, ['a', 'b'], [])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples of a real sensor that warmed up, and the parameters of its robot."""
    real = shared('ati_ft_poses')
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(real / 'samples_100_poses.csv', 'samples.csv')
    hand = {'robot_file': str(real / 'gimbal.urdf'), 'end_effectors': ['hand']}
    hand |= {'hand.link': 'roll_link', 'sense': 'applied_on_robot'}
    (tmp_path / 'node.yaml').write_text(yaml.safe_dump({'/**': {'ros__parameters': hand}}))
    return tmp_path


WORDS = ['hand', '--params', 'node.yaml', '--samples', 'samples.csv', '--fit-only', '-o', 'found.yaml']


def test_a_real_sensor_that_warmed_up_is_seen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate.main(WORDS) == 1
    out, err = capsys.readouterr()
    assert 'mass 1.1800 kg, not 1.2385' in out
    assert 'Not concluded: the bias drifts' in err
    assert not (folder / 'found.yaml').exists()
    assert calibrate.main([*WORDS, '--drift']) == 0
    assert 'drift force z       -0.02208 N/sample' in capsys.readouterr().out
    text = (folder / 'found.yaml').read_text()
    assert 'It drifted by' in text
    (node,) = yaml.safe_load(text).values()
    assert node['ros__parameters']['hand']['tool']['mass'] == pytest.approx(1.180, abs=5e-4)


def test_a_bad_sample_among_real_ones_is_named_and_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (folder / 'samples.csv').read_text().splitlines()
    fields = lines[42].split(',')
    fields[3] = str(float(fields[3]) + 2.4)
    lines[42] = ','.join(fields)
    (folder / 'samples.csv').write_text('\n'.join(lines))
    assert calibrate.main(WORDS) == 1
    assert 'Not concluded: sample 42 is off by 2.' in capsys.readouterr().err
    assert calibrate.main([*WORDS, '--drift', '--leave-out', '42']) == 0
    assert 'Left out: sample 42.' in (folder / 'found.yaml').read_text()
    assert calibrate.main([*WORDS, '--overwrite', '--leave-out', '101']) == 2
    assert 'sample 101 is not there, must be 1 to 100' in capsys.readouterr().err


def test_only_kept_samples_can_be_fitted_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate.main(['left', '--fit-only']) == 2
    assert '--fit-only needs --samples FILE' in capsys.readouterr().err
