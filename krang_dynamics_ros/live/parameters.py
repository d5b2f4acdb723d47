"""Specs of the parameters of `dynamics_node` and its commands, also for programs without ROS.

`external.py`, `guiding.py`, `firmware.py`, `base.py`, `position_velocity.py` and `robot/adapted.py` declare more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.limits import MAX_GRAVITY, MAX_PRESLIDING, MAX_QUANTITY
from ..core.parameters import BASE_LINK, NONE, ROBOT_FILE, ParameterSpec, Settings
from ..core.spatial import Array
from ..dynamics.dynamics import Dynamics
from ..dynamics.factory import BACKENDS, PINOCCHIO, Model, load_model
from ..dynamics.terms import NEVER_SUMMED, SUMMED
from ..effects.effect import Number
from ..effects.joint_effects import numbers_of
from ..effects.presliding import Presliding
from ..robot.adapted import SPECS as ADAPTATION
from .position_velocity import SPECS as VELOCITY
from .wrenches import MOMENTS_ABOUT, SENSES

DEFAULT_RATE = 10.0  # 1/s: from zero to the limit of a joint in 0.1 s
MIN_RATE = 0.5  # 1/s: the limit of a joint in 2 s; a slower fall would not reach zero in time
GUIDING_RATE = 100.0  # 1/s: from zero to the limit of a joint in 0.01 s; a slower stop would come too late
MAX_TEST = 0.5  # N m (N): moves a joint, and a person can stop it by hand
MIN_SCALE = 1e-6  # units of a command per N m (N), in size


def of_commands(joints: Sequence[str], limits: Array) -> list[ParameterSpec]:
    """Return the specs of the parameters of the commands of joints with these effort limits (k; 0: not known)."""
    count = len(joints) or None
    return [
        ParameterSpec('command_allowed', True, 'whether commands may be enabled'),
        ParameterSpec(
            'command_enabled', False, 'whether `effort_commands` is published; false ends commands, only the service '
            'enables them', settable=True,
        ),
        ParameterSpec(
            'command_controller', '', 'node of the controller that receives the commands, with or without namespace; '
            'empty: the only subscriber',
        ),
        ParameterSpec(
            'command_ramp', 1.0, 'duration in which commands rise and fall, and jumps of the total fade, s',
            settable=True, fixed_while_on=True, least=0.0, most=10.0,
        ),
        ParameterSpec(
            'command_limits', [float(x) for x in limits] or [0.0], 'maximum effort of each of `command_joints`, N m; '
            '0: not known, then commands cannot be enabled',
            settable=True, fixed_while_on=True, count=count, default_text="the URDF's effort limits",
        ),
        ParameterSpec(
            'command_limits_beyond_urdf', False, "whether `command_limits` may exceed the URDF's effort limits",
            settable=True, fixed_while_on=True,
        ),
        ParameterSpec(
            'command_rate_limits', [0.0] * max(1, len(joints)), 'maximum rate of each of `command_joints`, N m/s; the '
            'smallest allowed rate goes from zero to its limit in 2 s; 0: to its limit in 0.1 s, in 0.01 s for '
            'damping, stops, friction and coupling',
            settable=True, fixed_while_on=True, count=count, default_text='`[0, ...]`',
        ),
        ParameterSpec(
            'command_velocity_limits', [0.0] * max(1, len(joints)), 'maximum speed of each of `command_joints`, rad/s '
            '(m/s); a higher one ends commands by a fault; 0: no maximum',
            settable=True, fixed_while_on=True, count=count, default_text='`[0, ...]`',
        ),
        ParameterSpec(
            'command_start', 'measured', 'start of the commands: the measured efforts if they are plausible, or '
            'zero', settable=True, choices=('measured', 'zero'),
        ),
        ParameterSpec(
            'command_start_travel', 0.1, 'maximum travel of a joint in the direction of its command while commands '
            'rise from zero, rad (a tenth of it in m)', settable=True, least=0.001, most=3.0,
        ),
        ParameterSpec(
            'command_test', [0.0] * max(1, len(joints)), 'small torques added to the commands, N m (N), to check '
            'the sign of each drive; only while commands are sent, then zero again',
            settable=True, least=-MAX_TEST, most=MAX_TEST, count=count, default_text='`[0, ...]`',
        ),
        ParameterSpec(
            'state_clock', 'same', "clock of the stamps of joint states: that of this machine (enabling then requires "
            'stamps within `state_timeout` of it), or another', choices=('same', 'other'),
        ),
    ]  # fmt: skip


def rates(values: Mapping[str, Any] | Any, default: float = DEFAULT_RATE) -> Array:
    """Return the rate limits (k), N m/s (N/s); `default` in joint limits a second."""
    limits, given = np.array(values['command_limits']), np.array(values['command_rate_limits'])
    return np.where(given > 0, given, default * limits)


def check(values: Mapping[str, Any], urdf: Array) -> None:
    """Raise `ArgumentError` if limits or rates are not valid; `urdf` are the URDF's effort limits (k; 0: not known)."""
    if not len(urdf):
        return
    names = ('command_limits', 'command_rate_limits', 'command_velocity_limits')
    limits, given, speeds = (np.array(values[name]) for name in names)
    for name, numbers in zip(names, (limits, given, speeds), strict=True):
        if not ((numbers >= 0) & (numbers <= MAX_QUANTITY)).all():
            raise ArgumentError(f'{name}: {numbers.tolist()}, must be 0 to {MAX_QUANTITY:g} each')
    if not values['command_limits_beyond_urdf'] and ((urdf > 0) & (limits > urdf)).any():
        raise ArgumentError(
            f"command_limits: {limits.tolist()}, must not exceed the URDF's {urdf.tolist()}; "
            'command_limits_beyond_urdf: true allows it'
        )
    if ((given > 0) & (given < MIN_RATE * limits)).any():
        least = (MIN_RATE * limits).tolist()
        raise ArgumentError(f'command_rate_limits: {given.tolist()}, must be 0 or at least {least}: the limit in 2 s')


