"""A tree robot as frozen data: links with ten inertial parameters each, joints, motors, friction, limits, shapes.

Joint vectors are always in the order of `Robot.joint_names`. Units: m, kg, s, rad, N, N m.
The numbers come from a file by way of `robot_file`; everything else is derived from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..core.errors import Fault, RobotError, did_you_mean, fault, unknown_name
from ..core.inertia import Inertia
from ..core.spatial import Array, frozen

JointKind = Literal['revolute', 'prismatic', 'fixed']


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
        """N^2 b_m, the motor's viscous friction as the link feels it (seed 001, actuated pendulum)."""
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
class Friction:
    """Friction on the joint's side: viscous F_v and Coulomb F_c (report, eq. 17), and what a joint may have beyond.

    `coulomb_velocity` is the velocity over which Coulomb friction turns its sign, by tanh; zero for eq. (17) as it is.
    """

    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_velocity: float = 0.0
    presliding: tuple[Presliding, ...] = ()
    load: LoadShare | None = None

    @property
    def beyond_report(self) -> bool:
        """Whether eq. (17) is not all of it."""
        return bool(self.coulomb_velocity or self.presliding)


@dataclass(frozen=True)
class Limits:
    """What a joint can do. No `lower` and `upper`: it turns without end."""

    effort: float
    velocity: float
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, eq=False)
class Shape:
    """A box (size x, y, z), cylinder (radius, length along z) or sphere (radius) placed in a link's frame."""

    kind: Literal['box', 'cylinder', 'sphere']
    size: tuple[float, ...]
    position: Array
    rotation: Array
    rgba: tuple[float, ...] = (0.7, 0.7, 0.7, 1.0)


@dataclass(frozen=True, eq=False)
class Joint:
    """What holds link `child` (frame j) to link `parent` (frame i): iT_j at q = 0, and how q moves it."""

    name: str
    kind: JointKind
    parent: str
    child: str
    position: Array  # iP_j at q = 0
    rotation: Array  # iA_j at q = 0
    axis: Array  # the report's j_e_j: unit vector in the child's axes, of rotation or of sliding
    limits: Limits | None = None
    motor: Motor = Motor()
    friction: Friction = Friction()
    position_as: tuple[str, ...] = ('', '', '')  # the length, or minus the length, that each entry is; '' for a number

    @property
    def moves(self) -> bool:
        """Whether the joint has a coordinate q."""
        return self.kind != 'fixed'

    @property
    def viscous(self) -> float:
        """All viscous friction that the joint feels, its motor's included."""
        return self.friction.viscous + self.motor.reflected_viscous


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body and its frame R_j."""

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    visual: tuple[Shape, ...] = ()
    collision: tuple[Shape, ...] = ()
    com_as: tuple[str, ...] = ('', '', '')  # the length that each entry of the centre of mass is, as in a joint


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links held together by joints, the one link without a parent being the base."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: frozen([0.0, 0.0, -9.81]))  # m/s^2, in the base's axes
    lengths: dict[str, float] = field(default_factory=dict)
    end_effectors: dict[str, str] = field(default_factory=dict)  # names of hands, and the links they are
    cutoff: float = 0.0  # Hz: of the smoothing that its identified numbers belong to; 0: they are not identified

    def __post_init__(self) -> None:
        faults = tree_faults([link.name for link in self.links], self.joints)
        if faults:
            raise RobotError(f"robot '{self.name}'", faults)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints with a coordinate, in the order of q."""
        return tuple(joint for joint in self.joints if joint.moves)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the coordinates q, in their order (the report's row order of A)."""
        return tuple(joint.name for joint in self.moving_joints)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.joint_names)

    @cached_property
    def link_of(self) -> dict[str, Link]:
        """Links by name."""
        return {link.name: link for link in self.links}

    @cached_property
    def joint_above(self) -> dict[str, Joint]:
        """The joint that carries a link, by the link's name; the base has none."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def base(self) -> str:
        """Name of the link that does not move."""
        return next(link.name for link in self.links if link.name not in self.joint_above)

    @cached_property
    def outward(self) -> tuple[Joint, ...]:
        """All joints, every one after the joint that carries it."""
        order: list[Joint] = []
        reached, waiting = {self.base}, list(self.joints)
        while waiting:
            order += [joint for joint in waiting if joint.parent in reached]
            reached |= {joint.child for joint in order}
            waiting = [joint for joint in waiting if joint.child not in reached]
        return tuple(order)

    def chain(self, link: str) -> tuple[Joint, ...]:
        """Return the joints from the base to a link, the base's first."""
        if link not in self.link_of:
            raise unknown_name('link', link, self.link_of)
        joints: list[Joint] = []
        while link != self.base:
            joints.insert(0, self.joint_above[link])
            link = joints[0].parent
        return tuple(joints)

    @cached_property
    def hands(self) -> dict[str, str]:
        """The end effectors, or where the file names none the links at the ends of the tree: links by hand's name."""
        bearing = {joint.parent for joint in self.joints}
        return self.end_effectors or {link.name: link.name for link in self.links if link.name not in bearing}

    def carrying(self, payload: Mapping[str, Inertia]) -> Robot:
        """Return the robot with more on some links: a body by link name, about its frame's origin, in its axes."""
        for name in payload:
            if name not in self.link_of:
                raise unknown_name('link', name, self.link_of)
        return replace(
            self,
            links=tuple(
                replace(link, inertia=link.inertia + payload[link.name]) if link.name in payload else link
                for link in self.links
            ),
        )

    @property
    def mass(self) -> float:
        """Mass of all links, the base included."""
        return sum(link.inertia.m for link in self.links)

    @property
    def gear_ratio(self) -> Array:
        """N of every coordinate."""
        return np.array([joint.motor.gear_ratio for joint in self.moving_joints])

    @property
    def rotor_inertia(self) -> Array:
        """I_a of every coordinate (eq. 18)."""
        return np.array([joint.motor.reflected_inertia for joint in self.moving_joints])

    @property
    def viscous(self) -> Array:
        """F_v of every coordinate (eq. 17), the motors' viscous friction included."""
        return np.array([joint.viscous for joint in self.moving_joints])

    @property
    def friction_beyond_report(self) -> tuple[str, ...]:
        """The joints whose friction is not eq. (17) alone: what knows that form only has to say so."""
        return tuple(joint.name for joint in self.moving_joints if joint.friction.beyond_report)

    @property
    def coulomb(self) -> Array:
        """F_c of every coordinate (eq. 17)."""
        return np.array([joint.friction.coulomb for joint in self.moving_joints])


