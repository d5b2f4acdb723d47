"""Krang is the robot of the report: its transforms as printed twice there, and the numbers as published."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from krang_dynamics_ros import Robot, urdf_text
from krang_dynamics_ros.equations import report_print as report
from krang_dynamics_ros.equations.frames import local_transform

from ..commands import run
from ..robots import FILES, ROOT, inertials

# The frames as appendix B.2 lists them, column by column, in the antecedent's axes: x, y, z, P. c and s are those of
# the joint's q. (Section 2.1 prints them as matrices; `report_print` follows that.)
BODY = {
    'q_imu': ('0 -1 0', 's 0 c', '-c 0 s', '0 0 0'),
    'q_w': ('1 0 0', '0 c -s', '0 s c', '0 L1 -L2'),
    'q_torso': ('-c 0 -s', '0 1 0', 's 0 -c', '0 L3 L4'),
    'q_1l': ('0 c -s', '1 0 0', '0 -s -c', 'L6 L5 0'),
    'q_1r': ('0 c s', '-1 0 0', '0 -s c', '-L6 L5 0'),
}
ARM = {
    'q_2': ('-1 0 0', '0 -c -s', '0 -s c', '0 0 0'),
    'q_3': ('-c 0 s', '0 -1 0', 's 0 c', '0 -L7 0'),
    'q_4': ('-1 0 0', '0 -c -s', '0 -s c', '0 0 0'),
    'q_5': ('-c 0 s', '0 -1 0', 's 0 c', '0 -L8 0'),
    'q_6': ('-1 0 0', '0 -c -s', '0 -s c', '0 0 0'),
    'q_7': ('-c 0 s', '-s 0 -c', '0 -1 0', '0 -L9 0'),
}
APPENDIX = BODY | {name + side: columns for side in 'lr' for name, columns in ARM.items()}


def columns_of(words: tuple[str, ...], q: float, lengths: dict[str, float]) -> np.ndarray:
    known = {'c': np.cos(q), 's': np.sin(q), '0': 0.0, '1': 1.0, **lengths}
    return np.array([[known[w.lstrip('-')] * (-1 if w[0] == '-' else 1) for w in word.split()] for word in words]).T


@pytest.mark.parametrize('name', APPENDIX)
def test_both_prints_of_a_transform_and_our_joint_are_one(name: str, robot: Robot, rng: np.random.Generator) -> None:
    joint = next(joint for joint in robot.joints if joint.name == name)
    for q in rng.uniform(-np.pi, np.pi, 5):
        printed = np.array(report.transforms(robot.lengths, dict.fromkeys(robot.joint_names, q))[name], dtype=float)
        ours = local_transform(joint, q)
        np.testing.assert_allclose(printed[:3], columns_of(APPENDIX[name], q, robot.lengths), atol=1e-15)
        np.testing.assert_allclose(np.column_stack([ours.A, ours.P]), printed[:3], atol=1e-15)
        assert printed[3].tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize('name', APPENDIX)
def test_a_printed_transform_turns_about_its_printed_axis(name: str, robot: Robot) -> None:
    q, step = 0.7, 1e-6
    before, after = (
        np.array(report.transforms(robot.lengths, dict.fromkeys(robot.joint_names, x))[name], dtype=float)[:3, :3]
        for x in (q - step, q + step)
    )
    turning = before.T @ (after - before) / (2 * step)  # A^T dA/dq = e^
    np.testing.assert_allclose([turning[2, 1], turning[0, 2], turning[1, 0]], report.AXES[name], atol=1e-5)


def test_the_tree_is_the_reports(robot: Robot) -> None:
    assert robot.joint_names == ('q_imu', 'q_w', 'q_torso', *(f'q_{k}{side}' for side in 'lr' for k in range(1, 8)))
    assert [link.name for link in robot.links] == [
        'R0', 'R1', 'R2', 'R3', *(f'R{k}{side}' for side in 'lr' for k in range(4, 11)),
    ]  # fmt: skip
    for joint in robot.joints:
        assert joint.child == report.FRAME_OF[joint.name]
        assert joint.parent == report.ANTECEDENT[joint.child]
        assert tuple(joint.axis) == report.AXES[joint.name]


def test_mass_is_the_published_total(robot: Robot) -> None:
    arm = 7.35 + 6.1405 + 4.531 + 3.2245 + 2.318 + 2.318 + 2.3838
    assert robot.mass == pytest.approx(75.767 + 14.006 + 6.533 + 2 * arm, abs=1e-12)


def test_urdf_carries_masses_and_inertias_as_the_file_gives_them(robot: Robot) -> None:
    links = yaml.safe_load(FILES['krang'].read_text())['links']
    found = {name: (first, tensor) for name, first, tensor in inertials(urdf_text(robot))}
    assert sorted(found) == sorted(name for name in links if name != 'R0')
    for name, (first, tensor) in found.items():
        np.testing.assert_allclose(first, [links[name]['mass'], *links[name]['com']], atol=1e-15)
        np.testing.assert_allclose(tensor, links[name]['inertia'], atol=1e-12)


def test_committed_urdf_is_what_the_generator_writes() -> None:
    assert (ROOT / 'urdf' / 'krang.urdf').read_text() == run('generate_urdf', FILES['krang']).stdout, (
        'run: .venv/bin/krang generate_urdf -o urdf/krang.urdf'
    )
