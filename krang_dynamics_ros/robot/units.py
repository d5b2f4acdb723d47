"""The units of a joint's numbers: a joint that slides has others than one that turns."""

from __future__ import annotations

from typing import NamedTuple

from .robot import Joint, Robot


class Units(NamedTuple):
    """What a joint's numbers are in; `inertia` is that of its rotor, as the joint feels it."""

    position: str
    velocity: str
    effort: str
    inertia: str
    viscous: str


TURNING = Units('rad', 'rad/s', 'N m', 'kg m^2', 'N m s/rad')
SLIDING = Units('m', 'm/s', 'N', 'kg', 'N s/m')


def units_of(joint: Joint) -> Units:
    """Return the units of a joint's numbers."""
    return SLIDING if joint.kind == 'prismatic' else TURNING


def joint_units(robot: Robot) -> dict[str, Units]:
    """Return the units of all joints by name."""
    return {joint.name: units_of(joint) for joint in robot.joints}
