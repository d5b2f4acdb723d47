"""Checks of the first run on an arm: what its efforts and wrenches mean, from samples, without ROS.

`effort_at_rest.py` checks efforts at rest, `first_commands.py` the first commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from ..live.engine import Engine

# change: set parameters; wrong: correct the robot, not the node
Verdict = Literal['right', 'change', 'wrong', 'unclear']

EARTH = 9.81  # m/s^2
SHARE_TOLERANCE = 0.3  # of a measured share of an expected torque: within it, the share counts as 1, or as -1
NO_SHARE = 0.1  # a smaller share counts as 0
SLOW = (0.01, 0.3)  # rad/s (m/s): between, friction is steady, and inertia and Coriolis torques are negligible
FRICTION_SHARE = 0.01  # of a joint's effort limit: less friction is negligible
FEW_ROWS = 20  # in each direction
PUSH = 3.0  # N: a weaker push may be noise
MIN_LEVER = 0.05  # m: with a shorter lever, a push causes too little torque
SINGULAR = 0.05  # of the largest singular value: smaller values count as zero
STILL = 0.01  # rad (m): an arm that moves less is at rest
STOP_MARGIN = 0.02  # rad (m): a joint this near to a position limit may rest on its stop


@dataclass(frozen=True)
class Finding:
    """Result of a check: verdict, text, and parameters to set."""

    check: str
    verdict: Verdict
    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    details: Sequence[str] = ()  # lines of a table


class RestSample(NamedTuple):
    """Mean of joint states at standstill."""

    q: Array  # (n) rad, m
    effort: Array  # (n) as read; NaN where missing
    deviation: Array  # (n) standard deviation of one effort


class MotionRow(NamedTuple):
    """A joint state of a moving arm."""

    time: float  # s
    q: Array  # (n)
    dq: Array  # (n); NaN where unknown
    effort: Array  # (n) as read; NaN where missing


class ArmModel:
    """The model of an arm, with the meaning of efforts by the parameters of the dynamics node."""

    def __init__(self, engine: Engine, values: Mapping[str, Any] | None = None) -> None:
        """Create the model; `values` are the known parameters of the node, with which the engine was created."""
        self._engine, self._dynamics, self.values = engine, engine.dynamics, dict(values or {})
        self.names = tuple(engine.dynamics.joint_names)
        self.base = engine.model.robot.base
        self.gravity = np.array(engine.dynamics.gravity)  # (3) m/s^2 in the axes of the base
        self.limits = engine.supervisor.joints.effort  # (n) of the URDF; 0: unknown
        self.bounds = engine.supervisor.joints.position  # (2, n) of the URDF, rad (m); infinite: none
        self.hands = {name: hand.link for name, hand in engine.inputs.hands.items()}
        efforts = engine.external.efforts
        self.scale, self.without, self.source = np.array(efforts.scale), tuple(efforts.without), efforts.source

    def has(self, parameter: str) -> bool:
        """Return whether the node has a parameter."""
        return parameter in self.values

    def gravity_columns(self, q: Array) -> Array:
        """Return the matrix (n, 3) whose product with a gravity vector is the torque that holds the arm at q."""
        dynamics, before = self._dynamics, np.array(self._dynamics.gravity)
        columns = []
        for axis in np.eye(3):
            dynamics.gravity = axis
            columns.append(dynamics.Q(q))
        dynamics.gravity = before
        return np.column_stack(columns)

    def gravity_torque(self, q: Array) -> Array:
        """Return the torque (n) that holds the arm at q."""
        return np.asarray(self._dynamics.Q(q))

    def on_stops(self, q: Array) -> NDArray[np.bool_]:
        """Return for each joint (n) whether gravity presses it against a position limit, whose stop may hold it."""
        sinks = -self.gravity_torque(q)
        lower, upper = q < self.bounds[0] + STOP_MARGIN, q > self.bounds[1] - STOP_MARGIN
        return np.asarray((lower & (sinks < 0)) | (upper & (sinks > 0)))

    def on_stops_text(self, q: Array) -> str:
        """Return the joint whose stop may hold it, by the torque that it needs, as text; '' if there is none."""
        needed = np.where(self.on_stops(q), np.abs(self.gravity_torque(q)), 0.0)
        k = int(needed.argmax())
        if not needed[k]:
            return ''
        lower, upper = self.bounds[:, k]
        return f'{self.names[k]} is at {q[k]:.4g}, its limits are {lower:g} to {upper:g}, and its stop may hold it'

    def force_torque(self, q: Array, hand: str, force: Array, at: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
        """Return the joint torque (n) of a force (3; N, base axes) that the world applies at a point of a hand (m)."""
        J = self._dynamics.jacobian(q, self.hands[hand])
        rotation, _ = self._dynamics.pose(q, self.hands[hand])
        lever = rotation @ np.asarray(at)
        return np.asarray(J[:3].T @ force + J[3:].T @ np.cross(lever, force))

    def axes_of(self, q: Array, link: str) -> Array:
        """Return the rotation (3, 3) from the axes of a link to those of the base."""
        return np.asarray(self._dynamics.pose(q, link)[0])

    def torque(self, sample: RestSample | MotionRow) -> Array:
        """Return the torque (n) of a sample's efforts, with dq = 0, by the node's parameters; NaN where missing."""
        q, rest = sample.q[None], np.zeros((1, len(self.names)))
        return np.asarray(self._engine.external.efforts.torques(q, rest, sample.effort[None])[0])

    @property
    def commanded(self) -> Array:
        """1 for each joint (n) that gets commands, else 0; all are 1 if `command_joints` is unknown."""
        joints = [name for name in self.values.get('command_joints', ()) if name] or self.names
        return np.array([float(name in joints) for name in self.names])

    @property
    def adds(self) -> list[str]:
        """The terms that the firmware adds to commands, by the parameters of the node."""
        return [name for name in self.values.get('robot.adds', ()) if name]

    @property
    def expects_gravity(self) -> bool:
        """Whether readings contain gravity, by the parameters of the node."""
        return self.source != 'external' and 'gravity' not in self.without

    def new_only(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters whose values differ from those of the node."""
        return {name: value for name, value in parameters.items() if self.values.get(name) != value}


