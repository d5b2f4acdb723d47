"""What an observer asks at every state, as CasADi's functions: a joint's path on a step, and the hands' Jacobians."""

from __future__ import annotations

from typing import Any

from ..core.optional import optional
from ..core.path import linear, straightened
from ..core.wrench import LEVER
from .expressions import Symbols, function

casadi = optional('casadi', 'symbols')


def path_of_joint() -> Any:
    """Return one joint's three positions, velocities and accelerations on a step, as `core.path.Step` has them."""
    sizes = {'q': 1, 'measured': 5, 'dt': 1, 'rho': 1}
    q, measured, dt, rho = of = [casadi.SX.sym(x, size) for x, size in sizes.items()]
    path = straightened(linear(measured, rho, casadi.blockcat), measured)
    points = casadi.vertcat(q + dt * path[:3], path[3:6], path[6:9] / dt)
    return function('path_of_joint', dict(zip(sizes, of, strict=True)), points, 'path')


def jacobians(symbols: Symbols) -> Any:
    """Return the Jacobians of all hands, as `Dynamics.jacobians` has them, as a function of q."""
    scale = casadi.repmat(casadi.vertcat(1, 1, 1, *[1 / LEVER] * 3), len(symbols.hands))
    J = casadi.diag(scale) @ casadi.jacobian(symbols.wrench_torque, symbols.f).T
    return function('jacobians', {'q': symbols.q}, J, 'J')