NO_PRESLIDING = [0.0, 0.001]  # a torque of zero
IN_URDF = ('viscous', 'coulomb')  # numbers of friction that a URDF may contain

MODEL = (
    ROBOT_FILE,
    ParameterSpec('robot_description', '', 'URDF text, in place of `robot_file`'),
    ParameterSpec(
        'robot_description_topic',
        '',
        'topic from which the URDF is read; the node then does not publish `robot_description`',
    ),
    BASE_LINK,
    ParameterSpec('strict_description', False, 'refuse a URDF with an inertia that no rigid body can have'),
    ParameterSpec(
        'backend',
        PINOCCHIO,
        'what computes the dynamics: Pinocchio, or C code compiled for the robot',
        choices=tuple(BACKENDS),
    ),
    *ADAPTATION,
)
JOINT_STATES_TOPIC = ParameterSpec('joint_states_topic', 'joint_states', 'topic of the joint states')


def node_specs(model: Model) -> list[ParameterSpec]:
    """Return the specs of the parameters that hold for the node as a whole."""
    hands, dynamics = model.end_effectors, model.dynamics
    return [
        ParameterSpec(
            'gravity', dynamics.gravity.tolist(), 'gravity in the axes of the base, m/s^2: three numbers',
            settable=True, least=-MAX_GRAVITY, most=MAX_GRAVITY, count=3,
            default_text="the robot file's; `[0.0, 0.0, -9.81]` for a URDF",
        ),
        ParameterSpec(
            'total_terms', ['gravity'], 'terms that are added up in `torque/total`; an empty list gives zero torque',
            settable=True, choices=SUMMED, refused=NEVER_SUMMED, distinct=True,
        ),
        ParameterSpec(
            'state_timeout', 0.1, "maximum age of a joint's data, s; older data counts as missing",
            settable=True, least=0.001, most=10.0,
        ),
        ParameterSpec(
            'wrench_timeout', 0.1, 'maximum age of a wrench, s; an older one counts as no wrench',
            settable=True, least=0.001, most=10.0,
        ),
        ParameterSpec(
            'payload_ramp', 0.5, 'duration of a change of payload, s; 0: at once', settable=True, least=0.0, most=10.0,
        ),
        ParameterSpec(
            'frame_id', '', '`frame_id` of the torques, for RViz a link that moves; empty: the link of the last hand, '
            'or the last link that moves',
        ),
        ParameterSpec(
            'end_effectors', [*hands] or NONE, 'names of the hands; each has a topic `wrench/<name>`. While the node '
            'runs, a hand can be added, by the name of its link (with `_` for characters that topics do not allow), or '
            'removed: the node then starts anew, with commands at zero', settable=True,
            default_text='`[left, right]`, those of the robot file', distinct=True, in_topics=True,
        ),
        ParameterSpec('sense', SENSES[0], 'default of `<hand>.sense`', choices=SENSES),
        ParameterSpec(
            'command_joints', NONE,
            'joints of `effort_commands`, in the order of the controller; an empty list: the topic is off',
            distinct=True,
        ),
        ParameterSpec(
            'imu_joint', '', 'joint whose angle is the pitch of topic `imu`, `q_imu` on Krang; empty: none, as '
            '`base_motion` other than `fixed` requires',
        ),
        JOINT_STATES_TOPIC,
        *VELOCITY,
        ParameterSpec('imu_topic', 'imu', 'topic of the IMU'),
        ParameterSpec(
            'sole_publisher', False,
            'look for 4 s whether another node publishes `torque/total`, and end if so, before anything is published',
        ),
    ]  # fmt: skip


