"""Inertial parameters of rigid bodies, and checks that they are physically possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .errors import ArgumentError
from .spatial import Array, frozen, hat, inertia_in_parent, symmetric, upper_triangle


@dataclass(frozen=True, eq=False)
class Inertia:
    """The ten inertial parameters of a rigid body, about the origin of a frame, in its axes (report, section 5.1).

    Attributes:
        m: mass M, kg.
        MS: mass times centre of mass (3,), [MX, MY, MZ], kg m.
        J: inertia about the origin (3, 3), matrix entries XX, XY, ..., kg m^2.

    Raises:
        ArgumentError: `MS` or `J` has another shape.
    """

    m: float = 0.0
    MS: Array = field(default_factory=lambda: frozen(np.zeros(3)))  # [MX, MY, MZ], mass times centre of mass
    J: Array = field(default_factory=lambda: frozen(np.zeros((3, 3))))  # [[XX, XY, XZ], [., YY, YZ], [., ., ZZ]]

    def __post_init__(self) -> None:
        if np.shape(self.MS) != (3,) or np.shape(self.J) != (3, 3):
            raise ArgumentError(f'inertia: MS {self.MS!r}, J {self.J!r}, must have shapes (3,) and (3, 3)')

    @classmethod
    def from_parameters(cls, param: Sequence[float] | Array) -> Inertia:
        """Return the inertia of ten parameters, in the order of the report's `inertiaMat`.

        Args:
            param: [m, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ] (10,), kg, kg m and kg m^2.

        Returns:
            The `Inertia`.
        """
        return cls(float(param[0]), frozen(param[1:4]), frozen(symmetric(param[4:10])))

    @classmethod
    def point_mass(cls, m: float, com: ArrayLike) -> Inertia:
        """Return the inertia of a mass m (kg) at a point `com` (3, m) of the frame."""
        return cls.about_com(m, com, np.zeros((3, 3)))

    @classmethod
    def about_com(cls, m: float, com: ArrayLike, inertia: ArrayLike) -> Inertia:
        """Return the inertia of a body by its centre of mass: J = I_G - M S^ S^ (report, section 2.3).

        Args:
            m: mass, kg.
            com: centre of mass S (3,) in the frame, m.
            inertia: inertia I_G (3, 3) about the centre of mass, in the axes of the frame, kg m^2.

        Returns:
            The `Inertia`.

        Raises:
            ArgumentError: an array has another shape.
        """
        S, I_G = np.asarray(com, dtype=float), np.asarray(inertia, dtype=float)
        if S.shape != (3,) or I_G.shape != (3, 3):
            raise ArgumentError(f'inertia: com {com!r}, inertia {inertia!r}, must have shapes (3,) and (3, 3)')
        return cls(m, frozen(m * S), frozen(I_G - m * hat(S) @ hat(S)))

    @property
    def parameters(self) -> Array:
        """The ten parameters (10,), in the order [m, MX, MY, MZ, XX, XY, XZ, YY, YZ, ZZ]."""
        return np.concatenate([[self.m], self.MS, upper_triangle(self.J)])

    @property
    def com(self) -> Array:
        """Centre of mass S (3,) in the frame, m; zero for a body without mass."""
        return self.MS / self.m if self.m else np.zeros(3)

    @property
    def I_G(self) -> Array:
        """Inertia I_G = J + M S^ S^ (3, 3) about the centre of mass, in the axes of the frame, kg m^2."""
        return self.J + self.m * hat(self.com) @ hat(self.com)

    @property
    def central_parameters(self) -> Array:
        """Mass, centre of mass and inertia about it (10,): [m, x, y, z, xx, xy, xz, yy, yz, zz], kg, m and kg m^2."""
        return np.concatenate([[self.m], self.com, upper_triangle(self.I_G)])

    @property
    def matrix(self) -> Array:
        """Spatial inertia (6, 6) at the origin of the frame, for twists [v; omega]."""
        mS = hat(self.MS)
        return np.block([[self.m * np.eye(3), -mS], [mS, self.J]])

    @cached_property
    def weighing(self) -> Array:
        """Matrix W (6, 3) of the weight [f; moment] = W g about the frame's origin: M g and MS x g."""
        return frozen(np.vstack([self.m * np.eye(3), hat(self.MS)]))

    def __add__(self, other: Inertia) -> Inertia:
        """Return the sum of two bodies in the same frame: the ten parameters add."""
        MS, J = self.MS + other.MS, self.J + other.J  # numbers or symbols
        for array in (MS, J):
            array.setflags(write=False)
        return Inertia(self.m + other.m, MS, J)

    def in_parent(self, rotation: Array, position: Array) -> Inertia:
        """Return the same body in frame B, in which the frame C of this body has a given pose.

        Args:
            rotation: rotation (3, 3) of C in B.
            position: origin (3,) of C in B, m.

        Returns:
            The `Inertia` in frame B.
        """
        matrix = inertia_in_parent(self.matrix, rotation, position)
        return Inertia(self.m, frozen(matrix[[5, 3, 4], [1, 2, 0]]), frozen(symmetric(upper_triangle(matrix[3:, 3:]))))

    def impossibility(self) -> str:
        """Return why no rigid body can have this inertia, or an empty text."""
        if not np.isfinite(self.parameters).all():
            return 'is not finite'
        if self.m < 0:
            return f'has a negative mass ({self.m:.6g} kg)'
        return self._impossible_moments()

    def _impossible_moments(self) -> str:
        with np.errstate(over='ignore', invalid='ignore'):
            I_G = self.I_G
        if not np.isfinite(I_G).all():
            return f'has a centre of mass that is not finite ({self.MS} kg m of {self.m:.6g} kg)'
        moments = np.linalg.eigvalsh(I_G)
        slack = 1e-9 * max(float(np.abs(self.J).max()), 1e-12)
        if moments[0] < -slack:
            return f'has a negative principal moment about the centre of mass ({moments[0]:.6g} kg m^2)'
        if moments[0] + moments[1] < moments[2] - slack:
            a, b, c = (f'{moment:.6g}' for moment in moments)
            return f'breaks the triangle inequality: principal moments {a} + {b} < {c} kg m^2'
        return ''


