"""What stands where in q, f and p, for the head of every exported file."""

from __future__ import annotations

from .expressions import Symbols


def tables(symbols: Symbols, first: int = 0) -> dict[str, list[str]]:
    """Return the rows of three tables, indices counted from `first`: joints, hands and parameters."""
    joints = [(joint.name, 'm' if joint.kind == 'prismatic' else 'rad') for joint in symbols.robot.moving_joints]
    hands = [f'{hand}, link {link}' if hand != link else f'link {link}' for hand, link in symbols.hands.items()]
    named = [(x.name, f'{x.meaning}: {x.value!r}') for x in symbols.parameters]
    rows = {
        'joints': [f'{k:<4}{name}, {unit}' for k, (name, unit) in enumerate(joints, first)],
        'hands': [f'{first + 6 * k} to {first + 6 * k + 5}: {hand}' for k, hand in enumerate(hands)],
        'parameters': [f'{k:<4}{name:<10} {what}' for k, (name, what) in enumerate(named, first)],
    }
    return {table: [harmless(row) for row in of] for table, of in rows.items()}


def harmless(text: str) -> str:
    """Return text, which may hold any name, as a comment can hold it."""
    return ''.join(x if x.isprintable() else ' ' for x in text).replace('*/', '* /').replace('/*', '/ *')
