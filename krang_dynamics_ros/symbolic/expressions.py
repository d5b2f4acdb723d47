"""A, C, Q, E, U, J^T f and the rest as CasADi's expressions of q, dq, ddq, wrenches f and parameters p.

The report's end product (section 1.2: AA, CC and QQ in Lagrange.mat), by the very lines of `lagrangian`: symbols run
through them, and CasADi differentiates. A and C come from `free_joints`: there a joint that follows another one has a
coordinate of its own, and what it takes is then brought to the coordinate that it follows.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from ..core.algebra import dot, plus
from ..core.errors import unknown_name
from ..core.optional import optional
from ..equations.bodies import carried_bodies
from ..equations.frames import STILL, all_in_base, all_local, positions, rates
from ..equations.lagrangian import PE, total_KE, velocities
from ..robot.robot import Robot
from .free_joints import FreeJoints
from .parameters import symbolic

casadi = optional('casadi', 'symbols')


class Quantity(NamedTuple):
    """What a function computes: from which arguments, in words, and by which equation of the report."""

    inputs: tuple[str, ...]
    meaning: str
    equation: str


QUANTITIES = {
    'A': Quantity(('q', 'p'), 'inertia matrix, rotors included', '2, 18'),
    'C': Quantity(('q', 'dq', 'p'), 'Coriolis matrix', '4'),
    'coriolis_torque': Quantity(('q', 'dq', 'p'), 'C dq, Coriolis and centrifugal torque', '4'),
    'Q': Quantity(('q', 'p'), 'gravity torque', '5'),
    'inverse_dynamics': Quantity(('q', 'dq', 'ddq', 'p'), 'A ddq + C dq + Q', '3'),
    'wrench_torque': Quantity(('q', 'f', 'p'), 'J^T f, what the joints must give to apply the wrenches f', '16'),
    'friction_torque': Quantity(('dq', 'p'), 'F_v dq + F_c sign(dq)', '17'),
    'E': Quantity(('q', 'dq', 'p'), 'kinetic energy, rotors included', '11'),
    'U': Quantity(('q', 'p'), 'potential energy', '15'),
}


class Symbols:
    """A robot's expressions. `p` holds its settings, or all its parameters; `symbolic_robot` says which they are.

    `f` holds [force; moment] of every hand in `hands`, in the hand's own axes and about its own origin, as the robot
    applies it. A robot file without end effectors has a hand at each end of its tree.
    """

    def __init__(self, robot: Robot, leave_open: str = 'settings') -> None:
        self.robot, self._open = robot, symbolic(robot, leave_open)
        self.parameters, self.values, self.p = self._open.parameters, self._open.values, self._open.p
        self.hands = robot.hands
        self._functions: dict[str, Any] = {}
        self.q, self.dq, self.ddq = (casadi.SX.sym(x, robot.n) for x in ('q', 'dq', 'ddq'))
        self.f = casadi.SX.sym('f', 6 * len(self.hands))
        self._q_of, self._dq_of = ({name: x[k] for k, name in enumerate(robot.joint_names)} for x in (self.q, self.dq))
        self._local = all_local(self._open.robot, self._q_of)
        self._moving = velocities(self._open.robot, self._local, self._dq_of)

    @cached_property
    def E(self) -> Any:
        """Kinetic energy, eqs 9 and 11, and (1/2) I_a dq^2 of every rotor."""
        links = total_KE(self._open.robot, self._local, self._dq_of)
        return links + casadi.dot(self._open.rotor_inertia, self.dq**2) / 2

    @cached_property
    def U(self) -> Any:
        """Potential energy, eqs 14 and 15, of all that the base carries, taken as one body."""
        body = carried_bodies(self._open.robot, self._local)[self.robot.base]
        return casadi.SX(PE(body, STILL, self._open.robot.gravity.tolist()))

    @cached_property
    def Q(self) -> Any:
        """Gravity torque dU/dq, eq. 5."""
        return casadi.gradient(self.U, self.q)

    @cached_property
    def coriolis_torque(self) -> Any:
        """C dq = dA/dt dq - dE/dq: what Lagrange's equation has besides ddq and U (section 1.2)."""
        return casadi.jtimes(casadi.gradient(self.E, self.dq), self.q, self.dq) - casadi.gradient(self.E, self.q)

    @cached_property
    def inverse_dynamics(self) -> Any:
        """A ddq + C dq + Q, eq. 3, rotors included."""
        return casadi.jtimes(casadi.gradient(self.E, self.dq), self.dq, self.ddq) + self.coriolis_torque + self.Q

    @cached_property
    def wrench_torque(self) -> Any:
        """J^T f, eq. 16, the joints' part in the power of the wrenches: d(f.V + m.omega)/ddq at the hands."""
        power = casadi.SX(0)
        for k, link in enumerate(self.hands.values()):
            omega, V = self._moving[link]
            f, m = (casadi.vertsplit(part) for part in casadi.vertsplit(self.f[6 * k : 6 * k + 6], 3))
            power += plus(dot(f, V), dot(m, omega))
        return casadi.gradient(power, self.dq)

    def axes(self, link: str) -> Any:
        """Return 0A_j of a link (3, 3): its axes in the base's."""
        rows = all_in_base(self._open.robot, self._local)[link].A
        return casadi.vertcat(*(casadi.horzcat(*row) for row in rows))

    @cached_property
    def friction_torque(self) -> Any:
        """F_v dq + F_c sign(dq), eq. 17."""
        return self._open.viscous * self.dq + self._open.coulomb * casadi.sign(self.dq)

    @cached_property
    def A(self) -> Any:
        """Inertia matrix, eq. 2, rotor inertia included (eq. 18)."""
        return casadi.diag(self._open.rotor_inertia) + self._on_coordinates(self._free.A)

    @cached_property
    def C(self) -> Any:
        """Coriolis matrix, eq. 4."""
        return self._on_coordinates(self._free.C)

    @cached_property
    def _free(self) -> FreeJoints:
        """The same robot, as if the joints that follow another one had coordinates of their own."""
        if not self.robot.mimics:
            return FreeJoints(self._open.robot, self.q, self.dq)
        joints = tuple(replace(joint, mimic=None) for joint in self._open.robot.joints)
        n = sum(joint.moves for joint in joints)
        return FreeJoints(
            replace(self._open.robot, joints=joints), casadi.SX.sym('q_free', n), casadi.SX.sym('dq_free', n)
        )

    def _on_coordinates(self, M: Any) -> Any:
        """Return A or C of the coordinates from that of the free joints: G^T M G, with dq_free = G dq."""
        if not self.robot.mimics:
            return M
        q, dq = positions(self.robot, self._q_of), rates(self.robot, self._dq_of)
        names, free = self._free.names, casadi.vertcat(self._free.q, self._free.dq)
        follow = casadi.vertcat(*(q[name] for name in names), *(dq[name] for name in names))
        G = casadi.jacobian(follow[len(names) :], self.dq)
        return G.T @ casadi.substitute(M, free, follow) @ G

    def function(self, name: str) -> Any:
        """Return one of `QUANTITIES` as a `casadi.Function`, common terms computed once."""
        if name not in QUANTITIES:
            raise unknown_name('quantity', name, QUANTITIES)
        if name not in self._functions:
            inputs = {x: getattr(self, x) for x in QUANTITIES[name].inputs}
            self._functions[name] = function(f'{identifier(self.robot.name)}_{name}', inputs, getattr(self, name), name)
        return self._functions[name]


def function(name: str, inputs: Mapping[str, Any], expression: Any, output: str) -> Any:
    """Return a `casadi.Function` of symbols by name, common terms computed once."""
    return casadi.Function(name, [*inputs.values()], [casadi.cse(casadi.densify(expression))], [*inputs], [output])


def identifier(name: str) -> str:
    """Return a robot's name as C, MATLAB, Python and CasADi take one: no keyword of Python, no module of its own."""
    word = re.sub(r'[\W_]+', '_', name, flags=re.ASCII).strip('_')
    taken = keyword.iskeyword(word) or word in sys.stdlib_module_names
    return word if word[:1].isalpha() and not taken else f'robot_{word}'.strip('_')
