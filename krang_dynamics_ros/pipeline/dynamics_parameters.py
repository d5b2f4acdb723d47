"""The parameters of `dynamics_node`, and of whatever else does what it does."""

from __future__ import annotations

from collections.abc import Mapping

from ..dynamics.dynamics import Dynamics
from ..dynamics.factory import BACKENDS, Model, load_model
from ..dynamics.terms import SUMMED
from ..inputs.end_effector import MOMENTS_ABOUT, SENSES
from .settings import Settings
from .spec import NONE, ROBOT_FILE, Spec

JOINT_SETTINGS = {
    'rotor_inertia': 'rotor inertia I_a = N^2 J_m as the joint feels it, kg m^2 (kg if prismatic)',
    'viscous': 'viscous friction F_v, N m s/rad (N s/m if prismatic)',
    'coulomb': 'Coulomb friction F_c, N m (N if prismatic)',
}

MODEL = (
    ROBOT_FILE,
    Spec('robot_description', '', 'URDF text, instead of a robot file'),
    Spec(
        'backend',
        BACKENDS[0],
        'who computes A, C, Q and J^T f: Pinocchio, or C compiled from the robot file',
        choices=BACKENDS,
    ),
)


def settings(model: Model) -> list[Spec]:
    """Return the parameters that hold for the node as a whole."""
    hands, dynamics = model.end_effectors, model.dynamics
    return [
        Spec(
            'gravity', dynamics.gravity.tolist(), 'gravity in the base frame, m/s^2: three numbers', live=True, count=3,
            default_text="the robot file's; `[0, 0, -9.81]` for a URDF",
        ),
        Spec(
            'total_terms', ['gravity'], 'what `torque/total` sums; none: it is zero',
            live=True, choices=SUMMED, once=True,
        ),
        Spec('state_timeout', 0.1, 'a joint known from longer ago is not known, s', live=True, least=0.001, most=10.0),
        Spec('wrench_timeout', 0.1, 'a wrench from longer ago counts as none, s', live=True, least=0.001, most=10.0),
        Spec(
            'frame_id', next(reversed([*hands.values()]), dynamics.link_names[-1]),
            '`frame_id` of the torques; RViz wants a link that moves', default_text='the last hand, `R10r`',
        ),
        Spec(
            'end_effectors', [*hands] or NONE, 'names of hands, each with a topic `wrench/<name>`',
            default_text='`[left, right]`, those of the robot file',
        ),
        Spec('command_joints', NONE, 'order of `effort_commands`; none: that topic is off'),
        Spec('imu_joint', '', 'joint whose angle is the pitch of topic `imu`, on Krang `q_imu`; none: not used'),
    ]  # fmt: skip


def of_end_effector(name: str, link: str) -> list[Spec]:
    """Return the parameters of one end effector."""
    return [
        Spec(f'{name}.link', link, 'the link that the wrench is on', default_text='`R10l` for left, `R10r` for right'),
        Spec(
            f'{name}.sense', SENSES[0], 'whether the robot applies the wrench, or the world, as most sensors read',
            live=True, choices=SENSES,
        ),
        Spec(
            f'{name}.moment_about', MOMENTS_ABOUT[0],
            "whether the moment is about the origin of the header's frame, or about the hand's own",
            live=True, choices=MOMENTS_ABOUT,
        ),
    ]  # fmt: skip


def of_joint(name: str, defaults: Mapping[str, float]) -> list[Spec]:
    """Return the parameters of one joint."""
    return [
        Spec(
            f'joints.{name}.{key}', float(defaults[key]), meaning, live=True, least=0.0, most=1e6,
            default_text="the robot file's, or the URDF's",
        )
        for key, meaning in JOINT_SETTINGS.items()
    ]  # fmt: skip


def of_joints(dynamics: Dynamics) -> list[Spec]:
    """Return the parameters of all joints."""
    vectors = {key: getattr(dynamics, key) for key in JOINT_SETTINGS}
    joints = enumerate(dynamics.joint_names)
    return [spec for k, name in joints for spec in of_joint(name, {key: v[k] for key, v in vectors.items()})]


def joint_vector(values: Settings, dynamics: Dynamics, key: str) -> list[float]:
    """Return one setting of all joints, out of the parameters' values."""
    return [values[f'joints.{name}.{key}'] for name in dynamics.joint_names]


def documented() -> list[Spec]:
    """Return every parameter once, as the README lists them: one hand and one joint stand for all."""
    model = load_model()
    hand = of_end_effector('<hand>', '')
    return [*MODEL, *settings(model), *hand, *of_joint('<joint>', dict.fromkeys(JOINT_SETTINGS, 0.0))]
