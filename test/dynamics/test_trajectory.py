"""Efforts along trajectories against a second engine; limits between points; smallest stretch, largest payload."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Inertia, Robot, dynamics_of, load_robot
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.dynamics.feed_forward import FeedForward, LimitError
from krang_dynamics_ros.dynamics.trajectory import Spline, Trajectory
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.presliding import Presliding
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.robot.motor_and_friction import Friction
from krang_dynamics_ros.robot.robot import Limits

from ..robots import ROOT

ARM = [f'q_{k}l' for k in range(1, 8)]


def smooth(names: list[str], time: np.ndarray, size: float = 0.4, seed: int = 0) -> Trajectory:
    """Points of a motion with velocities and accelerations."""
    phase = np.random.default_rng(seed).uniform(0, 6, len(names))
    w = np.linspace(0.7, 1.3, len(names))
    x = np.outer(time, w) + phase
    return Trajectory.of(names, time, size * np.sin(x), size * w * np.cos(x), -size * w**2 * np.sin(x))


def without_accelerations(trajectory: Trajectory) -> Trajectory:
    return replace(trajectory, acceleration=np.full_like(trajectory.position, np.nan))


UNEVEN = np.array([0.2, 0.5, 1.1, 1.2, 2.0])


def test_the_spline_is_that_of_hermite() -> None:
    """Against SciPy's polynomials through values and derivatives, of degree 3 and 5."""
    interpolate = pytest.importorskip('scipy.interpolate')
    given, time = smooth(['a', 'b'], UNEVEN), np.linspace(0.2, 2.0, 500)
    rows = np.stack([given.position, given.velocity, given.acceleration], axis=1)
    for trajectory, derivatives in ((given, rows), (without_accelerations(given), rows[:, :2])):
        witness = interpolate.BPoly.from_derivatives(given.time, derivatives)
        motion = Spline(trajectory).at(time)
        for k, numbers in enumerate((motion.q, motion.dq, motion.ddq)):
            np.testing.assert_allclose(numbers, witness(time, nu=k), rtol=0, atol=1e-11)
    line = Spline(Trajectory.of(given.joint_names, given.time, given.position)).at(time)
    np.testing.assert_allclose(line.q[:, 0], np.interp(time, given.time, given.position[:, 0]), atol=1e-12)


@pytest.mark.parametrize('drop', [False, True])
def test_the_resampled_motion_is_the_same(drop: bool) -> None:
    given = smooth(['a', 'b'], UNEVEN)
    given = without_accelerations(given) if drop else given
    fine, time = Spline(given).sampled(0.01), np.linspace(0.2, 2.0, 777)
    assert np.diff(fine.time).max() <= 0.01 + 1e-12
    assert set(given.time) <= set(fine.time)
    assert len(fine.time) == 181
    np.testing.assert_allclose(Spline(fine).at(time).q, Spline(given).at(time).q, atol=1e-12)
    np.testing.assert_allclose(Spline(fine).at(time).ddq, Spline(given).at(time).ddq, atol=1e-6)


def test_one_point_takes_what_holds_it(robot: Robot, dynamics: Dynamics) -> None:
    q = np.full((1, 7), 0.3)
    plan = FeedForward(robot, dynamics).plan(Trajectory.of(ARM, [0.0], q, np.zeros((1, 7))))
    state = dynamics.vector(dict.fromkeys(ARM, 0.3))
    np.testing.assert_allclose(
        plan.trajectory.effort[0], dynamics.Q(state)[[dynamics.joint_names.index(x) for x in ARM]]
    )


