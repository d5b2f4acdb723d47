"""A running node whose robot file has springs and coupled friction: their topics, and the total that names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: the node cannot run')

from krang_dynamics_ros import dynamics_of, load_robot
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.robot.robot_writer import robot_text

from ..ros import Client, Process, domain, effort


def test_springs_and_coupling_have_topics_and_enter_the_total_when_named(tmp_path: Path) -> None:
    robot = load_robot('arm_2r')
    joints = tuple(replace(joint, other_effects=(Spring(3.0, -2.0),)) for joint in robot.joints)
    robot = replace(robot, joints=joints, couplings=(Coupling(robot.joint_names, 1, 0.5, 2.0, 0.05),))  # type: ignore[arg-type]
    file, q, dq = tmp_path / 'sprung.yaml', np.array([0.4, -0.9]), np.array([0.3, 0.2])
    both = dynamics_of(robot).springs_and_couplings
    file.write_text(robot_text(robot))
    terms = {
        'gravity': dynamics_of(robot).Q(q),
        'spring': both.spring_torque(q),
        'coupling': both.coupled_friction(dq),
    }
    topics = [f'torque/{name}' for name in (*terms, 'total')]
    with domain() as number:
        process = Process(number, '--ros-args', '-p', f'robot_file:={file}', '-p', 'state_timeout:=10.0')
        client = Client(number)
        client.listen(*topics)
        client.ready()
        for named in (['gravity'], ['gravity', 'spring'], ['gravity', 'spring', 'coupling']):
            assert client.set(total_terms=named)[0].successful
            answers = client.ask(robot.joint_names, q, dq, *topics)
            for message, torque in zip(answers, [*terms.values(), sum(terms[name] for name in named)], strict=True):
                np.testing.assert_allclose(effort(message), torque, rtol=1e-9)
        (refused,) = client.set(total_terms=['gravity', 'offset'])
        assert not refused.successful
        assert "total_terms: 'offset', the offset of an effort is a property of measured efforts" in refused.reason
        client.until(lambda: 'torques' in client.diagnostics, why='diagnostics')
        said = {pair.key: pair.value for pair in client.diagnostics['torques'].values}
        assert {'spring', 'coupling'} < set(said['terms'].split(', '))
        client.close()
        assert process.end() == 0, process.output
