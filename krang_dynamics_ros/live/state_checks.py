"""Checks on joint states: samples that no joint can reach, and what commands to motors depend on. Times in ns."""

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
    """One check: what is looked at, what must hold, in words with its numbers, and what happens where it does not.

    `result` is one of `refused` (commands cannot be enabled), `fault` (commands end), `warning`, or two of them.
    """

    name: str
    rule: str
    result: str


TURNING_SPEED, SLIDING_SPEED = 10.0, 2.0  # rad/s, m/s: where no velocity limit is known
TURNING_POSITION_MARGIN, SLIDING_POSITION_MARGIN = 0.05, 0.01  # rad, m
SPEED_FACTOR = 2.0  # times the velocity limit
NEW_TRUTH = 3  # consecutive refused samples that agree with each other
Joints = NDArray[np.intp]
Times = NDArray[np.int64]


class JointBounds(NamedTuple):
    """How far n joints can move."""

    speed: Array  # rad/s, m/s
    margin: Array  # rad, m: besides
    endless: NDArray[np.bool_]  # whether it turns without end: positions count modulo 2 pi
    sliding: NDArray[np.bool_]

    @classmethod
    def of(
        cls, velocity_limits: Sequence[float | None], sliding: Sequence[bool], endless: Sequence[bool]
    ) -> JointBounds:
        """Return the bounds of joints with these velocity limits, None or zero where it is not known."""
        slides = np.array(sliding, dtype=bool)
        known = np.array([limit or 0.0 for limit in velocity_limits])
        speed = np.where(known > 0, known, np.where(slides, SLIDING_SPEED, TURNING_SPEED))
        margin = np.where(slides, SLIDING_POSITION_MARGIN, TURNING_POSITION_MARGIN)
        return cls(SPEED_FACTOR * speed, margin, np.array(endless, dtype=bool) & ~slides, slides)

    def moved(self, joints: Joints | slice, before: Array, after: Array) -> Array:
        """Return by how much joints moved, modulo 2 pi where they turn without end."""
        moved = after - before
        turned = np.remainder(moved + np.pi, 2 * np.pi) - np.pi
        return np.where(self.endless[joints] & (np.abs(moved) > np.pi), turned, moved)

    def reach(self, joints: Joints | slice, seconds: Array) -> Array:
        """Return how far joints can move within a time."""
        return np.asarray(self.speed[joints] * seconds + self.margin[joints])


def seconds_between(before: tuple[Times, Times], stamp: Times | int, arrival: Times | int) -> Array:
    """Return the time (s) between samples, by stamps, or by arrivals where one has no stamp. `before`: both of them."""
    stamped = (before[0] != 0) & (np.asarray(stamp) != 0)
    return np.asarray(np.maximum(np.where(stamped, stamp - before[0], arrival - before[1]) * 1e-9, 0.0))


class RefusedSamples:
    """The latest refused sample of each joint (n), and how many in a row agreed with each other."""

    def __init__(self, bounds: JointBounds) -> None:
        self._bounds = bounds
        self.forget()

    def forget(self) -> None:
        """Know of none."""
        n = len(self._bounds.speed)
        self.any = False  # whether there is one: false tells at a glance that there is nothing to forget
        self._count, self._sample = np.zeros(n, dtype=int), np.full(n, np.nan)
        self._stamp, self._arrival = np.zeros((2, n), dtype=np.int64)

    def has(self, joints: Joints, stamp: int) -> bool:
        """Tell whether refused samples of joints, of this stamp or a later one, are known already."""
        return bool(stamp and (self._stamp[joints] >= stamp).all())

    def add(self, joints: Joints, samples: Array, stamp: int, now: int) -> bool:
        """Take in refused samples of joints; return whether they are the new truth."""
        self.any = True
        seconds = seconds_between((self._stamp[joints], self._arrival[joints]), stamp, now)
        moved = self._bounds.moved(joints, self._sample[joints], samples)
        agree = np.abs(moved) <= self._bounds.reach(joints, seconds)  # NaN: there is none before
        self._count[joints] = np.where(agree, self._count[joints] + 1, 1)
        self._sample[joints], self._stamp[joints], self._arrival[joints] = samples, stamp, now
        return bool((self._count[joints] >= NEW_TRUTH).all())

    def end(self, joints: Joints) -> None:
        """Forget those of joints that had a good sample."""
        self._count[joints], self._sample[joints], self._stamp[joints] = 0, np.nan, 0
        self.any = bool(self._count.any())


