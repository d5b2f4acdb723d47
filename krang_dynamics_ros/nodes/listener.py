"""What a robot's topics say at this moment, put together for the page."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from ..core.spatial import Array
from ..core.wrench import Wrench
from ..dynamics.dynamics import Dynamics
from ..inputs.end_effector import EndEffector
from ..inputs.joint_states import JointStates, JointTorques
from ..messages.fields import wrench_of
from ..viewer.bars import ALWAYS, OBSERVED
from ..viewer.snapshot import Heard
from .polling import PolledTopic, PolledTopics

FRESH = 0.5  # s: what was said longer ago is not shown as so
PARTS = 10  # messages: a state may come in parts from several publishers
NOTHING = np.empty(0)


class RobotListener:
    """Joint states, torques and wrenches of one robot, taken in when somebody asks."""

    def __init__(self, topics: PolledTopics, dynamics: Dynamics, hands: dict[str, str]) -> None:
        names = dynamics.joint_names
        self._states, self._state_topic = JointStates(names, FRESH), topics.subscribe(JointState, 'joint_states', PARTS)
        self._drawn = np.zeros(len(names))  # a joint that is not known is drawn where it was last
        self._torques = {term: JointTorques(names, FRESH) for term in ALWAYS}
        self._torque_topics = {term: topics.subscribe(JointState, f'torque/{term}') for term in self._torques}
        self._links, self._link_of = frozenset(dynamics.link_names), hands
        self._hands = self._sensors()
        self._wrench_topics = [topics.subscribe(WrenchStamped, f'wrench/{name}') for name in hands]
        self._topics, self._names = topics, names
        self._estimates: list[EndEffector] = []  # as if the estimated wrenches were a sensor's
        self._estimate_topics: list[PolledTopic] = []

    def _sensors(self) -> list[EndEffector]:
        return [EndEffector(name, link, timeout=FRESH, links=self._links) for name, link in self._link_of.items()]

    def observe(self, wanted: bool) -> None:
        """Listen to what the world does to the robot; or do not, for the node computes it only while somebody does."""
        if wanted == (OBSERVED in self._torques):
            return
        if wanted:
            self._torques[OBSERVED] = JointTorques(self._names, FRESH)
            self._torque_topics[OBSERVED] = self._topics.subscribe(JointState, f'torque/{OBSERVED}')
            self._estimates = self._sensors()
            self._estimate_topics = [
                self._topics.subscribe(WrenchStamped, f'wrench/{name}/estimated') for name in self._link_of
            ]
            return
        for topic in (self._torque_topics.pop(OBSERVED), *self._estimate_topics):
            self._topics.end(topic)
        del self._torques[OBSERVED]
        self._estimates, self._estimate_topics = [], []

    def listen(self) -> None:
        """Take in what has come."""
        now = time.monotonic_ns()  # stamps are the dynamics node's business; here only the time of arrival counts
        for message in self._state_topic.take():
            position, velocity = np.asarray(message.position), np.asarray(message.velocity)
            self._states.take(message.name, position, velocity, NOTHING, 0, now)
        for term, torques in self._torques.items():
            for message in self._torque_topics[term].take():
                torques.take(message.name, np.asarray(message.effort), 0, now)
        sensors = (*self._hands, *self._estimates)
        for hand, topic in zip(sensors, (*self._wrench_topics, *self._estimate_topics), strict=True):
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
            torques={term: _fresh(torques, now, partial=term == OBSERVED) for term, torques in self._torques.items()},
            readings=_wrenches(self._hands, now),
            estimates=_wrenches(self._estimates, now),
        )


def _wrenches(hands: Sequence[EndEffector], now: int) -> dict[str, Wrench]:
    return {hand.name: wrench for hand in hands if (wrench := hand.wrench(0, now))}


def _fresh(torques: JointTorques, now: int, *, partial: bool) -> Array | None:
    """Return torques (n); None, or where they may be `partial` NaN, if they are not known now."""
    missing, torque = torques.missing(now), np.asarray(torques.torque, dtype=float)
    if not missing:
        return torque
    if not partial or len(missing) == len(torques.joint_names):
        return None
    return np.asarray(np.where(np.isin(torques.joint_names, missing), np.nan, torque), dtype=float)
