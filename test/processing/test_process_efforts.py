"""What recorded efforts mean: amperes, torque behind the gear, or external torques, as the parameters say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krang_dynamics_ros import dynamics_of, load_robot
from krang_dynamics_ros.effects.coupling import Coupling
from krang_dynamics_ros.effects.spring import Spring
from krang_dynamics_ros.processing.job import Job
from krang_dynamics_ros.processing.process import process
from krang_dynamics_ros.processing.summary import Summary
from krang_dynamics_ros.robot.robot_writer import robot_text

from ..bags import BEGIN, joint_state, write_bag
from ..robots import ROOT

parquet = pytest.importorskip('pyarrow.parquet', reason='pyarrow, for recordings, is not installed')
NAMES = ('theta1', 'theta2')
SETTINGS = {'backend': 'pinocchio', 'robot_file': str(ROOT / 'config' / 'textbook' / 'arm_2r.yaml')}
DRIVE = {f'joints.{name}.{what}': x for name in NAMES for what, x in (('viscous', 2.0), ('rotor_inertia', 0.5))}
SCALE = {'joints.theta1.effort_scale': 0.5, 'joints.theta2.effort_scale': -4.0}


def states(scale: tuple[float, float], source: str = 'motor') -> Iterator[tuple[str, int, Any]]:
    """Return what an arm that follows sines must give, in units of N m times `scale`."""
    dynamics = dynamics_of(load_robot(SETTINGS['robot_file']))
    for k in range(1000):
        t, speed = 0.002 * k, np.array([3.0, 2.0])
        q, dq, ddq = np.sin(speed * t), speed * np.cos(speed * t), -(speed**2) * np.sin(speed * t)
        torque = dynamics.inverse_dynamics(q, dq, ddq) + (2.0 * dq + 0.5 * ddq if source == 'motor' else 0.0)
        stamp = BEGIN + 2_000_000 * k
        yield '/joint_states', stamp, joint_state(stamp, NAMES, q, dq, torque / scale)


def done(tmp_path: Path, scale: tuple[float, float], source: str, **more: object) -> Summary:
    bag = write_bag(tmp_path / 'bag', states(scale, source))
    return process(Job(bag, tmp_path / 'out', {**SETTINGS, **DRIVE, 'effort_source': source, **more}))


def about(tmp_path: Path, name: str) -> dict[bytes, bytes]:
    return parquet.read_schema(tmp_path / 'out' / 'torques.parquet').field(name).metadata


def on_brakes() -> Iterator[tuple[str, int, Any]]:
    """Return an arm that stands for 1 s and bears nothing, and after another second moves."""
    for k in range(500):
        stamp = BEGIN + 2_000_000 * k
        yield '/joint_states', stamp, joint_state(stamp, NAMES, [0.3, 0.4], [0.0, 0.0], [0.0, 0.0])
    for topic, stamp, message in states((1.0, 1.0)):
        message.header.stamp.sec += 2
        yield topic, stamp + 2_000_000_000, message


def test_states_on_closed_brakes_are_left_out_of_the_errors(tmp_path: Path) -> None:
    """The brakes bear the weight: zero efforts say nothing about the model."""
    limits = {'effort_limits': [f'{name}=100.0' for name in NAMES]}
    summary = process(Job(write_bag(tmp_path / 'bag', on_brakes()), tmp_path / 'out', {**SETTINGS, **DRIVE, **limits}))
    assert 150 < summary.braked <= 500  # not those at the ends of the standstill, which have no model
    assert any(
        f'Brakes or friction hold the arm in {summary.braked} of 1500 states' in text
        for text in summary.suspected_faults
    )
    for error in summary.errors:
        assert error.relative < 0.01
    moving = done(tmp_path / 'moving', (1.0, 1.0), 'motor', **limits)
    assert moving.braked == 0


@pytest.mark.parametrize('source', ['motor', 'joint'])
@pytest.mark.parametrize(('scale', 'parameters'), [((1.0, 1.0), {}), ((0.5, -4.0), SCALE)])
def test_the_error_is_in_newton_metres(tmp_path: Path, source: str, scale: tuple, parameters: dict) -> None:
    summary = done(tmp_path, scale, source, **parameters)
    assert len(summary.errors) == 2
    for error in summary.errors:
        assert error.relative < 0.01
        assert error.spread > 3  # N m
    scaled = bool(parameters)
    assert (about(tmp_path, 'theta1.effort')[b'unit'] == b'') == scaled
    assert (b'effort_scale' in about(tmp_path, 'theta1.residual')[b'meaning']) == scaled
    assert (b'behind the gear' in about(tmp_path, 'theta1.model')[b'meaning']) == (source == 'joint')
    text = (tmp_path / 'out' / 'report.html').read_text()
    assert ('sensors behind the gears' in text) == (source == 'joint')


@pytest.mark.parametrize('source', ['motor', 'joint'])
def test_springs_and_coupled_friction_are_in_the_model(tmp_path: Path, source: str) -> None:
    """Both drives hold springs; a sensor behind the gear feels no friction, coupled or not."""
    file, robot = tmp_path / 'sprung.yaml', load_robot(SETTINGS['robot_file'])
    joints = tuple(replace(joint, other_effects=(Spring(9.0, 4.0),)) for joint in robot.joints)
    robot = replace(robot, joints=joints, couplings=(Coupling(NAMES, -1, 1.5, 6.0, 0.05),))
    file.write_text(robot_text(robot))
    both = dynamics_of(robot).springs_and_couplings

    def sprung() -> Iterator[tuple[str, int, Any]]:
        for topic, stamp, message in states((1.0, 1.0), source):
            q, dq, effort = map(np.array, (message.position, message.velocity, message.effort))
            effort += both.spring_torque(q) + (both.coupled_friction(dq) if source == 'motor' else 0.0)
            yield topic, stamp, joint_state(stamp, NAMES, q, dq, effort)

    bag, settings = write_bag(tmp_path / 'bag', sprung()), {**SETTINGS, **DRIVE, 'effort_source': source}
    for k, (name, within) in enumerate(((file, True), (SETTINGS['robot_file'], False))):
        summary = process(Job(bag, tmp_path / f'out {k}', {**settings, 'robot_file': str(name)}))
        assert [error.relative < 0.01 for error in summary.errors] == [within, within]


def test_the_efforts_stand_in_the_table_as_they_were_recorded_so_it_can_be_read_again(tmp_path: Path) -> None:
    summary = done(tmp_path, (0.5, -4.0), 'motor', **SCALE)
    table = tmp_path / 'out' / 'torques.parquet'
    again = process(Job(table, tmp_path / 'again', {**SETTINGS, **DRIVE, **SCALE}))
    assert [replace(error, rms=0, mean_absolute=0) for error in again.errors] == [
        replace(error, rms=0, mean_absolute=0) for error in summary.errors
    ]


def test_external_torques_are_no_part_of_the_model(tmp_path: Path) -> None:
    summary = done(tmp_path, (1.0, 1.0), 'external')
    assert summary.errors == []
    assert 'effort_source is external' in summary.why_no_errors
    residual = parquet.read_table(tmp_path / 'out' / 'torques.parquet')['theta1.residual'].to_numpy()
    assert np.isnan(residual).all()
    assert 'effort_source is external' in (tmp_path / 'out' / 'report.html').read_text()


def test_efforts_without_gravity_get_it_back(tmp_path: Path) -> None:
    gravity = dynamics_of(load_robot(SETTINGS['robot_file'])).Q
    bag = write_bag(
        tmp_path / 'bag',
        (
            (topic, stamp, joint_state(stamp, NAMES, x.position, x.velocity, x.effort - gravity(x.position)))
            for topic, stamp, x in states((1.0, 1.0))
        ),
    )
    settings = {**SETTINGS, **DRIVE}
    given_back = process(Job(bag, tmp_path / 'out', {**settings, 'effort_without': ['gravity']}))
    missing = process(Job(bag, tmp_path / 'less', settings))
    assert max(error.relative for error in given_back.errors) < 0.01
    assert max(error.relative for error in missing.errors) > 0.5
