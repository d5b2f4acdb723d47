"""What must hold before commands are enabled, and while they go out: small functions, and their rules as data.

A function returns what is wrong, in words, or nothing. Vectors (k) are in the order of the names that come with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.spatial import Array
from .state_checks import Check

SAME_SIGN_FROM = 0.1  # of a joint's limit: smaller efforts may have either sign, by friction alone
NEAR = 0.25  # of a joint's limit: so far may a measured effort lie from the total, friction included
NOTHING = 0.02  # of a joint's limit: when all efforts are smaller, they are not measured, or brakes hold the joints
FOLLOWS = 0.5  # of what is sent: a measured effort that is nearer than this follows it
DISOBEYS = 0.5  # of a joint's limit: between what is sent and what is measured
DISOBEYS_FOR = 0.5  # s
POSITION_MARGIN = (0.1, 0.01)  # rad, m: a joint just outside its limits is ordinary
SLIDING_TRAVEL = 0.1  # m per rad of `command_start_travel`, for a joint that slides
SILENT_FOR = 1.0  # s, by the steady clock, while simulated time may stand still

MEASURED_EFFORT = Check(
    'measured effort',
    f'at the start each joint gives what the total says: same sign where both exceed {SAME_SIGN_FROM:.0%} of its '
    f'limit, and within {NEAR:.0%} of the limit. All below {NOTHING:.0%}: not measured, commands start from zero',
    'refused',
)
POSITION = Check(
    'position', f'inside the limits by {POSITION_MARGIN[0]} rad ({POSITION_MARGIN[1]} m); equal limits are none',
    'refused; a warning while on',
)  # fmt: skip
START_TRAVEL = Check(
    'travel at the start', 'while rising from zero no joint moves `command_start_travel` in the direction of its '
    'command: wrong sign, unit or order, or gravity given twice', 'fault',
)  # fmt: skip
OBEDIENCE = Check(
    'obedience',
    f'once the measured effort has followed (within {FOLLOWS:.0%} of what is sent), it stays within {DISOBEYS:.0%} of '
    f'the limit of what is sent; {DISOBEYS_FOR:g} s beyond that are a drive that does not obey (emergency stop, '
    'controller put to sleep)',
    'fault',
)
WRENCH_SHARE = Check(
    "a wrench's share", "a hand's wrench is scaled as a whole so that no joint gets more than its limit from it",
    'warning',
)  # fmt: skip
PAYLOAD = Check(
    'payload', "the weight of a payload alone takes no joint beyond its limit at the present pose", 'refused'
)  # fmt: skip
MISSING = Check(
    'contributions', "each term of the total, a hand's wrench apart, is known; not longer ago than `state_timeout`",
    'refused; fault',
)  # fmt: skip
SILENCE = Check(
    'joint states', 'all joints are known, and not older than `state_timeout`; with simulated time also not silent '
    f'for {SILENT_FOR:g} s of real time', 'refused; fault',
)  # fmt: skip
OTHERS = Check('other publishers', 'no other node publishes `effort_commands`', 'refused; fault')
CONTROLLER = Check(
    'controller', 'the endpoint that commands were enabled for is there, and no second one of its name; no further '
    'subscriber where `command_controller` names none, tools apart', 'fault; off at once when it leaves',
)  # fmt: skip
COMMAND_CHECKS = (
    MEASURED_EFFORT, POSITION, START_TRAVEL, OBEDIENCE, WRENCH_SHARE, PAYLOAD, MISSING, SILENCE, OTHERS, CONTROLLER,
)  # fmt: skip


def unmeasured(measured: Array, limits: Array) -> bool:
    """Tell whether efforts (k) are so small that they are not measured, or that brakes hold the joints."""
    known = ~np.isnan(measured)
    return bool((np.abs(measured[known]) < NOTHING * limits[known]).all())


def implausible_effort(names: Sequence[str], measured: Array, total: Array, limits: Array) -> str:
    """Say which measured effort (k; NaN: unknown) cannot be what holds its joint where the total (k) is needed."""
    for name, effort, torque, limit in zip(names, measured, total, limits, strict=True):
        turned = effort * torque < 0 and min(abs(effort), abs(torque)) > SAME_SIGN_FROM * limit
        if turned or abs(effort - torque) > NEAR * limit:
            what = 'the other sign' if turned else f'more than {NEAR:.0%} of its limit {limit:g} away'
            return (
                f'{name} has a measured effort of {effort:.4g} and a total of {torque:.4g}: {what}. '
                f'Look at sign, unit (joints.{name}.effort_scale) and effort_source; or set command_start: zero'
            )
    return ''


def outside_limits(names: Sequence[str], q: Array, bounds: Array, sliding: NDArray[np.bool_]) -> str:
    """Say which position (n) is outside its bounds (2, n; infinite: none) by more than the margin."""
    margin = np.where(sliding, POSITION_MARGIN[1], POSITION_MARGIN[0])
    beyond = np.maximum(bounds[0] - q, q - bounds[1])
    k = int(np.argmax(beyond - margin))
    if not beyond[k] > margin[k]:
        return ''
    return (
        f'{names[k]} is at {q[k]:.4g}, its limits are {bounds[0, k]:g} to {bounds[1, k]:g}: look at the unit '
        '(rad, not degrees) and at the order of the names'
    )


def moved_by_start(names: Sequence[str], moved: Array, command: Array, travel: Array) -> str:
    """Say which joint has moved (k) by more than `travel` (k) in the direction of its command (k)."""
    along = moved * np.sign(command)
    k = int(np.argmax(along - travel))
    if not along[k] > travel[k]:
        return ''
    return (
        f'{names[k]} moved by {moved[k]:.3g} in the direction of its command {command[k]:.4g} while commands rose: '
        'wrong sign, unit or order, or the robot adds gravity itself'
    )


class Obedience:
    """Compares what is sent with the efforts that come back, for each joint (k) whose effort has followed once."""

    def __init__(self, names: Sequence[str], limits: Array) -> None:
        self._names, self._limits = names, limits
        self._followed = np.zeros(len(names), dtype=bool)
        self._since = np.full(len(names), np.inf)  # s: when each joint began to disobey

    def trouble(self, measured: Array, sent: Array, now: float) -> str:
        """Take in efforts (k; NaN: unknown) and commands (k); say which joint does not obey."""
        off = np.abs(measured - sent)  # NaN where it is not known: then neither comparison holds
        self._followed |= (np.abs(sent) > SAME_SIGN_FROM * self._limits) & (off < FOLLOWS * np.abs(sent))
        disobeys = self._followed & (off > DISOBEYS * self._limits)
        self._since = np.where(disobeys, np.minimum(self._since, now), np.inf)
        k = int(np.argmin(self._since))
        if not now - self._since[k] >= DISOBEYS_FOR:
            return ''
        return (
            f'{self._names[k]} does not obey: {sent[k]:.4g} is sent and {measured[k]:.4g} is measured for '
            f'{DISOBEYS_FOR:g} s (an emergency stop, a controller that is not active)'
        )


def scaled_share(torque: Array, limits: Array) -> float:
    """Return the factor by which a hand's wrench is scaled so that its torque (n) stays within limits (n; 0: none)."""
    beyond = np.abs(torque[limits > 0]) / limits[limits > 0]
    return 1 / float(beyond.max()) if beyond.size and beyond.max() > 1 else 1.0


def too_heavy(names: Sequence[str], weight: Array, limits: Array) -> str:
    """Say which joint's limit (n; 0: none) the torque that a payload's weight takes (n) is beyond."""
    beyond = np.where(limits > 0, np.abs(weight) - limits, -np.inf)
    k = int(np.argmax(beyond))
    if not beyond[k] > 0:
        return ''
    return f'{names[k]} would need {abs(weight[k]):.4g} for its weight alone, and has {limits[k]:g}'
