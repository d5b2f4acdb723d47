"""Payload of a hand from recordings of the loaded arm, without a wrist sensor: mass, centre of mass, inertia.

The efforts that the robot file predicts are subtracted. The remainder is the torque of the payload, which is linear in
its parameters. Load shares of the drives are not applied to that torque, so they scale the payload.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import unknown_name
from ..core.inertia import Inertia, derivative_by_parameters
from ..core.spatial import Array, upper_triangle
from ..equations.regressor import regressor
from ..recordings.recording import Recording, RecordingError, motion_only
from ..robot.robot import Robot
from .merged_robot import is_possible
from .predict import predict, prepare

MAX_ROWS = 3000  # of each recording
BLOCK = 1.0  # s: rows within it count as one when the standard deviations are estimated
MIN_BLOCKS = 4
ROUNDS = 8  # of weights by joint, and of the point mass's inertia about the origin of the link
LEVER = 0.1  # m: turns a first moment into a mass of the same weight
MIN_RANK = 1e-8  # of the largest eigenvalue of the scaled normal matrix
UNKNOWN_MASS = 0.3  # kg, standard deviation from which a motion does not determine the mass ...
UNKNOWN_SHARE = 0.1  # ... unless it is less than this part of the mass
UNKNOWN_MOMENT = 0.1  # kg m, the same of mass times centre of mass
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Payload:
    """The payload of a hand. Standard deviations are of repeats, by blocks of a second."""

    hand: str
    link: str
    body: Inertia  # about the origin of the hand's link
    deviations: Array  # (10): mass, centre of mass, inertia about it; kg, m, kg m^2; zero where it was not fitted
    inertia: bool  # whether the inertia was fitted
    before: Array  # error (joints), RMSE over the standard deviation of the effort, without the payload
    after: Array  # the same with the payload
    seconds: float  # of motion
    alone: dict[str, float]  # mass by each recording alone, kg; NaN where it alone does not determine the payload

    @property
    def inertia_about_com(self) -> Array:
        """Inertia about the centre of mass (6), xx xy xz yy yz zz; zero if it was not fitted."""
        return upper_triangle(self.body.I_G) if self.inertia else np.zeros(6)

    @property
    def warnings(self) -> list[str]:
        """Warnings to a person before the numbers are used."""
        masses = {name: mass for name, mass in self.alone.items() if not math.isnan(mass)}
        found = []
        if self.body.m <= 2 * self.deviations[0]:
            found.append('no payload is seen: the mass is not two standard deviations above zero')
        elif self.inertia and not is_possible(self.body.parameters):
            found.append('no rigid body has this inertia: the motion does not determine it; leave --inertia out')
        if len(masses) > 1 and np.ptp([*masses.values()]) > UNKNOWN_SHARE * abs(self.body.m):
            found.append(f'the recordings differ: {", ".join(f"{name} {m:.3f} kg" for name, m in masses.items())}')
        return found


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a recording: the residual efforts, and the columns of the payload's parameters."""

    source: str
    Y: Array  # (rows, joints, 10)
    residual: Array  # (rows, joints), N m
    block: Array  # (rows)
    effort_variance: Array  # (joints)
    seconds: float


def identify_payload(robot: Robot, hand: str, recordings: Sequence[Recording], inertia: bool = False) -> Payload:
    """Identify the payload of a hand from recordings; `hand` is the name of an end effector, or a link.

    A link at which there is a single hand stands for this hand, whose parameters a node has.

    Raises:
        RecordingError: the motion does not determine it.
        ArgumentError: the robot has no such hand.
    """
    links = {**{link.name: link.name for link in robot.links}, **robot.hands}
    if hand not in links:
        raise unknown_name('hand', hand, robot.hands)
    at_link = [name for name, link in robot.hands.items() if link == hand]
    hand = at_link[0] if len(at_link) == 1 else hand
    names = recordings[0].joint_names
    parts = [_rows_of(robot, links[hand], _ordered(recording, names)) for recording in recordings]
    fit = _Fit(parts, inertia)
    if why := fit.undetermined:
        raise RecordingError(
            f'{", ".join(part.source for part in parts)}: the motion does not determine the payload of {hand}: {why}; '
            'turn the hand more, move longer, or give more recordings'
        )
    alone = {part.source: _mass_by(part) for part in parts} if len(parts) > 1 else {}
    effort_std = np.sqrt(np.mean([part.effort_variance for part in parts], axis=0))
    before = np.sqrt(np.square(np.concatenate([part.residual for part in parts])).mean(axis=0)) / effort_std
    return Payload(
        hand, links[hand], Inertia.from_parameters(fit.phi), fit.deviations, inertia, before, fit.rms / effort_std,
        sum(part.seconds for part in parts), alone,
    )  # fmt: skip


def _ordered(recording: Recording, names: Sequence[str]) -> Recording:
    """Return the recording with its joints in the order of the first one."""
    if set(names) != set(recording.joint_names):
        raise RecordingError(
            f'{recording.source}: joints {", ".join(recording.joint_names)}, must be {", ".join(names)}, '
            'as in the first recording'
        )
    return recording.joints(names)


def _mass_by(part: _Rows) -> float:
    fit = _Fit([part], False)
    return math.nan if fit.undetermined else float(fit.phi[0])


