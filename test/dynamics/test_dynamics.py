"""How `Dynamics` is to the touch: names, shapes, settings, errors. That its numbers are right is shown elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from krang_dynamics_ros import Dynamics, Inertia, Robot, Wrench, dynamics_of, load_robot, urdf_text
from krang_dynamics_ros.core.errors import ArgumentError, SingularityError
from krang_dynamics_ros.dynamics.task_space import task_space
from krang_dynamics_ros.robot.motor_and_friction import Motor

from ..robots import FILES

Q0 = np.linspace(0.1, 0.9, 17)


def test_lists_do_as_well_as_arrays(dynamics: Dynamics) -> None:
    np.testing.assert_array_equal(dynamics.Q(Q0.tolist()), dynamics.Q(Q0))
    np.testing.assert_array_equal(dynamics.A([0] * 17), dynamics.A(np.zeros(17)))


def test_results_are_the_callers_own(dynamics: Dynamics) -> None:
    hand = [Wrench('R10l', (1, 2, 3))]
    calls = {
        'A': dynamics.A,
        'C': lambda q: dynamics.C(q, q),
        'Q': dynamics.Q,
        'C dq': lambda q: dynamics.coriolis_torque(q, q),
        'inverse': lambda q: dynamics.inverse_dynamics(q, q, q),
        'forward': lambda q: dynamics.forward_dynamics(q, q, q),
        'com': dynamics.center_of_mass,
        'pose': lambda q: dynamics.pose(q, 'R10l')[1],
        'jacobian': lambda q: dynamics.jacobian(q, 'R10l'),
        'rate': lambda q: dynamics.jacobian_rate(q, q, 'R10l'),
        'wrench': lambda q: dynamics.wrench_torque(q, hand),
    }
    for name, call in calls.items():
        first = call(Q0)
        kept = first.copy()
        call(-Q0)
        np.testing.assert_array_equal(first, kept, err_msg=name)
        first[...] = 7
        np.testing.assert_array_equal(call(Q0), kept, err_msg=name)


@pytest.mark.parametrize('wrong', [np.zeros(16), np.zeros((17, 1)), 0.0])
def test_a_vector_of_the_wrong_shape_is_refused_with_the_joints_it_should_have(
    dynamics: Dynamics, wrong: object
) -> None:
    for call in (dynamics.A, dynamics.Q, dynamics.friction_torque, dynamics.center_of_mass):
        with pytest.raises(ArgumentError, match=r'must be \(17,\): q_imu, q_w'):
            call(wrong)


def test_unknown_names_are_refused_with_a_hint(dynamics: Dynamics) -> None:
    with pytest.raises(ArgumentError, match=r"link 'R10' is unknown; did you mean 'R10[lr]'\?"):
        dynamics.pose(Q0, 'R10')
    with pytest.raises(ArgumentError, match="joint 'q_1' is unknown"):
        dynamics.vector({'q_1': 1.0})
    with pytest.raises(ArgumentError, match="frame 'world' is unknown; known: base, link"):
        dynamics.jacobian(Q0, 'R10l', 'world')  # type: ignore[arg-type]
    for wrench in (Wrench('x', (1, 0, 0)), Wrench('R3', (1, 0, 0), axes='x'), Wrench('R3', (1, 0, 0), about='x')):
        with pytest.raises(ArgumentError, match="link 'x' is unknown"):
            dynamics.wrench_torque(Q0, [wrench])


def test_order_of_joints_can_be_chosen(robot: Robot) -> None:
    names = robot.joint_names[::-1]
    backwards = Dynamics(urdf_text(robot), joint_names=names)
    assert backwards.joint_names == names
    np.testing.assert_allclose(backwards.Q(Q0[::-1]), dynamics_of(robot).Q(Q0)[::-1], atol=1e-12)
    with pytest.raises(ArgumentError, match='each once'):
        Dynamics(urdf_text(robot), joint_names=names[1:])


def test_settings_can_be_changed_and_nonsense_is_refused(dynamics: Dynamics) -> None:
    before = dynamics.Q(Q0)
    for bad in ([0, 0], [0, 0, np.nan], 9.81):
        with pytest.raises(ArgumentError, match='gravity'):
            dynamics.gravity = bad  # type: ignore[assignment]
    np.testing.assert_array_equal(dynamics.Q(Q0), before)
    dynamics.gravity = (0, 0, -1.62)
    np.testing.assert_allclose(dynamics.Q(Q0), before * 1.62 / 9.81)
    np.testing.assert_allclose(dynamics.coriolis_torque(Q0, Q0 * 0), 0, atol=1e-12)
    for setting in ('viscous', 'coulomb', 'rotor_inertia'):
        for bad in (np.full(17, -1.0), np.full(17, np.inf), np.zeros(3)):
            with pytest.raises(ArgumentError, match=setting):
                setattr(dynamics, setting, bad)
        setattr(dynamics, setting, np.arange(17))
        np.testing.assert_array_equal(getattr(dynamics, setting), np.arange(17))


def test_rotor_inertia_is_in_everything_that_accelerates(robot: Robot) -> None:
    light, heavy = dynamics_of(robot), dynamics_of(robot)
    rotors = heavy.vector({'q_3l': 2.0, 'q_w': 5.0})
    heavy.rotor_inertia = rotors
    dq, ddq = Q0, np.ones(17)
    np.testing.assert_allclose(heavy.A(Q0) - light.A(Q0), np.diag(rotors), atol=1e-12)
    np.testing.assert_allclose(heavy.E(Q0, dq) - light.E(Q0, dq), 0.5 * rotors @ dq**2)
    torque = heavy.inverse_dynamics(Q0, dq, ddq)
    np.testing.assert_allclose(torque - light.inverse_dynamics(Q0, dq, ddq), rotors, atol=1e-12)
    np.testing.assert_allclose(heavy.forward_dynamics(Q0, dq, torque), ddq, atol=1e-9)
    np.testing.assert_allclose(heavy.C(Q0, dq), light.C(Q0, dq), atol=1e-12)


def test_friction_opposes_motion_and_is_nothing_at_rest(dynamics: Dynamics) -> None:
    dynamics.viscous, dynamics.coulomb = np.full(17, 2.0), np.full(17, 3.0)
    dq = np.zeros(17)
    dq[:2] = 0.5, -0.5
    np.testing.assert_array_equal(dynamics.friction_torque(dq), [4, -4, *[0] * 15])


def test_wrenches_add_up_and_none_is_nothing(dynamics: Dynamics) -> None:
    left, right = Wrench('R10l', (1, 2, 3), (4, 5, 6)), Wrench('R10r', (6, 5, 4), (3, 2, 1), axes='R0')
    both = dynamics.wrench_torque(Q0, [left, right])
    np.testing.assert_allclose(both, dynamics.wrench_torque(Q0, [left]) + dynamics.wrench_torque(Q0, [right]))
    np.testing.assert_array_equal(dynamics.wrench_torque(Q0, []), np.zeros(17))
    np.testing.assert_array_equal(dynamics.wrench_torque(Q0, [left])[10:], np.zeros(7))  # the other arm feels nothing


def test_a_wrench_has_three_numbers_and_three(dynamics: Dynamics) -> None:
    with pytest.raises(ArgumentError, match='must be 3 numbers each'):
        dynamics.wrench_torque(Q0, [Wrench('R10l', (1, 2))])


def test_a_force_off_the_hand_has_a_moment_about_it(dynamics: Dynamics) -> None:
    """r x F: the same force given at the base's origin and at the hand's differs by just that moment."""
    hand = dynamics.pose(Q0, 'R10l')[1]
    force, moment = np.array([1.0, -2.0, 3.0]), np.array([0.4, 0.5, 0.6])
    at_base = Wrench('R10l', force, moment, axes='R0', about='R0')
    at_hand = Wrench('R10l', force, moment - np.cross(hand, force), axes='R0')
    np.testing.assert_allclose(dynamics.wrench_torque(Q0, [at_base]), dynamics.wrench_torque(Q0, [at_hand]), atol=1e-12)


def test_a_joint_that_moves_no_mass_has_no_forward_dynamics() -> None:
    urdf = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="c"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
      <joint name="k" type="continuous"><parent link="b"/><child link="c"/></joint></robot>"""
    d = Dynamics(urdf)
    np.testing.assert_array_equal(d.Q([0.1, 0.2]), [0, 0])
    with pytest.raises(SingularityError, match='not finite'):
        d.forward_dynamics([0, 0], [0, 0], [1, 1])


