"""What a robot's topics say at this moment, put together for the page."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from ..dynamics import Dynamics
from ..joint_states import JointStates
from ..spatial import Array
from ..terms import TERMS
from ..viewer.now import Reading
from .ears import Ear, Ears
from .topics import wrench_of

FRESH = 0.5  # s: what was said longer ago is not shown as so
PARTS = 10  # messages: a state may come in parts from several publishers
NOTHING = np.empty(0)


class Heard:
    """Joint states, torques and wrenches of one robot."""

    def __init__(self, ears: Ears, dynamics: Dynamics, hands: dict[str, str]) -> None:
        names = dynamics.joint_names
        self._links = frozenset(dynamics.link_names)
        self._hand_links = hands
        self._states, self._ear = JointStates(names, FRESH), ears.listen(JointState, 'joint_states', PARTS)
        self._torques = {term: JointStates(names, FRESH) for term in ('total', *TERMS)}
        self._torque_ears = {term: ears.listen(JointState, f'torque/{term}') for term in self._torques}
        self._wrench_ears = {hand: ears.listen(WrenchStamped, f'wrench/{hand}') for hand in hands}
        self._readings: dict[str, tuple[Reading, int]] = {}

    def listen(self) -> None:
        """Take in what has come."""
        now = time.monotonic_ns()  # stamps are the dynamics node's business; here only the time of arrival counts
        for message in self._ear.take():
            position, velocity = np.asarray(message.position), np.asarray(message.velocity)
            self._states.take(message.name, position, velocity, (), 0, now)
        for term, torques in self._torques.items():
            for message in self._torque_ears[term].take():
                torques.take(message.name, np.asarray(message.effort), NOTHING, (), 0, now)
        for hand, ear in self._wrench_ears.items():
            self._hear_wrench(hand, ear, now)

    def _hear_wrench(self, hand: str, ear: Ear, now: int) -> None:
        for message in ear.take():
            frame, force, moment = wrench_of(message)
            if (frame or self._hand_links[hand]) in self._links and np.isfinite([*force, *moment]).all():
                self._readings[hand] = Reading(np.array(force), np.array(moment), frame), now

    def now(self) -> dict[str, Any]:
        """Return what is fresh, as `Now` wants it. A joint that is not known is drawn where it was last, or at zero."""
        now = time.monotonic_ns()
        known = len(self._states.missing(now)) < len(self._states.joint_names)
        return {
            'q': self._states.position if known else None,
            'dq': self._states.velocity if known else None,
            'torques': {term: _fresh(torques, now) for term, torques in self._torques.items()},
            'readings': {hand: reading for hand, (reading, then) in self._readings.items() if now - then < FRESH * 1e9},
        }


def _fresh(torques: JointStates, now: int) -> Array | None:
    return torques.position if torques.complete(now) else None
