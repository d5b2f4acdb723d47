"""What the hands hold, as the parameters say: brought into the dynamics over a ramp, and out of every reading."""

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

SAME = 1e-12  # of the largest number: two payloads that differ by less are one


class PayloadSpec(NamedTuple):
    """A payload as people tell it: mass (kg), centre of mass (m), inertia about it (xx xy xz yy yz zz, kg m^2)."""

    mass: float
    com: Sequence[float]
    inertia: Sequence[float]

    @classmethod
    def by(cls, values: Mapping[str, Any] | Settings, hand: str) -> PayloadSpec:
        """Return what the parameters say."""
        return cls(*(values[f'{hand}.payload.{key}'] for key in cls._fields))

    def values(self, hand: str) -> dict[str, Any]:
        """Return it as parameters."""
        return {f'{hand}.payload.{key}': value for key, value in self._asdict().items()}

    def body(self, what: str) -> Inertia:
        """Return the body, or raise `ArgumentError` if none can be so. Without mass there is none."""
        numbers = np.array([self.mass, *self.com, *self.inertia], dtype=float)
        if not (np.abs(numbers) <= MAX_QUANTITY).all():
            raise ArgumentError(f'{what}: {numbers.tolist()}, must be finite, at most {MAX_QUANTITY:g}')
        if not self.mass:
            return Inertia()
        return possible(Inertia.about_com(self.mass, numbers[1:4], symmetric(numbers[4:])), what)


class Payloads:
    """One payload a hand. `<hand>.payload.*` is what is wanted; what the dynamics have follows it over `payload_ramp`.

    Between two possible bodies all are possible, for everything is linear in the ten parameters. Times are whole ns.
    """

    def __init__(self, settings: Settings, dynamics: Dynamics, hands: Mapping[str, WrenchInput]) -> None:
        """The parameters are declared with those of the hands."""
        self._settings, self._dynamics, self._hands = settings, dynamics, hands
        self.refusals = {name: Refusals() for name in hands}  # of messages
        self._wanted = {name: Inertia() for name in hands}
        self._ramps: dict[str, InertiaRamp | None] = {}  # None: begins with the next state
        self._unplaced: dict[
            str, tuple[str, PayloadSpec]
        ] = {}  # by hand: the frame of a payload that waits for positions
        settings.require(self._check)
        settings.on_change(self._apply)
        self.carried: Mapping[str, Inertia] = {}  # by link, as the dynamics have it now; another object when it changes
        self._finish()  # nothing was carried before the start

    def _check(self, values: Mapping[str, Any]) -> None:
        for name in self._hands:
            PayloadSpec.by(values, name).body(f'{name}.payload')

    def _apply(self) -> None:
        for name in self._hands:
            body = PayloadSpec.by(self._settings, name).body(f'{name}.payload')
            if not np.array_equal(body.parameters, self._wanted[name].parameters):
                self._wanted[name], self._ramps[name] = body, None
                self._unplaced.pop(name, None)  # set since by a parameter

    def advance(self, now: int) -> None:
        """Bring the dynamics to where the ramps are now: call it before torques are computed."""
        if not self._ramps:
            return
        time, seconds = now * 1e-9, self._settings['payload_ramp']
        for name, ramp in [*self._ramps.items()]:
            going = ramp or InertiaRamp(self._hands[name].payload, self._wanted[name], time, seconds)
            self._ramps[name] = going
            over = going.done(time) or time < going.start  # a clock that was set back must not hold it up
            self._hands[name].payload = self._wanted[name] if over else going.at(time)
            if over:
                del self._ramps[name]
        self._load()

    def _finish(self) -> None:
        for name, hand in self._hands.items():
            hand.payload = self._wanted[name]
        self._ramps.clear()
        self._load()

    def _load(self) -> None:
        carried: dict[str, Inertia] = {}
        for hand in self._hands.values():
            carried[hand.link] = carried.get(hand.link, Inertia()) + hand.payload
        self._dynamics.payload = self.carried = carried

    @property
    def steady(self) -> bool:
        """Whether every hand carries what is wanted."""
        return not self._ramps and not self._unplaced

    def changing(self, hand: str) -> bool:
        """Whether a hand's payload is still on its way to what is wanted, or waits for the joints' positions."""
        return hand in self._ramps or hand in self._unplaced

    def waits_in(self, hand: str) -> str:
        """Return the frame of a hand's payload that cannot be placed until all joints are known; '' if none waits."""
        return self._unplaced[hand][0] if hand in self._unplaced else ''

    def update(self, hand: str, frame: str, told: PayloadSpec, q: Array | None) -> None:
        """Let a hand carry from now on what is told, as `read` has it; what cannot be is refused."""
        self._set(hand, self.read(hand, frame, told, q))

    def apply_waiting(self, q: Array) -> None:
        """Let hands carry the payloads that waited for the positions q (n)."""
        for hand, values in self.placed(q).items():
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

    def read(self, hand: str, frame: str, told: PayloadSpec, q: Array | None) -> dict[str, Any] | None:
        """Return the parameters' values for a payload that is told in a link's frame, or in the hand's if it is empty.

        None if they have them already, or if it cannot be: then a refusal is noted. `q` (n) are the joint positions:
        they are needed where that link moves against the hand. While they are not known, such a payload waits, until
        `placed` has them or the hand's next good message replaces it.
        """
        link = self._hands[hand].link
        try:
            body = told.body(f'payload/{hand}')
            moved = bool(body.m and frame and frame != link)
            if moved and q is None and not self._dynamics.fixed_together(link, frame):
                self._unplaced[hand] = frame, told
                return None
            if moved:
                body = self._dynamics.inertia_at_link(body, link, frame, q)
        except ArgumentError as error:
            self.refusals[hand].note(str(error))
            return None
        self._unplaced.pop(hand, None)
        known = self._wanted[hand].parameters
        if np.abs(body.parameters - known).max() <= SAME * np.abs(known).max():
            return None
        return PayloadSpec(body.m, body.com.tolist(), upper_triangle(body.I_G).tolist()).values(hand)

    def placed(self, q: Array) -> dict[str, dict[str, Any]]:
        """Return by hand the parameters' values for payloads that waited for the positions q (n); none wait then."""
        waiting, self._unplaced = self._unplaced, {}
        found = {hand: self.read(hand, frame, told, q) for hand, (frame, told) in waiting.items()}
        return {hand: values for hand, values in found.items() if values is not None}
