"""Feed-forward efforts along a joint trajectory, checked against the limits of the joints.

    total = A(q) ddq + C(q, dq) dq + Q(q) + friction, with payloads and gravity of the `Dynamics`

and, where they are asked for, springs and coupled friction of the robot file.

Limits apply to the total. Torques that the arm's own firmware adds are subtracted from the returned efforts.
A trajectory that is slower by a factor s needs (A ddq + C dq) / s^2, viscous friction / s, and the same gravity.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import ArgumentError, KrangDynamicsError, listed
from ..core.inertia import Inertia
from ..core.spatial import Array
from ..robot.robot import Limits, Robot, units_of
from .drives import PreslidingState
from .dynamics import Dynamics
from .trajectory import Motion, Spline, Trajectory, at_point, given

EVERY = 0.01  # s between the points of a result
STEP = 0.002  # s: largest step between checks of limits; a motion of 10 Hz peaks 0.2 % higher between them
MIN_SUBSTEPS = 4  # between two points of a result
MAX_STRETCH = 1000.0
STRETCH_STEP = 1.005  # of the search for the smallest factor
STRETCH_TOLERANCE = 1e-5
TOLERANCE = 1e-9  # for rounding: relative to a limit, or N m (N) per kg

LimitKind = Literal['position', 'velocity', 'effort']


class LimitError(KrangDynamicsError):
    """A trajectory that exceeds a limit."""


@dataclass(frozen=True)
class Excess:
    """An excess of a limit along a trajectory: the value at a point, or the worst value between two points."""

    kind: LimitKind
    joint: str
    value: float
    allowed: str
    unit: str
    time: float  # s, of the value
    point: int  # number of the point, or of the point before, from 0
    between: bool  # whether it is between two points

    def __str__(self) -> str:
        where = f'at {at_point(self.point)}'
        if self.between:
            where = f'between points {self.point + 1} and {self.point + 2}'
        value = f'{self.kind} {self.value:.5g} {self.unit}'
        return f'{self.joint}: {value} {where} ({self.time:.4g} s), must be {self.allowed} {self.unit}'


class JointLimits:
    """Limits of some joints (n); infinite where unknown."""

    def __init__(self, robot: Robot, joint_names: Sequence[str]) -> None:
        by_name = {joint.name: joint for joint in robot.moving_joints}
        joints = [by_name[name] for name in joint_names]
        limits = [joint.limits or Limits(None, None) for joint in joints]
        self.joint_names, self.units = tuple(joint_names), [units_of(joint) for joint in joints]
        order = [robot.joint_names.index(name) for name in joint_names]
        self.lower, self.upper = robot.position_limits[:, order]
        self.velocity = np.array([limit.velocity or math.inf for limit in limits])
        self.effort = np.array([limit.effort or math.inf for limit in limits])

    def unknown(self) -> list[str]:
        """Return a line for each kind of limit that is unknown for some joints."""
        kinds = {'velocity': self.velocity, 'effort': self.effort}
        lines = []
        for kind, values in kinds.items():
            names = [name for name, x in zip(self.joint_names, values, strict=True) if math.isinf(x)]
            if names:
                lines.append(f'{kind} limit of {listed(names)}: unknown, not checked')
        return lines

    def excess(self, kind: LimitKind, values: Array) -> Array:
        """Return by how much values (m, n) exceed their limits, relative to the limits; negative: not exceeded.

        Positions: relative to the range, or in rad (m) if it is not bounded.
        """
        if kind == 'position':
            size = np.where(np.isfinite(self.upper - self.lower), self.upper - self.lower, 1.0)
            return np.asarray(np.maximum(self.lower - values, values - self.upper) / size)
        return np.asarray(np.abs(values) / getattr(self, kind) - 1)

    def allowed(self, kind: LimitKind, k: int) -> str:
        """Return the allowed range of a joint, for messages."""
        if kind == 'position':
            return f'from {self.lower[k]:g} to {self.upper[k]:g}'
        return f'at most {getattr(self, kind)[k]:g}'

    def unit(self, kind: LimitKind, k: int) -> str:
        """Return the unit of a joint's limit."""
        return str(getattr(self.units[k], kind))


class AddedTorque(Protocol):
    """Torque that the arm's own firmware adds to each command."""

    def torque(self, q: Array, dq: Array | None) -> Array | None:
        """Return the added torque (n) without friction; None if unknown."""

    def friction_left(self, friction: Array, viscous: Array) -> Array:
        """Return the part of the friction (n) that commands must contain; `viscous` (n) is its viscous part."""


