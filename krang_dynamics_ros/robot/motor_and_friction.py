"""Motor and friction of a joint: gear, rotor, viscous and Coulomb friction."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.spatial import Array
from ..effects.load import LoadFriction, LoadShare
from ..effects.presliding import Presliding


@dataclass(frozen=True)
class Motor:
    """A joint's motor: gear ratio N = dq_m/dq, rotor inertia J_m and viscous friction on the motor side."""

    gear_ratio: float = 1.0
    rotor_inertia: float = 0.0
    viscous: float = 0.0
    effort_offset: float = 0.0  # N m at the joint: reading of the effort at zero torque

    @property
    def reflected_inertia(self) -> float:
        """I_a = N^2 J_m, the rotor's part of A_jj (report, eq. 18)."""
        return self.gear_ratio**2 * self.rotor_inertia

    @property
    def reflected_viscous(self) -> float:
        """N^2 b_m, the motor's viscous friction as the link feels it (De Luca, *Robotics 2*)."""
        return self.gear_ratio**2 * self.viscous


@dataclass(frozen=True)
class Friction:
    """Friction at the joint: viscous F_v and Coulomb F_c (report, eq. 17), and extensions.

    `coulomb_velocity` is the velocity over which Coulomb friction changes its sign (tanh); zero: a jump, as in eq. 17.
    """

    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_velocity: float = 0.0
    presliding: tuple[Presliding, ...] = ()
    load: LoadShare | None = None
    load_friction: LoadFriction | None = None

    @property
    def beyond_report(self) -> bool:
        """Whether Coulomb friction is smooth, or presliding is given: exports have eq. (17) alone."""
        return bool(self.coulomb_velocity or self.presliding)


def motor_torque(torque: Array, gear_ratio: Array) -> Array:
    """Return the motor torques (n) for torques at the joints: tau_m = Gamma / N."""
    return torque / gear_ratio


def motor_inertia(A: Array, gear_ratio: Array) -> Array:
    """Return the inertia matrix (n, n) that the motors feel: A_ij / (N_i N_j)."""
    return A / gear_ratio[:, None] / gear_ratio


def joint_positions(theta_m: Array, gear_ratio: Array) -> Array:
    """Return the joint positions or velocities (n) from those of the motors."""
    return theta_m / gear_ratio
