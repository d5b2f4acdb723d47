"""Checks on joint states: implausible steps, and faults that end the commands. Times in ns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.errors import listed
from ..core.spatial import Array
from .timeline import Delay


class Check(NamedTuple):
    """A check for the documents: its subject, its rule with numbers, and the result where the rule does not hold.

    `result` is one of `refused` (commands cannot be enabled), `fault` (commands fall by a fault), `falling` (they are
    disabled) and `warning`, or several of them with their conditions.
    """

    name: str
    rule: str
    result: str


REVOLUTE_SPEED, PRISMATIC_SPEED = 10.0, 2.0  # rad/s, m/s: if no velocity limit is known
REVOLUTE_POSITION_MARGIN, PRISMATIC_POSITION_MARGIN = 0.05, 0.01  # rad, m
SPEED_FACTOR = 2.0  # times the velocity limit
SAMPLES_TO_ACCEPT = 3  # consecutive refused samples that agree with each other
Joints = NDArray[np.intp]
Times = NDArray[np.int64]


class JointBounds(NamedTuple):
    """How far n joints can move."""

    speed: Array  # rad/s, m/s
    margin: Array  # rad, m: added to speed times time
    endless: NDArray[np.bool_]  # continuous joints: positions count modulo 2 pi
    prismatic: NDArray[np.bool_]

    @classmethod
    def of(
        cls, velocity_limits: Sequence[float | None], prismatic: Sequence[bool], endless: Sequence[bool]
    ) -> JointBounds:
        """Return the bounds of joints with these velocity limits (None or zero: unknown)."""
        is_prismatic = np.array(prismatic, dtype=bool)
        known = np.array([limit or 0.0 for limit in velocity_limits])
        speed = np.where(known > 0, known, np.where(is_prismatic, PRISMATIC_SPEED, REVOLUTE_SPEED))
        margin = np.where(is_prismatic, PRISMATIC_POSITION_MARGIN, REVOLUTE_POSITION_MARGIN)
        return cls(SPEED_FACTOR * speed, margin, np.array(endless, dtype=bool) & ~is_prismatic, is_prismatic)

    def moved(self, joints: Joints | slice, before: Array, after: Array) -> Array:
        """Return the travel of joints, modulo 2 pi if continuous."""
        moved = after - before
        shortest = np.remainder(moved + np.pi, 2 * np.pi) - np.pi
        return np.where(self.endless[joints] & (np.abs(moved) > np.pi), shortest, moved)

    def reach(self, joints: Joints | slice, seconds: Array) -> Array:
        """Return the maximum travel of joints within a time (s)."""
        return np.asarray(self.speed[joints] * seconds + self.margin[joints])


def seconds_between(before: tuple[Times, Times], stamp: Times | int, arrival: Times | int) -> Array:
    """Return the time (s) between samples, by stamps, or by arrivals if a stamp is missing. `before` has both."""
    stamped = (before[0] != 0) & (np.asarray(stamp) != 0)
    return np.asarray(np.maximum(np.where(stamped, stamp - before[0], arrival - before[1]) * 1e-9, 0.0))


class RefusedSamples:
    """The latest refused sample of each joint (n), and the number of consecutive ones that agree."""

    def __init__(self, bounds: JointBounds) -> None:
        self._bounds = bounds
        self.forget()

    def forget(self) -> None:
        """Forget all samples."""
        n = len(self._bounds.speed)
        self.any = False  # whether there is a refused sample, for a fast test
        self._count, self._sample = np.zeros(n, dtype=int), np.full(n, np.nan)
        self._stamp, self._arrival = np.zeros((2, n), dtype=np.int64)

    def has(self, joints: Joints, stamp: int) -> bool:
        """Return whether joints have refused samples of this stamp or a later one."""
        return bool(stamp and (self._stamp[joints] >= stamp).all())

    def add(self, joints: Joints, samples: Array, stamp: int, now: int) -> bool:
        """Store refused samples of joints; return whether enough of them agree to be accepted."""
        self.any = True
        seconds = seconds_between((self._stamp[joints], self._arrival[joints]), stamp, now)
        moved = self._bounds.moved(joints, self._sample[joints], samples)
        agree = np.abs(moved) <= self._bounds.reach(joints, seconds)  # NaN: no sample before
        self._count[joints] = np.where(agree, self._count[joints] + 1, 1)
        self._sample[joints], self._stamp[joints], self._arrival[joints] = samples, stamp, now
        return bool((self._count[joints] >= SAMPLES_TO_ACCEPT).all())

    def end(self, joints: Joints) -> None:
        """Forget the refused samples of joints that had an accepted sample."""
        self._count[joints], self._sample[joints], self._stamp[joints] = 0, np.nan, 0
        self.any = bool(self._count.any())


FAULT_DURATION = 1_000_000_000  # ns: duration of a fault after a reset or refused samples
REFUSED_SAMPLES = 3  # of a joint within FAULT_DURATION: a fault
WINDOW = 0.2  # s: time of averaging
STANDING_SPEED = 0.2  # rad/s or m/s
SPEED_SHARE = 0.5  # of the larger mean velocity
REVOLUTE_VELOCITY_MARGIN, PRISMATIC_VELOCITY_MARGIN = 0.2, 0.02  # rad/s, m/s

STATE_RULES = (
    Check(
        'jump between two states',
        'per joint, modulo 2 pi if continuous: at most twice the velocity limit (unknown or zero: 10 rad/s, '
        '2 m/s) times the time between both, plus 0.05 rad (0.01 m); fewer than three refused samples within a second',
        'fault',
    ),
    Check(
        "velocity against the positions' difference",
        'travels within 0.2 s, by positions and by velocities, agree within half of the larger plus 0.04 rad (4 mm), '
        'because damping by a velocity of the wrong sign would drive the arm; not with velocity_source: position',
        'warning; fault beside `damping` or `stops`',
    ),
    Check(
        'constant positions with nonzero velocities',
        'while a position is exactly constant, its velocity does not exceed 0.2 rad/s (m/s) one way for 0.2 s; not '
        'with velocity_source: position',
        'fault',
    ),
    Check(
        'stamps',
        'no stamp steps back by more than state_timeout, which is a reset; a sample whose stamp does not advance is '
        'only ignored',
        'fault',
    ),
    Check(
        'delay',
        'arrival minus stamp exceeds its smallest value so far by at most state_timeout, for each set of joints in a '
        'message; the smallest value may rise by 1 ms/s, as clocks drift',
        'fault',
    ),
    Check(
        'clock of the stamps',
        'stamps differ from this clock by at most state_timeout, unless state_clock is other',
        'refused',
    ),
)


class StateChecks:
    """Faults of the joint states that concern commands, recorded by `JointTracker`.

    Positions and velocities are compared only while `compares_velocities`, which is set while commands are not OFF.
    Jumps, resets and delays are always recorded.
    """

    def __init__(self, joint_names: Sequence[str], prismatic: NDArray[np.bool_], timeout: float) -> None:
        """`prismatic` (n) is true for prismatic joints; `timeout` in seconds is the parameter state_timeout."""
        self.timeout = timeout
        self.publishers: Callable[[], Sequence[str]] = tuple  # names of all publishers of joint states; set by the node
        self.delays: Callable[[], Iterable[Delay]] = tuple  # one for each set of joints that comes in a message
        self._joint_names, self._units = tuple(joint_names), np.where(prismatic, 'm', 'rad')
        self._margin = np.where(prismatic, PRISMATIC_VELOCITY_MARGIN, REVOLUTE_VELOCITY_MARGIN)
        self._refused: dict[int, deque[tuple[int, float, float]]] = {}  # by joint: arrival, position before, refused
        self._reset, self._reset_at = '', 0
        self.compares_velocities = False  # whether positions and velocities are compared
        self._begin()

    def compare(self, on: bool) -> None:
        """Begin to compare positions and velocities, or end it."""
        if on and not self.compares_velocities:
            self._begin()
        self.compares_velocities = on

    def _begin(self) -> None:
        n = len(self._joint_names)
        # While a position is constant and its velocity one way: time, s, and travel that the velocities say.
        self._still_time, self._still_travel = np.zeros((2, n))
        # In the present window: time, s, and travel by positions and by velocities.
        self._elapsed, self._by_positions, self._by_velocities = np.zeros((3, n))
        self._contradicts = np.zeros(n, dtype=bool)

    # Records of the tracker -----------------------------------------------------------------------------------------

    def note_reset(self, why: str, now: int) -> None:
        """Record a reset with its reason."""
        self._reset, self._reset_at = why, now
        self._refused.clear()
        for delay in self.delays():
            delay.forget()
        self._begin()

    def note_refused(self, joint: int, before: float, sample: float, now: int) -> None:
        """Record a refused sample of a joint, too far from the position before."""
        self._refused.setdefault(joint, deque(maxlen=REFUSED_SAMPLES)).append((now, before, sample))

    def observe(self, ours: NDArray[np.intp], moved: Array, dq: Array, dt: Array) -> None:
        """Compare the travel of joints (k) since the sample before with their velocity dq times the step dt (s)."""
        goes_on = np.isfinite(moved) & (dt <= WINDOW)
        moved, expected = np.where(goes_on, moved, 0.0), np.where(goes_on, dq * dt, 0.0)
        still = goes_on & (moved == 0)
        drives = still & (np.abs(dq) > STANDING_SPEED) & (expected * self._still_travel[ours] >= 0)
        self._still_time[ours] = np.where(drives, self._still_time[ours] + dt, 0.0)
        self._still_travel[ours] = np.where(drives, self._still_travel[ours] + expected, 0.0)
        self._add_to_window(ours, moved, expected, np.where(goes_on, self._elapsed[ours] + dt, 0.0))

    def _add_to_window(self, ours: NDArray[np.intp], moved: Array, expected: Array, elapsed: Array) -> None:
        """Add travels (k) by positions and by velocities; compare their sums, until a window is over."""
        going = elapsed > 0
        by_positions = np.where(going, self._by_positions[ours] + moved, 0.0)
        by_velocities = np.where(going, self._by_velocities[ours] + expected, 0.0)
        full, difference = elapsed >= WINDOW, np.abs(by_positions - by_velocities)
        larger = np.maximum(np.abs(by_positions), np.abs(by_velocities))
        beyond = difference > SPEED_SHARE * larger + self._margin[ours] * np.maximum(elapsed, WINDOW)
        self._contradicts[ours] = beyond | (self._contradicts[ours] & ~full)  # a large difference at once
        columns = (self._elapsed, elapsed), (self._by_positions, by_positions), (self._by_velocities, by_velocities)
        for column, values in columns:
            column[ours] = np.where(full, 0.0, values)

    # Queries for commands ---------------------------------------------------------------------------------------------

    def fault(self, now: int) -> str:
        """Return the fault that ends commands or prevents enabling, at `now` (ns, clock of arrivals), or ''."""
        if self._reset and abs(now - self._reset_at) <= FAULT_DURATION:
            return self._reset
        return self._repeated_jumps(now) or self._frozen_positions() or self._excess_delay(now)

    def _repeated_jumps(self, now: int) -> str:
        for joint, samples in self._refused.items():
            if len(samples) == REFUSED_SAMPLES and now - samples[0][0] <= FAULT_DURATION:
                _, before, sample = samples[-1]
                name, unit, others = self._joint_names[joint], self._units[joint], self.publishers()
                publishers = f'; joint_states are published by {", ".join(others)}' if others else ''
                return (
                    f'{name}: {REFUSED_SAMPLES} samples within a second contradict the samples before, the last is '
                    f'{sample:.4g} {unit} after {before:.4g} {unit}{publishers}'
                )
        return ''

    def _frozen_positions(self) -> str:
        contradicts = self._still_time >= WINDOW
        if not self.compares_velocities or not contradicts.any():
            return ''
        k = int(np.argmax(contradicts))
        speed = self._still_travel[k] / self._still_time[k]
        return (
            f'{self._joint_names[k]}: its position is constant for {self._still_time[k]:.2g} s while its velocity is '
            f'{speed:.2g} {self._units[k]}/s, must be at most {STANDING_SPEED:g}; check its driver'
        )

    def _excess_delay(self, now: int) -> str:
        limit = self.timeout * 1e9
        for delay in self.delays():
            if delay.excess > limit and abs(now - delay.arrival) <= FAULT_DURATION:
                return (
                    f'joint states of {listed(delay.names)} have an additional delay of {delay.excess * 1e-9:.2g} s, '
                    f'must be at most {self.timeout:g} s (state_timeout); check the network and the load'
                )
        return ''

    def warnings(self) -> list[str]:
        """Return faults that do not end commands, unless damping or stops are commanded."""
        if not self.compares_velocities or not self._contradicts.any():
            return []
        names = [name for name, odd in zip(self._joint_names, self._contradicts, strict=True) if odd]
        return [f'velocities contradict positions: {listed(names)}; check the sign and unit of the velocities']

    def clock_fault(self, clock: int) -> str:
        """Return a message if stamps differ from this clock (ns) by more than the timeout, or ''."""
        for delay in self.delays():
            ahead = (delay.stamp - clock) * 1e-9
            if delay.stamp and abs(ahead) > self.timeout:
                side = 'ahead of' if ahead > 0 else 'behind'
                return (
                    f'stamps of {listed(delay.names)} are {abs(ahead):.3g} s {side} this clock, must be within '
                    f'{self.timeout:g} s (state_timeout); synchronise the clocks, or set state_clock to other'
                )
        return ''
