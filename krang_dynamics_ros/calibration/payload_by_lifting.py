"""Payload of a hand by lifting, without a wrist sensor: efforts at rest in some poses, hand empty and hand loaded.

The residual of a stand is the measured effort minus the model. The difference of the residuals between loaded and empty
hand is the torque of the payload, linear in mass and first moment: errors of the model cancel. In each pose the joints
come to rest from above and from below, and the mean of both stands is free of dry friction. Half of their difference is
that friction, and its scatter is what the mean still contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.inertia import Inertia
from ..core.spatial import Array

SAME_POSE = 0.08  # rad, m: a position controller yields by less under a load
MIN_POSES = 3
LEVER = 0.1  # m: makes a first moment comparable with a mass
MAX_CONDITION = 200.0  # of the rows, first moments over LEVER; good poses of an arm have 20 to 50
SURE = 3.0  # standard deviations: a smaller mass may be none
MAX_COM_DEVIATION = 0.1  # m
ROUNDS = 10  # of weights by joint
PRIOR_FREEDOM = 4.0  # weight of the common ratio of scatter to friction in a joint's variance, as degrees of freedom
MIN_FREEDOM = 3.0
LOCAL = 0.9  # share of a joint's variance that follows the friction of each pose: friction rises with the load
TINY = 1e-12
NAMES = ('mass', 'centre of mass x', 'centre of mass y', 'centre of mass z')

Columns = Callable[[Array], Array]
"""Torques (n, 4) that hold a unit mass, and unit first moments about x, y, z of the hand's link, at positions (n)."""


class Stand(NamedTuple):
    """Mean efforts of an arm at rest in a pose, and the side from which each joint came there."""

    q: Array  # (n) rad, m
    residual: Array  # (n) measured holding torque minus model, N m (N); NaN: unknown
    deviation: Array  # (n) standard deviation of the residual by noise
    side: Array  # (n) 1: the joint came from below, -1: from above, 0: unknown


@dataclass(frozen=True, eq=False)
class Pose:
    """The stands of one pose: residuals by load (hand empty, loaded) and side (from below, from above)."""

    q: Array  # (n) mean
    columns: Array  # (n, 4)
    residual: Array  # (2, 2, n) N m (N); NaN where no stand came from that side
    variance: Array  # (2, 2, n) of those by noise

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which joints (n) bear load here and came from both sides, hand empty and hand loaded."""
        return np.asarray(np.isfinite(self.residual).all(axis=(0, 1)) & bears_hand(self.columns))

    @property
    def torque(self) -> Array:
        """Torque (n) of the payload: difference of the means of both sides."""
        empty, full = self.residual.mean(axis=1)
        return np.asarray(full - empty)

    @property
    def friction(self) -> Array:
        """Dry friction (2, n), hand empty and loaded: half the difference of both sides."""
        return np.asarray((self.residual[:, 0] - self.residual[:, 1]) / 2)

    @property
    def noise(self) -> Array:
        """Variance (n) of `torque` by noise alone."""
        return np.asarray(self.variance.sum(axis=(0, 1)) / 4)


def bears_hand(columns: Array) -> NDArray[np.bool_]:
    """Return which joints (n) bear the weight of the hand's load, by the columns (n, 4)."""
    return np.asarray((np.abs(columns) > 1e-9).any(axis=1))


def poses_of(empty: Sequence[Stand], full: Sequence[Stand], columns: Columns) -> list[Pose]:
    """Return the poses of all stands; stands whose joints in the hand's chain are near are one pose."""
    groups: list[list[tuple[int, Stand, Array]]] = []
    for load, stands in enumerate((empty, full)):  # 0: empty hand, 1: loaded hand
        for stand in stands:
            Y = columns(stand.q)
            away = [np.abs(stand.q - group[0][1].q)[bears_hand(Y)].max(initial=0.0) for group in groups]
            if away and min(away) <= SAME_POSE:
                groups[int(np.argmin(away))].append((load, stand, Y))
            else:
                groups.append([(load, stand, Y)])
    return [_pose(group) for group in groups]


def _pose(group: Sequence[tuple[int, Stand, Array]]) -> Pose:
    n = len(group[0][1].q)
    residual, variance = np.full((2, 2, n), np.nan), np.full((2, 2, n), np.nan)
    loads = np.array([load for load, _, _ in group])
    values, noise, sides = (np.array([stand[key] for _, stand, _ in group]) for key in (1, 2, 3))
    for load in range(2):
        for k, side in enumerate((1, -1)):
            which = (loads == load)[:, None] & (sides == side) & np.isfinite(values)
            count = np.where(which.any(axis=0), which.sum(axis=0), np.nan)
            residual[load, k] = np.where(which, values, 0.0).sum(axis=0) / count
            variance[load, k] = np.where(which, noise**2, 0.0).sum(axis=0) / count**2
    q = np.mean([stand.q for _, stand, _ in group], axis=0)
    full = [Y for load, _, Y in group if load] or [Y for _, _, Y in group]
    return Pose(q, np.mean(full, axis=0), residual, variance)


