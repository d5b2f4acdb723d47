"""Parameters of the running node: accepted live, refused with a reason, described; and what is wrong at the start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import DescribeParameters

from krang_dynamics_ros import Lagrangian, Robot, krang, load_robot, urdf_text
from krang_dynamics_ros.dynamics.factory import load_model
from krang_dynamics_ros.live import parameters

from ..marks import slow_but
from ..robots import FILES
from ..ros import Client, Process, domain, effort

Q = np.linspace(-0.8, 0.8, 17)
DQ = np.linspace(1, -1, 17)


@pytest.fixture(scope='module')
def client() -> Iterator[Client]:
    with domain() as number:
        process = Process(number)
        client = Client(number)
        client.listen('torque/gravity', 'torque/friction', 'torque/total', 'dynamics/inertia', 'torque/coriolis')
        client.ready()
        yield client
        client.close()
        assert process.end() == 0, process.output
        assert 'Traceback' not in process.output


def asked(client: Client, robot: Robot, *topics: str) -> list[np.ndarray]:
    answers = client.ask(robot.joint_names, Q, DQ, *topics)
    return [effort(message) for message in (answers if len(topics) > 1 else [answers])]


def test_gravity_is_a_vector_that_can_be_set_live(client: Client, robot: Robot) -> None:
    (level,) = asked(client, robot, 'torque/gravity')
    assert client.set(gravity=[0.0, 0.0, -1.62])[0].successful
    (moon,) = asked(client, robot, 'torque/gravity')
    np.testing.assert_allclose(moon, level * 1.62 / 9.81, atol=1e-9)
    for bad in ([0.0, -9.81], [0.0, 0.0, float('nan')]):
        result = client.set(gravity=bad)[0]
        assert not result.successful
        assert 'must be 3 finite numbers' in result.reason
    np.testing.assert_allclose(asked(client, robot, 'torque/gravity')[0], moon)
    assert client.set(gravity=[0.0, 0.0, -9.81])[0].successful


def test_friction_and_rotors_can_be_set_by_joint(client: Client, robot: Robot) -> None:
    k = robot.joint_names.index('q_5r')
    before = np.reshape(client.ask(robot.joint_names, Q, DQ, 'dynamics/inertia').data, (17, 17))
    done = client.set(joints__q_5r__viscous=3.0, joints__q_5r__coulomb=0.5, joints__q_5r__rotor_inertia=0.25)
    assert all(result.successful for result in done)
    expected = np.zeros(17)
    expected[k] = 3.0 * DQ[k] + 0.5 * np.sign(DQ[k])
    np.testing.assert_allclose(asked(client, robot, 'torque/friction')[0], expected)
    client.received['dynamics/inertia'].clear()
    after = np.reshape(client.ask(robot.joint_names, Q, DQ, 'dynamics/inertia').data, (17, 17))
    np.testing.assert_allclose(after - before, 0.25 * np.outer(np.eye(17)[k], np.eye(17)[k]), atol=1e-12)
    for bad in (-1.0, float('nan'), float('inf'), 1e7):
        assert not client.set(joints__q_5r__viscous=bad)[0].successful
    assert client.get('joints.q_5r.viscous') == 3.0


def test_friction_beyond_the_report_follows_the_joint_from_where_it_was(client: Client, robot: Robot) -> None:
    k, slow = robot.joint_names.index('q_6r'), np.zeros(17)
    slow[k] = 0.01
    pairs = [2.0, 0.01, 0.0, 1.0, 1.0, 0.005]  # the one without torque is none
    done = client.set(joints__q_6r__coulomb=1.0, joints__q_6r__coulomb_velocity=0.02, joints__q_6r__presliding=pairs)
    assert all(result.successful for result in done)
    client.ask(robot.joint_names, Q, slow, 'torque/friction')
    client.received['torque/friction'].clear()
    answer = client.ask(robot.joint_names, Q + 0.5 * slow, slow, 'torque/friction')
    expected = np.tanh(0.5) + 2 * (1 - np.exp(-0.5)) + (1 - np.exp(-1))
    assert answer.effort[k] == pytest.approx(expected)
    for bad in ([1.0], [-1.0, 1.0], [1.0, 0.0], [1.0, float('nan')]):
        result = client.set(joints__q_6r__presliding=bad)[0]
        assert not result.successful
        assert 'joints.q_6r.presliding: ' in result.reason
    assert list(client.get('joints.q_6r.presliding')) == pairs
    client.set(joints__q_6r__coulomb=0.0, joints__q_6r__coulomb_velocity=0.0, joints__q_6r__presliding=[0.0, 0.001])


def test_the_total_is_the_sum_of_total_terms(client: Client, robot: Robot) -> None:
    lagrangian = Lagrangian(robot)
    assert client.set(total_terms=['gravity', 'coriolis'])[0].successful
    (total,) = asked(client, robot, 'torque/total')
    np.testing.assert_allclose(total, lagrangian.Q(Q) + lagrangian.coriolis_torque(Q, DQ), atol=1e-9)
    twice = ['gravity', 'gravity'], 'must not name anything twice'
    for bad, reason in ((['gravty'], "did you mean 'gravity'"), twice):
        result = client.set(total_terms=bad)[0]
        assert not result.successful
        assert reason in result.reason
    assert client.get('total_terms') == ['gravity', 'coriolis']
    assert client.set(total_terms=['gravity'])[0].successful


def test_a_total_of_no_terms_is_zero(client: Client, robot: Robot) -> None:
    assert client.set(total_terms=[''])[0].successful
    np.testing.assert_array_equal(asked(client, robot, 'torque/total')[0], 0)
    assert client.set(total_terms=['gravity'])[0].successful


def test_a_total_with_velocity_terms_is_silent_without_velocities(client: Client, robot: Robot) -> None:
    assert client.set(total_terms=['gravity', 'friction'])[0].successful
    client.received['torque/total'].clear()
    for _ in range(5):
        client.ask(robot.joint_names, Q, (), 'torque/gravity')
    assert not client.received['torque/total']
    assert client.set(total_terms=['gravity'])[0].successful
    client.ask(robot.joint_names, Q, (), 'torque/total')


def test_a_set_is_accepted_or_refused_as_one(client: Client, robot: Robot) -> None:
    result = client.set_together(state_timeout=0.2, total_terms=['nothing'])
    assert not result.successful
    assert client.get('state_timeout') == 0.1
    assert client.set_together(state_timeout=0.2, wrench_timeout=0.3).successful
    assert (client.get('state_timeout'), client.get('wrench_timeout')) == (0.2, 0.3)
    client.set(state_timeout=0.1)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('state_timeout', 0.0), ('state_timeout', 100.0), ('wrench_timeout', float('nan')),
        ('left__sense', 'sideways'), ('left__moment_about', 'elbow'), ('robot_file', 'x.yaml'), ('left__link', 'R3'),
        ('frame_id', 'R1'), ('end_effectors', ['left']), ('command_joints', ['q_w']), ('total_terms', 3),
    ],
)  # fmt: skip
def test_parameters_out_of_range_or_fixed_are_refused_with_the_reason(client: Client, name: str, value: object) -> None:
    result = client.set(**{name: value})[0]
    assert not result.successful
    assert result.reason


def test_every_parameter_is_described(client: Client) -> None:
    model = load_model()
    names = [spec.name for spec in parameters.node_specs(model)] + ['left.sense', 'joints.q_w.viscous', 'robot_file']
    request = DescribeParameters.Request(names=names)
    for described in client.call('describe_parameters', DescribeParameters, request).descriptors:
        assert described.description
    request = DescribeParameters.Request(names=['state_timeout'])
    (timeout,) = client.call('describe_parameters', DescribeParameters, request).descriptors
    assert (timeout.floating_point_range[0].from_value, timeout.floating_point_range[0].to_value) == (0.001, 10.0)


BROKEN = {
    'negative mass': (
        urdf_text(krang()).replace('mass value="7.35"', 'mass value="-7.35"', 1),
        'links.R4l.inertial.mass: -7.35, must not be',
    ),
    'no mass': ('<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
                '<child link="b"/></joint></robot>', 'no moving link has a mass'),
    'not XML': ('<robot', 'must be well-formed XML'),
    'impossible inertia': (urdf_text(krang()).replace('izz="1.2332"', 'izz="12"', 1), 'links.R1.inertial.inertia'),
}  # fmt: skip


@pytest.mark.parametrize('name', BROKEN)
def test_a_description_that_cannot_be_ends_the_node_with_a_word(name: str, tmp_path: Path) -> None:
    text, message = BROKEN[name]
    params = tmp_path / 'params.yaml'
    indented = '\n'.join(' ' * 8 + line for line in text.splitlines())
    params.write_text(f'/**:\n  ros__parameters:\n    robot_description: |\n{indented}\n')
    assert_ends(message, '--params-file', str(params), '-p', 'strict_description:=true')


REFUSED = [
    ('robot_file:=/nowhere.yaml', '/nowhere.yaml: 1 fault'),
    ('total_terms:=[gravty]', "'gravty', must be one of gravity, coriolis, friction, spring"),
    ('state_timeout:=true', 'state_timeout'),
    ('state_timeout:=-1.0', 'state_timeout'),
    ('gravity:=[0.0, 0.0]', 'must be 3 finite numbers'),
    ('left.link:=R10', "left.link: link 'R10' is unknown; did you mean"),
    ('left.sense:=both', "left.sense: 'both', must be one of applied_by_robot, applied_on_robot"),
    ('end_effectors:=[left, third]', "third.link: link '' is unknown"),
    ('end_effectors:=[left, left]', "end_effectors: ['left', 'left'], must not name anything twice"),
    ('end_effectors:=[my hand]', "end_effectors: 'my hand', must be letters, digits and underscores"),
    ('end_effectors:=[left.x]', "end_effectors: 'left.x', must be letters, digits and underscores"),
    ('end_effectors:=[2nd]', "end_effectors: '2nd', must be letters, digits and underscores, no digit first"),
    ('command_joints:=[q_1l, q_3l, q_1l]', "command_joints: ['q_1l', 'q_3l', 'q_1l'], must not name anything twice"),
    ('command_joints:=[q_8l]', "command_joints: joint 'q_8l' is unknown; did you mean 'q_"),
    ('imu_joint:=q_imo', "imu_joint: joint 'q_imo' is unknown; did you mean 'q_imu'?"),
    ('joints.q_w.viscous:=-1.0', 'joints.q_w.viscous'),
]
QUICK = [
    row for row in REFUSED if row[0].split(':=')[0] in ('robot_file', 'total_terms', 'state_timeout', 'command_joints')
]


@pytest.mark.parametrize(('given', 'message'), slow_but(QUICK, REFUSED))
def test_a_parameter_that_cannot_be_ends_the_node_with_a_word(given: str, message: str) -> None:
    assert_ends(message, '-p', given)


@pytest.mark.parametrize('words', [('-p', 'nonsense'), ('-r', 'nonsense'), ('--params-file', '/nowhere.yaml')])
def test_arguments_that_ros_cannot_read_end_the_node_with_a_word(words: tuple[str, ...]) -> None:
    assert_ends('parse', *words)


def assert_ends(message: str, *words: str) -> None:
    with domain() as number:
        process = Process(number, '--ros-args', *words)
        assert process.wait() == 1
        assert message in process.output
        assert 'Traceback' not in process.output


def test_a_urdf_and_its_hand_by_parameter(tmp_path: Path, robot: Robot) -> None:
    """Another robot: a single arm, a hand with its own name, a rotor inertia that a URDF cannot express."""
    params = tmp_path / 'params.yaml'
    indented = '\n'.join(' ' * 8 + line for line in urdf_text(robot).splitlines())
    params.write_text(
        '/**:\n  ros__parameters:\n    end_effectors: [tool]\n    tool: {link: R10r, sense: applied_on_robot}\n'
        f'    joints: {{q_w: {{rotor_inertia: 2.5}}}}\n    frame_id: R3\n    robot_description: |\n{indented}\n'
    )
    with domain() as number:
        process = Process(number, '--ros-args', '--params-file', str(params), '-p', 'typo:=3')
        client = Client(number)
        client.listen('torque/wrench', 'dynamics/inertia')
        client.ready()
        client.publisher(WrenchStamped, 'wrench/tool')

        def push() -> None:
            client.send_wrench('tool', (0, 0, 7, 0, 0, 0), 'R0')
            client.spin(0.02)

        force = np.array([0, 0, -7, *np.cross(-Lagrangian(robot).pose(Q, 'R10r')[1], [0, 0, -7])])
        expected = Lagrangian(robot).jacobian(Q, 'R10r').T @ force
        client.until(
            lambda: np.allclose(effort(client.ask(robot.joint_names, Q, (), 'torque/wrench', before=push)), expected)
        )
        assert client.received['torque/wrench'][-1].header.frame_id == 'R3'
        A = np.reshape(client.ask(robot.joint_names, Q, (), 'dynamics/inertia').data, (17, 17))
        np.testing.assert_allclose(A, Lagrangian(robot).A(Q) + 2.5 * np.outer(np.eye(17)[1], np.eye(17)[1]), atol=1e-9)
        client.close()
        assert process.end() == 0
        assert "parameter 'typo' is unknown and has no effect" in process.output


@pytest.mark.parametrize('name', slow_but(['pr_robot'], sorted(set(FILES) - {'krang'})))
def test_the_textbook_robots_run_too(name: str) -> None:
    with domain() as number:
        process = Process(number, '--ros-args', '-p', f'robot_file:={FILES[name]}')
        client = Client(number)
        client.listen('torque/gravity')
        client.ready()
        robot = load_robot(FILES[name])
        q = np.full(robot.n, 0.3)
        message = client.ask(robot.joint_names, q, (), 'torque/gravity')
        np.testing.assert_allclose(effort(message), Lagrangian(robot).Q(q), atol=1e-12)
        client.close()
        assert process.end() == 0, process.output
