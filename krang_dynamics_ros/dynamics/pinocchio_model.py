"""A robot as a Pinocchio model, built joint by joint from the `Robot` that was read and checked.

Pinocchio's own URDF reader is not used: it drops an unreadable inertial with a message on stderr only, it recurses over
the links, and it finds joints by name, although Pinocchio adds a joint `universe` of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from ..core.base_motion import BaseMotion
from ..core.errors import ArgumentError, Fault, RobotError, unknown_name
from ..core.inertia import Inertia, possible
from ..core.spatial import Array, frozen, numbers
from ..robot.robot import Joint, Robot
from ..robot.urdf_reader import read_description
from .drives import FrictionModel, SpringsAndCouplings
from .inertia_check import check_inertia_matrix, zero_pose

MAX_JOINTS = 200  # maximum number of moving joints; Pinocchio allocates about 70 n^3 bytes, 0.5 GB, for derivatives
_REVOLUTE = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
_PRISMATIC = (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)


class Tree(NamedTuple):
    """A model, and the indices of a robot's parts in it."""

    model: pin.Model
    frames: dict[str, int]  # frames by link
    indices: dict[str, int]  # in Pinocchio's vectors, by moving joint


def tree_of(robot: Robot, *, moving_base: bool = False) -> Tree:
    """Return the model of a robot. Mimic joints are independent in it.

    With `moving_base`, a joint before all others carries the base; its index is 1, and its motion is given with those
    of the others.
    """
    moving = sum(joint.moves for joint in robot.joints)
    if moving > MAX_JOINTS:
        fault = Fault('joints', f'{moving} that move', f'must be at most {MAX_JOINTS}; base_link selects a subtree')
        raise RobotError(f"robot '{robot.name}'", [fault])
    tree = Tree(pin.Model(), {}, {})
    tree.model.name = robot.name
    root = tree.model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base') if moving_base else 0
    attached = {robot.base: (root, pin.SE3.Identity())}  # by link: the joint that moves it, and its pose there
    _add_link(tree, robot, robot.base, *attached[robot.base])
    for joint in _depth_first(robot):
        at, above = attached[joint.parent]
        placement = above * pin.SE3(joint.rotation, joint.position)
        if joint.moves:
            at = tree.model.addJoint(at, _model_of(joint), placement, joint.name)
            tree.indices[joint.name] = tree.model.joints[at].idx_v
            placement = pin.SE3.Identity()
        attached[joint.child] = at, placement
        _add_link(tree, robot, joint.child, at, placement)
    return tree


def _depth_first(robot: Robot) -> list[Joint]:
    """Return all joints in depth-first order: Pinocchio requires that subtrees are contiguous."""
    carried: dict[str, list[Joint]] = {}
    for joint in reversed(robot.joints):
        carried.setdefault(joint.parent, []).append(joint)
    order, waiting = [], [*carried.get(robot.base, [])]
    while waiting:
        order.append(waiting.pop())
        waiting += carried.get(order[-1].child, [])
    return order


def _add_link(tree: Tree, robot: Robot, name: str, at: int, placement: pin.SE3) -> None:
    tree.model.appendBodyToJoint(at, _body_of(robot.link_of[name].inertia), placement)
    tree.frames[name] = tree.model.addBodyFrame(name, at, placement, 0)


def _body_of(inertia: Inertia) -> pin.Inertia:
    """Return Pinocchio's inertia, set part by part: its constructor refuses impossible inertias."""
    body = pin.Inertia.Zero()
    body.mass, body.lever, body.inertia = inertia.m, inertia.com, inertia.I_G
    return body


def _model_of(joint: Joint) -> pin.JointModel:
    """Return Pinocchio's joint model, a fast special case if the axis is x, y or z."""
    aligned, other = (
        (_PRISMATIC, pin.JointModelPrismaticUnaligned)
        if joint.kind == 'prismatic'
        else (_REVOLUTE, pin.JointModelRevoluteUnaligned)
    )
    along = np.flatnonzero(joint.axis == 1.0)
    return aligned[along[0]]() if len(along) else other(np.array(joint.axis))


