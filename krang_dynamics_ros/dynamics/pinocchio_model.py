"""A URDF in Pinocchio, behind the robot's own order of joints, with what may be set while it runs.

This and `dynamics` are the only modules that know Pinocchio, and its order of joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError, DescriptionError, Fault, unknown_name
from ..core.inertia import Inertia, possible
from ..core.spatial import Array, frozen
from ..robot.urdf_reader import Description, read_description
from .friction import FrictionModel, not_negative


class PinocchioModel:
    """What `Dynamics` computes with: the model, the order of its joints, their friction, rotors, gravity, payload."""

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
        carry. Friction is what <dynamics> says. All three can be set again later, and so can `payload`: none at first.
        """
        description = read_description(urdf)
        self.joint_names = tuple(description.joint_names if joint_names is None else joint_names)
        if sorted(self.joint_names) != sorted(description.joint_names):
            raise ArgumentError(
                f'joint_names: {self.joint_names}, must be the joints that move, each once: {description.joint_names}'
            )
        self.n = len(self.joint_names)
        self._shape = (self.n,)
        self.base = description.base
        self.name = description.name
        self._model = _build(description)
        self._data = self._model.createData()
        self._bare = self._model.copy()  # no gravity, and never any rotors
        self._bare.gravity.linear = np.zeros(3)
        self._unladen = [pin.Inertia(inertia) for inertia in self._model.inertias]
        self._zero = frozen(np.zeros(self.n))
        self._set_order()
        self._frames = {f.name: i for i, f in enumerate(self._model.frames) if f.type == pin.FrameType.BODY}
        self._payload: dict[str, Inertia] = {}
        self._set_payload({})
        self.gravity = np.asarray(gravity, dtype=float)
        self.friction = FrictionModel(self._out(self._model.damping), self._out(self._model.friction))
        self.rotor_inertia = self.vector(rotor_inertia or {})

    def _set_order(self) -> None:
        """Find where each coordinate stands in Pinocchio's vectors; None where the two orders are one."""
        place = [self._model.joints[self._model.getJointId(name)].idx_v for name in self.joint_names]
        same = place == list(range(self.n))
        self._from_pin = None if same else np.array(place)
        self._to_pin = None if same else np.argsort(place)

    def _checked(self, x: ArrayLike) -> Array:
        """Return a vector that was handed in as an array of the robot's length."""
        vector = np.asarray(x, float)
        if vector.shape != self._shape:
            names = ', '.join(self.joint_names)
            raise ArgumentError(f'a joint vector has shape {vector.shape}, must be ({self.n},): {names}')
        return vector

    def _in(self, x: ArrayLike) -> Array:
        """Check a vector that was handed in, and put it into Pinocchio's order."""
        vector = self._checked(x)
        return vector if self._to_pin is None else vector[self._to_pin]

    def _out(self, x: Array) -> Array:
        """Bring a vector back into the robot's order."""
        return x if self._from_pin is None else x[self._from_pin]

    def _columns(self, J: Array) -> Array:
        J = J.reshape(6, self.n)  # a single column comes flat
        return J if self._from_pin is None else J[:, self._from_pin]

    def _square(self, M: Array) -> Array:
        return M if self._from_pin is None else M[np.ix_(self._from_pin, self._from_pin)]

    @property
    def gravity(self) -> Array:
        """Gravity (m/s^2) in the base's axes (3)."""
        return np.array(self._model.gravity.linear)

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        vector = np.asarray(value, dtype=float)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise ArgumentError(f'gravity: {value!r}, must be 3 finite numbers, m/s^2 in the base frame')
        self._set_gravity(vector)

    def _set_gravity(self, vector: Array) -> None:
        self._model.gravity.linear = vector
        self._gravity = frozen(vector)

    @property
    def rotor_inertia(self) -> Array:
        """I_a = N^2 J_m of every joint (n), eq. 18: kg m^2, or kg for a prismatic joint."""
        return self._rotors.copy()

    @rotor_inertia.setter
    def rotor_inertia(self, value: ArrayLike) -> None:
        self._set_rotor_inertia(not_negative('rotor_inertia', value, self.n))

    def _set_rotor_inertia(self, vector: Array) -> None:
        self._rotors = vector
        self._any_rotor = bool(vector.any())
        self._model.armature = self._in(vector)

    @property
    def payload(self) -> Mapping[str, Inertia]:
        """What links carry beside what the model has: bodies by link name, about its frame's origin, in its axes.

        Assigning sets all of it at once: a link that is not named, or has an inertia of zeros, carries nothing. One
        that no body can have is refused, and what was carried before stays.
        """
        return MappingProxyType(self._payload)

    @payload.setter
    def payload(self, value: Mapping[str, Inertia]) -> None:
        for link, inertia in value.items():
            self._frame(link)
            possible(inertia, f"payload on link '{link}'")
        copied = {link: Inertia.from_parameters(inertia.parameters) for link, inertia in value.items() if inertia.m}
        self._set_payload(copied)

    def _set_payload(self, payload: dict[str, Inertia]) -> None:
        frames = {link: self._model.frames[self._frame(link)] for link in (*self._payload, *payload)}
        laden = {frame.parentJoint: pin.Inertia(self._unladen[frame.parentJoint]) for frame in frames.values()}
        for link, body in payload.items():
            laden[frames[link].parentJoint] += frames[link].placement.act(_pinocchios(body))
        for joint, inertia in laden.items():
            self._model.inertias[joint] = self._bare.inertias[joint] = inertia
        base = self._model.inertias[0]  # Pinocchio keeps it, but leaves it out of its sums
        self._base_mass, self._base_com = float(base.mass), np.array(base.lever)
        self._payload = payload

    @property
    def viscous(self) -> Array:
        """F_v of every joint (n), eq. 17: N m s/rad, or N s/m."""
        return self.friction.viscous

    @viscous.setter
    def viscous(self, value: ArrayLike) -> None:
        self.friction.viscous = value

    @property
    def coulomb(self) -> Array:
        """F_c of every joint (n), eq. 17: N m, or N."""
        return self.friction.coulomb

    @coulomb.setter
    def coulomb(self, value: ArrayLike) -> None:
        self.friction.coulomb = value

    def vector(self, by_name: Mapping[str, float]) -> Array:
        """Return the joint vector (n) of numbers by joint name; joints that are not named get zero."""
        for name in by_name:
            if name not in self.joint_names:
                raise unknown_name('joint', name, self.joint_names)
        return np.array([by_name.get(name, 0.0) for name in self.joint_names], dtype=float)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links."""
        return tuple(self._frames)

    def _frame(self, link: str) -> int:
        try:
            return self._frames[link]
        except KeyError:
            raise unknown_name('link', link, self._frames) from None

    @property
    def mass(self) -> float:
        """Mass (kg) of all links, the base included."""
        return float(pin.computeTotalMass(self._model)) + self._base_mass


def _build(description: Description) -> pin.Model:
    try:
        return pin.buildModelFromXML(description.text)
    except ValueError as error:
        fault = Fault('urdf', str(error), 'must be one that urdfdom reads; its reason stands above')
        raise DescriptionError(f"robot description '{description.name}'", [fault]) from None


def _pinocchios(body: Inertia) -> pin.Inertia:
    """Return a body as Pinocchio has it; its constructor would refuse a thin rod for the last digit."""
    return pin.Inertia.FromDynamicParameters(body.parameters[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]])