# Friction: slow motion both ways -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointFriction:
    """Efforts of a joint in slow motion, without gravity, N m (N)."""

    joint: str
    forward: Array
    backward: Array
    limit: float  # of effort; 0: unknown

    @cached_property
    def half(self) -> float:
        """Half the difference between both directions: what friction adds to the effort."""
        return float(np.mean(self.forward) - np.mean(self.backward)) / 2

    @property
    def threshold(self) -> float:
        """Friction below this is negligible: noise, or a hundredth of the effort limit."""
        noise = [3 * np.std(part) / np.sqrt(len(part) / FEW_ROWS) for part in (self.forward, self.backward)]
        return float(max(FRICTION_SHARE * self.limit, *noise, 0.01))


def friction_of(model: ArmModel, rows: Sequence[MotionRow]) -> list[JointFriction]:
    """Return the friction of each joint that moved slowly in both directions."""
    dq, effort = np.array([row.dq for row in rows]), np.array([row.effort for row in rows]) * model.scale
    if model.expects_gravity:
        effort = effort - np.array([model.gravity_torque(row.q) for row in rows])
    found = []
    for k, name in enumerate(model.names):
        slow = (np.abs(dq[:, k]) > SLOW[0]) & (np.abs(dq[:, k]) < SLOW[1]) & np.isfinite(effort[:, k])
        forward, backward = effort[slow & (dq[:, k] > 0), k], effort[slow & (dq[:, k] < 0), k]
        if min(len(forward), len(backward)) >= FEW_ROWS:
            found.append(JointFriction(name, forward, backward, float(model.limits[k])))
    return found


