"""From messages to torques: all that `dynamics_node` does but listening and speaking."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.parameters import Settings, named
from ..core.spatial import Array
from ..core.wrench import WrenchRows
from ..dynamics.factory import Model, load_model
from ..dynamics.terms import Terms, Torques
from . import parameters
from .command_supervisor import Clock, CommandSupervisor
from .external import ExternalTorques
from .firmware import CompensatedReadings, FirmwareTorque
from .payloads import Payloads, PayloadSpec
from .robot_inputs import RobotInputs
from .wrenches import RowTimes, Times


class Engine:
    """A robot, what its messages say of it, and its torques."""

    def __init__(self, settings: Settings, model: Model, clock: Clock = time.monotonic) -> None:
        """`settings` gets the parameters of this robot; `dynamics_parameters.MODEL` are those that say which one.

        `clock` tells the time (s) by which commands are blended; nobody may set it.
        """
        self._settings, self.model, self.dynamics = settings, model, model.dynamics
        settings.declare(parameters.settings(model))
        settings.declare(parameters.of_joints(model.dynamics))
        settings.require(parameters.check_presliding)
        self.inputs = RobotInputs(settings, model)
        self.payloads = Payloads(settings, model.dynamics, self.inputs.hands)
        self._terms = Terms(model.dynamics)
        self.faults = self._terms.faults  # terms that were not finite since somebody cleared this, and why
        self.external = ExternalTorques(settings, model.dynamics, self._terms.observer, self.inputs.hands)
        self.inputs.states.timeline.on_reset(self._forget)
        settings.on_change(self._apply)
        links = {name: hand.link for name, hand in self.inputs.hands.items()}
        self.firmware = FirmwareTorque(settings, model.dynamics.joint_names, model.urdf, links)
        CompensatedReadings(settings, model.dynamics.link_names, self.inputs.hands)
        self.supervisor = CommandSupervisor(
            settings, model, self.inputs, self._terms, self.external.measured, clock, self.firmware
        )
        self.inputs.states.timeline.on_reset(self.supervisor.on_reset)

    @property
    def settings(self) -> Settings:
        """The parameters."""
        return self._settings

    def _apply(self) -> None:
        """Put the parameters' values to work."""
        self.summed = named(self._settings['total_terms'])
        self.dynamics.gravity = np.array(self._settings['gravity'])
        parameters.set_joints(self.dynamics, self._settings)

    def _forget(self) -> None:
        self._terms.forget()
        self.external.forget()

    def on_joint_state(
        self, names: Sequence[str], position: Array, velocity: Array, effort: Array, stamp: int, now: int
    ) -> Torques | None:
        """Take in a joint state, as `RobotInputs` does; return the torques of what is known then, if all joints are."""
        self.payloads.advance(now)
        state = self.inputs.on_joint_state(names, position, velocity, effort, stamp, now)
        return None if state is None else self._terms.of(state)

    def on_joint_states(
        self,
        names: Sequence[str],
        columns: Sequence[Array],
        stamp: Times,
        now: Times,
        wrenches: Sequence[tuple[int, Any]],
    ) -> tuple[Array, WrenchRows] | None:
        """Take in many joint states at once, as `RobotInputs.on_rows` does; None where they must come one by one."""
        return self.inputs.on_rows(names, columns, RowTimes(stamp, now), wrenches) if self.payloads.steady else None

    def on_payload(self, hand: str, frame: str, told: PayloadSpec, now: int) -> None:
        """Take in what a hand holds from now on, told in the frame of a link, or of the hand where that is empty.

        One that cannot be placed while a joint is unknown waits for `attach_payloads`.
        """
        states = self.inputs.states
        self.payloads.update(hand, frame, told, states.position if states.complete(now) else None)

    def attach_payloads(self, now: int) -> None:
        """Take in the payloads that waited for the joints' positions, if all of these are known now."""
        if not self.payloads.steady and self.inputs.states.complete(now):
            self.payloads.apply_waiting(self.inputs.states.position)

    def refuse(self, what: str, hand: str, reason: str) -> None:
        """Note a refused message: of `joint_states`, `imu`, a hand's `wrench` or its `payload`."""
        if what == 'wrench':
            self.inputs.hands[hand].refusals.note(reason)
        elif what == 'payload':
            self.payloads.refusals[hand].note(reason)
        else:
            self.inputs.heard += what == 'joint_states'
            self.inputs.states.refusals.note(reason if what == 'joint_states' else f'{what}: {reason}')

    def zero(self, hand: str, now: int) -> Array:
        """Return the bias (6) by which a hand's readings are of nothing but tool and payload, as `RobotInputs.zero`."""
        if self.payloads.changing(hand):
            raise ArgumentError(f'{hand}: its payload is still changing, must have changed; try again')
        return self.inputs.zero(hand, now)


def engine_of(values: Mapping[str, Any], clock: Clock = time.monotonic) -> Engine:
    """Return the engine that a node has with these parameters; the others have their defaults."""
    settings = Settings(values)
    chosen = settings.declare(parameters.MODEL)
    if topic := chosen.pop('robot_description_topic'):
        raise ArgumentError(f'robot_description_topic: {topic}, but nobody publishes here; name a robot_file')
    return Engine(settings, load_model(**chosen), clock)
