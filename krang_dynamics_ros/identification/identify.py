"""From recordings and a robot to the robot's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from ..core.optional import optional
from ..effects.coupling import CouplingEffect
from ..recordings.recording import Recording, RecordingError
from ..recordings.window import motion_only
from ..robot.robot import Robot
from .arm import Arm
from .bodies_prior import BodiesPrior
from .choice import CUTOFFS, MAX_CUTOFF, Choice
from .gram import Gram
from .identified import Identified
from .last_fit import last_fit
from .samples import Run, Samples, samples_of, with_moved

threadpools = optional('threadpoolctl', 'identification')
MIN_MOTION = 1e-3  # rad or m: a joint that moves less tells nothing of its friction


def identify(
    robot: Robot,
    recordings: Sequence[Recording],
    progress: Callable[[str], None] | None = None,
) -> Identified:
    """Identify a robot; in each recording the joints that do not count stood or moved as it says, else were at zero.

    `progress` is told what is being done.
    """
    with threadpools.threadpool_limits(1):  # the matrices are small: threads would wait for each other
        return _identify(robot, recordings, progress or (lambda _: None))


def _identify(robot: Robot, recordings: Sequence[Recording], progress: Callable[[str], None]) -> Identified:
    progress('finding the motion')
    moved = dict.fromkeys(name for recording in recordings for name in recording.moved)
    runs = [run_of(robot, _checked(motion_only(recording)), [*moved]) for recording in recordings]
    prior = BodiesPrior.of(runs[0].arm.phi)
    names = recordings[0].joint_names
    pairs = neighbours(runs[0].arm.robot, names)

    @cache
    def samples_at(cutoff: float) -> Samples:
        progress(f'smoothing at {cutoff:g} Hz')
        return samples_of(runs, cutoff)

    @cache
    def gram_at(cutoff: float) -> Gram:
        return Gram.of(samples_at(cutoff), runs, prior, pairs)

    rate = min(run.recording.rate for run in runs)
    cutoffs = [f for f in CUTOFFS if f <= MAX_CUTOFF * rate * (1 + 1e-9)] or [MAX_CUTOFF * rate]
    choice = Choice(gram_at, cutoffs, progress)
    structure = choice.best(len(names)).structure
    progress('fitting')
    fit = last_fit(gram_at(structure.cutoff), samples_at(structure.cutoff), runs, structure)
    return Identified.of(robot, runs, samples_at(structure.cutoff), fit, choice.trials)


def run_of(robot: Robot, motion: Recording, moved: Sequence[str] = ()) -> Run:
    """Return the motion of an arm whose recorded joints all move; last those that do not count but `moved`."""
    names = dict.fromkeys((*motion.joint_names, *motion.moved, *moved))
    arm = Arm.of(robot, [*names], {name: q for name, q in motion.stood.items() if name not in names})
    return Run(arm, with_moved(motion, [*names][len(motion.joint_names) :]), tuple(range(len(motion.joint_names))))


def neighbours(robot: Robot, names: Sequence[str]) -> tuple[CouplingEffect, ...]:
    """Return the couplings that may be: of joints that count, one carrying the other with none that counts between."""
    above = {}
    for joint in robot.outward:
        if joint.name in names:
            carriers = [other.name for other in robot.chain(joint.parent) if other.name in names]
            above[joint.name] = carriers[-1:]
    found = [sorted((names.index(name), names.index(other))) for name in names for other in above[name]]
    return tuple(CouplingEffect(j, k, sign) for j, k in found for sign in (1, -1))


def _checked(motion: Recording) -> Recording:
    """Return the motion, or refuse joints of which it says nothing."""
    still = [
        name
        for name, q, tau in zip(motion.joint_names, motion.position.T, motion.measured_effort.T, strict=True)
        if np.ptp(q) < MIN_MOTION or np.ptp(tau) == 0
    ]
    if still:
        raise RecordingError(
            f'{motion.source}: {", ".join(still)}: stands still or its effort never changes, which determines '
            f'nothing; move it, or leave its column out (of {len(motion.joint_names)} joints)'
        )
    return motion