def of_hand(name: str, link: str, sense: str = SENSES[0]) -> list[ParameterSpec]:
    """Return the specs of the parameters of a hand."""
    return [
        ParameterSpec(
            f'{name}.link', link, 'link on which the wrench acts', default_text='`R10l` for left, `R10r` for right',
        ),
        ParameterSpec(f'{name}.wrench_topic', f'wrench/{name}', 'topic of its wrench'),
        ParameterSpec(
            f'{name}.sense', sense, 'side that applies the wrench: the robot, or the world (most sensors)',
            settable=True, choices=SENSES, default_text='`sense`',
        ),
        ParameterSpec(
            f'{name}.moment_about', MOMENTS_ABOUT[0],
            "point of the moment: origin of the header's frame, or of the hand's link",
            settable=True, choices=MOMENTS_ABOUT,
        ),
        ParameterSpec(
            f'{name}.max_wrench', [0.0, 0.0], 'range of the sensor, force (N) and moment (N m): larger readings '
            'are refused; 0: not known', settable=True, least=0.0, most=MAX_QUANTITY, count=2,
        ),
        *_of_sensor(name),
        *of_payload(name),
    ]  # fmt: skip


def _of_sensor(name: str) -> list[ParameterSpec]:
    """Return the specs of the parameters of a wrist sensor: bias, dead band and tool."""
    return [
        ParameterSpec(
            f'{name}.sensor.bias', [0.0] * 6, 'reading without any load, force and moment in the axes of the reading, '
            'N and N m', settable=True, least=-MAX_QUANTITY, most=MAX_QUANTITY, count=6,
        ),
        ParameterSpec(
            f'{name}.sensor.deadband', [0.0] * 2, 'dead band of each force (N) and each moment (N m)',
            settable=True, least=0.0, most=MAX_QUANTITY, count=2,
        ),
        ParameterSpec(
            f'{name}.sensor.frame', '', 'frame (link) of the readings, if the headers name a frame that is no link; '
            "empty: the header's", settable=True, fixed_while_on=True,
        ),
        ParameterSpec(
            f'{name}.sensor.compensated', False, "whether the robot's firmware subtracts the weight of "
            '`<hand>.robot_payload` from the readings', settable=True, fixed_while_on=True,
        ),
        *of_tool(name),
    ]  # fmt: skip


def of_tool(name: str) -> list[ParameterSpec]:
    """Return the specs of the parameters of the tool: the part of the hand's link beyond the wrist sensor."""
    return [
        ParameterSpec(
            f'{name}.tool.mass', 0.0,
            "mass of the part of the hand's link beyond the sensor, kg; the model contains it already",
            settable=True, least=0.0, most=1e4,
        ),
        ParameterSpec(
            f'{name}.tool.com', [0.0] * 3, "its centre of mass in the hand's frame, m",
            settable=True, least=-MAX_QUANTITY, most=MAX_QUANTITY, count=3,
        ),
    ]  # fmt: skip


def of_payload(name: str) -> list[ParameterSpec]:
    """Return the specs of the parameters of the payload of a hand; set them in one call: each call begins a ramp."""
    return [
        ParameterSpec(
            f'{name}.payload.mass', 0.0, 'mass that the hand holds, kg, in addition to the model; 0: nothing',
            settable=True, least=0.0, most=MAX_QUANTITY,
        ),
        ParameterSpec(
            f'{name}.payload.com', [0.0] * 3, "its centre of mass in the hand's frame, m", settable=True, count=3,
        ),
        ParameterSpec(
            f'{name}.payload.inertia', [0.0] * 6, 'its inertia about its centre of mass, xx xy xz yy yz zz in the axes '
            "of the hand's frame, kg m^2", settable=True, count=6,
        ),
    ]  # fmt: skip


def command_scale_of(name: str) -> ParameterSpec:
    """Return the parameter of the unit in which a joint is commanded."""
    return ParameterSpec(
        f'joints.{name}.command_scale', 1.0, "units of `effort_commands` per N m (N), such as A per N m: the last "
        'factor on what is sent; negative inverts the sign; not 0',
        settable=True, fixed_while_on=True, least=-MAX_QUANTITY, most=MAX_QUANTITY,
    )  # fmt: skip


def command_scales(values: Mapping[str, Any] | Settings, joints: Sequence[str]) -> Array:
    """Return the units of `effort_commands` per N m (k) of joints; raise `ArgumentError` if one is zero."""
    scales = np.array([values[f'joints.{name}.command_scale'] for name in joints], dtype=float)
    for name, scale in zip(joints, scales.tolist(), strict=True):
        if not abs(scale) >= MIN_SCALE:
            raise ArgumentError(f'joints.{name}.command_scale: {scale:g}, must be at least {MIN_SCALE:g} in size')
    return scales


