"""The base's motion by an IMU: gravity that follows it, all that a moving base takes, and what gives no torque."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import BaseMotion, Dynamics
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.spatial import rotation_from_rpy
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.engine import Engine, engine_of
from krang_dynamics_ros.live.messages import ImuMessage

from ..imu import reading
from .test_command_supervisor import Arm

S, MS = 10**9, 10**6  # ns
LEVEL = np.eye(3)
G = 9.81
ARM = """<robot name="arm"><link name="base"><inertial><origin xyz="0 0 0.1"/><mass value="20"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="imu_link"/><joint name="mount" type="fixed"><parent link="base"/><child link="imu_link"/>
    <origin xyz="0.3 -0.2 0.5" rpy="0.4 -0.7 1.1"/></joint>
  <link name="upper"><inertial><origin xyz="0.2 0.02 0"/><mass value="3"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.4" rpy="0.1 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="60" velocity="3"/></joint>
  <link name="fore"><inertial><origin xyz="0.15 0 0.01"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0" rpy="0 0.2 0.3"/>
    <axis xyz="0 0.6 0.8"/><limit lower="-2" upper="2" effort="60" velocity="3"/></joint></robot>"""
MOUNTING = rotation_from_rpy([0.4, -0.7, 1.1])  # of imu_link in base
PLACE = np.array([0.3, -0.2, 0.5])


class Heard:
    """An engine of the arm, and what comes to it. Times are ns."""

    def __init__(self, **given: Any) -> None:
        values = {name.replace('__', '.'): value for name, value in given.items()}
        self.engine: Engine = engine_of({'robot_description': ARM, **values})
        self.q, self.dq = np.array([0.3, -0.6]), np.array([0.7, -1.1])

    def imu(self, message: ImuMessage) -> None:
        self.engine.inputs.on_imu(message)

    def state(self, time: int) -> Any:
        return self.engine.on_joint_state(('shoulder', 'elbow'), self.q, self.dq, np.empty(0), time, time)

    @property
    def refusal(self) -> str:
        assert self.engine.inputs.base is not None
        return self.engine.inputs.base.refusals.reason


@pytest.fixture
def arm() -> Dynamics:
    return engine_of({'robot_description': ARM}).dynamics


# Orientation ---------------------------------------------------------------------------------------------------------


def test_gravity_follows_the_orientation_of_a_sensor_that_is_mounted_askew(arm: Dynamics) -> None:
    heard = Heard(base_motion='orientation')
    for k, rpy in enumerate([(0, 0, 0), (0.5, 0, 0), (0, -1.2, 2.0), (np.pi, 0.3, 0), (0.4, 0.4, -3)]):
        R = rotation_from_rpy(rpy)  # of the base
        heard.imu(reading('imu_link', R @ MOUNTING, time=S + k * MS))
        torques = heard.state(S + k * MS)
        arm.gravity = R.T @ (0, 0, -G)
        np.testing.assert_allclose(torques.term('gravity'), arm.Q(heard.q), atol=1e-9)
        np.testing.assert_allclose(torques.term('coriolis'), arm.coriolis_torque(heard.q, heard.dq), atol=1e-12)


def test_the_size_of_gravity_is_that_of_the_parameter_which_then_cannot_change(arm: Dynamics) -> None:
    heard = Heard(base_motion='orientation', gravity=[0.0, 3.0, 0.0])
    heard.imu(reading('base', LEVEL, f=(0, 0, 3.0), time=S))
    arm.gravity = (0, 0, -3.0)
    np.testing.assert_allclose(heard.state(S).term('gravity'), arm.Q(heard.q), atol=1e-12)
    with pytest.raises(ArgumentError, match='gravity cannot change with base_motion orientation'):
        heard.engine.settings.check({'gravity': [0.0, 0.0, -9.81]})
    heard.engine.settings.check({'state_timeout': 0.2})


def test_a_joint_state_has_the_motion_at_its_own_stamp() -> None:
    heard, motions = Heard(base_motion='orientation'), {}
    for k in range(3):
        R = rotation_from_rpy((0.1 * k, 0, 0))
        heard.imu(reading('base', R, time=S + 10 * k * MS))
        motions[k] = R.T @ (0, 0, -G)
    for time, expected in (
        (4, 0.6 * motions[0] + 0.4 * motions[1]), (10, motions[1]), (17, 0.3 * motions[1] + 0.7 * motions[2]),
        (20, motions[2]), (25, motions[2]),
    ):  # fmt: skip
        torques = heard.state(S + time * MS)
        np.testing.assert_allclose(torques.state.base.gravity, expected, atol=1e-9)
    base = heard.engine.inputs.base
    assert base is not None
    np.testing.assert_allclose(base.at(S - MS).gravity, motions[0], atol=1e-9)
    np.testing.assert_allclose(base.at(0).gravity, motions[2], atol=1e-9)
    heard.imu(reading('base', LEVEL, time=S + 115 * MS))
    np.testing.assert_allclose(base.at(S).gravity, motions[2], atol=1e-9)  # the others are too old


def test_joints_in_parts_are_of_one_instant_with_the_base() -> None:
    """One joint's stamps are 7 ms behind: the observer gets the base as it was then."""
    heard, later = Heard(base_motion='orientation'), []
    for k in range(400):
        now = S + 2 * k * MS
        heard.imu(reading('base', rotation_from_rpy((0.3 * np.sin(0.02 * k), 0, 0)), time=now))
        for name, late in (('shoulder', 0), ('elbow', 7)):
            stamp = now - late * MS
            torques = heard.engine.on_joint_state((name,), np.zeros(1), np.zeros(1), np.zeros(1), stamp, now)
        if k > 100 and torques is not None:
            for instant in torques.state.instants:
                tilt = 0.3 * np.sin(0.02 * (instant.stamp - S) / (2 * MS))
                np.testing.assert_allclose(
                    instant.base.gravity, rotation_from_rpy((tilt, 0, 0)).T @ (0, 0, -G), atol=1e-3
                )
                later.append(now - instant.stamp)
    assert len(later) > 100
    assert min(later) >= 7 * MS


