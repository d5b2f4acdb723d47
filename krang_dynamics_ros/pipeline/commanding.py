"""Commands by the parameters: which joints, within what, and whether they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.limits import LARGEST
from ..core.spatial import Array
from ..dynamics.factory import Model
from ..dynamics.state import State
from ..dynamics.terms import TERMS, Torques
from ..outputs.effort_commands import EffortCommands
from . import dynamics_parameters as parameters
from .robot_inputs import known_joint
from .settings import Settings
from .spec import named

Clock = Callable[[], float]  # seconds, steady
Measured = Callable[[State], Array | None]
UNHEARD = 'nobody listens to effort_commands'


class Commanding:
    """The switch for `effort_commands`, as the parameters say. `command_enabled` is what is wanted."""

    def __init__(
        self, settings: Settings, model: Model, summed: Callable[[], list[str]], measured: Measured, clock: Clock
    ) -> None:
        """`summed` are the terms of the total, at any time; `measured` is what drives the joints at a state."""
        self._settings, self._summed, self._measured, self._clock = settings, summed, measured, clock
        names = model.dynamics.joint_names
        joints = [known_joint(model, 'command_joints', name) for name in named(settings['command_joints'])]
        self._order = np.array([names.index(name) for name in joints], dtype=int)
        self.switch = EffortCommands(joints)
        limits = {joint.name: joint.limits.effort for joint in model.robot.moving_joints if joint.limits}
        settings.declare(parameters.of_commands(joints, {name: x for name, x in limits.items() if x}))
        self._latest: Torques | None = None  # the torques that came last, and when
        self._time = -np.inf
        self._until = np.inf  # when the first torques must have come
        self._summands: tuple[str, ...] = ()  # of the last total: its terms, and the links whose wrenches are in it
        self.heard = True  # whether anybody takes the commands
        self.others: Sequence[str] = ()  # who else gives commands to the same controller
        self.wanted = self._begun = False
        settings.hold_to(self._check)
        settings.used_by(self._apply)
        self._begun = True  # from now on, what is wanted must be possible at once

    def _check(self, values: Mapping[str, Any]) -> None:
        limits = np.array(values['command_limits'])
        if not ((limits >= 0) & (limits <= LARGEST)).all():
            raise ArgumentError(f'command_limits: {limits.tolist()}, must be 0 to {LARGEST:g} each')
        if not values['command_enabled']:
            return
        if why := self.switch.trouble(limits) or self._trouble_now(values):
            raise ArgumentError(f'command_enabled: {why}')

    def _trouble_now(self, values: Mapping[str, Any]) -> str:
        """Say why commands could not begin at once, if they should."""
        if not self._begun or self.wanted:
            return ''
        if self.others:
            return self._crowded
        return self._unknown(values) or ('' if self.heard else f'{UNHEARD}; start the controller first')

    @property
    def _crowded(self) -> str:
        return f'effort_commands come from {" and ".join(self.others)} too; end all but one'

    def _unknown(self, values: Mapping[str, Any]) -> str:
        """Say why there are no torques to blend to."""
        latest, summed = self._latest, named(values['total_terms'])
        fresh = self._clock() - self._time <= values['state_timeout']
        if latest is None or not fresh:
            return 'not all joints are known; joint states must come first'
        unknown = [name for name in summed if latest.term(name) is None]
        blind = [name for name in unknown if TERMS[name].needs_velocity]
        if blind and latest.state.dq is None:
            return f'torque/total is not known: no velocities for {", ".join(blind)}'
        return f'torque/total is not known: no finite numbers for {", ".join(unknown)}' if unknown else ''

    def _apply(self) -> None:
        switch, settings = self.switch, self._settings
        switch.ramp, switch.timeout = settings['command_ramp'], settings['state_timeout']
        if switch.joint_names:
            switch.limits = np.array(settings['command_limits'])
        if settings['command_enabled'] and not self.wanted:
            switch.fault = ''  # it was seen by whoever enables it again
            self._until = self._clock() + switch.timeout if self._begun else np.inf
        self.wanted = settings['command_enabled']
        if not self.wanted:
            switch.disable(self._clock())

    def follow(self, torques: Torques) -> Array | None:
        """Take in the torques of a joint state; return the command (k) to send now, or None."""
        now = self._clock()
        self._latest, self._time = torques, now
        self._watch(now)
        if not self.wanted and self.switch.idle:
            return None
        total = torques.total(self._summed())
        if total is None:
            return self.switch.tick(now)
        self._blend_between_terms(now, torques.state)
        if self.wanted and self.heard and not self.switch.enabled and not self.switch.fault:
            effort = self._measured(torques.state)
            self.switch.enable(now, None if effort is None else effort[self._order])
            self._until = np.inf
        return self.switch.follow(now, total[self._order])

    def _blend_between_terms(self, now: float, state: State) -> None:
        """Let no command jump when a term comes into the total or goes, as that of a sensor that falls silent."""
        summands = tuple(self._summed())
        if 'wrench' in summands:
            summands += tuple(wrench.link for wrench in state.wrenches)
        if summands != self._summands:
            self.switch.blend_anew(now)
        self._summands = summands

    def tick(self) -> Array | None:
        """Return the command (k) to send now if no torques come."""
        now = self._clock()
        self._watch(now)
        return self.switch.tick(now)

    def _watch(self, now: float) -> None:
        """Switch off what was wanted, and must not be or cannot be."""
        if not self.wanted or self.switch.fault:
            return
        if self.others:
            self.switch.disable(now, self._crowded)
        elif now > self._until:
            why = 'no torques came' if self.heard else UNHEARD
            self.switch.disable(now, f'not begun within {self.switch.timeout:g} s of being enabled: {why}')

    def deserted(self) -> None:
        """Switch off at once: all who took the commands have gone, and who comes next must not begin in the middle."""
        self.switch.drop(f'{UNHEARD} any more')
