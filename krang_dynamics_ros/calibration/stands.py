"""Stands: the mean efforts of an arm at rest in a pose, for a payload by lifting; their sampler and their file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ArgumentError, FaultsError, fault, unknown_name
from ..core.files import whole_file
from ..core.inertia import UNIT_LOADS
from ..core.spatial import Array
from ..core.wrench import Load, Wrench
from ..dynamics.terms import Torques
from ..live.engine import Engine
from ..live.firmware import payload_of_hand
from ..live.standstill import STEADY, Standstill, effort_fault
from ..live.wrenches import Reading
from .payload_by_lifting import Stand, bears_hand

REVERSAL = 0.002  # rad, m: above the noise of an encoder
SECONDS = 1.0  # duration of a stand
PERIOD = 0.1  # s between two checks: a check goes through all efforts of a second
ROUNDING = 1e-4  # of the largest torque: efforts that equal the total within this are commands


class LastTravel:
    """Direction of the last travel of each joint; a motion back by less than `REVERSAL` is ignored."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.forget()

    def forget(self) -> None:
        """Forget all motion."""
        self.side = np.zeros(self._n)
        self._extreme: Array | None = None

    def update(self, q: Array) -> None:
        """Store positions (n)."""
        if self._extreme is None:
            self._extreme = q.copy()
        way = q - self._extreme
        reversed_ = np.abs(way) > REVERSAL
        follows = reversed_ | (self.side * way > 0)
        self.side = np.where(reversed_, np.sign(way), self.side)
        self._extreme = np.where(follows, q, self._extreme)


class HoldingTorque:
    """Torques that hold a hand's load, from measured efforts."""

    def __init__(self, engine: Engine, hand: str) -> None:
        """Read the meaning of efforts from the parameters of the engine.

        Raises:
            ArgumentError: the firmware subtracts a payload on a flange that the robot does not have.
        """
        self._dynamics, self._hand = engine.dynamics, engine.inputs.hands[hand]
        self.efforts = engine.external.efforts
        link, body = payload_of_hand(engine.settings, hand, self._hand.link)
        gravity = np.array(engine.settings['robot.gravity'], dtype=float)
        self._removed = Load(link, body, gravity=gravity) if body.m and self.without_gravity else None
        if self._removed and link not in self._dynamics.link_names:
            raise unknown_name(f'{hand}.robot_flange: link', link, self._dynamics.link_names)

    @property
    def without_gravity(self) -> bool:
        """Whether the firmware subtracts gravity from efforts, and with it the weight of the payload that it knows."""
        return self.efforts.source == 'external' or 'gravity' in self.efforts.without

    def columns(self, q: Array) -> Array:
        """Return the torques (n, 4) that hold a unit mass, and unit first moments, on the hand's link at q (n)."""
        return np.column_stack([self._holding(q, Load(self._hand.link, body)) for body in UNIT_LOADS])

    def _holding(self, q: Array, load: Load) -> Array:
        (weight,) = self._dynamics.weights(q, [load])
        return -self._dynamics.wrench_torque(q, [Wrench.of(load.link, weight)])

    def measured(self, q: Array, effort: Array) -> Array:
        """Return the joint torques (n) of efforts (n) at rest; external torques with the sign of a load to hold."""
        torque = self.efforts.torques(q[None], np.zeros((1, len(q))), effort[None])[0]
        return np.asarray(-torque if self.efforts.source == 'external' else torque)

    def residual(self, q: Array, effort: Array) -> Array:
        """Return measured minus modelled holding torque (n) at rest, without the hand's payload in the model.

        If the firmware has subtracted the weight of the payload that it knows, that weight is added again.
        """
        torque = self.measured(q, effort)
        if self.efforts.source != 'external':
            torque = torque - self._dynamics.Q(q) - self._dynamics.springs_and_couplings.spring_torque(q)
        if self._hand.payload.m and not self.without_gravity:
            torque = torque + self.columns(q) @ self._hand.payload.parameters[:4]
        return np.asarray(torque if self._removed is None else torque + self._holding(q, self._removed))


