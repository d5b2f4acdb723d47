"""The parameters of `dynamics_node`, and of whatever else does what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.limits import LARGEST, MAX_PRESLIDING
from ..dynamics.dynamics import Dynamics
from ..dynamics.factory import BACKENDS, Model, load_model
from ..dynamics.terms import SUMMED
from ..inputs.end_effector import MOMENTS_ABOUT, SENSES
from ..robot.drive import Presliding
from .command_parameters import of_commands
from .settings import Settings
from .spec import BASE_LINK, NONE, ROBOT_FILE, Spec

JOINT_SETTINGS = {
    'rotor_inertia': 'rotor inertia on the joint side, I_a = N^2 J_m, kg m^2 (kg if prismatic)',
    'viscous': 'viscous friction F_v, N m s/rad (N s/m if prismatic)',
    'coulomb': 'Coulomb friction F_c, N m (N if prismatic)',
    'coulomb_velocity': 'v of Coulomb friction F_c tanh(dq / v), rad/s (m/s); 0: F_c sign(dq), eq. (17)',
}
FRICTION_SETTINGS = ('viscous', 'coulomb', 'coulomb_velocity')
NO_PRESLIDING = [0.0, 0.001]  # a torque of zero
URDFS = "the URDF's"

MODEL = (
    ROBOT_FILE,
    Spec('robot_description', '', 'URDF text, in place of `robot_file`'),
    Spec(
        'robot_description_topic',
        '',
        'topic from which the URDF is read; the node then does not publish `robot_description`',
    ),
    BASE_LINK,
    Spec('strict_description', False, 'refuse a URDF with an inertia that no rigid body can have'),
    Spec(
        'backend',
        BACKENDS[0],
        'engine of the dynamics: Pinocchio, or C code compiled from the robot file',
        choices=BACKENDS,
    ),
)


def settings(model: Model) -> list[Spec]:
    """Return the parameters that hold for the node as a whole."""
    hands, dynamics = model.end_effectors, model.dynamics
    return [
        Spec(
            'gravity', dynamics.gravity.tolist(), 'gravity in the axes of the base, m/s^2: three numbers',
            live=True, least=-LARGEST, most=LARGEST, count=3,
            default_text="the robot file's; `[0, 0, -9.81]` for a URDF",
        ),
        Spec(
            'total_terms', ['gravity'], 'terms that are added up in `torque/total`; an empty list gives zero torque',
            live=True, choices=SUMMED, once=True,
        ),
        Spec(
            'state_timeout', 0.1, "maximum age of a joint's data, s; older data counts as missing",
            live=True, least=0.001, most=10.0,
        ),
        Spec(
            'wrench_timeout', 0.1, 'maximum age of a wrench, s; an older one counts as no wrench',
            live=True, least=0.001, most=10.0,
        ),
        Spec('payload_ramp', 0.5, 'duration of a change of payload, s; 0: at once', live=True, least=0.0, most=10.0),
        Spec(
            'frame_id', next(reversed([*hands.values()]), dynamics.link_names[-1]),
            '`frame_id` of the torques; RViz needs a link that moves', default_text='the last hand, `R10r`',
        ),
        Spec(
            'end_effectors', [*hands] or NONE, 'names of the hands; each has a topic `wrench/<name>`',
            default_text='`[left, right]`, those of the robot file', once=True, in_topics=True,
        ),
        Spec('sense', SENSES[0], 'default of `<hand>.sense`', choices=SENSES),
        Spec(
            'command_joints', NONE,
            'joints of `effort_commands`, in the order of the controller; an empty list: the topic is off', once=True,
        ),
        Spec('imu_joint', '', 'joint whose angle is the pitch of topic `imu`, `q_imu` on Krang; empty: no IMU'),
    ]  # fmt: skip


def of_end_effector(name: str, link: str, sense: str = SENSES[0]) -> list[Spec]:
    """Return the parameters of one end effector."""
    return [
        Spec(f'{name}.link', link, 'link on which the wrench acts', default_text='`R10l` for left, `R10r` for right'),
        Spec(
            f'{name}.sense', sense, 'side that applies the wrench: the robot, or the world (most sensors)',
            live=True, choices=SENSES, default_text='`sense`',
        ),
        Spec(
            f'{name}.moment_about', MOMENTS_ABOUT[0],
            "point of the moment: origin of the header's frame, or of the hand's link",
            live=True, choices=MOMENTS_ABOUT,
        ),
        Spec(
            f'{name}.max_wrench', [0.0, 0.0], 'largest force (N) and moment (N m) that its sensor can read: readings '
            'beyond are refused; 0: not known', live=True, least=0.0, most=LARGEST, count=2,
        ),
        *_of_sensor(name),
        *of_payload(name),
    ]  # fmt: skip


def _of_sensor(name: str) -> list[Spec]:
    """Return the parameters of what a wrist sensor reads besides contact."""
    return [
        Spec(
            f'{name}.sensor.bias', [0.0] * 6, 'reading without any load, force and moment in the axes of the reading, '
            'N and N m', live=True, least=-LARGEST, most=LARGEST, count=6,
        ),
        Spec(
            f'{name}.sensor.deadband', [0.0] * 2, 'dead band of each force (N) and each moment (N m)',
            live=True, least=0.0, most=LARGEST, count=2,
        ),
        *of_tool(name),
    ]  # fmt: skip


def of_tool(name: str) -> list[Spec]:
    """Return the parameters of what a wrist sensor bears of its hand's own link."""
    return [
        Spec(
            f'{name}.tool.mass', 0.0,
            "mass of the part of the hand's link beyond the sensor, kg; the model contains it already",
            live=True, least=0.0, most=1e4,
        ),
        Spec(
            f'{name}.tool.com', [0.0] * 3, "its centre of mass in the hand's frame, m",
            live=True, least=-LARGEST, most=LARGEST, count=3,
        ),
    ]  # fmt: skip


