"""The parameters of `simulator_node`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import ArgumentError
from ..core.inertia import Inertia
from ..core.limits import LARGEST
from ..inputs.wrist_sensor import WristSensor
from ..pipeline.dynamics_parameters import of_payload, of_tool
from ..pipeline.payloads import Told
from ..pipeline.settings import Settings
from ..pipeline.spec import BASE_LINK, NONE, ROBOT_FILE, Spec
from ..simulation.sensors import SimulatedWrist

PARAMETERS = (
    ROBOT_FILE,
    BASE_LINK,
    Spec('rate', 500.0, 'rate of `joint_states` and of the wrist sensors, Hz', least=1.0, most=1000.0),
    Spec('time_factor', 1.0, 'simulated seconds per second', least=0.01, most=10.0),
    Spec('publish_clock', False, 'publish simulated time on `/clock`, and stamp with it'),
    Spec('timeout', 0.1, 'maximum age of torques (simulated time) and pushes, s', least=0.001, most=10.0),
    Spec(
        'command_joints', NONE, 'joints that take `effort_commands`, in this order, and hold the last value for ever, '
        'as an effort controller does', once=True,
    ),
    Spec('brakes', False, 'stop all joints while there are no torques; without brakes they swing freely'),
    Spec('viscous', 0.0, 'viscous friction added to every joint, N m s/rad', least=0.0, most=LARGEST),
    Spec('coulomb', 0.0, 'Coulomb friction added to every joint, N m', least=0.0, most=LARGEST),
    Spec('start.names', NONE, 'joints with a start position of their own'),
    Spec('start.positions', [0.0], 'their start positions, rad or m'),
    Spec(
        'effort', 'joint', 'effort in `joint_states`: torque behind the gear, or torque of the motors, before '
        'rotors, friction and brakes', live=True, choices=('joint', 'motor'),
    ),
    Spec('effort_noise', 0.0, 'standard deviation of each effort, N m', live=True, least=0.0, most=LARGEST),
)  # fmt: skip


def of_hand(name: str) -> list[Spec]:
    """Return the parameters of one hand, and of the sensor in its wrist."""
    return [
        Spec(f'{name}.sensor.bias', [0.0] * 6, 'reading of its sensor without any load, N and N m', live=True, count=6),
        Spec(
            f'{name}.sensor.noise', [0.0] * 2, 'standard deviation of each force (N) and moment (N m) of its sensor',
            live=True, count=2,
        ),
        *of_tool(name),
        *of_payload(name),
    ]  # fmt: skip


def documented() -> list[Spec]:
    """Return what the documents list."""
    return [*PARAMETERS, *of_hand('<hand>')]


def wrist(values: Mapping[str, Any] | Settings, name: str, link: str) -> SimulatedWrist:
    """Return the sensor of a hand and what hangs on it, or raise `ArgumentError` if that cannot be."""
    bias, noise = values[f'{name}.sensor.bias'], values[f'{name}.sensor.noise']
    if min(noise) < 0:
        raise ArgumentError(f'{name}.sensor.noise: {list(noise)}, must not be negative')
    tool: Inertia = WristSensor.of(bias, values[f'{name}.tool.mass'], values[f'{name}.tool.com']).tool
    return SimulatedWrist(link, tool, Told.by(values, name).body(f'{name}.payload'), list(bias), list(noise))
