"""Checks before commands are enabled and while they are sent: small functions, and their rules as data.

A check returns a message if it fails, and '' if it passes; `check_...` of `StartChecks` raise it as `ArgumentError`.
Vectors (k) are in the order of the names given with them. `StartChecks` calls them before commands are enabled,
`command_supervisor.py` while they are sent (`_fault`, `_drive_fault`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ArgumentError
from ..core.parameters import Settings
from ..core.spatial import Array
from ..core.wrench import Load, Wrench
from ..dynamics.dynamics import Dynamics
from ..dynamics.factory import Model
from ..dynamics.state import State
from ..dynamics.terms import Torques
from .commands import Commands
from .firmware import FirmwareTorque
from .guiding import HoldSwitch, conflict
from .payloads import PayloadSpec
from .robot_inputs import RobotInputs
from .state_checks import Check

MIN_SIGNED_SHARE = 0.1  # of a joint's limit: friction alone can invert the sign of a smaller effort
EFFORT_TOLERANCE = 0.25  # of a joint's limit: maximum difference of measured effort and total, friction included
UNMEASURED_SHARE = 0.02  # of a joint's limit: all efforts below this: not measured, or brakes hold the joints
FOLLOW_TOLERANCE = 0.5  # of the command: a measured effort within this difference follows it
OBEY_TOLERANCE = 0.5  # of a joint's limit: maximum difference of command and measured effort
OBEY_TIMEOUT = 0.5  # s
POSITION_MARGIN = (0.1, 0.01)  # rad, m: tolerance beyond the position limits
PRISMATIC_TRAVEL = 0.1  # m per rad of `command_start_travel`, for a prismatic joint
ACKNOWLEDGE_TIMEOUT = 5.0  # s: on a busy machine an acknowledgement takes 0.04 s; a person still waits for the answer
SILENT_FOR = 1.0  # s, by the steady clock: simulated time may be paused

MEASURED_EFFORT = Check(
    'measured effort',
    f'at the start each effort agrees with the total: same sign if both exceed {MIN_SIGNED_SHARE:.0%} of the limit of '
    f'the joint, and within {EFFORT_TOLERANCE:.0%} of the limit. If all efforts are below {UNMEASURED_SHARE:.0%} of '
    'the limits, they count as not measured: commands start from zero',
    'refused',
)
POSITION = Check(
    'position',
    f'at most {POSITION_MARGIN[0]} rad ({POSITION_MARGIN[1]} m) outside the limits; equal limits count as none',
    'refused; a warning while on',
)  # fmt: skip
START_TRAVEL = Check(
    'travel at the start', 'while commands rise from zero, no joint moves by `command_start_travel` in the direction '
    'of its command: else sign, unit or order is wrong, the robot adds gravity itself, or the arm falls because '
    'nothing holds it before commands do', 'fault',
)  # fmt: skip
OBEDIENCE = Check(
    'obedience',
    f'after the measured effort has followed a command above {MIN_SIGNED_SHARE:.0%} of the limit once (within '
    f'{FOLLOW_TOLERANCE:.0%}), it differs by at most '
    f'{OBEY_TOLERANCE:.0%} of the limit; {OBEY_TIMEOUT:g} s beyond that: the drive does not obey (emergency stop, '
    'inactive controller)',
    'fault',
)
WRENCH_SHARE = Check(
    "a wrench's share", "the torque of a hand's wrench exceeds no joint's limit; else the whole wrench is scaled down",
    'warning',
)  # fmt: skip
PAYLOAD = Check(
    'payload', "the weight of a payload alone exceeds no joint's limit at the present pose", 'refused'
)  # fmt: skip
MISSING = Check(
    'contributions', "each term of the total except the wrench has a value that is not older than `state_timeout`, "
    'and the torque that the firmware adds is known',
    'refused; fault',
)  # fmt: skip
SILENCE = Check(
    'joint states', 'all joints, and with `base_motion` the motion of the base, are known and not older than '
    f'`state_timeout`; with simulated time, a joint state comes at least every {SILENT_FOR:g} s of real time',
    'refused; fault',
)  # fmt: skip
OTHERS = Check('other publishers', 'no other node publishes `effort_commands`', 'refused; fault')
RECEPTION = Check(
    'reception', "QoS and type of the controller's subscription fit those of `effort_commands`", 'refused'
)
CONTROLLER = Check(
    'controller', 'the endpoint that commands were enabled for is present, and no second one has its name; if '
    '`command_controller` is empty, there is no other subscriber except tools', 'fault; off at once when it leaves',
)  # fmt: skip
ACKNOWLEDGEMENT = Check(
    'acknowledgement', 'before commands rise from zero, all reliable subscribers of `effort_commands` acknowledge a '
    f'zero within {ACKNOWLEDGE_TIMEOUT:g} s', 'fault',
)  # fmt: skip
SPEED = Check(
    'joint speed', 'the velocity of each joint with a `command_velocity_limits` (0: none) is known and not above it',
    'refused; fault',
)  # fmt: skip
HOLD = Check(
    'switch', 'where `guiding.hold_required`: the latest message of `guiding/hold` is true, and not older than 0.2 s; '
    'one node publishes it', 'refused; falling',
)  # fmt: skip
GUIDED_WRENCH = Check(
    'wrench while guiding', '`total_terms` has no `wrench` beside `damping` or `stops`: it would cancel the push that '
    'guides', 'refused',
)  # fmt: skip
COMMAND_RULES = (
    MEASURED_EFFORT, POSITION, START_TRAVEL, OBEDIENCE, WRENCH_SHARE, PAYLOAD, MISSING, SILENCE, OTHERS, RECEPTION,
    CONTROLLER, ACKNOWLEDGEMENT, SPEED, HOLD, GUIDED_WRENCH,
)  # fmt: skip


class JointData:
    """Limits of all joints (n) and the indices of the commanded joints (k)."""

    def __init__(self, model: Model, joints: Sequence[str]) -> None:
        moving, self.names = model.robot.moving_joints, model.dynamics.joint_names
        self.order = np.array([self.names.index(name) for name in joints], dtype=int)
        self.effort, self.position = model.robot.effort_limits, model.robot.position_limits
        self.prismatic = np.array([joint.kind == 'prismatic' for joint in moving])
        self._turns = (np.isinf(self.position).all(axis=0) & ~self.prismatic)[self.order]

    def unit(self, k: int) -> str:
        """Return the unit of a joint's torque or force."""
        return 'N' if self.prismatic[k] else 'N m'

    def moved(self, q: Array, start: Array) -> Array:
        """Return the travel of the commanded joints (k) from `start` (n) to q (n), modulo 2 pi if continuous."""
        way = (q - start)[self.order]
        return np.asarray(np.where(self._turns, (way + np.pi) % (2 * np.pi) - np.pi, way))


