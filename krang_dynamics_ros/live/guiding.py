"""Hand guiding: parameters and diagnostics of damping, stops and friction compensation; the switch that is held."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ArgumentError, SingularityError
from ..core.limits import MAX_QUANTITY
from ..core.parameters import ParameterSpec, Settings
from ..core.spatial import Array
from ..dynamics.efforts import Efforts
from ..dynamics.factory import Model
from ..dynamics.guiding import NARROW, ControlLoop, inertias
from ..dynamics.inertia_check import zero_pose
from ..dynamics.state import State
from ..dynamics.terms import TERMS, Terms

HOLD_TOPIC = 'guiding/hold'
GUIDING = tuple(name for name, term in TERMS.items() if term.is_guiding and not term.is_friction)  # damping and stops
DAMPING_OF_LIMIT = 0.02  # N m s/rad per N m: at 1 rad/s the damping torque of a joint is 2 % of its effort limit
DAMPING_TIME = 1.0  # s: time constant in which a joint without a known limit slows down when it is let go
DAMPING_ABOVE_OF_LIMIT = 0.5  # of a joint's velocity limit: default of `damping_above`
DAMPING_ABOVE = (0.5, 0.1)  # rad/s, m/s: default where no velocity limit is known
MAX_MARGIN = 3.0  # rad, of `stops.margin`
PRISMATIC_MARGIN = 0.1  # m per rad of `stops.margin`, for a prismatic joint
# Of friction, while guiding. Identified friction may be a tenth too large; more than the true friction drives the arm.
MAX_GAIN = 0.9
HOLD_TIMEOUT = 0.2  # s without a message of the switch, by the steady clock

SPECS = (
    ParameterSpec(
        'stops.margin', 0.15, 'how far before its position limits a joint meets its stop, rad (a tenth of it in m); at '
        "most a quarter of the joint's range", settable=True, least=0.001, most=MAX_MARGIN,
    ),
    ParameterSpec(
        'stops.stiffness', 1.0, "torque of a stop's spring at the position limit, in parts of the joint's effort limit",
        settable=True, least=0.0, most=10.0,
    ),
    ParameterSpec(
        'stops.damping', 0.7, "damping ratio of a stop, for the joint's own inertia A_jj",
        settable=True, least=0.0, most=10.0,
    ),
    ParameterSpec(
        'guiding.hold_required', False, f'whether commands need a person who holds a switch, `{HOLD_TOPIC}`',
    ),
)  # fmt: skip


class JointDefaults(NamedTuple):
    """Default coefficients of a joint."""

    damping: float = 0.0
    damping_above: float = 0.0


def of_joint(name: str, defaults: JointDefaults) -> list[ParameterSpec]:
    """Return the specs of the parameters of one joint."""
    return [
        ParameterSpec(
            f'joints.{name}.damping', defaults.damping, 'damping coefficient B of `torque/damping`, N m s/rad (N s/m)',
            settable=True, least=0.0, most=MAX_QUANTITY,
            default_text='0.02 s/rad times the effort limit; without one, A_jj / 1 s',
        ),
        ParameterSpec(
            f'joints.{name}.damping_above', defaults.damping_above,
            'speed above which damping rises five times as fast, rad/s (m/s)', settable=True, least=0.0,
            most=MAX_QUANTITY, default_text='half of the velocity limit, or 0.5 (0.1)',
        ),
        ParameterSpec(
            f'joints.{name}.friction_gain', 1.0, 'share of `torque/friction` that the total contains, and of '
            '`torque/coupling` the smaller share of both joints; 1: all of it; '
            f'with damping or stops at most {MAX_GAIN:g}', settable=True, least=0.0, most=1.0,
        ),
    ]  # fmt: skip


def documented() -> list[ParameterSpec]:
    """Return every parameter once, as docs/guiding.md lists them."""
    return [*SPECS, *of_joint('<joint>', JointDefaults())]


def joint_defaults(model: Model) -> list[JointDefaults]:
    """Return the defaults of all joints, from effort limits, velocity limits, and inertias at the zero pose."""
    found = []
    try:
        own = inertias(model.dynamics.A(zero_pose(model.robot))).own
    except (ArgumentError, SingularityError):
        own = np.zeros(model.dynamics.n)
    for joint, inertia in zip(model.robot.moving_joints, own, strict=True):
        effort = (joint.limits.effort if joint.limits else None) or 0.0
        speed = (joint.limits.velocity if joint.limits else None) or 0.0
        damping = DAMPING_OF_LIMIT * effort or max(float(inertia), 0.0) / DAMPING_TIME
        found.append(
            JointDefaults(float(damping), DAMPING_ABOVE_OF_LIMIT * speed or DAMPING_ABOVE[joint.kind == 'prismatic'])
        )
    return found


def conflict(total_terms: Collection[str]) -> str:
    """Return why these terms cannot be commanded together, or ''."""
    guiding = [name for name in GUIDING if name in total_terms]
    if not guiding or 'wrench' not in total_terms:
        return ''
    return (
        f'total_terms has wrench beside {" and ".join(guiding)}: commands would cancel the push that guides; '
        'remove wrench, or the others'
    )


class Guiding:
    """Parameters of damping, stops and friction compensation, applied to the terms; and their diagnostics."""

    def __init__(self, settings: Settings, model: Model, terms: Terms, efforts: Efforts) -> None:
        self._dynamics, self._efforts = model.dynamics, efforts
        terms.friction_compensation.push = self._push_torque
        self._settings, self._names, self.terms = settings, model.dynamics.joint_names, terms
        self._damping, self._stops, self._compensation = terms.damping, terms.stops, terms.friction_compensation
        self.loop = ControlLoop(model.dynamics)
        self._damping.loop = self._stops.loop = self.loop
        moving = model.robot.moving_joints
        self._prismatic = np.array([joint.kind == 'prismatic' for joint in moving])
        limits = [joint.limits for joint in moving]
        self._stops.lower, self._stops.upper = model.robot.position_limits.copy()
        self._sending = False  # whether commands are sent
        self._of_stops: tuple[Any, ...] = ()  # parameters of the stops: a change zeroes their depth
        self._effort = np.array([(x.effort if x else None) or 0.0 for x in limits])
        self._speed = np.array([(x.velocity if x else None) or np.inf for x in limits])
        self._rate, self._fastest = np.full(len(limits), np.inf), self._speed  # of commands: rate and velocity limits
        settings.declare(SPECS)
        for name, defaults in zip(self._names, joint_defaults(model), strict=True):
            settings.declare(of_joint(name, defaults))
        settings.on_change(self._apply)

    def _push_torque(self, state: State) -> Array | None:
        """Return the torque (n) of the world at rest: by efforts, if they show it, or by wrist sensors."""
        if state.effort is not None and self._efforts.source == 'external':
            return self._efforts.scaled(state)
        if state.effort is not None and self._efforts.source == 'joint':
            torque = self._efforts.torque(state)
            return None if torque is None else self._holding_torque(state.q) - torque
        return -self._dynamics.wrench_torque(state.q, state.wrenches) if len(state.wrenches) else None

    def _holding_torque(self, q: Array) -> Array:
        """Return the torque (n) that holds weight and springs."""
        return self._dynamics.Q(q) + self._dynamics.springs_and_couplings.spring_torque(q)

    def _of_all(self, key: str) -> Array:
        return np.array([self._settings[f'joints.{name}.{key}'] for name in self._names])

    def _apply(self) -> None:
        settings, stops = self._settings, self._stops
        self.guides = any(name in settings['total_terms'] for name in GUIDING)
        self._damping.coefficient, self._damping.above = self._of_all('damping'), self._of_all('damping_above')
        self._damping.stops = stops if 'stops' in settings['total_terms'] else None
        self._compensation.set_gain(np.minimum(self._of_all('friction_gain'), MAX_GAIN if self.guides else 1.0))
        stops.margin = settings['stops.margin'] * np.where(self._prismatic, PRISMATIC_MARGIN, 1.0)
        stops.stiffness, stops.damping = settings['stops.stiffness'], settings['stops.damping']
        stops.effort = self._effort.copy()
        numbers = [settings[name] for name in ('stops.margin', 'stops.stiffness', 'stops.damping')]
        of_stops = (*numbers, 'stops' in settings['total_terms'])
        if self._sending and of_stops != self._of_stops:
            stops.zero_depth()
        self._of_stops = of_stops

    def follow_stage(self, sending: bool) -> None:
        """When commands begin, count the present depth in each stop as zero: enabling must not push the arm."""
        if sending and not self._sending:
            self._stops.zero_depth()
        elif not sending and self._sending:
            self._stops.forget_zero_depth()
        self._sending = sending

    def follow_commands(self, order: Array, limits: Array, rates: Array, speeds: Array) -> None:
        """Limit the stops to the limits of commands, for the joints with the indices `order` (k).

        All are (k): `limits` in N m (N), `rates` in N m/s (N/s), `speeds` in rad/s (m/s; 0: none).
        """
        self._stops.effort, self._rate, self._fastest = self._effort.copy(), self._rate.copy(), self._speed.copy()
        self._stops.effort[order], self._rate[order] = limits, rates
        self._fastest[order] = np.minimum(self._speed[order], np.where(speeds > 0, speeds, np.inf))

    def status(self) -> tuple[str, str, Mapping[str, Any]]:
        """Return level, message and values for diagnostics; clear the list of joints that came too fast."""
        if not self.guides:
            return 'ok', 'off: neither damping nor stops is in total_terms', {}
        words = [self._too_fast(k, speed, needed) for k, (speed, needed) in self._stops.too_fast.items()]
        self._stops.too_fast = {}
        loop, used = self.loop, self._settings['total_terms']
        reduced = self._reduced() if loop.known else {}
        values = {
            'period (s)': f'{loop.period:.4f}',
            'delay and half a period (s)': f'{loop.tau:.4f}',
            'reduced to stay passive': '; '.join(f'{name} {text}' for name, text in reduced.items()),
        }
        unknown = [name for name, x in zip(self._names, self._stops.effort, strict=True) if not x]
        if unknown and 'stops' in used:
            words.append(f'no stops of {", ".join(unknown[:5])}, because no effort limit is known: set it in the URDF')
        if 'stops' in used and loop.known:
            words += self._slow_rates()
        level = 'warning' if words else 'ok'
        if reduced:
            words.append(f'reduced, because commands come late: {", ".join([*reduced][:5])}')
        return level, '; '.join(words) or 'on', values

    def _too_fast(self, k: int, speed: float, needed: float) -> str:
        """Return a message for joint k, which came to its stop at a speed that needs a margin, rad (m)."""
        unit = PRISMATIC_MARGIN if self._prismatic[k] else 1.0  # of the parameter
        came = f'{self._names[k]} came to its stop at {speed:.3g}'
        if needed > min(MAX_MARGIN * unit, NARROW * (self._stops.upper[k] - self._stops.lower[k])):
            return f'{came}, too fast for the largest stops.margin: move more slowly'
        return (
            f'{came}, stops.margin is {self._settings["stops.margin"]:.2g}, must be {needed / unit:.2g} for that '
            'speed: raise it, or move more slowly'
        )

    def _slow_rates(self) -> list[str]:
        """Return a message for each joint whose `command_rate_limits` is too slow for its stop.

        Within the time in which a joint crosses its margin, its torque must be able to rise to its limit. A stop that
        rises more slowly still pushes when the joint comes back, and adds energy (docs/guiding.md, Late commands).
        """
        stops, own = self._stops, np.maximum(self.loop.inertias.own, 1e-9)
        with np.errstate(divide='ignore', invalid='ignore'):
            speed = np.minimum(self._fastest, stops.margins * np.sqrt(stops.nominal_gains[0] / own))
            needed = np.where(np.isfinite(stops.margins), stops.effort * speed / stops.margins, 0.0)
        return [
            f'{self._names[k]} has command_rate_limits {self._rate[k]:.4g}, too slow for its stop at {speed[k]:.3g}: '
            f'must be at least {needed[k]:.4g}, or 0'
            for k in np.flatnonzero(self._rate < 0.99 * needed)
        ]

    def _reduced(self) -> dict[str, str]:
        """Return, by joint, the coefficients that are reduced."""
        found: dict[str, str] = {}
        used = self._settings['total_terms']
        if 'damping' in used:
            most = self.loop.most_damping
            for k in np.flatnonzero(self._damping.reduced):
                found[self._names[k]] = f'damping {most[k]:.3g} of {self._damping.coefficient[k]:.3g}'
        if 'stops' in used:
            nominal, gains = self._stops.nominal_gains[0], self._stops.gains[0]
            for k in np.flatnonzero(gains < 0.99 * nominal):
                name, margin, own = self._names[k], float(self._stops.margins[k]), self.loop.inertias.own[k]
                fastest = margin * np.sqrt(gains[k] / own) if own > 0 else 0.0
                text = f'stop {gains[k]:.3g} of {nominal[k]:.3g}, made for {fastest:.2g} rad/s (m/s)'
                found[name] = f'{found[name]}, {text}' if name in found else text
        return found


class HoldSwitch:
    """The switch that a person holds while commands are sent. Times are seconds by the steady clock."""

    def __init__(self, required: bool) -> None:
        self.required = required
        self.publishers: Sequence[str] = ()  # names of the nodes that publish it
        self._pressed, self._at = False, -np.inf

    def on_message(self, pressed: bool, now: float) -> None:
        """Update whether it is pressed."""
        self._pressed, self._at = pressed, now

    def fault(self, now: float) -> str:
        """Return a message if the switch is not held, or ''."""
        if self.required and len(self.publishers) > 1:  # a second publisher could hide the silence of the switch
            return f'{HOLD_TOPIC} is published by {" and ".join(self.publishers)}, must be by one node'
        if not self.required or (self._pressed and now - self._at <= HOLD_TIMEOUT):
            return ''
        if not np.isfinite(self._at):
            return f'{HOLD_TOPIC} has no message yet, must be true at 10 Hz or more (guiding.hold_required)'
        if not self._pressed:
            return f'{HOLD_TOPIC} is released, must be held (guiding.hold_required)'
        return f'{HOLD_TOPIC} is silent for {now - self._at:.2g} s, must come within {HOLD_TIMEOUT:g} s'
