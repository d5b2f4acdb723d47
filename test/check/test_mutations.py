"""Would the tests notice? Break one thing at a time, in a number or in the code, and see the proof fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Dynamics, KrangDynamicsError, Robot, dynamics_of, krang, urdf_text
from krang_dynamics_ros.check.agreement import Finding, against_report, prove
from krang_dynamics_ros.check.witnesses import States, random_states
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.spatial import frozen, hat, rotation_from_rpy, rpy_from_rotation, symmetric, upper_triangle
from krang_dynamics_ros.equations import lagrangian
from krang_dynamics_ros.equations import report_print as report
from krang_dynamics_ros.equations.bodies import Body
from krang_dynamics_ros.robot.motor_and_friction import Friction, Motor

from ..marks import slow_but
from ..robots import FILES, inertials

KRANG = krang()
JOINTS = KRANG.joint_names
SOME = slow_but(['q_imu', 'q_torso', 'q_4l', 'q_7r'], JOINTS)


def differing(robot: Robot, urdf: str | None = None) -> set[str]:
    """Return the quantities that do not agree."""
    findings = prove(robot, dynamics_of(robot, urdf), states=4, seed=1)
    return {quantity for (quantity, _), finding in findings.items() if not finding.agrees}


def with_joint(name: str, **changes: object) -> Robot:
    joints = [replace(joint, **changes) if joint.name == name else joint for joint in KRANG.joints]
    return replace(KRANG, joints=tuple(joints))


def with_body(name: str, body: Inertia) -> Robot:
    links = [replace(link, inertia=body) if link.name == name else link for link in KRANG.links]
    return replace(KRANG, links=tuple(links))


def geared(robot: Robot) -> Robot:
    """Return the robot with rotors and friction, so that these have something to differ in."""
    joints = [replace(j, motor=Motor(100, 1e-4), friction=Friction(1.0, 2.0)) for j in robot.joints]
    return replace(robot, joints=tuple(joints))


def test_nothing_differs_while_nothing_is_broken() -> None:
    assert differing(KRANG, urdf_text(KRANG)) == set()
    assert differing(geared(KRANG)) == set()


class TestNumbers:
    """A single number of the robot file differs from that of a URDF: the check finds it."""

    def expect(self, changed: Robot, *quantities: str) -> None:
        assert set(quantities) <= differing(changed, urdf_text(KRANG))

    @pytest.mark.parametrize('name', SOME)
    def test_position(self, name: str) -> None:
        joint = KRANG.joint_above[report.FRAME_OF[name]]
        self.expect(with_joint(name, position=joint.position + np.array([0, 0, 1e-6])), '0T_j')

    @pytest.mark.parametrize('name', SOME)
    def test_rotation(self, name: str) -> None:
        joint = KRANG.joint_above[report.FRAME_OF[name]]
        turned = joint.rotation @ rotation_from_rpy([1e-6, 1e-6, 1e-6])
        self.expect(with_joint(name, rotation=frozen(turned)), '0T_j')

    @pytest.mark.parametrize('name', SOME)
    def test_axis(self, name: str) -> None:
        joint = KRANG.joint_above[report.FRAME_OF[name]]
        self.expect(with_joint(name, axis=frozen(-joint.axis)), '0T_j', 'J^T f')

    @pytest.mark.parametrize('parameter', range(10))
    @pytest.mark.parametrize('name', slow_but(['R10r'], ['R5l', 'R10r']))
    def test_inertial_parameter(self, name: str, parameter: int) -> None:
        changed = KRANG.link_of[name].inertia.parameters + 1e-5 * np.eye(10)[parameter]
        self.expect(with_body(name, Inertia.from_parameters(changed)), 'A', 'C')

    @pytest.mark.parametrize('name', SOME)
    def test_friction(self, name: str) -> None:
        self.expect(with_joint(name, friction=Friction(1e-3, 0)), 'Gamma_f')
        self.expect(with_joint(name, friction=Friction(0, 1e-3)), 'Gamma_f')

    def test_gravity(self) -> None:
        dynamics = dynamics_of(KRANG)
        dynamics.gravity = (0, 0, -9.80665)
        findings = prove(KRANG, dynamics, states=4)
        assert {quantity for (quantity, _), f in findings.items() if not f.agrees} == {'Q', 'U', 'Gamma', 'Gamma mean'}

    @pytest.mark.parametrize('change', [lambda J: 0 * J, lambda J: -J, lambda J: np.roll(J, 6, axis=0)])
    def test_jacobians_of_the_hands(self, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        jacobians = Dynamics.scaled_jacobians
        monkeypatch.setattr(Dynamics, 'scaled_jacobians', lambda self, q, links: change(jacobians(self, q, links)))
        findings = prove(KRANG, dynamics_of(KRANG), states=4)
        assert {quantity for (quantity, _), f in findings.items() if not f.agrees} == {'f'}


def entries(matrix: report.Matrix) -> list[tuple[int, int]]:
    return [(i, j) for i in range(3) for j in range(4) if np.any(np.asarray(matrix[i][j]) != 0)]


PRINTED = report.transforms(KRANG.lengths, dict.fromkeys(JOINTS, 0.5))
SIGNS = [pytest.param(name, *at, id=f'{name}-{at}') for name in JOINTS for at in entries(PRINTED[name])]


def misprinted(name: str, row: int, column: int) -> Callable[..., dict[str, report.Matrix]]:
    """Return the report's transforms with another sign of one entry."""
    original = report.transforms

    def transforms(*arguments: Any) -> dict[str, report.Matrix]:
        printed = original(*arguments)
        rows = [list(line) for line in printed[name]]
        rows[row][column] = -rows[row][column]
        return printed | {name: tuple(map(tuple, rows))}

    return transforms


