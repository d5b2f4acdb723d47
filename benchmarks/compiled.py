"""Compiled C beside Pinocchio, both called from Python in turns, and the C by itself; and what building it takes.

"Pinocchio" is its bare call, without this library's checks; the goals are shares of its time.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from krang_dynamics_ros import Wrench, dynamics_of, krang
from krang_dynamics_ros.robot.robot import Robot
from krang_dynamics_ros.symbolic.export import export
from krang_dynamics_ros.symbolic.expressions import QUANTITIES, Symbols

from .library import Call, microseconds, pairs

GOALS = {'A': 0.75, 'C': None, 'C dq': 0.65, 'Q': 0.5, 'inverse dynamics': None, 'J^T f, both hands': 0.25}
OF_THE_C = {'A': 'A', 'C': 'C', 'C dq': 'coriolis_torque', 'Q': 'Q'}
OF_THE_C |= {'inverse dynamics': 'inverse_dynamics', 'J^T f, both hands': 'wrench_torque'}
TOGETHER = 7.0  # us: A, C and Q

_MAIN = """\
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "krang.h"
static double seconds(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}
int main(void)
{{
    double q[17], dq[17], ddq[17], f[12], p[74], out[289] = {{0.0}};
    for (int k = 0; k < 17; k++) q[k] = 0.1 * k, dq[k] = ddq[k] = 1.0 - 0.1 * k;
    for (int k = 0; k < 12; k++) f[k] = k;
    krang_parameters(p);
{calls}
    return 0;
}}
"""
_TIMED = """\
    {{
        double best = 1.0;
        for (int round = 0; round < 25; round++) {{
            double start = seconds();
            for (int k = 0; k < 2000; k++) {{ q[0] += 1e-20 * out[0]; krang_{quantity}({arguments}, out); }}
            double taken = (seconds() - start) / 2000;
            if (taken < best) best = taken;
        }}
        printf("{quantity} %.3f\\n", 1e6 * best);
    }}
"""


def calls(robot: Robot) -> dict[str, Call]:
    """Return the calls by name, as in `library.pairs`."""
    d, rng = dynamics_of(robot, backend='compiled'), np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, robot.n))
    f = rng.normal(size=6)
    wrenches = [Wrench(hand, f[:3], f[3:]) for hand in robot.end_effectors.values()]
    return {
        'A': lambda: d.A(q),
        'C': lambda: d.C(q, dq),
        'C dq': lambda: d.coriolis_torque(q, dq),
        'Q': lambda: d.Q(q),
        'inverse dynamics': lambda: d.inverse_dynamics(q, dq, ddq),
        'J^T f, both hands': lambda: d.wrench_torque(q, wrenches),
    }


def new_wrenches(robot: Robot) -> tuple[Call, Call]:
    """Return J^T f with wrenches that are not those of the call before: compiled, and by the library on Pinocchio."""
    rng, q = np.random.default_rng(0), np.linspace(-1, 1, robot.n)
    sets = [[Wrench(hand, *rng.normal(size=(2, 3))) for hand in robot.end_effectors.values()] for _ in range(2)]

    def alternate(backend: str) -> Call:
        d = dynamics_of(robot, backend=backend)

        def call() -> object:
            sets.reverse()
            return d.wrench_torque(q, sets[0])

        return call

    return alternate('compiled'), alternate('pinocchio')


def of_the_c(robot: Robot) -> dict[str, float]:
    """Return the microseconds of the exported functions when C calls them."""
    timed = [_TIMED.format(quantity=name, arguments=', '.join(QUANTITIES[name].inputs)) for name in OF_THE_C.values()]
    with tempfile.TemporaryDirectory() as folder:
        export(robot, 'c', folder)
        (Path(folder) / 'main.c').write_text(_MAIN.format(calls=''.join(timed)))
        subprocess.run(['gcc', '-std=c99', '-O2', 'main.c', 'krang.c', '-lm'], cwd=folder, check=True)  # noqa: S607
        done = subprocess.run(['./a.out'], cwd=folder, check=True, capture_output=True, text=True)
    return {name: float(number) for name, number in (line.split() for line in done.stdout.splitlines())}


def main() -> None:
    """Print the tables."""
    robot = krang()
    print(f'{"Krang, 17 joints":<20}{"compiled":>10}{"Pinocchio":>12}{"ratio":>8}   {"goal":<6}{"from C":>10}')
    mine, by_c, taken = calls(robot), of_the_c(robot), {}
    for name, (_, bare) in pairs(robot).items():
        if name in mine:
            ours, theirs = taken[name] = microseconds(mine[name], bare)
            row = f'{name:<20}{ours:>7.2f} us{theirs:>9.2f} us{ours / theirs:>8.2f}'
            print(f'{row}   {GOALS[name] or "":<6}{by_c[OF_THE_C[name]]:>7.2f} us')
    ours, theirs = (sum(taken[name][k] for name in ('A', 'C', 'Q')) for k in (0, 1))
    print(f'{"A, C and Q":<20}{ours:>7.2f} us{theirs:>9.2f} us{ours / theirs:>8.2f}   goal {TOGETHER:g} us')
    ours, theirs = microseconds(*new_wrenches(robot))
    print(f'J^T f, other wrenches at every call: {ours:.2f} us, by the library on Pinocchio {theirs:.2f} us')
    _print_building(robot)


def _print_building(robot: Robot) -> None:
    def symbols() -> object:
        built = Symbols(robot)
        return [built.function(name) for name in QUANTITIES]

    print(f'\nsymbols {_seconds(symbols):.2f} s (goal 1 s)', end='')
    with tempfile.TemporaryDirectory() as cache:
        os.environ['XDG_CACHE_HOME'] = os.environ['XDG_STATE_HOME'] = cache
        print(f', compiled and loaded {_seconds(lambda: dynamics_of(robot, backend="compiled")):.2f} s', end='')
        print(f', loaded again {_seconds(lambda: dynamics_of(robot, backend="compiled")):.2f} s')


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == '__main__':
    main()
