"""The path between two states is the one that a smooth movement takes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from krang_dynamics_ros.core.path import POINTS, WEIGHTS, Path


def test_its_mean_is_exact_to_the_fifth_power() -> None:
    for power in range(6):
        assert WEIGHTS @ POINTS**power == pytest.approx(1 / (power + 1), abs=1e-15)


@pytest.mark.parametrize('known', [2, 3])
def test_a_polynomial_through_the_states_comes_back(rng: np.random.Generator, known: int) -> None:
    """Of degree 3 through two states, of degree 5 through three, with steps of different length."""
    times = np.array([0.3, 0.37, 0.41])[3 - known :]
    moves = [Polynomial(rng.normal(size=2 * known)) for _ in range(4)]

    def at(order: int, t: object) -> np.ndarray:
        return np.array([move.deriv(order)(t) for move in moves])

    path = Path()
    path.begin(at(0, times[0]), at(1, times[0]))
    for start, end in pairwise(times):
        found = path.step(at(0, end), at(1, end), end - start).points()
    for order, values in enumerate(found):
        np.testing.assert_allclose(values, at(order, start + POINTS * (end - start)).T, rtol=1e-9, atol=1e-9)
    path.begin(np.ones(4), np.zeros(4))
    still = path.step(np.ones(4), np.zeros(4), 1e-3).points()
    np.testing.assert_allclose(still[0], 1)
    np.testing.assert_allclose(still[1:], 0, atol=1e-12)


@pytest.mark.parametrize('before', [1e-6, 1e-3, 1.0])
def test_positions_in_coarse_steps_are_no_velocity(before: float) -> None:
    path, dq, dt = Path(), np.array([0.1, -0.1, 0.0]), 2e-3
    step = np.full(3, 0.05)  # of a poor encoder: 25 rad/s, if it were believed
    path.begin(np.zeros(3), dq)
    path.step(dq * before, dq, before)
    _, velocities, accelerations = path.step(dq * (before + dt) + step, dq, dt).points()
    assert (np.abs(velocities - dq) <= 0.1001 * np.abs(dq)).all()
    np.testing.assert_allclose(WEIGHTS @ accelerations, 0, atol=1e-9)