class PlannedEfforts(NamedTuple):
    """Efforts of a motion, in parts (m, n) that depend differently on its speed."""

    inertial: Array  # A ddq + C dq
    gravity: Array  # with springs, if they are asked for
    z: Array | None  # state of presliding friction (m, n, elements); it depends on the path only
    coupled: bool  # whether coupled friction is included


@dataclass(frozen=True, eq=False)
class Plan:
    """A trajectory with efforts, and the shares of the limits that it uses."""

    trajectory: Trajectory
    stretch: float  # factor on the duration; 1: unchanged
    velocity_share: Array  # (n) of the limit, largest along the path
    effort_share: Array  # (n)
    notes: tuple[str, ...]


class LargestPayload(NamedTuple):
    """The largest mass that a link may carry along a trajectory, and what limits it."""

    mass: float  # kg
    joint: str
    time: float  # s


class FeedForward:
    """Efforts and limits of a robot along trajectories of some of its joints; the others stand still.

    Gravity, payloads and friction are those of `dynamics` at the time of a call.

    Example:
        >>> plan = FeedForward(robot, dynamics_of(robot)).plan(read_trajectory(Path('motion.yaml')))
        >>> plan.trajectory.effort  # (m, n), N m
    """

    def __init__(
        self,
        robot: Robot,
        dynamics: Dynamics,
        fixed: Mapping[str, float] | None = None,
        firmware: AddedTorque | None = None,
        terms: Collection[str] = (),
    ) -> None:
        """Create the feed-forward of a robot.

        Args:
            robot: the robot, for its limits.
            dynamics: its dynamics.
            fixed: positions by name of joints that a trajectory does not name, rad or m; by default zero.
            firmware: torques that the arm's firmware adds; they are subtracted from the efforts.
            terms: names of terms, as in `total_terms`; `spring` and `coupling` are added only if they are among them.
        """
        self._robot, self._dynamics, self._firmware = robot, dynamics, firmware
        self._springs, self._coupled = 'spring' in terms, 'coupling' in terms
        self._fixed = dynamics.vector(fixed or {})

    def plan(self, trajectory: Trajectory, every: float = EVERY, retime: bool = False) -> Plan:
        """Return a trajectory with efforts, with points at most `every` seconds apart.

        Args:
            trajectory: positions and velocities at each point, in any order of joints; accelerations may be missing.
            every: largest time between points of the result, s. The path is that of the given points.
            retime: whether the trajectory may be slowed down, by the smallest factor that respects all limits. The arm
                then stops at points without velocities.

        Returns:
            The plan.

        Raises:
            LimitError: a limit is exceeded, at a point or between two; with `retime`, at any speed.
            ArgumentError: a joint is unknown, or a point has no velocities and `retime` is not set.
        """
        if not (every > 0 and math.isfinite(every)):
            raise ArgumentError(f'every: {every:g} s, must be above 0')
        trajectory = self._checked(trajectory, retime)
        stretch = self._smallest_stretch(trajectory, every) if retime else 1.0
        if stretch > 1:
            trajectory = trajectory.stretched(stretch)
        path = self._path(trajectory, every)
        if excess := path.first_excess(1.0):
            hint = '; retime slows the motion down' if excess.kind != 'position' and not retime else ''
            raise LimitError(f'{excess}{hint}')
        efforts = path.efforts(1.0)
        velocity_share = np.abs(path.motion.dq).max(axis=0) / path.limits.velocity
        effort_share = np.abs(efforts).max(axis=0) / path.limits.effort
        result = Spline(trajectory).sampled(every)
        result = replace(result, effort=efforts[:: path.substeps] - self._added_by_robot(path))
        notes = (*path.limits.unknown(), *_notes(result, path.limits))
        return Plan(result, stretch, velocity_share, effort_share, notes)

    def _added_by_robot(self, path: _Path) -> Array:
        """Return the torque that the arm's firmware adds at the points of the result (m, n)."""
        rows = slice(None, None, path.substeps)
        if self._firmware is None:
            return np.zeros_like(path.motion.q[rows])
        q, dq = path.q[rows], np.zeros_like(path.q[rows])
        dq[:, path.at] = path.motion.dq[rows]
        friction = self._dynamics.friction.torque(dq, None if path.parts.z is None else path.parts.z[rows])
        added = friction - self._firmware.friction_left(friction, self._dynamics.friction.viscous * dq)
        for k, state in enumerate(zip(q, dq, strict=True)):
            torque = self._firmware.torque(*state)
            if torque is not None:
                added[k] += torque
        return np.asarray(added[:, path.at])

    def largest_payload(
        self, trajectory: Trajectory, link: str, com: ArrayLike = (0.0, 0.0, 0.0), every: float = EVERY
    ) -> LargestPayload:
        """Return the largest additional point mass that a link may carry without exceeding an effort limit.

        Args:
            trajectory: as for `plan`, at its own speed and within all limits.
            link: name of the link.
            com: position of the mass (3,) in the frame of the link, m.
            every: as for `plan`.

        Returns:
            The mass (infinite if no effort limit is known), and the joint and time that limit it.

        Raises:
            LimitError: a limit is exceeded without the mass.
            ArgumentError: a joint or the link is unknown, or a point has no velocities.
        """
        trajectory = self._checked(trajectory, retime=False)
        path = self._path(trajectory, every)
        if excess := path.first_excess(1.0):
            raise LimitError(f'{excess}, even without additional payload')
        before = self._dynamics.payload
        unit = Inertia.point_mass(1.0, com)
        try:
            self._dynamics.payload = {**before, link: before.get(link, Inertia()) + unit}
            laden = self._path(trajectory, every)
        finally:
            self._dynamics.payload = before
        efforts = path.efforts(1.0)
        for_each_kg = laden.efforts(1.0) - efforts
        left = path.limits.effort - np.sign(for_each_kg) * efforts
        with np.errstate(divide='ignore'):
            masses = np.where(np.abs(for_each_kg) > TOLERANCE, left / np.abs(for_each_kg), math.inf)
        row, k = np.unravel_index(int(masses.argmin()), masses.shape)
        mass = max(float(masses[row, k]), 0.0)
        return LargestPayload(mass, trajectory.joint_names[k], float(path.motion.time[row]))

    def _checked(self, trajectory: Trajectory, retime: bool) -> Trajectory:
        """Return the trajectory with velocities at all points, or raise `ArgumentError`."""
        trajectory.columns_in(self._dynamics.joint_names)
        if retime:
            return trajectory.at_rest_where_unknown()
        unknown = ~given(trajectory.velocity)
        if unknown.any():
            raise ArgumentError(
                f'{at_point(int(unknown.argmax()))}: no velocities, must be given: without them the controller moves '
                'along straight lines, with jumps of velocity; retime stops at such points'
            )
        return trajectory

    def _path(self, trajectory: Trajectory, every: float) -> _Path:
        """Return states and efforts along a trajectory."""
        dynamics, substeps = self._dynamics, max(math.ceil(every / STEP), MIN_SUBSTEPS)
        spline = Spline(trajectory)
        motion = spline.at(spline.times(every, substeps))
        at = trajectory.columns_in(dynamics.joint_names)
        states = np.zeros((3, len(motion.time), dynamics.n))
        states[0] = self._fixed
        states[:, :, at] = motion.q, motion.dq, motion.ddq
        gravity = dynamics.batch('Q', states[0])
        rigid = np.array([dynamics.inverse_dynamics(*state) for state in states.transpose(1, 0, 2)])
        past = PreslidingState(dynamics.friction)
        z = np.array([past.move(q) for q in states[0]]) if dynamics.friction.has_state else None
        springs = dynamics.springs_and_couplings.spring_torque(states[0]) if self._springs else 0.0
        efforts = PlannedEfforts(rigid - gravity, np.asarray(gravity + springs), z, self._coupled)
        limits = JointLimits(self._robot, trajectory.joint_names)
        return _Path(trajectory, motion, states[0], dynamics, efforts, at, limits, substeps)

    def _smallest_stretch(self, trajectory: Trajectory, every: float) -> float:
        """Return the smallest factor (1 or more) by which the motion must be slowed down."""
        path = self._path(trajectory, every)
        excess = path.first_excess(MAX_STRETCH)
        if excess:
            if excess.kind == 'position':
                raise LimitError(f'{excess}; at any speed')
            why = 'gravity and dry friction alone exceed it' if excess.kind == 'effort' else 'look at its times'
            raise LimitError(f'{excess}, even {MAX_STRETCH:g} times slower; {why}')
        factor = path.smallest_stretch()
        while factor > 1 and self._path(trajectory.stretched(factor), every).first_excess(1.0):
            factor *= 1 + 10 * STRETCH_TOLERANCE  # other samples of the path exceed a limit by so little
        return factor


