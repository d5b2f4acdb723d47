"""The parameters of `simulator_node`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from ...core.errors import ArgumentError
from ...core.inertia import Inertia
from ...core.limits import MAX_GRAVITY, MAX_QUANTITY
from ...core.parameters import BASE_LINK, NONE, ROBOT_FILE, ParameterSpec, Settings, named
from ...live import firmware
from ...live.parameters import JOINT_STATES_TOPIC, command_scale_of, of_payload, of_tool
from ...live.payloads import PayloadSpec
from ...live.wrenches import MOMENTS_ABOUT, SENSES, WristSensor
from ...robot.adapted import SPECS as ADAPTATION
from ...robot.robot import Robot
from ...robot.robot_file import load_robot
from ...simulation.sensors import SimulatedEffort, SimulatedWrist

PARAMETERS = (
    ROBOT_FILE,
    BASE_LINK,
    *ADAPTATION,
    JOINT_STATES_TOPIC,
    ParameterSpec('rate', 500.0, 'rate of `joint_states` and of the wrist sensors, Hz', least=1.0, most=1000.0),
    ParameterSpec('time_factor', 1.0, 'simulated seconds per second', least=0.01, most=10.0),
    ParameterSpec('publish_clock', False, 'publish simulated time on `/clock`, and stamp with it'),
    ParameterSpec(
        'timeout', 0.1, 'maximum age of torques (simulated time), pushes and pulls, s', least=0.001, most=10.0
    ),
    ParameterSpec(
        'command_joints', NONE, 'joints of `effort_commands`, in this order; they keep the last command, '
        'as an effort controller does', distinct=True,
    ),
    ParameterSpec(
        'brakes', False, 'stop all joints while there are no torques; without brakes they swing freely. Where only '
        '`effort_commands` come, they open once these carry the arm, or have not changed for 2 s',
    ),
    ParameterSpec('viscous', 0.0, 'viscous friction added to every joint, N m s/rad', least=0.0, most=MAX_QUANTITY),
    ParameterSpec('coulomb', 0.0, 'Coulomb friction added to every joint, N m', least=0.0, most=MAX_QUANTITY),
    ParameterSpec(
        'coulomb_share', 0.0, 'further Coulomb friction of every joint, as a share of its effort limit: the gear of a '
        'large drive has more', least=0.0, most=1.0,
    ),
    ParameterSpec(
        'start.names', NONE, 'joints with a start position of their own; the others have that of the robot file. If it '
        'has none at all, they are at zero, or in the middle of their range if zero is outside it or near an end',
    ),
    ParameterSpec('start.positions', [0.0], 'their start positions, rad or m'),
    ParameterSpec(
        'effort', 'joint', 'effort in `joint_states`: torque behind the gear, or torque of the motors, before '
        'rotors, friction and brakes', settable=True, choices=get_args(SimulatedEffort),
    ),
    ParameterSpec(
        'effort_noise', 0.0, 'standard deviation of each effort, N m', settable=True, least=0.0, most=MAX_QUANTITY,
    ),
)  # fmt: skip


def end_effectors_of(robot: Robot) -> ParameterSpec:
    """Return the parameter with the names of the hands, by default the robot's."""
    return ParameterSpec(
        'end_effectors', [*robot.end_effectors] or NONE, 'names of the hands; each has topics `push/<name>` and '
        '`wrench/<name>`. While the node runs, a hand can be added, by the name of its link (with `_` for characters '
        'that topics do not allow), or removed', settable=True, distinct=True,
        in_topics=True, default_text='`[left, right]`, those of the robot file',
    )  # fmt: skip