def tree_faults(links: Sequence[str], joints: Sequence[Joint]) -> list[Fault]:
    """Return what keeps links and joints from being one tree with at least one joint that moves."""
    faults = _name_faults(links, joints)
    if faults:
        return faults
    parent_of = {joint.child: joint.parent for joint in joints}
    bases = [link for link in links if link not in parent_of]
    if len(bases) > 1:
        faults.append(fault('links', bases, 'are all without a parent; exactly one link, the base, must be'))
    for joint in joints:
        seen, link = [joint.child], joint.parent
        while link in parent_of and link not in seen:
            seen.append(link)
            link = parent_of[link]
        if link == joint.child:
            faults.append(
                fault(f'joints.{joint.name}.parent', joint.parent, 'must not be below its own child: a cycle')
            )
    if not any(joint.moves for joint in joints):
        faults.append(fault('joints', [joint.name for joint in joints], 'must have one revolute or prismatic at least'))
    return faults


def _name_faults(links: Sequence[str], joints: Sequence[Joint]) -> list[Fault]:
    faults = []
    carried: set[str] = set()
    for kind, names in (('links', links), ('joints', [joint.name for joint in joints])):
        twice = sorted({name for name in names if names.count(name) > 1})
        faults += [fault(f'{kind}.{name}', name, 'must be given once only') for name in twice]
    for joint in joints:
        for end in ('parent', 'child'):
            link = getattr(joint, end)
            if link not in links:
                hint = did_you_mean(link, links)
                faults.append(
                    fault(f'joints.{joint.name}.{end}', link, f'must be a link; {hint}links: {", ".join(links)}')
                )
        if joint.child in carried:
            faults.append(
                fault(f'joints.{joint.name}.child', joint.child, 'must not have a second joint that carries it')
            )
        carried.add(joint.child)
    return faults
