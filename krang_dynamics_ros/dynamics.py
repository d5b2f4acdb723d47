"""The numbers of the equations of motion, by Pinocchio, from URDF text.

    Gamma = A(q) ddq + C(q, dq) dq + Q(q) + friction (17) + J^T f (16), rotor inertia (18) being in A

Letters and equation numbers: M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015). This is the only module
that knows Pinocchio's order of joints: vectors go in and come out in the order of `Dynamics.joint_names`.
Units: m, kg, s, rad, N, N m. "Base" is the link without a parent, which does not move.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from .description import read_description
from .errors import ArgumentError, SingularityError, unknown_name
from .spatial import Array, frozen
from .wrench import Wrench

Frame = Literal['base', 'link']


class Dynamics:
    """A robot's dynamics. Every method takes arrays of shape (n,) and returns new arrays."""

    def __init__(
        self,
        urdf: str,
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        joint_names: Sequence[str] | None = None,
        rotor_inertia: Mapping[str, float] | None = None,
    ) -> None:
        """Read a URDF of revolute, continuous, prismatic and fixed joints, or raise `DescriptionError`.

        `gravity` (m/s^2) is in the base's axes: on a tilted base it is not along z. `joint_names` sets the order of
        the coordinates; by default it is the order of the text. `rotor_inertia` is I_a by joint, which a URDF cannot
        carry. Friction is what <dynamics> says. All three can be set again later.
        """
        description = read_description(urdf)
        self.joint_names = tuple(description.joint_names if joint_names is None else joint_names)
        if sorted(self.joint_names) != sorted(description.joint_names):
            raise ArgumentError(f'joint_names: {self.joint_names}, must be the joints that move, each once: {description.joint_names}')
        self.n = len(self.joint_names)
        self.base = description.base
        self._model = pin.buildModelFromXML(description.text)
        self._data = self._model.createData()
        self._weightless = self._model.copy()
        self._weightless.gravity.linear = np.zeros(3)
        self._zero = frozen(np.zeros(self.n))
        self._set_order()
        self._frames = {f.name: i for i, f in enumerate(self._model.frames) if f.type == pin.FrameType.BODY}
        self.gravity = np.asarray(gravity, dtype=float)
        self.viscous, self.coulomb = self._out(self._model.damping), self._out(self._model.friction)
        self.rotor_inertia = self.vector(rotor_inertia or {})

    def _set_order(self) -> None:
        """Find where each coordinate stands in Pinocchio's vectors; None where the two orders are one."""
        place = [self._model.joints[self._model.getJointId(name)].idx_v for name in self.joint_names]
        same = place == list(range(self.n))
        self._from_pin = None if same else np.array(place)
        self._to_pin = None if same else np.argsort(place)

    def _checked(self, x: ArrayLike) -> Array:
        vector = np.asarray(x, dtype=float)
        if vector.shape != (self.n,):
            raise ArgumentError(f'a joint vector has shape {vector.shape}, must be ({self.n},): {", ".join(self.joint_names)}')
        return vector

    def _in(self, x: ArrayLike) -> Array:
        """Check a vector that was handed in, and put it into Pinocchio's order."""
        return self._checked(x) if self._to_pin is None else self._checked(x)[self._to_pin]

    def _out(self, x: Array) -> Array:
        """Bring a vector back into the robot's order."""
        return x if self._from_pin is None else x[self._from_pin]

    def _columns(self, J: Array) -> Array:
        return J if self._from_pin is None else J[:, self._from_pin]

    def _square(self, M: Array) -> Array:
        return M if self._from_pin is None else M[np.ix_(self._from_pin, self._from_pin)]

    # What can be set while running ---------------------------------------------------------------------------------

    @property
    def gravity(self) -> Array:
        """Gravity (m/s^2) in the base's axes (3)."""
        return np.array(self._model.gravity.linear)

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        vector = np.asarray(value, dtype=float)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise ArgumentError(f'gravity: {value}, must be 3 finite numbers, m/s^2 in the base frame')
        self._model.gravity.linear = vector

    @property
    def rotor_inertia(self) -> Array:
        """I_a = N^2 J_m of every joint (n), eq. 18: kg m^2, or kg for a prismatic joint."""
        return self._out(np.array(self._model.armature))

    @rotor_inertia.setter
    def rotor_inertia(self, value: ArrayLike) -> None:
        for model in (self._model, self._weightless):
            model.armature = self._in(self._not_negative('rotor_inertia', value))

    @property
    def viscous(self) -> Array:
        """F_v of every joint (n), eq. 17: N m s/rad, or N s/m."""
        return self._viscous.copy()

    @viscous.setter
    def viscous(self, value: ArrayLike) -> None:
        self._viscous = self._not_negative('viscous', value)

    @property
    def coulomb(self) -> Array:
        """F_c of every joint (n), eq. 17: N m, or N."""
        return self._coulomb.copy()

    @coulomb.setter
    def coulomb(self, value: ArrayLike) -> None:
        self._coulomb = self._not_negative('coulomb', value)

    def _not_negative(self, name: str, value: ArrayLike) -> Array:
        vector = np.array(value, dtype=float)
        if vector.shape != (self.n,) or not (np.isfinite(vector) & (vector >= 0)).all():
            raise ArgumentError(f'{name}: {value}, must be {self.n} finite numbers, none negative')
        return vector

    def vector(self, by_name: Mapping[str, float]) -> Array:
        """Return the joint vector (n) of numbers by joint name; joints that are not named get zero."""
        for name in by_name:
            if name not in self.joint_names:
                raise unknown_name('joint', name, self.joint_names)
        return np.array([by_name.get(name, 0.0) for name in self.joint_names], dtype=float)

    # The terms of the equations of motion --------------------------------------------------------------------------

    def A(self, q: ArrayLike) -> Array:
        """Inertia matrix (n, n), eq. 2, rotor inertia included (eq. 18)."""
        return self._square(pin.crba(self._model, self._data, self._in(q)))

    def C(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Coriolis matrix (n, n) by Christoffel symbols, eq. 4: dA/dt - 2C is skew."""
        return self._square(pin.computeCoriolisMatrix(self._model, self._data, self._in(q), self._in(dq)))

    def Q(self, q: ArrayLike) -> Array:
        """Gravity torque (n), eq. 5: what holds the robot up."""
        return self._out(pin.computeGeneralizedGravity(self._model, self._data, self._in(q)))

    def coriolis_torque(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """C(q, dq) dq (n), Coriolis and centrifugal torque."""
        return self._out(pin.rnea(self._weightless, self._data, self._in(q), self._in(dq), self._zero))

    def friction_torque(self, dq: ArrayLike) -> Array:
        """Friction torque (n), eq. 17: F_v dq + F_c sign(dq), what a motor must give to overcome it."""
        velocity = self._checked(dq)
        return self._viscous * velocity + self._coulomb * np.sign(velocity)

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """A ddq + C dq + Q (n), without friction and wrenches: each has its own method."""
        return self._out(pin.rnea(self._model, self._data, self._in(q), self._in(dq), self._in(ddq)))

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, torque: ArrayLike) -> Array:
        """Acceleration ddq (n) with A ddq + C dq + Q = torque; subtract friction and J^T f from `torque` yourself."""
        ddq = self._out(pin.aba(self._model, self._data, self._in(q), self._in(dq), self._in(torque)))
        if not math.isfinite(ddq @ ddq):
            raise SingularityError('the acceleration is not finite: a joint moves no mass, or the state is not finite')
        return ddq

    # Energy and geometry -------------------------------------------------------------------------------------------

    def E(self, q: ArrayLike, dq: ArrayLike) -> float:
        """Kinetic energy (J), eq. 2, rotors included."""
        return float(pin.computeKineticEnergy(self._model, self._data, self._in(q), self._in(dq)))

    def U(self, q: ArrayLike) -> float:
        """Potential energy (J) of all links, the base included, zero at the base's origin (eqs 12, 15)."""
        base = self._model.inertias[0]
        moving = pin.computePotentialEnergy(self._model, self._data, self._in(q))
        return float(moving - base.mass * self._model.gravity.linear @ base.lever)

    @property
    def mass(self) -> float:
        """Mass (kg) of all links, the base included."""
        return float(pin.computeTotalMass(self._model) + self._model.inertias[0].mass)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass (3) of all links, the base included, in the base frame."""
        com = pin.centerOfMass(self._model, self._data, self._in(q))
        base, moving = self._model.inertias[0], self._data.mass[0]
        return (moving * com + base.mass * base.lever) / (moving + base.mass) if base.mass else com

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links."""
        return tuple(self._frames)

    def _frame(self, link: str) -> int:
        try:
            return self._frames[link]
        except KeyError:
            raise unknown_name('link', link, self._frames) from None

    def pose(self, q: ArrayLike, link: str) -> tuple[Array, Array]:
        """Rotation (3, 3) and origin (3) of a link's frame in the base frame."""
        frame = self._frame(link)
        pin.forwardKinematics(self._model, self._data, self._in(q))
        placement = pin.updateFramePlacement(self._model, self._data, frame)
        return placement.rotation.copy(), placement.translation.copy()

    def jacobian(self, q: ArrayLike, link: str, frame: Frame = 'base') -> Array:
        """Jacobian J (6, n): [v; omega] = J dq of the link's origin, in the axes of the base or of the link."""
        return self._columns(pin.computeFrameJacobian(self._model, self._data, self._in(q), self._frame(link), _REFERENCE[frame]))

    def jacobian_rate(self, q: ArrayLike, dq: ArrayLike, link: str, frame: Frame = 'base') -> Array:
        """Return (dJ/dt) dq (6), the acceleration of the link's frame that the velocities alone cause."""
        pin.forwardKinematics(self._model, self._data, self._in(q), self._in(dq), self._zero)
        acceleration = pin.getFrameClassicalAcceleration if frame == 'base' else pin.getFrameAcceleration
        return np.array(acceleration(self._model, self._data, self._frame(link), _REFERENCE[frame]).vector)

    def wrench_torque(self, q: ArrayLike, wrenches: Iterable[Wrench]) -> Array:
        """J^T f (n), eq. 16, summed over wrenches: what the joints must give for the robot to APPLY them."""
        position = self._in(q)
        torque = np.zeros(self.n)
        for wrench in wrenches:
            link = self._frame(wrench.link)
            J = pin.computeFrameJacobian(self._model, self._data, position, link, pin.LOCAL)
            torque += J.T @ self._at_link(position, link, wrench)
        return self._out(torque)

    def _at_link(self, position: Array, link: int, wrench: Wrench) -> Array:
        """Return a wrench (6) in its link's own axes, about its link's own origin."""
        f = np.concatenate([wrench.force, wrench.moment])
        axes = self._frame(wrench.axes) if wrench.axes else link
        about = self._frame(wrench.about) if wrench.about else link
        if axes != link or about != link:
            pin.forwardKinematics(self._model, self._data, position)  # the Jacobian placed its own chain only
            place = {frame: pin.updateFramePlacement(self._model, self._data, frame) for frame in (link, axes, about)}
            turn = place[axes].rotation
            arm = place[about].translation - place[link].translation
            force = turn @ f[:3]
            in_base = [force, turn @ f[3:] + np.cross(arm, force)]
            f = np.concatenate([place[link].rotation.T @ part for part in in_base])
        return f


_REFERENCE = {'base': pin.LOCAL_WORLD_ALIGNED, 'link': pin.LOCAL}
