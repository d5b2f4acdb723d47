"""From recordings and a robot to the robot's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from ..core.errors import ArgumentError
from ..core.optional import optional
from ..recordings.recording import Recording, RecordingError
from ..recordings.window import motion_only
from ..robot.drive import Friction, LoadShare, Presliding
from ..robot.robot import Joint, Robot
from .columns import crossing
from .cross_validation import Choice, held_out, thinned
from .identified import Identified
from .least_squares import Equations, Known, Noise, Solution, noise_of, solve
from .possible_bodies import possible
from .regressor import held, moved_links, with_parameters
from .samples import Samples, samples_of
from .structure import Structure

threadpools = optional('threadpoolctl', 'identification')
SHORTEST = 5.0  # s: less motion than this determines no arm
SMALLEST = 1e-3  # rad or m: a joint that moves less tells nothing of its friction
NOTHING = 1e-6  # N m: a torque that the solver left above zero


def identify(
    robot: Robot,
    recordings: Sequence[Recording],
    progress: Callable[[str], None] | None = None,
) -> Identified:
    """Identify a robot; in each recording the joints that do not count stood as it says, else at zero.

    `progress` hears what goes on.
    """
    with threadpools.threadpool_limits(1):  # the matrices are small: threads would wait for each other
        return _identify(robot, recordings, progress or (lambda _: None))


def _identify(robot: Robot, recordings: Sequence[Recording], report: Callable[[str], None]) -> Identified:
    report('finding the motion')
    names = recordings[0].joint_names
    arms = [held(robot, recording.stood, names) for recording in recordings]  # alike but for where others stand
    arm = arms[0]
    if arm.mimics:
        raise ArgumentError(f'{robot.name}: has joints that mimic others, whose regressor is not known; hold them')
    moving = [_worth(motion_only(recording), arm) for recording in recordings]
    links = moved_links(arm)
    known = Known.of([arm.link_of[link].inertia for link in links])

    @cache
    def at(cutoff: float) -> Samples:
        return samples_of(arms, moving, cutoff)

    choice = Choice(cache(lambda cutoff: thinned(at(cutoff))), known, report)
    structure = choice.best().structure
    samples = at(structure.cutoff)
    report('fitting')
    solution, noise = _fit(samples, structure, known)
    report('predicting what was left out')
    unseen = held_out(samples, structure, known, noise)
    found = _with_joints(with_parameters(robot, links, solution.phi), names, solution)
    return Identified(
        replace(found, cutoff=structure.cutoff), names, links, structure, solution, samples, unseen,
        tuple(choice.trials), tuple(recording.source for recording in recordings),
    )  # fmt: skip


def _worth(recording: Recording, arm: Robot) -> Recording:
    """Return the recording, or refuse one that determines nothing."""
    effort = recording.measured_effort
    if recording.duration < SHORTEST:
        raise RecordingError(
            f'{recording.source}: {recording.duration:.1f} s of motion, must be {SHORTEST:g} s at least'
        )
    still = [
        name
        for name, q, tau in zip(recording.joint_names, recording.position.T, effort.T, strict=True)
        if np.ptp(q) < SMALLEST or np.ptp(tau) == 0
    ]
    if still:
        raise RecordingError(
            f'{recording.source}: {", ".join(still)}: stands still or its effort never changes, which determines '
            f'nothing; move it, or leave its column out (of {arm.n} joints)'
        )
    return recording


def _fit(samples: Samples, structure: Structure, known: Known) -> tuple[Solution, Noise]:
    """Fit all rows, each joint counting for how well it is explained."""
    noise = noise_of(samples, structure, known)
    equations = Equations(samples, np.ones(len(samples.phase), dtype=bool), noise, structure)
    start = solve(equations, structure, known, samples.spread)
    return possible(equations, start, known, samples), noise


def _with_joints(robot: Robot, names: Sequence[str], solution: Solution) -> Robot:
    """Return the robot with the friction and rotors that were found."""
    cross = crossing(solution.structure, solution.pilot.viscous)
    factors = [dict(zip(solution.structure.columns, row, strict=True)) for row in solution.factors.tolist()]
    new = {
        name: _joint(joint, found, solution.structure, float(at))
        for name, found, at in zip(names, factors, cross, strict=True)
        for joint in robot.joints
        if joint.name == name
    }
    return replace(robot, joints=tuple(new.get(joint.name, joint) for joint in robot.joints))


def _joint(joint: Joint, found: Mapping[str, float], structure: Structure, cross: float) -> Joint:
    """Return a joint with its rotor inertia and friction; the motor's own viscous friction is in the joint's."""
    motor = replace(
        joint.motor,
        rotor_inertia=found['rotor_inertia'] / joint.motor.gear_ratio**2,
        viscous=0.0,
        effort_offset=found.get('offset', 0.0),
    )
    presliding = tuple(
        Presliding(torque, distance)
        for k, distance in enumerate(structure.presliding)
        if (torque := found[f'presliding {k + 1}']) > NOTHING
    )
    load = None
    if structure.load_share:
        pushing, braking = (max(0.0, 1 + found[name]) for name in ('pushing', 'braking'))
        load = LoadShare(pushing, braking, cross, structure.load_velocity)
    friction = Friction(found['viscous'], found['coulomb'], structure.coulomb_velocity, presliding, load)
    return replace(joint, motor=motor, friction=friction)
