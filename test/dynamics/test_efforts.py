"""What `effort` means: readings of any kind give the torque that drives the joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.efforts import Efforts, check_without
from krang_dynamics_ros.dynamics.observer import MomentumObserver
from krang_dynamics_ros.dynamics.state import State

from .test_observer import PUSH, Q, swing


@pytest.fixture
def states(rng: np.random.Generator) -> list[State]:
    return [
        State(Q + rng.uniform(-1, 1, 17), rng.uniform(-2, 2, 17), effort=rng.uniform(-50, 50, 17)) for _ in range(5)
    ]


@pytest.mark.parametrize(
    'without', [(), ('gravity',), ('gravity', 'coriolis'), ('friction',), ('gravity', 'coriolis', 'friction')]
)
def test_missing_terms_are_added_after_scale_and_offset(
    dynamics: Dynamics, states: list[State], without: tuple[str, ...]
) -> None:
    dynamics.viscous, dynamics.coulomb = np.full(17, 3.0), np.full(17, 2.0)
    dynamics.effort_offset = np.linspace(-1, 1, 17)
    efforts = Efforts(dynamics)
    efforts.scale, efforts.without = np.linspace(-2, 2, 17), without
    for state in states:
        terms = {
            'gravity': dynamics.Q(state.q),
            'coriolis': dynamics.coriolis_torque(state.q, state.velocity),
            'friction': dynamics.friction_torque(state.velocity),
        }
        expected = state.effort * efforts.scale - np.linspace(-1, 1, 17) + sum(terms[name] for name in without)
        np.testing.assert_allclose(efforts.torque(state), expected, atol=1e-12)
    q, dq, effort = (np.array([getattr(state, key) for state in states]) for key in ('q', 'velocity', 'effort'))
    np.testing.assert_allclose(efforts.torques(q, dq, effort), [efforts.torque(state) for state in states], atol=1e-12)


def test_a_term_that_needs_velocities_makes_no_torque_without_them(dynamics: Dynamics, states: list[State]) -> None:
    efforts, still = Efforts(dynamics), replace(states[0], dq=None)
    efforts.without = ('gravity',)
    assert np.isfinite(efforts.torque(still)).all()
    efforts.without = ('gravity', 'coriolis')
    assert np.isnan(efforts.torque(still)).all()


def test_the_observer_sees_the_same_push_in_readings_without_gravity(dynamics: Dynamics) -> None:
    whole, without = MomentumObserver(dynamics), MomentumObserver(dynamics)
    without.efforts.without = ('gravity',)
    for _, state in swing(dynamics, lambda q, dq: dynamics.Q(q) + PUSH, [1e-3] * 100):
        whole(replace(state, effort=dynamics.Q(state.q)))
        without(replace(state, effort=np.zeros(17)))
    np.testing.assert_allclose(without.torque, whole.torque, atol=1e-9)
    assert np.abs(whole.torque).max() > 1.0


@pytest.mark.parametrize(('without', 'source'), [(['gravity'], 'external'), (['friction'], 'joint')])
def test_a_term_that_the_effort_source_always_contains_is_refused(without: list[str], source: str) -> None:
    with pytest.raises(ArgumentError, match=f'effort_without: {without[0]}, must'):
        check_without(without, source)
