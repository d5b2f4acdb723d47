"""From messages to torques at times of one's own choice, without DDS: what a parameter may be, and when it counts."""

from __future__ import annotations

import cProfile
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.limits import MAX_CACHE_BYTES, size_of
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.core.wrench import Wrench
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.live.engine import Engine
from krang_dynamics_ros.live.parameters import MODEL
from krang_dynamics_ros.live.timeline import Clocks

S, MS = 10**9, 10**6  # ns
JOINTS = ['q_1l', 'q_2l']
NOTHING = np.empty(0)
MOST_CALLS = 44  # 42 in Python 3.11, which counts `x.dot(x)`, but not the slower `x @ x`


@pytest.fixture
def model() -> Model:
    return load_model()


class Played:
    """An engine whose clocks a test turns."""

    def __init__(self, model: Model, **given: Any) -> None:
        self.time = 0.0  # s, by which commands are blended
        self.settings = Settings({name.replace('__', '.'): value for name, value in given.items()})
        self.settings.declare(MODEL)
        self.engine = Engine(self.settings, model, Clocks(*3 * [lambda: self.time]))
        self.q = np.zeros(model.dynamics.n)

    def set(self, **changes: Any) -> None:
        values = {name.replace('__', '.'): value for name, value in changes.items()}
        self.settings.check(values)
        self.settings.update(values)

    def receive(self, now: int, dq: np.ndarray = NOTHING, effort: np.ndarray = NOTHING) -> Any:
        """Let a joint state come at a time (ns)."""
        names = self.engine.dynamics.joint_names
        torques = self.engine.on_joint_state(names, self.q, dq, effort, now, now)
        assert torques is not None
        return torques


@pytest.mark.parametrize(
    ('given', 'frame'),
    [
        ({}, 'R10r'),
        ({'end_effectors': ['left']}, 'R10l'),
        ({'left__link': 'R8l', 'right__link': 'R8r'}, 'R8r'),
        ({'right__link': 'R0'}, 'R10l'),
        ({'end_effectors': ['']}, 'R10r'),
        ({'frame_id': 'R0'}, 'R0'),
    ],
)
def test_torques_have_the_frame_of_the_last_hand_that_moves(given: dict[str, Any], frame: str, model: Model) -> None:
    assert Played(model, **given).engine.torque_frame == frame


@pytest.mark.parametrize('limits', [[-0.5, 1.0], [1e7, 1.0], [np.nan, 1.0], [1.0]])
def test_limits_that_cannot_be_are_refused_while_nothing_goes_out_too(limits: list[float], model: Model) -> None:
    robot = Played(model, command_joints=JOINTS)
    with pytest.raises(ArgumentError, match='command_limits'):
        robot.set(command_limits=limits)


def test_a_payload_counts_at_once_where_the_clock_was_set_back(model: Model) -> None:
    robot = Played(model, payload_ramp=1.0)
    robot.receive(9 * S)
    robot.set(left__payload__mass=2.0)
    robot.receive(10 * S)
    assert robot.engine.payloads.changing('left')
    robot.receive(5 * S)
    assert not robot.engine.payloads.changing('left')
    assert model.dynamics.payload['R10l'].m == 2.0


def test_two_hands_on_one_link_carry_what_both_hold(model: Model) -> None:
    robot = Played(model, payload_ramp=0.0, right__link='R10l')
    robot.set(left__payload__mass=2.0, right__payload__mass=3.0)
    robot.receive(S)
    assert model.dynamics.payload['R10l'].m == 5.0


@pytest.mark.parametrize('change', [{'effort_source': 'joint'}, {'joints__q_1l__effort_scale': 2.0}])
def test_efforts_that_mean_something_else_begin_the_observer_anew(change: dict[str, Any], model: Model) -> None:
    robot, still = Played(model), np.zeros(17)
    for k in range(100):
        torque = robot.receive(S + 10 * k * MS, still, still + 5.0).term('external')
    assert torque is not None
    robot.set(**change)
    assert robot.receive(2 * S, still, still + 5.0).term('external') is None
    assert not robot.engine.external.observer.torque.any()