@pytest.fixture(scope='module')
def frames() -> tuple[States, dict[str, np.ndarray]]:
    """Four states, and the frames of all links there, by Pinocchio."""
    states, dynamics = random_states(KRANG, 4, 1), dynamics_of(KRANG)
    poses = {link: [np.column_stack(dynamics.pose(q, link)) for q in states.q] for link in KRANG.link_of}
    return states, {link: np.array(of_link) for link, of_link in poses.items()}


@pytest.mark.parametrize(('name', 'row', 'column'), SIGNS)
def test_every_sign_of_every_printed_transform_counts(
    name: str, row: int, column: int, frames: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, 'transforms', misprinted(name, row, column))
    finding = Finding()
    finding.add(*against_report(KRANG, *frames), JOINTS)
    assert (finding.agrees, finding.where) == (False, name)


def test_a_misprinted_sign_is_all_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, 'transforms', misprinted('q_torso', *entries(PRINTED['q_torso'])[0]))
    assert differing(KRANG) == {'iT_j'}


def flipped(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda *arguments: -function(*arguments)


def other_order(entries: object) -> np.ndarray:
    """XX YY ZZ XY XZ YZ, the order of the report's section 5.1, where the code has XX XY XZ YY YZ ZZ."""
    e = np.asarray(entries, dtype=float)
    return e[[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]


KE = lagrangian.KE


def same_kinetic_energy_other_sign(body: Body, omega: list, V: list) -> object:
    return KE(body._replace(MS=[-x for x in body.MS]), omega, V)


# What is broken, and with what.
CODE: dict[str, tuple[str, object]] = {
    'J = I_G + M S^ S^': (
        'core.inertia.Inertia.about_com',
        classmethod(lambda cls, m, com, I_G: cls(m, frozen(m * com), frozen(I_G + m * hat(com) @ hat(com)))),
    ),
    'I_G = J - M S^ S^': ('core.inertia.Inertia.I_G', property(lambda b: b.J - b.m * hat(b.com) @ hat(b.com))),
    'XX YY ZZ XY XZ YZ read': ('robot.robot_file.symmetric', other_order),
    'XX YY ZZ XY XZ YZ written': ('robot.urdf_writer.upper_triangle', lambda M: upper_triangle(M)[[0, 3, 5, 1, 2, 4]]),
    'rpy in the other order': ('robot.urdf_writer.rpy_from_rotation', lambda R: rpy_from_rotation(R)[::-1]),
    'rpy of the transpose': ('robot.urdf_writer.rpy_from_rotation', lambda R: rpy_from_rotation(R.T)),
    'sin with the other sign': ('equations.frames.sin', flipped(np.sin)),
    'MS^T (omega x V)': ('equations.lagrangian.KE', same_kinetic_energy_other_sign),
    'no rotors in A': (
        'robot.robot.Motor.reflected_inertia',
        property(lambda motor: motor.gear_ratio * motor.rotor_inertia),
    ),
    'axis of the parent': (
        'robot.urdf_writer._join',
        lambda values: ' '.join(repr(float(x)) for x in np.asarray(values) * (-1 if np.shape(values) == (3,) else 1)),
    ),
}


def everything_holds() -> bool:
    """Read Krang's file anew, and compare: the three with each other, and the URDF with the numbers of the file."""
    try:
        robot = geared(krang())
        text = urdf_text(robot)
        if differing(robot, text):
            return False
        raw = yaml.safe_load(FILES['krang'].read_text())['links']
        for name, _, tensor in inertials(text):
            if not np.allclose(tensor, raw[name]['inertia'], atol=1e-9):
                return False
    except KrangDynamicsError:
        return False
    rotors = dynamics_of(robot).A(np.zeros(17)) - dynamics_of(krang()).A(np.zeros(17))
    return np.allclose(rotors, np.eye(17))  # 100^2 * 1e-4 kg m^2


def test_everything_holds_while_no_code_is_broken() -> None:
    assert everything_holds()


@pytest.mark.parametrize('mutant', CODE)
def test_broken_code_is_noticed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, broken = CODE[mutant]
    monkeypatch.setattr(f'krang_dynamics_ros.{where}', broken)
    assert not everything_holds()


def test_orders_of_the_ten_parameters() -> None:
    np.testing.assert_array_equal(symmetric([1, 2, 3, 4, 5, 6]), [[1, 2, 3], [2, 4, 5], [3, 5, 6]])
    np.testing.assert_array_equal(upper_triangle(symmetric([1, 2, 3, 4, 5, 6])), [1, 2, 3, 4, 5, 6])
    body = Inertia.from_parameters(range(1, 11))
    np.testing.assert_array_equal(body.MS, [2, 3, 4])
    np.testing.assert_array_equal(body.J, [[5, 6, 7], [6, 8, 9], [7, 9, 10]])
    np.testing.assert_array_equal(body.parameters, range(1, 11))


def test_joints_are_compared_by_name() -> None:
    text = urdf_text(KRANG).replace('"q_1l"', '"x"').replace('"q_1r"', '"q_1l"').replace('"x"', '"q_1r"')
    assert '0T_j' in differing(KRANG, text)