def judge_friction(model: ArmModel, rows: Sequence[MotionRow]) -> Finding:
    """Judge by slow motion in both directions whether efforts contain friction, and whether their sign is right."""
    joints = friction_of(model, rows) if rows else []
    if not joints:
        speeds = f'{SLOW[0]:g} and {SLOW[1]:g} rad/s (m/s)'
        return Finding(
            'friction', 'unclear', f'no joint with effort moved in both directions between {speeds}; move it longer'
        )
    details = [f'{x.joint}: friction {x.half:.3g} N m (N), negligible below {x.threshold:.3g}' for x in joints]
    inverted = [x.joint for x in joints if x.half < -x.threshold]
    if inverted:
        scales = {f'joints.{name}.effort_scale': -float(model.scale[model.names.index(name)]) for name in inverted}
        words = (
            f'friction in the effort of {", ".join(inverted)} has the opposite sign: the sign of the effort is inverted'
        )
        return Finding('friction', 'change', words, scales, details)
    rubbing = sum(x.half > x.threshold for x in joints)
    if 2 * rubbing > len(joints):
        return _source(model, 'motor', 'effort contains friction: it is the torque of the motors', details)
    words = 'effort contains nearly no friction: it is measured behind the gear, or the driver subtracts friction'
    return _source(model, 'joint', words, details)


def _source(model: ArmModel, source: str, words: str, details: Sequence[str]) -> Finding:
    if model.source == 'external':
        return Finding('friction', 'right', f'{words}; effort_source external is left as it is', {}, details)
    changes = model.new_only({'effort_source': source}) if model.source != source else {}
    if changes and source == 'joint' and 'friction' in model.without:
        changes['effort_without'] = [name for name in model.without if name != 'friction'] or ['']
    return Finding('friction', 'change' if changes else 'right', words, changes, details)


# A known mass --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HungMass:
    """A known mass on a hand."""

    hand: str
    mass: float  # kg
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # its centre in the hand's frame, m


def judge_mass(
    model: ArmModel, hung: HungMass, before: RestSample, with_mass: RestSample, with_payload: RestSample | None = None
) -> Finding:
    """Judge whether efforts change by the weight of a mass, and still do after it is set in the robot's firmware."""
    check, q = 'known mass', with_mass.q
    expected = -model.force_torque(q, hung.hand, hung.mass * model.gravity, hung.at)
    if (moved := float(np.abs(before.q - q).max())) > STILL:
        words = f'the arm moved by {moved:.2g} between both readings, must stay within {STILL:g} rad (m); repeat both'
        return Finding(check, 'unclear', words)
    share, scatter = _share((with_mass.effort - before.effort) * model.scale, expected)
    if np.isnan(share):
        return Finding(
            check, 'unclear', f'{hung.mass:g} kg load no joint with an effort, must load one; take another pose'
        )
    words = f'{hung.mass:g} kg change the efforts by {share:.0%} of their weight'
    if with_payload is not None:
        rest, _ = _share((with_payload.effort - before.effort) * model.scale, expected)
        lacks = abs(rest) < SHARE_TOLERANCE < abs(share)
        words += '; with the payload set in the robot, '
        words += 'its weight is no longer in effort' if lacks else 'effort is the same'
    if scatter > SHARE_TOLERANCE:
        return Finding(
            check, 'unclear', f'{words}, but not in each joint: wait until the mass hangs still, or attach it elsewhere'
        )
    return _judged_share(model, check, words, share, expected)


def _share(change: Array, expected: Array) -> tuple[float, float]:
    """Return the change of efforts (n; NaN: unknown) as a share of an expected torque (n), and the scatter."""
    known = np.isfinite(change) & (np.abs(expected) > 0.1 * np.abs(expected).max(initial=0.0))
    if not known.any() or np.abs(expected).max() < 1e-6:
        return np.nan, np.nan
    x, y = expected[known], change[known]
    share = float(x @ y / (x @ x))
    return share, float(np.linalg.norm(y - share * x) / max(np.linalg.norm(y), SHARE_TOLERANCE * np.linalg.norm(x)))


