"""The parameters of external torques, of the wrenches they tell, and of contact."""

from __future__ import annotations

from ..core.limits import LARGEST
from ..dynamics.observer import EFFORT_SOURCES
from .spec import Spec

SETTINGS = (
    Spec(
        'effort_source', 'motor', 'meaning of `effort` in `joint_states`: torque behind the gear, torque of the motor '
        '(times the gear ratio), or external torque', live=True, choices=EFFORT_SOURCES,
    ),
    Spec('external.gain', 10.0, 'gain K of the observer, 1/s; time constant 1 / K', live=True, least=0.1, most=1e3),
    Spec(
        'external.damping', 0.02, 'damping of the least squares that give the wrenches, m',
        live=True, least=1e-6, most=1.0,
    ),
    Spec(
        'external.least', 0.05,
        "minimum singular value of the hand's Jacobian, m; below it the wrench of that hand is not published",
        live=True, least=1e-6, most=1.0,
    ),
    Spec(
        'contact.margin', 1.5, 'factor of each learned threshold on the largest torque of the free run',
        live=True, least=1.0, most=10.0,
    ),
    Spec('contact.floor', 0.5, 'constant added to every learned threshold, N m (N)', live=True, least=0.0, most=1e3),
    Spec(
        'contact.acceleration', 1.0, 'above this, in any joint, the thresholds for acceleration hold, rad/s^2 (m/s^2)',
        live=True, least=0.0, most=LARGEST,
    ),
)  # fmt: skip
THRESHOLDS = ('contact_threshold', 'contact_threshold_accelerating')


def of_hand(name: str) -> list[Spec]:
    """Return the parameters of one end effector."""
    return [
        Spec(
            f'{name}.sensor.explains', False, "subtract this hand's sensor reading from the external torques; contact "
            'elsewhere remains', live=True,
        )
    ]  # fmt: skip


def of_joint(name: str) -> list[Spec]:
    """Return the parameters of one joint."""
    return [
        Spec(
            f'joints.{name}.effort_scale', 1.0,
            'N m (N) per unit of `effort`, for example per ampere; negative: the sign is turned',
            live=True, least=-LARGEST, most=LARGEST,
        ),
        Spec(
            f'joints.{name}.{THRESHOLDS[0]}', 0.0,
            'external torque above which there is contact, N m (N); 0: not known',
            live=True, least=0.0, most=LARGEST,
        ),
        Spec(
            f'joints.{name}.{THRESHOLDS[1]}', 0.0, 'the same while the robot accelerates; 0: the threshold above',
            live=True, least=0.0, most=LARGEST,
        ),
    ]  # fmt: skip


def documented() -> list[Spec]:
    """Return every parameter once, as docs/external.md lists them: one hand and one joint stand for all."""
    return [*SETTINGS, *of_hand('<hand>'), *of_joint('<joint>')]
