"""Contributions to the commands: the terms of the total, each hand's wrench, guiding torques, the robot's firmware."""

from __future__ import annotations

import numpy as np

from ..core.parameters import Settings, named
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..dynamics.state import State
from ..dynamics.terms import TERMS, Torques
from . import command_checks as checks
from .command_checks import JointData
from .commands import Commands
from .firmware import FirmwareTorque
from .guiding import Guiding

HELD_PERIODS = 3.0  # maximum age of guiding torques: a damping torque that is held longer may drive the joint


class CommandContributions:
    """Torques of a joint state as contributions (k) to the commands, by name; N m (N). Times in s, steady clock."""

    def __init__(
        self,
        settings: Settings,
        dynamics: Dynamics,
        joints: JointData,
        commands: Commands,
        guiding: Guiding,
        firmware: FirmwareTorque | None,
    ) -> None:
        self._settings, self._dynamics, self._joints = settings, dynamics, joints
        self._commands, self._guiding, self._firmware = commands, guiding, firmware
        self.scaled: dict[str, float] = {}  # factor of each hand whose wrench is scaled
        self.firmware_known = True  # whether the firmware torque is known at the latest state
        self._known_at: dict[str, float] = {}  # time of the last value of each contribution
        self._known: dict[str, Array] = {}

    def of(self, torques: Torques, now: float) -> tuple[dict[str, Array], dict[str, Array], list[str]]:
        """Return the contributions to the total (k) by name, the guiding torques (k) by name, and which of these fade.

        A term without a value now keeps its last one; a guiding term does not. A guiding term that was removed from the
        total is computed at the present state until it has faded.
        """
        order = self._joints.order
        contributions: dict[str, Array] = {}
        guiding: dict[str, Array] = {}
        names = named(self._settings['total_terms'])
        fading = [name for name in self._commands.guiding.names if name not in names]
        for name in (*names, *fading):
            if name == 'wrench':
                contributions |= self._wrenches(torques.state)
            elif TERMS[name].is_guiding:
                torque = self._friction(torques) if name == 'friction' else torques.in_total(name)
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
            self._commands.guiding.max_age = HELD_PERIODS * self._guiding.loop.period
        return contributions, guiding, fading

    def _friction(self, torques: Torques) -> Array | None:
        """Return the compensated friction (n) of the commands, without the part that the firmware compensates."""
        compensated, friction = torques.in_total('friction'), torques.term('friction')
        if compensated is None or friction is None or self._firmware is None:
            return compensated
        left = self._firmware.friction_left(friction, self._dynamics.viscous * torques.state.velocity)
        ours = compensated - (friction - left)
        return np.where(ours * compensated > 0, ours, 0.0)

    def _wrenches(self, state: State) -> dict[str, Array]:
        """Return the torque (k) of each hand's wrench, scaled as a whole if it exceeds a joint's limit."""
        contributions, self.scaled = {}, {}
        for hand, wrench in state.wrenches_by_hand().items():
            torque = self._dynamics.wrench_torque(state.q, [wrench])
            if not np.isfinite(torque @ torque):
                continue
            factor = checks.scaled_share(torque, self._joints.effort)
            if factor < 1:
                self.scaled[hand] = factor
            contributions[f'wrench {hand}'] = factor * torque[self._joints.order]
        return contributions

    def update_firmware(self, state: State) -> None:
        """Update the firmware torque of the commands for a state."""
        if self._firmware is not None and self._firmware.adds_anything:
            torque = self._firmware.torque(state.q, state.dq)
            self.firmware_known = torque is not None and bool(np.isfinite(torque @ torque))
            if torque is not None and self.firmware_known:
                self._commands.firmware_torque = torque[self._joints.order]

    def fault(self, state: State | None, at: float) -> str:
        """Return a message if a torque is not known, or ''; `state` arrived at `at`.

        A term of the total may lack a value for `state_timeout`; the firmware torque must be known at the latest state.
        """
        earliest = at - self._settings['state_timeout']
        terms = [name for name in named(self._settings['total_terms']) if name != 'wrench']
        unknown = [name for name in terms if self._known_at.get(name, -np.inf) < earliest]
        if unknown and state is not None:
            blind = state.dq is None and any(TERMS[name].needs_velocity for name in unknown)
            missing = 'velocities' if blind else 'finite numbers'
            return f'torque/total is not known: no {missing} for {", ".join(unknown)}'
        return '' if self.firmware_known else 'torque/robot is not known: no velocities or no finite numbers'
