"""Comparison of a backend with the report's Lagrangian and with Newton-Euler, at random states, term by term.

The two witnesses use neither Pinocchio nor the URDF text that it gets, only the numbers of the `Robot`. If these were
read from a URDF, a mistake in that reading is common to both sides and is not found, unless Pinocchio gets the text of
that file itself (`krang check FILE --urdf FILE`). The laws (symmetry, skew symmetry, inversion) need no witness, except
for dA/dt, which is the Lagrangian's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..equations import report_print
from ..robot.robot import Robot
from .witnesses import (
    Compared,
    States,
    WrenchSets,
    by_backend,
    by_lagrangian,
    by_newton_euler,
    by_regressor,
    on_moving_base,
    random_payload,
    random_states,
    random_wrenches,
)

TOLERANCE = 1e-9  # relative to the largest value that a quantity takes
MIN_SCALE = 1e-12  # a quantity that stays below (in its SI unit) counts as zero: its difference is absolute
CHUNK = 8  # states at a time: the Lagrangian's arrays then fit into the processor's cache
FEW_STATES = 32  # for the regressor and the moving base, which cost as much as all other comparisons

COMPARED = {
    'iT_j': ("the report's transforms, as printed", '6'),
    '0T_j': ('frame of every link', '6'),
    'A': ('inertia matrix, rotors included', '2, 18'),
    'C': ('Coriolis matrix', '4'),
    'C dq': ('Coriolis and centrifugal torque', '4'),
    'Q': ('gravity torque', '5'),
    'Gamma': ('inverse dynamics', '3'),
    'Gamma mean': ('inverse dynamics, mean over a step', '3'),
    'Y phi': ('inverse dynamics, by the regressor', '3'),
    'Gamma w0': ('inverse dynamics, the base moves', '7, 8'),
    'f_0': ('wrench on the base, which moves', '7, 8'),
    'J^T f': ('wrench torque, on hands and anywhere', '16'),
    'f': ('wrenches on hands, estimated from torques', '16'),
    'Gamma_f': ('friction torque', '17'),
    'E': ('kinetic energy', '11'),
    'U': ('potential energy', '15'),
    'S': ('centre of mass', '10'),
    'A - A^T': ('is zero: A is symmetric', '2'),
    'dA/dt - 2C': ('is skew-symmetric', '4'),
    'ddq': ('forward dynamics inverts inverse dynamics', '3'),
}


@dataclass
class Finding:
    """The largest difference of one quantity between a backend and a witness, and its place."""

    difference: float = 0.0  # absolute, over all states
    scale: float = 0.0  # the largest value of the quantity, over all states
    where: str = ''  # the joint or link of the largest difference

    def add(self, mine: Array, theirs: Array, labels: Sequence[str]) -> None:
        """Add a few states: arrays (states, ...); `labels` name the second axis."""
        if not mine.size:
            return
        gap = np.abs(mine - theirs)
        gap[np.isnan(gap)] = np.inf
        self.scale = max(self.scale, float(np.abs(theirs).max()))
        if gap.max() > self.difference:
            self.difference = float(gap.max())
            self.where = labels[int(np.unravel_index(gap.argmax(), gap.shape)[1])] if labels else ''

    @property
    def relative(self) -> float:
        """The difference relative to the scale; infinite if a number is NaN."""
        return self.difference / self.scale if self.scale > MIN_SCALE else self.difference

    @property
    def agrees(self) -> bool:
        """Whether it is within the tolerance."""
        return self.relative <= TOLERANCE


Findings = dict[tuple[str, str], Finding]  # by quantity and witness


def prove(
    robot: Robot, dynamics: Dynamics, states: int = 100, seed: int = 0, progress: Callable[[int], None] | None = None
) -> Findings:
    """Compare every quantity at random states; `progress` gets the number of states that are done.

    In every other chunk of states each hand carries a random payload. `Dynamics` gets it by its setter, the witnesses
    as data of their robot. Afterwards the payload of `dynamics` is as before.
    """
    drawn, rng = random_states(robot, states, seed), np.random.default_rng([seed, 1])
    links = [name for name in robot.link_of if name in dynamics.link_names]
    findings: Findings = {}
    carried = dynamics.payload
    try:
        for start in range(0, states, CHUNK):
            part = States(*(x[start : start + CHUNK] for x in drawn))
            payload = random_payload(robot, links, rng) if start // CHUNK % 2 == 0 else {}
            dynamics.payload = payload
            laden, few = robot.carrying(payload), start < FEW_STATES
            pairs = [_pairs(laden, dynamics, part, random_wrenches(robot, links, rng), links, few)]
            if few and dynamics.base_may_turn:
                pairs.append(on_moving_base(laden, dynamics, rng, len(part.q)))
            for witness, quantity, mine, theirs in chain.from_iterable(pairs):
                finding = findings.setdefault((quantity, witness), Finding())
                finding.add(mine, theirs, _labels(robot, quantity, links))
            if progress:
                progress(min(start + CHUNK, states))
    finally:
        dynamics.payload = carried
    return findings


def _pairs(
    robot: Robot, dynamics: Dynamics, s: States, wrenches: WrenchSets, links: Sequence[str], regressed: bool
) -> Iterator[Compared]:
    """Yield (witness, quantity, our value, the witness's value) for a few states; `regressed`: the regressor too."""
    hands = [link for link in robot.hands.values() if link in links]
    ours = by_backend(dynamics, s, wrenches, links, hands)
    if regressed:
        ours['Y phi'] = by_regressor(robot, s)
    lagrangian, recursive = by_lagrangian(robot, s, wrenches, links, hands), by_newton_euler(robot, s, wrenches)
    for quantity, mine in ours.items():
        if quantity in lagrangian:
            yield 'Lagrangian', quantity, mine, lagrangian[quantity]
        if quantity in recursive:
            yield 'Newton-Euler', quantity, mine, recursive[quantity]
    if report_print.is_printed(robot.name, robot.lengths, robot.joint_names) and len(links) == len(robot.links):
        yield (
            'Lagrangian',
            'iT_j',
            *against_report(robot, s, dict(zip(links, np.moveaxis(ours['0T_j'], 1, 0), strict=True))),
        )
    yield from _laws(dynamics, s, ours, lagrangian['dA/dt'])


def _laws(dynamics: Dynamics, s: States, ours: dict[str, Array], dA_dt: Array) -> Iterator[Compared]:
    """Yield the laws that our numbers must satisfy, with dA/dt from a witness."""
    A, N = ours['A'], dA_dt - 2 * ours['C']
    yield 'law', 'A - A^T', A, np.swapaxes(A, 1, 2)
    yield 'law', 'dA/dt - 2C', N, -np.swapaxes(N, 1, 2)
    again = [dynamics.forward_dynamics(q, dq, torque) for q, dq, torque in zip(s.q, s.dq, ours['Gamma'], strict=True)]
    yield 'law', 'ddq', np.array(again), s.ddq


def against_report(robot: Robot, s: States, placed: dict[str, Array]) -> tuple[Array, Array]:
    """Return iT_j of every joint (states, joints, 3, 4): from the links' frames in the base, and as printed."""
    printed = report_print.transforms(robot.lengths, {name: s.q[:, k] for k, name in enumerate(robot.joint_names)})
    mine, theirs = [], []
    for joint in robot.moving_joints:
        above, below = placed[joint.parent], placed[joint.child]
        below_in_base = np.concatenate([below[..., :3], below[..., 3:] - above[..., 3:]], axis=-1)
        mine.append(np.swapaxes(above[..., :3], 1, 2) @ below_in_base)
        theirs.append(
            np.array([[np.broadcast_to(entry, len(s.q)) for entry in row] for row in printed[joint.name][:3]])
        )
    return np.stack(mine, axis=1), np.moveaxis(np.array(theirs, dtype=float), -1, 0)


def _labels(robot: Robot, quantity: str, links: Sequence[str]) -> Sequence[str]:
    """Return the names along the first axis behind the states."""
    if quantity == 'S':
        return 'xyz'
    return () if quantity in ('E', 'U', 'f', 'f_0') else links if quantity == '0T_j' else robot.joint_names
