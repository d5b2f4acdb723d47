"""The joints of a robot, sorted for the page."""

from __future__ import annotations

import numpy as np

from ..dynamics.dynamics import Dynamics
from ..robot.robot import Limits, Robot

MANY = 20  # joints: fewer are one group
FEW = 8  # links to grip, at most
APART = 0.15  # of what lies between all of them and the base: nearer ones are one hand, as fingers are


def limits_of(robot: Robot) -> dict[str, Limits]:
    """Return the limits of every joint with a coordinate, by name. None in them is not known."""
    return {joint.name: joint.limits or Limits(None, None) for joint in robot.moving_joints}


def leaves(robot: Robot, dynamics: Dynamics) -> list[str]:
    """Return links to grip a robot at whose hands nobody names: some that move and carry none, far from each other."""
    carrying = {joint.parent for joint in robot.joints}
    moved = movers(robot)
    ends = [joint.child for joint in robot.joints if joint.child not in carrying and joint.child in moved]
    q = np.zeros(dynamics.n)
    at = np.array([dynamics.pose(q, link)[1] for link in ends]).reshape(-1, 3)
    base = dynamics.pose(q, robot.base)[1]
    apart = APART * float(np.ptp([base, *at], axis=0).max())
    gap = np.linalg.norm(at - base, axis=1)  # to the base, then to what is chosen
    chosen: list[str] = []
    while len(chosen) < min(FEW, len(ends)) and (not chosen or gap.max() > apart):
        farthest = int(gap.argmax())
        chosen.append(ends[farthest])
        gap = np.minimum(gap if len(chosen) > 1 else np.inf, np.linalg.norm(at - at[farthest], axis=1))
    return chosen


def movers(robot: Robot) -> dict[str, str]:
    """Return, by link, the last joint before it that has a coordinate; links that stand still have none."""
    names = set(robot.joint_names)
    of: dict[str, str] = {}
    for joint in robot.outward:
        own = robot.mimics[joint.name].joint if joint.name in robot.mimics else joint.name
        if mover := own if own in names else of.get(joint.parent, ''):
            of[joint.child] = mover
    return of


def groups_of(robot: Robot) -> dict[str, list[str]]:
    """Return the joints by group: one for each part of the tree that does not branch, if there are many."""
    if robot.n <= MANY:
        return {'joints': list(robot.joint_names)}
    moving = {joint.name for joint in robot.moving_joints}
    carried: dict[str, int] = {}  # by link: the joints on it that move, or that carry one that does
    for joint in reversed(robot.outward):
        carried[joint.parent] = carried.get(joint.parent, 0) + (joint.name in moving or carried.get(joint.child, 0) > 0)
    groups: dict[str, list[str]] = {}
    of_link = {robot.base: ''}  # the group that goes on from a link
    for joint in robot.outward:
        group = of_link[joint.parent] if carried[joint.parent] == 1 else ''
        if joint.name in moving:
            group = group or joint.name
            groups.setdefault(group, []).append(joint.name)
        of_link[joint.child] = group
    return {_title(names): names for names in groups.values()}


def _title(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f'{names[0]} ... {names[-1]}'