def of_payload(name: str) -> list[Spec]:
    """Return the parameters of what a hand holds: they count as one set."""
    return [
        Spec(
            f'{name}.payload.mass', 0.0, 'mass that the hand holds, kg, in addition to the model; 0: nothing',
            live=True, least=0.0, most=LARGEST,
        ),
        Spec(f'{name}.payload.com', [0.0] * 3, "its centre of mass in the hand's frame, m", live=True, count=3),
        Spec(
            f'{name}.payload.inertia', [0.0] * 6, 'its inertia about its centre of mass, xx xy xz yy yz zz in the axes '
            "of the hand's frame, kg m^2", live=True, count=6,
        ),
    ]  # fmt: skip


def of_joint(name: str, defaults: Mapping[str, float], presliding: Sequence[Presliding] = ()) -> list[Spec]:
    """Return the parameters of one joint."""
    pairs = [number for part in presliding for number in (part.torque, part.distance)]
    return [
        *(
            Spec(
                f'joints.{name}.{key}', float(defaults[key]), meaning, live=True, least=0.0, most=LARGEST,
                default_text=f"the robot file's, or {'none' if key == 'coulomb_velocity' else URDFS}",
            )
            for key, meaning in JOINT_SETTINGS.items()
        ),
        Spec(
            f'joints.{name}.presliding', pairs or NO_PRESLIDING,
            'presliding friction: pairs of a torque, N m (N), and a distance, rad (m)', live=True,
            default_text="the robot file's, or none",
        ),
        Spec(
            f'joints.{name}.effort_offset', float(defaults.get('effort_offset', 0.0)),
            'what the effort reads where there is no torque, N m (N); taken off before the external torque is found',
            live=True, least=-LARGEST, most=LARGEST, default_text="the robot file's, or none",
        ),
    ]  # fmt: skip


def of_joints(dynamics: Dynamics) -> list[Spec]:
    """Return the parameters of all joints."""
    friction = dynamics.friction
    vectors = {'rotor_inertia': dynamics.rotor_inertia, 'effort_offset': dynamics.drive.effort_offset}
    vectors |= {key: getattr(friction, key) for key in FRICTION_SETTINGS}
    return [
        spec
        for k, name in enumerate(dynamics.joint_names)
        for spec in of_joint(name, {key: v[k] for key, v in vectors.items()}, friction.presliding[k])
    ]


def set_joints(dynamics: Dynamics, values: Settings) -> None:
    """Give the dynamics what the parameters say of its joints."""

    def of_all(key: str) -> list[Any]:
        return [values[f'joints.{name}.{key}'] for name in dynamics.joint_names]

    dynamics.rotor_inertia = of_all('rotor_inertia')
    dynamics.drive.effort_offset = of_all('effort_offset')
    for key in FRICTION_SETTINGS:
        setattr(dynamics.friction, key, of_all(key))
    dynamics.friction.set_presliding([presliding_of('presliding', numbers) for numbers in of_all('presliding')])


def check_presliding(values: Mapping[str, Any]) -> None:
    """Refuse presliding friction whose numbers are not pairs, or cannot be."""
    for name, value in values.items():
        if name.endswith('.presliding'):
            presliding_of(name, value)


def presliding_of(name: str, numbers: Sequence[float]) -> tuple[Presliding, ...]:
    """Return presliding friction out of a parameter's numbers, without what has no torque, or say what is wrong."""
    if len(numbers) > 2 * MAX_PRESLIDING:
        raise ArgumentError(f'{name}: {len(numbers)} numbers, must be at most {MAX_PRESLIDING} pairs')
    torques, distances = [*numbers[::2]], [*numbers[1::2]]
    possible = all(0 <= x <= LARGEST for x in torques) and all(0 < x <= LARGEST for x in distances)  # NaN is not
    if len(torques) != len(distances) or not possible:
        raise ArgumentError(
            f'{name}: {list(numbers)}, must be pairs of a torque, not negative, and a distance, positive; at most '
            f'{LARGEST:g}'
        )
    return tuple(Presliding(*pair) for pair in zip(torques, distances, strict=True) if pair[0])


def documented() -> list[Spec]:
    """Return every parameter once, as docs/dynamics_node.md lists them: one hand and one joint stand for all."""
    model = load_model()
    hand = of_end_effector('<hand>', '')
    joint = of_joint('<joint>', dict.fromkeys(JOINT_SETTINGS, 0.0))
    return [*MODEL, *settings(model), *of_commands((), np.empty(0)), *hand, *joint]
