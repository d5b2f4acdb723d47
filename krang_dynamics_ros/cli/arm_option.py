"""The option `--arm` of commands: an arm file, its robot and its assumptions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from ..core.errors import ArgumentError, listed
from ..core.files import write_whole
from ..core.spatial import Array, frozen
from ..live.assumptions import assumptions
from ..live.engine import Engine, engine_of
from ..live.parameter_file import MESH_FOLDERS, read_arm, read_parameters, unknown_parameters
from ..recordings.recording import Recording
from ..robot.file_text import is_xml, text_of
from ..robot.robot import Robot
from ..robot.robot_file import located
from .common import loaded, note, robot_path, say_error

ROBOTS = ('robot_file', 'robot_description', 'robot_description_topic')  # parameters that name a robot
OWN = 'arm.yaml'  # arm file in the folder of a recording, written by `krang record`


class Box(NamedTuple):
    """A box that the arm must not enter, along the axes of the base, m."""

    centre: Array  # (3)
    size: Array  # (3)


@dataclass(frozen=True)
class ArmFile:
    """An arm file: its path, and its values by parameter name."""

    path: Path
    values: dict[str, Any]

    @cached_property
    def engine(self) -> Engine:
        """The engine of a node with these parameters."""
        return engine_of(self.values)

    @property
    def robot(self) -> Robot:
        """The robot, with the joint names, fixed joints, limits, gravity and hands of the file."""
        return self.engine.robot

    def robot_of(self, robot_file: Path) -> Robot:
        """Return the robot of another robot file, with the settings of this arm file."""
        return ArmFile(self.path, with_robot(self.values, robot_file)).robot

    def effort_scale(self, joint_names: Sequence[str]) -> Array:
        """Return N m (N) per unit of recorded effort (joints)."""
        return np.array([self.values.get(f'joints.{name}.effort_scale', 1.0) for name in joint_names])

    def with_torques(self, recording: Recording) -> Recording:
        """Return a recording whose efforts are joint torques (N m or N): scaled, plus the terms of `effort_without`.

        Offsets are not subtracted: they are identified.
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
                f'{self.path}: effort_source {efforts.source}, effort_without {list(efforts.without)}: must be '
                'efforts of the motors or behind the gear, with friction: others do not determine the parameters'
            )
        torque = recording.effort * self.effort_scale(recording.joint_names)
        if efforts.without:
            if 'coriolis' in efforts.without:
                self._check_velocities(recording)
            names = self.engine.dynamics.joint_names
            columns = [names.index(name) for name in recording.joint_names]
            torque = torque + efforts.missing(*self._states(recording))[:, columns]
        return replace(recording, effort=torque)

    def _check_velocities(self, recording: Recording) -> None:
        """Refuse a recording without a velocity that Coriolis torques need."""
        counted = recording.joint_names if recording.velocity is None else ()
        if unknown := [*counted, *recording.moving_uncounted]:
            raise ArgumentError(
                f'{self.path}: effort_without coriolis: {recording.source} has no velocities of {listed(unknown)}, '
                'must have them; record velocities and efforts, or choose --rows in which these joints rest'
            )

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
                q[:, k] = recording.moving_uncounted.get(name, recording.resting.get(name, 0.0))
                dq[:, k] = np.nan if name in recording.moving_uncounted else 0.0
        return q, dq

    @property
    def keep_out(self) -> dict[str, Box]:
        """The boxes that the arm must not enter, by name."""
        names = dict.fromkeys(key.split('.')[1] for key in self.values if key.startswith('keep_out.'))
        return {name: Box(self._vector(name, 'centre'), self._vector(name, 'size', positive=True)) for name in names}

    @property
    def mesh_folders(self) -> list[str]:
        """Folders with meshes, or with packages of meshes."""
        folders = self.values.get(MESH_FOLDERS, [])
        if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
            raise ArgumentError(f'{self.path}: {MESH_FOLDERS}: {folders}, must be a list of folders')
        return [folder for folder in folders if folder]

    def _vector(self, box: str, quantity: str, positive: bool = False) -> Array:
        value = self.values.get(f'keep_out.{box}.{quantity}')
        try:
            vector = np.array(value, dtype=float)
        except (TypeError, ValueError):
            vector = np.full(3, np.nan)
        if vector.shape != (3,) or not np.isfinite(vector).all() or (positive and not (vector > 0).all()):
            allowed = 'three positive numbers' if positive else 'three numbers'
            raise ArgumentError(f'{self.path}: keep_out.{box}.{quantity}: {value}, must be {allowed}, m')
        return frozen(vector)


def add_arm(parser: argparse.ArgumentParser) -> None:
    """Add the option to the parser of a command."""
    parser.add_argument(
        '--arm',
        type=Path,
        metavar='FILE',
        help='arm file with the properties that the URDF lacks; write it with `krang new_arm` (docs/my_arm.md)',
    )


def with_robot(values: Mapping[str, Any], robot_file: str | Path) -> dict[str, Any]:
    """Return parameters with another robot, however they name theirs."""
    return {**values, **dict.fromkeys(ROBOTS, ''), 'robot_file': str(robot_file)}


def read_arm_file(path: Path | None, robot_file: str | Path | None = None, base_link: str = '') -> ArmFile | None:
    """Return the arm file of the option, and print its assumptions; None without a path.

    `robot_file` and `base_link` replace those of the file, if they are given.
    """
    if path is None:
        return None
    values = with_robot(read_arm(path), robot_file) if robot_file else read_arm(path)
    arm = ArmFile(path, values | ({'base_link': base_link} if base_link else {}))
    note(*(f'{path}: {line}' for line in unknown_parameters(arm.values)))
    engine = arm.engine
    _ = arm.keep_out, arm.mesh_folders  # checked before the work begins
    say_error(f'assumed, by {path}:', *(f'  {x}' for x in assumptions(engine.settings, engine.model)))
    return arm


def requested_robot(arguments: argparse.Namespace) -> tuple[Robot, Path]:
    """Return the robot of `add_robot_file` and `add_arm`, and the file that describes it; print warnings."""
    arm = read_arm_file(arguments.arm, arguments.robot_file, arguments.base_link)
    if arm is None:
        path = robot_path(arguments)
        return loaded(path, arguments.base_link), path
    note(*map(str, arm.engine.model.warnings))
    return arm.robot, arm.path


def arm_beside(recordings: Sequence[Path]) -> Path | None:
    """Return the arm file that `krang record` wrote to the folder of the first recording; None if there is none."""
    path = recordings[0] / OWN
    if not path.is_file():
        return None
    robot_file = Path(str(read_parameters(path).get('robot_file', '')))
    if len(robot_file.parts) != 1 or robot_file.suffix == '.xacro':
        raise ArgumentError(
            f'{path}: robot_file {robot_file}, must be a URDF or robot file in this folder, because a recording must '
            'not refer to other files; set an arm file with --arm'
        )
    return path


def write_arm_beside(folder: Path, arm: ArmFile) -> None:
    """Write an arm file and its robot to the folder of a recording, so that commands need no other file."""
    robot = text_of(located(arm.values.get('robot_file', '')))
    name = 'robot.urdf' if is_xml(robot) else 'robot.yaml'
    own = {key: value for key, value in arm.values.items() if key != MESH_FOLDERS}  # they are outside of the folder
    parameters = {'/**': {'ros__parameters': own | {'robot_file': name}}}
    head = f'# {arm.path.name} as it was during the recording; the robot is in the same folder.\n'
    write_whole(folder / name, robot)
    write_whole(folder / OWN, head + yaml.safe_dump(parameters, sort_keys=False, allow_unicode=True))
