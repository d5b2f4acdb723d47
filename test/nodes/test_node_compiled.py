"""The node on backend compiled: the Lagrangian's numbers on every topic, and those that the exported C prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')
pytest.importorskip('casadi', reason='CasADi, for symbols, is not installed')
if not shutil.which('cc') or not shutil.which('gcc'):
    pytest.skip('no C compiler is installed', allow_module_level=True)

from krang_dynamics_ros import Lagrangian, Robot, Wrench, load_robot
from krang_dynamics_ros.check.witnesses import random_states

from ..commands import run
from ..robots import FILES, WITH_FOLLOWERS, random_body, robot_with_followers
from ..ros import Client, Process, domain, effort
from .test_node_external import assert_torques_and_both_wrenches_are_told, standing

RTOL = 1e-12
TOPICS = ('torque/gravity', 'torque/coriolis', 'torque/friction', 'torque/wrench', 'torque/total')
MATRICES = ('dynamics/inertia', 'dynamics/coriolis')


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    words = ('backend:=compiled', 'wrench_timeout:=5.0', 'total_terms:=[gravity, wrench]', 'joints.q_3l.coulomb:=1.5')
    with domain() as number:
        process = Process(number, '--ros-args', *(word for given in words for word in ('-p', given)))
        client = Client(number)
        client.listen(*TOPICS, *MATRICES)
        client.ready()
        yield client
        client.close()
        assert process.end() == 0, process.output
        assert 'backend compiled' in process.output
        assert 'Traceback' not in process.output


def matrix(message: Any) -> np.ndarray:
    return np.reshape(message.data, [side.size for side in message.layout.dim])


def same(mine: np.ndarray, theirs: np.ndarray) -> bool:
    return bool(np.abs(mine - theirs).max() <= RTOL * max(1.0, np.abs(theirs).max()))


def test_payloads_are_in_the_compiled_torques(client: Client, robot: Robot) -> None:
    q, rng = random_states(robot, 1, 15).q[0], np.random.default_rng(16)
    bodies = {side: random_body(rng) for side in ('left', 'right')}
    for side, body in bodies.items():
        inertia = body.I_G[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist()
        told = {'mass': body.m, 'com': body.com.tolist(), 'inertia': inertia}
        assert client.set_together(**{f'{side}__payload__{key}': value for key, value in told.items()}).successful
    laden = Lagrangian(robot.carrying({robot.end_effectors[side]: body for side, body in bodies.items()}))

    def carried() -> bool:
        gravity, A = client.ask(robot.joint_names, q, np.zeros(robot.n), 'torque/gravity', 'dynamics/inertia')
        return same(effort(gravity), laden.Q(q)) and same(matrix(A), laden.A(q))

    client.until(carried)
    for side in bodies:
        assert client.set(**{f'{side}__payload__mass': 0.0})[0].successful
    client.until(lambda: same(effort(client.ask(robot.joint_names, q, (), 'torque/gravity')), Lagrangian(robot).Q(q)))


def test_every_topic_has_the_lagrangians_numbers(client: Client, robot: Robot) -> None:
    lagrangian, rng = Lagrangian(robot), np.random.default_rng(14)
    coulomb = np.where(np.array(robot.joint_names) == 'q_3l', 1.5, 0.0)
    for q, dq, _ in zip(*random_states(robot, 5, 13), strict=True):
        f = rng.normal(size=(2, 6)) * 20

        def pushed(q: np.ndarray = q, dq: np.ndarray = dq, f: np.ndarray = f) -> dict[str, np.ndarray]:
            client.send_wrench('left', f[0])
            client.send_wrench('right', f[1], 'R5l')
            client.spin()
            answers = client.ask(robot.joint_names, q, dq, *TOPICS, *MATRICES)
            return dict(zip((*TOPICS, *MATRICES), [*map(effort, answers[:5]), *map(matrix, answers[5:])], strict=True))

        wrenches = [Wrench('R10l', f[0][:3], f[0][3:]), Wrench('R10r', f[1][:3], f[1][3:], 'R5l', 'R5l')]
        wrench, gravity = lagrangian.wrench_torque(q, wrenches), lagrangian.Q(q)
        expected = {
            'torque/gravity': gravity,
            'torque/coriolis': lagrangian.coriolis_torque(q, dq),
            'torque/friction': coulomb * np.sign(dq),
            'torque/wrench': wrench,
            'torque/total': gravity + wrench,
            'dynamics/inertia': lagrangian.A(q),
            'dynamics/coriolis': lagrangian.C(q, dq),
        }
        # Wrenches come when they come, and matrices have no stamp: the answer to an earlier state may be on its way.
        client.until(lambda pushed=pushed, expected=expected: all(same(x, expected[t]) for t, x in pushed().items()))


def test_external_torques_are_published_with_the_compiled_backend(robot: Robot) -> None:
    with standing(robot, '--ros-args', '-p', 'backend:=compiled') as world:
        assert_torques_and_both_wrenches_are_told(world)


def test_gravity_is_live(client: Client, robot: Robot) -> None:
    q = np.linspace(-0.8, 0.8, 17)
    level = effort(client.ask(robot.joint_names, q, q, 'torque/gravity'))
    assert client.set(gravity=[0.0, 0.0, -1.62])[0].successful
    assert same(effort(client.ask(robot.joint_names, q, q, 'torque/gravity')), level * 1.62 / 9.81)
    assert client.set(gravity=[0.0, 0.0, -9.81])[0].successful
    assert not client.set(backend='pinocchio')[0].successful


@pytest.mark.slow
def test_the_exported_c_prints_what_the_node_publishes(client: Client, robot: Robot, tmp_path: Path) -> None:
    assert run('export', cwd=tmp_path).returncode == 0
    folder = tmp_path / 'krang_c'
    line = re.search(r'^ \*     (gcc .*)$', (folder / 'krang.h').read_text(), re.MULTILINE).group(1)
    subprocess.run(line.split(), cwd=folder, check=True)
    q, dq = (x[0] for x in random_states(robot, 1, 15)[:2])
    words = ['./krang_example', *map(repr, [*q.tolist(), *dq.tolist()])]
    printed = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    gravity, coriolis = client.ask(robot.joint_names, q, dq, 'torque/gravity', 'torque/coriolis')
    for name, Q, Cdq, row in zip(gravity.name, effort(gravity), effort(coriolis), printed, strict=True):
        assert row.split()[0] == name
        np.testing.assert_allclose([float(x) for x in row.split()[1:3]], [Q, Cdq], rtol=RTOL, atol=1e-12)


@pytest.mark.parametrize(
    ('given', 'message', 'compiler'),
    [
        ('backend:=compild', "backend: 'compild', must be one of pinocchio, compiled. did you mean 'compiled'?", 'cc'),
        ('backend:=compiled', "C compiler 'no-such-cc', needed for backend compiled, is not installed", 'no-such-cc'),
        ('robot_description:=<robot/>', "backend 'compiled' needs a robot file, must be 'pinocchio' for a", 'cc'),
    ],
)
def test_an_impossible_configuration_ends_the_node_with_the_reason(
    given: str, message: str, compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('CC', compiler)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    words = ['-p', 'backend:=compiled', '-p', given] if 'backend' not in given else ['-p', given]
    with domain() as number:
        process = Process(number, '--ros-args', *words)
        assert process.wait() == 1
    assert message in process.output
    assert 'Traceback' not in process.output


def test_without_casadi_the_node_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'casadi.py').write_text('raise ImportError')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    with domain() as number:
        process = Process(number, '--ros-args', '-p', 'backend:=compiled')
        assert process.wait() == 1
    assert 'casadi, needed for symbols, is not installed; pip install casadi' in process.output
    assert 'Traceback' not in process.output


@pytest.mark.slow
def test_a_urdf_whose_joints_follow_others_runs_on_it(tmp_path: Path) -> None:
    robot, file = robot_with_followers('arm_with_gripper'), tmp_path / 'arm.urdf'
    file.write_text(WITH_FOLLOWERS['arm_with_gripper'])
    q, dq = (x[0] for x in random_states(robot, 1, 17)[:2])
    terms = ('torque/gravity', 'torque/coriolis', 'torque/friction')
    with domain() as number:
        words = ('-p', 'backend:=compiled', '-p', f'robot_file:={file}')
        process, client = Process(number, '--ros-args', *words), Client(number)
        client.listen(*terms)
        client.ready()
        answers = client.ask(robot.joint_names, q, dq, *terms)
        witness = Lagrangian(robot)
        for answer, torque in zip(
            answers, (witness.Q(q), witness.coriolis_torque(q, dq), witness.friction_torque(dq)), strict=True
        ):
            assert list(answer.name) == [*robot.joint_names]
            assert same(effort(answer), torque)
        client.close()
        assert process.end() == 0


def test_a_textbook_robot_runs_on_it(tmp_path: Path) -> None:
    robot = load_robot(FILES['arm_2r'])
    with domain() as number:
        words = ('-p', 'backend:=compiled', '-p', f'robot_file:={FILES["arm_2r"]}')
        process, client = Process(number, '--ros-args', *words), Client(number)
        client.listen('torque/gravity')
        client.ready()
        gravity = effort(client.ask(robot.joint_names, [0.1, 0.2], [0.0, 0.0], 'torque/gravity'))
        assert same(gravity, Lagrangian(robot).Q([0.1, 0.2]))
        client.close()
        assert process.end() == 0
