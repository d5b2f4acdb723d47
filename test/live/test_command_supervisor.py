"""Commands from messages, parameters and subscribers, without DDS: what may begin, what must end, and what is quiet."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.parameters import Settings
from krang_dynamics_ros.core.wrench import Wrench
from krang_dynamics_ros.dynamics.factory import Model, load_model, model_of
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.dynamics.terms import Torques
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.controller_watch import NAME_TIMEOUT, Endpoint
from krang_dynamics_ros.live.engine import Engine
from krang_dynamics_ros.live.parameters import MODEL
from krang_dynamics_ros.live.timeline import Clocks
from krang_dynamics_ros.robot.urdf_reader import read_description

JOINTS = ['q_1l', 'q_2l', 'q_3l', 'q_4l', 'q_5l', 'q_6l', 'q_7l']
ORDER = [3, 4, 5, 6, 7, 8, 9]
CONTROLLER, RECORDER = Endpoint('c1', '/arm_effort_controller'), Endpoint('r1', '/rosbag2_recorder')
OUT = {'q_w': 0.6, 'q_2l': -1.5}  # the left arm is stretched out there
LEFT_HELD = np.array([0.0, 0.0, 20.0])


@pytest.fixture(scope='module')
def model() -> Model:
    return load_model()


class Arm:
    """An engine with one controller, whose clocks and messages a test makes: 100 joint states a second."""

    def __init__(self, model: Model, period: float = 0.01, **given: Any) -> None:
        self.time, self.period = 1000.0, period
        values = {'command_joints': JOINTS} | {name.replace('__', '.'): value for name, value in given.items()}
        self.settings = Settings(values)
        self.settings.declare(MODEL)
        self.engine = Engine(self.settings, model, Clocks(*3 * [lambda: self.time]))
        self.supervisor, self.commands = self.engine.supervisor, self.engine.supervisor.commands
        self.names = model.dynamics.joint_names
        self.q, self.dq = np.array([OUT.get(name, 0.0) for name in self.names]), np.zeros(17)
        self.effort: Any = np.empty(0)
        self.supervisor.on_endpoints([CONTROLLER])
        self.sent: list[Any] = []
        self.acknowledges = True  # whether all subscribers acknowledge what is sent, at once

    @property
    def now(self) -> int:
        return round(self.time * 1e9)

    def set(self, **changes: Any) -> None:
        values = {name.replace('__', '.'): value for name, value in changes.items()}
        self.settings.check(values)
        self.settings.update(values)

    def state(self) -> Any:
        torques = self.engine.on_joint_state(self.names, self.q, self.dq, self.effort, self.now, self.now)
        command = self.supervisor.on_torques(torques) if torques is not None else self.supervisor.tick()
        self.sent.append(None if command is None else command.copy())
        return torques

    def run(self, seconds: float, states: bool = True, wrench: Any = None) -> Arm:
        for k in range(round(seconds / self.period)):
            if self.acknowledges:
                self.supervisor.on_acknowledged(self.commands.starts)
            self.time += self.period
            if wrench is not None and (force := wrench(k)) is not None:
                self.engine.inputs.on_wrench('left', '', force, np.zeros(3), self.now, self.now)
            if states:
                self.state()
            else:
                command = self.supervisor.tick()
                self.sent.append(None if command is None else command.copy())
        return self

    def on(self) -> Arm:
        """Enable commands from zero and wait until they are on."""
        self.run(0.1)
        self.supervisor.enable()
        return self.run(1.3)

    @property
    def gravity(self) -> np.ndarray:
        return self.engine.dynamics.Q(self.q)[ORDER]

    @property
    def last(self) -> np.ndarray:
        return self.sent[-1]


def refused(arm: Arm, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        arm.supervisor.enable()
    assert arm.commands.idle


# Enabling -------------------------------------------------------------------------------------------------------------


def test_enabling_names_the_controller_and_what_it_starts_from(model: Model) -> None:
    arm = Arm(model).run(0.1)
    arm.supervisor.on_controller_joints(CONTROLLER.node, tuple(JOINTS))
    waits = 'zeros are sent until all subscribers have acknowledged one'
    assert arm.supervisor.enable() == f'enabled for /arm_effort_controller; from zero; {waits}'
    assert arm.settings['command_enabled'] is True
    arm.run(1.3)
    np.testing.assert_allclose(arm.last, arm.gravity)
    assert arm.supervisor.enable() == 'enabled already'


def test_commands_wait_for_an_acknowledgement_and_diagnostics_say_so(model: Model) -> None:
    arm = Arm(model).run(0.1)
    arm.acknowledges = False
    arm.supervisor.enable()
    arm.run(1.0)
    status = arm.supervisor.status()
    assert status.message == 'rising; zeros are sent until all subscribers have acknowledged one'
    assert status.values['waits for acknowledgement'] == 'yes'
    assert not arm.last.any()
    arm.supervisor.on_acknowledged(arm.commands.starts)
    assert arm.supervisor.status().message == 'rising'
    assert arm.supervisor.status().values['waits for acknowledgement'] == 'no'
    arm.run(1.3)
    np.testing.assert_allclose(arm.last, arm.gravity)


def test_the_travel_at_the_start_begins_with_the_ramp(model: Model) -> None:
    """A person moves the arm while zeros are sent."""
    arm = Arm(model).run(0.1)
    arm.acknowledges = False
    arm.supervisor.enable()
    for _ in range(50):
        arm.q[3] += 0.003 * np.sign(arm.gravity[0])
        arm.run(0.01)
    arm.acknowledges = True
    arm.run(1.3)
    assert arm.commands.stage is Stage.ON, arm.commands.fault


def test_measured_efforts_wait_for_no_acknowledgement(model: Model) -> None:
    arm = with_effort(model, 0.9)
    arm.acknowledges = False
    assert 'acknowledged' not in arm.supervisor.enable()
    arm.run(1.3)
    np.testing.assert_allclose(arm.last, arm.gravity)


def test_a_parameter_reads_and_ends_but_never_enables(model: Model) -> None:
    arm = Arm(model, command_enabled=True).run(0.2)
    assert arm.supervisor.enabled_in_file
    assert arm.settings['command_enabled'] is False
    assert arm.commands.idle
    with pytest.raises(ArgumentError, match='the service effort_commands/enable enables'):
        arm.set(command_enabled=True)
    arm.on()
    arm.set(command_enabled=False)
    assert arm.commands.stage is Stage.FALLING
    arm.run(2.0)
    assert arm.commands.idle


def test_a_file_can_forbid(model: Model) -> None:
    refused(Arm(model, command_allowed=False).run(0.1), 'command_allowed is false')


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ({'command_joints': ['']}, 'no joints to command'),
        ({'command_limits': [0.0, *[1.0] * 6]}, 'no effort limit is known for q_1l'),
        ({'total_terms': ['gravity', 'wrench', 'friction'], 'blind': True}, 'no velocities for friction'),
    ],
)
def test_enabling_is_refused_where_a_check_fails(model: Model, given: dict[str, Any], words: str) -> None:
    blind = given.pop('blind', False)
    arm = Arm(model, **given)
    if blind:
        arm.dq = np.empty(0)
    refused(arm.run(0.1), words)


def test_joint_states_must_come_first_and_be_fresh(model: Model) -> None:
    arm = Arm(model)
    refused(arm, 'publish joint states first')
    arm.run(0.1)
    arm.time += 0.11
    refused(arm, 'no complete joint state for 0.11 s')


def test_stamps_of_another_clock_are_refused_unless_the_user_says_so(model: Model) -> None:
    for given in ({}, {'state_clock': 'other'}):
        arm = Arm(model, **given)
        arm.supervisor.clocks = arm.supervisor.clocks._replace(stamp=lambda arm=arm: arm.time + 5.0)
        arm.run(0.1)
        if given:
            assert 'enabled' in arm.supervisor.enable()
        else:
            refused(arm, 's behind this clock')


def test_degrees_for_radians_are_refused(model: Model) -> None:
    arm = Arm(model)
    arm.q = np.degrees(arm.q)
    refused(arm.run(0.3), 'q_2l is at -85.94, its limits are')


def test_a_joint_just_outside_its_limits_is_ordinary(model: Model) -> None:
    arm = Arm(model)
    arm.q[1] = -0.05  # q_w, from 0 on
    arm.on()
    assert not arm.commands.fault
    for _ in range(45):
        arm.q[1] -= 0.01
        arm.run(0.01)
    assert 'q_w is at -0.5' in arm.supervisor.status().message
    assert arm.commands.stage is Stage.ON


# Measured efforts -----------------------------------------------------------------------------------------------------


def with_effort(model: Model, factor: float, **given: Any) -> Arm:
    arm = Arm(model, **given)
    arm.effort = factor * arm.engine.dynamics.Q(arm.q)
    return arm.run(0.1)


def test_plausible_efforts_are_where_commands_begin(model: Model) -> None:
    arm = with_effort(model, 0.9)
    assert 'from the measured efforts' in arm.supervisor.enable()
    arm.run(0.01)
    np.testing.assert_allclose(arm.last, (0.9 + 0.1 * 0.01) * arm.gravity, rtol=1e-6)


@pytest.mark.parametrize(
    ('factor', 'words'),
    [(-1.0, 'q_1l has a measured effort of -.*the opposite sign'), (1000.0, 'q_1l has.*away. Check sign, unit')],
)
def test_efforts_that_cannot_be_are_refused_with_both_numbers(model: Model, factor: float, words: str) -> None:
    arm = with_effort(model, factor)
    refused(arm, words)
    arm.set(command_start='zero')
    assert 'from zero' in arm.supervisor.enable()


def test_efforts_of_nothing_are_not_measured_or_brakes_hold(model: Model) -> None:
    arm = with_effort(model, 0.0)
    assert 'from zero: efforts are not measured, or brakes hold' in arm.supervisor.enable()


def test_an_external_torque_is_not_what_drives_the_joint(model: Model) -> None:
    assert 'from zero' in with_effort(model, 0.95, effort_source='external').supervisor.enable()


def test_amperes_are_made_newton_metres(model: Model) -> None:
    scales = {f'joints__{name}__effort_scale': -2.0 for name in JOINTS}
    assert 'from the measured efforts' in with_effort(model, -0.5, **scales).supervisor.enable()


def test_the_offset_of_a_sensor_is_no_torque_to_begin_from() -> None:
    arm = Arm(load_model(), **{f'joints__{name}__effort_offset': 6.0 for name in JOINTS})
    arm.effort = arm.engine.dynamics.Q(arm.q) + 6.0
    arm.run(0.1).supervisor.enable()
    arm.run(0.01)
    np.testing.assert_allclose(arm.last, arm.gravity, atol=1e-9)


def test_a_joint_without_effort_begins_at_zero(model: Model) -> None:
    arm = Arm(model)
    arm.effort = arm.engine.dynamics.Q(arm.q)
    arm.effort[4] = np.nan
    arm.run(0.1).supervisor.enable()
    arm.run(0.01)
    assert abs(arm.last[1]) <= 0.02 * abs(arm.gravity[1]) + 1e-9
    np.testing.assert_allclose(arm.last[0], arm.gravity[0])


# When the pose is not known -------------------------------------------------------------------------------------------


def test_after_a_reset_nothing_is_known(model: Model) -> None:
    arm = Arm(model).run(0.1)
    arm.supervisor.on_reset()
    refused(arm, 'publish joint states first')
    arm.run(0.1).supervisor.enable()
    assert arm.commands.enabled


def test_the_joints_that_are_silent_are_named(model: Model) -> None:
    arm = Arm(model).run(0.1)
    for _ in range(100):
        arm.time += 0.01
        arm.engine.on_joint_state(arm.names[:-1], arm.q[:-1], arm.dq[:-1], np.empty(0), arm.now, arm.now)
    refused(arm, f's, must be at most [0-9.]+ s: {arm.names[-1]}$')


@pytest.mark.parametrize(('ahead', 'age'), [(0.0, 0.03), (100.0, 0.0), (-100.0, 0.0)])
def test_the_age_of_a_state_is_by_its_stamp_or_if_the_clocks_differ_by_its_excess_delay(
    model: Model, ahead: float, age: float
) -> None:
    arm = Arm(model)
    arm.supervisor.clocks = arm.supervisor.clocks._replace(stamp=lambda: arm.time + ahead)

    def received(delay: float) -> float:
        arm.time += 0.01
        stamp = arm.now - round(delay * 1e9)
        torques = arm.engine.on_joint_state(arm.names, arm.q, arm.dq, np.empty(0), stamp, arm.now)
        return arm.engine.guiding.loop.age_of(torques.state)

    assert [received(0.03) for _ in range(3)] == pytest.approx([age] * 3, abs=1e-6)
    assert received(0.035) == pytest.approx(age + 0.005, abs=1e-4)


def test_a_state_is_as_old_as_its_oldest_joint_and_the_low_pass_of_its_velocities(model: Model) -> None:
    arm = Arm(model, velocity_source='position', velocity_cutoff=20.0).run(0.1)
    arm.time += 0.01
    torques = arm.engine.on_joint_state(arm.names[:9], arm.q[:9], arm.dq[:9], np.empty(0), arm.now, arm.now)
    low_pass = 1 / (2 * np.pi * 20.0)
    assert arm.engine.guiding.loop.age_of(torques.state) == pytest.approx(0.01 + low_pass, abs=1e-6)


def test_with_clocks_that_differ_the_latest_of_several_messages_counts(model: Model) -> None:
    arm = Arm(model)
    arm.supervisor.clocks = arm.supervisor.clocks._replace(stamp=lambda: arm.time + 100.0)
    for late in (0.0, 0.0, 0.005):  # s, of the second message
        arm.time += 0.01
        for part, delay in ((slice(0, 9), 0.0), (slice(9, None), late)):
            names, q, dq = arm.names[part], arm.q[part], arm.dq[part]
            stamp = arm.now - round(delay * 1e9)
            torques = arm.engine.on_joint_state(names, q, dq, np.empty(0), stamp, arm.now)
    assert arm.engine.guiding.loop.age_of(torques.state) == pytest.approx(0.005, abs=1e-4)


def test_a_wrench_that_is_not_finite_is_no_part_of_commands(model: Model) -> None:
    arm = Arm(model, total_terms=['gravity', 'wrench'])
    state = State(arm.q, arm.dq, (Wrench.of('R10l', np.full(6, np.nan)), Wrench('R10r', (0.0, 0.0, 5.0))))
    contributions, *_ = arm.supervisor.contributions.of(Torques(arm.engine.guiding.terms, state), arm.time)
    assert {*contributions} == {'gravity', 'wrench 1'}


# Parameters that are fixed --------------------------------------------------------------------------------------------


def other(name: str, value: Any) -> Any:
    """Return another value of a parameter."""
    if isinstance(value, (bool, str)):
        return {'velocity_source': 'position'}.get(name, 'R10l') if isinstance(value, str) else not value
    if name == 'command_rate_limits':
        return [500.0] * len(value)
    return [0.9 * x + 0.01 for x in value] if isinstance(value, list) else 0.9 * value + 0.01


def test_parameters_that_are_fixed_while_commands_are_sent_are_refused_until_they_are_off(model: Model) -> None:
    arm = Arm(model).on()
    fixed = arm.settings.fixed_while_on
    assert {'command_limits', 'velocity_cutoff', 'robot.gravity', 'left.sensor.frame', 'joints.q_1l.command_scale'} <= {
        *fixed
    }
    for name in fixed:
        change = {name: other(name, arm.settings[name])}
        with pytest.raises(ArgumentError, match=f'^{name} cannot change while commands are sent; disable first'):
            arm.settings.check(change)
    arm.supervisor.disable()
    arm.run(3.0)
    for name in fixed:
        arm.settings.check({name: other(name, arm.settings[name])})


# Whom for -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'there', 'words'),
    [
        ('', [], 'no controller subscribes'),
        ('', [RECORDER], 'no controller subscribes'),
        ('', [CONTROLLER, Endpoint('d', '/other')], r'2 subscriptions.*command_controller'),
        ('', [CONTROLLER, Endpoint('d', '')], 'name is not known yet'),
        ('', [CONTROLLER._replace(mismatch='volatile')], 'arm_effort_controller cannot receive .*: volatile'),
        ('leg', [CONTROLLER], 'command_controller leg does not subscribe.*arm_effort_controller'),
        ('/ns/arm_effort_controller', [CONTROLLER], 'does not subscribe'),
        ('arm_effort_controller', [CONTROLLER, CONTROLLER._replace(gid='c2')], '2 subscriptions of arm_effort'),
    ],
)
def test_none_or_several_controllers_are_refused_with_their_names(
    model: Model, name: str, there: list[Endpoint], words: str
) -> None:
    arm = Arm(model, command_controller=name).run(0.1)
    arm.supervisor.on_endpoints(there)
    refused(arm, words)


@pytest.mark.parametrize('name', ['', 'arm_effort_controller', '/arm_effort_controller'])
def test_tools_do_not_count_and_a_name_decides(model: Model, name: str) -> None:
    arm = Arm(model, command_controller=name).run(0.1)
    others = [Endpoint('o', '/other')] if name else []
    tools = [
        RECORDER,
        Endpoint('t', '/_ros2cli_4711'),
        Endpoint('p', '/plotjuggler'),
        Endpoint('f', '/foxglove_bridge'),
    ]
    arm.supervisor.on_endpoints([CONTROLLER, *tools, *others])
    assert 'enabled for /arm_effort_controller' in arm.supervisor.enable()
    arm.run(0.5)
    arm.supervisor.on_endpoints([CONTROLLER, *others, Endpoint('t2', '/_ros2cli_4712')])
    arm.run(1.0)
    assert arm.commands.stage is Stage.ON


def test_a_subscriber_without_a_name_counts_after_a_while(model: Model) -> None:
    arm = Arm(model).run(0.1)
    arm.supervisor.on_endpoints([Endpoint('x', '')])
    refused(arm, 'try again')
    arm.run(NAME_TIMEOUT + 0.01)
    arm.supervisor.on_endpoints([Endpoint('x', '')])
    assert 'enabled' in arm.supervisor.enable()


def test_a_newcomer_without_a_name_is_waited_for_and_one_with_a_tools_name_is_none(model: Model) -> None:
    arm = Arm(model).on()
    for name in ('', '/rosbag2_player', ''):
        arm.supervisor.on_endpoints([CONTROLLER, Endpoint('n', name)])
        arm.run(2.0)
        arm.supervisor.on_endpoints([CONTROLLER])
    assert arm.commands.stage is Stage.ON
    for _ in range(32):
        arm.supervisor.on_endpoints([CONTROLLER, Endpoint('n', '')])
        arm.run(0.1)
    assert 'name is not known yet subscribed as well' in arm.commands.fault


def test_the_name_of_a_tool_counts_and_not_its_namespace(model: Model) -> None:
    for name in ('/rqt/arm_effort_controller', '/my_rqt', '/arm_rosbag2'):
        arm = Arm(model).run(0.1)
        arm.supervisor.on_endpoints([Endpoint('c', name)])
        assert f'enabled for {name}' in arm.supervisor.enable()
    for name in (
        '/rosbag2_recorder',
        '/ns/_ros2cli_1',
        '/krang_record',
        '/rqt_gui_py_node_1',
        '/PlotJuggler',
        '/foxglove_bridge',
    ):
        arm = Arm(model).run(0.1)
        arm.supervisor.on_endpoints([Endpoint('c', name)])
        refused(arm, 'no controller subscribes')


def test_a_name_is_a_whole_name_and_a_tool_can_be_no_controller(model: Model) -> None:
    for name, there, words in (
        ('controller', '/arm_effort_controller', 'does not subscribe'),
        ('/effort', '/arm/effort', 'does not subscribe'),
        ('rosbag2_recorder', '/rosbag2_recorder', 'does not subscribe'),
    ):
        arm = Arm(model, command_controller=name).run(0.1)
        arm.supervisor.on_endpoints([Endpoint('c', there)])
        refused(arm, words)
    arm = Arm(model, command_controller='effort').run(0.1)
    arm.supervisor.on_endpoints([Endpoint('c', '/arm/effort')])
    assert 'enabled for /arm/effort' in arm.supervisor.enable()


@pytest.mark.parametrize('given', ['', 'arm_effort_controller'])
def test_a_controller_of_the_same_name_that_takes_its_place_gets_nothing(model: Model, given: str) -> None:
    arm = Arm(model, command_controller=given).on()
    arm.supervisor.on_endpoints([CONTROLLER._replace(gid='c2')])
    assert arm.commands.idle
    arm = Arm(model, command_controller=given).on()
    arm.supervisor.on_endpoints([CONTROLLER, CONTROLLER._replace(gid='c2')])
    assert 'a second subscription of /arm_effort_controller' in arm.commands.fault


def test_a_controller_without_a_name_is_not_confused_with_a_tool_whose_name_comes_late(model: Model) -> None:
    arm = Arm(model).run(0.1)
    nameless = Endpoint('c', '')
    arm.supervisor.on_endpoints([nameless])
    arm.run(NAME_TIMEOUT + 0.1)
    arm.supervisor.on_endpoints([nameless])
    arm.supervisor.enable()
    arm.run(1.5)
    arm.supervisor.on_endpoints([nameless, Endpoint('t', '')])
    arm.run(1.0)
    arm.supervisor.on_endpoints([nameless, Endpoint('t', '/_ros2cli_12')])
    assert arm.commands.stage is Stage.ON


def test_after_the_controller_left_a_new_subscriber_does_not_change_the_fault(model: Model) -> None:
    arm = Arm(model).on()
    arm.supervisor.on_endpoints([])
    arm.supervisor.on_endpoints([Endpoint('n', '/newcomer')])
    assert arm.commands.fault == '/arm_effort_controller left'
    assert arm.commands.idle


def test_commands_are_in_the_order_of_command_joints(model: Model) -> None:
    joints = ['q_7l', 'q_2l', 'q_4l', 'q_1l']
    arm = Arm(model, command_joints=joints).on()
    whole = arm.engine.dynamics.Q(arm.q)
    np.testing.assert_allclose(arm.last, [whole[arm.names.index(name)] for name in joints])


def test_a_joint_is_endless_where_its_limits_are_equal(model: Model) -> None:
    text = model.urdf
    for name in ('q_1l', 'q_2l'):
        before, after = text.split(f'<joint name="{name}"', 1)
        joint, rest = after.split('</joint>', 1)
        joint = re.sub('(lower|upper)="[^"]*"', r'\1="0"', joint)
        text = f'{before}<joint name="{name}"{joint}</joint>{rest}'
    joints = Arm(model_of(read_description(text), 'pinocchio')).supervisor.joints
    far = np.full(17, 2 * np.pi)
    moved = joints.moved(far, np.zeros(17))
    np.testing.assert_allclose(moved[:2], 0, atol=1e-9)
    assert np.isinf(joints.position[:, [3, 4]]).all()
    limited = ~np.isinf(joints.position[0, ORDER])
    np.testing.assert_allclose(moved[limited], 2 * np.pi)
    assert limited[2:].any()


@pytest.mark.parametrize(('endless', 'way'), [(True, 0.02), (False, 2 * np.pi + 0.02)])
def test_a_turn_of_a_joint_without_ends_is_no_travel(model: Model, endless: bool, way: float) -> None:
    joints = Arm(model).supervisor.joints
    joints._turns = np.full(7, endless)
    q = np.zeros(17)
    far = q.copy()
    far[3] = 2 * np.pi + 0.02
    assert joints.moved(far, q)[0] == pytest.approx(way)
    assert joints.moved(q, far)[0] == pytest.approx(-way)


def test_joints_of_a_controller_that_has_not_answered_are_not_called_missing(model: Model) -> None:
    answer = Arm(model).run(0.1).supervisor.enable()
    assert 'could not be checked: its node has not answered' in answer
    assert 'no parameter' not in answer


def test_its_joints_must_be_ours_in_our_order(model: Model) -> None:
    arm = Arm(model).run(0.1)
    arm.supervisor.on_controller_joints(CONTROLLER.node, tuple(reversed(JOINTS)))
    refused(arm, r'has joints \[q_7l, .*same order')
    arm.supervisor.on_controller_joints(CONTROLLER.node, None)
    assert 'could not be checked: it has no parameter `joints`' in arm.supervisor.enable()
    arm.supervisor.on_controller_joints(CONTROLLER.node, ('q_1l',))
    assert 'must be equal to command_joints' in arm.commands.fault


def test_a_controller_that_leaves_ends_commands_at_once_and_its_return_takes_them_to_zero(model: Model) -> None:
    arm = Arm(model).on()
    held = arm.last
    arm.supervisor.on_endpoints([RECORDER])
    assert arm.run(0.2).last is None
    assert arm.commands.fault == '/arm_effort_controller left'
    assert arm.settings['command_enabled'] is False
    arm.supervisor.on_endpoints([RECORDER, CONTROLLER])
    arm.run(0.01)
    np.testing.assert_allclose(arm.last, 0.99 * held)
    arm.run(2.0)
    assert arm.commands.idle


def test_a_controller_started_again_begins_with_a_ramp(model: Model) -> None:
    arm = Arm(model).on()
    arm.supervisor.on_endpoints([CONTROLLER, CONTROLLER._replace(gid='c2')])
    assert arm.commands.stage is Stage.FAULT
    arm.run(3.0)
    arm.supervisor.on_endpoints([CONTROLLER._replace(gid='c2')])
    arm.supervisor.enable()
    arm.run(0.01)
    assert np.abs(arm.last).max() <= 0.011 * np.abs(arm.gravity).max()


@pytest.mark.parametrize('name', ['', 'arm_effort_controller'])
def test_a_further_subscriber_is_a_fault_where_no_name_was_given(model: Model, name: str) -> None:
    arm = Arm(model, command_controller=name).on()
    arm.supervisor.on_endpoints([CONTROLLER, Endpoint('n', '/newcomer')])
    assert (arm.commands.stage is Stage.FAULT) == (not name)


def test_another_publisher_is_named_and_both_do_not_drive(model: Model) -> None:
    arm = Arm(model).on()
    arm.supervisor.on_other_publishers(['/other'])
    assert arm.commands.fault == 'effort_commands are published by /other too; stop all publishers but one'
    arm.run(3.0)
    refused(arm, 'are published by /other too')
    arm.supervisor.on_other_publishers([])
    assert 'enabled' in arm.supervisor.enable()


# What must end them ---------------------------------------------------------------------------------------------------


def test_joint_states_that_stop_are_a_fault_and_their_return_changes_nothing(model: Model) -> None:
    arm = Arm(model).on()
    arm.run(0.12, states=False)
    assert 'no complete joint state' in arm.commands.fault
    arm.run(3.0)
    assert arm.commands.idle
    assert arm.settings['command_enabled'] is False


def test_a_term_that_becomes_unknown_is_kept_for_the_timeout_and_then_a_fault(model: Model) -> None:
    arm = Arm(model, total_terms=['gravity', 'coriolis']).on()
    arm.dq = np.empty(0)
    arm.run(0.08)
    assert arm.commands.stage is Stage.ON
    arm.run(0.05)
    assert arm.commands.fault == 'torque/total is not known: no velocities for coriolis'


def test_simulated_time_that_stands_still_is_a_silence(model: Model) -> None:
    arm = Arm(model)
    simulated = 5.0
    arm.supervisor.clocks = arm.supervisor.clocks._replace(arrival=lambda: simulated)
    arm.on()
    arm.run(0.9, states=False)
    assert arm.commands.stage is Stage.ON
    arm.run(0.2, states=False)
    assert 'no complete joint state' in arm.commands.fault


def test_time_that_goes_back_is_a_fault(model: Model) -> None:
    arm = Arm(model).on()
    arm.engine.inputs.forget(arm.now)
    assert arm.commands.stage is Stage.FAULT


@pytest.mark.parametrize('direction', [1.0, -1.0])
def test_a_joint_that_the_rise_moves_its_way_is_a_fault(model: Model, direction: float) -> None:
    arm = Arm(model).run(0.1)
    arm.supervisor.enable()
    for _ in range(50):
        arm.q[3] += 0.003 * direction * np.sign(arm.gravity[0])
        arm.run(0.01)
    assert ('q_1l moved by' in arm.commands.fault) == (direction > 0)


def test_enabling_again_and_again_does_not_hide_a_joint_that_the_rise_moves(model: Model) -> None:
    arm = Arm(model).run(0.1)
    arm.supervisor.enable()
    for k in range(80):
        arm.q[3] += 0.003 * np.sign(arm.gravity[0])
        arm.run(0.01)
        if k == 20:
            arm.supervisor.disable()
            arm.supervisor.enable()
    assert 'q_1l moved by' in arm.commands.fault


def test_enabled_again_after_an_hour_only_what_moves_from_then_on_counts(model: Model) -> None:
    arm = Arm(model).on()
    for _ in range(100):
        arm.q[3] += 0.003 * np.sign(arm.gravity[0])
        arm.run(0.01)
    arm.supervisor.disable()
    arm.run(0.3)
    arm.supervisor.enable()
    arm.run(0.5)
    assert arm.commands.stage is Stage.ON


def test_a_joint_that_slides_may_move_a_tenth_in_metres(model: Model) -> None:
    arm = Arm(model)
    arm.supervisor.joints.prismatic[3] = True
    arm.run(0.1).supervisor.enable()
    for _ in range(6):
        arm.q[3] += 0.002 * np.sign(arm.gravity[0])
        arm.run(0.01)
    assert 'q_1l moved by' in arm.commands.fault


def test_efforts_of_an_old_state_are_not_held_against_what_was_sent_since(model: Model) -> None:
    arm = with_effort(model, 1.0, state_timeout=5.0, command_ramp=3.0)
    arm.supervisor.enable()
    arm.run(3.5)
    arm.supervisor.disable()
    arm.run(3.4, states=False)
    assert not arm.commands.fault


def test_a_drive_that_stops_obeying_is_a_fault(model: Model) -> None:
    arm = with_effort(model, 1.0)
    arm.supervisor.enable()
    arm.run(1.5)
    arm.effort = np.zeros(17)
    arm.run(0.4)
    assert arm.commands.stage is Stage.ON
    arm.run(0.2)
    assert 'q_1l does not obey' in arm.commands.fault


def test_joint_states_that_stop_while_commands_fall_are_a_fault(model: Model) -> None:
    arm = Arm(model).on()
    arm.supervisor.disable()
    arm.run(0.2, states=False)
    assert 'no complete joint state' in arm.commands.fault


def test_enabled_while_they_fall_measured_efforts_are_not_asked(model: Model) -> None:
    arm = with_effort(model, 1.0)
    arm.supervisor.enable()
    arm.run(1.5)
    arm.supervisor.disable()
    arm.run(0.3)
    arm.effort = -0.5 * arm.effort
    arm.run(0.01)
    assert arm.supervisor.enable().startswith('enabled for /arm_effort_controller; the order')


def test_while_they_fall_they_can_be_enabled_for_the_same_controller_only(model: Model) -> None:
    arm = Arm(model, command_controller='arm_effort_controller').on()
    arm.supervisor.disable()
    arm.run(0.3)
    other = Endpoint('o', '/ns/arm_effort_controller')
    arm.supervisor.controllers.endpoints = {other.gid: other}
    with pytest.raises(ArgumentError, match='commands still fall for /arm_effort_controller'):
        arm.supervisor.enable()
    arm.supervisor.on_endpoints([CONTROLLER])
    assert 'enabled' in arm.supervisor.enable()


def test_efforts_that_stay_at_zero_are_no_drive_that_does_not_obey(model: Model) -> None:
    arm = with_effort(model, 0.0).on()
    arm.run(2.0)
    assert arm.commands.stage is Stage.ON


def test_each_enabling_sees_anew_whether_the_drive_follows(model: Model) -> None:
    arm = with_effort(model, 1.0)
    arm.supervisor.enable()
    arm.run(1.5)
    arm.supervisor.disable()
    arm.run(2.0)
    arm.effort = np.zeros(17)  # brakes hold now
    arm.run(0.01)
    assert 'brakes hold' in arm.supervisor.enable()
    arm.run(3.0)
    assert arm.commands.stage is Stage.ON


def test_efforts_are_judged_by_the_urdfs_limits_or_the_commands_where_it_has_none(model: Model) -> None:
    arm = with_effort(model, 0.9, command_limits=[20.0] * 6 + [10.0])
    assert 'from the measured efforts' in arm.supervisor.enable()  # 8 N m off: 0.07 of the URDF's limit
    arm = with_effort(model, 0.9, command_limits=[20.0] * 6 + [10.0])
    arm.supervisor.joints.effort = np.zeros(17)
    refused(arm, 'q_1l has a measured effort of .* away')
    arm = with_effort(model, 0.97, command_limits=[20.0] * 6 + [10.0])
    arm.supervisor.joints.effort = np.zeros(17)
    assert 'from the measured efforts' in arm.supervisor.enable()


def test_the_joints_of_another_node_end_nothing(model: Model) -> None:
    arm = Arm(model).on()
    arm.supervisor.on_controller_joints('/other', ('x',))
    arm.supervisor.on_controller_joints(CONTROLLER.node, tuple(JOINTS))
    assert arm.commands.stage is Stage.ON


def test_after_time_went_back_nothing_of_before_counts(model: Model) -> None:
    arm = Arm(model).run(0.1)
    arm.supervisor.on_reset()
    refused(arm, 'publish joint states first')


def test_a_warning_is_reported_while_it_holds(model: Model) -> None:
    arm = Arm(model, command_limits=[5.0] * 7).on()
    assert 'q_1l is cut to its limit 5' in arm.supervisor.status().message
    assert arm.supervisor.status().message == 'on'  # no command went out since


def test_positions_and_velocities_are_compared_while_commands_go_out(model: Model) -> None:
    arm = Arm(model).run(0.1)
    assert not arm.engine.inputs.checks.compares_velocities
    arm.supervisor.enable()
    assert arm.engine.inputs.checks.compares_velocities
    arm.run(1.3)
    arm.supervisor.disable()
    assert arm.engine.inputs.checks.compares_velocities
    arm.run(3.0)
    assert not arm.engine.inputs.checks.compares_velocities


@pytest.mark.parametrize('clock', ['same', 'other'])
def test_stamps_far_from_this_clock_are_refused_unless_another_clock_is_named(model: Model, clock: str) -> None:
    arm = Arm(model, state_clock=clock).run(0.1)
    arm.engine.inputs.checks.clock_fault = lambda now: 'stamps are of another clock'  # type: ignore[method-assign]
    if clock == 'same':
        refused(arm, 'of another clock')
    else:
        assert 'enabled' in arm.supervisor.enable()


def test_a_term_that_is_unknown_for_a_moment_keeps_its_value(model: Model) -> None:
    arm = Arm(model, total_terms=['gravity', 'coriolis'])
    arm.dq[:] = 0.15
    arm.on()
    before = arm.last
    arm.dq = np.empty(0)
    arm.run(0.05)
    np.testing.assert_allclose(arm.last, before)
    assert np.abs(arm.last - arm.gravity).max() > 0.01


def test_friction_that_is_unknown_for_a_moment_is_not_kept(model: Model) -> None:
    """It follows the velocity: a frozen one would drive the joint."""
    arm = Arm(model, total_terms=['gravity', 'friction'], joints__q_1l__viscous=20.0)
    arm.dq[3] = 0.15
    arm.on()
    assert arm.last[0] - arm.gravity[0] == pytest.approx(3.0)
    arm.dq = np.empty(0)
    arm.run(0.05)
    np.testing.assert_allclose(arm.last, arm.gravity)


def test_a_payload_that_is_too_heavy_here_does_not_keep_other_parameters_from_being_set(model: Model) -> None:
    arm = Arm(model)
    arm.set(left__payload__mass=200.0)  # no pose is known
    arm.run(0.8)
    arm.set(command_start='zero')
    assert arm.settings['command_start'] == 'zero'


# Jumps and limits -----------------------------------------------------------------------------------------------------


def test_every_second_wrench_late_never_takes_the_pose_away(model: Model) -> None:
    """While it hangs down the arm gets what the pose needs, whatever its sensor does."""
    arm = Arm(model, total_terms=['gravity', 'wrench']).run(0.1, wrench=lambda k: LEFT_HELD)
    arm.supervisor.enable()
    arm.run(2.0, wrench=lambda k: LEFT_HELD)
    for angle in np.linspace(-1.5, 0.0, 200):
        arm.q[4] = angle
        arm.run(0.01, wrench=lambda k: None)
        if round(angle * 100) % 13 == 0:
            arm.engine.inputs.on_wrench('left', '', LEFT_HELD, np.zeros(3), arm.now, arm.now)
    arm.run(1.5, wrench=lambda k: None)
    np.testing.assert_allclose(arm.last, arm.gravity, atol=1e-9)


@pytest.mark.parametrize(
    'change',
    [
        {'gravity': [0.0, 0.0, 9.81]},
        {'total_terms': ['gravity']},
        {'left__sensor__bias': [0.0, 0.0, -30.0, 0.0, 0.0, 0.0]},
        {'left__sense': 'applied_on_robot'},
        {'left__tool__mass': 3.0},
    ],
)
def test_a_parameter_that_is_set_makes_no_step(model: Model, change: dict[str, Any]) -> None:
    terms = ['gravity', 'coriolis', 'wrench']
    arm = Arm(model, total_terms=terms, command_rate_limits=[1e5] * 7)
    arm.dq[:] = 0.1
    arm.run(0.1, wrench=lambda k: LEFT_HELD)
    arm.supervisor.enable()
    arm.run(1.5, wrench=lambda k: LEFT_HELD)
    before = arm.last
    arm.set(**change)
    arm.run(0.01, wrench=lambda k: LEFT_HELD)
    assert np.abs(arm.last - before).max() < 2.0
    for _ in range(150):
        before = arm.last
        arm.run(0.01, wrench=lambda k: LEFT_HELD)
        assert np.abs(arm.last - before).max() < 2.0
    fresh = Arm(model, total_terms=terms, command_rate_limits=[1e5] * 7)
    fresh.dq[:] = 0.1
    fresh.set(**change)
    fresh.run(0.1, wrench=lambda k: LEFT_HELD)
    fresh.supervisor.enable()
    fresh.run(1.5, wrench=lambda k: LEFT_HELD)
    np.testing.assert_allclose(arm.last, fresh.last, atol=1e-9)


def test_a_reading_of_900_000_newton_is_scaled_and_held_back(model: Model) -> None:
    arm = Arm(model, total_terms=['gravity', 'wrench']).on()
    limits = np.array(arm.settings['command_limits'])
    before = arm.last
    arm.run(0.02, wrench=lambda k: np.array([9e5, 9e5, 9e5]))
    assert (np.abs(arm.last - before) <= 10 * limits * 0.02 + 1e-9).all()
    arm.run(0.5, wrench=lambda k: np.array([9e5, 9e5, 9e5]))
    words = arm.supervisor.status().message
    assert 'the wrench of left is scaled to' in words
    assert (np.abs(arm.last) <= limits).all()


def test_a_push_by_a_person_is_followed_without_a_warning(model: Model) -> None:
    arm = Arm(model, total_terms=['gravity', 'wrench'], period=0.002).on()
    push = lambda k: np.array([0.0, 50.0 * np.sin(0.02 * k), 0.0])  # noqa: E731
    arm.run(2.0, wrench=push)
    status = arm.supervisor.status()
    assert (status.level, arm.commands.stage) == ('ok', Stage.ON), status


def test_limits_and_rates_cannot_change_while_commands_go_out(model: Model) -> None:
    arm = Arm(model).on()
    for change in ({'command_ramp': 2.0}, {'command_limits': [1.0] * 7}, {'command_rate_limits': [1e4] * 7}):
        with pytest.raises(ArgumentError, match='disable first'):
            arm.set(**change)
    arm.supervisor.disable()
    arm.run(3.0)
    arm.set(command_ramp=2.0)
    assert arm.commands.ramp == 2.0


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'command_limits': [-0.5] * 7}, 'must be 0 to'),
        ({'command_limits': [1e7] * 7}, 'must be 0 to'),
        ({'command_limits': [1.0]}, '7 finite numbers'),
        ({'command_limits': [500.0] * 7}, "must not exceed the URDF's"),
        ({'command_rate_limits': [1.0] * 7}, 'the limit in 2 s'),
        ({'command_rate_limits': [np.nan] * 7}, 'finite'),
    ],
)
def test_limits_that_cannot_be_are_refused(model: Model, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Arm(model).set(**change)


def test_limits_cannot_change_while_commands_fall(model: Model) -> None:
    arm = Arm(model).on()
    arm.supervisor.disable()
    arm.run(0.3)
    with pytest.raises(ArgumentError, match='disable first'):
        arm.set(command_limits=[1.0] * 7)
    with pytest.raises(ArgumentError, match='disable first'):
        arm.set(command_limits_beyond_urdf=True)
    arm.set(command_enabled=False)  # as the ROS parameter is mirrored
    arm.supervisor.fail('why')
    with pytest.raises(ArgumentError, match='disable first'):
        arm.set(command_rate_limits=[1e4] * 7)


def test_the_parameter_may_be_mirrored_while_they_are_on_and_not_while_they_fall(model: Model) -> None:
    arm = Arm(model).on()
    arm.set(command_enabled=True)
    arm.supervisor.disable()
    with pytest.raises(ArgumentError, match='the service effort_commands/enable enables'):
        arm.set(command_enabled=True)


def test_a_wrench_is_scaled_for_all_joints_that_it_loads_and_not_only_for_the_commanded(model: Model) -> None:
    arm = Arm(model, total_terms=['gravity', 'wrench'], command_joints=['q_7l', 'q_1l']).on()
    force = np.array([3e3, 3e3, 3e3])
    arm.run(3.0, wrench=lambda k: force)
    factor = arm.supervisor.contributions.scaled['left']
    wrench = arm.engine.inputs.hands['left']
    link = wrench.link
    whole = arm.engine.dynamics.wrench_torque(arm.q, [Wrench.of(link, np.concatenate([force, np.zeros(3)]), '', '')])
    limits = arm.supervisor.joints.effort
    assert np.abs(whole / limits).max() * factor == pytest.approx(1)
    gravity = arm.engine.dynamics.Q(arm.q)
    wanted = (gravity + factor * whole)[[9, 3]]
    np.testing.assert_allclose(arm.last, np.clip(wanted, -arm.commands.limits, arm.commands.limits))


def test_a_silent_second_is_a_silence_only_beyond_the_timeout(model: Model) -> None:
    arm = Arm(model, state_timeout=3.0).on()
    arm.run(2.5, states=False)
    assert arm.commands.stage is Stage.ON
    arm.run(0.6, states=False)
    assert 'no complete joint state' in arm.commands.fault


def test_a_fault_that_joint_states_show_ends_commands_and_keeps_them_off(model: Model) -> None:
    arm = Arm(model).on()
    arm.engine.inputs.checks.note_reset('time went back', arm.now)
    arm.run(0.01)
    assert arm.commands.fault == 'time went back'
    arm.run(0.5)
    other = Arm(model).run(0.1)
    other.engine.inputs.checks.note_reset('time went back', other.now)
    refused(other, 'time went back')


def test_rates_are_a_limit_in_a_tenth_of_a_second_unless_given_and_reach_it_within_two(model: Model) -> None:
    arm = Arm(model)
    limits = np.array(arm.settings['command_limits'])
    np.testing.assert_allclose(arm.commands.rates, 10 * limits)
    given = 0.51 * limits
    given[2] = 0.0
    arm.set(command_rate_limits=given.tolist())
    np.testing.assert_allclose(arm.commands.rates, np.where(given > 0, given, 10 * limits))
    with pytest.raises(ArgumentError, match='the limit in 2 s'):
        arm.set(command_rate_limits=(0.49 * limits).tolist())
    arm.supervisor.joints.effort = np.zeros(17)
    arm.set(command_limits=[500.0] * 7, command_rate_limits=[0.0] * 7)  # a URDF without limits bounds none


def test_limits_beyond_the_urdfs_need_a_word(model: Model) -> None:
    arm = Arm(model, command_limits_beyond_urdf=True, command_limits=[500.0] * 7)
    assert arm.commands.limits[0] == 500


def test_a_payload_too_heavy_for_the_pose_is_refused_and_seen_again_at_enabling(model: Model) -> None:
    arm = Arm(model).run(0.1)
    with pytest.raises(ArgumentError, match='200 kg is too heavy here: q_'):
        arm.set(left__payload__mass=200.0)
    arm.set(left__payload__mass=2.0)
    other = Arm(model)
    other.set(left__payload__mass=200.0)  # no pose is known
    refused(other.run(0.8), '200 kg is too heavy here')


def test_a_fault_that_was_noted_must_be_gone(model: Model) -> None:
    arm = Arm(model).on()
    arm.run(0.12, states=False)
    refuse = arm.commands.stage is Stage.FAULT
    assert refuse
    with pytest.raises(ArgumentError):
        arm.supervisor.enable()
    arm.run(3.0)
    assert 'ended by a fault' in arm.supervisor.status().message
    assert 'enabled' in arm.supervisor.enable()
    assert arm.supervisor.status().level == 'ok'


def test_after_a_start_it_says_that_what_the_controller_holds_is_not_known(model: Model) -> None:
    arm = Arm(model)
    assert 'present command of the controller is not known' in arm.supervisor.status().message
    arm.on()
    arm.supervisor.disable()
    arm.run(3.0)
    assert arm.supervisor.status().message == 'off'


def test_a_test_torque_is_added_to_what_is_sent(model: Model) -> None:
    arm = Arm(model, command_ramp=0.2).on()
    before = arm.sent[-1]
    arm.set(command_test=[0.0, 0.3, 0.0, 0.0, 0.0, 0.0, -0.5])
    arm.run(0.01)
    assert np.abs(arm.sent[-1] - before).max() < 0.2  # it comes over the ramp
    arm.run(0.5)
    np.testing.assert_allclose(arm.sent[-1] - before, [0, 0.3, 0, 0, 0, 0, -0.5], atol=1e-6)


@pytest.mark.parametrize('end', ['disable', 'fault', 'parameter'])
def test_a_test_torque_is_zero_after_every_end(model: Model, end: str) -> None:
    arm = Arm(model, command_ramp=0.2).on()
    arm.set(command_test=[0.5] * 7)
    arm.run(0.3)
    if end == 'fault':
        arm.supervisor.fail('a test')
    elif end == 'disable':
        arm.supervisor.disable()
    else:
        arm.set(command_enabled=False)
    arm.run(1.5)
    assert arm.commands.stage is Stage.OFF
    assert arm.settings['command_test'] == [0.0] * 7
    arm.supervisor.enable()
    arm.run(0.5)
    assert 'command_test' not in arm.supervisor.contributions.of(arm.supervisor._latest, arm.time)


def test_a_test_torque_is_refused_while_commands_are_off_or_beyond_its_range(model: Model) -> None:
    arm = Arm(model, command_test=[0.5] * 7).run(0.1)
    assert arm.settings['command_test'] == [0.0] * 7  # a file cannot set it
    with pytest.raises(ArgumentError, match=r'command_test: .* must be zero until commands are enabled'):
        arm.set(command_test=[0.1] * 7)
    arm.on()
    with pytest.raises(ArgumentError, match=r'command_test.*0\.5'):
        arm.set(command_test=[0.51] * 7)