def test_orientation_alone_is_enough(arm: Dynamics) -> None:
    heard = Heard(base_motion='orientation')
    R = rotation_from_rpy((0.5, 0.2, 0))
    heard.imu(reading('base', R, (np.nan,) * 3, (np.nan,) * 3, S, covariances=(0.0, -1.0, -1.0)))
    arm.gravity = R.T @ (0, 0, -G)
    np.testing.assert_allclose(heard.state(S).term('gravity'), arm.Q(heard.q), atol=1e-9)


def test_a_named_link_counts_whatever_the_header_says(arm: Dynamics) -> None:
    heard = Heard(base_motion='orientation', imu__link='imu_link')
    heard.imu(reading('controller_frame', MOUNTING, time=S))
    np.testing.assert_allclose(heard.state(S).term('gravity'), arm.Q(heard.q), atol=1e-9)


# Full ----------------------------------------------------------------------------------------------------------------


def rocking(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return R, w, dw and the acceleration of the base's origin, the last three in base axes."""
    angle, speed, rate = 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t), -1.2 * np.sin(2 * t)
    R = rotation_from_rpy((0.2, 0, 0)) @ rotation_from_rpy((0, angle, 0))
    y = np.array([0.0, 1.0, 0.0])
    return R, speed * y, rate * y, np.array([1.5 * np.sin(3 * t), 0.4, np.cos(t)])


def sensor_reading(t: float) -> ImuMessage:
    R, w, dw, a = rocking(t)
    f = a + np.cross(dw, PLACE) + np.cross(w, np.cross(w, PLACE)) - R.T @ (0, 0, -G)
    return reading('imu_link', R @ MOUNTING, MOUNTING.T @ w, MOUNTING.T @ f, S + round(t * S))


def test_all_that_a_moving_base_takes_is_in_gravity_and_coriolis(arm: Dynamics) -> None:
    """The derivative of w comes late by 1 / (2 pi cutoff), 1.6 ms here, and no more."""
    heard, worst = Heard(base_motion='full', imu__cutoff=100.0), 0.0
    for k in range(1000):
        t = k * 1e-3
        heard.imu(sensor_reading(t))
        torques = heard.state(S + k * MS)
        R, w, dw, a = rocking(t)
        arm.base_motion = BaseMotion(R.T @ (0, 0, -G) - a, w, dw)
        if k < 8:  # the derivative of w settles
            assert torques is None
            continue
        assert torques is not None
        gravity, coriolis = arm.Q(heard.q), arm.coriolis_torque(heard.q, heard.dq)
        np.testing.assert_allclose(torques.term('gravity'), gravity, atol=0.03)
        np.testing.assert_allclose(torques.term('coriolis'), coriolis, atol=0.01)
        late = rocking(t - 1 / (2 * np.pi * 100) - 0.5e-3)[2]
        arm.base_motion = BaseMotion.measured(sensor_force(t), w, late, PLACE)
        worst = max(worst, float(np.abs(torques.term('gravity') - arm.Q(heard.q)).max()))
        worst = max(worst, float(np.abs(torques.term('coriolis') - arm.coriolis_torque(heard.q, heard.dq)).max()))
    assert worst < 1e-3


