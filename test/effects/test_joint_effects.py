"""Laws of every effect on a single joint, whatever its formula: linear, passive, and one formula for all uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.effects.effect import JointEffect, JointMotion
from krang_dynamics_ros.effects.joint_effects import JOINT_EFFECTS, JointEffects, kinds
from krang_dynamics_ros.effects.sliding import Coulomb, Viscous
from krang_dynamics_ros.effects.spring import Spring

X = np.linspace(-2.0, 2.0, 81)  # rad/s or rad; zero is among them
STEP = 1e-6
of_each = pytest.mark.parametrize('kind', JOINT_EFFECTS)


def examples(kind: type[JointEffect]) -> list[JointEffect]:
    """Return effects with random factors, smooth ones, and each with the constants that a fit tries."""
    rng = np.random.default_rng(5)
    return [effect.fitted(rng.uniform(0.5, 3, len(effect.names)).tolist(), 0.0) for effect in kind.tried()]


def motion(kind: type[JointEffect], x: np.ndarray) -> JointMotion:
    """Return rows of two joints whose velocities (friction) or positions (springs) are x and 2 x."""
    rows, other = np.stack([x, 2 * x], axis=1), np.full((len(x), 2), np.nan)
    q, dq = (other, rows) if kind.term == 'friction' else (rows, other)
    return JointMotion(q, dq, other, other, np.ones(2), {})


@of_each
def test_columns_times_factors_are_the_torque(kind: type[JointEffect]) -> None:
    for effect in examples(kind):
        factors = np.array([getattr(effect, number.name) for number in kind.factors()])
        columns = effect.columns(motion(kind, X))
        assert columns.shape == (len(X), 2, len(effect.names))
        np.testing.assert_allclose(columns @ factors, effect.torque(np.stack([X, 2 * X], axis=1)), atol=1e-12)


@of_each
def test_slope_and_integral_are_those_of_the_torque(kind: type[JointEffect]) -> None:
    """Coulomb friction at zero velocity has a jump there: its smooth part is examined."""
    for effect in examples(kind):
        slope = (effect.torque(X + STEP) - effect.torque(X - STEP)) / (2 * STEP)
        np.testing.assert_allclose(effect.slope(X), slope, atol=1e-4 * np.abs(slope).max())
        torque = (effect.integral(X + STEP) - effect.integral(X - STEP)) / (2 * STEP)
        np.testing.assert_allclose(torque, effect.torque(X), atol=1e-6 * np.abs(torque).max())


@pytest.mark.parametrize('kind', kinds('friction'))
def test_friction_gives_no_power_and_none_at_standstill(kind: type[JointEffect]) -> None:
    for effect in [kind(**{number.name: 1.0 for number in kind.factors()}), *examples(kind)]:
        assert (effect.torque(X) * X >= 0).all()
        assert effect.torque(np.zeros(1)) == 0


@of_each
def test_a_formula_is_the_same_for_one_joint_for_many_and_for_symbols(kind: type[JointEffect]) -> None:
    casadi: Any = pytest.importorskip('casadi')
    for effect in examples(kind):
        vector = JointEffects.of(kind.term, [[effect], []]).sum
        both = np.stack([X, X], axis=1)
        np.testing.assert_allclose(vector.torque(both), np.stack([effect.torque(X), 0 * X], axis=1), atol=1e-15)
        jumps = Coulomb(effect.coulomb) if isinstance(effect, Coulomb) else effect  # in symbols it is eq. (17)
        x = casadi.SX.sym('x')
        symbolic = casadi.Function('f', [x], [jumps.torque(x)])
        np.testing.assert_allclose([float(symbolic(value)) for value in X], jumps.torque(X), rtol=1e-14)


def test_every_number_has_a_name_of_its_own_and_says_what_it_is() -> None:
    numbers = [number for kind in JOINT_EFFECTS for number in kind.numbers()]
    for names in ([x.name for x in numbers], [x.symbol for x in numbers], [x.label for x in numbers]):
        assert len(set(names)) == len(names)
    assert all(number.meaning and number.unit for number in numbers)
    assert Viscous.numbers()[0].unit_of(prismatic=True) == 'N s/m'


def test_a_joint_has_one_effect_of_a_kind() -> None:
    with pytest.raises(ArgumentError, match='Spring: 2 on a joint, must be one that'):
        JointEffects.of('spring', [[Spring(1.0, 0.0), Spring(2.0, 0.0)]])


def test_an_effect_that_is_not_listed_is_refused_and_not_left_out() -> None:
    class Unlisted(Viscous):
        pass

    with pytest.raises(ArgumentError, match='Unlisted: 1 on a joint, must be one that JOINT_EFFECTS lists'):
        JointEffects.of('friction', [[Unlisted(1.0)]])


def test_numbers_out_of_range_are_refused_and_change_nothing() -> None:
    effects = JointEffects.of('friction', [[Viscous(1.0)], [Viscous(2.0)]])
    for wrong in ([1.0], [1.0, -1.0], [np.nan, 1.0]):
        with pytest.raises(ArgumentError, match=r'viscous: .*, must be 2 finite numbers, none negative'):
            effects['viscous'] = wrong
    np.testing.assert_array_equal(effects['viscous'], [1.0, 2.0])
    springs = JointEffects('spring', 2)
    springs['cosine'] = [-1.0, 0.0]
    with pytest.raises(ArgumentError, match=r'cosine: .*, must be 2 finite numbers$'):
        springs['cosine'] = [np.inf, 0.0]
    np.testing.assert_allclose(springs.sum.torque(np.zeros(2)), [-1.0, 0.0])


def test_friction_that_jumps_and_smooth_friction_are_apart_joint_by_joint() -> None:
    effects = JointEffects.of('friction', [[Coulomb(1.0)], [Coulomb(2.0, 0.05)], [Viscous(3.0)]])
    dq = np.array([0.1, 0.1, 0.1])
    np.testing.assert_allclose(effects.sum.torque(dq), [1.0, 2.0 * np.tanh(2.0), 0.3])
    np.testing.assert_allclose(effects.smooth.torque(dq), [0.0, 2.0 * np.tanh(2.0), 0.3])
    np.testing.assert_array_equal(effects.dry, [1.0, 0.0, 0.0])
    assert not effects.smooth.linear
    effects['coulomb_velocity'] = [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(effects.dry, [1.0, 2.0, 0.0])
    assert effects.smooth.linear