def test_springs_and_coupled_friction_are_added_where_they_are_asked_for(robot: Robot) -> None:
    """Also while the motion is slowed down: a spring stays as it is, coupled friction follows the velocity."""
    joints = tuple(
        replace(joint, other_effects=(Spring(5.0, 2.0),)) if joint.name == 'q_4l' else joint for joint in robot.joints
    )
    robot = replace(robot, joints=joints, couplings=(Coupling(('q_6l', 'q_7l'), -1, 2.0, 3.0, 0.05),))
    dynamics, given = dynamics_of(robot), smooth(ARM, UNEVEN)
    plain = FeedForward(robot, dynamics).plan(given).trajectory
    at = [dynamics.joint_names.index(name) for name in ARM]
    q, dq = np.zeros((2, len(plain.time), dynamics.n))
    q[:, at], dq[:, at] = plain.position, plain.velocity
    parts = {
        'spring': dynamics.springs_and_couplings.spring_torque(q)[:, at],
        'coupling': dynamics.springs_and_couplings.coupled_friction(dq)[:, at],
    }
    for terms in ([], ['gravity'], ['spring'], ['coupling'], ['spring', 'coupling']):
        added = FeedForward(robot, dynamics, terms=terms).plan(given).trajectory.effort - plain.effort
        np.testing.assert_allclose(added, sum((parts[x] for x in terms if x in parts), 0 * added), atol=1e-9)
    tight = tuple(replace(j, limits=replace(j.limits, velocity=0.2)) if j.name in ARM else j for j in robot.joints)  # type: ignore[type-var]
    slow = replace(robot, joints=tight)
    plans = [FeedForward(slow, dynamics, terms=x).plan(given, retime=True) for x in ((), ('spring', 'coupling'))]
    assert plans[0].stretch > 1.5
    dq[:, at] = plans[0].trajectory.velocity[: len(dq)]
    q[:, at] = plans[0].trajectory.position[: len(dq)]
    added = (plans[1].trajectory.effort - plans[0].trajectory.effort)[: len(dq)]
    expected = (
        dynamics.springs_and_couplings.spring_torque(q)[:, at]
        + dynamics.springs_and_couplings.coupled_friction(dq)[:, at]
    )
    np.testing.assert_allclose(added, expected, atol=1e-6)


@pytest.fixture(scope='module')
def model() -> Any:
    mujoco = pytest.importorskip('mujoco', reason='MuJoCo, a second engine to compare with, is not installed')
    return mujoco.MjModel.from_xml_path(str(ROOT / 'urdf' / 'krang.urdf'))