def sensor_force(t: float) -> np.ndarray:
    return MOUNTING @ sensor_reading(t).linear_acceleration


def test_the_compiled_backend_refuses_full_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / 'arm.urdf'
    file.write_text(ARM)
    with pytest.raises(ArgumentError, match="base_motion: full, must be fixed or orientation with backend 'compiled'"):
        engine_of({'robot_file': str(file), 'base_motion': 'full', 'backend': 'compiled'})


# What gives no torque ------------------------------------------------------------------------------------------------

TURNED = rotation_from_rpy((np.pi, 0, 0))
WRONG = {
    'nan': (reading('base', LEVEL)._replace(quaternion=(np.nan, 0, 0, 1)), 'must be a unit quaternion'),
    'zeros': (reading('base', LEVEL)._replace(quaternion=(0, 0, 0, 0)), 'must be a unit quaternion'),
    'norm': (reading('base', LEVEL)._replace(quaternion=(1.1, 0, 0, 0)), 'must be a unit quaternion'),
    'infinite': (reading('base', LEVEL)._replace(quaternion=(np.inf, 0, 0, 0)), 'must be a unit quaternion'),
    'not given': (reading('base', LEVEL, covariances=(-1.0, 0.0, 0.0)), 'must be a unit quaternion, covariance not -1'),
    'unknown frame': (reading('imu_lnk', LEVEL), "'imu_lnk' is unknown; did you mean 'imu_link'"),
    'no frame': (reading('', LEVEL), 'frame_id is empty, must be a link that is fixed to the base; or set imu.link'),
    'moving link': (reading('fore', LEVEL), "'fore' moves against the base 'base', must be fixed to it"),
    'upside down': (reading('base', TURNED, f=(0, 0, G)), '180 degrees apart, must be within 10'),
    'gravity instead of force': (reading('base', LEVEL, f=(0, 0, -G)), '180 degrees apart'),
    'askew': (reading('base', rotation_from_rpy((0.2, 0, 0)), f=(0, 0, G)), '11 degrees apart'),
}
WRONG_IF_FULL = {
    'no rate': (reading('base', LEVEL, covariances=(0.0, -1.0, 0.0)), 'angular_velocity is not given'),
    'no force': (reading('base', LEVEL, covariances=(0.0, 0.0, -1.0)), 'linear_acceleration is not given'),
    'rate of nan': (reading('base', LEVEL, (np.nan, 0, 0)), 'angular_velocity .*must be finite, at most 50'),
    'rate in degrees': (reading('base', LEVEL, (0, 90, 0)), 'angular_velocity .*must be finite, at most 50'),
    'force of nan': (reading('base', LEVEL, f=(0, 0, np.nan)), 'linear_acceleration .*must be finite'),
    'force in milli-g': (reading('base', LEVEL, f=(0, 0, 1000)), 'linear_acceleration .*must be finite, at most 200'),
    'force in g': (reading('base', LEVEL, f=(0, 0, 1)), 'of 1 m/s.2, must be a specific force, 9.81 m/s.2 at rest'),
}  # fmt: skip


@pytest.mark.parametrize(
    ('mode', 'kind'),
    [*(('orientation', kind) for kind in WRONG), *(('full', kind) for kind in (WRONG | WRONG_IF_FULL))],
)
def test_wrong_readings_give_no_torque_and_a_reason(mode: str, kind: str) -> None:
    message, why = (WRONG | WRONG_IF_FULL)[kind]
    heard = Heard(base_motion=mode)
    for k in range(300):
        now = S + k * MS
        heard.imu(message._replace(stamp=now, arrival=now))
        assert heard.state(now) is None
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(heard.refusal)
    assert why.split('.*')[-1][:20] in heard.engine.inputs.base_fault(now) or '.' in why


@pytest.mark.parametrize('kind', [*WRONG, *WRONG_IF_FULL])
def test_torques_end_when_readings_turn_wrong_and_come_back(kind: str) -> None:
    message, _ = (WRONG | WRONG_IF_FULL)[kind]
    heard, known = Heard(base_motion='full'), []
    for k in range(600):
        now = S + k * MS
        good = reading('base', LEVEL)
        heard.imu((message if 200 <= k < 400 else good)._replace(stamp=now, arrival=now))
        known.append(heard.state(now) is not None)
    assert known[:199] == [False] * 40 + [True] * 159
    assert all(known[200:299])  # the last good one is not too old
    assert not any(known[300:400])
    assert all(known[450:])


