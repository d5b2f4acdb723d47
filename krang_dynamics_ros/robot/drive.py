"""What is between a motor and its link: gear, rotor, friction."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.spatial import Array


@dataclass(frozen=True)
class Motor:
    """A joint's motor behind its gear: N = dq_m/dq, rotor inertia J_m and viscous friction on the motor's side."""

    gear_ratio: float = 1.0
    rotor_inertia: float = 0.0
    viscous: float = 0.0
    effort_offset: float = 0.0  # N m at the joint: what a recorded effort reads where there is no torque

    @property
    def reflected_inertia(self) -> float:
        """I_a = N^2 J_m, what the rotor adds to A_jj (report, eq. 18)."""
        return self.gear_ratio**2 * self.rotor_inertia

    @property
    def reflected_viscous(self) -> float:
        """N^2 b_m, the motor's viscous friction as the link feels it (De Luca, *Robotics 2*)."""
        return self.gear_ratio**2 * self.viscous


@dataclass(frozen=True)
class Presliding:
    """Friction that begins as a spring: a torque kappa (N m, or N) that is there after a few distances (rad, or m)."""

    torque: float
    distance: float


@dataclass(frozen=True)
class LoadShare:
    """How much of its load (gravity and Coriolis forces) a drive's effort shows: less while it pushes than it brakes.

    `crossing` (rad/s per N m) times the load is the velocity above which a drive pushes that its load moves along, and
    `velocity` (rad/s) is within how much braking turns into pushing (`core.friction_shapes.braking`).
    """

    pushing: float
    braking: float
    crossing: float
    velocity: float


@dataclass(frozen=True)
class LoadFriction:
    """Friction that grows with the load: factor |load| tanh(dq / velocity). Part of predicted efforts alone."""

    factor: float
    velocity: float  # rad/s, or m/s


@dataclass(frozen=True)
class Spring:
    """A spring or counterbalance: the motor gives cosine cos q + sine sin q (N m) against it."""

    cosine: float
    sine: float


@dataclass(frozen=True)
class Coupling:
    """Friction of two joints together, where one's motor also turns with the other: `effects.coupling`.

    It acts along W dq, the first joint's velocity plus `sign` (1 or -1) times the second's.
    """

    joints: tuple[str, str]
    sign: int
    viscous: float  # N m s/rad
    coulomb: float  # N m
    velocity: float  # rad/s, over which the dry part turns its sign


@dataclass(frozen=True)
class Friction:
    """Friction on the joint's side: viscous F_v and Coulomb F_c (report, eq. 17), and what a joint may have beyond.

    `coulomb_velocity` is the velocity over which Coulomb friction turns its sign, by tanh; zero for eq. (17) as it is.
    """

    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_velocity: float = 0.0
    presliding: tuple[Presliding, ...] = ()
    load: LoadShare | None = None
    load_friction: LoadFriction | None = None

    @property
    def beyond_report(self) -> bool:
        """Whether eq. (17) is not all of it."""
        return bool(self.coulomb_velocity or self.presliding)


def motor_torque(torque: Array, gear_ratio: Array) -> Array:
    """Return what the motors must give (n) for torques at the joints: tau_m = Gamma / N."""
    return torque / gear_ratio


def motor_inertia(A: Array, gear_ratio: Array) -> Array:
    """Return the inertia matrix (n, n) that the motors feel: A_ij / (N_i N_j)."""
    return A / gear_ratio[:, None] / gear_ratio


def joint_positions(theta_m: Array, gear_ratio: Array) -> Array:
    """Return the joint positions or velocities (n) that belong to those of the motors."""
    return theta_m / gear_ratio