HOLD = 1_000_000_000  # ns: a reset and refused samples count as a fault for so long after they came
REFUSED_SAMPLES = 3  # of a joint within HOLD
WINDOW = 0.2  # s: over it means are taken
STANDING_SPEED = 0.2  # rad/s or m/s
SPEED_SHARE = 0.5  # of the larger mean velocity
TURNING_VELOCITY_MARGIN, SLIDING_VELOCITY_MARGIN = 0.2, 0.02  # rad/s, m/s

STATE_CHECKS = (
    Check(
        'jump between two states',
        'per joint, modulo 2 pi where continuous: at most twice the velocity limit (none known or zero: 10 rad/s, '
        '2 m/s) times the time between both, plus 0.05 rad (0.01 m); fewer than three refused samples within a second',
        'fault',
    ),
    Check(
        "velocity against the positions' difference",
        'means over 0.2 s agree within half of the larger plus 0.2 rad/s (0.02 m/s); not with velocity_source: '
        'position',
        'warning',
    ),
    Check(
        'positions that stand while velocities move',
        'positions that are equal to the last digit for 0.2 s have a mean velocity of at most 0.2 rad/s (m/s); not '
        'with velocity_source: position',
        'fault',
    ),
    Check(
        'stamps',
        'the stamp of a joint advances, else the sample is no new value; further back than state_timeout is a reset',
        'fault',
    ),
    Check(
        'lateness',
        'arrival minus stamp, per list of names, less its smallest value (which may rise 1 ms/s): at most '
        'state_timeout',
        'fault',
    ),
    Check(
        'clock of the stamps',
        'stamps are within state_timeout of this clock, unless state_clock is other',
        'refused',
    ),
)