def test_an_imu_that_contradicted_itself_at_rest_is_not_believed_until_it_agrees_at_rest() -> None:
    heard = Heard(base_motion='full')

    def accepted(time: int, w: float, f: float) -> bool:
        assert heard.engine.inputs.base is not None
        return heard.engine.inputs.base.update(reading('base', LEVEL, (0, 0, w), (0, 0, f), S + time * MS))

    assert not accepted(0, 0.0, -G)
    assert not accepted(10, 0.5, -G)  # the base turns
    assert not accepted(20, 0.0, -2 * G)  # the base accelerates
    assert not accepted(30, 0.5, G)
    assert accepted(40, 0.0, G)
    assert accepted(50, 0.5, -G)


def test_a_level_acceleration_at_the_bound_is_no_contradiction() -> None:
    heard = Heard(base_motion='full')
    for sideways in np.linspace(0, 30, 301):
        heard.imu(reading('base', LEVEL, f=(sideways, 0, G), time=S + int(sideways * 1e8)))
        assert not heard.refusal


def test_a_base_that_turns_may_feel_what_it_likes() -> None:
    heard = Heard(base_motion='full')
    heard.imu(reading('base', LEVEL, (0, 0, 0.2), (G, 0, 0), S))
    assert not heard.refusal


@pytest.mark.parametrize('mode', ['orientation', 'full'])
def test_a_silent_or_frozen_imu_gives_no_torque_as_a_joint_would(mode: str) -> None:
    heard = Heard(base_motion=mode)
    assert heard.state(S) is None
    assert heard.engine.inputs.base_fault(S) == 'no reading of the IMU was accepted'
    for k in range(100):
        heard.imu(reading('base', LEVEL, time=S + k * MS))
        heard.state(S + k * MS)
    last = S + 99 * MS
    assert heard.state(last + 100 * MS) is not None
    assert heard.state(last + 101 * MS) is None
    assert 'the last IMU reading came 0.101 s ago' in heard.engine.inputs.base_fault(last + 101 * MS)
    heard.imu(reading('base', LEVEL)._replace(stamp=last, arrival=last + 102 * MS))  # its stamp does not advance
    names = heard.engine.dynamics.joint_names
    assert heard.engine.on_joint_state(names, heard.q, heard.dq, np.empty(0), 0, last + 102 * MS) is None


def test_a_slow_imu_counts_while_a_reading_is_fresh_and_begins_anew_after_half_a_second() -> None:
    heard, known = Heard(base_motion='full'), []
    for time in (0.0, 0.2, 0.4, 0.95, 1.15):
        now = S + round(time * S)
        heard.imu(reading('base', LEVEL, time=now))
        known.append(heard.state(now) is not None)
        assert heard.state(now + 110 * MS) is None
    assert known == [False, True, True, False, True]


def test_an_imu_of_another_clock_is_named() -> None:
    heard = Heard(base_motion='orientation')
    heard.imu(reading('base', LEVEL)._replace(stamp=5 * S, arrival=S))
    assert heard.state(S) is None
    assert 'stamps of the IMU are 4 s ahead of those of the joint states' in heard.engine.inputs.base_fault(S)


def test_an_imu_without_stamps_counts_by_its_arrival() -> None:
    heard = Heard(base_motion='full')
    for k in range(100):
        now = S + k * MS
        heard.imu(reading('base', LEVEL)._replace(stamp=0, arrival=now))
        torques = heard.state(now)
    assert torques is not None


def test_readings_without_stamps_may_arrive_at_the_same_time() -> None:
    """As by a simulated clock that is slower than the IMU."""
    heard = Heard(base_motion='full')
    for k in range(100):
        now = S + k * MS
        for _ in range(2):
            heard.imu(reading('base', LEVEL)._replace(stamp=0, arrival=now))
        torques = heard.state(now)
    assert torques is not None


def test_time_that_goes_back_is_a_new_time() -> None:
    heard = Heard(base_motion='full')
    for start in (9 * S, 5 * S):
        for k in range(100):
            heard.imu(reading('base', LEVEL, time=start + k * MS))
            torques = heard.state(start + k * MS)
            assert (torques is not None) == (k >= 40)
    heard.imu(reading('base', LEVEL, time=9 * S))
    heard.state(2 * S)  # the joint states go back first
    heard.imu(reading('base', LEVEL, time=2 * S + MS))
    assert heard.state(2 * S + 2 * MS) is None  # dw has to settle


