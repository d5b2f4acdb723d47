"""Wrenches and loads of links, with the axes in which and the point about which they are given."""

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
    """Force and moment that the robot APPLIES with a link: f_e of the report (section 3).

    A sensor usually reads the wrench that the world applies on the robot: negate it. A ROS `WrenchStamped` in frame F
    has `axes='F', about='F'`. By default, axes and point are those of `link`: nf_e@n of the report; `axes='R0'` gives
    0f_e@n.

    Attributes:
        link: link that applies the wrench; all joints between base and link feel it.
        force: force (3,), N.
        moment: moment (3,), N m.
        axes: link in whose axes force and moment are given; empty: `link`.
        about: link about whose origin the moment is taken; empty: `link`.

    Example:
        >>> Wrench('R10l', force=(0, 0, 20), axes='R0')  # 20 N upwards
    """

    link: str
    force: Sequence[float] | Array
    moment: Sequence[float] | Array = (0.0, 0.0, 0.0)
    axes: str = ''
    about: str = ''

    @classmethod
    def of(cls, link: str, vector: Array, axes: str = '', about: str = '') -> Wrench:
        """Return the wrench of [force; moment] (6), without a copy: the array must not be used elsewhere."""
        vector.setflags(write=False)
        wrench = object.__new__(cls)  # a quarter of the time of __init__, once for each reading of a sensor
        wrench.__dict__.update(link=link, force=vector[:3], moment=vector[3:], axes=axes, about=about, vector=vector)
        return wrench

    @cached_property
    def vector(self) -> Array:
        """[force; moment] (6,), as given.

        Raises:
            ArgumentError: force or moment is not three numbers.
        """
        try:
            vector = np.concatenate([self.force, self.moment], dtype=float)
        except (TypeError, ValueError):  # no sequences, or no numbers
            vector = np.zeros(0)
        if len(vector) != 6 or np.shape(self.force) != (3,):
            raise ArgumentError(f'wrench: force {self.force!r}, moment {self.moment!r}, must be 3 numbers each')
        vector.setflags(write=False)
        return vector


LEVER = 0.3  # m, length of a forearm: a moment divided by it counts as a force
DIRECTIONS = ('x', 'y', 'z', 'about x', 'about y', 'about z')  # of a wrench or twist (6)


class WrenchFrame(NamedTuple):
    """The link, axes and point of a wrench, as in `Wrench`."""

    link: str
    axes: str = ''
    about: str = ''


WrenchRows = Mapping[WrenchFrame, Array]
"""Wrenches of many states: [force; moment] (m, 6) by frame, zeros where a state has none."""


class Load(NamedTuple):
    """A body that a link carries, in the link's frame; `axes` and `about` are those of its weight, as in `Wrench`.

    A body of negative mass stands for a weight that was subtracted already.
    """

    link: str
    body: Inertia
    axes: str = ''
    about: str = ''
    gravity: Array | None = None  # (3,), m/s^2, in base axes; None: that of the dynamics
