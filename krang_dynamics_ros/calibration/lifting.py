"""A run of payload by lifting: stands of the empty and of the loaded hand, the payload by them, and the next pose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..live.engine import Engine
from ..live.payloads import PayloadSpec
from .payload_by_lifting import MIN_POSES, NAMES, SCALE, Columns, LiftedPayload, Pose, Stand, bears_hand, fit, poses_of
from .stands import StandSampler

DIGITS = 6  # significant ones
TURN, SHIFT = 0.8, 0.1  # rad, m: from a pose to a new one
SIDES = ('below', 'above')


class JointRange(NamedTuple):
    """The range of the joints (n)."""

    names: Sequence[str]
    lower: Array  # rad, m; -inf without limit
    upper: Array
    prismatic: Array  # bool


def missing_sides(pose: Pose, load: int) -> list[str]:
    """Return the sides from which no stand came, hand empty (0) or loaded (1); joints that never move are ignored."""
    known = _moves(pose)
    rows = zip(SIDES, pose.residual[load], strict=True)
    return [side for side, row in rows if not np.isfinite(row[known]).any()]


def _moves(pose: Pose) -> NDArray[np.bool_]:
    """Return which joints (n) bear the hand, have efforts, and came to the pose from somewhere."""
    return np.asarray(np.isfinite(pose.residual).any(axis=(0, 1)) & bears_hand(pose.columns))


def next_pose(poses: Sequence[Pose], joints: JointRange, columns: Columns, with_load: bool) -> str:
    """Return what to do next: finish a pose, or add a new pose; '' if no joint can turn."""
    for number, pose in enumerate(poses, 1):
        if sides := missing_sides(pose, int(with_load)):
            return f'pose {number} from {" and from ".join(sides)}: {_described(pose, joints)}'
    return new_pose(poses, joints, columns)


def new_pose(poses: Sequence[Pose], joints: JointRange, columns: Columns) -> str:
    """Return the turn of a joint out of a known pose that determines mass and centre of mass best, in words."""
    if not poses:
        return 'bring the arm to a first pose, once from below and once from above with every joint'
    rows = np.concatenate([pose.columns for pose in poses]) / SCALE
    best = max(_turns(poses, joints), key=lambda turn: _smallest(rows, columns(turn.q) / SCALE), default=None)
    if best is None:
        return ''
    k = best.joint
    enough = '' if len(poses) < MIN_POSES else 'more poses make it more certain: '
    return f'{enough}turn {joints.names[k]} to {best.q[k]:.2f} in pose {best.pose}, from below and from above'


class _Turn(NamedTuple):
    pose: int  # from 1
    joint: int
    q: Array


def _turns(poses: Sequence[Pose], joints: JointRange) -> Iterable[_Turn]:
    for number, pose in enumerate(poses, 1):
        for k in np.flatnonzero(_moves(pose)):
            step = SHIFT if joints.prismatic[k] else TURN
            for way in (-step, step):
                q = pose.q.copy()
                q[k] += way
                if joints.lower[k] <= q[k] <= joints.upper[k]:
                    yield _Turn(number, int(k), q)


def _smallest(rows: Array, more: Array) -> tuple[float, ...]:
    """Return the singular values, the smallest first."""
    values = np.linalg.svd(np.concatenate([rows, more]), compute_uv=False)
    return tuple(values[::-1].tolist())


def _described(pose: Pose, joints: JointRange) -> str:
    return ', '.join(f'{joints.names[k]} {pose.q[k]:.2f}' for k in np.flatnonzero(bears_hand(pose.columns)).tolist())


class Lifting:
    """The stands of one hand, and the payload by them."""

    def __init__(self, engine: Engine, sampler: StandSampler, empty: Sequence[Stand] | None) -> None:
        """`empty` are the stands of the empty hand; None: the hand is empty now, and `sampler` takes these stands."""
        joints = engine.supervisor.joints
        self.sampler, self._empty = sampler, empty
        self.hand, self.with_load = sampler.hand, empty is not None
        lower, upper = joints.position
        self.joints = JointRange(engine.dynamics.joint_names, lower, upper, joints.prismatic)
        self._count, self._next = -1, ''
        self._found: LiftedPayload | None = None

    @property
    def found(self) -> LiftedPayload | None:
        """The payload by all stands so far; None while the hand is empty."""
        self._update()
        return self._found

    @property
    def next_pose(self) -> str:
        """What to do next."""
        self._update()
        return self._next

    def _update(self) -> None:
        stands, columns = self.sampler.stands, self.sampler.holding.columns
        if self._count == len(stands):
            return
        self._count = len(stands)
        empty, full = (self._empty, stands) if self._empty is not None else (stands, [])
        poses = poses_of(empty, full, columns)
        self._next = next_pose(poses, self.joints, columns, self.with_load)
        self._found = fit(poses, self.joints.names) if self.with_load else None

    @property
    def trouble(self) -> str:
        """Why there is no payload to propose, or ''."""
        found = self.found
        if found is None:
            return 'the hand is empty: run again with the load and --empty FILE'
        return found.trouble

    def values(self) -> dict[str, Any]:
        """Return the payload as parameters of the node; poses at rest do not determine its inertia."""
        found = self.found
        if found is None or found.trouble:
            return {}
        numbers = [float(f'{x:.{DIGITS}g}') for x in (found.mass, *found.com)]
        return PayloadSpec(numbers[0], numbers[1:], [0.0] * 6).values(self.hand.name)

    # Text -------------------------------------------------------------------------------------------------------------

    def table(self) -> list[str]:
        """Return the lines that a person watches."""
        what = 'payload by lifting' if self.with_load else 'empty hand'
        lines = [f'{self.hand.name} ({self.hand.link}), {what}: {len(self.sampler.stands)} stands']
        lines += [f'  now   {self.sampler.status}', f'  next  {self.next_pose}']
        found = self.found
        if found is None:
            return lines
        if found.trouble:
            return [*lines, f'  not concluded: {found.trouble}']
        return [*lines, *_numbers(found), *self._joint_lines(found)]

    def _joint_lines(self, found: LiftedPayload) -> list[str]:
        """Return a line for each used joint: friction, scatter, and what is not explained."""
        return [
            f'  {self.joints.names[k]:<18}friction {found.friction[k]:.3g}, scatter {found.scatter[k]:.2g}, '
            f'not explained {found.residual[k]:.2g} {"N" if self.joints.prismatic[k] else "N m"}'
            for k in found.joints
        ]

    def parameter_file(self) -> str:
        """Return the text of a parameter file for the node, with the standard deviations."""
        found = self.found
        if found is None or found.trouble:
            return ''
        deviations = [f'{x:.2g}' for x in found.deviations]
        remarks = {
            'mass': f'+- {deviations[0]}',
            'com': f'+- {", ".join(deviations[1:])}',
            'inertia': 'not determined by poses at rest',
        }
        lines = [
            f'# What {self.hand.name} ({self.hand.link}) holds, by efforts in {found.poses} poses at rest, hand empty '
            'and loaded.',
            '',
            '/**/krang_dynamics:',
            '  ros__parameters:',
            f'    {self.hand.name}:',
            '      payload:',
        ]
        for name, value in self.values().items():
            key = name.rpartition('.')[2]
            lines.append(f'        {key}: {value}  # {remarks[key]}')
        return '\n'.join([*lines, ''])


def _numbers(found: LiftedPayload) -> list[str]:
    values = np.array([found.mass, *found.com])
    return [
        f'  {name:<18}{x:>10.4f} {unit:<2} +- {s:.4f}'
        for name, x, unit, s in zip(NAMES, values, ('kg', 'm', 'm', 'm'), found.deviations, strict=True)
    ]