def _rows_of(robot: Robot, link: str, recording: Recording) -> _Rows:
    motion = motion_only(recording)
    if motion.duration < MIN_BLOCKS * BLOCK:
        raise RecordingError(
            f'{recording.source}: {motion.duration:.1f} s of motion, must be at least {MIN_BLOCKS * BLOCK:g} s'
        )
    prepared = prepare(robot, motion)
    smoothed, n = prepared.smoothed.motion, len(motion.joint_names)
    every = slice(None, None, max(1, -(-len(smoothed.instant) // MAX_ROWS)))
    Y = regressor(prepared.robot, (link,), smoothed.q[every], smoothed.dq[every], smoothed.ddq[every])[:, :n]
    if not Y.any():
        raise RecordingError(f'{recording.source}: no joint of it moves {link}, so a payload there does not show')
    residual = predict(robot, motion, prepared).residual[prepared.smoothed.new][every]
    block = np.floor((smoothed.instant[every] - smoothed.instant[0]) / BLOCK)
    return _Rows(recording.source, Y, residual, block, motion.measured_effort.var(axis=0), motion.duration)


class _Fit:
    """Weighted least squares over all rows; the residuals weight the joints."""

    def __init__(self, parts: Sequence[_Rows], inertia: bool) -> None:
        self._Y = np.concatenate([part.Y for part in parts])
        self._effort = np.concatenate([part.residual for part in parts])
        numbers = [k * 1e6 + part.block for k, part in enumerate(parts)]
        self._block = np.unique(np.concatenate(numbers), return_inverse=True)[1]
        self._count = 10 if inertia else 4
        self.phi, self._weight = np.zeros(10), 1 / np.maximum(self._effort.var(axis=0), TINY)
        for _ in range(ROUNDS):
            self._solve()

    def _solve(self) -> None:
        """Solve for the parameters with the weights, then for the weights with the residuals."""
        k = self._count
        given = np.zeros(10)  # of a point mass, about the origin of the link
        if k < 10 and self.phi[0] > 0:
            com = self.phi[1:4] / self.phi[0]
            given[4:] = Inertia.point_mass(self.phi[0], com).parameters[4:]
        left = self._effort - self._Y @ given
        X = self._Y[..., :k]
        self.A = np.einsum('rji,j,rjk->ik', X, self._weight, X)
        self.phi = given.copy()
        self.phi[:k] = np.linalg.lstsq(self.A, np.einsum('rji,j,rj->i', X, self._weight, left), rcond=None)[0]
        self._residual = left - X @ self.phi[:k]
        self._weight = 1 / np.maximum(np.square(self._residual).mean(axis=0), TINY)

    @property
    def rms(self) -> Array:
        """RMS of the residuals (joints), N m."""
        return np.asarray(np.sqrt(np.square(self._residual).mean(axis=0)))

    @property
    def covariance(self) -> Array:
        """Covariance of the parameters; the rows of a block count as one."""
        scores = np.einsum('rji,j,rj->ri', self._Y[..., : self._count], self._weight, self._residual)
        sums = np.zeros((int(self._block.max()) + 1, self._count))
        np.add.at(sums, self._block, scores)
        inverse = np.linalg.inv(self.A)
        return np.asarray(inverse @ (sums.T @ sums) @ inverse)

    @property
    def deviations(self) -> Array:
        """Standard deviations (10) of mass, centre of mass and inertia about it."""
        D = derivative_by_parameters(self.phi)[: self._count, : self._count]
        found = np.zeros(10)
        found[: self._count] = np.sqrt(np.diag(D @ self.covariance @ D.T))
        return found

    @property
    def undetermined(self) -> str:
        """Why the motion does not determine the payload, or ''."""
        scale = np.array([1.0, *[LEVER] * 3, *[LEVER**2] * 6])[: self._count]
        values = np.linalg.eigvalsh(self.A * np.outer(scale, scale))
        return 'some of its numbers have no effect' if values[0] < MIN_RANK * values[-1] else self._uncertain()

    def _uncertain(self) -> str:
        mass, *moment = np.sqrt(np.diag(self.covariance))[:4]
        if mass > max(UNKNOWN_MASS, UNKNOWN_SHARE * abs(self.phi[0])):
            return f'mass {self.phi[0]:.3g} +- {mass:.2g} kg'
        if max(moment) > UNKNOWN_MOMENT:
            return f'mass times centre of mass +- {max(moment):.2g} kg m'
        return ''


def payload_parameters(found: Payload) -> str:
    """Return the text of a parameter file for the node, with the standard deviations."""
    sure = found.deviations
    numbers = {
        'mass': (f'{found.body.m:.6g}', sure[:1]),
        'com': (_listed(found.body.com), sure[1:4]),
        'inertia': (_listed(found.inertia_about_com), sure[4:]),
    }
    lines = [
        f'# Payload of {found.hand} ({found.link}), from {found.seconds:.1f} s of motion. Error of the efforts, RMSE '
        f'over their standard deviation, mean of the joints: {found.before.mean():.3f} without it, '
        f'{found.after.mean():.3f} with it.',
        '',
        '/**/krang_dynamics:',
        '  ros__parameters:',
        f'    {found.hand}:',
        '      payload:',
    ]
    for key, (value, deviations) in numbers.items():
        remark = f'+- {", ".join(f"{x:.2g}" for x in deviations)}' if deviations.any() else 'not fitted'
        lines.append(f'        {key}: {value}  # {remark}')
    return '\n'.join([*lines, ''])


def _listed(values: Array) -> str:
    return f'[{", ".join(f"{x:.6g}" for x in values)}]'
