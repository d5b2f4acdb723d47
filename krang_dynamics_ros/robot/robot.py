"""A robot as frozen data: a tree of links and joints, limits, shapes.

Joint vectors are always in the order of `Robot.joint_names`. Units: m, kg, s, rad, N, N m.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import isclose
from typing import Literal, NamedTuple

import numpy as np

from ..core.errors import Fault, RobotError, unknown_name
from ..core.inertia import Inertia
from ..core.spatial import Array, frozen
from ..core.text import signed_name
from ..effects.coupling import Coupling
from ..effects.effect import Effect, EffectTerm, JointEffect
from ..effects.load import LoadFriction, LoadShare
from ..effects.offset import Offset
from ..effects.presliding import Presliding
from ..effects.rotor import Rotor
from ..effects.sliding import Coulomb, Viscous
from .mimic import Mimic, mimic_faults, resolved
from .motor_and_friction import Friction, Motor
from .tree import Edge, tree_faults

JointKind = Literal['revolute', 'prismatic', 'fixed']
ShapeKind = Literal['box', 'cylinder', 'capsule', 'sphere', 'mesh']

LIMIT_SLACK, LIMIT_SLACK_M = 0.1, 0.01  # rad, m: how far real joints stand beyond the limits of a file
MAX_TURNS = 4  # of a joint without limits; more are rather degrees


@dataclass(frozen=True)
class Limits:
    """Limits of a joint; None where unknown. A revolute joint whose `lower` and `upper` are None turns without end."""

    effort: float | None
    velocity: float | None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, eq=False)
class Shape:
    """A visual or collision shape with its pose in the frame of its link.

    `size` of a box: x, y, z; of a cylinder or capsule: radius, length along z; of a sphere: radius; of a mesh: scale x,
    y, z. `rgba` is None if no colour is given; a mesh then has its own colour.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    position: Array
    rotation: Array
    rgba: tuple[float, ...] | None = None
    mesh: str = ''  # file, as written in the URDF: package://, file:// or a path


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint between link `parent` (frame i) and link `child` (frame j): iT_j at q = 0, axis, limits and friction."""

    name: str
    kind: JointKind
    parent: str
    child: str
    position: Array  # iP_j at q = 0
    rotation: Array  # iA_j at q = 0
    axis: Array  # the report's j_e_j: unit vector in the child's axes, of rotation or of sliding
    limits: Limits | None = None
    motor: Motor = field(default_factory=Motor)
    friction: Friction = field(default_factory=Friction)
    other_effects: tuple[JointEffect, ...] = ()  # of `JOINT_EFFECTS`, besides eq. (17)
    # By x, y, z of `position`: the name in `Robot.lengths` that the robot file has, or '-name'; '' if it has a number.
    position_lengths: tuple[str, ...] = ('', '', '')
    mimic: Mimic | None = None  # relation to the joint that it follows; None: it has a coordinate

    @property
    def moves(self) -> bool:
        """Whether the joint moves, by its own coordinate or as a follower."""
        return self.kind != 'fixed'

    @property
    def edge(self) -> Edge:
        """The joint as an edge of the tree."""
        return Edge(self.name, self.parent, self.child, self.moves)

    @property
    def viscous(self) -> float:
        """Viscous friction of joint and motor together, at the joint."""
        return self.friction.viscous + self.motor.reflected_viscous

    @property
    def effects(self) -> tuple[JointEffect, ...]:
        """Effects of `JOINT_EFFECTS` on the joint: friction of eq. (17) without that of the motor, and the others."""
        friction = self.friction
        sliding = Viscous(friction.viscous), Coulomb(friction.coulomb, friction.coulomb_velocity)
        return (*sliding, *self.other_effects)

    def with_effect(self, effect: Effect) -> Joint:
        """Return the joint with an effect, in place of one of the same type; a presliding effect joins those it has."""
        friction, motor, others = self.friction, self.motor, self.other_effects
        if isinstance(effect, (Viscous, Coulomb)):
            friction = replace(friction, **asdict(effect))
        elif isinstance(effect, Presliding):
            friction = replace(friction, presliding=(*friction.presliding, effect))
        elif isinstance(effect, LoadShare):
            friction = replace(friction, load=effect)
        elif isinstance(effect, LoadFriction):
            friction = replace(friction, load_friction=effect)
        elif isinstance(effect, Rotor):
            motor = replace(motor, rotor_inertia=effect.inertia / motor.gear_ratio**2)  # J_m, on the motor side
        elif isinstance(effect, Offset):
            motor = replace(motor, effort_offset=effect.effort)
        elif isinstance(effect, JointEffect):
            others = (*(other for other in others if type(other) is not type(effect)), effect)
        return replace(self, friction=friction, motor=motor, other_effects=others)


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body with its frame R_j."""

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    visual: tuple[Shape, ...] = ()
    collision: tuple[Shape, ...] = ()
    com_lengths: tuple[str, ...] = ('', '', '')  # names of the lengths in the centre of mass, as in a joint


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links and joints. The link without a parent is the base. Immutable.

    Read one with `load_robot`. Joint vectors (n,) are in the order of `joint_names`.

    Attributes:
        name: name of the robot.
        links: all links.
        joints: all joints, fixed ones and followers included.
        gravity: gravity (3,) in the axes of the base, m/s^2.
        lengths: named lengths, m.
        end_effectors: links of the hands, by name of the hand.
        start: start positions of a simulation by joint name, rad or m.
        cutoff: smoothing of the recording from which its numbers were identified, Hz; 0: not identified.
        couplings: coupled friction, each of two joints.

    Raises:
        RobotError: links and joints do not form a tree, or a mimic relation is not valid; the message lists all faults.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Array = field(default_factory=lambda: frozen([0.0, 0.0, -9.81]))  # m/s^2, in the base's axes
    lengths: dict[str, float] = field(default_factory=dict)
    end_effectors: dict[str, str] = field(default_factory=dict)  # links of the hands by name
    start: dict[str, float] = field(default_factory=dict)  # start positions of a simulation, rad or m
    cutoff: float = 0.0  # smoothing of the identification, Hz; 0: not identified
    couplings: tuple[Coupling, ...] = ()  # coupled friction of two joints

    def __post_init__(self) -> None:
        edges = [joint.edge for joint in self.joints]
        faults = tree_faults([link.name for link in self.links], edges)
        faults += mimic_faults({joint.name: joint.mimic for joint in self.joints if joint.moves})
        if faults:
            raise RobotError(f"robot '{self.name}'", faults)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The joints with a coordinate, in the order of q. Followers (mimic joints) have none."""
        return tuple(joint for joint in self.joints if joint.moves and joint.mimic is None)

    @cached_property
    def mimics(self) -> dict[str, Mimic]:
        """How followers depend on joints with a coordinate, by name of the follower."""
        return resolved({joint.name: joint.mimic for joint in self.joints if joint.moves and joint.mimic})

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of every joint vector (the order `o` of the report)."""
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
        """The joint that carries a link, by the name of the link; the base has none."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def base(self) -> str:
        """Name of the link without a parent."""
        return next(link.name for link in self.links if link.name not in self.joint_above)

    @cached_property
    def outward(self) -> tuple[Joint, ...]:
        """All joints, from the base outwards: each joint after the joint that carries it."""
        carried: dict[str, list[Joint]] = {}
        for joint in self.joints:
            carried.setdefault(joint.parent, []).append(joint)
        order, links = [], [self.base]
        for link in links:  # the list grows during the loop
            order += carried.get(link, [])
            links += [joint.child for joint in carried.get(link, [])]
        return tuple(order)

    def chain(self, link: str) -> tuple[Joint, ...]:
        """Return the joints from the base to a link.

        Args:
            link: name of the link.

        Returns:
            The joints, the joint at the base first.

        Raises:
            ArgumentError: the link is unknown.
        """
        if link not in self.link_of:
            raise unknown_name('link', link, self.link_of)
        joints: list[Joint] = []
        while link != self.base:
            joints.append(self.joint_above[link])
            link = joints[-1].parent
        return tuple(reversed(joints))

    def as_length(self, written: str, number: float) -> tuple[str, float] | None:
        """Return name and sign of the length that `written` names; None if it names none, or `number` (m) differs."""
        named = signed_name(written, self.lengths)
        return named if named and isclose(number, named[1] * self.lengths[named[0]], rel_tol=1e-12) else None

    def joints_between(self, link: str, other: str) -> tuple[tuple[Joint, ...], tuple[Joint, ...]]:
        """Return the joints between two links: those that carry only `link`, and those that carry only `other`."""
        ours, theirs = self.chain(link), self.chain(other)
        common = sum(1 for a, b in zip(ours, theirs, strict=False) if a is b)
        return ours[common:], theirs[common:]

    @cached_property
    def hands(self) -> dict[str, str]:
        """Links of the hands by name; if none is named, all ends of the tree. `hands_of` guesses the likely hands."""
        parents = {joint.parent for joint in self.joints}
        return self.end_effectors or {link.name: link.name for link in self.links if link.name not in parents}

    def carrying(self, payload: Mapping[str, Inertia]) -> Robot:
        """Return a robot whose links carry additional bodies.

        Args:
            payload: bodies by link name, each about the origin of its link, in the link's axes.

        Returns:
            A new `Robot`.

        Raises:
            ArgumentError: a link is unknown.
        """
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
        """Mass of all links, the base included, kg."""
        return sum(link.inertia.m for link in self.links)

    @property
    def gear_ratio(self) -> Array:
        """Gear ratio N (n,)."""
        return np.array([joint.motor.gear_ratio for joint in self.moving_joints])

    @property
    def rotor_inertia(self) -> Array:
        """Rotor inertia I_a (n,), eq. 18, kg m^2 (kg)."""
        return self._on_coordinates(lambda joint: joint.motor.reflected_inertia, np.square)

    @property
    def viscous(self) -> Array:
        """Viscous friction F_v (n,), eq. 17, with that of the motors, N m s/rad (N s/m)."""
        return self._on_coordinates(lambda joint: joint.viscous, np.square)

    def has_effect(self, term: EffectTerm) -> bool:
        """Return whether a joint has an effect of a term, besides eq. (17)."""
        return any(effect.term == term for joint in self.moving_joints for effect in joint.other_effects)

    @property
    def friction_beyond_report(self) -> tuple[str, ...]:
        """Names of the joints with smooth Coulomb friction or presliding: exports have eq. (17) alone."""
        return tuple(joint.name for joint in self.moving_joints if joint.friction.beyond_report)

    @property
    def coulomb(self) -> Array:
        """Coulomb friction F_c (n,), eq. 17, N m (N)."""
        return self._on_coordinates(lambda joint: joint.friction.coulomb, np.abs)

    @cached_property
    def position_limits(self) -> Array:
        """Lower and upper limits (2, n), rad (m); infinite where unknown. The limits of followers narrow them."""
        limits = {joint.name: _range(joint) for joint in self.moving_joints}
        for joint in self.joints:
            if (mimic := self.mimics.get(joint.name)) and mimic.multiplier:
                ends = sorted((end - mimic.offset) / mimic.multiplier for end in _range(joint))
                lower, upper = max(limits[mimic.joint][0], ends[0]), min(limits[mimic.joint][1], ends[1])
                if lower < upper:  # else the limits of the follower contradict those of its joint
                    limits[mimic.joint] = lower, upper
        return frozen(np.array([limits[name] for name in self.joint_names]).reshape(-1, 2).T)

    @cached_property
    def effort_limits(self) -> Array:
        """Effort limits (n), N m (N); zero where unknown. Those of followers do not count."""
        return frozen(np.array([(joint.limits and joint.limits.effort) or 0.0 for joint in self.moving_joints]))

    def position_fault(self, joint: str, q: float) -> str:
        """Return why a joint cannot be at position q (rad or m), or an empty text; with some slack at its limits."""
        k = self.joint_names.index(joint)
        slides = self.moving_joints[k].kind == 'prismatic'
        slack, most = (LIMIT_SLACK_M, np.inf) if slides else (LIMIT_SLACK, MAX_TURNS * 2 * np.pi)
        lower, upper = np.clip(self.position_limits[:, k], -most, most)
        factor, small, unit = (1e-3, 'mm', 'm') if slides else (np.pi / 180, 'degrees', 'rad')
        if lower - slack <= q <= upper + slack:
            return ''
        other_unit = abs(q) > 2 * max(-lower, upper) and lower <= factor * q <= upper
        meant = f'; {q:g} {small} are {factor * q:.4g} {unit}' if other_unit else ''
        return f'{joint}={q:g}, must be within its range, {lower:.4g} to {upper:.4g} {unit}{meant}'

    def _on_coordinates(self, number: Callable[[Joint], float], share: Callable[[float], float]) -> Array:
        """Return, for each coordinate (n), its joint's number plus `share(multiplier)` times that of each follower."""
        values = {joint.name: number(joint) for joint in self.moving_joints}
        for joint in self.joints:
            if mimic := self.mimics.get(joint.name):
                values[mimic.joint] += share(mimic.multiplier) * number(joint)
        return np.array([values[name] for name in self.joint_names])


def _range(joint: Joint) -> tuple[float, float]:
    limits = joint.limits
    if limits is None or limits.lower is None or limits.upper is None:
        return -np.inf, np.inf
    return limits.lower, limits.upper


@dataclass(frozen=True, eq=False)
class Description:
    """A robot, its URDF for other programs, and warnings about the URDF."""

    robot: Robot
    urdf: str
    warnings: tuple[Fault, ...] = ()


class Units(NamedTuple):
    """Units of a joint's numbers; `inertia` is for the rotor inertia at the joint."""

    position: str
    velocity: str
    effort: str
    inertia: str
    viscous: str


REVOLUTE = Units('rad', 'rad/s', 'N m', 'kg m^2', 'N m s/rad')
PRISMATIC = Units('m', 'm/s', 'N', 'kg', 'N s/m')


def units_of(joint: Joint) -> Units:
    """Return the units of a joint's numbers."""
    return PRISMATIC if joint.kind == 'prismatic' else REVOLUTE


def joint_units(robot: Robot) -> dict[str, Units]:
    """Return the units of all joints by name."""
    return {joint.name: units_of(joint) for joint in robot.joints}
