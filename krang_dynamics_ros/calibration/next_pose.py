"""Next pose of a payload by lifting: the one that is not complete yet, or a new one that determines most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .payload_by_lifting import MIN_POSES, SCALE, Columns, Pose, loaded

TURN, SHIFT = 0.8, 0.1  # rad, m: from a pose to a new one
SIDES = ('below', 'above')


class JointRange(NamedTuple):
    """The range of the joints (n)."""

    names: Sequence[str]
    lower: Array  # rad, m; -inf without limit
    upper: Array
    prismatic: Array  # bool


def missing_sides(pose: Pose, condition: int) -> list[str]:
    """Return the sides from which no stand came, hand empty (0) or loaded (1); joints that never move are ignored."""
    known = _moves(pose)
    rows = zip(SIDES, pose.residual[condition], strict=True)
    return [side for side, row in rows if not np.isfinite(row[known]).any()]


def _moves(pose: Pose) -> NDArray[np.bool_]:
    """Return which joints (n) bear the hand, have efforts, and came to the pose from somewhere."""
    return np.asarray(np.isfinite(pose.residual).any(axis=(0, 1)) & loaded(pose.columns))


def next_pose(poses: Sequence[Pose], joints: JointRange, columns: Columns, with_load: bool) -> str:
    """Return what to do next: finish a pose, or add one; '' while there is no pose to go by."""
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
    enough = '' if len(poses) < MIN_POSES else 'more poses make it surer: '
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
    return ', '.join(f'{joints.names[k]} {pose.q[k]:.2f}' for k in np.flatnonzero(loaded(pose.columns)).tolist())