@pytest.mark.parametrize('retime', [False, True])
def test_efforts_are_those_of_another_engine(robot: Robot, dynamics: Dynamics, model: Any, retime: bool) -> None:
    import mujoco  # noqa: PLC0415 (see the fixture)

    names = [*reversed(ARM)]
    given = smooth(names, np.linspace(0, 3, 7) if not retime else np.linspace(0, 3, 7) / 4)
    given = given if not retime else replace(given, velocity=given.velocity * 4, acceleration=given.acceleration * 16)
    plan = FeedForward(robot, dynamics, {'q_w': 0.3, 'q_torso': -0.4}).plan(given, retime=retime)
    assert (plan.stretch > 1) == retime
    result, data = plan.trajectory, mujoco.MjData(model)
    at = [dynamics.joint_names.index(name) for name in names]
    data.qpos[:] = dynamics.vector({'q_w': 0.3, 'q_torso': -0.4})
    for k in range(len(result.time)):
        data.qpos[at], data.qvel[at], data.qacc[at] = result.position[k], result.velocity[k], result.acceleration[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(result.effort[k], data.qfrc_inverse[at], rtol=1e-9, atol=1e-9)


def limited(**limits: float) -> Robot:
    """An arm of two joints with friction, and with these limits."""
    robot = load_robot('arm_2r')
    friction = Friction(viscous=2.0, coulomb=3.0)
    joints = [
        replace(joint, friction=friction, limits=Limits(**{'effort': None, 'velocity': None} | limits))
        if joint.moves
        else joint
        for joint in robot.joints
    ]
    return replace(robot, joints=tuple(joints))


def planned(robot: Robot, trajectory: Trajectory, **how: Any) -> Any:
    return FeedForward(robot, dynamics_of(robot)).plan(trajectory, **how)


def bump(peak: float) -> Trajectory:
    """A motion of the second joint from rest to rest by way of `peak` rad, reached between points 2 and 3."""
    time = np.array([0.0, 1.0, 2.0, 3.0])
    q, dq, ddq = np.zeros((3, 4, 2))
    q[1:3, 1], dq[1, 1], dq[2, 1] = 0.8 * peak, 0.8 * peak, -0.8 * peak
    trajectory = Trajectory.of(['theta1', 'theta2'], time, q, dq, ddq)
    return replace(trajectory, acceleration=np.full_like(q, np.nan))


def values(robot: Robot, trajectory: Trajectory) -> dict[str, np.ndarray]:
    """What limits are held against, of the second joint, at 100 times the density of the result."""
    time = np.linspace(trajectory.time[0], trajectory.time[-1], 30001)
    motion, dynamics = Spline(trajectory).at(time), dynamics_of(robot)
    torque = np.array([dynamics.inverse_dynamics(*x) for x in zip(motion.q, motion.dq, motion.ddq, strict=True)])
    torque += 2.0 * motion.dq + 3.0 * np.sign(motion.dq)
    return {'position': motion.q[:, 1], 'velocity': motion.dq[:, 1], 'effort': torque[:, 1]}


@pytest.mark.parametrize('kind', ['position', 'velocity', 'effort'])
def test_a_limit_exceeded_by_a_hundredth_between_two_points_is_named(kind: str) -> None:
    trajectory, free = bump(0.5), replace(limited(), gravity=np.zeros(3))
    numbers, time = np.abs(values(free, trajectory)[kind]), np.linspace(0, 3, 30001)
    worst = float(time[numbers.argmax()])
    for share, held in ((1.01, True), (1 / 1.01, False)):
        limit = float(numbers.max()) * share
        bound = {'lower': -9.0, 'upper': limit} if kind == 'position' else {kind: limit}
        robot = replace(limited(**bound), gravity=np.zeros(3))
        if held:
            planned(robot, trajectory)
            continue
        first = time[int((numbers > limit).argmax())]
        assert first not in trajectory.time or worst in trajectory.time
        with pytest.raises(LimitError) as raised:
            planned(robot, trajectory)
        assert f'theta2: {kind}' in str(raised.value)
        assert f'between points {int(first) + 1} and {int(first) + 2}' in str(raised.value)


def test_the_first_of_several_excesses_is_named_with_its_worst_value() -> None:
    robot = limited(velocity=0.35)
    with pytest.raises(
        LimitError,
        match=r'theta2: velocity 0\.53333 rad/s between points 1 and 2 \(0\.66[68] s\), must be at most 0.35 rad/s;',
    ):
        planned(robot, bump(0.5))
    outside = limited(lower=0.1, upper=3.0)
    with pytest.raises(LimitError, match=r'theta1: position 0 rad at point 1 \(0 s\), must be from 0.1 to 3 rad$'):
        planned(outside, bump(0.5))


@pytest.mark.parametrize('limits', [{'velocity': 0.3}, {'effort': 0.9}, {'velocity': 0.9, 'effort': 0.9}])
def test_the_smallest_stretch_just_holds_all_limits(limits: dict[str, float]) -> None:
    """Limits are given as parts of what the motion takes at first."""
    fast = smooth(['theta1', 'theta2'], np.linspace(0, 0.8, 9), 0.3)
    fast = replace(fast, velocity=20 * fast.velocity, acceleration=400 * fast.acceleration, time=fast.time / 20)
    light = limited().gravity * 0.05
    taken = planned(replace(limited(), gravity=light), fast).trajectory
    sizes = {kind: share * float(np.abs(getattr(taken, kind)).max()) for kind, share in limits.items()}
    robot = replace(limited(**sizes), gravity=light)
    with pytest.raises(LimitError, match='retime slows the motion down'):
        planned(robot, fast)
    plan = planned(robot, fast, retime=True)
    assert plan.stretch > 1
    for slower, holds in ((plan.stretch * 1.0001, True), (plan.stretch / 1.001, False)):
        if holds:
            planned(robot, fast.stretched(slower))
        else:
            with pytest.raises(LimitError):
                planned(robot, fast.stretched(slower))
    time = np.linspace(fast.time[0], fast.time[-1], 400)
    slow = Spline(plan.trajectory).at(fast.time[0] + plan.stretch * (time - fast.time[0]))
    np.testing.assert_allclose(slow.q, Spline(fast).at(time).q, atol=1e-9)  # the way is kept
    assert np.nanmax([*plan.velocity_share, *plan.effort_share]) == pytest.approx(1.0, abs=2e-3)


def test_a_trajectory_within_all_limits_is_not_stretched() -> None:
    assert planned(limited(velocity=5.0, effort=500.0), bump(0.5), retime=True).stretch == 1.0


def test_points_without_velocities_are_rests_where_it_may_be_retimed() -> None:
    robot, time = limited(velocity=1.0), np.array([0.0, 0.5, 1.0])
    corners = Trajectory.of(['theta1', 'theta2'], time, [[0, 0], [1.0, -0.5], [1.0, 1.0]])
    with pytest.raises(ArgumentError, match='point 1: no velocities, must be given'):
        planned(robot, corners)
    plan = planned(robot, corners, retime=True)
    q = plan.trajectory.position
    assert plan.stretch == pytest.approx(15 / 8 * 1.5 / 0.5, rel=1e-3)  # of the fastest rise from rest to rest
    leg = q[: int(np.abs(q - [1.0, -0.5]).sum(axis=1).argmin()) + 1]
    np.testing.assert_allclose(leg[:, 1], -0.5 * leg[:, 0], atol=1e-12)  # straight, as the controller would go
    assert np.abs(plan.trajectory.velocity).max() <= 1.0


@pytest.mark.parametrize(
    ('limits', 'why'),
    [
        ({'effort': 20.0}, 'gravity and dry friction alone exceed it'),
        ({'lower': -1, 'upper': 0.3}, 'rad; at any speed'),
    ],
)
def test_a_violation_that_no_speed_removes_is_refused(limits: dict[str, float], why: str) -> None:
    with pytest.raises(LimitError, match=why):
        planned(limited(**limits), bump(0.5), retime=True)


def test_velocities_that_no_slower_motion_allows_are_no_fault_of_gravity() -> None:
    hasty = Trajectory.of(['theta1', 'theta2'], np.array([0.0, 1e-5]), [[0, 0], [1.0, 1.0]])
    with pytest.raises(LimitError, match='even 1000 times slower; look at its times'):
        planned(limited(velocity=5.0), hasty, retime=True)


def test_the_largest_payload_is_held_and_a_little_more_is_not() -> None:
    robot = limited(effort=120.0)
    dynamics, link, com = dynamics_of(robot), next(iter(robot.hands.values())), np.array([0.1, 0.05, 0.0])
    dynamics.payload = {link: Inertia.about_com(0.5, np.zeros(3), np.zeros((3, 3)))}
    known = dict(dynamics.payload)
    found = FeedForward(robot, dynamics).largest_payload(bump(0.5), link, com)
    assert found.mass > 0.1
    for mass, holds in ((found.mass * 0.999, True), (found.mass * 1.01, False)):
        dynamics.payload = {link: known[link] + Inertia.about_com(mass, com, np.zeros((3, 3)))}
        if holds:
            FeedForward(robot, dynamics).plan(bump(0.5))
        else:
            with pytest.raises(LimitError, match=f'{found.joint}: effort'):
                FeedForward(robot, dynamics).plan(bump(0.5))
    dynamics.payload = known
    FeedForward(robot, dynamics).largest_payload(bump(0.5), link, com)
    np.testing.assert_array_equal(dynamics.payload[link].parameters, known[link].parameters)
    with pytest.raises(LimitError, match='even without additional payload'):
        FeedForward(limited(effort=20.0), dynamics).largest_payload(bump(0.5), link)
    unlimited = FeedForward(limited(), dynamics).largest_payload(bump(0.5), link)
    assert np.isinf(unlimited.mass)


def test_friction_of_the_way_is_part_of_the_effort() -> None:
    """Presliding friction goes on from point to point, however fast the motion is."""
    robot = limited()
    joints = [replace(j, friction=Friction(0.0, 0.0, presliding=(Presliding(4.0, 1e-3),))) for j in robot.joints]
    sticky, smoothly = replace(robot, joints=tuple(joints)), limited()
    smoothly = replace(smoothly, joints=tuple(replace(j, friction=Friction()) for j in smoothly.joints))
    added = planned(sticky, bump(0.5)).trajectory.effort - planned(smoothly, bump(0.5)).trajectory.effort
    assert added[0, 1] == 0
    assert added[90, 1] == pytest.approx(4.0, abs=1e-3)
    assert added[220, 1] == pytest.approx(-4.0, abs=1e-3)


def test_notes_tell_what_the_efforts_do_not_cover() -> None:
    late = replace(bump(0.5), time=bump(0.5).time + 0.5)
    notes = ' / '.join(planned(limited(), late).notes)
    assert 'feed-forward ends at the last point' in notes
    assert 'from the present position to point 1, 0.5 s, is unknown' in notes
    assert 'velocity limit of theta1, theta2: unknown' in notes
    assert 'the velocity at the last point is not zero' not in notes
    moving = replace(late, velocity=late.velocity + 0.1)
    assert any('velocity at the last point is not zero' in note for note in planned(limited(), moving).notes)


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'joint_names': ('theta1', 'theta9')}, "joint 'theta9' is unknown; did you mean"),
        ({'velocity': np.full((4, 2), np.nan), 'acceleration': np.zeros((4, 2))}, 'accelerations without velocities'),
    ],
)
def test_a_trajectory_of_another_robot_is_refused(change: dict[str, Any], reason: str) -> None:
    trajectory = replace(bump(0.5), **change)
    with pytest.raises(ArgumentError, match=reason):
        Spline(trajectory) if 'velocity' in change else planned(limited(), trajectory)


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        ((['a'], [], np.empty((0, 1))), r'times of shape \(0,\)'),
        ((['a'], [0.0], [[0.0, 1.0]]), r'positions of shape \(1, 2\), must be \(1, 1\)'),
        ((['a', 'a'], [0.0], [[0.0, 1.0]]), 'named twice: a'),
        (([], [0.0], np.empty((1, 0))), 'no joint names'),
        ((['a'], [1.0, 0.5], [[0.0], [1.0]]), 'point 2: time_from_start 0.5 s, must be after that of point 1'),
        ((['a'], [-1.0], [[0.0]]), 'point 1: time_from_start -1 s, must be finite and not negative'),
        ((['a'], [0.0, np.nan], [[0.0], [1.0]]), 'point 2: time_from_start nan s, must be finite and not negative'),
        ((['a'], [0.0], [[np.nan]]), 'point 1: positions'),
        ((['a'], [0.0], [[0.0]], [[np.inf]]), 'point 1: velocities'),
    ],
)
def test_what_is_no_trajectory_is_refused(arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        Trajectory.of(*arguments)


def test_a_result_of_too_many_points_is_refused() -> None:
    with pytest.raises(ArgumentError, match='must be at most 1000000'):
        planned(limited(), bump(0.5), every=1e-6)
    with pytest.raises(ArgumentError, match='every: 0 s, must be above 0'):
        planned(limited(), bump(0.5), every=0.0)
