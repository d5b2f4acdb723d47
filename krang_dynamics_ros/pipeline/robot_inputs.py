"""What is known of a robot from its messages: joint states, wrenches on the hands, an IMU on the base."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.errors import ArgumentError, unknown_name
from ..core.spatial import Array
from ..dynamics.factory import Model
from ..dynamics.terms import State
from ..inputs.end_effector import EndEffector
from ..inputs.imu import pitch
from ..inputs.joint_states import JointStates
from . import dynamics_parameters as parameters
from .settings import Settings
from .spec import named


class RobotInputs:
    """Messages, put together. Times are whole ns: a stamp is the sender's, `now` is when a message came."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings, self._model = settings, model
        self.heard = 0  # joint states, good or not
        imu_joint = settings['imu_joint']
        self.imu_joints = [known_joint(model, 'imu_joint', imu_joint)] if imu_joint else []
        self.states = JointStates(model.dynamics.joint_names, settings['state_timeout'], self.imu_joints)
        self.hands = {name: self._hand(name) for name in named(settings['end_effectors'])}
        settings.used_by(self._apply)

    def _hand(self, name: str) -> EndEffector:
        links = self._model.dynamics.link_names
        values = self._settings.declare(parameters.of_end_effector(name, self._model.end_effectors.get(name, '')))
        link = values[f'{name}.link']
        if link not in links:
            raise unknown_name(f'{name}.link: link', link, links)
        return EndEffector(name, link, links=frozenset(links))

    def _apply(self) -> None:
        self.states.timeout = self._settings['state_timeout']
        for name, hand in self.hands.items():
            meaning = (self._settings[f'{name}.sense'], self._settings[f'{name}.moment_about'])
            if meaning != (hand.sense, hand.moment_about):
                hand.forget()  # what came under the other meaning
            hand.sense, hand.moment_about = meaning
            hand.timeout = self._settings['wrench_timeout']

    def take_joint_state(
        self, names: Sequence[str], position: Array, velocity: Array, effort: Array, stamp: int, now: int
    ) -> State | None:
        """Take in a joint state; return what is known of the robot if all of its joints now are."""
        self.heard += 1
        jumps = self.states.jumps
        taken = self.states.take(names, position, velocity, effort, stamp, now)
        if self.states.jumps != jumps:
            for hand in self.hands.values():
                hand.time_went_back(to=stamp)
        if not taken or not self.states.complete(now):
            return None
        wrenches = [wrench for hand in self.hands.values() if (wrench := hand.wrench(stamp, now))]
        states = self.states
        return State(states.position, states.velocity if states.moving else None, wrenches, states.effort, stamp)

    def take_wrench(
        self, hand: str, frame: str, force: Sequence[float], moment: Sequence[float], stamp: int, now: int
    ) -> None:
        """Take in a wrench (N, N m) in the axes of a link, or of the hand where `frame` is empty."""
        self.hands[hand].take(frame, force, moment, stamp, now)

    def take_imu(
        self, quaternion: Sequence[float], rate: float, covariances: tuple[float, float], stamp: int, now: int
    ) -> None:
        """Take in the base's orientation (w, x, y, z) and its pitch rate (rad/s).

        The covariances are the first entries of those of orientation and rate; -1 means that it is not given.
        """
        try:
            angle = pitch(quaternion, covariances[0])
        except ArgumentError as error:
            self.states.refusals.note(str(error))
            return
        velocity = rate if covariances[1] != -1 else math.nan
        self.states.take_joint(self.imu_joints[0], angle, velocity, stamp, now)

    def forget(self) -> None:
        """Know nothing: the clock has jumped."""
        self.states.forget()
        for hand in self.hands.values():
            hand.forget()


def known_joint(model: Model, parameter: str, name: str) -> str:
    """Return a joint's name that a parameter gave, if the robot has it."""
    if name not in model.dynamics.joint_names:
        raise unknown_name(f'{parameter}: joint', name, model.dynamics.joint_names)
    return name
