"""A robot as a Pinocchio model, put together joint by joint: what was read and checked is what is computed with.

Pinocchio's own URDF reader drops an inertial that it cannot read with a word on stderr only, recurses link by link, and
knows joints by name, its own `universe` among them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from ..core.errors import Fault, RobotError
from ..core.inertia import Inertia
from ..robot.robot import Joint, Robot

MOST_JOINTS = 200  # that move; Pinocchio keeps some 70 n^3 bytes for derivatives that nobody asks for here, 0.5 GB then
_TURNING = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
_SLIDING = (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)


class Tree(NamedTuple):
    """A model, and where in it a robot's parts are."""

    model: pin.Model
    frames: dict[str, int]  # by link: its frame
    places: dict[str, int]  # by joint that moves: its entry in Pinocchio's vectors


def tree_of(robot: Robot) -> Tree:
    """Return a robot's model. Mimicking joints move freely in it, like any other."""
    moving = sum(joint.moves for joint in robot.joints)
    if moving > MOST_JOINTS:
        fault = Fault('joints', f'{moving} that move', f'must be {MOST_JOINTS} at most; base_link takes a part')
        raise RobotError(f"robot '{robot.name}'", [fault])
    tree = Tree(pin.Model(), {}, {})
    tree.model.name = robot.name
    stands = {robot.base: (0, pin.SE3.Identity())}  # by link: the joint that moves it, and its place there
    _add_link(tree, robot, robot.base, *stands[robot.base])
    for joint in _depth_first(robot):
        at, above = stands[joint.parent]
        placement = above * pin.SE3(joint.rotation, joint.position)
        if joint.moves:
            at = tree.model.addJoint(at, _model_of(joint), placement, joint.name)
            tree.places[joint.name] = tree.model.joints[at].idx_v
            placement = pin.SE3.Identity()
        stands[joint.child] = at, placement
        _add_link(tree, robot, joint.child, at, placement)
    return tree


def _depth_first(robot: Robot) -> list[Joint]:
    """Return all joints so that what one carries stands together behind it: Pinocchio counts on that."""
    carried: dict[str, list[Joint]] = {}
    for joint in reversed(robot.joints):
        carried.setdefault(joint.parent, []).append(joint)
    order, waiting = [], [*carried.get(robot.base, [])]
    while waiting:
        order.append(waiting.pop())
        waiting += carried.get(order[-1].child, [])
    return order


def _add_link(tree: Tree, robot: Robot, name: str, at: int, placement: pin.SE3) -> None:
    tree.model.appendBodyToJoint(at, _body_of(robot.link_of[name].inertia), placement)
    tree.frames[name] = tree.model.addBodyFrame(name, at, placement, 0)


def _body_of(inertia: Inertia) -> pin.Inertia:
    """Return an inertia by its parts: the constructor refuses those that no body can have."""
    body = pin.Inertia.Zero()
    body.mass, body.lever, body.inertia = inertia.m, inertia.com, inertia.I_G
    return body


def _model_of(joint: Joint) -> pin.JointModel:
    """Return Pinocchio's joint: one of its quick ones if the axis is x, y or z."""
    quick, other = (
        (_SLIDING, pin.JointModelPrismaticUnaligned)
        if joint.kind == 'prismatic'
        else (_TURNING, pin.JointModelRevoluteUnaligned)
    )
    along = np.flatnonzero(joint.axis == 1.0)
    return quick[along[0]]() if len(along) else other(np.array(joint.axis))