class PinocchioModel:
    """The model behind `Dynamics`: order of joints, friction, rotors, gravity, payload."""

    base_may_turn = True  # whether `base_motion` may have an angular velocity

    def __init__(
        self,
        description: str | Robot,
        *,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        joint_names: Sequence[str] | None = None,
        rotor_inertia: Mapping[str, float] | None = None,
    ) -> None:
        """Create the model of a URDF or of a robot. Joints may be revolute, continuous, prismatic or fixed.

        A joint with `<mimic>` has no coordinate: it follows in position and velocity, and its torque is part of the
        torque of the joint that it follows. Friction is read from `<dynamics>`.

        Args:
            description: URDF text, or a `Robot`.
            gravity: gravity (3,) in the axes of the base, m/s^2; on a tilted base it is not along z.
            joint_names: order of the coordinates; by default the order of the text.
            rotor_inertia: I_a by joint name, kg m^2 (kg); a URDF does not contain it.

        Raises:
            DescriptionError: the URDF has faults; `faults` has all of them, the message the first 20.
            ArgumentError: an argument has a wrong shape or names an unknown joint.
        """
        robot = read_description(description).robot if isinstance(description, str) else description
        self.joint_names = _in_order(robot, joint_names)
        self.n = len(self.joint_names)
        self._shape = (self.n,)
        self.base = robot.base
        self.name = robot.name
        self._set_model(robot)
        self._payload: dict[str, Inertia] = {}
        self._set_payload({})
        self.gravity = np.asarray(gravity, dtype=float)
        order = [robot.joint_names.index(name) for name in self.joint_names]
        self.friction = FrictionModel(robot.viscous[order], robot.coulomb[order])
        self.springs_and_couplings = SpringsAndCouplings(self.n)
        self.effort_offset = np.zeros(self.n)
        self.rotor_inertia = self.vector(rotor_inertia or {})
        A = self._square(pin.crba(self._model, self._data, self._position_in(zero_pose(robot)[order])))
        self.warnings = check_inertia_matrix(robot, self.joint_names, A)

    def _set_model(self, robot: Robot) -> None:
        """Create Pinocchio's model and data of a robot, a copy without gravity and rotors, and its unladen bodies."""
        self._model, self._frames, indices = tree_of(robot)
        self._data = self._model.createData()
        self._weightless = self._model.copy()  # without gravity and rotors, but with payloads
        self._weightless.gravity.linear = np.zeros(3)
        self._unladen = [pin.Inertia(inertia) for inertia in self._model.inertias]
        self._zero = frozen(np.zeros(self._model.nv))
        self._moving_base: _MovingBase | None = None  # built when the base turns for the first time
        self._base_turning: BaseMotion | None = None  # None: the base does not turn
        self._robot = robot
        self._set_order(robot, indices)

    def _set_order(self, robot: Robot, indices: Mapping[str, int]) -> None:
        """Set the index of each coordinate in Pinocchio's vectors; None where the two orders are equal.

        With mimics Pinocchio's positions are G q + offset, its velocities G dq, and our torques are G^T of its own.
        """
        self._indices = np.array([indices[name] for name in self.joint_names])
        same = len(indices) == self.n and self._indices.tolist() == list(range(self.n))
        self._from_pin = None if same else self._indices
        self._to_pin = None if same or robot.mimics else np.argsort(self._indices)
        self._G: Array | None = None
        if robot.mimics:
            self._G, self._offset = np.zeros((len(indices), self.n)), np.zeros(len(indices))
            self._G[self._indices, range(self.n)] = 1.0
            for name, mimic in robot.mimics.items():
                self._G[indices[name], self.joint_names.index(mimic.joint)] = mimic.multiplier
                self._offset[indices[name]] = mimic.offset

    def _checked(self, x: ArrayLike) -> Array:
        """Return an argument as a joint vector (n), or raise `ArgumentError`."""
        vector = np.asarray(x, float)
        if vector.shape != self._shape:
            names = ', '.join(self.joint_names)
            raise ArgumentError(f'a joint vector has shape {vector.shape}, must be ({self.n},): {names}')
        return vector

    def _position_in(self, q: ArrayLike) -> Array:
        """Check positions (n) and return them in Pinocchio's order, with those of mimic joints."""
        return self._vector_in(q) if self._G is None else self._vector_in(q) + self._offset

    def _vector_in(self, x: ArrayLike) -> Array:
        """Check a joint vector (n) and return it in Pinocchio's order; a mimic joint's value is without its offset."""
        vector = self._checked(x)
        if self._G is not None:
            return self._G @ vector
        return vector if self._to_pin is None else vector[self._to_pin]

    def _out(self, x: Array) -> Array:
        """Return a torque in the order of `joint_names`."""
        if self._G is not None:
            return x @ self._G
        return x if self._from_pin is None else x[self._from_pin]

    def _columns(self, J: Array) -> Array:
        J = J.reshape(6, -1)  # Pinocchio returns a single column flat
        if self._G is not None:
            return J @ self._G
        return J if self._from_pin is None else J[:, self._from_pin]

    def _square(self, M: Array) -> Array:
        if self._G is not None:
            return np.asarray(self._G.T @ M @ self._G)
        return M if self._from_pin is None else M[np.ix_(self._from_pin, self._from_pin)]

    @property
    def gravity(self) -> Array:
        """Effective gravity (3,) in the axes of the base, m/s^2. Can be set at any time."""
        return np.array(self._model.gravity.linear)

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        vector = np.asarray(value, dtype=float)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise ArgumentError(f'gravity: {value!r}, must be 3 finite numbers, m/s^2 in the base frame')
        if self._base_turning is not None:
            self._base_turning = replace(self._base_turning, gravity=vector)
        self._set_gravity(vector)

    def _set_gravity(self, vector: Array) -> None:
        self._model.gravity.linear = vector
        self._gravity = frozen(vector)

    @property
    def base_motion(self) -> BaseMotion:
        """Motion of the base: effective gravity, angular velocity and angular acceleration. Can be set at any time.

        `Q` has the effective gravity; `coriolis_torque` has all torques by its angular velocity and acceleration.
        So their sum with A ddq is the exact inverse dynamics of a robot on a base that moves as prescribed.

        Example:
            >>> dynamics.base_motion = BaseMotion(gravity=(0, 0, -11.0), angular_velocity=(0, 0.5, 0))
        """
        return self._base_turning or BaseMotion(self._gravity)

    @base_motion.setter
    def base_motion(self, motion: BaseMotion) -> None:
        self._set_base_turning(motion if motion.turns else None)
        self._set_gravity(motion.gravity)

    def _set_base_turning(self, motion: BaseMotion | None) -> None:
        self._base_turning = motion

    def _with_moving_base(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, gravity: Array) -> tuple[Array, Array]:
        """Return the wrench (6) of the support on the base, [force; moment], and A ddq + C dq + Q without rotors (n).

        In a frame that moves with the velocity of the base's origin and accelerates with it, the base only turns.
        """
        if self._moving_base is None:
            self._moving_base = _MovingBase(self._robot, self._model)
        still, motion = self._moving_base.still, self.base_motion
        force = self._moving_base.rnea(
            np.concatenate([self._moving_base.upright, self._position_in(q)]),
            np.concatenate([still, motion.angular_velocity, self._vector_in(dq)]),
            np.concatenate([still, motion.angular_acceleration, self._vector_in(ddq)]),
            gravity,
        )
        return force[:6], self._out(force[6:])

    @property
    def rotor_inertia(self) -> Array:
        """Rotor inertia I_a = N^2 J_m (n,), eq. 18, kg m^2 (kg). Can be set at any time."""
        return self._rotors.copy()

    @rotor_inertia.setter
    def rotor_inertia(self, value: ArrayLike) -> None:
        self._set_rotor_inertia(numbers('rotor_inertia', value, self.n, least=0.0))

    def _set_rotor_inertia(self, vector: Array) -> None:
        self._rotors = vector
        self._any_rotor = bool(vector.any())
        armature = np.zeros(self._model.nv)
        armature[self._indices] = vector
        self._model.armature = armature

    @property
    def effort_offset(self) -> Array:
        """Readings of the efforts (n,) at zero torque, N m (N). Can be set at any time."""
        return self._effort_offset.copy()

    @effort_offset.setter
    def effort_offset(self, value: ArrayLike) -> None:
        self._effort_offset = numbers('effort_offset', value, self.n)

    @property
    def payload(self) -> Mapping[str, Inertia]:
        """Payloads, an `Inertia` by link name, each in the frame of its link. Can be set at any time.

        Assigning replaces all payloads. A link that is not named, or has an inertia of zeros, carries nothing. An
        inertia that no rigid body can have raises `ArgumentError`, and the old payloads stay.

        Example:
            >>> dynamics.payload = {'R10l': Inertia.point_mass(1.5, com=(0, 0, 0.1))}
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
            laden[frames[link].parentJoint] += frames[link].placement.act(_body_of(body))
        for joint, inertia in laden.items():
            self._model.inertias[joint] = self._weightless.inertias[joint] = inertia
            if self._moving_base is not None:
                self._moving_base.model.inertias[joint + 1] = inertia
        base = self._model.inertias[0]  # Pinocchio stores it, but leaves it out of its sums
        self._base_mass, self._base_com = float(base.mass), np.array(base.lever)
        self._payload = payload

    @property
    def viscous(self) -> Array:
        """Viscous friction F_v (n,), eq. 17, N m s/rad (N s/m). Can be set at any time."""
        return self.friction.viscous

    @viscous.setter
    def viscous(self, value: ArrayLike) -> None:
        self.friction.viscous = value

    @property
    def coulomb(self) -> Array:
        """Coulomb friction F_c (n,), eq. 17, N m (N). Can be set at any time."""
        return self.friction.coulomb

    @coulomb.setter
    def coulomb(self, value: ArrayLike) -> None:
        self.friction.coulomb = value

    def vector(self, by_name: Mapping[str, float]) -> Array:
        """Return a joint vector from numbers by joint name.

        Args:
            by_name: numbers by joint name; the other joints get zero.

        Returns:
            Vector (n,), in the order of `joint_names`.

        Raises:
            ArgumentError: a joint is unknown.
        """
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
        """Mass of all links, with the base and payloads, kg."""
        return float(pin.computeTotalMass(self._model)) + self._base_mass


class _MovingBase:
    """Robot's model whose base moves as given: three positions, a quaternion (x, y, z, w), then the robot's joints."""

    still = frozen(np.zeros(3))
    upright = frozen([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def __init__(self, robot: Robot, model: pin.Model) -> None:
        """Copy the bodies of `model`, the robot's model on a fixed base, with the payloads that it has now."""
        self.model = tree_of(robot, moving_base=True).model
        for joint, inertia in enumerate(model.inertias):
            self.model.inertias[joint + 1] = inertia
        self._data = self.model.createData()

    def rnea(self, q: Array, dq: Array, ddq: Array, gravity: Array) -> Array:
        """Return [force; moment; joint torques] (6 + n) by the recursive Newton-Euler algorithm."""
        self.model.gravity.linear = gravity
        return np.asarray(pin.rnea(self.model, self._data, q, dq, ddq))


def _in_order(robot: Robot, joint_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the joints with a coordinate in the given order, by default that of the robot."""
    names = tuple(robot.joint_names if joint_names is None else joint_names)
    if sorted(names) != sorted(robot.joint_names):
        raise ArgumentError(
            f'joint_names: {names}, must be the joints with a coordinate, each once: {robot.joint_names}'
        )
    return names
