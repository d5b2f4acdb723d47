"""Payloads of the hands: added to the dynamics over a ramp, and subtracted from sensor readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ArgumentError, KrangDynamicsError
from ..core.inertia import Inertia, InertiaRamp, possible
from ..core.limits import MAX_QUANTITY
from ..core.parameters import Settings
from ..core.spatial import Array, symmetric, upper_triangle
from ..dynamics.dynamics import Dynamics
from .messages import Refusals
from .wrenches import WrenchInput

SAME = 1e-12  # of the largest number: payloads that differ by less are equal


class PayloadSpec(NamedTuple):
    """Payload by numbers: mass (kg), centre of mass (m), inertia about it (kg m^2, xx xy xz yy yz zz)."""

    mass: float
    com: Sequence[float]
    inertia: Sequence[float]

    @classmethod
    def by(cls, values: Mapping[str, Any] | Settings, hand: str) -> PayloadSpec:
        """Return the payload that the parameters describe."""
        return cls(*(values[f'{hand}.payload.{key}'] for key in cls._fields))

    def values(self, hand: str) -> dict[str, Any]:
        """Return the parameters of a hand with this payload."""
        return {f'{hand}.payload.{key}': value for key, value in self._asdict().items()}

    def body(self, what: str) -> Inertia:
        """Return the inertia (zero without mass); raise `ArgumentError` if no rigid body can have it."""
        numbers = np.array([self.mass, *self.com, *self.inertia], dtype=float)
        if not (np.abs(numbers) <= MAX_QUANTITY).all():
            raise ArgumentError(f'{what}: {numbers.tolist()}, must be finite, at most {MAX_QUANTITY:g}')
        if not self.mass:
            return Inertia()
        return possible(Inertia.about_com(self.mass, numbers[1:4], symmetric(numbers[4:])), what)


class Payloads:
    """One payload per hand. `<hand>.payload.*` is the target; the dynamics follow it over `payload_ramp`. Times in ns.

    The ten inertial parameters are blended linearly, so every body between two possible bodies is possible.
    """

    def __init__(self, settings: Settings, dynamics: Dynamics, hands: Mapping[str, WrenchInput]) -> None:
        """Use the parameters that `RobotInputs` has declared."""
        self._settings, self._dynamics, self._hands = settings, dynamics, hands
        self.refusals = {name: Refusals() for name in hands}  # of messages
        self._target = {name: Inertia() for name in hands}
        self._ramps: dict[str, InertiaRamp | None] = {}  # None: the ramp begins with the next state
        self._waiting: dict[str, tuple[str, PayloadSpec]] = {}  # frame and payload that wait for joint positions
        settings.require(self._check)
        settings.on_change(self._apply)
        self.carried: Mapping[str, Inertia] = {}  # by link, as in the dynamics now; a new object after each change
        self._finish()  # no ramp at the start

    def _check(self, values: Mapping[str, Any]) -> None:
        for name in self._hands:
            PayloadSpec.by(values, name).body(f'{name}.payload')

    def _apply(self) -> None:
        for name in self._hands:
            body = PayloadSpec.by(self._settings, name).body(f'{name}.payload')
            if not np.array_equal(body.parameters, self._target[name].parameters):
                self._target[name], self._ramps[name] = body, None
                self._waiting.pop(name, None)  # the parameter is newer

    def advance(self, now: int) -> None:
        """Update the payloads of the dynamics to the present state of the ramps; call it before computing torques."""
        if not self._ramps:
            return
        time, seconds = now * 1e-9, self._settings['payload_ramp']
        for name, ramp in [*self._ramps.items()]:
            going = ramp or InertiaRamp(self._hands[name].payload, self._target[name], time, seconds)
            self._ramps[name] = going
            over = going.done(time) or time < going.start  # the second: the clock was set back
            self._hands[name].payload = self._target[name] if over else going.at(time)
            if over:
                del self._ramps[name]
        self._load()

    def _finish(self) -> None:
        for name, hand in self._hands.items():
            hand.payload = self._target[name]
        self._ramps.clear()
        self._load()

    def _load(self) -> None:
        carried: dict[str, Inertia] = {}
        for hand in self._hands.values():
            carried[hand.link] = carried.get(hand.link, Inertia()) + hand.payload
        self._dynamics.payload = self.carried = carried

    @property
    def steady(self) -> bool:
        """Whether every hand has its target payload."""
        return not self._ramps and not self._waiting

    def changing(self, hand: str) -> bool:
        """Whether the payload of a hand is still changing, or waits for joint positions."""
        return hand in self._ramps or hand in self._waiting

    def waiting_frame(self, hand: str) -> str:
        """Return the frame of the payload that waits for joint positions; '' if none waits."""
        return self._waiting[hand][0] if hand in self._waiting else ''

    def update(self, hand: str, frame: str, payload: PayloadSpec, q: Array | None) -> None:
        """Set the payload of a hand, as `parameter_values` says; note a refusal if it is not possible."""
        self._set(hand, self.parameter_values(hand, frame, payload, q))

    def apply_waiting(self, q: Array) -> None:
        """Set the payloads that waited for the positions q (n)."""
        for hand, values in self.waiting_values(q).items():
            self._set(hand, values)

    def _set(self, hand: str, values: dict[str, Any] | None) -> None:
        if values is None:
            return
        try:
            self._settings.check(values)
        except KrangDynamicsError as error:
            self.refusals[hand].note(str(error))
            return
        self._settings.update(values)

    def parameter_values(self, hand: str, frame: str, payload: PayloadSpec, q: Array | None) -> dict[str, Any] | None:
        """Return the parameter values for a payload in the frame of a link, or of the hand if `frame` is ''.

        None if the parameters have these values already, or after noting a refusal. The joint positions `q` (n) are
        needed if the link moves relative to the hand. While they are unknown (None), the payload waits for
        `waiting_values`, or until the next valid message for the hand replaces it.
        """
        link = self._hands[hand].link
        try:
            body = payload.body(f'payload/{hand}')
            moved = bool(body.m and frame and frame != link)
            if moved and q is None and not self._dynamics.fixed_together(link, frame):
                self._waiting[hand] = frame, payload
                return None
            if moved:
                body = self._dynamics.inertia_at_link(body, link, frame, q)
        except ArgumentError as error:
            self.refusals[hand].note(str(error))
            return None
        self._waiting.pop(hand, None)
        known = self._target[hand].parameters
        if np.abs(body.parameters - known).max() <= SAME * np.abs(known).max():
            return None
        return PayloadSpec(body.m, body.com.tolist(), upper_triangle(body.I_G).tolist()).values(hand)

    def waiting_values(self, q: Array) -> dict[str, dict[str, Any]]:
        """Return by hand the parameter values for payloads that waited for q (n), and clear the waiting ones."""
        waiting, self._waiting = self._waiting, {}
        found = {hand: self.parameter_values(hand, *payload, q) for hand, payload in waiting.items()}
        return {hand: values for hand, values in found.items() if values is not None}
