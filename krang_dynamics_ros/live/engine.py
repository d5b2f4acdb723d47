"""The engine of `dynamics_node`, without ROS: from messages to torques and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.parameters import Settings, named
from ..core.spatial import Array, frozen
from ..core.wrench import WrenchRows
from ..dynamics.factory import Model, load_model
from ..dynamics.terms import Terms, Torques
from ..robot.robot import Robot
from . import parameters
from .command_supervisor import CommandSupervisor
from .external import ExternalTorques
from .firmware import FirmwareTorque, track_removed_weights
from .guiding import Guiding
from .payloads import Payloads, PayloadSpec
from .robot_inputs import RobotInputs
from .support_wrench import SupportWrench
from .timeline import STEADY, Clocks
from .wrenches import RowTimes, Times


class Engine:
    """Model, inputs, payloads, torques and commands of a robot."""

    def __init__(self, settings: Settings, model: Model, clocks: Clocks = STEADY) -> None:
        """Declare the parameters of this robot in `settings`, where `parameters.MODEL` are declared already."""
        self._settings, self.model, self.dynamics = settings, model, model.dynamics
        settings.declare(parameters.node_specs(model))
        settings.declare(parameters.of_joints(model.dynamics))
        settings.require(parameters.check_presliding)
        self.inputs = RobotInputs(settings, model)
        self.payloads = Payloads(settings, model.dynamics, self.inputs.hands)
        self._terms = Terms(model.dynamics)
        self.faults = self._terms.faults  # reasons, by term that was not finite; diagnostics clear them
        self.external = ExternalTorques(settings, model.dynamics, self._terms.observer, self.inputs.hands)
        topics = self.inputs.topics.wrenches
        self.support_wrench = SupportWrench(settings, model.dynamics, self._terms.observer, topics)
        self.inputs.states.timeline.on_reset(self._forget)
        settings.on_change(self._apply)  # calls it now too
        links = {name: hand.link for name, hand in self.inputs.hands.items()}
        self.firmware = FirmwareTorque(settings, model.dynamics.joint_names, model.urdf, links)
        track_removed_weights(settings, model.dynamics.link_names, self.inputs.hands)
        self.guiding = Guiding(settings, model, self._terms, self.external.efforts)
        self.supervisor = CommandSupervisor(
            settings, model, self.inputs, self.guiding, self.external.measured, clocks, self.firmware
        )
        self.inputs.states.timeline.on_reset(self.supervisor.on_reset)

    @property
    def settings(self) -> Settings:
        """Values of the parameters, by name."""
        return self._settings

    @property
    def torque_frame(self) -> str:
        """The `frame_id` of the torques: where it is not set, a link that moves, if possible that of the last hand."""
        robot, links = self.model.robot, self.dynamics.link_names
        likely = [*links, *(hand.link for hand in self.inputs.hands.values())]
        moving = [link for link in likely if any(joint.moves for joint in robot.chain(link))]
        return str(self._settings['frame_id']) or (moving or likely)[-1]

    @property
    def robot(self) -> Robot:
        """The robot, with the gravity and the hands of the parameters."""
        hands = {name: hand.link for name, hand in self.inputs.hands.items()}
        return replace(self.model.robot, gravity=frozen(self.dynamics.gravity), end_effectors=hands)

    def _apply(self) -> None:
        """Apply the values of the parameters to the dynamics."""
        self.total_terms = named(self._settings['total_terms'])
        if self.inputs.base is None or self.inputs.base.motion is None:
            self.dynamics.gravity = np.array(self._settings['gravity'])
        parameters.set_joints(self.dynamics, self._settings)

    def _forget(self) -> None:
        self._terms.forget()
        self.external.forget()

    def on_joint_state(
        self, names: Sequence[str], position: Array, velocity: Array, effort: Array, stamp: int, now: int
    ) -> Torques | None:
        """Store a joint state, as `RobotInputs.on_joint_state`; return the torques if all joints are known."""
        self.payloads.advance(now)
        state = self.inputs.on_joint_state(names, position, velocity, effort, stamp, now)
        if state is not None and state.base is not None:
            self.dynamics.base_motion = state.base
        return None if state is None else Torques(self._terms, state)

    def on_joint_states(
        self,
        names: Sequence[str],
        columns: Sequence[Array],
        stamp: Times,
        now: Times,
        wrenches: Sequence[tuple[int, Any]],
    ) -> tuple[Array, WrenchRows] | None:
        """Store the first of many joint states at once, as `RobotInputs.on_rows`; None if the first must come alone."""
        one_by_one = not self.payloads.steady or self.inputs.base is not None
        return None if one_by_one else self.inputs.on_rows(names, columns, RowTimes(stamp, now), wrenches)

    def on_payload(self, hand: str, frame: str, payload: PayloadSpec, now: int) -> None:
        """Set the payload of a hand, given in the frame of a link, or of the hand if `frame` is ''.

        If any joint is unknown and the frame moves relative to the hand, the payload waits for `attach_payloads`.
        Recordings come here; in the node, `PayloadInput` sets parameters.
        """
        states = self.inputs.states
        self.payloads.update(hand, frame, payload, states.position if states.complete(now) else None)

    def attach_payloads(self, now: int) -> None:
        """Set the payloads that wait for joint positions, if all joints are known now."""
        if not self.payloads.steady and self.inputs.states.complete(now):
            self.payloads.apply_waiting(self.inputs.states.position)

    def count_refused(self, role: str, hand: str, reason: str) -> None:
        """Count a refused message; `role` is `joint_states`, `imu`, `wrench` or `payload`."""
        if role == 'wrench':
            self.inputs.hands[hand].refusals.note(reason)
        elif role == 'payload':
            self.payloads.refusals[hand].note(reason)
        elif role == 'imu':  # of the base, or of joints (`imu_joint`)
            (self.inputs.base or self.inputs.states).refusals.note(f'imu: {reason}')
        else:
            self.inputs.joint_state_count += 1
            self.inputs.states.refusals.note(reason)

    def zero(self, hand: str, now: int) -> Array:
        """Return the bias (6; N, N m) for which the contact wrench of a hand is zero now, as `RobotInputs.zero`."""
        if self.payloads.changing(hand):
            raise ArgumentError(f'{hand}: its payload is still changing, must be constant; try again')
        return self.inputs.zero(hand, now)


def engine_of(values: Mapping[str, Any]) -> Engine:
    """Return the engine of a node with these parameter values; other parameters have their defaults."""
    settings = Settings(values)
    chosen = settings.declare(parameters.MODEL)
    if topic := chosen.pop('robot_description_topic'):
        raise ArgumentError(f'robot_description_topic: {topic}, has no publisher without ROS; set robot_file')
    return Engine(settings, load_model(**chosen))