def unmeasured(measured: Array, limits: Array) -> bool:
    """Return whether all efforts (k) are near zero: they are not measured, or brakes hold the joints."""
    known = ~np.isnan(measured)
    return bool((np.abs(measured[known]) < UNMEASURED_SHARE * limits[known]).all())


def implausible_effort(names: Sequence[str], measured: Array, total: Array, limits: Array) -> str:
    """Return a message if a measured effort (k; NaN: unknown) disagrees with the total (k), or ''."""
    for name, effort, torque, limit in zip(names, measured, total, limits, strict=True):
        inverted = effort * torque < 0 and min(abs(effort), abs(torque)) > MIN_SIGNED_SHARE * limit
        if inverted or abs(effort - torque) > EFFORT_TOLERANCE * limit:
            fault = 'the opposite sign' if inverted else f'more than {EFFORT_TOLERANCE:.0%} of its limit {limit:g} away'
            return (
                f'{name} has a measured effort of {effort:.4g} and a total of {torque:.4g}: {fault}. '
                f'Check sign, unit (joints.{name}.effort_scale) and effort_source; or set command_start: zero'
            )
    return ''


def outside_limits(names: Sequence[str], q: Array, bounds: Array, prismatic: NDArray[np.bool_]) -> str:
    """Return a message if a position (n) exceeds its bounds (2, n; infinite: none) by more than the margin, or ''."""
    margin = np.where(prismatic, POSITION_MARGIN[1], POSITION_MARGIN[0])
    beyond = np.maximum(bounds[0] - q, q - bounds[1])
    k = int(np.argmax(beyond - margin))
    if not beyond[k] > margin[k]:
        return ''
    return (
        f'{names[k]} is at {q[k]:.4g}, its limits are {bounds[0, k]:g} to {bounds[1, k]:g}; check the unit '
        '(rad, not degrees) and the order of the names'
    )


