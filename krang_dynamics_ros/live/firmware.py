"""The torque that the robot's own firmware adds to a command, with its parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..core.errors import ArgumentError, unknown_name
from ..core.inertia import Inertia
from ..core.limits import MAX_GRAVITY, MAX_QUANTITY
from ..core.parameters import NONE, ParameterSpec, Settings, named
from ..core.spatial import Array
from ..dynamics.factory import dynamics_of
from ..robot.adapted import SPECS as ADAPTATION
from ..robot.adapted import Adaptation
from ..robot.robot import Robot
from ..robot.robot_file import load_description
from ..robot.urdf_reader import read_description
from .wrenches import RemovedWeight

MAY_ADD = ('gravity', 'coriolis', 'friction')  # terms
EARTH = (0.0, 0.0, -9.81)  # m/s^2, upright
UNSURE_SHARE = 0.1  # of a joint's effort limit: a larger difference of two gravity torques is reported
SPECS = (
    ParameterSpec(
        'robot.adds', NONE, "terms that the robot's own firmware adds to every command", choices=MAY_ADD, distinct=True,
    ),
    ParameterSpec(
        'robot.description', '', "the vendor's URDF or robot file that the firmware computes with; empty: ours",
    ),
    ParameterSpec(
        'robot.gravity', list(EARTH), 'gravity that the firmware assumes, m/s^2, in base axes, pointing down',
        settable=True, fixed_while_on=True, least=-MAX_GRAVITY, most=MAX_GRAVITY, count=3,
    ),
    ParameterSpec(
        'robot.friction_share', [0.0, 0.0], 'shares of viscous and Coulomb friction that the firmware adds and '
        'commands omit: a pair for all joints, or a pair for each joint',
        settable=True, fixed_while_on=True, least=0.0, most=1.0,
    ),
)  # fmt: skip


class Firmware:
    """Terms that the firmware of a robot computes, with the sign of the total.

    The firmware's model is the vendor's robot up to the flanges, with the payloads that are configured in the firmware.
    """

    def __init__(
        self, robot: Robot, joint_names: Sequence[str], flanges: Sequence[str] = (), adds: Sequence[str] = ('gravity',)
    ) -> None:
        """Create the firmware's model.

        Args:
            robot: the robot as the vendor models it.
            joint_names: order of torques (n); torques of joints that `robot` lacks are zero.
            flanges: links at which the vendor's model ends.
            adds: terms that the firmware adds, out of MAY_ADD.
        """
        self.adds = frozenset(adds)
        self._dynamics = dynamics_of(without_beyond(robot, flanges))
        if others := [name for name in self._dynamics.joint_names if name not in joint_names]:
            raise ArgumentError(f'robot.description: joint {others[0]}, must be of the robot, or beyond a robot_flange')
        self._order = [list(joint_names).index(name) for name in self._dynamics.joint_names]
        self._n = len(joint_names)

    def set_gravity(self, gravity: Sequence[float]) -> None:
        """Set the gravity (3) that the firmware uses: base axes, pointing down, m/s^2."""
        self._dynamics.gravity = np.array(gravity, dtype=float)

    def set_payload(self, payload: Mapping[str, Inertia]) -> None:
        """Set the payloads that are configured in the firmware, by flange, in the frame of the flange."""
        self._dynamics.payload = dict(payload)

    def torque(self, q: Array, dq: Array | None) -> Array | None:
        """Return the torque (n) that the firmware adds, N m (N); None if it needs velocities and `dq` is None.

        Friction is not included: it is left out of the command instead (`robot.friction_share`).
        """
        torque = np.zeros(self._n)
        if 'gravity' in self.adds:
            torque += self.gravity_torque(q)
        if 'coriolis' in self.adds:
            if dq is None:
                return None
            torque[self._order] += self._dynamics.coriolis_torque(q[self._order], dq[self._order])
        return torque

    def gravity_torque(self, q: Array) -> Array:
        """Return the gravity torque (n) of the firmware's model."""
        torque = np.zeros(self._n)
        torque[self._order] = self._dynamics.Q(q[self._order])
        return torque


def without_beyond(robot: Robot, flanges: Sequence[str]) -> Robot:
    """Return the robot with massless and fixed links beyond the flanges."""
    names = [link.name for link in robot.links]
    if wrong := [flange for flange in flanges if flange not in names]:
        raise unknown_name('robot_flange: link', wrong[0], names)
    beyond: set[str] = set()
    for joint in robot.outward:
        if joint.parent in flanges or joint.parent in beyond:
            beyond.add(joint.child)
    links = tuple(replace(link, inertia=Inertia()) if link.name in beyond else link for link in robot.links)
    joints = tuple(replace(j, kind='fixed', mimic=None) if j.child in beyond else j for j in robot.joints)
    return replace(robot, links=links, joints=joints)


def of_hand(name: str) -> list[ParameterSpec]:
    """Return the specs of the parameters of a hand in the configuration of the firmware."""
    return [
        ParameterSpec(
            f'{name}.robot_flange', '', "last link of the firmware's own model; empty: it has all links",
        ),
        ParameterSpec(
            f'{name}.robot_payload.mass', 0.0, 'payload mass that is set in the firmware, kg',
            settable=True, fixed_while_on=True, least=0.0, most=MAX_QUANTITY,
        ),
        ParameterSpec(
            f'{name}.robot_payload.com', [0.0] * 3,
            "its centre of mass in the flange's frame (without a flange, in the hand's), m",
            settable=True, fixed_while_on=True, least=-MAX_QUANTITY, most=MAX_QUANTITY, count=3,
        ),
    ]  # fmt: skip