def _judged_share(model: ArmModel, check: str, words: str, share: float, expected: Array) -> Finding:
    if abs(share - 1) < SHARE_TOLERANCE:
        return Finding(check, 'right', f'{words}: sign and scale are right')
    if abs(share) < NO_SHARE:
        return Finding(
            check, 'unclear', f'{words}, must be 100%: check that efforts are measured, and that no brakes are closed'
        )
    sign = ': the sign of effort is inverted' if share < 0 else ''
    factor = -1.0 if abs(share + 1) < SHARE_TOLERANCE else 1 / share
    loaded = np.abs(expected) > 0.1 * np.abs(expected).max()
    joints = range(len(model.names)) if factor == -1 else np.flatnonzero(loaded)
    scales = {f'joints.{model.names[k]}.effort_scale': rounded(model.scale[k] * factor) for k in joints}
    return Finding(check, 'change', words + (sign or ': the scale of effort is wrong'), scales)


def rounded(value: float) -> float:
    """Return a number with four significant digits."""
    return float(f'{value:.4g}')


# A push on the hand --------------------------------------------------------------------------------------------------


class PushRow(NamedTuple):
    """Readings at an instant of a push along an axis of the base."""

    q: Array  # (n)
    external: Array | None  # (n) torque/external, N m (N); NaN where unknown
    force: Array | None  # (3) reading of the hand's sensor, in base axes, N


def judge_push(model: ArmModel, hand: str, rows: Sequence[PushRow], axis: Sequence[float] = (1, 0, 0)) -> list[Finding]:
    """Judge the signs of a hand's sensor and of the external torques by a push along an axis (3) of the base.

    The first tenth of the rows must be before the push.
    """
    return [_push_on_sensor(model, hand, rows, np.array(axis)), _push_on_joints(model, hand, rows, np.array(axis))]


def _push_on_sensor(model: ArmModel, hand: str, rows: Sequence[PushRow], axis: Array) -> Finding:
    check = f'push: wrench of {hand}'
    along = np.array([row.force @ axis for row in rows if row.force is not None])
    if not len(along):
        return Finding(check, 'unclear', 'the sensor sent no reading; check its topic')
    force = _largest(along)
    words = f'a push along {_axis_name(axis)} of {model.base} reads as {force:.3g} N along it'
    if abs(force) < PUSH:
        return Finding(check, 'unclear', f'{words}, must be {PUSH:g} N or more; push harder')
    sense = 'applied_on_robot' if force > 0 else 'applied_by_robot'
    changes = model.new_only({f'{hand}.sense': sense})
    return Finding(check, 'change' if changes else 'right', f'{words}: sense is {sense}', changes)


def _push_on_joints(model: ArmModel, hand: str, rows: Sequence[PushRow], axis: Array) -> Finding:
    check = 'push: external torques'
    forces = []
    for row in rows:
        if row.external is not None and np.isfinite(row.external).any():
            known = np.isfinite(row.external)
            columns = np.column_stack([model.force_torque(row.q, hand, unit) for unit in np.eye(3)])[known]
            if np.linalg.norm(columns @ axis) > MIN_LEVER:
                found = np.linalg.lstsq(columns, row.external[known], rcond=SINGULAR)[0]
                forces.append(float(found @ axis))
    if not forces:
        return Finding(
            check, 'unclear', 'torque/external cannot show a push in this direction in this pose; take another pose'
        )
    force = _largest(np.array(forces))
    words = f'a push along {_axis_name(axis)} of {model.base} reads as {force:.3g} N along it in torque/external'
    if abs(force) < PUSH:
        return Finding(check, 'unclear', f'{words}, must be {PUSH:g} N or more; push harder')
    if force > 0:
        return Finding(check, 'right', f'{words}: the sign is right')
    scales = {f'joints.{name}.effort_scale': -float(s) for name, s in zip(model.names, model.scale, strict=True)}
    return Finding(check, 'change', f'{words}: the sign of effort is inverted', scales)


def _largest(values: Array) -> float:
    """Return the largest deviation from the mean of the first tenth."""
    change = values - values[: max(1, len(values) // 10)].mean()
    return float(change[np.abs(change).argmax()])


def _axis_name(axis: Array) -> str:
    k = int(np.abs(axis).argmax())
    return f'{"+" if axis[k] > 0 else "-"}{"xyz"[k]}'