def moved_by_start(names: Sequence[str], moved: Array, command: Array, travel: Array) -> str:
    """Return a message if a joint moved (k) by more than `travel` (k) in the direction of its command (k), or ''."""
    along = moved * np.sign(command)
    k = int(np.argmax(along - travel))
    if not along[k] > travel[k]:
        return ''
    return (
        f'{names[k]} moved by {moved[k]:.3g} in the direction of its command {command[k]:.4g} while commands rose: '
        'wrong sign, unit or order, the robot adds gravity itself, or nothing held the arm meanwhile: it falls until '
        'commands carry it'
    )


def too_fast(names: Sequence[str], velocity: Array, limits: Array) -> str:
    """Return a message if a joint is faster (k; rad/s, m/s; NaN: unknown) than its limit (k; 0: none), or ''."""
    for name, speed, limit in zip(names, np.abs(velocity), limits, strict=True):
        if limit > 0 and not speed <= limit:
            fault = f'moves at {speed:.3g}' if np.isfinite(speed) else 'has no velocity'
            return f'{name} {fault}, must be at most {limit:g} (command_velocity_limits)'
    return ''


def unacknowledged(seconds: float, subscribers: Sequence[str]) -> str:
    """Return a message if subscribers (names) have not acknowledged a zero for too long (s), or ''."""
    if seconds <= ACKNOWLEDGE_TIMEOUT:
        return ''
    return (
        f'not all subscribers of effort_commands ({", ".join(subscribers)}) acknowledged a zero for {seconds:.2g} s, '
        f'must be within {ACKNOWLEDGE_TIMEOUT:g} s; stop a subscriber that hangs, for example a recorder; one that was '
        'killed is forgotten after about 20 s'
    )


class Obedience:
    """Compares measured efforts with expected ones, for each joint (k) whose effort has followed once."""

    def __init__(self, names: Sequence[str], limits: Array) -> None:
        self._names, self._limits = names, limits
        self._followed = np.zeros(len(names), dtype=bool)
        self._since = np.full(len(names), np.inf)  # s, time of the first disobedience; inf: it obeys

    def fault(self, measured: Array, expected: Array, now: float) -> str:
        """Compare efforts (k; NaN: unknown) with the expected ones (k): command and firmware torque together.

        Return a message if a joint does not obey, or ''.
        """
        off, size = np.abs(measured - expected), np.abs(expected)  # NaN if unknown: both comparisons are then false
        self._followed |= (size > MIN_SIGNED_SHARE * self._limits) & (off < FOLLOW_TOLERANCE * size)
        disobeys = self._followed & (off > OBEY_TOLERANCE * self._limits)
        self._since = np.where(disobeys, np.minimum(self._since, now), np.inf)
        k = int(np.argmin(self._since))
        if not now - self._since[k] >= OBEY_TIMEOUT:
            return ''
        return (
            f'{self._names[k]} does not obey: an effort of {expected[k]:.4g} is expected, {measured[k]:.4g} is '
            f'measured for {OBEY_TIMEOUT:g} s (an emergency stop, a controller that is not active)'
        )


def scaled_share(torque: Array, limits: Array) -> float:
    """Return the factor (0 to 1) that brings the torque (n) of a hand's wrench within the limits (n; 0: none)."""
    beyond = np.abs(torque[limits > 0]) / limits[limits > 0]
    return 1 / float(beyond.max()) if beyond.size and beyond.max() > 1 else 1.0


def too_heavy(names: Sequence[str], weight: Array, limits: Array) -> str:
    """Return a message if the torque (n) for the weight of a payload exceeds a joint's limit (n; 0: none), or ''."""
    beyond = np.where(limits > 0, np.abs(weight) - limits, -np.inf)
    k = int(np.argmax(beyond))
    if not beyond[k] > 0:
        return ''
    return f'{names[k]} needs {abs(weight[k]):.4g} for the weight of the payload alone, its limit is {limits[k]:g}'


