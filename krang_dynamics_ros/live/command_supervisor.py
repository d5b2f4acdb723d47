"""Supervisor of the effort commands: checks, parameters and subscribers, around the state machine of `commands.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import ArgumentError
from ..core.parameters import Settings, named
from ..core.spatial import Array
from ..dynamics.factory import Model
from ..dynamics.state import State
from ..dynamics.terms import Torques
from . import command_checks as checks
from . import parameters
from .command_checks import JointData, StartChecks
from .command_contributions import CommandContributions
from .commands import Commands, Stage
from .controller_watch import ControllerWatch, Endpoint
from .firmware import FirmwareTorque
from .guiding import Guiding, HoldSwitch
from .payloads import PayloadSpec
from .robot_inputs import RobotInputs, known_joint
from .timeline import Clocks

Measured = Callable[[State], Array | None]
ENABLE = 'effort_commands/enable'
WAITS = 'zeros are sent until all subscribers have acknowledged one'
# Name of the diagnostics, and of two of their values.
STATUS, WAITING, ENDED = 'effort commands', 'waits for acknowledgement', 'ended by a fault'
NOTHING_SENT = 'this node has sent nothing yet, so the present command of the controller is not known'


class CommandStatus(NamedTuple):
    """Status of the commands for diagnostics: level (`ok`, `warning` or `error`), message, and values by name."""

    level: str
    message: str
    values: dict[str, str]


class CommandSupervisor:
    """The state machine of the commands with its checks.

    The parameter `command_enabled` shows whether commands are enabled; set to false, it disables them.

    All is in N m (N), except what is sent: that is times `joints.<joint>.command_scale`.
    """

    def __init__(
        self,
        settings: Settings,
        model: Model,
        inputs: RobotInputs,
        guiding: Guiding,
        measured: Measured,
        clocks: Clocks,
        firmware: FirmwareTorque | None = None,
    ) -> None:
        """`measured` returns the measured drive torques (n; N m, N) of a state; None if they are unknown."""
        self._settings, self._inputs, self._guiding, self._terms = settings, inputs, guiding, guiding.terms
        self._measured, self.clocks = measured, clocks
        names = [known_joint(model, 'command_joints', name) for name in named(settings['command_joints'])]
        self.commands, self.joints = Commands(names), JointData(model, names)
        settings.declare(parameters.of_commands(names, self.joints.effort[self.joints.order]))
        self.hold = HoldSwitch(bool(settings['guiding.hold_required']))
        self._released = ''  # why the switch has ended commands
        guiding.loop.age_of = self._age
        self.enabled_in_file = bool(settings['command_enabled'])  # a file or an option sets it: ignored
        self._no_test = [0.0] * len(settings['command_test'])
        settings.update({'command_enabled': False, 'command_test': self._no_test})
        self.controllers = ControllerWatch(settings['command_controller'])
        self._others: Sequence[str] = ()
        self._latest: Torques | None = None
        self._at = -np.inf  # arrival of its state by the steady clock, s
        self._arrived = -np.inf  # the same by the clock of arrivals
        self._start_q: Array | None = None  # positions (n) when commands began to rise from zero
        self._ever_enabled = False
        self._enabled = False  # the parameter before the present change
        dynamics, commands = model.dynamics, self.commands
        self.contributions = CommandContributions(settings, dynamics, self.joints, commands, guiding, firmware)
        self.start_checks = StartChecks(settings, dynamics, inputs, self.joints, commands, self.hold, firmware)
        settings.require(self._check)
        settings.on_change(self._apply)

    # Parameters ----------------------------------------------------------------------------------------------------

    def _check(self, values: Mapping[str, Any]) -> None:
        parameters.check(values, self.joints.effort[self.joints.order])
        parameters.command_scales(values, self.commands.joint_names)
        if values['command_enabled'] and not self._settings['command_enabled'] and not self.commands.enabled:
            raise ArgumentError(f'command_enabled: True, can only be set to false; the service {ENABLE} enables')
        if any(values['command_test']) and not self.commands.enabled:
            raise ArgumentError(f'command_test: {values["command_test"]}, must be zero until commands are enabled')
        fixed = self._settings.fixed_while_on
        changed = [name for name in fixed if values[name] != self._settings[name]]
        if changed and not self.commands.idle:
            raise ArgumentError(f'{changed[0]} cannot change while commands are sent; disable first')
        if not self.commands.idle:
            self.start_checks.check_terms(values)
        if self.commands.joint_names and self._fresh(self.clocks.steady()) and self._latest is not None:
            for hand in self._inputs.hands:
                new = PayloadSpec.by(values, hand)
                if new != PayloadSpec.by(self._settings, hand):
                    self.start_checks.check_payload(hand, new, self._latest.state.q)

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
            commands.replace(self.clocks.steady(), *self.contributions.of(torques, self.clocks.steady()))
        was, self._enabled = self._enabled, settings['command_enabled']
        if was and not self._enabled:
            commands.disable(self.clocks.steady())

    # Torques in, commands out --------------------------------------------------------------------------------------

    def on_torques(self, torques: Torques) -> Array | None:
        """Store the torques of a joint state; return the command (k; units of the controller) to send now, or None."""
        now = self.clocks.steady()
        self._latest, self._at, self._arrived = torques, now, self.clocks.arrival()
        if self.commands.idle:
            return None
        contributions = self.contributions.of(torques, now)
        self.contributions.update_firmware(torques.state)
        self._check_faults(now, new_state=True)
        return self._sent(self.commands.update(now, *contributions))

    def _age(self, state: State) -> float:
        """Return the age of a state, s.

        That is the present time less its stamp, plus the present time less the arrival of its oldest joint, plus the
        delay of the low pass of velocities. If the clocks differ, the first part is the excess of the messages' delay
        over the smallest delay.
        """
        states, timeout = self._inputs.states, self._settings['state_timeout']
        behind = self.clocks.stamp() - state.stamp * 1e-9
        if not 0 <= behind <= timeout:
            behind = max((delay.excess for delay in states.delays()), default=0) * 1e-9
        held = self.clocks.arrival() - states.oldest_arrival * 1e-9  # of the oldest joint
        held = held if held <= timeout else 0.0  # longer: the times are those of a recording
        low_pass = 1 / (2 * np.pi * states.velocity_cutoff) if states.velocity_cutoff else 0.0
        return float(min(max(behind, 0.0) + max(held, 0.0), timeout) + low_pass)

    def tick(self) -> Array | None:
        """Return the command (k; in units of the controller) to send now, or None; call it at least every 10 ms."""
        if self.commands.idle:
            return None
        now = self.clocks.steady()
        self._check_faults(now)
        return self._sent(self.commands.tick(now))

    def _sent(self, command: Array | None) -> Array | None:
        self._apply_stage()
        return None if command is None else command * self._scale

    @property
    def unguided_and_rates(self) -> tuple[Array, Array]:
        """The last command without guiding torques (k), and the rate limits of commands that have them, as sent."""
        return self.commands.unguided * self._scale, self.commands.all_rates * np.abs(self._scale)

    def on_sender_fell(self, why: str, sent: Array) -> None:
        """The sender process takes commands to zero on its own, and has reached `sent` (k; the controller's units)."""
        self.commands.sender_took_over(why, sent / self._scale)

    def _apply_stage(self) -> None:
        """Update what depends on the stage: checks, guiding, and the parameters `command_enabled`, `command_test`."""
        self._inputs.checks.compare(not self.commands.idle)
        self._guiding.follow_stage(not self.commands.idle)
        if self._settings['command_enabled'] != self.commands.enabled:
            self._settings.update({'command_enabled': self.commands.enabled})
        if not self.commands.enabled and any(self._settings['command_test']):
            self._settings.update({'command_test': self._no_test})

    # Faults --------------------------------------------------------------------------------------------------------

    def fail(self, why: str) -> None:
        """End the commands by a fault."""
        self.commands.fail(self.clocks.steady(), why)
        self._apply_stage()

    def _check_faults(self, now: float, new_state: bool = False) -> None:
        if self.commands.stage is Stage.FAULT:
            return
        if self.commands.enabled and (released := self.hold.fault(now)):
            self._release(released)
        why = self._fault(now)
        if new_state and not why:  # only a new state can show the effect of the last command
            why = self._drive_fault(now)
        if why:
            self.commands.fail(now, why)

    def _fault(self, now: float) -> str:
        """Return the fault that ends commands and prevents enabling, or ''."""
        if self._others:
            return f'effort_commands are published by {" and ".join(self._others)} too; stop all publishers but one'
        return (
            self._silence(now)
            or self.contributions.fault(None if self._latest is None else self._latest.state, self._at)
            or checks.unacknowledged(self.commands.seconds_unacknowledged(now), self.controllers.subscribers)
            or self._too_fast()
            or self._inputs.checks.fault(int(self.clocks.arrival() * 1e9))
            or (self._guiding.guides and '; '.join(self._inputs.checks.warnings()))
            or ''
        )

    def _fresh(self, now: float) -> bool:
        timeout = self._settings['state_timeout']
        silent = now - self._at > max(checks.SILENT_FOR, timeout)
        return not silent and bool(self.clocks.arrival() - self._arrived <= timeout)

    def _silence(self, now: float) -> str:
        if self._fresh(now):
            return ''
        arrival = int(self.clocks.arrival() * 1e9)
        if why := self._inputs.base_fault(arrival):
            return f'the motion of the base is not known: {why}'
        if self._latest is None:
            return 'not all joints are known; publish joint states first'
        missing = self._inputs.states.missing(arrival)
        which = f': {", ".join(missing[:5])}' if missing else ''
        age = f'no complete joint state for {max(now - self._at, self.clocks.arrival() - self._arrived):.2g} s'
        return f'{age}, must be at most {self._settings["state_timeout"]:g} s{which}'

    def _too_fast(self) -> str:
        limits = self._settings['command_velocity_limits']
        if not any(limits) or self._latest is None or self._latest.state.measured_dq is None:
            return ''
        velocity = self._latest.state.measured_dq[self.joints.order]
        return checks.too_fast(self.commands.joint_names, velocity, np.array(limits))

    def _drive_fault(self, now: float) -> str:
        """Return a message if a joint moves too far along its command during the start, or does not obey it, or ''."""
        if self._latest is None:
            return ''
        state, commands = self._latest.state, self.commands
        if commands.stage is Stage.RISING and self._start_q is not None:
            names = self.commands.joint_names
            moved = self.joints.moved(state.q, self._start_q)
            why = checks.moved_by_start(names, moved, commands.unguided, self._travel)  # a stop may push a joint away
            if why:
                return why
        effort = self._measured(state)
        if effort is None:
            return ''
        return self._obedience.fault(effort[self.joints.order], commands.sent + commands.firmware_torque, now)

    @property
    def _travel(self) -> Array:
        travel = self._settings['command_start_travel']
        return np.asarray(np.where(self.joints.prismatic[self.joints.order], checks.PRISMATIC_TRAVEL * travel, travel))

    # Enabling ------------------------------------------------------------------------------------------------------

    def enable(self) -> str:
        """Enable commands; return the notes for the person, or raise `ArgumentError` with the reason of the refusal."""
        if self.commands.enabled:
            return 'enabled already'
        now, commands, start = self.clocks.steady(), self.commands, self.start_checks
        again = commands.stage is Stage.FALLING
        start.check_settings(now)
        endpoint = self.controllers.choose_for(commands.joint_names, now, falling=again)
        torques = self._known_torques(now)
        start.check_state(torques.state, int(self.clocks.stamp() * 1e9))
        total, *_ = self.contributions.of(torques, now)
        measured, note = (None, '') if again else start.initial_effort(self._measured(torques.state), total)
        commands.enable(now, total, measured)
        from_zero = self._start_q is not None if again else measured is None
        self._start_q = torques.state.q.copy() if from_zero else None
        self._obedience = checks.Obedience(commands.joint_names, start.reference)
        self._ever_enabled, self._released = True, ''
        self.controllers.bind(endpoint)
        self._apply_stage()
        waits = WAITS if commands.waits else ''
        notes = [note, waits, self.controllers.joints_note(endpoint), start.gravity_note(torques)]
        return '; '.join(filter(None, [f'enabled for {endpoint.node}', *notes]))

    def disable(self) -> str:
        """Start to take commands to zero; return the answer of the service."""
        self.commands.disable(self.clocks.steady())
        self._apply_stage()
        return 'disabled' if self.commands.idle else 'disabled: commands ramp down to zero'

    def _known_torques(self, now: float) -> Torques:
        latest = self._latest
        if latest is not None and self._fresh(now):
            self.contributions.of(latest, now)  # `_fault` reads when each term was last known
            self.contributions.update_firmware(latest.state)
        if why := self._fault(now):
            raise ArgumentError(why)
        if latest is None:
            raise ArgumentError(self._silence(now))
        return latest

    # Other events --------------------------------------------------------------------------------------------------

    def on_endpoints(self, endpoints: Sequence[Endpoint]) -> None:
        """Update the list of subscribers to the commands."""
        now = self.clocks.steady()
        change = self.controllers.update(endpoints, now)
        if change is not None:
            if change.what == 'left':
                self.commands.controller_left(change.why)
            elif change.what == 'back':
                self.commands.controller_back(now, f'{change.why} and still applies its last command; enable again')
            else:
                self.commands.fail(now, change.why)
            self._apply_stage()

    def on_hold(self, pressed: bool) -> None:
        """Update whether the switch is held: its release disables commands, a press enables nothing."""
        now = self.clocks.steady()
        self.hold.on_message(pressed, now)
        if self.commands.enabled and (released := self.hold.fault(now)):
            self._release(released)
            self._apply_stage()

    def _release(self, why: str) -> None:
        self._released = why
        self.commands.disable(self.clocks.steady())

    def on_acknowledged(self, start: int) -> None:
        """All subscribers have acknowledged a zero of this start: the ramp begins, and travel counts from this pose."""
        if self.commands.acknowledged(start) and self._latest is not None:
            self._start_q = self._latest.state.q.copy()

    def on_other_publishers(self, names: Sequence[str]) -> None:
        """Store the names of other nodes that publish commands; fail if there are any."""
        self._others = names
        if names and not self.commands.idle:
            self.fail(self._fault(self.clocks.steady()))

    def on_controller_joints(self, node: str, joints: tuple[str, ...] | None) -> None:
        """Store the parameter `joints` of a controller's node (None: it has none); fail if it differs from ours."""
        self.controllers.joints[node] = joints
        bound = self.controllers.bound
        if joints is not None and bound is not None and bound.node == node and joints != self.commands.joint_names:
            self.fail(f'{node} has joints [{", ".join(joints)}], must be equal to command_joints')

    def on_reset(self) -> None:
        """Forget the latest state, after time went back or the positions jumped; fail."""
        self._latest, self._at, self._arrived = None, -np.inf, -np.inf
        self.fail('time went back, or the joint positions jumped: must be continuous while commands are sent')

    # Diagnostics ---------------------------------------------------------------------------------------------------

    def status(self) -> CommandStatus:
        """Return the present status, and clear the lists of cut and slowed joints."""
        commands, now = self.commands, self.clocks.steady()
        warnings = self._warnings()
        level, message = 'ok', f'{commands.stage.value}; {WAITS}' if commands.waits else commands.stage.value
        if commands.fault:
            level, message = 'error', f'ended by a fault: {commands.fault}; enable again'
        elif warnings:
            level, message = 'warning', '; '.join(warnings)
        elif commands.idle:
            message = f'off; {self._why_off()}' if self._ever_enabled else f'off; {self._why_off()}{NOTHING_SENT}'
        bound = self.controllers.bound
        values = {
            'stage': commands.stage.value,
            'controller': bound.node if bound and not commands.idle else '',
            WAITING: 'yes' if commands.waits else 'no',
            'ramp fraction': f'{commands.ramp_fraction:.2f}',
            'remainder (N m)': ', '.join(f'{x:.3g}' for x in commands.remainder(now)),
            'warnings': '; '.join(warnings),
            ENDED: commands.fault,
            'disabled by the switch': self._released,
        }
        commands.forget_cuts()
        return CommandStatus(level, message.rstrip('; '), values)

    def _why_off(self) -> str:
        try:
            self.start_checks.check_settings(self.clocks.steady())
        except ArgumentError as error:
            return f'{error}; '
        return ''

    def _warnings(self) -> list[str]:
        commands, found = self.commands, []
        for name, (requested, limit) in commands.cut.items():
            found.append(f'{name} is cut to its limit {limit:g}, requested {requested:.1f}')
        found += [f'{name} is slowed by its rate limit, cause: {cause}' for name, cause in commands.slowed.items()]
        if commands.idle:
            return found
        scaled = self.contributions.scaled.items()
        found += [f'the wrench of {hand} is scaled to {factor:.2f} for the joint limits' for hand, factor in scaled]
        if self._latest is not None and (why := self.start_checks.outside_limits(self._latest.state)):
            found.append(why)
        return [*found, *self._inputs.checks.warnings()]
