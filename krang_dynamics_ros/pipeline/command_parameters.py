"""The parameters of `effort_commands`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.errors import ArgumentError
from ..core.limits import LARGEST
from ..core.spatial import Array
from .spec import Spec

DEFAULT_RATE = 10.0  # 1/s: a joint's limit within 0.1 s
LEAST_RATE = 0.5  # 1/s: a joint's limit within 2 s, or no fall would reach zero in time
FIXED_WHILE_ON = ('command_limits', 'command_rate_limits', 'command_ramp', 'command_limits_beyond_urdf')


def of_commands(joints: Sequence[str], limits: Array) -> list[Spec]:
    """Return the parameters of the commands of joints with these effort limits (k; 0: not known)."""
    count = len(joints) or None
    return [
        Spec('command_allowed', True, 'whether commands may be enabled at all: all that a file can say'),
        Spec(
            'command_enabled', False, 'whether `effort_commands` goes out; set to false it ends them, only the service '
            'enables', live=True,
        ),
        Spec(
            'command_controller', '', 'node of the controller that commands are meant for, with or without namespace; '
            'none: the only subscriber there is',
        ),
        Spec(
            'command_ramp', 1.0, 'how long commands take to rise and to fall, and jumps of the total to fade, s; not '
            'while commands go out', live=True, least=0.0, most=10.0,
        ),
        Spec(
            'command_limits', [float(x) for x in limits] or [0.0], 'largest effort of each of `command_joints`, N m; '
            '0: not known, then none can be enabled; not while commands go out',
            live=True, count=count, default_text="the URDF's effort limits",
        ),
        Spec(
            'command_limits_beyond_urdf', False, "whether `command_limits` may exceed the URDF's effort limits",
            live=True,
        ),
        Spec(
            'command_rate_limits', [0.0] * max(1, len(joints)), 'fastest change of each of `command_joints`, N m/s; at '
            'least its limit in 2 s; 0: its limit in 0.1 s; not while commands go out',
            live=True, count=count, default_text='`[0, ...]`',
        ),
        Spec(
            'command_start', 'measured', 'what commands rise from: the measured efforts where they are plausible, or '
            'zero', live=True, choices=('measured', 'zero'),
        ),
        Spec(
            'command_start_travel', 0.1, 'how far a joint may move in the direction of its command while commands rise '
            'from zero, rad (a tenth of it in m)', live=True, least=0.001, most=3.0,
        ),
        Spec(
            'state_clock', 'same', "whether joint states are stamped by this machine's clock (then enabling wants "
            'their stamps within `state_timeout` of it), or by another', choices=('same', 'other'),
        ),
    ]  # fmt: skip


def rates(values: Mapping[str, Any] | Any) -> Array:
    """Return the rate limits (k), N m/s (N/s)."""
    limits, given = np.array(values['command_limits']), np.array(values['command_rate_limits'])
    return np.where(given > 0, given, DEFAULT_RATE * limits)


def check(values: Mapping[str, Any], urdf: Array) -> None:
    """Raise `ArgumentError` if limits or rates cannot be; `urdf` are the URDF's effort limits (k; 0: not known)."""
    if not len(urdf):
        return
    limits, given = np.array(values['command_limits']), np.array(values['command_rate_limits'])
    for name, numbers in (('command_limits', limits), ('command_rate_limits', given)):
        if not ((numbers >= 0) & (numbers <= LARGEST)).all():
            raise ArgumentError(f'{name}: {numbers.tolist()}, must be 0 to {LARGEST:g} each')
    if not values['command_limits_beyond_urdf'] and ((urdf > 0) & (limits > urdf)).any():
        raise ArgumentError(
            f"command_limits: {limits.tolist()}, must not exceed the URDF's {urdf.tolist()}; "
            'command_limits_beyond_urdf: true allows it'
        )
    if ((given > 0) & (given < LEAST_RATE * limits)).any():
        least = (LEAST_RATE * limits).tolist()
        raise ArgumentError(f'command_rate_limits: {given.tolist()}, must be 0 or at least {least}: the limit in 2 s')
