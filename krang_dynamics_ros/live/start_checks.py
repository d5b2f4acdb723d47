"""Checks of the start: what the parameters, the latest state and the measured efforts must be to enable commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.parameters import Settings
from ..core.spatial import Array
from ..core.wrench import Load, Wrench
from ..dynamics.dynamics import Dynamics
from ..dynamics.state import State
from ..dynamics.terms import Torques
from . import command_checks as checks
from .command_checks import JointData
from .commands import Commands
from .firmware import FirmwareTorque
from .guiding import HoldSwitch, conflict
from .payloads import PayloadSpec
from .robot_inputs import RobotInputs


class StartChecks:
    """Checks before commands are enabled; each raises `ArgumentError` with the reason. Efforts in N m (N)."""

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

    def check_state(self, state: State, stamp: int) -> None:
        """Check positions, clocks and payloads; `stamp` is the present time (ns) by the clock of this machine."""
        if why := self.outside_limits(state):
            raise ArgumentError(why)
        why = self._inputs.checks.clock_fault(stamp)
        if why and self._settings['state_clock'] == 'same':
            raise ArgumentError(why)
        for hand in self._inputs.hands:
            self.check_payload(hand, PayloadSpec.by(self._settings, hand), state.q)

    def outside_limits(self, state: State) -> str:
        """Return a message if a position exceeds its limits, or ''."""
        joints = self._joints
        return checks.outside_limits(joints.names, state.q, joints.position, joints.prismatic)

    def check_payload(self, hand: str, payload: PayloadSpec, q: Array) -> None:
        """Check that each joint can hold the weight of a payload at a pose (n)."""
        link = self._inputs.hands[hand].link
        weight = self._dynamics.weights(q, [Load(link, payload.body(f'{hand}.payload'), '', '')])[0]
        torque = self._dynamics.wrench_torque(q, [Wrench.of(link, weight, '', '')])
        if why := checks.too_heavy(self._joints.names, torque, self._joints.effort):
            raise ArgumentError(f'{hand}.payload: {payload.mass:g} kg is too heavy here: {why}')

    def initial_effort(self, effort: Array | None, total: Mapping[str, Array]) -> tuple[Array | None, str]:
        """Check the measured efforts (n); return those (k) to start from, or None for zero, and a note for the person.

        `total` has the contributions (k) to the total by name.
        """
        order = self._joints.order
        if self._settings['command_start'] == 'zero' or effort is None or np.isnan(effort[order]).all():
            return None, 'from zero'
        measured, limits = effort[order], self.reference
        if checks.unmeasured(measured, limits):
            return None, 'from zero: efforts are not measured, or brakes hold the joints'
        names = self._commands.joint_names
        needed = np.sum([*total.values()], axis=0) if total else np.zeros(len(names))
        if why := checks.implausible_effort(names, measured, needed, limits):
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
