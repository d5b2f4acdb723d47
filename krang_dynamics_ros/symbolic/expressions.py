"""The equations of motion of a robot as CasADi expressions.

Column j of A comes from the kinetic energy of the links that joint j carries, taken as one rigid body: joint j and the
joints before it move them together. Column j of C also needs the momenta that the joints beyond j cause. For
Krang, A has a third and C a quarter of the operations that the energy of the whole robot and eq. 4 give; tests compare
the numbers.
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
from ..effects.coupling import along
from ..effects.effect import EffectTerm
from ..equations.bodies import carried_bodies, carried_momenta
from ..equations.frames import IDENTITY, all_in_base, all_local, positions, rates
from ..equations.lagrangian import KE, PE, total_KE, velocities
from ..robot.robot import Joint, Robot
from .parameters import symbolic

casadi = optional('casadi', 'symbols')


class IndependentJoints:
    """A (without rotors) and C of a robot without mimic joints, in symbols q and dq (n)."""

    def __init__(self, robot: Robot, q: Any, dq: Any) -> None:
        self.robot, self.q, self.dq = robot, q, dq
        self.names = robot.joint_names
        self._index = {name: k for k, name in enumerate(self.names)}
        self._dq_of = {name: dq[k] for name, k in self._index.items()}
        self._local = all_local(robot, {name: q[k] for name, k in self._index.items()})
        self._velocities = velocities(robot, self._local, self._dq_of)
        self._bodies = carried_bodies(robot, self._local)

    @cached_property
    def A(self) -> Any:
        """Inertia matrix of the links, eq. 2: A_ij = d2E / (d(dq_i) d(dq_j)), with E of all links that j carries."""
        A = casadi.SX(self.robot.n, self.robot.n)
        for j, joint in enumerate(self.robot.moving_joints):
            row = casadi.gradient(casadi.jacobian(self._energy(joint), self.dq[j]), self.dq)
            for i in self._before(joint):
                A[i, j] = A[j, i] = row[i]
        return A

    @cached_property
    def C(self) -> Any:
        """Coriolis matrix, eq. 4: twice C_ij is dA_ij/dt + dp_i/dq_j - dp_j/dq_i, with momenta p = A dq.

        Eq. 4 sums Christoffel symbols over k; dA_ij/dq_k dq_k is dA_ij/dt, and dA_ik/dq_j dq_k is dp_i/dq_j.
        """
        C = casadi.SX(self.robot.n, self.robot.n)
        momenta = carried_momenta(self.robot, self._local, self._bodies, self._dq_of)
        rate = casadi.SX.sym('rate', self.robot.n)  # dq as the rate of q alone
        for j, joint in enumerate(self.robot.moving_joints):
            (linear, angular), energy = momenta[joint.child], self._energy(joint)  # momenta of the joints beyond j
            omega, V = self._velocities[joint.child]
            whole = plus(energy, plus(dot(linear, V), dot(angular, omega)))
            p_j = casadi.jacobian(energy, self.dq[j])
            dA_dt = casadi.substitute(casadi.gradient(casadi.jtimes(p_j, self.q, rate), self.dq), rate, self.dq)
            dp_dq_j = casadi.gradient(casadi.jacobian(whole, self.q[j]), self.dq)
            dp_j_dq = casadi.gradient(casadi.jacobian(whole, self.dq[j]), self.q)
            for i in self._before(joint):
                turn = 0 if i == j else dp_dq_j[i] - dp_j_dq[i]
                C[i, j], C[j, i] = (dA_dt[i] + turn) / 2, (dA_dt[i] - turn) / 2
        return C

    def _energy(self, joint: Joint) -> Any:
        """Return the kinetic energy of all links that a joint carries, taken as one body."""
        return casadi.SX(KE(self._bodies[joint.child], *self._velocities[joint.child]))

    def _before(self, joint: Joint) -> list[int]:
        """Return the indices of the joints from the base to this one, itself included."""
        return [self._index[other.name] for other in self.robot.chain(joint.child) if other.moves]


CALLS = ('cos', 'exp', 'fabs', 'sin', 'tanh')  # mathematical functions that quantities may call


class Quantity(NamedTuple):
    """A quantity that functions compute: its arguments, its meaning, and its equation in the report, if it has one."""

    inputs: tuple[str, ...]
    meaning: str
    equation: str = ''

    @property
    def description(self) -> str:
        """Meaning and equation, for comments."""
        return f'{self.meaning}, eq. {self.equation}' if self.equation else self.meaning


QUANTITIES = {
    'A': Quantity(('q', 'p'), 'inertia matrix, rotors included', '2, 18'),
    'C': Quantity(('q', 'dq', 'p'), 'Coriolis matrix', '4'),
    'coriolis_torque': Quantity(('q', 'dq', 'p'), 'C dq, Coriolis and centrifugal torque', '4'),
    'Q': Quantity(('q', 'p'), 'gravity torque', '5'),
    'inverse_dynamics': Quantity(('q', 'dq', 'ddq', 'p'), 'A ddq + C dq + Q', '3'),
    'wrench_torque': Quantity(('q', 'f', 'p'), 'J^T f, the joint torques that apply the wrenches f', '16'),
    'friction_torque': Quantity(('dq', 'p'), 'F_v dq + F_c sign(dq)', '17'),
    'spring_torque': Quantity(('q', 'p'), 'a cos q + b sin q, the joint torques that hold the springs'),
    'coupling_torque': Quantity(('dq', 'p'), 'W^T (v W dq + c tanh(W dq / w)), the joint torques of coupled friction'),
    'E': Quantity(('q', 'dq', 'p'), 'kinetic energy, rotors included', '11'),
    'U': Quantity(('q', 'p'), 'potential energy', '15'),
}


class Symbols:
    """A robot's expressions. `leave_open` selects the parameters p that stay symbols.

    `settings`: gravity, rotors, friction, payloads, springs and couplings; `all`: bodies and lengths too.

    `f` holds [force; moment] of every hand in `hands`, in the hand's own axes and about its own origin, as the robot
    applies it. A robot file without end effectors has a hand at each end of its tree. p is defined in `parameters.py`.
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
        self._velocities = velocities(self._open.robot, self._local, self._dq_of)

    @property
    def calls(self) -> tuple[str, ...]:
        """Mathematical functions that the quantities call: sine and cosine, and those of effects of the drives."""
        drives = casadi.vertcat(self.friction_torque, self.spring_torque, self.coupling_torque)
        called = casadi.Function('drives', [self.q, self.dq, self.p], [drives])
        operations = {called.instruction_id(k) for k in range(called.n_instructions())}
        return tuple(x for x in CALLS if x in ('cos', 'sin') or getattr(casadi, f'OP_{x.upper()}') in operations)

    @cached_property
    def E(self) -> Any:
        """Kinetic energy, eqs 9 and 11, and (1/2) I_a dq^2 of every rotor."""
        links = total_KE(self._open.robot, self._local, self._dq_of)
        return links + casadi.dot(self._open.rotor_inertia, self.dq**2) / 2

    @cached_property
    def U(self) -> Any:
        """Potential energy, eqs 14 and 15, of all links, taken as one body."""
        body = carried_bodies(self._open.robot, self._local)[self.robot.base]
        return casadi.SX(PE(body, IDENTITY, self._open.robot.gravity.tolist()))

    @cached_property
    def Q(self) -> Any:
        """Gravity torque dU/dq, eq. 5."""
        return casadi.gradient(self.U, self.q)

    @cached_property
    def coriolis_torque(self) -> Any:
        """C dq = dA/dt dq - dE/dq: the part of Lagrange's equation without ddq and U (section 1.2)."""
        return casadi.jtimes(casadi.gradient(self.E, self.dq), self.q, self.dq) - casadi.gradient(self.E, self.q)

    @cached_property
    def inverse_dynamics(self) -> Any:
        """A ddq + C dq + Q, eq. 3, rotors included."""
        return casadi.jtimes(casadi.gradient(self.E, self.dq), self.dq, self.ddq) + self.coriolis_torque + self.Q

    @cached_property
    def wrench_torque(self) -> Any:
        """J^T f, eq. 16: the derivative by dq of the wrenches' power f.V + m.omega at the hands."""
        power = casadi.SX(0)
        for k, link in enumerate(self.hands.values()):
            omega, V = self._velocities[link]
            f, m = (casadi.vertsplit(part) for part in casadi.vertsplit(self.f[6 * k : 6 * k + 6], 3))
            power += plus(dot(f, V), dot(m, omega))
        return casadi.gradient(power, self.dq)

    def axes(self, link: str) -> Any:
        """Return 0A_j of a link (3, 3): its axes in the base's."""
        rows = all_in_base(self._open.robot, self._local)[link].A
        return casadi.vertcat(*(casadi.horzcat(*row) for row in rows))

    @cached_property
    def friction_torque(self) -> Any:
        """F_v dq + F_c sign(dq), eq. 17, and `other_effects` of joints, without presliding and smoothing by tanh."""
        viscous, coulomb = self._open.friction
        return self._with_effects('friction', viscous.torque(self.dq) + coulomb.torque(self.dq), self.dq)

    @cached_property
    def spring_torque(self) -> Any:
        """The torque with which each joint holds its spring."""
        return self._with_effects('spring', casadi.SX(self.robot.n, 1), self.q)

    def _with_effects(self, term: EffectTerm, torque: Any, x: Any) -> Any:
        """Add to a torque the effects of a term, besides eq. 17, at velocities or positions x."""
        total = casadi.SX(torque)
        for k, effect in self._open.effects:
            if effect.term == term:
                total[k] += effect.torque(x[k])
        return total

    @cached_property
    def coupling_torque(self) -> Any:
        """Coupled friction W^T (v W dq + c tanh(W dq / velocity)) of all pairs."""
        torque = casadi.SX(self.robot.n, 1)
        for pair, viscous, coulomb in self._open.couplings:
            first, second = (self.robot.joint_names.index(name) for name in pair.joints)
            part = along(self.dq[first] + pair.sign * self.dq[second], viscous, coulomb, pair.velocity)
            torque[first] += part
            torque[second] += pair.sign * part
        return torque

    @cached_property
    def A(self) -> Any:
        """Inertia matrix, eq. 2, rotor inertia included (eq. 18)."""
        return casadi.diag(self._open.rotor_inertia) + self._on_coordinates(self._independent.A)

    @cached_property
    def C(self) -> Any:
        """Coriolis matrix, eq. 4."""
        return self._on_coordinates(self._independent.C)

    @cached_property
    def _independent(self) -> IndependentJoints:
        """The same robot, with coordinates of their own for mimic joints."""
        if not self.robot.mimics:
            return IndependentJoints(self._open.robot, self.q, self.dq)
        joints = tuple(replace(joint, mimic=None) for joint in self._open.robot.joints)
        n = sum(joint.moves for joint in joints)
        return IndependentJoints(
            replace(self._open.robot, joints=joints), casadi.SX.sym('q_all', n), casadi.SX.sym('dq_all', n)
        )

    def _on_coordinates(self, M: Any) -> Any:
        """Return A or C of the coordinates from that of all joints, G^T M G, with dq_all = G dq."""
        if not self.robot.mimics:
            return M
        q, dq = positions(self.robot, self._q_of), rates(self.robot, self._dq_of)
        names, all_symbols = self._independent.names, casadi.vertcat(self._independent.q, self._independent.dq)
        follow = casadi.vertcat(*(q[name] for name in names), *(dq[name] for name in names))
        G = casadi.jacobian(follow[len(names) :], self.dq)
        return G.T @ casadi.substitute(M, all_symbols, follow) @ G

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
    """Return a robot's name as an identifier for C, MATLAB, Python and CasADi; no Python keyword or standard module."""
    word = re.sub(r'[\W_]+', '_', name, flags=re.ASCII).strip('_')
    reserved = keyword.iskeyword(word) or word in sys.stdlib_module_names
    return word if word[:1].isalpha() and not reserved else f'robot_{word}'.strip('_')
