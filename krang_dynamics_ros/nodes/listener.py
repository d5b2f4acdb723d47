"""What a robot's topics say at this moment, put together for the page."""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..inputs.end_effector import EndEffector
from ..inputs.joint_states import JointStates, JointTorques
from ..viewer.bars import COLUMNS
from ..viewer.snapshot import Heard
from .polling import PolledTopics
from .topics import wrench_of

FRESH = 0.5  # s: what was said longer ago is not shown as so
PARTS = 10  # messages: a state may come in parts from several publishers
NOTHING = np.empty(0)


class RobotListener:
    """Joint states, torques and wrenches of one robot, taken in when somebody asks."""

    def __init__(self, topics: PolledTopics, dynamics: Dynamics, hands: dict[str, str]) -> None:
        names = dynamics.joint_names
        self._states, self._state_topic = JointStates(names, FRESH), topics.subscribe(JointState, 'joint_states', PARTS)
        self._drawn = np.zeros(len(names))  # a joint that is not known is drawn where it was last
        self._torques = {term: JointTorques(names, FRESH) for term in COLUMNS}
        self._torque_topics = {term: topics.subscribe(JointState, f'torque/{term}') for term in self._torques}
        links = frozenset(dynamics.link_names)
        self._hands = [EndEffector(name, link, timeout=FRESH, links=links) for name, link in hands.items()]
        self._wrench_topics = [topics.subscribe(WrenchStamped, f'wrench/{name}') for name in hands]

    def listen(self) -> None:
        """Take in what has come."""
        now = time.monotonic_ns()  # stamps are the dynamics node's business; here only the time of arrival counts
        for message in self._state_topic.take():
            position, velocity = np.asarray(message.position), np.asarray(message.velocity)
            self._states.take(message.name, position, velocity, NOTHING, 0, now)
        for term, torques in self._torques.items():
            for message in self._torque_topics[term].take():
                torques.take(message.name, np.asarray(message.effort), 0, now)
        for hand, topic in zip(self._hands, self._wrench_topics, strict=True):
            for message in topic.take():
                hand.take(*wrench_of(message), 0, now)

    @property
    def alive(self) -> bool:
        """Whether anything is known of the joints now."""
        return len(self._states.missing(time.monotonic_ns())) < len(self._states.joint_names)

    def heard(self) -> Heard:
        """Return what is fresh."""
        now = time.monotonic_ns()
        known = self.alive
        unknown = np.isnan(self._states.position)
        self._drawn = np.where(unknown, self._drawn, self._states.position)
        return Heard(
            q=self._drawn if known else None,
            dq=self._states.velocity if known else None,
            torques={term: _fresh(torques, now) for term, torques in self._torques.items()},
            readings={hand.name: wrench for hand in self._hands if (wrench := hand.wrench(0, now))},
        )


def _fresh(torques: JointTorques, now: int) -> Array | None:
    return torques.torque if torques.complete(now) else None