class StandSampler:
    """Takes a stand whenever the arm rests after a motion; `status` says why it takes none now."""

    def __init__(self, engine: Engine, hand: str) -> None:
        """Use an engine that gets each message before this object does.

        Raises:
            ArgumentError: the base may move, so that joint positions alone are no pose; see also `HoldingTorque`.
        """
        if engine.inputs.base is not None:
            raise ArgumentError('base_motion must be fixed for a payload by lifting; set `gravity` to that of the base')
        self._engine = engine
        self.refusal: Callable[[], str] = lambda: ''  # called before each stand; returns why efforts show no load now
        self.hand, self.holding = engine.inputs.hands[hand], HoldingTorque(engine, hand)
        efforts = self.holding.efforts
        names = engine.dynamics.joint_names
        self._still = Standstill(names, SECONDS, lambda numbers: effort_fault(numbers * efforts.scale))
        self._travel = LastTravel(len(names))
        self._checked, self._last_q = 0, np.full(len(names), np.inf)
        self.stands: list[Stand] = []
        self.status = 'no joint states of all joints yet'
        self.refused = ''  # why the last rest gave no stand
        engine.inputs.states.timeline.on_reset(self._forget)

    def _forget(self) -> None:
        self._still.forget()
        self._travel.forget()
        self._last_q[:] = np.inf

    def update(self, torques: Torques, now: int) -> Stand | None:
        """Add the torques of a joint state that arrived at `now` (ns); return a stand if it completes one."""
        state = torques.state
        self._travel.update(state.q)
        if state.effort is None or np.isnan(state.effort).all():
            self.status = 'joint_states has no effort'
            return None
        self._still.add(now, Reading(state.effort.copy(), '', ''), state.q, state.dq)
        if np.abs(state.q - self._last_q).max() > STEADY:
            self._last_q[:] = np.inf  # moved since the last stand
        if now - self._checked < PERIOD * 1e9 and now >= self._checked:
            return None
        self._checked = now
        return self._consider(torques, now)

    def _consider(self, torques: Torques, now: int) -> Stand | None:
        if fault_now := self._still.fault(now):
            self.status = fault_now
            return None
        if np.isfinite(self._last_q).all():
            self.status = 'still at rest where the last stand was taken; move to the next pose'
            return None
        average = self._still.average()
        effort = average.reading.numbers
        measured = bears_hand(self.holding.columns(average.q)) & np.isfinite(effort)
        if why := self._unusable(torques, average.q, effort, measured):
            self.status = self.refused = why
            return None
        deviation = average.deviation * np.abs(self.holding.efforts.scale) / np.sqrt(average.readings)
        stand = Stand(average.q, self.holding.residual(average.q, effort), deviation, self._travel.side.copy())
        self.stands.append(stand)
        self._last_q = average.q.copy()
        self.status = f'stand {len(self.stands)} taken; move to the next pose'
        return stand

    def _unusable(self, torques: Torques, q: Array, effort: Array, measured: NDArray[np.bool_]) -> str:
        """Return why an arm at rest gives no stand, or ''; `measured` (n): joints that bear the hand, with efforts."""
        if not measured.any():
            return f'no joint that bears {self.hand.link} has an effort'
        if not (measured & (self._travel.side != 0)).any():
            return 'at rest since the start; move the arm away and back: the direction of the last travel must be known'
        return self.refusal() or self._commanded(torques, q, effort, measured)

    def _commanded(self, torques: Torques, q: Array, effort: Array, measured: NDArray[np.bool_]) -> str:
        """Return a message if the efforts equal the total of the model, or ''."""
        total = torques.total(self._engine.total_terms)
        if total is None or self.holding.efforts.source == 'external':
            return ''
        difference = np.abs(self.holding.measured(q, effort) - total)[measured].max()
        if difference > ROUNDING * np.abs(total[measured]).max():
            return ''
        return (
            'effort equals torque/total to rounding: it is the command, which does not show the load; '
            'hold the arm with a position controller'
        )


class StandsError(FaultsError):
    """A file of stands that cannot be used."""


QUANTITIES = ('position', 'residual', 'deviation', 'side')


def write_stands(path: Path, stands: Sequence[Stand], joint_names: Sequence[str]) -> None:
    """Write stands, a row each: positions (rad, m), residuals and their deviations (N m, N), sides, by joint.

    The file is replaced as a whole, so it is complete at any moment.
    """
    with whole_file(path) as stream:
        writer = csv.writer(stream)
        writer.writerow(_header(joint_names))
        writer.writerows([repr(x) for x in np.concatenate(stand).tolist()] for stand in stands)


def read_stands(path: Path, joint_names: Sequence[str]) -> list[Stand]:
    """Read stands of a robot with these joints, or raise `StandsError`."""
    try:
        with path.open(newline='', encoding='utf-8') as stream:
            first, *rows = list(csv.reader(stream)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise StandsError(str(path), [fault('file', str(error), 'must be CSV text')]) from None
    if first != _header(joint_names):
        must = f'must be position, residual, deviation and side of each of {", ".join(joint_names)}'
        raise StandsError(str(path), [fault('first line', first, must)])
    return [_stand(path, number, row, len(joint_names)) for number, row in enumerate(rows, 2)]


def _header(joint_names: Sequence[str]) -> list[str]:
    return [f'{what}.{name}' for what in QUANTITIES for name in joint_names]


def _stand(path: Path, number: int, row: Sequence[str], n: int) -> Stand:
    try:
        q, residual, deviation, side = np.array(row, dtype=float).reshape(4, n)
    except ValueError:
        raise StandsError(str(path), [fault(f'line {number}', row, f'must be {4 * n} numbers')]) from None
    usable = np.isfinite(q).all() and not np.isinf([residual, deviation]).any() and np.isin(side, (-1, 0, 1)).all()
    if not usable:
        must = 'must have finite positions, efforts that are finite or nan, and sides -1, 0 or 1'
        raise StandsError(str(path), [fault(f'line {number}', row, must)])
    return Stand(q, residual, deviation, side)
