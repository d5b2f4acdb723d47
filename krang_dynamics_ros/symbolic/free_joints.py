"""A and C of a robot all of whose joints have coordinates of their own, as CasADi's expressions.

They come from one energy per joint j, that of all that j carries taken as one body: whatever moves q_i of a joint i
before j moves it as one. The size of the expressions is a quarter of that of the whole robot's energy, and a test holds
that they are the same.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..core.algebra import dot, plus
from ..core.optional import optional
from ..equations.bodies import carried_bodies, carried_momenta
from ..equations.frames import all_local
from ..equations.lagrangian import KE, velocities
from ..robot.robot import Joint, Robot

casadi = optional('casadi', 'symbols')


class FreeJoints:
    """A (without rotors) and C of a robot in which no joint follows another one, in symbols q and dq (n)."""

    def __init__(self, robot: Robot, q: Any, dq: Any) -> None:
        self.robot, self.q, self.dq = robot, q, dq
        self.names = robot.joint_names
        self._index = {name: k for k, name in enumerate(self.names)}
        self._dq_of = {name: dq[k] for name, k in self._index.items()}
        self._local = all_local(robot, {name: q[k] for name, k in self._index.items()})
        self._moving = velocities(robot, self._local, self._dq_of)
        self._bodies = carried_bodies(robot, self._local)

    @cached_property
    def A(self) -> Any:
        """Inertia matrix of the links, eq. 2: A_ij = d/ddq_i of dE/ddq_j, E being the energy of all beyond j."""
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
            (V, omega), energy = momenta[joint.child], self._energy(joint)
            turning, sliding = self._moving[joint.child]
            whole = plus(energy, plus(dot(omega, turning), dot(V, sliding)))  # joints beyond j move too
            p_j = casadi.jacobian(energy, self.dq[j])
            dA_dt = casadi.substitute(casadi.gradient(casadi.jtimes(p_j, self.q, rate), self.dq), rate, self.dq)
            dp_dq_j = casadi.gradient(casadi.jacobian(whole, self.q[j]), self.dq)
            dp_j_dq = casadi.gradient(casadi.jacobian(whole, self.dq[j]), self.q)
            for i in self._before(joint):
                turn = 0 if i == j else dp_dq_j[i] - dp_j_dq[i]
                C[i, j], C[j, i] = (dA_dt[i] + turn) / 2, (dA_dt[i] - turn) / 2
        return C

    def _energy(self, joint: Joint) -> Any:
        """Return the kinetic energy of all that a joint carries, taken as one body."""
        return casadi.SX(KE(self._bodies[joint.child], *self._moving[joint.child]))

    def _before(self, joint: Joint) -> list[int]:
        """Return the indices of the joints from the base to this one, itself included."""
        return [self._index[other.name] for other in self.robot.chain(joint.child) if other.moves]
