"""What every exported file says of itself at its head: what it is, and what stands where in q, f and p."""

from __future__ import annotations

from collections.abc import Iterator

from ..robot.robot import Robot
from ..robot.units import units_of
from .expressions import Symbols


def tables(symbols: Symbols, first: int = 0) -> dict[str, list[str]]:
    """Return the rows of three tables, indices counted from `first`: joints, hands and parameters."""
    joints = [
        (joint.name, units_of(joint).position + _followers(symbols.robot, joint.name))
        for joint in symbols.robot.moving_joints
    ]
    hands = [f'{hand}, link {link}' if hand != link else f'link {link}' for hand, link in symbols.hands.items()]
    named = [(x.name, f'{x.meaning}: {x.value!r}') for x in symbols.parameters]
    rows = {
        'joints': [f'{k:<4}{name}, {unit}' for k, (name, unit) in enumerate(joints, first)],
        'hands': [f'{first + 6 * k} to {first + 6 * k + 5}: {hand}' for k, hand in enumerate(hands)],
        'parameters': [f'{k:<4}{name:<10} {what}' for k, (name, what) in enumerate(named, first)],
    }
    return {table: [harmless(row) for row in of] for table, of in rows.items()}


def _followers(robot: Robot, name: str) -> str:
    """Return the positions of the joints that follow a joint, by its own position q."""
    following = {follower: mimic for follower, mimic in robot.mimics.items() if mimic.joint == name}
    return ''.join(f'; {follower}: {x.multiplier:.12g} q + {x.offset:.12g}' for follower, x in following.items())


def harmless(text: str) -> str:
    """Return text, which may hold any name, as a comment can hold it."""
    shown = ''.join(x if x.isprintable() else ' ' for x in text)
    return shown.replace('*/', '* /').replace('/*', '/ *').replace('??', '? ?')


def head(symbols: Symbols, first: int) -> Iterator[str]:
    """Yield what every file says of itself."""
    yield f'The equations of motion of {harmless(symbols.robot.name)}. Written by krang_dynamics_ros: do not edit.'
    yield ''
    yield '    Gamma = A(q) ddq + C(q, dq) dq + Q(q) + friction + J^T f'
    yield ''
    yield 'Letters and equation numbers: M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015).'
    yield 'Units: m, kg, s, rad, N, N m.'
    meanings = {
        'joints': 'q, dq, ddq',
        'hands': "f, what the robot applies with its hands: [force; moment], in the hand's own axes, about its origin",
        'parameters': "p; parameters() has the robot file's",
    }
    for what, rows in tables(symbols, first).items():
        yield from ['', f'{meanings[what]}:', *(f'    {row}' for row in rows)]
