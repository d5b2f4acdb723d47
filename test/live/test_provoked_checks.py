"""Each check of docs/commands.md while an arm is guided: it trips in each of 20 provoked cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.live.command_checks import COMMAND_RULES
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.controller_watch import Endpoint
from krang_dynamics_ros.live.guiding import HOLD_TIMEOUT
from krang_dynamics_ros.live.state_checks import STATE_RULES

from ..marks import slow_but
from .test_command_supervisor import CONTROLLER, JOINTS, ORDER, Arm

GUIDED = {'total_terms': ['gravity', 'damping', 'stops']}
CASES = (range(4), range(4, 20))  # seeds: twenty, of which the first four are quick


@pytest.fixture(scope='module')
def model() -> Model:
    return load_model()


class Case:
    """One provoked case: a random joint, side and size."""

    def __init__(self, model: Model, number: int) -> None:
        self.model, self.rng = model, np.random.default_rng(number)
        self.k = int(self.rng.integers(7))  # of the commanded joints
        self.name, self.at, self.side = JOINTS[self.k], ORDER[self.k], float(self.rng.choice([-1, 1]))
        limits = model.robot.moving_joints[self.at].limits
        assert limits
        assert limits.effort
        self.limits, self.effort = limits, limits.effort

    def arm(self, **given: Any) -> Arm:
        return Arm(self.model, **(GUIDED | given))

    def measured(self, arm: Arm) -> np.ndarray:
        """Return efforts as the drives would give them."""
        effort = np.zeros(17)
        effort[ORDER] = arm.commands.sent if arm.commands.sent.any() else arm.gravity
        return effort


def refusal(arm: Arm) -> str:
    """Return why commands are refused; they must be off and stay off."""
    assert arm.commands.idle
    try:
        arm.supervisor.enable()
    except ArgumentError as error:
        assert arm.commands.idle
        return str(error)
    return ''


def fault(arm: Arm) -> str:
    """Return the fault that has ended commands; the next enabling must not be possible while they fall."""
    assert arm.commands.stage is Stage.FAULT
    return arm.commands.fault


def measured_effort(case: Case) -> tuple[str, str]:
    arm = case.arm().run(0.1)
    arm.effort = case.measured(arm)
    arm.effort[case.at] += case.side * case.rng.uniform(0.26, 0.9) * case.effort
    return refusal(arm.run(0.1)), f'{case.name} has a measured effort of'


def position(case: Case) -> tuple[str, str]:
    arm = case.arm()
    bound = case.limits.upper if case.side > 0 else case.limits.lower
    assert bound is not None
    arm.q[case.at] = bound + case.side * case.rng.uniform(0.11, 3.0)
    return refusal(arm.run(0.1)), f'{case.name} is at '


def start_travel(case: Case) -> tuple[str, str]:
    arm = case.arm()
    loaded = int(case.rng.choice(np.flatnonzero(np.abs(arm.gravity) > 0.5)))
    arm.run(0.1).supervisor.enable()
    arm.run(case.rng.uniform(0.1, 0.6))
    for _ in range(15):
        along = float(np.sign(arm.commands.unguided[loaded]))
        arm.q[ORDER[loaded]] += 0.01 * along
        arm.dq[ORDER[loaded]] = along
        arm.run(0.01)
    return fault(arm), f'{JOINTS[loaded]} moved by'


def obedience(case: Case) -> tuple[str, str]:
    arm = case.arm(command_start='zero', total_terms=['gravity', 'damping', 'stops'])
    loaded = int(np.argmax(np.abs(arm.gravity)))
    limits = np.array(arm.settings['command_limits'])
    arm.effort = np.zeros(17)
    arm.run(0.1).supervisor.enable()
    for _ in range(130):
        arm.effort[ORDER] = arm.commands.sent
        arm.run(0.01)
    share = case.rng.uniform(0.51, 0.9)
    arm.effort[ORDER[loaded]] = arm.commands.sent[loaded] + case.side * share * limits[loaded]
    arm.run(0.45)
    assert arm.commands.enabled
    return fault(arm.run(0.1)), f'{JOINTS[loaded]} does not obey'


def wrench_share(case: Case) -> tuple[str, str]:
    arm = case.arm(total_terms=['gravity', 'wrench'], left__max_wrench=[0.0, 0.0]).on()
    force = case.rng.normal(size=3)
    force *= case.rng.uniform(3000, 9000) / np.linalg.norm(force)
    arm.run(0.1, wrench=lambda _: force)
    return arm.supervisor.status().message, 'the wrench of left is scaled to 0.'


def payload(case: Case) -> tuple[str, str]:
    arm = case.arm().run(0.1)
    mass = case.rng.uniform(30, 300)  # the arm is stretched out
    if case.side > 0:
        with pytest.raises(ArgumentError) as refused:
            arm.set(left__payload__mass=mass)
        return str(refused.value), f'left.payload: {mass:g} kg is too heavy here'
    arm = case.arm(left__payload__mass=mass).run(1.0)
    return refusal(arm), f'left.payload: {mass:g} kg is too heavy here'


def contributions(case: Case) -> tuple[str, str]:
    arm = case.arm().on()
    arm.dq = np.empty(0) if case.side > 0 else np.full(17, np.nan)
    arm.run(case.rng.uniform(0.12, 0.3))
    return fault(arm), 'torque/total is not known: no velocities for damping, stops'


def silence(case: Case) -> tuple[str, str]:
    arm = case.arm().on().run(case.rng.uniform(0, 0.3))
    arm.run(case.rng.uniform(0.12, 0.3), states=False)
    return fault(arm), 'no complete joint state for'


def others(case: Case) -> tuple[str, str]:
    names = [f'/node_{int(x)}' for x in case.rng.integers(0, 99, case.rng.integers(1, 4))]
    arm = case.arm()
    if case.side > 0:
        arm.on().supervisor.on_other_publishers(names)
        return fault(arm), f'effort_commands are published by {" and ".join(names)} too'
    arm.run(0.1).supervisor.on_other_publishers(names)
    return refusal(arm), f'effort_commands are published by {" and ".join(names)} too'


def reception(case: Case) -> tuple[str, str]:
    arm, mismatch = case.arm(command_controller=CONTROLLER.node if case.side > 0 else '').run(0.1), f'reason {case.k}'
    others = [Endpoint('o', f'/other_{case.k}')] if case.side > 0 else []
    arm.supervisor.on_endpoints([CONTROLLER._replace(mismatch=mismatch), *others])
    return refusal(arm), f'/arm_effort_controller cannot receive effort_commands: {mismatch}'


def controller(case: Case) -> tuple[str, str]:
    arm = case.arm().on()
    if case.side > 0:
        arm.supervisor.on_endpoints([])
        assert arm.commands.idle
        return arm.commands.fault, '/arm_effort_controller'
    arm.supervisor.on_endpoints([CONTROLLER, Endpoint('c2', f'/other_{case.k}')])
    return fault(arm), f'/other_{case.k}'


def acknowledgement(case: Case) -> tuple[str, str]:
    arm = case.arm().run(0.1)
    arm.acknowledges = False
    arm.supervisor.on_endpoints([CONTROLLER, Endpoint('r', f'/rosbag2_{case.k}')])
    arm.supervisor.enable()
    if case.side > 0:  # enabling again does not do without it
        arm.run(case.rng.uniform(0.1, 4.5)).supervisor.disable()
        arm.run(0.1).supervisor.enable()
    arm.run(5.0 - 0.01)
    assert arm.commands.enabled
    assert not any(sent.any() for sent in arm.sent[-490:])
    return fault(arm.run(0.03)), f'(/arm_effort_controller, /rosbag2_{case.k}) acknowledged a zero for 5'


def speed(case: Case) -> tuple[str, str]:
    limits = [0.0] * 7
    limits[case.k] = float(case.rng.uniform(0.2, 2.0))
    arm = case.arm(command_velocity_limits=limits).on()
    arm.dq[case.at] = case.side * case.rng.uniform(1.01, 3.0) * limits[case.k]
    return fault(arm.run(0.01)), f'{case.name} moves at '


def switch(case: Case) -> tuple[str, str]:
    arm = case.arm(guiding__hold_required=True, state_timeout=2.0).run(0.1)
    arm.supervisor.on_hold(True)
    arm.supervisor.enable()
    for _ in range(int(case.rng.integers(5, 15))):
        arm.supervisor.on_hold(True)
        arm.run(0.1)
    if case.side > 0:
        arm.supervisor.on_hold(False)
    else:
        arm.run(HOLD_TIMEOUT + 0.02, states=case.k % 2 == 0)
    assert arm.commands.stage is Stage.FALLING
    return arm.supervisor.status().values['disabled by the switch'], 'guiding/hold is '


def guided_wrench(case: Case) -> tuple[str, str]:
    terms = ['gravity', 'wrench', *case.rng.permutation(['damping', 'stops'])[: 1 + case.k % 2]]
    if case.side > 0:
        return refusal(case.arm(total_terms=terms).run(0.1)), 'would cancel the push that guides'
    arm = case.arm(total_terms=[name for name in terms if name != 'wrench']).on()
    with pytest.raises(ArgumentError) as refused:
        arm.set(total_terms=terms)
    return str(refused.value), 'would cancel the push that guides'


def jump(case: Case) -> tuple[str, str]:
    arm, home = case.arm().on(), 0.0
    home = arm.q[case.at]
    way = case.side * case.rng.uniform(0.5, 3.0)
    for _ in range(3):  # another robot beside it
        arm.q[case.at] = home + way
        arm.run(0.01)
        arm.q[case.at] = home
        arm.run(0.01)
    return fault(arm), f'{case.name}: 3 samples within a second contradict'


def velocity(case: Case) -> tuple[str, str]:
    arm = case.arm().on()
    way, factor = case.rng.uniform(0.4, 0.6), case.rng.choice([-1.0, 0.3])  # the other sign, or another unit
    inward = -np.sign(arm.q[case.at]) or 1.0
    arm.dq[case.at] = factor * inward * way
    for _ in range(45):
        arm.q[case.at] += inward * way * arm.period
        arm.run(0.01)
    if factor > 0:  # less than it moves, by more than half
        arm.dq[case.at] = 0.0
        for _ in range(45):
            arm.q[case.at] -= inward * way * arm.period
            arm.run(0.01)
    return arm.supervisor.status().message, f'velocities contradict positions: {case.name}'


def constant(case: Case) -> tuple[str, str]:
    arm = case.arm(total_terms=['gravity']).on()  # beside damping, the contradiction of both is found sooner
    arm.dq[case.at] = case.side * case.rng.uniform(0.25, 3.0)
    return fault(arm.run(0.5)), f'{case.name}: its position is constant'


def stamps(case: Case) -> tuple[str, str]:
    arm = case.arm().on()
    back = round(case.rng.uniform(0.15, 100.0) * 1e9)
    arm.engine.on_joint_state(arm.names, arm.q, arm.dq, arm.effort, arm.now - back, arm.now)
    arm.supervisor.tick()
    return fault(arm), 'time went back'


def delay(case: Case) -> tuple[str, str]:
    arm = case.arm().on()
    late = round(case.rng.uniform(0.13, 0.6) * 1e9)
    for _ in range(3):
        arm.time += 0.05 if case.side > 0 else 0.01
        stamp = max(arm.now - late, arm.engine.inputs.states.newest_joint_stamp + 1)
        torques = arm.engine.on_joint_state(arm.names, arm.q, arm.dq, arm.effort, stamp, arm.now)
        arm.supervisor.on_torques(torques) if torques is not None else arm.supervisor.tick()
    for _ in range(60):  # the stamps advance more slowly than the clock
        arm.time += 0.01
        stamp = arm.engine.inputs.states.newest_joint_stamp + 5_000_000
        torques = arm.engine.on_joint_state(arm.names, arm.q, arm.dq, arm.effort, stamp, arm.now)
        arm.supervisor.on_torques(torques) if torques is not None else arm.supervisor.tick()
    return fault(arm), 'have an additional delay of'


def clock(case: Case) -> tuple[str, str]:
    arm = case.arm()
    ahead = case.side * case.rng.uniform(0.11, 1e4)
    arm.supervisor.clocks = arm.supervisor.clocks._replace(stamp=lambda: arm.time + ahead)
    return refusal(arm.run(0.1)), 'this clock, must be within'


PROVOKED: dict[str, Callable[[Case], tuple[str, str]]] = {
    'measured effort': measured_effort,
    'position': position,
    'travel at the start': start_travel,
    'obedience': obedience,
    "a wrench's share": wrench_share,
    'payload': payload,
    'contributions': contributions,
    'joint states': silence,
    'other publishers': others,
    'reception': reception,
    'controller': controller,
    'acknowledgement': acknowledgement,
    'joint speed': speed,
    'switch': switch,
    'wrench while guiding': guided_wrench,
    'jump between two states': jump,
    "velocity against the positions' difference": velocity,
    'constant positions with nonzero velocities': constant,
    'stamps': stamps,
    'delay': delay,
    'clock of the stamps': clock,
}


def test_every_check_is_provoked() -> None:
    assert [check.name for check in (*COMMAND_RULES, *STATE_RULES)] == [*PROVOKED]


@pytest.mark.parametrize('cases', slow_but(CASES[:1], CASES), ids=str)
@pytest.mark.parametrize('check', PROVOKED)
def test_a_check_trips_in_each_of_twenty_provoked_cases(check: str, cases: range, model: Model) -> None:
    for number in cases:
        found, expected = PROVOKED[check](Case(model, number))
        assert expected in found, (number, found)
