"""Joint trajectories as YAML: written and read back, as ROS 2's own tools write them, and refused with the place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from krang_dynamics_ros.dynamics.trajectory import Trajectory
from krang_dynamics_ros.recordings.trajectory_file import (
    TrajectoryFileError,
    read_trajectory,
    trajectory_text,
    write_trajectory,
)

ECHOED = """\
header:
  stamp:
    sec: 0
    nanosec: 0
  frame_id: ''
joint_names:
- yes_1
- '2'
points:
- positions:
  - 0.0
  - 1
  velocities: []
  accelerations: []
  effort: []
  time_from_start:
    sec: 0
    nanosec: 500000000
---
"""


def example() -> Trajectory:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(4, 5, 2)) * [1, 1e-7]
    numbers[1:, 2] = np.nan
    return Trajectory.of(['on', "it's"], [0, 0.1, 0.25, 1.999999999, 3], *numbers)


def same(one: Trajectory, other: Trajectory) -> bool:
    assert one.joint_names == other.joint_names
    for name in ('time', 'position', 'velocity', 'acceleration', 'effort'):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)
    return True


def test_a_trajectory_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / 'motion.yaml'
    write_trajectory(path, example(), ['From rest.\nTo rest.'])
    assert path.read_text() == trajectory_text(example(), ['From rest.', 'To rest.'])
    assert same(read_trajectory(path), example())


def test_all_numbers_are_floats_and_missing_fields_are_left_out() -> None:
    """A message that checks its fields refuses 0 for 0.0, and 1e-07 would be text."""
    data = yaml.safe_load(trajectory_text(example()))
    assert set(data['points'][2]) == {'positions', 'time_from_start'}
    numbers = [x for point in data['points'] for key, row in point.items() if key != 'time_from_start' for x in row]
    assert len(numbers) == 34
    assert all(isinstance(x, float) for x in numbers)
    assert data['points'][3]['time_from_start'] == {'sec': 1, 'nanosec': 999999999}


def test_the_output_of_ros2_topic_echo_is_read(tmp_path: Path) -> None:
    (tmp_path / 'echoed.yaml').write_text(ECHOED)
    assert same(read_trajectory(tmp_path / 'echoed.yaml'), Trajectory.of(['yes_1', '2'], [0.5], [[0.0, 1.0]]))


POINT = 'time_from_start: {sec: 1}'


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', 'must be a mapping'),
        ('points: []', 'joint_names: missing'),
        ('{joint_names: [a], points: []}', 'must have one point at least'),
        (f'{{joint_names: [a], points: [{{{POINT}}}]}}', r'points\[0\].positions: missing, must be a list of 1'),
        (f'{{joint_names: [a], points: [{{positions: [.nan], {POINT}}}]}}', 'must be a finite number'),
        (f'{{joint_names: [a], points: [{{positions: [1, 2], {POINT}}}]}}', 'must be a list of 1 numbers'),
        (f'{{joint_names: [a], points: [{{positions: [1], speed: [1], {POINT}}}]}}', 'speed.*is not a known key'),
        ('{joint_names: [a], points: [{positions: [1]}]}', 'time_from_start.sec: missing'),
        (f'{{joint_names: [a, a], points: [{{positions: [1, 2], {POINT}}}]}}', 'named twice: a'),
        (
            f'{{joint_names: [a], points: [{{positions: [1], {POINT}}}, {{positions: [1], {POINT}}}]}}',
            'point 2: time_from_start 1 s, must be after that of point 1, 1 s',
        ),
        ('joint_names: [a', 'must be readable YAML'),
    ],
)
def test_an_invalid_trajectory_is_refused_with_its_place(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / 'wrong.yaml').write_text(text)
    with pytest.raises(TrajectoryFileError, match=reason):
        read_trajectory(tmp_path / 'wrong.yaml')