def derivative_by_parameters(parameters: Array) -> Array:
    """Return the derivative (10, 10) of `Inertia.central_parameters` by `Inertia.parameters`, numerically."""
    size = np.maximum(np.abs(parameters), max(1e-3 * abs(parameters[0]), 1e-9))
    steps = zip(1e-6 * size, np.eye(10), strict=True)

    def central(change: Array) -> Array:
        return Inertia.from_parameters(parameters + change).central_parameters

    return np.stack([(central(h * e) - central(-h * e)) / (2 * h) for h, e in steps], axis=1)


@dataclass(frozen=True)
class InertiaRamp:
    """A body that changes into another body, linearly in the ten parameters.

    Between two possible bodies, all bodies are possible. Times are in seconds, by the caller's clock.

    Attributes:
        before: the body until `start`.
        after: the body from `start + duration` on.
        start: start of the change, s.
        duration: duration of the change, s.
    """

    before: Inertia
    after: Inertia
    start: float
    duration: float

    def at(self, time: float) -> Inertia:
        """Return the body at a time (s)."""
        if self.done(time):
            return self.after
        if time <= self.start:
            return self.before
        share = (time - self.start) / self.duration
        parameters = (1 - share) * self.before.parameters + share * self.after.parameters
        return Inertia.from_parameters(parameters)

    def done(self, time: float) -> bool:
        """Return whether the change is over at a time (s)."""
        return time >= self.start + self.duration


def possible(inertia: Inertia, what: str) -> Inertia:
    """Return an inertia, or raise `ArgumentError` if no rigid body can have it; `what` is its name in the message."""
    moments_only = not inertia.m and inertia.parameters.any()  # a URDF may write a rotor so; a payload must not
    impossible = 'has moments, but no mass' if moments_only else inertia.impossibility()
    if impossible:
        numbers = ', '.join(f'{x:.6g}' for x in inertia.parameters)
        raise ArgumentError(f'{what}: [{numbers}] (m, MX MY MZ, XX XY XZ YY YZ ZZ) {impossible}; must be a rigid body')
    return inertia


# Loads of which each has one of m, MX, MY, MZ, as one kg or kg m: a weight is linear in these.
UNIT_LOADS = (Inertia(1.0), *(Inertia(0.0, frozen(row)) for row in np.eye(3)))
