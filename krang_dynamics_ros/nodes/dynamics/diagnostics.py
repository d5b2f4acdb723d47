"""What `dynamics_node` says of its inputs and of its computation on `/diagnostics`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ...core.errors import MAX_LISTED
from ...live.engine import Engine
from ...live.wrenches import WrenchInput
from ..diagnostics import ERROR, OK, WARN, Status, age

LATE = 0.1  # s: torques for a state that is older, on the mean, come too late to drive a robot
OTHER_CLOCK = 10.0  # s: a stamp that is older was not made by this clock; a recording's, say


class DynamicsHealth:
    """The statuses of a node, and what is counted for them since the last report."""

    def __init__(self, engine: Engine, now: Callable[[], int], clock: Callable[[], int]) -> None:
        """`now` is the clock that arrivals go by, `clock` that of stamps, ns."""
        self._engine, self._inputs, self._now, self._clock = engine, engine.inputs, now, clock
        self._refused: dict[str, int] = {}  # in all, up to the last report
        self._heard = self._repeated = 0  # joint states, up to the last report; those without a new stamp
        self._begin()

    def _begin(self) -> None:
        self._since, self._computed, self._seconds, self._longest = time.monotonic(), 0, 0.0, 0.0
        self._behind = 0.0  # s, in all: from a state's stamp until its torques went out

    def computed(self, stamp: int, seconds: float) -> None:
        """Note that the torques of a state with this stamp (ns) have gone out, and what that took."""
        self._computed += 1
        self._behind += (self._clock() - stamp) / 1e9
        self._seconds += seconds
        self._longest = max(self._longest, seconds)

    def statuses(self) -> Iterator[Status]:
        """Return what is so now, and begin to count anew."""
        elapsed = max(time.monotonic() - self._since, 1e-3)
        yield self._joint_states(elapsed)
        for hand in self._inputs.hands.values():
            yield self._wrench(hand)
            yield self._payload(hand)
        yield self._torques()
        yield self._computation(elapsed)
        yield from self._description()
        self._begin()

    def _description(self) -> Iterator[Status]:
        """Say what is odd in the robot's description, though it is taken."""
        odd = self._engine.model.warnings
        if odd:
            words = f'taken as it stands, with {len(odd)} oddities: {"; ".join(map(str, odd[:MAX_LISTED]))}'
            yield Status('robot description', WARN, words, {fault.path: fault for fault in odd})

    def _joint_states(self, elapsed: float) -> Status:
        states, now = self._inputs.states, self._now()
        missing = states.missing(now)
        fresh = self._newly_refused('joint states', states.refusals.count)
        rate, self._heard = (self._inputs.joint_state_count - self._heard) / elapsed, self._inputs.joint_state_count
        repeated, self._repeated = states.repeated - self._repeated, states.repeated
        level, words = OK, 'all joints are known'
        if missing:
            names = ', '.join(missing[:5]) + (', ...' if len(missing) > 5 else '')
            known = f'{len(missing)} of {len(states.joint_names)} joints are not known'
            why = f'; {repeated} messages had stamps that do not advance' if repeated else ''
            level, words = ERROR, f'no torque: {known}: {names}{why}'
        elif fresh:
            level, words = WARN, f'{fresh} messages refused: {states.refusals.reason}'
        elif not states.moving:
            level, words = WARN, 'no velocities: no Coriolis and no friction torque'
        return Status('joint states', level, words, {
            'rate (Hz)': f'{rate:.1f}',
            'age of the oldest joint (s)': age(now, states.oldest_arrival),
            'missing or late': ', '.join(missing),
            'refused in all': states.refusals.count,
            'refused last because': states.refusals.reason,
            'stamp did not advance': states.repeated,
            'time went back': states.timeline.time_resets,
            'began anew': states.timeline.resets,
            'in parts': 'yes' if states.in_parts else 'no',
            'behind the newest stamp': ', '.join(states.delayed_joints()),
        })  # fmt: skip

    def _wrench(self, hand: WrenchInput) -> Status:
        name, now, needed = f'wrench {hand.name}', self._now(), 'wrench' in self._engine.summed
        fresh = self._newly_refused(name, hand.refusals.count)
        level, words = OK, 'fresh'
        if fresh:
            level, words = WARN, f'{fresh} messages refused: {hand.refusals.reason}'
        elif not hand.known:
            level, words = (WARN if needed else OK), 'none so far: counts as no wrench'
        elif hand.is_stale(self._inputs.states.newest, now):
            ahead = hand.lead_time(self._inputs.states.newest) / 1e9
            what = f'stamped {ahead:.3f} s after the joint states' if ahead > hand.timeout else 'old'
            level, words = WARN, f'the latest is {what}, must be within {hand.timeout:g} s: counts as no wrench'
        return Status(name, level, words, {
            'age (s)': age(now, hand.arrival),
            'frame': hand.frame or hand.link,
            'sense': hand.sense,
            'moment about': hand.moment_about,
            'refused in all': hand.refusals.count,
            'refused last because': hand.refusals.reason,
        })  # fmt: skip

    def _payload(self, hand: WrenchInput) -> Status:
        name, refusals = f'payload {hand.name}', self._engine.payloads.refusals[hand.name]
        fresh, body = self._newly_refused(name, refusals.count), hand.payload
        level, words = OK, f'{body.m:.4g} kg' if body.m else 'none'
        if fresh:
            level, words = WARN, f'{fresh} messages refused: {refusals.reason}'
        elif frame := self._engine.payloads.waiting_frame(hand.name):
            level, words = WARN, f'waits until all joints are known: given in the frame of {frame}; now {body.m:.4g} kg'
        elif self._engine.payloads.changing(hand.name):
            words = f'changing, now {body.m:.4g} kg'
        return Status(name, level, words, {
            'mass (kg)': f'{body.m:.6g}',
            'centre of mass (m)': ', '.join(f'{x:.4g}' for x in body.com),
            'refused in all': refusals.count,
            'refused last because': refusals.reason,
        })  # fmt: skip

    def _torques(self) -> Status:
        faults, summed = self._engine.faults, self._engine.summed
        silent = [f'torque/{term}' for term in faults] + ['torque/total'] * any(term in summed for term in faults)
        why = '; '.join(f'{term} is {fault}' for term, fault in faults.items())
        level, words = (ERROR, f'no {", ".join(silent)}: {why}') if faults else (OK, 'finite')
        faults.clear()
        return Status('torques', level, words)

    def _computation(self, elapsed: float) -> Status:
        count = max(1, self._computed)
        behind, words = self._behind / count, f'{self._computed / elapsed:.1f} states per second'
        late = LATE < behind < OTHER_CLOCK
        if late:
            words += f', their torques {behind:.2f} s after their stamps: this machine is busy, or its clock is ahead'
        return Status('computation', WARN if late else OK, words, {
            'mean (us)': f'{self._seconds / count * 1e6:.1f}',
            'longest (us)': f'{self._longest * 1e6:.1f}',
            'after the stamp, mean (s)': f'{behind:.4f}',
        })  # fmt: skip

    def _newly_refused(self, name: str, count: int) -> int:
        fresh = count - self._refused.get(name, 0)
        self._refused[name] = count
        return fresh
