"""Checks of the first commands on an arm, from samples: zero commands, test torques, a killed node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import KrangDynamicsError
from ..core.spatial import Array
from .first_run import FRICTION_SHARE, STILL, ArmModel, Finding, MotionRow

MOVED = 0.005  # rad (m): motion by a test torque that counts as a response
ANSWERED = 0.3  # of a test torque: change of effort that counts as a response


class RunawayError(KrangDynamicsError):
    """An arm that moved too far or too fast while commands were sent."""


def terms_of_zero(model: ArmModel) -> list[str]:
    """Return the `total_terms` that make commands zero at rest: those the firmware adds, which the node subtracts."""
    return [name for name in model.adds if name != 'friction'] or ['']


def judge_zero_command(model: ArmModel, rows: Sequence[MotionRow]) -> Finding:
    """Judge by the motion under commands of zero whether the robot's firmware holds the arm up."""
    check = 'zero command'
    if len(rows) < 2:
        return Finding(
            check, 'unclear', f'{len(rows)} joint states while commands were zero, must be 2 or more; check their topic'
        )
    moved = model.commanded * (rows[-1].q - rows[0].q)
    needed = model.commanded * model.gravity_torque(rows[0].q)
    k = int(np.abs(moved).argmax())
    words = f'with zero commands {model.names[k]} moved by {moved[k]:.3g}: the arm '
    if abs(moved[k]) > STILL and moved @ needed < 0:
        words += 'sinks; its firmware adds no gravity torque, or that of another mounting or payload'
        return _adds_gravity(model, check, words, False)
    if abs(moved[k]) > STILL:
        words += 'rises; its firmware adds gravity for another mounting, payload or tool: correct the firmware first'
        return Finding(check, 'wrong', words)
    return _judge_standing(model, check, rows[0].q, needed)


def _judge_standing(model: ArmModel, check: str, q: Array, needed: Array) -> Finding:
    """Judge an arm that stands at q (n) with commands of zero by its joints that no stop can hold.

    `needed` (n) is the torque that holds the commanded joints.
    """
    free = np.where(model.on_stops(q), 0.0, needed)
    loaded = int(np.abs(free).argmax())
    words = 'with zero commands the arm does not move, '
    if abs(free[loaded]) >= max(FRICTION_SHARE * model.limits[loaded], 0.5):
        words += f'though {model.names[loaded]} needs {free[loaded]:.3g} N m (N): its firmware adds gravity, '
        return _adds_gravity(model, check, words + 'unless brakes, friction or an obstacle hold it', True)
    stop = model.on_stops_text(q)
    words += f'but {stop}; gravity loads no other joint' if stop else 'but gravity loads no joint'
    return Finding(check, 'unclear', f'{words}; take another pose')


def _adds_gravity(model: ArmModel, check: str, words: str, adds: bool) -> Finding:
    others = [name for name in model.adds if name != 'gravity']
    changes: dict[str, Any] = {'robot.adds': ['gravity', *others] if adds else others or ['']}
    if adds == ('gravity' in model.adds):
        changes = {}
    total = [name for name in model.values.get('total_terms', ['gravity']) if name]
    if 'gravity' not in total:
        changes['total_terms'] = ['gravity', *total]
    return Finding(check, 'change' if changes else 'right', words, changes)


class TorqueAnswer(NamedTuple):
    """Response to a test torque: positions and efforts (n) before it and at its end."""

    torque: float  # N m (N)
    q: tuple[Array, Array]
    effort: tuple[Array, Array]


