"""The textbook robots as formulas: term by term those of the seeds, and printed as one would write them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')
pytest.importorskip('sympy', reason='SymPy, for formulas, is not installed')

import sympy
from sympy import cos, sin, symbols

from krang_dynamics_ros import KrangDynamicsError, Lagrangian, Robot, load_robot
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.robot.robot_file import read_robot
from krang_dynamics_ros.robot.urdf_reader import read_description
from krang_dynamics_ros.symbolic.formulas import formulas

from ..check.test_textbook import eq_6_58
from ..commands import run
from ..robots import FILES

g = sympy.Symbol('g')


def assert_equal(mine: object, printed: list[object]) -> None:
    mine = mine if isinstance(mine, sympy.MatrixBase) else sympy.Matrix([mine])
    assert sympy.simplify(mine - sympy.Matrix(printed)).is_zero_matrix


def test_the_pendulum_is_seed_001s() -> None:
    """I ddtheta + m g0 d sin(theta) = - (b_l + b_m n_r^2) dtheta + l cos(theta) F_x, I = I_l + m d^2 + n_r^2 I_m."""
    mine = formulas(load_robot(FILES['pendulum']))
    theta, dtheta, m, d, l, I_l, I_m, n_r, b_l, b_m, F_x = symbols('theta thetadot m d l I_yy J_m N F_v F_vm F_x')  # noqa: E741
    assert_equal(mine['A'], [I_l + m * d**2 + I_m * n_r**2])
    assert_equal(mine['Q'], [m * g * d * sin(theta)])
    assert_equal(mine['coriolis_torque'], [0])
    assert_equal(mine['friction_torque'], [(b_l + b_m * n_r**2) * dtheta])
    assert_equal(sympy.diff(mine['wrench_torque'][0], F_x), [l * cos(theta)])


def test_the_pr_robot_is_seed_001s() -> None:
    mine = formulas(load_robot(FILES['pr_robot']))
    q2, dq2, m1, m2, d, I_zz = symbols('q2 qdot2 m_1 m_2 d_c2 I_2zz')
    off = -m2 * d * sin(q2)
    assert_equal(mine['A'], [[m1 + m2, off], [off, I_zz + m2 * d**2]])
    assert_equal(mine['coriolis_torque'], [-m2 * d * cos(q2) * dq2**2, 0])
    assert_equal(mine['Q'], [0, 0])


def test_the_rotating_mass_is_seed_002s() -> None:
    m, L = symbols('m L')
    assert_equal(formulas(load_robot(FILES['rotating_mass']))['A'], [m * L**2])


def test_the_2r_arm_is_eq_6_58_and_its_jacobian() -> None:
    mine = formulas(load_robot(FILES['arm_2r']))
    t1, t2, d1, d2, m1, m2, l1, l2 = symbols('theta1 theta2 thetadot1 thetadot2 m_1 m_2 l1 l2')
    dd1, dd2, F_x, F_y, M_z = symbols('dd1 dd2 F_x F_y M_z')
    c1, c2, s2, c12 = cos(t1), cos(t2), sin(t2), cos(t1 + t2)
    torques = eq_6_58((m1, m2), (l1, l2), g, (c1, c2, s2, c12), (d1, d2), (dd1, dd2))
    assert_equal(mine['A'] * sympy.Matrix([dd1, dd2]) + mine['coriolis_torque'] + mine['Q'], torques)
    x, y = l1 * c1 + l2 * c12, l1 * sin(t1) + l2 * sin(t1 + t2)
    JTf = [F_x * sympy.diff(x, t) + F_y * sympy.diff(y, t) + M_z for t in (t1, t2)]
    assert_equal(mine['wrench_torque'], JTf)


def test_the_second_finger_of_a_gripper_weighs_on_the_joint_of_the_first() -> None:
    """By hand: two fingers that slide up, the second at twice the pace of the first."""
    finger = '<inertial><mass value="{}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    joint = (
        '<joint name="{0}" type="prismatic"><parent link="palm"/><child link="{1}"/><axis xyz="0 0 1"/>'
        '<dynamics damping="1" friction="1"/>{2}</joint>'
    )
    text = f"""<robot name="gripper"><link name="palm"/>
      <link name="a">{finger.format(2)}</link><link name="b">{finger.format(3)}</link>
      {joint.format('x', 'a', '')}{joint.format('y', 'b', '<mimic joint="x" multiplier="-2" offset="0.5"/>')}</robot>"""
    mine, (m1, m2, v1, v2, c1, c2, dx) = (
        formulas(read_description(text).robot),
        symbols('m_1 m_2 F_v1 F_v2 F_c1 F_c2 xdot'),
    )
    assert_equal(mine['A'], [m1 + 4 * m2])
    assert_equal(mine['Q'], [g * (m1 - 2 * m2)])
    assert_equal(mine['friction_torque'], [(v1 + 4 * v2) * dx + (c1 + 2 * c2) * sympy.sign(dx)])


def test_a_centre_of_mass_that_was_changed_after_reading_is_no_length_any_more() -> None:
    robot = load_robot(FILES['pendulum'])
    links = tuple(
        replace(link, inertia=Inertia.about_com(link.inertia.m, np.array([0.25, 0.0, 0.0]), link.inertia.I_G))
        if link.inertia.m
        else link
        for link in robot.links
    )
    theta, m = symbols('theta m')
    assert_equal(formulas(replace(robot, links=links))['Q'], [m * g * sin(theta) / 4])


def test_they_are_printed_as_one_would_write_them() -> None:
    done = run('formulas', FILES['pr_robot'])
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('pr_robot: q = (q1, q2)\n')
    assert '⎡    m₁ + m₂       -d_c2⋅m₂⋅sin(q₂)⎤' in done.stdout
    assert 'Q(q) =         0\n' in done.stdout


def test_the_textbooks_are_the_default() -> None:
    done = run('formulas')
    assert done.returncode == 0
    titles = [line.split(':')[0] for line in done.stdout.splitlines() if ': q = (' in line]
    assert titles == sorted(set(FILES) - {'krang'})


def test_numbers_without_a_name_and_gravity_aslant_are_kept() -> None:
    robot = read_robot("""
