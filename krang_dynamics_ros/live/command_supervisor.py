"""Supervisor of the effort commands: checks, parameters and subscribers, around the state machine of `commands.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ArgumentError
from ..core.parameters import Settings, named
from ..core.spatial import Array
from ..core.wrench import Load, Wrench
from ..dynamics.factory import Model
from ..dynamics.state import State
from ..dynamics.terms import TERMS, Torques
from . import command_checks as checks
from . import parameters
from .commands import Commands, Stage
from .controller_watch import ControllerWatch, Endpoint
from .firmware import FirmwareTorque, is_of_firmware
from .guiding import Guiding, HoldSwitch, conflict
from .payloads import PayloadSpec
from .robot_inputs import RobotInputs, known_joint

Clock = Callable[[], float]  # seconds
Measured = Callable[[State], Array | None]
ENABLE = 'effort_commands/enable'
HELD_PERIODS = 3.0  # maximum age of guiding torques: a damper that is held for longer is no damper
NOTHING_SENT = 'this node has sent nothing yet, so the present command of the controller is not known'


class CommandStatus(NamedTuple):
    """Status of the commands for diagnostics: level (`ok`, `warning` or `error`), message, and values by name."""

    level: str
    message: str
    values: dict[str, str]


class JointData:
    """Limits of all joints (n) for the checks, and the indices of the commanded joints (k)."""

    def __init__(self, model: Model, joints: Sequence[str]) -> None:
        moving, self.names = model.robot.moving_joints, model.dynamics.joint_names
        self.order = np.array([self.names.index(name) for name in joints], dtype=int)
        limits = [joint.limits for joint in moving]
        self.effort = np.array([limit.effort or 0.0 if limit else 0.0 for limit in limits])
        ends = [(limit.lower, limit.upper) if limit else (None, None) for limit in limits]
        self.endless = np.array([lower is None or lower == upper for lower, upper in ends])
        self.bounds = np.array(
            [(-np.inf, np.inf) if free else end for free, end in zip(self.endless, ends, strict=True)], dtype=float
        ).reshape(-1, 2).T  # fmt: skip
        self.sliding = np.array([joint.kind == 'prismatic' for joint in moving])
        self._turns = (self.endless & ~self.sliding)[self.order]

    def unit(self, k: int) -> str:
        """Return the unit of a joint's torque or force."""
        return 'N' if self.sliding[k] else 'N m'

    def moved(self, q: Array, start: Array) -> Array:
        """Return the travel of the commanded joints (k) from `start` (n) to q (n), modulo 2 pi if continuous."""
        way = (q - start)[self.order]
        return np.asarray(np.where(self._turns, (way + np.pi) % (2 * np.pi) - np.pi, way))