def documented() -> list[ParameterSpec]:
    """Return every parameter once, as the documents list them."""
    return [*SPECS, *of_hand('<hand>')]


def payload_of_hand(settings: Settings | Mapping[str, Any], name: str, link: str) -> tuple[str, Inertia]:
    """Return the payload that is set in the firmware for a hand with this link: a body, and the link of its frame."""
    mass, com = (settings[f'{name}.robot_payload.{key}'] for key in ('mass', 'com'))
    body = Inertia.point_mass(mass, com)
    return settings[f'{name}.robot_flange'] or link, body


class Sensor(Protocol):
    """A wrist sensor, real or simulated, on a link."""

    link: str
    removed: RemovedWeight | None


def track_removed_weights(settings: Settings, links: Collection[str], hands: Mapping[str, Sensor]) -> None:
    """Set for each hand, now and at each change, the weight that the firmware subtracts from its readings.

    `links` are those of the robot; `<hand>.sensor.compensated` and `<hand>.robot_*` are declared already.
    """

    def check(values: Mapping[str, Any]) -> None:
        for name in hands:
            flange = values[f'{name}.robot_flange']
            if values[f'{name}.sensor.compensated'] and flange and flange not in links:
                raise unknown_name(f'{name}.robot_flange: link', flange, links)

    def apply() -> None:
        gravity = np.array(settings['robot.gravity'], dtype=float)
        for name, hand in hands.items():
            link, body = payload_of_hand(settings, name, hand.link)
            compensated = settings[f'{name}.sensor.compensated'] and body.m
            hand.removed = RemovedWeight(link, body, gravity) if compensated else None

    settings.require(check)
    settings.on_change(apply)


class FirmwareTorque:
    """The torque of the firmware, by the parameters."""

    def __init__(self, settings: Settings, joint_names: Sequence[str], urdf: str, hands: Mapping[str, str]) -> None:
        """`urdf` is the model of a firmware without `robot.description`; `hands` are the hands' links by name.

        The parameters of the hands (`of_hand`) are declared already.
        """
        self._settings, self._hands, self._n = settings, hands, len(joint_names)
        settings.declare(SPECS)
        self.adds = tuple(named(settings['robot.adds']))
        self._flanges = {name: settings[f'{name}.robot_flange'] for name in hands}
        self._firmware = self._model(urdf, joint_names) if self.adds else None
        settings.require(self._check)
        settings.on_change(self._apply)

    def _model(self, urdf: str, joint_names: Sequence[str]) -> Firmware:
        path = self._settings['robot.description']
        if path:  # has the vendor's joint names: adapt it to those of the arm
            adaptation = Adaptation.of({spec.name: self._settings[spec.name] for spec in ADAPTATION})
            described = adaptation.of_description(load_description(path))
        else:
            described = read_description(urdf)
        flanges = [flange for flange in self._flanges.values() if flange]
        return Firmware(described.robot, joint_names, flanges, self.adds)

    def _check(self, values: Mapping[str, Any]) -> None:
        if (count := len(values['robot.friction_share'])) not in (2, 2 * self._n):
            raise ArgumentError(f'robot.friction_share: {count} numbers, must be 2, or {2 * self._n}: a pair per joint')

    def _apply(self) -> None:
        shares = np.array(self._settings['robot.friction_share'], dtype=float).reshape(-1, 2)
        self._viscous_share, self._coulomb_share = np.broadcast_to(shares, (self._n, 2)).T
        if self._firmware is None:
            return
        self._firmware.set_gravity(self._settings['robot.gravity'])
        payload: dict[str, Inertia] = {}
        for name, hand in self._hands.items():
            link, body = payload_of_hand(self._settings, name, hand)
            if body.m:
                payload[link] = payload.get(link, Inertia()) + body
        self._firmware.set_payload(payload)

    @property
    def adds_anything(self) -> bool:
        """Whether the firmware adds a torque that must be subtracted from commands."""
        return self._firmware is not None and bool({*self.adds} - {'friction'})

    def torque(self, q: Array, dq: Array | None) -> Array | None:
        """Return the torque of the firmware (n), with the sign of the total; None if it needs unknown velocities."""
        return np.zeros(self._n) if self._firmware is None else self._firmware.torque(q, dq)

    def friction_left(self, friction: Array, viscous: Array) -> Array:
        """Return the friction (n) of the commands, without the share of the firmware; `viscous` (n) is part of it."""
        if 'friction' not in self.adds:
            return friction
        return np.asarray(friction - self._viscous_share * viscous - self._coulomb_share * (friction - viscous))

    def gravity_difference(self, q: Array, gravity: Array, limits: Array) -> dict[int, float]:
        """Return the gravity torque of the firmware minus ours, N m, by joint index, where the difference is large.

        `limits` (n) are the effort limits that the difference is compared with; joints without one (0) are left out.
        """
        if self._firmware is None or 'gravity' not in self.adds:
            return {}
        difference = self._firmware.gravity_torque(q) - gravity
        large = (limits > 0) & (np.abs(difference) > UNSURE_SHARE * limits)
        return {int(k): float(difference[k]) for k in np.flatnonzero(large)}