@dataclass(frozen=True, eq=False)
class _Path:
    """Densely sampled states along a trajectory, and their efforts at any speed."""

    trajectory: Trajectory
    motion: Motion
    q: Array  # (m, all joints of the robot)
    dynamics: Dynamics
    parts: PlannedEfforts  # of all joints of the robot
    at: list[int]  # indices of the trajectory's joints in vectors of the robot
    limits: JointLimits
    substeps: int

    def efforts(self, stretch: float) -> Array:
        """Return the efforts (m, n) of the trajectory's joints when the motion is slower by a factor."""
        dq = np.zeros_like(self.parts.gravity)
        dq[:, self.at] = self.motion.dq / stretch
        friction = self.dynamics.friction.torque(dq, self.parts.z)
        if self.parts.coupled:
            friction = friction + self.dynamics.springs_and_couplings.coupled_friction(dq)
        total = (self.parts.inertial / stretch**2 + self.parts.gravity + friction)[:, self.at]
        if not np.isfinite(total).all():
            raise LimitError('an effort is not finite, must be finite: check times and masses')
        return total

    def _excesses(self, stretch: float) -> dict[LimitKind, Array]:
        values: dict[LimitKind, Array] = {
            'position': self.motion.q, 'velocity': self.motion.dq / stretch, 'effort': self.efforts(stretch),
        }  # fmt: skip
        return {kind: self.limits.excess(kind, numbers) for kind, numbers in values.items()}

    def respects_limits(self, stretch: float) -> bool:
        """Return whether all limits are respected."""
        return all(excess.max() <= TOLERANCE for excess in self._excesses(stretch).values())

    def first_excess(self, stretch: float) -> Excess | None:
        """Return the first excess of a limit, or None."""
        excesses = self._excesses(stretch)
        rows = np.array([excess.max(axis=1) for excess in excesses.values()]) > TOLERANCE
        if not rows.any():
            return None
        row = int(rows.any(axis=0).argmax())
        kind = list(excesses)[int(rows[:, row].argmax())]
        return self._described(kind, excesses[kind], row, stretch)

    def _described(self, kind: LimitKind, excess: Array, row: int, stretch: float) -> Excess:
        """Return an excess that begins at a row: the value of its joint at a point, or the worst up to the next."""
        points, time, k = self.trajectory.time, self.motion.time, int(excess[row].argmax())
        point = int(np.searchsorted(points, time[row], side='right')) - 1
        end = int(np.searchsorted(time, points[point + 1])) if point + 1 < len(points) else len(time)
        if between := bool(time[row] != points[point]):
            row += int(excess[row:end, k].argmax())
        values = {'position': self.motion.q, 'velocity': self.motion.dq / stretch}
        numbers = self.efforts(stretch) if kind == 'effort' else values[kind]
        return Excess(
            kind, self.limits.joint_names[k], float(numbers[row, k]), self.limits.allowed(kind, k),
            self.limits.unit(kind, k), float(time[row]), point, between,
        )  # fmt: skip

    def smallest_stretch(self) -> float:
        """Return the smallest factor that respects all limits; `MAX_STRETCH` must respect them."""
        low = high = 1.0
        while not self.respects_limits(high):
            low, high = high, min(high * STRETCH_STEP, MAX_STRETCH)
        while high > low * (1 + STRETCH_TOLERANCE):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.respects_limits(middle) else (middle, high)
        return high


def _notes(trajectory: Trajectory, limits: JointLimits) -> list[str]:
    """Return notes for the user about a trajectory with efforts."""
    last, k = np.abs(trajectory.effort[-1]), int(np.abs(trajectory.effort[-1]).argmax())
    notes = []
    if trajectory.time[0] > 0:
        notes.append(
            f'the motion from the present position to point 1, {trajectory.time[0]:g} s, is unknown: not checked'
        )
    if np.abs(trajectory.velocity[-1]).max() > 0:
        notes.append('the velocity at the last point is not zero: by default the controller refuses this')
    if last[k] > 0:
        notes.append(
            'feed-forward ends at the last point: from then on the controller sends effort 0, so its position loop '
            f'alone must hold up to {last[k]:.3g} {limits.unit("effort", k)} ({trajectory.joint_names[k]})'
        )
    return notes