def judge_test_torque(model: ArmModel, joint: str, answers: Sequence[TorqueAnswer]) -> Finding:
    """Judge by test torques of both signs on a commanded joint whether this joint moves, and in which direction."""
    check, k = 'test torque', model.names.index(joint)
    moved = _per_torque([answer.q for answer in answers], answers)
    effort = _per_torque([answer.effort for answer in answers], answers) * model.scale
    most = max(abs(answer.torque) for answer in answers)
    fastest = int(np.nan_to_num(np.abs(moved)).argmax())
    details = [
        f'{name}: {m * most:.3g} rad (m) by {most:g} N m (N)'
        for name, m in zip(model.names, moved, strict=True) if name == joint or abs(m) * most > MOVED / 2
    ]  # fmt: skip
    if abs(moved[fastest]) * most > MOVED:
        return _moved(model, check, k, fastest, moved * most, details)
    if np.isfinite(effort[k]) and abs(effort[k]) > ANSWERED:
        if effort[k] > 0:
            words = f'friction holds {joint}, but its effort follows: the sign is right'
            return Finding(check, 'right', words, {}, details)
        words = f'friction holds {joint}, and its effort goes the other way: commands or efforts have the opposite sign'
        return Finding(check, 'wrong', words, {}, details)
    return Finding(
        check,
        'unclear',
        f'no joint moved by {most:g} N m (N): friction or brakes hold {joint}; release brakes, or raise the torque',
        {},
        details,
    )


def _per_torque(pairs: Sequence[tuple[Array, Array]], answers: Sequence[TorqueAnswer]) -> Array:
    """Return the change (n) per N m (N), from torques of both signs, so that a steady drift cancels."""
    changes = [(end - start) / answer.torque for (start, end), answer in zip(pairs, answers, strict=True)]
    return np.asarray(np.mean(changes, axis=0))


def _moved(model: ArmModel, check: str, k: int, fastest: int, moved: Array, details: Sequence[str]) -> Finding:
    joint, other = model.names[k], model.names[fastest]
    if fastest == k:
        if moved[k] > 0:
            words = f'{joint} moves along with its command: joint and sign are right'
            return Finding(check, 'right', words, {}, details)
        scale = f'joints.{joint}.command_scale'
        words = f'{joint} moves against its command: the sign of commands is inverted'
        return Finding(check, 'change', words, {scale: -float(model.values.get(scale, 1.0))}, details)
    order = [name for name in model.values.get('command_joints', []) if name]
    words = f'{other} moves instead of {joint}: the order of command_joints is not that of the controller'
    if joint not in order or other not in order:
        return Finding(check, 'unclear', words, {}, details)
    swapped = [other if name == joint else joint if name == other else name for name in order]
    return Finding(check, 'change', words, {'command_joints': swapped}, details)


def judge_killed(model: ArmModel, commands: Sequence[tuple[float, Array]], rows: Sequence[MotionRow]) -> Finding:
    """Judge the last commands (s, as sent) after the node was killed, and the motion of the arm since then."""
    check = 'killed node'
    if not commands:
        return Finding(check, 'unclear', 'no command was received; kill the node while commands are sent')
    last_time, last = commands[-1]
    words = f'the last command is [{", ".join(f"{x + 0.0:.3g}" for x in last)}]'
    if np.any(last):
        return Finding(check, 'wrong', f'{words}, must be zero: the controller applies it for ever')
    if on := [k for k, (_, command) in enumerate(commands) if np.any(command)]:
        words += f', {last_time - commands[on[-1]][0]:.2g} s after the last nonzero command'
        words += f'; commands fell for {_fall_seconds(commands, on[-1] + 1):.2g} s'
    if len(rows) > 1:
        moved = rows[-1].q - rows[0].q
        k = int(np.abs(moved).argmax())
        words += f'; {model.names[k]} moved most, by {moved[k]:.3g}'
    return Finding(check, 'right', words)


def _fall_seconds(commands: Sequence[tuple[float, Array]], zero: int) -> float:
    """Return the duration (s) of the steady decrease that ends with the first zero command, at index `zero`."""
    size = [float(np.linalg.norm(command)) for _, command in commands]
    start = zero - 1
    while start > 0 and size[start - 1] > size[start]:
        start -= 1
    return commands[zero][0] - commands[start][0]
