"""Prediction of the efforts of a recording, by all terms of a robot's equations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.spatial import Array
from ..dynamics.drives import FrictionModel
from ..effects.coupling import CoupledFriction
from ..effects.joint_effects import JointEffects
from ..effects.presliding import presliding_history
from ..equations.newton_euler import NewtonEuler
from ..equations.regressor import with_fixed_joints
from ..recordings.derivatives import Smoothed, smoothing_spline
from ..recordings.recording import Recording, stands_still
from ..robot.robot import Robot
from .samples import with_moving_uncounted

CUTOFF = 5.0  # Hz, for a robot that was not identified
MAX_CUTOFF = 1 / 3  # of the recording's rate
DOUBT = 1e-3  # of a joint's RMS speed: below, the sign of a smoothed velocity is not known


@dataclass(frozen=True, eq=False)
class Prediction:
    """Measured and predicted efforts (rows, joints) of a recording, and the velocities (rows, joints)."""

    recording: Recording
    predicted: Array
    dq: Array
    cutoff: float  # Hz, of the smoothing

    @property
    def residual(self) -> Array:
        """Measured less predicted."""
        return self.recording.measured_effort - self.predicted

    @property
    def rmse(self) -> Array:
        """Root of the mean squared error (joints), N m."""
        return _rms(self.residual)

    @property
    def stands_still(self) -> bool:
        """Whether no joint moves: then an error relative to the standard deviation of the effort has no meaning."""
        return stands_still(self.recording)

    @property
    def effort_std(self) -> Array:
        """Standard deviation of the measured effort (joints)."""
        return np.asarray(self.recording.measured_effort.std(axis=0))

    @property
    def errors(self) -> Array:
        """RMSE over the standard deviation of the measured effort (joints)."""
        return np.asarray(self.rmse / self.effort_std)

    @property
    def smooth_errors(self) -> Array:
        """The same with both efforts smoothed as the motion is, over the standard deviation of the raw effort."""
        return np.asarray(_rms(self._smooth(self.residual)) / self.effort_std)

    @cached_property
    def floor(self) -> Array:
        """The part of the effort (joints) that no smooth motion explains, over its standard deviation."""
        effort = self.recording.measured_effort[self.recording.is_new]
        return np.asarray(_rms(effort - self._smooth(self.recording.measured_effort)) / self.effort_std)

    def _smooth(self, values: Array) -> Array:
        """Return the new rows, smoothed."""
        new = self.recording.is_new
        time = self.recording.time[new]
        time = np.maximum.accumulate(time) + 1e-9 * np.arange(len(time))
        return np.asarray(smoothing_spline(time, values[new], self.cutoff)(time))


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt(np.square(values).mean(axis=0)))


class Prepared(NamedTuple):
    """A robot whose other joints are fixed, and the smooth motion of a recording of it: first the counted joints."""

    robot: Robot
    whole: Recording
    smoothed: Smoothed


def prepare(robot: Robot, recording: Recording) -> Prepared:
    """Fix joints that did not move at their resting positions, and smooth the others at the robot's cut-off."""
    whole = with_moving_uncounted(recording, [*recording.moving_uncounted])
    resting = {name: q for name, q in recording.resting.items() if name not in whole.joint_names}
    cutoff = min(robot.cutoff or CUTOFF, MAX_CUTOFF * recording.rate)
    return Prepared(with_fixed_joints(robot, resting, whole.joint_names), whole, Smoothed(whole, cutoff))


def predict(robot: Robot, recording: Recording, prepared: Prepared | None = None) -> Prediction:
    """Predict the effort in every row; a row that a logger repeated gets the value of the row before it."""
    reduced, whole, smoothed = prepared or prepare(robot, recording)
    torque = _torque(reduced, whole, smoothed)[:, : len(recording.joint_names)]
    row = np.cumsum(smoothed.new) - 1  # of the motion, by row of the recording
    dq = smoothed.motion.dq[:, : len(recording.joint_names)]
    return Prediction(recording, torque[row], dq[row], smoothed.cutoff)


def _torque(robot: Robot, recording: Recording, smoothed: Smoothed) -> Array:
    """Return the effort (new rows, all joints) of bodies, rotors and all effects."""
    motion, equations, friction = smoothed.motion, NewtonEuler(robot), _friction(robot, smoothed)
    torque = equations.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    torque += friction.torque(motion.dq, _presliding(friction, recording, smoothed))
    if friction.depends_on_load:
        load = equations.inverse_dynamics(motion.q, motion.dq, np.zeros_like(motion.ddq))
        torque += friction.load_effect_on_reading(motion.dq, load)
    torque += CoupledFriction(robot.couplings, robot.joint_names).torque(motion.dq)
    torque += JointEffects.of('spring', [joint.effects for joint in robot.moving_joints]).sum.torque(motion.q)
    torque += np.array([joint.motor.effort_offset for joint in robot.moving_joints])
    return torque


def sign_velocity(dq: Array, over: ArrayLike) -> Array:
    """Return the velocity (joints) over which friction changes its sign: `over`, or else from dq (rows, joints)."""
    given = np.asarray(over, dtype=float)
    return np.where(given > 0, given, DOUBT * np.sqrt(np.square(dq).mean(axis=0)))


def _friction(robot: Robot, smoothed: Smoothed) -> FrictionModel:
    friction = FrictionModel(robot.viscous, robot.coulomb)
    friction.set_coefficients(robot.moving_joints)
    friction.coulomb_velocity = sign_velocity(smoothed.motion.dq, friction.coulomb_velocity)
    return friction


def _presliding(friction: FrictionModel, recording: Recording, smoothed: Smoothed) -> Array | None:
    """Return the presliding states (new rows, joints, distances), or None without presliding friction."""
    if not friction.has_state:
        return None
    histories = [
        presliding_history(recording.position[:, [j]], delta.tolist())[smoothed.new, 0]
        for j, delta in enumerate(friction.delta)
    ]
    return np.stack(histories, axis=1)
