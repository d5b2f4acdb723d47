"""An arm that is led by hand, in closed loop: late, sampled, with a model that is off by a tenth."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from krang_dynamics_ros import Wrench, dynamics_of
from krang_dynamics_ros.live.commands import Stage

from .guided import Guided, Push, arm, off_by

MARGIN = 0.15  # rad
FRICTION = 0.01  # Coulomb friction of every joint, of its effort limit
DELAYS = ((0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (2, 0))  # of joint states and of commands, periods
EVERY = [(rate, delays) for rate in (100, 250, 500, 1000) for delays in DELAYS]
SOME = [(1000, (0, 2)), (250, (1, 1))]
GUIDING = ['gravity', 'coriolis', 'damping', 'stops']


SLOW, LONG = (pytest.mark.slow,), (pytest.mark.slow, pytest.mark.long)


def both(
    quick: list[tuple[int, tuple[int, int]]] = SOME, marks: tuple[pytest.MarkDecorator, ...] = SLOW
) -> list[object]:
    """Return all rates and delays; those that are not quick have marks."""
    return [one if one in quick else pytest.param(*one, marks=marks) for one in EVERY]


class Thrown(NamedTuple):
    """What became of a joint that was thrown at its stop."""

    touched: bool
    speed_left: float  # in parts of the incoming speed
    work: float  # of the stops, in parts of the incoming energy
    depth: float  # rad into the margin


def thrown(
    rate: float, delays: tuple[int, int], joint: int, rng: np.random.Generator, rotors: float = 1.0, **given: Any
) -> Thrown:
    """Throw a joint at its stop as fast as the margin is made for, at most at the velocity limit."""
    known = arm(FRICTION, rotors)
    real, dynamics, side = off_by(known, 0.1, rng), dynamics_of(known), rng.choice([-1, 1])
    limits = known.moving_joints[joint].limits
    assert limits
    assert limits.upper
    q = rng.uniform(-1.2, 1.2, 3)
    q[joint] = side * (limits.upper - MARGIN)
    inertia, left = dynamics.A(q)[joint, joint], (limits.effort or 0.0) - abs(dynamics.Q(q)[joint])
    speed = min(0.99 * np.sqrt(left * MARGIN / inertia), limits.velocity or 0.0)
    q[joint] -= side * 0.3
    guided = Guided(known, real, q.tolist(), rate, delays, total_terms=['gravity', 'stops'], **given).begin()
    guided.sim.dq = np.zeros(3)
    guided.sim.dq[joint] = side * speed
    guided.run(0.8)
    assert guided.commands.stage is Stage.ON, guided.commands.fault
    way, velocity = side * np.array(guided.q)[:, joint], side * np.array(guided.dq)[:, joint]
    arrived = int(np.argmax(way > limits.upper - MARGIN - 0.03))
    assert velocity[arrived] > 0.5
    back = float(-velocity[arrived:].min())
    energy = 0.5 * inertia * velocity[arrived] ** 2
    touched = bool(way.max() >= limits.upper - 1e-6)
    return Thrown(touched, back / velocity[arrived], guided.energy / energy, float(way.max() - limits.upper + MARGIN))


@pytest.mark.parametrize(('rate', 'delays'), both())
@pytest.mark.parametrize('joint', range(3))
def test_a_joint_thrown_at_its_stop_does_not_touch_it_and_comes_back_slowly(
    rate: float, delays: tuple[int, int], joint: int, rng: np.random.Generator
) -> None:
    for rotors in (1.0, 0.1):
        found = thrown(rate, delays, joint, rng, rotors)
        assert not found.touched, found
        assert found.speed_left <= 0.7, found
        assert found.work <= 0.01, found


@pytest.mark.parametrize('joint', range(3))
def test_a_stop_takes_energy_at_the_rate_limit_that_diagnostics_ask_for_and_gives_it_far_below(
    joint: int, rng: np.random.Generator
) -> None:
    asked = np.array([150.0, 150.0, 60.0]) * 3.0 / MARGIN  # to the limit, within the margin at the velocity limit
    found = thrown(1000, (0, 1), joint, rng, command_rate_limits=asked.tolist())
    assert not found.touched
    assert found.speed_left <= 0.7
    assert found.work <= 0.01
    assert thrown(1000, (0, 1), joint, rng, command_rate_limits=(asked / 5).tolist()).work > 0.01


@pytest.mark.parametrize('rotors', [0.1, 0.0])
@pytest.mark.parametrize('joint', range(3))
def test_a_reduced_stop_holds_at_the_speed_that_diagnostics_name_and_they_warn_above(joint: int, rotors: float) -> None:
    """At 100 Hz, with light joints, stops are weak."""
    known = arm(FRICTION, rotors)
    name, limits = known.joint_names[joint], known.moving_joints[joint].limits
    assert limits
    assert limits.upper
    for factor in (0.95, 2.0):
        q = [0.3, -0.5, 0.9]
        q[joint] = limits.upper - MARGIN - 0.06
        guided = Guided(known, known, q, 100, (0, 1), total_terms=['gravity', 'stops']).begin()
        text = guided.engine.guiding.status()[2]['reduced to stay passive']
        made_for = re.search(rf'{name} stop [^;]* made for ([\d.]+) rad/s', text)
        assert made_for
        guided.sim.dq[joint] = factor * float(made_for[1])
        guided.run(0.5)
        assert guided.commands.stage is Stage.ON, guided.commands.fault
        level, words, _ = guided.engine.guiding.status()
        if factor < 1:
            assert max(q[joint] for q in guided.q) < limits.upper - 0.5 * MARGIN
            assert level == 'ok'
        else:
            assert words.startswith(f'{name} came to its stop at ')
            assert level == 'warning'


def random_pushes(rng: np.random.Generator, force: float = 30.0) -> Push:
    """Return a person who pushes and pulls the hand in all directions, up to 2 Hz."""
    frequency, phase = rng.uniform(0.5, 12, (6, 3)), rng.uniform(0, 2 * np.pi, (6, 3))
    amplitude = force * rng.normal(size=(6, 3)) / np.sqrt(6)
    return lambda t: [Wrench('hand', tuple((amplitude * np.sin(frequency * t + phase)).sum(axis=0)), axes='base')]


def led(rate: float, delays: tuple[int, int], seconds: float, rng: np.random.Generator, rotors: float = 1.0) -> Guided:
    """Lead an arm by random pushes."""
    known = arm(FRICTION, rotors)
    limits = {'command_velocity_limits': [15.0] * 3}
    guided = Guided(known, off_by(known, 0.1, rng), [0.0, -0.5, 0.9], rate, delays, total_terms=GUIDING, **limits)
    return guided.begin().run(seconds, random_pushes(rng))


@pytest.mark.parametrize(('rate', 'delays'), both([(250, (0, 2))], LONG))
def test_damping_and_stops_give_no_energy_while_a_person_pushes(
    rate: float, delays: tuple[int, int], rng: np.random.Generator
) -> None:
    guided = led(rate, delays, 5.0 if (rate, delays) == (250, (0, 2)) else 60.0, rng)
    assert guided.energy <= min(0.01, 0.01 * guided.work)
    assert guided.energy < -0.2 * guided.work  # they take what the person gives
    assert guided.commands.stage is Stage.ON, guided.commands.fault


def slides(friction_gain: float, rng: np.random.Generator, speed: float = 0.1) -> tuple[float, float]:
    """Move a joint at a speed; return the torque that a person must give, and what friction takes, both N m."""
    known = arm(0.05)
    given_back = {f'joints__{name}__friction_gain': friction_gain for name in known.joint_names}
    given_back |= {'total_terms': ['gravity', 'friction']}
    guided = Guided(known, off_by(known, 0.1, rng), [0, 0, 0], 500, (0, 1), **given_back)
    guided.begin()
    guided.sim.braked[1:] = True
    given = []
    for _ in range(100):
        guided.sim.dq[0] = speed  # a person keeps it at that speed
        guided.run(0.002)
        given.append(guided.guiding[-1][0])
    friction = guided.sim.dynamics.friction_torque(np.array([speed, 0, 0]))[0]
    return float(friction - given[-1]), float(friction)


def test_friction_that_is_given_back_leaves_less_than_a_third(rng: np.random.Generator) -> None:
    for _ in range(3):
        needed, friction = slides(0.8, rng)
        assert 0 < needed < friction / 3


@pytest.mark.parametrize('gain', [0.8, 1.0])
def test_friction_that_is_given_back_is_never_more_than_the_friction(gain: float, rng: np.random.Generator) -> None:
    """With damping beside it, whose energy is booked too: all gains."""
    known = arm(0.05)
    gains = {f'joints__{name}__friction_gain': gain for name in known.joint_names}
    gains |= {f'joints__{name}__damping': 0.0 for name in known.joint_names}
    terms = ['gravity', 'friction', 'damping']
    guided = Guided(known, off_by(known, 0.1, rng), [0.0, -0.5, 0.9], 250, (1, 1), total_terms=terms, **gains).begin()
    lost, given = guided.sim.lost, guided.energy
    for _ in range(10):
        guided.run(0.4, random_pushes(rng, 60.0))
        assert guided.energy - given <= guided.sim.lost - lost
    assert guided.energy - given > 0.3 * (guided.sim.lost - lost) > 0


def test_an_arm_that_is_let_go_stands_where_the_model_errs_by_less_than_friction(rng: np.random.Generator) -> None:
    known = arm(0.1)
    q, gain = [0.3, -0.8, 1.0], 0.6
    real = off_by(known, 0.04, rng)
    dynamics = dynamics_of(known)
    error = np.abs(dynamics.Q(q) - dynamics_of(real).Q(q))
    left = np.array([joint.friction.coulomb for joint in real.moving_joints]) - gain * dynamics.friction.coulomb
    assert (error < 0.5 * left).all()
    gains = {f'joints__{name}__friction_gain': gain for name in known.joint_names}
    guided = Guided(known, real, q, 250, (1, 1), total_terms=['gravity', 'friction', 'damping'], **gains).begin()
    guided.run(0.5, lambda t: [Wrench('hand', (0.0, 0.0, 120.0), axes='base')])
    assert np.abs(guided.sim.dq).max() > 0.1
    guided.run(1.5)
    stood = guided.sim.q.copy()
    guided.run(2.0)
    np.testing.assert_allclose(guided.sim.q, stood, atol=1e-4)


@pytest.mark.parametrize('feels', [True, False])
def test_a_push_at_standstill_is_helped_where_it_shows(feels: bool, rng: np.random.Generator) -> None:
    """Efforts behind the gears show it: then the friction that is left is all that a person must overcome."""
    known, gain = arm(0.1), 0.7
    given_back = {f'joints__{name}__friction_gain': gain for name in known.joint_names}
    given_back |= {'total_terms': ['gravity', 'friction'], 'effort_source': 'joint'}
    guided = Guided(known, off_by(known, 0.02, rng), [0.3, -0.8, 1.0], 250, (0, 1), **given_back)
    guided.feels = feels
    guided.begin()
    coulomb = guided.sim.dynamics.friction.coulomb[0]
    arms_length = np.hypot(*guided.sim.dynamics.pose(guided.sim.q, 'hand')[1][:2])
    turn = guided.sim.dynamics.jacobian(guided.sim.q, 'hand')[:2, 0] / arms_length  # sideways

    def moved(torque: float) -> float:
        before = guided.sim.q[0]
        force = torque / arms_length * turn
        guided.run(0.5, lambda t: [Wrench('hand', (*force, 0.0), axes='base')])
        way = guided.sim.q[0] - before
        guided.run(0.5)
        return float(way)

    assert abs(moved(0.1 * (1 - gain) * coulomb)) < 1e-6
    assert abs(moved(0.8 * (1 - gain) * coulomb)) < 1e-6
    helped = moved(1.4 * (1 - gain) * coulomb)
    assert helped > 0.002 if feels else abs(helped) < 1e-6
    assert np.abs(guided.sim.dq).max() < 1e-6  # it stands when it is let go


@pytest.mark.slow
@pytest.mark.parametrize(
    ('rate', 'minutes'), [(100, 1), pytest.param(250, 10, marks=LONG), pytest.param(1000, 1, marks=LONG)]
)
def test_minutes_of_guiding_trip_no_check(rate: float, minutes: int, rng: np.random.Generator) -> None:
    """A person leads, and lets go for a quarter of the time."""
    known, lead = arm(FRICTION), random_pushes(rng)
    guided = Guided(
        known, off_by(known, 0.1, rng), [0.0, -0.5, 0.9], rate, (1, 0), total_terms=GUIDING,
        command_velocity_limits=[15.0] * 3, guiding__hold_required=True,
    )  # fmt: skip
    guided.pressed = True
    guided.begin()
    for _ in range(60 * minutes):
        guided.run(1.0, lambda t: () if t % 20 > 15 else lead(t))
        assert guided.commands.stage is Stage.ON, guided.commands.fault
        assert guided.supervisor.status().level == 'ok'
