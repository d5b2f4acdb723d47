"""Diagnostics of `dynamics_node`: its inputs and its computation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from ...core.errors import MAX_LISTED
from ...core.spatial import Array
from ...dynamics.terms import terms_of
from ...live.base import BaseInput
from ...live.engine import Engine
from ...live.wrenches import WrenchInput
from ..diagnostics import ERROR, OK, WARN, Status, age
from .inputs import NodeClocks

MAX_DELAY = 0.1  # s: a larger mean delay of torques is too much to drive a robot
OTHER_CLOCK = 10.0  # s: an older stamp is of another clock, for example of a recording


class DynamicsHealth:
    """The statuses of a node, with counters since the last report."""

    def __init__(self, engine: Engine, clocks: NodeClocks) -> None:
        self._engine, self._inputs, self._clocks = engine, engine.inputs, clocks
        self._refused: dict[str, int] = {}  # totals at the last report
        self._received = self._repeated = 0  # joint states at the last report; those with a repeated stamp
        self._begin()

    def _begin(self) -> None:
        self._since, self._computed, self._seconds, self._longest = time.monotonic(), 0, 0.0, 0.0
        self._delay = 0.0  # s, sum of the delays from stamp to published torques

    def computed(self, stamp: int, seconds: float) -> None:
        """Count published torques of a state with this stamp (ns), computed in `seconds`."""
        self._computed += 1
        self._delay += (self._clocks.stamp() - stamp) / 1e9
        self._seconds += seconds
        self._longest = max(self._longest, seconds)

    def statuses(self) -> Iterator[Status]:
        """Yield the present statuses, and reset the counters."""
        elapsed = max(time.monotonic() - self._since, 1e-3)
        yield self._joint_states(elapsed)
        if self._inputs.base is not None:
            yield self._base(self._inputs.base)
        for hand in self._inputs.hands.values():
            yield self._wrench(hand)
            yield self._payload(hand)
        yield self._torques()
        level, words, values = self._engine.guiding.status()
        yield Status('guiding', WARN if level == 'warning' else OK, words, values)
        yield self._computation(elapsed)
        yield from self._description()
        self._begin()

    def _description(self) -> Iterator[Status]:
        """Yield a warning if the robot's description has faults that are tolerated."""
        odd = self._engine.model.warnings
        if odd:
            message = f'accepted with {len(odd)} warnings: {"; ".join(map(str, odd[:MAX_LISTED]))}'
            yield Status('robot description', WARN, message, {fault.path: fault for fault in odd})

    def _joint_states(self, elapsed: float) -> Status:
        states, now = self._inputs.states, self._clocks.arrival()
        missing = states.missing(now)
        count = self._inputs.joint_state_count
        rate, self._received = (count - self._received) / elapsed, count
        return Status('joint states', *self._joint_level(missing), {
            'rate (Hz)': f'{rate:.1f}',
            'age of the oldest joint (s)': age(now, states.oldest_arrival),
            'missing or stale': ', '.join(missing),
            'refused': states.refusals.count,
            'last refusal': states.refusals.reason,
            'stamp did not advance': states.repeated,
            'time went back': states.timeline.time_resets,
            'resets': states.timeline.resets,
            'in parts': 'yes' if states.alignment.active else 'no',
            'behind the newest stamp': ', '.join(states.delayed_joints()),
        })  # fmt: skip

    def _joint_level(self, missing: Sequence[str]) -> tuple[bytes, str]:
        """Return level and message of the joint states since the last call; `missing` are joints without data."""
        states = self._inputs.states
        refused = self._newly_refused('joint states', states.refusals.count)
        repeated, self._repeated = states.repeated - self._repeated, states.repeated
        if missing:
            names = ', '.join(missing[:5]) + (', ...' if len(missing) > 5 else '')
            known = f'{len(missing)} of {len(states.joint_names)} joints are not known'
            why = f'; {repeated} messages had stamps that do not advance' if repeated else ''
            return ERROR, f'no torque: {known}: {names}{why}'
        if refused:
            return WARN, f'{refused} messages refused: {states.refusals.reason}'
        if not states.velocities_known:
            return WARN, 'no velocities: no Coriolis and no friction torque'
        return OK, 'all joints are known'

    def _base(self, base: BaseInput) -> Status:
        refused = self._newly_refused('base motion', base.refusals.count)
        why = self._inputs.base_fault(self._clocks.arrival())
        level, words = OK, f'by the IMU: {base.mode}'
        if why:
            level, words = ERROR, f'no torque: {why}'
        elif refused:
            level, words = WARN, f'{refused} messages refused: {base.refusals.reason}'
        motion = base.motion
        return Status('base motion', level, words, {
            'age (s)': age(self._clocks.arrival(), base.arrival),
            'effective gravity (m/s^2)': '' if motion is None else _three(motion.gravity),
            'angular velocity (rad/s)': '' if motion is None else _three(motion.angular_velocity),
            'angular acceleration (rad/s^2)': '' if motion is None else _three(motion.angular_acceleration),
            'refused': base.refusals.count,
            'last refusal': base.refusals.reason,
        })  # fmt: skip

    def _wrench(self, hand: WrenchInput) -> Status:
        name, now, needed = f'wrench {hand.name}', self._clocks.arrival(), 'wrench' in self._engine.total_terms
        refused = self._newly_refused(name, hand.refusals.count)
        level, message = OK, 'fresh'
        if refused:
            level, message = WARN, f'{refused} messages refused: {hand.refusals.reason}'
        elif not hand.known:
            level, message = (WARN if needed else OK), 'none received yet: counts as no wrench'
        elif hand.is_stale(self._inputs.states.newest_joint_stamp, now):
            ahead = hand.lead_time(self._inputs.states.newest_joint_stamp) / 1e9
            fault = f'stamped {ahead:.3f} s after the joint states' if ahead > hand.timeout else 'old'
            level, message = WARN, f'the latest is {fault}, must be within {hand.timeout:g} s: counts as no wrench'
        return Status(name, level, message, {
            'age (s)': age(now, hand.arrival),
            'frame': hand.frame or hand.link,
            'sense': hand.sense,
            'moment about': hand.moment_about,
            'refused': hand.refusals.count,
            'last refusal': hand.refusals.reason,
        })  # fmt: skip

    def _payload(self, hand: WrenchInput) -> Status:
        name, refusals = f'payload {hand.name}', self._engine.payloads.refusals[hand.name]
        refused, body = self._newly_refused(name, refusals.count), hand.payload
        level, message = OK, f'{body.m:.4g} kg' if body.m else 'none'
        if refused:
            level, message = WARN, f'{refused} messages refused: {refusals.reason}'
        elif frame := self._engine.payloads.waiting_frame(hand.name):
            level, message = WARN, f'waits for all joints, given in the frame of {frame}; now {body.m:.4g} kg'
        elif self._engine.payloads.changing(hand.name):
            message = f'changing, now {body.m:.4g} kg'
        return Status(name, level, message, {
            'mass (kg)': f'{body.m:.6g}',
            'centre of mass (m)': ', '.join(f'{x:.4g}' for x in body.com),
            'refused': refusals.count,
            'last refusal': refusals.reason,
        })  # fmt: skip

    def _torques(self) -> Status:
        faults, summed = self._engine.faults, self._engine.total_terms
        missing = [f'torque/{term}' for term in faults] + ['torque/total'] * any(term in summed for term in faults)
        why = '; '.join(f'{term} is {fault}' for term, fault in faults.items())
        level, message = (ERROR, f'no {", ".join(missing)}: {why}') if faults else (OK, 'finite')
        faults.clear()
        return Status('torques', level, message, {'terms': ', '.join(terms_of(self._engine.model.robot))})

    def _computation(self, elapsed: float) -> Status:
        count = max(1, self._computed)
        delay, message = self._delay / count, f'{self._computed / elapsed:.1f} states per second'
        delayed = MAX_DELAY < delay < OTHER_CLOCK
        if delayed:
            message += f', their torques {delay:.2f} s after their stamps: this machine is busy, or its clock is ahead'
        return Status('computation', WARN if delayed else OK, message, {
            'mean (us)': f'{self._seconds / count * 1e6:.1f}',
            'longest (us)': f'{self._longest * 1e6:.1f}',
            'after the stamp, mean (s)': f'{delay:.4f}',
        })  # fmt: skip

    def _newly_refused(self, name: str, count: int) -> int:
        refused = count - self._refused.get(name, 0)
        self._refused[name] = count
        return refused


def _three(vector: Array) -> str:
    return ', '.join(f'{x:.3f}' for x in vector)
