"""A wrench on a link, and a body that hangs on one: whose axes it is given in, and about whose origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .errors import ArgumentError
from .inertia import Inertia
from .spatial import Array


@dataclass(frozen=True, eq=False)
class Wrench:
    """Force (N) and moment (N m) that the robot APPLIES with a link: the report's f_e (section 3).

    `link` is the one that feels it, and so does every joint below. `axes` names the link in whose axes the six
    numbers are given, `about` the one about whose origin the moment is taken. By default both are `link` itself: the
    report's nf_e@n. `axes='R0'` makes it 0f_e@n. A ROS WrenchStamped on frame F is `axes='F', about='F'`.
    What the world applies ON the robot, as a sensor reads, is the opposite of this: negate it.
    """

    link: str
    force: Sequence[float] | Array
    moment: Sequence[float] | Array = (0.0, 0.0, 0.0)
    axes: str = ''
    about: str = ''

    @classmethod
    def of(cls, link: str, vector: Array, axes: str = '', about: str = '') -> Wrench:
        """Return the wrench of [force; moment] (6), which is kept as it is: hand in an array of its own."""
        vector.setflags(write=False)
        wrench = object.__new__(cls)  # a quarter of the time of __init__, once for each reading of a sensor
        wrench.__dict__.update(link=link, force=vector[:3], moment=vector[3:], axes=axes, about=about, vector=vector)
        return wrench

    @cached_property
    def vector(self) -> Array:
        """[force; moment] (6), as given."""
        vector = np.concatenate([self.force, self.moment], dtype=float)
        if np.shape(self.force) != (3,) or np.shape(self.moment) != (3,):
            raise ArgumentError(f'wrench: force {self.force!r}, moment {self.moment!r}, must be 3 numbers each')
        vector.setflags(write=False)
        return vector


LEVER = 0.3  # m; a forearm's: where a moment counts as much as a force


class Place(NamedTuple):
    """Which link feels a wrench, and how it is given: as a `Wrench` is."""

    link: str
    axes: str = ''
    about: str = ''


WrenchRows = Mapping[Place, Array]
"""Wrenches of many states: by place [force; moment] (m, 6), zeros where a state has none."""


class Load(NamedTuple):
    """A body that a link carries, in the link's frame, and how its weight is to be given: as a `Wrench` is."""

    link: str
    body: Inertia
    axes: str = ''
    about: str = ''
