"""What must not make guiding unsafe: wrong velocities, parameters that change, joints at a limit, two switches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Wrench
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.guiding import HoldSwitch

from ..marks import slow_but
from .guided import Guided, arm
from .test_command_supervisor import Arm, refused
from .test_guiding_run import random_pushes

TERMS = ['gravity', 'coriolis', 'damping', 'stops']
AT_LIMIT = [0.0, 1.99, 0.9]  # the shoulder, 0.01 rad before its limit
IN_MARGIN = [0.0, -1.7, 0.9]  # within 1 rad of its limit, not within 0.15


def guided(q: Sequence[float], **given: Any) -> Guided:
    known = arm(0.01)
    return Guided(known, known, q, 500, (0, 1), **({'total_terms': TERMS} | given)).begin()


def change(it: Guided, **values: Any) -> None:
    named = {name.replace('__', '.'): value for name, value in values.items()}
    it.settings.check(named)
    it.settings.update(named)


def fastest(it: Guided) -> float:
    return float(np.abs(np.array(it.dq)).max())


class Inverted(Guided):
    """An arm whose driver gives velocities with the other sign."""

    def _step(self, push: Callable[[float], Sequence[Wrench]]) -> None:
        of_driver = self.engine.on_joint_state
        self.engine.on_joint_state = lambda names, q, dq, *rest: of_driver(names, q, -dq, *rest)  # type: ignore[method-assign]
        try:
            super()._step(push)
        finally:
            self.engine.on_joint_state = of_driver  # type: ignore[method-assign]


@pytest.mark.parametrize('case', slow_but(range(4), range(20)))
def test_velocities_with_the_other_sign_end_commands_before_damping_drives_the_arm(case: int) -> None:
    """Without that check the joints come to 30 rad/s and more."""
    known = arm(0.01)
    it = Inverted(known, known, [0, -0.5, 0.9], 500, (0, 1), total_terms=TERMS).begin()
    push = random_pushes(np.random.default_rng(case), 15.0)
    for _ in range(500):
        it.run(0.01, push)
        if not it.commands.enabled:
            break
    assert 'velocities contradict positions' in it.commands.fault
    assert fastest(it) < 1.5


def test_contradicting_velocities_alone_are_a_warning_without_damping() -> None:
    known = arm(0.01)
    it = Inverted(known, known, [0, -0.5, 0.9], 500, (0, 1), total_terms=['gravity']).begin()
    it.run(0.6, random_pushes(np.random.default_rng(1), 15.0))
    assert it.commands.stage is Stage.ON
    assert 'velocities contradict positions' in it.supervisor.status().message


@pytest.mark.parametrize('terms', [TERMS, ['gravity', 'coriolis', 'stops']])
def test_a_joint_that_is_parked_at_its_limit_is_not_thrown_out(terms: list[str]) -> None:
    it = guided(AT_LIMIT, total_terms=terms).run(1.0)
    assert it.commands.stage is Stage.ON
    assert fastest(it) < 0.02
    torque = it.engine.guiding.terms.stops(it.supervisor._latest.state)  # type: ignore[union-attr]
    assert not torque[1]


@pytest.mark.parametrize(
    'values',
    [{'stops__margin': 1.0}, {'stops__margin': 0.8, 'stops__stiffness': 10.0, 'stops__damping': 0.0}],
)
def test_stops_that_are_set_anew_while_commands_go_out_throw_no_joint(values: dict[str, Any]) -> None:
    it = guided(IN_MARGIN).run(0.3)
    change(it, **values)
    it.run(1.0)
    assert it.commands.stage is Stage.ON
    assert fastest(it) < 0.02


def test_stiffer_stops_throw_no_joint_that_leans_on_them() -> None:
    it = guided([0.0, -1.8, 0.9]).run(0.1)
    push = _pushes_shoulder(it, -60.0)
    it.run(1.0, push)
    assert it.sim.q[1] < -1.86, 'it leans on its stop'
    change(it, stops__stiffness=10.0)
    it.dq.clear()
    it.run(1.0)
    assert fastest(it) < 0.2  # what gave way a little comes back


def test_stops_that_are_added_while_commands_go_out_throw_no_joint() -> None:
    it = guided(AT_LIMIT, total_terms=['gravity', 'coriolis']).run(0.3)
    change(it, total_terms=TERMS)
    it.run(1.0)
    assert it.commands.stage is Stage.ON
    assert fastest(it) < 0.02


def _pushes_shoulder(it: Guided, torque: float) -> Callable[[float], Sequence[Wrench]]:
    """Return a person who gives a torque about the shoulder (N m), by a force on the hand."""

    def push(_: float) -> Sequence[Wrench]:
        turn = it.sim.dynamics.jacobian(it.sim.q, 'hand')[:3, 1]
        return [Wrench('hand', tuple(torque * turn / (turn @ turn)), axes='base')]

    return push


def test_a_parked_joint_meets_its_stop_where_it_is_and_all_of_it_once_it_has_left() -> None:
    it = guided([0.0, -1.9, 0.9]).run(0.1)  # 0.05 rad into the margin
    it.run(0.6, _pushes_shoulder(it, -40.0))
    assert -1.97 < it.sim.q[1] < -1.905, 'it gives way to a push, by less than without a stop'
    it.run(0.8, _pushes_shoulder(it, 40.0))
    assert it.sim.q[1] > -1.8, 'led out'
    it.run(1.2, _pushes_shoulder(it, -40.0))
    assert it.sim.q[1] > -1.93, 'the whole margin holds now'
    assert it.commands.stage is Stage.ON


def test_after_commands_the_topic_has_the_whole_stop_again() -> None:
    it = guided(AT_LIMIT).run(0.2)
    it.supervisor.disable()
    it.sim.braked[:] = True
    it.run(1.5)
    assert it.commands.idle
    torque = it.engine.guiding.terms.stops(it.supervisor._latest.state)  # type: ignore[union-attr]
    assert torque[1] < -20


def test_a_second_publisher_of_the_switch_disables_and_is_named() -> None:
    """It could hide that the switch is silent."""
    switch = HoldSwitch(True)
    switch.publishers = ('/krang_hold_switch', '/ros2cli_1')
    switch.on_message(True, 1.0)
    assert switch.fault(1.0) == 'guiding/hold is published by /krang_hold_switch and /ros2cli_1, must be by one node'
    switch.publishers = ('/krang_hold_switch',)
    assert switch.fault(1.0) == ''
    unneeded = HoldSwitch(False)
    unneeded.publishers = ('/a', '/b')
    assert unneeded.fault(1.0) == ''


def test_two_publishers_of_the_switch_end_commands_that_go_out() -> None:
    it = Arm(load_model(), guiding__hold_required=True, total_terms=TERMS).run(0.1)
    it.supervisor.on_hold(True)
    it.supervisor.hold.publishers = ['/a', '/b']
    refused(it, 'guiding/hold is published by /a and /b')
    it.supervisor.hold.publishers = ['/a']
    it.supervisor.enable()
    it.run(0.1)
    it.supervisor.hold.publishers = ['/a', '/b']
    it.supervisor.on_hold(True)
    assert it.commands.stage is Stage.FALLING


def test_a_payload_that_is_told_while_guiding_moves_no_arm_faster_than_its_weight_can(rng: np.random.Generator) -> None:
    """A wrong one, of 2 kg that nobody has hung on: the arm rises, damped, and no check is fooled."""
    it = Arm(load_model(), total_terms=TERMS).on()
    before = it.last.copy()
    it.set(left__payload__mass=2.0)
    steps = []
    for _ in range(100):
        last = it.last.copy()
        it.run(0.01)
        steps.append(np.abs(it.last - last))
    extra = np.abs(it.last - before)
    assert extra.max() > 1.0
    assert (np.max(steps, axis=0) <= 0.05 * extra + 1e-9).all(), 'over payload_ramp, without a step'
    with pytest.raises(ArgumentError, match='too heavy'):
        it.set(left__payload__mass=500.0)
