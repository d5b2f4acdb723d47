"""Wrench on the support of each state, by the observer's accelerations, and zero moment point on the floor."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..core.errors import ArgumentError
from ..core.parameters import Settings
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..dynamics.observer import MomentumObserver
from ..dynamics.support_wrench import wrench_on_support, zero_moment_point
from ..dynamics.terms import Torques

TOPIC = 'wrench/base'


class SupportWrench:
    """What the robot applies to its support. Accelerations are those of the observer, behind its low pass."""

    def __init__(
        self, settings: Settings, dynamics: Dynamics, observer: MomentumObserver, wrench_topics: Mapping[str, str]
    ) -> None:
        """`wrench_topics` are those of the hands' readings, by hand."""
        self._settings, self._dynamics, self._observer = settings, dynamics, observer
        self.is_static = False  # whether the latest wrench is without accelerations and velocities
        for hand, topic in wrench_topics.items():
            if topic == TOPIC:
                raise ArgumentError(
                    f'{hand}.wrench_topic: {TOPIC}, which is what the robot applies to its support; name another topic'
                )

    @property
    def has_floor(self) -> bool:
        """Whether the height of the floor is known."""
        return not math.isnan(self._settings['base.floor'])

    def wrench(self, torques: Torques) -> Array | None:
        """Return [force; moment] (6; N, N m) at the base's origin, in base axes; None if it is not finite."""
        state, still = torques.state, np.zeros(self._dynamics.n)
        torques.term('external')  # lets the observer go on
        self.is_static = state.dq is None or self._observer.stamp < 0
        dq = still if self.is_static or state.dq is None else state.dq
        ddq = still if self.is_static else self._observer.acceleration
        wrench = wrench_on_support(self._dynamics, state.q, dq, ddq, state.wrenches)
        return wrench if math.isfinite(wrench @ wrench) else None

    def zero_moment_point(self, wrench: Array) -> Array | None:
        """Return the point (3, m) of the floor for a wrench; None without a floor, or where nothing presses on it."""
        return zero_moment_point(wrench, self._settings['base.floor']) if self.has_floor else None