class StartChecks:
    """Checks before commands are enabled. `check_...` raise `ArgumentError` with the reason. Efforts in N m (N)."""

    def __init__(
        self,
        settings: Settings,
        dynamics: Dynamics,
        inputs: RobotInputs,
        joints: JointData,
        commands: Commands,
        hold: HoldSwitch,
        firmware: FirmwareTorque | None,
    ) -> None:
        self._settings, self._dynamics, self._inputs, self._joints = settings, dynamics, inputs, joints
        self._commands, self._hold, self._firmware = commands, hold, firmware

    @property
    def reference(self) -> Array:
        """Limits (k) for the comparison of efforts: those of the URDF, or `command_limits` where it has none."""
        urdf = self._joints.effort[self._joints.order]
        return np.asarray(np.where(urdf > 0, urdf, self._settings['command_limits']))

    def check_settings(self, now: float) -> None:
        """Check the parameters, and the switch that a person holds."""
        names = self._commands.joint_names
        if not self._settings['command_allowed']:
            raise ArgumentError('command_allowed is false: nothing may enable commands')
        if not names:
            raise ArgumentError('no joints to command: set command_joints, and start again')
        self.check_terms(self._settings)
        if why := self._hold.fault(now):
            raise ArgumentError(why)
        limits = self._settings['command_limits']
        if unknown := [name for name, limit in zip(names, limits, strict=True) if not limit > 0]:
            raise ArgumentError(f'no effort limit is known for {", ".join(unknown)}; set command_limits')

    def check_terms(self, values: Mapping[str, Any] | Settings) -> None:
        """Check the terms of the total; without gravity where the firmware adds it, -Q would be sent."""
        adds_gravity = self._firmware is not None and 'gravity' in self._firmware.adds
        if adds_gravity and 'gravity' not in values['total_terms']:
            raise ArgumentError(
                'robot.adds contains gravity, total_terms does not: commands would cancel the gravity compensation; '
                'put gravity in both or in neither'
            )
        if why := conflict(values['total_terms']):
            raise ArgumentError(why)

    def check_state(self, state: State, clock: int) -> None:
        """Check positions, clocks and payloads; `clock` is the present time (ns) by the clock of stamps."""
        if why := self.outside_limits(state):
            raise ArgumentError(why)
        why = self._inputs.checks.clock_fault(clock)
        if why and self._settings['state_clock'] == 'same':
            raise ArgumentError(why)
        for hand in self._inputs.hands:
            self.check_payload(hand, PayloadSpec.by(self._settings, hand), state.q)

    def outside_limits(self, state: State) -> str:
        """Return a message if a position exceeds its limits, or ''."""
        joints = self._joints
        return outside_limits(joints.names, state.q, joints.position, joints.prismatic)

    def check_payload(self, hand: str, payload: PayloadSpec, q: Array) -> None:
        """Check that each joint can hold the weight of a payload at a pose (n)."""
        link = self._inputs.hands[hand].link
        weight = self._dynamics.weights(q, [Load(link, payload.body(f'{hand}.payload'), '', '')])[0]
        torque = self._dynamics.wrench_torque(q, [Wrench.of(link, weight, '', '')])
        if why := too_heavy(self._joints.names, torque, self._joints.effort):
            raise ArgumentError(f'{hand}.payload: {payload.mass:g} kg is too heavy here: {why}')

    def initial_effort(self, effort: Array | None, total: Mapping[str, Array]) -> tuple[Array | None, str]:
        """Check the measured efforts (n); return those (k) to start from, or None for zero, and a note for the person.

        `total` has the contributions (k) to the total by name.
        """
        order = self._joints.order
        if self._settings['command_start'] == 'zero' or effort is None or np.isnan(effort[order]).all():
            return None, 'from zero'
        measured, limits = effort[order], self.reference
        if unmeasured(measured, limits):
            return None, 'from zero: efforts are not measured, or brakes hold the joints'
        names = self._commands.joint_names
        needed = np.sum([*total.values()], axis=0) if total else np.zeros(len(names))
        if why := implausible_effort(names, measured, needed, limits):
            raise ArgumentError(why)
        return np.where(np.isnan(measured), self._commands.firmware_torque, measured), 'from the measured efforts'

    def gravity_note(self, torques: Torques) -> str:
        """Return a note on joints where the gravity torque of the firmware differs from ours, or ''."""
        gravity = torques.term('gravity')
        if self._firmware is None or gravity is None:
            return ''
        joints, limits = self._joints, self._joints.effort.copy()
        limits[joints.order] = self.reference
        differences = self._firmware.gravity_difference(torques.state.q, gravity, limits)
        names = [f'{joints.names[k]} {x:+.1f} {joints.unit(k)}' for k, x in differences.items()]
        return f"the robot's own gravity torque differs from ours: {', '.join(names)}" if names else ''