def of_hand(name: str, link: str) -> list[ParameterSpec]:
    """Return the specs of the parameters of a hand and of its wrist sensor."""
    return [
        ParameterSpec(
            f'{name}.link', link, 'its link', default_text='`R10l` for left, `R10r` for right; or the link of this name'
        ),
        ParameterSpec(f'{name}.wrench_topic', f'wrench/{name}', 'topic of its wrist sensor'),
        ParameterSpec(
            f'{name}.sense', 'applied_on_robot', 'side that applies the wrench that its sensor reads', choices=SENSES
        ),
        ParameterSpec(
            f'{name}.moment_about', MOMENTS_ABOUT[0], "point of the moment that it reads: origin of `sensor.frame`, or "
            "of the hand's link", choices=MOMENTS_ABOUT,
        ),
        ParameterSpec(f'{name}.sensor.frame', '', "link in whose axes its sensor reads; empty: the hand's"),
        ParameterSpec(
            f'{name}.sensor.compensated', False, 'whether the firmware subtracts the weight of `<hand>.robot_payload`',
        ),
        ParameterSpec(
            f'{name}.sensor.bias', [0.0] * 6, 'reading of its sensor without any load, N and N m', settable=True,
            count=6,
        ),
        ParameterSpec(
            f'{name}.sensor.noise', [0.0] * 2, 'standard deviation of each force (N) and moment (N m) of its sensor',
            settable=True, count=2,
        ),
        *of_tool(name),
        *of_payload(name),
        *(replace(spec, fixed_while_on=False) for spec in firmware.of_hand(name)),
    ]  # fmt: skip


EFFORTS: tuple[str, ...] = get_args(SimulatedEffort)


def effort_scale(name: str) -> ParameterSpec:
    """Return the parameter of the unit in which the effort of a joint is published."""
    return ParameterSpec(
        f'joints.{name}.effort_scale', 1.0, 'N m (N) per unit of `effort`, as in the dynamics node; not 0',
        least=-MAX_QUANTITY, most=MAX_QUANTITY,
    )  # fmt: skip


def shared(arm: Mapping[str, Any]) -> dict[str, Any]:
    """Return the simulator's parameters from an arm's parameters of the dynamics node.

    They are hands, firmware, and efforts and commands with their units.
    """
    names = named(arm.get('end_effectors', ()))
    specs = [*firmware.SPECS, *(spec for name in names for spec in of_hand(name, ''))]
    ours = {'end_effectors', 'command_joints', *(spec.name for spec in specs)}
    of_joints = tuple(f'.{spec("").name.rpartition(".")[2]}' for spec in (effort_scale, command_scale))
    found = {name: value for name, value in arm.items() if name in ours or name.endswith(of_joints)}
    source = arm.get('effort_source')
    return found | ({'effort': source} if source in EFFORTS else {})


def gravity_of(robot: Robot) -> ParameterSpec:
    """Return the parameter of gravity, by default the robot's."""
    return ParameterSpec(
        'gravity', robot.gravity.tolist(), 'gravity in the axes of the base, m/s^2: three numbers', least=-MAX_GRAVITY,
        most=MAX_GRAVITY, count=3, default_text="the robot file's; `[0.0, 0.0, -9.81]` for a URDF",
    )  # fmt: skip


def command_scale(name: str) -> ParameterSpec:
    """Return the parameter of the unit in which a joint of `command_joints` is commanded."""
    meaning = 'units of `effort_commands` per N m (N), as in the dynamics node; not 0'
    return replace(command_scale_of(name), meaning=meaning, settable=False, fixed_while_on=False)


def documented() -> list[ParameterSpec]:
    """Return every parameter once, for the documents."""
    robot = load_robot()
    of_robot = [gravity_of(robot), end_effectors_of(robot)]
    return [*PARAMETERS, *of_robot, *of_hand('<hand>', ''), command_scale('<joint>'), effort_scale('<joint>')]


def wrist(values: Mapping[str, Any] | Settings, name: str, link: str) -> SimulatedWrist:
    """Return the wrist sensor of a hand with tool and payload, or raise `ArgumentError`.

    What the firmware subtracts from its readings is set by `track_removed_weights`.
    """
    bias, noise = values[f'{name}.sensor.bias'], values[f'{name}.sensor.noise']
    if min(noise) < 0:
        raise ArgumentError(f'{name}.sensor.noise: {list(noise)}, must not be negative')
    tool: Inertia = WristSensor.of(bias, values[f'{name}.tool.mass'], values[f'{name}.tool.com']).tool
    payload, axes = PayloadSpec.by(values, name).body(f'{name}.payload'), values[f'{name}.sensor.frame']
    about = axes if values[f'{name}.moment_about'] == 'frame' else ''
    return SimulatedWrist(link, tool, payload, bias, noise, axes, about, values[f'{name}.sense'])