@pytest.mark.parametrize('pairs', [[1.0, 0.0], [1.0, -0.1], [-1.0, 0.1], [1.0], [np.nan, 0.1], [1e7, 0.1]])
def test_presliding_that_cannot_be_is_refused_and_the_old_one_stays(pairs: list[float], model: Model) -> None:
    robot = Played(model)
    robot.set(joints__q_1l__presliding=[2.0, 0.01])
    with pytest.raises(ArgumentError, match='presliding'):
        robot.set(joints__q_1l__presliding=pairs)
    k = model.dynamics.joint_names.index('q_1l')
    assert [part.torque for part in model.dynamics.friction.presliding[k]] == [2.0]


def slides(robot: Played, behind: float) -> np.ndarray:
    """Return friction (n) after every joint has slid by 60 mrad, told in two parts, the second's stamps behind (ms)."""
    names, still = robot.engine.dynamics.joint_names, np.zeros(17)
    for k in range(300):
        robot.q = robot.q + 2e-4
        for part, late in ((slice(0, 8), 0.0), (slice(8, 17), behind)):
            now = S + 2 * k * MS
            told = (names[part], robot.q[part], still[part], NOTHING, now - int(late * MS), now)
            torques = robot.engine.on_joint_state(*told)
            friction = None if torques is None else torques.term('friction')
    assert friction is not None
    return friction


PRESLIDING = {f'joints__{name}__presliding': [3.0, 0.001] for name in load_model().dynamics.joint_names}


@pytest.mark.parametrize('behind', [-0.5, 0.0, 0.5, 50.0])
def test_presliding_friction_goes_on_while_parts_come_out_of_order(behind: float, model: Model) -> None:
    np.testing.assert_allclose(slides(Played(model, **PRESLIDING), behind), 3.0)


