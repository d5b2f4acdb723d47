"""Backend compiled: Pinocchio's numbers, whatever is set, asked or passed, and never those of another robot."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')
if not shutil.which('cc'):
    pytest.skip('no C compiler is installed', allow_module_level=True)

from dataclasses import replace

from krang_dynamics_ros import Dynamics, KrangDynamicsError, Robot, Wrench, dynamics_of, load_robot, urdf_text
from krang_dynamics_ros.check.agreement import prove
from krang_dynamics_ros.check.witnesses import random_states
from krang_dynamics_ros.core.errors import ArgumentError, BuildError, MissingError
from krang_dynamics_ros.core.inertia import Inertia
from krang_dynamics_ros.core.wrench import WrenchFrame
from krang_dynamics_ros.dynamics.compiled import CompiledDynamics
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.dynamics.observer import MomentumObserver
from krang_dynamics_ros.dynamics.state import State
from krang_dynamics_ros.robot.robot_file import read_robot
from krang_dynamics_ros.symbolic.build import fingerprint
from krang_dynamics_ros.symbolic.expressions import Symbols
from krang_dynamics_ros.symbolic.parameters import setting_values

from ..marks import slow_but
from ..robots import FILES, ROOT, WITH_FOLLOWERS, robot_with_followers
from ..symbolic.test_symbols import assert_same, expected


@pytest.fixture
def compiled(robot: Robot) -> Dynamics:
    return dynamics_of(robot, backend='compiled')


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path / 'state'))
    return tmp_path / 'cache' / 'krang_dynamics_ros'


def assert_alike(one: Any, other: Any, q: np.ndarray, dq: np.ndarray, wrenches: list[Wrench]) -> None:
    theirs = expected(other, q, dq, dq[::-1], wrenches)
    for name, mine in expected(one, q, dq, dq[::-1], wrenches).items():
        assert np.shape(mine) == np.shape(theirs[name])
        assert_same(mine, theirs[name], name)


@pytest.mark.parametrize('name', FILES)
def test_every_robot_is_proven_on_it(name: str) -> None:
    robot = load_robot(FILES[name])
    findings = prove(robot, dynamics_of(robot, backend='compiled'), 20)
    assert all(finding.relative <= 1e-12 or what[0] in ('ddq', 'iT_j') for what, finding in findings.items())
    assert all(finding.agrees for finding in findings.values())


@pytest.mark.parametrize('name', slow_but(['hand_with_followers'], WITH_FOLLOWERS))
def test_a_robot_with_followers_is_proven_on_it(name: str, tmp_path: Path) -> None:
    """From its URDF, as a user gives it: friction and the mean over a step are among what is compared."""
    file = tmp_path / f'{name}.urdf'
    file.write_text(WITH_FOLLOWERS[name])
    model = load_model(file, backend='compiled')
    assert isinstance(model.dynamics, CompiledDynamics)
    findings = prove(model.robot, model.dynamics, 20)
    assert {'Gamma mean', 'Gamma_f', 'f', 'J^T f'} <= {what for what, _ in findings}
    assert all(finding.agrees for finding in findings.values())
    pinocchio, rng = dynamics_of(model.robot), np.random.default_rng(6)
    for q, dq, _ in zip(*random_states(model.robot, 5, 3), strict=True):
        anywhere = [Wrench(link, *rng.normal(size=(2, 3))) for link in model.robot.hands.values()]
        assert_alike(model.dynamics, pinocchio, q, dq, anywhere)


@pytest.mark.parametrize('name', slow_but(['hand_with_followers'], WITH_FOLLOWERS))
def test_the_observer_is_the_same_with_followers(name: str) -> None:
    robot = robot_with_followers(name)
    ours, theirs = (MomentumObserver(dynamics_of(robot, backend=x)) for x in ('compiled', 'pinocchio'))
    rng, told = np.random.default_rng(5), 0
    for k in range(1000):  # 2 s: it has settled after half a second
        t, q = 0.002 * k, random_states(robot, 1, 0).q[0]
        effort = rng.normal(size=robot.n) * 20
        state = State(q + 0.1 * np.sin(3 * t + q), 0.3 * np.cos(3 * t + q), effort=effort, stamp=1 + int(t * 1e9))
        mine, other = ours(state), theirs(state)
        if mine is not None:
            told += 1
            assert_same(mine, other, 'external torque', 1e-10)
    assert told > 500


FUNCTIONS = {
    'A': '_A',
    'C': '_C',
    'C dq': '_coriolis_torque',
    'Q': '_Q',
    'Gamma': '_inverse_dynamics',
    'Gamma mean': '_mean_inverse_dynamics',
    'J^T f': '_wrench_torque',
    'f': '_hand_wrenches',
}


@pytest.mark.parametrize('quantity', FUNCTIONS)
def test_the_proof_calls_every_function(quantity: str, compiled: Dynamics, robot: Robot) -> None:
    """One that computes nothing leaves the numbers of the call before."""
    setattr(compiled, FUNCTIONS[quantity], lambda: None)
    findings = prove(robot, compiled, 3)
    wrong = {what for (what, _), finding in findings.items() if not finding.agrees}
    assert wrong - {'ddq', 'dA/dt - 2C'} == {quantity}  # laws that need a right Gamma, and C


def test_the_proof_notices_a_wrench_kept_across_poses(
    compiled: Dynamics, robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = CompiledDynamics._store_wrenches

    def kept(self: Any, q: np.ndarray, wrenches: tuple[Wrench, ...]) -> bool:
        there = put(self, q, wrenches)
        self._stored = wrenches  # though in other axes it depends on q
        return there

    monkeypatch.setattr(CompiledDynamics, '_store_wrenches', kept)
    findings = prove(robot, compiled, 3)
    assert {what for (what, _), finding in findings.items() if not finding.agrees} == {'J^T f'}


def test_a_wrench_in_other_axes_follows_the_pose(compiled: Dynamics, dynamics: Dynamics, robot: Robot) -> None:
    aslant = [Wrench('R10l', (1, 2, 3), (4, 5, 6), axes='R0'), Wrench('R10r', (3, 2, 1), about='R5r')]
    for q in random_states(robot, 5, 13).q:
        assert_same(compiled.wrench_torque(q, aslant), dynamics.wrench_torque(q, aslant), 'J^T f')


def test_two_threads_with_an_object_each(robot: Robot) -> None:
    """What the C computes in belongs to the object, not to the library that both use."""
    ours = [dynamics_of(robot, backend='compiled') for _ in range(2)]
    q = random_states(robot, 2, 14).q
    alone = [d.A(x) for d, x in zip(ours, q, strict=True)]

    def repeat(k: int) -> bool:
        return all(np.array_equal(ours[k].A(q[k]), alone[k]) for _ in range(20_000))

    with ThreadPoolExecutor(2) as threads:
        assert all(threads.map(repeat, range(2)))


def test_settings_apply_at_once(compiled: Dynamics, dynamics: Dynamics, robot: Robot) -> None:
    rng = np.random.default_rng(8)
    q, dq, _ = (x[0] for x in random_states(robot, 1, 9))
    for _ in range(3):
        settings = {'gravity': rng.normal(size=3) * 9, **{x: rng.random(17) for x in ('rotor_inertia', 'viscous')}}
        for name, value in (settings | {'coulomb': rng.random(17)}).items():
            setattr(compiled, name, value)
            setattr(dynamics, name, value)
            np.testing.assert_array_equal(getattr(compiled, name), value)
        assert_alike(compiled, dynamics, q, dq, [])
    with pytest.raises(ArgumentError):
        compiled.gravity = (0, 0, np.nan)
    assert_alike(compiled, dynamics, q, dq, [])


def test_two_of_one_robot_are_apart(robot: Robot, compiled: Dynamics) -> None:
    other, q = dynamics_of(robot, backend='compiled'), np.full(17, 0.3)
    Q = compiled.Q(q)
    other.gravity = (0, 0, 9.81)
    np.testing.assert_allclose(other.Q(q), -Q)
    np.testing.assert_array_equal(compiled.Q(q), Q)


def test_wrenches_anywhere(compiled: Dynamics, dynamics: Dynamics, robot: Robot) -> None:
    rng = np.random.default_rng(10)
    links, kept = [*robot.link_of], [Wrench('R10l', (1, 2, 3), (4, 5, 6)), Wrench('R10r', (6, 5, 4))]
    aslant = [Wrench('R10l', (1, 2, 3), axes='R0')]
    for q in random_states(robot, 30, 12).q:
        on = [rng.choice(['R10l', 'R10r', 'R10l', 'R7r']) for _ in range(rng.integers(0, 4))]
        drawn = [
            Wrench(
                str(link), *rng.normal(size=(2, 3)), axes=str(rng.choice(['', *links])), about=rng.choice(['', 'R5l'])
            )
            for link in on
        ]
        for wrenches in (drawn, kept, kept[:1], [], iter(kept), kept[::-1], [*kept, kept[0]], kept, aslant):
            given = [*wrenches]
            assert_same(compiled.wrench_torque(q, iter(given)), dynamics.wrench_torque(q, given), 'J^T f', 1e-12)
    with pytest.raises(ArgumentError, match="link 'R10' is unknown"):
        compiled.wrench_torque(q, [Wrench('R10', (1, 2, 3))])
    with pytest.raises(ArgumentError, match='must be 3 numbers each'):
        compiled.wrench_torque(q, [Wrench('R10l', (1, 2))])
    assert_same(compiled.wrench_torque(q, kept), dynamics.wrench_torque(q, kept), 'J^T f')


@pytest.mark.parametrize('kind', [list, tuple, np.float32, lambda q: q.astype('>f8'), lambda q: np.repeat(q, 2)[::2]])
def test_joint_vectors_of_any_kind(kind: Any, compiled: Dynamics, dynamics: Dynamics) -> None:
    q = np.arange(17) / 16
    for method in ('A', 'Q'):
        assert_same(getattr(compiled, method)(kind(q)), getattr(dynamics, method)(q), method)
    assert_same(compiled.C(kind(q), kind(-q)), dynamics.C(q, -q), 'C')
    Gamma = compiled.inverse_dynamics(kind(q), kind(-q), kind(q))
    assert_same(Gamma, dynamics.inverse_dynamics(q, -q, q), 'Gamma')


@pytest.mark.parametrize('wrong', [0.5, [0.5], np.zeros(16), np.zeros((17, 1)), np.zeros((1, 17)), np.zeros(18)])
def test_joint_vectors_of_another_shape_are_refused(wrong: Any, compiled: Dynamics) -> None:
    right = np.zeros(17)
    for call in (
        compiled.A,
        compiled.Q,
        lambda q: compiled.C(q, right),
        lambda q: compiled.coriolis_torque(right, q),
        lambda q: compiled.inverse_dynamics(right, right, q),
        lambda q: compiled.hand_wrenches(right, q, ['R10l', 'R10r'], 0.02),
        lambda q: compiled.hand_wrenches(q, right, ['R10l', 'R10r'], 0.02),
    ):
        with pytest.raises(ArgumentError, match=r'must be \(17,\): q_imu, q_w'):
            call(wrong)


def test_results_are_new_arrays(compiled: Dynamics) -> None:
    q = np.full(17, 0.3)
    for call in (compiled.A, compiled.Q):
        first = call(q)
        kept = first.copy()
        call(q + 1)
        np.testing.assert_array_equal(first, kept)


def test_it_is_built_once_for_the_same_numbers_and_anew_for_others(empty_cache: Path) -> None:
    robot = load_robot(FILES['arm_2r'])
    dynamics_of(robot, backend='compiled')
    (built,) = empty_cache.iterdir()
    first = built.stat()
    dynamics_of(load_robot(FILES['arm_2r']), backend='compiled')
    assert [*empty_cache.iterdir()] == [built]
    assert built.stat() == first
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o700
    joints = tuple(replace(joint, position=joint.position * 1.5) for joint in robot.joints)
    other = replace(robot, joints=joints)
    assert_alike(dynamics_of(other, backend='compiled'), dynamics_of(other), np.ones(2), np.ones(2), [])
    assert len([*empty_cache.iterdir()]) == 2


@pytest.mark.parametrize('name', FILES)
def test_settings_start_with_the_numbers_of_the_file(name: str) -> None:
    robot = load_robot(FILES[name])
    np.testing.assert_array_equal(setting_values(robot), Symbols(robot).values)


def test_a_cached_library_needs_no_casadi(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = load_robot(FILES['arm_2r'])
    before = dynamics_of(robot, backend='compiled').A([0.1, 0.2])
    monkeypatch.setattr('krang_dynamics_ros.symbolic.build.Symbols', None)
    again = dynamics_of(load_robot(FILES['arm_2r']), backend='compiled')
    np.testing.assert_array_equal(again.A([0.1, 0.2]), before)


def test_robots_that_differ_in_one_number_have_other_fingerprints(robot: Robot) -> None:
    links = (*robot.links[:-1], replace(robot.links[-1], inertia=robot.links[-1].inertia + Inertia(1e-13)))
    seen = {fingerprint(one) for one in (robot, replace(robot, links=links), replace(robot, name='other'))}
    assert len(seen) == 3
    assert fingerprint(load_robot()) == fingerprint(robot)


def test_a_library_of_other_numbers_is_never_used(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = load_robot(FILES['arm_2r'])
    dynamics_of(robot, backend='compiled')
    (built,) = empty_cache.iterdir()
    joints = tuple(replace(joint, position=joint.position * 1.5) for joint in robot.joints)
    monkeypatch.setattr('krang_dynamics_ros.symbolic.build._build', lambda *_: built)
    with pytest.raises(BuildError, match='has the functions of another robot; delete it'):
        dynamics_of(replace(robot, joints=joints), backend='compiled')
    built.with_name('nonsense.so').write_bytes(b'not a library')
    monkeypatch.setattr('krang_dynamics_ros.symbolic.build._build', lambda *_: built.with_name('nonsense.so'))
    with pytest.raises(BuildError, match='must be a library that can be written and loaded'):
        dynamics_of(replace(robot, joints=joints[::-1]), backend='compiled')


@pytest.mark.parametrize(
    'damage',
    [
        pytest.param(lambda whole: b'', marks=pytest.mark.slow),
        lambda whole: whole[:4096],  # loading this is a SIGBUS
        pytest.param(lambda whole: whole[:-1], marks=pytest.mark.slow),
        lambda whole: whole[:9000] + bytes([whole[9000] ^ 1]) + whole[9001:],
    ],
)
def test_a_damaged_library_is_built_anew(damage: Any, empty_cache: Path) -> None:
    """In a process of its own: what the linker has loaded it would not load again."""
    code = (
        'from krang_dynamics_ros import dynamics_of, load_robot\n'
        f"print(dynamics_of(load_robot({str(FILES['arm_2r'])!r}), backend='compiled').Q([0.1, 0.2]))"
    )

    def fresh() -> str:
        return subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT, check=True).stdout

    expected_Q = fresh()
    (built,) = empty_cache.iterdir()
    whole = built.read_bytes()
    built.write_bytes(damage(whole))
    assert fresh() == expected_Q
    (again,) = empty_cache.iterdir()
    assert again.read_bytes() == whole


@pytest.mark.parametrize('variable', ['XDG_CACHE_HOME', 'XDG_STATE_HOME'])
def test_a_folder_that_others_may_enter_is_refused(
    variable: str, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot, folder = load_robot(FILES['arm_2r']), Path(os.environ[variable]) / 'krang_dynamics_ros'
    folder.mkdir(parents=True, mode=0o700)
    for mode in (0o777, 0o770, 0o755, 0o1777):
        folder.chmod(mode)
        with pytest.raises(KrangDynamicsError, match=rf'{folder}: mode 0?{mode:o}, must be 0700.*chmod 700'):
            dynamics_of(robot, backend='compiled')
        assert not [*empty_cache.glob('*.so')]
    folder.chmod(0o700)
    folder.parent.chmod(0o777)
    with pytest.raises(KrangDynamicsError, match=f'must not be writable by every user.*{variable}'):
        dynamics_of(robot, backend='compiled')
    monkeypatch.setenv(variable, 'relative/cache')
    with pytest.raises(KrangDynamicsError, match=f"{variable}: 'relative/cache', must be an absolute path"):
        dynamics_of(robot, backend='compiled')


def test_a_cache_of_another_user_is_refused(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, 'geteuid', lambda: os.getuid() + 1)
    with pytest.raises(
        KrangDynamicsError, match=f'belongs to user {os.getuid()}, must belong to user {os.getuid() + 1}'
    ):
        dynamics_of(load_robot(FILES['arm_2r']), backend='compiled')


def test_a_library_that_this_program_did_not_build_is_never_loaded(empty_cache: Path) -> None:
    """A name with the digest of the content is no proof: who puts a library there names it as well."""
    robot = load_robot(FILES['arm_2r'])
    dynamics_of(robot, backend='compiled')
    (built,) = empty_cache.iterdir()
    whole, identity = built.read_bytes(), built.stem.rpartition('_')[0]
    foreign = whole + b'foreign'
    built.unlink()
    planted = built.with_name(f'{identity}_{hashlib.sha256(foreign).hexdigest()[:20]}.so')
    planted.write_bytes(foreign)
    dynamics_of(load_robot(FILES['arm_2r']), backend='compiled')
    (again,) = empty_cache.iterdir()
    assert again.read_bytes() == whole


def test_no_compiler_a_broken_one_and_a_cache_that_cannot_be(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = load_robot(FILES['arm_2r'])
    monkeypatch.setenv('CC', 'no-such-cc -x')
    with pytest.raises(MissingError, match="C compiler 'no-such-cc -x', needed for backend compiled, is not installed"):
        dynamics_of(robot, backend='compiled')
    monkeypatch.setenv('CC', 'false')
    with pytest.raises(BuildError, match=r'false -std=c99 .*: exit code 1'):
        dynamics_of(robot, backend='compiled')
    monkeypatch.setenv('CC', 'true')
    with pytest.raises(BuildError, match=r'true -std=c99 .*: exit code 0'):
        dynamics_of(robot, backend='compiled')
    assert [*empty_cache.iterdir()] == []
    monkeypatch.setenv('CC', 'gcc "')
    with pytest.raises(BuildError, match="CC: 'gcc \"', No closing quotation; must be a command"):
        dynamics_of(robot, backend='compiled')
    monkeypatch.delenv('CC')
    monkeypatch.setenv('XDG_CACHE_HOME', os.devnull)
    with pytest.raises(BuildError, match='Not a directory'):
        dynamics_of(robot, backend='compiled')


def test_it_is_of_a_robot_file_and_chosen_by_name(robot: Robot) -> None:
    assert type(dynamics_of(robot)) is Dynamics
    assert type(load_model(FILES['arm_2r'], backend='compiled').dynamics) is CompiledDynamics
    with pytest.raises(KrangDynamicsError, match="backend 'compile' is unknown; did you mean 'compiled'"):
        dynamics_of(robot, backend='compile')
    with pytest.raises(KrangDynamicsError, match="backend 'compiled' is built from the robot file"):
        dynamics_of(robot, urdf_text(robot), backend='compiled')
    with pytest.raises(KrangDynamicsError, match="backend 'compiled' needs a robot file"):
        load_model(robot_description=urdf_text(robot), backend='compiled')


def test_many_states_at_once_are_the_states_one_by_one(compiled: Dynamics, robot: Robot) -> None:
    plain, rng = dynamics_of(robot), np.random.default_rng(5)
    q, dq = rng.normal(size=(2, 20, compiled.n))
    places = [WrenchFrame('R10l'), WrenchFrame('R10r', 'R0'), WrenchFrame('R10l', '', 'R5l')]
    wrenches = {place: rng.normal(size=(20, 6)) for place in places}
    wrenches[places[1]][3] = 0.0
    for dynamics in (compiled, plain):
        for quantity, columns in {'A': (q,), 'C': (q, dq), 'Q': (q,), 'coriolis_torque': (q, dq)}.items():
            one_by_one = [getattr(plain, quantity)(*row) for row in zip(*columns, strict=True)]
            np.testing.assert_allclose(dynamics.batch(quantity, *columns), one_by_one, rtol=1e-12, atol=1e-11)
        one_by_one = [
            plain.wrench_torque(
                x, [Wrench(place.link, f[:3], f[3:], *place[1:]) for place, f in zip(places, given, strict=True)]
            )
            for x, given in zip(q, zip(*wrenches.values(), strict=True), strict=True)
        ]
        np.testing.assert_allclose(dynamics.wrench_torques(q, wrenches), one_by_one, rtol=1e-12, atol=1e-11)
    for quantity, columns in {'Q': (q[:, :3],), 'A': (q[0],), 'C': (q,), 'coriolis_torque': (q, dq[:5])}.items():
        with pytest.raises(ArgumentError, match=f'{quantity} of many states: arrays of shapes .* must be'):
            compiled.batch(quantity, *columns)
    with pytest.raises(ArgumentError):
        compiled.batch('Q', q, dq)


@pytest.mark.parametrize('carried', [{}, {'R10l': Inertia(2.0)}, {'R5l': Inertia(2.0)}])
def test_an_observer_on_it_tells_the_same(
    compiled: Dynamics, dynamics: Dynamics, rng: np.random.Generator, carried: dict[str, Inertia]
) -> None:
    """Smooth movement, stamps that jitter, positions that jump, gaps, a joint whose effort comes and goes."""
    compiled.payload = dynamics.payload = carried
    one, other = MomentumObserver(compiled), MomentumObserver(dynamics)
    phase, t, told = rng.normal(size=17), 0.0, 0
    for k in range(1500):
        t += rng.uniform(5e-4, 2e-3) + (0.2 if k == 700 else 0.0)
        q, effort = np.sin(3 * t + phase), rng.normal(size=17) * 20
        q[3] += 1e-3 * (k % 7 == 0)
        effort[5] = np.nan if 900 < k < 1000 else effort[5]
        state = State(q, 3 * np.cos(3 * t + phase), effort=effort, stamp=1 + int(t * 1e9))
        mine, theirs = one(state), other(state)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            told += 1
            np.testing.assert_allclose(mine, theirs, atol=1e-9)
    assert told > 400


@pytest.mark.parametrize('known', [range(17), range(1, 17)])
@pytest.mark.parametrize('links', [['R10l', 'R10r'], ['R10r', 'R10l'], ['R10l'], ['R10l', 'R5r', 'R10r']])
def test_hand_wrenches_are_the_same_and_bounded(
    compiled: Dynamics, dynamics: Dynamics, rng: np.random.Generator, links: list[str], known: range
) -> None:
    for q in rng.uniform(-2, 2, (20, 17)):
        torque = np.full(17, np.nan)
        torque[known] = rng.normal(size=len(known)) * 20
        mine, my_bound = compiled.hand_wrenches(q, torque, links, 0.02)
        theirs, bound = dynamics.hand_wrenches(q, torque, links, 0.02)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
        assert my_bound == pytest.approx(bound, rel=1e-7, abs=1e-12)
        smallest = np.linalg.svd(dynamics.scaled_jacobians(q, links)[:, known], compute_uv=False)[6 * len(links) - 1 :]
        assert bound <= smallest.sum() ** 2 + 1e-12  # empty, zero, if the links have more directions than the joints


TWO_ON_ONE = """
name: {name}
gravity: [0, 0, -9.81]
links: {{base: {{}}, arm: {{mass: 1, com: [0.1, 0.2, 0.3], inertia: [1, 0.1, 0, 1, 0, 1]}}}}
joints: {{j: {{type: revolute, parent: base, child: arm, axis: [1, 2, 3]}}}}
end_effectors: {{gripper: arm, tool: arm}}
"""


@pytest.mark.parametrize('name', slow_but(['call'], ['call', 'many', 'in_place', 'path_of', 'jacobians']))
def test_two_hands_on_one_link_whatever_the_robots_name(name: str) -> None:
    robot = read_robot(TWO_ON_ONE.format(name=name))
    compiled = dynamics_of(robot, backend='compiled')
    assert all(finding.agrees for finding in prove(robot, compiled, 8).values())
    f, bound = compiled.hand_wrenches([0.3], [1.0], ['arm', 'arm'], 0.02)
    assert (len(f), bound <= 0) == (12, True)


@pytest.mark.slow
def test_a_tree_of_very_many_ends(empty_cache: Path) -> None:
    tips = ''.join(f'<link name="t{k}"/>' for k in range(150))
    fixed = ''.join(
        f'<joint name="f{k}" type="fixed"><parent link="a"/><child link="t{k}"/></joint>' for k in range(150)
    )
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>'
    text = f'<robot name="many"><link name="base"/><link name="a">{inertial}</link>{joint}{tips}{fixed}</robot>'
    compiled = load_model(robot_description=text).robot
    f, _ = dynamics_of(compiled, backend='compiled').hand_wrenches([0.3], [1.0], [*compiled.hands.values()], 0.02)
    assert (len(f), np.isfinite(f).all()) == (900, True)
