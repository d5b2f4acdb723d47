"""What a hand carries beside the model: added, read back, taken away; in everything that depends on inertia."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as with_settings

from krang_dynamics_ros import Dynamics, Robot, Wrench, dynamics_of, urdf_text
from krang_dynamics_ros.check.agreement import prove
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.core.errors import ArgumentError
from krang_dynamics_ros.core.inertia import Inertia, InertiaRamp
from krang_dynamics_ros.core.spatial import rotation_from_rpy

from ..robots import random_body, trees

Q0, DQ, DDQ = np.linspace(0.1, 0.9, 17), np.linspace(-1, 1, 17), np.ones(17)
CAN_COMPILE = bool(find_spec('casadi') and shutil.which('cc'))
BACKENDS = [
    'pinocchio',
    pytest.param('compiled', marks=pytest.mark.skipif(not CAN_COMPILE, reason='CasADi or a C compiler is missing')),
]

INERTIAL: dict[str, Callable[[Dynamics], object]] = {
    'A': lambda d: d.A(Q0),
    'C': lambda d: d.C(Q0, DQ),
    'Q': lambda d: d.Q(Q0),
    'C dq': lambda d: d.coriolis_torque(Q0, DQ),
    'inverse': lambda d: d.inverse_dynamics(Q0, DQ, DDQ),
    'forward': lambda d: d.forward_dynamics(Q0, DQ, DDQ),
    'E': lambda d: d.E(Q0, DQ),
    'U': lambda d: d.U(Q0),
    'center of mass': lambda d: d.center_of_mass(Q0),
    'mass': lambda d: d.mass,
}


@pytest.fixture(params=BACKENDS)
def either(request: pytest.FixtureRequest, robot: Robot) -> Dynamics:
    return dynamics_of(robot, backend=request.param)


def everything(dynamics: Dynamics) -> dict[str, object]:
    return {name: call(dynamics) for name, call in INERTIAL.items()}


def assert_same(one: dict[str, object], other: dict[str, object]) -> None:
    for name, value in other.items():
        scale = max(float(np.abs(value).max()), 1.0)
        np.testing.assert_allclose(one[name], value, rtol=0, atol=1e-12 * scale, err_msg=name)


@pytest.mark.parametrize('links', [['R10l'], ['R10l', 'R10r'], ['R0'], ['R3', 'R7r', 'R10l']])
def test_a_payload_is_as_good_as_heavier_links(
    links: list[str], either: Dynamics, robot: Robot, rng: np.random.Generator
) -> None:
    """By another way: a URDF with the sum of the two bodies. R3 and R7r are no hands, R0 does not move."""
    bare = everything(either)
    payload = {link: random_body(rng) for link in links}
    either.payload = payload
    laden = dynamics_of(robot, urdf_text(robot.carrying(payload)))
    assert_same(everything(either), everything(laden) if 'R0' not in links else _with_base(laden, either))
    either.payload = {}
    for name, value in everything(either).items():
        np.testing.assert_array_equal(value, bare[name], err_msg=name)


def _with_base(laden: Dynamics, either: Dynamics) -> dict[str, object]:
    """A heavier base changes nothing that moves."""
    moving = everything(laden)
    for name in set(INERTIAL) - {'U', 'center of mass', 'mass'}:
        np.testing.assert_allclose(INERTIAL[name](either), moving[name], atol=1e-9)
    return moving


def test_gravity_of_a_payload_is_its_weight_at_its_centre(either: Dynamics, rng: np.random.Generator) -> None:
    """By virtual work: the robot applies m g upwards, through the centre of mass."""
    body, bare = random_body(rng), either.Q(Q0)
    either.payload = {'R10r': body}
    lifted = -body.m * either.gravity
    arm = either.pose(Q0, 'R10r')[0] @ body.com
    weight = Wrench('R10r', lifted, np.cross(arm, lifted), axes='R0')
    np.testing.assert_allclose(either.Q(Q0) - bare, either.wrench_torque(Q0, [weight]), atol=1e-11)


def test_it_is_linear_in_the_ten_parameters(either: Dynamics, rng: np.random.Generator) -> None:
    one, other = random_body(rng), random_body(rng)
    bare = either.inverse_dynamics(Q0, DQ, DDQ), either.A(Q0)
    parts = []
    for body in (one, other, one + other):
        either.payload = {'R10l': body}
        parts.append((either.inverse_dynamics(Q0, DQ, DDQ) - bare[0], either.A(Q0) - bare[1]))
    for a, b, both in zip(*parts, strict=True):
        np.testing.assert_allclose(a + b, both, atol=1e-11)


def test_the_payload_read_back_is_a_read_only_copy(either: Dynamics) -> None:
    MS = np.array([0.1, 0.0, 0.0])
    given_in = {'R10l': Inertia(2.0, MS, np.diag([0.1, 0.2, 0.2])), 'R10r': Inertia()}
    either.payload = given_in
    before = either.Q(Q0)
    MS[0], given_in['R5l'] = 7.0, Inertia(1.0)
    assert [*either.payload] == ['R10l']  # nothing is no payload
    np.testing.assert_array_equal(either.payload['R10l'].parameters, [2, 0.1, 0, 0, 0.1, 0, 0, 0.2, 0, 0.2])
    with pytest.raises(TypeError):
        either.payload['R10r'] = Inertia(1.0)  # type: ignore[index]
    np.testing.assert_array_equal(either.Q(Q0), before)


IMPOSSIBLE = {
    'negative mass': Inertia(-1e-9),
    'has a negative principal moment': Inertia(1.0, J=np.diag([1.0, 1.0, -0.1])),
    'breaks the triangle inequality': Inertia(1.0, J=np.diag([1.0, 1.0, 2.1])),
    'has a negative principal moment about': Inertia(1.0, np.array([1.0, 0, 0]), np.zeros((3, 3))),
    'is not finite': Inertia(np.nan),
    'not finite': Inertia(1.0, np.array([np.inf, 0, 0])),
    'finite': Inertia(1.0, J=np.full((3, 3), np.nan)),
    'has moments, but no mass': Inertia(0.0, np.array([0.1, 0, 0])),
    'moments, but no mass': Inertia(0.0, J=np.eye(3)),
    'a centre of mass that is not finite': Inertia(5e-324, np.ones(3), np.eye(3)),
}


@pytest.mark.parametrize('why', IMPOSSIBLE)
def test_an_impossible_payload_is_refused_and_the_old_payload_stays(why: str, either: Dynamics) -> None:
    either.payload = {'R10l': Inertia(2.0)}
    before = everything(either)
    with pytest.raises(ArgumentError, match=rf"payload on link 'R10r': .*{why}"):
        either.payload = {'R10l': Inertia(1.0), 'R10r': IMPOSSIBLE[why]}
    assert [*either.payload] == ['R10l']
    for name, value in everything(either).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_an_unknown_link_is_refused_by_name(either: Dynamics, robot: Robot) -> None:
    with pytest.raises(ArgumentError, match=r"link 'R10' is unknown; did you mean 'R10[lr]'\?"):
        either.payload = {'R10l': Inertia(1.0), 'R10': Inertia(1.0)}
    assert not either.payload
    with pytest.raises(ArgumentError, match="link 'hand' is unknown"):
        robot.carrying({'hand': Inertia(1.0)})


@pytest.mark.parametrize('wrong', [{'MS': np.zeros(2)}, {'J': np.zeros((2, 2))}, {'J': np.zeros(6)}])
def test_another_number_of_parameters_is_refused(wrong: dict[str, np.ndarray]) -> None:
    with pytest.raises(ArgumentError, match=r'must have shapes \(3,\) and \(3, 3\)'):
        Inertia(1.0, **wrong)


def test_a_proof_leaves_the_payload_as_it_was(either: Dynamics, robot: Robot) -> None:
    either.payload = {'R5l': Inertia(3.0)}
    findings = prove(robot, either, 2)
    assert all(finding.agrees for finding in findings.values())
    assert {link: body.m for link, body in either.payload.items()} == {'R5l': 3.0}


@with_settings(max_examples=20)
@given(trees(largest=6))
def test_on_any_link_of_any_tree(tree: Robot) -> None:
    """Links behind fixed joints, and the base, too."""
    d, rng = dynamics_of(tree), np.random.default_rng(2)
    payload = {link.name: random_body(rng) for link in tree.links}
    laden = dynamics_of(tree.carrying(payload))
    d.payload = payload
    q, dq, ddq = (x[0] for x in random_states(tree, 1, 3))
    np.testing.assert_allclose(
        d.inverse_dynamics(q, dq, ddq), laden.inverse_dynamics(q, dq, ddq), rtol=1e-10, atol=1e-9
    )
    np.testing.assert_allclose(d.center_of_mass(q), laden.center_of_mass(q), atol=1e-12)
    assert d.U(q) == pytest.approx(laden.U(q), rel=1e-10)
    assert d.mass == pytest.approx(tree.carrying(payload).mass)


class TestRamp:
    def test_it_begins_and_ends_to_the_last_digit_and_is_linear_between(self, rng: np.random.Generator) -> None:
        before, after = random_body(rng), random_body(rng)
        ramp = InertiaRamp(before, after, start=10.0, duration=0.5)
        for time in (-3.0, 9.9, 10.0):
            np.testing.assert_array_equal(ramp.at(time).parameters, before.parameters)
            assert not ramp.done(time)
        np.testing.assert_allclose(ramp.at(10.125).parameters, 0.75 * before.parameters + 0.25 * after.parameters)
        for time in (10.5, 11.0):
            assert ramp.at(time) is after
            assert ramp.done(time)

    def test_no_time_is_at_once(self) -> None:
        ramp = InertiaRamp(Inertia(), Inertia(1.0), start=1.0, duration=0.0)
        assert ramp.at(1.0).m == 1.0

    @pytest.mark.parametrize('other', [Inertia(), Inertia.about_com(3.0, np.array([0.1, 0, 0.2]), np.zeros((3, 3)))])
    def test_all_on_the_way_can_be(self, other: Inertia, dynamics: Dynamics) -> None:
        """A point, nothing, and a thin rod are at the edge of what can be."""
        rod = Inertia.about_com(1.0, np.array([-0.3, 0.2, 0.1]), np.diag([0.1, 0.1, 0.0]))
        for ramp in (InertiaRamp(rod, other, 0.0, 1.0), InertiaRamp(other, rod, 0.0, 1.0)):
            for time in (1e-300, 1e-17, *np.linspace(0, 1, 21), 1 - 1e-16):
                dynamics.payload = {'R10l': ramp.at(time)}


class TestGivenInAnotherFrame:
    def test_energies_do_not_depend_on_the_frame(self, either: Dynamics, rng: np.random.Generator) -> None:
        body = random_body(rng)
        either.payload = {'R7r': body}
        there = either.U(Q0), either.center_of_mass(Q0)
        either.payload = {'R10l': either.inertia_at_link(body, 'R10l', 'R7r', Q0)}
        np.testing.assert_allclose(either.center_of_mass(Q0), there[1], atol=1e-13)
        assert either.U(Q0) == pytest.approx(there[0])

    def test_a_body_turned_is_the_same_body(self, rng: np.random.Generator) -> None:
        body, turn, position = random_body(rng), rotation_from_rpy([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
        seen = body.in_parent(turn, position)
        np.testing.assert_allclose(seen.com, turn @ body.com + position, atol=1e-13)
        np.testing.assert_allclose(seen.I_G, turn @ body.I_G @ turn.T, atol=1e-12)

    def test_without_a_pose_only_within_one_rigid_piece(self, dynamics: Dynamics) -> None:
        assert dynamics.inertia_at_link(Inertia(1.0), 'R10l', 'R10l').m == 1.0
        with pytest.raises(ArgumentError, match="frame of 'R9l', which moves relative to 'R10l': must have q"):
            dynamics.inertia_at_link(Inertia(1.0), 'R10l', 'R9l')
        with pytest.raises(ArgumentError, match="link 'R11' is unknown"):
            dynamics.inertia_at_link(Inertia(1.0), 'R10l', 'R11')

    def test_a_tool_frame_that_is_fixed_to_the_hand(self) -> None:
        d = Dynamics("""<robot name="r"><link name="base"/><link name="hand"><inertial><mass value="1"/>
          <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="tip"/>
          <joint name="q" type="continuous"><parent link="base"/><child link="hand"/></joint>
          <joint name="f" type="fixed"><parent link="hand"/><child link="tip"/><origin xyz="0 0 2" rpy="0 1 0"/></joint>
          </robot>""")
        body = d.inertia_at_link(Inertia(1.0), 'hand', 'tip')
        np.testing.assert_allclose(body.com, [0, 0, 2])
        d.payload = {'tip': Inertia(1.0)}
        by_tip = d.A([0.3])
        d.payload = {'hand': body}
        np.testing.assert_allclose(d.A([0.3]), by_tip)
        np.testing.assert_allclose(by_tip, [[1 + 4]])
