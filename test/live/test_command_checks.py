"""The checks on commands at their numbers: what is just allowed, and what is just not."""

from __future__ import annotations

import numpy as np
import pytest

from krang_dynamics_ros.live import command_checks as checks

NAMES = ('a', 'b', 'c')
LIMITS = np.array([100.0, 50.0, 10.0])


def effort(name: str, measured: float, total: float) -> str:
    """Return what is wrong with the measured effort of one joint, where the others give what the total says."""
    efforts, totals = np.zeros(3), np.zeros(3)
    efforts[NAMES.index(name)], totals[NAMES.index(name)] = measured, total
    return checks.implausible_effort(NAMES, efforts, totals, LIMITS)


@pytest.mark.parametrize(
    ('measured', 'total', 'trouble'),
    [
        (0.24, 0.0, ''), (0.26, 0.0, 'away'), (0.0, 0.24, ''), (0.0, 0.26, 'away'), (0.9, 0.66, ''), (0.66, 0.9, ''),
        (0.11, -0.09, ''), (0.09, -0.11, ''), (0.11, -0.11, 'the opposite sign'), (-0.11, 0.11, 'the opposite sign'),
        (0.9, -0.9, 'the opposite sign'), (0.9, 0.6, 'away'), (0.6, 0.9, 'away'),
    ],
)  # fmt: skip
@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('direction', [1, -1])
def test_a_measured_effort_is_held_against_the_total_in_shares_of_the_joints_limit(
    name: str, direction: int, measured: float, total: float, trouble: str
) -> None:
    limit = direction * LIMITS[NAMES.index(name)]
    words = effort(name, measured * limit, total * limit)
    assert (trouble in words) if trouble else not words
    assert not words or words.startswith(name)


@pytest.mark.parametrize(
    ('shares', 'nothing'),
    [
        ((0.0, 0.0, 0.0), True), ((0.019, -0.019, 0.019), True), ((0.0, 0.0, -0.021), False),
        ((np.nan, 0.01, 0.01), True), ((np.nan, 0.01, 0.03), False), ((0.5, 0.0, 0.0), False),
    ],
)  # fmt: skip
def test_efforts_count_as_not_measured_only_if_all_are_tiny(shares: tuple[float, ...], nothing: bool) -> None:
    assert checks.unmeasured(np.array(shares) * LIMITS, LIMITS) == nothing


@pytest.mark.parametrize(('prismatic', 'margin'), [(False, 0.1), (True, 0.01)])
@pytest.mark.parametrize('end', [0, 1])
def test_a_position_may_be_outside_its_limits_by_the_margin(prismatic: bool, margin: float, end: int) -> None:
    bounds = np.array([[-1.0, -np.inf, -2.0], [1.0, np.inf, 2.0]])
    for share, refused in ((0.9, False), (1.1, True)):
        q = np.array([0.0, 1e3, bounds[end, 2] + (2 * end - 1) * share * margin])
        words = checks.outside_limits(NAMES, q, bounds, np.array([False, False, prismatic]))
        assert words.startswith('c is at') == refused
        assert bool(words) == refused


def test_a_joint_beyond_its_margin_is_found_beside_one_that_is_further_out_within_its_own() -> None:
    bounds, prismatic = np.array([[-1.0, -1.0], [1.0, 1.0]]), np.array([False, True])
    assert checks.outside_limits(NAMES[:2], np.array([1.09, 1.02]), bounds, prismatic).startswith('b is at 1.02')


def test_small_efforts_of_the_same_sign_are_not_opposite() -> None:
    assert not checks.implausible_effort(NAMES, 0.2 * LIMITS / 100, 0.3 * LIMITS / 100, LIMITS / 100)


@pytest.mark.parametrize('direction', [1, -1])
def test_a_joint_may_move_against_its_command_and_a_little_along(direction: int) -> None:
    travel, command = np.array([0.1, 0.1, 0.01]), np.array([5.0, 0.0, 5.0]) * direction
    for moved, trouble in (
        ((0.09, 0.09, 0.009), ''), ((0.11, 0, 0), 'a'), ((0, 0, 0.011), 'c'), ((0, 9, 0), ''), ((-9, 9, -9), ''),
    ):  # fmt: skip
        words = checks.moved_by_start(NAMES, direction * np.array(moved, dtype=float), command, travel)
        assert words.startswith(f'{trouble} moved') if trouble else not words


def obedience(shares: list[tuple[float, float]]) -> float:
    """Return when a drive is found not to obey, s; each 10 ms has a measured and a sent effort, of the limit."""
    watch = checks.Obedience(NAMES, LIMITS)
    for k, (measured, sent) in enumerate(shares):
        ours = np.array([np.nan, 0.0, measured]) * LIMITS
        if words := watch.fault(ours, np.array([1.0, 0.0, sent]) * LIMITS, 100 + 0.01 * k):
            assert words.startswith(f'c does not obey: an effort of {10 * sent:.4g} is expected')
            return 0.01 * k
    return np.inf


@pytest.mark.parametrize('sign', [1, -1])
def test_a_drive_that_followed_once_may_be_off_by_half_a_limit_or_for_half_a_second(sign: int) -> None:
    follows, sent = [(sign * 0.6, sign * 0.8)] * 10, sign * 0.8
    assert obedience(follows + [(sign * 0.31, sent)] * 200) == np.inf
    assert obedience(follows + [(sign * 0.29, sent)] * 200) == pytest.approx(0.1 + 0.5, abs=0.011)
    assert obedience(follows + ([(0.0, sent)] * 48 + [(sent, sent)] * 2) * 5) == np.inf
    assert obedience([(0.0, sent)] * 200) == np.inf  # efforts that are not measured
    assert obedience([(sign * 0.35, sent)] * 10 + [(0.0, sent)] * 200) == np.inf  # never near enough
    assert obedience([(0.05, 0.05)] * 10 + [(0.0, sent)] * 200) == np.inf  # too small to tell
    for stuck in (0.0, -sign * 0.12):  # they are near small commands by chance
        rise = [(stuck, sign * share) for share in np.linspace(0, 0.8, 100)]
        assert obedience(rise + [(stuck, sent)] * 200) == np.inf


def test_a_wrench_is_scaled_by_the_joint_that_it_loads_most() -> None:
    assert checks.scaled_share(LIMITS * [0.1, -0.99, 0.5], LIMITS) == 1
    assert checks.scaled_share(LIMITS * [0.1, -4.0, 0.5], LIMITS) == pytest.approx(0.25)
    assert checks.scaled_share(np.array([9e9, 1.0, 20.0]), np.array([0.0, 50.0, 10.0])) == pytest.approx(0.5)
    assert checks.scaled_share(np.array([9e9]), np.zeros(1)) == 1
    assert checks.scaled_share(LIMITS * 1.01, LIMITS) == pytest.approx(1 / 1.01)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_payload_is_too_heavy_for_a_joint_with_a_limit(sign: int) -> None:
    limits = np.array([100.0, 0.0, 10.0])
    assert not checks.too_heavy(NAMES, sign * np.array([99.0, 9e9, 9.9]), limits)
    assert checks.too_heavy(NAMES, sign * np.array([99.0, 9e9, 10.1]), limits).startswith('c needs 10.1')
    assert checks.too_heavy(('wrist',), sign * np.array([0.6]), np.array([0.5])).startswith('wrist needs 0.6')