name: aslant
gravity: [3, 0, -9]
links:
  base: {}
  body: {mass: 2, com: [0.25, 0, 0], inertia: [1, 0.1, 0, 1, 0, 1]}
joints:
  q: {type: revolute, parent: base, child: body, axis: [0, 1, 0], friction: {coulomb: 1}}
""")
    mine = formulas(robot)
    q, dq, m, g_x, g_z, I_yy, F_c = symbols('q qdot m g_x g_z I_yy F_c')
    assert_equal(mine['A'], [I_yy + m / 16])
    assert_equal(mine['Q'], [m / 4 * (g_x * sin(q) - g_z * cos(q))])
    assert_equal(mine['friction_torque'], [F_c * sympy.sign(dq)])


CLASHING = """
name: clashing
gravity: [0, 0, -9.81]
lengths: {m: 0.5, g: 0.25, gx: 0.75, qdot: 0.3, Ia_q: 0.2}
links:
  base: {}
  body: {mass: 2, com: [g, 0, 0], inertia: [1, 0, 0, 1, 0, 1]}
  next: {mass: 3, com: [gx, 0, 0], inertia: [0, 0, 0, 0, 0, 0]}
joints:
  q: {type: revolute, parent: base, child: body, axis: [0, 1, 0]}
  I: {type: revolute, parent: body, child: next, xyz: [m, qdot, Ia_q], axis: [0, 1, 0], friction: {viscous: 1}}
"""


def test_one_name_means_one_thing() -> None:
    """Lengths and joints named as our letters are, and as our parameters are."""
    robot = read_robot(CLASHING)
    mine = formulas(robot)
    q, I, m, g, gx, Ia_q, m1, m2, gprime, Idot, F_v2 = symbols('q I m g gx Ia_q m_1 m_2 gprime Idot F_v2')  # noqa: E741
    first, both = cos(q), cos(q + I)
    assert_equal(
        mine['Q'], [-gprime * (m1 * g * first + m2 * (m * first + Ia_q * sin(q) + gx * both)), -gprime * m2 * gx * both]
    )
    assert_equal(mine['friction_torque'], [0, F_v2 * Idot])
    assert sympy.Symbol('qdotprime') in mine['coriolis_torque'].free_symbols
    numbers = {g: 0.25, gx: 0.75, m: 0.5, Ia_q: 0.2, m1: 2, m2: 3, gprime: 9.81, q: 0.3, I: 0.4}
    shown = [float(x.subs(numbers)) for x in mine['Q']]
    assert shown == pytest.approx(Lagrangian(robot).Q([0.3, 0.4]).tolist())


def test_a_length_named_as_the_mass_is_not_the_mass() -> None:
    text = (
        CLASHING.split('  next:', maxsplit=1)[0]
        + """
joints:
  q: {type: revolute, parent: base, child: body, axis: [0, 1, 0]}
"""
    )
    mine = formulas(read_robot(text.replace('com: [g, 0, 0]', 'com: [m, 0, 0]')))
    m, mprime, I_yy = symbols('m mprime I_yy')
    assert_equal(mine['A'], [I_yy + mprime * m**2])


def test_a_large_robot_is_refused(robot: Robot) -> None:
    with pytest.raises(KrangDynamicsError, match="robot 'krang': 17 joints, must have at most 3"):
        formulas(robot)
