"""Messages of an IMU, and its orientation out of a rotation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from krang_dynamics_ros.live.messages import ImuMessage

UP = (0.0, 0.0, 9.81)


def quaternion(R: np.ndarray) -> tuple[float, float, float, float]:
    """Return (w, x, y, z) by the eigenvector of Bar-Itzhack's matrix, which is good at every angle."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    K = np.array([
        [xx - yy - zz, yx + xy, zx + xz, zy - yz],
        [yx + xy, yy - xx - zz, zy + yz, xz - zx],
        [zx + xz, zy + yz, zz - xx - yy, yx - xy],
        [zy - yz, xz - zx, yx - xy, xx + yy + zz],
    ])  # fmt: skip
    x, y, z, w = np.linalg.eigh(K)[1][:, -1].tolist()
    return w, x, y, z


def pitching(
    orientation: tuple[float, float, float, float], rate: float, covariances: tuple[float, float], stamp: int, now: int
) -> ImuMessage:
    """Return a message whose sensor turns about its y axis."""
    return ImuMessage('', orientation, (0.0, rate, 0.0), UP, (*covariances, 0.0), stamp, now)


def reading(
    frame: str,
    R: np.ndarray,
    w: Sequence[float] = (0, 0, 0),
    f: Sequence[float] | None = None,
    time: int = 0,
    covariances: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> ImuMessage:
    """Return a message of a sensor oriented by R (3, 3) in the world; at rest, unless it reads a specific force f."""
    (wx, wy, wz), (x, y, z) = map(float, w), map(float, R.T @ UP if f is None else f)
    return ImuMessage(frame, quaternion(R), (wx, wy, wz), (x, y, z), covariances, time, time)
