"""Export of a robot's functions as standalone C99: a source, its header, and an example that prints torques."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterator
from typing import Any

from .expressions import QUANTITIES, Symbols
from .languages import C, comment_safe, tables

_HEADER = """\
/* {name}.h: the equations of motion of {robot}, {n} joints. Written by krang_dynamics_ros: do not edit.
 *
 *     tau = A(q) ddq + C(q, dq) dq + Q(q) + friction + spring + coupling + J^T f
 *
 * Letters and equation numbers are those of M. Zafar, "Equations Of Motion of Krang on Fixed Wheels" (2015).
 * Units: m, kg, s, rad, N, N m. Matrices by rows. No array may overlap another.
 *
 * Real time: no allocation, no state, no loop, no branch; the only calls are {calls} of <math.h>. A function
 * takes the same steps for every state and is thread-safe.
 *
 *     {compile}
 *     ./{name}_example 0.1    prints the torques by joint, here at q[0] = 0.1 and all else zero
 *
 * q[{n}], dq[{n}], ddq[{n}]: the joints, in this order
{joints}
 *
 * f[{f}]: wrenches that the robot applies with its hands, [force; moment] in the hand's own axes about its own origin
{hands}
 *
 * p[{p}]: the parameters; {name}_parameters() fills in those of the robot file
{parameters}
 */
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

{declarations}

#ifdef __cplusplus
}}
#endif

#endif
"""

_EXAMPLE = """\
/* {name}_example.c: torques by joint. Arguments: q[{n}], then dq[{n}]; missing arguments are zero.
 *
 *     {compile}
 */
#include <stdio.h>
#include <stdlib.h>

#include "{name}.h"

static const char *const joints[{n}] = {{{joints}}};

int main(int count, char **words)
{{
    double state[{twice}] = {{0.0}}, p[{p}], Q[{n}], coriolis_torque[{n}], friction_torque[{n}];
    const double *q = state, *dq = state + {n};
    for (int k = 1; k < count; k++) {{
        char *end = words[k];
        if (k <= {twice}) state[k - 1] = strtod(words[k], &end);
        if (end == words[k] || *end) {{
            fprintf(stderr, "argument %d: '%s', must be one of at most {twice} numbers\\n", k, words[k]);
            return 2;
        }}
    }}
    {name}_parameters(p);
    {name}_Q(q, p, Q);
    {name}_coriolis_torque(q, dq, p, coriolis_torque);
    {name}_friction_torque(dq, p, friction_torque);
    printf("%-16s%25s%25s%25s\\n", "joint", "gravity", "coriolis", "friction");
    for (int k = 0; k < {n}; k++)
        printf("%-16s%25.16e%25.16e%25.16e\\n", joints[k], Q[k], coriolis_torque[k], friction_torque[k]);
    return 0;
}}
"""


def c_files(symbols: Symbols, name: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the files."""
    yield f'{name}.h', _header(symbols, name)
    yield f'{name}.c', c_source(symbols, name)
    yield f'{name}_example.c', _example(symbols, name)


def c_source(symbols: Symbols, name: str) -> str:
    """Return the C source of all quantities, of the parameters' numbers, and of the digest of both."""
    functions = '\n'.join(definition(symbols.function(quantity)) for quantity in QUANTITIES)
    numbers = ''.join(f'    p[{k}] = {x!r};\n' for k, x in enumerate(symbols.values.tolist()))
    body = f'{functions}\n{_parameters(symbols, name)}\n{{\n{numbers}}}\n'
    digest = hashlib.sha256(body.encode()).hexdigest()
    identity = f'{_identity(name)}\n{{\n    return "{digest}";\n}}\n'
    return f'/* {name}.c: see {name}.h. */\n#include "{name}.h"\n\n#include <math.h>\n\n{body}\n{identity}'


def definition(function: Any) -> str:
    """Return the C of a `casadi.Function` with one dense output, stored by rows."""
    lines, rows = C.steps(function)
    output = function.name_out(0)
    stored = [f'    {output}[{k}] = {entry};' for k, entry in enumerate(entry for row in rows for entry in row)]
    text = '\n'.join([*lines, *stored])
    unused = ''.join(f'    (void){x};\n' for x in function.name_in() if not re.search(rf'\b{x}\[', text))
    return f'{_prototype(function)}\n{{\n{unused}{text}\n}}\n'


def _prototype(function: Any) -> str:
    arguments = [f'const double {x}[{function.numel_in(k)}]' for k, x in enumerate(function.name_in())]
    return f'void {function.name()}({", ".join(arguments)}, double {function.name_out(0)}[{function.numel_out(0)}])'


def _parameters(symbols: Symbols, name: str) -> str:
    return f'void {name}_parameters(double p[{symbols.p.numel()}])'


def _identity(name: str) -> str:
    return f'const char *{name}_identity(void)'


def _header(symbols: Symbols, name: str) -> str:
    return _HEADER.format(
        name=name,
        robot=comment_safe(symbols.robot.name),
        n=symbols.robot.n,
        f=symbols.f.numel(),
        p=symbols.p.numel(),
        compile=compile_line(name),
        calls=_listed(['sin', 'cos', *(name for name in symbols.calls if name not in ('sin', 'cos'))]),
        **{what: _comment(rows) for what, rows in tables(symbols).items()},
        guard=f'{name.upper()}_H',
        declarations='\n\n'.join(_declarations(symbols, name)),
    )


def _listed(names: list[str]) -> str:
    return f'{", ".join(names[:-1])} and {names[-1]}'


def _declarations(symbols: Symbols, name: str) -> Iterator[str]:
    for quantity, what in QUANTITIES.items():
        yield f'/* {what.description} */\n{_prototype(symbols.function(quantity))};'
    yield f"/* the robot file's parameters */\n{_parameters(symbols, name)};"
    yield f'/* SHA-256 of the functions: which robot, which numbers */\n{_identity(name)};'


def _comment(rows: list[str]) -> str:
    return '\n'.join(f' *     {row}' for row in rows)


def compile_line(name: str) -> str:
    """Return the shell command that builds the example."""
    return f'gcc -std=c99 -O2 {name}_example.c {name}.c -lm -o {name}_example'


def _example(symbols: Symbols, name: str) -> str:
    joints = ', '.join(map(_string, symbols.robot.joint_names))
    n, p = symbols.robot.n, symbols.p.numel()
    return _EXAMPLE.format(name=name, n=n, twice=2 * n, p=p, joints=joints, compile=compile_line(name))


def _string(text: str) -> str:
    """Return text as a C string literal; bytes with a meaning to a compiler (as ? in a trigraph) are escaped."""
    plain = {ord(x) for x in string.ascii_letters + string.digits + ' _-+*/.,:;()[]{}<>=!#$%&@^|~'}
    return '"' + ''.join(chr(byte) if byte in plain else f'\\{byte:03o}' for byte in text.encode()) + '"'