def of_joint(name: str, defaults: Mapping[str, float], presliding: Sequence[Presliding] = ()) -> list[ParameterSpec]:
    """Return the specs of the parameters of a joint; `defaults` are friction, rotor inertia and offset, by name."""
    pairs = [number for part in presliding for number in (part.torque, part.distance)]
    return [
        ParameterSpec(
            f'joints.{name}.rotor_inertia', float(defaults.get('rotor_inertia', 0.0)),
            'rotor inertia on the joint side, I_a = N^2 J_m, kg m^2 (kg if prismatic)',
            settable=True, least=0.0, most=MAX_QUANTITY, default_text="the robot file's, or the URDF's",
        ),
        *(_of_number(name, x, float(defaults.get(x.name, x.default))) for x in numbers_of('friction')),
        ParameterSpec(
            f'joints.{name}.presliding', pairs or NO_PRESLIDING,
            'presliding friction: pairs of a torque, N m (N), and a distance, rad (m)', settable=True,
            default_text="the robot file's, or none",
        ),
        ParameterSpec(
            f'joints.{name}.effort_offset', float(defaults.get('effort_offset', 0.0)),
            'effort at zero torque, after `effort_scale`, N m (N); subtracted before the external torque is computed',
            settable=True, least=-MAX_QUANTITY, most=MAX_QUANTITY, default_text="the robot file's, or none",
        ),
        command_scale_of(name),
    ]  # fmt: skip


def _of_number(joint: str, number: Number, default: float) -> ParameterSpec:
    """Return the parameter of a joint for a number of its friction."""
    otherwise = "the URDF's" if number.name in IN_URDF else 'none'
    return ParameterSpec(
        f'joints.{joint}.{number.name}', default,
        f'{number.described}, {number.unit} ({number.unit_of(prismatic=True)} if prismatic)', settable=True,
        least=-MAX_QUANTITY if number.least is None else number.least, most=MAX_QUANTITY,
        default_text=f"the robot file's, or {otherwise}",
    )  # fmt: skip


def of_joints(dynamics: Dynamics) -> list[ParameterSpec]:
    """Return the specs of the parameters of all joints."""
    friction = dynamics.friction
    vectors = {'rotor_inertia': dynamics.rotor_inertia, 'effort_offset': dynamics.effort_offset}
    vectors |= {name: friction.sliding[name] for name in friction.sliding.names}
    return [
        spec
        for k, name in enumerate(dynamics.joint_names)
        for spec in of_joint(name, {key: v[k] for key, v in vectors.items()}, friction.presliding[k])
    ]


def set_joints(dynamics: Dynamics, values: Settings) -> None:
    """Set the joint parameters of the dynamics."""

    def of_all(key: str) -> list[Any]:
        return [values[f'joints.{name}.{key}'] for name in dynamics.joint_names]

    dynamics.rotor_inertia = of_all('rotor_inertia')
    dynamics.effort_offset = of_all('effort_offset')
    for key in dynamics.friction.sliding.names:
        dynamics.friction.sliding[key] = of_all(key)
    dynamics.friction.set_presliding([presliding_of('presliding', numbers) for numbers in of_all('presliding')])


def check_presliding(values: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` if the numbers of presliding friction are not valid pairs."""
    for name, value in values.items():
        if name.endswith('.presliding'):
            presliding_of(name, value)


def presliding_of(name: str, numbers: Sequence[float]) -> tuple[Presliding, ...]:
    """Return presliding friction from the numbers of a parameter, without pairs of zero torque."""
    if len(numbers) > 2 * MAX_PRESLIDING:
        raise ArgumentError(f'{name}: {len(numbers)} numbers, must be at most {MAX_PRESLIDING} pairs')
    torques, distances = [*numbers[::2]], [*numbers[1::2]]
    possible = all(0 <= x <= MAX_QUANTITY for x in torques) and all(
        0 < x <= MAX_QUANTITY for x in distances
    )  # false for NaN
    if len(torques) != len(distances) or not possible:
        raise ArgumentError(
            f'{name}: {list(numbers)}, must be pairs of a torque, not negative, and a distance, positive; at most '
            f'{MAX_QUANTITY:g}'
        )
    return tuple(Presliding(*pair) for pair in zip(torques, distances, strict=True) if pair[0])


def documented() -> list[ParameterSpec]:
    """Return every parameter once for docs/dynamics_node.md, with placeholders for hand and joint."""
    model = load_model()
    hand = of_hand('<hand>', '')
    joint = of_joint('<joint>', {})
    return [*MODEL, *node_specs(model), *of_commands((), np.empty(0)), *hand, *joint]
