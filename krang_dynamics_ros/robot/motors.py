"""The same equations on the motors' side of the gears: theta_m = N theta (De Luca, *Robotics 2*)."""

from __future__ import annotations

from ..core.spatial import Array


def motor_torque(torque: Array, gear_ratio: Array) -> Array:
    """Return what the motors must give (n) for torques at the joints: tau_m = Gamma / N."""
    return torque / gear_ratio


def motor_inertia(A: Array, gear_ratio: Array) -> Array:
    """Return the inertia matrix (n, n) that the motors feel: A_ij / (N_i N_j)."""
    return A / gear_ratio[:, None] / gear_ratio


def joint_positions(theta_m: Array, gear_ratio: Array) -> Array:
    """Return the joint positions or velocities (n) that belong to those of the motors."""
    return theta_m / gear_ratio
