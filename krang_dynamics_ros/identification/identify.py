"""Identification of a robot from recordings: new parameters, held-out errors, standard deviations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from ..core.inertia import derivative_by_parameters
from ..core.optional import optional
from ..core.spatial import Array
from ..effects.coupling import CouplingEffect
from ..effects.presliding import Presliding
from ..recordings.derivatives import smoothing_spline
from ..recordings.recording import Recording, RecordingError, motion_only
from ..robot.motor_and_friction import Friction
from ..robot.robot import Joint, Robot
from .bodies_prior import BodiesPrior
from .choice import CUTOFFS, MAX_CUTOFF, Choice, Trial
from .fit import Fit, last_fit
from .gram import Gram
from .merged_robot import with_bodies
from .samples import ArmMotion, Samples, samples_of
from .structure import Structure

threadpools = optional('threadpoolctl', 'identification')
MIN_MOTION = 1e-3  # rad or m: a smaller motion does not determine friction
DETERMINED = 0.5  # of the prior's standard deviation: above, the prior and not the data determines a number
UNEXPLAINED = 0.9  # held-out error from which a joint gets a warning: a constant predicts as well
SHORT = 10.0  # s of motion: less determines little more than friction and the heavy links
RANK = 1e-9  # of the largest singular value: smaller values are combinations that no motion shows
RANDOM_STATES = 200


def identify(
    robot: Robot, recordings: Sequence[Recording], progress: Callable[[str], None] = lambda _: None
) -> Identified:
    """Identify a robot from recordings of the same joints; `progress` gets each step as text.

    A joint whose effort is not used follows its recorded positions, or stays at its resting position, or at zero if
    nothing is known.
    """
    with threadpools.threadpool_limits(1):  # the matrices are small: threads would wait for each other
        progress('finding the motion')
        motions = _motions(robot, recordings)
        names, merged = recordings[0].joint_names, motions[0].merged
        prior, pairs = BodiesPrior.of(merged.phi), neighbours(merged.robot, names)

        @cache
        def samples_at(cutoff: float) -> Samples:
            progress(f'smoothing at {cutoff:g} Hz')
            return samples_of(motions, cutoff)

        @cache
        def gram_at(cutoff: float) -> Gram:
            return Gram.of(samples_at(cutoff), motions, prior, pairs)

        choice = Choice(gram_at, _cutoffs(motions), progress)
        structure = choice.best(len(names)).structure
        progress('fitting')
        samples = samples_at(structure.cutoff)
        fit = last_fit(gram_at(structure.cutoff), samples, motions, structure)
        return Identified.of(robot, motions, samples, fit, choice.trials)


def _motions(robot: Robot, recordings: Sequence[Recording]) -> list[ArmMotion]:
    """Return the motion of each recording; all have the same joints."""
    moving = dict.fromkeys(name for recording in recordings for name in recording.moving_uncounted)
    return [ArmMotion.of(robot, _checked(motion_only(recording)), [*moving]) for recording in recordings]


def _checked(motion: Recording) -> Recording:
    """Return the motion; refuse joints that it does not determine."""
    still = [
        name
        for name, q, tau in zip(motion.joint_names, motion.position.T, motion.measured_effort.T, strict=True)
        if np.ptp(q) < MIN_MOTION or np.ptp(tau) == 0
    ]
    if still:
        raise RecordingError(
            f'{motion.source}: {", ".join(still)}: stands still or its effort never changes, must move '
            f'and be measured; move it, or leave its column out'
        )
    return motion


def _cutoffs(motions: Sequence[ArmMotion]) -> list[float]:
    """Return the cut-offs (Hz) to try: those that the slowest recording allows."""
    rate = min(motion.recording.rate for motion in motions)
    return [f for f in CUTOFFS if f <= MAX_CUTOFF * rate * (1 + 1e-9)] or [MAX_CUTOFF * rate]


def neighbours(robot: Robot, names: Sequence[str]) -> tuple[CouplingEffect, ...]:
    """Return the possible couplings: of a counted joint and the next counted one that carries it, lower index first."""
    above = {}
    for joint in robot.outward:
        if joint.name in names:
            carriers = [other.name for other in robot.chain(joint.parent) if other.name in names]
            above[joint.name] = carriers[-1:]
    found = [sorted((names.index(name), names.index(other))) for name in names for other in above[name]]
    return tuple(CouplingEffect(j, k, sign) for j, k in found for sign in (1, -1))


@dataclass(frozen=True, eq=False)
class Identified:
    """Result of an identification, for the counted joints in their order."""

    robot: Robot  # the whole robot, with new numbers
    joint_names: tuple[str, ...]
    # the child of each joint that moves in the recordings; its body includes the links fixed to it
    links: tuple[str, ...]
    # `links`, and links fixed to them whose mass was reduced so that the bodies of `links` stay physically possible
    changed_links: tuple[str, ...]
    fit: Fit
    samples: Samples
    base_rank: int  # number of base parameters
    duration: float  # s of motion
    trials: tuple[Trial, ...]
    sources: tuple[str, ...]

    @classmethod
    def of(
        cls, robot: Robot, motions: Sequence[ArmMotion], samples: Samples, fit: Fit, trials: Sequence[Trial]
    ) -> Identified:
        """Return the result, with the fitted numbers in the robot."""
        first = motions[0]
        names = tuple(first.recording.joint_names[j] for j in first.counted)
        found = with_bodies(robot, first.recording.joint_names, first.recording.resting, fit.phi)
        changed = [link.name for link in found.links if link.inertia is not robot.link_of[link.name].inertia]
        return cls(
            replace(_with_effects(found, names, fit), cutoff=fit.structure.cutoff), names, first.merged.links,
            tuple(changed), fit, samples, _base_rank(first), sum(motion.recording.duration for motion in motions),
            tuple(trials), tuple(motion.recording.source for motion in motions),
        )  # fmt: skip

    @property
    def structure(self) -> Structure:
        """The effects that were chosen."""
        return self.fit.structure

    @cached_property
    def errors(self) -> Array:
        """RMSE over standard deviation (joints) of the raw effort on held-out data."""
        return self._relative(self.samples.effort - self.fit.held_out)

    @cached_property
    def smooth_errors(self) -> Array:
        """The same with both efforts smoothed at the cut-off, over the standard deviation of the raw effort."""
        return self._relative(self._smooth(self.samples.effort - self.fit.held_out))

    @property
    def floor(self) -> Array:
        """The part of the efforts (joints) that no smooth motion explains: raw errors cannot be less."""
        return self.samples.floor

    def _relative(self, residual: Array) -> Array:
        return np.asarray(np.sqrt(np.square(residual).mean(axis=0)) / self.samples.effort_std)

    def _smooth(self, values: Array) -> Array:
        s = self.samples
        parts = [(s.time[s.recording_index == k], values[s.recording_index == k]) for k in np.unique(s.recording_index)]
        return np.concatenate([smoothing_spline(t, x, s.cutoff)(t) for t, x in parts])

    @property
    def warnings(self) -> list[str]:
        """Warnings to a person before the numbers are used."""
        bad = [
            f'{name} ({error:.2f})'
            for name, error in zip(self.joint_names, self.errors, strict=True)
            if error >= UNEXPLAINED
        ]
        lighter = [link for link in self.changed_links if link not in self.links]
        return [
            *(
                [f'not explained: {", ".join(bad)}; a constant predicts as well. The mean error includes them']
                if bad
                else []
            ),
            *(
                [f'{self.duration:.1f} s of motion, less than {SHORT:g} s: many numbers stay those of the robot file']
                if self.duration < SHORT
                else []
            ),
            *(
                [f'lighter than in the robot file, as their joint carries less: {", ".join(lighter)}']
                if lighter
                else []
            ),
            *(f'{name}: {words}' for name, words in self.beyond_limits.items()),
        ]

    @property
    def beyond_limits(self) -> dict[str, str]:
        """Warnings about joints whose recorded efforts are beyond the limits of the robot file, by name."""
        limits = {joint.name: joint.limits.effort for joint in self.robot.joints if joint.limits}
        peaks = zip(self.joint_names, np.abs(self.samples.effort).max(axis=0), strict=True)
        return {
            name: f'efforts of up to {peak:.4g} were recorded, above limits.effort {limit:g}: correct the limit'
            for name, peak in peaks
            if (limit := limits.get(name)) is not None and peak > limit
        }

    def factors(self, joint: int) -> list[tuple[str, float, float]]:
        """Return name, value and standard deviation of each number of a joint's effects.

        The value of a load share (`pushing`, `braking`) is 1 + its factor.
        """
        names, at = self.structure.names(joint), self.fit.unknowns.factors[joint]
        deviations = np.sqrt(np.diag(self.fit.certainty.covariance)[at])
        values = self.fit.x[at] + [name in ('pushing', 'braking') for name in names]
        return [(n, float(v), float(d)) for n, v, d in zip(names, values, deviations, strict=True)]

    def coupling_deviation(self, k: int) -> Array:
        """Return the standard deviations of v and c of a coupling."""
        return np.asarray(np.sqrt(np.diag(self.fit.certainty.covariance)[self.fit.unknowns.coupling(k)]))

    def body_deviation(self, k: int) -> tuple[Array, Array]:
        """Return the standard deviations (10) of mass, centre of mass and inertia about it, and those of the prior."""
        at = slice(10 * k, 10 * k + 10)
        D = derivative_by_parameters(self.robot.link_of[self.links[k]].inertia.parameters)
        both = self.fit.certainty.covariance[at, at], self.fit.certainty.prior[at, at]
        found, known = (np.sqrt(np.diag(D @ C @ D.T)) for C in both)
        return found, known

    def is_determined(self, k: int) -> Array:
        """Return which of a link's ten numbers (10) the data determine, not the prior alone."""
        found, known = self.body_deviation(k)
        return np.asarray(found < DETERMINED * known)

    @property
    def combinations(self) -> int:
        """Number of combinations of the bodies' numbers on which the data weigh more than the prior."""
        root = np.linalg.cholesky(self.fit.certainty.prior)
        return int((np.linalg.eigvalsh(root.T @ self.fit.certainty.information @ root) > 1).sum())

    @property
    def combinations_text(self) -> str:
        """Return, as text, how many combinations are determined by the data."""
        return (
            f'{self.combinations} of {self.base_rank} identifiable combinations of masses and inertias are determined '
            'more by the recordings than by the robot file'
        )