def test_presliding_friction_begins_anew_when_time_goes_back(model: Model) -> None:
    robot = Played(model, **PRESLIDING)
    slides(robot, 0.0)
    assert not robot.receive(S // 2, np.zeros(17)).term('friction').any()
    robot.q = robot.q + 0.05
    np.testing.assert_allclose(robot.receive(S // 2 + MS, np.zeros(17)).term('friction'), 3.0)


def test_torques_keep_their_state_when_all_is_forgotten(model: Model) -> None:
    """What was computed stays. Friction that is asked for late is none: it would follow positions of before."""
    robot, still = Played(model, **PRESLIDING), np.zeros(17)
    robot.receive(S, still).term('friction')
    robot.q = robot.q + 0.05
    torques = robot.receive(S + MS, still, still + 5.0)
    gravity = torques.term('gravity')
    robot.engine.inputs.forget(S + MS)
    assert torques.term('gravity') is gravity
    assert torques.term('friction') is None
    assert not robot.receive(S + 3 * MS, still).term('friction').any()
    np.testing.assert_array_equal(torques.state.effort, 5.0)
    robot.receive(S + 4 * MS)
    assert torques.state.dq is not None
    assert not torques.state.dq.any()


def test_a_clock_that_jumps_forgets_how_long_the_robot_has_stood_still(model: Model) -> None:
    robot, still = Played(model), np.zeros(17)
    for k in range(100):
        now = S + 10 * k * MS
        robot.receive(now, still)
        robot.engine.inputs.on_wrench('left', '', (1.0, 2.0, 3.0), (0.0, 0.0, 0.0), now, now)
    assert len(robot.engine.inputs.zero('left', now)) == 6
    robot.engine.inputs.forget(S)
    robot.receive(now + MS, still)
    with pytest.raises(ArgumentError, match='no readings while'):
        robot.engine.inputs.zero('left', now + MS)


def test_readings_in_two_frames_have_no_zero(model: Model) -> None:
    robot, still = Played(model), np.zeros(17)
    for k in range(100):
        now = S + 10 * k * MS
        robot.receive(now, still)
        robot.engine.inputs.on_wrench('left', ['', 'R9l'][k % 2], (1.0, 2.0, 3.0), (0.0, 0.0, 0.0), now, now)
    with pytest.raises(ArgumentError, match='readings come in several frames'):
        robot.engine.inputs.zero('left', now)


def test_publishers_that_name_their_joints_anew_take_no_more_and_more_memory(model: Model) -> None:
    """Lists of 1000 names, each list of other names: what is remembered of them stays within its bytes."""
    robot, names, kept = Played(model), [f'joint_{k:04d}' for k in range(1000)], []
    for k in range(100):
        kept.append(tuple(f'{name}_{k}' for name in names))
        robot.engine.inputs.on_joint_state(kept[-1], np.zeros(1000), NOTHING, NOTHING, 0, k)
    known = [one for one in kept if robot.engine.inputs.states._joints_of_names.get(one) is not None]
    assert kept[-1] in known
    assert sum(map(size_of, known)) <= MAX_CACHE_BYTES


def test_readings_are_kept_for_their_longest_timeout(model: Model) -> None:
    assert Played(model, wrench_timeout=0.5).engine.inputs.max_age == 0.5
    assert Played(model, state_timeout=0.7).engine.inputs.max_age == 0.7


@pytest.mark.parametrize(
    ('change', 'allowed'),
    [
        ({'gravity': [0.0, 0.0, -1e200]}, '-100 to 100'),
        ({'left__tool__com': [1e308, 0.0, 0.0]}, '-1e+06 to 1e+06'),
        ({'right__sensor__bias': [0.0] * 5 + [2e6]}, '-1e+06 to 1e+06'),
        ({'left__sensor__deadband': [0.0, -0.1]}, '0 to 1e+06'),
        ({'left__tool__mass': 2e4}, '0 to 10000'),
        ({'state_timeout': 20.0}, '0.001 to 10'),
        ({'state_timeout': 'long'}, '0.001 to 10'),
    ],
    ids=lambda x: x if isinstance(x, str) else str(x),
)
def test_a_number_beyond_its_range_is_refused_without_ros_too(
    change: dict[str, Any], allowed: str, model: Model
) -> None:
    ((name, value),) = change.items()
    with pytest.raises(ArgumentError) as refused:
        Played(model).set(**change)
    assert str(refused.value) == f'{name.replace("__", ".")}: {value}, must be {allowed}'


def read(robot: Played, now: int) -> np.ndarray | None:
    """Let a reading of the left hand come, which holds a kilogram; return what of it is contact."""
    robot.engine.inputs.on_wrench('left', '', (0.0, 0.0, 5.0), (0.0, 0.0, 0.0), now, now)
    return robot.engine.inputs.compensated('left', now)


def part(robot: Played, joints: slice, stamp: int, now: int) -> None:
    names = robot.engine.dynamics.joint_names
    robot.engine.on_joint_state(names[joints], robot.q[joints], NOTHING, NOTHING, stamp, now)


def test_a_reading_is_compensated_while_every_joint_is_known_and_no_longer(model: Model) -> None:
    robot, first, rest = Played(model, left__payload__mass=1.0), slice(0, 8), slice(8, 17)
    assert read(robot, S) is None
    part(robot, first, S, S)
    assert read(robot, S) is None
    for k in range(20):
        part(robot, rest, S + 10 * k * MS, S + 10 * k * MS)
        found = read(robot, S + (10 * k + 5) * MS)
        assert (found is not None) == (k < 10)  # the other publisher is silent; the timeout is 0.1 s
    robot.receive(2 * S)
    assert read(robot, 2 * S + 100 * MS) is not None
    assert read(robot, 2 * S + 101 * MS) is None


def test_no_reading_is_compensated_while_time_has_gone_back_for_some_joints_only(model: Model) -> None:
    robot = Played(model, left__payload__mass=1.0)
    robot.receive(9 * S)
    part(robot, slice(8, 17), S, 9 * S + 10 * MS)
    assert read(robot, 9 * S + 12 * MS) is None
    part(robot, slice(0, 8), S, 9 * S + 20 * MS)
    found = read(robot, 9 * S + 22 * MS)
    assert found is not None
    assert np.isfinite(found).all()


def test_a_reading_that_is_not_finite_without_its_weight_is_none(model: Model) -> None:
    robot = Played(model, left__payload__mass=1e3)
    robot.receive(S)
    assert read(robot, S) is not None
    model.dynamics.gravity = np.array([0.0, 0.0, -1e308])  # the parameter does not take it
    with np.errstate(over='ignore'):
        assert read(robot, S) is None


def thresholds(model: Model, **given: float) -> dict[str, float]:
    return {f'joints.{name}.{key}': x for name in model.dynamics.joint_names for key, x in given.items()}


def test_a_sensor_that_was_silent_explains_nothing_before_the_low_pass_has_settled(model: Model) -> None:
    """It bears 30 N all the time, and is not heard for a while: nothing pushes the robot but that."""
    told = thresholds(model, contact_threshold=2.0)
    robot = Played(model, **told, **{'left.sensor.subtract_from_external': True, 'left.sense': 'applied_on_robot'})
    robot.q = np.linspace(-0.8, 0.8, 17)
    pushed = model.dynamics.wrench_torque(robot.q, [Wrench('R10l', (0, 0, 30))])
    effort, external = model.dynamics.Q(robot.q) - pushed, robot.engine.external
    told_at = []
    for k in range(1500):
        now = S + 2 * k * MS
        if not 800 <= k < 950:
            robot.engine.inputs.on_wrench('left', '', np.array([0, 0, 30.0]), np.zeros(3), now, now)
        torques = robot.receive(now, np.zeros(17), effort)
        if (rest := external.unexplained_torque(torques)) is not None:
            told_at.append(k)
            assert np.abs(rest).max() < 0.05
            assert not external.contact(torques).anywhere
    late = 50  # states: a reading counts for its timeout
    assert told_at[0] == 250
    gap = [k for k in range(250, 1500) if k not in told_at]
    assert 800 <= gap[0] <= 800 + late + 1
    assert gap == list(range(gap[0], gap[-1] + 1))
    assert gap[-1] == 950 + 249


@pytest.mark.parametrize('source', ['motor', 'external'])
def test_a_robot_that_accelerates_has_the_wider_threshold_whatever_efforts_mean(model: Model, source: str) -> None:
    wide = thresholds(model, contact_threshold=1.0, contact_threshold_accelerating=5.0)
    robot, dynamics = Played(model, effort_source=source, **wide), model.dynamics
    for k in range(400):
        t = k * 2e-3
        robot.q, dq, between = 1.5 * t**2 + np.linspace(-0.8, 0.8, 17), np.full(17, 3 * t), np.full(17, 2.0)
        needed = dynamics.inverse_dynamics(robot.q, dq, np.full(17, 3.0))
        torques = robot.receive(S + 2 * k * MS, dq, between if source == 'external' else needed - between)
        contact = robot.engine.external.contact(torques)
    assert contact is not None
    assert not contact.anywhere
    robot.engine.external.detector.accelerating[3] = 1.0
    assert robot.engine.external.contact(torques).joints == (dynamics.joint_names[3],)


def test_a_hand_without_efforts_is_not_reported_as_free(model: Model) -> None:
    robot = Played(model, effort_source='external', **thresholds(model, contact_threshold=1.0))
    effort = np.zeros(17)
    effort[10:] = np.nan
    contact = robot.engine.external.contact(robot.receive(S, np.zeros(17), effort))
    assert contact is not None
    assert contact.hands == {'left': False}


def test_a_joint_state_costs_few_calls_while_only_gravity_is_used(model: Model) -> None:
    """Calls, not times: the same on every machine. What is switched off adds none."""
    robot = Played(model)
    dq, effort, count = np.zeros(robot.q.size), np.zeros(robot.q.size), 100
    robot.receive(S, dq, effort).term('gravity')
    profile = cProfile.Profile()
    profile.enable()
    for k in range(count):
        robot.receive(S + (k + 1) * MS, dq, effort).term('gravity')
    profile.disable()
    calls = sum(entry.callcount for entry in profile.getstats()) / count
    assert calls <= MOST_CALLS