class CommandSupervisor:
    """The state machine of the commands with its checks. Parameter `command_enabled` mirrors it, and can end it.

    All is in N m (N), except what is sent: that is times `joints.<joint>.command_scale`.
    `clock` is steady (s). `arrivals` (s) is the clock of the arrival times of joint states, for example simulated time.
    """

    def __init__(
        self,
        settings: Settings,
        model: Model,
        inputs: RobotInputs,
        guiding: Guiding,
        measured: Measured,
        clock: Clock,
        firmware: FirmwareTorque | None = None,
    ) -> None:
        """`measured` returns the measured drive torques (n; N m, N) of a state; None if efforts mean other torques."""
        self._settings, self._dynamics, self._inputs, self._terms = settings, model.dynamics, inputs, guiding.terms
        self._measured, self.clock, self._firmware, self._guiding = measured, clock, firmware, guiding
        self.arrivals: Clock = clock
        self.stamps: Clock = clock  # clock of this machine, for the check of the stamps
        names = [known_joint(model, 'command_joints', name) for name in named(settings['command_joints'])]
        self.commands, self.joints = Commands(names), JointData(model, names)
        settings.declare(parameters.of_commands(names, self.joints.effort[self.joints.order]))
        self.hold = HoldSwitch(bool(settings['guiding.hold_required']))
        self._released = ''  # why the switch has ended commands
        guiding.loop.delay = self._age
        self.ignored_file_value = bool(settings['command_enabled'])
        self._no_test = [0.0] * len(settings['command_test'])
        settings.update({'command_enabled': False, 'command_test': self._no_test})
        self.watch = ControllerWatch(settings['command_controller'])
        self.controller_joints: dict[str, tuple[str, ...] | None] = {}  # parameter `joints` by node; None: it has none
        self._others: Sequence[str] = ()
        self._latest: Torques | None = None
        self._at = self._arrived = -np.inf  # arrival of its state, by both clocks
        self._known_at: dict[str, float] = {}  # time of the last value of each contribution
        self._known: dict[str, Array] = {}
        self._start: Array | None = None  # positions (n) when commands began to rise from zero
        self._ever = self._enabled = False  # enabled at least once; last value of the parameter
        self._firmware_known = True  # whether the firmware torque is known at the latest state
        self.scaled: dict[str, float] = {}  # factor of each hand whose wrench is scaled
        settings.require(self._check)
        settings.on_change(self._apply)

    # Parameters ----------------------------------------------------------------------------------------------------

    def _check(self, values: Mapping[str, Any]) -> None:
        parameters.check(values, self.joints.effort[self.joints.order])
        parameters.command_scales(values, self.commands.joint_names)
        if values['command_enabled'] and not self._settings['command_enabled'] and not self.commands.live:
            raise ArgumentError(f'command_enabled: True, can only be set to false; the service {ENABLE} enables')
        if any(values['command_test']) and not self.commands.live:
            raise ArgumentError(f'command_test: {values["command_test"]}, must be zero until commands are enabled')
        fixed = (name for name in values if parameters.is_fixed_while_on(name) or is_of_firmware(name))
        changed = [name for name in fixed if values[name] != self._settings[name]]
        if changed and not self.commands.idle:
            raise ArgumentError(f'{changed[0]} cannot change while commands are sent; disable first')
        if not self.commands.idle:
            self._refuse_lost_gravity(values)
            if why := conflict(values['total_terms']):
                raise ArgumentError(why)
        if self.commands.joint_names and self._fresh(self.clock()) and self._latest is not None:
            for hand in self._inputs.hands:
                new = PayloadSpec.by(values, hand)
                if new != PayloadSpec.by(self._settings, hand):
                    self._refuse_heavy(hand, new, self._latest.state.q)

    def _refuse_heavy(self, hand: str, payload: PayloadSpec, q: Array) -> None:
        """Raise `ArgumentError` if a joint cannot hold the weight of a payload at a pose (n)."""
        link = self._inputs.hands[hand].link
        weight = self._dynamics.weights(q, [Load(link, payload.body(f'{hand}.payload'), '', '')])[0]
        torque = self._dynamics.wrench_torque(q, [Wrench.of(link, weight, '', '')])
        if why := checks.too_heavy(self.joints.names, torque, self.joints.effort):
            raise ArgumentError(f'{hand}.payload: {payload.mass:g} kg is too heavy here: {why}')

    def _apply(self) -> None:
        commands, settings = self.commands, self._settings
        if commands.joint_names:  # these are fixed while commands are sent
            commands.ramp = settings['command_ramp']
            commands.limits = np.array(settings['command_limits'])
            urdf = self.joints.effort[self.joints.order]
            bounded = (urdf > 0) & (not settings['command_limits_beyond_urdf'])
            commands.sum_limits = np.where(bounded, urdf, np.inf)
            commands.rates = parameters.rates(settings)
            commands.guiding_rates = parameters.rates(settings, parameters.GUIDING_RATE)
            limits, speeds = np.minimum(commands.limits, commands.sum_limits), settings['command_velocity_limits']
            self._guiding.follow_commands(self.joints.order, limits, commands.all_rates, np.array(speeds))
        self._scale = parameters.command_scales(settings, commands.joint_names)
        if not commands.idle and self._latest is not None:
            torques = Torques(self._terms, self._latest.state.with_new_wrenches())
            commands.replace(self.clock(), *self._contributions(torques, self.clock()))
        was, self._enabled = self._enabled, settings['command_enabled']
        if was and not self._enabled:
            commands.disable(self.clock())

    # Torques in, commands out --------------------------------------------------------------------------------------

    def on_torques(self, torques: Torques) -> Array | None:
        """Store the torques of a joint state; return the command (k; units of the controller) to send now, or None."""
        now = self.clock()
        self._latest, self._at, self._arrived = torques, now, self.arrivals()
        if self.commands.idle:
            return None
        contributions = self._contributions(torques, now)
        self._follow_firmware(torques.state)
        self._watch(now, new_state=True)
        return self._sent(self.commands.update(now, *contributions))

    def _age(self, state: State) -> float:
        """Return the age of a state, s: by its stamp, or by its delay over the smallest one if the clocks differ."""
        states, timeout = self._inputs.states, self._settings['state_timeout']
        behind = self.stamps() - state.stamp * 1e-9
        if not 0 <= behind <= timeout:
            behind = max((delay.excess for delay in states.delays()), default=0) * 1e-9
        held = self.arrivals() - states.oldest_arrival * 1e-9  # joints in parts: age of the oldest one
        held = held if held <= timeout else 0.0  # a recording
        low_pass = 1 / (2 * np.pi * states.velocity_cutoff) if states.velocity_cutoff else 0.0
        return float(min(max(behind, 0.0) + max(held, 0.0), timeout) + low_pass)

    def _follow_firmware(self, state: State) -> None:
        """Update the firmware torque of the commands for a state."""
        if self._firmware is not None and self._firmware.adds_anything:
            torque = self._firmware.torque(state.q, state.dq)
            self._firmware_known = torque is not None and bool(np.isfinite(torque @ torque))
            if torque is not None and self._firmware_known:
                self.commands.robot = torque[self.joints.order]

    def tick(self) -> Array | None:
        """Return the command (k; in units of the controller) to send now, or None; call it at least every 10 ms."""
        if self.commands.idle:
            return None
        now = self.clock()
        self._watch(now)
        return self._sent(self.commands.tick(now))

    def _sent(self, command: Array | None) -> Array | None:
        self._mirror()
        return None if command is None else command * self._scale

    @property
    def without_guiding(self) -> tuple[Array, Array]:
        """The last command without guiding torques, and the rate limits of both (k), in the units that are sent."""
        return self.commands.unguided * self._scale, self.commands.all_rates * np.abs(self._scale)

    def on_sender_fell(self, why: str, sent: Array) -> None:
        """Take in that the process that sends falls by itself, and has come to `sent` (k; the controller's units)."""
        self.commands.sender_took_over(why, sent / self._scale)

    def _mirror(self) -> None:
        """Set `command_enabled` to whether commands are sent and not falling."""
        self._inputs.checks.watching = not self.commands.idle
        if self._settings['command_enabled'] != self.commands.live:
            self._settings.update({'command_enabled': self.commands.live})
        if not self.commands.live and any(self._settings['command_test']):
            self._settings.update({'command_test': self._no_test})

    def _contributions(self, torques: Torques, now: float) -> tuple[dict[str, Array], dict[str, Array], list[str]]:
        """Return the contributions to the total (k) by name, the guiding torques (k) by name, and which of these fade.

        A term without a value now keeps its last one; a guiding term does not. A guiding term that was removed from the
        total is computed at the present state until it has faded.
        """
        order = self.joints.order
        contributions: dict[str, Array] = {}
        guiding: dict[str, Array] = {}
        names = named(self._settings['total_terms'])
        fading = [name for name in self.commands.guided if name not in names]
        for name in (*names, *fading):
            if name == 'wrench':
                contributions |= self._wrench_contributions(torques.state)
            elif TERMS[name].guiding:
                torque = self._friction(torques) if name == 'friction' else torques.term(name)
                if torque is not None:
                    guiding[name], self._known_at[name] = torque[order], now
            elif (torque := torques.term(name)) is not None:
                contributions[name], self._known_at[name] = torque[order], now
            elif name in self._known:
                contributions[name] = self._known[name]
        if any(self._settings['command_test']):
            contributions['command_test'] = np.array(self._settings['command_test'])
        self._known = contributions
        if guiding:
            self.commands.guiding_hold = HELD_PERIODS * self._guiding.loop.period
        return contributions, guiding, fading

    def _friction(self, torques: Torques) -> Array | None:
        """Return the friction torque (n) that commands give back, without the part that the firmware gives."""
        given, friction = torques.friction_given(), torques.term('friction')
        if given is None or friction is None or self._firmware is None:
            return given
        left = self._firmware.friction_left(friction, self._dynamics.viscous * torques.state.velocity)
        ours = given - (friction - left)
        return np.where(ours * given > 0, ours, 0.0)

    def _wrench_contributions(self, state: State) -> dict[str, Array]:
        """Return the torque (k) of each hand's wrench, scaled as a whole if it exceeds a joint's limit."""
        contributions, self.scaled = {}, {}
        for hand, wrench in state.wrenches_by_hand().items():
            torque = self._dynamics.wrench_torque(state.q, [wrench])
            if not np.isfinite(torque @ torque):
                continue
            factor = checks.scaled_share(torque, self.joints.effort)
            if factor < 1:
                self.scaled[hand] = factor
            contributions[f'wrench {hand}'] = factor * torque[self.joints.order]
        return contributions

    # Faults --------------------------------------------------------------------------------------------------------

    def fail(self, why: str) -> None:
        """End the commands by a fault."""
        self.commands.fail(self.clock(), why)
        self._mirror()

    def _watch(self, now: float, new_state: bool = False) -> None:
        if self.commands.stage is Stage.FAULT:
            return
        if self.commands.live and (released := self.hold.fault(now)):
            self._release(released)
        why = self._fault(now)
        if new_state and not why:  # an older state cannot show the effect of later commands
            why = self._drive_fault(now)
        if why:
            self.commands.fail(now, why)

    def _fault(self, now: float) -> str:
        """Return the fault that ends commands and prevents enabling, or ''."""
        if self._others:
            return f'effort_commands are published by {" and ".join(self._others)} too; stop all publishers but one'
        return (
            self._silence(now)
            or self._missing_term()
            or self._firmware_fault()
            or self._too_fast()
            or self._inputs.checks.fault(int(self.arrivals() * 1e9))
        )

    def _fresh(self, now: float) -> bool:
        timeout = self._settings['state_timeout']
        silent = now - self._at > max(checks.SILENT_FOR, timeout)
        return not silent and bool(self.arrivals() - self._arrived <= timeout)

    def _silence(self, now: float) -> str:
        if self._fresh(now):
            return ''
        arrival = int(self.arrivals() * 1e9)
        if why := self._inputs.base_fault(arrival):
            return f'the motion of the base is not known: {why}'
        if self._latest is None:
            return 'not all joints are known; publish joint states first'
        missing = self._inputs.states.missing(arrival)
        which = f': {", ".join(missing[:5])}' if missing else ''
        age = f'no complete joint state for {now - self._at:.2g} s'
        return f'{age}, must be at most {self._settings["state_timeout"]:g} s{which}'

    def _missing_term(self) -> str:
        """Return a message if a term of the total has had no value for longer than `state_timeout`, or ''."""
        earliest = self._at - self._settings['state_timeout']
        terms = [name for name in named(self._settings['total_terms']) if name != 'wrench']
        unknown = [name for name in terms if self._known_at.get(name, -np.inf) < earliest]
        if not unknown or self._latest is None:
            return ''
        if self._latest.state.dq is None and any(TERMS[name].needs_velocity for name in unknown):
            return f'torque/total is not known: no velocities for {", ".join(unknown)}'
        return f'torque/total is not known: no finite numbers for {", ".join(unknown)}'

    def _too_fast(self) -> str:
        limits = self._settings['command_velocity_limits']
        if not any(limits) or self._latest is None or self._latest.state.velocities is None:
            return ''
        velocity = self._latest.state.velocities[self.joints.order]
        return checks.too_fast(self.commands.joint_names, velocity, np.array(limits))

    def _firmware_fault(self) -> str:
        return '' if self._firmware_known else 'torque/robot is not known: no velocities or no finite numbers'

    def _drive_fault(self, now: float) -> str:
        """Return a message if a joint moves or measures effort against its commands, or ''."""
        if self._latest is None:
            return ''
        state, commands = self._latest.state, self.commands
        if commands.stage is Stage.RISING and self._start is not None:
            names = self.commands.joint_names
            moved = self.joints.moved(state.q, self._start)  # a stop may push a joint away
            why = checks.moved_by_start(names, moved, commands.unguided, self._travel)
            if why:
                return why
        effort = self._measured(state)
        if effort is None:
            return ''
        return self._obedience.fault(effort[self.joints.order], commands.sent + commands.robot, now)

    @property
    def _travel(self) -> Array:
        travel = self._settings['command_start_travel']
        return np.asarray(np.where(self.joints.sliding[self.joints.order], checks.SLIDING_TRAVEL * travel, travel))

    # Enabling ------------------------------------------------------------------------------------------------------

    def enable(self) -> str:
        """Enable commands; return the notes for the person, or raise `ArgumentError` with the reason of the refusal."""
        if self.commands.live:
            return 'enabled already'
        now, commands = self.clock(), self.commands
        self._refuse_impossible()
        endpoint = self._endpoint(now)
        torques = self._known_torques(now)
        self._refuse_implausible(torques.state)
        total, *_ = self._contributions(torques, now)
        again = commands.stage is Stage.FALLING
        measured, note = (None, '') if again else self._measured_start(torques.state, total)
        commands.enable(now, total, measured)
        from_zero = self._start is not None if again else measured is None
        self._start = torques.state.q.copy() if from_zero else None
        self._obedience = checks.Obedience(commands.joint_names, self._reference)
        self._ever, self._released = True, ''
        self.watch.bind(endpoint)
        self._mirror()
        notes = [note, self._joints_note(endpoint), self._gravity_note(torques)]
        return '; '.join(filter(None, [f'enabled for {endpoint.node}', *notes]))

    def disable(self) -> str:
        """Let commands fall on request of a person."""
        self.commands.disable(self.clock())
        self._mirror()
        return 'disabled'

    def _refuse_impossible(self) -> None:
        names = self.commands.joint_names
        if not self._settings['command_allowed']:
            raise ArgumentError('command_allowed is false: nothing may enable commands')
        if not names:
            raise ArgumentError('no joints to command: set command_joints, and start again')
        self._refuse_lost_gravity(self._settings)
        if why := conflict(self._settings['total_terms']) or self.hold.fault(self.clock()):
            raise ArgumentError(why)
        limits = self._settings['command_limits']
        if unknown := [name for name, limit in zip(names, limits, strict=True) if not limit > 0]:
            raise ArgumentError(f'no effort limit is known for {", ".join(unknown)}; set command_limits')

    def _refuse_lost_gravity(self, values: Mapping[str, Any] | Settings) -> None:
        """Raise `ArgumentError` if commands would be without gravity where the firmware adds it: -Q would be sent."""
        adds_gravity = self._firmware is not None and 'gravity' in self._firmware.adds
        if adds_gravity and 'gravity' not in values['total_terms']:
            raise ArgumentError(
                'robot.adds contains gravity, total_terms does not: commands would cancel the gravity compensation; '
                'put gravity in both or in neither'
            )

    def _endpoint(self, now: float) -> Endpoint:
        endpoint, bound = self.watch.choose(now), self.watch.bound
        if self.commands.stage is Stage.FALLING and bound is not None and endpoint.gid != bound.gid:
            raise ArgumentError(f'commands still fall for {bound.node}; enable for {endpoint.node} when they are off')
        joints = self.controller_joints.get(endpoint.node)
        if joints is not None and joints != self.commands.joint_names:
            raise ArgumentError(
                f'{endpoint.node} has joints [{", ".join(joints)}], command_joints is '
                f'[{", ".join(self.commands.joint_names)}]: must be the same, in the same order'
            )
        return endpoint

    def _gravity_note(self, torques: Torques) -> str:
        """Return a note on joints where the gravity torque of the firmware differs from ours, or ''."""
        gravity = torques.term('gravity')
        if self._firmware is None or gravity is None:
            return ''
        limits = self.joints.effort.copy()
        limits[self.joints.order] = self._reference
        differences = self._firmware.gravity_difference(torques.state.q, gravity, limits)
        names = [f'{self.joints.names[k]} {x:+.1f} {self.joints.unit(k)}' for k, x in differences.items()]
        return f"the robot's own gravity torque differs from ours: {', '.join(names)}" if names else ''

    def _joints_note(self, endpoint: Endpoint) -> str:
        known = self.controller_joints.get(endpoint.node) is not None
        return '' if known else 'the order of its joints could not be checked: it has no parameter `joints`'

    def _known_torques(self, now: float) -> Torques:
        latest = self._latest
        if latest is not None and self._fresh(now):
            self._contributions(latest, now)  # updates the terms that are requested now
            self._follow_firmware(latest.state)
        if why := self._fault(now):
            raise ArgumentError(why)
        if latest is None:
            raise ArgumentError(self._silence(now))
        return latest

    def _refuse_implausible(self, state: State) -> None:
        if why := self._outside(state):
            raise ArgumentError(why)
        why = self._inputs.checks.clock_fault(int(self.stamps() * 1e9))
        if why and self._settings['state_clock'] == 'same':
            raise ArgumentError(why)
        for hand in self._inputs.hands:
            self._refuse_heavy(hand, PayloadSpec.by(self._settings, hand), state.q)

    def _outside(self, state: State) -> str:
        return checks.outside_limits(self.joints.names, state.q, self.joints.bounds, self.joints.sliding)

    @property
    def _reference(self) -> Array:
        """Limits (k) for the comparison of efforts: those of the URDF, or `command_limits` where it has none."""
        urdf = self.joints.effort[self.joints.order]
        return np.asarray(np.where(urdf > 0, urdf, self._settings['command_limits']))

    def _measured_start(self, state: State, total: Mapping[str, Array]) -> tuple[Array | None, str]:
        """Return the efforts (k) to start from (None: zero), and a note for the answer of the service."""
        effort = self._measured(state)
        if self._settings['command_start'] == 'zero' or effort is None or np.isnan(effort[self.joints.order]).all():
            return None, 'from zero'
        measured, limits = effort[self.joints.order], self._reference
        if checks.unmeasured(measured, limits):
            return None, 'from zero: efforts are not measured, or brakes hold the joints'
        names = self.commands.joint_names
        needed = np.sum([*total.values()], axis=0) if total else np.zeros(len(names))
        if why := checks.implausible_effort(names, measured, needed, limits):
            raise ArgumentError(why)
        return np.where(np.isnan(measured), self.commands.robot, measured), 'from the measured efforts'

    # Other events --------------------------------------------------------------------------------------------------

    def on_endpoints(self, endpoints: Sequence[Endpoint]) -> None:
        """Update the list of subscribers to the commands."""
        now = self.clock()
        change = self.watch.update(endpoints, now)
        if change is not None:
            if change.what == 'left':
                self.commands.controller_left(change.why)
            elif change.what == 'back':
                self.commands.controller_back(now, f'{change.why} and still applies its last command; enable again')
            else:
                self.commands.fail(now, change.why)
            self._mirror()

    def on_hold(self, pressed: bool) -> None:
        """Update whether a person holds the switch: its release disables commands, a press enables nothing."""
        now = self.clock()
        self.hold.on_message(pressed, now)
        if self.commands.live and (released := self.hold.fault(now)):
            self._release(released)
            self._mirror()

    def _release(self, why: str) -> None:
        self._released = why
        self.commands.disable(self.clock())

    def on_other_publishers(self, names: Sequence[str]) -> None:
        """Store the names of other nodes that publish commands; fail if there are any."""
        self._others = names
        if names and not self.commands.idle:
            self.fail(self._fault(self.clock()))

    def on_controller_joints(self, node: str, joints: tuple[str, ...] | None) -> None:
        """Store the parameter `joints` of a controller's node (None: it has none); fail if it differs from ours."""
        self.controller_joints[node] = joints
        bound = self.watch.bound
        if joints is not None and bound is not None and bound.node == node and joints != self.commands.joint_names:
            self.fail(f'{node} has joints [{", ".join(joints)}], must be equal to command_joints')

    def on_reset(self) -> None:
        """Forget the latest state, after time went back or the positions jumped; fail."""
        self._latest, self._at, self._arrived = None, -np.inf, -np.inf
        self.fail('time went back, or the joint positions jumped: the states before are not comparable')

    # Diagnostics ---------------------------------------------------------------------------------------------------

    def status(self) -> CommandStatus:
        """Return the present status, and clear the lists of cut and slowed joints."""
        commands, now = self.commands, self.clock()
        warnings = self._warnings()
        level, message = 'ok', commands.stage.value
        if commands.fault:
            level, message = 'error', f'ended by a fault: {commands.fault}; enable again'
        elif warnings:
            level, message = 'warning', '; '.join(warnings)
        elif commands.idle:
            message = f'off; {self._why_off()}' if self._ever else f'off; {self._why_off()}{NOTHING_SENT}'
        bound = self.watch.bound
        values = {
            'stage': commands.stage.value,
            'controller': bound.node if bound and not commands.idle else '',
            'share of the total': f'{commands.share:.2f}',
            'remainder (N m)': ', '.join(f'{x:.3g}' for x in commands.remainder(now)),
            'limited by effort or rate': '; '.join(warnings),
            'ended by a fault': commands.fault,
            'disabled by the switch': self._released,
        }
        commands.forget_cuts()
        return CommandStatus(level, message.rstrip('; '), values)

    def _why_off(self) -> str:
        try:
            self._refuse_impossible()
        except ArgumentError as error:
            return f'{error}; '
        return ''

    def _warnings(self) -> list[str]:
        commands, found = self.commands, []
        for name, requested in commands.cut.items():
            limit = commands.limits[commands.joint_names.index(name)]
            found.append(f'{name} is cut to its limit {limit:g}, requested {requested:.1f}')
        found += [f'{name} is slowed by its rate limit, cause: {cause}' for name, cause in commands.slowed.items()]
        if commands.idle:
            return found
        found += [f'wrench {hand} is scaled to {factor:.2f}: limits' for hand, factor in self.scaled.items()]
        if self._latest is not None and (why := self._outside(self._latest.state)):
            found.append(why)
        return [*found, *self._inputs.checks.warnings()]
