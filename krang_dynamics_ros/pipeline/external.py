"""What the world does to the robot, from its joint states: torques, wrenches at the hands, contact."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..core.errors import ArgumentError
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..dynamics.observer import SETTLED, MomentumObserver
from ..dynamics.state import State
from ..dynamics.terms import Torques
from ..estimation.contact import Contact, ContactDetector, ThresholdLearner, own_joints
from ..estimation.hand_wrenches import Estimate, HandWrenches
from ..estimation.low_pass import LowPass
from ..inputs.end_effector import EndEffector
from . import external_parameters as parameters
from .settings import Settings


class External:
    """The observer, what is told from its torques, and the parameters of both."""

    def __init__(
        self, settings: Settings, dynamics: Dynamics, observer: MomentumObserver, hands: Mapping[str, EndEffector]
    ) -> None:
        self._settings, self._dynamics, self.observer, self._hands = settings, dynamics, observer, hands
        settings.declare(parameters.SETTINGS)
        settings.declare([spec for name in hands for spec in parameters.of_hand(name)])
        settings.declare([spec for name in dynamics.joint_names for spec in parameters.of_joint(name)])
        links = {name: hand.link for name, hand in hands.items()}
        self._wrenches = HandWrenches(dynamics, links)
        self.detector = ContactDetector(dynamics.joint_names, own_joints(dynamics, links))
        self._explained = LowPass()
        self.learner: ThresholdLearner | None = None  # of a free run that is on
        self.silent: tuple[str, ...] = ()  # hands whose sensors should explain, and say nothing
        self._of: Torques | None = None  # what the rest was told of last
        self._rest: Array | None = None
        settings.used_by(self._apply)

    def _apply(self) -> None:
        observer, settings, detector = self.observer, self._settings, self.detector
        scale, source = self._of_all('effort_scale'), settings['effort_source']
        if source != observer.source or (scale != observer.effort_scale).any():
            observer.forget()
        observer.source, observer.effort_scale = source, scale
        observer.gain, observer.longest = settings['external.gain'], settings['state_timeout']
        self._wrenches.damping, self._wrenches.least = settings['external.damping'], settings['external.least']
        detector.fast = settings['contact.acceleration']
        even, accelerating = (self._of_all(key) for key in parameters.THRESHOLDS)
        detector.even = np.where(even > 0, even, np.inf)
        detector.accelerating = np.where(accelerating > 0, accelerating, detector.even)
        self._explaining = [hand for name, hand in self._hands.items() if settings[f'{name}.sensor.explains']]

    def _of_all(self, key: str) -> Array:
        return np.array([self._settings[f'joints.{name}.{key}'] for name in self._dynamics.joint_names])

    def forget(self) -> None:
        """Begin anew: the states before say nothing of the next one."""
        self._explained.forget()

    def rest(self, torques: Torques) -> Array | None:
        """Return the external torques (n) without what the hands' sensors explain, or None if they cannot be told."""
        if torques is not self._of:
            self._of, self._rest = torques, self._rest_of(torques)
        return self._rest

    def _rest_of(self, torques: Torques) -> Array | None:
        torque, state = torques.term('external'), torques.state
        if not self._explaining:
            self.silent = ()
            return torque
        links = {hand.link for hand in self._explaining}
        read = [wrench for wrench in state.wrenches if wrench.link in links]
        links -= {wrench.link for wrench in read}
        self.silent = tuple(hand.name for hand in self._explaining if hand.link in links)
        if self.silent:
            self._explained.forget()
            return None
        by_world = -self._dynamics.wrench_torque(state.q, read)  # the state has what the robot applies
        shown = by_world if self.observer.source == 'external' else self._as_observed(by_world)
        return None if torque is None or shown is None else torque - shown

    def _as_observed(self, torque: Array) -> Array | None:
        """Return torques (n) as the observer shows them; None until the low pass, that began anew, has settled."""
        gain, explained, stamp = self.observer.gain, self._explained, self.observer.stamp
        if stamp < 0:
            return None
        shown = explained.follow(torque, gain, stamp, self.observer.longest)
        return shown if (stamp - explained.begun) / 1e9 >= SETTLED / gain else None

    def wrenches(self, torques: Torques) -> dict[str, Estimate]:
        """Return what is told of the WORLD's wrench on each hand; nothing if no torque is."""
        torque = self.rest(torques)
        return {} if torque is None else self._wrenches.estimate(torques.state.q, torque)

    def estimate(self, q: Array, torque: Array) -> dict[str, Array]:
        """Return the WORLD's wrench (6) on each hand that it can be told of, from external torques (n) at a pose."""
        told = self._wrenches.estimate(q, torque) if np.isfinite(torque).any() else {}
        return {name: one.wrench for name, one in told.items() if one.wrench is not None}

    def contact(self, torques: Torques) -> Contact | None:
        """Return where something touches the robot; None while thresholds or torques are not known."""
        torque = self.rest(torques)
        if torque is None or not self.detector.ready:
            return None
        return self.detector.judge(torque, self.observer.acceleration)

    def learn(self, torques: Torques) -> None:
        """Take a state into the free run, if one is on."""
        if self.learner is not None and (torque := self.rest(torques)) is not None:
            self.learner.take(torque, self.detector.accelerates(self.observer.acceleration))

    def begin_learning(self) -> None:
        """Begin a free run: nothing may touch the robot until it ends."""
        self.learner = ThresholdLearner(self._dynamics.n)

    def end_learning(self) -> dict[str, float]:
        """End the free run; return the thresholds that it has taught, by parameter, or raise `ArgumentError`."""
        learner, self.learner = self.learner, None
        if learner is None:
            raise ArgumentError('no free run is on, must be begun first')
        vectors = learner.thresholds(self._settings['contact.margin'], self._settings['contact.floor'])
        return {
            f'joints.{name}.{key}': float(value)
            for key, vector in zip(parameters.THRESHOLDS, vectors, strict=True)
            for name, value in zip(self._dynamics.joint_names, vector, strict=True)
        }

    def measured(self, state: State) -> Array | None:
        """Return what drives the joints (n; N m, N), NaN where unknown; None if efforts say something else."""
        if state.effort is None or self.observer.source == 'external':
            return None
        return self._dynamics.drive.without_offset(state.effort * self.observer.effort_scale)

    def without_effort(self, state: State) -> list[str]:
        """Return the joints of a state that have no effort."""
        effort = np.full(self._dynamics.n, np.nan) if state.effort is None else state.effort
        return [name for name, x in zip(self._dynamics.joint_names, effort, strict=True) if np.isnan(x)]
