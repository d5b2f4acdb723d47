"""Readings of an IMU: the upward direction, the pitch, and the motion of the base. Times in ns."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.base_motion import BaseMotion
from ..core.errors import ArgumentError, did_you_mean
from ..core.parameters import ParameterSpec, Settings
from ..core.spatial import Array
from ..core.text import shown
from ..dynamics.dynamics import Dynamics
from .messages import ImuMessage, Quaternion, Refusals
from .timeline import NEVER, Delay

MODES = ('fixed', 'orientation', 'full')
SPECS = (
    ParameterSpec(
        'base_motion', MODES[0], 'how the base moves: not at all; tilted, by the orientation of the IMU on topic '
        '`imu`; or in any way, by its specific force and angular velocity', choices=MODES,
    ),
    ParameterSpec(
        'imu.link', '', "link whose frame the IMU's readings are in, fixed to the base; empty: the frame of the "
        'header', default_text="`''`, the header's frame",
    ),
    ParameterSpec(
        'imu.cutoff', 20.0, 'cutoff of the low pass in the derivative of the angular velocity, Hz',
        settable=True, least=0.1, most=1e3,
    ),
    ParameterSpec(
        'base.floor', math.nan, 'height of the floor along the z axis of the base, m; `zero_moment_point` needs it',
        settable=True, may_be_unset=True, default_text='`nan`, not set',
    ),
)  # fmt: skip

TOLERANCE = 0.01  # of a quaternion's length
MAX_ROLL = math.radians(5.0)  # allows for a sensor that is mounted slightly askew on a level axle
AGREEMENT = 10.0  # degrees between gravity by the orientation and by the specific force, at rest
# Part of gravity by which a horizontal acceleration lengthens the specific force if it turns it by AGREEMENT. So a
# reading whose size is nearer to gravity and that is turned further has another cause.
NEAR = 1 / math.cos(math.radians(AGREEMENT)) - 1
REST_RATE = 0.1  # rad/s
MAX_RATE = 50.0  # rad/s: more than any gyroscope on a robot reads
MAX_FORCE = 200.0  # m/s^2: 20 g
FALLING = 0.3  # of gravity: where a base that does not turn reads less, it falls, or its readings have another unit
MAX_GAP = 0.5  # s: a difference over a longer time does not give the present acceleration
SETTLED = 5.0  # time constants of the low pass, after which 0.7 % of a step is missing


def upward(quaternion: Quaternion, orientation_covariance: float = 0.0) -> tuple[float, float, float]:
    """Return the upward direction in the axes of a sensor, of about unit length.

    `quaternion` is (w, x, y, z), the orientation of the sensor in a frame whose z points up. A covariance of -1 means
    "no orientation" (sensor_msgs/Imu) and is refused.
    """
    w, x, y, z = quaternion
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if orientation_covariance == -1 or not abs(length - 1) <= TOLERANCE:
        raise ArgumentError(f'imu: orientation {tuple(quaternion)}, must be a unit quaternion, covariance not -1')
    return 2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z


def pitch(quaternion: Quaternion, orientation_covariance: float = 0.0) -> float:
    """Return the angle (rad) by which the sensor's x axis points below the horizon: positive forward, as q_imu.

    `quaternion` is (w, x, y, z), the orientation of the sensor in a frame whose z points up. The sensor is mounted with
    x forward, y left, z up at q_imu = 0. The heading has no influence; the range is the full circle, -pi to pi.
    A covariance of -1 means "no orientation" (sensor_msgs/Imu) and is refused. A roll (y axis out of the horizontal
    plane) beyond `MAX_ROLL` is refused too: one joint cannot roll the sensor, so the pitch is not the joint's angle.
    """
    x, y, z = upward(quaternion, orientation_covariance)
    roll = math.atan2(y, math.hypot(x, z))
    if abs(roll) > MAX_ROLL:
        raise ArgumentError(
            f'imu: roll {math.degrees(roll):.1f} degrees, must be within {math.degrees(MAX_ROLL):g}: imu_joint turns '
            'the sensor about its y axis alone; look at how the sensor is mounted, or whether the base tilts'
        )
    return math.atan2(-x, z)


class Mounting(NamedTuple):
    """Pose of the sensor in the base: rotation (3, 3), and position (3), m."""

    R: Array
    p: Array


class TurningRate:
    """Angular velocity (3, rad/s) and its derivative, by a difference through a low pass of first order."""

    def __init__(self, cutoff: float) -> None:
        """`cutoff` in Hz."""
        self.cutoff = cutoff
        self.forget()

    def forget(self) -> None:
        """Restart with the next reading."""
        self._w, self._dw, self._time, self._begun = np.zeros(3), np.zeros(3), NEVER, NEVER

    def follow(self, w: Array, time: int) -> Array | None:
        """Store a reading at a time (ns); return dw (3, rad/s^2), or None until the low pass has settled.

        A gap of more than `MAX_GAP`, or a step back, restarts the low pass. At the same time there is no difference.
        """
        dt, rate = (time - self._time) * 1e-9, 2 * math.pi * self.cutoff
        if not 0 <= dt <= MAX_GAP:
            self._dw, self._begun = np.zeros(3), time
        elif dt > 0:
            self._dw = self._dw - math.expm1(-rate * dt) * ((w - self._w) / dt - self._dw)
        self._w, self._time = w, time
        return self._dw if (time - self._begun) * 1e-9 >= SETTLED / rate else None


class BaseInput:
    """Latest motion of the base, measured by an IMU, and its age.

    A reading that is refused is not stored: the one before ages, as a joint's does. After a contradiction at rest, all
    readings are refused until one at rest agrees.
    """

    def __init__(self, mode: str, dynamics: Dynamics, gravity: float, link: str = '') -> None:
        """`mode`: one of `MODES` except `fixed`; `gravity`: its magnitude, m/s^2; `link`: the link with the sensor."""
        if mode == 'full' and not dynamics.base_may_turn:
            raise ArgumentError("base_motion: full, must be fixed or orientation with backend 'compiled'")
        self.mode, self.timeout = mode, 0.1  # s
        self.rate = TurningRate(20.0)
        self.refusals = Refusals()
        self.delay = Delay(('imu',))
        self.motion: BaseMotion | None = None
        self.stamp, self.arrival = 0, NEVER
        self._past: deque[tuple[int, BaseMotion]] = deque()  # by stamp, no older than the timeout
        self._dynamics, self._gravity, self._link = dynamics, gravity, link
        self._mountings: dict[str, Mounting] = {}
        self._contradiction = ''  # of the latest reading at rest
        if link:
            self._mounting(link)

    def forget(self) -> None:
        """Forget all readings."""
        self.motion, self.stamp, self.arrival = None, 0, NEVER
        self._past.clear()
        self.rate.forget()
        self.delay.forget()

    @property
    def max_age(self) -> float:
        """Maximum age of a reading that has an influence, s: by the timeout, and in the low pass."""
        return self.timeout + (-math.log(1e-8) / (2 * math.pi * self.rate.cutoff) if self.mode == 'full' else 0.0)

    def on_time_reset(self, stamp: int, now: int) -> None:
        """Forget a reading from the future, after time went back to the stamp and arrival of a joint state (ns)."""
        if max(self._lead_time(stamp), self.arrival - now) > self.timeout * 1e9:
            self.forget()

    # A message -------------------------------------------------------------------------------------------------------

    def update(self, message: ImuMessage) -> bool:
        """Store a message; return whether it was accepted. One whose stamp does not advance is no new reading."""
        stamp, limit = message.stamp, self.timeout * 1e9
        if self.arrival != NEVER and stamp and self.stamp - limit <= stamp <= self.stamp:
            return False
        if self.arrival != NEVER and ((stamp and stamp < self.stamp) or message.arrival < self.arrival - limit):
            self.forget()  # time went back
        try:
            motion = self._motion(message)
        except ArgumentError as error:
            return self.refusals.note(str(error))
        self.motion, self.stamp, self.arrival = motion, stamp, message.arrival
        if stamp:
            self.delay.observe(stamp, message.arrival)
        if stamp and motion is not None:
            self._past.append((stamp, motion))
        while self._past and self._past[0][0] < stamp - limit:
            self._past.popleft()
        return True

    def _motion(self, message: ImuMessage) -> BaseMotion | None:
        mounting = self._mounting(self._link or message.frame)
        up = mounting.R @ upward(message.quaternion, message.covariances[0])
        up /= math.sqrt(up @ up)
        w, f = self._vectors(message, mounting)
        if w is not None and f is not None:
            self._refuse_contradiction(up, w, f)
        if self.mode == 'orientation':
            return BaseMotion(-self._gravity * up)
        if w is None or f is None:
            what = 'angular_velocity' if w is None else 'linear_acceleration'
            raise ArgumentError(f'imu: {what} is not given (covariance -1), must be with base_motion full')
        dw = self.rate.follow(w, message.stamp or message.arrival)
        return None if dw is None else BaseMotion.measured(f, w, dw, mounting.p)

    def _mounting(self, link: str) -> Mounting:
        """Return the pose of a sensor on a link, or refuse a link that is unknown or moves against the base."""
        if link in self._mountings:
            return self._mountings[link]
        dynamics = self._dynamics
        what = 'imu.link' if self._link else 'imu: frame_id'
        if not link:
            raise ArgumentError('imu: frame_id is empty, must be a link that is fixed to the base; or set imu.link')
        if link not in dynamics.link_names:
            hint = did_you_mean(link, dynamics.link_names)
            raise ArgumentError(f"{what}: '{shown(link)}' is unknown; {hint}must be a link; imu.link can name it")
        if not dynamics.fixed_together(link, dynamics.base):
            raise ArgumentError(
                f"{what}: '{link}' moves against the base '{dynamics.base}', must be fixed to it; imu.link can name "
                'another link'
            )
        self._mountings[link] = Mounting(*dynamics.pose(np.zeros(dynamics.n), link))
        return self._mountings[link]

    def _vectors(self, message: ImuMessage, mounting: Mounting) -> tuple[Array | None, Array | None]:
        """Return angular velocity and specific force (3 each) in base axes; None for one that is not given."""
        found: list[Array | None] = []
        for name, vector, covariance, most in (
            ('angular_velocity', message.angular_velocity, message.covariances[1], MAX_RATE),
            ('linear_acceleration', message.linear_acceleration, message.covariances[2], MAX_FORCE),
        ):
            if covariance == -1:
                found.append(None)
            elif all(abs(x) <= most for x in vector):  # false for NaN
                found.append(mounting.R @ vector)
            elif self.mode == 'full':
                raise ArgumentError(f'imu: {name} {tuple(vector)}, must be finite, at most {most:g}')
            else:
                found.append(None)
        return found[0], found[1]

    def _refuse_contradiction(self, up: Array, w: Array, f: Array) -> None:
        """Raise `ArgumentError` if a base at rest feels gravity elsewhere than its orientation says, or far too little.

        From then on all readings are refused, also of a base that moves, until one at rest agrees.
        """
        gravity, size = self._gravity, math.sqrt(f @ f)
        still = w @ w <= REST_RATE**2 and gravity > 0
        if still and self.mode == 'full' and size < FALLING * gravity:
            self._contradiction = (
                f'imu: linear_acceleration of {size:.3g} m/s^2, must be a specific force, {gravity:.4g} m/s^2 at rest; '
                'look at its unit'
            )
        elif still and abs(size - gravity) <= NEAR * gravity:
            angle = math.degrees(math.acos(max(-1.0, min(1.0, float(up @ f) / size))))
            self._contradiction = '' if angle <= AGREEMENT else _contradiction(angle)
        if self._contradiction:
            raise ArgumentError(self._contradiction)

    # A joint state ---------------------------------------------------------------------------------------------------

    def _lead_time(self, state_stamp: int) -> int:
        return self.stamp - state_stamp if self.stamp and state_stamp else 0

    def fault(self, state_stamp: int, now: int) -> str:
        """Return why the motion is unknown for a joint state of this stamp (ns); '' if it is known."""
        if self.arrival == NEVER:
            return f'no reading of the IMU was accepted{self._last_refusal()}'
        limit, lead, age = self.timeout * 1e9, self._lead_time(state_stamp), now - self.arrival
        if abs(age) > limit:
            return (
                f'the last IMU reading came {age * 1e-9:.3g} s ago, must be within {self.timeout:g} s (state_timeout)'
                + self._last_refusal()
            )
        if abs(lead) > limit:
            side = 'ahead of' if lead > 0 else 'behind'
            return (
                f'stamps of the IMU are {abs(lead) * 1e-9:.3g} s {side} those of the joint states, must be within '
                f'{self.timeout:g} s (state_timeout)'
            )
        return '' if self.motion is not None else 'the angular acceleration of the base is not known yet (imu.cutoff)'

    def at(self, stamp: int) -> BaseMotion | None:
        """Return the motion at a stamp (ns; 0: the newest), interpolated; beyond the stored readings, the nearest."""
        later: tuple[int, BaseMotion] | None = None
        for reading in reversed(self._past if stamp else ()):
            if reading[0] <= stamp:
                if later is None:
                    break
                return reading[1].towards(later[1], (stamp - reading[0]) / (later[0] - reading[0]))
            later = reading
        return self.motion if later is None else later[1]

    def _last_refusal(self) -> str:
        return f'; last refused: {self.refusals.reason}' if self.refusals.count else ''


def _contradiction(angle: float) -> str:
    return (
        f'imu: at rest gravity by its orientation and by its linear_acceleration are {angle:.0f} degrees apart, must '
        f'be within {AGREEMENT:g}; check the frames of the driver (z up, +9.81 on the axis that points up)'
    )


def base_input(settings: Settings, dynamics: Dynamics) -> BaseInput | None:
    """Return the input that the parameters ask for; None if the base is fixed."""
    settings.declare(SPECS)
    mode = settings['base_motion']
    if mode == 'fixed':
        return None
    if settings['imu_joint']:
        raise ArgumentError(
            f"base_motion: {mode}, must be fixed with imu_joint '{settings['imu_joint']}': the IMU gives the angle of "
            'that joint, or the motion of the base; set one of the two'
        )
    base = BaseInput(mode, dynamics, float(np.linalg.norm(settings['gravity'])), settings['imu.link'])

    def check(values: Mapping[str, Any]) -> None:
        if [*values['gravity']] != [*settings['gravity']]:
            raise ArgumentError(f'gravity cannot change with base_motion {mode}: its direction comes from the IMU')

    def apply() -> None:
        base.rate.cutoff, base.timeout = settings['imu.cutoff'], settings['state_timeout']

    settings.require(check)
    settings.on_change(apply)
    return base
