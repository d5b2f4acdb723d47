"""Krang's frames as the report prints them: M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015), section 2.

Tests and `check` compare the robot of `config/krang.yaml` with these frames. Some copies of the report's text have
stray zeros in 0T1 and 1T2 and repeat 2T3; the author's print does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

Matrix = tuple[tuple[Any, ...], ...]  # 4x4, rows; entries have the type of cos, sin and the lengths

# j_e_j (section 2.2), by joint, in the axes of its own frame. The report prints the same axes for both arms.
_ARM_AXES = ((0, -1, 0), (-1, 0, 0), (0, -1, 0), (-1, 0, 0), (0, -1, 0), (-1, 0, 0), (0, 0, -1))
AXES: dict[str, tuple[int, int, int]] = {
    'q_imu': (-1, 0, 0),
    'q_w': (-1, 0, 0),
    'q_torso': (0, -1, 0),
    **{f'q_{k}{side}': axis for side in 'lr' for k, axis in enumerate(_ARM_AXES, start=1)},
}

# The antecedent of each frame (appendix B.2, member `a`), and the joint that moves it, in the row order `o` of A.
ANTECEDENT: dict[str, str] = {'R1': 'R0', 'R2': 'R1', 'R3': 'R2'}
FRAME_OF: dict[str, str] = {'q_imu': 'R1', 'q_w': 'R2', 'q_torso': 'R3'}
for _side in 'lr':
    for _k in range(1, 8):
        FRAME_OF[f'q_{_k}{_side}'] = f'R{_k + 3}{_side}'
        ANTECEDENT[f'R{_k + 3}{_side}'] = f'R{_k + 2}{_side}' if _k > 1 else 'R3'


LENGTHS = frozenset(f'L{k}' for k in range(1, 10))


def is_printed(name: str, lengths: Collection[str], joint_names: Collection[str]) -> bool:
    """Return whether a robot is the report's Krang. A robot from a URDF is not: its lengths have no names."""
    return name == 'krang' and set(lengths) >= LENGTHS and set(joint_names) == set(FRAME_OF)


def transforms(
    L: Mapping[str, Any], q: Mapping[str, Any], cos: Callable[[Any], Any] = np.cos, sin: Callable[[Any], Any] = np.sin
) -> dict[str, Matrix]:
    """Return iT_j of every joint by its name (section 2.1), for lengths L1 ... L9 and joint positions by name."""
    return dict(_body(L, q, cos, sin)) | {name: T for side in 'lr' for name, T in _arm(side, L, q, cos, sin)}


def _body(
    L: Mapping[str, Any], q: Mapping[str, Any], cos: Callable[..., Any], sin: Callable[..., Any]
) -> Iterator[tuple[str, Matrix]]:
    c, s = cos(q['q_imu']), sin(q['q_imu'])
    yield 'q_imu', ((0, s, -c, 0), (-1, 0, 0, 0), (0, c, s, 0), (0, 0, 0, 1))
    c, s = cos(q['q_w']), sin(q['q_w'])
    yield 'q_w', ((1, 0, 0, 0), (0, c, s, L['L1']), (0, -s, c, -L['L2']), (0, 0, 0, 1))
    c, s = cos(q['q_torso']), sin(q['q_torso'])
    yield 'q_torso', ((-c, 0, s, 0), (0, 1, 0, L['L3']), (-s, 0, -c, L['L4']), (0, 0, 0, 1))


def _arm(
    side: str, L: Mapping[str, Any], q: Mapping[str, Any], cos: Callable[..., Any], sin: Callable[..., Any]
) -> Iterator[tuple[str, Matrix]]:
    """Yield 3T4 ... 9T10 of an arm; all but 3T4 are equal on both sides."""
    names = [f'q_{k}{side}' for k in range(1, 8)]
    c, s = cos(q[names[0]]), sin(q[names[0]])
    if side == 'l':
        yield names[0], ((0, 1, 0, L['L6']), (c, 0, -s, L['L5']), (-s, 0, -c, 0), (0, 0, 0, 1))
    else:
        yield names[0], ((0, -1, 0, -L['L6']), (c, 0, -s, L['L5']), (s, 0, c, 0), (0, 0, 0, 1))
    for name, length in zip(names[1:6], (None, 'L7', None, 'L8', None), strict=True):
        c, s = cos(q[name]), sin(q[name])
        if length is None:  # 4T5, 6T7, 8T9
            yield name, ((-1, 0, 0, 0), (0, -c, -s, 0), (0, -s, c, 0), (0, 0, 0, 1))
        else:  # 5T6, 7T8
            yield name, ((-c, 0, s, 0), (0, -1, 0, -L[length]), (s, 0, c, 0), (0, 0, 0, 1))
    c, s = cos(q[names[6]]), sin(q[names[6]])
    yield names[6], ((-c, -s, 0, 0), (0, 0, -1, -L['L9']), (s, -c, 0, 0), (0, 0, 0, 1))
