"""The parameters of external torques, of the wrenches they tell, and of contact."""

from __future__ import annotations

from ..core.limits import LARGEST
from ..dynamics.observer import EFFORT_SOURCES
from .spec import Spec

SETTINGS = (
    Spec(
        'effort_source', 'motor', 'what `effort` in `joint_states` means: torque behind the gear, of the motor (times '
        'the gear ratio), or already external', live=True, choices=EFFORT_SOURCES,
    ),
    Spec('external.gain', 10.0, 'K of the observer, 1/s: its time constant is 1 / K', live=True, least=0.1, most=1e3),
    Spec(
        'external.damping', 0.02, 'of the wrenches: what shows in the joints by less is damped away, m',
        live=True, least=1e-6, most=1.0,
    ),
    Spec(
        'external.least', 0.05, 'a hand whose wrench shows in the joints by less in some direction gets none, m',
        live=True, least=1e-6, most=1.0,
    ),
    Spec(
        'contact.margin', 1.5, 'thresholds are the largest torque of a free run times this',
        live=True, least=1.0, most=10.0,
    ),
    Spec('contact.floor', 0.5, 'and this besides, N m (N)', live=True, least=0.0, most=1e3),
    Spec(
        'contact.acceleration', 1.0, 'a robot with a joint beyond this accelerates, rad/s^2 (m/s^2)',
        live=True, least=0.0, most=LARGEST,
    ),
)  # fmt: skip
THRESHOLDS = ('contact_threshold', 'contact_threshold_accelerating')


def of_hand(name: str) -> list[Spec]:
    """Return the parameters of one end effector."""
    return [
        Spec(
            f'{name}.sensor.explains', False, "take out of the external torques what this hand's sensor reads: what is "
            'left is contact elsewhere', live=True,
        )
    ]  # fmt: skip


def of_joint(name: str) -> list[Spec]:
    """Return the parameters of one joint."""
    return [
        Spec(
            f'joints.{name}.effort_scale', 1.0, 'N m (N) for one of what `effort` has, such as amperes',
            live=True, least=-LARGEST, most=LARGEST,
        ),
        Spec(
            f'joints.{name}.{THRESHOLDS[0]}', 0.0, 'an external torque beyond this is contact, N m (N); 0: not known',
            live=True, least=0.0, most=LARGEST,
        ),
        Spec(
            f'joints.{name}.{THRESHOLDS[1]}', 0.0, 'the same while the robot accelerates; 0: as while it does not',
            live=True, least=0.0, most=LARGEST,
        ),
    ]  # fmt: skip


def documented() -> list[Spec]:
    """Return every parameter once, as docs/external.md lists them: one hand and one joint stand for all."""
    return [*SETTINGS, *of_hand('<hand>'), *of_joint('<joint>')]
