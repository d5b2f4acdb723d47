"""What robots and people ordinarily do ends no commands and warns of nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros.dynamics.factory import Model, load_model
from krang_dynamics_ros.live.commands import Stage
from krang_dynamics_ros.live.controller_watch import Endpoint
from krang_dynamics_ros.live.timeline import Clocks

from .test_command_supervisor import CONTROLLER, Arm

DRAWN = np.random.default_rng(7)
GROUPS = ([0, 1, 2], list(range(3, 10)), list(range(10, 17)))


@pytest.fixture(scope='module')
def model() -> Model:
    return load_model()


class Moving(Arm):
    """An arm that swings by half a radian, with velocities and efforts that are those of its motion."""

    def __init__(self, model: Model, period: float = 0.01, **given: Any) -> None:
        super().__init__(model, period, **given)
        self.rest, self.velocities = self.q.copy(), True
        self.began = np.inf  # when it begins to swing, smoothly: commands rise while it stands
        self.delay: Callable[[], float] = lambda: 0.001

    def swing(self) -> None:
        t = max(self.time - self.began, 0.0)
        grown, growing = (np.sin(t) ** 2, np.sin(2 * t)) if t < np.pi / 2 else (1.0, 0.0)
        amplitude, phase = np.full(17, 0.3), np.linspace(0, 2, 17)
        amplitude[1] = 0.1
        self.q = self.rest + amplitude * grown * np.sin(t + phase)
        dq = amplitude * (grown * np.cos(t + phase) + growing * np.sin(t + phase))
        self.dq = dq if self.velocities else np.empty(0)

    def parts(self) -> Iterator[list[int]]:
        yield list(range(17))

    def state(self) -> Any:
        self.swing()
        stamp, torques = self.now, None
        for part in self.parts():
            names = [self.names[k] for k in part]
            dq = self.dq[part] if len(self.dq) else self.dq
            effort = self.effort[part] if len(self.effort) else self.effort
            arrival = stamp + round(self.delay() * 1e9)
            torques = self.engine.on_joint_state(names, self.q[part], dq, effort, stamp, arrival)
            if torques is not None:
                self.sent.append(self.supervisor.on_torques(torques))
        return torques


def quiet(arm: Arm, seconds: float = 4.0, doing: Callable[[], Any] = lambda: None) -> None:
    """Run with commands on; nothing may end them, nothing may be worth a warning."""
    arm.run(0.3)
    arm.supervisor.enable()
    arm.run(1.3)
    if isinstance(arm, Moving):
        arm.began = arm.time
    for _ in range(round(seconds / 0.1)):
        arm.run(0.1)
        doing()
    status = arm.supervisor.status()
    assert (arm.commands.stage, status.level) == (Stage.ON, 'ok'), status


@pytest.mark.parametrize('rate', [100, 500, 1000])
def test_a_broadcaster_at_any_rate(model: Model, rate: int) -> None:
    arm = Moving(model, 1 / rate, total_terms=['gravity', 'coriolis', 'friction'])
    arm.delay = lambda: float(DRAWN.exponential(0.002))
    quiet(arm)


def test_parts_from_three_publishers(model: Model) -> None:
    arm = Moving(model, 0.01)
    arm.parts = lambda: iter(GROUPS)  # type: ignore[method-assign]
    quiet(arm)


def test_parts_at_rates_of_their_own(model: Model) -> None:
    arm = Moving(model, 0.002)
    counts = iter(range(10**9))

    def due() -> Iterator[list[int]]:
        k = next(counts)
        return (group for group, every in zip(GROUPS, (5, 1, 2), strict=True) if k % every == 0)

    arm.parts = due  # type: ignore[method-assign]
    quiet(arm)


@pytest.mark.parametrize('factor', [0.5, 1.01])
def test_simulated_time_that_is_slower_or_faster(model: Model, factor: float) -> None:
    arm = Moving(model, 0.01)
    arm.supervisor.clocks = Clocks(arm.supervisor.clocks.steady, *2 * [lambda: factor * arm.time])
    type(arm).now = property(lambda self: round(factor * self.time * 1e9))  # type: ignore[assignment,method-assign]
    try:
        quiet(arm)
    finally:
        type(arm).now = Arm.now  # type: ignore[method-assign]


def test_joints_without_velocities(model: Model) -> None:
    arm = Moving(model)
    arm.velocities = False
    quiet(arm)


def test_values_that_do_not_change(model: Model) -> None:
    quiet(Arm(model))


def test_efforts_that_are_all_zero(model: Model) -> None:
    arm = Moving(model)
    arm.effort = np.zeros(17)
    quiet(arm)


def test_efforts_with_friction_and_noise(model: Model) -> None:
    arm = Moving(model)

    class Noisy(Moving):
        def swing(self) -> None:
            super().swing()
            friction = 8.0 * np.tanh(self.dq / 0.05)
            self.effort = self.engine.dynamics.Q(self.q) + friction + DRAWN.normal(size=17)

    arm.__class__ = Noisy
    quiet(arm)


def test_a_joint_just_outside_a_limit(model: Model) -> None:
    arm = Moving(model)
    arm.rest[1] = 0.02  # q_w goes down to -0.08; its limit is 0
    quiet(arm)


def test_tools_that_come_and_go(model: Model) -> None:
    arm = Moving(model)
    counts = iter(range(1000))

    def echo() -> None:
        k = next(counts)
        arm.supervisor.on_endpoints([CONTROLLER, *([Endpoint(f'e{k}', f'/_ros2cli_{k}')] if k % 3 else [])])

    quiet(arm, doing=echo)


def test_a_pose_that_is_put_elsewhere_is_shown_again_at_once(model: Model) -> None:
    """A slider or a reset of a simulator, while commands are off: three states later torques go on."""
    arm = Arm(model, 0.002).run(0.2)
    arm.q = arm.q + 1.0
    arm.q[1] = 0.6
    shown = []
    for _ in range(5):
        arm.time += 0.002
        shown.append(arm.state() is not None)
    assert shown == [False, False, True, True, True]


def test_a_simulator_that_is_paused_keeps_its_torques(model: Model) -> None:
    arm = Arm(model).run(0.2)
    arm.dq = np.full(17, 0.5)  # as they were when it was paused
    for _ in range(100):
        arm.time += 0.01
        assert arm.state() is not None


def test_a_reading_beyond_its_sensors_range_is_refused(model: Model) -> None:
    arm = Arm(model, left__max_wrench=[200.0, 0.0]).run(0.1)
    inputs = arm.engine.inputs
    assert inputs.on_wrench('left', '', (100.0, 0.0, 170.0), (1e4, 0.0, 0.0), arm.now, arm.now)
    assert not inputs.on_wrench('left', '', (100.0, 0.0, 180.0), (0.0, 0.0, 0.0), arm.now + 1, arm.now)
    assert inputs.hands['left'].refusals.reason == 'force of 205.9 N, must be at most 200 (left.max_wrench)'
    arm.set(left__max_wrench=[0.0, 5.0])
    assert not inputs.on_wrench('left', '', (0.0, 0.0, 0.0), (0.0, 3.0, 4.5), arm.now + 2, arm.now)
    assert 'moment of 5.408 N m' in inputs.hands['left'].refusals.reason
