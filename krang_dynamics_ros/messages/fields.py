"""What the fields of a message say that the library has read: numbers of our own, whatever the message's class."""

from __future__ import annotations

from typing import Any

from ..core.errors import ArgumentError
from .messages import Six, Three

SECOND = 1_000_000_000  # ns
STAMP = 4  # where the stamp of a serialized message with a header stands


def stamp_of(told: Any) -> int:
    """Return the stamp of a message with a header, ns; `ArgumentError` if it is no time."""
    return stamp_from(told.header.stamp.sec, told.header.stamp.nanosec)


def stamp_from(seconds: int, nanoseconds: int) -> int:
    """Return a stamp in ns; `ArgumentError` if its two fields are no time: a result could not be stamped with it."""
    if seconds < 0 or nanoseconds >= SECOND:
        raise ArgumentError(f'stamp: {seconds} s and {nanoseconds} ns, must be 0 s or more, and less than {SECOND} ns')
    return seconds * SECOND + nanoseconds


def check_size(raw: bytes, most: int) -> None:
    """Raise `ArgumentError` if a serialized message is too long to be read: reading takes time."""
    if len(raw) > most:
        raise ArgumentError(f'a message of {len(raw)} bytes, must be at most {most}')


def wrench_of(told: Any) -> tuple[str, Three, Three]:
    """Return the frame, the force (N) and the moment (N m) of a WrenchStamped."""
    f, m = told.wrench.force, told.wrench.torque
    return told.header.frame_id, (f.x, f.y, f.z), (m.x, m.y, m.z)


def imu_of(told: Any) -> tuple[tuple[float, float, float, float], float, tuple[float, float]]:
    """Return the orientation (w, x, y, z), the pitch rate (rad/s), and the first entry of the covariance of each."""
    o = told.orientation
    covariances = (float(told.orientation_covariance[0]), float(told.angular_velocity_covariance[0]))
    return (o.w, o.x, o.y, o.z), told.angular_velocity.y, covariances


def payload_of(told: Any) -> tuple[str, float, Three, Six]:
    """Return the frame, mass (kg), centre of mass (m) and inertia about it (xx xy xz yy yz zz) of an InertiaStamped."""
    i = told.inertia
    return told.header.frame_id, i.m, (i.com.x, i.com.y, i.com.z), (i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz)
