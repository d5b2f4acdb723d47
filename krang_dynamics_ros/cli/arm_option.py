"""The option `--arm` of commands: an arm file, what it says of the robot, and what is assumed by it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from ..core.errors import ArgumentError
from ..core.files import write_whole
from ..core.spatial import Array, frozen
from ..live.assumptions import assumptions
from ..live.engine import Engine, engine_of
from ..live.parameter_file import read_arm, read_parameters, unknown_parameters
from ..recordings.recording import Recording
from ..robot.file_text import is_xml, text_of
from ..robot.robot import Robot
from ..robot.robot_file import located
from .common import note, say_error

OWN = 'arm.yaml'  # in a recording's folder: the arm file that `krang record` had


class Box(NamedTuple):
    """A box that the arm keeps out of, along the axes of the base, m."""

    centre: Array  # (3)
    size: Array  # (3)


@dataclass(frozen=True)
class ArmFile:
    """An arm file that was read, and its values by parameter name."""

    path: Path
    values: dict[str, Any]

    @cached_property
    def engine(self) -> Engine:
        """The engine of a node with these parameters."""
        return engine_of(self.values)

    @property
    def robot(self) -> Robot:
        """The robot: joints named, fixed and limited as the file says, with the file's gravity."""
        return self.with_gravity(self.engine.model.robot)

    def with_gravity(self, robot: Robot) -> Robot:
        """Return the robot with the file's gravity."""
        return replace(robot, gravity=frozen(self.engine.dynamics.gravity))

    def robot_of(self, robot_file: Path) -> Robot:
        """Return the robot of another file, on this arm."""
        return ArmFile(self.path, self.values | {'robot_file': str(robot_file), 'robot_description': ''}).robot

    def effort_scale(self, joint_names: Sequence[str]) -> Array:
        """Return N m (N) per unit of recorded effort (joints)."""
        return np.array([self.values.get(f'joints.{name}.effort_scale', 1.0) for name in joint_names])

    def with_torques(self, recording: Recording) -> Recording:
        """Return a recording with efforts as joint torques (N m or N): scaled, with the terms that they are without.

        Offsets stay in them: they are identified.
        """
        efforts, mode = self.engine.external.observer.efforts, self.engine.settings['base_motion']
        if mode != 'fixed':
            raise ArgumentError(
                f'{self.path}: base_motion {mode}, must be fixed: this needs a recording on a base that stands still'
            )
        if recording.effort is None:
            return recording
        if efforts.source == 'external' or 'friction' in efforts.without:
            raise ArgumentError(
                f'{self.path}: effort_source {efforts.source}, effort_without {list(efforts.without)}: efforts must be '
                'those of the motors or behind the gear, with friction; nothing can be identified from these'
            )
        torque = recording.effort * self.effort_scale(recording.joint_names)
        if efforts.without:
            names = self.engine.dynamics.joint_names
            columns = [names.index(name) for name in recording.joint_names]
            torque = torque + efforts.missing(*self._states(recording))[:, columns]
        return replace(recording, effort=torque)

    def _states(self, recording: Recording) -> tuple[Array, Array]:
        """Return positions and velocities (rows, n) of all joints in a recording; NaN where a velocity is unknown."""
        names, rows = self.engine.dynamics.joint_names, len(recording)
        q, dq = np.zeros((rows, len(names))), np.zeros((rows, len(names)))
        for k, name in enumerate(names):
            if name in recording.joint_names:
                at = recording.joint_names.index(name)
                q[:, k] = recording.position[:, at]
                dq[:, k] = np.nan if recording.velocity is None else recording.velocity[:, at]
            else:
                q[:, k] = recording.moved.get(name, recording.stood.get(name, 0.0))
        return q, dq

    @property
    def keep_out(self) -> dict[str, Box]:
        """The boxes that the arm keeps out of, by name."""
        names = dict.fromkeys(key.split('.')[1] for key in self.values if key.startswith('keep_out.'))
        return {name: Box(self._vector(name, 'centre'), self._vector(name, 'size', positive=True)) for name in names}

    def _vector(self, box: str, what: str, positive: bool = False) -> Array:
        value = self.values.get(f'keep_out.{box}.{what}')
        try:
            vector = np.array(value, dtype=float)
        except (TypeError, ValueError):
            vector = np.full(3, np.nan)
        if vector.shape != (3,) or not np.isfinite(vector).all() or (positive and not (vector > 0).all()):
            wanted = 'three positive numbers' if positive else 'three numbers'
            raise ArgumentError(f'{self.path}: keep_out.{box}.{what}: {value}, must be {wanted}, m')
        return frozen(vector)


def add_arm(parser: argparse.ArgumentParser) -> None:
    """Give a command the option."""
    parser.add_argument(
        '--arm', type=Path, metavar='FILE', help='arm file, by `krang new_arm` (docs/my_arm.md): what the URDF lacks'
    )


def read_arm_file(path: Path | None, **instead: Any) -> ArmFile | None:
    """Return the arm file of the option, and say what it assumes; None if there is none.

    `instead` are parameters in the place of those of the file; empty ones count as not given.
    """
    if path is None:
        return None
    arm = ArmFile(path, read_arm(path) | {name: value for name, value in instead.items() if value})
    note(*(f'{path}: {line}' for line in unknown_parameters(arm.values)))
    engine = arm.engine
    _ = arm.keep_out  # refused now, not in the middle of the work
    say_error(f'assumed, by {path}:', *(f'  {x}' for x in assumptions(engine.settings, engine.model)))
    return arm


def arm_beside(recordings: Sequence[Path]) -> Path | None:
    """Return the arm file that `krang record` put into the folder of the first recording."""
    path = recordings[0] / OWN
    if not path.is_file():
        return None
    robot_file = Path(str(read_parameters(path).get('robot_file', '')))
    if len(robot_file.parts) != 1 or robot_file.suffix == '.xacro':
        raise ArgumentError(
            f'{path}: robot_file {robot_file}, must be a URDF or robot file in this folder: a recording must not name '
            'others; name an arm file by --arm'
        )
    return path


def write_arm_beside(folder: Path, arm: ArmFile) -> None:
    """Put an arm file and its robot into the folder of a recording, so that commands need nothing else."""
    robot = text_of(located(arm.values.get('robot_file', '')))
    name = 'robot.urdf' if is_xml(robot) else 'robot.yaml'
    parameters = {'/**': {'ros__parameters': arm.values | {'robot_file': name}}}
    head = f'# {arm.path.name} as it was during the recording, and beside it the robot.\n'
    write_whole(folder / name, robot)
    write_whole(folder / OWN, head + yaml.safe_dump(parameters, sort_keys=False, allow_unicode=True))
