"""The C by which a built library is called: every function on places of one array, and many states in a row.

ctypes is quicker with one pointer than with four; and a loop is quicker in C.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from ..core.path import WEIGHTS
from ..core.wrench import LEVER
from ..robot.robot import Robot
from .export_c import definition
from .expressions import QUANTITIES, Symbols, identifier
from .observing import jacobians, path_of_joint
from .parameters import setting_places

_MEAN = """\
void call_mean_inverse_dynamics(double *w) {{
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
void call_hand_wrenches(double *w) {{
    double J[{m} * {n}], L[{m}][{m}], inverse[{m}][{m}], y[{m}], trace = 0.0;
    const double *torque = w + {torque}, damping = w[{damping}];
    double *f = w + {output};
    jacobians(w + {q}, J);
    for (int i = 0; i < {m}; ++i) {{ /* L L^T = J J^T + damping^2, by Cholesky; f = J torque */
        for (int j = 0; j <= i; ++j) {{
            double sum = i == j ? damping * damping : 0.0;
            for (int k = 0; k < {n}; ++k) sum += J[{n} * i + k] * J[{n} * j + k];
            for (int k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }}
        f[i] = 0.0;
        for (int k = 0; k < {n}; ++k) f[i] += J[{n} * i + k] * torque[k];
    }}
    for (int i = 0; i < {m}; ++i) {{ /* the inverse of L, and y = that times f */
        y[i] = 0.0;
        for (int j = 0; j <= i; ++j) {{
            double sum = i == j ? 1.0 : 0.0;
            for (int k = j; k < i; ++k) sum -= L[i][k] * inverse[k][j];
            inverse[i][j] = sum / L[i][i];
            trace += inverse[i][j] * inverse[i][j];
            y[i] += inverse[i][j] * f[j];
        }}
    }}
    for (int j = 0; j < {m}; ++j) {{
        f[j] = 0.0;
        for (int i = j; i < {m}; ++i) f[j] += inverse[i][j] * y[i];
        if (j % 6 >= 3) f[j] /= {lever}; /* moments */
    }}
    f[{m}] = 1.0 / trace - damping * damping;
}}
"""


def places(robot: Robot) -> dict[str, slice]:
    """Return where in the one array the arguments stand, and the output behind them."""
    n, hands = robot.n, 6 * len(robot.hands)
    sizes = {'q': n, 'dq': n, 'ddq': n, 'f': hands, 'p': setting_places(robot)['payload'].stop}
    sizes |= {'measured': 5 * n, 'dt': 1, 'rho': 1, 'path': 9 * n}  # of the mean over a step
    sizes |= {'torque': n, 'damping': 1}  # of the wrenches on hands
    sizes |= {'output': max(n * n, hands + 1)}
    ends = accumulate(sizes.values())
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def calls(symbols: Symbols, built_from: str) -> str:
    """Return the C; `built_from` is what the library says of itself when it is asked."""
    name, place = identifier(symbols.robot.name), places(symbols.robot)
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
    for quantity, what in QUANTITIES.items():
        yield _call(quantity, f'{name}_{quantity}', what.inputs, place)
        size = robot.n ** (2 if quantity in ('A', 'C') else 1)
        steps = {x: place[x].stop - place[x].start for x in what.inputs if x != 'p'} | {'output': size}
        rows = [f'{x} + {steps[x]} * i' if x in steps else f'w + {place[x].start}' for x in (*what.inputs, 'output')]
        given = ', '.join([f'const double *{x}' for x in what.inputs if x != 'p'] + ['double *output'])
        head = f'void many_{quantity}(long m, const double *w, {given})'
        yield f'{head} {{ for (long i = 0; i < m; ++i) {name}_{quantity}({", ".join(rows)}); }}\n'


def _call(name: str, function: str, inputs: tuple[str, ...], place: dict[str, slice]) -> str:
    here = ', '.join(f'w + {place[x].start}' for x in (*inputs, 'output'))
    return f'void call_{name}(double *w) {{ {function}({here}); }}\n'