def _base_rank(motion: ArmMotion) -> int:
    """Return the rank of the bodies' regressor over random states: the number of base parameters."""
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, RANDOM_STATES, motion.merged.robot.n))
    Y = motion.merged.regressor(q, dq, ddq)[:, list(motion.counted)]
    Y = Y.reshape(-1, Y.shape[2])
    size = np.linalg.norm(Y, axis=0)
    values = np.linalg.svd(Y / np.where(size > 0, size, 1.0), compute_uv=False)
    return int((values > RANK * values[0]).sum())


def _with_effects(robot: Robot, names: Sequence[str], fit: Fit) -> Robot:
    """Return the robot whose counted joints have the fitted effects and no others; the other joints keep theirs."""
    joints = tuple(_joint(robot, joint, names, fit) for joint in robot.joints)
    others = tuple(pair for pair in robot.couplings if not set(pair.joints) <= set(names))
    pairs = [pair.value(names, fit.coupling_factors(k).tolist()) for k, pair in enumerate(fit.structure.couplings)]
    couplings = tuple(pair for pair in pairs if pair.viscous or pair.coulomb)
    return replace(robot, joints=joints, couplings=(*others, *couplings))


def _joint(robot: Robot, joint: Joint, names: Sequence[str], fit: Fit) -> Joint:
    """Return a joint with its effects; those of a mimic joint are part of the joint that it follows."""
    follows = robot.mimics[joint.name].joint if joint.name in robot.mimics else ''
    if joint.name not in names and follows not in names:
        return joint
    motor = replace(joint.motor, rotor_inertia=0.0, viscous=0.0, effort_offset=0.0)
    joint = replace(joint, motor=motor, friction=Friction(), other_effects=())
    if follows:
        return joint
    j = names.index(joint.name)
    factors, at = fit.factors(j).tolist(), 0
    for effect in fit.structure.joints[j]:
        own = factors[at : at + len(effect.names)]
        fitted, at = effect.fitted(own, float(fit.crossing[j])), at + len(own)
        if not isinstance(fitted, Presliding) or fitted.torque:
            joint = joint.with_effect(fitted)
    return joint
