"""What the equations need of recordings: states without noise, the bodies' regressor, encoders' own small steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..core.friction_shapes import presliding
from ..core.spatial import Array
from ..recordings.derivatives import Smoothed
from ..recordings.recording import Recording, Rows
from ..robot.robot import Robot
from .phases import phases
from .regressor import moved_links, regressor

SURE = 0.02  # of a joint's usual speed: slower than this, the smoothed velocity may have the wrong sign
DOUBT = 1e-3  # of it: at such a velocity nobody knows the sign, and the mean of both is nearest
DISTANCES = (1e-4, 1e-3)  # of presliding, rad: 0.1 and 1 mrad


def presliding_history(position: Array, distances: Sequence[float]) -> Array:
    """Return z (rows, joints, distances) along an encoder's positions (rows, joints), from z = 0 in the first row."""
    z = np.zeros((*position.shape, len(distances)))
    steps = np.diff(position, axis=0)[..., None]
    for k, step in enumerate(steps):
        z[k + 1] = presliding(z[k], step, np.asarray(distances))
    return z


def doubtful(dq: Array, over: ArrayLike) -> Array:
    """Return the velocity (joints) over which friction turns its sign along smoothed velocities (rows, joints)."""
    return np.asarray(np.maximum(over, DOUBT * np.sqrt(np.square(dq).mean(axis=0))), dtype=float)


@dataclass(frozen=True, eq=False)
class Samples:
    """The new rows of recordings, one after the other: arrays (rows, joints), Y and Y_load (rows, joints, 10 links)."""

    phase: Array  # (rows), from 0 to 1: where in the excitation's period, or in the recording
    q: Array
    dq: Array
    ddq: Array
    effort: Array
    z: Array  # (rows, joints, len(DISTANCES))
    Y: Array
    Y_load: Array  # the same without accelerations: what gravity and Coriolis forces take

    @cached_property
    def spread(self) -> Array:
        """Standard deviation of the effort (joints)."""
        return np.asarray(self.effort.std(axis=0))

    @cached_property
    def slides(self) -> Rows:
        """Whether joints (rows, joints) move so fast that the sign of their velocity is sure."""
        return np.asarray(np.abs(self.dq) > SURE * np.sqrt(np.square(self.dq).mean(axis=0)))


def samples_of(robots: Sequence[Robot], recordings: Sequence[Recording], cutoff: float) -> Samples:
    """Return the samples of recordings, each of all joints of its robot, smoothed with a cut-off (Hz)."""
    parts = [
        _samples(robot, recording.joints(robot.joint_names), cutoff)
        for robot, recording in zip(robots, recordings, strict=True)
    ]
    names = ('phase', 'q', 'dq', 'ddq', 'effort', 'z', 'Y', 'Y_load')
    return Samples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _samples(robot: Robot, recording: Recording, cutoff: float) -> Samples:
    smoothed = Smoothed(recording, cutoff)
    motion, new, links = smoothed.motion, smoothed.new, moved_links(robot)
    return Samples(
        phases(recording)[new], motion.q, motion.dq, motion.ddq, recording.measured_effort[new],
        presliding_history(recording.position, DISTANCES)[new],
        regressor(robot, links, motion.q, motion.dq, motion.ddq),
        regressor(robot, links, motion.q, motion.dq, np.zeros_like(motion.ddq)),
    )  # fmt: skip
