"""What the efforts of a recording should have been, by the whole of a robot's equations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.spatial import Array
from ..dynamics.friction import FrictionModel
from ..equations.newton_euler import NewtonEuler
from ..recordings.derivatives import Smoothed
from ..recordings.recording import Recording
from ..robot.robot import Robot
from .regressor import held
from .samples import doubtful, presliding_history

CUTOFF = 5.0  # Hz, for a robot that was not identified


@dataclass(frozen=True, eq=False)
class Prediction:
    """Measured and predicted efforts (rows, joints) of a recording, and the motion (rows, joints) behind them."""

    recording: Recording
    predicted: Array
    dq: Array

    @property
    def residual(self) -> Array:
        """Measured less predicted."""
        return self.recording.measured_effort - self.predicted

    @property
    def rmse(self) -> Array:
        """Root of the mean squared error (joints), N m."""
        return np.asarray(np.sqrt(np.square(self.residual).mean(axis=0)))

    @property
    def errors(self) -> Array:
        """RMSE over the standard deviation of the measured effort (joints)."""
        return np.asarray(self.rmse / self.recording.measured_effort.std(axis=0))


def predict(robot: Robot, recording: Recording) -> Prediction:
    """Predict the effort in every row; a row that a logger repeated gets what the row before it got."""
    arm = held(robot, recording.stood, recording.joint_names)
    smoothed = Smoothed(recording, robot.cutoff or CUTOFF)
    motion, equations, friction = smoothed.motion, NewtonEuler(arm), _friction(arm, smoothed)
    torque = equations.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    torque += friction.torque(motion.dq, _presliding(friction, recording, smoothed))
    if friction.shares_load:
        load = equations.inverse_dynamics(motion.q, motion.dq, np.zeros_like(motion.ddq))
        torque += friction.hidden_load(motion.dq, load)
    torque += np.array([joint.motor.effort_offset for joint in arm.moving_joints])
    row = np.cumsum(smoothed.new) - 1  # of the motion, by row of the recording
    return Prediction(recording, torque[row], motion.dq[row])


def _friction(arm: Robot, smoothed: Smoothed) -> FrictionModel:
    friction = FrictionModel(arm.viscous, arm.coulomb)
    friction.take([joint.friction for joint in arm.moving_joints])
    friction.coulomb_velocity = doubtful(smoothed.motion.dq, friction.coulomb_velocity)
    return friction


def _presliding(friction: FrictionModel, recording: Recording, smoothed: Smoothed) -> Array | None:
    """Return z of every row that is new (rows, joints, k), or None if no friction has any."""
    if not friction.has_state:
        return None
    histories = [
        presliding_history(recording.position[:, [j]], delta.tolist())[smoothed.new, 0]
        for j, delta in enumerate(friction.delta)
    ]
    return np.stack(histories, axis=1)
