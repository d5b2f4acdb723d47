"""The orientation that an IMU measures: its upward direction, and the pitch of the base."""

from __future__ import annotations

import math

from ..core.errors import ArgumentError
from .messages import Quaternion

TOLERANCE = 0.01  # of the quaternion's length
MAX_ROLL = math.radians(5.0)  # allows for a sensor that is mounted slightly askew on a level axle


def upward(quaternion: Quaternion, orientation_covariance: float = 0.0) -> tuple[float, float, float]:
    """Return the upward direction in the axes of a sensor, of about unit length.

    `quaternion` is (w, x, y, z), the orientation of the sensor in a frame whose z points up. A covariance of -1 means
    "no orientation" (sensor_msgs/Imu) and is refused.
    """
    w, x, y, z = quaternion
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if orientation_covariance == -1 or not abs(length - 1) <= TOLERANCE:
        raise ArgumentError(f'imu: orientation {tuple(quaternion)}, must be a unit quaternion, covariance not -1')
    return 2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z


def pitch(quaternion: Quaternion, orientation_covariance: float = 0.0) -> float:
    """Return the angle (rad) by which the sensor's x axis points below the horizon: positive forward, as q_imu.

    `quaternion` is (w, x, y, z), the orientation of the sensor in a frame whose z points up. The sensor is mounted with
    x forward, y left, z up at q_imu = 0. The heading has no influence; the range is the full circle, -pi to pi.
    A covariance of -1 means "no orientation" (sensor_msgs/Imu) and is refused. A roll (y axis out of the horizontal
    plane) beyond `MAX_ROLL` is refused too: a single joint cannot roll the base, so the pitch is not the joint's angle.
    """
    x, y, z = upward(quaternion, orientation_covariance)
    roll = math.atan2(y, math.hypot(x, z))
    if abs(roll) > MAX_ROLL:
        raise ArgumentError(
            f'imu: roll {math.degrees(roll):.1f} degrees, must be within {math.degrees(MAX_ROLL):g}: imu_joint turns '
            "the base about the sensor's y axis alone; look at how the sensor is mounted, or whether the base tilts"
        )
    return math.atan2(-x, z)
