"""Robots whose firmware adds torques to a command: the motors get the total in sum, by whatever model it computes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import dynamics_of, urdf_text
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.firmware import Firmware, FirmwareTorque, without_beyond
from krang_dynamics_ros.simulation import simulated_robot
from krang_dynamics_ros.simulation.simulated_robot import SimulatedRobot
from krang_dynamics_ros.simulation.simulation import Simulation

from .test_command_supervisor import JOINTS, ORDER, Arm

TERMS = {'total_terms': ['gravity', 'coriolis'], 'command_limits': [1e4] * 7, 'command_limits_beyond_urdf': True}
ADDS: dict[str, Any] = {'robot__adds': ['gravity', 'coriolis'], **TERMS}


@pytest.fixture(scope='module')
def model() -> Model:
    return load_model()


def lighter(model: Model) -> str:
    """Return the URDF of the same arm as its vendor knows it: other masses."""
    robot = model.robot
    links = tuple(replace(x, inertia=replace(x.inertia, m=0.8 * x.inertia.m)) for x in robot.links)
    return urdf_text(replace(robot, links=links))


def on(arm: Arm) -> Arm:
    arm.run(0.1)
    arm.supervisor.enable()
    return arm.run(1.5)


def sums(arm: Arm, firmware: np.ndarray) -> np.ndarray:
    return np.asarray(arm.sent[-1] + firmware[ORDER])


@pytest.mark.parametrize('gravity', [(0.0, 0.0, -9.82), (0.0, 9.81, 0.0), (3.0, 0.0, -9.0)])
def test_the_motors_get_the_total_whatever_the_firmware_believes(
    model: Model,
    tmp_path: Path,
    rng: np.random.Generator,
    gravity: tuple[float, float, float],
) -> None:
    vendor = tmp_path / 'vendor.urdf'
    vendor.write_text(lighter(model))
    told = {'left__robot_payload__mass': 1.5, 'left__robot_payload__com': [0.0, 0.1, 0.05]}
    arm = Arm(model, robot__description=str(vendor), robot__gravity=list(gravity), **told, **ADDS)
    arm.dq = rng.uniform(-0.1, 0.1, 17)  # slower than what a position that stands contradicts
    on(arm)
    assert arm.commands.stage is Stage.ON
    by_vendor = dynamics_of(model.robot, lighter(model))
    by_vendor.gravity = np.array(gravity)
    by_vendor.payload = {'R10l': Inertia.about_com(1.5, np.array([0.0, 0.1, 0.05]), np.zeros((3, 3)))}
    added = by_vendor.Q(arm.q) + by_vendor.coriolis_torque(arm.q, arm.dq)
    ours = model.dynamics.Q(arm.q) + model.dynamics.coriolis_torque(arm.q, arm.dq)
    np.testing.assert_allclose(sums(arm, added), ours[ORDER], atol=1e-9)
    assert np.abs(added - ours).max() > 0.5


def test_nothing_is_sent_at_the_start_from_zero_and_at_the_end(model: Model) -> None:
    arm = on(Arm(model, **ADDS))
    arm.supervisor.disable()
    arm.run(1.2)
    assert not arm.sent[-1].any()


def test_a_start_from_measured_efforts_compares_sums(model: Model) -> None:
    """The sensors show all that the motors give; the command starts at what the firmware does not give."""
    arm = Arm(model, **ADDS)
    arm.effort = model.dynamics.Q(arm.q)
    arm.run(0.1)
    assert 'from the measured efforts' in arm.supervisor.enable()
    arm.run(0.01)
    assert np.abs(arm.sent[-1]).max() < 1e-9  # the firmware holds the arm already


def test_a_firmware_that_gives_gravity_needs_gravity_in_the_total(model: Model) -> None:
    arm = Arm(model, robot__adds=['gravity'], total_terms=['coriolis']).run(0.1)
    with pytest.raises(ArgumentError, match=r'robot\.adds contains gravity, total_terms does not'):
        arm.supervisor.enable()


def test_gravity_stays_in_the_total_while_the_firmware_adds_it(model: Model) -> None:
    """Without it -Q would be sent: the arm would fall."""
    arm = on(Arm(model, **ADDS))
    with pytest.raises(ArgumentError, match=r'robot\.adds contains gravity, total_terms does not'):
        arm.set(total_terms=['coriolis'])
    arm.set(total_terms=['gravity'])
    arm.supervisor.disable()
    arm.run(2.0)
    arm.set(total_terms=['coriolis'])  # while nothing goes out


def test_a_joint_without_effort_starts_from_no_command(model: Model) -> None:
    """What holds it until then is the firmware: zero in sum would be -Q from us."""
    arm = Arm(model, **ADDS)
    arm.effort = model.dynamics.Q(arm.q)
    arm.effort[ORDER[3]] = np.nan
    arm.run(0.1)
    assert abs(model.dynamics.Q(arm.q)[ORDER[3]]) > 1.0
    assert 'from the measured efforts' in arm.supervisor.enable()
    arm.run(0.01)
    assert np.abs(arm.sent[-1]).max() < 1e-9


def test_unknown_velocities_end_commands_where_the_firmware_adds_coriolis(model: Model) -> None:
    arm = on(
        Arm(
            model,
            robot__adds=['gravity', 'coriolis'],
            total_terms=['gravity'],
            **{'command_limits': [1e4] * 7, 'command_limits_beyond_urdf': True},
        )
    )
    arm.dq = np.full(17, np.nan)
    arm.run(0.3)
    assert 'torque/robot is not known' in arm.commands.fault


def test_the_answer_names_joints_where_the_two_gravities_differ(model: Model) -> None:
    arm = Arm(model, robot__gravity=[0.0, 9.81, 0.0], **ADDS).run(0.1)
    assert "the robot's own gravity torque differs from ours: " in arm.supervisor.enable()
    same = Arm(model, **ADDS).run(0.1)
    assert 'differs' not in same.supervisor.enable()


def test_two_gravities_differ_where_it_is_more_than_a_tenth_of_the_limit(model: Model) -> None:
    robot = model.robot
    firmware = FirmwareTorque(Settings({'robot.adds': ['gravity']}), robot.joint_names, urdf_text(robot), {})
    difference = firmware.gravity_difference(np.zeros(17), np.full(17, 3.0), np.full(17, 1e-9))
    k = max(difference, key=lambda joint: abs(difference[joint]))
    for share, large in ((0.09, False), (0.11, True)):
        limits = np.full(17, abs(difference[k]) / share)
        assert (k in firmware.gravity_difference(np.zeros(17), np.full(17, 3.0), limits)) == large


def test_the_answer_judges_no_joint_without_an_effort_limit() -> None:
    robot = load_model().robot
    unlimited = replace(
        robot, joints=tuple(replace(x, limits=replace(x.limits, effort=None)) if x.limits else x for x in robot.joints)
    )
    firmware = FirmwareTorque(Settings({'robot.adds': ['gravity']}), robot.joint_names, urdf_text(unlimited), {})
    assert firmware.gravity_difference(np.zeros(17), np.zeros(17), np.zeros(17)) == {}
    assert firmware.gravity_difference(np.zeros(17), np.zeros(17), np.full(17, 10.0)) != {}


def test_firmware_parameters_are_fixed_while_commands_are_sent(model: Model) -> None:
    arm = on(Arm(model, **ADDS))
    for name in ('robot__gravity', 'left__robot_payload__mass', 'robot__friction_share'):
        value = {'robot__gravity': [0.0, 0.0, -1.0], 'robot__friction_share': [0.5, 0.5]}.get(name, 2.0)
        with pytest.raises(ArgumentError, match='cannot change while commands are sent'):
            arm.set(**{name: value})


def test_friction_that_the_firmware_gives_is_left_out(model: Model) -> None:
    """Never subtracted: with the whole share nothing of it is sent, and never the opposite."""
    friction = {f'joints__{name}__{key}': 2.0 for name in model.dynamics.joint_names for key in ('viscous', 'coulomb')}
    sent = {}
    for share in (0.0, 0.5, 1.0):
        arm = Arm(
            model, robot__adds=['friction'], robot__friction_share=[share, share], total_terms=['friction'], **friction
        )
        arm.dq = np.full(17, 0.1)
        sent[share] = on(arm).sent[-1]
    np.testing.assert_allclose(sent[0.5], sent[0.0] / 2, atol=1e-9)
    assert not sent[1.0].any()
    assert (np.abs(sent[0.0]) > 1.0).all()


def test_links_beyond_the_flange_are_not_in_the_firmware(model: Model) -> None:
    bare = without_beyond(model.robot, ['R9l'])
    assert bare.mass == pytest.approx(model.robot.mass - model.robot.link_of['R10l'].inertia.m)
    assert 'q_7l' not in bare.joint_names
    firmware = Firmware(model.robot, model.dynamics.joint_names, ['R9l'], ('gravity',))
    q = np.linspace(-1, 1, 17)
    torque = firmware.torque(q, None)
    assert torque is not None
    assert torque[9] == 0.0
    assert abs(torque[3] - model.dynamics.Q(q)[3]) > 1e-3


def test_limits_hold_for_the_sum_and_for_the_command(model: Model) -> None:
    arm = Arm(model, robot__adds=['gravity'])
    on(arm)
    limits = np.array([model.robot.joint_above[f'R{k + 3}l'].limits.effort for k in range(1, 8)])
    added = model.dynamics.Q(arm.q)
    assert (np.abs(sums(arm, added)) <= limits + 1e-9).all() or (np.abs(arm.sent[-1]) <= limits).all()


WALL = (0.0, 9.81, 0.0)


def travel(monkeypatch: pytest.MonkeyPatch, gravity: tuple[float, float, float], **given: Any) -> float:
    """Return how far an arm with upright firmware moves when its controller is activated, commands being enabled."""
    monkeypatch.setattr(simulated_robot, 'MAX_COMPUTATION', 60.0)  # however slow the machine
    truth = replace(load_model().robot, gravity=np.array(gravity))
    names = truth.joint_names
    simulated = SimulatedRobot(Simulation(truth), timeout=0.1, brakes=True, command_joints=JOINTS)
    simulated.firmware = FirmwareTorque(Settings({'robot.adds': ['gravity']}), names, urdf_text(truth), {})
    arm = Arm(load_model(), gravity=list(gravity), **given)
    simulated.set_positions(list(names), list(arm.q))
    start = simulated.simulation.q
    for k in range(600):  # brakes open after 2 s at the latest
        arm.q, arm.dq = simulated.simulation.q, simulated.simulation.dq
        arm.time += 0.01
        arm.state()
        if k == 20:
            arm.supervisor.enable()
            arm.supervisor.on_acknowledged(arm.commands.starts)
        if k >= 200 and arm.sent[-1] is not None:
            simulated.on_command(arm.sent[-1])
        simulated.advance(0.01, [])
    return float(np.abs(simulated.simulation.q - start).max())


@pytest.mark.parametrize('gravity', [pytest.param((0.0, 0.0, -9.81), marks=pytest.mark.slow), WALL])
def test_an_arm_stays_where_it_is_when_its_controller_is_activated(
    monkeypatch: pytest.MonkeyPatch, gravity: tuple[float, float, float]
) -> None:
    limits = {'command_limits': [1e4] * 7, 'command_limits_beyond_urdf': True}
    assert travel(monkeypatch, gravity, robot__adds=['gravity'], **limits) < 0.05
    assert travel(monkeypatch, gravity, **limits) > 0.5  # gravity twice: it flies up
