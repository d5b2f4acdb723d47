"""External torques, estimated hand wrenches and contact, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ArgumentError, listed
from ..core.limits import MAX_QUANTITY
from ..core.parameters import NONE, ParameterSpec, Settings, named
from ..core.spatial import Array
from ..dynamics.contact import Contact, ContactDetector, ThresholdLearner, own_joints
from ..dynamics.dynamics import Dynamics
from ..dynamics.efforts import EFFORT_SOURCES, OMITTABLE_TERMS, check_without
from ..dynamics.hand_wrenches import HandWrenches, HandWrenchEstimate
from ..dynamics.observer import SETTLED, LowPass, MomentumObserver
from ..dynamics.state import State
from ..dynamics.terms import Torques
from .wrenches import WrenchInput

SPECS = (
    ParameterSpec(
        'effort_source', 'motor', 'meaning of `effort` in `joint_states`: torque behind the gear, torque of the motor '
        '(times the gear ratio), or external torque', settable=True, choices=EFFORT_SOURCES,
    ),
    ParameterSpec(
        'effort_without', NONE, 'terms of the model that `effort` does not contain; they are added to it',
        settable=True, choices=OMITTABLE_TERMS, distinct=True,
    ),
    ParameterSpec(
        'external.gain', 10.0, 'gain K of the observer, 1/s; time constant 1 / K', settable=True, least=0.1, most=1e3,
    ),
    ParameterSpec(
        'external.damping', 0.02, 'damping of the least squares that give the wrenches, m',
        settable=True, least=1e-6, most=1.0,
    ),
    ParameterSpec(
        'external.min_singular_value', 0.05,
        "minimum singular value of the part of the hand's Jacobian that the other hands do not explain, m; below it "
        'the wrench of that hand is not published',
        settable=True, least=1e-6, most=1.0,
    ),
    ParameterSpec(
        'contact.factor', 1.5,
        'factor on the largest torque of the free run (`contact/learn`), for the learned threshold',
        settable=True, least=1.0, most=10.0,
    ),
    ParameterSpec(
        'contact.margin', 0.5, 'constant added to every learned threshold, twice to those for acceleration, N m (N)',
        settable=True, least=0.0, most=1e3,
    ),
    ParameterSpec(
        'contact.acceleration', 1.0, 'above this, in any joint, the thresholds for acceleration hold, rad/s^2 (m/s^2)',
        settable=True, least=0.0, most=MAX_QUANTITY,
    ),
)  # fmt: skip
THRESHOLDS = ('contact_threshold', 'contact_threshold_accelerating')


def of_hand(name: str) -> list[ParameterSpec]:
    """Return the specs of the parameters of a hand."""
    return [
        ParameterSpec(
            f'{name}.sensor.subtract_from_external', False,
            "subtract this hand's sensor reading from the external torques; other contacts remain", settable=True,
        )
    ]  # fmt: skip


def of_joint(name: str) -> list[ParameterSpec]:
    """Return the specs of the parameters of a joint."""
    return [
        ParameterSpec(
            f'joints.{name}.effort_scale', 1.0,
            'N m (N) per unit of `effort`, for example per ampere; negative: the sign is reversed; not 0',
            settable=True, least=-MAX_QUANTITY, most=MAX_QUANTITY,
        ),
        ParameterSpec(
            f'joints.{name}.{THRESHOLDS[0]}', 0.0,
            'external torque above which contact is reported, N m (N); 0: not known',
            settable=True, least=0.0, most=MAX_QUANTITY,
        ),
        ParameterSpec(
            f'joints.{name}.{THRESHOLDS[1]}', 0.0, 'the same while the robot accelerates; 0: the threshold above',
            settable=True, least=0.0, most=MAX_QUANTITY,
        ),
    ]  # fmt: skip


def effort_scales(values: Mapping[str, Any] | Settings, joints: Sequence[str]) -> Array:
    """Return N m (N) per unit of `effort` (k) of joints; raise `ArgumentError` if one is zero."""
    scales = {name: float(values[f'joints.{name}.effort_scale']) for name in joints}
    if zero := [f'joints.{name}.effort_scale' for name, scale in scales.items() if not scale]:
        raise ArgumentError(f'{listed(zero)}: 0, must not be 0')
    return np.array([*scales.values()])


def documented() -> list[ParameterSpec]:
    """Return every parameter once for docs/external.md, with placeholders for hand and joint."""
    return [*SPECS, *of_hand('<hand>'), *of_joint('<joint>')]


class ExternalTorques:
    """The momentum observer, the estimates from its torques, and the parameters of both."""

    def __init__(
        self, settings: Settings, dynamics: Dynamics, observer: MomentumObserver, hands: Mapping[str, WrenchInput]
    ) -> None:
        self._settings, self._dynamics, self.observer, self._hands = settings, dynamics, observer, hands
        self.efforts = observer.efforts
        settings.declare(SPECS)
        settings.require(lambda values: check_without(named(values['effort_without']), values['effort_source']))
        settings.declare([spec for name in hands for spec in of_hand(name)])
        settings.declare([spec for name in dynamics.joint_names for spec in of_joint(name)])
        settings.require(lambda values: effort_scales(values, dynamics.joint_names))
        links = {name: hand.link for name, hand in hands.items()}
        self._wrenches = HandWrenches(dynamics, links)
        self.detector = ContactDetector(dynamics.joint_names, own_joints(dynamics, links))
        self._low_pass = LowPass()
        self.learner: ThresholdLearner | None = None  # of the free run in progress
        self.silent: tuple[str, ...] = ()  # hands with `subtract_from_external` that have no reading
        self._latest: Torques | None = None  # for which `_unexplained` was computed
        self._unexplained: Array | None = None
        settings.on_change(self._apply)

    def _apply(self) -> None:
        observer, settings, detector = self.observer, self._settings, self.detector
        scale, efforts = effort_scales(settings, self._dynamics.joint_names), self.efforts
        source, without = settings['effort_source'], tuple(named(settings['effort_without']))
        if (source, without) != (efforts.source, efforts.without) or (scale != efforts.scale).any():
            observer.forget()
        efforts.source, efforts.without, efforts.scale = source, without, scale
        observer.gain, observer.max_gap = settings['external.gain'], settings['state_timeout']
        self._wrenches.damping = settings['external.damping']
        self._wrenches.min_singular_value = settings['external.min_singular_value']
        detector.min_acceleration = settings['contact.acceleration']
        steady, accelerating = (self._of_all(key) for key in THRESHOLDS)
        detector.steady = np.where(steady > 0, steady, np.inf)
        detector.accelerating = np.where(accelerating > 0, accelerating, detector.steady)
        self._subtracted_hands = [
            hand for name, hand in self._hands.items() if settings[f'{name}.sensor.subtract_from_external']
        ]

    def _of_all(self, key: str) -> Array:
        return np.array([self._settings[f'joints.{name}.{key}'] for name in self._dynamics.joint_names])

    def forget(self) -> None:
        """Restart the low pass, after a jump of time or positions."""
        self._low_pass.forget()

    def unexplained_torque(self, torques: Torques) -> Array | None:
        """Return the external torques (n) minus those of the hand sensors that are subtracted; None if unknown."""
        if torques is not self._latest:
            self._latest, self._unexplained = torques, self._subtract_sensors(torques)
        return self._unexplained

    def _subtract_sensors(self, torques: Torques) -> Array | None:
        torque, state = torques.term('external'), torques.state
        if not self._subtracted_hands:
            self.silent = ()
            return torque
        links = {hand.link for hand in self._subtracted_hands}
        read = [wrench for wrench in state.wrenches if wrench.link in links]
        links -= {wrench.link for wrench in read}
        self.silent = tuple(hand.name for hand in self._subtracted_hands if hand.link in links)
        if self.silent:
            self._low_pass.forget()
            return None
        by_world = -self._dynamics.wrench_torque(state.q, read)  # the wrenches of a state are applied by the robot
        shown = by_world if self.efforts.source == 'external' else self._as_observed(by_world)
        return None if torque is None or shown is None else torque - shown

    def _as_observed(self, torque: Array) -> Array | None:
        """Return torques (n) after the low pass of the observer; None until it has settled."""
        gain, low_pass, stamp = self.observer.gain, self._low_pass, self.observer.stamp
        if stamp < 0:
            return None
        shown = low_pass.update(torque, gain, stamp, self.observer.max_gap)
        return shown if (stamp - low_pass.start) / 1e9 >= SETTLED / gain else None

    def wrenches(self, torques: Torques) -> dict[str, HandWrenchEstimate]:
        """Return the estimated wrench of the WORLD on each hand; {} if the external torques are unknown."""
        torque = self.unexplained_torque(torques)
        return {} if torque is None else self._wrenches.estimate(torques.state.q, torque)

    def estimate(self, q: Array, torque: Array) -> dict[str, Array]:
        """Return the estimated wrench (6) of the WORLD, by hand, from external torques (n) at a pose q (n)."""
        estimates = self._wrenches.estimate(q, torque) if np.isfinite(torque).any() else {}
        return {name: hand.wrench for name, hand in estimates.items() if hand.wrench is not None}

    def contact(self, torques: Torques) -> Contact | None:
        """Return where the robot is touched; None while thresholds or torques are unknown."""
        torque = self.unexplained_torque(torques)
        if torque is None or not self.detector.ready:
            return None
        return self.detector.detect(torque, self.observer.acceleration)

    def learn(self, torques: Torques) -> None:
        """Add the torques of a state to the free run, if it is in progress."""
        if self.learner is not None and (torque := self.unexplained_torque(torques)) is not None:
            self.learner.add(torque, self.detector.accelerates(self.observer.acceleration))

    def begin_learning(self) -> None:
        """Begin a free run. The robot must not touch anything until it ends."""
        self.learner = ThresholdLearner(self._dynamics.n)

    def end_learning(self) -> dict[str, float]:
        """End the free run; return the learned thresholds by parameter name, or raise `ArgumentError`."""
        learner, self.learner = self.learner, None
        if learner is None:
            raise ArgumentError('no free run is in progress, must be begun first')
        vectors = learner.thresholds(self._settings['contact.factor'], self._settings['contact.margin'])
        return {
            f'joints.{name}.{key}': float(value)
            for key, vector in zip(THRESHOLDS, vectors, strict=True)
            for name, value in zip(self._dynamics.joint_names, vector, strict=True)
        }

    def measured(self, state: State) -> Array | None:
        """Return the measured drive torques (n; N m, N), NaN if unknown; None if efforts are missing or external."""
        return None if state.effort is None else self.efforts.torque(state)

    def without_effort(self, state: State) -> list[str]:
        """Return the joints of a state that have no effort."""
        effort = np.full(self._dynamics.n, np.nan) if state.effort is None else state.effort
        return [name for name, x in zip(self._dynamics.joint_names, effort, strict=True) if np.isnan(x)]
