"""A hand with a force sensor: from what the sensor says to what the robot applies, and whether that is still true."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ..core.errors import did_you_mean
from ..core.wrench import Wrench
from .joint_table import NEVER
from .refusals import Refusals

Sense = Literal['applied_by_robot', 'applied_on_robot']
MomentAbout = Literal['frame', 'hand']
SENSES: tuple[str, ...] = get_args(Sense)
MOMENTS_ABOUT: tuple[str, ...] = get_args(MomentAbout)
LARGEST = 1e6  # N, N m: what is beyond is no wrench on a hand, but a fault


@dataclass
class EndEffector:
    """One end effector, and the latest wrench on it.

    `sense` says who applies the wrench: the robot (the report's sign) or the world (a sensor's usual sign).
    `moment_about` says about which origin the moment is given: that of the frame it is given in (ROS's convention),
    or the hand's own (the report's 0f_e@10).
    """

    name: str
    link: str
    sense: Sense = 'applied_by_robot'
    moment_about: MomentAbout = 'frame'
    timeout: float = 0.1  # s
    links: Collection[str] = ()  # in whose frames a wrench may be given
    refusals: Refusals = field(default_factory=Refusals)
    frame: str = ''  # of the latest wrench
    stamp: int = 0
    arrival: int = NEVER
    _wrench: Wrench | None = None

    def forget(self) -> None:
        """Know of no wrench."""
        self._wrench, self.arrival = None, NEVER

    def take(self, frame: str, force: Sequence[float], moment: Sequence[float], stamp: int, now: int) -> bool:
        """Take in a wrench (N, N m) in the axes of a link, `frame`, or of the hand if it is empty."""
        if frame and frame not in self.links:
            return self.refusals.note(f"frame '{frame}' is unknown; {did_you_mean(frame, self.links)}must be a link")
        if not all(abs(x) <= LARGEST for x in (*force, *moment)):  # NaN is not
            return self.refusals.note(f'force {force}, moment {moment}, must be finite, at most {LARGEST:g}')
        sign = 1.0 if self.sense == 'applied_by_robot' else -1.0
        about = frame if self.moment_about == 'frame' else ''
        self._wrench = Wrench(self.link, [sign * x for x in force], [sign * x for x in moment], frame, about)
        self.frame, self.stamp, self.arrival = frame, stamp, now
        return True

    def time_went_back(self, to: int) -> None:
        """Forget a wrench that, after time went back to a stamp, is of a time yet to come."""
        if self.stamp > to + self.timeout * 1e9:
            self.forget()

    @property
    def known(self) -> bool:
        """Whether there is a wrench at all, however old."""
        return self._wrench is not None

    def late(self, state_stamp: int, now: int) -> bool:
        """Tell whether the latest wrench is too old for a joint state of this stamp."""
        limit = self.timeout * 1e9
        by_stamp = self.stamp and state_stamp and state_stamp - self.stamp > limit
        return bool(by_stamp or now - self.arrival > limit)

    def wrench(self, state_stamp: int, now: int) -> Wrench | None:
        """Return what the robot applies (the report's sign), or nothing if the latest is too old."""
        return None if self._wrench is None or self.late(state_stamp, now) else self._wrench