@dataclass(frozen=True, eq=False)
class LiftedPayload:
    """Mass and centre of mass of a payload. Deviations are standard deviations.

    Attributes:
        trouble: reasons why these numbers must not be used, one per line; empty: they may be.
        poses: number of used poses.
        joints: indices of the joints that are used in at least one pose.
        mass: mass, kg.
        com: centre of mass (3,) in the frame of the hand's link, m.
        covariance: covariance (4, 4) of [mass, com].
        friction: dry friction (n) of the joints, N m (N); NaN where unknown.
        scatter: standard deviation (n) of the payload's torque in one pose, N m (N); NaN where unknown.
        residual: root mean square (n) of what the payload does not explain, N m (N); NaN where unknown.
    """

    trouble: str
    poses: int
    joints: tuple[int, ...]
    mass: float
    com: Array
    covariance: Array
    friction: Array
    scatter: Array
    residual: Array

    @property
    def deviations(self) -> Array:
        """Standard deviations (4) of mass (kg) and centre of mass (m)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def body(self) -> Inertia:
        """The payload as a point mass: poses at rest do not determine its inertia about the centre of mass."""
        return Inertia.point_mass(self.mass, self.com)


def fit(poses: Sequence[Pose], joint_names: Sequence[str]) -> LiftedPayload:
    """Return mass and centre of mass by weighted least squares, or what keeps them from being known."""
    counted = [pose for pose in poses if pose.complete.any()]
    if len(counted) < MIN_POSES:
        return _undetermined(counted, len(joint_names), _too_few(poses, len(counted)))
    equations = _Equations(counted)
    if why := equations.undetermined():
        return _undetermined(counted, len(joint_names), why)
    equations.solve()
    return equations.result(joint_names)


def _too_few(poses: Sequence[Pose], count: int) -> str:
    seen = sum(bool(bears_hand(pose.columns).any()) for pose in poses)
    return f'{count} of {seen} poses have stands from both sides with empty and loaded hand, must be {MIN_POSES}'


def _undetermined(poses: Sequence[Pose], n: int, why: str) -> LiftedPayload:
    unknown = np.full(n, np.nan)
    joints = tuple(int(k) for k in np.flatnonzero(np.any([pose.complete for pose in poses], axis=0))) if poses else ()
    return LiftedPayload(why, len(poses), joints, 0.0, np.zeros(3), np.full((4, 4), np.inf), unknown, unknown, unknown)


SCALE = np.array([1.0, *[LEVER] * 3])


def condition(A: Array) -> tuple[float, Array]:
    """Return the condition number of rows (m, 4), first moments over `LEVER`, and the weakest direction (4)."""
    if len(A) < 4:
        return np.inf, np.zeros(4)
    _, values, Vt = np.linalg.svd(A / SCALE, full_matrices=False)
    number = float(values[0] / values[-1]) if values[-1] > TINY else np.inf
    return number, np.asarray(Vt[-1])


class _Solution(NamedTuple):
    """A weighted fit of [m, m c]."""

    theta: Array  # (4)
    back: Array  # (4, rows): theta per weighted torque
    leverage: Array  # (n) by joint
    residuals: Array  # (rows) N m (N)


class _Equations:
    """The linear equations of poses: a row for each used joint of a pose."""

    def __init__(self, poses: Sequence[Pose]) -> None:
        which = np.array([pose.complete for pose in poses])  # (poses, n)
        self._joint, self._n = np.nonzero(which)[1], which.shape[1]
        self._X = np.array([pose.columns for pose in poses])[which]
        self._y = np.array([pose.torque for pose in poses])[which]
        self._count, self._poses = self._sums(np.ones(len(self._y))), len(poses)
        self._used = self._count > 0
        friction = np.array([pose.friction for pose in poses]).transpose(0, 2, 1)[which]  # (rows, 2)
        change = friction[:, 1] - friction[:, 0]
        self._scatter = self._sums((change - self._means(change)[self._joint]) ** 2)
        self._noise = self._means(np.array([pose.noise for pose in poses])[which])
        self._friction = self._means(friction.mean(axis=1))
        square = (friction**2).mean(axis=1) + self._noise[self._joint] + TINY
        self._scale = self._means(square)
        self._relative = LOCAL * square / self._scale[self._joint] + 1 - LOCAL  # variance of a row over its joint's

    def _sums(self, values: Array) -> Array:
        """Return the sums (n) by joint of values (rows)."""
        return np.asarray(np.bincount(self._joint, values, self._n), dtype=float)

    def _means(self, values: Array) -> Array:
        """Return the means (n) by joint of values (rows); zero for a joint without rows."""
        return self._sums(values) / np.maximum(self._count, 1)

    def undetermined(self) -> str:
        """Return why the poses do not determine mass and centre of mass, or ''."""
        number, weakest = condition(self._X)
        if number <= MAX_CONDITION:
            return ''
        what = NAMES[int(np.abs(weakest).argmax())]
        said = 'infinite' if number > 1e4 else f'{number:.0f}'
        return f'the poses do not determine {what}: condition number {said}, must be at most {MAX_CONDITION:g}'

    def solve(self) -> None:
        """Find [m, m c] and the variance of each joint, in turn."""
        variance = self._scale
        for _ in range(ROUNDS):
            self._solution = self._least_squares(variance)
            variance, freedom = self._variance(self._solution)
        own = np.maximum(freedom, MIN_FREEDOM)  # other joints do not make its variance more certain
        self._variances = variance * own / (own - 2)  # of Student's distribution
        half = self._solution.back * np.sqrt(self._variances / variance)[self._joint]
        self._covariance = half @ half.T

    def _least_squares(self, variance: Array) -> _Solution:
        weight = 1 / np.sqrt(variance[self._joint] * self._relative)
        U, values, Vt = np.linalg.svd(self._X * weight[:, None] / SCALE, full_matrices=False)
        back = (Vt.T / values) @ U.T / SCALE[:, None]
        theta = back @ (self._y * weight)
        return _Solution(theta, back, self._sums((U**2).sum(axis=1)), self._y - self._X @ theta)

    def _variance(self, solution: _Solution) -> tuple[Array, Array]:
        """Return the variance (n) of a joint's torque in a pose, and its degrees of freedom.

        It is estimated from the residuals of the fit, and from the scatter of the dry friction (half the difference of
        both sides), because the same errors cause both. A joint with few poses borrows the ratio of scatter to friction
        of all joints.
        """
        fitted = np.maximum(self._count - solution.leverage, 0)
        freedom = np.where(self._used, fitted + self._count - 1, 0)
        squares = self._sums(solution.residuals**2 / self._relative) + self._scatter
        ratio = np.sum(squares[self._used] / self._scale[self._used]) / max(freedom.sum(), 1)
        variance = (PRIOR_FREEDOM * ratio * self._scale + squares) / (PRIOR_FREEDOM + freedom)
        return np.maximum(variance, np.maximum(self._noise, TINY)), freedom

    def result(self, joint_names: Sequence[str]) -> LiftedPayload:
        """Return the payload, with what speaks against it."""
        theta, covariance = self._solution.theta, self._covariance
        m = float(theta[0])
        sure = abs(m) > SURE * np.sqrt(covariance[0, 0])
        com, D = np.zeros(3), np.eye(4)  # D: derivative of [m, c] by [m, m c]
        if sure:
            com = theta[1:] / m
            D[1:, 0], D[1:, 1:] = -com / m, np.eye(3) / m
        blank = np.where(self._used, 1.0, np.nan)
        found = LiftedPayload(
            '', self._poses, tuple(np.flatnonzero(self._used).tolist()), m, com, D @ covariance @ D.T,
            blank * self._friction, blank * np.sqrt(self._variances),
            blank * np.sqrt(self._means(self._solution.residuals**2)),
        )  # fmt: skip
        return replace(found, trouble=_doubt(found, sure, joint_names))


def _doubt(found: LiftedPayload, sure: bool, joint_names: Sequence[str]) -> str:
    """Return why the numbers must not be used: friction hides them, or a sign is wrong; or ''."""
    deviations = found.deviations
    if not sure:
        return (
            f'friction and noise hide the payload: {found.mass:.3g} kg, must be {SURE:g} times the standard deviation '
            f'of {deviations[0]:.2g} kg or more{_worst_joint(found, joint_names)}'
        )
    if found.mass < 0:
        return (
            f'the mass is {found.mass:.3g} kg, must not be negative: are the stands of the empty and the loaded hand '
            'swapped, or is the sign of effort inverted?'
        )
    axis = 1 + int(deviations[1:].argmax())
    if deviations[axis] > MAX_COM_DEVIATION:
        return (
            f'friction and noise hide {NAMES[axis]}: standard deviation {deviations[axis]:.2g} m, must be at most '
            f'{MAX_COM_DEVIATION:g} m{_worst_joint(found, joint_names)}'
        )
    return ''


def _worst_joint(found: LiftedPayload, joint_names: Sequence[str]) -> str:
    k = int(np.nanargmax(found.scatter))
    return (
        f'; the largest scatter is {found.scatter[k]:.2g} N m (N) in {joint_names[k]}, which has a friction of '
        f'{found.friction[k]:.2g}; add poses, and let joints come to rest slowly'
    )