def test_one_source_for_one_fact() -> None:
    with pytest.raises(ArgumentError, match="base_motion: orientation, must be fixed with imu_joint 'q_imu'"):
        engine_of({'base_motion': 'orientation', 'imu_joint': 'q_imu'})


@pytest.mark.parametrize(('link', 'why'), [('fore', 'moves against the base'), ('imu_lnk', "did you mean 'imu_link'")])
def test_a_link_that_cannot_have_the_imu_is_refused_at_the_start(link: str, why: str) -> None:
    with pytest.raises(ArgumentError, match=f"imu.link: '{link}'.*{why}"):
        Heard(base_motion='orientation', imu__link=link)


def test_until_the_imu_is_heard_gravity_is_the_parameters_for_plans_and_never_published() -> None:
    heard = Heard(base_motion='orientation', gravity=[9.81, 0.0, 0.0])
    np.testing.assert_array_equal(heard.engine.dynamics.gravity, (9.81, 0, 0))
    assert heard.state(S) is None


def test_without_the_parameter_an_imu_changes_nothing(arm: Dynamics) -> None:
    heard = Heard()
    assert not heard.engine.inputs.uses_imu
    np.testing.assert_array_equal(heard.state(S).term('gravity'), arm.Q(heard.q))


# Commands ------------------------------------------------------------------------------------------------------------


def tilting(arm: Arm, seconds: float, imu: bool = True, base: str = 'R0') -> None:
    """Let time pass while the base rocks by up to 20 degrees, and the IMU says so."""
    for _ in range(round(seconds / arm.period)):
        arm.time += arm.period
        R = rotation_from_rpy((0.35 * np.sin(3 * arm.time), 0.2 * np.sin(2 * arm.time), 0))
        if imu:
            arm.engine.inputs.on_imu(reading(base, R, time=arm.now))
        arm.state()
        arm.supervisor.on_acknowledged(arm.commands.starts)


def test_gravity_that_the_imu_follows_never_enters_the_remainder() -> None:
    arm = Arm(load_model(), base_motion='orientation', command_limits=[500.0] * 7, command_limits_beyond_urdf=True)
    tilting(arm, 0.1)
    arm.supervisor.enable()
    tilting(arm, 1.3)
    assert arm.commands.stage is Stage.ON
    heard = []
    for _ in range(100):
        tilting(arm, arm.period)
        heard.append(arm.gravity)
        np.testing.assert_allclose(arm.last, arm.gravity, atol=1e-9)
        np.testing.assert_array_equal(arm.commands.remainder(arm.time), 0)
    assert np.ptp(heard, axis=0).max() > 5


def test_a_silent_imu_ends_commands_by_a_fault_that_names_it() -> None:
    arm = Arm(load_model(), base_motion='orientation')
    arm.run(0.1)
    with pytest.raises(ArgumentError, match='the motion of the base is not known: no reading of the IMU was accepted'):
        arm.supervisor.enable()
    tilting(arm, 0.2)
    arm.supervisor.enable()
    tilting(arm, 1.3)
    tilting(arm, 0.1, imu=False)
    assert arm.commands.stage is Stage.ON
    tilting(arm, 1.2, imu=False)
    assert arm.commands.stage is Stage.FAULT
    assert 'the motion of the base is not known: the last IMU reading came' in arm.commands.fault
    tilting(arm, 3.0)
    assert arm.commands.idle


def test_an_imu_that_comes_late_is_a_fault_as_late_joint_states_are() -> None:
    """Joint states without stamps cannot tell that the IMU's are old."""
    arm = Arm(load_model(), base_motion='orientation')
    tilting(arm, 0.2)
    arm.supervisor.enable()
    tilting(arm, 0.5)
    for late in np.linspace(0, 0.2, 40):
        arm.time += arm.period
        arm.engine.inputs.on_imu(reading('R0', LEVEL)._replace(stamp=arm.now - int(late * S), arrival=arm.now))
        torques = arm.engine.on_joint_state(arm.names, arm.q, arm.dq, np.empty(0), 0, arm.now)
        assert torques is not None
        arm.supervisor.on_torques(torques)
    assert arm.commands.stage is Stage.FAULT
    assert 'joint states of imu have an additional delay' in arm.commands.fault
