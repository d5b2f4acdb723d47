"""C wrappers of a compiled library: functions on one array of numbers, and loops over many states."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from ..core.optional import optional
from ..core.path import WEIGHTS, linear, straightened
from ..core.wrench import LEVER
from ..robot.robot import Robot
from .export_c import definition
from .expressions import QUANTITIES, Symbols, function, identifier
from .parameters import setting_slices

casadi = optional('casadi', 'symbols')


def path_of_joint() -> Any:
    """Return a function for the three positions, velocities and accelerations of a joint on a `core.path.Step`."""
    sizes = {'q': 1, 'measured': 5, 'dt': 1, 'rho': 1}
    q, measured, dt, rho = of = [casadi.SX.sym(x, size) for x, size in sizes.items()]
    path = straightened(linear(measured, rho, casadi.blockcat), measured)
    points = casadi.vertcat(q + dt * path[:3], path[3:6], path[6:9] / dt)
    return function('path_of_joint', dict(zip(sizes, of, strict=True)), points, 'path')


def jacobians(symbols: Symbols) -> Any:
    """Return the Jacobians of all hands, as `Dynamics.scaled_jacobians` gives them, as a function of q."""
    scale = casadi.repmat(casadi.vertcat(1, 1, 1, *[LEVER] * 3), len(symbols.hands))
    J = casadi.diag(scale) @ casadi.jacobian(symbols.wrench_torque, symbols.f).T
    return function('jacobians', {'q': symbols.q}, J, 'J')


BATCHED = ('A', 'C', 'coriolis_torque', 'Q', 'wrench_torque')  # with a loop over many states too
_MEAN = """\
void mean_inverse_dynamics_in_place(double *w) {{
    const double weights[3] = {{{weights}}};
    double *q = w + {path}, *dq = q + 3 * {n}, *ddq = dq + 3 * {n}, *mean = w + {output};
    for (int j = 0; j < {n}; ++j) {{
        double measured[5], path[9];
        for (int k = 0; k < 5; ++k) measured[k] = w[{measured} + {n} * k + j];
        path_of_joint(w + {q} + j, measured, w + {dt}, w + {rho}, path);
        for (int k = 0; k < 9; ++k) q[{n} * k + j] = path[k];
        mean[j] = 0.0;
    }}
    for (int i = 0; i < 3; ++i) {{
        double torque[{n}];
        {name}_inverse_dynamics(q + {n} * i, dq + {n} * i, ddq + {n} * i, w + {p}, torque);
        for (int j = 0; j < {n}; ++j) mean[j] += weights[i] * torque[j];
    }}
}}
"""

_WRENCHES = """\
void hand_wrenches_in_place(double *w) {{
    double *J = w + {J}, *L = w + {L}, *inverse = w + {inverse}, *y = w + {y}, *f = w + {output}, trace = 0.0;
    const double *torque = w + {torque}, damping = w[{damping}];
    jacobians(w + {q}, J);
    for (int i = 0; i < {m}; ++i) {{ /* L L^T = J J^T + damping^2, by Cholesky; y = J torque */
        for (int j = 0; j <= i; ++j) {{
            double sum = i == j ? damping * damping : 0.0;
            for (int k = 0; k < {n}; ++k) sum += J[{n} * i + k] * J[{n} * j + k];
            for (int k = 0; k < j; ++k) sum -= L[{m} * i + k] * L[{m} * j + k];
            L[{m} * i + j] = i == j ? sqrt(sum) : sum / L[{m} * j + j];
        }}
        y[i] = 0.0;
        for (int k = 0; k < {n}; ++k) y[i] += J[{n} * i + k] * torque[k];
    }}
    for (int j = 0; j < {m}; ++j) {{ /* the inverse of L, by columns */
        for (int i = j; i < {m}; ++i) {{
            double sum = i == j ? 1.0 : 0.0;
            for (int k = j; k < i; ++k) sum -= L[{m} * i + k] * inverse[{m} * k + j];
            inverse[{m} * i + j] = sum / L[{m} * i + i];
            trace += inverse[{m} * i + j] * inverse[{m} * i + j];
        }}
        f[j] = 0.0;
    }}
    for (int i = 0; i < {m}; ++i) {{ /* f = inverse^T inverse y */
        double half = 0.0;
        for (int j = 0; j <= i; ++j) half += inverse[{m} * i + j] * y[j];
        for (int j = 0; j <= i; ++j) f[j] += inverse[{m} * i + j] * half;
    }}
    for (int j = 0; j < {m}; ++j) f[j] *= j % 6 < 3 ? 1.0 : {lever}; /* a moment counts as a force at the lever */
    f[{m}] = 1.0 / trace - damping * damping; /* a lower bound of all squared singular values of J */
}}
"""


def array_slices(robot: Robot) -> dict[str, slice]:
    """Return the slices of all arguments, and of the output behind them, in the common array."""
    n, hands = robot.n, 6 * len(robot.hands)
    sizes = {'q': n, 'dq': n, 'ddq': n, 'f': hands, 'p': max(x.stop for x in setting_slices(robot).values())}
    sizes |= {'measured': 5 * n, 'dt': 1, 'rho': 1, 'path': 9 * n}  # of the mean over a step
    sizes |= {'torque': n, 'damping': 1}  # of the wrenches on hands
    sizes |= {'J': hands * n, 'L': hands * hands, 'inverse': hands * hands, 'y': hands}
    sizes |= {'output': max(n * n, hands + 1)}
    ends = accumulate(sizes.values())
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def call_wrappers(symbols: Symbols, built_from: str) -> str:
    """Return the C source; the library's function `built_from` returns the given text."""
    name, place = identifier(symbols.robot.name), array_slices(symbols.robot)
    starts = {x: of.start for x, of in place.items()}
    weights = ', '.join(map(repr, WEIGHTS.tolist()))
    functions = [
        f'const char *built_from(void) {{ return "{built_from}"; }}\n',
        *_of_quantities(symbols.robot, name, place),
        f'static {definition(path_of_joint())}',
        _MEAN.format(name=name, n=symbols.robot.n, weights=weights, **starts),
        f'static {definition(jacobians(symbols))}',
        _WRENCHES.format(n=symbols.robot.n, m=symbols.f.numel(), lever=LEVER, **starts),
    ]
    return '\n'.join([f'#include "{name}.h"', '#include <math.h>\n', *functions])


def _of_quantities(robot: Robot, name: str, place: dict[str, slice]) -> Iterator[str]:
    """Yield wrappers. No function of a robot ends in their `_in_place` or `_for_many`, so names cannot collide."""
    for quantity in (*BATCHED, 'inverse_dynamics'):
        here = ', '.join(f'w + {place[x].start}' for x in (*QUANTITIES[quantity].inputs, 'output'))
        yield f'void {quantity}_in_place(double *w) {{ {name}_{quantity}({here}); }}\n'
    for quantity in BATCHED:
        inputs = QUANTITIES[quantity].inputs
        size = robot.n ** (2 if quantity in ('A', 'C') else 1)
        steps = {x: place[x].stop - place[x].start for x in inputs if x != 'p'} | {'output': size}
        rows = [f'{x} + {steps[x]} * i' if x in steps else f'w + {place[x].start}' for x in (*inputs, 'output')]
        given = ', '.join([f'const double *{x}' for x in inputs if x != 'p'] + ['double *output'])
        head = f'void {quantity}_for_many(long m, const double *w, {given})'
        yield f'{head} {{ for (long i = 0; i < m; ++i) {name}_{quantity}({", ".join(rows)}); }}\n'