class StateChecks:
    """What is wrong with the joint states, for commands. `JointTracker` feeds it.

    Positions and velocities are compared only while `watching`, which commands set while they are not OFF and while
    enabling them is asked. Jumps, resets and delays are noted always.
    """

    def __init__(self, joint_names: Sequence[str], sliding: NDArray[np.bool_], timeout: float) -> None:
        """`sliding` (n) tells which joints are prismatic; `timeout` in seconds is the parameter state_timeout."""
        self.timeout = timeout
        self.publishers: Callable[[], Sequence[str]] = tuple  # names of all publishers of joint states: the node's
        self.delays: Callable[[], Iterable[Delay]] = tuple  # of the lists of names that came
        self._joint_names, self._units = tuple(joint_names), np.where(sliding, 'm', 'rad')
        self._margin = np.where(sliding, SLIDING_VELOCITY_MARGIN, TURNING_VELOCITY_MARGIN)
        self._refused: dict[int, deque[tuple[int, float, float]]] = {}  # by joint: arrival, position before, refused
        self._reset, self._reset_at = '', 0
        self.compares = False  # as `watching`, at a glance
        self._begin()

    @property
    def watching(self) -> bool:
        """Whether positions and velocities are compared."""
        return self.compares

    @watching.setter
    def watching(self, value: bool) -> None:
        if value and not self.compares:
            self._begin()
        self.compares = value

    def _begin(self) -> None:
        n = len(self._joint_names)
        self._stands, self._turned = np.zeros((2, n))  # s since the position changed, and what velocities made of it
        self._elapsed, self._path, self._integral = np.zeros((3, n))  # of a window: s, by positions, by velocities
        self._contradicts = np.zeros(n, dtype=bool)

    # What the tracker tells ------------------------------------------------------------------------------------------

    def note_reset(self, why: str, now: int) -> None:
        """Note that what was known of the joints is forgotten."""
        self._reset, self._reset_at = why, now
        self._refused.clear()
        for delay in self.delays():
            delay.forget()
        self._begin()

    def note_refused(self, joint: int, before: float, sample: float, now: int) -> None:
        """Note that a sample of a joint was refused, for it lies too far from the position before."""
        self._refused.setdefault(joint, deque(maxlen=REFUSED_SAMPLES)).append((now, before, sample))

    def observe(self, ours: NDArray[np.intp], moved: Array, dq: Array, dt: Array) -> None:
        """Take in by how much joints moved (k) to their newest samples, velocities there, and the time between (s)."""
        goes_on = np.isfinite(moved) & (dt <= WINDOW)
        moved, turned = np.where(goes_on, moved, 0.0), np.where(goes_on, dq * dt, 0.0)
        still = goes_on & (moved == 0)
        self._stands[ours] = np.where(still, self._stands[ours] + dt, 0.0)
        self._turned[ours] = np.where(still, self._turned[ours] + np.nan_to_num(turned), 0.0)
        elapsed = np.where(goes_on, self._elapsed[ours] + dt, 0.0)
        path, integral = (
            np.where(elapsed > 0, x, 0.0) for x in (self._path[ours] + moved, self._integral[ours] + turned)
        )
        full = elapsed >= WINDOW
        allowed = SPEED_SHARE * np.maximum(np.abs(path), np.abs(integral)) + self._margin[ours] * elapsed
        self._contradicts[ours] = np.where(full, np.abs(path - integral) > allowed, self._contradicts[ours])
        for mine, values in ((self._elapsed, elapsed), (self._path, path), (self._integral, integral)):
            mine[ours] = np.where(full, 0.0, values)

    # What commands ask -----------------------------------------------------------------------------------------------

    def fault(self, now: int) -> str:
        """Return why commands must end or cannot begin, now (ns, the clock of arrivals); '' if nothing is wrong."""
        if self._reset and abs(now - self._reset_at) <= HOLD:
            return self._reset
        return self._repeated_jumps(now) or self._standing() or self._late(now)

    def _repeated_jumps(self, now: int) -> str:
        for joint, samples in self._refused.items():
            if len(samples) == REFUSED_SAMPLES and now - samples[0][0] <= HOLD:
                _, before, sample = samples[-1]
                name, unit, others = self._joint_names[joint], self._units[joint], self.publishers()
                said = f'; joint_states come from {", ".join(others)}' if others else ''
                return (
                    f'{name}: {REFUSED_SAMPLES} samples within a second contradict the ones before, the last is '
                    f'{sample:.4g} {unit} after {before:.4g} {unit}{said}'
                )
        return ''

    def _standing(self) -> str:
        contradicts = (self._stands >= WINDOW) & (np.abs(self._turned) > STANDING_SPEED * self._stands)
        if not self.compares or not contradicts.any():
            return ''
        k = int(np.argmax(contradicts))
        speed = self._turned[k] / self._stands[k]
        return (
            f'{self._joint_names[k]}: its position has not changed for {self._stands[k]:.2g} s while its velocity is '
            f'{speed:.2g} {self._units[k]}/s, must be at most {STANDING_SPEED:g}; look at its driver'
        )

    def _late(self, now: int) -> str:
        limit = self.timeout * 1e9
        for delay in self.delays():
            if delay.lateness > limit and abs(now - delay.arrival) <= HOLD:
                return (
                    f'joint states of {listed(delay.names)} come {delay.lateness * 1e-9:.2g} s later than they did, '
                    f'must be within {self.timeout:g} s (state_timeout); look at the network and the load'
                )
        return ''

    def warnings(self) -> list[str]:
        """Return what is odd and ends no commands."""
        names = [name for name, odd in zip(self._joint_names, self._contradicts, strict=True) if odd]
        if not self.compares or not names:
            return []
        return [f'velocities contradict positions: {listed(names)}; look at the sign and unit of their velocities']

    def clock_trouble(self, clock: int) -> str:
        """Return why stamps are not of this clock (ns, the one that stamps go by), for enabling; '' if they are."""
        for delay in self.delays():
            ahead = (delay.stamp - clock) * 1e-9
            if delay.stamp and abs(ahead) > self.timeout:
                side = 'ahead of' if ahead > 0 else 'behind'
                return (
                    f'stamps of {listed(delay.names)} are {abs(ahead):.3g} s {side} this clock, must be within '
                    f'{self.timeout:g} s (state_timeout); synchronise the clocks, or set state_clock to other'
                )
        return ''
