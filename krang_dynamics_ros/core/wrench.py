"""A wrench on a link: whose axes it is given in, and about whose origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .errors import ArgumentError
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

    @cached_property
    def vector(self) -> Array:
        """[force; moment] (6), as given."""
        vector = np.concatenate([self.force, self.moment], dtype=float)
        if vector.shape != (6,):
            raise ArgumentError(f'wrench: force {self.force!r}, moment {self.moment!r}, must be 3 numbers each')
        vector.setflags(write=False)
        return vector
