"""What payload, tool and bias cost: the node's computation from its messages on, with them beside without, in turns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from krang_dynamics_ros.live.engine import Engine, engine_of

from .library import microseconds

HAND = {
    'sensor.bias': [4.0, -3.0, 2.0, 0.3, -0.2, 0.1],
    'tool.mass': 1.6,
    'tool.com': [0.01, -0.02, 0.09],
    'payload.mass': 2.0,
    'payload.com': [0.0, 0.0, 0.2],
    'payload.inertia': [0.01, 0.0, 0.0, 0.01, 0.0, 0.01],
}
GOAL = 1.2


def engine(given: dict[str, Any]) -> Engine:
    """Return a node's engine without the node."""
    return engine_of({'wrench_timeout': 10.0, 'state_timeout': 10.0} | given)


def states(one: Engine, terms: tuple[str, ...]) -> Callable[[], object]:
    """Return a call that takes in two readings and a joint state, and computes terms."""
    names, clock = one.dynamics.joint_names, itertools.count(1_000_000, 1_000_000)
    q, dq, no_effort = np.linspace(-0.8, 0.8, len(names)), np.zeros(len(names)), np.empty(0)

    def call() -> object:
        now = next(clock)
        for hand, link in (('left', 'R10l'), ('right', 'R10r')):
            one.inputs.on_wrench(hand, link, (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), now, now)
        torques = one.on_joint_state(names, q, dq, no_effort, now, now)
        return torques and [torques.term(term) for term in terms]

    return call


def main() -> None:
    """Print the table."""
    bare = engine({})
    laden = engine({f'{hand}.{key}': value for hand in ('left', 'right') for key, value in HAND.items()})
    print(f'{"two readings and a state, to its torques":<42}{"with":>10}{"without":>10}{"ratio":>8}   goal {GOAL}')
    for title, terms in (('gravity', ('gravity',)), ('gravity and J^T f', ('gravity', 'wrench'))):
        mine, theirs = microseconds(states(laden, terms), states(bare, terms))
        print(f'{title:<42}{mine:>7.2f} us{theirs:>7.2f} us{mine / theirs:>8.2f}')


if __name__ == '__main__':
    main()
