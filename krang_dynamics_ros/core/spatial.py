"""Vectors, rotations, and transforms of velocities and inertias between frames.

A twist is [v; omega] and a wrench [f; moment], linear part first. Lengths are in m, angles in rad.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ArgumentError

Array = NDArray[np.float64]


def numbers(name: str, value: ArrayLike, n: int, least: float | None = None) -> Array:
    """Return a new vector (n) of finite numbers, each at least `least`, or raise `ArgumentError`."""
    vector = np.array(value, dtype=float)
    if vector.shape != (n,) or not np.isfinite(vector).all() or (least is not None and (vector < least).any()):
        allowed = '' if least is None else f', at least {least:g}' if least else ', none negative'
        raise ArgumentError(f'{name}: {value!r}, must be {n} finite numbers{allowed}')
    return vector


def hat(v: ArrayLike) -> Array:
    """Return the 3x3 matrix v^ with v^ x = v cross x; of a twist [v; omega] the 4x4 matrix [[omega^, v], [0, 0]].

    The body velocity of a frame g = [[R, p], [0, 1]] is the twist whose hat is g^-1 dg/dt.
    """
    vector = np.asarray(v, dtype=float)
    if vector.shape == (6,):
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = hat(vector[3:]), vector[:3]
        return matrix
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unhat(matrix: ArrayLike, tolerance: float = 1e-9) -> Array:
    """Return the vector (3) of a skew 3x3 matrix, or the twist (6) of a 4x4 matrix: the inverse of `hat`.

    Other matrices raise `ArgumentError`. `tolerance` is relative to the largest entry.
    """
    M = np.asarray(matrix, dtype=float)
    if M.shape not in ((3, 3), (4, 4)):
        raise ArgumentError(f'unhat: shape {M.shape}, must be (3, 3) or (4, 4)')
    omega = np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]]) / 2
    vector = omega if len(M) == 3 else np.concatenate([M[:3, 3], omega])
    if not np.abs(hat(vector) - M).max() <= tolerance * np.abs(M).max():
        raise ArgumentError(f'unhat: {M.tolist()}, must be skew-symmetric, and the last row of a 4x4 matrix zero')
    return vector


def euler_force(m: float, alpha: ArrayLike, r: ArrayLike) -> Array:
    """Return the Euler force -m alpha x r (3, N) on a body of mass m (kg) at r in a frame with angular acceleration.

    In a frame that rotates about its origin, the physical forces on a body plus Euler, Coriolis and centrifugal force
    are m a', where a' (m/s^2) is the acceleration in the frame. All vectors (3) are in the frame's axes: r (m) and
    v (m/s) relative to the frame, omega (rad/s) and alpha (rad/s^2) of the frame.
    """
    return np.asarray(-m * (hat(alpha) @ np.asarray(r, dtype=float)))


def coriolis_force(m: float, omega: ArrayLike, v: ArrayLike) -> Array:
    """Return the Coriolis force -2 m omega x v (3, N) on a body with velocity v in a frame that rotates with omega."""
    return np.asarray(-2.0 * m * (hat(omega) @ np.asarray(v, dtype=float)))


def centrifugal_force(m: float, omega: ArrayLike, r: ArrayLike) -> Array:
    """Return the centrifugal force -m omega x (omega x r) (3, N) on a body at r in a frame that rotates with omega."""
    return np.asarray(-m * (hat(omega) @ hat(omega) @ np.asarray(r, dtype=float)))


def adjoint(rotation: Array, position: Array) -> Array:
    """Return the matrix Ad (6, 6) from the body velocity [v; omega] of B to that of C: V_C = Ad V_B.

    `rotation` (3, 3) and `position` (3) are the pose of frame C in frame B.
    """
    zero = np.zeros((3, 3))
    return np.block([[rotation.T, -rotation.T @ hat(position)], [zero, rotation.T]])


def inertia_in_parent(inertia_c: Array, rotation: Array, position: Array) -> Array:
    """Return the inertia I_B = Ad^T I_C Ad (6, 6) in frame B of a body in frame C with the given pose in B."""
    ad = adjoint(rotation, position)
    return np.asarray(ad.T @ inertia_c @ ad)


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's convention."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(rotation: Array) -> Array:
    """Return (roll, pitch, yaw) of a rotation matrix; at pitch = +-90 degrees the yaw is zero."""
    r = rotation
    cos_pitch = np.hypot(r[0, 0], r[1, 0])
    pitch = np.arctan2(-r[2, 0], cos_pitch)
    if cos_pitch < 1e-12:
        return np.array([np.arctan2(-r[1, 2], r[1, 1]), pitch, 0.0])
    roll = np.arctan2(r[2, 1], r[2, 2])
    c, s = np.cos(roll), np.sin(roll)  # near 90 degrees, roll is noise and yaw fits it
    # Half a turn is +pi, never -pi: -0.0 + 0.0 is 0.0.
    yaw = np.arctan2(s * r[0, 2] - c * r[0, 1] + 0.0, c * r[1, 1] - s * r[1, 2])
    return np.array([roll, pitch, yaw])


def is_rotation(matrix: Array, tolerance: float = 1e-9) -> bool:
    """Return whether a 3x3 matrix is a proper rotation."""
    orthonormal = np.allclose(matrix @ matrix.T, np.eye(3), rtol=0, atol=tolerance)
    return bool(orthonormal and np.linalg.det(matrix) > 0)


def symmetric(entries: ArrayLike) -> Array:
    """Return the symmetric 3x3 matrix of the six entries [xx, xy, xz, yy, yz, zz]."""
    e = np.asarray(entries, dtype=float)
    return np.asarray(e[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]])


def upper_triangle(matrix: Array) -> Array:
    """Return the six entries [xx, xy, xz, yy, yz, zz] of a symmetric 3x3 matrix."""
    return np.asarray(matrix[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])


def frozen(values: Any) -> Array:
    """Return a copy as an array of floats that cannot be written to."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
