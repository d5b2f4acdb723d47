"""What identification found: the robot with its new numbers, how well it says the unseen, how sure each number is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.inertia import Inertia
from ..core.spatial import Array, upper_triangle
from ..robot.robot import Robot
from .cross_validation import Trial
from .least_squares import Solution
from .samples import Samples
from .structure import Structure

TOLD = 0.5  # of the prior's standard deviation: a number that stays above is the prior's, not the data's


@dataclass(frozen=True, eq=False)
class Identified:
    """What was found. Joints are those that were recorded, in their order."""

    robot: Robot  # whole, with its new numbers
    joint_names: tuple[str, ...]
    links: tuple[str, ...]  # those that the recorded joints move
    structure: Structure
    solution: Solution
    samples: Samples
    unseen: Array  # (rows, joints): the effort predicted of rows that were left out
    trials: tuple[Trial, ...]
    sources: tuple[str, ...]

    @property
    def errors(self) -> Array:
        """RMSE over standard deviation (joints) of the effort on rows left out."""
        residual = self.samples.effort - self.unseen
        return np.asarray(np.sqrt(np.square(residual).mean(axis=0)) / self.samples.spread)

    @property
    def beyond_limits(self) -> dict[str, str]:
        """What to say of joints whose recorded efforts are more than the robot file's limits allow, by name."""
        limits = {joint.name: joint.limits.effort for joint in self.robot.joints if joint.limits}
        peaks = zip(self.joint_names, np.abs(self.samples.effort).max(axis=0), strict=True)
        return {
            name: f'efforts of up to {peak:.4g} were recorded, and limits.effort is {limit:g}: correct it'
            for name, peak in peaks
            if (limit := limits.get(name)) is not None and peak > limit
        }

    def deviation(self, joint: int, column: str) -> float:
        """Return the standard deviation of a joint's factor."""
        columns = self.structure.columns
        at = len(self.solution.phi) + joint * len(columns) + columns.index(column)
        return float(np.sqrt(self.solution.covariance[at, at]))

    def body_deviation(self, link: int) -> tuple[Array, Array]:
        """Return the standard deviations (10) of mass, centre of mass and inertia about it, and the prior's."""
        at = slice(10 * link, 10 * link + 10)
        D = _by_parameters(self.solution.phi[at])
        known = np.linalg.inv(self.solution.prior[at, at])
        return tuple(np.sqrt(np.diag(D @ C @ D.T)) for C in (self.solution.covariance[at, at], known))  # type: ignore[return-value]

    def told(self, link: int) -> Array:
        """Tell of a link's ten numbers (10) whether the data determine them, or the prior alone does."""
        found, known = self.body_deviation(link)
        return np.asarray(found < TOLD * known)

    @property
    def combinations(self) -> int:
        """How many combinations of the bodies' numbers the recording says more of than the prior.

        The joints' own factors are unknown as well: what they could explain is taken off (a Schur complement).
        """
        p = len(self.solution.phi)
        M, P = self.solution.information, self.solution.prior
        data = M[:p, :p] - M[:p, p:] @ np.linalg.solve(M[p:, p:] + P[p:, p:], M[p:, :p])
        inverse = np.linalg.inv(np.linalg.cholesky(P[:p, :p]))
        return int((np.linalg.eigvalsh(inverse @ data @ inverse.T) > 1).sum())


def _by_parameters(phi: Array) -> Array:
    """Return the derivative (10, 10) of mass, com and inertia about it by the ten parameters."""

    def written(parameters: Array) -> Array:
        body = Inertia.from_parameters(parameters)
        return np.concatenate([[body.m], body.com, upper_triangle(body.I_G)])

    step = 1e-6 * np.maximum(np.abs(phi), 1e-3 * phi[0])
    return np.stack(
        [(written(phi + h * e) - written(phi - h * e)) / (2 * h) for h, e in zip(step, np.eye(10), strict=True)], axis=1
    )
