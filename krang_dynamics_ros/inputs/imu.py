"""The base's pitch out of an IMU's orientation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.errors import ArgumentError

TOLERANCE = 0.01  # of the quaternion's length


def pitch(quaternion: Sequence[float], orientation_covariance: float = 0.0) -> float:
    """Return the angle (rad) by which the sensor's x axis points below the horizon: positive forward, as q_imu.

    `quaternion` is (w, x, y, z), the orientation of the sensor in a frame whose z points up; the sensor sits on the
    base with x forward, y left, z up when q_imu = 0. Heading does not matter, and the angle goes all the way round.
    A covariance of -1 means, in sensor_msgs/Imu, that there is no orientation.
    """
    w, x, y, z = quaternion
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if orientation_covariance == -1 or not abs(length - 1) <= TOLERANCE:
        raise ArgumentError(f'imu: orientation {tuple(quaternion)}, must be a unit quaternion, and be given')
    up_along_x, up_along_z = 2 * (x * z - w * y), w * w - x * x - y * y + z * z
    return math.atan2(-up_along_x, up_along_z)