def test_jacobian_rate_is_the_change_of_the_jacobian(dynamics: Dynamics) -> None:
    dq, step = np.linspace(-1, 1, 17), 1e-6
    for frame in ('base', 'link'):
        after, before = (dynamics.jacobian(Q0 + s * dq, 'R10r', frame) for s in (step, -step))
        np.testing.assert_allclose(
            dynamics.jacobian_rate(Q0, dq, 'R10r', frame), (after - before) @ dq / (2 * step), atol=1e-6
        )


class TestTaskSpace:
    """Krang's redundant arm; the 2R arm's closed form is in test_textbook."""

    dq = np.linspace(-1, 1, 17)

    def test_a_task_force_moves_the_hand_as_its_equation_says(
        self, dynamics: Dynamics, rng: np.random.Generator
    ) -> None:
        for frame in ('base', 'link'):
            task = task_space(dynamics, Q0, self.dq, 'R10l', frame)
            F = rng.normal(size=6) * 10
            ddq = dynamics.forward_dynamics(Q0, self.dq, task.J.T @ F)
            ddx = task.J @ ddq + dynamics.jacobian_rate(Q0, self.dq, 'R10l', frame)
            np.testing.assert_allclose(task.M_x @ ddx + task.V_x + task.G_x, F, rtol=1e-7, atol=1e-7)

    def test_the_inverse_is_dynamically_consistent(self, dynamics: Dynamics, rng: np.random.Generator) -> None:
        """A torque from its null space leaves the hand's acceleration alone."""
        task = task_space(dynamics, Q0, self.dq, 'R10l')
        np.testing.assert_allclose(task.J @ task.J_bar, np.eye(6), atol=1e-8)
        null = (np.eye(17) - task.J.T @ task.J_bar.T) @ rng.normal(size=17)
        with_null, without = (dynamics.forward_dynamics(Q0, self.dq, t) for t in (null, np.zeros(17)))
        np.testing.assert_allclose(task.J @ with_null, task.J @ without, atol=1e-8)

    def test_near_a_singularity_it_says_so(self, dynamics: Dynamics) -> None:
        with pytest.raises(SingularityError, match=r"'R1': singular, no motion along .*must be above 1e-08"):
            task_space(dynamics, Q0, self.dq, 'R1')
        with pytest.raises(SingularityError, match=r'about z'):
            task_space(dynamics, Q0, self.dq, 'R1', directions=(4, 5))
        assert task_space(dynamics, Q0, self.dq, 'R1', directions=(4,)).M_x.shape == (1, 1)

    @pytest.mark.parametrize('directions', [(), (6,), (0, 0), (-1,)])
    def test_directions_are_checked(self, dynamics: Dynamics, directions: tuple[int, ...]) -> None:
        with pytest.raises(ArgumentError, match='directions'):
            task_space(dynamics, Q0, self.dq, 'R10l', directions=directions)


def test_a_task_space_that_is_none_is_said_to_be(dynamics: Dynamics) -> None:
    with pytest.raises(SingularityError, match='or the state is not finite'):
        task_space(dynamics, np.full(17, np.nan), np.zeros(17), 'R10l')
    robot = load_robot(FILES['arm_2r'])
    links = tuple(replace(link, inertia=Inertia()) if link.name != 'link1' else link for link in robot.links)
    joints = tuple(replace(joint, motor=Motor()) for joint in robot.joints)
    massless = dynamics_of(replace(robot, links=links, joints=joints))
    with pytest.raises(SingularityError, match='a joint moves no mass'):
        task_space(massless, [0.1, 0.2], [0, 0], links[-1].name, directions=[0])
